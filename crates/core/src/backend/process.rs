//! [`Process`]: a command that runs beside its caller, in the background or on a terminal.
//!
//! A backend makes it with [`process`]: the caller's half is the [`Process`], the backend's half is a [`Driver`] in a task
//! that carries bytes. Output is kept in bounded memory under positions that stay valid: who reads from where the last
//! read ended gets nothing twice, and is told what was dropped meanwhile. The end is marked after the last byte of output
//! is in. Dropping the last clone of a process ends it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::capture::{Capture, Captured};
use super::intake::Intake;
use super::kept::Kept;
pub use super::kept::{Forgotten, Piece};
pub use super::orders::{Order, ProcessSignal, TerminalSize};
use super::outlet::Outlet;
use super::tap::{Later, Tap};
pub use super::turns::Turn;
use super::turns::Turns;
use super::{ExecuteOutcome, OutputSink, Stream};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};

/// 16 orders wait for a process; more wait in turn.
const ORDERS: usize = 16;
/// 16 pieces of at most [`INPUT_BYTES`] wait to be read by a process that is slow to read.
const INPUTS: usize = 16;
/// 64 KiB: what a pipe holds.
const INPUT_BYTES: usize = 64 << 10;

/// A command that runs beside its caller. Clones are the same process; when the last is dropped it is ended.
#[derive(Clone)]
pub struct Process {
    output: Arc<Output>,
    orders: mpsc::Sender<Order>,
    input: mpsc::Sender<Vec<u8>>,
    intake: Arc<Intake>,
    turns: Turns,
}

/// The backend's half of a process.
pub struct Driver {
    /// Where output goes.
    pub recorder: Recorder,
    /// What the process is told. Closed when nobody holds the process any more, which ends it.
    pub orders: mpsc::Receiver<Order>,
    /// What it reads; an empty piece is the end of it.
    pub input: mpsc::Receiver<Vec<u8>>,
    /// Where input goes that needs no driver, and where each order and each piece is noted when it was carried out.
    #[cfg_attr(not(unix), allow(dead_code, reason = "no backend there starts programs itself"))]
    pub(super) intake: Arc<Intake>,
}

/// Takes output of a process.
pub struct Recorder {
    output: Arc<Output>,
    outlet: Option<Outlet>,
}

/// Takes output of a terminal from any thread that reads it; see [`Recorder::screen`].
#[derive(Clone)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
pub(super) struct ScreenRecorder(Arc<Output>);

struct Output {
    state: Mutex<State>,
    changed: Notify,
    /// Told of bytes that the tap found worth it.
    marked: Notify,
    /// Told once: who waits for the end alone is not woken by every piece of output.
    over: Notify,
    begin: Instant,
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "terminals are Linux's"))]
impl ScreenRecorder {
    /// As [`Recorder::take_raw`].
    pub(super) fn take_raw(&self, bytes: &[u8], leads: &dyn Fn() -> bool) {
        self.0.take_raw(bytes, leads);
    }

    /// Whether whoever is handed the output takes more now.
    pub(super) fn has_room(&self) -> bool {
        self.0.later().is_none()
    }
}

impl Output {
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

    /// What is to be waited for before more of a terminal is read.
    fn later(&self) -> Option<Later> {
        self.state.lock().tap.as_ref().and_then(Tap::later)
    }

    fn tell_end(&self) {
        self.changed.notify_waiters();
        self.marked.notify_waiters();
        self.over.notify_waiters();
    }

    async fn over(&self) -> ExecuteOutcome {
        loop {
            let over = self.over.notified();
            if let Some(outcome) = self.state.lock().ended.clone() {
                return outcome;
            }
            over.await;
        }
    }
}

/// Sees the end of a process, and is no reason for it to live on.
pub struct EndWatch(Arc<Output>);

impl EndWatch {
    /// Ends when the process ended and all of its output is there.
    pub async fn over(&self) -> ExecuteOutcome {
        self.0.over().await
    }
}

