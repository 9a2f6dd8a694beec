//! Line tags: two hex digits that say what a line held when it was shown (BE-90).
//!
//! A tag is the first byte of the MD5 of the line's UTF-8 text without its `\n`; a `\r` counts. One changed line in 256
//! keeps its tag, so a tag alone guards nothing: see `edit/expectation.rs` (R-ED-2).

use std::fmt;

/// The tag of a line: two lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LineTag([u8; 2]);

impl LineTag {
    /// The tag of `line`, which is given without its `\n`. Bytes that are not UTF-8 count as U+FFFD, as they are shown.
    pub fn of(line: &[u8]) -> Self {
        let shown = String::from_utf8_lossy(line);
        let first = md5::compute(shown.as_bytes()).0[0];
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 0x0F)];
        Self([digit(first >> 4), digit(first)])
    }

    /// The two digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("??")
    }
}

impl PartialEq<str> for LineTag {
    /// Exact: an upper-case digit is another tag.
    fn eq(&self, other: &str) -> bool {
        self.0 == *other.as_bytes()
    }
}

impl fmt::Display for LineTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for LineTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
