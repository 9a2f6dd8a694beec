//! What one toolset runs beside its calls: commands in the background, and terminals.
//!
//! [`Sessions`] holds them under ids, each with the position up to which its output was shown: what a model is shown, it
//! is shown once. All of them end with the toolset. Nothing here decides whether a command may run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;

use crate::backend::ExecuteOutcome;
use crate::backend::process::{Order, Process, TerminalSize};
use crate::backend::tap::Later;
use crate::cancel::Deadline;
use crate::error::Result;
use crate::text::ansi::strip;

mod ahead;
mod alternate;
mod asking;
pub mod canvas;
mod echo;
mod fitting;
mod foreground;
mod hatch;
mod help;
pub mod interrupt;
pub mod keys;
pub mod line;
pub mod log;
pub mod marks;
mod opening;
mod output;
pub mod overflow;
pub mod paint;
mod places;
mod recording;
pub mod running;
pub mod screen;
pub mod settle;
mod shells;
mod strings;
pub mod terminal;
#[cfg(test)]
mod terminal_tests;
#[cfg(test)]
mod tests;
mod typed_line;
pub mod typist;
mod undrawn;

use self::help::{Held, Writing};
pub use self::help::{Help, Helper, Hold};
use self::log::{SessionLog, SessionLogs};
pub use self::opening::Opening;
pub use self::output::{CommandOutput, Fresh};
pub use self::places::Place;
use self::terminal::{ShellState, Terminal};

/// 100 sessions of one toolset run at once.
const RUNNING: usize = 100;
/// 50 that ended are remembered (TS-31); the oldest is forgotten first.
const ENDED: usize = 50;
/// 64 KiB of output are news, whatever they are.
const NEWS_BYTES: usize = 64 << 10;
/// 300 ms between looks of whoever waits for output: what is an echo shows by time as well.
const LOOK: Duration = Duration::from_millis(300);
/// In place of the command line of a session that a person began, which may be a secret.
pub const OF_A_PERSON: &str = "(a person's command)";
/// 40 characters of an id.
const ID_CHARS: usize = 40;

/// Is told of the end of a session.
pub type OnEnd = Arc<dyn Fn(SessionEnded) + Send + Sync>;

/// The end of a session, as an application is told of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEnded {
    /// Its id.
    pub session_id: String,
    /// The call that started it.
    pub call_id: String,
    /// The tool that started it, by our own name.
    pub tool: &'static str,
    /// Its command line.
    pub command: String,
    /// `None` when a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Milliseconds that it ran.
    pub duration_ms: u64,
    /// Whether it ended the program that ends its processes, so that some may live on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub supervisor_lost: bool,
}

/// The end of a command in a session that nobody was told of.
#[derive(Debug, Clone, Copy)]
pub struct UntoldEnd {
    /// The exit code.
    pub code: i32,
    /// How many marks of the shell there were then.
    count: u64,
}

/// Who starts a session.
#[derive(Debug, Clone, Copy)]
pub struct Starter<'a> {
    /// The call.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'static str,
}

/// The sessions of one toolset.
pub struct Sessions {
    state: Mutex<State>,
    on_end: OnEnd,
    logs: Option<SessionLogs>,
}

#[derive(Default)]
struct State {
    sessions: Vec<Arc<Session>>,
    /// The names of those that are started; `None` for one that gets a number.
    starting: Vec<Option<String>>,
    numbered: u64,
    closed: bool,
}

/// One session.
pub struct Session {
    /// Its id.
    pub id: String,
    /// Its command line.
    pub command: String,
    /// What runs.
    pub process: Process,
    /// What it has besides where it is on a terminal.
    pub terminal: Option<Terminal>,
    /// Output up to here was shown.
    seen: Mutex<u64>,
    /// Marks of its shell up to here were told.
    told: Mutex<u64>,
    /// Whether its end was told.
    end_told: AtomicBool,
    held: Held,
    writing: Writing,
}

impl Session {
    /// Ends when there is output that was not shown, when the session or a command in it ended, or after `time`, before the deadline.
    pub async fn wait_for_fresh(&self, time: Duration, deadline: &Deadline) -> Result<()> {
        let give_up = Instant::now().checked_add(deadline.leaves(time)).unwrap_or_else(Instant::now);
        let mut position = *self.seen.lock();
        while Instant::now() < give_up {
            tokio::select! {
                () = self.process.changed(position) => {}
                // What may be an echo is known by and by.
                () = tokio::time::sleep_until(give_up.min(Instant::now() + LOOK).into()) => {}
                stop = deadline.reached() => return Err(stop),
            }
            self.notice_prompt();
            if self.process.ended().is_some() || self.has_news() {
                return Ok(());
            }
            position = self.process.position().max(position);
        }
        Ok(())
    }

    /// Ends when its screen, if it has one, shows what was printed until now.
    pub fn drawn(&self) -> Later {
        match &self.terminal {
            Some(terminal) => terminal.screen().caught_up(),
            None => Box::pin(std::future::ready(())),
        }
    }

