//! The processes of one command, found and ended without a process of ours beside them.
//!
//! A command runs in a process group of its own. What stays in the group is ended with one signal. What left it
//! (`setsid`, a daemon) is looked for by two traces: it descends from the shell, as long as its parents live, and its
//! environment carries the mark that the command was started with. A process that drops both, by `env -i setsid` after
//! its parent ended, is out of reach from here; so is everything once this host process is killed. The supervisor's
//! walls close both gaps. On systems without `/proc` only the group is ended.
//!
//! Every process is held by a descriptor before it is looked at and signalled through that, so that a recycled number
//! never gets a signal. The leader is not reaped before [`Tree::end`] is through: until then its number, which is the
//! group's, is nobody else's.

use rustix::process::{Pid, Signal, kill_process_group};

/// The variable that carries the mark. Its value is random for each command.
pub(super) const MARK_VARIABLE: &str = "GLOVEPORT_CALL";

/// The processes of one command.
pub(super) struct Tree {
    /// `None` when it is unknown, or its number may be somebody else's.
    leader: Option<Pid>,
    /// The parent of its orphans: all that descends from it is of this tree.
    #[cfg(target_os = "linux")]
    supervisor: Option<Pid>,
    /// `GLOVEPORT_CALL=…`, as it stands in `/proc/<pid>/environ`.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux shows other processes' environment"))]
    mark: String,
    /// What was asked to end. It is ended even when, its parents gone, it can no longer be found.
    #[cfg(target_os = "linux")]
    asked: Vec<linux::Process>,
}

impl Tree {
    /// The tree under `leader`, a shell that leads its own group and was started with `mark` as the value of
    /// [`MARK_VARIABLE`].
    pub(super) fn new(leader: Pid, mark: &str) -> Self {
        Self::with(Some(leader), mark)
    }

    /// The tree of a command whose supervisor is gone: all that is left to find it by is its mark.
    #[cfg(target_os = "linux")]
    pub(super) fn lost(mark: &str) -> Self {
        Self::with(None, mark)
    }

    /// The tree of a command whose supervisor lives, not reaped, and does nothing: all that it started descends from it.
    #[cfg(target_os = "linux")]
    pub(super) fn below(supervisor: Pid, mark: &str) -> Self {
        Self { supervisor: Some(supervisor), ..Self::with(None, mark) }
    }

    fn with(leader: Option<Pid>, mark: &str) -> Self {
        Self {
            leader,
            #[cfg(target_os = "linux")]
            supervisor: None,
            mark: format!("{MARK_VARIABLE}={mark}"),
            #[cfg(target_os = "linux")]
            asked: Vec::new(),
        }
    }

    /// Sends `signal` to the group. A group that is gone is no error.
    pub(super) fn signal_group(&self, signal: Signal) {
        // The only failures are "no such group" and "all of it belongs to somebody else" (a set-id program): nothing
        // more can be done about either.
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Tree {
    /// Asks every process to end.
    pub(super) fn terminate(&mut self) {
        self.signal_group(Signal::TERM);
    }

    /// Ends every process. How many there were besides the leader is not known here.
    pub(super) fn end(&mut self) -> u32 {
        use rustix::io::Errno;
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        self.signal_group(Signal::KILL);
        let Some(leader) = self.leader else { return 0 };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(leader), options), Err(Errno::INTR)) {}
        0
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::fs;
    use std::os::fd::{AsFd, OwnedFd};
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, getpgid, pidfd_open, pidfd_send_signal};

    use super::Tree;

    /// 1 s: a killed process ends within microseconds unless the kernel holds it (a dead network file system).
    const END_WAIT: Duration = Duration::from_secs(1);
    /// 64 rounds: each finds what was forked during the one before; a tree that outruns it forks faster than we kill.
    const END_ROUNDS: u32 = 64;
    /// 512 process numbers are looked at one by one; beyond that a listing of all processes is cheaper.
    const NUMBERS_TO_TRY: i32 = 512;
    /// 65,536 descendants: twice the default limit of processes.
    const DESCENDANTS: usize = 65_536;

    /// 1 ms, at most 200 times: an `exec` takes less, also on a machine that has other things to do.
    const EXEC_WAIT: Duration = Duration::from_millis(1);
    const EXEC_WAITS: u32 = 200;
    /// 4 times: a process that shows arguments and no environment has none, and is not in the middle of one `exec` after
    /// the other.
    const EMPTY_LOOKS: u32 = 4;
    /// 64 looks, each at the numbers given during the one before: those of the machine's other processes end it sooner.
    const LOOKS: u32 = 64;
    /// `PF_KTHREAD` of the kernel's `sched.h`.
    const KERNEL_THREAD: u32 = 0x0020_0000;

