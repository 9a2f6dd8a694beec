//! Lines that are longer than what a terminal gives a program whole.

use super::*;
use crate::error::ErrorKind;

const MOST: usize = 4_095;

/// The kernel dropped what was too long of a line, and a program had another one than the one that was judged and approved.
#[tokio::test]
async fn a_line_that_its_program_would_get_in_part_is_refused_also_in_pieces() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "cat >got").await;
    let refused = write(&toolset, &"x".repeat(MOST + 1)).await;
    assert!(refused.is_error && refused.code.as_deref() == Some("INVALID_INPUT"), "{}", refused.text);
    assert!(refused.text.contains("4095 bytes") && refused.text.contains("shorter lines"), "{}", refused.text);
    let lines = [&*"a".repeat(MOST), "short", &"é".repeat(MOST / 2)].join("\n");
    assert!(!write(&toolset, &lines).await.is_error);
    let piece = json!({ "id": "s", "command": "b".repeat(MOST - 1), "enter": false });
    assert!(!call(&toolset, "shell_write_to_process", piece).await.is_error);
    assert!(write(&toolset, "cd").await.is_error);
    // Whoever writes past the tools is told the same.
    let process = toolset.sessions().find("s").unwrap().process.clone();
    let error = process.write(b"cd\r", &Deadline::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(!write(&toolset, "c").await.is_error);
    finished(&toolset, press(&toolset, &["ctrl-d"]).await).await;
    let got = fs::read_to_string(world.directory.path().join("got")).unwrap();
    assert!(got == format!("{lines}\n{}c\n", "b".repeat(MOST - 1)), "{}", got.len());
}

#[tokio::test]
async fn a_program_that_gets_each_byte_gets_lines_of_any_length() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "stty -icanon -echo; echo re''ady; head -c 9001 | wc -c; stty sane").await;
    until_shown(&toolset, "\nready").await;
    let ended = finished(&toolset, write(&toolset, &"x".repeat(9_000)).await).await;
    assert!(ended.contains("9001\n"), "{ended}");
    // What was typed of a line there is nothing of the next program's.
    start(&toolset, "cat").await;
    assert!(!write(&toolset, &"x".repeat(MOST)).await.is_error);
}

/// A shell without its line editor took the keys that run a line for a part of it: no command ran, and the result said that it did.
#[tokio::test]
async fn a_command_is_refused_where_the_shell_has_no_line_editor() {
    let world = World::new();
    let toolset = terminals(&world);
    let long = format!("echo {}", "x".repeat(MOST));
    assert_eq!(exec(&toolset, &long).await.text, "x".repeat(MOST));
    exec(&toolset, "set +o emacs +o vi").await;
    for command in ["touch ran", &long] {
        for refused in [exec(&toolset, command).await, write(&toolset, command).await] {
            assert_eq!(refused.code.as_deref(), Some("ALREADY_EXISTS"), "{}", refused.text);
            assert!(refused.text.contains("has no line editor any more"), "{}", refused.text);
        }
    }
    let state = toolset.sessions().find("s").unwrap().terminal.as_ref().unwrap().state();
    assert_eq!(state, crate::session::terminal::ShellState::AtPrompt);
    call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
    assert!(!exec(&toolset, "true").await.is_error);
    assert!(!world.directory.path().join("ran").exists());
}

/// A line that filled its last row was told with its last character as output where it had more rows than the terminal, and one in the
/// locale `C`, or on a terminal that cannot move its cursor up, with more of it.
#[tokio::test]
async fn a_line_of_any_length_is_no_output_whatever_the_terminal_is() {
    let world = World::new();
    for setting in [
        "export TERM=xterm-256color LC_ALL=C.UTF-8",
        "export LC_ALL=C",
        "export TERM=screen LC_ALL=C.UTF-8",
        "export TERM=vt100 LC_ALL=C.UTF-8",
        "export TERM=dumb LC_ALL=C.UTF-8",
        "bind 'set horizontal-scroll-mode on'",
    ] {
        let toolset = terminals(&world);
        exec(&toolset, setting).await;
        for (columns, rows) in [(9_usize, 4), (40, 5), (40, 40)] {
            exec(&toolset, &format!("stty columns {columns} rows {rows}")).await;
            // About each row's end, from the first one on to those that the terminal does not show at once.
            for length in (1..=3).chain(rows.min(6)..rows.min(6) + 2).flat_map(|row| row * columns - 3..=row * columns)
            {
                // A command that is typed.
                let Some(filled) = length.checked_sub("_= echo hi".len()) else { continue };
                let command = format!("_={} echo hi", "abcdefghijk".repeat(40).get(..filled).unwrap());
                assert_eq!(exec(&toolset, &command).await.text, "hi", "{setting}, {columns} x {rows}: {length}");
            }
        }
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
    }
}
