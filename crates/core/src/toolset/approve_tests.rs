//! Who says yes, to what exactly, and what `assess` answers.

use std::fs;

use serde_json::json;

use super::tests::{Answering, World, call, code, yes};
use super::*;
use crate::approval::{ApprovalDecision, ApprovalGrant, Remember};
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::permissions::{Action, CommandAnalysis};

#[tokio::test]
async fn a_write_that_must_be_approved_shows_its_diff_and_runs_after_a_yes() {
    let world = World::new();
    let approver = Answering::new(yes());
    let toolset = world.toolset_with(json!({"requireWriteApproval": true}), None, Some(approver.clone()));
    let input = json!({"path": "a.txt", "old_string": "one", "new_string": "1"});
    assert_eq!(code(&call(&toolset, "edit_file", input.clone()).await), "OK");
    assert_eq!(world.content(), "1\ntwo\n");
    let asked = approver.asked.lock();
    let request = asked.first().unwrap();
    assert_eq!((request.tool.as_str(), &request.input), ("edit_file", &input));
    assert!(request.diff.as_deref().unwrap().contains("-one\n+1\n"), "{:?}", request.diff);
    assert_eq!(request.description, "Edit a.txt: replace 3 characters with 1 characters");
}

#[tokio::test]
async fn without_a_yes_nothing_runs() {
    let world = World::new();
    let write = json!({"path": "a.txt", "content": "gone"});
    let no = ApprovalDecision { reason: Some("not now".to_owned()), ..ApprovalDecision::default() };
    let strict = json!({"requireWriteApproval": true, "approvalMode": "strict"});
    let ask = json!({"requireWriteApproval": true});

    let toolset = world.toolset(ask.clone());
    let rejected = call(&toolset, "write_file", write.clone()).await;
    assert_eq!(code(&rejected), "rejected APPROVAL_REQUIRED");
    assert_eq!(rejected.unwrap_err().details().unwrap()["tool"], "write_file");

    let approver = Answering::new(no);
    let denied = call(&world.toolset_with(ask.clone(), None, Some(approver)), "write_file", write.clone()).await;
    assert!(denied.as_ref().unwrap().text.contains("not now"));
    assert_eq!(code(&denied), "APPROVAL_DENIED");

    // D42: an approver that says yes cannot loosen `strict`.
    let approver = Answering::new(yes());
    let toolset = world.toolset_with(strict, None, Some(approver.clone()));
    assert_eq!(code(&call(&toolset, "write_file", write.clone()).await), "APPROVAL_DENIED");
    assert_eq!(approver.count(), 0);

    let grant = ApprovalGrant { approved: false, reason: Some("no".to_owned()) };
    let options = CallOptions { approval: Some(grant), ..CallOptions::default() };
    assert_eq!(code(&world.toolset(ask).call("write_file", write, options).await), "APPROVAL_DENIED");
    assert_eq!(world.content(), "one\ntwo\n");
}

#[tokio::test]
async fn an_approval_holds_only_for_the_content_that_it_showed() {
    let world = World::new();
    let path = world.directory.path().join("a.txt");
    let approver = Answering::while_asked(yes(), move || fs::write(&path, "one\nchanged\n").unwrap());
    let toolset = world.toolset_with(json!({"requireWriteApproval": true}), None, Some(approver));
    let input = json!({"path": "a.txt", "old_string": "one", "new_string": "1"});
    assert_eq!(code(&call(&toolset, "edit_file", input).await), "STALE_FILE");
    assert_eq!(world.content(), "one\nchanged\n");
}

#[tokio::test]
async fn a_session_approval_covers_the_same_input_and_nothing_else() {
    let world = World::new();
    let approver = Answering::new(ApprovalDecision { remember: Remember::Session, ..yes() });
    let toolset = world.toolset_with(json!({"requireWriteApproval": true}), None, Some(approver.clone()));
    for (content, asked) in [("x", 1), ("x", 1), ("y", 2)] {
        assert_eq!(code(&call(&toolset, "write_file", json!({"path": "b", "content": content})).await), "OK");
        assert_eq!(approver.count(), asked, "{content}");
    }
}

#[tokio::test]
async fn an_approver_may_change_the_input_and_what_rules_deny_stays_denied() {
    let world = World::new();
    let rules = json!({"permissions": {
        "default": "ask",
        "write": {"rules": [{"pattern": "**/secret.txt", "action": "deny"}]},
    }});
    for (path, expected) in [("other.txt", "OK"), ("secret.txt", "PERMISSION_DENIED")] {
        let decision = ApprovalDecision { input: Some(json!({"path": path, "content": "x"})), ..yes() };
        let toolset = world.toolset_with(rules.clone(), None, Some(Answering::new(decision)));
        let ended = call(&toolset, "write_file", json!({"path": "b.txt", "content": "x"})).await;
        assert_eq!(code(&ended), expected, "{ended:?}");
        assert_eq!(world.directory.path().join(path).exists(), expected == "OK");
    }
    assert!(!world.directory.path().join("b.txt").exists());
}