struct State {
    kept: Kept,
    /// The streams of a command with pipes; a terminal has one stream and no bounded result.
    capture: Option<Capture>,
    last_output: Instant,
    ended: Option<ExecuteOutcome>,
    pid: Option<u32>,
    /// Whether the end of its input was given.
    input_is_over: bool,
    tap: Option<Tap>,
    forgotten: Option<Forgotten>,
}

/// What a terminal's driver is made with.
#[derive(Default)]
pub struct ProcessOptions {
    /// Is handed the text of a command with pipes as it comes.
    pub sink: Option<OutputSink>,
    /// Is handed the bytes of a terminal as they come.
    pub tap: Option<Tap>,
}

/// The two halves of a process. `capture` is where the streams of a command with pipes are caught.
pub(super) fn process(capture: Option<Capture>, options: ProcessOptions) -> (Process, Driver) {
    let now = Instant::now();
    let state = State {
        kept: Kept::default(),
        capture,
        last_output: now,
        ended: None,
        pid: None,
        input_is_over: false,
        tap: options.tap,
        forgotten: None,
    };
    let output = Arc::new(Output {
        state: Mutex::new(state),
        changed: Notify::new(),
        marked: Notify::new(),
        over: Notify::new(),
        begin: now,
    });
    let (order, orders) = mpsc::channel(ORDERS);
    let (give, input) = mpsc::channel(INPUTS);
    let intake = Arc::new(Intake::default());
    let recorder = Recorder { output: Arc::clone(&output), outlet: options.sink.map(Outlet::new) };
    let driver = Driver { recorder, orders, input, intake: Arc::clone(&intake) };
    (Process { output, orders: order, input: give, intake, turns: Turns::default() }, driver)
}

impl Process {
    /// The number of the process in its system; `None` where it has none that means something here.
    pub fn pid(&self) -> Option<u32> {
        self.output.state.lock().pid
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&self) -> Option<ExecuteOutcome> {
        self.output.state.lock().ended.clone()
    }

    /// What is known of a process that runs or ended.
    pub fn so_far(&self) -> ExecuteOutcome {
        self.so_far_until().0
    }

    /// What is known, and the position up to which its output holds what was printed.
    pub fn so_far_until(&self) -> (ExecuteOutcome, u64) {
        let state = self.output.state.lock();
        let known = state
            .ended
            .clone()
            .unwrap_or_else(|| outcome(state.capture.as_ref().map(Capture::so_far), self.output.begin));
        (known, state.kept.end())
    }

    /// Whether output is being taken, or looked at, this very moment: whoever asks for it waits.
    pub fn is_taking(&self) -> bool {
        self.output.state.is_locked()
    }

    /// The position behind the last byte of output.
    pub fn position(&self) -> u64 {
        self.output.state.lock().kept.end()
    }

    /// Output from `position` on, at most `most` bytes.
    pub fn read(&self, position: u64, most: usize) -> Piece {
        let state = self.output.state.lock();
        state.kept.read(position, most, state.ended.is_some())
    }

    /// Hands output that is forgotten from now on to `forgotten`, as long as the process runs.
    pub fn on_forgotten(&self, forgotten: Forgotten) {
        let mut state = self.output.state.lock();
        let before = state.ended.is_none().then(|| state.forgotten.replace(forgotten)).flatten();
        drop(state);
        drop(before);
    }

    /// All output from `position` on, to the byte. What is forgotten from now on is handed to nobody.
    pub fn read_rest(&self, position: u64) -> Piece {
        let mut state = self.output.state.lock();
        let forgotten = state.forgotten.take();
        let rest = state.kept.rest(position);
        drop(state);
        drop(forgotten);
        rest
    }

    /// How long nothing was printed.
    pub fn quiet_for(&self) -> Duration {
        self.output.state.lock().last_output.elapsed()
    }

    /// Whether a read from `position` gives anything now.
    pub fn goes_on(&self, position: u64) -> bool {
        let state = self.output.state.lock();
        state.kept.goes_on(position, state.ended.is_some())
    }

