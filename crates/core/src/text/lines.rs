//! The one line model: `\n` ends a line, a `\r` belongs to its line, an empty text has no lines (BE-91, D13, D92).

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

/// How many lines `text` has: its `\n`, and one more when it does not end with one.
pub fn count(text: &[u8]) -> u64 {
    let ended = memchr_iter(b'\n', text).count() as u64;
    ended + u64::from(text.last().is_some_and(|last| *last != b'\n'))
}

/// The 0-based number of the line that holds the byte at `index`.
pub fn number_at(text: &[u8], index: usize) -> u64 {
    memchr_iter(b'\n', &text[..index]).count() as u64
}

/// Where the line that holds the byte at `index` begins.
pub fn start_of(text: &[u8], index: usize) -> usize {
    memrchr(b'\n', &text[..index]).map_or(0, |at| at + 1)
}

/// Where the line that begins at or before `index` ends, its `\n` included.
pub fn end_of(text: &[u8], index: usize) -> usize {
    memchr(b'\n', &text[index..]).map_or(text.len(), |at| index + at + 1)
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

/// Whether the text has line ends and each of them is CRLF. Stops at the first that is not.
pub fn all_crlf(text: &[u8]) -> bool {
    let mut any = false;
    for at in memchr_iter(b'\n', text) {
        if at == 0 || text[at - 1] != b'\r' {
            return false;
        }
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_splits_on_line_feeds_only() {
        let table: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("\n", &[""]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\nb", &["a", "b"]),
            ("a\n\nb\n", &["a", "", "b"]),
            ("a\r\nb\r", &["a\r", "b\r"]),
            ("a\u{2028}b\u{b}c\u{c}d\u{85}e\rf\n", &["a\u{2028}b\u{b}c\u{c}d\u{85}e\rf"]),
        ];
        for (text, expected) in table {
            let lines: Vec<&str> = ranges(text.as_bytes()).map(|line| &text[line]).collect();
            assert_eq!(lines, expected, "{text:?}");
            assert_eq!(count(text.as_bytes()), expected.len() as u64, "{text:?}");
        }
    }

    #[test]
    fn knows_a_file_whose_every_line_end_is_crlf() {
        let table = [
            ("", false),
            ("a", false),
            ("a\r", false),
            ("a\r\n", true),
            ("a\r\nb", true),
            ("a\r\nb\n", false),
            ("\n", false),
        ];
        for (text, expected) in table {
            assert_eq!(all_crlf(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn finds_the_line_around_a_byte() {
        let text = b"ab\ncd\nef";
        assert_eq!((start_of(text, 4), end_of(text, 4), number_at(text, 4)), (3, 6, 1));
        assert_eq!((start_of(text, 2), end_of(text, 2), number_at(text, 2)), (0, 3, 0));
        assert_eq!((start_of(text, 8), end_of(text, 8), number_at(text, 8)), (6, 8, 2));
    }
}
