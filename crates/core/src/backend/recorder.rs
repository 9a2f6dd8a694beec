//! Output of a process that runs beside its caller: a backend's task records it, others look at it.
//!
//! Kept in bounded memory under positions, handed on as it comes. The end is marked after the last byte of it is in, and a recorder that
//! is dropped half-way is an end too.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::capture::Capture;
use super::kept::{Forgotten, Kept};
use super::outlet::Outlet;
use super::tap::{Later, Tap};
use super::{ExecuteOutcome, Stream};

/// Takes output of a process.
pub struct Recorder {
    pub(super) output: Arc<Output>,
    pub(super) outlet: Option<Outlet>,
}

/// Takes output of a terminal from any thread that reads it; see [`Recorder::screen`].
#[derive(Clone)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
pub(super) struct ScreenRecorder(Arc<Output>);

/// What a process and its recorder share.
pub(super) struct Output {
    pub(super) state: Mutex<State>,
    pub(super) changed: Notify,
    /// Told of bytes that the tap found worth it.
    pub(super) marked: Notify,
    /// Told once: who waits for the end alone is not woken by every piece of output.
    over: Notify,
    begin: Instant,
}

pub(super) struct State {
    pub(super) kept: Kept,
    /// The streams of a command with pipes; a terminal has one stream and no bounded result.
    pub(super) capture: Option<Capture>,
    pub(super) last_output: Instant,
    pub(super) ended: Option<ExecuteOutcome>,
    pub(super) pid: Option<u32>,
    /// Whether the end of its input was given.
    pub(super) input_is_over: bool,
    pub(super) tap: Option<Tap>,
    pub(super) forgotten: Option<Forgotten>,
}

/// Sees the end of a process, and is no reason for it to live on.
pub struct EndWatch(pub(super) Arc<Output>);

impl EndWatch {
    /// Ends when the process ended and all of its output is there.
    pub async fn over(&self) -> ExecuteOutcome {
        self.0.over().await
    }
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
impl ScreenRecorder {
    /// As [`Recorder::take_raw`].
    pub(super) fn take_raw(&self, bytes: &[u8], leads: &dyn Fn() -> bool) {
        self.0.take_raw(bytes, leads);
    }

    /// Takes what was said at the hatch; what is said back.
    pub(super) fn hear(&self, bytes: &[u8], leads: &dyn Fn() -> bool) -> Vec<u8> {
        let heard = self.0.state.lock().tap.as_mut().map(|tap| tap.hear(bytes, leads)).unwrap_or_default();
        self.0.take_raw(&heard.shown, leads);
        // What it was may be waited for, though nothing is shown of it.
        self.0.marked.notify_waiters();
        heard.answer
    }

    /// Whether whoever is handed the output takes more now.
    pub(super) fn has_room(&self) -> bool {
        self.0.later().is_none()
    }
}

impl Output {
    /// None yet. `capture` is where the streams of a command with pipes are caught, `tap` what a terminal's bytes are handed to.
    pub(super) fn of(capture: Option<Capture>, tap: Option<Tap>) -> Arc<Self> {
        let now = Instant::now();
        let state = State {
            kept: Kept::default(),
            capture,
            last_output: now,
            ended: None,
            pid: None,
            input_is_over: false,
            tap,
            forgotten: None,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            marked: Notify::new(),
            over: Notify::new(),
            begin: now,
        })
    }

    fn take_raw(&self, bytes: &[u8], leads: &dyn Fn() -> bool) {
        let is_marked = {
            // Both under the lock: who knows of a mark finds the output before it, and the other way round.
            let mut state = self.state.lock();
            state.keep(bytes);
            state.tap.as_mut().is_some_and(|tap| tap.take(bytes, leads))
        };
        self.changed.notify_waiters();
        if is_marked {
            self.marked.notify_waiters();
        }
    }

    /// What is known of a process that runs.
    pub(super) fn so_far(&self, state: &State) -> ExecuteOutcome {
        state.capture.as_ref().map(Capture::so_far).unwrap_or_default().outcome(self.begin)
    }

