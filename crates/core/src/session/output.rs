//! What a session printed and was not shown before: each byte is shown once.

use super::Session;
use super::overflow::{Older, Overflow};
use super::terminal::Terminal;
use crate::backend::process::Piece;
use crate::text::ansi::is_cut;
use crate::text::encoding::whole_characters;

/// 4 KiB of a line, or of a sequence, that has not ended wait for its end.
const HELD_BYTES: usize = 4 << 10;

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
        let mut piece = self.process.read(*seen, most);
        if end > piece.next && self.process.goes_on(piece.next) {
            hold_back_line(&mut piece);
        }
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
        if more {
            hold_back_line(&mut piece);
        }
        if self.process.ended().is_none() {
            hold_back(&mut piece, more);
        }
        *seen = piece.next;
        let start = piece.next - piece.bytes.len() as u64;
        let is_of_command = piece.dropped > 0 && terminal.typed_at().is_some_and(|typed| typed < start);
        Fresh {
            bytes: terminal.printed_of(&piece.bytes, start, start, piece.next),
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
        let between = |from: u64, to: u64| terminal.printed_of(&piece.bytes, start, from.max(start), to);
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

    /// What commands printed before the last line was typed, and that was not shown before. It counts as shown.
    pub fn printed_before_command(&self, terminal: &Terminal) -> (Vec<u8>, u64) {
        let mut seen = self.seen.lock();
        let border = terminal.typed_at().unwrap_or(*seen).max(*seen);
        let piece = self.process.read(*seen, usize::try_from(border - *seen).unwrap_or(usize::MAX));
        let start = (piece.next - piece.bytes.len() as u64).min(border);
        let printed = terminal.printed_of(&piece.bytes, start, start, piece.next.min(border));
        let dropped = terminal.printed(*seen, start).iter().map(|(from, to)| to - from).sum();
        *seen = border;
        (printed, dropped)
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

/// Leaves a line that the piece cuts to the next one, where it begins close enough to the end, and else the character.
fn hold_back_line(piece: &mut Piece) {
    let from = piece.bytes.len().saturating_sub(HELD_BYTES);
    let line = memchr::memrchr(b'\n', &piece.bytes[from..]).map(|at| from + at + 1);
    let at = line.unwrap_or_else(|| whole_characters(&piece.bytes).max(1)).min(piece.bytes.len());
    piece.next -= (piece.bytes.len() - at) as u64;
    piece.bytes.truncate(at);
}
