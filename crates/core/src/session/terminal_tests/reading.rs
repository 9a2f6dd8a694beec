//! Programs that wait for what is typed, as the kernel knows them.

use std::time::Duration;

use super::super::settle::{Settled, Times, settle};
use super::super::terminal::ShellState;
use super::*;

/// How a session with this command settles.
async fn settled(command: &str, quiet: Duration) -> Settled {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let given = session.process.position();
    start(&toolset, command).await;
    if command.contains("re''ady") {
        until_shown(&toolset, "\nready").await;
    }
    let settled =
        settle(&session.process, Times { quiet, most: 4 * quiet }, Some(given), &Deadline::default(), || false)
            .await
            .unwrap();
    // It is the program that waits, and not the shell at its prompt.
    assert_eq!(session.terminal.as_ref().unwrap().state(), ShellState::Busy, "{command}");
    settled
}

#[tokio::test]
async fn whoever_in_the_foreground_waits_for_the_terminal_is_seen_long_before_it_was_quiet() {
    for command in [
        "read x",
        "cat",
        "python3 -c 'input()'",
        "python3 -c 'import sys, select; select.select([sys.stdin], [], [])'",
        // Not the first descriptor, not the first program of the group, and beside others.
        "true | (read x </dev/tty)",
        "cat | sleep 300",
        "(exec 9</dev/tty; read -u 9 x)",
        "python3 -c 'import os, select; p = select.poll(); [p.register(fd, select.POLLIN) for fd in (os.pipe()[0], 0)]; p.poll()'",
    ] {
        assert_eq!(settled(command, Duration::from_secs(120)).await, Settled::Reading, "{command}");
    }
}

/// A program that read another first descriptor was taken for one that waits for what is typed.
#[tokio::test]
async fn whoever_waits_for_something_else_is_not_taken_for_it() {
    for command in [
        "sh -c 'exec sleep 300'",
        "mkfifo f; sh -c \"exec 3<>f 0<&3; echo re''ady; exec cat\"",
        "mkfifo f; sh -c \"exec 3<>f 0<&3; echo re''ady; exec python3 -c 'import select; select.select([0], [], [])'\"",
        "mkfifo f; sh -c \"exec 3<>f 0<&3; echo re''ady; exec python3 -c 'import select; p = select.poll(); p.register(0, select.POLLIN); p.poll()'\"",
    ] {
        assert_eq!(settled(command, Duration::from_millis(500)).await, Settled::Quiet, "{command}");
    }
}

/// Two looks at it agreed that the shell reads a line without having said so, and its prompt was told as lost.
#[tokio::test]
async fn a_shell_that_reads_a_line_for_a_time_has_not_lost_its_prompt() {
    let world = World::new();
    let toolset = terminals(&world);
    assert_eq!(exec(&toolset, "read -t 1.5 x; echo \"$? [$x]\"").await.text, "142 []");
    assert_eq!(exec(&toolset, "echo on").await.text, "on");
}