    impl Tree {
        /// Asks every process to end.
        pub(in super::super) fn terminate(&mut self) {
            self.asked = self.stop_shells();
            // The shell first: it must not see its child end and go on to the next command.
            self.signal_group(Signal::TERM);
            // Who is of its group was asked with it: asked twice, a shell begins anew to clean up.
            let group = |process: &Process| getpgid(Some(Pid::from_raw(process.number)?)).ok();
            for process in self.asked.iter().filter(|process| self.leader.is_none() || group(process) != self.leader) {
                process.signal(Signal::TERM);
            }
        }

        /// Stops interactive shells, which ignore the request to end: they would see what they wait for end and go on with what
        /// is behind it in their line. Returns all processes but the leader.
        fn stop_shells(&self) -> Vec<Process> {
            let mut stopped = HashSet::new();
            loop {
                let found = self.find(&HashSet::new());
                let leader = self.leader().and_then(Process::open);
                let shells = found.iter().chain(&leader).filter(|process| process.is_interactive_shell());
                let before = stopped.len();
                for shell in shells {
                    if stopped.insert(shell.number) {
                        shell.signal(Signal::STOP);
                    }
                }
                if stopped.len() == before || stopped.len() > DESCENDANTS {
                    return found;
                }
            }
        }

        /// Ends every process, the leader included, and waits until they are gone (at most [`END_WAIT`]). Returns how
        /// many there were besides the leader.
        pub(in super::super) fn end(&mut self) -> u32 {
            let give_up = Instant::now() + END_WAIT;
            let mut ended = HashSet::new();
            for _ in 0..END_ROUNDS {
                let mut found = std::mem::take(&mut self.asked);
                found.extend(self.find(&ended));
                self.signal_group(Signal::KILL);
                for process in &found {
                    process.signal(Signal::KILL);
                }
                if found.is_empty() || Instant::now() >= give_up {
                    break;
                }
                for process in found {
                    process.wait_until(give_up);
                    ended.insert(process.number);
                }
            }
            if let Some(leader) = self.leader().and_then(Process::open) {
                leader.wait_until(give_up);
            }
            u32::try_from(ended.len()).unwrap_or(u32::MAX)
        }

        /// Living processes of this tree besides the leader and `known`.
        ///
        /// What forks and ends while it is looked for leaves a child that no number known before names: the numbers given
        /// in the meantime are looked at until none is left.
        fn find(&self, known: &HashSet<i32>) -> Vec<Process> {
            let leader = self.leader();
            let mut found: Vec<Process> = Vec::new();
            for number in self.descendants() {
                found.extend(Process::open(number).filter(|process| !process.is_over()));
            }
            let mut from = leader;
            for _ in 0..LOOKS {
                let to = last_number();
                for number in numbers_between(from, to) {
                    if Some(number) == leader
                        || known.contains(&number)
                        || found.iter().any(|other| other.number == number)
                    {
                        continue;
                    }
                    found.extend(Process::open(number).filter(|process| process.belongs_to(leader, &self.mark)));
                }
                if last_number() == to {
                    break;
                }
                from = to;
            }
            found
        }

        fn leader(&self) -> Option<i32> {
            self.leader.map(|leader| leader.as_raw_nonzero().get())
        }

        /// The numbers of those that live and are known by their parents.
        pub(in super::super) fn living(&self) -> Vec<u32> {
            let lives = |number: &i32| Process::open(*number).is_some_and(|process| !process.is_over());
            self.descendants().into_iter().filter(lives).filter_map(|number| u32::try_from(number).ok()).collect()
        }

