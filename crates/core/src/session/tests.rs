//! Commands in the background, through the tools alone: real processes under the real supervisor.
#![cfg(target_os = "linux")]

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::*;
use crate::backend::local::shell::supervised::tests::{is_alive, program};
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::backend::{Backend, CommandLimits};
use crate::call_info::CallInfo;
use crate::cancel::CancelToken;
use crate::error::ErrorKind;
use crate::hooks::{Hooks, Scope};
use crate::tool::ToolResult;
use crate::toolset::{Application, CallOptions, Toolset};

mod input;

pub(super) struct World {
    pub(super) directory: tempfile::TempDir,
    pub(super) backend: Arc<LocalBackend>,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with_limits(CommandLimits::default())
    }

    pub(super) fn with_limits(command_limits: CommandLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = LocalOptions {
            root: Some(directory.path().to_owned()),
            execute: true,
            supervisor: Some(program()),
            command_limits,
            ..LocalOptions::default()
        };
        let backend = Arc::new(LocalBackend::new(options).unwrap());
        Self { directory, backend }
    }

    pub(super) fn toolset(&self, options: Value) -> Toolset {
        self.toolset_with(options, None)
    }

    fn toolset_with(&self, options: Value, hooks: Option<Arc<dyn Hooks>>) -> Toolset {
        let mut all = json!({ "tools": ["console", "background"], "requireExecuteApproval": false });
        all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let backend = Arc::clone(&self.backend) as Arc<dyn Backend>;
        let application = Application { hooks, ..Application::default() };
        Toolset::new(backend, serde_json::from_value(all).unwrap(), application).unwrap()
    }
}

pub(super) async fn call(toolset: &Toolset, name: &str, input: Value) -> ToolResult {
    toolset.call(name, input, CallOptions::default()).await.unwrap()
}

/// Everything that a shell prints until it ends, by polling.
async fn read_to_end(toolset: &Toolset, id: &str) -> (String, Value) {
    let mut all = String::new();
    loop {
        let data = call(toolset, "read_output", json!({ "shell_id": id, "wait": 30 })).await.data.unwrap();
        all.push_str(data["output"].as_str().unwrap());
        if data["running"] == json!(false) && data["more"] == json!(false) {
            return (all, data);
        }
    }
}

#[tokio::test]
async fn a_background_shell_is_started_read_listed_and_killed() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    assert_eq!(call(&toolset, "list_shells", json!({})).await.text, "No background shells.");
    let started =
        call(&toolset, "run_in_background", json!({ "command": "echo one; echo two >&2; exec sleep 300" })).await;
    let pid = started.data.unwrap()["pid"].as_u64().unwrap().to_string();
    assert_eq!(
        started.text,
        format!(
            "Started background shell bg_1 (pid {pid}). Read its output with `read_output` (shell_id 'bg_1'), end it with \
             `kill_shell`."
        )
    );
    let mut seen = String::new();
    while seen != "one\ntwo\n" {
        let result = call(&toolset, "read_output", json!({ "shell_id": "bg_1", "wait": 30 })).await;
        assert!(result.text.starts_with("[bg_1] running\n"), "{}", result.text);
        seen.push_str(result.data.unwrap()["output"].as_str().unwrap());
    }
    let nothing = call(&toolset, "read_output", json!({ "shell_id": "bg_1" })).await;
    assert_eq!(nothing.text, "[bg_1] running\n(no new output)");
    let list = call(&toolset, "list_shells", json!({})).await.text;
    assert_eq!(list, "bg_1  running  echo one; echo two >&2; exec sleep 300");
    assert!(is_alive(&pid));
    assert_eq!(call(&toolset, "kill_shell", json!({ "shell_id": "bg_1" })).await.text, "Killed background shell bg_1.");
    assert!(!is_alive(&pid));
    assert_eq!(
        call(&toolset, "kill_shell", json!({ "shell_id": "bg_1" })).await.text,
        "Background shell bg_1 was already finished or unknown. It ended: ended(SIGTERM)."
    );
    let ended = call(&toolset, "read_output", json!({ "shell_id": "bg_1" })).await.text;
    assert_eq!(ended, "[bg_1] ended by SIGTERM\n(no new output)");
    assert!(call(&toolset, "list_shells", json!({})).await.text.starts_with("bg_1  ended(SIGTERM)  "));
    let unknown = call(&toolset, "read_output", json!({ "shell_id": "bg_9" })).await;
    assert!(
        unknown.is_error && unknown.text.contains("No such background shell: bg_9. None runs."),
        "{}",
        unknown.text
    );
    let unknown = call(&toolset, "kill_shell", json!({ "shell_id": "bg_9" })).await;
    assert_eq!(
        unknown.text,
        "Background shell bg_9 was already finished or unknown. None runs. `list_shells` lists those there are."
    );
}

