//! The pipeline over a real directory.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::approval::{ApprovalDecision, ApprovalRequest};
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::backend::{BoxFuture, Call, FileSystem, Shell, WritableFileSystem};
use crate::call_info::CallInfo;
use crate::path::VirtualPath;
use crate::tool::ToolResult;

pub(super) struct World {
    pub(super) directory: tempfile::TempDir,
    pub(super) backend: Arc<dyn Backend>,
}

impl World {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.txt"), "one\ntwo\n").unwrap();
        let options =
            LocalOptions { root: Some(directory.path().to_owned()), execute: true, ..LocalOptions::default() };
        let backend = Arc::new(LocalBackend::new(options).unwrap());
        Self { directory, backend }
    }

    pub(super) fn toolset(&self, options: Value) -> Toolset {
        self.toolset_with(options, None, None)
    }

    pub(super) fn toolset_with(
        &self,
        options: Value,
        hooks: Option<Arc<dyn Hooks>>,
        approver: Option<Arc<dyn Approver>>,
    ) -> Toolset {
        let options = serde_json::from_value(options).unwrap();
        let application = Application { hooks, approver, ..Application::default() };
        Toolset::new(Arc::clone(&self.backend), options, application).unwrap()
    }

    pub(super) fn root(&self) -> String {
        self.backend.files().working_directory().as_str().to_owned()
    }

    pub(super) fn content(&self) -> String {
        fs::read_to_string(self.directory.path().join("a.txt")).unwrap()
    }
}

pub(super) async fn call(toolset: &Toolset, name: &str, input: Value) -> Result<ToolResult> {
    toolset.call(name, input, CallOptions::default()).await
}

pub(super) fn code(ended: &Result<ToolResult>) -> String {
    match ended {
        Ok(result) => result.code.clone().unwrap_or_else(|| "OK".to_owned()),
        Err(error) => format!("rejected {}", error.kind().code()),
    }
}

/// Answers every request in the same way and keeps what it was asked.
pub(super) struct Answering {
    decision: ApprovalDecision,
    pub(super) asked: Mutex<Vec<ApprovalRequest>>,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl Answering {
    pub(super) fn new(decision: ApprovalDecision) -> Arc<Self> {
        Self::while_asked(decision, || {})
    }

    pub(super) fn while_asked(decision: ApprovalDecision, meanwhile: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { decision, asked: Mutex::default(), meanwhile: Box::new(meanwhile) })
    }

    pub(super) fn count(&self) -> usize {
        self.asked.lock().len()
    }
}

impl Approver for Answering {
    fn decide<'a>(&'a self, _: CallInfo<'a>, request: &'a ApprovalRequest) -> BoxFuture<'a, Result<ApprovalDecision>> {
        Box::pin(async move {
            self.asked.lock().push(request.clone());
            (self.meanwhile)();
            Ok(self.decision.clone())
        })
    }
}

pub(super) fn yes() -> ApprovalDecision {
    ApprovalDecision { approved: true, ..ApprovalDecision::default() }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_that_lists_the_tools() {
    let world = World::new();
    let result = call(&world.toolset(json!({})), "rm", json!({})).await.unwrap();
    assert_eq!(result.code.as_deref(), Some("UNKNOWN_TOOL"));
    assert!(
        result.text.ends_with("The tools are: ls, read_file, write_file, edit_file, glob, grep, execute."),
        "{}",
        result.text
    );
}

#[tokio::test]
async fn bad_input_says_where_and_what_would_work() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    for (tool, input, expected) in [
        ("ls", json!([]), "must be a JSON object"),
        ("ls", json!({"path": 1}), "at 'path': wrong type: integer `1`, expected a string"),
        ("ls", json!({"depth": 0}), "`depth` must be from 1 to 8"),
        ("ls", json!({"depth": -1}), "expected a whole number that is not negative"),
        ("ls", json!({"path": "a\0b"}), "NUL"),
        ("ls", json!({"path": "../../../../../../../../../../.."}), "above '/'"),
        ("ls", json!({"paths": "."}), "unknown field `paths`"),
        ("ls", json!({"path": deep}), "nested more than"),
        ("write_file", json!({"path": "x"}), "missing field `content`"),
        ("write_file", json!({"path": "x/", "content": ""}), "must name a file"),
        ("edit_file", json!({"path": "a.txt", "old_string": "one"}), "Give either"),
        ("edit_file", json!({"path": "a.txt", "edits": []}), "Give either"),
        ("execute", json!({"command": "  "}), "`command` is empty"),
        ("execute", json!({"command": "true", "timeout": -1}), "`timeout` must be from 0"),
    ] {
        let result = call(&toolset, tool, input.clone()).await.unwrap();
        assert_eq!(result.code.as_deref(), Some("INVALID_INPUT"), "{tool} {input}: {}", result.text);
        assert!(result.text.contains(expected), "{tool} {input}: {}", result.text);
    }
    assert_eq!(world.content(), "one\ntwo\n");
}

