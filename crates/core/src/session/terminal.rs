//! A shell on a terminal that lasts from call to call: its directory, variables, functions and history stay.
//!
//! Commands are typed to it, and the shell marks where each begins and ends ([`super::marks`]): so their output, and only
//! theirs, is known to the byte, however they end ([`super::running`]). Which shell it is, and what is typed at it, is in
//! [`super::shells`].

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Session;
use super::ahead::Ahead;
use super::canvas::Canvas;
use super::echo::Echo;
use super::hatch;
use super::line::Line;
use super::log::SessionLog;
use super::marks::{Kind, Mark, Marks, Torn};
use super::overflow::{Older, Overflow};
use super::shells;
pub use super::shells::HOST_KEY;
use super::typist::{Asked, END_OF_INPUT, LEAVE, Typist};
use crate::backend::Spill;
use crate::backend::process::{Process, TerminalSize};
use crate::backend::tap::Tap;
use crate::cancel::Deadline;
use crate::error::Result;

/// How many there were in this process.
static TERMINALS: AtomicU64 = AtomicU64::new(0);

/// What a session on a terminal has besides its process.
pub struct Terminal {
    /// No other of this process has it.
    number: u64,
    screen: Arc<Canvas>,
    pub(super) marks: Arc<Mutex<Marks>>,
    /// Locked behind the marks.
    echo: Arc<Mutex<Echo>>,
    /// One command is typed at a time.
    pub(super) typing: tokio::sync::Mutex<()>,
    pub(super) typist: Typist,
    /// Locked behind the marks.
    pub(super) ahead: Mutex<Ahead>,
    /// Whether the last command ended so soon that the next one is looked on from the thread that types it.
    pub(super) is_quick: AtomicBool,
    /// Whether what it shows is written to a file: then no thread that is lent takes it.
    pub(super) is_logged: bool,
    /// Where the output of a command goes that memory does not keep, and how much of it is told.
    spill: Option<(Spill, usize)>,
    /// The variables that the application opened it with.
    environment: BTreeMap<String, String>,
    /// How many marks there were, and one, when a command was given last.
    pub(super) given: AtomicU64,
    /// The code of what ended before the command that was typed last, where nobody was told of it.
    pub(super) missed: Mutex<Option<i32>>,
    /// That of the last command that was typed.
    overflow: Mutex<Option<Arc<Mutex<Option<Overflow>>>>>,
}

/// What reads what is typed into a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// The number of the terminal.
    terminal: u64,
    /// How many commands ended before, and whether it is a hook behind the last of them; `None` for the shell at its prompt.
    command: Option<(u64, bool)>,
}

impl Reader {
    /// Whether it is the shell, at its prompt.
    pub fn is_shell(&self) -> bool {
        self.command.is_none()
    }
}

/// What a shell is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellState {
    /// It has not shown its first prompt.
    Starting,
    /// It waits for a command.
    AtPrompt,
    /// It waits for the rest of a command.
    Continuing,
    /// A command runs.
    Busy,
}

impl Terminal {
    /// A terminal of that size; with it the command that starts its shell, and what takes its bytes. What it shows is logged.
    pub fn new(size: TerminalSize, log: Option<SessionLog>) -> (Self, String, Tap) {
        Self::started_by(shells::start, size, log)
    }

    /// As [`Terminal::new`] with a shell of the caller's, whose command line `start` makes of the word in its marks.
    pub(super) fn started_by(
        start: impl FnOnce(&str) -> String,
        size: TerminalSize,
        mut log: Option<SessionLog>,
    ) -> (Self, String, Tap) {
        let word = format!("{:016x}", RandomState::new().hash_one(()));
        let is_logged = log.is_some();
        let screen = Canvas::new(size);
        let typist = Typist {
            marks: Arc::new(Mutex::new(Marks::new(word.clone()))),
            line: Arc::default(),
            unread: Arc::default(),
            interrupted: Arc::default(),
        };
        let marks = Arc::clone(&typist.marks);
        let echo = Arc::new(Mutex::new(Echo::default()));
        let tap = screen.tap({
            let (screen, marks, echo) = (Folds(Arc::clone(&screen)), Arc::clone(&marks), Arc::clone(&echo));
            move |bytes, leads| {
                let (is_marked, is_at_prompt, shown) = {
                    let mut marks = marks.lock();
                    let (before, position) = (marks.count(), marks.position());
                    let is_marked = marks.take(bytes, leads);
                    let shown = echo.lock().shown(bytes, position, marks.since(before));
                    (is_marked, is_marked && state_of(&marks) == ShellState::AtPrompt, shown)
                };
                if let Some(log) = &mut log {
                    log.take(&shown, screen.0.size());
                }
                screen.0.show(&shown, is_at_prompt);
                is_marked
            }
        });
        let tap = tap.with_hatch({
            let typist = typist.clone();
            move |bytes, leads| hatch::heard(&mut typist.marks.lock(), bytes, leads, !typist.has_unread())
        });
        let terminal = Self {
            number: TERMINALS.fetch_add(1, Ordering::Relaxed),
            screen,
            marks,
            echo,
            typing: tokio::sync::Mutex::new(()),
            typist,
            ahead: Mutex::default(),
            is_quick: AtomicBool::new(true),
            is_logged,
            spill: None,
            environment: BTreeMap::new(),
            given: AtomicU64::new(0),
            missed: Mutex::default(),
            overflow: Mutex::default(),
        };
        (terminal, start(&word), tap)
    }

