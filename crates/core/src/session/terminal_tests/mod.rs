//! Terminals through the tools alone: real shells and real programs on real pseudo-terminals.
#![cfg(target_os = "linux")]

use std::fs;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use super::Hold;
use super::running::Ran;
use super::tests::{World, call};
use crate::backend::Backend;
use crate::backend::process::TerminalSize;
use crate::cancel::Deadline;
use crate::tool::{Part, ToolResult};
use crate::toolset::{Application, CallOptions, Toolset};

mod alternate;
mod answered;
mod asking;
mod between;
mod ceilings;
mod echoes;
mod ended;
mod flood;
mod hatch;
mod history;
mod interrupted;
mod long_lines;
mod marks;
mod output;
mod plain;
mod programs;
mod reading;
mod replaced;
mod spelled;
mod stopped;
mod suspended;
mod thrown_away;
mod torn;
mod typed_ahead;
mod unread;
mod whereabouts;
mod whole;

fn terminals(world: &World) -> Toolset {
    // What is typed into other programs is no command that a shell understands: it asks.
    world.toolset(json!({ "tools": ["terminal"], "approvalMode": "approve-all" }))
}

async fn exec(toolset: &Toolset, command: &str) -> ToolResult {
    call(toolset, "shell_exec", json!({ "id": "s", "command": command, "timeout": 60 })).await
}

async fn write(toolset: &Toolset, text: &str) -> ToolResult {
    call(toolset, "shell_write_to_process", json!({ "id": "s", "command": text })).await
}

async fn press(toolset: &Toolset, keys: &[&str]) -> ToolResult {
    call(toolset, "shell_write_to_process", json!({ "id": "s", "keys": keys })).await
}

async fn screen(toolset: &Toolset) -> ToolResult {
    call(toolset, "shell_screen", json!({ "id": "s" })).await
}

