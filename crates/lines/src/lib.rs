//! The loops over every byte of a text that is read: where the lines end, their numbers, their fingerprints, how far what a
//! terminal printed is plain text, and whether a text is ASCII.
//!
//! A crate of its own because it is built for speed, and the core for size. Everything here is pure and knows no file, no
//! limit and no wording: `text::numbered` of the core says how a text is shown, and `edit::expectation` what is remembered
//! of it. This is where the one line model stands: `\n` ends a
//! line, a `\r` belongs to its line, an empty text has none (BE-91, D13, D92).

mod fingerprint;
mod numbers;
mod plain;

use std::ops::Range;

use memchr::memchr_iter;

pub use fingerprint::Key;
pub use numbers::{Numbers, Sign};
pub use plain::{is_ascii, is_plain, plain_text};

/// How many lines `text` has: its `\n`, and one more when it does not end with one.
pub fn count(text: &[u8]) -> usize {
    let ended = memchr_iter(b'\n', text).count();
    ended + usize::from(text.last().is_some_and(|last| *last != b'\n'))
}

/// The lines of a text as byte ranges, each without its `\n`.
pub fn ranges(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    // One search for all of them: to begin anew costs as much as a short line.
    let mut ends = memchr_iter(b'\n', text);
    std::iter::from_fn(move || {
        if start >= text.len() {
            return None;
        }
        let end = ends.next().unwrap_or(text.len());
        let line = start..end;
        start = end + 1;
        Some(line)
    })
}

/// A text with its lines, found once for all that is done with them.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    text: &'a str,
    /// Where each line ends, its `\n` not counted.
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of `text`.
    pub fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut ends = Vec::with_capacity(count(bytes));
        ends.extend(ranges(bytes).map(|line| line.end));
        Self { text, ends }
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The line with that number from 0, without its `\n`.
    pub fn get(&self, index: usize) -> Option<&'a str> {
        let end = *self.ends.get(index)?;
        self.text.get(self.start(index)..end)
    }

    /// All lines from that number on.
    fn from(&self, first: usize) -> impl Iterator<Item = &'a str> {
        let mut start = self.start(first);
        self.ends.get(first..).unwrap_or_default().iter().map(move |end| {
            let line = &self.text[start..*end];
            start = end + 1;
            line
        })
    }

    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| end + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_on_line_feeds_only() {
        let table: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("\n", &[""]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\nb", &["a", "b"]),
            ("a\n\nb\n", &["a", "", "b"]),
            ("a\r\nb\r", &["a\r", "b\r"]),
            ("é\u{2028}b\u{b}c\u{c}d\u{85}e\rf\n", &["é\u{2028}b\u{b}c\u{c}d\u{85}e\rf"]),
        ];
        for (text, expected) in table {
            assert_eq!(ranges(text.as_bytes()).map(|line| &text[line]).collect::<Vec<_>>(), expected, "{text:?}");
            assert_eq!(count(text.as_bytes()), expected.len(), "{text:?}");
            let lines = Lines::of(text);
            assert_eq!(lines.from(0).collect::<Vec<_>>(), expected, "{text:?}");
            assert_eq!((lines.text(), lines.count()), (text, expected.len()));
            for index in 0..expected.len() + 2 {
                assert_eq!(lines.get(index), expected.get(index).copied(), "{text:?} {index}");
                assert_eq!(lines.from(index).collect::<Vec<_>>(), expected.get(index..).unwrap_or_default());
            }
        }
    }
}