/// D83: only the newest 200 lines were kept, and nothing said so.
#[tokio::test]
async fn output_comes_once_in_order_and_what_was_dropped_is_counted() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    call(&toolset, "run_in_background", json!({ "command": "seq 1 50000; exit 3" })).await;
    let (all, data) = read_to_end(&toolset, "bg_1").await;
    let expected: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    assert!(all == expected, "{} bytes", all.len());
    assert_eq!((data["exitCode"].as_i64(), data["running"].as_bool()), (Some(3), Some(false)));

    call(&toolset, "run_in_background", json!({ "command": "yes | head -c 3000000; echo last" })).await;
    let session_is_over = async {
        while call(&toolset, "list_shells", json!({})).await.text.contains("bg_2  running") {
            tokio::task::yield_now().await;
        }
    };
    session_is_over.await;
    let first = call(&toolset, "read_output", json!({ "shell_id": "bg_2" })).await;
    assert!(first.truncated);
    let dropped = first.data.as_ref().unwrap()["droppedBytes"].as_u64().unwrap();
    assert_eq!(dropped, 3_000_005 - (1 << 20));
    assert!(first.text.contains(&format!("[{dropped} bytes of older output left out]")), "{}", &first.text[..200]);
    // Only the data told where the rest is.
    let path = first.data.as_ref().unwrap()["spillPath"].as_str().unwrap();
    let file = format!("(The whole output is in {path}; look into it with `read_file` or `grep`.)");
    assert!(first.text.ends_with(&file), "{}", &first.text[first.text.len() - 200..]);
    let second = call(&toolset, "read_output", json!({ "shell_id": "bg_2" })).await;
    assert!(!second.text.contains(&file), "what is left out is told once");
    let (rest, _) = read_to_end(&toolset, "bg_2").await;
    assert!(rest.ends_with("y\nlast\n"));
}

/// A number that was cut in two was read as two.
#[tokio::test]
async fn what_one_look_gives_of_more_ends_with_a_line_and_the_next_look_goes_on_there() {
    let world = World::new();
    let toolset = world.toolset(json!({ "limits": { "outputBytes": 1_003 } }));
    call(&toolset, "run_in_background", json!({ "command": "seq 1000 2999; printf end" })).await;
    while call(&toolset, "list_shells", json!({})).await.text.contains("bg_1  running") {
        tokio::task::yield_now().await;
    }
    let mut all = String::new();
    loop {
        let data = call(&toolset, "read_output", json!({ "shell_id": "bg_1" })).await.data.unwrap();
        let output = data["output"].as_str().unwrap();
        all.push_str(output);
        if data["more"] == json!(false) {
            break;
        }
        assert!(output.len() == 1_000 && output.ends_with('\n'), "{output:?}");
    }
    let expected: String = (1_000..3_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(all, expected + "end");
}

#[tokio::test]
async fn a_signal_reaches_the_group_and_ends_nothing_by_itself() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    let command = "trap 'echo got; exit 7' USR1; echo ready; while :; do sleep 0.05; done";
    call(&toolset, "run_in_background", json!({ "command": command })).await;
    call(&toolset, "read_output", json!({ "shell_id": "bg_1", "wait": 30 })).await;
    let sent = call(&toolset, "kill_shell", json!({ "shell_id": "bg_1", "signal": "usr1" })).await;
    assert_eq!(sent.text, "Sent usr1 to background shell bg_1.");
    let (all, data) = read_to_end(&toolset, "bg_1").await;
    // The signal reaches the `sleep` as well, and a shell may tell of that behind it.
    assert!(all.lines().any(|line| line == "got"), "{all}");
    assert_eq!(data["exitCode"], json!(7));
    let wrong = call(&toolset, "kill_shell", json!({ "shell_id": "bg_1", "signal": "SIGNOSUCH" })).await;
    assert_eq!(wrong.code.as_deref(), Some("INVALID_INPUT"));
}

