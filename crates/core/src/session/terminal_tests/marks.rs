//! What a session knows of its shell, whatever programs and settings do about it.

use std::fs;

use serde_json::json;

use super::super::terminal::ShellState;
use super::*;

/// A program that found the word in its shell's memory said that it had ended, and the next command was typed into it.
#[tokio::test]
async fn a_program_that_prints_the_marks_of_its_shell_has_neither_ended_nor_a_prompt() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let word = terminal.word();
    let mark = |text: &str| format!("\\033]133;{text};{word}\\007");
    let marks = [mark("D;0"), mark("D;0;9999"), mark("A"), mark("B"), mark("P"), mark("N"), mark("B")].concat();
    let program = format!("printf 'all tests passed\\n{marks}faked> '; read -r x; echo \"got $x\"; exit 9");
    fs::write(world.directory.path().join("fake"), program).unwrap();
    let before = terminal.mark_count();
    start(&toolset, "sh fake").await;
    until_shown(&toolset, "faked>").await;
    assert_eq!((terminal.state(), terminal.ended_since(before)), (ShellState::Busy, None));
    assert!(!terminal.is_plain());
    let refused = exec(&toolset, "export TOKEN=abc").await;
    assert_eq!(refused.code.as_deref(), Some("ALREADY_EXISTS"), "{}", refused.text);
    let end = typed(&toolset, "it").await;
    assert!(end.ends_with("got it\n--- COMMAND FINISHED (exit code 9) ---"), "{end}");
    let told = call(&toolset, "shell_exec", json!({ "id": "s", "command": "echo after" })).await;
    assert_eq!(told.text, "after");
}

/// A shell that is at a trap has given its line editor up for a moment, and was said to have none any more.
#[tokio::test]
async fn a_shell_that_is_at_a_trap_is_waited_for() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "trap 'sleep 1; echo trapped' INT").await;
    press(&toolset, &["ctrl-c"]).await;
    let next = exec(&toolset, "echo next").await;
    assert!(next.text.ends_with("next") && !next.is_error, "{}", next.text);
}

/// A session whose errors go nowhere shows no prompt: every look said that its command runs.
#[tokio::test]
async fn a_session_that_shows_no_prompt_is_seen_to_wait_for_a_command() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "exec 2>/dev/null").await;
    start(&toolset, "sleep 0.1; (exit 4)").await;
    let mut look = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
    while look.data.as_ref().unwrap()["running"] == json!(true) {
        look = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
    }
    assert_eq!(look.text, "--- COMMAND FINISHED (exit code 4) ---");
    assert!(call(&toolset, "shell_list", json!({})).await.text.starts_with("s  idle  "));
    let written = write(&toolset, "echo seen").await;
    let end = finished(&toolset, written).await;
    assert!(end.starts_with("seen\n") && end.ends_with("--- COMMAND FINISHED (exit code 0) ---"), "{end}");
}

/// What a shell waits for within itself is in its own group, and was taken for it: what showed a prompt there was typed the next command.
#[tokio::test]
async fn a_program_that_shows_a_prompt_while_the_shell_waits_for_it_is_typed_nothing() {
    tokio::join!(
        is_typed_nothing("x=$(sh fake)"),
        is_typed_nothing("read -r x < <(sh fake)"),
        is_typed_nothing("read -t 300 -r x < <(sh fake)"),
        is_typed_nothing("set +m; sh fake"),
        // A pipe that nobody reads.
        is_typed_nothing("printf %999999s a > >(sh fake)"),
    );
}

async fn is_typed_nothing(command: &str) {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let word = session.terminal.as_ref().unwrap().word();
    let mark = |text: &str| format!("\\033]133;{text};{word}\\007");
    let marks = [mark("D;0;9999"), mark("B")].concat();
    let program = format!(
        "{{ stty -icanon -echo; printf 'passed\\n{marks}faked> '; read -r x; echo \"$x\" >stolen; }} </dev/tty >/dev/tty; sleep 300"
    );
    fs::write(world.directory.path().join("fake"), program).unwrap();
    let pretended = exec(&toolset, command).await;
    assert!(pretended.text.contains("passed"), "{command}: {}", pretended.text);
    let run = exec(&toolset, "export TOKEN=abc").await;
    let written = write(&toolset, "export TOKEN=abc").await;
    for refused in [run, written] {
        assert_eq!(refused.code.as_deref(), Some("ALREADY_EXISTS"), "{command}: {}", refused.text);
        assert!(refused.text.contains("although a prompt was shown"), "{command}: {}", refused.text);
    }
    assert!(!world.directory.path().join("stolen").exists(), "{command}");
}