#[tokio::test]
async fn reads_writes_edits_and_finds() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    for (tool, input, expected) in [
        ("read_file", json!({"path": "a.txt"}), "     1\tone\n     2\ttwo"),
        ("edit_file", json!({"path": "a.txt", "old_string": "two", "new_string": "2"}), "Edited "),
        ("write_file", json!({"path": "deep/b.txt", "content": "three\n"}), "1 line(s), 6 bytes."),
        ("glob", json!({"pattern": "**/*.txt"}), "Found 2 file(s) matching '**/*.txt':"),
        ("grep", json!({"pattern": "three", "output_mode": "content"}), "deep/b.txt:1: three"),
        ("grep", json!({"pattern": "-x"}), "No matches for '-x'"),
        ("ls", json!({"depth": 2}), "\n  deep/\n    b.txt (6 bytes)\n  a.txt (6 bytes)"),
    ] {
        let result = call(&toolset, tool, input.clone()).await.unwrap();
        assert!(!result.is_error, "{tool} {input}: {}", result.text);
        assert!(result.text.contains(expected), "{tool} {input}: {}", result.text);
    }
    assert_eq!(world.content(), "one\n2\n");
}

#[tokio::test]
async fn an_edit_of_lines_that_changed_since_they_were_read_is_refused_and_of_others_is_rebased() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    let edit = |old: &str, new: &str| json!({"path": "./a.txt", "old_string": old, "new_string": new});
    call(&toolset, "read_file", json!({"path": "a.txt"})).await.unwrap();
    fs::write(world.directory.path().join("a.txt"), "zero\none\ntwo\n").unwrap();
    let rebased = call(&toolset, "edit_file", edit("two", "2")).await.unwrap();
    assert_eq!((rebased.is_error, &rebased.data.unwrap()["rebased"]), (false, &json!(true)), "{}", rebased.text);

    call(&toolset, "read_file", json!({"path": "a.txt"})).await.unwrap();
    fs::write(world.directory.path().join("a.txt"), "zero\none, changed\n2\n").unwrap();
    assert_eq!(code(&call(&toolset, "edit_file", edit("one", "1")).await), "STALE_FILE");
    call(&toolset, "read_file", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(code(&call(&toolset, "edit_file", edit("one", "1")).await), "OK");
    // Its own edit does not make a toolset's memory stale.
    let again = call(&toolset, "edit_file", edit("zero", "0")).await.unwrap();
    assert_eq!(again.data.unwrap()["rebased"], json!(false));
    assert_eq!(world.content(), "0\n1, changed\n2\n");
}

#[tokio::test]
async fn commands_are_judged_by_what_they_do() {
    let world = World::new();
    let free = json!({"requireExecuteApproval": false});
    let listed = json!({"requireExecuteApproval": false, "allowedCommands": ["git status", "npm run *"]});
    let nothing = json!({"requireExecuteApproval": false, "allowedCommands": []});
    for (options, command, expected) in [
        (&free, "echo hi", AssessmentStatus::Allowed),
        (&free, "echo 'rm -rf /'", AssessmentStatus::Allowed),
        (&free, "rm -rf ./node_modules", AssessmentStatus::Allowed),
        (&free, "r''m -rf /", AssessmentStatus::Blocked),
        (&free, "true; sudo id", AssessmentStatus::Blocked),
        // Invariant 4: what is not understood is never simply allowed.
        (&free, "$TOOL --version", AssessmentStatus::NeedsApproval),
        (&free, "echo 'open", AssessmentStatus::NeedsApproval),
        (&json!({}), "echo hi", AssessmentStatus::NeedsApproval),
        (&listed, "git status --short", AssessmentStatus::Allowed),
        (&listed, "git push", AssessmentStatus::Blocked),
        (&listed, "git status; git push", AssessmentStatus::Blocked),
        (&nothing, "echo hi", AssessmentStatus::Blocked),
        (&json!({"permissions": "readonly", "tools": ["ls"]}), "echo hi", AssessmentStatus::Blocked),
    ] {
        let toolset = world.toolset(options.clone());
        let input = json!({"command": command});
        let assessment = toolset.assess("execute", &input, CallOptions::default()).await.unwrap();
        assert_eq!(assessment.status, expected, "{options} {command}: {:?}", assessment.reason);
    }
    let toolset = world.toolset(json!({}));
    let input = json!({"command": "grep x a.txt > out.txt"});
    let request = toolset.assess("execute", &input, CallOptions::default()).await.unwrap().request.unwrap();
    let picture = request.command.unwrap();
    assert!(picture.parsed);
    assert_eq!((picture.reads, picture.writes), (vec!["a.txt".to_owned()], vec!["out.txt".to_owned()]));
}