/// Each state of a line of progress was told, and a letter that was printed over itself twice.
#[tokio::test]
async fn of_a_line_of_progress_commands_without_a_terminal_too_tell_the_first_and_the_last_state() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    let command = "for i in $(seq 1 9); do printf \"\\033[1G\\033[0K$i%%\"; done; echo; printf 'N\\bNa\\ba\\n'";
    let expected = "1%\n... [7 more state(s) of this line left out] ...\n9%\nNa";
    let told = call(&toolset, "execute", json!({ "command": command })).await;
    assert_eq!(told.text, expected);
    // Programs get it as it came.
    assert!(told.data.unwrap()["output"].as_str().unwrap().contains("\u{1b}[1G\u{1b}[0K5%"));
    call(&toolset, "run_in_background", json!({ "command": command })).await;
    toolset.sessions().find("bg_1").unwrap().process.over().await;
    let read = call(&toolset, "read_output", json!({ "shell_id": "bg_1" })).await;
    assert_eq!(read.text, format!("[bg_1] exited (code 0)\n{expected}"));
    assert!(read.data.unwrap()["output"].as_str().unwrap().contains("\u{1b}[1G\u{1b}[0K5%"));
    let input = json!({ "command": format!("{command}; exec sleep 300"), "on_timeout": "background", "timeout": 2 });
    let left = call(&toolset, "execute", input).await;
    assert!(left.text.ends_with(expected), "{}", left.text);
}

/// What ran on then nobody could read or end: the tools for it are in another group.
#[tokio::test]
async fn a_command_is_left_in_the_background_only_where_something_reads_it() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["console"] }));
    let input = json!({ "command": "touch ran; sleep 300", "timeout": 0.3, "on_timeout": "background" });
    let refused = call(&toolset, "execute", input).await;
    assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"));
    assert!(refused.text.contains("no tool here reads what runs in the background"), "{}", refused.text);
    assert!(toolset.sessions().all().is_empty() && !world.directory.path().join("ran").exists());
    let ended = call(&toolset, "execute", json!({ "command": "echo done", "on_timeout": "end" })).await;
    assert_eq!(ended.text, "done");
}

#[tokio::test]
async fn closing_the_toolset_ends_what_it_started_and_nothing_else() {
    let world = World::new();
    let (toolset, other) = (world.toolset(json!({})), world.toolset(json!({})));
    let pid_of = |result: ToolResult| result.data.unwrap()["pid"].to_string();
    let command = json!({ "command": "setsid sleep 300 & sleep 300" });
    let (mine, theirs) = (
        pid_of(call(&toolset, "run_in_background", command.clone()).await),
        pid_of(call(&other, "run_in_background", command.clone()).await),
    );
    toolset.close();
    toolset.over().await;
    assert!(!is_alive(&mine));
    assert!(is_alive(&theirs));
    let after = toolset.call("run_in_background", command.clone(), CallOptions::default()).await;
    assert_eq!(after.unwrap_err().kind(), ErrorKind::Closed);
    // Without a word, too.
    drop(other);
    while is_alive(&theirs) {
        tokio::task::yield_now().await;
    }
    let third = world.toolset(json!({}));
    let third_pid = pid_of(call(&third, "run_in_background", command).await);
    world.backend.close().await.unwrap();
    assert!(!is_alive(&third_pid), "the end of the backend is the end of all");
}

#[tokio::test]
async fn rules_for_commands_hold_for_the_background_and_looks_are_free() {
    let world = World::new();
    let asking = world.toolset(json!({ "requireExecuteApproval": true }));
    for (tool, input) in [
        ("run_in_background", json!({ "command": "sleep 1" })),
        ("kill_shell", json!({ "shell_id": "bg_1" })),
        ("shell_input", json!({ "shell_id": "bg_1", "text": "y" })),
        ("shell_input", json!({ "shell_id": "bg_1", "close_stdin": true })),
    ] {
        let error = asking.call(tool, input, CallOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ApprovalRequired, "{tool}");
    }
    for (tool, input) in [("list_shells", json!({})), ("read_output", json!({ "shell_id": "bg_1" }))] {
        assert!(asking.call(tool, input, CallOptions::default()).await.is_ok(), "{tool}");
    }
    let rules = json!({ "execute": { "default": "deny", "rules": [{ "pattern": "sleep *", "action": "allow" }] } });
    let ruled = world.toolset(json!({ "permissions": rules }));
    let blocked = call(&ruled, "run_in_background", json!({ "command": "cat x" })).await;
    assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{}", blocked.text);
    call(&ruled, "run_in_background", json!({ "command": "sleep 300" })).await;
    assert_eq!(call(&ruled, "kill_shell", json!({ "shell_id": "bg_1" })).await.text, "Killed background shell bg_1.");
    let denied = world.toolset(json!({ "permissions": "readonly" }));
    let names: Vec<_> = denied.specs().into_iter().map(|spec| spec.name).collect();
    assert!(!names.iter().any(|name| name.contains("shell") || name == "run_in_background"), "{names:?}");
}