/// Looks at the screen until it shows `text`.
async fn until_shown(toolset: &Toolset, text: &str) -> String {
    loop {
        let shown = screen(toolset).await.text;
        if shown.contains(text) {
            return shown;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Waits for the end of the command that runs.
async fn finished(toolset: &Toolset, so_far: ToolResult) -> String {
    let mut text = so_far.text;
    while !text.contains("--- COMMAND FINISHED") {
        text.push('\n');
        text.push_str(&call(toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await.text);
    }
    text
}

/// Types a line and waits for the end of the command: all that was printed until then, however it came.
async fn typed(toolset: &Toolset, text: &str) -> String {
    let mut next = write(toolset, text).await;
    let mut pieces = Vec::new();
    loop {
        pieces.push(next.data.unwrap()["output"].as_str().unwrap().to_owned());
        pieces.extend(next.text.find("--- COMMAND FINISHED").map(|at| next.text[at..].to_owned()));
        if pieces.iter().any(|piece| piece.contains("--- COMMAND FINISHED")) {
            return pieces.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n");
        }
        next = call(toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
    }
}

/// Starts a program that goes on.
async fn start(toolset: &Toolset, command: &str) {
    let started = call(toolset, "shell_exec", json!({ "id": "s", "command": command, "block": false })).await;
    assert!(started.text.starts_with("Session 's' started."), "{}", started.text);
}

/// D54, D59: exit codes were never told, and nothing lasted from call to call.
#[tokio::test]
async fn a_session_keeps_directory_variables_functions_and_history_also_after_failures() {
    let world = World::new();
    let toolset = terminals(&world);
    let root = world.directory.path().display().to_string();
    assert_eq!(exec(&toolset, "pwd").await.text, root);
    assert_eq!(
        exec(&toolset, "mkdir sub && cd sub; X=1; export Y=é; f() { echo f$1; }").await.text,
        "Command executed successfully (no output)."
    );
    let failed = exec(&toolset, "false").await;
    assert_eq!(failed.text, "Command ended with exit code 1.\n(no output)");
    assert_eq!(failed.data.unwrap()["exitCode"], json!(1));
    assert_eq!(exec(&toolset, "pwd; echo $X$Y; f 2; sh -c 'echo $X-$Y'").await.text, format!("{root}/sub\n1é\nf2\n-é"));
    assert_eq!(exec(&toolset, "nosuchcommand").await.data.unwrap()["exitCode"], json!(127));
    let lines = "for i in 1 2\ndo\n\techo \"l $i\"\ndone\ncat <<'E'\n$X `x`\nE";
    assert_eq!(exec(&toolset, lines).await.text, "l 1\nl 2\n$X `x`");
    assert!(exec(&toolset, "history | head -n 2").await.text.contains("pwd"));
    // Escapes, a program that ends without a line end, standard error, and a pretended end.
    assert_eq!(exec(&toolset, r"printf '\033[31mred\033[0m'; echo err >&2").await.text, "rederr");
    assert_eq!(
        exec(&toolset, r"printf '\033]133;D;0;x\007'; sh -c 'exit 5'").await.data.unwrap()["exitCode"],
        json!(5)
    );
    let wrong = exec(&toolset, "fi").await;
    assert!(
        wrong.text.starts_with("Command ended with exit code 2.\n") && wrong.text.contains("syntax error"),
        "{}",
        wrong.text
    );
    assert_eq!(exec(&toolset, ":").await.text, "Command executed successfully (no output).");
    let open = exec(&toolset, "echo 'a").await;
    assert!(open.text.starts_with("The command is not whole"), "{}", open.text);
    // Its rest would be judged by itself, as something that it is not.
    for rest in [json!({ "command": "b'" }), json!({ "command": "'; rm -rf /; echo '" }), json!({ "keys": ["b"] })] {
        let mut input = rest;
        input["id"] = json!("s");
        let refused = call(&toolset, "shell_write_to_process", input).await;
        assert!(refused.is_error && refused.text.contains("whole commands"), "{}", refused.text);
    }
    let given_up = finished(&toolset, press(&toolset, &["ctrl-c"]).await).await;
    assert!(given_up.contains("--- COMMAND FINISHED (exit code 130) ---"), "{given_up}");
    let ended = exec(&toolset, "exit 3").await;
    assert!(ended.text.ends_with("--- SESSION TERMINATED (exit code 3) ---"), "{}", ended.text);
    assert_eq!(ended.data.unwrap()["exitCode"], json!(3));
    assert_eq!(exec(&toolset, "pwd").await.text, root, "an id whose session ended begins anew");
}

/// A file of settings took the marks away with the prompt it set, and no command ran in the session any more.
#[tokio::test]
async fn settings_of_its_own_cost_a_session_neither_its_prompt_nor_exit_codes() {
    let world = World::new();
    let toolset = terminals(&world);
    fs::write(world.directory.path().join("rc"), "PS1='mine> '\nPS2='more> '\nPROMPT_COMMAND='X=hooked'\n").unwrap();
    assert_eq!(exec(&toolset, ". ./rc").await.text, "Command executed successfully (no output).");
    for _ in 0..2 {
        assert_eq!(exec(&toolset, "sh -c 'exit 7'").await.data.unwrap()["exitCode"], json!(7));
        assert_eq!(exec(&toolset, "echo $? $X").await.text, "7 hooked");
    }
    assert_eq!(exec(&toolset, "PS1=\"(venv) $PS1\"").await.data.unwrap()["exitCode"], json!(0));
    assert_eq!(exec(&toolset, "true").await.text, "Command executed successfully (no output).");
    until_shown(&toolset, "(venv) mine>").await;
}

/// The end of a command was kept back for as long as a look was ready to wait, where its output had been shown before.
#[tokio::test]
async fn a_look_does_not_wait_for_an_end_that_is_there() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let ran = terminal.run(&session, "echo done", Duration::from_secs(60), &Deadline::default()).await.unwrap();
    assert_eq!(ran, Ran::Ended(0));
    assert!(session.untold_end(terminal).is_some());
    session.fresh_printed(1 << 20);
    let begin = std::time::Instant::now();
    let told = call(&toolset, "shell_view", json!({ "id": "s", "wait": 500 })).await;
    assert_eq!(told.text, "--- COMMAND FINISHED (exit code 0) ---");
    assert!(session.untold_end(terminal).is_none() && begin.elapsed() < Duration::from_secs(400));
}

/// Two threads were woken before a command that was asked for on Node's thread was typed.
#[tokio::test]
async fn a_command_is_typed_by_the_thread_that_asks() {
    let world = World::new();
    let toolset = terminals(&world);
    assert!(toolset.starts_at_hand("shell_exec", 100) && !toolset.starts_at_hand("shell_exec", 1 << 20));
    assert!(!toolset.starts_at_hand("shell_view", 100));
    let context = &mut Context::from_waker(Waker::noop());
    let input = json!({ "id": "s", "command": "echo typed" });
    let mut first = Box::pin(toolset.call("shell_exec", input.clone(), CallOptions::default()));
    assert!(crate::lent::poll(first.as_mut(), context).is_pending());
    assert!(toolset.sessions().find("s").is_none(), "a shell is started elsewhere");
    assert_eq!(first.await.unwrap().text, "typed");
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let before = terminal.mark_count();
    let folder = tempfile::tempdir().unwrap();
    let [ran, go_on] = ["ran", "go_on"].map(|name| folder.path().join(name));
    let command =
        format!("_=; echo > {}; until [ -e {} ]; do sleep 0.01; done; echo typed", ran.display(), go_on.display());
    let input = json!({ "id": "s", "command": command });
    // A prompt is shown before the shell reads behind it, which is waited for.
    terminal.reads(&session, &crate::cancel::Deadline::default()).await.unwrap();
    let mut second = Box::pin(toolset.call("shell_exec", input, CallOptions::default()));
    assert!(crate::lent::poll_for(Duration::from_secs(60), second.as_mut(), context).is_pending());
    assert!(terminal.mark_count() > before, "it was typed at the first poll");
    // Nobody drives the runtime: where a task had to write it, it would wait for that.
    let begin = std::time::Instant::now();
    while !ran.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it waits for a task of the runtime");
        std::thread::yield_now();
    }
    fs::write(go_on, "").unwrap();
    assert_eq!(second.await.unwrap().text, "typed");
    assert!(!terminal.looks_on(), "a thread is lent for quick commands alone");
}

#[tokio::test]
async fn while_a_person_has_a_session_the_model_types_nothing_and_changes_nothing() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["terminal", "background"], "approvalMode": "approve-all" }));
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let hold = Hold::take(&session, &Deadline::default()).await.unwrap();
    let before = session.process.position();
    for (tool, input) in [
        ("shell_exec", json!({ "id": "s", "command": "touch typed" })),
        ("shell_resize", json!({ "id": "s", "columns": 60, "rows": 10 })),
        ("shell_write_to_process", json!({ "id": "s", "command": "touch typed" })),
        ("shell_write_to_process", json!({ "id": "s", "keys": ["ctrl-d"] })),
        ("shell_ask_user_for_help", json!({ "id": "s", "prompt": "And you?" })),
        ("shell_kill_process", json!({ "id": "s" })),
        ("kill_shell", json!({ "shell_id": "s" })),
        ("kill_shell", json!({ "shell_id": "s", "signal": "SIGINT" })),
    ] {
        let refused = call(&toolset, tool, input.clone()).await;
        assert_eq!(refused.code.as_deref(), Some("BUSY"), "{tool} {input}: {}", refused.text);
    }
    assert!(screen(&toolset).await.text.starts_with("[screen 120 x 40"));
    assert_eq!(session.process.position(), before, "nothing was typed");
    drop(hold);
    call(&toolset, "shell_resize", json!({ "id": "s", "columns": 60, "rows": 10 })).await;
    assert_eq!(exec(&toolset, "ls; stty size").await.text, "10 60");
}

