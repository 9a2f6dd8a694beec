//! Sessions whose programs print what is dear to draw.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::terminal::Terminal;
use super::super::{Sessions, Starter};
use super::*;
use crate::backend::{Call, CommandLimits, ExecuteRequest, TerminalRequest};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(60);
/// Far more than may wait to be drawn.
const HELD_BACK: u64 = 1 << 20;

/// Somebody who looks at the screen for as long as this lives.
struct Looking {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Looking {
    fn at(terminal: &Terminal) -> Self {
        let canvas = Arc::clone(terminal.screen());
        let ((done, is_done), (looks, is_looking)) = (channel::<()>(), channel());
        let thread = std::thread::spawn(move || {
            let _look = canvas.lock();
            looks.send(()).unwrap();
            // An error, as nothing is sent.
            let _ = is_done.recv();
        });
        is_looking.recv().unwrap();
        Self { done: Some(done), thread: Some(thread) }
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        drop(self.done.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Whoever read a terminal drew it too, so that a program that printed `ESC c` held the thread: other commands, their times and ends
/// waited for minutes. Here nothing at all is drawn for as long as it takes, and there is one thread.
#[tokio::test]
async fn a_flood_holds_up_nobody_but_its_program() {
    for (flood, is_held_back) in [("\\ec", false), ("\\e[2J", true), ("\\e]2;t\\a\\ec", true)] {
        let world = World::new();
        let sessions = Sessions::new(Arc::new(|_| {}), None);
        let size = TerminalSize { columns: 500, rows: 500 };
        let (terminal, shell, tap) = Terminal::new(size, None);
        let request = TerminalRequest {
            command: Some(shell),
            working_directory: None,
            environment: Vec::new(),
            size,
            limits: CommandLimits::default(),
            tap: Some(tap),
        };
        let shell = world.backend.shell().unwrap();
        let process = shell.open_terminal(request, &Call::default()).await.unwrap();
        let starter = Starter { call_id: "call", tool: "shell_exec" };
        let session = sessions.place("s").unwrap().fill(process, Some(terminal), "", starter, 0);
        let terminal = session.terminal.as_ref().unwrap();
        assert!(terminal.prompt(&session.process, LONG, &Deadline::default()).await.unwrap());
        let begin = session.process.position();

        let looking = Looking::at(terminal);
        let command = format!("yes $'{flood}'");
        assert_eq!(terminal.run(&session, &command, Duration::ZERO, &Deadline::default()).await.unwrap(), Ran::Running);
        while session.process.position() < begin + (4 << 10) {
            session.process.changed(session.process.position()).await;
        }
        let beside = async |command: &str, time| {
            let request = ExecuteRequest { timeout: Some(time), ..ExecuteRequest::new(command) };
            let outcome = shell.execute(request, &Call::default()).await.unwrap();
            (outcome.output, outcome.timed_out)
        };
        assert_eq!(beside("echo on", LONG).await, ("on\n".to_owned(), false), "{flood}");
        assert_eq!(beside("exec sleep 300", Duration::from_millis(100)).await, (String::new(), true), "{flood}");
        let printed = session.process.position() - begin;
        assert!(printed < HELD_BACK || !is_held_back, "{flood}: {printed}");
        assert!(session.process.end().await, "{flood}");
        // Nobody waits for what is not drawn yet of a session that is gone.
        drop((sessions, session));
        drop(looking);
    }
}
