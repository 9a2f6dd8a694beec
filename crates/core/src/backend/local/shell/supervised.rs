//! Commands that run under the supervisor program, one end of a socket here, the other there.
//!
//! A supervisor that has ended its command stands ready for the next ([`ready`]): the second command of a backend needs no new
//! program, and soon no new shell either. The socket is the life of everything behind it. When its end here closes, by
//! [`Supervised`]'s drop, by the backend's end or by the death of this process, the supervisor kills every process of its command and
//! ends.
//!
//! A command with the same rights can kill or stop its supervisor. A stopped one is woken ([`Awake`]), and is the parent of
//! orphans all the same: what descends from it is ended from here when it does not do it ([`Tree::below`]). Of a killed one
//! what can still be found by the mark in its environment is ended ([`Tree::lost`]), and the outcome says that others may live.

mod link;
mod order;
mod ready;

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gloveport_supervisor::{self as wire, Order, Report, Stage, Status};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustix::process::Signal;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use self::link::{Link, end_by_force, reap, retire, unusable};
use self::order::{order_of, whole_seconds};
pub(super) use self::ready::Supervisors;
use super::awake::Awake;
use super::blocking;
use super::child::{OurEnds, check_directory, pipes, random_mark, refused};
use super::room::{Room, watched};
use super::running::{Ended, Launch};
use super::tree::Tree;
use crate::backend::Ceiling;
use crate::error::{Error, ErrorKind, Result};

/// 11 s for the report that a tree is ended: a second more than the supervisor gives itself where processes go on dying.
const REPORT_WAIT: Duration = Duration::from_secs(11);
/// 50 ms between looks at a supervisor that is to end a tree and does not, and 3 times that it is woken: who stops it again
/// means to, and time is over.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const WAKES: u32 = 3;

/// 256 KiB of an order, which a supervisor holds twice: the memory that it ever had counts as that of each command that it starts,
/// and no shell has less than this.
const LARGE_ORDER: usize = 256 << 10;
/// An eighth, of a second a quarter: the kernel counts a process's time against its ceiling by ticks, and tells it more exactly. Who
/// runs at a tick is given all of it, so on a machine that is loaded, itself or its host, one that it ended for a second was seen
/// to have had 0.93 of it, and once less than 0.88.
const TICKS: u32 = 8;
const TICKS_AT_LEAST: Duration = Duration::from_millis(250);

impl Supervisors {
    /// Starts a command; without pipes where it has a terminal. That its program cannot be run shows at [`Supervised::end`].
    pub(super) async fn start(self: &Arc<Self>, launch: &Launch) -> Result<(Supervised, Option<OurEnds>)> {
        check_directory(&launch.directory)?;
        let mark = random_mark();
        let (order, script) = order_of(launch, &mark)?;
        let piped = if launch.terminal.is_some() { None } else { Some(pipes(launch.with_stdin)?) };
        let mut beside = vec![launch.directory.as_fd()];
        match (&launch.terminal, &piped) {
            (Some(terminal), _) => {
                let errors = launch.hatch.as_ref().unwrap_or(terminal);
                beside.extend([terminal.as_fd(), errors.as_fd(), terminal.as_fd()]);
            }
            (None, Some((_, theirs))) => {
                beside.extend([theirs.stdout.as_fd(), theirs.stderr.as_fd()]);
                beside.extend(theirs.stdin.as_ref().map(AsFd::as_fd));
            }
            (None, None) => {}
        }
        beside.extend(script.as_ref().map(AsFd::as_fd));

        let mut ready = self.next_ready();
        let (link, sent) = loop {
            let is_fresh = ready.is_none();
            let link = match ready.take() {
                Some(link) => link,
                None => {
                    let program = self.program.clone();
                    let mut fresh = blocking(move || Link::launch_for_another(&program)).await??;
                    fresh.0.take().ok_or_else(unusable)?
                }
            };
            match link.hand_over(&order, &beside) {
                Ok(sent) => break (link, sent),
                // Somebody killed it while it stood ready.
                Err(_) if !is_fresh => retire(vec![link]),
                Err(_) => {
                    retire(vec![link]);
                    return Err(unusable());
                }
            }
        };
        let Link { socket, process } = link;
        let Some(socket) = watched(socket, Interest::READABLE) else {
            reap(vec![(process, mark)]);
            return Err(Error::internal("The socket of a supervisor cannot be waited on."));
        };
        let command = Supervised {
            home: Arc::clone(self),
            mark,
            awake: Some(Awake::keep(&process)),
            link: Some((socket, process)),
            is_last: order.len() > LARGE_ORDER,
            frame: [0; Report::BYTES],
            filled: 0,
            course: Course::Running,
            pid: None,
            cpu_ceiling: launch.limits.cpu_time.map(whole_seconds).map(Duration::from_secs),
        };
        command.send(&order[sent..]).await;
        Ok((command, piped.map(|(ours, _)| ours)))
    }
}

