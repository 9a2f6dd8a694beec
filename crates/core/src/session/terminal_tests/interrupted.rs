//! Keys that interrupt, and what is typed behind them.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::super::Session;
use super::*;
use crate::cancel::CancelToken;

fn signal(session: &Session, signal: Signal) {
    kill_process(Pid::from_raw(session.process.pid().unwrap().cast_signed()).unwrap(), signal).unwrap();
}

/// Waits until a line was typed behind the first `count` marks.
async fn until_typed(session: &Session, count: u64) {
    let terminal = session.terminal.as_ref().unwrap();
    while terminal.mark_count() == count {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The shell read the first byte of a command when the signal of the key arrived, and dropped it; or the prompt that it showed for
/// the key was taken for the command's end, and what the command printed for what the next one printed.
#[tokio::test]
async fn a_command_behind_an_interrupt_runs_as_it_was_typed_and_tells_its_own_output() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "X=kept; (exit 7)").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    for (keys, count) in [(&b"\x03"[..], 1), (b"\x03", 2), (b"\x1c", 1), (b"\x1a", 1), (b"\x03\x03", 3)] {
        // A shell that does not come to it while the keys arrive and the command is typed.
        signal(&session, Signal::STOP);
        for _ in 0..count {
            terminal.write(&session.process, keys, &Deadline::default()).await.unwrap();
        }
        let before = terminal.mark_count();
        let wakes = async {
            until_typed(&session, before).await;
            signal(&session, Signal::CONT);
        };
        let (ran, ()) = tokio::join!(exec(&toolset, "echo $X; sh -c 'exit 3'"), wakes);
        let data = ran.data.unwrap();
        assert_eq!((&data["output"], &data["exitCode"]), (&json!("kept"), &json!(3)), "{keys:?} {count}");
        // What the key shows, and the prompt, which the line editor may draw again without its marks.
        let before = data["before"].as_str().unwrap();
        assert!(before.chars().all(|character| "^C\n#$ ".contains(character)), "{before:?}");
        assert_eq!(exec(&toolset, "echo next $?").await.text, "next 3");
    }
}

/// An abort that came while a command was on its way to the shell took the command's end away, and left the rest of it at the prompt.
#[tokio::test]
async fn commands_that_are_aborted_at_any_moment_leave_a_session_that_runs_the_next_one() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "X=kept").await;
    for round in 0..30_u64 {
        let cancel = CancelToken::new();
        let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        let command = "sleep 300; echo 'what was aborted goes on'";
        let runs = toolset.call("shell_exec", json!({ "id": "s", "command": command, "timeout": 300 }), options);
        let stops = async {
            tokio::time::sleep(Duration::from_micros(round * round * 11)).await;
            cancel.cancel();
        };
        let (ran, ()) = tokio::join!(runs, stops);
        assert_eq!(ran.unwrap_err().kind().code(), "ABORTED", "{round}");
        let next = exec(&toolset, &format!("echo $X {round}")).await.text;
        // A shell that was ended, because its command did not end at the key, is a new one.
        let last = next.lines().last().unwrap();
        assert!([format!("kept {round}"), round.to_string()].contains(&last.to_owned()), "{round}: {next}");
        if last != format!("kept {round}") {
            exec(&toolset, "X=kept").await;
        }
    }
}

/// The end of input ends a shell at its empty prompt, and what reads it where it is typed behind a command.
#[tokio::test]
async fn an_end_of_input_leaves_a_shell_or_ends_what_reads() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let keys = json!({ "id": "s", "command": "cat; echo read", "keys": ["ctrl-d"] });
    let read = finished(&toolset, call(&toolset, "shell_write_to_process", keys).await).await;
    assert!(read.contains("read"), "{read}");
    exec(&toolset, "false").await;
    press(&toolset, &["ctrl-c"]).await;
    let mut left = press(&toolset, &["ctrl-d"]).await.text;
    while !left.contains("SESSION TERMINATED") {
        left = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await.text;
    }
    assert_eq!(exec(&toolset, "echo new").await.text, "new");
}