#[tokio::test]
async fn a_command_that_takes_too_long_goes_on_and_is_seen_to_its_end() {
    let world = World::new();
    let toolset = terminals(&world);
    let input = json!({ "id": "s", "command": "echo begin; read line; echo \"got $line\"", "timeout": 0.3 });
    let left = call(&toolset, "shell_exec", input).await;
    assert!(left.text.starts_with("Command still runs after 0.3 s and goes on in session 's'."), "{}", left.text);
    let mut so_far = left.text;
    while !so_far.ends_with("begin") {
        so_far = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await.text;
    }
    let again = exec(&toolset, "pwd").await;
    assert!(again.text.starts_with("Error: Session 's' already exists and is running."), "{}", again.text);
    assert!(call(&toolset, "shell_view", json!({ "id": "s" })).await.text.starts_with("[No new output]\n"));
    assert_eq!(typed(&toolset, "yes").await, "yes\ngot yes\n--- COMMAND FINISHED (exit code 0) ---");
    start(&toolset, "sleep 0.2; seq 1 3; exit 9").await;
    let mut seen = String::new();
    while !seen.contains("--- SESSION TERMINATED") {
        seen.push_str(&call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await.text);
        seen.push('\n');
    }
    assert!(seen.contains("1\n2\n3"), "{seen}");
    let over = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert_eq!(over.text, "--- SESSION TERMINATED (no new output) ---");
    assert_eq!(
        call(&toolset, "shell_list", json!({})).await.text,
        "s  exited(9)  echo begin; read line; echo \"got $line\""
    );
    for (tool, input) in [
        ("shell_view", json!({ "id": "x" })),
        ("shell_kill_process", json!({ "id": "s" })),
        ("shell_write_to_process", json!({ "id": "s", "command": "x" })),
        ("shell_exec", json!({ "id": "../x", "command": "x" })),
        ("shell_exec", json!({ "id": "y", "command": "echo \u{1b}[201~" })),
    ] {
        assert_eq!(call(&toolset, tool, input.clone()).await.code.as_deref(), Some("INVALID_INPUT"), "{tool} {input}");
    }
}

