//! What a session puts in the place of its hatch, or of what is said there, is neither read nor believed.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use super::*;

/// A text that a session had set in place of ours ran, and nobody had judged it.
#[tokio::test]
async fn no_variable_of_a_session_is_run_at_its_hatch() {
    let world = World::new();
    let toolset = terminals(&world);
    let named = include_str!("../../shells.rs");
    let mut names: Vec<&str> = named.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    names.retain(|name| name.starts_with("_gloveport"));
    names.extend(["_gloveport_serve", "_gloveport_prompt"]);
    names.sort_unstable();
    names.dedup();
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        for text in ["touch ran", "a[$(touch ran)]", "$(touch ran)"] {
            exec(&toolset, &format!("{name}='{text}'")).await;
            for _ in 0..12 {
                exec(&toolset, "true").await;
            }
            assert!(!world.directory.path().join("ran").exists(), "{name}={text}");
        }
    }
}

/// What a session had opened in its place was read for commands, and nobody had judged them; one that said nothing hung its shell.
#[tokio::test]
async fn nothing_that_a_session_puts_in_the_place_of_its_hatch_is_read_or_told_anything() {
    let world = World::new();
    let toolset = terminals(&world);
    let root = world.directory.path();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let said = format!("{:<64}", "000000000000000000009touch ran").repeat(3);
    fs::write(root.join("said"), &said).unwrap();
    assert_eq!(exec(&toolset, "mkfifo pipe").await.text, "Command executed successfully (no output).");
    assert!(fs::metadata(root.join("pipe")).unwrap().file_type().is_fifo());
    let file = root.join("said").canonicalize().unwrap().display().to_string();
    for (open, stands) in [
        ("59<>said", &*file),
        ("59<said", &*file),
        ("59>>said", &*file),
        ("59<>pipe", "/pipe"),
        ("59</dev/zero", "/dev/zero"),
        (&*format!("59<>/dev/tcp/127.0.0.1/{port}"), "socket:["),
        ("58<said", ""),
    ] {
        // Bash puts back what it takes for its own behind an `exec`, but for what it was told to close by a variable.
        for how in ["x=59; exec {x}<&-; exec OPEN", "f() { local x=59; exec {x}<&-; exec OPEN; }; HATCH f"] {
            call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
            for command in how.replace("OPEN", open).split(" HATCH ") {
                drop(at_hatch(&toolset).await);
                exec(&toolset, command).await;
            }
            let session = toolset.sessions().find("s").unwrap();
            let opened = fs::read_link(format!("/proc/{}/fd/59", session.process.pid().unwrap()));
            let opened = opened.unwrap_or_default().display().to_string();
            assert!(opened.contains(stands) && opened.is_empty() == stands.is_empty(), "{how} {open}: {opened}");
            for _ in 0..12 {
                let ran = exec(&toolset, "sh -c 'exit 6'").await;
                assert_eq!(ran.data.unwrap()["exitCode"], json!(6), "{how} {open}: {}", ran.text);
                assert!(!is_at_hatch(&session), "{how} {open}");
            }
            assert!(!root.join("ran").exists(), "{how} {open}");
            if open.contains("tcp") {
                let (mut peer, _) = listener.accept().unwrap();
                peer.write_all(said.as_bytes()).unwrap();
                for _ in 0..12 {
                    assert_eq!(exec(&toolset, "sh -c 'exit 6'").await.data.unwrap()["exitCode"], json!(6), "{how}");
                }
                call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
                let mut told = Vec::new();
                // Where it is closed with something unread the other side is told of a reset.
                let _ = peer.read_to_end(&mut told);
                assert_eq!(String::from_utf8_lossy(&told), "", "{how}");
            }
        }
    }
    assert_eq!(fs::read_to_string(root.join("said")).unwrap(), said);
    assert!(!Path::new(&root.join("ran")).exists());
}

/// `RM` was judged, and `rm` ran.
#[tokio::test]
async fn a_session_changes_no_letter_of_the_commands_that_are_handed_to_it() {
    let world = World::new();
    let toolset = terminals(&world);
    for letters in ["l", "u", "c", "i", "n", "a", "r"] {
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        drop(at_hatch(&toolset).await);
        let change = format!("declare -{letters} _glove''port_said _glove''port_line 2>/dev/null");
        for command in [
            format!("eval '{}'", change.replace("''", "")),
            format!("x=_glove; unset ${{x}}port_line ${{x}}port_said; {change}"),
            change,
        ] {
            exec(&toolset, &command).await;
            for _ in 0..4 {
                let text = "Abc".repeat(30);
                assert_eq!(told(&toolset, "echo Ab1").await.0, "Ab1", "{command}");
                assert_eq!(told(&toolset, &format!("echo {text}")).await.0, text, "{command}");
            }
        }
    }
}

/// A shell below said at the hatch that the command had ended, and nobody waited for its end.
#[tokio::test]
async fn a_shell_below_that_says_the_end_is_not_believed() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    for _ in 0..3 {
        assert_eq!(told(&toolset, "(echo 0 >&59; sleep 0.1; echo late; exit 4)").await, ("late".to_owned(), json!(4)));
        assert!(is_at_hatch(&session));
    }
}

/// `echo 7 >&59` was the end of the command that it stood in, and behind what had no end of a line none was heard.
#[tokio::test]
async fn what_a_command_says_at_the_hatch_is_no_end_of_it_and_hides_none() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    for (command, output, code) in [
        ("echo 7 >&59; sleep 0.2; echo late", "late", 0),
        (r"printf '\n7\n\n7\n' >&59; sleep 0.2; echo late; false", "late", 1),
        (r"printf 7 >&59", "", 0),
        (r"printf '\nP1\n' >&59; echo on", "on", 0),
        (r"printf '%070d' 7 >&59; false", "", 1),
        (r"printf '\0\377' >&59; (exit 5)", "", 5),
    ] {
        for _ in 0..2 {
            assert_eq!(told(&toolset, command).await, (output.to_owned(), json!(code)), "{command}");
            assert!(is_at_hatch(&session), "{command}");
        }
    }
}

#[tokio::test]
async fn a_flood_at_the_hatch_holds_up_nobody_else_and_ends_with_its_session() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    exec(&toolset, "x=$(printf '%030000d' 7); f() { while :; do echo $x; done >&59; }").await;
    drop(at_hatch(&toolset).await);
    start(&toolset, "f").await;
    let written = || {
        let io = fs::read_to_string(format!("/proc/{}/io", session.process.pid().unwrap())).unwrap();
        io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse::<u64>().unwrap()
    };
    let begin = written();
    for _ in 0..3 {
        let beside = json!({ "id": "beside", "command": "sleep 0.1; echo on", "timeout": 60 });
        assert_eq!(call(&toolset, "shell_exec", beside).await.text, "on");
    }
    assert!(session.process.ended().is_none() && written() - begin > 100_000);
    call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
    assert!(session.process.ended().is_some());
}