#[tokio::test]
async fn an_abort_rejects_and_a_close_ends_what_runs() {
    let world = World::new();
    let toolset = world.toolset(json!({"requireExecuteApproval": false}));
    let aborted = CallOptions::default();
    aborted.cancel.cancel();
    assert_eq!(code(&toolset.call("ls", json!({}), aborted).await), "rejected ABORTED");

    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let options = CallOptions { on_output: Some(Arc::new(move |_| cancel.cancel())), ..options };
    let ended = toolset.call("execute", json!({"command": "echo partial; exec sleep 60"}), options).await.unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::Aborted);
    assert!(ended.details().unwrap()["partial"]["text"].as_str().unwrap().contains("partial"), "{:?}", ended.details());

    let closing = toolset.clone();
    let options = CallOptions { on_output: Some(Arc::new(move |_| closing.close())), ..CallOptions::default() };
    let ended = toolset.call("execute", json!({"command": "echo x; exec sleep 60"}), options).await;
    assert_eq!(code(&ended), "rejected CLOSED");
    assert_eq!(code(&call(&toolset, "ls", json!({})).await), "rejected CLOSED");
    let path = VirtualPath::parse("a.txt", world.backend.files().working_directory()).unwrap();
    assert!(world.backend.files().stat(&path, &Call::default()).await.unwrap().is_some(), "the backend stays open");
}

#[tokio::test]
async fn repeated_fixable_failures_tell_the_model_to_stop() {
    let world = World::new();
    let toolset = world.toolset(json!({"maxRetries": 2}));
    let missing = json!({"path": "nine.txt"});
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(call(&toolset, "read_file", missing.clone()).await.unwrap().text.contains("Stop repeating it"));
    }
    assert_eq!(told, [false, false, true]);
    call(&toolset, "read_file", json!({"path": "a.txt"})).await.unwrap();
    assert!(!call(&toolset, "read_file", missing).await.unwrap().text.contains("Stop repeating it"));
}

/// BE-106: what a model can mend by itself counts; what is forbidden, or only failed, does not.
#[tokio::test]
async fn only_failures_that_a_model_can_mend_are_counted() {
    let world = World::new();
    let outside = json!({"path": "a.txt", "offset": 99});
    let edit = |old: &str| json!({"path": "a.txt", "old_string": old, "new_string": "x"});
    let rules = json!({"default": "allow", "read": {"rules": [{"pattern": "**/secret", "action": "deny"}]}});
    let options = json!({"maxRetries": 0, "permissions": rules});
    for (tool, input, counted) in [
        ("read_file", json!({"path": "nine.txt"}), true),
        ("read_file", outside, true),
        ("edit_file", edit("nine"), true),
        ("edit_file", edit("o"), true),
        ("read_file", json!({"path": "secret"}), false),
        ("execute", json!({"command": "false"}), false),
    ] {
        let toolset = world.toolset(options.clone());
        let text = call(&toolset, tool, input.clone()).await.unwrap().text;
        assert_eq!(text.contains("Stop repeating it"), counted, "{tool} {input}: {text}");
    }
}