/// A command under a supervisor.
pub(super) struct Supervised {
    home: Arc<Supervisors>,
    /// `None` once it is ended.
    link: Option<(AsyncFd<OwnedFd>, Child)>,
    /// Whether its supervisor is to start no other.
    is_last: bool,
    mark: String,
    /// Until the process is waited for.
    awake: Option<Awake>,
    /// The beginning of the next report.
    frame: [u8; Report::BYTES],
    filled: usize,
    course: Course,
    pid: Option<u32>,
    /// The processor time that it may use.
    cpu_ceiling: Option<Duration>,
}

/// How far a command is.
#[derive(Clone, Copy)]
enum Course {
    Running,
    /// The shell ended, processes that are to be kept live.
    LeftBehind(Status, u64),
    Ended(wire::Ended),
    Failed {
        stage: Stage,
        errno: i32,
    },
    /// The supervisor is gone, or talks nonsense.
    Lost,
}

impl Course {
    fn is_over(self) -> bool {
        match self {
            Self::Ended(_) | Self::Failed { .. } | Self::Lost => true,
            Self::Running | Self::LeftBehind(..) => false,
        }
    }
}

impl Supervised {
    /// Ends when the shell has ended and nothing of it is left, or what is left is to be kept; or it did not start.
    pub(super) async fn ended(&mut self) {
        while matches!(self.course, Course::Running) {
            self.read().await;
        }
    }

    /// Ends when nothing of it is left.
    pub(super) async fn over(&mut self) {
        while !self.course.is_over() {
            self.read().await;
        }
    }

    /// Ends when the shell runs, or is known not to: then with the error.
    pub(super) async fn started(mut self) -> Result<Self> {
        while matches!(self.course, Course::Running) && self.pid.is_none() {
            self.read().await;
        }
        if matches!(self.course, Course::Failed { .. }) {
            // It says why.
            self.end().await?;
            return Err(Error::internal("A command that did not start has ended."));
        }
        Ok(self)
    }

    /// The number of the shell, once [`Supervised::started`] has ended.
    pub(super) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Sends a signal to the group of the command.
    pub(super) async fn signal(&self, signal: Signal) {
        if let Some(order) = u8::try_from(signal.as_raw()).ok().and_then(|number| Order::Signal(number).encode()) {
            self.send(&order).await;
        }
    }

    /// How the shell ended where it left processes that are to be kept, and which those are.
    pub(super) fn left_behind(&self) -> Option<Ended> {
        match self.course {
            Course::LeftBehind(status, peak_bytes) => Some(Ended {
                status: Some(exit_status(status)),
                peak_memory: Some(peak_bytes),
                // The supervisor lives: it is not reaped before `end`.
                kept: self
                    .awake
                    .as_ref()
                    .map(|awake| Tree::below(awake.pid(), &self.mark).living())
                    .unwrap_or_default(),
                ..Ended::UNKNOWN
            }),
            Course::Running | Course::Ended(_) | Course::Failed { .. } | Course::Lost => None,
        }
    }

    /// Asks every process to end.
    pub(super) async fn terminate(&mut self) {
        self.wake();
        if let Some(order) = Order::Terminate.encode() {
            self.send(&order).await;
        }
    }

