//! HTTP/1.1 as an engine speaks it: one request and one answer a connection.
//!
//! An answer is decoded piece by piece from a buffer that is bounded; a line or a head without an end is nonsense, not a
//! reason to hold more of it.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::{Failure, lost};

/// 16 KiB of one line: a header of an engine has hundreds of bytes.
const LINE_BYTES: usize = 16 << 10;
/// 64 lines of one head.
const HEAD_LINES: usize = 64;
/// 64 KiB are read at once.
const READ_BYTES: usize = 64 << 10;

/// What an answer is read from.
pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// What a request is written to.
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The head of a request. `path` is escaped, the other words are ours.
pub(super) fn request(method: &str, path: &str, kind: Option<&str>, length: usize, upgrade: bool) -> String {
    let connection = if upgrade { "Upgrade\r\nUpgrade: tcp" } else { "close" };
    let kind = kind.map(|kind| format!("Content-Type: {kind}\r\n")).unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: docker\r\nUser-Agent: gloveport\r\nConnection: {connection}\r\n{kind}\
         Content-Length: {length}\r\n\r\n"
    )
}

/// An answer, its head read.
pub(super) struct Answer {
    pub(super) status: u16,
    /// The version of the interface that the engine says it speaks.
    pub(super) api_version: Option<String>,
    body: Body,
    source: Source,
    /// Held while the answer is read: some engines give up a request whose sender has gone.
    writer: Writer,
}

/// What follows of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes.
    Bytes(u64),
    /// Chunks; so many bytes of the one that was begun.
    Chunks(u64),
    /// Whatever comes until the end of the connection.
    Rest,
    /// Nothing more.
    Over,
}

impl Answer {
    /// Reads the head. What says that it goes on later (100) is skipped.
    pub(super) async fn read(reader: Reader, writer: Writer, upgrade: bool, headless: bool) -> Result<Self, Failure> {
        let mut source = Source { reader, buffer: Vec::new(), taken: 0 };
        loop {
            let first = source.line().await?.ok_or(Failure::Lost("the connection broke"))?;
            let status = status(&first).ok_or(Failure::Nonsense)?;
            let mut body = Body::Rest;
            let mut api_version = None;
            let mut ended = false;
            for _ in 0..HEAD_LINES {
                let line = source.line().await?.ok_or(Failure::Lost("the connection broke"))?;
                if line.is_empty() {
                    ended = true;
                    break;
                }
                let (name, value) = line.split_once(':').ok_or(Failure::Nonsense)?;
                let value = value.trim();
                match name.to_ascii_lowercase().as_str() {
                    // Chunks win over a length, wherever they stand: the other reading is how requests are smuggled.
                    "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => body = Body::Chunks(0),
                    "transfer-encoding" if !value.eq_ignore_ascii_case("identity") => return Err(Failure::Nonsense),
                    "content-length" if body == Body::Rest => {
                        body = Body::Bytes(value.parse().map_err(|_| Failure::Nonsense)?);
                    }
                    "api-version" => api_version = Some(value.to_owned()),
                    _ => {}
                }
            }
            if !ended {
                return Err(Failure::Nonsense);
            }
            match status {
                101 if upgrade => body = Body::Rest,
                100..=199 => continue,
                204 | 304 => body = Body::Over,
                _ if headless => body = Body::Over,
                _ => {}
            }
            return Ok(Self { status, api_version, body, source, writer });
        }
    }