#[tokio::test]
async fn a_grant_from_elsewhere_is_bound_to_what_assess_showed() {
    let world = World::new();
    let toolset = world.toolset(json!({"requireWriteApproval": true}));
    let input = json!({"path": "a.txt", "content": "new"});
    let named = |id: &str| CallOptions { call_id: Some(id.to_owned()), ..CallOptions::default() };
    let granted =
        |id: &str| CallOptions { approval: Some(ApprovalGrant { approved: true, reason: None }), ..named(id) };

    let assessment = toolset.assess("write_file", &input, named("1")).await.unwrap();
    assert_eq!(assessment.status, AssessmentStatus::NeedsApproval);
    assert!(assessment.request.unwrap().diff.unwrap().contains("+new"));
    fs::write(world.directory.path().join("a.txt"), "changed\n").unwrap();
    assert_eq!(code(&toolset.call("write_file", input.clone(), granted("1")).await), "STALE_FILE");
    assert_eq!(world.content(), "changed\n");

    // A framework that assesses again when it resumes must not hide what changed since somebody looked.
    toolset.assess("write_file", &input, named("1b")).await.unwrap();
    fs::write(world.directory.path().join("a.txt"), "changed again\n").unwrap();
    toolset.assess("write_file", &input, named("1b")).await.unwrap();
    assert_eq!(code(&toolset.call("write_file", input.clone(), granted("1b")).await), "STALE_FILE");

    toolset.assess("write_file", &input, named("2")).await.unwrap();
    let other = json!({"path": "a.txt", "content": "other"});
    assert_eq!(code(&toolset.call("write_file", other, granted("2")).await), "STALE_FILE");

    toolset.assess("write_file", &input, named("3")).await.unwrap();
    let result = toolset.call("write_file", input.clone(), granted("3")).await.unwrap();
    assert_eq!(result.data.unwrap()["approvalBoundTo"], "content");
    assert_eq!(world.content(), "new");

    // Without an approver the error is what somebody is shown.
    let refused = |id: &str| toolset.call("write_file", json!({"path": "a.txt", "content": "newer"}), named(id));
    assert_eq!(code(&refused("4").await), "rejected APPROVAL_REQUIRED");
    fs::write(world.directory.path().join("a.txt"), "changed meanwhile\n").unwrap();
    let newer = json!({"path": "a.txt", "content": "newer"});
    assert_eq!(code(&toolset.call("write_file", newer.clone(), granted("4")).await), "STALE_FILE");
    assert_eq!(world.content(), "changed meanwhile\n");
    assert_eq!(code(&refused("4").await), "rejected APPROVAL_REQUIRED");
    let result = toolset.call("write_file", newer, granted("4")).await.unwrap();
    assert_eq!(result.data.unwrap()["approvalBoundTo"], "content");
    assert_eq!(world.content(), "newer");

    // As after a restart: nothing is known of what was shown.
    let result = toolset.call("write_file", input, granted("unknown")).await.unwrap();
    assert_eq!(result.data.unwrap()["approvalBoundTo"], "input");
    assert!(result.text.contains("before this process started"), "{}", result.text);
}

#[tokio::test]
async fn assess_tells_allowed_from_asked_from_blocked() {
    let world = World::new();
    let toolset = world.toolset(json!({"permissions": "default"}));
    let outside = json!({"path": "/etc/hostname"});
    for (tool, input, expected) in [
        ("read_file", json!({"path": "a.txt"}), AssessmentStatus::Allowed),
        ("write_file", json!({"path": "b.txt", "content": "x"}), AssessmentStatus::NeedsApproval),
        ("read_file", json!({"path": ".env"}), AssessmentStatus::Blocked),
        ("read_file", outside, AssessmentStatus::Blocked),
        ("edit_file", json!({"path": "a.txt", "old_string": "nine", "new_string": "9"}), AssessmentStatus::Blocked),
        ("nothing", json!({}), AssessmentStatus::Blocked),
    ] {
        let assessment = toolset.assess(tool, &input, CallOptions::default()).await.unwrap();
        assert_eq!(assessment.status, expected, "{tool} {input}: {:?}", assessment.reason);
    }
}

/// Answers the first time `ask`, and then as it is told.
struct Changing {
    first: Mutex<Option<Action>>,
    then: Action,
    judged: tokio::sync::Notify,
}

impl CommandJudge for Changing {
    fn judge<'a>(&'a self, _: CallInfo<'a>, _: &'a CommandAnalysis) -> BoxFuture<'a, Result<Action>> {
        Box::pin(async {
            self.judged.notify_one();
            Ok(self.first.lock().take().unwrap_or(self.then))
        })
    }
}

/// The report of a call that had waited in line said `ask` of what was denied by then, and that somebody had said yes for the
/// session where nobody had.
#[tokio::test]
async fn the_verdict_of_a_call_that_waited_in_line_is_the_last_one() {
    for (then, action, approved_by, ended) in [
        (Action::Deny, Action::Deny, None, "COMMAND_BLOCKED"),
        (Action::Allow, Action::Allow, None, "OK"),
        (Action::Ask, Action::Ask, Some(ApprovedBy::Approver), "OK"),
    ] {
        let world = World::new();
        let judge =
            Arc::new(Changing { first: Mutex::new(Some(Action::Ask)), then, judged: tokio::sync::Notify::new() });
        let application = Application {
            approver: Some(Answering::new(yes())),
            commands: Some(Arc::clone(&judge) as Arc<dyn CommandJudge>),
            ..Application::default()
        };
        let options = serde_json::from_value(json!({ "requireExecuteApproval": false })).unwrap();
        let toolset = Toolset::new(Arc::clone(&world.backend), options, application).unwrap();
        let before = Arc::clone(&toolset.shared);
        let turn = before.turn.lock().await;
        let waiting = toolset.clone();
        let call = tokio::spawn(async move {
            waiting.call_reported("execute", json!({ "command": "true" }), CallOptions::default()).await
        });
        // It waits for its turn when it is judged and gives this one thread back.
        judge.judged.notified().await;
        drop(turn);
        let report = call.await.unwrap();
        let verdict = report.verdict.unwrap();
        assert_eq!((verdict.action, verdict.approved_by), (action, approved_by), "{verdict:?}");
        assert_eq!(verdict.reason.is_empty(), action == Action::Allow, "{verdict:?}");
        assert_eq!(code(&report.ended), ended);
    }
}
