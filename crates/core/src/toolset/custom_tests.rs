//! Tools of the application in the pipeline, the application's own command policy, and requests that come at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::tests::{Answering, World, call, code, yes};
use super::*;
use crate::approval::{ApprovalDecision, ApprovalRequest, Remember};
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::cancel::{CancelToken, Deadline};
use crate::custom::CustomPlan;
use crate::permissions::{Action, CommandAnalysis};
use crate::tool::{Part, ToolResult};

/// Runs tools as the test says.
struct Tools<R> {
    plan: Value,
    run: R,
}

type Ran<'a> = BoxFuture<'a, Result<ToolResult>>;

impl<R: for<'a> Fn(&'a Value, &'a Deadline) -> Ran<'a> + Send + Sync> CustomTools for Tools<R> {
    fn plan<'a>(&'a self, _: CallInfo<'a>, _: &'a Value) -> BoxFuture<'a, Result<CustomPlan>> {
        Box::pin(async { Ok(serde_json::from_value(self.plan.clone()).unwrap()) })
    }

    fn run<'a>(&'a self, _: CallInfo<'a>, input: &'a Value, deadline: &'a Deadline) -> Ran<'a> {
        (self.run)(input, deadline)
    }
}

fn echo<'a>(input: &'a Value, _: &'a Deadline) -> Ran<'a> {
    Box::pin(async move { Ok(ToolResult::new(input.to_string(), json!({}))) })
}

fn never<'a>(_: &'a Value, _: &'a Deadline) -> Ran<'a> {
    Box::pin(std::future::pending())
}

/// Notices its stop, and answers an error of its own.
fn until_stopped<'a>(_: &'a Value, deadline: &'a Deadline) -> Ran<'a> {
    Box::pin(async {
        deadline.reached().await;
        Err(Error::new(ErrorKind::ToolFailed, "mine failed: stopped"))
    })
}

fn long<'a>(_: &'a Value, _: &'a Deadline) -> Ran<'a> {
    Box::pin(async { Ok(ToolResult::new("x".repeat(1_000), json!({}))) })
}

fn huge<'a>(_: &'a Value, _: &'a Deadline) -> Ran<'a> {
    let part = Part::Image { media_type: "image/png".to_owned(), data: "A".repeat(1_000) };
    Box::pin(async { Ok(ToolResult { parts: vec![part], ..ToolResult::new("", json!({})) }) })
}

fn spec(more: Value) -> Value {
    let mut spec = json!({
        "name": "mine", "description": "Mine.",
        "inputSchema": { "type": "object", "properties": { "a": { "type": "integer" } } },
    });
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec
}

/// A toolset with the tool `mine`.
fn toolset<R>(world: &World, more: Value, options: Value, plan: Value, run: R) -> Result<Toolset>
where
    R: for<'a> Fn(&'a Value, &'a Deadline) -> Ran<'a> + Send + Sync + 'static,
{
    let mut all = json!({ "tools": ["mine"], "customTools": [spec(more)] });
    for (name, value) in options.as_object().unwrap() {
        all[name] = value.clone();
    }
    let application = Application { tools: Some(Arc::new(Tools { plan, run })), ..Application::default() };
    Toolset::new(Arc::clone(&world.backend), serde_json::from_value(all).unwrap(), application)
}

#[tokio::test]
async fn a_custom_tool_is_decoded_and_run_like_any_other() {
    let world = World::new();
    let toolset = toolset(&world, json!({ "readOnly": true }), json!({}), json!({}), echo).unwrap();
    let spec = &toolset.specs()[0];
    assert_eq!(spec.annotations, json!({ "readOnlyHint": true, "destructiveHint": false }));
    assert_eq!(spec.input_schema["additionalProperties"], json!(false));
    assert_eq!(call(&toolset, "mine", json!({ "a": 1 })).await.unwrap().text, "{\"a\":1}");
    let wrong = call(&toolset, "mine", json!({ "a": "x" })).await.unwrap();
    assert_eq!(wrong.code.as_deref(), Some("INVALID_INPUT"));
    assert_eq!(wrong.text, "Error: The input of mine is not right at 'a': expected a whole number, found a string.");
    assert_eq!(code(&call(&toolset, "mine", json!({ "b": 1 })).await), "INVALID_INPUT");
    assert_eq!(code(&call(&toolset, "mine", json!([])).await), "INVALID_INPUT");
}

