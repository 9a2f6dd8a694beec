//! What is typed while a command runs, and stands at the shell's prompt when it ended: nobody judged it as a command.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::Session;
use super::super::line::Line;
use super::super::terminal::{ShellState, Terminal};
use super::*;
use crate::cancel::Deadline;
use crate::error::ErrorKind;
use crate::text::ansi::strip;
use crate::toolset::AssessmentStatus;

/// Runs until it is told to end.
const WAITS: &str = "until [ -e go ]; do sleep 0.02; done; rm go";

/// A toolset whose rules deny `touch`, and allow all else.
fn ruled(world: &World, more: Value) -> Toolset {
    let rules = json!({ "default": "allow", "execute": { "default": "allow", "rules": [{ "pattern": "touch *", "action": "deny" }] } });
    let mut options = json!({ "tools": ["terminal"], "permissions": rules });
    options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.toolset(options)
}

async fn input(toolset: &Toolset, mut input: Value) -> ToolResult {
    input["id"] = json!("s");
    call(toolset, "shell_write_to_process", input).await
}

/// Ends [`WAITS`]; the shell waits for commands then.
async fn go(world: &World, toolset: &Toolset) {
    fs::write(world.directory.path().join("go"), "").unwrap();
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    assert!(terminal.prompt(&session.process, Duration::from_secs(60), &Deadline::default()).await.unwrap());
}

/// What `command` prints in the session, behind whatever stood at its prompt.
async fn run(session: &Session, command: &str) -> (Ran, String) {
    let terminal = session.terminal.as_ref().unwrap();
    let ran = terminal.run(session, command, Duration::from_secs(60), &Deadline::default()).await.unwrap();
    (ran, strip(&String::from_utf8_lossy(&session.fresh_printed(1 << 20).bytes)))
}

/// A rule that denied a command held for its text, and for nothing that was spelled with keys or in pieces.
#[tokio::test]
async fn lines_of_keys_and_pieces_are_judged_where_they_end() {
    let world = World::new();
    let toolset = ruled(&world, json!({}));
    start(&toolset, WAITS).await;
    let spelled = |text: &str| -> Vec<String> { text.chars().map(String::from).chain(["enter".to_owned()]).collect() };
    let blocked = input(&toolset, json!({ "keys": spelled("touch bad") })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{}", blocked.text);
    input(&toolset, json!({ "command": "tou", "enter": false })).await;
    for rest in
        [json!({ "command": "ch bad" }), json!({ "keys": spelled("ch bad") }), json!({ "command": "ch bad\nls" })]
    {
        let blocked = input(&toolset, rest.clone()).await;
        assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{rest}: {}", blocked.text);
    }
    // Whoever asks before is told the same, and nothing of it is typed.
    for (text, expected) in [("ch bad", AssessmentStatus::Blocked), ("rist", AssessmentStatus::Allowed)] {
        let given = json!({ "id": "s", "command": text });
        let assessed = toolset.assess("shell_write_to_process", &given, CallOptions::default()).await.unwrap();
        assert_eq!(assessed.status, expected, "{text}: {:?}", assessed.reason);
    }
    // What goes on with it is judged with it.
    assert!(!input(&toolset, json!({ "command": "rist" })).await.is_error);
    go(&world, &toolset).await;
    exec(&toolset, "true").await;
    assert!(!world.directory.path().join("bad").exists());
}

/// A line was judged as a whole, and the shell ran what the program had left of it.
#[tokio::test]
async fn what_a_program_leaves_of_a_line_runs_nothing() {
    let world = World::new();
    let toolset = ruled(&world, json!({}));
    start(&toolset, &format!("head -c 4 >read; {WAITS}")).await;
    assert!(!input(&toolset, json!({ "command": "xxxxtouch bad" })).await.is_error);
    go(&world, &toolset).await;
    let left = exec(&toolset, "echo; cat read; ls").await.text;
    assert_eq!(left.lines().last(), Some("xxxxread"), "{left}");
    // The exit code of the one before is what it was.
    start(&toolset, &format!("{WAITS}; (exit 7)")).await;
    input(&toolset, json!({ "keys": ["q"] })).await;
    go(&world, &toolset).await;
    let code = exec(&toolset, "echo $?").await.text;
    assert_eq!(code.lines().last(), Some("7"), "{code}");
}

/// While a program printed a call waited to type, and typed at the prompt where the program had ended meanwhile.
#[tokio::test]
async fn keys_that_come_when_the_program_has_ended_run_nothing() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["terminal"] }));
    start(&toolset, "until [ -e go ]; do echo still; sleep 0.02; done").await;
    let keys: Vec<String> = "touch bad".chars().map(String::from).chain(["enter".to_owned()]).collect();
    let (_, ()) = tokio::join!(input(&toolset, json!({ "keys": keys })), go(&world, &toolset));
    let left = exec(&toolset, "ls").await.text;
    assert_eq!(left.lines().last(), Some("go"), "{left}");
}

