//! The processes of a command: every descendant of this process, which is the parent that orphans go to
//! (`PR_SET_CHILD_SUBREAPER`), so that no `setsid`, double fork or death of a parent takes one out of reach.
//!
//! Ending them is the loop of R-SH-3c: stop what is found until nothing new is found, kill all of it, reap, and again
//! until there is no child. A process is signalled through a handle on it, after a look that it is still whose child
//! it was found as: a recycled number never gets a signal. The first of a process group to be stopped holds the
//! group's number, so that one call stops all the rest, however fast they multiply.
//!
//! A command has the rights to take the descriptors of this program away (`prlimit`). Then its own children are all that is
//! seen, in a file that is open from the beginning, and they are signalled by their numbers, which are theirs until they are
//! reaped here. The children of those that die become ours.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpgid, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use crate::clock::Instant;
use crate::proc;
use crate::sys::{self, Waited};

/// 64 passes over the tree before killing begins: a tree that forks faster than it is stopped is killed as far as it is
/// known, and the rest in the next round.
const STOP_PASSES: u32 = 64;
/// 20 ms for killed processes to die before the tree is looked at again.
const DEATH_WAIT: Duration = Duration::from_millis(20);
/// 128 bytes: five numbers and their separators take half of that.
const LOADAVG_BYTES: usize = 128;
/// 4 KiB: what `/proc` gives at a time.
const READ_BYTES: usize = 4 << 10;
/// 2 s without a death: killed processes end within milliseconds unless the kernel holds them (a dead network file system).
pub(crate) const END_WAIT: Duration = Duration::from_secs(2);
/// 10 s in all, for a tree of thousands on a machine that has more to do.
const END_LIMIT: Duration = Duration::from_secs(10);

/// The children of this process, the command among them, and what they used.
pub(crate) struct Family {
    command: Option<Pid>,
    /// As `waitpid` gives it.
    status: Option<i32>,
    peak_kib: u64,
    cpu_micros: u64,
    /// How many children were reaped, of this command and of those before.
    deaths: u64,
    /// Readable after a child changed.
    signals: OwnedFd,
    /// The kernel's list of the children of this process, where it keeps one.
    children: Option<OwnedFd>,
}

/// What [`Family::end`] did.
pub(crate) struct Killed {
    pub(crate) others: u32,
    pub(crate) survivors: u32,
}

impl Family {
    /// Nobody yet. `signals` is the descriptor of [`sys::take_signals`].
    pub(crate) fn new(signals: OwnedFd) -> Self {
        // One thread, which has the number of the process.
        let children = proc::opened(format_args!("/proc/self/task/{}/children", own_number()), OFlags::empty());
        Self { command: None, status: None, peak_kib: 0, cpu_micros: 0, deaths: 0, signals, children }
    }

    /// The child `command` was started; forgets the one before.
    pub(crate) fn begin(&mut self, command: Pid) {
        self.command = Some(command);
        self.status = None;
        self.peak_kib = 0;
        self.cpu_micros = 0;
    }

    /// How the command ended, as `waitpid` gives it; `None` while it lives.
    pub(crate) fn status(&self) -> Option<i32> {
        self.status
    }

