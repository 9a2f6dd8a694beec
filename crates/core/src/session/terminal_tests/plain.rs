//! Sessions where there is no bash.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::super::running::Ran;
use super::super::shells::start_plain;
use super::super::terminal::Terminal;
use super::super::{Session, Sessions, Starter};
use super::*;
use crate::backend::{Backend, Call, CommandLimits, TerminalRequest};
use crate::cancel::Deadline;
use crate::text::ansi::strip;

/// A session whose shell is `program`, and what holds it.
async fn opened(world: &World, program: &str) -> (Sessions, Arc<Session>) {
    opened_by(world, |word| start_plain(program, word)).await
}

/// A session whose shell is started by the command line that `start` makes of the word in its marks.
pub(super) async fn opened_by(world: &World, start: impl FnOnce(&str) -> String) -> (Sessions, Arc<Session>) {
    let sessions = Sessions::new(Arc::new(|_| {}), None);
    let size = TerminalSize { columns: 80, rows: 24 };
    let (terminal, shell, tap) = Terminal::started_by(start, size, None);
    let request = TerminalRequest {
        command: Some(shell),
        working_directory: None,
        environment: vec![("HOME".into(), world.directory.path().display().to_string())],
        size,
        limits: CommandLimits::default(),
        tap: Some(tap),
    };
    let process = world.backend.shell().unwrap().open_terminal(request, &Call::default()).await.unwrap();
    let starter = Starter { call_id: "call", tool: "shell_exec" };
    let session = sessions.place("s").unwrap().fill(process, Some(terminal), "", starter, 0);
    (sessions, session)
}

/// What a session says to each command: how it ran, and what it printed.
pub(super) async fn said(session: &Session, commands: &[&str]) -> Vec<(Ran, String)> {
    let mut said = Vec::new();
    for command in commands {
        let terminal = session.terminal.as_ref().unwrap();
        let ran = terminal.run(session, command, Duration::from_secs(60), &Deadline::default()).await.unwrap();
        said.push((ran, strip(&String::from_utf8_lossy(&session.fresh_printed(1 << 20).bytes))));
    }
    said
}

/// Where there is no bash a command never came to an end that anybody saw.
async fn keeps_a_session(program: &str) {
    let world = World::new();
    let long = format!("printf '%s\\n' {} | sort -u | tail -n 1", "'wörd %' ".repeat(1_500));
    let lines = "for i in 1 2\ndo\n\techo \"l $i\" 'q' \\\\\ndone\ncat <<'E'\n$X `x`\nE";
    let commands = [
        "echo hi",
        "cd /; X=é; false",
        "echo $? $X $PWD",
        lines,
        &long,
        "printf no-end; sh -c 'exit 5'",
        "fi",
        "echo 'a",
        "sleep 0.01 & wait; echo over",
        "stty size",
        "true",
    ];
    let (_sessions, session) = opened(&world, program).await;
    let said = said(&session, &commands).await;
    let expected =
        [(0, "hi\n"), (1, ""), (0, "1 é /\n"), (0, "l 1 q \\\nl 2 q \\\n$X `x`\n"), (0, "wörd %\n"), (5, "no-end")];
    for (index, (code, text)) in expected.into_iter().enumerate() {
        assert_eq!(said[index], (Ran::Ended(code), text.to_owned()), "{program}: {}", commands[index]);
    }
    for (index, word) in [(6, "fi"), (7, "nterminated")] {
        assert!(said[index].0 == Ran::Ended(2) && said[index].1.contains(word), "{program}: {:?}", said[index]);
    }
    assert!(said[8].1.contains("over\n"), "{program}: {:?}", said[8]);
    assert_eq!(said[9..], [(Ran::Ended(0), "24 80\n".to_owned()), (Ran::Ended(0), String::new())], "{program}");
    assert_eq!(fs::read_dir(world.directory.path()).unwrap().count(), 0, "{program} writes no history");
}

#[tokio::test]
async fn a_plain_shell_keeps_a_session() {
    keeps_a_session("/bin/sh").await;
}

