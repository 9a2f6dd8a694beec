//! What a file's bytes are: which text encoding, or which kind of binary data. Judged by content, never by name.
//!
//! - UTF-8 is text; a byte order mark is remembered, is no part of the first line, and stays where it is.
//! - UTF-16 is text when a byte order mark says so. It is read decoded and written back in the same encoding.
//! - A NUL in the first [`SNIFF_BYTES`], or a signature such as PNG's, is binary: refused, with its likely kind.
//! - Other bytes that are not UTF-8 (Latin-1, Shift-JIS) are text of an unknown encoding: read with U+FFFD in their
//!   place and [`Encoding::Unknown`] said plainly; edits work on the bytes, so what an edit does not touch stays exact
//!   (R-ED-1, D29, D75, D90).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result, Shown};

/// Bytes at the start of a file that are looked at: 8 KiB, what git and ripgrep look at too.
pub const SNIFF_BYTES: usize = 8192;

/// One byte in this many may be a control character before bytes that are not UTF-8 count as binary.
const CONTROL_RATIO: usize = 32;

const UTF8_BOM: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16_LE_BOM: &[u8] = &[0xFF, 0xFE];
const UTF16_BE_BOM: &[u8] = &[0xFE, 0xFF];

/// How a text file's bytes stand for characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16, low byte first, behind a byte order mark.
    Utf16Le,
    /// UTF-16, high byte first, behind a byte order mark.
    Utf16Be,
    /// Text that is not UTF-8; the bytes that are not are shown as U+FFFD.
    Unknown,
}

impl Encoding {
    /// Whether a text that is written in this encoding is the same text when it is opened again. Not so when it begins as
    /// UTF-16 does and is none, or when the halves of a surrogate pair stand side by side: they become one character.
    pub fn reopens(self, text: &[u8]) -> bool {
        if !self.is_utf16() {
            return !text.starts_with(UTF16_LE_BOM) && !text.starts_with(UTF16_BE_BOM);
        }
        let pair = |at: usize| matches!(text[at..], [_, 0xA0..=0xAF, _, 0xED, 0xB0..=0xBF, ..]);
        !memchr::memchr_iter(0xED, text).any(pair)
    }

    /// The byte order mark that files of this encoding begin with.
    pub const fn bom(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Unknown => &[],
            Self::Utf8Bom => UTF8_BOM,
            Self::Utf16Le => UTF16_LE_BOM,
            Self::Utf16Be => UTF16_BE_BOM,
        }
    }

    /// Whether two bytes stand for each unit.
    pub const fn is_utf16(self) -> bool {
        match self {
            Self::Utf16Le | Self::Utf16Be => true,
            Self::Utf8 | Self::Utf8Bom | Self::Unknown => false,
        }
    }

    /// A sentence for a model, where the encoding needs one.
    pub const fn note(self) -> Option<&'static str> {
        match self {
            Self::Utf8 | Self::Utf8Bom => None,
            Self::Utf16Le => Some("The file is UTF-16 (little endian); edits keep that."),
            Self::Utf16Be => Some("The file is UTF-16 (big endian); edits keep that."),
            Self::Unknown => {
                Some("The file is not UTF-8: bytes that are not are shown as U+FFFD. Edits keep them as they are.")
            }
        }
    }
}

/// What the start of a file says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(Encoding),
    /// No text; the likely kind with its article, such as "a PNG image".
    Binary(&'static str),
}

/// Judges a file by its first bytes: at least [`SNIFF_BYTES`] of them, or all.
pub fn sniff(head: &[u8]) -> Content {
    let head = &head[..head.len().min(SNIFF_BYTES)];
    if head.starts_with(UTF16_LE_BOM) && !head.starts_with(&[0xFF, 0xFE, 0, 0]) {
        return Content::Text(Encoding::Utf16Le);
    }
    if head.starts_with(UTF16_BE_BOM) {
        return Content::Text(Encoding::Utf16Be);
    }
    if let Some((_, kind)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return Content::Binary(kind);
    }
    if memchr::memchr(0, head).is_some() {
        return Content::Binary(kind_with_nul(head));
    }
    match std::str::from_utf8(head) {
        Ok(_) => {}
        // A character that the end of the head cuts is no fault of the file's.
        Err(error) if error.error_len().is_none() && head.len() == SNIFF_BYTES => {}
        Err(_) if mostly_control(head) => return Content::Binary("binary data"),
        Err(_) => return Content::Text(Encoding::Unknown),
    }
    Content::Text(if head.starts_with(UTF8_BOM) { Encoding::Utf8Bom } else { Encoding::Utf8 })
}