    /// Bytes at the peak of the largest process that ended.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_kib.saturating_mul(1024)
    }

    /// Microseconds of processor time of those that ended.
    pub(crate) fn cpu_micros(&self) -> u64 {
        self.cpu_micros
    }

    /// What to wait on for a change among the children.
    pub(crate) fn signals(&self) -> &OwnedFd {
        &self.signals
    }

    /// Reaps every child that ended. Returns whether any is left; none left means that no descendant is.
    pub(crate) fn reap(&mut self) -> bool {
        let mut queue = [0; 512];
        // Empties the queue of notices before looking: one that comes later wakes the next wait.
        while rustix::io::read(&self.signals, &mut queue).is_ok_and(|count| count == queue.len()) {}
        loop {
            match sys::wait_any() {
                Waited::Dead { pid, status, peak_kib, cpu_micros } => {
                    if Some(pid) == self.command {
                        self.status = Some(status);
                    }
                    self.deaths = self.deaths.wrapping_add(1);
                    self.peak_kib = self.peak_kib.max(peak_kib);
                    self.cpu_micros = self.cpu_micros.saturating_add(cpu_micros);
                }
                Waited::Living => return true,
                Waited::Nobody => return false,
            }
        }
    }

    /// Asks every process once to end, the command's group first: a shell must not see its child end and go on.
    pub(crate) fn terminate(&self) {
        // Looked for before parents die of it: one whose parent changes during a look may be missed.
        let found = self.stop_shells();
        self.signal_group(Signal::TERM);
        // Who is of its group was asked with it: asked twice, a shell begins anew to clean up.
        let asked = self.command.filter(|_| self.status.is_none());
        for process in found {
            if asked.is_none() || getpgid(Some(process.pid)).ok() != asked {
                process.signal(Signal::TERM);
            }
        }
    }

    /// Stops interactive shells, which ignore the request to end: they would see what they wait for end and go on with what is behind
    /// it in their line. Returns all descendants.
    fn stop_shells(&self) -> Vec<Process> {
        let mut stopped = BTreeSet::new();
        for _ in 0..STOP_PASSES {
            let found = self.descendants();
            let shells = found.iter().filter(|process| process.is_interactive_shell());
            let before = stopped.len();
            for shell in shells {
                if stopped.insert(number_of(shell.pid)) {
                    shell.signal(Signal::STOP);
                }
            }
            if stopped.len() == before {
                return found;
            }
        }
        self.descendants()
    }

    /// Sends a signal to the command's group. A number that is no signal does nothing.
    pub(crate) fn signal(&self, number: u8) {
        if let Some(signal) = Signal::from_named_raw(number.into()) {
            self.signal_group(signal);
        }
    }

    /// Kills and reaps every process. Blocks until they are gone, or as long as [`Patience`] says.
    pub(crate) fn end(&mut self) -> Killed {
        let mut patience = Patience::new(Instant::now(), self.deaths);
        let mut killed = BTreeSet::new();
        let mut refused = BTreeSet::new();
        let mut survivors = 0;
        while self.reap() {
            self.signal_group(Signal::STOP);
            let (found, groups) = self.stop_all(&mut refused);
            // Their members are stopped or dead, and not reaped while their parents are stopped or this program.
            for group in groups {
                let _ = kill_process_group(group, Signal::KILL);
            }
            for process in found {
                killed.insert(number_of(process.pid));
                process.signal(Signal::KILL);
            }
            // A killed parent's children become ours only when it is dead: wait for the deaths, then look again.
            let settled = Instant::now().after(DEATH_WAIT);
            while self.reap() && Instant::now() < settled {
                self.wait(settled.remaining());
            }
            let unreachable = || self.descendants().iter().all(|process| refused.contains(&number_of(process.pid)));
            if patience.is_over(Instant::now(), self.deaths) || (!refused.is_empty() && unreachable()) {
                // One at least, though nothing may be seen of it.
                survivors = if self.reap() { self.descendants().len().max(1) } else { 0 };
                break;
            }
        }
        killed.retain(|pid| Some(*pid) != self.command.map(number_of));
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Killed { others: count(killed.len()), survivors: count(survivors) }
    }

    /// While the command is not reaped, its number is its group's and nobody else's.
    fn signal_group(&self, signal: Signal) {
        if let (Some(command), None) = (self.command, self.status) {
            // It fails only when every member belongs to another user (a set-id program).
            let _ = kill_process_group(command, signal);
        }
    }

    /// Stops all descendants until a look finds no new one. Returns them with the process groups of theirs that are stopped
    /// whole. What may not be signalled is added to `refused` and left out.
    fn stop_all(&self, refused: &mut BTreeSet<i32>) -> (Vec<Process>, Vec<Pid>) {
        let session = rustix::process::getsid(None).map_or(0, number_of);
        let mut stopped = BTreeSet::new();
        let mut groups = BTreeSet::new();
        let mut found = Vec::new();
        for _ in 0..STOP_PASSES {
            found = self.descendants();
            found.retain(|process| !refused.contains(&number_of(process.pid)));
            let mut is_new = false;
            for process in &found {
                if !stopped.insert(number_of(process.pid)) {
                    continue;
                }
                is_new = true;
                match process.signal(Signal::STOP) {
                    Sent::Yes => {}
                    Sent::Gone => continue,
                    Sent::Refused => {
                        refused.insert(number_of(process.pid));
                        continue;
                    }
                }
                // Looked at after it was stopped: it cannot change its group any more. A group lies within one session,
                // and all of a session descends from its leader, so that but for our own all sessions are the command's.
                let Some(facts) = Facts::of(process.pid) else { continue };
                if facts.session != session
                    && let Some(group) = Pid::from_raw(facts.group)
                    && groups.insert(facts.group)
                {
                    let _ = kill_process_group(group, Signal::STOP);
                }
            }
            if !is_new {
                break;
            }
        }
        found.retain(|process| !refused.contains(&number_of(process.pid)));
        (found, groups.into_iter().filter_map(Pid::from_raw).collect())
    }

    /// All living descendants of this process, parents before their children; of one that cannot be looked at its children alone.
    fn descendants(&self) -> Vec<Process> {
        let mut found = offspring(usize::MAX);
        if found.is_empty() {
            found = self.known_children();
        }
        // A child that cannot be looked at lives until it is reaped.
        found.retain(|process| Facts::of(process.pid).map_or(process.is_own(), |facts| facts.is_alive()));
        found
    }

    /// The children of this process by the file that is open.
    fn known_children(&self) -> Vec<Process> {
        let Some(children) = &self.children else { return Vec::new() };
        let (mut listed, mut buffer) = (Vec::new(), [0; READ_BYTES]);
        while let Ok(count @ 1..) = rustix::io::pread(children, &mut buffer, listed.len() as u64) {
            listed.extend_from_slice(&buffer[..count]);
        }
        processes(&listed, own_number()).collect()
    }

    /// Waits for a change among the children, at most `time`.
    fn wait(&self, time: Duration) {
        if let Ok(time) = Timespec::try_from(time) {
            sys::wait_on(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&time));
        }
    }
}