/// D57: ending a session took a minute, because only its shell was signalled.
#[tokio::test]
async fn keys_stop_and_resume_jobs_and_the_end_of_a_session_is_the_end_of_all_of_it() {
    let world = World::new();
    let toolset = terminals(&world);
    // It says by itself that it has the terminal.
    let sleeps = "sh -c 'printf r\\\\145ady; exec sleep 300'";
    start(&toolset, sleeps).await;
    until_shown(&toolset, "\nready").await;
    let stopped = finished(&toolset, press(&toolset, &["ctrl-c"]).await).await;
    assert!(stopped.ends_with("--- COMMAND FINISHED (exit code 130) ---"), "{stopped}");
    exec(&toolset, "clear").await;
    start(&toolset, sleeps).await;
    until_shown(&toolset, "\nready").await;
    let mut suspended = press(&toolset, &["ctrl-z"]).await.text;
    while !suspended.contains("---") {
        suspended.push_str(&call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await.text);
    }
    assert!(suspended.contains("Stopped"), "{suspended}");
    assert!(suspended.contains("--- COMMAND STOPPED ("), "{suspended}");
    assert!(exec(&toolset, "jobs").await.text.contains("sleep 300"));
    let over = exec(&toolset, "kill %1; wait; echo over").await.text;
    assert!(over.lines().any(|line| line == "over"), "{over}");
    let pid = exec(&toolset, "(setsid sleep 300 & echo $!)").await.text;
    let begin = std::time::Instant::now();
    let ended = call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
    assert_eq!(ended.text, "Process in session 's' has been terminated.");
    assert!(begin.elapsed() < std::time::Duration::from_secs(5));
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap(), "{pid}");
}

