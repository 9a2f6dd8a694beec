//! Output in bounded memory, under positions that stay valid.

use std::collections::VecDeque;

use crate::text::encoding::whole_characters;

/// 1 MiB of output of one process stays to be read: more than a model reads at once; older output is counted.
pub(super) const KEPT_BYTES: usize = 1 << 20;

/// 4 bytes of the longest character.
const CHARACTER_BYTES: usize = 4;

/// Takes output that is forgotten, in order, with the position where it begins.
pub type Forgotten = Box<dyn FnMut(u64, &[u8]) + Send>;

/// Output from a position on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// The bytes; whole characters while the process runs.
    pub bytes: Vec<u8>,
    /// Bytes before them that were asked for and are gone.
    pub dropped: u64,
    /// Where to read on.
    pub next: u64,
}

/// The newest bytes of a stream, under positions that count from its beginning.
#[derive(Default)]
pub(super) struct Kept {
    bytes: VecDeque<u8>,
    dropped: u64,
}

impl Kept {
    /// Takes what comes next, and hands what is forgotten for it to `forgotten`.
    pub(super) fn push(&mut self, bytes: &[u8], forgotten: &mut Option<Forgotten>) {
        let skipped = bytes.len().saturating_sub(KEPT_BYTES);
        let (lost, bytes) = bytes.split_at(skipped);
        let overflow = (self.bytes.len() + bytes.len()).saturating_sub(KEPT_BYTES);
        if let Some(forgotten) = forgotten {
            let (one, two) = self.bytes.as_slices();
            let first = overflow.min(one.len());
            let mut position = self.dropped;
            for piece in [&one[..first], &two[..overflow - first], lost] {
                if !piece.is_empty() {
                    forgotten(position, piece);
                    position += piece.len() as u64;
                }
            }
        }
        self.bytes.drain(..overflow);
        self.bytes.extend(bytes);
        self.dropped += (skipped + overflow) as u64;
    }

    /// All from `position` on, to the byte.
    pub(super) fn rest(&self, position: u64) -> Piece {
        let position = position.min(self.end());
        let start = usize::try_from(position.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let bytes = self.bytes.range(start.min(self.bytes.len())..).copied().collect();
        Piece { next: self.end(), bytes, dropped: self.dropped.saturating_sub(position) }
    }

    /// The position behind the last byte.
    pub(super) fn end(&self) -> u64 {
        self.dropped + self.bytes.len() as u64
    }

    /// Whether a read from `position` gives anything: half a character is nothing until it `is_over`.
    pub(super) fn goes_on(&self, position: u64, is_over: bool) -> bool {
        self.end() > position && self.read(position, CHARACTER_BYTES, is_over).next > position
    }

    /// At most `most` bytes from `position` on; whole characters until it `is_over`.
    pub(super) fn read(&self, position: u64, most: usize, is_over: bool) -> Piece {
        let position = position.min(self.end());
        let mut dropped = self.dropped.saturating_sub(position);
        let start = usize::try_from(position.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = self.bytes.range(start.min(self.bytes.len())..).take(most).copied().collect();
        if dropped > 0 {
            // A character is at most three bytes of continuation behind its first.
            let torn = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            bytes.drain(..torn);
            dropped += torn as u64;
        }
        let reaches_the_end = position + dropped + bytes.len() as u64 == self.end();
        if !(is_over && reaches_the_end) {
            bytes.truncate(whole_characters(&bytes));
        }
        Piece { next: position + dropped + bytes.len() as u64, bytes, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_stay_valid_and_what_is_gone_is_counted() {
        let mut kept = Kept::default();
        kept.push("aé".as_bytes(), &mut None);
        assert_eq!(kept.read(0, 2, false), Piece { bytes: b"a".into(), dropped: 0, next: 1 });
        assert_eq!(kept.read(1, 9, false), Piece { bytes: "é".into(), dropped: 0, next: 3 });
        assert_eq!(kept.read(3, 9, false), Piece { bytes: vec![], dropped: 0, next: 3 });
        kept.push(&b"\xC3"[..], &mut None);
        assert_eq!(kept.read(3, 9, false), Piece { bytes: vec![], dropped: 0, next: 3 });
        assert_eq!(kept.read(3, 9, true), Piece { bytes: vec![0xC3], dropped: 0, next: 4 });
        // The first three bytes and the first half of the next character go.
        kept.push(&[0xA9], &mut None);
        kept.push(&vec![b'x'; KEPT_BYTES - 1], &mut None);
        let piece = kept.read(0, 3, false);
        assert_eq!(piece, Piece { bytes: b"xx".into(), dropped: 5, next: 7 });
        assert_eq!(kept.read(u64::MAX, 3, false).next, kept.end());
        kept.push(&vec![b'y'; 3 * KEPT_BYTES], &mut None);
        assert_eq!(kept.bytes.len(), KEPT_BYTES);
    }
}
