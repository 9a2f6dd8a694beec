//! Reads a window of lines out of a file of any size, holding a few hundred KiB and no more.
//!
//! The file is anything that can be read at a position ([`ReadAt`]). What lies before the window is only counted; what
//! lies behind it is not read, unless the file is small enough to count all its lines.

use std::io;

use memchr::{memchr, memchr_iter, memrchr};
use serde::{Deserialize, Serialize};

use super::encoding::{Encoding, SNIFF_BYTES, Utf16Decoder, require_text, whole_characters};
use super::numbered::View;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result, Shown};

/// Bytes of one read: 64 KiB. A source file in one system call, and a buffer that stays in a processor's cache while it
/// is counted.
const CHUNK: usize = 64 << 10;

const _: () = assert!(CHUNK >= SNIFF_BYTES, "the first chunk decides what the file is");

/// Something that can be read at a position, such as a file or a slice.
pub trait ReadAt {
    /// Reads at `offset` into `buffer`. Returns how many bytes were read; 0 only at the end. May read fewer than fit.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for &[u8] {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }
}

#[cfg(unix)]
impl ReadAt for &std::fs::File {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(*self, buffer, offset)
    }
}

#[cfg(windows)]
impl ReadAt for &std::fs::File {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(*self, buffer, offset)
    }
}

/// Which lines to read. Offsets and limits count lines; lines are split on `\n` only, and a `\r` belongs to its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Lines to skip.
    pub offset: u64,
    /// Lines to return.
    pub limit: u64,
    /// Bytes of text to return; a window that would be larger ends at the last whole line that fits (at least one line
    /// is returned, cut if it must be).
    pub max_bytes: u64,
}

/// One read: which window of which file, and what bounds it.
#[derive(Debug, Clone, Copy)]
pub struct WindowRequest<'a> {
    /// The lines.
    pub window: Window,
    /// Bytes of the file; no more are read, should it grow meanwhile.
    pub size: u64,
    /// Bytes up to which all lines are counted: `Limits::count_lines_bytes`.
    pub count_lines_bytes: u64,
    /// The virtual path, for messages.
    pub path: &'a str,
    /// Checked between reads.
    pub deadline: &'a Deadline,
}

/// A window of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextWindow {
    /// The lines as they are, each with its own line end, decoded. A byte order mark is not among them.
    pub content: String,
    /// Lines in `content`.
    pub lines: u64,
    /// Lines of the whole file; `None` when the file is larger than `count_lines_bytes` and its end was not reached.
    pub total_lines: Option<u64>,
    /// The offset of the line behind the window; `None` when there is none.
    pub next_offset: Option<u64>,
    /// Whether `content` ends before the file does: more lines follow, or the last line was cut. A line was cut exactly
    /// when `truncated` and `content` does not end with `\n`.
    pub truncated: bool,
    /// The encoding; `Unknown` when a byte in the window is not UTF-8.
    pub encoding: Encoding,
}

impl TextWindow {
    /// This window, read at `offset`, for showing.
    pub fn view(&self, offset: u64) -> View<'_> {
        View {
            content: &self.content,
            offset,
            total_lines: self.total_lines,
            next_offset: self.next_offset,
            truncated: self.truncated,
        }
    }
}

/// Reads a window.
///
/// An empty file is 0 lines and no error (D1). Errors: `InvalidInput` for a limit of 0 (D2) and for an offset past the
/// end, which states the length (D94); `BinaryFile`; `Io`; `Timeout` and `Aborted` from the deadline.
pub fn read(source: &mut impl ReadAt, request: &WindowRequest<'_>) -> Result<TextWindow> {
    let Window { offset, limit, max_bytes } = request.window;
    if limit == 0 {
        return Err(Error::invalid("The limit must be at least 1 line.").with_path(request.path));
    }
    let mut chunks = Chunks::new(source, request);
    let mut text = Vec::new();

    // What lies before the window is counted, each chunk over the last.
    let (mut ended, mut start, mut length) = (0, 0, 0);
    while ended < offset {
        let Some(read) = chunks.over(&mut text)? else {
            return Err(past_the_end(request.path, offset, ended + chunks.unended()));
        };
        let (skipped, used) = skip_lines(&text[..read], offset - ended);
        (ended, start, length) = (ended + skipped, used, read);
    }
    text.truncate(length);

    // The window itself is read into the buffer that becomes its content.
    let mut found = Found::new(start, limit, max_bytes);
    let mut from = start;
    while !found.take(&text, from) {
        from = text.len();
        if from > start {
            let wanted = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(chunks.remaining());
            text.reserve(wanted.saturating_add(CHUNK).min(chunks.remaining()));
        }
        if !chunks.append(&mut text)? {
            break;
        }
    }
    let lines = found.finish(&text);
    if offset > 0 && lines == 0 {
        return Err(past_the_end(request.path, offset, ended));
    }
    ended += found.ended;

    // What lies behind it is counted where the file is small enough, and else only noticed.
    let mut scratch = Vec::new();
    let mut behind = &text[found.behind..];
    while found.passing_over {
        let Some(read) = chunks.over(&mut scratch)? else { break };
        behind = &[];
        if let Some(at) = memchr(b'\n', &scratch[..read]) {
            found.passing_over = false;
            ended += 1;
            behind = &scratch[at + 1..read];
            break;
        }
    }
    let more = !behind.is_empty() || chunks.remaining() > 0;
    let count_all = request.size <= request.count_lines_bytes;
    if more && count_all {
        ended += memchr_iter(b'\n', behind).count() as u64;
        while let Some(read) = chunks.over(&mut scratch)? {
            ended += memchr_iter(b'\n', &scratch[..read]).count() as u64;
        }
    }
    let total_lines = (count_all || !more).then(|| ended + chunks.unended());

    text.truncate(found.end);
    text.drain(..start);
    let mut encoding = chunks.encoding;
    let content = String::from_utf8(text).unwrap_or_else(|error| {
        encoding = if encoding.is_utf16() { encoding } else { Encoding::Unknown };
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    });
    let next_offset = more.then(|| offset + lines);
    Ok(TextWindow { content, lines, total_lines, next_offset, truncated: more || found.cut, encoding })
}

