//! What a session knows of its shell, whatever programs and settings do about it.

use std::fs;

use serde_json::json;

use super::super::terminal::ShellState;
use super::*;

/// A program that found the word in its shell's memory said that it had ended, and the next command was typed into it.
#[tokio::test]
async fn a_program_that_prints_the_marks_of_its_shell_has_neither_ended_nor_a_prompt() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let word = terminal.word();
    let mark = |text: &str| format!("\\033]133;{text};{word}\\007");
    let marks = [mark("D;0"), mark("D;0;9999"), mark("A"), mark("B"), mark("P"), mark("N"), mark("B")].concat();
    let program = format!("printf 'all tests passed\\n{marks}faked> '; read -r x; echo \"got $x\"; exit 9");
    fs::write(world.directory.path().join("fake"), program).unwrap();
    let before = terminal.mark_count();
    start(&toolset, "sh fake").await;
    until_shown(&toolset, "faked>").await;
    assert_eq!((terminal.state(), terminal.ended_since(before)), (ShellState::Busy, None));
    assert!(!terminal.is_plain());
    let refused = exec(&toolset, "export TOKEN=abc").await;
    assert_eq!(refused.code.as_deref(), Some("ALREADY_EXISTS"), "{}", refused.text);
    let end = typed(&toolset, "it").await;
    assert!(end.ends_with("got it\n--- COMMAND FINISHED (exit code 9) ---"), "{end}");
    let told = call(&toolset, "shell_exec", json!({ "id": "s", "command": "echo after" })).await;
    assert_eq!(told.text, "after");
}
