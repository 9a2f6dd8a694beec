//! `execute` of the local backend: one command by `/bin/sh -c`, with the rights of the host's user.
//!
//! The end of the shell is the end of the call, not the end of its output: whatever it left behind is ended, and what
//! is left in the pipes is taken (D9, D95). A timeout or an abort asks the process group to end, waits a moment and
//! kills it. Output is caught in bounded memory and is never lost: not when time is over, and not when it is no UTF-8.
//!
//! This module must never run the command with more of the host's environment than [`environment`] lets through, reap a
//! process that is not its own child, or resolve a path: the working directory arrives opened. It is no wall: a command
//! can do what the host's user can. See [`running`] for the two ways in which a command is started and ended.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use tokio::net::unix::pipe::{Receiver, Sender};

use self::child::{receiver, sender};
pub use self::environment::Environment;
#[cfg(target_os = "linux")]
pub use self::program::SupervisorProgram;
use self::running::{Ended, Launch, Running};
use crate::backend::capture::Capture;
use crate::backend::process::Recorder;
use crate::backend::{Background, Call, CommandLimits, ExecuteOutcome, ExecuteRequest, Stream};
use crate::error::{Error, ErrorKind, Result};
use crate::lent;

mod beside;
mod child;
mod environment;
mod exit_watch;
#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod room;
mod running;
#[cfg(all(target_os = "linux", not(test)))]
mod supervised;
#[cfg(all(target_os = "linux", test))]
pub(crate) mod supervised;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(test)]
mod tests;
mod tree;

/// 131,071 bytes: what Linux takes as one argument (`MAX_ARG_STRLEN`) without its final NUL.
const COMMAND_BYTES: usize = 128 * 1024 - 1;
/// 8 MiB for a command that the supervisor hands to the shell as a script: no person and no model writes a longer one.
#[cfg(target_os = "linux")]
const SCRIPT_BYTES: usize = 8 << 20;
/// 2,048 processes of one command unless it asks for another ceiling: more than any build starts at once, and a fork
/// bomb reaches them within a second.
#[cfg(target_os = "linux")]
const PROCESSES: u64 = 2_048;
/// 300 ms between asking a command to end and ending it (R-SH-3): enough to remove a lock file, too short to be felt.
const GRACE: Duration = Duration::from_millis(300);
/// 64 KiB: what a pipe holds by default.
const READ_BYTES: usize = 64 << 10;
/// 256 KiB are held by the pipe of a command that prints much, so that it and its reader wait for each other less often.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 << 10;
/// 1 MiB is taken from each pipe after the end: the most that an unprivileged process can have put into one.
const DRAIN_BYTES: usize = 1 << 20;

/// Runs the commands of one backend. Dropped or closed, it ends the processes that commands were allowed to leave.
#[derive(Debug)]
pub struct CommandRunner {
    environment: Environment,
    output_bytes: usize,
    grace: Duration,
    beside: beside::Beside,
    #[cfg(target_os = "linux")]
    supervision: Option<Supervision>,
}

/// What a runner has when it has a supervisor program.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Supervision {
    supervisors: std::sync::Arc<supervised::Supervisors>,
    kept: kept::Kept,
}

/// Why a command is ended before its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    TimedOut,
    Aborted,
}

impl CommandRunner {
    /// A runner whose commands get `environment`, and of whose output `output_bytes` are kept of each stream. Without a
    /// supervisor program it ends what it can find of a command, sets no limits and keeps nothing in the background.
    pub fn new(environment: Environment, output_bytes: usize) -> Self {
        Self {
            environment,
            output_bytes,
            grace: GRACE,
            beside: beside::Beside::default(),
            #[cfg(target_os = "linux")]
            supervision: None,
        }
    }

