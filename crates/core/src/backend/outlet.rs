//! Output on its way to code of the application, which takes it piece by piece and may be slow.
//!
//! That code runs on a thread of its own, so that whoever reads a command's output keeps an eye on its end and its deadline. What
//! waits is bounded: whoever reads asks for [`Outlet::room`] before it reads on, which holds the command back, and only it. What
//! is given all the same (the rest of what lies in a pipe at the end) is joined, so that few pieces are left to be taken.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{OutputChunk, OutputSink, Stream};

/// 64 KiB wait to be taken: what a pipe holds.
const WAITING_BYTES: usize = 64 << 10;
/// 4 pieces wait to be taken: of two streams that alternate each piece may be short.
const WAITING_PIECES: usize = 4;

/// Where the output of one command goes. Dropped, it hands on nothing more.
pub(super) struct Outlet(Arc<Shared>);

struct Shared {
    sink: OutputSink,
    waiting: Mutex<Waiting>,
    /// A piece was taken.
    taken: Notify,
}

#[derive(Default)]
struct Waiting {
    pieces: VecDeque<OutputChunk>,
    bytes: usize,
    /// Whether a thread hands pieces on.
    is_busy: bool,
    is_given_up: bool,
}

impl Waiting {
    fn has_room(&self) -> bool {
        self.bytes < WAITING_BYTES && self.pieces.len() < WAITING_PIECES
    }
}

impl Outlet {
    pub(super) fn new(sink: OutputSink) -> Self {
        Self(Arc::new(Shared { sink, waiting: Mutex::default(), taken: Notify::new() }))
    }

    /// Hands text on, without waiting.
    pub(super) fn give(&self, stream: Stream, text: String) {
        if text.is_empty() {
            return;
        }
        let mut waiting = self.0.waiting.lock();
        waiting.bytes += text.len();
        match waiting.pieces.back_mut() {
            Some(last) if last.stream == stream => last.text.push_str(&text),
            Some(_) | None => waiting.pieces.push_back(OutputChunk { stream, text }),
        }
        if !std::mem::replace(&mut waiting.is_busy, true) {
            let shared = Arc::clone(&self.0);
            drop(tokio::task::spawn_blocking(move || shared.hand_on()));
        }
    }

    /// Ends when more may be given.
    pub(super) fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        self.until(Waiting::has_room)
    }

    /// Ends when all that was given is taken.
    pub(super) fn empty(&self) -> impl Future<Output = ()> + Send + use<> {
        self.until(|waiting| !waiting.is_busy)
    }

    fn until(&self, is_so: fn(&Waiting) -> bool) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.0);
        async move {
            loop {
                let taken = shared.taken.notified();
                if is_so(&shared.waiting.lock()) {
                    return;
                }
                taken.await;
            }
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.0.waiting.lock().is_given_up = true;
    }
}

impl Shared {
    fn hand_on(&self) {
        while let Some(piece) = self.next() {
            // A panic is the application's, and nobody waits in vain for what follows it.
            drop(catch_unwind(AssertUnwindSafe(|| (self.sink)(piece))));
        }
    }

    /// The next piece; without one this thread is done.
    fn next(&self) -> Option<OutputChunk> {
        let mut waiting = self.waiting.lock();
        if waiting.is_given_up {
            waiting.pieces.clear();
            waiting.bytes = 0;
        }
        let piece = waiting.pieces.pop_front();
        match &piece {
            Some(piece) => waiting.bytes -= piece.text.len(),
            None => waiting.is_busy = false,
        }
        drop(waiting);
        self.taken.notify_waiters();
        piece
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::task::{Context, Waker};

    use super::*;

    fn is_ready(future: impl Future<Output = ()>) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// An outlet whose sink says what it takes and goes on when it is told to.
    fn slow() -> (Outlet, Receiver<OutputChunk>, Sender<()>) {
        let (say, said) = channel();
        let (go_on, gone_on) = channel();
        let gone_on = Mutex::new(gone_on);
        let sink = move |chunk: OutputChunk| {
            say.send(chunk).unwrap();
            // An error: nobody holds it up any more.
            let _ = gone_on.lock().recv();
        };
        (Outlet::new(Arc::new(sink)), said, go_on)
    }

    fn piece(stream: Stream, text: &str) -> OutputChunk {
        OutputChunk { stream, text: text.into() }
    }

    #[tokio::test]
    async fn what_waits_is_joined_and_bounded() {
        let (outlet, said, go_on) = slow();
        assert!(is_ready(outlet.room()) && is_ready(outlet.empty()));
        outlet.give(Stream::Stdout, "a".into());
        assert_eq!(said.recv().unwrap(), piece(Stream::Stdout, "a"));
        outlet.give(Stream::Stdout, "b".into());
        outlet.give(Stream::Stdout, "c".into());
        outlet.give(Stream::Stderr, "d".into());
        assert!(is_ready(outlet.room()) && !is_ready(outlet.empty()));
        outlet.give(Stream::Stdout, "e".into());
        outlet.give(Stream::Stderr, "f".into());
        assert!(!is_ready(outlet.room()), "4 pieces");
        go_on.send(()).unwrap();
        assert_eq!(said.recv().unwrap(), piece(Stream::Stdout, "bc"));
        outlet.room().await;
        outlet.give(Stream::Stderr, "x".repeat(WAITING_BYTES));
        assert!(!is_ready(outlet.room()), "so many bytes");
        drop(go_on);
        outlet.empty().await;
        let rest: Vec<_> = said.try_iter().map(|piece| piece.text.len()).collect();
        assert_eq!(rest, [1, 1, 1 + WAITING_BYTES]);
    }

    #[tokio::test]
    async fn nothing_is_handed_on_when_nobody_waits_for_the_command_any_more() {
        let (outlet, said, go_on) = slow();
        outlet.give(Stream::Stdout, "a".into());
        said.recv().unwrap();
        outlet.give(Stream::Stdout, "b".into());
        let empty = outlet.empty();
        drop(outlet);
        drop(go_on);
        empty.await;
        assert!(said.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_sink_that_panics_takes_what_follows() {
        let (say, said) = channel();
        let outlet = Outlet::new(Arc::new(move |chunk: OutputChunk| {
            say.send(chunk.text.clone()).unwrap();
            assert_ne!(chunk.text, "a", "a defect of the application");
        }));
        outlet.give(Stream::Stdout, "a".into());
        outlet.empty().await;
        outlet.give(Stream::Stdout, "b".into());
        outlet.empty().await;
        assert_eq!(said.try_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