    /// Ends every process that is left and says how it went.
    pub(super) async fn end(mut self) -> Result<Ended> {
        if !self.course.is_over() {
            if let Some(order) = Order::End.encode() {
                self.send(&order).await;
            }
            let give_up = Instant::now() + REPORT_WAIT;
            let mut wakes = 0;
            while !self.course.is_over() && wakes < WAKES && Instant::now() < give_up {
                // A supervisor that is stopped says nothing.
                wakes += u32::from(self.wake());
                drop(tokio::time::timeout(LOOK_AGAIN, self.over()).await);
            }
        }
        // Off the list before anybody waits for the process.
        self.awake = None;
        let Some((socket, process)) = self.link.take() else { return Ok(Ended::UNKNOWN) };
        match self.course {
            Course::Ended(ended) => {
                let status = exit_status(ended.status);
                // The kernel ends a process alone, and its parent may go on and end well.
                let spent = Duration::from_micros(ended.cpu_micros);
                let is_near = |most: Duration| spent >= most.saturating_sub((most / TICKS).max(TICKS_AT_LEAST));
                let is_spent = self
                    .cpu_ceiling
                    .is_some_and(|most| is_near(most) || status.signal() == Some(Signal::XCPU.as_raw()));
                let (mut others, mut supervisor_lost) = (ended.others, false);
                if ended.survivors > 0 {
                    let (more, is_lost) = self.end_by_force(socket, process).await?;
                    (others, supervisor_lost) = (others + more, is_lost);
                } else {
                    self.home.take_back(socket, process, ended.is_spent || self.is_last);
                }
                Ok(Ended {
                    status: Some(status),
                    others,
                    peak_memory: Some(ended.peak_bytes),
                    ceiling: match ended.ceiling {
                        Some(wire::Ceiling::Processes) => Some(Ceiling::Processes),
                        Some(wire::Ceiling::Memory) => Some(Ceiling::Memory),
                        Some(wire::Ceiling::CpuTime) => Some(Ceiling::CpuTime),
                        None => is_spent.then_some(Ceiling::CpuTime),
                    },
                    kept: Vec::new(),
                    supervisor_lost,
                })
            }
            Course::Failed { stage, errno } => {
                let is_spent = match stage {
                    Stage::Directory | Stage::Program => self.is_last,
                    // It may be the supervisor that can start nothing any more.
                    Stage::Request | Stage::Process | Stage::Setup => true,
                };
                self.home.take_back(socket, process, is_spent);
                Err(not_started(stage, errno))
            }
            Course::Running | Course::LeftBehind(..) | Course::Lost => {
                let (others, supervisor_lost) = self.end_by_force(socket, process).await?;
                self.home.program.lose();
                Ok(Ended { others, supervisor_lost, ..Ended::UNKNOWN })
            }
        }
    }

    /// Ends what the supervisor does not, and the supervisor; as [`end_by_force`].
    async fn end_by_force(&mut self, socket: AsyncFd<OwnedFd>, mut process: Child) -> Result<(u32, bool)> {
        let mark = std::mem::take(&mut self.mark);
        blocking(move || {
            // Its end of the socket stays open until the tree is gone: closed, a supervisor that goes on would end.
            let ended = end_by_force(&mut process, &mark);
            drop(socket);
            ended
        })
        .await
    }

    /// Takes the next report, whole or in part. Loses nothing when it is dropped.
    async fn read(&mut self) {
        let Some((socket, _)) = &self.link else {
            self.course = Course::Lost;
            return;
        };
        let Ok(mut ready) = socket.readable().await else {
            self.course = Course::Lost;
            return;
        };
        match rustix::io::read(socket.get_ref(), &mut self.frame[self.filled..]) {
            Ok(count) if count > 0 => self.filled += count,
            Err(Errno::AGAIN) => ready.clear_ready(),
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => self.course = Course::Lost,
        }
        if self.filled == Report::BYTES {
            self.filled = 0;
            self.course = match Report::decode(&self.frame) {
                Some(Report::Started(pid)) => {
                    self.pid = u32::try_from(pid).ok();
                    Course::Running
                }
                Some(Report::Exited { status, peak_bytes }) => Course::LeftBehind(status, peak_bytes),
                Some(Report::Ended(ended)) => Course::Ended(ended),
                Some(Report::Failed { stage, errno }) => Course::Failed { stage, errno },
                None => Course::Lost,
            };
        }
    }

    /// Lets the supervisor go on if it is stopped; whether it was.
    fn wake(&self) -> bool {
        self.awake.as_ref().is_some_and(Awake::wake)
    }

    /// Sends all of `bytes`. A supervisor that is gone shows at the next [`Supervised::read`].
    async fn send(&self, bytes: &[u8]) {
        let Some((socket, _)) = &self.link else { return };
        let mut rest = bytes;
        while !rest.is_empty() {
            match send(socket.get_ref(), rest, SendFlags::NOSIGNAL) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::AGAIN) => Room::of(socket.get_ref()).there().await,
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // Off the list before anybody waits for the process.
        self.awake = None;
        if let Some((socket, process)) = self.link.take() {
            drop(socket);
            reap(vec![(process, std::mem::take(&mut self.mark))]);
        }
    }
}

fn exit_status(status: Status) -> ExitStatus {
    // The number that `waitpid` gives: the code in the second byte, or the signal in the first.
    ExitStatus::from_raw(match status {
        Status::Exited(code) => (code & 0xFF) << 8,
        Status::Signalled(signal) => signal & 0x7F,
    })
}

fn not_started(stage: Stage, errno: i32) -> Error {
    match stage {
        Stage::Directory => {
            Error::new(ErrorKind::Io, "The command was not started: its working directory may not be entered.")
        }
        // No number is given where none was.
        Stage::Process | Stage::Program => refused((errno > 0).then(|| Errno::from_raw_os_error(errno))),
        Stage::Request | Stage::Setup => {
            Error::new(ErrorKind::Io, "The command was not started: the system refused one of its limits.")
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