    /// What is to be waited for before more of a terminal is read.
    fn later(&self) -> Option<Later> {
        self.state.lock().tap.as_ref().and_then(Tap::later)
    }

    fn tell_end(&self) {
        self.changed.notify_waiters();
        self.marked.notify_waiters();
        self.over.notify_waiters();
    }

    pub(super) async fn over(&self) -> ExecuteOutcome {
        loop {
            let over = self.over.notified();
            if let Some(outcome) = self.state.lock().ended.clone() {
                return outcome;
            }
            over.await;
        }
    }
}

impl Recorder {
    /// Tells the number of the process.
    pub(super) fn started(&self, pid: Option<u32>) {
        self.output.state.lock().pid = pid;
    }

    /// Takes output of a command with pipes.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let text = {
            let mut state = self.output.state.lock();
            let Some(capture) = &mut state.capture else { return };
            let text = capture.record(stream, bytes);
            state.keep(text.as_bytes());
            text
        };
        self.output.changed.notify_waiters();
        self.hand_on(stream, text);
    }

    /// Takes output of a terminal; `leads` is the look of [`Tap::take`].
    pub(super) fn take_raw(&self, bytes: &[u8], leads: &dyn Fn() -> bool) {
        self.output.take_raw(bytes, leads);
    }

    /// The same for whoever else reads the terminal. It keeps nobody from the end.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
    pub(super) fn screen(&self) -> ScreenRecorder {
        ScreenRecorder(Arc::clone(&self.output))
    }

    /// Ends when whoever is handed the output has room for more.
    pub(super) fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        let (room, later) = (self.outlet.as_ref().map(Outlet::room), self.output.later());
        async move {
            if let Some(room) = room {
                room.await;
            }
            if let Some(later) = later {
                later.await;
            }
        }
    }

    /// Whether whoever is handed the output of a terminal takes more now.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
    pub(super) fn has_room(&self) -> bool {
        self.output.later().is_none()
    }

    /// Marks the end, after all output was taken and handed on; `complete` adds what the backend knows.
    pub(super) async fn finish(self, complete: impl FnOnce(ExecuteOutcome) -> ExecuteOutcome) {
        let rest = {
            let mut state = self.output.state.lock();
            let rest = state.capture.as_mut().map(Capture::close);
            for (_, text) in rest.iter().flatten() {
                state.keep(text.as_bytes());
            }
            rest
        };
        for (stream, text) in rest.into_iter().flatten() {
            self.hand_on(stream, text);
        }
        let empty = self.outlet.as_ref().map(Outlet::empty);
        if let Some(empty) = empty {
            empty.await;
        }
        let mut state = self.output.state.lock();
        // The bounded result is made once; its buffers go.
        let captured = state.capture.take().map(|capture| capture.so_far()).unwrap_or_default();
        state.ended = Some(complete(captured.outcome(self.output.begin)));
        let taps = (state.tap.take(), state.forgotten.take());
        drop(state);
        drop(taps);
        self.output.tell_end();
    }

    fn hand_on(&self, stream: Stream, text: String) {
        if let Some(outlet) = &self.outlet {
            outlet.give(stream, text);
        }
    }
}

impl Drop for Recorder {
    /// A driver that was dropped half-way leaves nobody waiting.
    fn drop(&mut self) {
        let mut state = self.output.state.lock();
        if state.ended.is_none() {
            let captured = state.capture.take().map(|capture| capture.so_far()).unwrap_or_default();
            state.ended = Some(ExecuteOutcome { aborted: true, ..captured.outcome(self.output.begin) });
            let taps = (state.tap.take(), state.forgotten.take());
            drop(state);
            drop(taps);
            self.output.tell_end();
        }
    }
}

impl State {
    fn keep(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.kept.push(bytes, &mut self.forgotten);
            self.last_output = Instant::now();
        }
    }
}
