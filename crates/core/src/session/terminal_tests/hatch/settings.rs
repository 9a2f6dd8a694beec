//! Settings of a session that a loop would not follow: it is typed at.

use super::*;

#[tokio::test]
async fn a_session_that_traces_or_has_jobs_shows_nothing_of_the_hatch_and_keeps_the_last_code() {
    let world = World::new();
    for setting in [
        "set -x",
        "sleep 30 & disown",
        "sleep 30 &",
        "PS1='mine> '",
        "TMOUT=100",
        "set -u; set -e",
        "shopt -s extdebug",
    ] {
        let toolset = terminals(&world);
        exec(&toolset, setting).await;
        for round in 0..24 {
            assert_eq!(told(&toolset, "true; if false; then :; fi; sh -c 'exit 0'").await.1, json!(0), "{setting}");
            let code = if setting.contains("-e") { "! true" } else { "(exit 7)" };
            let ended = told(&toolset, code).await;
            let (output, _) = told(&toolset, "echo code $?").await;
            // Four in a round: which of them bash is asked at goes round too.
            exec(&toolset, "true").await;
            assert!(output.contains(&format!("code {}", ended.1)), "{setting} {round}: {output}");
            assert!(!output.contains("gloveport"), "{setting} {round}: {output}");
        }
        let shown = screen(&toolset).await.text;
        assert!(!shown.contains("gloveport"), "{setting}: {shown}");
        toolset.close();
        toolset.over().await;
    }
}

#[tokio::test]
async fn a_setting_that_nobody_reads_ends_the_loop_and_means_what_it_does_at_a_prompt() {
    let world = World::new();
    let toolset = terminals(&world);
    for (setting, command, output, code) in [
        ("set -e", "! true", "", 1),
        ("set -e", "(exit 7) && true", "", 7),
        ("set -x", "true", "+ true", 0),
        ("TMOUT=100", "echo on; false", "on", 1),
        ("HISTIGNORE='*'", "echo on; false", "on", 1),
        ("PS0='begins '$PS0", "false", "begins", 1),
        ("set +o history", "(exit 3)", "", 3),
        ("exec 2>/dev/null", "nosuch; (exit 4)", "", 4),
        ("PS1='mine> '", "echo on; false", "on", 1),
        ("PROMPT_COMMAND='echo hooked'", "false", "hooked", 1),
        ("trap 'echo trapped' ERR", "(exit 9)", "trapped", 9),
        ("sleep 30 &", "echo on; false", "on", 1),
    ] {
        // What a function does is seen by nobody who reads the command.
        let function = format!("f() {{ {setting}; }}");
        let is_function = !setting.starts_with("trap") && !setting.ends_with('&');
        fs::write(world.directory.path().join("settings"), format!("{setting}\n")).unwrap();
        for (before, sets) in
            [("true", ". ./settings"), (&*function, "f")].into_iter().take(1 + usize::from(is_function))
        {
            call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
            exec(&toolset, before).await;
            let session = at_hatch(&toolset).await;
            assert_eq!(told(&toolset, sets).await.1, json!(0), "{setting} {sets}");
            for _ in 0..4 {
                let (said, ended) = told(&toolset, command).await;
                // What is printed behind an end, or before a begin, is told where it was seen by then.
                let is_beside = ["hooked", "begins"].contains(&output);
                let is_told = is_beside || said.contains(output) && said.is_empty() == output.is_empty();
                assert!(is_told && ended == json!(code), "{setting} {sets}: {command}: {said:?} {ended}");
                assert!(!is_at_hatch(&session), "{setting} {sets}");
            }
            assert!(session.process.ended().is_none(), "{setting} {sets}");
        }
    }
}

/// The same commands in a session that is typed at, as its prompt has a time to wait, and in one that reads at its hatch.
#[tokio::test]
async fn a_command_means_the_same_typed_and_handed_over() {
    let (here, there) = (World::new(), World::new());
    let (typing, handing) = (terminals(&here), terminals(&there));
    for command in [
        "echo $-; (exit 3)",
        "f() { return 4; }; f",
        "x=1 y='a b'; echo $x\"$y\"; unset -v nothing",
        "mkdir -p sub; cd sub; basename $PWD",
        "(exit 5); echo $?; (exit 6) | true",
        "! true",
        "nosuch",
        "echo a >&2 | cat",
        "local z=1",
        "return 3",
        "declare -r ro=1; ro=2; echo not",
        "echo ${unset?is not set}; echo not",
        "echo $((1/0)); echo not",
        "let 1/0; echo on",
        "readonly q; q=1 true; echo $?",
        "cd nowhere || echo $?",
        "sh -c 'kill -INT $$'; echo behind",
        "sh -c 'kill -TERM $$'; echo behind $?",
        "kill -INT $$; echo behind",
        "printf 'no end'; (exit 9)",
        "read x < /dev/null; echo $?",
        "echo one\necho two; false",
        "x=$(cat <<< a; exit 8)",
        "time -p true 2>/dev/null; echo $?",
        "ulimit -c 0; umask 077; umask",
        "test -t 0 && test -t 1 && test -t 2; echo $?",
        "jobs; echo $!",
        "echo $LINES $COLUMNS; stty size",
        "echo \"${BASH_SUBSHELL}\" \"$0\" $#",
        "fi",
        "echo )",
    ] {
        let session = at_hatch(&handing).await;
        exec(&typing, "TMOUT=10000").await;
        let [typed, handed] = [told(&typing, command).await, told(&handing, command).await];
        assert_eq!(handed, typed, "{command}");
        let behind = [told(&typing, "echo $?").await, told(&handing, "echo $?").await];
        assert_eq!(behind[1], behind[0], "{command}");
        assert!(session.process.ended().is_none());
    }
}
