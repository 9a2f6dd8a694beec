//! Keeps the beginning and the end of a stream of any length in bounded memory (R-SH-6).

use std::collections::VecDeque;

use super::encoding::whole_characters;

/// A bounded capture: the first half of its budget is the head, the second the tail, what is between is counted only.
///
/// Bytes are kept as they come and decoded at the end, so that no character is torn where two pieces meet, and no line that is shorter
/// than a quarter of its end: of a number that is cut a model would read another.
#[derive(Debug, Clone)]
pub struct HeadTail {
    head: Vec<u8>,
    head_limit: usize,
    /// The last bytes behind the head; at most `tail_limit`.
    tail: VecDeque<u8>,
    tail_limit: usize,
    /// Bytes that went through the tail and out of it.
    dropped: u64,
    /// The last of them.
    last_dropped: u8,
}

/// A quarter of each end is given up at the most so that it holds whole lines.
const SHARE_OF_LINE: usize = 4;

/// What was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Head, marker and tail; the whole stream when nothing was dropped. Bytes that are not UTF-8 became U+FFFD.
    pub text: String,
    /// Bytes left out between head and tail; 0 when the stream is whole.
    pub dropped_bytes: u64,
}

impl HeadTail {
    /// Keeps at most `max_bytes` bytes; the marker comes on top.
    pub fn new(max_bytes: usize) -> Self {
        let head_limit = max_bytes / 2;
        let tail_limit = max_bytes - head_limit;
        Self { head: Vec::new(), head_limit, tail: VecDeque::new(), tail_limit, dropped: 0, last_dropped: 0 }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = (self.head_limit - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        // Only the last bytes can stay.
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(self.tail_limit));
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        let passed = self.tail.drain(..overflow).next_back();
        self.last_dropped = skipped.last().copied().or(passed).unwrap_or(self.last_dropped);
        let skipped = skipped.len();
        self.tail.extend(rest);
        self.dropped += (skipped + overflow) as u64;
    }

    /// Bytes that were pushed, kept or not.
    pub fn total_bytes(&self) -> u64 {
        self.dropped + (self.head.len() + self.tail.len()) as u64
    }

    /// Whether bytes were dropped.
    pub fn is_truncated(&self) -> bool {
        self.dropped > 0
    }

    /// What is kept so far. Cuts are between lines where these are short, else between characters; the marker counts every byte that is not there.
    pub fn capture(&self) -> Captured {
        let (one, two) = self.tail.as_slices();
        if self.dropped == 0 {
            let whole = [&self.head, one, two].concat();
            return Captured { text: into_text(whole), dropped_bytes: 0 };
        }
        let head = &self.head[..whole_lines(&self.head).unwrap_or_else(|| whole_characters(&self.head))];
        let tail = [one, two].concat();
        let torn = self.torn(&tail);
        let dropped_bytes = self.dropped + (self.head.len() - head.len() + torn) as u64;
        let mut text = String::from_utf8_lossy(head).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("... [{dropped_bytes} bytes of output left out] ...\n"));
        text.push_str(&String::from_utf8_lossy(&tail[torn..]));
        Captured { text, dropped_bytes }
    }

    /// How many bytes of the tail belong to a line, or to a character, whose beginning is gone.
    fn torn(&self, tail: &[u8]) -> usize {
        if self.last_dropped == b'\n' {
            return 0;
        }
        let first = &tail[..tail.len() / SHARE_OF_LINE];
        memchr::memchr(b'\n', first).map_or_else(
            // A character is at most three bytes of continuation behind its first.
            || tail.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count(),
            |end| end + 1,
        )
    }
}

