//! The course of a command: orders come in, it runs, its end is told. Then the next.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::time::Duration;

use gloveport_supervisor::{Ceiling, Decoded, Ended, Limits, MAX_DESCRIPTORS, Order, Report, Request, Stage, Status};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, IoSliceMut};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getrlimit, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};

use crate::clock::Instant;
use crate::score::Score;
use crate::standby::Standby;
use crate::start::{Descriptors, Failure, resource_limits, start};
use crate::sys::{self, Stack};
use crate::tree::{self, Family, Tasks};
use crate::usage::{self, CpuTime};

/// 64 KiB: a request with an ordinary environment arrives in one piece.
const READ_BYTES: usize = 64 << 10;
/// 50 ms between looks at the count of threads of the machine, where processes are limited: a few hundred forks. And at
/// what the tree uses, where that is.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// 1 s between counts of the tree itself, whatever the machine's count says: others may have ended meanwhile.
const RECOUNT_EVERY: Duration = Duration::from_secs(1);
/// A tenth of the time at the most goes into looks at a large tree.
const LOOK_SHARE: u32 = 10;

/// 10 ms without an order: a shell is started ahead then. Who runs one command and closes waits for nothing.
const IDLE: Duration = Duration::from_millis(10);

/// What a command can take from this program, having the same rights.
const OWN_LIMITS: [Resource; 6] =
    [Resource::Nofile, Resource::Nproc, Resource::Cpu, Resource::As, Resource::Data, Resource::Fsize];

/// The host went away, or says what makes no sense: the end of this program.
struct HostGone;

/// The state of this program.
pub(crate) struct Supervisor {
    host: OwnedFd,
    /// `/dev/null`.
    empty: OwnedFd,
    /// Lent to the next command while this program stands ready.
    score: Option<Score>,
    family: Family,
    tasks: Tasks,
    /// Limits of this program as it had them at first.
    own_limits: [Rlimit; OWN_LIMITS.len()],
    stack: Stack,
    standby: Standby,
    /// How many commands were ordered.
    orders: u64,
    inbox: Vec<u8>,
    arrived: Vec<OwnedFd>,
    buffer: Vec<u8>,
}

/// What is to happen when the command has ended and others of its processes live.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// They are killed.
    Kill,
    /// They live on; the host is told once.
    Keep,
    /// They live on until the host orders their end: they were asked to end and may clean up, or the host knows.
    Wait,
}