    /// Ends when there is output behind `position` that can be read, or the process ended.
    pub async fn changed(&self, position: u64) {
        loop {
            let changed = self.output.changed.notified();
            {
                let state = self.output.state.lock();
                if state.ended.is_some() || state.kept.goes_on(position, false) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Ends when the tap finds something in output that comes from now on, or the process ends. Made before a look, it misses
    /// nothing that comes behind the look.
    pub fn marked(&self) -> impl Future<Output = ()> + '_ {
        self.output.marked.notified()
    }

    /// Ends when the process ended and all of its output is there.
    pub async fn over(&self) -> ExecuteOutcome {
        self.output.over().await
    }

    /// A place behind all who give it input now, for whoever gives it some next.
    pub fn turn(&self) -> Turn {
        self.turns.take()
    }

    /// Gives it input; waits while it does not read. `Closed` when it ended or its input was closed.
    pub async fn write(&self, bytes: &[u8], deadline: &Deadline) -> Result<()> {
        // Looked at before, not behind: what it was given last may be what it ends at.
        let (has_ended, input_is_over) = {
            let state = self.output.state.lock();
            (state.ended.is_some(), state.input_is_over)
        };
        if has_ended || input_is_over {
            return Err(if has_ended { over() } else { input_over() });
        }
        if self.input.is_closed() {
            return Err(over());
        }
        let queue = |rest: &[u8]| drop(self.input.try_send(rest.to_vec()));
        if bytes.len() <= INPUT_BYTES && self.intake.takes(bytes, queue) {
            return Ok(());
        }
        for piece in bytes.chunks(INPUT_BYTES) {
            tokio::select! {
                room = self.input.reserve() => {
                    let room = room.map_err(|_| over())?;
                    self.intake.queue(|| room.send(piece.to_vec()));
                }
                stop = deadline.reached() => return Err(stop),
            }
        }
        Ok(())
    }

    /// Takes what its terminal prints on this thread, until `is_over` or for `time`: what comes very soon behind input crosses
    /// no thread then. Ends at once where its output comes in another way.
    pub fn look_on(&self, time: Duration, is_over: &dyn Fn() -> bool) {
        self.intake.look_on(time, is_over);
    }

    /// Lets it read to the end of its input.
    pub async fn close_input(&self, deadline: &Deadline) -> Result<()> {
        let room = tokio::select! {
            room = self.input.reserve() => room.map_err(|_| over())?,
            stop = deadline.reached() => return Err(stop),
        };
        self.intake.queue(|| room.send(Vec::new()));
        let mut state = self.output.state.lock();
        // On a terminal it is a key.
        state.input_is_over = state.capture.is_some();
        Ok(())
    }

    /// Gives an order. `Closed` when it ended.
    pub async fn order(&self, order: Order) -> Result<()> {
        let room = self.orders.reserve().await.map_err(|_| over())?;
        self.intake.queue(|| room.send(order));
        Ok(())
    }

    /// Gives an order without waiting; `Busy` when too many are pending.
    pub fn try_order(&self, order: Order) -> Result<()> {
        let room = self.orders.try_reserve().map_err(|error| match error {
            mpsc::error::TrySendError::Full(()) => Error::new(ErrorKind::Busy, "The process has too many orders."),
            mpsc::error::TrySendError::Closed(()) => over(),
        })?;
        self.intake.queue(|| room.send(order));
        Ok(())
    }

    /// Waits for its end without keeping it alive.
    pub fn end_watch(&self) -> EndWatch {
        EndWatch(Arc::clone(&self.output))
    }

    /// Ends it with all its processes and waits until it is gone. Whether it still ran.
    pub async fn end(&self) -> bool {
        // Looked at first: the order may be carried out before this task runs again.
        let ran = self.ended().is_none();
        let taken = self.order(Order::End).await.is_ok();
        self.over().await;
        ran && taken
    }
}

fn over() -> Error {
    Error::new(ErrorKind::Closed, "The process has ended; it takes no input any more.")
}

fn input_over() -> Error {
    Error::new(ErrorKind::Closed, "The input of the process was ended before; it takes no more.")
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
        let captured = state.capture.take().map(|capture| capture.so_far());
        state.ended = Some(complete(outcome(captured, self.output.begin)));
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
            let captured = state.capture.take().map(|capture| capture.so_far());
            state.ended = Some(ExecuteOutcome { aborted: true, ..outcome(captured, self.output.begin) });
            let taps = (state.tap.take(), state.forgotten.take());
            drop(state);
            drop(taps);
            self.output.tell_end();
        }
    }
}