#[tokio::test]
async fn a_shell_of_busybox_keeps_a_session() {
    keeps_a_session("busybox sh").await;
}

/// Where a session set the prompt its commands never came to an end that anybody saw.
async fn survives_settings(program: &str) {
    let world = World::new();
    let (_sessions, session) = opened(&world, program).await;
    fs::write(world.directory.path().join("rc"), "PS1='mine> '\nPS2='more> '\n").unwrap();
    let commands = [
        ". ./rc",
        "sh -c 'exit 7'",
        "echo $?",
        "PS1=\"(venv) $PS1\"; false",
        "printf no-end",
        "PS1='$X> ' X=Y",
        "fi",
        "for i in 1 2; do\n echo $i; done",
    ];
    let said = said(&session, &commands).await;
    let expected = [(0, ""), (7, ""), (0, "7\n"), (1, ""), (0, "no-end"), (0, ""), (2, ""), (0, "1\n2\n")];
    for (index, (code, text)) in expected.into_iter().enumerate() {
        assert_eq!(said[index].0, Ran::Ended(code), "{program}: {}", commands[index]);
        assert!(said[index].1 == text || commands[index] == "fi", "{program}: {:?}", said[index]);
    }
    let shown = session.terminal.as_ref().unwrap().screen().lock().look().lines;
    for line in ["mine> sh -c 'exit 7'", "(venv) mine> printf no-end", "Y> for i in 1 2; do", ">  echo $i; done"] {
        assert!(shown.iter().any(|shown| shown == line), "{program}: {line} in {shown:#?}");
    }
    assert!(shown.iter().all(|line| !line.contains("eval \"") && !line.contains("133")), "{program}: {shown:#?}");
}

#[tokio::test]
async fn settings_cost_a_plain_shell_neither_its_prompt_nor_exit_codes() {
    survives_settings("/bin/sh").await;
}

#[tokio::test]
async fn settings_cost_a_shell_of_busybox_neither_its_prompt_nor_exit_codes() {
    survives_settings("busybox sh").await;
}

/// A trace told the word of the marks in every result, and a function took each command's text away.
async fn keeps_its_ends(program: &str, silences: &str) {
    let heard = |text, silence| if silences == silence { "" } else { text };
    let world = World::new();
    let (_sessions, session) = opened(&world, program).await;
    let word = session.terminal.as_ref().unwrap().word();
    let commands = [
        ("set -x", 0, ""),
        ("echo hi", 0, "+ echo hi\nhi\n"),
        ("set +x", 0, "+ set +x\n"),
        ("printf() { :; }", 0, ""),
        ("sh -c 'echo out; exit 7'", 7, "out\n"),
        (silences, 0, ""),
        ("sh -c 'echo err >&2; exit 6'", 6, heard("err\n", "exec 2>/dev/null")),
        ("(exit $?)", 6, ""),
        ("echo again; false", 1, heard("again\n", "exec >/dev/null")),
        ("PS1='mine> '", 0, ""),
        ("true", 0, ""),
    ];
    let said = said(&session, &commands.map(|(command, ..)| command)).await;
    for ((command, code, printed), (ran, text)) in commands.into_iter().zip(said) {
        assert_eq!((ran, text.as_str()), (Ran::Ended(code), printed), "{program}: {command}");
    }
    let shown = session.terminal.as_ref().unwrap().screen().lock().look().lines;
    assert!(shown.iter().all(|line| !line.contains(&word) && !line.contains("eval \"")), "{program}: {shown:#?}");
}

#[tokio::test]
async fn nothing_that_a_session_does_to_a_plain_shell_costs_it_the_ends_of_its_commands() {
    for silences in ["exec >/dev/null", "exec 2>/dev/null"] {
        keeps_its_ends("/bin/sh", silences).await;
    }
}

#[tokio::test]
async fn nothing_that_a_session_does_to_a_shell_of_busybox_costs_it_the_ends_of_its_commands() {
    // Its prompt is printed where output is.
    for silences in ["exec >&2", "exec >/dev/null", "exec 2>/dev/null"] {
        keeps_its_ends("busybox sh", silences).await;
    }
}
