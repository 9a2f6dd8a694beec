//! What `grep-searcher` uses of the crate of this name, which the workspace puts in its place.
//!
//! The original decodes every encoding that browsers know, and brings their tables along: 170 KB of an addon in which no
//! such encoding is ever asked for. Here is what a search of ours can meet: plain bytes, and UTF-8 or UTF-16 that say so by
//! a byte order mark. The answers are those of the original, which the tests hold them against.

use std::io::{self, Read};

use encoding_rs::Encoding;

/// The longest mark.
const MARK: usize = 3;
/// U+FFFD, for what is no character.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// How a reader decodes.
#[derive(Debug, Clone, Default)]
pub struct DecodeReaderBytesBuilder {
    has_encoding: bool,
    sniffs: bool,
    strips: bool,
}

impl DecodeReaderBytesBuilder {
    /// A reader that hands on every byte as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An encoding for all text: none of them is known here, so that [`Self::build_with_buffer`] fails.
    pub fn encoding(&mut self, encoding: Option<&'static Encoding>) -> &mut Self {
        self.has_encoding = encoding.is_some();
        self
    }

    /// Whether UTF-8 is handed on as it is. It always is.
    pub fn utf8_passthru(&mut self, _yes: bool) -> &mut Self {
        self
    }

    /// Whether a mark of UTF-8 is left out.
    pub fn strip_bom(&mut self, yes: bool) -> &mut Self {
        self.strips = yes;
        self
    }

    /// Whether a mark wins over the encoding that was set. There is none.
    pub fn bom_override(&mut self, _yes: bool) -> &mut Self {
        self
    }

    /// Whether text with a mark of UTF-16 is decoded.
    pub fn bom_sniffing(&mut self, yes: bool) -> &mut Self {
        self.sniffs = yes;
        self
    }

    /// A reader of `reader`, with `buffer` to work in.
    ///
    /// # Errors
    ///
    /// When an encoding was set.
    pub fn build_with_buffer<R: Read, B: AsMut<[u8]>>(
        &self,
        reader: R,
        buffer: B,
    ) -> io::Result<DecodeReaderBytes<R, B>> {
        if self.has_encoding {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let (sniffs, strips) = (self.sniffs, self.strips);
        Ok(DecodeReaderBytes { reader, buffer, sniffs, strips, text: Text::Unknown, ready: Vec::new(), given: 0 })
    }
}

/// Text as UTF-8, or as it is.
#[derive(Debug)]
pub struct DecodeReaderBytes<R, B> {
    reader: R,
    buffer: B,
    sniffs: bool,
    strips: bool,
    text: Text,
    /// Bytes to hand on before more is read, and how many of them were.
    ready: Vec<u8>,
    given: usize,
}

#[derive(Debug)]
enum Text {
    /// Nothing was read yet.
    Unknown,
    AsItIs,
    Utf16(Utf16),
}

impl<R: Read, B: AsMut<[u8]>> DecodeReaderBytes<R, B> {
    /// Looks at the mark.
    fn begin(&mut self) -> io::Result<()> {
        let mut head = [0; MARK];
        let mut length = 0;
        while length < MARK {
            match self.reader.read(&mut head[length..]) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let head = &head[..length];
        let wide = match head {
            [0xFF, 0xFE, ..] => Some(true),
            [0xFE, 0xFF, ..] => Some(false),
            _ => None,
        };
        self.text = match wide.filter(|_| self.sniffs) {
            Some(low_first) => {
                let mut text = Utf16 { low_first, odd: None, high: None };
                text.push(&head[2..], &mut self.ready);
                Text::Utf16(text)
            }
            None => {
                let rest = head.strip_prefix(b"\xEF\xBB\xBF").filter(|_| self.strips).unwrap_or(head);
                self.ready.extend_from_slice(rest);
                Text::AsItIs
            }
        };
        Ok(())
    }
}

impl<R: Read, B: AsMut<[u8]>> Read for DecodeReaderBytes<R, B> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if matches!(self.text, Text::Unknown) {
            self.begin()?;
        }
        loop {
            let left = &self.ready[self.given..];
            if !left.is_empty() {
                let count = left.len().min(out.len());
                out[..count].copy_from_slice(&left[..count]);
                self.given += count;
                return Ok(count);
            }
            let Text::Utf16(text) = &mut self.text else { return self.reader.read(out) };
            self.ready.clear();
            self.given = 0;
            let buffer = self.buffer.as_mut();
            let count = self.reader.read(buffer)?;
            text.push(&buffer[..count], &mut self.ready);
            if count == 0 && !text.finish(&mut self.ready) {
                return Ok(0);
            }
        }
    }
}

