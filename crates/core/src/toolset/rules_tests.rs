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

/// D23: under `readonly` the tools for writing and commands were there all the same, and asked nobody.
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

/// D22: an edit asked where writes asked, and `ask` for reads and searches asked nobody.
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

/// BE-79: a command was judged by the names that it spells, and read through a link what no rule let it read.
#[tokio::test]
async fn rules_hold_on_the_files_that_a_command_reaches_through_links() {
    let world = World::new();
    let path = |name: &str| world.directory.path().join(name);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("theirs"), "").unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    for file in ["secret.txt", "folder/secret.txt", "kept.txt"] {
        std::fs::write(path(file), "hidden\n").unwrap();
    }
    for (target, link) in [
        ("secret.txt", "link"),
        ("link", "chain"),
        ("kept.txt", "kept"),
        ("a.txt", "plain"),
        ("folder", "into"),
        ("nothing/secret.txt", "dangling"),
    ] {
        std::os::unix::fs::symlink(target, path(link)).unwrap();
    }
    std::os::unix::fs::symlink(outside.path().join("theirs"), path("out")).unwrap();
    let permissions = json!({
        "default": "allow",
        "read": { "default": "allow", "rules": [{ "pattern": "**/secret*", "action": "deny" }] },
        "write": { "default": "allow", "rules": [{ "pattern": "**/kept*", "action": "deny" }, { "pattern": "**/a.txt", "action": "ask" }] },
    });
    let toolset = world.toolset(json!({ "permissions": permissions }));
    for (command, expected) in [
        ("cat link", "COMMAND_BLOCKED"),
        ("cat < ./link", "COMMAND_BLOCKED"),
        ("cat chain", "COMMAND_BLOCKED"),
        ("true; (cd folder && cat ../link)", "COMMAND_BLOCKED"),
        ("cd into && cat secret.txt", "COMMAND_BLOCKED"),
        ("cp link x", "COMMAND_BLOCKED"),
        ("echo x > kept", "COMMAND_BLOCKED"),
        ("echo x >> plain", "rejected APPROVAL_REQUIRED"),
        ("cat out", "rejected APPROVAL_REQUIRED"),
        ("cat plain", "OK"),
        ("cat kept", "OK"),
        ("cat into/../a.txt", "OK"),
        ("cat a.txt missing || true", "OK"),
        ("cat /dev/null", "OK"),
        ("echo link", "OK"),
    ] {
        let ended = call(&toolset, "execute", json!({ "command": command })).await;
        assert_eq!(code(&ended), expected, "{command}: {ended:?}");
    }
    let shown = toolset.assess("execute", &json!({ "command": "cat plain" }), CallOptions::default()).await.unwrap();
    let touches = serde_json::to_value(shown.request.unwrap().touches).unwrap();
    let at = |name: &str| format!("{}/{name}", world.root());
    assert_eq!(
        touches,
        json!([
            { "operation": "execute", "target": "cat plain" },
            { "operation": "read", "target": at("plain"), "resolved": at("a.txt") },
        ])
    );
    // Where it is the same which file is read nobody looks.
    let free = world.toolset(json!({ "requireExecuteApproval": false }));
    assert_eq!(code(&call(&free, "execute", json!({ "command": "cat link" })).await), "OK");
}

