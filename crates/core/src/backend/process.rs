//! [`Process`]: a command that runs beside its caller, in the background or on a terminal.
//!
//! A backend makes it with [`process`]: the caller's half is the [`Process`], the backend's half is a [`Driver`] in a task
//! that carries bytes and [records](super::recorder) output. That is kept in bounded memory under positions that stay valid: who
//! reads from where the last one ended gets nothing twice, and is told what was dropped meanwhile. The end is marked after the last
//! byte of output is in. Dropping the last clone of a process ends it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;

use super::capture::Capture;
pub use super::intake::Saying;
pub use super::intake::{Given, LINE_BYTES, line_too_long};
use super::intake::{Intake, Words};
pub use super::kept::{Forgotten, Piece};
pub use super::orders::{Order, ProcessSignal, TerminalSize};
use super::outlet::Outlet;
use super::recorder::Output;
pub use super::recorder::{EndWatch, Recorder};
use super::tap::Tap;
pub use super::turns::Turn;
use super::turns::Turns;
use super::{ExecuteOutcome, OutputSink};
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
    is_piped: bool,
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
    let is_piped = capture.is_some();
    let output = Output::of(capture, options.tap);
    let (order, orders) = mpsc::channel(ORDERS);
    let (give, input) = mpsc::channel(INPUTS);
    let intake = Arc::new(Intake::default());
    let recorder = Recorder { output: Arc::clone(&output), outlet: options.sink.map(Outlet::new) };
    let driver = Driver { recorder, orders, input, intake: Arc::clone(&intake) };
    (Process { output, orders: order, input: give, intake, turns: Turns::default(), is_piped }, driver)
}

impl Given {
    /// How many bytes it is.
    pub fn bytes(self) -> usize {
        usize::try_from(self.to - self.from).unwrap_or(usize::MAX)
    }
}

impl Process {
    /// The number of the process in its system; `None` where it has none that means something here.
    pub fn pid(&self) -> Option<u32> {
        self.output.state.lock().pid
    }