    /// The next bytes of the body; `None` at its end. A body that ends too early is an error.
    pub(super) async fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.body == Body::Chunks(0) {
            let size = self.source.line().await?.ok_or(Failure::Lost("the connection broke"))?;
            let size = size.split(';').next().unwrap_or_default().trim();
            // A sign would be taken by the parser, and is none of a size.
            if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(Failure::Nonsense);
            }
            match u64::from_str_radix(size, 16).map_err(|_| Failure::Nonsense)? {
                // What may follow says nothing, and the connection is not used again.
                0 => self.body = Body::Over,
                size => self.body = Body::Chunks(size),
            }
        }
        let most = match self.body {
            Body::Bytes(left) | Body::Chunks(left) => left,
            Body::Rest => u64::MAX,
            Body::Over => 0,
        };
        if most == 0 {
            return Ok(None);
        }
        let Some(piece) = self.source.some(usize::try_from(most).unwrap_or(usize::MAX)).await? else {
            return if self.body == Body::Rest { Ok(None) } else { Err(Failure::Lost("the connection broke")) };
        };
        let left = most - piece.len() as u64;
        match &mut self.body {
            Body::Bytes(rest) => *rest = left,
            Body::Chunks(rest) => {
                *rest = left;
                if left == 0 && self.source.line().await?.is_none_or(|line| !line.is_empty()) {
                    return Err(Failure::Nonsense);
                }
            }
            Body::Rest | Body::Over => {}
        }
        Ok(Some(piece))
    }

    /// The whole body, of at most so many bytes.
    pub(super) async fn whole(&mut self, most: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece().await? {
            if bytes.len() + piece.len() > most {
                return Err(Failure::Nonsense);
            }
            bytes.extend(piece);
        }
        Ok(bytes)
    }

    /// The connection as it is behind the head: what is read from it, what was read already, what is written to.
    pub(super) fn into_stream(self) -> (Reader, Vec<u8>, Writer) {
        let Source { reader, mut buffer, taken } = self.source;
        buffer.drain(..taken);
        (reader, buffer, self.writer)
    }
}

/// `HTTP/1.1 200 OK`.
fn status(line: &str) -> Option<u16> {
    let mut words = line.split(' ');
    words.next().filter(|word| matches!(*word, "HTTP/1.1" | "HTTP/1.0"))?;
    let number = words.next()?;
    if number.len() == 3 { number.parse().ok().filter(|status| *status >= 100) } else { None }
}

/// Bytes that come.
struct Source {
    reader: Reader,
    buffer: Vec<u8>,
    taken: usize,
}

impl Source {
    /// A line without its end; `None` where nothing comes any more.
    async fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut searched = self.taken;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let line = &self.buffer[self.taken..searched + at];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let line = std::str::from_utf8(line).map_err(|_| Failure::Nonsense)?.to_owned();
                self.taken = searched + at + 1;
                return Ok(Some(line));
            }
            if self.buffer.len() - self.taken > LINE_BYTES {
                return Err(Failure::Nonsense);
            }
            searched = self.buffer.len() - self.make_room();
            if !self.fill().await? {
                return if self.taken == self.buffer.len() { Ok(None) } else { Err(Failure::Nonsense) };
            }
        }
    }

    /// Some bytes, at least one and at most `most`; `None` where nothing comes any more.
    async fn some(&mut self, most: usize) -> Result<Option<Vec<u8>>, Failure> {
        if self.taken == self.buffer.len() {
            self.make_room();
            if !self.fill().await? {
                return Ok(None);
            }
        }
        let end = self.buffer.len().min(self.taken.saturating_add(most));
        let piece = self.buffer[self.taken..end].to_vec();
        self.taken = end;
        Ok(Some(piece))
    }

    /// Drops what was taken; so many bytes.
    fn make_room(&mut self) -> usize {
        self.buffer.drain(..self.taken);
        std::mem::take(&mut self.taken)
    }

    async fn fill(&mut self) -> Result<bool, Failure> {
        let before = self.buffer.len();
        self.buffer.resize(before + READ_BYTES, 0);
        let read = self.reader.read(&mut self.buffer[before..]).await;
        let count = match read {
            Ok(count) => count,
            Err(error) => {
                self.buffer.truncate(before);
                return Err(lost(error));
            }
        };
        self.buffer.truncate(before + count);
        Ok(count > 0)
    }
}