/// A trace showed the word of the marks in every result, and a function or a redirection silenced them: every later call waited
/// for its whole time, and said that its command still ran.
#[tokio::test]
async fn nothing_that_a_session_does_to_its_shell_costs_it_the_ends_of_its_commands() {
    let world = World::new();
    let toolset = terminals(&world);
    for (index, (settings, printed)) in [
        ("set -x", "+ sh -c 'echo out; exit 7'\nout"),
        ("printf() { :; }; builtin() { :; }; :() { echo; }", "out"),
        ("exec >/dev/null", "(no output)"),
        ("exec 2>/dev/null", "out"),
        ("PROMPT_COMMAND=", "out"),
        ("unset PROMPT_COMMAND", "out"),
        ("unset PS0 PS2; PS1='mine> '", "out"),
        ("set -u; unset _gloveport", "out"),
        ("trap 'true' DEBUG; shopt -s extdebug", "out"),
        ("unset -f _gloveport", "out"),
        // What a number of bash's own would run.
        ("echo 'a[$(touch bad)]' >n; read -r _gloveport <n", "out"),
        ("read -r k <n; kx=$k x=$k; unset _gloveport_to", "out"),
        ("read -r k <n; kx=$k x=$k; unset _gloveport_to; _gloveport_to=()", "out"),
        ("_gloveport=9223372036854775807", "out"),
        ("_gloveport=99999999999999999999", "out"),
        ("_gloveport=-08", "out"),
        ("shopt -u promptvars", "out"),
        ("shopt -u promptvars; PS1='mine> '", "out"),
        ("shopt -u promptvars; exec 2>/dev/null", "out"),
        ("shopt -u promptvars; PS1=\"(venv) $PS1\"; set -x", "+ sh -c 'echo out; exit 7'\nout"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("s{index}");
        let run = async |command: &str| {
            call(&toolset, "shell_exec", json!({ "id": id, "command": command, "timeout": 60 })).await
        };
        let set = run(settings).await;
        assert_eq!(set.text, "Command executed successfully (no output).", "{settings}");
        let word = toolset.sessions().find(&id).unwrap().terminal.as_ref().unwrap().word();
        for _ in 0..2 {
            let failed = run("sh -c 'echo out; exit 7'").await;
            assert_eq!(failed.text, format!("Command ended with exit code 7.\n{printed}"), "{settings}");
        }
        let shown = call(&toolset, "shell_screen", json!({ "id": id })).await.text;
        assert!(!shown.contains(&word), "{settings}: {shown}");
        assert!(!world.directory.path().join("bad").exists(), "{settings}");
    }
}

/// What never ran was said to have ended well: the prompt had the code of the command before it.
#[tokio::test]
async fn lines_that_are_not_whole_end_with_a_code_of_their_own_and_so_do_those_behind_them() {
    let world = World::new();
    let toolset = terminals(&world);
    for (command, code) in [
        ("true", 0),
        ("echo \"a\nb", 2),
        ("(exit 9)", 9),
        ("echo 'a\nb", 2),
        ("true", 0),
        ("(exit 9)\necho `x", 2),
        ("eval 'echo \"a'", 2),
        ("eval 'echo \"a'\n(exit 5)", 5),
        ("(exit 5)", 5),
        ("true", 0),
    ] {
        let ended = exec(&toolset, command).await.data.unwrap();
        assert_eq!(ended["exitCode"], json!(code), "{command}");
    }
}

/// Prompts that expand nothing had no code in them, or that of a command before.
#[tokio::test]
async fn where_prompts_expand_nothing_the_exit_code_is_the_true_one_or_none() {
    let world = World::new();
    let toolset = terminals(&world);
    for (command, code) in [
        ("shopt -u promptvars; (exit 4)", 4),
        ("echo out", 0),
        ("(exit 9)", 9),
        ("PS1='mine> '; (exit 3)", 3),
        ("(exit 8)", 8),
        ("shopt -s promptvars; (exit 5)", 5),
        ("true", 0),
        ("shopt -u promptvars; (exit 6)", 6),
    ] {
        let ended = exec(&toolset, command).await;
        assert_eq!(ended.data.unwrap()["exitCode"], json!(code), "{command}: {}", ended.text);
    }
    // A prompt that is drawn again is no output then either.
    exec(&toolset, "PS1=\"(venv) $PS1\"").await;
    for rows in 10..20 {
        call(&toolset, "shell_resize", json!({ "id": "s", "columns": 60, "rows": rows })).await;
        assert_eq!(exec(&toolset, "stty size").await.text, format!("{rows} 60"));
    }
    assert_eq!(
        exec(&toolset, "shopt -s promptvars; (exit 3)").await.text,
        "Command ended with exit code 3.\n(no output)"
    );
    until_shown(&toolset, "(venv) mine> shopt -s").await;
    // Nothing is left that could say it.
    for command in ["unset PROMPT_COMMAND; (exit 7)", "shopt -u promptvars; unset PROMPT_COMMAND; (exit 7)"] {
        let input = json!({ "id": command.len().to_string(), "command": "shopt -u promptvars" });
        call(&toolset, "shell_exec", input).await;
        let input = json!({ "id": command.len().to_string(), "command": command, "timeout": 60 });
        let ended = call(&toolset, "shell_exec", input).await;
        let code = &ended.data.unwrap()["exitCode"];
        assert!(
            code.is_null() && ended.text.contains("did not say with which exit code"),
            "{command}: {code} {}",
            ended.text
        );
    }
}

/// What the rest of a line would have put right, Ctrl-C took away.
#[tokio::test]
async fn ctrl_c_in_the_line_that_sets_the_prompt_costs_a_session_nothing() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "PS1='mine> ' PS2= PS0=; sh -c 'printf r\\\\145ady; exec sleep 300'; echo not").await;
    until_shown(&toolset, "\nready").await;
    let stopped = finished(&toolset, press(&toolset, &["ctrl-c"]).await).await;
    assert!(stopped.ends_with("--- COMMAND FINISHED (exit code 130) ---"), "{stopped}");
    let next = exec(&toolset, "echo out; false").await;
    assert_eq!(next.text, "Command ended with exit code 1.\nout");
    until_shown(&toolset, "mine> echo out; false").await;
}

