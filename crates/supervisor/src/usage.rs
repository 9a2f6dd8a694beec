//! What the processes of a command use together. The kernel's own ceilings hold for each process alone: children of one
//! that stays below them could use any amount.

use alloc::collections::BTreeMap;
use core::str::from_utf8;

use crate::proc;
use crate::sys;
use crate::tree::{Process, number_of};

/// 100 ticks a second: what Linux tells programs on every architecture that it is built for here (`USER_HZ`).
const MICROS_PER_TICK: u64 = 10_000;
/// Words of `/proc/<pid>/stat` between the name and the processor time.
const BEFORE_TIME: usize = 11;
/// Words between the processor time and when it started.
const BEFORE_START: usize = 4;

/// Bytes of memory that `processes` have together. Pages that several of them share count once; where the sum with all
/// that is shared is no more than `enough`, it is that sum, which is cheaper to know.
pub(crate) fn memory_of(processes: &[Process], enough: u64) -> u64 {
    let most = sum(processes, resident);
    // Another user's (a set-id program) shows only the sum.
    if most <= enough { most } else { sum(processes, |pid| own_share(pid).or_else(|| resident(pid))) }
}

/// Processor time of a command's processes. The kernel adds what a child used to its parent only where that waits for it, and one
/// that ignores the ends of its children never does.
#[derive(Default)]
pub(crate) struct CpuTime {
    /// Microseconds that those had used by themselves which lived at the last look, by their number and when they started.
    alive: BTreeMap<(i32, u64), u64>,
    /// The same of those that have gone since they were seen.
    gone: u64,
}

impl CpuTime {
    /// Microseconds that all have used at the least, the dead included of which `reaped` tells. What lived between two looks, and was
    /// waited for by nobody, is not known.
    pub(crate) fn look(&mut self, processes: &[Process], reaped: u64) -> u64 {
        let mut told = reaped;
        let mut alive = BTreeMap::new();
        for process in processes {
            let number = number_of(process.pid);
            let Some(times) = Times::of(number) else { continue };
            told = told.saturating_add(times.own).saturating_add(times.children);
            alive.insert((number, times.start), times.own);
        }
        let gone = core::mem::take(&mut self.alive).into_iter().filter(|(process, _)| !alive.contains_key(process));
        self.gone = gone.fold(self.gone, |all, (_, own)| all.saturating_add(own));
        self.alive = alive;
        told.max(self.alive.values().fold(self.gone, |all, own| all.saturating_add(*own)))
    }
}

/// Microseconds of processor time of one process and of the children that it waited for.
struct Times {
    own: u64,
    children: u64,
    /// In ticks since the machine started.
    start: u64,
}

impl Times {
    fn of(pid: i32) -> Option<Self> {
        let stat = proc::read(format_args!("/proc/{pid}/stat"))?;
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let words = from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
        let mut numbers = words.skip(BEFORE_TIME).map(|word| word.parse::<u64>().unwrap_or_default());
        let mut both = || {
            let ticks = numbers.next()?.saturating_add(numbers.next()?);
            Some(ticks.saturating_mul(MICROS_PER_TICK))
        };
        Some(Self { own: both()?, children: both()?, start: numbers.nth(BEFORE_START)? })
    }
}

fn sum(processes: &[Process], of: impl Fn(i32) -> Option<u64>) -> u64 {
    processes.iter().filter_map(|process| of(number_of(process.pid))).fold(0, u64::saturating_add)
}

/// Bytes in memory, shared ones included: the second word, in pages.
fn resident(pid: i32) -> Option<u64> {
    let pages_of = |thread: i32| -> Option<u64> {
        let statm = proc::read(format_args!("/proc/{pid}/task/{thread}/statm"))?;
        from_utf8(&statm).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let pages = match pages_of(pid)? {
        // Its first thread may have ended, and shows no memory then.
        0 => proc::numbers_in(format_args!("/proc/{pid}/task"))?.into_iter().filter_map(pages_of).max()?,
        pages => pages,
    };
    Some(pages.saturating_mul(sys::page_bytes()))
}

/// Bytes in memory, of each shared page this process's part of it.
fn own_share(pid: i32) -> Option<u64> {
    let rollup = proc::read(format_args!("/proc/{pid}/smaps_rollup"))?;
    let line = from_utf8(&rollup).ok()?.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}
