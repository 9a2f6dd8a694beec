//! Lines that are spelled with keys: what they are, and where they end, depends on who reads them.

use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::toolset::AssessmentStatus;

/// Runs until its session ends.
const WAITS: &str = "sleep 1000";

/// Calls that type one after the other.
type Calls<'a> = &'a [Value];

/// A toolset whose rules deny `touch`, and allow all else.
fn ruled(world: &World, mode: &str) -> Toolset {
    let rules = json!({ "default": "allow", "execute": { "default": "allow", "rules": [{ "pattern": "touch *", "action": "deny" }] } });
    world.toolset(json!({ "tools": ["terminal"], "permissions": rules, "approvalMode": mode }))
}

/// What comes of a call: whether it is asked about, or blocked.
async fn outcome(toolset: &Toolset, tool: &str, input: Value) -> &'static str {
    match toolset.call(tool, input, CallOptions::default()).await {
        Err(error) if error.kind() == ErrorKind::ApprovalRequired => "asks",
        Err(error) => panic!("{error}"),
        Ok(result) if result.code.as_deref() == Some("COMMAND_BLOCKED") => "blocked",
        Ok(result) if result.is_error => panic!("{}", result.text),
        Ok(_) => "typed",
    }
}

/// What would come of the last of these calls, in a session of its own where it is not the only one, in which a program waits.
async fn last_outcome(toolset: &Toolset, session: &str, calls: Calls<'_>) -> AssessmentStatus {
    let (last, before) = calls.split_last().unwrap();
    let id = if before.is_empty() { "s" } else { session };
    if toolset.sessions().find(id).is_none() {
        call(toolset, "shell_exec", json!({ "id": id, "command": WAITS, "block": false })).await;
    }
    for typed in before {
        assert_eq!(outcome(toolset, "shell_write_to_process", of_session(id, typed)).await, "typed", "{calls:?}");
    }
    let assessed =
        toolset.assess("shell_write_to_process", &of_session(id, last), CallOptions::default()).await.unwrap();
    if !before.is_empty() {
        call(toolset, "shell_kill_process", json!({ "id": id })).await;
    }
    assessed.status
}

fn of_session(id: &str, typed: &Value) -> Value {
    let mut typed = typed.clone();
    typed["id"] = json!(id);
    typed
}

fn keys(keys: &[&str]) -> Value {
    json!({ "keys": keys })
}

/// Keys of `text`, one a character.
fn spelled(text: &str, behind: &[&str]) -> Value {
    let letters = text.chars().map(String::from);
    json!({ "keys": letters.chain(behind.iter().map(|key| (*key).to_owned())).collect::<Vec<_>>() })
}

fn open(text: &str, behind: &[&str]) -> Value {
    json!({ "command": text, "enter": false, "keys": behind })
}

/// An escape and a return ended a line that nobody had judged, and other keys were nothing in it, where a shell without a line editor has
/// them as letters.
#[tokio::test]
async fn lines_that_end_or_are_read_in_another_way_ask_where_rules_bind_commands() {
    let world = World::new();
    let toolset = ruled(&world, "interactive");
    let asking: &[Calls<'_>] = &[
        &[open("ls", &["alt-enter"])],
        &[open("ls", &[]), keys(&["alt-enter"])],
        &[spelled("ls", &["alt-ctrl-j"])],
        &[spelled("ls", &["alt-ctrl-m"])],
        &[spelled("ls", &["alt-ctrl-o"])],
        &[spelled("ls", &["ctrl-o", "ctrl-o"])],
        &[spelled("ls", &["escape", "enter"])],
        &[spelled("ls", &["ctrl-v", "enter"])],
        &[spelled("ls", &["alt-#"])],
        &[spelled("ls", &["alt-a"])],
        &[spelled("ls", &["escape", "v"])],
        &[spelled("ls", &["escape", "5", "#"])],
        &[spelled("ls", &["alt-ctrl-d"])],
        &[open("echo $(ls)Å", &[])],
        &[open("echo a ", &["ctrl-l"]), json!({ "command": "#; ls" })],
        &[open("echo a ", &["ctrl-e"]), json!({ "command": "#; ls" })],
        &[keys(&["ctrl-l"]), json!({ "command": "#; ls" })],
        &[keys(&["ctrl-h"]), json!({ "command": "#; ls" })],
        &[spelled("echo a ", &["ctrl-a", "#", "enter"])],
        &[spelled("echo a ", &["ctrl-k", "#", "enter"])],
        &[spelled("ls", &["escape", "R", "x", "enter"])],
        &[spelled("ls", &["escape", "r", "enter"])],
        &[spelled("ls", &["escape", "c", "c", "x", "enter"])],
        &[json!({ "command": "\u{a0}" })],
        &[json!({ "command": "\u{2003}\u{3000}" })],
    ];
    let mut missed = Vec::new();
    for (number, calls) in asking.iter().enumerate() {
        let outcome = last_outcome(&toolset, &format!("a{number}"), calls).await;
        missed.extend((outcome != AssessmentStatus::NeedsApproval).then_some((outcome, calls)));
    }
    let typed: &[Calls<'_>] = &[
        &[json!({ "command": "ls" })],
        &[spelled("ls", &["enter"])],
        &[spelled("ls", &["ctrl-j"])],
        &[open("ls", &["ctrl-l"])],
        &[open("ls", &["ctrl-e", "ctrl-e"])],
        &[keys(&["escape", "j", "ctrl-l", "up", "tab"])],
        &[keys(&["ctrl-u", "ctrl-w", "backspace"]), json!({ "command": "ls" })],
        &[json!({ "command": "  " })],
        &[keys(&["enter", "enter"])],
    ];
    for (number, calls) in typed.iter().enumerate() {
        let outcome = last_outcome(&toolset, &format!("t{number}"), calls).await;
        missed.extend((outcome != AssessmentStatus::Allowed).then_some((outcome, calls)));
    }
    assert_eq!(missed, []);
}