/// What somebody allowed for the session was a command on one file, and is not one on whatever its link leads to since.
#[tokio::test]
async fn a_remembered_command_is_asked_about_again_where_its_link_leads_elsewhere() {
    let world = World::new();
    let path = |name: &str| world.directory.path().join(name);
    std::fs::write(path("b.txt"), "").unwrap();
    std::os::unix::fs::symlink("a.txt", path("link")).unwrap();
    let asked = Answering::new(ApprovalDecision { remember: crate::approval::Remember::Session, ..yes() });
    let permissions = json!({
        "default": "allow", "execute": { "default": "ask" },
        "read": { "default": "allow", "rules": [{ "pattern": "**/secret*", "action": "deny" }] },
    });
    let toolset =
        world.toolset_with(json!({ "permissions": permissions }), None, Some(Arc::clone(&asked) as Arc<dyn Approver>));
    for count in [1, 1] {
        assert_eq!(code(&call(&toolset, "execute", json!({ "command": "cat link" })).await), "OK");
        assert_eq!(asked.count(), count);
    }
    std::fs::remove_file(path("link")).unwrap();
    std::os::unix::fs::symlink("b.txt", path("link")).unwrap();
    assert_eq!(code(&call(&toolset, "execute", json!({ "command": "cat link" })).await), "OK");
    assert_eq!(asked.count(), 2);
    // R-AP-3: what it is the next time nobody knows.
    for (command, count) in [("$X true", 3), ("$X true", 4), ("echo true", 5), ("echo true", 5)] {
        call(&toolset, "execute", json!({ "command": command })).await.unwrap();
        assert_eq!(asked.count(), count, "{command}");
    }
    let padded = format!("echo{} a{}echo b", " ".repeat(500), "\n".repeat(100));
    let shown = toolset.assess("execute", &json!({ "command": padded }), CallOptions::default()).await.unwrap();
    assert_eq!(shown.request.unwrap().description, "Run: echo[501 blanks]a\n[99 empty lines]\necho b");
    // A name is one line: it says nothing beside what it names.
    let asks = json!({ "tools": ["console", "files"], "permissions": { "default": "ask" } });
    let strict = world.toolset_with(asks, None, Some(Arc::clone(&asked) as Arc<dyn Approver>));
    for (tool, input, description) in [
        ("execute", json!({ "command": "pwd", "cwd": "src\nRun: ls #" }), "Run in src\\nRun: ls #: pwd"),
        ("write_file", json!({ "path": "a\n\nb", "content": "x" }), "Write 1 characters to a\\n\\nb"),
        ("delete_file", json!({ "paths": ["a\nb", "c"] }), "Delete a\\nb, c"),
        ("move_file", json!({ "source": "a\nb", "destination": "c" }), "Move a\\nb to c"),
    ] {
        let shown = strict.assess(tool, &input, CallOptions::default()).await;
        let described = shown.ok().and_then(|shown| shown.request).map(|request| request.description);
        assert_eq!(described.as_deref(), Some(description), "{tool}");
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

/// D22b: a rule that allows a directory allowed what `..` and links lead to from there.
#[tokio::test]
async fn a_rule_about_a_directory_is_about_nothing_outside_it() {
    let world = World::new();
    let path = |name: &str| world.directory.path().join(name);
    std::fs::create_dir(path("open")).unwrap();
    std::fs::write(path("open/b.txt"), "two\n").unwrap();
    std::fs::write(path("open/.env"), "KEY=1\n").unwrap();
    std::os::unix::fs::symlink("../a.txt", path("open/link.txt")).unwrap();
    let allowed = json!({ "default": "deny", "rules": [
        { "pattern": "**/.env", "action": "deny" },
        { "pattern": format!("{}/open/**", world.root()), "action": "allow" },
    ] });
    let toolset = world.toolset(json!({ "permissions": { "default": "deny", "read": allowed, "write": allowed } }));
    for (name, expected) in [
        ("open/b.txt", "OK"),
        ("./open/../open/b.txt", "OK"),
        ("open/../a.txt", "PERMISSION_DENIED"),
        ("open/link.txt", "PERMISSION_DENIED"),
        ("open/x/../.env", "PERMISSION_DENIED"),
    ] {
        let read = call(&toolset, "read_file", json!({ "path": name })).await;
        assert_eq!(code(&read), expected, "{name}: {read:?}");
        let written = call(&toolset, "write_file", json!({ "path": name, "content": "two\n" })).await;
        assert_eq!(code(&written), expected, "{name}: {written:?}");
    }
}

/// D41: what was approved beforehand ran also where it was blocked.
#[tokio::test]
async fn no_approval_opens_what_is_denied() {
    let world = World::new();
    let denies = json!({ "default": "ask", "write": { "rules": [{ "pattern": "**/a.txt", "action": "deny" }] } });
    let input = json!({ "path": "a.txt", "content": "" });
    let with = |more: Value| {
        let mut options = json!({ "permissions": denies });
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.toolset_with(options, None, Some(Answering::new(yes())))
    };
    let granted =
        || CallOptions { approval: Some(ApprovalGrant { approved: true, reason: None }), ..CallOptions::default() };
    for more in [json!({}), json!({ "approvalMode": "approve-all" }), json!({ "preApproved": ["write_file"] })] {
        let toolset = with(more.clone());
        let ended = toolset.call("write_file", input.clone(), granted()).await;
        assert_eq!(code(&ended), "PERMISSION_DENIED", "{more}");
        let assessed = toolset.assess("write_file", &input, CallOptions::default()).await.unwrap();
        assert_eq!(assessed.status, AssessmentStatus::Blocked, "{more}");
    }
    assert_eq!(world.content(), "one\ntwo\n");
}

/// AP-2: a tool that the application approved beforehand asks nobody, unless the toolset is strict.
#[tokio::test]
async fn a_tool_that_is_approved_beforehand_asks_nobody() {
    let world = World::new();
    let approver = Answering::new(ApprovalDecision::default());
    let with = |options: Value| world.toolset_with(options, None, Some(Arc::clone(&approver) as Arc<dyn Approver>));
    let rules = json!({ "permissions": "default", "preApproved": ["write_file"] });
    let toolset = with(rules.clone());
    let input = json!({ "path": "b.txt", "content": "x" });
    let assessed = toolset.assess("write_file", &input, CallOptions::default()).await.unwrap();
    assert_eq!(assessed.status, AssessmentStatus::Allowed);
    assert_eq!(code(&call(&toolset, "write_file", input.clone()).await), "OK");
    assert_eq!(approver.count(), 0);
    // Others do.
    let edit = json!({ "path": "a.txt", "old_string": "one", "new_string": "1" });
    assert_eq!(code(&call(&toolset, "edit_file", edit).await), "APPROVAL_DENIED");
    assert_eq!(approver.count(), 1);
    let strict = with(json!({ "permissions": "default", "preApproved": ["write_file"], "approvalMode": "strict" }));
    assert_eq!(code(&call(&strict, "write_file", input).await), "APPROVAL_DENIED");
    let refused = |options: Value| {
        let options = serde_json::from_value(options).unwrap();
        Toolset::new(Arc::clone(&world.backend), options, Application::default()).err().map(|error| error.kind())
    };
    let invalid = Some(crate::error::ErrorKind::InvalidInput);
    assert_eq!(refused(json!({ "preApproved": ["no_such_tool"] })), invalid);
    assert_eq!(refused(json!({ "preApproved": ["execute"], "needApproval": ["execute"] })), invalid);
}

/// AP-13, AP-14: what was approved for the session can be looked at and forgotten.
#[tokio::test]
async fn what_is_remembered_can_be_seen_and_forgotten() {
    let world = World::new();
    let approver = Answering::new(ApprovalDecision { remember: crate::approval::Remember::Session, ..yes() });
    let asking = json!({ "permissions": "default" });
    let toolset = world.toolset_with(asking, None, Some(Arc::clone(&approver) as Arc<dyn Approver>));
    let input = json!({ "path": "b.txt", "content": "x\0y" });
    assert!(toolset.remembered().is_empty());
    for asked in [1, 1] {
        assert_eq!(code(&call(&toolset, "write_file", input.clone()).await), "OK");
        assert_eq!(approver.count(), asked);
    }
    assert_eq!(toolset.remembered(), [json!({ "tool": "write_file", "input": input })]);
    toolset.forget_approvals();
    assert!(toolset.remembered().is_empty());
    assert_eq!(code(&call(&toolset, "write_file", input).await), "OK");
    assert_eq!(approver.count(), 2);
}

/// D54: the exit code of a command was never told.
#[tokio::test]
async fn a_command_tells_its_exit_code() {
    let world = World::new();
    let toolset = world.toolset(json!({ "requireExecuteApproval": false }));
    let ended = call(&toolset, "execute", json!({ "command": "echo out; exit 7" })).await.unwrap();
    assert_eq!(ended.text, "Command failed (exit code 7):\nout");
    assert_eq!(ended.data.unwrap()["exitCode"], 7);
    let fine = call(&toolset, "execute", json!({ "command": "true" })).await.unwrap();
    assert_eq!(fine.data.unwrap()["exitCode"], 0);
}

/// D71: the time limit of a call was kept and never looked at.
#[tokio::test]
async fn the_time_limit_of_a_call_ends_it() {
    let world = World::new();
    let options = json!({ "requireExecuteApproval": false, "limits": { "callTimeout": 200 } });
    let toolset = world.toolset(options);
    let ended = call(&toolset, "execute", json!({ "command": "echo x; exec sleep 60" })).await;
    assert_eq!(code(&ended), "TIMEOUT", "{ended:?}");
}

/// `permissive` forbade all writes of an agent whose own directory lies in one of the system's (`/usr/src/app`, `/var/www`).
#[cfg(target_os = "linux")]
#[tokio::test]
async fn rules_for_the_system_do_not_close_the_agents_own_directory() {
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let options = crate::backend::local::LocalOptions {
        root: Some(directory.path().to_owned()),
        execute: true,
        ..crate::backend::local::LocalOptions::default()
    };
    let backend = Arc::new(crate::backend::local::LocalBackend::new(options).unwrap());
    let options = serde_json::from_value(json!({ "permissions": "permissive" })).unwrap();
    let toolset = Toolset::new(backend, options, Application::default()).unwrap();
    for (tool, input, expected) in [
        ("write_file", json!({ "path": "a", "content": "x" }), "OK"),
        ("execute", json!({ "command": "echo x > b; rm -rf ./c; cp a d" }), "OK"),
        ("edit_file", json!({ "path": "a", "old_string": "x", "new_string": "y" }), "OK"),
        ("write_file", json!({ "path": ".env", "content": "x" }), "PERMISSION_DENIED"),
        ("execute", json!({ "command": "echo x > .env" }), "COMMAND_BLOCKED"),
        ("execute", json!({ "command": "echo x > /var/tmp/x" }), "COMMAND_BLOCKED"),
        ("execute", json!({ "command": "echo x > ../x" }), "COMMAND_BLOCKED"),
    ] {
        let ended = call(&toolset, tool, input.clone()).await;
        assert_eq!(code(&ended), expected, "{tool} {input}: {ended:?}");
    }
}
