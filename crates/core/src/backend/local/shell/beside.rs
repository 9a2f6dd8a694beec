//! Commands that run beside their caller: each is driven by a task of its own, which carries its bytes, does what it is
//! told, and marks the end when nothing of the command is left and all of its output is in.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::process::Signal;
use tokio::task::JoinSet;

use super::pipes::{Input, Pipes};
use super::running::{Ended, Launch, Running};
use super::{CommandRunner, GRACE, signal_name};
use crate::backend::capture::Capture;
use crate::backend::intake::{Door, LineAsker, Looker, Taker};
use crate::backend::process::{Driver, Order, Process, ProcessOptions, ProcessSignal, Recorder, TerminalSize, process};
use crate::backend::{Background, ExecuteOutcome, ExecuteRequest};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};

/// 256 processes of one backend beside their callers: a hundred terminals and some; each holds a supervisor.
const BESIDE: usize = 256;

/// The tasks of one backend. Dropping it drops each, which ends its command.
#[derive(Debug, Default)]
pub(super) struct Beside {
    tasks: Mutex<JoinSet<()>>,
    /// Places that are taken and have no task yet. Changed under the lock of the tasks.
    starting: AtomicUsize,
    end: CancelToken,
}

/// A place for one command, taken before it is started.
pub(super) struct BesidePlace<'a>(&'a Beside);

impl Drop for BesidePlace<'_> {
    fn drop(&mut self) {
        let _tasks = self.0.tasks.lock();
        self.0.starting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How bytes reach a command and come from it.
pub(super) trait Channel: Send {
    /// Carries both ways until the input that it had is written or the output is at its end; whether the output is
    /// not. Loses nothing when it is dropped.
    fn carry(&mut self, recorder: &mut Recorder) -> impl Future<Output = bool> + Send;
    /// Takes what is there, without waiting for more.
    fn drain(&mut self, recorder: &mut Recorder);
    /// Whether all input so far was read, or nobody reads it.
    fn wants_input(&self) -> bool;
    /// How many bytes of the last input were not written.
    fn unwritten(&self) -> usize;
    /// Whether nobody reads input any more.
    fn refuses_input(&self) -> bool {
        false
    }
    /// Takes the next input; nothing more comes after an empty piece.
    fn give(&mut self, bytes: Vec<u8>);
    /// Has another size, if it is a terminal.
    fn resize(&mut self, size: TerminalSize);
    /// Writes input from any thread while this lives, where that can be done.
    fn taker(&self) -> Option<Taker> {
        None
    }
    /// Tells how it gives lines, if it is a terminal.
    fn line_asker(&self) -> Option<LineAsker> {
        None
    }
    /// Says something at its hatch from any thread while this lives, if it has one.
    fn door(&self, _recorder: &Recorder) -> Option<Door> {
        None
    }
    /// Takes output on any thread while this lives, where that can be done.
    fn looker(&self, _recorder: &Recorder) -> Option<Looker> {
        None
    }
}

impl Beside {
    /// A place for one more: `Busy` when there are too many, `Closed` after [`Beside::end`].
    pub(super) fn place(&self) -> Result<BesidePlace<'_>> {
        if self.end.is_cancelled() {
            return Err(Error::new(ErrorKind::Closed, "The backend is closed."));
        }
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        if tasks.len() + self.starting.load(Ordering::Relaxed) >= BESIDE {
            return Err(Error::new(
                ErrorKind::Busy,
                format!("{BESIDE} commands run in the background or on terminals; end one of them first."),
            ));
        }
        self.starting.fetch_add(1, Ordering::Relaxed);
        Ok(BesidePlace(self))
    }
}

impl BesidePlace<'_> {
    /// Drives a command in it.
    pub(super) fn spawn(self, running: Running, channel: impl Channel + 'static, driver: Driver) {
        driver.recorder.started(running.pid());
        if let Some(lines) = channel.line_asker() {
            driver.intake.open_to_questions(lines);
        }
        let work = drive(running, channel, driver, self.0.end.clone());
        self.0.tasks.lock().spawn(work);
    }
}

impl Beside {
    /// Ends all of them.
    pub(super) async fn end(&self) {
        self.end.cancel();
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        while tasks.join_next().await.is_some() {}
    }
}

impl CommandRunner {
    /// Starts a command in an opened directory. See [`crate::backend::Shell::start`].
    pub async fn start_beside(&self, request: ExecuteRequest, directory: std::os::fd::OwnedFd) -> Result<Process> {
        let limits = request.limits.within(self.limits);
        self.check(&request.command, limits, Background::End)?;
        let place = self.beside.place()?;
        let launch = Launch {
            command: request.command,
            directory,
            environment: self.environment.with(&request.environment)?,
            limits,
            background: Background::End,
            with_stdin: true,
            #[cfg(target_os = "linux")]
            terminal: None,
            #[cfg(target_os = "linux")]
            hatch: None,
            #[cfg(target_os = "linux")]
            is_announced: true,
        };
        let (running, ends) = self.start(launch).await?;
        let running = running.started().await?;
        // Who gives input gives all of it; without any it can be written later.
        let stays_open = request.stdin.is_none();
        let pipes = Pipes::of(ends, request.stdin.unwrap_or_default(), stays_open)?;
        let capture = Capture::new(self.output_bytes, None, request.spill);
        let options = ProcessOptions { sink: request.on_output, tap: None };
        let (process, driver) = process(Some(capture), options);
        if !stays_open {
            process.has_all_input();
        }
        place.spawn(running, pipes, driver);
        Ok(process)
    }
}