/// The encoding of a text, or `BinaryFile` with the likely kind of what `path` (a virtual path) holds.
pub fn require_text(head: &[u8], path: &str) -> Result<Encoding> {
    match sniff(head) {
        Content::Text(encoding) => Ok(encoding),
        Content::Binary(kind) => Err(Error::new(
            ErrorKind::BinaryFile,
            format!("'{}' does not hold text: it looks like {kind}. It can only be read as bytes.", Shown(path)),
        )
        .with_path(path)
        .with_details(serde_json::json!({ "looksLike": kind, "mediaType": media_type(kind) }))),
    }
}

/// The media type of a kind that a model may be able to look at.
fn media_type(kind: &str) -> Option<&'static str> {
    match kind {
        "a PNG image" => Some("image/png"),
        "a JPEG image" => Some("image/jpeg"),
        "a GIF image" => Some("image/gif"),
        "a WebP image" => Some("image/webp"),
        "a PDF document" => Some("application/pdf"),
        _ => None,
    }
}

/// Signatures that need no NUL to be sure, and those whose kind is worth naming.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (&[0xFF, 0xD8, 0xFF], "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an office document)"),
    (&[0x1F, 0x8B, 0x08], "gzip data"),
    (&[0x28, 0xB5, 0x2F, 0xFD], "Zstandard data"),
    (b"\xFD7zXZ\0", "xz data"),
    (b"BZh91AY&SY", "bzip2 data"),
    (b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive"),
    (b"\x7FELF", "an ELF program or library"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (&[0xCA, 0xFE, 0xBA, 0xBE], "a Java class or a Mach-O program"),
    (&[0xCF, 0xFA, 0xED, 0xFE], "a Mach-O program"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"wOFF", "a web font"),
    (b"wOF2", "a web font"),
];

fn kind_with_nul(head: &[u8]) -> &'static str {
    match head {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "a WebP image",
        [b'R', b'I', b'F', b'F', ..] => "audio or video",
        [b'M', b'Z', ..] => "a Windows program",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "MP4 video",
        _ if head.get(257..262) == Some(b"ustar") => "a tar archive",
        _ if looks_like_bare_utf16(head) => "UTF-16 text without a byte order mark",
        _ => "binary data",
    }
}

/// Every other byte is NUL, as in UTF-16 of Western text.
fn looks_like_bare_utf16(head: &[u8]) -> bool {
    let nul = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (nul(0), nul(1), head.len() / 2);
    half > 1 && (even == 0 && odd * 10 > half * 9 || odd == 0 && even * 10 > half * 9)
}

fn mostly_control(head: &[u8]) -> bool {
    let control = head.iter().filter(|byte| matches!(byte, 0x01..=0x07 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)).count();
    control * CONTROL_RATIO > head.len()
}

/// How many bytes at the start of `bytes` end on a character border: all, but for a last character that is cut.
pub fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needed = match bytes[at] {
            0x00..=0x7F => 1,
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
        };
        return if needed > back { at } else { bytes.len() };
    }
    bytes.len()
}

/// A text file's bytes, opened for editing: UTF-8-like text to work on, and the way back.
#[derive(Debug)]
pub struct Document<'a> {
    /// The text: the file's own bytes, byte order mark included, or the UTF-16 units as UTF-8. A surrogate without its
    /// partner stands as the three bytes that UTF-8 forbids for it, so that it survives the way back.
    pub text: Cow<'a, [u8]>,
    /// The encoding of the file.
    pub encoding: Encoding,
    /// The last byte of a UTF-16 file of odd length.
    odd: Option<u8>,
}

impl<'a> Document<'a> {
    /// Opens the bytes of `path` (a virtual path, for the message). Errors: `BinaryFile`.
    pub fn open(bytes: &'a [u8], path: &str) -> Result<Self> {
        let encoding = require_text(bytes, path)?;
        if !encoding.is_utf16() {
            return Ok(Self { text: Cow::Borrowed(bytes), encoding, odd: None });
        }
        let units = &bytes[encoding.bom().len()..];
        let mut decoder = Utf16Decoder::new(encoding);
        let mut text = Vec::with_capacity(units.len());
        decoder.push(units, &mut text);
        let odd = decoder.finish(&mut text);
        Ok(Self { text: Cow::Owned(text), encoding, odd })
    }

