//! Lines of a text as bytes, as the one line model of [`gloveport_lines`] has them.

pub use gloveport_lines::ranges;
use memchr::{memchr, memchr_iter, memrchr};

/// How many lines `text` has: its `\n`, and one more when it does not end with one.
pub fn count(text: &[u8]) -> u64 {
    gloveport_lines::count(text) as u64
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
