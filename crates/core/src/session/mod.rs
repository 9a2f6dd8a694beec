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
use crate::backend::process::{Order, Piece, Process, TerminalSize};
use crate::backend::tap::Later;
use crate::cancel::Deadline;
use crate::error::Result;
use crate::text::ansi::{is_cut, strip};

pub mod canvas;
mod echo;
mod foreground;
mod help;
pub mod interrupt;
pub mod keys;
pub mod line;
pub mod log;
pub mod marks;
mod opening;
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
use self::overflow::{Older, Overflow};
pub use self::places::Place;
use self::terminal::{ShellState, Terminal};

/// 100 sessions of one toolset run at once.
const RUNNING: usize = 100;
/// 50 that ended are remembered (TS-31); the oldest is forgotten first.
const ENDED: usize = 50;
/// 64 KiB of output are news, whatever they are.
const NEWS_BYTES: usize = 64 << 10;
/// 4 KiB of a sequence that has not ended wait for its end.
const HELD_BYTES: usize = 4 << 10;
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

/// Output around a command that ended, that was not shown before.
pub struct CommandOutput {
    /// What was printed before the command was typed.
    pub before: Vec<u8>,
    /// Bytes before those that are gone.
    pub before_dropped: u64,
    /// What was printed since.
    pub own: Vec<u8>,
    /// Bytes before those that are gone.
    pub own_dropped: u64,
    /// What those bytes went to, where all of them did.
    pub own_overflow: Option<Overflow>,
}

/// Output that was not shown before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// The bytes, as they came.
    pub bytes: Vec<u8>,
    /// Bytes before them that are gone.
    pub dropped: u64,
    /// Where those of the last command are, all that it printed before its own of these bytes.
    pub older: Option<Older>,
    /// Whether more is there already.
    pub more: bool,
}

impl Session {
    /// Output that was not shown before, at most `most` bytes. It counts as shown.
    pub fn fresh(&self, most: usize) -> Fresh {
        let mut seen = self.seen.lock();
        let end = self.process.position();
        let piece = self.process.read(*seen, most);
        *seen = piece.next;
        let more = end > piece.next && self.process.goes_on(piece.next);
        Fresh { bytes: piece.bytes, dropped: piece.dropped, older: None, more }
    }

    /// As [`Session::fresh`], but only what commands printed: no prompts, and no echo of what was typed at them.
    pub fn fresh_printed(&self, most: usize) -> Fresh {
        let Some(terminal) = &self.terminal else { return self.fresh(most) };
        let mut seen = self.seen.lock();
        // What may still be an echo is looked at when that is known.
        let known = terminal.known_until();
        // What comes while this is read is not owed: it may be a prompt.
        let end = self.process.position().min(known);
        let most = most.min(usize::try_from(known.saturating_sub(*seen)).unwrap_or(usize::MAX));
        let mut piece = self.process.read(*seen, most);
        let more = end > piece.next;
        if self.process.ended().is_none() {
            hold_back(&mut piece, more);
        }
        *seen = piece.next;
        let start = piece.next - piece.bytes.len() as u64;
        let at = |position: u64| usize::try_from(position - start).unwrap_or(usize::MAX);
        let printed = terminal.printed(start, piece.next).into_iter().map(|(from, to)| &piece.bytes[at(from)..at(to)]);
        let is_of_command = piece.dropped > 0 && terminal.typed_at().is_some_and(|typed| typed < start);
        Fresh {
            bytes: printed.collect::<Vec<_>>().concat(),
            dropped: piece.dropped,
            older: if is_of_command { terminal.older() } else { None },
            more: more && self.process.goes_on(piece.next),
        }
    }