#[tokio::test]
async fn what_a_tool_says_that_it_touches_is_judged() {
    let world = World::new();
    let touches = |operation: &str, target: &str| match operation {
        "execute" => json!({ "touches": [{ "operation": "execute", "command": target }] }),
        _ => json!({ "touches": [{ "operation": operation, "path": target }] }),
    };
    for (operation, target, permissions, expected) in [
        ("read", "a.txt", "default", "OK"),
        ("read", ".env", "default", "PERMISSION_DENIED"),
        ("read", "/etc/passwd", "permissive", "PATH_NOT_IN_SANDBOX"),
        ("write", "a.txt", "readonly", "PERMISSION_DENIED"),
        ("write", "a.txt", "default", "rejected APPROVAL_REQUIRED"),
        ("execute", "sudo ls", "permissive", "COMMAND_BLOCKED"),
        ("execute", "ls", "permissive", "OK"),
    ] {
        let toolset =
            toolset(&world, touches(operation, target), json!({ "permissions": permissions }), json!({}), echo)
                .unwrap();
        assert_eq!(code(&call(&toolset, "mine", json!({})).await), expected, "{operation} {target} {permissions}");
    }
}

#[tokio::test]
async fn a_tool_that_does_not_say_what_it_touches_is_judged_like_a_command() {
    let world = World::new();
    for (more, permissions, expected) in [
        (json!({}), json!(null), "rejected APPROVAL_REQUIRED"),
        (json!({}), json!("default"), "rejected APPROVAL_REQUIRED"),
        (json!({}), json!("permissive"), "OK"),
        (json!({}), json!("readonly"), "UNKNOWN_TOOL"),
        (json!({ "readOnly": true }), json!("readonly"), "OK"),
        (json!({ "touches": [] }), json!("readonly"), "OK"),
        (json!({ "needsApproval": true, "readOnly": true }), json!("permissive"), "rejected APPROVAL_REQUIRED"),
        // It says that it plans what it touches, and then does not.
        (json!({ "plans": true, "plansTouches": true }), json!("default"), "rejected APPROVAL_REQUIRED"),
    ] {
        let toolset = toolset(&world, more.clone(), json!({ "permissions": permissions }), json!({}), echo).unwrap();
        assert_eq!(code(&call(&toolset, "mine", json!({})).await), expected, "{more} {permissions}");
    }
}

#[tokio::test]
async fn the_plan_of_a_call_decides_and_is_shown() {
    let world = World::new();
    let plan = json!({
        "touches": [{ "operation": "write", "path": "a.txt" }], "description": "Adds it.\u{1b}[2J",
        "approvalMetadata": { "risk": "high" },
    });
    let toolset = toolset(&world, json!({ "plans": true }), json!({ "permissions": "default" }), plan, echo).unwrap();
    let request = toolset.assess("mine", &json!({}), CallOptions::default()).await.unwrap().request.unwrap();
    assert_eq!(request.description, "Adds it.\\u{1b}[2J");
    assert_eq!(request.metadata, Some(json!({ "risk": "high" })));
    assert_eq!(request.touches[0].target, format!("{}/a.txt", world.root()));
    let issues = json!({ "issues": ["at 'a': too small"] });
    let toolset = self::toolset(&world, json!({ "plans": true }), json!({}), issues, echo).unwrap();
    let error = toolset.validate("mine", &json!({}), CallOptions::default()).await.unwrap_err();
    assert_eq!(error.message(), "The input of mine is not right: at 'a': too small.");
}

