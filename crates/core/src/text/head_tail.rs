//! Keeps the beginning and the end of a stream of any length in bounded memory (R-SH-6).

use std::collections::VecDeque;

use super::encoding::whole_characters;

/// A bounded capture: the first half of its budget is the head, the second the tail, what is between is counted only.
///
/// Bytes are kept as they come and decoded at the end, so that no character is torn where two pieces meet.
#[derive(Debug, Clone)]
pub struct HeadTail {
    head: Vec<u8>,
    head_limit: usize,
    /// The last bytes behind the head; at most `tail_limit`.
    tail: VecDeque<u8>,
    tail_limit: usize,
    /// Bytes that went through the tail and out of it.
    dropped: u64,
}

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
        Self { head: Vec::new(), head_limit, tail: VecDeque::new(), tail_limit: max_bytes - head_limit, dropped: 0 }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = (self.head_limit - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        // Only the last bytes can stay.
        let skipped = rest.len().saturating_sub(self.tail_limit);
        let rest = &rest[skipped..];
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..overflow);
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

    /// What is kept so far. Cuts are on character borders; the marker counts every byte that is not there.
    pub fn capture(&self) -> Captured {
        let (one, two) = self.tail.as_slices();
        if self.dropped == 0 {
            let whole = [&self.head, one, two].concat();
            return Captured { text: into_text(whole), dropped_bytes: 0 };
        }
        let head = &self.head[..whole_characters(&self.head)];
        let tail = [one, two].concat();
        // A character is at most three bytes of continuation behind its first.
        let torn = tail.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        let dropped_bytes = self.dropped + (self.head.len() - head.len() + torn) as u64;
        let mut text = String::from_utf8_lossy(head).into_owned();
        text.push_str(&format!("\n... [{dropped_bytes} bytes of output left out] ...\n"));
        text.push_str(&String::from_utf8_lossy(&tail[torn..]));
        Captured { text, dropped_bytes }
    }
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

    proptest! {
        #[test]
        fn equals_a_model_that_holds_the_whole_stream(
            text in "[a\u{e9}\u{20AC}\u{1F600}]{0,40}",
            max_bytes in 8_usize..40,
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
                let head = text.floor_char_boundary(max_bytes / 2);
                let tail = text.ceil_char_boundary(text.len() - (max_bytes - max_bytes / 2));
                let dropped_bytes = (tail - head) as u64;
                let text = format!("{}\n... [{dropped_bytes} bytes of output left out] ...\n{}", &text[..head], &text[tail..]);
                Captured { text, dropped_bytes }
            };
            prop_assert_eq!(buffer.capture(), expected);
        }
    }
}
