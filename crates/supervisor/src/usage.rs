//! What the processes of a command use together. The kernel's own ceilings hold for each process alone: children of one
//! that stays below them could use any amount.

use core::str::from_utf8;

use crate::proc;
use crate::sys;
use crate::tree::{Process, number_of};

/// 100 ticks a second: what Linux tells programs on every architecture that it is built for here (`USER_HZ`).
const MICROS_PER_TICK: u64 = 10_000;
/// Words of `/proc/<pid>/stat` between the name and the processor time.
const BEFORE_TIME: usize = 11;

/// Bytes of memory that `processes` have together. Pages that several of them share count once; where the sum with all
/// that is shared is no more than `enough`, it is that sum, which is cheaper to know.
pub(crate) fn memory_of(processes: &[Process], enough: u64) -> u64 {
    let most = sum(processes, resident);
    // Another user's (a set-id program) shows only the sum.
    if most <= enough { most } else { sum(processes, |pid| own_share(pid).or_else(|| resident(pid))) }
}

/// Microseconds of processor time that `processes` and the children that they waited for used.
pub(crate) fn cpu_micros_of(processes: &[Process]) -> u64 {
    sum(processes, |pid| {
        let stat = proc::read(format_args!("/proc/{pid}/stat"))?;
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let words = from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
        let ticks = words.skip(BEFORE_TIME).take(4).filter_map(|word| word.parse::<u64>().ok());
        Some(ticks.sum::<u64>().saturating_mul(MICROS_PER_TICK))
    })
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