/// UTF-16 that comes in pieces.
#[derive(Debug)]
struct Utf16 {
    low_first: bool,
    /// Half a unit.
    odd: Option<u8>,
    /// Half a character.
    high: Option<u16>,
}

impl Utf16 {
    /// Appends the text of `bytes`; what they cut waits for more.
    fn push(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        for byte in bytes {
            match self.odd.take() {
                None => self.odd = Some(*byte),
                Some(first) => {
                    let pair = [first, *byte];
                    self.unit(if self.low_first { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }, text);
                }
            }
        }
    }

    fn unit(&mut self, unit: u16, text: &mut Vec<u8>) {
        let is_low = (0xDC00..=0xDFFF).contains(&unit);
        let character = match (self.high.take(), is_low) {
            (Some(high), true) => char::decode_utf16([high, unit]).next().and_then(Result::ok),
            (high, _) => {
                if high.is_some() {
                    text.extend_from_slice(REPLACEMENT);
                }
                if (0xD800..=0xDBFF).contains(&unit) {
                    self.high = Some(unit);
                    return;
                }
                char::from_u32(u32::from(unit))
            }
        };
        let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Appends what stands for a cut at the end, once. Whether there was one.
    fn finish(&mut self, text: &mut Vec<u8>) -> bool {
        let was_cut = self.odd.take().is_some() | self.high.take().is_some();
        if was_cut {
            text.extend_from_slice(REPLACEMENT);
        }
        was_cut
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads `bytes` in pieces of `piece`, with a buffer of that size too, into one of `room`.
    fn read(bytes: &[u8], sniffs: bool, piece: usize, room: usize) -> Vec<u8> {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let most = out.len().min(self.1);
                self.0.read(&mut out[..most])
            }
        }
        let mut builder = DecodeReaderBytesBuilder::new();
        builder.encoding(None).utf8_passthru(true).strip_bom(sniffs).bom_override(true).bom_sniffing(sniffs);
        let mut reader = builder.build_with_buffer(Pieces(bytes, piece), vec![0; piece]).unwrap();
        let (mut all, mut out) = (Vec::new(), vec![0; room]);
        loop {
            match reader.read(&mut out).unwrap() {
                0 => return all,
                count => all.extend_from_slice(&out[..count]),
            }
        }
    }

    proptest! {
        #[test]
        fn decodes_as_the_original_does(
            mark in prop::sample::select(vec![&b"\xFF\xFE"[..], b"\xFE\xFF", b"\xEF\xBB\xBF", b""]),
            units in prop::collection::vec(prop_oneof![any::<u16>(), 0xD7FE..0xE002u16, 0x20..0x80u16], 0..60),
            odd in any::<Option<u8>>(),
            piece in 1usize..20,
            room in 1usize..20,
        ) {
            let mut bytes = mark.to_vec();
            bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            bytes.extend(odd);
            let expected = match bytes.get(..2) {
                Some(b"\xFF\xFE") => encoding_rs::UTF_16LE.decode_without_bom_handling(&bytes[2..]).0.into_owned().into(),
                Some(b"\xFE\xFF") => encoding_rs::UTF_16BE.decode_without_bom_handling(&bytes[2..]).0.into_owned().into(),
                _ => bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes).to_vec(),
            };
            prop_assert_eq!(read(&bytes, true, piece, room), expected);
            prop_assert_eq!(read(&bytes, false, piece, room), bytes);
        }
    }

    #[test]
    fn knows_no_encoding() {
        let mut builder = DecodeReaderBytesBuilder::new();
        builder.encoding(Some(encoding_rs::BIG5));
        assert_eq!(builder.build_with_buffer(io::empty(), [0; 8]).err().unwrap().kind(), io::ErrorKind::Unsupported);
    }
}