#[tokio::test]
async fn a_line_that_keys_made_asks_where_rules_bind_commands_and_is_never_remembered() {
    let world = World::new();
    let toolset = ruled(&world, json!({}));
    start(&toolset, WAITS).await;
    for keys in [
        json!(["up", "enter"]),
        json!(["ctrl-r", "t", "enter"]),
        json!(["x", "left", "ctrl-m"]),
        json!(["up", "ctrl-o"]),
    ] {
        let pressed = json!({ "id": "s", "keys": keys });
        let error = toolset.call("shell_write_to_process", pressed, CallOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ApprovalRequired, "{keys}");
    }
    // Keys that end no line are a program's.
    for keys in [json!(["up"]), json!(["escape", "j"]), json!(["tab"])] {
        assert!(!input(&toolset, json!({ "keys": keys })).await.is_error, "{keys}");
    }
    let error = toolset
        .call("shell_write_to_process", json!({ "id": "s", "keys": ["enter"] }), CallOptions::default())
        .await
        .unwrap_err();
    assert!(error.message().contains("cannot be judged"), "{error}");
    // What is denied stays denied where everything is approved.
    let denied = ruled(&world, json!({ "approvalMode": "approve-all" }));
    start(&denied, WAITS).await;
    let blocked = input(&denied, json!({ "command": "touch bad", "enter": true, "keys": [] })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"));
    let blocked = input(&denied, json!({ "command": "touch bad", "enter": false, "keys": ["end", "enter"] })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"));
    assert!(!input(&denied, json!({ "keys": ["up", "enter"] })).await.is_error);
    // Without rules of anybody keys are keys.
    let free = world.toolset(json!({ "tools": ["terminal"] }));
    start(&free, WAITS).await;
    assert!(!input(&free, json!({ "keys": ["up", "enter"] })).await.is_error);
    let key = input(&free, json!({ "keys": ["ctrl-^"] })).await;
    assert_eq!(key.code.as_deref(), Some("INVALID_INPUT"));
}

/// Whether a call may type only after somebody said yes.
async fn asks(toolset: &Toolset, mut input: Value) -> bool {
    input["id"] = json!("s");
    let called = toolset.call("shell_write_to_process", input, CallOptions::default()).await;
    called
        .is_err_and(|error| error.kind() == ErrorKind::ApprovalRequired && error.message().contains("cannot be judged"))
}

/// `#`, Ctrl-C and `touch bad` were judged as a comment; the shell within the session had dropped the `#`, and ran the rest.
#[tokio::test]
async fn what_follows_an_interrupt_is_judged_by_itself_and_behind_what_was_typed_before() {
    let world = World::new();
    let toolset = ruled(&world, json!({ "approvalMode": "approve-all" }));
    for shell in ["bash --norc", "sh"] {
        start(&toolset, &format!("echo 'in''side'; {shell}")).await;
        until_shown(&toolset, "\ninside").await;
        for key in ["ctrl-c", "ctrl-z", "ctrl-\\"] {
            let denied = [
                vec![json!({ "keys": ["#", key] }), json!({ "command": "touch bad" })],
                vec![json!({ "keys": ["#", key, "t", "o"] }), json!({ "command": "uch bad" })],
                vec![
                    json!({ "command": "echo ", "enter": false, "keys": [key] }),
                    json!({ "command": "touch bad\nls" }),
                ],
                vec![json!({ "keys": ["#", key, "t", "o", key] }), json!({ "command": "uch bad" })],
                // A shell that still ends its line loses what comes right behind the key.
                vec![json!({ "keys": [key, "#"] }), json!({ "command": "touch bad" })],
                // The key takes the return away, which was not read yet, and leaves the line.
                vec![
                    json!({ "command": "tou", "enter": false }),
                    json!({ "keys": ["enter", key] }),
                    json!({ "command": "ch bad" }),
                ],
            ];
            for calls in denied {
                let (last, before) = calls.split_last().unwrap();
                for typed in before {
                    assert!(!input(&toolset, typed.clone()).await.is_error);
                }
                let blocked = input(&toolset, last.clone()).await;
                assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{shell} {calls:?}: {}", blocked.text);
                assert!(!input(&toolset, json!({ "keys": ["ctrl-c"] })).await.is_error);
                assert!(!input(&toolset, json!({ "keys": ["enter"] })).await.is_error);
            }
        }
        input(&toolset, json!({ "command": "exit" })).await;
        let session = toolset.sessions().find("s").unwrap();
        let terminal = session.terminal.as_ref().unwrap();
        assert!(terminal.prompt(&session.process, Duration::from_secs(60), &Deadline::default()).await.unwrap());
    }
    assert!(!world.directory.path().join("bad").exists());
}

#[tokio::test]
async fn a_line_behind_an_interrupt_asks_where_rules_bind_commands_and_the_next_does_not() {
    let world = World::new();
    for key in ["ctrl-c", "ctrl-z", "ctrl-\\"] {
        let toolset = ruled(&world, json!({}));
        start(&toolset, &format!("(trap '' INT QUIT TSTP; {WAITS})")).await;
        // Nothing is open, so that nothing is dropped.
        for typed in [json!({ "keys": [key] }), json!({ "command": "ls" }), json!({ "keys": ["#", key] })] {
            assert!(!asks(&toolset, typed.clone()).await, "{typed}");
        }
        assert!(asks(&toolset, json!({ "command": "ls" })).await, "{key}");
    }
    let approved = ruled(&world, json!({ "approvalMode": "approve-all" }));
    start(&approved, &format!("(trap '' INT; {WAITS})")).await;
    for typed in [json!({ "keys": ["#", "ctrl-c"] }), json!({ "command": "ls" })] {
        assert!(!input(&approved, typed).await.is_error);
    }
    assert!(approved.sessions().find("s").unwrap().terminal.as_ref().unwrap().open_line().is_empty());
}

/// `tou`, a tab and a name in one text was judged as a command of that name; a shell within the session made it `touch`.
#[tokio::test]
async fn a_tab_in_text_makes_a_line_that_nobody_knows() {
    let world = World::new();
    let toolset = ruled(&world, json!({}));
    start(&toolset, WAITS).await;
    assert!(asks(&toolset, json!({ "command": "tou\tbad" })).await);
    assert!(asks(&toolset, json!({ "command": "ls\ntou\tbad\nls" })).await);
    assert!(!asks(&toolset, json!({ "command": "tou\t", "enter": false })).await);
    assert!(asks(&toolset, json!({ "command": "bad" })).await);
    // Where nothing is found the tab adds nothing.
    let toolset = ruled(&world, json!({ "approvalMode": "approve-all" }));
    start(&toolset, WAITS).await;
    let blocked = input(&toolset, json!({ "command": "tou\tch bad" })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{}", blocked.text);
    let free = world.toolset(json!({ "tools": ["terminal"] }));
    start(&free, WAITS).await;
    assert!(!input(&free, json!({ "command": "\tx = 1" })).await.is_error);
}

/// In a locale without them the bytes of `ü` are keys: a shell within the session went through its history by them.
#[tokio::test]
async fn letters_beyond_ascii_ask_in_a_program_and_neither_at_the_prompt_nor_without_rules() {
    let world = World::new();
    let toolset = ruled(&world, json!({}));
    assert_eq!(exec(&toolset, "echo ü").await.text, "ü");
    assert!(!asks(&toolset, json!({ "command": "echo ö" })).await);
    start(&toolset, WAITS).await;
    assert!(asks(&toolset, json!({ "command": "ü" })).await);
    assert!(asks(&toolset, json!({ "command": "ls\nprint('ü')" })).await);
    assert!(asks(&toolset, json!({ "keys": ["é", "enter"] })).await);
    assert!(!asks(&toolset, json!({ "command": "print('u')" })).await);
    let free = world.toolset(json!({ "tools": ["terminal"] }));
    start(&free, "cat").await;
    assert!(!input(&free, json!({ "command": "say ü" })).await.is_error);
    until_shown(&free, "say ü\nsay ü").await;
    let approved = ruled(&world, json!({ "approvalMode": "approve-all" }));
    start(&approved, WAITS).await;
    let blocked = input(&approved, json!({ "command": "touéch bad" })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{}", blocked.text);
}

/// Keys that run, change or swallow a line at a prompt of bash, whatever stood there before.
const KEYS: [&[u8]; 48] = [
    b"touch bad\r",
    b"touch bad\n",
    b"touch bad\x0f",
    b"touch bad\r\x19\r",
    b"\x1b[200~touch bad\n#\r",
    b"\x1b[200~touch bad",
    b"\x1b[200~true\ntouch bad\x1b[201~\x1b#",
    b"\x1b[20",
    b"$(touch bad)\x1b\x05",
    b"touch bad\x18\x05",
    b"touch bad\x16",
    b"touch bad #\x1b9\x1b9\x16",
    b"touch bad #\x1b4\x1b4\x11",
    b"touch bad\x01\x16",
    b"touch bad\x12",
    b"\x12tou\r",
    b"\x12tou\x1b\r",
    b"\x13tou\n",
    b"\x1bptou\r\r\n",
    b"\x1bptouch",
    b"touch bad\x18",
    b"\x18(touch bad",
    b"touch bad #\x18e",
    b"touch bad\x1b",
    b"touch bad\x1b\x1b\x1b",
    b"touch bad\x1b5",
    b"touch bad\x1b-",
    b"touch bad\x1d",
    b"\x1b?touch",
    b"\t\ttouch",
    b"\x1b\t\x1b\t",
    b"\x10\r",
    b"\x1b<\x0f",
    b"\x1bk\r",
    b"\x1bkv",
    b"touch bad\x1bv",
    b"touch bad\x1b#",
    b"touch bad\x1b5.",
    b"touch bad\x1bR",
    b"touch bad\x1b99f",
    b"touch bad\x1b/x\r\r",
    b"touch bad\x1bcc",
    b"\x1bxaccept-line\r",
    b"touch bad\x1b$\x0a",
    // A mode of vi that replaces has a return of its own, and both are a key away from any mode.
    b"\x1bRtouch bad\r",
    b"\x1b\x0atouch good\x1b0Rtouch bad \x0a",
    b"\x1b\x0d\x1bRtouch bad\r",
    b"\x1bitouch bad\x1brx\r",
];

#[tokio::test]
async fn nothing_that_is_typed_at_a_prompt_of_bash_runs_or_changes_a_command() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let bad = world.directory.path().join("bad");
    for mode in ["emacs", "vi"] {
        assert_eq!(run(&session, &format!("set -o {mode}; touch bad")).await.0, Ran::Ended(0));
        fs::remove_file(&bad).unwrap();
        for keys in KEYS {
            terminal.typed_into(Line::default());
            session.process.write(keys, &Deadline::default()).await.unwrap();
            let (ran, printed) = run(&session, "echo cl''ean").await;
            let shown = String::from_utf8_lossy(keys);
            assert!(ran == Ran::Ended(0) && printed.ends_with("clean\n"), "{mode} {shown:?}: {ran:?} {printed:?}");
            assert!(!bad.exists(), "{mode} {shown:?}");
        }
    }
    assert!(run(&session, "for i in 1 2\ndo\necho $i\ndone").await.1.ends_with("1\n2\n"));
}

/// A file of settings of the line editor could bind any key to any command.
#[tokio::test]
async fn settings_of_the_line_editor_in_the_home_directory_are_not_read() {
    let world = World::new();
    fs::write(world.directory.path().join(".inputrc"), "\"x\": \"touch bad\\C-^a\"\n").unwrap();
    let home = world.directory.path().display().to_string();
    let size = TerminalSize { columns: 80, rows: 24 };
    let sessions = super::super::Sessions::new(Arc::new(|_| {}), None);
    let (terminal, shell, tap) = Terminal::new(size, None);
    let request = crate::backend::TerminalRequest {
        command: Some(shell),
        working_directory: None,
        environment: vec![("HOME".into(), home.clone()), ("INPUTRC".into(), format!("{home}/.inputrc"))],
        size,
        limits: crate::backend::CommandLimits::default(),
        tap: Some(tap),
    };
    let process =
        world.backend.shell().unwrap().open_terminal(request, &crate::backend::Call::default()).await.unwrap();
    let starter = super::super::Starter { call_id: "c", tool: "t" };
    let session = sessions.place("s").unwrap().fill(process, Some(terminal), "", starter, 0);
    run(&session, "true").await;
    session.terminal.as_ref().unwrap().typed_into(Line::default());
    session.process.write(b"x", &Deadline::default()).await.unwrap();
    run(&session, "true").await;
    assert!(!world.directory.path().join("bad").exists());
}

/// Waits for marks of the shell, and looks now and then for those that wake nobody.
async fn until(session: &Session, is_there: impl Fn() -> bool) {
    while !is_there() {
        tokio::select! {
            () = session.process.marked() => {}
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
}

/// A person's return runs their line at the prompt, and is a return for a program.
#[tokio::test]
async fn a_person_types_at_the_prompt_and_into_programs() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let before = terminal.mark_count();
    let types = async |text: &str| {
        let typed = terminal.typist().of_person(text.as_bytes().to_vec());
        session.process.write(&typed, &Deadline::default()).await.unwrap();
    };
    types("read x; echo \"got $x\" >said\r").await;
    until(&session, || terminal.state() != ShellState::AtPrompt).await;
    types("it\r").await;
    until(&session, || terminal.ended_since(before).is_some()).await;
    types("echo left").await;
    assert!(terminal.prompt(&session.process, Duration::from_secs(60), &Deadline::default()).await.unwrap());
    assert_eq!(run(&session, "cat said").await.1.lines().last(), Some("got it"));
}

/// A call that had looked before a person took the session typed into it afterwards, and got what was asked of the person.
#[tokio::test]
async fn a_person_gets_a_session_behind_the_call_that_types_and_no_call_types_then() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let deadline = Deadline::default();
    let turn = session.turn(&deadline).await.unwrap();
    let context = &mut Context::from_waker(Waker::noop());
    let mut writes = Box::pin(input(&toolset, json!({ "command": "touch typed" })));
    let mut takes = Box::pin(Hold::take(&session, &deadline));
    assert!(matches!((writes.as_mut().poll(context), takes.as_mut().poll(context)), (Poll::Pending, Poll::Pending)));
    drop(turn);
    let (written, hold) = tokio::join!(writes, takes);
    assert!(!written.is_error, "{}", written.text);
    let _hold = hold.unwrap();
    assert_eq!(session.turn(&deadline).await.unwrap_err().kind(), ErrorKind::Busy);
    let terminal = session.terminal.as_ref().unwrap();
    let error = terminal.run(&session, "touch run", Duration::ZERO, &deadline).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
}

/// A return that was written right behind the start of a command came to the shell's line editor still, and ended no line for the
/// command: it waited for ever.
#[tokio::test]
async fn what_is_written_right_behind_a_start_reaches_the_command() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let shell = rustix::process::Pid::from_raw(session.process.pid().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(shell, Signal::STOP).unwrap();
    let (before, deadline) = (terminal.mark_count(), Deadline::default());
    let written = AtomicBool::new(false);
    let types = async {
        start(&toolset, "read x; echo \"got $x\" >said").await;
        session.process.write(b"it\r", &deadline).await.unwrap();
        written.store(true, Ordering::Release);
    };
    let wakes = async {
        until(&session, || terminal.mark_count() > before).await;
        // Whoever does not wait for the shell writes by now.
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(if written.load(Ordering::Acquire) { 0 } else { 2 })).await;
        }
        rustix::process::kill_process(shell, Signal::CONT).unwrap();
    };
    tokio::join!(types, wakes);
    let ended = until(&session, || terminal.ended_since(before).is_some());
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("the line reaches the command");
    assert_eq!(run(&session, "cat said").await.1.lines().last(), Some("got it"));
}

/// Each of the two was harmless, and the shell that read them ran what the rule denies.
#[tokio::test]
async fn a_line_that_goes_on_with_that_of_the_next_call_is_judged_whole() {
    let world = World::new();
    let toolset = ruled(&world, json!({ "approvalMode": "approve-all" }));
    call(&toolset, "shell_exec", json!({ "id": "s", "command": "cat", "block": false })).await;
    assert!(!input(&toolset, json!({ "command": "tou\\" })).await.is_error);
    let blocked = input(&toolset, json!({ "command": "ch made" })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{}", blocked.text);
    // So is one that is typed in pieces.
    for typed in [json!({ "command": "x" }), json!({ "keys": ["t", "o", "\\", "enter"] })] {
        assert!(!input(&toolset, typed).await.is_error);
    }
    let blocked = input(&toolset, json!({ "command": "uch made", "enter": false, "keys": ["enter"] })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{}", blocked.text);
}
