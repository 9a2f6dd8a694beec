//! Text that comes in pieces: no character is torn where two pieces meet (R-SH-6).

use super::encoding::whole_characters;

/// Decodes UTF-8 that comes in pieces. Bytes that are not UTF-8 become U+FFFD, exactly as if they came at once.
#[derive(Debug, Default)]
pub struct Utf8Stream {
    /// The beginning of a character that the last piece cut: at most 3 bytes.
    cut: Vec<u8>,
}

impl Utf8Stream {
    /// At the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of the next piece, without a last character that is not whole yet.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        if self.cut.is_empty() {
            let whole = whole_characters(bytes);
            self.cut.extend_from_slice(&bytes[whole..]);
            return String::from_utf8_lossy(&bytes[..whole]).into_owned();
        }
        let mut joined = std::mem::take(&mut self.cut);
        joined.extend_from_slice(bytes);
        self.push(&joined)
    }

    /// What is left at the end: nothing, or U+FFFD for a character that never became whole.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.cut)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(
            text in "[a\u{e9}\u{20AC}\u{1F600}]{0,12}",
            noise in proptest::collection::vec(any::<u8>(), 0..6),
            piece in 1_usize..5,
        ) {
            let bytes = [text.as_bytes(), &noise, text.as_bytes()].concat();
            let mut stream = Utf8Stream::new();
            let mut decoded: String = bytes.chunks(piece).map(|piece| stream.push(piece)).collect();
            decoded.push_str(&stream.finish());
            prop_assert_eq!(decoded, String::from_utf8_lossy(&bytes));
        }
    }
}