    /// Where the first line begins: behind a byte order mark that is part of `text`.
    pub fn first_line_start(&self) -> usize {
        match self.encoding {
            Encoding::Utf8Bom => UTF8_BOM.len(),
            Encoding::Utf8 | Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Unknown => 0,
        }
    }

    /// Bytes of the file that `text_len` bytes of changed text make at most; exact but for UTF-16.
    pub fn encoded_len_at_most(&self, text_len: u64) -> u64 {
        if self.encoding.is_utf16() { text_len.saturating_mul(2).saturating_add(3) } else { text_len }
    }

    /// The file's bytes for a changed text.
    pub fn encode(&self, text: Vec<u8>) -> Vec<u8> {
        if !self.encoding.is_utf16() {
            return text;
        }
        let mut bytes = Vec::with_capacity(text.len() * 2 + 3);
        bytes.extend_from_slice(self.encoding.bom());
        let mut rest = text.as_slice();
        while let Some((unit_or_pair, used)) = next_units(rest) {
            for unit in unit_or_pair.into_iter().flatten() {
                let pair = if self.encoding == Encoding::Utf16Le { unit.to_le_bytes() } else { unit.to_be_bytes() };
                bytes.extend_from_slice(&pair);
            }
            rest = &rest[used..];
        }
        bytes.extend(self.odd);
        bytes
    }
}

/// The UTF-16 units of the first character of WTF-8 text, and the bytes it takes. A byte that is neither becomes U+FFFD.
fn next_units(text: &[u8]) -> Option<([Option<u16>; 2], usize)> {
    let first = *text.first()?;
    let continuation =
        |index: usize| text.get(index).filter(|byte| **byte & 0xC0 == 0x80).map(|byte| u32::from(byte & 0x3F));
    let decoded = match first {
        0x00..=0x7F => Some((u32::from(first), 1)),
        0xC2..=0xDF => continuation(1).map(|low| (u32::from(first & 0x1F) << 6 | low, 2)),
        0xE0..=0xEF => continuation(1)
            .zip(continuation(2))
            .map(|(middle, low)| (u32::from(first & 0x0F) << 12 | middle << 6 | low, 3)),
        0xF0..=0xF4 => continuation(1)
            .zip(continuation(2))
            .zip(continuation(3))
            .map(|((high, middle), low)| (u32::from(first & 0x07) << 18 | high << 12 | middle << 6 | low, 4)),
        _ => None,
    };
    let (code, used) = decoded.unwrap_or((0xFFFD, 1));
    let units = match u16::try_from(code) {
        Ok(unit) => [Some(unit), None],
        Err(_) => {
            let mut pair = [0; 2];
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf16(&mut pair);
            [Some(pair[0]), Some(pair[1]).filter(|low| *low != 0)]
        }
    };
    Some((units, used))
}

/// Decodes UTF-16 that comes in pieces.
#[derive(Debug)]
pub struct Utf16Decoder {
    low_first: bool,
    odd: Option<u8>,
    high: Option<u16>,
}

