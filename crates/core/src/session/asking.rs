//! Commands that ask: the kernel says that what has the terminal reads it, and the line that was printed last is open, as behind
//! `Name: `. What reads behind a whole line (`cat`, `ssh host command`) or draws its line on may be at work, and is none of them.

use std::time::Duration;

use super::foreground::{Waits, listens_for_input, waits_for_input};
use super::marks::Kind;
use super::terminal::{ShellState, Terminal};
use crate::backend::process::Process;
use crate::text::ansi::strip;

/// 2 s without output before a command is said to ask: a person would have read its question by then, and a tenth of the time that a
/// call waits when nothing else is said.
const ASKS: Duration = Duration::from_secs(2);
/// 30 ms between two looks that must agree.
const AGREE: Duration = Duration::from_millis(30);
/// 4 KiB of output in which its last line is looked for.
const LINE_BYTES: usize = 4 << 10;

impl Terminal {
    /// Ends when the command that was typed behind the first `count` marks asks for a line. Never where the kernel cannot be asked.
    pub(super) async fn asks(&self, process: &Process, count: u64) {
        let mut next = ASKS;
        let mut seen = None;
        loop {
            tokio::time::sleep(next).await;
            // Output puts it off: nobody is woken for that.
            let calm = process.quiet_for();
            if calm < ASKS {
                (seen, next) = (None, ASKS - calm);
                continue;
            }
            let now = self.asking_at(process, count);
            if now.is_some() && now == seen {
                return;
            }
            (seen, next) = (now, if now.is_some() { AGREE } else { ASKS });
        }
    }

    /// Whether what runs asks for a line now. What listens to its terminal while it works is given as long as by [`Terminal::asks`].
    pub fn is_asking(&self, process: &Process) -> bool {
        let waits = |leader| match waits_for_input(leader) {
            Waits::On => process.quiet_for() >= AGREE,
            Waits::ForATime | Waits::No => process.quiet_for() >= ASKS && listens_for_input(leader),
        };
        let has_begun =
            self.state() == ShellState::Busy && self.marks.lock().last().is_some_and(|mark| mark.kind == Kind::Begin);
        has_begun && self.line_is_open(process, process.position()) && process.leader().is_some_and(waits)
    }

    /// Where the output ends of a command that seems to ask.
    fn asking_at(&self, process: &Process, count: u64) -> Option<u64> {
        let position = process.position();
        let has_begun = self.marks.lock().since(count).any(|mark| mark.kind == Kind::Begin);
        let is_asking =
            has_begun && self.line_is_open(process, position) && process.leader().is_some_and(listens_for_input);
        is_asking.then_some(position)
    }

    /// Whether something stands in the last line that the command printed before `position`, and not taken back there. A screen of its
    /// own is no line that ended.
    fn line_is_open(&self, process: &Process, position: u64) -> bool {
        if self.marks.lock().is_alternate() {
            return true;
        }
        let from = position.saturating_sub(LINE_BYTES as u64).max(self.typed_at().unwrap_or(0));
        let piece = process.read(from, LINE_BYTES);
        let start = piece.next - piece.bytes.len() as u64;
        let printed = self.printed_of(&piece.bytes, start, start, piece.next.min(self.known_until().max(start)));
        let line = printed.rsplit(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        !strip(&String::from_utf8_lossy(line)).is_empty()
    }
}