impl Supervisor {
    /// Cuts this process off from its host's terminal, signals and descriptors, and makes it the parent of orphans.
    pub(crate) fn prepare(starts_ahead: bool) -> rustix::io::Result<Self> {
        let host = sys::host_socket();
        sys::close_inherited();
        let signals = sys::take_signals()?;
        sys::run_first();
        // It fails for a process that leads a group already, which keeps it from the terminal's signals as well.
        let _ = rustix::process::setsid();
        // A command may have stopped this program when the host dies: going on it sees the socket closed. The end of the
        // thread that started it sends the signal too, and nothing comes of that.
        set_parent_process_death_signal(Some(Signal::CONT))?;
        set_child_subreaper(Some(rustix::process::getpid()))?;
        // Before the next call, which takes the file away from a user who is not root.
        let score = Score::take();
        if let Some(score) = &score {
            score.lend();
        }
        // A command of the same user can neither trace this program nor open its descriptors.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        rustix::io::fcntl_setfd(&host, rustix::io::FdFlags::CLOEXEC)?;
        let empty = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self {
            host,
            empty,
            score,
            family: Family::new(signals),
            tasks: Tasks::new(),
            own_limits: OWN_LIMITS.map(getrlimit),
            stack: Stack::new(),
            standby: Standby::new(starts_ahead),
            orders: 0,
            inbox: Vec::new(),
            arrived: Vec::new(),
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Runs commands until the host goes away, and ends what they started. Whether nothing of it is left.
    pub(crate) fn serve(&mut self) -> bool {
        while self.serve_one().is_ok() {}
        self.standby.dismiss();
        self.family.end().survivors == 0
    }

    fn serve_one(&mut self) -> Result<(), HostGone> {
        let request = loop {
            match self.next_order()? {
                Some(Order::Run(request)) => break request,
                // Sent before the host knew that the command had ended.
                Some(Order::Terminate | Order::Signal(_) | Order::End) => {}
                None => {
                    self.wait_for_host();
                    self.receive()?;
                }
            }
        };
        let mut held = None;
        let report = match self.begin(&request) {
            Ok((command, tasks, descriptors)) => {
                // Pipes that close when the command ends would wake the host twice just before the report that it waits for.
                // Where it reads them beside that, their end must be seen: they are the command's alone then.
                if request.is_announced {
                    drop(descriptors);
                    self.tell(Report::Started(command.as_raw_nonzero().get()))?;
                } else {
                    held = Some(descriptors);
                }
                if let Some(score) = &self.score {
                    score.restore();
                }
                self.watch(&request, tasks, &mut held)?
            }
            Err(Failure { stage, errno }) => {
                // The child that failed before its `exec` is on its way out.
                self.family.end();
                Report::Failed { stage, errno }
            }
        };
        self.tell(report)?;
        drop(held);
        if let Some(score) = &self.score {
            score.lend();
        }
        Ok(())
    }

    fn begin(&mut self, request: &Request) -> Result<(Pid, Option<u64>, Descriptors), Failure> {
        let arrived = core::mem::take(&mut self.arrived);
        let Some(descriptors) = Descriptors::of(request, arrived) else {
            // Every child that is left is the failed one's from here on.
            self.standby.dismiss();
            return Err(Failure { stage: Stage::Request, errno: 0 });
        };
        let tasks = request.limits.processes.and_then(|_| self.tasks.count());
        let limits = resource_limits(&request.limits, tasks);
        self.orders += 1;
        let command = match self.standby.start(request, &descriptors, &self.empty, &limits) {
            Some(started) => started?,
            None => start(request, &descriptors, &self.empty, &mut self.stack, &limits)?,
        };
        self.family.begin(command);
        Ok((command, tasks, descriptors))
    }

    /// From the start of a command to its last process. Our copies of its pipes are held until the host is told of its end.
    fn watch(
        &mut self,
        request: &Request,
        tasks: Option<u64>,
        held: &mut Option<Descriptors>,
    ) -> Result<Report, HostGone> {
        let Limits { memory_bytes, cpu_seconds, processes, .. } = request.limits;
        let is_counted = memory_bytes.or(cpu_seconds).or(processes).is_some();
        let mut census = is_counted.then(|| Census::new(request.limits, tasks));
        let mut rest = if request.keep { Rest::Keep } else { Rest::Kill };
        loop {
            // Orders that came with the request first; of the rest a notice wakes the wait, also one that came before it.
            let peak = census.as_ref().map_or(0, |census| census.peak_bytes);
            if !self.obey(&mut rest)? {
                return Ok(self.end(None, peak));
            }
            if self.wait(census.as_ref().map(|_| LOOK_EVERY)) {
                self.receive()?;
            }
            let any_left = self.family.reap();
            if let Some(status) = self.family.status() {
                match rest {
                    Rest::Kill => return Ok(self.end(None, peak)),
                    Rest::Keep | Rest::Wait if !any_left => return Ok(self.end(None, peak)),
                    Rest::Keep => {
                        let peak_bytes = peak.max(self.family.peak_bytes());
                        self.tell(Report::Exited { status: status_of(status), peak_bytes })?;
                        *held = None;
                        rest = Rest::Wait;
                    }
                    Rest::Wait => {}
                }
            }
            if any_left
                && let Some(census) = &mut census
                && let Some(ceiling) = census.exceeded(&self.tasks, &self.family)
            {
                let peak = census.peak_bytes;
                return Ok(self.end(Some(ceiling), peak));
            }
        }
    }

    /// Carries out the orders that arrived. `false` when the end is ordered.
    fn obey(&mut self, rest: &mut Rest) -> Result<bool, HostGone> {
        while let Some(order) = self.next_order()? {
            match order {
                Order::Terminate => {
                    self.family.terminate();
                    *rest = Rest::Wait;
                }
                Order::Signal(signal) => self.family.signal(signal),
                Order::End => return Ok(false),
                // One at a time.
                Order::Run(_) => return Err(HostGone),
            }
        }
        Ok(true)
    }

    /// Kills what is left. `peak` is the memory that all had together at the most, as far as somebody looked.
    fn end(&mut self, ceiling: Option<Ceiling>, peak: u64) -> Report {
        let killed = self.family.end();
        if killed.survivors > 0 {
            // The host ends what is left below this process, and counts it.
            self.standby.give_up();
        }
        Report::Ended(Ended {
            // A command that the kernel does not let go of counts as killed: it is, as soon as it gets free.
            status: self.family.status().map_or(Status::Signalled(libc::SIGKILL), status_of),
            others: killed.others,
            survivors: killed.survivors,
            peak_bytes: peak.max(self.family.peak_bytes()),
            cpu_micros: self.family.cpu_micros(),
            ceiling,
            is_spent: OWN_LIMITS.map(getrlimit) != self.own_limits,
        })
    }

    /// Waits for the host, a child, or the time. Whether the host has something to say.
    fn wait(&self, time: Option<Duration>) -> bool {
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        let mut descriptors =
            [PollFd::new(&self.host, PollFlags::IN), PollFd::new(self.family.signals(), PollFlags::IN)];
        sys::wait_on(&mut descriptors, time.as_ref());
        !descriptors[0].revents().is_empty()
    }

    /// Waits until the host has something to say; a shell for its next command is started meanwhile. A wait in
    /// [`Supervisor::receive`] itself would end, for nothing, each time that the host takes a report.
    fn wait_for_host(&mut self) {
        let mut host = [PollFd::new(&self.host, PollFlags::IN)];
        if self.standby.is_wanted() {
            // Who has had two commands gets a third soon.
            let patience = if self.orders > 1 { Duration::ZERO } else { IDLE };
            sys::wait_on(&mut host, Timespec::try_from(patience).ok().as_ref());
            if !host[0].revents().is_empty() {
                return;
            }
            self.standby.prepare(&self.empty, &mut self.stack);
        }
        sys::wait_on(&mut host, None);
    }

    /// The next order that has arrived whole.
    fn next_order(&mut self) -> Result<Option<Order>, HostGone> {
        match Order::decode(&self.inbox) {
            Decoded::Order(order, length) => {
                self.inbox.drain(..length);
                Ok(Some(order))
            }
            Decoded::Incomplete => Ok(None),
            Decoded::Nonsense => Err(HostGone),
        }
    }

    /// Takes bytes of the host with what travels beside them.
    fn receive(&mut self) -> Result<(), HostGone> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let pieces = &mut [IoSliceMut::new(&mut self.buffer)];
        let count = match recvmsg(&self.host, pieces, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => received.bytes,
            Err(Errno::INTR) => return Ok(()),
            Err(_) => return Err(HostGone),
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.arrived.extend(descriptors);
            }
        }
        if count == 0 {
            return Err(HostGone);
        }
        self.inbox.extend_from_slice(&self.buffer[..count]);
        Ok(())
    }