/// Where the last whole line of a head ends, where no more than a quarter stands behind it.
fn whole_lines(head: &[u8]) -> Option<usize> {
    let from = (head.len() - head.len() / SHARE_OF_LINE).saturating_sub(1);
    memchr::memrchr(b'\n', &head[from..]).map(|end| from + end + 1)
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(max_bytes: usize, pieces: &[&[u8]]) -> Captured {
        let mut buffer = HeadTail::new(max_bytes);
        for piece in pieces {
            buffer.push(piece);
        }
        buffer.capture()
    }

    #[test]
    fn a_short_stream_is_whole() {
        let expected = Captured { text: "aéb".into(), dropped_bytes: 0 };
        assert_eq!(captured(4, &[b"a\xC3", b"\xA9b"]), expected);
        assert_eq!(captured(0, &[]), Captured { text: String::new(), dropped_bytes: 0 });
    }

    #[test]
    fn a_long_stream_keeps_both_ends_and_counts_what_is_gone() {
        let expected = Captured { text: "abc\n... [4 bytes of output left out] ...\nhij".into(), dropped_bytes: 4 };
        assert_eq!(captured(6, &[b"abcd", b"e", b"fghij"]), expected);
        assert_eq!(captured(6, &[b"abcdefghij"]), expected);
    }

    #[test]
    fn cuts_are_on_character_borders() {
        // Head "aé" and the first byte of "é"; the tail begins with the second byte of one.
        let expected = Captured { text: "aé\n... [6 bytes of output left out] ...\néb".into(), dropped_bytes: 6 };
        assert_eq!(captured(8, &["aéééééb".as_bytes()]), expected);
    }

    #[test]
    fn cuts_are_between_lines_where_these_are_short() {
        for (max_bytes, stream, text, dropped_bytes) in [
            (
                24,
                "1\n22\n333\n4444\n55555\n666666\n7777777\n8\n",
                "1\n22\n333\n... [18 bytes of output left out] ...\n7777777\n8\n",
                18,
            ),
            // The last of what is dropped ends a line.
            (16, "aaaaa\nbbbbbbbbb\nccccc\nd\n", "aaaaa\n... [10 bytes of output left out] ...\nccccc\nd\n", 10),
            // Longer than a quarter of its end.
            (16, "aaaa\nbbbbbbbb\nccccccccc\n", "aaaa\nbbb\n... [8 bytes of output left out] ...\nccccccc\n", 8),
            (4, "\n\n\n\n\n\n", "\n\n... [2 bytes of output left out] ...\n\n\n", 2),
        ] {
            assert_eq!(
                captured(max_bytes, &[stream.as_bytes()]),
                Captured { text: text.into(), dropped_bytes },
                "{stream:?}"
            );
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(
                captured(max_bytes, &bytes),
                Captured { text: text.into(), dropped_bytes },
                "{stream:?} by bytes"
            );
        }
    }

    proptest! {
        #[test]
        fn equals_a_model_that_holds_the_whole_stream(
            text in "[a\n\u{e9}\u{20AC}\u{1F600}]{0,40}",
            max_bytes in 0_usize..40,
            piece in 1_usize..20,
        ) {
            let mut buffer = HeadTail::new(max_bytes);
            for piece in text.as_bytes().chunks(piece) {
                buffer.push(piece);
                prop_assert!(buffer.head.len() + buffer.tail.len() <= max_bytes);
            }
            prop_assert_eq!(buffer.total_bytes(), text.len() as u64);
            let expected = if text.len() <= max_bytes {
                Captured { text: text.clone(), dropped_bytes: 0 }
            } else {
                let (half, rest) = (max_bytes / 2, max_bytes - max_bytes / 2);
                let from = text.len() - rest;
                let ends_line = |end: &usize| *end > 0 && text.as_bytes()[*end - 1] == b'\n';
                let head = (half - half / 4..=half).rev().find(ends_line);
                let head = head.unwrap_or_else(|| text.floor_char_boundary(half));
                let tail = (from..=from + rest / 4).find(ends_line).unwrap_or_else(|| text.ceil_char_boundary(from));
                let dropped_bytes = (tail - head) as u64;
                let gap = if text[..head].ends_with('\n') { "" } else { "\n" };
                let text = format!("{}{gap}... [{dropped_bytes} bytes of output left out] ...\n{}", &text[..head], &text[tail..]);
                Captured { text, dropped_bytes }
            };
            prop_assert_eq!(buffer.capture(), expected);
        }
    }
}