#[tokio::test]
async fn a_run_that_hangs_ends_at_its_own_deadline_or_by_its_caller() {
    let world = World::new();
    let more = json!({ "readOnly": true, "timeoutMs": 50 });
    let hangs = toolset(&world, more, json!({}), json!({}), never).unwrap();
    assert_eq!(code(&call(&hangs, "mine", json!({})).await), "TIMEOUT");
    let hangs = toolset(&world, json!({ "readOnly": true }), json!({}), json!({}), until_stopped).unwrap();
    let cancel = CancelToken::new();
    let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let (ended, ()) = tokio::join!(hangs.call("mine", json!({}), options), async { cancel.cancel() });
    assert_eq!(code(&ended), "rejected ABORTED");
    let (ended, ()) = tokio::join!(call(&hangs, "mine", json!({})), async { hangs.close() });
    assert_eq!(code(&ended), "rejected CLOSED");
}

#[tokio::test]
async fn long_text_is_cut_and_a_huge_part_refused() {
    let world = World::new();
    let options = json!({ "limits": { "textBytes": 100, "partBytes": 100 } });
    let cut = toolset(&world, json!({ "readOnly": true }), options.clone(), json!({}), long).unwrap();
    let result = call(&cut, "mine", json!({})).await.unwrap();
    assert!(result.truncated && result.text.len() < 200);
    let huge = toolset(&world, json!({ "readOnly": true }), options, json!({}), huge).unwrap();
    assert_eq!(code(&call(&huge, "mine", json!({})).await), "TOOL_FAILED");
}

#[test]
fn what_is_wrong_with_a_tool_is_said_when_the_toolset_is_made() {
    let world = World::new();
    for (more, said) in [
        (json!({ "name": "ls" }), "that of a tool of gloveport"),
        (json!({ "name": "console" }), "that of a tool of gloveport"),
        (json!({ "inputSchema": { "type": "string" } }), "\"object\""),
        (json!({ "inputSchema": { "$ref": "x" } }), "$ref"),
        (json!({ "inputSchema": 1 }), "JSON Schema object"),
        (json!({ "touches": [{ "operation": "read" }] }), "needs a `command`"),
        (json!({ "touches": [{ "operation": "execute", "path": "x" }] }), "needs a `command`"),
    ] {
        let error = toolset(&world, more, json!({}), json!({}), echo).err().unwrap();
        assert_eq!(error.kind(), crate::error::ErrorKind::InvalidInput);
        assert!(error.message().contains(said), "{}", error.message());
    }
    let twice = json!({ "customTools": [spec(json!({})), spec(json!({}))] });
    let error = toolset(&world, json!({}), twice, json!({}), echo).err().unwrap();
    assert_eq!(error.message(), "Duplicate tool name: 'mine'.");
}

#[tokio::test]
async fn instructions_are_grouped_the_first_wins_and_missing_tools_say_nothing() {
    let world = World::new();
    let tool = |name: &str, group: Option<&str>, text: &str| {
        spec(json!({ "name": name, "readOnly": true, "instruction": { "group": group, "text": text } }))
    };
    let options = json!({
        "tools": ["a", "b", "c", "d"],
        "customTools": [tool("a", Some("g"), "A"), tool("b", Some("g"), "B"), tool("c", None, "C"), tool("d", None, "D")],
    });
    let toolset = toolset(&world, json!({}), options, json!({}), echo).unwrap();
    let blocks = |without: &[&str]| {
        let without: Vec<_> = without.iter().map(|&name| name.to_owned()).collect();
        toolset.instructions(&without, &BTreeMap::new()).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        blocks(&["d"]),
        ["<tool-instruction name=\"g\">A</tool-instruction>", "<tool-instruction name=\"c\">C</tool-instruction>"]
    );
    assert_eq!(blocks(&["a", "c", "d"]), ["<tool-instruction name=\"g\">B</tool-instruction>"]);
}