    fn tell(&self, report: Report) -> Result<(), HostGone> {
        // Far less than a socket's buffer: it goes in one piece, and never waits.
        match send(&self.host, &report.encode(), SendFlags::NOSIGNAL) {
            Ok(Report::BYTES) => Ok(()),
            Ok(_) | Err(_) => Err(HostGone),
        }
    }
}

/// Watches the ceilings that hold for all processes of a command together.
struct Census {
    limits: Limits,
    /// Threads of the machine when the command started.
    tasks: Option<u64>,
    /// When the next look at every process is due.
    next: Instant,
    /// Bytes of memory that they had together at the most.
    peak_bytes: u64,
    cpu_time: CpuTime,
}

impl Census {
    fn new(limits: Limits, tasks: Option<u64>) -> Self {
        Self { limits, tasks, next: Instant::now().after(LOOK_EVERY), peak_bytes: 0, cpu_time: CpuTime::default() }
    }

    /// Counts the tree only when the machine has grown by half of the limit since the start, or when it is time: reading one
    /// number is cheap, visiting every process is not. `family` knows what the dead have used. Some live, or are not reaped.
    fn exceeded(&mut self, tasks: &Tasks, family: &Family) -> Option<Ceiling> {
        let is_due = self.next.remaining().is_zero();
        if !is_due && !self.has_grown(tasks) {
            return None;
        }
        let begin = Instant::now();
        let most = self.limits.processes.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let processes = tree::offspring(most.saturating_add(1));
        // What there is and cannot be counted is too many.
        if processes.len() > most || processes.is_empty() {
            return Some(Ceiling::Processes);
        }
        if !is_due {
            return None;
        }
        let known = self.peak_bytes.max(family.peak_bytes());
        let memory = usage::memory_of(&processes, self.limits.memory_bytes.map_or(known, |most| most.min(known)));
        self.peak_bytes = self.peak_bytes.max(memory);
        if self.limits.memory_bytes.is_some_and(|most| memory > most) {
            return Some(Ceiling::Memory);
        }
        // A process alone gets the signal that it can handle first.
        let most_cpu = self.limits.cpu_seconds.map(|most| Duration::from_secs(most.saturating_add(1)));
        if most_cpu
            .is_some_and(|most| Duration::from_micros(self.cpu_time.look(&processes, family.cpu_micros())) > most)
        {
            return Some(Ceiling::CpuTime);
        }
        let is_bounded = self.limits.memory_bytes.is_some() || self.limits.cpu_seconds.is_some();
        let pause = if is_bounded { LOOK_EVERY } else { RECOUNT_EVERY };
        self.next = Instant::now().after(pause.max(begin.elapsed().saturating_mul(LOOK_SHARE)));
        None
    }

    fn has_grown(&self, tasks: &Tasks) -> bool {
        let Some(limit) = self.limits.processes else { return false };
        match (self.tasks, tasks.count()) {
            (Some(before), Some(now)) => now.saturating_sub(before) > limit / 2,
            (None, _) | (_, None) => true,
        }
    }
}

/// `waitpid`'s number in words.
fn status_of(status: i32) -> Status {
    if libc::WIFSIGNALED(status) {
        Status::Signalled(libc::WTERMSIG(status))
    } else {
        Status::Exited(libc::WEXITSTATUS(status))
    }
}
