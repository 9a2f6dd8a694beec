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

/// A shell without its line editor reads whole lines as well.
#[tokio::test]
async fn a_command_that_a_shell_would_get_in_part_is_refused() {
    let world = World::new();
    let toolset = terminals(&world);
    let long = format!("echo {}", "x".repeat(MOST));
    assert_eq!(exec(&toolset, &long).await.text, "x".repeat(MOST));
    exec(&toolset, "set +o emacs +o vi").await;
    let refused = exec(&toolset, &long).await;
    assert!(refused.is_error && refused.text.contains("4095 bytes"), "{}", refused.text);
    let state = toolset.sessions().find("s").unwrap().terminal.as_ref().unwrap().state();
    assert_eq!(state, crate::session::terminal::ShellState::AtPrompt);
}