#[tokio::test]
async fn says_what_cannot_be_started() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    fs::create_dir(world.directory.path().join("sub")).unwrap();
    for (input, code) in [
        (json!({ "command": "pwd", "cwd": "missing" }), "FILE_NOT_FOUND"),
        (json!({ "command": "pwd", "cwd": "/" }), "PATH_NOT_IN_SANDBOX"),
        (json!({ "command": " " }), "INVALID_INPUT"),
    ] {
        for tool in ["run_in_background", "execute"] {
            assert_eq!(call(&toolset, tool, input.clone()).await.code.as_deref(), Some(code), "{tool} {input}");
        }
    }
    call(&toolset, "run_in_background", json!({ "command": "pwd", "cwd": "sub" })).await;
    assert!(read_to_end(&toolset, "bg_1").await.0.ends_with("/sub\n"));
}

struct Listening(Mutex<Vec<SessionEnded>>, tokio::sync::Notify);

/// Nobody answers.
impl Helper for Listening {
    fn help<'a>(
        &'a self,
        _: CallInfo<'a>,
        _: &'a Value,
        _: &'a Deadline,
    ) -> crate::backend::BoxFuture<'a, Result<Option<Help>>> {
        Box::pin(std::future::pending())
    }
}

impl Hooks for Listening {
    fn has_pre(&self, _: Scope, _: &str) -> bool {
        false
    }

    fn has_post(&self, _: Scope, _: &str) -> bool {
        false
    }

    fn pre<'a>(
        &'a self,
        _: Scope,
        _: CallInfo<'a>,
        _: &'a Value,
    ) -> crate::backend::BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async { Ok(None) })
    }

    fn post<'a>(
        &'a self,
        _: Scope,
        _: CallInfo<'a>,
        _: &'a Value,
        _: crate::hooks::Ended<'a>,
    ) -> crate::backend::BoxFuture<'a, Result<Option<ToolResult>>> {
        Box::pin(async { Ok(None) })
    }

    fn session_ended(&self, ended: &SessionEnded) {
        self.0.lock().push(ended.clone());
        self.1.notify_one();
    }
}

#[tokio::test]
async fn the_end_is_told() {
    let world = World::new();
    let listening = Arc::new(Listening(Mutex::default(), tokio::sync::Notify::new()));
    let toolset = world.toolset_with(json!({}), Some(Arc::clone(&listening) as Arc<dyn Hooks>));
    let options = CallOptions { call_id: Some("call-7".into()), ..CallOptions::default() };
    toolset.call("run_in_background", json!({ "command": "exit 4" }), options).await.unwrap();
    listening.1.notified().await;
    let told = listening.0.lock().pop().unwrap();
    assert_eq!(
        (told.session_id.as_str(), told.call_id.as_str(), told.tool, told.exit_code),
        ("bg_1", "call-7", "run_in_background", Some(4))
    );
}

/// A call that was aborted waited 3 s more for whoever was asked.
#[tokio::test(start_paused = true)]
async fn whoever_is_asked_for_help_holds_no_call_that_is_aborted() {
    let world = World::new();
    let listening: Arc<dyn Hooks> = Arc::new(Listening(Mutex::default(), tokio::sync::Notify::new()));
    let toolset = world.toolset_with(json!({ "tools": ["terminal"] }), Some(listening));
    let cancel = CancelToken::new();
    let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let begin = tokio::time::Instant::now();
    cancel_soon(cancel);
    let asked = toolset.call("shell_ask_user_for_help", json!({ "id": "s", "prompt": "x" }), options).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::Aborted);
    // Of time that passes only where everybody waits.
    assert!(begin.elapsed() <= std::time::Duration::from_millis(1_200), "{:?}", begin.elapsed());
}

/// A second from now.
fn cancel_soon(cancel: CancelToken) {
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        cancel.cancel();
    });
}