/// How long processes that were killed are waited for: as long as some of them die, within [`END_LIMIT`].
struct Patience {
    limit: Instant,
    give_up: Instant,
    deaths: u64,
}

impl Patience {
    fn new(now: Instant, deaths: u64) -> Self {
        Self { limit: now.after(END_LIMIT), give_up: now.after(END_WAIT), deaths }
    }

    /// `deaths` is the count of all until `now`.
    fn is_over(&mut self, now: Instant, deaths: u64) -> bool {
        if deaths != self.deaths {
            self.deaths = deaths;
            self.give_up = now.after(END_WAIT).min(self.limit);
        }
        now >= self.give_up
    }
}

/// Counts all threads of the machine: the fourth word of `/proc/loadavg` is `running/all`. The file stays open, because it
/// is read for every command.
pub(crate) struct Tasks(Option<OwnedFd>);

impl Tasks {
    pub(crate) fn new() -> Self {
        Self(proc::opened(format_args!("/proc/loadavg"), OFlags::empty()))
    }

    /// How many there are now; `None` where that cannot be known.
    pub(crate) fn count(&self) -> Option<u64> {
        let mut buffer = [0; LOADAVG_BYTES];
        // From its beginning, which makes the kernel write it anew.
        let count = rustix::io::pread(self.0.as_ref()?, &mut buffer, 0).ok()?;
        core::str::from_utf8(&buffer[..count]).ok()?.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
    }
}

/// A process as it was found.
pub(crate) struct Process {
    pub(crate) pid: Pid,
    parent: i32,
}

/// What became of a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Yes,
    /// The process is dead, or is not the one that was found.
    Gone,
    /// It belongs to another user.
    Refused,
}

impl Sent {
    fn of(sent: rustix::io::Result<()>) -> Self {
        match sent {
            Ok(()) => Self::Yes,
            Err(Errno::PERM) => Self::Refused,
            Err(_) => Self::Gone,
        }
    }
}

impl Process {
    fn signal(&self, signal: Signal) -> Sent {
        let Ok(handle) = pidfd_open(self.pid, PidfdFlags::empty()) else { return self.signal_child(signal) };
        // With the handle open the number cannot be recycled: what is seen now is what gets the signal.
        let is_it = match Facts::of(self.pid) {
            // Its parent may have died since: then it is a child of this process.
            Some(facts) => facts.is_alive() && (facts.parent == self.parent || facts.parent == own_number()),
            None => self.is_own(),
        };
        if !is_it {
            return Sent::Gone;
        }
        Sent::of(pidfd_send_signal(&handle, signal))
    }

    fn is_interactive_shell(&self) -> bool {
        let status = proc::read(format_args!("/proc/{}/status", number_of(self.pid)));
        status.is_some_and(|status| gloveport_supervisor::is_interactive_shell(&status))
    }

    /// Without a handle: the number of a child is its own until it is reaped, which happens between looks alone.
    fn signal_child(&self, signal: Signal) -> Sent {
        if self.is_own() { Sent::of(kill_process(self.pid, signal)) } else { Sent::Gone }
    }

    /// Whether it is a child of this process, which is there until it is reaped.
    fn is_own(&self) -> bool {
        self.parent == own_number()
    }
}