#[tokio::test]
async fn options_choose_name_and_describe_the_tools() {
    let world = World::new();
    let names = |options: Value| {
        let toolset = world.toolset(options);
        toolset.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" ")
    };
    for (options, expected) in [
        (json!({}), "ls read_file write_file edit_file glob grep execute"),
        (json!({"editFormat": "hashline"}), "ls read_file write_file hashline_edit glob grep execute"),
        (json!({"tools": ["grep", "ls", "grep"]}), "grep ls"),
        (
            json!({"tools": ["files"]}),
            "ls read_file write_file edit_file glob grep find_files mkdir delete_file move_file copy_file",
        ),
        (json!({"permissions": "readonly"}), "ls read_file glob grep"),
        (json!({"names": {"execute": "Bash"}}), "ls read_file write_file edit_file glob grep Bash"),
    ] {
        assert_eq!(names(options.clone()), expected, "{options}");
    }
    for bad in [
        json!({"tools": ["bash"]}),
        json!({"descriptions": {"bash": "x"}}),
        json!({"descriptions": {"ls": {"args": {"paths": "x"}}}}),
        json!({"names": {"ls": "a b"}}),
        json!({"names": {"ls": "grep"}}),
        json!({"permissions": "nonsense"}),
    ] {
        let options = serde_json::from_value(bad.clone()).unwrap();
        let error = Toolset::new(Arc::clone(&world.backend), options, Application::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{bad}");
    }
    let misspelt = json!({"permissions": {"read": {"rulez": []}}});
    let error = serde_json::from_value::<ToolsetOptions>(misspelt).unwrap_err();
    assert!(error.to_string().contains("unknown field `rulez`"), "{error}");
    let misspelt = json!({"descriptions": {"ls": {"returnz": "x"}}});
    let error = serde_json::from_value::<ToolsetOptions>(misspelt).unwrap_err();
    assert!(error.to_string().contains("unknown field `returnz`"), "{error}");
    // BE-104: a description, words for arguments, and what is returned.
    let words = json!({"ls": {"description": "Lists.", "args": {"path": "Where."}, "returns": "names"}});
    let (plain, told) = (world.toolset(json!({})), world.toolset(json!({ "descriptions": words })));
    assert_eq!(told.specs()[0].description, "Lists.\n\nReturns: names");
    let mut expected = plain.specs()[0].input_schema.clone();
    expected["properties"]["path"]["description"] = "Where.".into();
    assert_eq!(told.specs()[0].input_schema, expected);
    assert_eq!(told.specs()[1..], plain.specs()[1..]);
    let ours = plain.specs()[0].description.clone();
    let told = world.toolset(json!({"descriptions": {"ls": {"returns": "names"}}}));
    assert_eq!(told.specs()[0].description, format!("{ours}\n\nReturns: names"));
    let toolset = world.toolset(json!({"descriptions": {"ls": "Lists."}, "names": {"ls": "list"}}));
    assert_eq!(toolset.specs()[0].description, "Lists.");
    assert!(toolset.instructions(&[], &BTreeMap::new()).contains("`list` lists a directory"));
    assert_eq!(toolset.subset(&["list".to_owned()]).unwrap().specs().len(), 1);
    assert_eq!(toolset.subset(&["nine".to_owned()]).err().unwrap().kind(), ErrorKind::UnknownTool);
}

/// Now and then a shell had ended and answered before the pipeline looked at the abort, and the call resolved.
#[test]
fn a_run_that_answers_an_abort_by_itself_is_an_abort_all_the_same() {
    let deadline = crate::cancel::Deadline::default();
    let partial = ToolResult { code: Some("ABORTED".to_owned()), is_error: true, ..ToolResult::default() };
    assert!(call::unless_aborted(partial.clone(), &deadline).is_ok(), "nobody aborted");
    deadline.cancel.cancel();
    assert_eq!(call::unless_aborted(partial, &deadline).unwrap_err().kind(), ErrorKind::Aborted);
    assert!(call::unless_aborted(ToolResult::default(), &deadline).is_ok(), "it ended before the abort");
}

/// A file system that panics: a defect inside must not end the process.
struct Panicking(Arc<dyn Backend>, AtomicUsize);

impl Backend for Panicking {
    fn id(&self) -> &str {
        "panicking"
    }

    fn files(&self) -> &dyn FileSystem {
        if self.1.fetch_add(1, Ordering::Relaxed) > 0 {
            panic!("a defect");
        }
        self.0.files()
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        self.0.writer()
    }

    fn shell(&self) -> Option<&dyn Shell> {
        self.0.shell()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.close()
    }
}

#[tokio::test]
async fn a_panic_inside_becomes_an_internal_error() {
    let world = World::new();
    let backend = Arc::new(Panicking(Arc::clone(&world.backend), AtomicUsize::new(0)));
    let toolset = Toolset::new(backend, ToolsetOptions::default(), Application::default()).unwrap();
    assert_eq!(code(&call(&toolset, "ls", json!({})).await), "INTERNAL");
}

#[tokio::test]
async fn only_the_reading_tool_may_begin_on_a_lent_thread_of_a_disk() {
    let world = World::new();
    let toolset = world.toolset(json!({ "names": { "read_file": "view" } }));
    let near = world.backend.reads_at_hand();
    for (tool, at_once) in [("view", near), ("read_file", near), ("edit_file", false), ("grep", false), ("none", false)]
    {
        assert_eq!(toolset.answers_at_once(tool), at_once, "{tool}");
    }
    // Several files are read elsewhere: they may be large together.
    let input = json!({ "paths": ["a.txt", "a.txt"] });
    let mut reading = std::pin::pin!(toolset.call("read_file", input, CallOptions::default()));
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(crate::lent::poll(reading.as_mut(), context).is_pending());
    assert!(reading.await.unwrap().text.contains("==> a.txt <=="));
}

#[tokio::test]
async fn what_was_kept_goes_with_the_close() {
    let toolset = World::new().toolset(json!({}));
    toolset.keep("report".to_owned(), b"text".to_vec()).await.unwrap();
    let path = toolset.shared.scratch.host_path().unwrap();
    assert!(path.exists());
    toolset.close();
    toolset.over().await;
    assert!(!path.exists());
    assert_eq!(toolset.keep("late".to_owned(), Vec::new()).await.unwrap_err().kind(), ErrorKind::Closed);
}
