//! The process of a supervisor and the socket to it: how both begin, and how they end with all that is behind them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gloveport_supervisor::Report;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::awake;
use super::child::refused;
use super::leaf::Leaf;
use super::program::SupervisorProgram;
use super::tree::Tree;
use crate::error::{Error, ErrorKind, Result};

/// 3 s for a supervisor to say under which number it goes on: as long as for the report that its tree is ended.
const STAND_WAIT: Duration = Duration::from_secs(3);

/// A supervisor that runs nothing. Its socket does not block and belongs to no runtime.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) socket: OwnedFd,
    pub(super) process: Process,
}

/// The process of a supervisor, a child of this one, with the leaf that it is in.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    is_over: bool,
    leaf: Option<Leaf>,
}

impl Process {
    fn new(child: &Child, leaf: Option<Leaf>) -> Self {
        Self { pid: Pid::from_child(child), is_over: false, leaf }
    }

    /// Its number: nobody else's until it is waited for.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether it has ended; then it is waited for.
    fn is_over(&mut self) -> bool {
        if !self.is_over {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            // Nothing is there to be waited for where the host process reaps everything itself.
            self.is_over = matches!(waitid(WaitId::Pid(self.pid), options), Ok(Some(_)) | Err(Errno::CHILD));
        }
        self.is_over
    }

    /// Waits for its end; whether it ended as it should.
    pub(super) fn wait(&mut self) -> bool {
        let mut is_clean = false;
        while !self.is_over {
            match waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED) {
                Ok(status) => {
                    is_clean = status.is_some_and(|status| status.exit_status() == Some(0));
                    self.is_over = true;
                }
                Err(Errno::INTR) => {}
                Err(_) => self.is_over = true,
            }
        }
        is_clean
    }

    fn kill(&mut self) {
        if !self.is_over() {
            // It fails only where it is dead.
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }

    /// Kills what is left in the leaf, itself too; how many others that were.
    fn end_leaf(&mut self) -> u32 {
        let itself = u32::from(!self.is_over());
        self.leaf.take().map_or(0, |leaf| leaf.end().saturating_sub(itself))
    }
}

/// Starts a supervisor. Blocks for the time of a `vfork` and `exec`; it gets one socket, no environment, a leaf where there is
/// one, and by its own doing no other descriptor.
pub(super) fn launch(program: &SupervisorProgram) -> Result<Link> {
    launch_in(program, program.leaf())
}

pub(super) fn launch_in(program: &SupervisorProgram, leaf: Option<Leaf>) -> Result<Link> {
    let pair = || -> io::Result<(Socket, Socket)> {
        let (ours, theirs) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        Ok((ours, theirs))
    };
    let (socket, theirs) = pair().map_err(|error| refused(Errno::from_io_error(&error)))?;
    let leaf = leaf.and_then(|leaf| Some((leaf.handle()?, leaf)));
    let (handle, leaf) = leaf.unzip();
    let child = Command::new(program.path())
        .arg0("gloveport-supervisor")
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(handle.map_or_else(Stdio::null, Stdio::from))
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| match Errno::from_io_error(&error) {
            busy @ Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => refused(busy),
            Some(_) | None => unusable(),
        })?;
    let socket = OwnedFd::from(socket);
    let process = match leaf {
        Some(leaf) => standing(child, leaf, &socket)?,
        None => Process::new(&child, None),
    };
    Ok(Link { socket, process })
}

/// Waits until a supervisor that was given a leaf says which process it goes on as.
fn standing(mut child: Child, leaf: Leaf, socket: &OwnedFd) -> Result<Process> {
    let told = told_number(socket);
    let Some(number) = told else {
        drop(child.kill());
        drop(child.wait());
        // The copy is in it.
        leaf.end();
        return Err(unusable());
    };
    if number == Pid::from_child(&child) {
        leaf.refuse();
        return Ok(Process::new(&child, None));
    }
    // It has handed on all that it was for.
    drop(child.wait());
    Ok(Process { pid: number, is_over: false, leaf: Some(leaf) })
}

fn told_number(socket: &OwnedFd) -> Option<Pid> {
    let give_up = Instant::now() + STAND_WAIT;
    let mut frame = [0; Report::BYTES];
    let mut filled = 0;
    while filled < frame.len() {
        let left = Timespec::try_from(give_up.saturating_duration_since(Instant::now())).ok()?;
        if poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&left)) == Ok(0) {
            return None;
        }
        match rustix::io::read(socket, &mut frame[filled..]) {
            Ok(0) => return None,
            Ok(count) => filled += count,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return None,
        }
    }
    match Report::decode(&frame) {
        Some(Report::Standing(number)) => Pid::from_raw(number),
        Some(Report::Started(_) | Report::Exited { .. } | Report::Ended(_) | Report::Failed { .. }) | None => None,
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
pub(super) fn reap(processes: Vec<(Process, String)>) {
    if processes.is_empty() {
        return;
    }
    // Without a thread they stay zombies until this process ends; nothing else depends on it.
    drop(std::thread::Builder::new().name("gloveport-reaper".to_owned()).spawn(move || wait_for(processes)));
}

/// Waits for the end of supervisors whose sockets are closed, and removes their leaves.
pub(super) fn wait_for(processes: Vec<(Process, String)>) {
    for (mut process, mark) in processes {
        if awake::wait_for(&mut process) {
            process.end_leaf();
        } else {
            end_by_force(&mut process, &mark);
        }
    }
}

/// Ends what its supervisor does not, and the supervisor. Returns how many processes that were, and whether others may live:
/// only where the supervisor was dead before them.
pub(super) fn end_by_force(process: &mut Process, mark: &str) -> (u32, bool) {
    let (mut others, mut is_lost) = (0, true);
    if !process.is_over() {
        let mut tree = Tree::below(process.pid(), mark);
        others = tree.end();
        is_lost = !tree.living().is_empty() || process.is_over();
        process.kill();
        process.wait();
    }
    others += process.end_leaf();
    // Without a mark it ran nothing. What has left the leaf is found by its mark, unless it dropped that too.
    if !mark.is_empty() {
        others += Tree::lost(mark).end();
    }
    (others, is_lost)
}
