//! Plain text that a screen has yet to draw.
//!
//! A program that prints megabytes scrolls nearly all of them out of sight. Drawn one by one they would hold back the reading,
//! and with it the program. Plain text (printable ASCII, tabs and line ends) is therefore kept until somebody looks, and of what
//! is kept only that is drawn which can still be seen: where each of its rows begins follows from the width of the screen.
//! The screen is the one that drawing everything makes.

use std::collections::VecDeque;

use gloveport_lines::plain_text;

/// 1,000: twice the rows of the largest screen. A screen that grows gets back, as blank rows, as many as it scrolled off; more
/// of those that were never drawn are not counted.
const COUNTED_ROWS: usize = 1_000;

/// Text behind a place of the cursor, on a screen without a scroll region.
#[derive(Debug)]
pub(super) struct Undrawn {
    rows: usize,
    columns: usize,
    /// The cursor before the text. Its column is that of the next character, which stands beyond the last one where a row is
    /// full.
    row: usize,
    column: usize,
    /// Rows that went out of sight and are not in `bytes`; then the text begins in the last row.
    forgotten: Option<usize>,
    bytes: Vec<u8>,
    /// Bytes beyond which rows are forgotten.
    most: usize,
}

impl Undrawn {
    /// Nothing, on a screen of that size with the cursor there.
    pub(super) fn new((rows, columns): (u16, u16), (row, column): (u16, u16), most: usize) -> Self {
        let [rows, columns, row, column] = [rows, columns, row, column].map(usize::from);
        // Half of it is kept at least, so that each byte is gone through about twice.
        let most = most.max(rows * (columns + 2) * 4);
        Self { rows, columns, row, column, forgotten: None, bytes: Vec::new(), most }
    }

    /// Takes as much as is plain text. `None` when it cannot keep what it has then: it is to be drawn.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<usize> {
        let length = plain_text(bytes);
        self.take_plain(&bytes[..length]).then_some(length)
    }

    /// Takes plain text. `false` when it cannot keep what it has then: it is to be drawn.
    pub(super) fn take_plain(&mut self, text: &[u8]) -> bool {
        for piece in text.chunks(self.most) {
            self.bytes.extend_from_slice(piece);
            if self.bytes.len() > self.most {
                self.forget();
            }
        }
        self.bytes.len() <= self.most
    }

    /// What a terminal is to be sent in place of the text.
    pub(super) fn drawing(&self) -> (Vec<u8>, &[u8]) {
        let mut before = Vec::new();
        if let Some(mut scrolled) = self.forgotten.map(|rows| rows.min(COUNTED_ROWS)) {
            while scrolled > 0 {
                let step = scrolled.min(self.rows);
                before.extend_from_slice(format!("\x1b[{step}S").as_bytes());
                scrolled -= step;
            }
            before.extend_from_slice(format!("\x1b[{};{}H", self.rows, self.column + 1).as_bytes());
        }
        (before, &self.bytes)
    }

    /// Forgets what is scrolled out of sight by what follows it.
    fn forget(&mut self) {
        // The first of these rows is scrolled out of sight as well, so that nothing depends on what stood in it.
        let mut last: VecDeque<(usize, usize)> = VecDeque::with_capacity(self.rows + 1);
        let mut begun = 0;
        self.for_each_row(|rows, begin| {
            begun += rows;
            if last.len() > self.rows {
                last.pop_front();
            }
            last.push_back(begin);
        });
        let Some(&(at, column)) = last.front().filter(|_| last.len() > self.rows) else { return };
        let bottom = self.rows - 1;
        let row = self.row + begun - self.rows;
        // The cursor cannot be put behind a full row, and the last character is one that a program may repeat.
        if row < bottom || column >= self.columns || !self.bytes[at..].iter().any(|byte| *byte >= b' ') {
            return;
        }
        self.forgotten = Some(self.forgotten.unwrap_or(0).saturating_add(row - bottom));
        (self.row, self.column) = (bottom, column);
        self.bytes.drain(..at);
    }

    /// Says where each row but the first begins: at which byte, and in which column. Rows that a screen of others follows in one run
    /// of characters are only counted, with the next that is told.
    fn for_each_row(&self, mut begins: impl FnMut(usize, (usize, usize))) {
        let (mut at, mut column) = (0, self.column);
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let end = at + memchr::memchr3(b'\n', b'\r', b'\t', rest).unwrap_or(rest.len());
            while at < end {
                if column >= self.columns {
                    let counted = ((end - at) / self.columns).saturating_sub(self.rows + 1);
                    at += counted * self.columns;
                    column = 0;
                    begins(counted + 1, (at, column));
                }
                let step = (end - at).min(self.columns - column);
                (at, column) = (at + step, column + step);
            }
            match self.bytes.get(at) {
                Some(b'\r') => column = 0,
                Some(b'\n') => begins(1, (at + 1, column)),
                Some(_) => column = (column - column % 8 + 8).min(self.columns - 1),
                None => {}
            }
            at += 1;
        }
    }
}