async fn drive(mut running: Running, mut channel: impl Channel, driver: Driver, end: CancelToken) {
    let Driver { mut recorder, mut orders, mut input, intake } = driver;
    if let Some(taker) = channel.taker() {
        intake.open(taker);
    }
    if let Some(looker) = channel.looker(&recorder) {
        intake.open_to_looks(looker);
    }
    if let Some(door) = channel.door(&recorder) {
        intake.open_hatch(door);
    }
    let mut output_is_open = true;
    let mut input_is_open = true;
    // The bytes of the input that is being written.
    let mut given: Option<usize> = None;
    let is_told_to_end = 'driving: loop {
        let wants_input = channel.wants_input();
        if let Some(bytes) = given.take_if(|_| wants_input) {
            intake.wrote(bytes.saturating_sub(channel.unwritten()));
            intake.done();
            if channel.refuses_input() {
                intake.refuse();
                // What waits is read by nobody either.
                input.close();
                input_is_open = false;
            }
        }
        tokio::select! {
            () = running.ended() => break false,
            is_open = channel.carry(&mut recorder), if output_is_open || !wants_input => output_is_open = is_open,
            order = orders.recv() => match order {
                Some(order) if obey(order, &mut running, &mut channel).await => intake.done(),
                Some(_) | None => break true,
            },
            bytes = input.recv(), if input_is_open && wants_input => {
                // What it was told before it was given this comes first.
                while let Ok(order) = orders.try_recv() {
                    if !obey(order, &mut running, &mut channel).await {
                        break 'driving true;
                    }
                    intake.done();
                }
                given = bytes.as_ref().map(Vec::len);
                match bytes {
                    Some(bytes) => channel.give(bytes),
                    None => input_is_open = false,
                }
            },
            () = end.cancelled() => break true,
        }
    };
    // Nobody reads any more.
    input.close();
    if is_told_to_end {
        running = match running.terminate().await {
            Ok(running) => running,
            Err(_) => return,
        };
        let carried = async { while channel.carry(&mut recorder).await {} };
        let calm = async { tokio::join!(running.ended(), carried) };
        drop(tokio::time::timeout(GRACE, calm).await);
    }
    let ended = running.end().await.unwrap_or(Ended::UNKNOWN);
    channel.drain(&mut recorder);
    if let Some(bytes) = given {
        intake.wrote(bytes.saturating_sub(channel.unwritten()));
    }
    orders.close();
    let complete = |outcome| ExecuteOutcome {
        exit_code: ended.status.and_then(|status| status.code()),
        signal: ended.status.and_then(signal_name),
        processes_left: (ended.others > 0 && !is_told_to_end && ended.ceiling.is_none()).then_some(ended.others),
        peak_memory_bytes: ended.peak_memory,
        ceiling: ended.ceiling,
        supervisor_lost: ended.supervisor_lost,
        ..outcome
    };
    recorder.finish(complete).await;
}

/// Carries out an order; whether the command goes on.
async fn obey(order: Order, running: &mut Running, channel: &mut impl Channel) -> bool {
    match order {
        Order::End => return false,
        Order::Signal(signal) => running.signal(number_of(signal)).await,
        Order::Resize(size) => channel.resize(size),
    }
    true
}

fn number_of(signal: ProcessSignal) -> Signal {
    match signal {
        ProcessSignal::Hangup => Signal::HUP,
        ProcessSignal::Interrupt => Signal::INT,
        ProcessSignal::Quit => Signal::QUIT,
        ProcessSignal::Kill => Signal::KILL,
        ProcessSignal::User1 => Signal::USR1,
        ProcessSignal::User2 => Signal::USR2,
        ProcessSignal::Terminate => Signal::TERM,
        ProcessSignal::Continue => Signal::CONT,
        ProcessSignal::Stop => Signal::TSTP,
    }
}

impl Channel for Pipes {
    async fn carry(&mut self, recorder: &mut Recorder) -> bool {
        let had_input = !self.wants_input();
        while self.is_open() || !self.wants_input() {
            self.turn(recorder).await;
            if had_input && self.wants_input() {
                return self.is_open();
            }
        }
        false
    }

    fn drain(&mut self, recorder: &mut Recorder) {
        Self::drain(self, recorder);
    }

    fn wants_input(&self) -> bool {
        self.stdin.as_ref().is_none_or(|input| !input.has_more())
    }

    fn unwritten(&self) -> usize {
        self.refused.unwrap_or_else(|| self.stdin.as_ref().map_or(0, Input::left))
    }

    fn refuses_input(&self) -> bool {
        self.refused.is_some()
    }

    fn give(&mut self, bytes: Vec<u8>) {
        let Some(input) = &mut self.stdin else {
            // Given behind the end of the input.
            self.refused = self.refused.or(Some(bytes.len()).filter(|bytes| *bytes > 0));
            return;
        };
        if bytes.is_empty() {
            self.stdin = None;
        } else {
            input.bytes = bytes;
            input.written = 0;
        }
    }

    fn resize(&mut self, _size: TerminalSize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands that were started side by side were not counted until they ran.
    #[test]
    fn as_many_as_may_run_and_not_one_more_also_while_they_start() {
        let beside = Beside::default();
        let mut places: Vec<_> = (0..BESIDE).map(|_| beside.place().unwrap()).collect();
        assert_eq!(beside.place().err().map(|error| error.kind()), Some(ErrorKind::Busy));
        places.pop();
        beside.place().unwrap();
        drop(places);
        assert_eq!(beside.starting.load(Ordering::Relaxed), 0);
    }
}
