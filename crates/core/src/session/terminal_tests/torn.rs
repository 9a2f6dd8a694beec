//! Lines of which another program has a part: one that reads the same terminal.

use std::fs::File;
use std::io::Read as _;

use super::*;

/// The keys before a pasted line.
const PASTE_KEYS: usize = 6;

/// A command that had never run was told as one that had ended well.
#[tokio::test]
async fn what_is_told_as_run_is_what_was_typed_whoever_else_reads_the_terminal() {
    let world = World::new();
    let toolset = terminals(&world);
    let name = exec(&toolset, "tty").await.text;
    // A command that is typed. The first key of a paste, its beginning, a part of the line or all of it, and of the paste's end.
    let command = "_= echo one two three";
    let line = PASTE_KEYS + command.len();
    for bytes in [1, 3, PASTE_KEYS, 9, 14, 21, line - 1, line, line + 2, line + 4] {
        let thief = std::thread::spawn({
            let name = name.clone();
            move || File::open(name).unwrap().read(&mut vec![0; bytes]).unwrap()
        });
        let asked = json!({ "id": "s", "command": command, "timeout": 0.3 });
        let told = call(&toolset, "shell_exec", asked).await;
        let goes_on = told.data.as_ref().is_some_and(|data| data["running"] == json!(true));
        let is_noted = told.text.contains("took a part of the line") || goes_on;
        assert!(told.text == "one two three" || is_noted, "{bytes}: {}", told.text);
        // What is left of the line goes, and the reader has one of its own.
        while !thief.is_finished() {
            press(&toolset, &["ctrl-c"]).await;
            write(&toolset, "#").await;
        }
        thief.join().unwrap();
        let clean = json!({ "id": "s", "command": "echo clean", "timeout": 0.5 });
        while call(&toolset, "shell_exec", clean.clone()).await.text != "clean" {
            press(&toolset, &["ctrl-c"]).await;
        }
    }
}

/// Where it took a part of the line that asks bash to its hatch, bash evaluated what was left of it for the command.
#[tokio::test]
async fn what_is_handed_over_is_what_was_asked_whoever_else_reads_the_terminal() {
    let world = World::new();
    let toolset = terminals(&world);
    for bytes in [1, 1, 2, 3, 6, 7, 12, 40, 100, 200, 300, 380] {
        let name = exec(&toolset, "tty").await.text;
        let thief = std::thread::spawn(move || File::open(name).unwrap().read(&mut vec![0; bytes]).unwrap_or(0));
        let asked = json!({ "id": "s", "command": "echo one two three", "timeout": 0.5 });
        let told = call(&toolset, "shell_exec", asked).await;
        let goes_on = told.data.as_ref().is_some_and(|data| data["running"] == json!(true));
        let is_noted = ["took a part of the line", "nothing was run"].iter().any(|note| told.text.contains(note));
        assert!(told.text.ends_with("one two three") || is_noted || goes_on, "{bytes}: {}", told.text);
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        thief.join().unwrap();
    }
}

/// Behind one bash read no other condition in a hook, so that each command told of errors of ours; and took the next one in a line for wrong.
#[tokio::test]
async fn a_condition_that_is_wrong_spoils_no_prompt() {
    let world = World::new();
    let toolset = terminals(&world);
    for condition in ["[[ a b ]]", "[[ a b", "[[ ( a ]]", "[[ -f ]]"] {
        exec(&toolset, "true").await;
        exec(&toolset, condition).await;
        for (command, output, code) in [("_= echo one", "one", 0), ("_= sh -c 'exit 3'", "", 3), ("_= true", "", 0)] {
            let told = exec(&toolset, command).await.data.unwrap();
            assert_eq!(
                (told["output"].as_str(), &told["exitCode"]),
                (Some(output), &json!(code)),
                "{condition} {command}"
            );
        }
        // The first one behind it would be wrong too: a session of its own.
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        exec(&toolset, "_= true").await;
        exec(&toolset, condition).await;
        for _ in 0..4 {
            let told = exec(&toolset, "true").await.text;
            assert_eq!(told, "Command executed successfully (no output).", "{condition}");
        }
        let session = toolset.sessions().find("s").unwrap();
        assert!(session.terminal.as_ref().unwrap().is_at_hatch(), "{condition}");
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
    }
}

/// What an editor does not draw whole is no part of it that another program took.
#[tokio::test]
async fn a_line_that_is_not_drawn_whole_is_told_as_typed() {
    let world = World::new();
    let toolset = terminals(&world);
    let long = format!("_= true; cat </dev/null >/dev/null && echo {}", "<x>".repeat(100));
    let long = long.replace("<x>", "'<x>'");
    for setting in [
        "export TERM=dumb",
        "export TERM=xterm; stty -echo",
        "stty echo; stty columns 9 rows 4",
        "bind 'set horizontal-scroll-mode on'",
    ] {
        exec(&toolset, setting).await;
        let told = exec(&toolset, &long).await.text;
        assert_eq!(told, "<x>".repeat(100), "{setting}");
        assert_eq!(exec(&toolset, "_= true").await.text, "Command executed successfully (no output).", "{setting}");
    }
}

/// Where the rows of a terminal end an editor draws blanks otherwise.
#[tokio::test]
async fn a_line_with_blanks_is_told_as_typed_at_each_width() {
    let world = World::new();
    let toolset = terminals(&world);
    for width in 4..80 {
        exec(&toolset, &format!("stty columns {width}")).await;
        let told = exec(&toolset, "_= true a bc  def 'ghij k'  lmnop q rs tuv wxyz").await.text;
        assert_eq!(told, "Command executed successfully (no output).", "{width}");
    }
}