impl Utf16Decoder {
    /// For the units behind the byte order mark of a file in `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self { low_first: encoding == Encoding::Utf16Le, odd: None, high: None }
    }

    /// Appends the text of `bytes` to `text`; what a piece cuts waits for the next.
    pub fn push(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        for byte in bytes {
            match self.odd.take() {
                None => self.odd = Some(*byte),
                Some(first) => {
                    let pair = [first, *byte];
                    let unit = if self.low_first { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
                    self.unit(unit, text);
                }
            }
        }
    }

    /// Appends what waits, and gives back a last odd byte.
    pub fn finish(&mut self, text: &mut Vec<u8>) -> Option<u8> {
        if let Some(high) = self.high.take() {
            push_surrogate(high, text);
        }
        self.odd.take()
    }

    fn unit(&mut self, unit: u16, text: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            if let Some(Ok(character)) = char::decode_utf16([high, unit]).next() {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return;
            }
            push_surrogate(high, text);
        }
        match unit {
            0xD800..=0xDBFF => self.high = Some(unit),
            0xDC00..=0xDFFF => push_surrogate(unit, text),
            _ => {
                let character = char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// The three bytes that stand for a surrogate without its partner.
fn push_surrogate(unit: u16, text: &mut Vec<u8>) {
    let [high, low] = unit.to_be_bytes();
    text.extend_from_slice(&[0xE0 | high >> 4, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utf16(text: &str, encoding: Encoding) -> Vec<u8> {
        let units = text
            .encode_utf16()
            .flat_map(|unit| if encoding == Encoding::Utf16Le { unit.to_le_bytes() } else { unit.to_be_bytes() });
        encoding.bom().iter().copied().chain(units).collect()
    }

    #[test]
    fn judges_by_content() {
        let cut_character = [vec![b'a'; SNIFF_BYTES - 1], "é".into()].concat();
        let late_nul = [vec![b'a'; SNIFF_BYTES], vec![0]].concat();
        let bare: Vec<u8> = "plain text".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let table: Vec<(&[u8], Content)> = vec![
            (b"", Content::Text(Encoding::Utf8)),
            ("naïve 😀\n".as_bytes(), Content::Text(Encoding::Utf8)),
            (b"\xEF\xBB\xBFx", Content::Text(Encoding::Utf8Bom)),
            (b"\xFF\xFEa\0", Content::Text(Encoding::Utf16Le)),
            (b"\xFE\xFF\0a", Content::Text(Encoding::Utf16Be)),
            (b"caf\xE9 au lait\n", Content::Text(Encoding::Unknown)),
            (&cut_character, Content::Text(Encoding::Utf8)),
            (&late_nul, Content::Text(Encoding::Utf8)),
            (b"\x1b[31mred\x1b[0m\n", Content::Text(Encoding::Utf8)),
            (b"a\0b", Content::Binary("binary data")),
            (b"\x80\x01\x02\x03\x04", Content::Binary("binary data")),
            (b"\x89PNG\r\n\x1a\n...", Content::Binary("a PNG image")),
            (b"%PDF-1.7\n", Content::Binary("a PDF document")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Content::Binary("a WebP image")),
            (b"\x7FELF\x02\x01", Content::Binary("an ELF program or library")),
            (&bare, Content::Binary("UTF-16 text without a byte order mark")),
        ];
        for (bytes, expected) in table {
            assert_eq!(sniff(bytes), expected, "{:?}", &bytes[..bytes.len().min(20)]);
        }
    }

    #[test]
    fn a_binary_file_is_refused_with_its_likely_kind() {
        let error = require_text(b"\x89PNG\r\n\x1a\n", "/work/logo.txt").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BinaryFile);
        assert_eq!(
            error.message(),
            "'/work/logo.txt' does not hold text: it looks like a PNG image. It can only be read as bytes."
        );
    }

    #[test]
    fn utf16_is_decoded_and_comes_back_byte_for_byte() {
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
            let bytes = utf16("Grüße 😀\r\n", encoding);
            let document = Document::open(&bytes, "/f").unwrap();
            assert_eq!(document.text, "Grüße 😀\r\n".as_bytes());
            assert_eq!(document.encode(document.text.to_vec()), bytes);
        }
    }

    #[test]
    fn cuts_on_character_borders() {
        let table: [(&[u8], usize); 7] = [
            (b"", 0),
            (b"ab", 2),
            ("aé".as_bytes(), 3),
            (b"a\xC3", 1),
            (b"a\xE2\x82", 1),
            (b"a\xF0\x9F\x98", 1),
            (b"\x80\x80", 2),
        ];
        for (bytes, expected) in table {
            assert_eq!(whole_characters(bytes), expected, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_utf16_bytes_come_back(units in proptest::collection::vec(any::<u16>(), 0..40), odd in any::<bool>(), low in any::<bool>()) {
            let encoding = if low { Encoding::Utf16Le } else { Encoding::Utf16Be };
            let mut bytes = encoding.bom().to_vec();
            for unit in units {
                bytes.extend(if low { unit.to_le_bytes() } else { unit.to_be_bytes() });
            }
            if odd {
                bytes.push(7);
            }
            if let Ok(document) = Document::open(&bytes, "/f") {
                prop_assert_eq!(document.encode(document.text.to_vec()), bytes);
            }
        }
    }
}