    /// Has what memory does not keep of a command's output go to a file, of which `most` bytes are told.
    pub fn with_spill(self, spill: Spill, most: usize) -> Self {
        Self { spill: Some((spill, most)), ..self }
    }

    /// Notes the variables that the application opens it with.
    pub fn with_environment(self, environment: BTreeMap<String, String>) -> Self {
        Self { environment, ..self }
    }

    /// The variables that the application opened it with.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Has what is forgotten of the output from now on go to a file of its own: a command begins.
    pub(super) fn spill(&self, process: &Process) {
        let Some((spill, most)) = &self.spill else { return };
        let overflow = Arc::new(Mutex::new(Some(Overflow::new(Arc::clone(spill), *most))));
        *self.overflow.lock() = Some(Arc::clone(&overflow));
        let (marks, begin) = (Arc::clone(&self.marks), self.marks.lock().position());
        process.on_forgotten(Box::new(move |position, bytes| {
            let end = position + bytes.len() as u64;
            let from = position.max(begin);
            if from >= end {
                return;
            }
            if let Some(overflow) = &mut *overflow.lock() {
                for (from, to) in marks.lock().printed(from, end) {
                    let at = |place: u64| usize::try_from(place - position).unwrap_or(usize::MAX);
                    overflow.take(&bytes[at(from)..at(to)]);
                }
            }
        }));
    }

    /// What was forgotten of the output of the last command that was typed. Nothing more goes to it.
    pub(super) fn take_overflow(&self) -> Option<Overflow> {
        self.overflow.lock().take().and_then(|overflow| overflow.lock().take())
    }

    /// Where the output of the last command that was typed lies which is gone from memory.
    pub(super) fn older(&self) -> Option<Older> {
        self.overflow.lock().as_ref().and_then(|overflow| overflow.lock().as_ref().and_then(Overflow::told))
    }

    /// The code of what ended before the command that was typed last, where nobody was told of it. It counts as told.
    pub fn take_missed(&self) -> Option<i32> {
        self.missed.lock().take()
    }

    /// What it shows.
    pub fn screen(&self) -> &Arc<Canvas> {
        &self.screen
    }

    /// What its shell is at.
    pub fn state(&self) -> ShellState {
        state_of(&self.marks.lock())
    }

    /// Who else types into it.
    pub fn typist(&self) -> &Typist {
        &self.typist
    }

    /// Names what reads what is typed now: the shell at its prompt, or the command that runs. Another session has another one, and so
    /// has each command.
    pub fn reader(&self) -> Reader {
        let marks = self.marks.lock();
        let is_hook = marks.last().is_some_and(|mark| matches!(mark.kind, Kind::End(_)));
        let command = (state_of(&marks) != ShellState::AtPrompt).then(|| (marks.ends(), is_hook));
        Reader { terminal: self.number, command }
    }

    /// The line that was typed into what runs, and not ended yet.
    pub fn open_line(&self) -> Line {
        self.typist.line.lock().clone()
    }

    /// Notes that something is typed into what runs, behind which this line is open.
    pub fn typed_into(&self, line: Line) {
        self.typist.unread.store(true, Ordering::Release);
        *self.typist.line.lock() = line;
    }

    /// Notes that a command was typed at the prompt: nothing else stands there.
    pub fn typed_whole(&self) {
        self.typist.unread.store(false, Ordering::Release);
        *self.typist.line.lock() = Line::default();
    }

    /// The code of the last command that ended after the first `count` marks.
    pub fn ended_since(&self, count: u64) -> Option<i32> {
        ended_since(&self.marks.lock(), count)
    }

    /// What it is at now, for the answer of a person who sees it.
    pub fn asked(&self) -> Asked {
        let marks = self.marks.lock();
        Asked { state: state_of(&marks), marks: marks.count() }
    }

    /// Deletes what stands at the shell's prompt, where something was typed that no program may have read: the line that is typed there
    /// next is nothing but that.
    pub async fn clear_prompt(&self, session: &Session, deadline: &Deadline) -> Result<()> {
        self.calm(session, deadline).await?;
        let is_at_prompt = matches!(self.state(), ShellState::AtPrompt | ShellState::Continuing);
        if is_at_prompt && self.typist.unread.load(Ordering::Acquire) {
            session.process.give(shells::cleared(self.is_plain()).as_bytes(), deadline).await?;
            self.typed_whole();
        }
        Ok(())
    }

    /// How many marks there are, for [`Terminal::ended_since`].
    pub fn mark_count(&self) -> u64 {
        self.marks.lock().count()
    }