    /// The same with `program` to start, limit and end its commands.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn with_supervisor(self, program: SupervisorProgram) -> Self {
        let supervisors = supervised::Supervisors::new(program);
        Self { supervision: Some(Supervision { supervisors, kept: kept::Kept::default() }), ..self }
    }

    /// Ends what runs beside its caller and what commands were allowed to leave behind, and waits until it is gone.
    pub async fn close(&self) {
        self.beside.end().await;
        #[cfg(target_os = "linux")]
        if let Some(supervision) = &self.supervision {
            supervision.kept.end().await;
            supervision.supervisors.close().await;
        }
    }

    /// Runs a command in an opened directory (`request.working_directory` is the caller's to resolve). See
    /// [`crate::backend::Shell::execute`]. With no time at all, or an abort that came before, nothing is started.
    pub async fn run(&self, request: ExecuteRequest, directory: OwnedFd, call: &Call) -> Result<ExecuteOutcome> {
        let ExecuteRequest {
            command,
            timeout,
            working_directory: _,
            environment,
            stdin,
            on_output,
            limits,
            background,
            spill,
        } = request;
        self.check(&command, limits, background)?;
        let environment = self.environment.with(&environment)?;
        let begin = Instant::now();
        let deadline = timeout.map_or_else(|| call.deadline.clone(), |timeout| call.deadline.within(timeout));
        let mut capture = Capture::new(self.output_bytes, on_output, spill);
        if let Err(error) = deadline.check() {
            return Ok(outcome(capture, Ended::UNKNOWN, Some(stop_of(&error)), begin));
        }

        let with_stdin = stdin.is_some();
        let launch = Launch {
            command,
            directory,
            environment,
            limits,
            background,
            with_stdin,
            #[cfg(target_os = "linux")]
            terminal: None,
            #[cfg(target_os = "linux")]
            is_announced: false,
        };
        let (mut running, ends) = self.start(launch).await?;
        let mut pipes = Pipes::of(ends, stdin.unwrap_or_default(), false)?;
        // It runs; what it prints is taken by a thread that has time for it.
        lent::give_back(|| true).await;

        let stop = tokio::select! {
            () = running.ended() => None,
            error = deadline.reached() => Some(stop_of(&error)),
            // Closed pipes are no sign of the end.
            () = async { pipes.carry(&mut capture).await; std::future::pending().await } => None,
        };
        if stop.is_some() {
            running = running.terminate().await?;
            // The shell often ends before what it started does; open pipes show that somebody still cleans up.
            let calm = async { tokio::join!(running.ended(), pipes.carry(&mut capture)) };
            drop(tokio::time::timeout(self.grace, calm).await);
        }
        let ended = self.finish(running, &mut pipes, &mut capture, stop).await?;
        Ok(outcome(capture, ended, stop, begin))
    }

    #[cfg(target_os = "linux")]
    async fn start(&self, mut launch: Launch) -> Result<(Running, child::OurEnds)> {
        match &self.supervision {
            Some(supervision) => {
                launch.limits.processes.get_or_insert(PROCESSES);
                let (command, ends) = supervision.supervisors.start(&launch).await?;
                let ends = ends.ok_or_else(|| Error::internal("A command was started without pipes."))?;
                Ok((Running::Supervised(command), ends))
            }
            None => Running::direct(launch).await,
        }
    }

    #[cfg(not(target_os = "linux"))]
    async fn start(&self, launch: Launch) -> Result<(Running, child::OurEnds)> {
        Running::direct(launch).await
    }

    /// Ends what is left and takes what lies in the pipes; what is to be kept is kept, with its pipes.
    #[cfg_attr(not(target_os = "linux"), allow(unused_variables, reason = "only a supervisor keeps anything"))]
    async fn finish(
        &self,
        running: Running,
        pipes: &mut Pipes,
        capture: &mut Capture,
        stop: Option<Stop>,
    ) -> Result<Ended> {
        #[cfg(target_os = "linux")]
        let running = match (running, &self.supervision) {
            (Running::Supervised(command), Some(supervision)) if stop.is_none() => match command.left_behind() {
                Some(status) => {
                    pipes.drain(capture);
                    supervision.kept.keep(command, std::mem::take(pipes));
                    return Ok(Ended { status: Some(status), ..Ended::UNKNOWN });
                }
                None => Running::Supervised(command),
            },
            (running, _) => running,
        };
        let ended = running.end().await?;
        pipes.drain(capture);
        Ok(ended)
    }

    /// Refuses what cannot be handed to a shell, and what cannot be promised here.
    fn check(&self, command: &str, limits: CommandLimits, background: Background) -> Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(supervision) = &self.supervision {
            check_command(command, SCRIPT_BYTES)?;
            return match background {
                Background::End => Ok(()),
                Background::Keep => supervision.kept.check(),
            };
        }
        check_command(command, COMMAND_BYTES)?;
        if limits != CommandLimits::default() || background != Background::End {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "Limits on a command and processes in the background need the supervisor program, which this backend \
                 does not have.",
            ));
        }
        Ok(())
    }
}