/// Judges every command alike and keeps what it saw.
struct Judge {
    answer: Result<Action>,
    seen: Mutex<Vec<String>>,
}

impl CommandJudge for Judge {
    fn judge<'a>(&'a self, _: CallInfo<'a>, analysis: &'a CommandAnalysis) -> BoxFuture<'a, Result<Action>> {
        Box::pin(async move {
            self.seen.lock().push(analysis.verdict.reason.clone());
            match &self.answer {
                Ok(action) => Ok(*action),
                Err(error) => Err(Error::new(error.kind(), error.message().to_owned())),
            }
        })
    }
}

#[tokio::test]
async fn the_applications_policy_for_commands_takes_the_place_of_ours_and_not_of_the_rules() {
    let world = World::new();
    let assess = async |answer: Result<Action>, permissions: Value, command: &str| {
        let judge = Arc::new(Judge { answer, seen: Mutex::default() });
        let application = Application { commands: Some(judge.clone()), ..Application::default() };
        let options = serde_json::from_value(json!({ "permissions": permissions })).unwrap();
        let toolset = Toolset::new(Arc::clone(&world.backend), options, application).unwrap();
        let input = json!({ "command": command });
        let status = toolset.assess("execute", &input, CallOptions::default()).await.unwrap().status;
        (status, judge.seen.lock().len())
    };
    use AssessmentStatus::{Allowed, Blocked, NeedsApproval};
    let none = json!(null);
    assert_eq!(assess(Ok(Action::Allow), none.clone(), "ls").await, (Allowed, 1));
    // The deny list and what is unresolved are for the function to judge.
    assert_eq!(assess(Ok(Action::Allow), none.clone(), "sudo ls").await, (Allowed, 1));
    assert_eq!(assess(Ok(Action::Allow), none.clone(), "$X").await, (Allowed, 1));
    assert_eq!(assess(Ok(Action::Allow), none.clone(), "ls 'unfinished").await, (NeedsApproval, 1));
    assert_eq!(assess(Ok(Action::Deny), json!("permissive"), "ls").await, (Blocked, 1));
    assert_eq!(assess(Ok(Action::Ask), json!("permissive"), "ls").await, (NeedsApproval, 1));
    assert_eq!(assess(Err(Error::internal("x")), json!("permissive"), "ls").await, (Blocked, 1));
    // Patterns stay: of commands, and of the files that a command names. A default for commands does not.
    let rules = json!({
        "default": "ask", "read": { "rules": [{ "pattern": "**/.env", "action": "deny" }], "default": "allow" },
        "execute": { "rules": [{ "pattern": "rm *", "action": "deny" }, { "pattern": "git push*", "action": "ask" }] },
    });
    assert_eq!(assess(Ok(Action::Allow), rules.clone(), "ls").await, (Allowed, 1));
    assert_eq!(assess(Ok(Action::Allow), rules.clone(), "ls; rm x").await, (Blocked, 0));
    assert_eq!(assess(Ok(Action::Allow), rules.clone(), "cat .env").await, (Blocked, 0));
    assert_eq!(assess(Ok(Action::Allow), rules, "git push").await, (NeedsApproval, 1));
}

#[test]
fn a_list_and_a_function_for_commands_are_one_too_many() {
    let world = World::new();
    let judge = Arc::new(Judge { answer: Ok(Action::Allow), seen: Mutex::default() });
    let application = Application { commands: Some(judge), ..Application::default() };
    let options = serde_json::from_value(json!({ "allowedCommands": [] })).unwrap();
    let error = Toolset::new(Arc::clone(&world.backend), options, application).err().unwrap();
    assert!(error.message().contains("not both"));
}

/// On the paused clock of a test, time passes only when nothing else can go on: neither a task nor a thread that reads.
async fn until_all_others_wait() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Counts how many requests are open at once; each waits until the other runs can go no further.
struct Crowd {
    open: AtomicUsize,
    most: AtomicUsize,
    asked: AtomicUsize,
    remember: Remember,
}

