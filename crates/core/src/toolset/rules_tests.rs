//! Rules in the pipeline: which tools they leave, whom they ask, and that they bind reads of every kind.

use std::sync::Arc;

use serde_json::{Value, json};

use super::tests::{Answering, World, call, code, yes};
use super::*;
use crate::approval::{ApprovalDecision, ApprovalGrant};

/// Every tool that works without a fixed order, with an input and the operation that judges it.
fn calls() -> [(&'static str, Value, &'static str); 10] {
    [
        ("read_file", json!({ "path": "a.txt" }), "read"),
        ("write_file", json!({ "path": "new.txt", "content": "x" }), "write"),
        ("mkdir", json!({ "path": "folder" }), "write"),
        ("edit_file", json!({ "path": "a.txt", "old_string": "one", "new_string": "1" }), "edit"),
        ("delete_file", json!({ "path": "gone.txt" }), "delete"),
        ("execute", json!({ "command": "true" }), "execute"),
        ("glob", json!({ "pattern": "*" }), "glob"),
        ("grep", json!({ "pattern": "one" }), "grep"),
        ("ls", json!({}), "ls"),
        ("copy_file", json!({ "source": "a.txt", "destination": "b.txt" }), "write"),
    ]
}

fn with(world: &World, operation: &str, action: &str) -> Toolset {
    let permissions = json!({ "default": "allow", operation: { "default": action } });
    world.toolset(json!({ "tools": ["console", "files"], "permissions": permissions }))
}

#[test]
fn a_denied_operation_removes_its_tools_and_no_others() {
    let world = World::new();
    let names = |toolset: &Toolset| toolset.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>();
    let all = names(&world.toolset(json!({ "tools": ["console", "files"], "permissions": { "default": "allow" } })));
    for (tool, _, operation) in calls() {
        let left = names(&with(&world, operation, "deny"));
        assert!(all.iter().any(|name| name == tool));
        assert!(!left.iter().any(|name| name == tool), "{tool} is left without {operation}");
        for (other, _, of_other) in calls().iter().filter(|(_, _, other)| *other != operation) {
            // A copy reads, too.
            if *other != "copy_file" {
                assert!(left.iter().any(|name| name == other), "{other} ({of_other}) went with {operation}");
            }
        }
    }
}

#[tokio::test]
async fn ask_asks_for_every_operation_and_edit_by_its_own_rule() {
    for (_, _, asking) in calls() {
        let world = World::new();
        std::fs::write(world.directory.path().join("gone.txt"), "").unwrap();
        let toolset = with(&world, asking, "ask");
        for (tool, input, operation) in calls() {
            let ended = call(&toolset, tool, input).await;
            let reads_too = tool == "copy_file" && asking == "read";
            let expected = if operation == asking || reads_too { "rejected APPROVAL_REQUIRED" } else { "OK" };
            assert_eq!(code(&ended), expected, "{tool} where {asking} asks: {ended:?}");
        }
    }
}

/// BE-78: what may not be read is not read by another tool either.
#[tokio::test]
async fn rules_for_reading_bind_reads_of_every_kind() {
    let world = World::new();
    let path = |name: &str| world.directory.path().join(name);
    std::fs::write(path("secret.txt"), "one hidden line\n").unwrap();
    std::fs::write(path("secret.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    std::os::unix::fs::symlink("secret.txt", path("link.txt")).unwrap();
    let permissions = json!({
        "default": "allow", "read": { "default": "allow", "rules": [{ "pattern": "**/secret*", "action": "deny" }] },
    });
    let toolset = world.toolset(json!({ "tools": ["console", "files"], "permissions": permissions }));
    for (tool, input) in [
        ("read_file", json!({ "path": "secret.txt" })),
        ("read_file", json!({ "path": "./x/../secret.txt" })),
        ("read_file", json!({ "path": "link.txt" })),
        ("read_file", json!({ "path": "secret.png" })),
        ("copy_file", json!({ "source": "secret.txt", "destination": "open.txt" })),
    ] {
        let ended = call(&toolset, tool, input.clone()).await;
        assert_eq!(code(&ended), "PERMISSION_DENIED", "{tool} {input}: {ended:?}");
    }
    assert_eq!(code(&call(&toolset, "execute", json!({ "command": "cat secret.txt" })).await), "COMMAND_BLOCKED");
    assert_eq!(code(&call(&toolset, "execute", json!({ "command": "cp secret.txt x" })).await), "COMMAND_BLOCKED");
    let found = call(&toolset, "grep", json!({ "pattern": "one" })).await.unwrap();
    assert!(found.text.contains("a.txt") && !found.text.contains("hidden line"), "{}", found.text);
    // An edit that misses shows what stands there.
    for path in ["secret.txt", "link.txt"] {
        let edit = json!({ "path": path, "old_string": "one hidden lime", "new_string": "x" });
        let edited = call(&toolset, "edit_file", edit).await;
        assert_eq!(code(&edited), "PERMISSION_DENIED", "{edited:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn names_that_may_not_be_listed_are_not_listed() {
    let world = World::new();
    std::fs::write(world.directory.path().join("secret.txt"), "").unwrap();
    let rules = json!({ "default": "allow", "rules": [{ "pattern": "**/secret*", "action": "deny" }] });
    let toolset = world.toolset(json!({ "permissions": { "default": "allow", "ls": rules, "glob": rules } }));
    for (tool, input) in [("ls", json!({})), ("glob", json!({ "pattern": "**/*" }))] {
        let listed = call(&toolset, tool, input).await.unwrap();
        assert!(listed.text.contains("a.txt") && !listed.text.contains("secret"), "{tool}: {}", listed.text);
        assert!(!json!(listed.data).to_string().contains("secret"));
    }
}

/// D42: an approving callback loosened `strict`.
#[tokio::test]
async fn nothing_loosens_strict() {
    let world = World::new();
    let approver = Answering::new(ApprovalDecision { remember: crate::approval::Remember::Session, ..yes() });
    let toolset = world.toolset_with(
        json!({ "permissions": "default", "approvalMode": "strict" }),
        None,
        Some(Arc::clone(&approver) as Arc<dyn Approver>),
    );
    let input = json!({ "path": "b.txt", "content": "" });
    let granted =
        CallOptions { approval: Some(ApprovalGrant { approved: true, reason: None }), ..CallOptions::default() };
    assert_eq!(code(&call(&toolset, "write_file", input.clone()).await), "APPROVAL_DENIED");
    assert_eq!(code(&toolset.call("write_file", input.clone(), granted).await), "APPROVAL_DENIED");
    assert_eq!(
        toolset.assess("write_file", &input, CallOptions::default()).await.unwrap().status,
        AssessmentStatus::Blocked
    );
    assert_eq!(approver.count(), 0);
    assert_eq!(code(&call(&toolset, "read_file", json!({ "path": "a.txt" })).await), "OK");
}