    /// The same where it leads a terminal of this machine: of a container's the number would be that of somebody else here.
    pub fn leader(&self) -> Option<u32> {
        self.pid().filter(|_| self.intake.is_here())
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
        let known = state.ended.clone().unwrap_or_else(|| self.output.so_far(&state));
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

    /// Whether its terminal gives whole lines now, as to a program without a line editor. `false` where nobody can look.
    pub fn gives_lines(&self) -> bool {
        self.intake.gives_lines()
    }

    /// `InvalidInput` where its terminal gives whole lines now and would lose some of one of these, with what was given of it before.
    /// `false` where nobody can look.
    pub fn check_lines(&self, bytes: &[u8]) -> Result<bool> {
        Ok(self.intake.open_behind(bytes)?.is_some())
    }

    /// Whether a line editor reads its terminal of this machine, as far as the form of that tells.
    pub fn is_edited(&self) -> bool {
        self.intake.is_edited()
    }

    /// Whether it reads from a pipe and not from a terminal.
    pub fn is_piped(&self) -> bool {
        self.is_piped
    }

    /// Waits until all that it was given is in its pipe or its terminal. `Closed` where nobody reads any more.
    pub async fn reads_on(&self, deadline: &Deadline) -> Result<()> {
        self.taken(self.intake.given_until_now(), deadline).await
    }

    /// Gives it input and waits until it is in its pipe or its terminal: [`Process::give`] and [`Process::taken`].
    pub async fn write(&self, bytes: &[u8], deadline: &Deadline) -> Result<()> {
        let given = self.give(bytes, deadline).await?;
        self.taken(given, deadline).await
    }

    /// Gives it input, in pieces of which a few wait until it reads. `Closed` when it ended or reads no more, and what stops the
    /// wait for room: both with the bytes that it was given before, which are not to be given again. Else as
    /// [`Process::check_lines`].
    pub async fn give(&self, bytes: &[u8], deadline: &Deadline) -> Result<Given> {
        match self.give_at_once(bytes)? {
            Some(given) => Ok(given),
            None => self.give_in_turn(bytes, deadline).await,
        }
    }

    /// As [`Process::give`]. What its terminal prints at once behind it is taken on this thread, until `is_over` or for `time`: it crosses
    /// no thread then. Where its output comes in another way that ends at once.
    pub async fn give_and_look_on(
        &self,
        bytes: &[u8],
        time: Duration,
        is_over: &(dyn Fn() -> bool + Sync),
        deadline: &Deadline,
    ) -> Result<Given> {
        let mut given = Ok(None);
        let mut give = || {
            given = self.give_at_once(bytes);
            matches!(given, Ok(Some(_)))
        };
        self.intake.look_on(&mut give, time, is_over);
        match given? {
            Some(given) => Ok(given),
            None => self.give_in_turn(bytes, deadline).await,
        }
    }

    /// The place below `/proc` of its side of its hatch, where it was started with one ([`Tap::with_hatch`]).
    pub fn hatch_name(&self) -> Option<&str> {
        self.intake.hatch_name()
    }

    /// Says this at its hatch; whether it was said.
    pub fn pass(&self, saying: Saying<'_>) -> bool {
        self.ended().is_none() && self.intake.pass(Words::Say(saying))
    }

    /// Takes back what was said at its hatch and not heard there; whether there was something.
    pub fn take_back(&self) -> bool {
        self.intake.pass(Words::TakeBack)
    }

    /// The same, and what comes behind it is taken on this thread as by [`Process::give_and_look_on`].
    pub fn pass_and_look_on(&self, saying: Saying<'_>, time: Duration, is_over: &(dyn Fn() -> bool + Sync)) -> bool {
        let mut is_said = false;
        let mut pass = || {
            is_said = self.pass(saying);
            is_said
        };
        self.intake.look_on(&mut pass, time, is_over);
        is_said
    }

    /// `None` where others of its input are before these, or they are more than go at once.
    fn give_at_once(&self, bytes: &[u8]) -> Result<Option<Given>> {
        // Looked at before, not behind: what it was given last may be what it ends at.
        if self.output.state.lock().ended.is_some() || self.input.is_closed() || self.intake.is_refused() {
            return Err(self.reads_no_more());
        }
        if self.output.state.lock().input_is_over {
            return Err(input_over());
        }
        self.intake.note(bytes)?;
        let queue = |rest: &[u8]| drop(self.input.try_send(rest.to_vec()));
        Ok((bytes.len() <= INPUT_BYTES).then(|| self.intake.takes(bytes, queue)).flatten())
    }

    async fn give_in_turn(&self, bytes: &[u8], deadline: &Deadline) -> Result<Given> {
        // Nothing yet.
        let mut given = self.intake.given_until_now();
        for piece in bytes.chunks(INPUT_BYTES) {
            let stopped = tokio::select! {
                room = self.input.reserve() => match room {
                    Ok(room) => {
                        let piece = self.intake.queue_input(piece.len(), || room.send(piece.to_vec()));
                        let from = if given.bytes() == 0 { piece.from } else { given.from };
                        given = Given { from, ..piece };
                        continue;
                    }
                    Err(_) => {
                        tokio::select! {
                            () = self.settled(u64::MAX) => return Err(self.refused(given, bytes.len())),
                            stop = deadline.reached() => stop,
                        }
                    }
                },
                stop = deadline.reached() => stop,
            };
            return Err(behind(stopped, given.bytes(), bytes.len()));
        }
        Ok(given)
    }

    /// Waits until that input is in its pipe or its terminal. `Closed` where it ended, or nobody reads any more, before all of it was,
    /// with the bytes that were; what stops the wait, with all of them: the rest is read when it reads.
    pub async fn taken(&self, given: Given, deadline: &Deadline) -> Result<()> {
        tokio::select! {
            biased;
            () = self.settled(given.to) => {}
            stop = deadline.reached() => return Err(behind(stop, given.bytes(), given.bytes())),
        }
        // Looked at now: the end may have come between the looks at both.
        match self.intake.written() >= given.to {
            true => Ok(()),
            false => Err(self.refused(given, given.bytes())),
        }
    }

    /// Ends when so many bytes of input were taken, or no more will be.
    async fn settled(&self, bytes: u64) {
        tokio::select! {
            () = self.intake.carried(bytes) => {}
            // What was taken is noted before the end is told.
            _ = self.over() => {}
        }
    }

    /// Why no more than what was taken of `given` reached it, of so many bytes.
    fn refused(&self, given: Given, all: usize) -> Error {
        let taken = Given { to: self.intake.written().clamp(given.from, given.to), ..given };
        behind(self.reads_no_more(), taken.bytes(), all)
    }

    fn reads_no_more(&self) -> Error {
        let has_ended = self.output.state.lock().ended.is_some();
        if self.intake.is_refused() && !has_ended {
            return Error::new(ErrorKind::Closed, "The process reads no more input: it has closed it.");
        }
        over()
    }

    /// Notes that it was given all of its input when it was started.
    #[cfg_attr(not(unix), allow(dead_code, reason = "no backend there starts programs itself"))]
    pub(super) fn has_all_input(&self) {
        self.output.state.lock().input_is_over = true;
    }

    /// Lets it read to the end of its input.
    pub async fn close_input(&self, deadline: &Deadline) -> Result<()> {
        let room = tokio::select! {
            room = self.input.reserve() => room,
            stop = deadline.reached() => return Err(stop),
        };
        match room {
            Ok(room) => self.intake.queue(|| room.send(Vec::new())),
            // It has closed it itself.
            Err(_) if self.intake.is_refused() && self.ended().is_none() => {}
            Err(_) => return Err(over()),
        }
        let mut state = self.output.state.lock();
        // On a terminal it is a key.
        state.input_is_over = state.capture.is_some();
        Ok(())
    }

    /// Whether an order or input waits to be carried out.
    pub fn has_queued(&self) -> bool {
        self.intake.has_queued()
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

/// What stopped a write when the first `given` bytes of `all` were on their way.
fn behind(stopped: Error, given: usize, all: usize) -> Error {
    if given == 0 {
        return stopped;
    }
    let went = match given < all {
        true => format!("The first {given} of {all} bytes were given to it before."),
        false => format!("All {all} bytes were given to it before; what it has not read waits for it."),
    };
    Error::new(stopped.kind(), format!("{} {went}", stopped.message()))
        .with_details(json!({ "partial": { "givenBytes": given } }))
}

/// How many bytes a refused input had given, as its error says.
pub(super) fn given_bytes(refused: &Error) -> u64 {
    let partial = refused.details().and_then(|details| details["partial"]["givenBytes"].as_u64());
    partial.unwrap_or(0)
}

fn over() -> Error {
    Error::new(ErrorKind::Closed, "The process has ended; it takes no input any more.")
}

fn input_over() -> Error {
    Error::new(ErrorKind::Closed, "The input of the process was ended before; it takes no more.")
}

#[cfg(test)]
mod tests;

/// Processes for tests of what stands above.
#[cfg(test)]
pub(crate) mod tests_support {
    use super::{Capture, Driver, Process, ProcessOptions, Tap, process};

    /// A process that does nothing, until its driver is dropped.
    pub(crate) fn idle() -> (Process, Driver) {
        process(None, ProcessOptions::default())
    }

    /// The same with pipes.
    pub(crate) fn idle_with_pipes() -> (Process, Driver) {
        process(Some(Capture::new(100, None, None)), ProcessOptions::default())
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