    /// Whether a full-screen program shows its own screen, as far as that is [drawn](Session::drawn).
    pub fn is_full_screen(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.screen().lock().is_alternate())
    }

    /// Whether a look shows something that was not shown.
    fn has_news(&self) -> bool {
        let (seen, end) = (*self.seen.lock(), self.process.position());
        let Some(terminal) = &self.terminal else { return end > seen };
        let is_drawn = || end > seen && self.is_full_screen();
        self.untold_end(terminal).is_some() || is_drawn() || self.has_printed(terminal, seen)
    }

    /// Whether text was printed behind `seen`, more than line ends: the shell ends the line that it was given.
    fn has_printed(&self, terminal: &Terminal, seen: u64) -> bool {
        let most = usize::try_from(terminal.known_until().saturating_sub(seen)).unwrap_or(usize::MAX);
        let piece = self.process.read(seen, most.min(NEWS_BYTES));
        let start = piece.next - piece.bytes.len() as u64;
        let printed = terminal.printed_of(&piece.bytes, start, start, piece.next);
        // Titles and moves of the cursor are nothing to be read.
        piece.bytes.len() == NEWS_BYTES || !strip(&String::from_utf8_lossy(&printed)).trim_matches('\n').is_empty()
    }

    /// Whether a program has taken the place of its shell, and ends the session when it ends.
    pub fn is_replaced(&self) -> bool {
        self.terminal.is_some()
            && self.process.leader().is_some_and(|leader| shells::is_none(&foreground::words_of(leader)))
    }

    /// Whether something that its shell started is stopped, as by Ctrl-Z. `None` where that cannot be known.
    pub fn has_stopped_job(&self) -> Option<bool> {
        self.process.leader().and_then(foreground::has_stopped_child)
    }

    /// What is typed to a command, for whoever reads it: where its shell itself does (`read -e`) another key than the return ends a line in
    /// the line editor.
    pub fn for_reader(&self, typed: Vec<u8>) -> Vec<u8> {
        let is_editor = |leader| foreground::edits_a_line(leader) && shells::is_bash(&foreground::words_of(leader));
        if self.process.is_edited() && self.process.leader().is_some_and(is_editor) {
            shells::accepted(&typed)
        } else {
            typed
        }
    }

    /// Notes that its end is told; whether it was told before.
    pub fn tells_end(&self) -> bool {
        self.end_told.swap(true, Ordering::Relaxed)
    }

    /// The code of the last command that ended and was not told of. It counts as told. Nothing is told before the prompt
    /// behind it is there: then all of its output is.
    pub fn told_end(&self, terminal: &Terminal) -> Option<i32> {
        let end = self.untold_end(terminal)?;
        self.tells_end_of_command(end);
        Some(end.code)
    }

    /// As [`Session::told_end`], but it does not count as told.
    pub fn untold_end(&self, terminal: &Terminal) -> Option<UntoldEnd> {
        if terminal.state() != ShellState::AtPrompt {
            return None;
        }
        let count = terminal.mark_count();
        let code = terminal.ended_since(*self.told.lock())?;
        Some(UntoldEnd { code, count })
    }

    /// Notes that the end is told.
    pub fn tells_end_of_command(&self, end: UntoldEnd) {
        let mut told = self.told.lock();
        *told = end.count.max(*told);
    }

    /// Notes that its shell waits for a command, where its prompt goes nowhere to be seen.
    pub(crate) fn notice_prompt(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.notice_prompt(&self.process);
        }
    }

    /// Whether it is a shell on a terminal that waits for a command.
    pub(crate) fn is_at_prompt(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.state() == ShellState::AtPrompt)
    }

    /// `running`, `idle` for a shell that waits for a command, `exited(0)` or `ended(SIGKILL)`.
    pub fn state(&self) -> String {
        let open = || if self.is_at_prompt() { "idle" } else { "running" }.to_owned();
        self.process.ended().map_or_else(open, |outcome| state_of(&outcome))
    }
}

fn state_of(outcome: &ExecuteOutcome) -> String {
    match (outcome.exit_code, &outcome.signal) {
        (Some(code), _) => format!("exited({code})"),
        (None, Some(signal)) => format!("ended({signal})"),
        (None, None) => "ended".to_owned(),
    }
}

impl Sessions {
    /// None yet.
    pub fn new(on_end: OnEnd, logs: Option<SessionLogs>) -> Self {
        Self { state: Mutex::default(), on_end, logs }
    }

    /// A log for a new terminal session, where the application wants one.
    pub fn log(&self, id: &str, size: TerminalSize) -> Option<SessionLog> {
        self.logs.as_ref().map(|logs| logs.open(id, size))
    }

    /// The session of that id.
    pub fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.state.lock().sessions.iter().find(|session| session.id == id).cloned()
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> Vec<Arc<Session>> {
        self.state.lock().sessions.clone()
    }

    /// Tells all of them to end, and takes no more.
    pub fn close(&self) {
        let sessions = {
            let mut state = self.state.lock();
            state.closed = true;
            state.sessions.clone()
        };
        for session in sessions {
            tell_to_end(&session.process);
        }
    }

    /// Ends when all of them are gone; after [`Sessions::close`].
    pub async fn over(&self) {
        for session in self.all() {
            session.process.end().await;
        }
    }
}

/// Without waiting. Where its orders are not taken at the moment it ends when nobody holds it any more.
fn tell_to_end(process: &Process) {
    let _ = process.try_order(Order::End);
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.close();
    }
}

impl State {
    fn forget_ended(&mut self) {
        let mut too_many =
            self.sessions.iter().filter(|session| session.process.ended().is_some()).count().saturating_sub(ENDED);
        self.sessions.retain(|session| {
            let goes = too_many > 0 && session.process.ended().is_some();
            too_many -= usize::from(goes);
            !goes
        });
    }
}