#[tokio::test]
async fn at_a_prompt_only_whole_lines_are_typed_so_that_no_unjudged_command_is_made_up() {
    let world = World::new();
    let rules = json!({ "execute": { "default": "allow", "rules": [{ "pattern": "touch *", "action": "deny" }] } });
    let toolset = world.toolset(json!({ "tools": ["terminal"], "permissions": rules }));
    exec(&toolset, "true").await;
    for input in [
        json!({ "id": "s", "command": "tou", "enter": false }),
        json!({ "id": "s", "keys": ["t"] }),
        json!({ "id": "s", "keys": ["up", "enter"] }),
        json!({ "id": "s", "keys": ["enter"] }),
        // Completion makes a word that nobody judged: `sud` and a tab are `sudo`.
        json!({ "id": "s", "command": "sud\t" }),
        json!({ "id": "s", "command": "true\nsud\t" }),
        json!({ "id": "s", "command": "sud", "keys": ["tab"] }),
        json!({ "id": "s", "keys": ["tab"] }),
        json!({ "id": "s", "keys": ["shift-tab"] }),
        json!({ "id": "s", "keys": ["ctrl-i", "enter"] }),
    ] {
        let refused = call(&toolset, "shell_write_to_process", input.clone()).await;
        assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"), "{input}: {}", refused.text);
    }
    // Nothing is typed beside the key, and keys alone may be pressed; an empty line with its return is one.
    for input in [
        json!({ "id": "s", "command": "", "enter": false, "keys": ["ctrl-c"] }),
        json!({ "id": "s", "command": "", "keys": ["ctrl-c"] }),
        json!({ "id": "s", "keys": ["ctrl-c"] }),
    ] {
        let pressed = call(&toolset, "shell_write_to_process", input.clone()).await;
        assert!(!pressed.is_error, "{input}: {}", pressed.text);
    }
    for line in ["touch x", "true\ntouch x"] {
        let blocked = write(&toolset, line).await;
        assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{}", blocked.text);
    }
    assert_eq!(exec(&toolset, "touch x").await.code.as_deref(), Some("COMMAND_BLOCKED"));
    assert!(!world.directory.path().join("x").exists());
    assert_eq!(typed(&toolset, "echo typed").await, "typed\n--- COMMAND FINISHED (exit code 0) ---");
    let asking = world.toolset(json!({ "tools": ["terminal"], "requireExecuteApproval": true }));
    for (tool, input) in [
        ("shell_exec", json!({ "id": "s", "command": "true" })),
        ("shell_write_to_process", json!({ "id": "s", "command": "yes" })),
        ("shell_write_to_process", json!({ "id": "s", "keys": ["ctrl-c"] })),
        ("shell_kill_process", json!({ "id": "s" })),
    ] {
        let error = asking.call(tool, input, CallOptions::default()).await.unwrap_err();
        assert_eq!(error.kind().code(), "APPROVAL_REQUIRED", "{tool}");
    }
}

#[tokio::test]
async fn a_screen_comes_as_a_picture_too_where_images_are_shown() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "printf '\\033[31mred\\n'").await;
    call(&toolset, "shell_resize", json!({ "id": "s", "columns": 30, "rows": 5 })).await;
    let shown = call(&toolset, "shell_screen", json!({ "id": "s", "image": true })).await;
    assert!(shown.text.starts_with("[screen 30 x 5"), "{}", shown.text);
    let [Part::Image { media_type, data }] = shown.parts.as_slice() else { panic!("{:?}", shown.parts) };
    assert_eq!(media_type, "image/png");
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    let header = png::Decoder::new(std::io::Cursor::new(bytes)).read_header_info().map(|info| info.size()).unwrap();
    assert_eq!(header, (30 * 8, 5 * 16));
    assert!(screen(&toolset).await.parts.is_empty());
    let blind = world.toolset(json!({ "tools": ["terminal"], "approvalMode": "approve-all", "imageBytes": 0 }));
    exec(&blind, "true").await;
    let refused = call(&blind, "shell_screen", json!({ "id": "s", "image": true })).await;
    assert_eq!(refused.code.as_deref(), Some("UNSUPPORTED"), "{}", refused.text);
}