fn outcome(captured: Option<Captured>, begin: Instant) -> ExecuteOutcome {
    let captured = captured.unwrap_or_default();
    ExecuteOutcome {
        output: captured.output,
        stdout: captured.stdout,
        stderr: captured.stderr,
        truncated: captured.truncated,
        spill_path: captured.spill_path,
        spill_bytes: captured.spill_bytes,
        duration_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..ExecuteOutcome::default()
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

#[cfg(test)]
mod tests {
    use super::super::kept::KEPT_BYTES;
    use super::*;

    #[test]
    fn what_is_forgotten_is_handed_on_to_the_byte_and_what_is_left_follows_it() {
        let (process, driver) = process(None, ProcessOptions::default());
        let handed = Arc::new(Mutex::new(Vec::new()));
        let byte = |position: usize| b'a' + u8::try_from(position % 23).unwrap();
        let all: Vec<u8> = (0..3 * KEPT_BYTES).map(byte).collect();
        driver.recorder.take_raw(&all[..KEPT_BYTES + 5], &|| true);
        let taken = Arc::clone(&handed);
        process.on_forgotten(Box::new(move |position, bytes| {
            let mut taken = taken.lock();
            assert_eq!(position, 5 + taken.len() as u64);
            taken.extend_from_slice(bytes);
        }));
        let mut next = KEPT_BYTES + 5;
        for size in [1, 70_000, 3, KEPT_BYTES + 100] {
            driver.recorder.take_raw(&all[next..next + size], &|| true);
            next += size;
        }
        let rest = process.read_rest(0);
        assert_eq!((rest.next, rest.dropped), (next as u64, (next - KEPT_BYTES) as u64));
        assert!([handed.lock().as_slice(), &rest.bytes].concat() == all[5..next]);
        // Whoever has the rest is told of nothing twice.
        driver.recorder.take_raw(&all[next..next + 1_000], &|| true);
        assert_eq!(handed.lock().len(), next - KEPT_BYTES - 5);
        assert_eq!(process.read_rest(next as u64).bytes, all[next..next + 1_000]);
    }

    #[tokio::test]
    async fn the_end_comes_after_the_last_byte_and_a_lost_driver_is_an_end() {
        let (process, driver) = process(None, ProcessOptions::default());
        let waiting = tokio::spawn({
            let process = process.clone();
            async move { process.over().await }
        });
        let Driver { recorder, orders, input, .. } = driver;
        recorder.take_raw(b"last", &|| true);
        drop((orders, input));
        recorder.finish(|outcome| ExecuteOutcome { exit_code: Some(3), ..outcome }).await;
        assert_eq!(waiting.await.unwrap().exit_code, Some(3));
        assert_eq!(process.read(0, 9).bytes, b"last");
        assert_eq!(process.order(Order::End).await.unwrap_err().kind(), ErrorKind::Closed);

        let (process, driver) = super::process(None, ProcessOptions::default());
        drop(driver);
        assert!(process.over().await.aborted);
        assert_eq!(process.write(b"x", &Deadline::default()).await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

/// Processes for tests of what stands above.
#[cfg(test)]
pub(crate) mod tests_support {
    use super::{Driver, Process, ProcessOptions, Tap, process};

    /// A process that does nothing, until its driver is dropped.
    pub(crate) fn idle() -> (Process, Driver) {
        process(None, ProcessOptions::default())
    }

    /// Has it print on a terminal.
    pub(crate) fn print(driver: &Driver, bytes: &[u8]) {
        driver.recorder.take_raw(bytes, &|| true);
    }

    /// The same with what its output is handed to.
    pub(crate) fn tapped(tap: Tap) -> (Process, Driver) {
        process(None, ProcessOptions { tap: Some(tap), ..ProcessOptions::default() })
    }
}
