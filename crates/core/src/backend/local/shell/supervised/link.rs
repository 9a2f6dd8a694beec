//! A supervisor as a process with one end of a socket: how it starts, how it is told something, and how it ends.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use gloveport_supervisor::{MAX_DESCRIPTORS, START_AHEAD};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Pid;

use super::super::awake;
use super::super::child::refused;
use super::super::program::SupervisorProgram;
use super::super::tree::Tree;
use crate::error::{Error, ErrorKind, Result};

/// A supervisor that runs nothing. Its socket does not block and belongs to no runtime.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) socket: OwnedFd,
    pub(super) process: Child,
}

impl Link {
    /// Starts a supervisor. Blocks for the time of a `vfork` and `exec`; it gets one socket, no environment, and by its own
    /// doing no other descriptor.
    pub(super) fn launch(program: &SupervisorProgram) -> Result<Self> {
        let pair = || -> io::Result<(Socket, Socket)> {
            let (ours, theirs) = Socket::pair()?;
            ours.set_nonblocking(true)?;
            Ok((ours, theirs))
        };
        let (socket, theirs) = pair().map_err(|error| refused(Errno::from_io_error(&error)))?;
        let process = Command::new(program.path())
            .arg0("gloveport-supervisor")
            .args(program.starts_ahead().then_some(START_AHEAD))
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| match Errno::from_io_error(&error) {
                busy @ Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => refused(busy),
                Some(_) | None => unusable(),
            })?;
        Ok(Self { socket: socket.into(), process })
    }

    /// As [`Link::launch`], for somebody who may be gone when it has started.
    pub(super) fn launch_for_another(program: &SupervisorProgram) -> Result<Fresh> {
        Self::launch(program).map(|link| Fresh(Some(link)))
    }

    /// Sends the beginning of an order with the descriptors beside it; returns how much of it went.
    pub(super) fn hand_over(&self, order: &[u8], descriptors: &[BorrowedFd<'_>]) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Errno::INVAL);
        }
        sendmsg(&self.socket, &[IoSlice::new(order)], &mut beside, SendFlags::NOSIGNAL)
    }
}

/// A supervisor that nobody has taken yet. Where nobody does it is waited for: else it would stay a zombie.
pub(super) struct Fresh(pub(super) Option<Link>);

impl Drop for Fresh {
    fn drop(&mut self) {
        retire(self.0.take().into_iter().collect());
    }
}

pub(super) fn unusable() -> Error {
    Error::new(ErrorKind::Unsupported, "Commands cannot run here: the system does not start gloveport's supervisor.")
}

/// Lets supervisors end, which they do when their sockets close.
pub(super) fn retire(links: Vec<Link>) {
    reap(links.into_iter().map(|link| (link.process, String::new())).collect());
}

/// Waits for the end of supervisors whose sockets are closed, in a thread of its own: there may be no runtime any more,
/// and each may have a tree to end before, whose mark stands beside it.
pub(super) fn reap(processes: Vec<(Child, String)>) {
    if processes.is_empty() {
        return;
    }
    // Without a thread they stay zombies until this process ends; nothing else depends on it.
    drop(std::thread::Builder::new().name("gloveport-reaper".to_owned()).spawn(move || wait_for(processes)));
}

pub(super) fn wait_for(processes: Vec<(Child, String)>) {
    for (mut process, mark) in processes {
        let is_clean = awake::wait_for(&mut process).is_some_and(|status| status.success());
        if !is_clean {
            end_by_force(&mut process, &mark);
        }
    }
}

/// Ends what its supervisor does not, and the supervisor. Returns how many processes that were, and whether others may live:
/// only where the supervisor was dead before them.
pub(super) fn end_by_force(process: &mut Child, mark: &str) -> (u32, bool) {
    let (mut others, mut is_lost) = (0, true);
    if matches!(process.try_wait(), Ok(None)) {
        let mut tree = Tree::below(Pid::from_child(process), mark);
        others = tree.end();
        is_lost = !tree.living().is_empty() || !matches!(process.try_wait(), Ok(None));
        drop(process.kill());
        drop(process.wait());
    }
    // Without a mark it ran nothing.
    if !mark.is_empty() {
        others += Tree::lost(mark).end();
    }
    (others, is_lost)
}
