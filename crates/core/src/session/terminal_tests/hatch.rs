//! Commands that are handed to a shell at its hatch: they are told as typed ones are.

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::backend::process::Order;
use crate::session::Session;
use crate::session::foreground::may_prompt;

mod attacks;
mod planted;
mod settings;

/// Commands that print nothing and fit, behind which the next ones are handed over.
async fn at_hatch(toolset: &Toolset) -> Arc<Session> {
    let session = loop {
        exec(toolset, "true").await;
        let ran = exec(toolset, "true").await;
        let session = toolset.sessions().find("s").unwrap_or_else(|| panic!("{}", ran.text));
        if session.terminal.as_ref().unwrap().is_at_hatch() {
            break session;
        }
    };
    assert_eq!(exec(toolset, "true").await.text, "Command executed successfully (no output).");
    session
}

fn is_at_hatch(session: &Session) -> bool {
    session.terminal.as_ref().unwrap().is_at_hatch()
}

async fn told(toolset: &Toolset, command: &str) -> (String, Value) {
    let ran = exec(toolset, command).await;
    let data = ran.data.unwrap_or_else(|| panic!("{command}: {}", ran.text));
    let output = data["output"].as_str().unwrap_or_else(|| panic!("{command}: {}", ran.text));
    (output.to_owned(), data["exitCode"].clone())
}

#[tokio::test]
async fn a_command_that_is_handed_over_tells_what_a_typed_one_does_and_the_next_one_goes_on_from_it() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    for (command, output, code) in [
        (&*format!("echo {}; false", "x".repeat(9_000)), &*"x".repeat(9_000), 1),
        ("false", "", 1),
        ("echo $?; declare x=1; mkdir -p sub && cd sub", "1", 0),
        ("echo $x; basename $(pwd); nosuch", "1\nsub\nbash: nosuch: command not found", 127),
        ("printf 'no end'; echo err >&2; (exit 5)", "no enderr", 5),
        ("echo $?\necho two", "5\ntwo", 0),
        ("read line < /dev/null; echo $? [$line]", "1 []", 0),
        ("ls /proc/self/fd | wc -l; ls /proc/$$/fd | grep -c 59", "4\n1", 0),
        (&*format!("echo {}; false", "x".repeat(31)), &*"x".repeat(31), 1),
        (&*format!("echo {}; false", "x".repeat(32)), &*"x".repeat(32), 1),
        ("; true", "bash: syntax error near unexpected token `;'", 2),
    ] {
        assert_eq!(told(&toolset, command).await, (output.to_owned(), json!(code)), "{command}");
        assert!(is_at_hatch(&session), "{command}");
    }
    let shown = screen(&toolset).await.text;
    for line in ["echo $x; basename $(pwd); nosuch", "no enderr"] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(!shown.contains("gloveport"), "{shown}");
    // What is seen or set behind a prompt alone is typed.
    let history = told(&toolset, "history").await.0;
    let lines: Vec<&str> =
        history.lines().map(|line| line.trim_start().split_once("  ").map_or("", |(_, line)| line)).collect();
    assert!(!is_at_hatch(&session) && !history.contains("gloveport"), "{history}");
    assert_eq!(lines[..2], ["true"; 2], "{history}");
    assert_eq!(lines[lines.len() - 2..], ["; true", "history"], "{history}");
}

#[tokio::test]
async fn what_is_shown_of_a_command_is_the_same_whether_it_is_typed_or_handed_over() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let prompt = screen(&toolset).await.text.lines().nth(1).unwrap().replace("true", "");
    let session = at_hatch(&toolset).await;
    exec(&toolset, "echo a; printf b").await;
    let shown = screen(&toolset).await.text;
    assert!(shown.contains(&format!("{prompt}true\n{prompt}echo a; printf b\na\nb{}", prompt.trim_end())), "{shown}");
    // The line editor is there again for who types, with its own prompt in that place.
    press(&toolset, &["enter"]).await;
    assert!(!is_at_hatch(&session));
    let shown = screen(&toolset).await.text;
    assert!(shown.contains(&format!("echo a; printf b\na\n{}", prompt.trim_end())), "{shown}");
}