fn past_the_end(path: &str, offset: u64, total: u64) -> Error {
    let hint = match total {
        0 => "The file is empty.".to_owned(),
        _ => format!("The last line is at offset {}.", total - 1),
    };
    Error::invalid(format!("Offset {offset} exceeds file length ({total} lines) of '{}'. {hint}", Shown(path)))
        .with_path(path)
        .with_details(serde_json::json!({ "reason": "offset_past_end", "offset": offset, "totalLines": total }))
}

/// Skips up to `wanted` lines: how many ended in `chunk`, and where the first line that is not skipped begins.
fn skip_lines(chunk: &[u8], wanted: u64) -> (u64, usize) {
    // Counting is several times faster than finding, and all chunks but one are skipped whole.
    let ended = memchr_iter(b'\n', chunk).count() as u64;
    if ended < wanted {
        return (ended, chunk.len());
    }
    let index = usize::try_from(wanted - 1).ok().and_then(|nth| memchr_iter(b'\n', chunk).nth(nth));
    (wanted, index.map_or(chunk.len(), |at| at + 1))
}

/// Where the window's lines are in what was read.
struct Found {
    start: usize,
    /// Behind the last line that belongs to the window.
    end: usize,
    /// Behind the line end that the window's last line has in the file: where what is not shown begins.
    behind: usize,
    /// Whole lines of the window.
    lines: u64,
    /// Their line ends, that of a cut line included.
    ended: u64,
    limit: u64,
    max_bytes: usize,
    /// The first line alone is over the budget.
    cut: bool,
    /// The end of the cut line has not been read yet.
    passing_over: bool,
}

impl Found {
    fn new(start: usize, limit: u64, max_bytes: u64) -> Self {
        // Four bytes hold any one character, so that a window is never empty for want of room.
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX).max(4);
        let at = start;
        Self { start, end: at, behind: at, lines: 0, ended: 0, limit, max_bytes, cut: false, passing_over: false }
    }

    /// Looks at what was read from `from` on. Whether the window is complete.
    fn take(&mut self, text: &[u8], from: usize) -> bool {
        let chunk = &text[from..];
        let fits = text.len() - self.start <= self.max_bytes;
        // Counting is several times faster than finding: a chunk that belongs to the window as a whole is taken so.
        let ended = if fits { memchr_iter(b'\n', chunk).count() as u64 } else { 0 };
        if fits && self.lines + ended < self.limit {
            if let Some(last) = memrchr(b'\n', chunk) {
                self.end = from + last + 1;
            }
            self.lines += ended;
            self.ended = self.lines;
            return false;
        }
        for at in memchr_iter(b'\n', chunk) {
            if from + at >= self.start.saturating_add(self.max_bytes) {
                break;
            }
            self.end = from + at + 1;
            self.lines += 1;
            if self.lines == self.limit {
                break;
            }
        }
        self.ended = self.lines;
        self.behind = self.end;
        if self.lines == 0 {
            let (kept, cut) = text[self.start..].split_at(self.max_bytes);
            self.end = self.start + whole_characters(kept);
            self.cut = true;
            let line_end = memchr(b'\n', cut);
            self.passing_over = line_end.is_none();
            self.ended = u64::from(line_end.is_some());
            self.behind = line_end.map_or(text.len(), |at| self.start + self.max_bytes + at + 1);
        }
        true
    }

    /// The count of the window's lines, with one that was cut and one that the end of the file ends.
    fn finish(&mut self, text: &[u8]) -> u64 {
        if self.cut {
            return 1;
        }
        if self.behind == self.start && self.end < text.len() {
            // The file ended before the window did.
            self.end = text.len();
            self.lines += 1;
        }
        self.behind = self.behind.max(self.end);
        self.lines
    }
}

