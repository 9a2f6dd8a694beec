//! Who types into a session besides its commands: keys of a model or a person, and where they may be now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::line::Line;
use super::marks::Marks;
use super::shells;
use super::terminal::{ShellState, ended_since, state_of};

/// Ctrl-D, which at an empty prompt leaves a shell. bash is told so by a command: an interrupt may look to it like an end of input.
pub(super) const END_OF_INPUT: u8 = 4;
pub(super) const LEAVE: &str = "exit";

/// What was typed besides commands, and where it may be now.
#[derive(Clone)]
pub struct Typist {
    pub(super) marks: Arc<Mutex<Marks>>,
    /// The line that was not ended yet.
    pub(super) line: Arc<Mutex<Line>>,
    /// Whether something was typed that no program may have read: it stands at the shell's prompt then.
    pub(super) unread: Arc<AtomicBool>,
    /// Whether something interrupted, and nothing was seen since to be read whole.
    pub(super) interrupted: Arc<AtomicBool>,
}

impl Typist {
    /// Whether something was typed that no program may have read, or an interrupt may have taken some of.
    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Acquire) || self.interrupted.load(Ordering::Acquire)
    }

    /// What a person typed, as their program or shell reads it; it is to be written next.
    pub fn of_person(&self, typed: Vec<u8>) -> Vec<u8> {
        self.keys(typed, &self.marks.lock())
    }

    /// The same for what they answer to what they saw when they were `asked`; `None` where that is over.
    pub fn of_answer(&self, typed: Vec<u8>, asked: Asked) -> Option<Vec<u8>> {
        let marks = self.marks.lock();
        let is_over = ended_since(&marks, asked.marks).is_some() || state_of(&marks) != asked.state;
        (!is_over).then(|| self.keys(typed, &marks))
    }

    fn keys(&self, typed: Vec<u8>, marks: &Marks) -> Vec<u8> {
        self.unread.store(true, Ordering::Release);
        self.note(&typed);
        let mut line = self.line.lock();
        let is_first = line.is_empty();
        line.write(&String::from_utf8_lossy(&typed));
        match state_of(marks) {
            ShellState::AtPrompt if typed == [END_OF_INPUT] && is_first && !marks.is_plain() => {
                shells::pasted(LEAVE).into_bytes()
            }
            ShellState::AtPrompt | ShellState::Continuing if !marks.is_plain() => shells::accepted(&typed),
            ShellState::AtPrompt | ShellState::Continuing | ShellState::Starting | ShellState::Busy => typed,
        }
    }
}

/// What a session was at when a person was asked for help.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub(super) state: ShellState,
    pub(super) marks: u64,
}