        /// The numbers of what descends from the supervisor, or from the leader and still has its line of parents.
        fn descendants(&self) -> Vec<i32> {
            let Some(root) = self.supervisor.or(self.leader) else { return Vec::new() };
            let mut numbers = vec![root.as_raw_nonzero().get()];
            let mut next = 0;
            while let Some(parent) = numbers.get(next).copied() {
                next += 1;
                let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { continue };
                for thread in threads.flatten() {
                    let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                    numbers.extend(children.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()));
                }
                if numbers.len() > DESCENDANTS {
                    break;
                }
            }
            numbers.split_off(1)
        }
    }

    /// The process number given last: the end of `/proc/loadavg`.
    fn last_number() -> Option<i32> {
        fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().next_back()?.parse().ok()
    }

    /// The process numbers that may have been given after `from`, up to `to`. Numbers are given in rising order and start
    /// again from the bottom. Most commands fork nothing or little, and this spares them a look at every process of the
    /// machine.
    fn numbers_between(from: Option<i32>, to: Option<i32>) -> Vec<i32> {
        match from.zip(to) {
            Some((from, to)) if to >= from && to - from <= NUMBERS_TO_TRY => (from + 1..=to).collect(),
            Some(_) | None => fs::read_dir("/proc")
                .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
                .unwrap_or_default(),
        }
    }

    /// What `/proc/<pid>/stat` says of a process.
    struct Facts {
        /// It is dead, and at most waits for its parent to notice.
        is_over: bool,
        group: i32,
        is_of_kernel: bool,
    }

    /// A process, held.
    pub(super) struct Process {
        number: i32,
        handle: OwnedFd,
    }

    impl Process {
        /// Nothing when there is no process of that number (or it is a thread's).
        fn open(number: i32) -> Option<Self> {
            let handle = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
            Some(Self { number, handle })
        }

        /// Whether it is alive, and in the group of `leader` or marked.
        fn belongs_to(&self, leader: Option<i32>, mark: &str) -> bool {
            let mut without_environment = 0;
            for _ in 0..EXEC_WAITS {
                let Some(facts) = self.facts() else { return false };
                if facts.is_over {
                    return false;
                }
                if Some(facts.group) == leader {
                    return true;
                }
                if facts.is_of_kernel {
                    return false;
                }
                // The arguments first: a process that has them has an environment too, unless it began another `exec`
                // since. While one is under way neither can be read, and what was opened before reads as empty after.
                let has_arguments = self.read_of_memory("cmdline").is_ok_and(|arguments| !arguments.is_empty());
                match self.read_of_memory("environ") {
                    Ok(environment) if environment.is_empty() => {}
                    Ok(environment) => {
                        return environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
                    }
                    // Another user's.
                    Err(_) => return false,
                }
                if has_arguments {
                    without_environment += 1;
                    if without_environment == EMPTY_LOOKS {
                        return false;
                    }
                } else {
                    self.wait_until(Instant::now() + EXEC_WAIT);
                }
            }
            false
        }

        fn is_interactive_shell(&self) -> bool {
            self.read("status").is_ok_and(|status| gloveport_supervisor::is_interactive_shell(&status))
        }

        fn is_over(&self) -> bool {
            self.facts().is_none_or(|facts| facts.is_over)
        }

        /// `/proc/<pid>/stat` is `pid (name) state parent group session terminal foreground flags …`; the name may hold
        /// anything, also `)`.
        fn facts(&self) -> Option<Facts> {
            let stat = self.read("stat").ok()?;
            let stat = String::from_utf8_lossy(&stat);
            let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().take(18).collect();
            let &[state, _, group, _, _, _, flags, .., threads] = fields.as_slice() else { return None };
            // One whose first thread ended shows as dead, and lives as long as another thread does.
            let has_others = threads.parse::<u32>().ok()? > 1;
            Some(Facts {
                is_over: state == "X" || state == "Z" && !has_others,
                group: group.parse().ok()?,
                is_of_kernel: flags.parse::<u32>().ok()? & KERNEL_THREAD != 0,
            })
        }

        fn read(&self, name: &str) -> std::io::Result<Vec<u8>> {
            fs::read(format!("/proc/{}/{name}", self.number))
        }

        /// The same of what belongs to its memory, which its first thread shows no more when it ended.
        fn read_of_memory(&self, name: &str) -> std::io::Result<Vec<u8>> {
            let first = self.read(name);
            if first.as_ref().is_ok_and(|bytes| !bytes.is_empty()) {
                return first;
            }
            let threads = fs::read_dir(format!("/proc/{}/task", self.number))?.flatten();
            let mut shown = threads.filter_map(|thread| fs::read(thread.path().join(name)).ok());
            shown.find(|bytes| !bytes.is_empty()).map_or(first, Ok)
        }

        fn signal(&self, signal: Signal) {
            // It ended already, or it is a set-id program that is not ours to signal.
            let _ = pidfd_send_signal(&self.handle, signal);
        }

        /// Waits for its end until `give_up`.
        fn wait_until(&self, give_up: Instant) {
            let left = give_up.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(left) else { return };
            // An interrupted wait is as good as a late one: the next round looks again.
            let _ = poll(&mut [PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)], Some(&timeout));
        }
    }
}
