//! The pipes of a command: what it prints is taken as it comes, what it reads is given as it is taken, both without waiting.
//!
//! Whoever takes the output is a [`Take`]; see [`super::beside`] for a command beside its caller.

use rustix::io::Errno;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::child::{self, receiver, sender};
use crate::backend::Stream;
use crate::backend::capture::Capture;
use crate::backend::process::Recorder;
use crate::error::Result;

/// 64 KiB: what a pipe holds by default.
pub(super) const READ_BYTES: usize = 64 << 10;
/// 256 KiB are held by the pipe of a command that prints much, so that it and its reader wait for each other less often.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 << 10;
/// 256 KiB are carried before anything else gets its turn: a pipe that is never empty would hide the end of the command, and that
/// of its time.
const TURN_BYTES: usize = 256 << 10;
/// 1 MiB is taken from each pipe after the end: the most that an unprivileged process can have put into one.
const DRAIN_BYTES: usize = 1 << 20;

/// Our ends of a command's pipes; a pipe that is at its end is `None`.
#[derive(Default)]
pub(super) struct Pipes {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    pub(super) stdin: Option<Input>,
    /// What was left of the input when nobody read it any more.
    pub(super) refused: Option<usize>,
    buffer: Vec<u8>,
    /// Whether the pipe of the first stream that filled a buffer was made larger.
    is_wide: bool,
    /// Bytes that were carried in this turn.
    carried: usize,
}

/// What the command reads.
pub(super) struct Input {
    pipe: Sender,
    pub(super) bytes: Vec<u8>,
    pub(super) written: usize,
    /// Whether more may come when all is written.
    stays_open: bool,
}

impl Input {
    pub(super) fn has_more(&self) -> bool {
        self.left() > 0
    }

    /// How many bytes are not written.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.written
    }
}

/// Takes output, one piece of one stream after another.
pub(super) trait Take {
    fn take(&mut self, stream: Stream, bytes: &[u8]);
    /// Ends when more may be taken; what is taken all the same is not lost.
    fn room(&self) -> impl Future<Output = ()> + Send;
}

impl Take for Capture {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        Self::take(self, stream, bytes);
    }

    fn room(&self) -> impl Future<Output = ()> + Send {
        Self::room(self)
    }
}

impl Take for Recorder {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        Self::take(self, stream, bytes);
    }

    fn room(&self) -> impl Future<Output = ()> + Send {
        Self::room(self)
    }
}

impl Pipes {
    /// Our ends; `bytes` is what the command reads first.
    pub(super) fn of(ends: child::OurEnds, bytes: Vec<u8>, stays_open: bool) -> Result<Self> {
        let stdin = ends.stdin.map(|pipe| sender(pipe).map(|pipe| Input { pipe, bytes, written: 0, stays_open }));
        Ok(Self {
            stdout: Some(receiver(ends.stdout)?),
            stderr: Some(receiver(ends.stderr)?),
            stdin: stdin.transpose()?,
            refused: None,
            buffer: vec![0; READ_BYTES],
            is_wide: false,
            carried: 0,
        })
    }

    /// Carries output in and input out until every process has closed its ends of both outputs.
    pub(super) async fn carry(&mut self, capture: &mut impl Take) {
        while self.is_open() {
            self.turn(capture).await;
        }
    }

    /// Whether output may still come.
    pub(super) fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Waits until something can be carried, and carries it.
    pub(super) async fn turn(&mut self, capture: &mut impl Take) {
        let room = capture.room();
        let output = async {
            room.await;
            tokio::select! {
                () = readable(self.stdout.as_ref()) => {}
                () = readable(self.stderr.as_ref()) => {}
            }
        };
        tokio::select! {
            () = output => {}
            () = writable(self.stdin.as_ref()) => return self.give_more(),
        }
        // Both, whichever woke us: what is there at once comes in a fixed order, and neither starves the other.
        for (pipe, stream) in [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)] {
            let count = take(pipe, stream, &mut self.buffer, capture);
            self.carried += count;
            if count == READ_BYTES && !self.is_wide {
                self.is_wide = true;
                widen(pipe.as_ref());
            }
        }
        if self.carried >= TURN_BYTES {
            self.carried = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Writes what the pipe takes; closes it at the end of the input, or when nobody reads any more.
    fn give_more(&mut self) {
        let Some(open) = &mut self.stdin else { return };
        let written = match open.has_more() {
            true => open.pipe.try_write(&open.bytes[open.written..]),
            false => Ok(0),
        };
        match written {
            Ok(count) => {
                open.written += count;
                if !open.has_more() && !open.stays_open {
                    self.stdin = None;
                }
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
            Err(_) => {
                self.refused = Some(open.left());
                self.stdin = None;
            }
        }
    }

    /// Takes what lies in the pipes, without waiting for more. Asks the system itself: the runtime may not have heard yet
    /// that a pipe is readable.
    pub(super) fn drain(&mut self, capture: &mut impl Take) {
        for (pipe, stream) in [(&self.stdout, Stream::Stdout), (&self.stderr, Stream::Stderr)] {
            let Some(pipe) = pipe else { continue };
            let mut drained = 0;
            while drained < DRAIN_BYTES {
                match rustix::io::read(pipe, &mut self.buffer) {
                    Ok(0) => break,
                    Ok(count) => {
                        capture.take(stream, &self.buffer[..count]);
                        drained += count;
                    }
                    Err(Errno::INTR) => {}
                    // Nothing is there, or nothing can be had.
                    Err(_) => break,
                }
            }
        }
    }
}

async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // A failed wait shows again in the read that follows.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

async fn writable(input: Option<&Input>) {
    match input {
        Some(input) if input.has_more() || !input.stays_open => drop(input.pipe.writable().await),
        Some(_) | None => std::future::pending().await,
    }
}

/// Takes what one read gives; how many bytes that were.
fn take(pipe: &mut Option<Receiver>, stream: Stream, buffer: &mut [u8], capture: &mut impl Take) -> usize {
    let Some(open) = pipe else { return 0 };
    match open.try_read(buffer) {
        Ok(0) => *pipe = None,
        Ok(count) => {
            capture.take(stream, &buffer[..count]);
            return count;
        }
        Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
        Err(_) => *pipe = None,
    }
    0
}

/// Lets a pipe hold more, where the system grants that.
fn widen(pipe: Option<&Receiver>) {
    #[cfg(target_os = "linux")]
    if let Some(pipe) = pipe {
        // A refusal (the user's pipes are large already) leaves it as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}