/// A session whose prompt was taken away kept each call for its whole time.
#[tokio::test]
async fn where_the_prompt_is_taken_away_the_kernel_says_that_the_shell_reads_a_line() {
    let world = World::new();
    let toolset = terminals(&world);
    let last = exec(&toolset, "unset PROMPT_COMMAND; PS1='mine> '; echo out").await;
    assert!(last.text.starts_with("The shell of session 's' reads a line, and does not say why"), "{}", last.text);
    assert!(last.text.contains("Output so far:\nout"), "{}", last.text);
    let next = exec(&toolset, "touch bad").await;
    assert_eq!(next.code.as_deref(), Some("ALREADY_EXISTS"), "{}", next.text);
    assert!(next.text.contains("its prompt was taken away"), "{}", next.text);
    assert!(!world.directory.path().join("bad").exists());
    // A `read` of the shell's own is no prompt.
    let asks = json!({ "id": "r", "command": "read x; echo got $x", "timeout": 1.5 });
    let asks = call(&toolset, "shell_exec", asks).await;
    assert!(asks.text.starts_with("Command still runs after 1.5 s"), "{}", asks.text);
}

/// What a job printed while a command was typed was taken for its echo: of 3,000 lines 312 were never told, without a word.
#[tokio::test]
async fn what_a_job_prints_while_commands_are_typed_is_told_to_the_byte() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let lines = 2_000;
    let job = format!("(for i in {{1..{lines}}}; do echo BG$i; [ $((i % 10)) = 0 ] && sleep 0.001; done &)");
    let mut printed = String::new();
    let mut rounds = 0;
    let mut command = job.as_str();
    while !printed.ends_with(&format!("BG{lines}")) {
        let ran = terminal.run(&session, command, Duration::from_secs(60), &Deadline::default()).await.unwrap();
        assert_eq!(ran, Ran::Ended(0));
        let fresh = session.fresh_printed(usize::MAX);
        assert_eq!(fresh.dropped, 0);
        let text = crate::text::ansi::strip(&String::from_utf8_lossy(&fresh.bytes));
        printed.extend(text.split_ascii_whitespace());
        command = ["true", "cd . && true\ntrue"][rounds % 2];
        rounds += 1;
    }
    let expected: String = (1..=lines).map(|number| format!("BG{number}")).collect();
    assert!(printed == expected, "after {rounds} commands: {printed}");
    assert!(rounds > 10, "{rounds}");
}