/// The text of a source, chunk by chunk.
struct Chunks<'a, S> {
    source: &'a mut S,
    request: &'a WindowRequest<'a>,
    position: u64,
    encoding: Encoding,
    decoder: Option<Utf16Decoder>,
    /// The bytes of a chunk that is decoded.
    raw: Vec<u8>,
    /// The last byte of text so far.
    last: u8,
}

impl<'a, S: ReadAt> Chunks<'a, S> {
    fn new(source: &'a mut S, request: &'a WindowRequest<'a>) -> Self {
        Self { source, request, position: 0, encoding: Encoding::Utf8, decoder: None, raw: Vec::new(), last: b'\n' }
    }

    /// Bytes that are not read yet. A single last byte of UTF-16 is no text.
    fn remaining(&self) -> usize {
        let bytes = usize::try_from(self.request.size.saturating_sub(self.position)).unwrap_or(usize::MAX);
        if self.decoder.is_some() { bytes / 2 * 2 } else { bytes }
    }

    /// 1 when the text so far ends in a line without an end.
    fn unended(&self) -> u64 {
        u64::from(self.last != b'\n')
    }

    /// Reads the next chunk over what is in `text`, and says how long it is; what lies behind that is left over. `None` at
    /// the end. Where a file is only counted this spares clearing the buffer for each chunk, a sixth of the time.
    fn over(&mut self, text: &mut Vec<u8>) -> Result<Option<usize>> {
        if self.position == 0 || self.decoder.is_some() {
            text.clear();
            return Ok(self.append(text)?.then_some(text.len()));
        }
        self.request.deadline.check()?;
        let read = self.fill(text, 0)?;
        if let Some(last) = read.checked_sub(1) {
            self.last = text[last];
        }
        Ok((read > 0).then_some(read))
    }

    /// Appends the next chunk to `text`; `false` at the end.
    fn append(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        self.request.deadline.check()?;
        let first = self.position == 0;
        let start = text.len();
        if self.decoder.is_none() {
            let end = self.fill(text, start)?;
            text.truncate(end);
            if end == start {
                return Ok(false);
            }
            if first {
                self.encoding = require_text(&text[start..], self.request.path)?;
                text.drain(start..start + self.encoding.bom().len());
                if self.encoding.is_utf16() {
                    self.raw = text.split_off(start);
                    self.decoder = Some(Utf16Decoder::new(self.encoding));
                }
            }
        } else {
            let mut raw = std::mem::take(&mut self.raw);
            let end = self.fill(&mut raw, 0)?;
            raw.truncate(end);
            self.raw = raw;
            if end == 0 {
                return Ok(false);
            }
        }
        if let Some(decoder) = &mut self.decoder {
            decoder.push(&self.raw, text);
            if self.position >= self.request.size {
                decoder.finish(text);
            }
        }
        if text.len() > start {
            self.last = text[text.len() - 1];
        }
        Ok(true)
    }

    /// Reads a chunk, or what is left, into `buffer` from `start` on, and says where it ends: at `start` at the end of the
    /// source. `buffer` may be longer than that afterwards.
    fn fill(&mut self, buffer: &mut Vec<u8>, start: usize) -> Result<usize> {
        let left = usize::try_from(self.request.size.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let end = start + CHUNK.min(left);
        clear_up_to(buffer, end);
        let mut filled = start;
        while filled < end {
            match self.source.read_at(self.position, &mut buffer[filled..end]) {
                Ok(0) => {
                    // Shorter than it was: what is gone is not waited for.
                    self.position = self.request.size;
                    break;
                }
                Ok(read) => {
                    filled += read;
                    self.position += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    let message = format!("Reading '{}' failed.", Shown(self.request.path));
                    return Err(Error::new(ErrorKind::Io, message).with_path(self.request.path));
                }
            }
        }
        Ok(filled)
    }
}

/// Makes `buffer` at least `end` bytes long. Block by block: built for size, `resize` goes byte by byte, which takes longer
/// than the read itself.
fn clear_up_to(buffer: &mut Vec<u8>, end: usize) {
    const ZEROS: [u8; 4096] = [0; 4096];
    buffer.reserve(end.saturating_sub(buffer.len()));
    while buffer.len() < end {
        buffer.extend_from_slice(&ZEROS[..ZEROS.len().min(end - buffer.len())]);
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
