//! When a terminal has said what it has to say: by events, not by sleeping.
//!
//! A program is ready for the next input when its shell says so (a prompt mark), when it is blocked reading the terminal
//! (the kernel says so), or, where neither can be known, when it has printed nothing for a while.

use std::time::{Duration, Instant};

use crate::backend::process::Process;
use crate::cancel::Deadline;
use crate::error::Result;

/// 30 ms without output before the kernel is asked, and between two looks that must agree: a program that was just given
/// input has been woken by then.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// What was waited for came.
    Ready,
    /// The foreground program waits for input.
    Reading,
    /// Nothing was printed for long enough.
    Quiet,
    /// The process ended.
    Ended,
    /// It still prints.
    Busy,
}

/// Waits until `process` has settled: at most `most`, or `quiet` after its last output. `given` is the position of its
/// output when it was given input: until something was printed since, a wait for input may be the one from before.
pub async fn settle(
    process: &Process,
    (quiet, most): (Duration, Duration),
    given: Option<u64>,
    deadline: &Deadline,
    is_ready: impl Fn() -> bool + Send,
) -> Result<Settled> {
    let begin = Instant::now();
    let mut reading: Option<u64> = None;
    loop {
        let position = process.position();
        if process.ended().is_some() {
            return Ok(Settled::Ended);
        }
        if is_ready() {
            return Ok(Settled::Ready);
        }
        // A process that printed long ago has not seen the new input yet.
        let calm = if given.is_some() { process.quiet_for().min(begin.elapsed()) } else { process.quiet_for() };
        if calm >= quiet {
            return Ok(Settled::Quiet);
        }
        if begin.elapsed() >= most {
            return Ok(Settled::Busy);
        }
        if calm >= LOOK_EVERY && given.is_none_or(|given| position > given) {
            let is_reading = process.pid().is_some_and(waits_for_input);
            if is_reading && reading == Some(position) {
                return Ok(Settled::Reading);
            }
            reading = is_reading.then_some(position);
        }
        let next = (quiet - calm).min(most.saturating_sub(begin.elapsed())).min(LOOK_EVERY);
        tokio::select! {
            biased;
            () = process.changed(position) => {}
            () = tokio::time::sleep(next) => {}
            stop = deadline.reached() => return Err(stop),
        }
    }
}

/// Whether the foreground program of the terminal, whose session `leader` leads, is blocked until there is input. `false`
/// where that cannot be known.
#[cfg(target_os = "linux")]
fn waits_for_input(leader: u32) -> bool {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let stat = read(format!("/proc/{leader}/stat"));
    // `pid (name) state parent group session terminal foreground …`; the name may hold anything, also `)`.
    let foreground = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(5));
    let Some(foreground) = foreground.and_then(|group| group.parse::<i32>().ok()).filter(|group| *group > 0) else {
        return false;
    };
    is_waiting_call(&read(format!("/proc/{foreground}/syscall")))
}

#[cfg(not(target_os = "linux"))]
fn waits_for_input(_leader: u32) -> bool {
    false
}

/// Whether `/proc/<pid>/syscall` (`number first second …`, or `running`) is a wait for the first descriptor: a read of
/// it, or a wait for it alone.
#[cfg(target_os = "linux")]
fn is_waiting_call(call: &str) -> bool {
    let mut words = call.split_ascii_whitespace();
    let (Some(number), Some(first), second) = (words.next(), words.next(), words.next()) else { return false };
    match (std::env::consts::ARCH, number) {
        // read
        ("x86_64", "0") | ("aarch64", "63") => first == "0x0",
        // select and pselect6: of the descriptors below 1
        ("x86_64", "23" | "270") | ("aarch64", "72") => first == "0x1",
        // poll and ppoll: of one descriptor
        ("x86_64", "7" | "271") | ("aarch64", "73") => second == Some("0x1"),
        _ => false,
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn knows_a_wait_for_the_first_descriptor() {
        for (call, expected) in [
            ("0 0x0 0x7ffe 0x1 0x0 0x0 0x0 0x7ffe 0x7f3a\n", true),
            ("0 0x3 0x7ffe 0x1 0x0\n", false),
            ("270 0x1 0x7ffe 0x0\n", true),
            ("270 0x5 0x7ffe 0x0\n", false),
            ("7 0x7ffe 0x1 0xffff\n", true),
            ("7 0x7ffe 0x2 0xffff\n", false),
            ("232 0x4 0x7ffe\n", false),
            ("61 0xffffffff\n", false),
            ("running\n", false),
            ("", false),
        ] {
            assert_eq!(is_waiting_call(call), expected, "{call}");
        }
    }
}
