//! Links and other names, from one call to the next: programs stay what they are, and the fence of `cd` holds where they lead.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};

use super::tests::{World, call, code};
use super::*;

async fn run(toolset: &Toolset, command: &str) -> String {
    code(&call(toolset, "execute", json!({ "command": command })).await)
}

/// `ln -s /usr/bin/sudo x` was nothing to ask about, and neither was `./x` in the next call.
#[tokio::test]
async fn a_program_stays_what_it_is_by_a_name_of_an_earlier_call() {
    for (laid, next) in [
        ("ln -s /usr/bin/sudo x", "./x ls"),
        ("cp /bin/rm x", "./x -rf /"),
        ("mkdir -p d && ln -s /usr/bin d/programs", "d/programs/sudo ls"),
        ("mkdir -p d && cd d && ln -s /usr/bin/sudo x", "./d/x ls"),
    ] {
        let world = World::new();
        let toolset = world.toolset(json!({ "requireExecuteApproval": false }));
        toolset.assess("execute", &json!({ "command": laid }), CallOptions::default()).await.unwrap();
        assert_ne!(run(&toolset, next).await, "COMMAND_BLOCKED", "{next}: nothing was laid yet");
        assert_ne!(run(&toolset, laid).await, "COMMAND_BLOCKED", "{laid}");
        assert_eq!(run(&toolset, next).await, "COMMAND_BLOCKED", "{laid}, then {next}");
        assert_eq!(run(&toolset, "true").await, "OK");
    }
    // A name of a name.
    let world = World::new();
    let toolset = world.toolset(json!({ "requireExecuteApproval": false }));
    for command in ["ln -s /usr/bin/sudo x", "mv x y"] {
        assert_eq!(run(&toolset, command).await, "OK");
    }
    assert_eq!(run(&toolset, "./y ls").await, "COMMAND_BLOCKED");
    // Nobody knows which of two it is.
    assert_eq!(run(&toolset, "cp /bin/ls z; cp /bin/rm z").await, "OK");
    assert_eq!(run(&toolset, "./z -rf /").await, "rejected APPROVAL_REQUIRED");
}

/// TT-24: `cd out && pwd -P` was `/etc`.
#[tokio::test]
async fn nothing_is_entered_through_a_link_that_leads_out() {
    let world = World::new();
    let path = |name: &str| world.directory.path().join(name);
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(outside.path().join("sub")).unwrap();
    std::fs::create_dir_all(path("folder/deep")).unwrap();
    symlink(outside.path(), path("out")).unwrap();
    symlink("out/sub", path("chain")).unwrap();
    symlink("folder/deep", path("into")).unwrap();
    for permissions in [Value::Null, json!("permissive"), json!({ "default": "allow" })] {
        let toolset = world.toolset(match &permissions {
            Value::Null => json!({ "requireExecuteApproval": false }),
            permissions => json!({ "permissions": permissions }),
        });
        for (command, expected) in [
            ("cd out && pwd -P", "COMMAND_BLOCKED"),
            ("cd out/sub; pwd -P", "COMMAND_BLOCKED"),
            ("cd chain; pwd -P", "COMMAND_BLOCKED"),
            ("pushd out", "COMMAND_BLOCKED"),
            ("(cd ./out; ls)", "COMMAND_BLOCKED"),
            ("sh -c 'cd out; pwd'", "COMMAND_BLOCKED"),
            ("for d in a b; do cd folder; done; cd out", "COMMAND_BLOCKED"),
            ("cd into && cd -P ../../..", "COMMAND_BLOCKED"),
            ("cd -P out/..; pwd -P", "rejected APPROVAL_REQUIRED"),
            ("set -P; cd into/..; pwd -P", "rejected APPROVAL_REQUIRED"),
            ("cd into && pwd -P", "OK"),
            ("cd into && cd .. && pwd -P", "OK"),
            ("cd missing || cd folder/deep", "OK"),
            ("ls out/ > /dev/null", "OK"),
        ] {
            assert_eq!(run(&toolset, command).await, expected, "{command} under {permissions}");
        }
    }
}

/// The rule was asked about `secret/../key`, which is what the name says, and not about what lies above the link's target.
#[tokio::test]
async fn rules_hold_on_what_lies_above_the_target_of_an_entered_link() {
    let world = World::new();
    let path = |name: &str| world.directory.path().join(name);
    std::fs::create_dir_all(path("private/deep")).unwrap();
    std::fs::write(path("private/key"), "TOP").unwrap();
    symlink("private/deep", path("into")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("theirs"), "").unwrap();
    symlink(outside.path(), path("out")).unwrap();
    let rules = json!({ "default": "allow", "rules": [{ "pattern": "**/private/key", "action": "deny" }] });
    let toolset = world.toolset(json!({ "permissions": { "default": "allow", "read": rules } }));
    for (command, expected) in [
        ("cd into && cat ../key", "COMMAND_BLOCKED"),
        ("cd into; cat ../key", "COMMAND_BLOCKED"),
        // It was looked at whether the link itself leads out, and not whether a directory on the way does.
        ("cat out/theirs", "rejected APPROVAL_REQUIRED"),
        ("cd into && ls", "OK"),
    ] {
        assert_eq!(run(&toolset, command).await, expected, "{command}");
    }
}

/// A command of 6 KB took seconds to be compared with the rules, whatever the caller said, on the thread that asked. This one is
/// longer, so that no machine is through with it in the millisecond that it is given.
#[tokio::test]
async fn a_comparison_with_rules_ends_with_its_call_and_leaves_a_lent_thread() {
    let alternatives: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    let command = format!("cat {{{}}}{}", alternatives.join(","), "*a".repeat(25_000));
    let input = json!({ "command": command });
    let world = World::new();
    let toolset = world.toolset(json!({ "permissions": "permissive", "limits": { "callTimeout": 1 } }));
    assert_eq!(code(&call(&toolset, "execute", input.clone()).await), "TIMEOUT");

    let toolset = world.toolset(json!({ "permissions": "permissive" }));
    let cancel = crate::cancel::CancelToken::new();
    let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let mut work = Box::pin(toolset.assess("execute", &input, options));
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(crate::lent::poll(work.as_mut(), context).is_pending());
    cancel.cancel();
    assert_eq!(work.await.unwrap_err().kind(), ErrorKind::Aborted);
}

#[tokio::test]
async fn a_guarded_backend_remembers_names_of_programs_too() {
    use crate::backend::{Call, ExecuteRequest, Shell};
    let world = World::new();
    let options = serde_json::from_value(json!({ "permissions": { "default": "allow" } })).unwrap();
    let backend = GuardedBackend::new(Arc::clone(&world.backend), options, None).unwrap();
    let shell: &dyn Shell = backend.shell().unwrap();
    shell.execute(ExecuteRequest::new("ln -s /usr/bin/sudo x"), &Call::default()).await.unwrap();
    let error = shell.execute(ExecuteRequest::new("./x ls"), &Call::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommandBlocked);
}
