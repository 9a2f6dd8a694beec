//! What is told of a session in which something happened between the calls.

use super::*;

async fn view(toolset: &Toolset, seconds: u32) -> ToolResult {
    call(toolset, "shell_view", json!({ "id": "s", "wait": seconds })).await
}

#[tokio::test]
async fn a_command_of_several_lines_is_what_it_would_be_in_a_script() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "(exit 7)").await;
    for (command, expected) in [
        ("echo $?\ntrue", "7"),
        ("cat <<'E'\n$x \\n 'q' \"p\"\tt é\nE\necho \"it's\" \\\\", "$x \\n 'q' \"p\"\tt é\nit's \\"),
        ("alias hi='echo aliased'\nhi there", "aliased there"),
        ("X=set\nmkdir d\ncd d\nfunction f {\n  echo \"in $1\"\n}", "Command executed successfully (no output)."),
        ("f \\\n  $X\n# done\nbasename \"$PWD\"", "in set\nd"),
        ("echo one\n\n(exit 4)\n", "Command ended with exit code 4.\none"),
    ] {
        let told = exec(&toolset, command).await.text;
        // A terminal shows a tab as the blanks up to the next stop.
        assert_eq!(told.replace("        ", "\t"), expected, "{command}");
    }
}

/// The echo of the command counted as output: a look that was to wait came back at once, and showed nothing.
#[tokio::test]
async fn a_look_that_waits_is_ended_by_output_and_by_no_echo() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    start(&toolset, "until [ -e go ]; do sleep 0.01; done; echo out; read x").await;
    let looks = view(&toolset, 300);
    let goes = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        fs::write(world.directory.path().join("go"), "").unwrap();
    };
    let (looked, ()) = tokio::join!(looks, goes);
    assert_eq!(looked.text, "out");
    // The end of a command without output is news too.
    let session = toolset.sessions().find("s").unwrap();
    let (ended, ()) = tokio::join!(view(&toolset, 300), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        session.process.write(b"\n", &Deadline::default()).await.unwrap();
    });
    assert_eq!(ended.text, "--- COMMAND FINISHED (exit code 0) ---");
    assert!(view(&toolset, 1).await.text.starts_with("[No new output]"));
}

/// A title or a move of the cursor ended a look that was to wait for output, and it showed nothing; half a title was shown as text.
#[tokio::test]
async fn a_look_that_waits_is_ended_by_no_title_and_shows_no_half_of_one() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let waits = |file: &str| format!("until [ -e {file} ]; do sleep 0.01; done");
    let command = format!(
        "printf 'a\\033]2;first\\007\\033]2;half of'; {}; printf ' it\\007\\033[2;1H\\033[?25l'; {}; echo out; read x",
        waits("go"),
        waits("on")
    );
    start(&toolset, &command).await;
    assert_eq!(view(&toolset, 300).await.text, "a");
    assert!(view(&toolset, 0).await.text.starts_with("[No new output]"));
    let looks = view(&toolset, 300);
    let goes = async {
        fs::write(world.directory.path().join("go"), "").unwrap();
        until_shown(&toolset, "title 'half of it'").await;
        until_shown(&toolset, "cursor hidden").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        fs::write(world.directory.path().join("on"), "").unwrap();
    };
    let (looked, ()) = tokio::join!(looks, goes);
    assert_eq!(looked.text, "out");
}

/// A new shell stood in for one that had ended, and what that had printed was gone.
#[tokio::test]
async fn the_last_words_of_a_session_are_told_by_the_call_that_opens_it_anew() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "X=kept").await;
    call(&toolset, "shell_exec", json!({ "id": "s", "command": "read x; echo last; exit 9", "block": false })).await;
    let session = toolset.sessions().find("s").unwrap();
    session.process.write(b"\n", &Deadline::default()).await.unwrap();
    session.process.over().await;
    let opened = exec(&toolset, "echo $X.").await;
    assert_eq!(
        opened.text,
        "(The shell of session 's' had ended; this is a new one, without its directory and variables. Printed there and not \
         shown:)\nlast\nexit\n--- SESSION TERMINATED (exit code 9) ---\n(In the new one:)\n."
    );
    let data = opened.data.unwrap();
    assert_eq!((&data["before"], &data["beforeExitCode"]), (&json!("last\nexit"), &json!(9)));
    // Who knows of the end is told nothing again.
    exec(&toolset, "exit").await;
    assert_eq!(exec(&toolset, "echo new").await.text, "new");
    call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
    assert_eq!(exec(&toolset, "echo new").await.text, "new");
}

/// Its marks were told with the rest, and the output was gone for `shell_view`.
#[tokio::test]
async fn a_terminal_is_read_by_its_own_tool_and_a_command_in_the_background_by_its_own() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["terminal", "background"], "approvalMode": "approve-all" }));
    exec(&toolset, "true").await;
    let read = call(&toolset, "read_output", json!({ "shell_id": "s" })).await;
    assert_eq!(read.text, "Error: 's' is a terminal session: look with `shell_view`.");
    let printed = "printf '%s\\n' 'Command ended with exit code 1.' '(More output is there)' text";
    call(&toolset, "run_in_background", json!({ "command": printed })).await;
    toolset.sessions().find("bg_1").unwrap().process.over().await;
    let taken = call(&toolset, "shell_exec", json!({ "id": "bg_1", "command": "true" })).await;
    assert!(taken.is_error && taken.text.contains("read it with `read_output`"), "{}", taken.text);
    let read = call(&toolset, "read_output", json!({ "shell_id": "bg_1" })).await;
    assert_eq!(read.text, "[bg_1] exited (code 0)\n| Command ended with exit code 1.\n| (More output is there)\ntext");
}

/// A job in the background took the prompt away for whoever asked after it.
#[tokio::test]
async fn what_a_line_editor_says_counts_behind_a_typed_line_alone() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "(until [ -e go ]; do sleep 0.01; done; printf '\\033[?2004l'; touch done) & true").await;
    fs::write(world.directory.path().join("go"), "").unwrap();
    while !world.directory.path().join("done").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let told = exec(&toolset, "echo on").await;
    assert!(!told.is_error && told.text.lines().any(|line| line == "on"), "{}", told.text);
}

/// A program that was killed left its screen behind, which was shown at every look.
#[tokio::test]
async fn at_a_prompt_output_is_told_and_no_screen_that_was_left_behind() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "printf '\\033[?1049hdrawn'").await;
    start(&toolset, "sleep 0.2; echo printed").await;
    let mut seen = String::new();
    while !seen.contains("COMMAND FINISHED") {
        seen.push_str(&view(&toolset, 60).await.text);
        seen.push('\n');
    }
    assert_eq!(seen.replace("\n\n", "\n"), "printed\n--- COMMAND FINISHED (exit code 0) ---\n");
}
