//! Terminals of single commands: every byte comes, and nothing stays.

use std::fs;

use super::*;
use crate::backend::local::shell::supervised::tests::is_alone;
use crate::backend::{Backend, Call, CommandLimits, TerminalRequest};
use crate::cancel::Deadline;

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A command on a terminal by itself, without a shell that lasts.
async fn on_terminal(world: &World, command: &str) -> crate::backend::process::Process {
    let request = TerminalRequest {
        command: Some(command.to_owned()),
        working_directory: None,
        environment: Vec::new(),
        size: TerminalSize { columns: 80, rows: 24 },
        limits: CommandLimits::default(),
        tap: None,
    };
    world.backend.shell().unwrap().open_terminal(request, &Call::default()).await.unwrap()
}

#[tokio::test]
async fn every_byte_is_there_at_the_end_in_thirty_of_thirty_runs() {
    let world = World::new();
    let expected: String = (1..=20_000).map(|number| format!("{number}\r\n")).collect();
    for round in 0..30 {
        let process = on_terminal(&world, "seq 1 20000").await;
        let outcome = process.over().await;
        assert_eq!(outcome.exit_code, Some(0));
        let bytes = process.read(0, usize::MAX).bytes;
        assert!(bytes == expected.as_bytes(), "round {round}: {} of {}", bytes.len(), expected.len());
    }
}

#[tokio::test]
async fn a_hundred_sessions_at_once_leave_nothing_behind() {
    if !is_alone("session::terminal_tests::whole::a_hundred_sessions_at_once_leave_nothing_behind") {
        return;
    }
    let world = World::new();
    drop(on_terminal(&world, "true").await.over().await);
    let before = descriptors();
    let mut processes = Vec::new();
    for number in 0..100 {
        processes.push(on_terminal(&world, &format!("echo n{number}; read x; echo $x")).await);
    }
    for (number, process) in processes.iter().enumerate() {
        while !String::from_utf8_lossy(&process.read(0, 1_000).bytes).contains(&format!("n{number}")) {
            process.changed(0).await;
        }
        process.write(b"bye\n", &Deadline::default()).await.unwrap();
    }
    for process in &processes {
        assert_eq!(process.over().await.exit_code, Some(0));
    }
    drop(processes);
    world.backend.close().await.unwrap();
    // What ended lets go of its own a moment later.
    let begin = std::time::Instant::now();
    while descriptors() > before {
        assert!(begin.elapsed().as_secs() < 60, "{} before, {} after", before, descriptors());
        tokio::task::yield_now().await;
    }
}