#[tokio::test]
async fn what_ends_the_loop_is_told_as_at_a_prompt_and_the_next_command_runs() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    for (command, output, code) in [
        ("closes", "", 0),
        ("eval 'ex''ec 59<&-'", "", 0),
        ("eval 'br''eak'", "", 0),
        ("eval 'co''ntinue'", "", 0),
        ("eval 'tr''ap \"echo trapped\" DEBUG'", "", 0),
        ("sh -c 'kill -INT $$'", "", 130),
        ("sh -c 'kill -9 $$'", "Killed", 137),
        ("sh -c 'kill -STOP $$'", "Stopped", 147),
    ] {
        call(&toolset, "shell_kill_process", json!({ "id": "s" })).await;
        exec(&toolset, "closes() { local x=59; exec {x}<&-; }").await;
        drop(at_hatch(&toolset).await);
        let (said, ended) = told(&toolset, command).await;
        assert!(said.contains(output) && ended == json!(code), "{command}: {said:?} {ended}");
        assert_eq!(exec(&toolset, "sh -c 'exit 6'").await.data.unwrap()["exitCode"], json!(6), "{command}");
    }
    drop(session);
}

/// What was said to a shell that had been interrupted waited for the next time that it read there.
#[tokio::test]
async fn a_command_that_an_interrupted_shell_did_not_hear_is_told_as_not_run_and_never_runs() {
    let world = World::new();
    let toolset = terminals(&world);
    for round in 0..20 {
        let session = at_hatch(&toolset).await;
        let leader = Pid::from_raw(session.process.pid().unwrap().cast_signed()).unwrap();
        // It hears of both at once, and of the signal first.
        kill_process(leader, Signal::STOP).unwrap();
        kill_process(leader, Signal::INT).unwrap();
        let command = format!("touch ran{round}");
        let wakes = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            kill_process(leader, Signal::CONT).unwrap();
        };
        let (ran, ()) = tokio::join!(exec(&toolset, &command), wakes);
        let is_told = !ran.text.contains("nothing was run");
        drop(at_hatch(&toolset).await);
        assert_eq!(told(&toolset, "echo next; false").await, ("next".to_owned(), json!(1)));
        let has_run = world.directory.path().join(format!("ran{round}")).exists();
        assert!(is_told == has_run, "{round}: {} {has_run}", ran.text);
    }
}

#[tokio::test]
async fn all_output_of_a_command_comes_before_its_end() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    for round in 0..30 {
        let (output, code) = told(&toolset, "seq 1 2000").await;
        assert!(output.starts_with("1\n2\n") && output.ends_with("\n2000") && code == json!(0), "{round}: {output}");
        assert!(is_at_hatch(&session), "{round}");
    }
}

#[tokio::test]
async fn what_is_typed_into_a_handed_command_and_not_read_is_thrown_away_as_ever() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    start(&toolset, "sh -c 'read x; echo got $x; sleep 3'; sh -c 'exit 3'").await;
    write(&toolset, "one").await;
    let told = finished(&toolset, write(&toolset, "two").await).await;
    assert!(told.contains("exit code 3"), "{told}");
    assert!(!is_at_hatch(&session));
    let next = exec(&toolset, "cat < /dev/null; echo next").await.text;
    assert!(next.ends_with("next"), "{next}");
}

/// A prompt in its line editor that nobody had read yet: what was said at the hatch then was said to nobody.
#[tokio::test]
async fn a_shell_that_has_left_its_hatch_is_typed_at() {
    let world = World::new();
    let toolset = terminals(&world);
    for round in 0..10 {
        let session = at_hatch(&toolset).await;
        let leader = Pid::from_raw(session.process.pid().unwrap().cast_signed()).unwrap();
        kill_process(leader, Signal::INT).unwrap();
        // There is one thread, so that nobody reads what it prints meanwhile.
        while !may_prompt(session.process.leader().unwrap()) {
            std::thread::yield_now();
        }
        assert!(is_at_hatch(&session), "{round}: nobody has heard of it");
        assert_eq!(told(&toolset, "echo on; false").await, ("on".to_owned(), json!(1)), "{round}");
    }
}

/// One that was handed over overtook the new size of its terminal.
#[tokio::test]
async fn a_command_behind_what_waits_to_be_carried_out_is_typed() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = at_hatch(&toolset).await;
    let size = TerminalSize { columns: 77, rows: 22 };
    session.process.try_order(Order::Resize(size)).unwrap();
    // Nobody carries anything out until this waits for something.
    let terminal = session.terminal.as_ref().unwrap();
    assert!(!terminal.opens_hatch(&session, "stty size", &Deadline::default()).await.unwrap());
    assert_eq!(told(&toolset, "stty size").await, ("22 77".to_owned(), json!(0)));
}