/// Sees whether a program ever set a scroll region, or counted rows from one. It may say so where none did.
#[derive(Debug, Default)]
pub(super) struct Regions {
    within: Within,
    seen: bool,
}

/// Where in an escape sequence.
#[derive(Debug, Default, Clone, Copy)]
enum Within {
    #[default]
    None,
    Escape,
    Sequence {
        /// Whether a 6 is among its numbers: the mode that counts rows from the region's first.
        six: bool,
    },
}

impl Regions {
    pub(super) fn seen(&self) -> bool {
        self.seen
    }

    /// Sees the next bytes.
    pub(super) fn see(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            self.within = match (self.within, byte) {
                (_, 0x1B) => Within::Escape,
                (Within::None, _) => {
                    let next = memchr::memchr(0x1B, rest).unwrap_or(rest.len());
                    bytes = &rest[next..];
                    continue;
                }
                (Within::Escape, b'[') => Within::Sequence { six: false },
                // Controls, and what stands between an escape and its last byte.
                (Within::Escape, 0..b'0' | 0x7F..) => Within::Escape,
                (Within::Escape, _) => Within::None,
                (Within::Sequence { .. }, b'6') => Within::Sequence { six: true },
                (Within::Sequence { six }, b'@'..=b'~') => {
                    self.seen |= byte == b'r' || six && byte == b'h';
                    Within::None
                }
                (Within::Sequence { six }, _) => Within::Sequence { six },
            };
            bytes = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_seen_wherever_the_stream_is_cut() {
        let table: [(&[u8], bool); 10] = [
            (b"r plain 6h", false),
            (b"\x1b[31mred\x1b[0m r \x1b[2J\x1b[?25h\x1b[?2004h", false),
            (b"\x1b]2;[r\x07[r", false),
            (b"\x1bMr\x1b8r", false),
            (b"\x1b[r", true),
            (b"text\x1b[2;5r", true),
            (b"\x1b[?6h", true),
            (b"\x1b[?25;6h", true),
            (b"\x1b\n[\r2;\n5r", true),
            (b"\x1b]2;\x1b[r", true),
        ];
        for (stream, expected) in table {
            for size in 1..=stream.len() {
                let mut regions = Regions::default();
                stream.chunks(size).for_each(|piece| regions.see(piece));
                assert_eq!(regions.seen(), expected, "{:?} {size}", String::from_utf8_lossy(stream));
            }
        }
    }

    #[test]
    fn most_of_a_long_text_is_forgotten() {
        let mut text = Undrawn::new((40, 120), (0, 0), 0);
        let mut line = 0_u64;
        for _ in 0..1_000 {
            let mut piece = Vec::new();
            for _ in 0..100 {
                line += 1;
                piece.extend_from_slice(format!("line {line} of many\r\n").as_bytes());
            }
            assert_eq!(text.take(&piece), Some(piece.len()));
            assert!(text.bytes.len() <= text.most);
        }
        let held = text.bytes.iter().filter(|byte| **byte == b'\n').count();
        // The cursor stands below the last line.
        assert_eq!(text.forgotten, Some(100_000 - held - 39));
        let (before, rest) = text.drawing();
        let before = String::from_utf8(before).unwrap();
        assert!(before.starts_with("\x1b[40S") && before.ends_with("\x1b[40S\x1b[40;1H"), "{before:?}");
        assert!(rest.starts_with(b"line "));
    }
}