impl Approver for Crowd {
    fn decide<'a>(&'a self, _: CallInfo<'a>, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<ApprovalDecision>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(open, Ordering::SeqCst);
            until_all_others_wait().await;
            self.open.fetch_sub(1, Ordering::SeqCst);
            Ok(ApprovalDecision { remember: self.remember, ..yes() })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn requests_come_one_by_one_or_together_as_the_application_chooses() {
    for (order, remember, most, asked) in [
        (json!("one-by-one"), Remember::None, 1, 5),
        (json!("together"), Remember::None, 5, 5),
        // What was allowed for the session is not asked again by those who waited.
        (json!("one-by-one"), Remember::Session, 1, 1),
    ] {
        let world = World::new();
        let crowd = Arc::new(Crowd {
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            remember,
        });
        let approver: Arc<dyn Approver> = crowd.clone();
        let toolset = Arc::new(world.toolset_with(
            json!({ "needApproval": ["read_file"], "approvalOrder": order }),
            None,
            Some(approver),
        ));
        let runs: Vec<_> = (0..5)
            .map(|_| {
                let toolset = Arc::clone(&toolset);
                tokio::spawn(async move { call(&toolset, "read_file", json!({ "path": "a.txt" })).await })
            })
            .collect();
        for run in runs {
            assert_eq!(code(&run.await.unwrap()), "OK");
        }
        assert_eq!((crowd.most.load(Ordering::SeqCst), crowd.asked.load(Ordering::SeqCst)), (most, asked), "{order}");
    }
}

/// Lets the other calls come to their request while the first is open, and changes the file then.
struct Rewriting {
    open: Notify,
    path: PathBuf,
    asked: AtomicUsize,
}

impl Approver for Rewriting {
    fn decide<'a>(&'a self, _: CallInfo<'a>, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<ApprovalDecision>> {
        Box::pin(async move {
            if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
                self.open.notify_one();
                until_all_others_wait().await;
                std::fs::write(&self.path, "two\nthree\n").unwrap();
            }
            Ok(yes())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waited_shows_the_file_as_it_is_then() {
    let world = World::new();
    let path = world.directory.path().join("a.txt");
    let approver = Arc::new(Rewriting { open: Notify::new(), path, asked: AtomicUsize::new(0) });
    let asked: Arc<dyn Approver> = approver.clone();
    let toolset = world.toolset_with(json!({ "needApproval": ["edit_file", "ls"] }), None, Some(asked));
    let edit = json!({ "path": "a.txt", "old_string": "two", "new_string": "2" });
    let (ls, edited) = tokio::join!(call(&toolset, "ls", json!({})), async {
        approver.open.notified().await;
        call(&toolset, "edit_file", edit).await
    });
    assert_eq!((code(&ls), code(&edited)), ("OK".to_owned(), "OK".to_owned()));
    assert_eq!(world.content(), "2\nthree\n");
    assert_eq!(approver.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_report_says_how_a_call_was_judged() {
    let world = World::new();
    let toolset =
        world.toolset_with(json!({ "permissions": "default" }), None, Some(Answering::new(yes()) as Arc<dyn Approver>));
    let verdict = async |tool: &str, input: Value| {
        let report = toolset.call_reported(tool, input, CallOptions::default()).await;
        report.verdict.map(|verdict| verdict.action)
    };
    assert_eq!(verdict("read_file", json!({ "path": "a.txt" })).await, Some(Action::Allow));
    assert_eq!(verdict("write_file", json!({ "path": "b.txt", "content": "" })).await, Some(Action::Ask));
    assert_eq!(verdict("read_file", json!({ "path": ".env" })).await, Some(Action::Deny));
    assert_eq!(verdict("read_file", json!({})).await, None);
    assert_eq!(verdict("nope", json!({})).await, None);
}