/// Refuses what cannot be handed to a shell.
fn check_command(command: &str, most: usize) -> Result<()> {
    if command.trim().is_empty() {
        return Err(Error::invalid("The command is empty; give a command line for the shell."));
    }
    if command.contains('\0') {
        return Err(Error::invalid("The command holds a NUL character; a command line is text without NUL."));
    }
    if command.len() > most {
        return Err(Error::invalid(format!(
            "The command has {} bytes; at most {most} are possible. Write a script to a file and run that.",
            command.len()
        )));
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    crate::blocking::blocking(work).await.map_err(|_| Error::internal("Running a command failed inside gloveport."))
}

fn stop_of(error: &Error) -> Stop {
    if error.kind() == ErrorKind::Aborted { Stop::Aborted } else { Stop::TimedOut }
}

fn outcome(capture: Capture, ended: Ended, stop: Option<Stop>, begin: Instant) -> ExecuteOutcome {
    let captured = capture.finish();
    let Ended { status, others, peak_memory, ceiling } = ended;
    ExecuteOutcome {
        output: captured.output,
        stdout: captured.stdout,
        stderr: captured.stderr,
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(signal_name),
        timed_out: stop == Some(Stop::TimedOut),
        aborted: stop == Some(Stop::Aborted),
        truncated: captured.truncated,
        spill_path: captured.spill_path,
        exit_meaning: None,
        duration_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        processes_left: (others > 0 && stop.is_none() && ceiling.is_none()).then_some(others),
        peak_memory_bytes: peak_memory,
        ceiling,
    }
}

/// The name of the signal that ended a process; a real-time signal has only a number.
fn signal_name(status: ExitStatus) -> Option<String> {
    use rustix::process::Signal;
    const NAMES: [(Signal, &str); 26] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::STOP, "SIGSTOP"),
        (Signal::TSTP, "SIGTSTP"),
        (Signal::TTIN, "SIGTTIN"),
        (Signal::TTOU, "SIGTTOU"),
        (Signal::URG, "SIGURG"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::IO, "SIGIO"),
        (Signal::SYS, "SIGSYS"),
    ];
    let number = status.signal()?;
    let name = NAMES.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| (*name).to_owned());
    Some(name.unwrap_or_else(|| format!("signal {number}")))
}

/// Our ends of a command's pipes; a pipe that is at its end is `None`.
#[derive(Default)]
struct Pipes {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    stdin: Option<Input>,
    buffer: Vec<u8>,
    /// Whether the pipe of the first stream that filled a buffer was made larger.
    is_wide: bool,
}

/// What the command reads.
struct Input {
    pipe: Sender,
    bytes: Vec<u8>,
    written: usize,
    /// Whether more may come when all is written.
    stays_open: bool,
}

impl Input {
    fn has_more(&self) -> bool {
        self.written < self.bytes.len()
    }
}

/// Takes output, one piece of one stream after another.
trait Take {
    fn take(&mut self, stream: Stream, bytes: &[u8]);
}

impl Take for Capture {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        Self::take(self, stream, bytes);
    }
}

impl Take for Recorder {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        Self::take(self, stream, bytes);
    }
}

impl Pipes {
    /// Our ends; `bytes` is what the command reads first.
    fn of(ends: child::OurEnds, bytes: Vec<u8>, stays_open: bool) -> Result<Self> {
        let stdin = ends.stdin.map(|pipe| sender(pipe).map(|pipe| Input { pipe, bytes, written: 0, stays_open }));
        Ok(Self {
            stdout: Some(receiver(ends.stdout)?),
            stderr: Some(receiver(ends.stderr)?),
            stdin: stdin.transpose()?,
            buffer: vec![0; READ_BYTES],
            is_wide: false,
        })
    }

    /// Carries output in and input out until every process has closed its ends of both outputs.
    async fn carry(&mut self, capture: &mut impl Take) {
        while self.is_open() {
            self.turn(capture).await;
        }
    }

    /// Whether output may still come.
    fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Waits until something can be carried, and carries it.
    async fn turn(&mut self, capture: &mut impl Take) {
        tokio::select! {
            () = readable(self.stdout.as_ref()) => {}
            () = readable(self.stderr.as_ref()) => {}
            () = writable(self.stdin.as_ref()) => give(&mut self.stdin),
        }
        // Both, whichever woke us: what is there at once comes in a fixed order, and neither starves the other.
        for (pipe, stream) in [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)] {
            let count = take(pipe, stream, &mut self.buffer, capture);
            if count == READ_BYTES && !self.is_wide {
                self.is_wide = true;
                widen(pipe.as_ref());
            }
        }
    }

    /// Takes what lies in the pipes, without waiting for more. Asks the system itself: the runtime may not have heard yet
    /// that a pipe is readable.
    fn drain(&mut self, capture: &mut impl Take) {
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

/// Writes what the pipe takes; closes it at the end of the input, or when nobody reads any more.
fn give(input: &mut Option<Input>) {
    let Some(open) = input else { return };
    let rest = &open.bytes[open.written..];
    if rest.is_empty() {
        if !open.stays_open {
            *input = None;
        }
        return;
    }
    match open.pipe.try_write(rest) {
        Ok(count) => {
            open.written += count;
            if !open.has_more() && !open.stays_open {
                *input = None;
            }
        }
        Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {}
        Err(_) => *input = None,
    }
}