/// A line of blanks that are none to a shell was nothing to judge.
#[tokio::test]
async fn other_blanks_than_spaces_and_tabs_are_commands() {
    let world = World::new();
    let toolset =
        world.toolset(json!({ "tools": ["background"], "allowedCommands": ["cat"], "approvalMode": "interactive" }));
    let started = call(&toolset, "run_in_background", json!({ "command": "cat" })).await;
    let id = started.data.unwrap()["shellId"].clone();
    for (text, expected) in [
        ("\u{b}", "blocked"),
        ("\u{c}", "blocked"),
        ("\u{a0}", "blocked"),
        ("\u{85}", "blocked"),
        ("\u{2003}", "blocked"),
        ("\u{2028}\ncat x", "blocked"),
        (" \t", "typed"),
        ("\n\n", "typed"),
        ("cat x\n \n", "typed"),
    ] {
        let given = json!({ "shell_id": id, "text": text });
        assert_eq!(outcome(&toolset, "shell_input", given).await, expected, "{text:?}");
    }
}

/// What is denied was typed, and ran: each shell has a line of its own of the same keys.
#[tokio::test]
async fn what_is_denied_stays_denied_however_a_shell_reads_it() {
    let world = World::new();
    let toolset = ruled(&world, "approve-all");
    for (number, shell) in ["bash --norc", "bash --norc -o vi", "dash"].into_iter().enumerate() {
        let id = format!("s{number}");
        let begun = json!({ "id": id, "command": format!("echo 'in''side'; {shell}"), "block": false });
        call(&toolset, "shell_exec", begun).await;
        while !call(&toolset, "shell_screen", json!({ "id": id })).await.text.contains("\ninside") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let denied: &[Calls<'_>] = &[
            &[open("touch bad", &["alt-enter"])],
            &[spelled("touch bad", &["alt-ctrl-m"])],
            &[spelled("touch bad", &["alt-ctrl-j"])],
            &[spelled("touch bad", &["alt-ctrl-o"])],
            &[spelled("touch bad", &["escape", "enter"])],
            &[open("#", &["alt-enter"]), json!({ "command": "touch bad" })],
            &[open("#", &["ctrl-o"]), json!({ "command": "touch bad" })],
            &[open("#", &["ctrl-d"]), json!({ "command": "touch bad" })],
            &[open("tou", &["ctrl-v", "enter"]), json!({ "command": "ch bad" })],
            &[open("touch bad", &["alt-5", "alt-#"])],
            &[open("touch bad", &["escape", "v"])],
            &[open("#touch bad", &["escape", "5", "#"])],
            &[open("echo ", &["alt-`"]), open("touch bad", &["alt-`", "enter"])],
            &[open("A=", &["alt- "]), json!({ "command": "touch bad" })],
            &[open("echo $(touch bad)Å", &[])],
            &[open("echo a ", &["ctrl-l"]), json!({ "command": "#; touch bad" })],
            &[spelled("echo a ", &["ctrl-e", "#", ";"]), json!({ "command": "touch bad" })],
            &[keys(&["ctrl-l"]), json!({ "command": "#; touch bad" })],
            &[spelled("touch", &["tab", "b", "a", "d", "enter"])],
        ];
        for calls in denied {
            let (last, before) = calls.split_last().unwrap();
            for typed in before {
                let typed = of_session(&id, typed);
                assert_eq!(outcome(&toolset, "shell_write_to_process", typed).await, "typed", "{shell} {calls:?}");
            }
            let last = of_session(&id, last);
            assert_eq!(outcome(&toolset, "shell_write_to_process", last).await, "blocked", "{shell} {calls:?}");
            // Where nothing was typed nothing stands there.
            if !before.is_empty() {
                for key in ["ctrl-c", "enter"] {
                    call(&toolset, "shell_write_to_process", json!({ "id": id, "keys": [key] })).await;
                }
            }
        }
        call(&toolset, "shell_kill_process", json!({ "id": id })).await;
    }
    assert!(!world.directory.path().join("bad").exists());
}

/// A key behind the command that starts a shell was none of its line, and `#; touch bad` behind that a comment.
#[tokio::test]
async fn keys_behind_a_command_are_part_of_the_next_line() {
    let world = World::new();
    let asks = ruled(&world, "interactive");
    let denies = ruled(&world, "approve-all");
    for (toolset, line, expected) in [(&asks, "#; ls", "asks"), (&denies, "#; touch bad", "blocked")] {
        exec(toolset, "true").await;
        let begun = json!({ "id": "s", "command": "cat", "keys": ["ctrl-l"] });
        assert_eq!(outcome(toolset, "shell_write_to_process", begun).await, "typed");
        let line = json!({ "id": "s", "command": line });
        assert_eq!(outcome(toolset, "shell_write_to_process", line).await, expected);
        call(toolset, "shell_kill_process", json!({ "id": "s" })).await;
    }
}
