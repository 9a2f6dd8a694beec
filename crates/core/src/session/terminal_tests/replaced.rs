//! Shells that read lines themselves, and programs that take the place of one.

use super::super::settle::{Settled, Times, settle};
use super::super::terminal::ShellState;
use super::*;

/// Runs a command that does not end by itself for long enough that its shell is looked at.
async fn goes_on(toolset: &Toolset, command: &str, seconds: u32) -> ToolResult {
    let ran = call(toolset, "shell_exec", json!({ "id": "s", "command": command, "timeout": seconds })).await;
    let state = toolset.sessions().find("s").unwrap().terminal.as_ref().unwrap().state();
    assert_eq!((ran.is_error, state), (false, ShellState::Busy), "{command}: {}", ran.text);
    assert_eq!(ran.data.as_ref().unwrap()["running"], json!(true), "{command}: {}", ran.text);
    ran
}

/// The same for one that reads; waits until it does.
async fn reads(toolset: &Toolset, command: &str) {
    goes_on(toolset, command, 1).await;
    let process = toolset.sessions().find("s").unwrap().process.clone();
    let times = Times { quiet: Duration::from_secs(60), most: Duration::from_secs(120) };
    let settled = settle(&process, times, None, &Deadline::default(), || false).await.unwrap();
    assert_eq!(settled, Settled::Reading, "{command}");
}

/// The key that ends a line deleted it where the shell's own line editor read an answer: nobody could give one.
#[tokio::test]
async fn what_the_shell_itself_reads_is_no_command_and_can_be_answered() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    for read in [
        "read x",
        "read -t 600 x",
        "read -e x",
        "read -e -t 600 -p 'name: ' x",
        "select x in a touch; do x=\"touch made\"; break; done",
    ] {
        reads(&toolset, &format!("{read}; echo \"got $x.\"")).await;
        let answer = if read.starts_with("select") { "2" } else { "touch made" };
        let mut ended = write(&toolset, answer).await;
        ended.text = finished(&toolset, ended.clone()).await;
        assert!(
            ended.text.contains("got touch made.\n--- COMMAND FINISHED (exit code 0) ---"),
            "{read}: {}",
            ended.text
        );
    }
    reads(&toolset, "read -n 3 -t 600 x; echo \"got $x.\"").await;
    let piece = json!({ "id": "s", "command": "abc", "enter": false });
    let ended = finished(&toolset, call(&toolset, "shell_write_to_process", piece).await).await;
    assert!(ended.contains("got abc.\n"), "{ended}");
    assert_eq!(exec(&toolset, "ls").await.text, "Command executed successfully (no output).");
}

/// A session whose shell was gone was told of as one with a command that runs.
#[tokio::test]
async fn a_program_that_takes_the_place_of_the_shell_is_told_of_and_ends_the_session() {
    let world = World::new();
    let toolset = terminals(&world);
    let note = "took the place of the session's shell (`exec`): when it ends the session ends";
    exec(&toolset, "true").await;
    let ran = goes_on(&toolset, "exec cat", 5).await;
    assert!(ran.text.contains(note), "{}", ran.text);
    let again = exec(&toolset, "echo again").await;
    assert!(again.is_error && again.text.contains("is running"), "{}", again.text);
    assert!(write(&toolset, "line").await.text.contains("line"));
    press(&toolset, &["ctrl-d"]).await;
    let told = exec(&toolset, "echo new").await.text;
    assert!(told.contains("The shell of session 's' had ended") || told == "new", "{told}");
    let ran = goes_on(&toolset, "exec vim -u NONE -N", 5).await;
    assert!(ran.text.contains(note), "{}", ran.text);
    let ended = call(&toolset, "shell_write_to_process", json!({ "id": "s", "command": ":q" })).await;
    assert!(!ended.is_error);
    let session = toolset.sessions().find("s").unwrap();
    assert_eq!(session.process.over().await.exit_code, Some(0));
    // Another shell reads lines as itself.
    exec(&toolset, "true").await;
    let ran = goes_on(&toolset, "exec bash --norc", 5).await;
    assert!(ran.text.contains(note), "{}", ran.text);
    write(&toolset, "echo a >made").await;
    write(&toolset, "exit 7").await;
    let session = toolset.sessions().find("s").unwrap();
    assert_eq!(session.process.over().await.exit_code, Some(7));
    assert_eq!(fs::read_to_string(world.directory.path().join("made")).unwrap(), "a\n");
    assert!(!exec(&toolset, "sleep 0").await.text.contains(note));
}