/// Text and keys stood side by side, and whether a return followed was not said: `y enter` were a line and a key, or a line.
#[tokio::test]
async fn whoever_is_asked_about_what_is_typed_sees_text_and_keys_apart() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["terminal"], "requireExecuteApproval": true }));
    for (input, expected) in [
        (json!({ "command": "yes" }), "Type into terminal session s; text with a return: yes"),
        (
            json!({ "command": "y enter", "enter": false }),
            "Type into terminal session s; text without a return: y enter",
        ),
        (
            json!({ "command": "y", "enter": false, "keys": ["enter", " ", "ctrl-c"] }),
            "Type into terminal session s, then press enter space ctrl-c; text without a return: y",
        ),
        (json!({ "command": "", "keys": ["up"] }), "Type into terminal session s, then press up; text with a return: "),
        (json!({ "keys": ["up", "enter"] }), "Press keys in terminal session s: up enter"),
    ] {
        let mut input = input;
        input["id"] = json!("s");
        let error = toolset.call("shell_write_to_process", input, CallOptions::default()).await.unwrap_err();
        assert_eq!(error.details().unwrap()["description"], json!(expected));
    }
}

/// Whoever was asked about a command did not see where it would run, and in an open session it ran elsewhere than asked.
#[tokio::test]
async fn the_directory_of_a_session_is_shown_to_whoever_is_asked_and_is_that_of_its_beginning() {
    let world = World::new();
    fs::create_dir(world.directory.path().join("sub")).unwrap();
    let input = json!({ "id": "s", "command": "pwd", "cwd": "sub" });
    let asking = world.toolset(json!({ "tools": ["terminal"], "requireExecuteApproval": true }));
    let error = asking.call("shell_exec", input.clone(), CallOptions::default()).await.unwrap_err();
    assert_eq!(error.details().unwrap()["description"], json!("Run in terminal session s, in sub: pwd"));
    let toolset = terminals(&world);
    assert!(call(&toolset, "shell_exec", input.clone()).await.text.ends_with("/sub"));
    let again = call(&toolset, "shell_exec", input).await;
    assert_eq!(again.code.as_deref(), Some("INVALID_INPUT"), "{}", again.text);
    assert!(exec(&toolset, "pwd").await.text.ends_with("/sub"));
}

#[tokio::test]
async fn what_is_typed_after_a_resize_finds_the_new_size() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    for rows in 10..40 {
        call(&toolset, "shell_resize", json!({ "id": "s", "columns": 60, "rows": rows })).await;
        assert_eq!(exec(&toolset, "stty size").await.text, format!("{rows} 60"));
    }
}

