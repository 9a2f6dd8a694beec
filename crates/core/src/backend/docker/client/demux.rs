//! The output of a program inside: frames of two streams on one connection.
//!
//! A frame is its stream (1 or 2), three zeros, `u32` bytes that follow with the high byte first, and the bytes. These are
//! data whatever they look like: nothing in them begins a frame.

use std::future::poll_fn;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, ReadBuf};

use super::http::Reader;
use crate::text::ansi;

/// The head of a frame.
const HEAD: usize = 8;
/// What the engine calls standard output.
const OUTPUT: u8 = 1;
/// The highest number of a stream that there is: standard input, output, errors, and the engine's own errors.
const LAST: u8 = 3;
/// 4 KiB of what is said besides are kept: the end of it.
const SAID_BYTES: usize = 4 << 10;
/// 64 KiB are read at once.
const READ_BYTES: usize = 64 << 10;

/// Bytes of one stream, and its number.
type Piece = (u8, Vec<u8>);

/// The output of a program inside. Read as bytes it is standard output alone.
pub(in crate::backend::docker) struct Output {
    reader: Reader,
    /// Bytes that came and were not looked at yet.
    buffer: Vec<u8>,
    taken: usize,
    /// Of the frame that was begun.
    stream: u8,
    left: usize,
    said: Said,
}

/// What came on no stream that is read: errors, and what is no frame. It says why where a program never begins.
#[derive(Clone, Default)]
pub(in crate::backend::docker) struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    fn keep(&self, bytes: &[u8]) {
        let mut said = self.0.lock();
        said.extend(bytes);
        let cut = said.len().saturating_sub(SAID_BYTES);
        said.drain(..cut);
    }

    /// It as plain text; `None` where nothing was said.
    pub(in crate::backend::docker) fn text(&self) -> Option<String> {
        let said = String::from_utf8_lossy(&self.0.lock()).into_owned();
        Some(ansi::strip(said.trim())).filter(|said| !said.is_empty())
    }
}

impl Output {
    /// `came` is what was read of the stream already.
    pub(in crate::backend::docker) fn new(reader: Reader, came: Vec<u8>) -> Self {
        Self { reader, buffer: came, taken: 0, stream: 0, left: 0, said: Said::default() }
    }

    /// What is said besides, also later.
    pub(in crate::backend::docker) fn said(&self) -> Said {
        self.said.clone()
    }

    /// The next bytes and the number of their stream; `None` at the end.
    pub(in crate::backend::docker) async fn piece(&mut self) -> Result<Option<Piece>> {
        poll_fn(|context| self.poll_piece(context, READ_BYTES)).await
    }

    fn poll_piece(&mut self, context: &mut Context<'_>, most: usize) -> Poll<Result<Option<Piece>>> {
        loop {
            if let Some(piece) = self.take(most)? {
                return Poll::Ready(Ok(Some(piece)));
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let before = self.buffer.len();
            self.buffer.resize(before + READ_BYTES, 0);
            let mut room = ReadBuf::new(&mut self.buffer[before..]);
            let read = Pin::new(&mut self.reader).poll_read(context, &mut room);
            let count = room.filled().len();
            self.buffer.truncate(before + count);
            ready!(read)?;
            if count == 0 {
                // In the middle of a frame it is no end.
                let whole = self.left == 0 && self.buffer.is_empty();
                return Poll::Ready(if whole { Ok(None) } else { Err(Error::from(ErrorKind::UnexpectedEof)) });
            }
        }
    }

    /// Takes what is there of one frame, at most so many bytes.
    fn take(&mut self, most: usize) -> Result<Option<Piece>> {
        while self.left == 0 {
            let Some(head) = self.buffer[self.taken..].first_chunk::<HEAD>() else { return Ok(None) };
            let [stream, zeros @ .., a, b, c, d] = *head;
            if stream > LAST || zeros != [0; 3] {
                self.said.keep(&self.buffer[self.taken..]);
                return Err(Error::from(ErrorKind::InvalidData));
            }
            self.stream = stream;
            self.left = u32::from_be_bytes([a, b, c, d]) as usize;
            self.taken += HEAD;
        }
        let rest = &self.buffer[self.taken..];
        let count = rest.len().min(self.left).min(most);
        if count == 0 {
            return Ok(None);
        }
        let piece = rest[..count].to_vec();
        self.taken += count;
        self.left -= count;
        Ok(Some((self.stream, piece)))
    }
}

impl AsyncRead for Output {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        while out.remaining() > 0 {
            match ready!(self.poll_piece(context, out.remaining()))? {
                Some((OUTPUT, bytes)) => {
                    out.put_slice(&bytes);
                    break;
                }
                Some((_, bytes)) => self.said.keep(&bytes),
                None => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
