//! Reads a window of lines out of a file of any size, holding a few hundred KiB and no more.
//!
//! The file is anything that can be read at a position ([`ReadAt`]). What lies before the window is only counted; what
//! lies behind it is not read, unless the file is small enough to count all its lines.

use std::io;

use memchr::{memchr, memchr_iter, memrchr};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    let mut collector = Collector::new(limit, max_bytes);
    let count_all = request.size <= request.count_lines_bytes;
    let (mut to_skip, mut ended, mut last) = (offset, 0_u64, b'\n');
    let mut more = false;
    let mut reached_end = true;

    while let Some(mut chunk) = chunks.next()? {
        if let Some(byte) = chunk.last() {
            last = *byte;
        }
        if to_skip > 0 {
            let (skipped, used) = skip_lines(chunk, to_skip);
            to_skip -= skipped;
            ended += skipped;
            chunk = &chunk[used..];
        }
        if to_skip == 0 && !collector.done {
            let before = collector.ended;
            let used = collector.take(chunk);
            ended += collector.ended - before;
            chunk = &chunk[used..];
        }
        if collector.done {
            more |= !chunk.is_empty();
            if !count_all {
                more |= chunks.remaining();
                reached_end = !more;
                break;
            }
            ended += memchr_iter(b'\n', chunk).count() as u64;
        }
    }

    let total = ended + u64::from(last != b'\n');
    let (lines, content, cut) = collector.finish();
    if offset > 0 && lines == 0 {
        return Err(past_the_end(request.path, offset, total));
    }
    let mut encoding = chunks.encoding;
    let content = String::from_utf8(content).unwrap_or_else(|error| {
        encoding = if encoding.is_utf16() { encoding } else { Encoding::Unknown };
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    });
    Ok(TextWindow {
        content,
        lines,
        total_lines: reached_end.then_some(total),
        next_offset: more.then(|| offset + lines),
        truncated: more || cut,
        encoding,
    })
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

/// Gathers the window's lines.
struct Collector {
    text: Vec<u8>,
    /// Whole lines gathered.
    lines: u64,
    /// `\n` consumed.
    ended: u64,
    /// Where in `text` the line begins that has not ended yet.
    line_start: usize,
    limit: u64,
    max_bytes: usize,
    /// The first line alone is over the budget: its rest is passed over.
    cut: bool,
    done: bool,
}

impl Collector {
    fn new(limit: u64, max_bytes: u64) -> Self {
        // Four bytes hold any one character, so that a window is never empty for want of room.
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX).max(4);
        Self { text: Vec::new(), lines: 0, ended: 0, line_start: 0, limit, max_bytes, cut: false, done: false }
    }

    /// Takes what belongs to the window and returns how many bytes of `chunk` it used up.
    fn take(&mut self, chunk: &[u8]) -> usize {
        if self.cut {
            return self.pass_over(chunk);
        }
        let room = self.max_bytes - self.text.len();
        // Counting is several times faster than finding: a chunk that belongs to the window as a whole is taken so.
        let ended = memchr_iter(b'\n', chunk).count() as u64;
        if chunk.len() <= room && self.lines + ended < self.limit {
            self.text.extend_from_slice(chunk);
            if let Some(last) = memrchr(b'\n', chunk) {
                self.line_start = self.text.len() - (chunk.len() - last - 1);
            }
            self.lines += ended;
            self.ended = self.lines;
            return chunk.len();
        }
        let mut end = 0;
        for at in memchr_iter(b'\n', chunk) {
            if at >= room {
                break;
            }
            end = at + 1;
            self.lines += 1;
            if self.lines == self.limit {
                self.done = true;
                break;
            }
        }
        if end > 0 {
            self.text.extend_from_slice(&chunk[..end]);
            self.line_start = self.text.len();
            self.ended = self.lines;
        }
        let rest = &chunk[end..];
        if self.done {
            return end;
        }
        // What is left is one line, or its beginning: it fits as a whole, or the window ends before it.
        let room = self.max_bytes - self.text.len();
        let line = memchr(b'\n', rest).map_or(rest, |at| &rest[..=at]);
        if line.len() <= room {
            self.text.extend_from_slice(line);
            return chunk.len();
        }
        if self.lines > 0 {
            self.text.truncate(self.line_start);
            self.done = true;
            return end;
        }
        self.text.extend_from_slice(&line[..room]);
        self.text.truncate(whole_characters(&self.text));
        self.cut = true;
        end + self.pass_over(rest)
    }

    fn pass_over(&mut self, chunk: &[u8]) -> usize {
        match memchr(b'\n', chunk) {
            None => chunk.len(),
            Some(at) => {
                self.ended += 1;
                self.done = true;
                at + 1
            }
        }
    }

    /// The lines, their text, and whether the last was cut.
    fn finish(self) -> (u64, Vec<u8>, bool) {
        let unended = self.cut || self.text.len() > self.line_start;
        (self.lines + u64::from(unended), self.text, self.cut)
    }
}

/// The text of a source, chunk by chunk.
struct Chunks<'a, S> {
    source: &'a mut S,
    request: &'a WindowRequest<'a>,
    buffer: Vec<u8>,
    position: u64,
    encoding: Encoding,
    decoder: Option<Utf16Decoder>,
    decoded: Vec<u8>,
}

impl<'a, S: ReadAt> Chunks<'a, S> {
    fn new(source: &'a mut S, request: &'a WindowRequest<'a>) -> Self {
        Self {
            source,
            request,
            buffer: Vec::new(),
            position: 0,
            encoding: Encoding::Utf8,
            decoder: None,
            decoded: Vec::new(),
        }
    }

    /// Whether text lies behind the last chunk. A single last byte of UTF-16 is none.
    fn remaining(&self) -> bool {
        self.request.size.saturating_sub(self.position) >= if self.decoder.is_some() { 2 } else { 1 }
    }

    fn next(&mut self) -> Result<Option<&[u8]>> {
        self.request.deadline.check()?;
        let first = self.position == 0;
        let filled = self.fill(CHUNK)?;
        if filled == 0 {
            return Ok(None);
        }
        let mut start = 0;
        if first {
            self.encoding = require_text(&self.buffer[..filled], self.request.path)?;
            start = self.encoding.bom().len();
            self.decoder = self.encoding.is_utf16().then(|| Utf16Decoder::new(self.encoding));
        }
        let read = &self.buffer[start..filled];
        let Some(decoder) = &mut self.decoder else { return Ok(Some(read)) };
        self.decoded.clear();
        decoder.push(read, &mut self.decoded);
        if self.position >= self.request.size {
            decoder.finish(&mut self.decoded);
        }
        Ok(Some(&self.decoded))
    }

    /// Reads until `wanted` bytes or the end.
    fn fill(&mut self, wanted: usize) -> Result<usize> {
        let left = usize::try_from(self.request.size.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let wanted = wanted.min(left);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let mut filled = 0;
        while filled < wanted {
            match self.source.read_at(self.position, &mut self.buffer[filled..wanted]) {
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

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