/// D99: output beyond the bound was lost for good.
#[tokio::test]
async fn output_that_is_too_long_is_whole_in_a_file_that_the_tools_read() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    let short = call(&toolset, "execute", json!({ "command": "seq 1 100" })).await;
    assert_eq!(short.data.unwrap().get("spillPath"), None);
    let long = call(&toolset, "execute", json!({ "command": "seq 1 100000" })).await;
    assert!(long.truncated);
    assert!(
        long.text
            .ends_with("(The whole output is in /.gloveport/output-1.txt; look into it with `read_file` or `grep`.)")
    );
    let path = long.data.unwrap()["spillPath"].as_str().unwrap().to_owned();
    let read = call(&toolset, "read_file", json!({ "path": path, "offset": 49_999, "limit": 2 })).await;
    assert!(read.text.contains("50000") && read.text.contains("50001"), "{}", read.text);
    let found = call(&toolset, "grep", json!({ "pattern": "^77777$", "path": path, "output_mode": "count" })).await;
    assert!(found.text.contains('1'), "{}", found.text);
    let written = call(&toolset, "write_file", json!({ "path": path, "content": "x" })).await;
    assert_eq!(written.code.as_deref(), Some("PATH_NOT_WRITABLE"));
    // Another toolset of the same backend sees nothing of it, and the files go with their toolset.
    let other = call(&world.toolset(json!({})), "read_file", json!({ "path": path })).await;
    assert!(other.is_error);
    // A command sees the working directory as before.
    assert_eq!(call(&toolset, "execute", json!({ "command": "echo $((1 + 1))" })).await.text, "2");
    let written = call(&toolset, "write_file", json!({ "path": "a.txt", "content": "x" })).await;
    assert!(!written.is_error, "{}", written.text);
}

#[tokio::test]
async fn codes_that_mean_something_say_so_and_escapes_do_not_reach_the_model() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    fs::write(world.directory.path().join("a"), "text\n").unwrap();
    let none = call(&toolset, "execute", json!({ "command": "grep missing a" })).await;
    assert_eq!(none.text, "Command ended with exit code 1: no line matched.\n(no output)");
    assert_eq!(none.data.unwrap()["exitMeaning"], json!("no line matched"));
    let failed = call(&toolset, "execute", json!({ "command": "sh -c 'exit 1'" })).await;
    assert_eq!(failed.text, "Command failed (exit code 1):\n(no output)");
    let escapes =
        call(&toolset, "execute", json!({ "command": r"printf '\033[31mred\033[0m \033]52;c;aGk=\007end\n'" })).await;
    assert_eq!(escapes.text, "red end");
}

/// Which ceiling had ended a command was told only where several processes had reached it together.
#[tokio::test]
async fn a_command_that_was_ended_at_a_ceiling_of_one_process_says_which() {
    let most = CommandLimits {
        cpu_time: Some(std::time::Duration::from_secs(1)),
        file_bytes: Some(4_096),
        ..CommandLimits::default()
    };
    let world = World::with_limits(most);
    let toolset = world.toolset(json!({}));
    let cpu = "its processes used more processor time than they may";
    let spins = "while :; do :; done";
    let ended = call(&toolset, "execute", json!({ "command": spins })).await;
    assert_eq!(ended.text, format!("Command was ended because {cpu}. Output so far:\n(no output)"));
    let data = ended.data.unwrap();
    assert_eq!((&data["ceiling"], &data["signal"]), (&json!("cpuTime"), &json!("SIGXCPU")));
    let writes = "exec head -c 100000 /dev/zero >file";
    let ended = call(&toolset, "execute", json!({ "command": writes })).await;
    assert_eq!(ended.text, "Command was ended by SIGXFSZ (a larger file than it may write):\n(no output)");
    for (command, expected) in [
        (spins, format!("was ended because {cpu}")),
        (writes, "ended by SIGXFSZ (a larger file than it may write)".to_owned()),
    ] {
        let started = call(&toolset, "run_in_background", json!({ "command": command })).await.data.unwrap();
        let session = toolset.sessions().find(started["shellId"].as_str().unwrap()).unwrap();
        session.process.over().await;
        let read = call(&toolset, "read_output", json!({ "shell_id": session.id })).await;
        assert_eq!(read.text, format!("[{}] {expected}\n(no new output)", session.id));
    }
    // A signal that somebody sends says nothing of a ceiling where there is none.
    let free = World::new();
    let ended = call(&free.toolset(json!({})), "execute", json!({ "command": "kill -XCPU $$" })).await;
    assert_eq!(ended.text, "Command was ended by SIGXCPU:\n(no output)");
}

