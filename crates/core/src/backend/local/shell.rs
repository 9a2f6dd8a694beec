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

pub use self::environment::Environment;
pub(super) use self::environment::SEARCH_PATH;
use self::pipes::Pipes;
#[cfg(target_os = "linux")]
pub use self::program::SupervisorProgram;
use self::running::{Ended, Launch, Running};
pub use self::search_path::WritablePlaces;
use crate::backend::capture::{Capture, Captured};
use crate::backend::command_line;
use crate::backend::{Background, Call, CommandLimits, ExecuteOutcome, ExecuteRequest};
use crate::error::{Error, ErrorKind, Result};

#[cfg(target_os = "linux")]
mod awake;
mod beside;
mod child;
mod environment;
mod exit_watch;
#[cfg(target_os = "linux")]
mod flood;
#[cfg(target_os = "linux")]
mod hatch;
#[cfg(target_os = "linux")]
mod kept;
mod pipes;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod room;
mod running;
#[cfg(target_os = "linux")]
mod screen;
mod search_path;
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

/// Runs the commands of one backend. Dropped or closed, it ends the processes that commands were allowed to leave.
#[derive(Debug)]
pub struct CommandRunner {
    environment: Environment,
    output_bytes: usize,
    limits: CommandLimits,
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
            limits: CommandLimits::default(),
            grace: GRACE,
            beside: beside::Beside::default(),
            #[cfg(target_os = "linux")]
            supervision: None,
        }
    }

    /// The same with ceilings for every command; what a command asks for can only be lower.
    #[must_use]
    pub fn with_limits(self, limits: CommandLimits) -> Self {
        Self { limits, ..self }
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
        let limits = limits.within(self.limits);
        self.check(&command, limits, background)?;
        let environment = self.environment.with(&environment)?;
        let begin = Instant::now();
        let deadline = timeout.map_or_else(|| call.deadline.clone(), |timeout| call.deadline.within(timeout));
        let mut capture = Capture::new(self.output_bytes, on_output, spill);
        if let Err(error) = deadline.check() {
            return Ok(outcome(capture.finish().await, Ended::UNKNOWN, Some(stop_of(&error)), begin));
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
            hatch: None,
            #[cfg(target_os = "linux")]
            is_announced: false,
        };
        let (mut running, ends) = self.start(launch).await?;
        let mut pipes = Pipes::of(ends, stdin.unwrap_or_default(), false)?;

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
        Ok(outcome(capture.finish().await, ended, stop, begin))
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
                Some(ended) => {
                    pipes.drain(capture);
                    supervision.kept.keep(command, std::mem::take(pipes));
                    return Ok(ended);
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
            command_line::check(command, SCRIPT_BYTES)?;
            return match background {
                Background::End => Ok(()),
                Background::Keep => supervision.kept.check(),
            };
        }
        command_line::check(command, COMMAND_BYTES)?;
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

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    crate::blocking::blocking(work).await.map_err(|_| Error::internal("Running a command failed inside gloveport."))
}

fn stop_of(error: &Error) -> Stop {
    if error.kind() == ErrorKind::Aborted { Stop::Aborted } else { Stop::TimedOut }
}

fn outcome(captured: Captured, ended: Ended, stop: Option<Stop>, begin: Instant) -> ExecuteOutcome {
    let Ended { status, others, peak_memory, ceiling, kept, supervisor_lost } = ended;
    ExecuteOutcome {
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(signal_name),
        timed_out: stop == Some(Stop::TimedOut),
        aborted: stop == Some(Stop::Aborted),
        processes_left: (others > 0 && stop.is_none() && ceiling.is_none()).then_some(others),
        processes_kept: kept,
        peak_memory_bytes: peak_memory,
        ceiling,
        supervisor_lost,
        ..captured.outcome(begin)
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