/// What `/proc/<pid>/stat` says: `pid (name) state parent group session …`; the name may hold anything.
struct Facts {
    state: u8,
    parent: i32,
    group: i32,
    session: i32,
    threads: i32,
}

/// Words between the session and the number of threads.
const BEFORE_THREADS: usize = 13;

impl Facts {
    fn of(pid: Pid) -> Option<Self> {
        let stat = proc::read(format_args!("/proc/{}/stat", number_of(pid)))?;
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let mut words = core::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
        let state = *words.next()?.as_bytes().first()?;
        let mut number = |skipped: usize| words.nth(skipped)?.parse().ok();
        let (parent, group, session) = (number(0)?, number(0)?, number(0)?);
        Some(Self { state, parent, group, session, threads: number(BEFORE_THREADS)? })
    }

    /// One whose first thread ended shows as dead, and lives as long as another thread does.
    fn is_alive(&self) -> bool {
        self.state != b'X' && (self.state != b'Z' || self.threads > 1)
    }
}

fn own_number() -> i32 {
    number_of(rustix::process::getpid())
}

pub(crate) fn number_of(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// Descendants, living or not reaped (they too take a place in the table of the system), parents before their children; a
/// few more than `enough` end the search.
pub(crate) fn offspring(enough: usize) -> Vec<Process> {
    let own = rustix::process::getpid();
    let mut found = Vec::new();
    if !children_of(own, &mut found) {
        return by_parents(own);
    }
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|process: &Process| process.pid)
        && found.len() < enough
    {
        next += 1;
        children_of(parent, &mut found);
    }
    found
}

/// Adds the children of all threads of `parent`. `false` when the kernel does not list them.
fn children_of(parent: Pid, found: &mut Vec<Process>) -> bool {
    let parent = number_of(parent);
    let Some(threads) = proc::numbers_in(format_args!("/proc/{parent}/task")) else { return false };
    let mut listed = false;
    for thread in threads {
        let Some(children) = proc::read(format_args!("/proc/{parent}/task/{thread}/children")) else { continue };
        listed = true;
        found.extend(processes(&children, parent));
    }
    listed
}

/// The processes of a list of the kernel's.
fn processes(listed: &[u8], parent: i32) -> impl Iterator<Item = Process> {
    let words = listed.split(u8::is_ascii_whitespace).filter_map(|word| core::str::from_utf8(word).ok());
    words.filter_map(move |word| Some(Process { pid: Pid::from_raw(word.parse().ok()?)?, parent }))
}

/// The same for a kernel without `CONFIG_PROC_CHILDREN`: by a look at every process of the machine.
fn by_parents(own: Pid) -> Vec<Process> {
    let mut all: Vec<Process> = proc::numbers_in(format_args!("/proc"))
        .unwrap_or_default()
        .into_iter()
        .filter_map(Pid::from_raw)
        .filter_map(|pid| Facts::of(pid).map(|facts| Process { pid, parent: facts.parent }))
        .collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parent = Some(own);
    let mut next = 0;
    while let Some(of) = parent {
        let (children, others) = all.into_iter().partition(|process| process.parent == number_of(of));
        found.extend::<Vec<Process>>(children);
        all = others;
        parent = found.get(next).map(|process| process.pid);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{Instant, Patience};

    /// Asks at the milliseconds of a table, each with the count of deaths until then; returns the one at which it is over.
    fn over_at(asked: &[(u64, u64)]) -> Option<u64> {
        let begin = Instant::now();
        let mut patience = Patience::new(begin, 7);
        let mut over = asked
            .iter()
            .filter(|(millis, deaths)| patience.is_over(begin.after(Duration::from_millis(*millis)), *deaths));
        over.next().map(|(millis, _)| *millis)
    }

    #[test]
    fn what_does_not_die_is_given_up_after_two_seconds() {
        assert_eq!(over_at(&[(20, 7), (1_999, 7), (2_000, 7)]), Some(2_000));
    }

    #[test]
    fn every_death_gives_two_seconds_more() {
        assert_eq!(over_at(&[(1_000, 9), (2_999, 9), (3_000, 9)]), Some(3_000));
        assert_eq!(over_at(&[(1_990, 8), (3_980, 9), (5_970, 10), (7_969, 10), (7_970, 10)]), Some(7_970));
    }

    #[test]
    fn a_tree_that_goes_on_dying_is_given_up_after_ten_seconds() {
        let asked: Vec<(u64, u64)> = (1..20).map(|second| (second * 1_000, 7 + second)).collect();
        assert_eq!(over_at(&asked), Some(10_000));
    }
}