#[tokio::test]
async fn sessions_are_logged_where_the_application_says() {
    let world = World::new();
    let logs = tempfile::tempdir().unwrap();
    let options = json!({ "tools": ["terminal"], "sessionLogs": { "directory": logs.path() } });
    let toolset = world.toolset(options);
    exec(&toolset, "echo logged; printf '\\033[1mbold\\n'").await;
    let refused = call(&toolset, "shell_exec", json!({ "id": "gone", "command": "true", "cwd": "gone" })).await;
    assert!(refused.is_error, "{}", refused.text);
    toolset.close();
    toolset.over().await;
    let log = fs::read_to_string(logs.path().join("session_s.log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let [typed, "logged", "bold", ..] = lines.as_slice() else { panic!("{log}") };
    assert!(typed.ends_with("echo logged; printf '\\033[1mbold\\n'"), "{log}");
    assert_eq!(fs::read_dir(logs.path()).unwrap().count(), 1, "what did not open left a log");
}

/// D58: what a command had printed before its time was over was in no log.
#[tokio::test]
async fn the_log_holds_what_was_printed_before_the_time_of_a_command_was_over() {
    let world = World::new();
    let logs = tempfile::tempdir().unwrap();
    let options = json!({ "tools": ["terminal"], "sessionLogs": { "directory": logs.path() } });
    let toolset = world.toolset(options);
    let input = json!({ "id": "s", "command": "echo bef''ore; sleep 300", "timeout": 1 });
    let left = call(&toolset, "shell_exec", input).await;
    assert!(left.text.starts_with("Command still runs after 1 s"), "{}", left.text);
    until_shown(&toolset, "\nbefore").await;
    // It is logged before it is drawn.
    let log = fs::read_to_string(logs.path().join("session_s.log")).unwrap();
    assert!(log.contains("\nbefore\n"), "{log}");
}

/// A line end of two characters opened a session and was refused there.
#[tokio::test]
async fn carriage_returns_in_a_command_are_refused_before_anything_is_opened_or_typed() {
    let world = World::new();
    let toolset = terminals(&world);
    for command in ["echo a\r\necho b", "echo a\recho b", "echo a\r"] {
        let refused = exec(&toolset, command).await;
        assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"), "{command:?}");
        assert!(refused.text.contains("carriage return"), "{}", refused.text);
        assert!(toolset.sessions().all().is_empty(), "{command:?}");
    }
    exec(&toolset, "true").await;
    start(&toolset, "read x; echo \"got $x\"").await;
    for text in ["a\r\n", "a\rb"] {
        let refused = write(&toolset, text).await;
        assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"), "{text:?}");
        assert!(refused.text.contains("carriage return"), "{}", refused.text);
    }
    assert!(typed(&toolset, "whole").await.contains("got whole"));
}

/// A look at half a character said that more was there.
#[tokio::test]
async fn a_look_at_half_a_character_shows_nothing_of_it_and_says_of_no_more() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    start(&toolset, r"printf 'begun \303'; until [ -e go ]; do sleep 0.02; done; printf '\251\n'").await;
    until_shown(&toolset, "\nbegun").await;
    let mut told = String::new();
    while !told.contains("begun") {
        let look = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
        told.push_str(look.data.unwrap()["output"].as_str().unwrap());
    }
    let look = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    told.push_str(look.data.as_ref().unwrap()["output"].as_str().unwrap());
    assert_eq!((told.trim_end(), &look.data.unwrap()["more"]), ("begun", &json!(false)));
    fs::write(world.directory.path().join("go"), "").unwrap();
    let rest = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
    let rest = finished(&toolset, rest).await;
    assert!(rest.contains('é') && !rest.contains('\u{FFFD}'), "{rest}");
}

/// D58: each state of a line of progress was a line to the model.
#[tokio::test]
async fn of_a_line_of_progress_the_first_and_the_last_state_are_told() {
    let world = World::new();
    let toolset = terminals(&world);
    let bar = "for i in $(seq 1 100); do printf \"\\r$i%%\"; done; echo; echo end";
    let told = exec(&toolset, bar).await.text;
    assert_eq!(told, "1%\n... [98 more state(s) of this line left out] ...\n100%\nend");
    // As npm draws, and as `man` prints.
    let spinner = "for i in $(seq 1 9); do printf \"\\033[1G\\033[0K$i%%\"; done; echo; printf 'N\\bNa\\ba _\\bx\\n'";
    let told = exec(&toolset, spinner).await.text;
    assert_eq!(told, "1%\n... [7 more state(s) of this line left out] ...\n9%\nNa x");
}

#[tokio::test]
async fn without_anybody_to_help_the_model_is_told() {
    let world = World::new();
    let toolset = terminals(&world);
    let asked = call(&toolset, "shell_ask_user_for_help", json!({ "id": "s", "prompt": "Help" })).await;
    assert_eq!(asked.code.as_deref(), Some("UNSUPPORTED"));
}

#[tokio::test]
async fn a_backend_without_terminals_leaves_the_tools_out() {
    let options = crate::backend::local::LocalOptions { execute: true, ..Default::default() };
    let backend: Arc<dyn Backend> = Arc::new(crate::backend::local::LocalBackend::new(options).unwrap());
    let options: Value = json!({ "tools": ["terminal"] });
    let toolset =
        Toolset::new(Arc::clone(&backend), serde_json::from_value(options).unwrap(), Application::default()).unwrap();
    assert!(toolset.specs().is_empty());
    let named = json!({ "tools": ["shell_exec"] });
    let error = Toolset::new(backend, serde_json::from_value(named).unwrap(), Application::default()).err().unwrap();
    assert_eq!(error.kind().code(), "UNSUPPORTED");
}
