//! What a command of a session prints beyond what memory keeps of it: all of it goes to a file, as text, and its beginning stays.
//!
//! Bytes come here when they are forgotten, in order; by then it is known which of them are output and which are prompts and
//! echoes. What memory still holds at the end follows behind them.

use std::borrow::Cow;

use crate::backend::{Spill, Spilling};
use crate::text::ansi::AnsiStripper;
use crate::text::head_tail::HeadTail;
use crate::text::progress::{last_states, printed_once};

/// The output of one command that memory does not hold, until now.
pub struct Overflow {
    stripper: AnsiStripper,
    file: Spilling,
    file_edges: Edges,
    /// Both ends of the text.
    ends: HeadTail,
    ends_edges: Edges,
    is_begun: bool,
}

/// Leaves out the line ends around a text that comes in pieces.
#[derive(Default)]
struct Edges {
    is_begun: bool,
    /// Line ends that may be the last ones.
    held: usize,
}

impl Edges {
    /// What is to be written now of the next piece: line ends that were held, and text.
    fn next<'a>(&mut self, text: &'a str) -> [Cow<'a, str>; 2] {
        let text = if self.is_begun { text } else { text.trim_start_matches('\n') };
        let body = text.trim_end_matches('\n');
        let ends = text.len() - body.len();
        if body.is_empty() {
            self.held += ends;
            return [Cow::Borrowed(""), Cow::Borrowed("")];
        }
        self.is_begun = true;
        [Cow::Owned("\n".repeat(std::mem::replace(&mut self.held, ends))), Cow::Borrowed(body)]
    }
}

impl Overflow {
    /// Of a command that has printed nothing; `most` bytes of its text are to be told.
    pub(super) fn new(spill: Spill, most: usize) -> Self {
        Self {
            stripper: AnsiStripper::parting(),
            file: Spilling::of(Some(spill)),
            file_edges: Edges::default(),
            ends: HeadTail::new(most),
            ends_edges: Edges::default(),
            is_begun: false,
        }
    }

    /// Whether something was taken.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Where what was taken lies until now, and how many bytes of it where that is not all.
    pub fn told(&self) -> Option<Older> {
        let (file, file_bytes) = self.file.told();
        Some(Older { file: file?, file_bytes })
    }

    /// Takes the next bytes of output.
    pub fn take(&mut self, bytes: &[u8]) {
        self.is_begun = true;
        let mut text = String::new();
        self.stripper.push(bytes, &mut text);
        self.write(&text);
        self.show(&text);
    }

    fn write(&mut self, text: &str) {
        if self.is_begun {
            for piece in self.file_edges.next(text) {
                self.file.write(piece.as_bytes());
            }
        }
    }

    fn show(&mut self, text: &str) {
        self.ends_edges.next(text).iter().for_each(|piece| self.ends.push(piece.as_bytes()));
    }

    /// Takes the last bytes. Of a line in them that was drawn again and again only some states are told, as of shorter output.
    pub fn finish(mut self, bytes: &[u8]) -> Finished {
        let lossy = String::from_utf8_lossy(bytes);
        let shown = match last_states(&printed_once(&lossy)) {
            states if states == lossy => None,
            states => {
                let mut shown = String::new();
                let mut stripper = self.stripper.clone();
                stripper.push(states.as_bytes(), &mut shown);
                stripper.finish(&mut shown);
                Some(shown)
            }
        };
        let mut text = String::new();
        self.stripper.push(bytes, &mut text);
        self.stripper.finish(&mut text);
        self.write(&text);
        self.show(shown.as_ref().unwrap_or(&text));
        let ends = self.ends.capture();
        let (file, file_bytes) = self.file.told();
        Finished { text: ends.text, dropped: ends.dropped_bytes, file, file_bytes }
    }
}

/// Where the output is that is gone from a session's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Older {
    /// The path of the file.
    pub file: String,
    /// Where the file holds only the beginning: so many bytes.
    pub file_bytes: Option<u64>,
}

/// What is told of such output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// Both ends of it.
    pub text: String,
    /// Bytes that are not in it.
    pub dropped: u64,
    /// The path of the file.
    pub file: Option<String>,
    /// Where the file holds only the beginning: so many bytes.
    pub file_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::spill::tests_support::Bound;

    #[test]
    fn the_file_is_the_text_of_all_pieces_wherever_they_are_cut() {
        let stream = "\r\n\n  first \x1b[31mred\x1b[0m é\r\n\r\n全 \u{1F600}\r\nlast\r\n\n".as_bytes();
        let expected = "  first red é\n\n全 \u{1F600}\nlast";
        let folder = tempfile::tempdir().unwrap();
        for size in 1..=stream.len() {
            for bound in [1_000, 14] {
                let path = folder.path().join(format!("{size}-{bound}"));
                let mut overflow = Overflow::new(Bound::new(bound).spill(path.clone()), 16);
                assert!(!overflow.is_begun() && !path.exists());
                let mut pieces: Vec<_> = stream.chunks(size).collect();
                let last = pieces.pop().unwrap();
                pieces.into_iter().for_each(|piece| overflow.take(piece));
                let finished = overflow.finish(last);
                let is_empty = size == stream.len();
                let kept = &expected[..expected.floor_char_boundary(bound)];
                let is_part = bound < expected.len();
                let file_bytes = is_part.then_some(kept.len() as u64);
                let told = Finished {
                    text: "  first \n... [16 bytes of output left out] ...\n\nlast".into(),
                    dropped: 16,
                    file: (!is_empty).then(|| "/all".into()),
                    file_bytes: file_bytes.filter(|_| !is_empty),
                };
                assert_eq!(finished, told, "{size}");
                if !is_empty {
                    assert_eq!(std::fs::read_to_string(&path).unwrap(), kept, "{size}");
                }
            }
        }
    }
}