    /// Whether a command was given behind the first `count` marks.
    pub fn was_given_behind(&self, count: u64) -> bool {
        self.given.load(Ordering::Relaxed) > count
    }

    /// The parts between two positions that commands printed.
    pub fn printed(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        self.marks.lock().printed(from, to)
    }

    /// What commands printed between two positions, of `bytes` that begin at `start`.
    pub(super) fn printed_of(&self, bytes: &[u8], start: u64, from: u64, to: u64) -> Vec<u8> {
        let at = |position: u64| usize::try_from(position - start).unwrap_or(usize::MAX);
        let parts = self.printed(from, to).into_iter();
        parts.map(|(from, to)| &bytes[at(from)..at(to)]).collect::<Vec<_>>().concat()
    }

    /// Where the last line was typed.
    pub fn typed_at(&self) -> Option<u64> {
        self.marks.lock().typed_at()
    }

    /// Notes that the line that runs `command` is typed now at the prompt: its echo is no output.
    pub fn typed(&self, command: &str) {
        self.is_led_by(command);
        let mut marks = self.marks.lock();
        if marks.is_plain() {
            marks.typed(command);
            self.echo.lock().hold_back(command);
        } else {
            marks.typed(&shells::whole(command));
        }
    }

    /// Notes that a line is typed now that nobody is to see: of what it shows nothing is, until it begins.
    pub(super) fn typed_unseen(&self, line: &str) {
        let mut marks = self.marks.lock();
        marks.typed_unseen(line);
        self.echo.lock().hide();
    }

    /// As [`Terminal::typed`], where prompts of an interrupt may still come before the shell has the line, which `keys` type.
    pub(super) fn typed_behind_interrupt(&self, line: &str, keys: &str) {
        let mut marks = self.marks.lock();
        if marks.is_plain() {
            marks.typed(line);
            self.echo.lock().hold_back(line);
        } else {
            marks.typed_behind_interrupt(line, keys);
        }
    }

    /// The number of marks before the last one, where that says that a line is on its way to its program.
    pub(super) fn handed_over(&self) -> Option<u64> {
        let marks = self.marks.lock();
        let is_on_its_way = |mark: Mark| matches!(mark.kind, Kind::Typed | Kind::Accepted | Kind::Begin);
        marks.last().filter(|mark| is_on_its_way(*mark)).map(|_| marks.count() - 1)
    }

    /// Whether a command that began behind the first `count` marks has ended, and its prompt is there.
    pub(super) fn has_ended_since_begin(&self, count: u64) -> bool {
        let marks = self.marks.lock();
        let begun = marks.since(count).skip_while(|mark| mark.kind != Kind::Begin);
        marks.last().is_some_and(|mark| mark.kind == Kind::Prompt)
            && begun.into_iter().any(|mark| matches!(mark.kind, Kind::End(_)))
    }

    /// What another program took of the line that was typed last, where one did.
    pub fn torn(&self) -> Option<Torn> {
        self.marks.lock().torn()
    }

    /// The position up to which it is known which output is an echo.
    pub fn known_until(&self) -> u64 {
        self.marks.lock().known_until()
    }

    /// The word in its shell's marks.
    #[cfg(test)]
    pub(super) fn word(&self) -> String {
        self.marks.lock().word().to_owned()
    }

    /// Whether the shell is a plain one; see [`super::shells`].
    pub fn is_plain(&self) -> bool {
        self.marks.lock().is_plain()
    }

    /// What is typed at the shell's prompt to run a command, and nothing but it. [`Terminal::typed_whole`] notes that it was.
    pub fn line(&self, command: &str) -> String {
        let marks = self.marks.lock();
        let is_plain = marks.is_plain();
        let line =
            if is_plain { shells::evaluated(command, marks.word()) } else { shells::pasted(&shells::whole(command)) };
        if self.typist.unread.load(Ordering::Acquire) { shells::cleared(is_plain).to_owned() + &line } else { line }
    }

    /// What a key is at the shell's prompt.
    pub fn key_at_prompt(&self, key: Vec<u8>) -> Vec<u8> {
        if key == [END_OF_INPUT] && !self.is_plain() { self.line(LEAVE).into_bytes() } else { key }
    }
}

/// A screen that its session draws on until it ends.
struct Folds(Arc<Canvas>);

impl Drop for Folds {
    fn drop(&mut self) {
        self.0.fold();
    }
}

pub(super) fn ended_since(marks: &Marks, count: u64) -> Option<i32> {
    marks.since(count).filter_map(|mark| if let Kind::End(code) = mark.kind { Some(code) } else { None }).last()
}

pub(super) fn state_of(marks: &Marks) -> ShellState {
    match marks.last().map(|mark| mark.kind) {
        None => ShellState::Starting,
        Some(Kind::Prompt) => ShellState::AtPrompt,
        Some(Kind::Continuation) => ShellState::Continuing,
        Some(Kind::Begin | Kind::End(_) | Kind::Accepted | Kind::Typed | Kind::Redrawn) => ShellState::Busy,
    }
}
