//! How far a terminal's output is plain text, and whether a text is ASCII.

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Whether a byte is a printable character of ASCII, a tab or a line end.
pub fn is_plain(byte: u8) -> bool {
    // Not `||`: a block without branches is looked at many bytes at a time.
    (byte.wrapping_sub(b' ') <= b'~' - b' ') | (byte == b'\n') | (byte == b'\r') | (byte == b'\t')
}

/// How many bytes from the first on are plain.
pub fn plain_text(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let whole =
        blocks.iter().take_while(|block| block.iter().fold(true, |all, byte| all & is_plain(*byte))).count() * BLOCK;
    whole + bytes[whole..].iter().take_while(|byte| is_plain(**byte)).count()
}

/// Whether all bytes are ASCII.
pub fn is_ascii(bytes: &[u8]) -> bool {
    bytes.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_at_the_first_byte_that_is_not_plain() {
        for byte in 0..=u8::MAX {
            let expected = matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
            assert_eq!(is_plain(byte), expected, "{byte}");
            for length in [0, 1, 63, 64, 65, 200] {
                let mut bytes = vec![b'x'; 300];
                bytes[length] = byte;
                assert_eq!(plain_text(&bytes), if expected { 300 } else { length }, "{byte} {length}");
            }
        }
        assert_eq!(plain_text(b""), 0);
    }
}
