//! Commands of a container that run beside their callers: in the background, and on real terminals.

use std::time::Duration;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::backend::process::{Order, Process, ProcessSignal, TerminalSize};
use gloveport_core::backend::{Backend, Call, CommandLimits, ExecuteRequest, TerminalRequest};
use gloveport_core::cancel::Deadline;
use gloveport_core::error::ErrorKind;

use crate::{engine, run};

/// Reads until `text` was printed or the process ended.
async fn printed(process: &Process, text: &str) -> String {
    let mut seen = Vec::new();
    let mut position = 0;
    loop {
        let piece = process.read(position, 1 << 20);
        position = piece.next;
        seen.extend(piece.bytes);
        let so_far = String::from_utf8_lossy(&seen).into_owned();
        if so_far.contains(text) || process.ended().is_some() {
            return so_far;
        }
        process.changed(position).await;
    }
}

async fn terminal(backend: &DockerBackend, command: Option<&str>) -> Process {
    let request = TerminalRequest {
        command: command.map(str::to_owned),
        working_directory: None,
        environment: Vec::new(),
        size: TerminalSize::new(80, 24).unwrap(),
        limits: CommandLimits::default(),
        tap: None,
    };
    backend.shell().unwrap().open_terminal(request, &Call::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_in_the_background_and_keeps_the_container_busy() {
    let engine = engine();
    let options = DockerOptions { idle_timeout: Some(Duration::from_secs(1)), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    let shell = backend.shell().unwrap();
    let request = ExecuteRequest::new("while read -r line; do echo \"got $line\"; done; echo oops >&2; exit 3");
    let process = shell.start(request, &Call::default()).await.unwrap();
    process.write(b"one\n", &Call::default().deadline).await.unwrap();
    assert_eq!(printed(&process, "one\n").await, "got one\n");
    // Longer than the idle timeout: what runs is no idleness.
    let other = shell.start(ExecuteRequest::new("sleep 2; echo done"), &Call::default()).await.unwrap();
    assert_eq!(other.over().await.stdout, "done\n");
    assert_eq!(backend.idle(), Duration::ZERO);
    let id = backend.container_id().await.unwrap();
    process.close_input(&Deadline::default()).await.unwrap();
    let outcome = process.over().await;
    assert_eq!((outcome.exit_code, outcome.stderr.as_str()), (Some(3), "oops\n"));
    engine.wait_until_gone(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_command_is_told_and_ended_with_its_tree() {
    let engine = engine();
    let backend = engine.backend();
    let shell = backend.shell().unwrap();
    let command = "trap 'echo told' USR1; setsid sleep 1001 & echo ready; while :; do sleep 0.1; done";
    let process = shell.start(ExecuteRequest::new(command), &Call::default()).await.unwrap();
    printed(&process, "ready").await;
    process.order(Order::Signal(ProcessSignal::User1)).await.unwrap();
    let said = printed(&process, "told\n").await;
    assert!(said.contains("told\n"), "{said}");
    assert!(process.end().await);
    assert_eq!(run(&backend, "ps | grep -c '[s]leep 100'").await.stdout, "0\n");
    // The container goes, and says so to whoever waits.
    let process = shell.start(ExecuteRequest::new("sleep 1000"), &Call::default()).await.unwrap();
    backend.close().await.unwrap();
    assert!(process.over().await.aborted);
    let refused = process.write(b"x", &Call::default().deadline).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_takes_keys_and_sizes() {
    let engine = engine();
    let backend = engine.backend();
    let process = terminal(&backend, Some("stty size; read -r line; stty size; echo \"got $line\"")).await;
    assert!(printed(&process, "24 80").await.contains("24 80\r\n"));
    // The new size comes before the line that is typed behind it.
    process.order(Order::Resize(TerminalSize::new(100, 30).unwrap())).await.unwrap();
    process.write(b"keys\n", &Call::default().deadline).await.unwrap();
    let outcome = process.over().await;
    let screen = String::from_utf8(process.read(0, 1 << 20).bytes).unwrap();
    assert!(screen.contains("30 100\r\n") && screen.ends_with("got keys\r\n"), "{screen}");
    assert_eq!(outcome.exit_code, Some(0));
    // Ctrl-C reaches what runs in front, and a shell without a command waits for some.
    let process = terminal(&backend, None).await;
    // It speaks when it is in front: before, the key reaches the shell alone, which waits on.
    let line = b"sh -c \"echo be''gun; exec sleep 1000\"; echo \"code $?\"; tty\n";
    process.write(line, &Call::default().deadline).await.unwrap();
    printed(&process, "begun").await;
    process.write(b"\x03", &Call::default().deadline).await.unwrap();
    process.write(b"echo en''d; exit 7\n", &Call::default().deadline).await.unwrap();
    assert!(printed(&process, "end\r\n").await.contains("end\r\n"));
    assert_eq!(process.over().await.exit_code, Some(7));
    backend.close().await.unwrap();
}
