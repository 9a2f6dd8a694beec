//! A command that runs, whichever way it was started.
//!
//! With the supervisor program every process of it is known and ended, also after this host process was killed, and its
//! resources are limited ([`supervised`](super::supervised)). Without one (systems other than Linux) the command is our
//! own child in a process group ([`child`](super::child)): what leaves the group may be missed, nothing acts after the
//! death of the host, and limits are refused instead of ignored.

use std::os::fd::OwnedFd;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::blocking;
use super::child::{OurEnds, OwnedChild, start};
use super::environment::Environment;
use super::exit_watch::ExitWatch;
#[cfg(target_os = "linux")]
use super::supervised::Supervised;
use crate::backend::{Background, Ceiling, CommandLimits};
use crate::error::Result;

/// What a command is started with.
pub(super) struct Launch {
    pub(super) command: String,
    /// Opened; nothing here resolves a path.
    pub(super) directory: OwnedFd,
    pub(super) environment: Environment,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "refused where no supervisor holds them"))]
    pub(super) limits: CommandLimits,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "refused where no supervisor holds it"))]
    pub(super) background: Background,
    /// Whether it gets a pipe to read from; nothing otherwise.
    pub(super) with_stdin: bool,
    /// The terminal that it reads and writes instead of pipes; only with a supervisor.
    #[cfg(target_os = "linux")]
    pub(super) terminal: Option<OwnedFd>,
    /// What it has for error output on a terminal, to make a descriptor of its own of it: the other end of a hatch.
    #[cfg(target_os = "linux")]
    pub(super) hatch: Option<OwnedFd>,
    /// Whether its number is asked for.
    #[cfg(target_os = "linux")]
    pub(super) is_announced: bool,
}

/// A command that runs. Dropped before its end it is ended with all that it started.
pub(super) enum Running {
    /// Our own child.
    Direct { child: OwnedChild, exit: ExitWatch },
    /// The supervisor's.
    #[cfg(target_os = "linux")]
    Supervised(Supervised),
}

/// How a command and its processes ended.
pub(super) struct Ended {
    /// How the shell ended; unknown where the host process reaped it before us, or the kernel does not let go of it.
    pub(super) status: Option<ExitStatus>,
    /// How many processes besides the shell had to be ended.
    pub(super) others: u32,
    /// Bytes at the peak of the largest process, where that is known.
    pub(super) peak_memory: Option<u64>,
    /// The ceiling that it was ended for.
    pub(super) ceiling: Option<Ceiling>,
    /// The processes that are kept.
    pub(super) kept: Vec<u32>,
    /// Whether the supervisor ended before it, so that processes of it may live that nobody found.
    pub(super) supervisor_lost: bool,
}

impl Ended {
    /// Nothing is known but that it is over.
    pub(super) const UNKNOWN: Self =
        Self { status: None, others: 0, peak_memory: None, ceiling: None, kept: Vec::new(), supervisor_lost: false };
}

impl Running {
    /// Starts a command without a supervisor.
    pub(super) async fn direct(launch: Launch) -> Result<(Self, OurEnds)> {
        let (child, ends) = blocking(move || start(&launch)).await??;
        let exit = child.watch()?;
        Ok((Self::Direct { child, exit }, ends))
    }

    /// Ends when the shell runs; an error when it does not.
    pub(super) async fn started(self) -> Result<Self> {
        match self {
            Self::Direct { .. } => Ok(self),
            #[cfg(target_os = "linux")]
            Self::Supervised(command) => command.started().await.map(Self::Supervised),
        }
    }

    /// Ends when the shell has ended, and with a supervisor all that it left behind (unless that is kept).
    pub(super) async fn ended(&mut self) {
        match self {
            Self::Direct { exit, .. } => exit.ended().await,
            #[cfg(target_os = "linux")]
            Self::Supervised(command) => command.ended().await,
        }
    }

    /// Sends a signal to the group of the command.
    pub(super) async fn signal(&self, signal: Signal) {
        match self {
            Self::Direct { child, .. } => child.signal(signal),
            #[cfg(target_os = "linux")]
            Self::Supervised(command) => command.signal(signal).await,
        }
    }

    /// The number of the shell where it is known.
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Direct { child, .. } => child.pid(),
            #[cfg(target_os = "linux")]
            Self::Supervised(command) => command.pid(),
        }
    }

    /// Asks every process to end, and leaves those that do not alone.
    pub(super) async fn terminate(self) -> Result<Self> {
        match self {
            Self::Direct { mut child, exit } => {
                blocking(move || {
                    child.terminate();
                    Self::Direct { child, exit }
                })
                .await
            }
            #[cfg(target_os = "linux")]
            Self::Supervised(mut command) => {
                command.terminate().await;
                Ok(Self::Supervised(command))
            }
        }
    }

    /// Ends every process that is left. An error when the command never started.
    pub(super) async fn end(self) -> Result<Ended> {
        match self {
            Self::Direct { child, exit: _ } => blocking(move || child.end()).await,
            #[cfg(target_os = "linux")]
            Self::Supervised(command) => command.end().await,
        }
    }
}