/// A command of two lines looked like two shells.
#[tokio::test]
async fn a_list_has_a_line_for_each_shell_whatever_its_command_holds() {
    let world = World::new();
    let toolset = world.toolset(json!({ "approvalMode": "approve-all" }));
    let command = "exec sleep 300\nbg_9  running  true\r\u{1b}[2K\u{2028}x";
    call(&toolset, "run_in_background", json!({ "command": command })).await;
    let listed = call(&toolset, "list_shells", json!({})).await;
    assert_eq!(listed.text, r"bg_1  running  exec sleep 300\nbg_9  running  true\r\u{1b}[2K\u{2028}x");
    assert_eq!(listed.data.unwrap()[0]["command"], json!(command));
}

/// Half a character was more output, and whoever read on was told of nothing again and again.
#[tokio::test]
async fn half_a_character_is_no_output_and_a_whole_one_comes_once() {
    for character in ["é", "全", "😀"] {
        for cut in 1..character.len() {
            let (process, driver) = crate::backend::process::tests_support::idle();
            let sessions = Sessions::new(Arc::new(|_| {}), None);
            let place = sessions.numbered_place().unwrap();
            let session = place.fill(process, None, "x", Starter { call_id: "c", tool: "t" }, 0);
            let fresh = |text: &str, more| Fresh { bytes: text.into(), dropped: 0, older: None, more };
            let print = |bytes: &[u8]| crate::backend::process::tests_support::print(&driver, bytes);
            print(b"a");
            print(&character.as_bytes()[..cut]);
            assert_eq!(session.fresh(100), fresh("a", false), "{character} {cut}");
            assert_eq!(session.fresh(100), fresh("", false), "{character} {cut}");
            let mut changed = Box::pin(session.process.changed(1));
            let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
            assert!(changed.as_mut().poll(context).is_pending(), "{character} {cut}");
            print(&character.as_bytes()[cut..]);
            assert!(changed.as_mut().poll(context).is_ready(), "{character} {cut}");
            assert_eq!(session.fresh(100), fresh(character, false), "{character} {cut}");
            // Cut by whoever reads.
            print(format!("b{character}").as_bytes());
            assert_eq!(session.fresh(1 + cut), fresh("b", true), "{character} {cut}");
            assert_eq!(session.fresh(100), fresh(character, false), "{character} {cut}");
        }
    }
}

#[tokio::test]
async fn a_look_waits_no_longer_than_it_is_told_to() {
    let sessions = Sessions::new(Arc::new(|_| {}), None);
    let (process, _driver) = crate::backend::process::tests_support::idle();
    let session = sessions.numbered_place().unwrap().fill(process, None, "x", Starter { call_id: "c", tool: "t" }, 0);
    let begin = Instant::now();
    session.wait_for_fresh(std::time::Duration::from_millis(20), &Deadline::default()).await.unwrap();
    assert!(begin.elapsed() >= std::time::Duration::from_millis(20));
}

/// A cap that each call looked at before it started something held only for calls one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_opened_side_by_side_have_names_of_their_own() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["terminal"] }));
    let input = json!({ "id": "s", "command": "echo x >> ran; echo has''run; sleep 300", "block": false });
    let open = || toolset.call("shell_exec", input.clone(), CallOptions::default());
    let (first, second, third) = tokio::join!(open(), open(), open());
    let refused = [first, second, third]
        .into_iter()
        .filter(|call| call.as_ref().is_ok_and(|result| result.code.as_deref() == Some("ALREADY_EXISTS")));
    assert_eq!(refused.count(), 2);
    assert_eq!(toolset.sessions().all().len(), 1);
    let session = toolset.sessions().find("s").unwrap();
    let has_run = || String::from_utf8_lossy(&session.process.read(0, 1 << 16).bytes).contains("hasrun");
    loop {
        let marked = session.process.marked();
        if has_run() {
            break;
        }
        tokio::select! {
            () = marked => {}
            () = tokio::time::sleep(std::time::Duration::from_millis(5)) => {}
        }
    }
    toolset.close();
    toolset.over().await;
    assert_eq!(fs::read_to_string(world.directory.path().join("ran")).unwrap(), "x\n");
}