    /// All that commands printed and that was not shown before, parted where the last line was typed. It counts as shown: the
    /// next command's output is its own.
    pub fn printed_around_command(&self, terminal: &Terminal) -> CommandOutput {
        let mut seen = self.seen.lock();
        let piece = self.process.read_rest(*seen);
        let overflow = terminal.take_overflow();
        let start = piece.next - piece.bytes.len() as u64;
        let border = terminal.typed_at().unwrap_or(*seen).clamp(*seen, piece.next);
        let between = |from: u64, to: u64| -> Vec<u8> {
            let at = |position: u64| usize::try_from(position - start).unwrap_or(usize::MAX);
            let printed = terminal.printed(from.max(start), to).into_iter();
            printed.map(|(from, to)| &piece.bytes[at(from)..at(to)]).collect::<Vec<_>>().concat()
        };
        // Of what is gone only what was printed is missed.
        let gone = |from, to: u64| terminal.printed(from, to.min(start)).iter().map(|(from, to)| to - from).sum();
        let own_dropped = gone(border, piece.next);
        let output = CommandOutput {
            before: between(*seen, border),
            before_dropped: gone(*seen, border),
            own: between(border, piece.next),
            own_dropped,
            // What was shown while the command ran, or is of a command before, is no part of what is told now.
            own_overflow: overflow.filter(|overflow| own_dropped > 0 && overflow.is_begun()),
        };
        *seen = piece.next;
        output
    }

    /// Ends when there is output that was not shown, when the session or a command in it ended, or after `time`.
    pub async fn wait_for_fresh(&self, time: Duration, deadline: &Deadline) -> Result<()> {
        let give_up = Instant::now().checked_add(time).unwrap_or_else(Instant::now);
        let mut position = *self.seen.lock();
        while Instant::now() < give_up {
            tokio::select! {
                () = self.process.changed(position) => {}
                // What may be an echo is known by and by.
                () = tokio::time::sleep_until(give_up.min(Instant::now() + LOOK).into()) => {}
                stop = deadline.reached() => return Err(stop),
            }
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
        self.has_untold_end(terminal) || is_drawn() || self.has_printed(terminal, seen)
    }

    /// Whether text was printed behind `seen`, more than line ends: the shell ends the line that it was given.
    fn has_printed(&self, terminal: &Terminal, seen: u64) -> bool {
        let most = usize::try_from(terminal.known_until().saturating_sub(seen)).unwrap_or(usize::MAX);
        let piece = self.process.read(seen, most.min(NEWS_BYTES));
        let start = piece.next - piece.bytes.len() as u64;
        let at = |position: u64| usize::try_from(position - start).unwrap_or(usize::MAX);
        let printed = terminal.printed(start, piece.next).into_iter().map(|(from, to)| &piece.bytes[at(from)..at(to)]);
        // Titles and moves of the cursor are nothing to be read.
        piece.bytes.len() == NEWS_BYTES
            || !strip(&String::from_utf8_lossy(&printed.collect::<Vec<_>>().concat())).trim_matches('\n').is_empty()
    }

    /// Whether a program has taken the place of its shell, and ends the session when it ends.
    pub fn is_replaced(&self) -> bool {
        self.terminal.is_some()
            && self.process.leader().is_some_and(|leader| shells::is_none(&foreground::words_of(leader)))
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
        if terminal.state() != ShellState::AtPrompt {
            return None;
        }
        let mut told = self.told.lock();
        let code = terminal.ended_since(*told);
        *told = terminal.mark_count();
        code
    }

    /// Whether [`Session::told_end`] has something to tell.
    pub fn has_untold_end(&self, terminal: &Terminal) -> bool {
        terminal.state() == ShellState::AtPrompt && terminal.ended_since(*self.told.lock()).is_some()
    }

    /// Whether it is a shell on a terminal that waits for a command.
    pub(crate) fn is_at_prompt(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.state() == ShellState::AtPrompt)
    }

    /// `running`, `exited(0)` or `ended(SIGKILL)`.
    pub fn state(&self) -> String {
        self.process.ended().map_or_else(|| "running".to_owned(), |outcome| state_of(&outcome))
    }
}

/// Leaves an escape sequence that the piece cuts to the next one, where it begins close enough to the end: neither shows half of it.
fn hold_back(piece: &mut Piece, more: bool) {
    let from = piece.bytes.len().saturating_sub(HELD_BYTES);
    let Some(at) = memchr::memrchr(0x1B, &piece.bytes[from..]).map(|at| from + at) else { return };
    // Whoever reads few bytes at once comes past it.
    if (at > 0 || !more) && is_cut(&piece.bytes[at..]) {
        piece.next -= (piece.bytes.len() - at) as u64;
        piece.bytes.truncate(at);
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
