//! What a session sets so that its bash evaluates at the hatch another text than the one that was judged.

use super::*;

/// Of a rest of ten characters one was read, and the command was evaluated without the other nine.
#[tokio::test]
async fn no_command_is_cut_where_a_session_parts_words_at_digits() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    for digits in ["0", "1", "0123456789"] {
        exec(&toolset, &format!("IFS={digits}")).await;
        for length in [39, 48, 58, 138] {
            let text = "x".repeat(length);
            assert_eq!(told(&toolset, &format!("echo {text}")).await.0, text, "{digits}");
            assert!(is_at_hatch(&session), "{digits} {length}");
        }
    }
}

/// `RM` was judged, and `rm` ran: what is unset by a name that stands for another is the other.
#[tokio::test]
async fn no_name_of_a_session_stands_for_what_is_read() {
    let world = World::new();
    let toolset = terminals(&world);
    for name in ["said", "line"] {
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        exec(&toolset, &format!("x=_glove; declare -al arr; declare -n ${{x}}port_{name}='arr[0]'")).await;
        for _ in 0..3 {
            exec(&toolset, "true").await;
        }
        let session = toolset.sessions().find("s").unwrap();
        for text in ["Abc".to_owned(), "Abc".repeat(30)] {
            assert!(is_at_hatch(&session), "{name}");
            assert_eq!(told(&toolset, &format!("echo {text}")).await.0, text, "{name}");
        }
    }
}

/// Whoever knows it can say an end.
#[tokio::test]
async fn what_is_said_at_the_hatch_begins_with_a_word_that_no_variable_holds() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    for (command, output) in [
        ("x=_glove; x+=port_said; echo ${!x}", ""),
        ("declare -p > all; grep -cE '[0-9a-f]{16}[0-9]{5}' all", "0"),
        (
            "declare -p > all; grep -cE '[0-9a-f]{16}[0-9]{5}' all; true # longer than one piece of what is said there",
            "0",
        ),
    ] {
        assert_eq!(told(&toolset, command).await.0, output, "{command}");
        assert!(is_at_hatch(&session), "{command}");
    }
}

/// A file of the session ran in place of what was judged.
#[tokio::test]
async fn nothing_that_a_session_has_run_between_two_commands_puts_another_in_the_place_of_the_next() {
    let world = World::new();
    let toolset = terminals(&world);
    fs::write(world.directory.path().join("said"), "touch ran").unwrap();
    let set = "_glove''port_line=$(cat said)".replace("''", "");
    let led = [
        format!("_gloveport_ended() {{ {set}; return $1; }}"),
        // It is none of ours in the loop that is open.
        format!("f() {{ trap '[[ $BASH_COMMAND == *eval* ]] && {set}' DEBUG; }}"),
        format!("alias 'do=do {set};'"),
        format!("alias 'builtin={set}; builtin'"),
        format!("builtin() {{ {set}; unset -f builtin; builtin \"$@\"; }}"),
    ];
    for command in led {
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        exec(&toolset, "true").await;
        exec(&toolset, &command).await;
        for command in ["true", "true", "true", "f", "true", "sh -c 'exit 3'", "true", "true"] {
            exec(&toolset, command).await;
        }
        assert!(!world.directory.path().join("ran").exists(), "{command}");
    }
}

/// Its name is built by a text, so that nobody has seen it.
#[tokio::test]
async fn a_function_that_a_session_puts_in_place_of_ours_changes_no_command() {
    let world = World::new();
    let toolset = terminals(&world);
    fs::write(world.directory.path().join("said"), "touch ran").unwrap();
    exec(&toolset, "x=_glove; eval \"${x}port_ended() { printf -v ${x}port_line 'touch ran'; return 4; }\"").await;
    let session = at_hatch(&toolset).await;
    for command in ["sh -c 'exit 3'", "true", "true"] {
        exec(&toolset, command).await;
        assert!(is_at_hatch(&session));
    }
    assert!(!world.directory.path().join("ran").exists());
}

/// One that a shell had left behind has a copy of its hatch: it read there what was said to bash, and with it the word that all of that begins
/// with.
#[tokio::test]
async fn nothing_is_handed_over_while_something_runs_that_a_command_left_behind() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "mkfifo pipe; f() { (read -r x < pipe) & }; g() { (f); }").await;
    let session = at_hatch(&toolset).await;
    exec(&toolset, "g").await;
    for round in 0..4 {
        assert_eq!(told(&toolset, &format!("echo {round}")).await, (round.to_string(), json!(0)));
        assert!(!is_at_hatch(&session), "{round}");
    }
    exec(&toolset, "echo > pipe").await;
    drop(at_hatch(&toolset).await);
}

/// What cannot be unset ends the loop, behind the end of the command that made it so.
#[tokio::test]
async fn a_session_that_makes_our_names_read_only_is_typed_at_and_runs_each_command_once_or_says_that_it_did_not() {
    let world = World::new();
    let toolset = terminals(&world);
    for name in ["said", "line"] {
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        let session = at_hatch(&toolset).await;
        assert_eq!(told(&toolset, &format!("x=_glove; readonly ${{x}}port_{name}; sh -c 'exit 3'")).await.1, json!(3));
        let mut ran = Vec::new();
        for round in 0..12 {
            let told = exec(&toolset, &format!("echo {round} >> {name}; echo {round}")).await.text;
            if told.ends_with(&format!("\n{round}")) || told == round.to_string() {
                ran.push(round.to_string());
            } else {
                assert!(told.contains("nothing was run"), "{name} {round}: {told}");
            }
            assert!(!is_at_hatch(&session), "{name} {round}");
        }
        let kept = fs::read_to_string(world.directory.path().join(name)).unwrap();
        assert_eq!(kept.lines().collect::<Vec<_>>(), ran, "{name}");
        assert!(ran.len() >= 11, "{name}: {ran:?}");
    }
}
