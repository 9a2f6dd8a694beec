//! How a command starts: as the leader of its own session, in an opened directory, with three descriptors and no
//! other, default signals, its limits and exactly the environment that was asked for (R-SH-1, R-SH-8).

use alloc::vec::Vec;
use core::num::NonZeroU64;

use gloveport_standby::DESCRIPTORS;
use gloveport_supervisor::{Limits, Request, Stage};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

use crate::sys::{self, Program, Stack};

/// Threads that each process of the tree may have on average before `RLIMIT_NPROC` stops it. 8: the count of processes
/// is what is asked for; this is the net under it.
const THREADS_EACH: u64 = 8;

/// 50 us, the kernel's own default: how much later a program's timers may go off, so that several wake the processor once.
const TIMER_SLACK: Option<NonZeroU64> = NonZeroU64::new(50_000);

/// What travels beside a request.
pub(crate) struct Descriptors {
    directory: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    stdin: Option<OwnedFd>,
    script: Option<OwnedFd>,
}

impl Descriptors {
    /// Sorts what arrived; `None` when it is not what `request` says.
    pub(crate) fn of(request: &Request, arrived: Vec<OwnedFd>) -> Option<Self> {
        if arrived.len() != request.descriptors() {
            return None;
        }
        let mut arrived = arrived.into_iter();
        Some(Self {
            directory: arrived.next()?,
            stdout: arrived.next()?,
            stderr: arrived.next()?,
            stdin: if request.has_stdin { arrived.next() } else { None },
            script: if request.has_script { arrived.next() } else { None },
        })
    }

    /// The directory, standard input (`empty` where there is none), standard output and standard error.
    pub(crate) fn in_order<'a>(&'a self, empty: &'a OwnedFd) -> [BorrowedFd<'a>; DESCRIPTORS] {
        [&self.directory, self.stdin.as_ref().unwrap_or(empty), &self.stdout, &self.stderr].map(AsFd::as_fd)
    }
}

/// Why a command did not start.
#[derive(Clone, Copy)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) errno: i32,
}

/// Starts the command. `empty` is read where there is no input; `limits` are those of [`resource_limits`].
pub(crate) fn start(
    request: &Request,
    descriptors: &Descriptors,
    empty: &OwnedFd,
    stack: &mut Stack,
    limits: &[(Resource, Rlimit)],
) -> Result<Pid, Failure> {
    let Some(path) = request.arguments.first() else { return Err(Failure { stage: Stage::Request, errno: 0 }) };
    let program =
        Program::new(path, request.arguments.iter().map(AsRef::as_ref), request.environment.iter().map(AsRef::as_ref));
    let stdin = descriptors.stdin.as_ref().unwrap_or(empty);
    // Runs in the memory of this process: system calls only.
    let mut setup = || {
        begin_session()?;
        rustix::process::fchdir(&descriptors.directory).map_err(failed(Stage::Directory))?;
        // The script last: until then one of the others may have the number 3.
        let script = descriptors.script.iter().map(|script| (script, 3));
        for (descriptor, target) in
            [(stdin, 0), (&descriptors.stdout, 1), (&descriptors.stderr, 2)].into_iter().chain(script)
        {
            sys::place(descriptor.as_raw_fd(), target).map_err(failed(Stage::Setup))?;
        }
        if request.is_terminal {
            // The session has none yet and nobody else's session has this one: it is the one that job control works on.
            rustix::process::ioctl_tiocsctty(stdin).map_err(failed(Stage::Setup))?;
        }
        for (resource, limit) in limits {
            setrlimit(*resource, *limit).map_err(failed(Stage::Setup))?;
        }
        Ok(())
    };
    match sys::start_child(stack, &mut setup, &program, |errno| Failure { stage: Stage::Program, errno }) {
        Ok((pid, Ok(()))) => Ok(pid),
        // The child that failed ends by itself and is reaped with the rest.
        Ok((_, Err(failure))) => Err(failure),
        Err(error) => Err(failed(Stage::Process)(error)),
    }
}

/// What every child begins with, before it has anything of its command.
pub(crate) fn begin_session() -> Result<(), Failure> {
    // A session of its own: `/dev/tty` does not open, and `kill 0` reaches the command's group only.
    rustix::process::setsid().map_err(failed(Stage::Setup))?;
    // This program has one thread, so that "parent" means what it says here.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed(Stage::Setup))?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    // A real-time process, as this program is where it may, has none and would hand that on. It cannot be refused.
    let _ = rustix::thread::set_current_timer_slack(TIMER_SLACK);
    Ok(())
}

pub(crate) fn failed(stage: Stage) -> impl Fn(Errno) -> Failure {
    move |errno| Failure { stage, errno: errno.raw_os_error() }
}

/// The limits to set, lowered to what this process may set at all; `tasks` is the count of threads on the machine now.
pub(crate) fn resource_limits(limits: &Limits, tasks: Option<u64>) -> Vec<(Resource, Rlimit)> {
    // `RLIMIT_NPROC` counts the threads of the user on the whole machine, so it starts from those that are there.
    let threads =
        limits.processes.zip(tasks).map(|(limit, tasks)| tasks.saturating_add(limit.saturating_mul(THREADS_EACH)));
    let asked = [
        // No core dumps in somebody's project.
        (Resource::Core, Some(0), 0),
        (Resource::As, limits.memory_bytes, 0),
        // A second between the signal that can be handled and the one that cannot.
        (Resource::Cpu, limits.cpu_seconds, 1),
        (Resource::Fsize, limits.file_bytes, 0),
        (Resource::Nofile, limits.open_files, 0),
        (Resource::Nproc, threads, 0),
    ];
    asked
        .into_iter()
        .filter_map(|(resource, limit, grace)| {
            let limit = limit?;
            let most = getrlimit(resource).maximum;
            let lowered = |wanted: u64| most.map_or(wanted, |most| wanted.min(most));
            let (current, maximum) = (lowered(limit), lowered(limit.saturating_add(grace)));
            Some((resource, Rlimit { current: Some(current), maximum: Some(maximum) }))
        })
        .collect()
}
