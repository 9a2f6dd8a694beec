//! The decoders of this client for the fuzz target `engine`, which is all that this is built for.

use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf, sink};

use super::super::trace::Trace;
use super::http::Answer;
use super::{Output, message};

/// 1 MiB: more than is given.
const MOST: usize = 1 << 20;

/// Bytes that come in pieces of at most so many.
struct Pieces(Vec<u8>, usize, usize);

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let Self(bytes, taken, most) = &mut *self;
        let count = (*most).min(out.remaining()).min(bytes.len() - *taken);
        out.put_slice(&bytes[*taken..*taken + count]);
        *taken += count;
        Poll::Ready(Ok(()))
    }
}

/// Takes `bytes`, in pieces of `piece`, for everything that an engine may say.
///
/// # Panics
///
/// Where more comes out than went in.
pub async fn hear(bytes: &[u8], piece: usize) {
    let pieces = || Pieces(bytes.to_vec(), 0, piece);
    for upgrade in [false, true] {
        if let Ok(mut answer) = Answer::read(Box::new(pieces()), Box::new(sink()), upgrade, false).await
            && let Ok(body) = answer.whole(MOST).await
        {
            assert!(body.len() < bytes.len(), "a body is what is behind a head");
        }
    }
    let mut output = Vec::new();
    let _ = Output::new(Box::new(pieces()), Vec::new()).read_to_end(&mut output).await;
    assert!(output.len() <= bytes.len(), "output is what is in frames");
    let _ = message(bytes, &mut |_| ());
    let mut trace = Trace::default();
    for _ in 0..2 {
        assert!(trace.said(bytes).len() <= bytes.len(), "a message says what is in it");
    }
}
