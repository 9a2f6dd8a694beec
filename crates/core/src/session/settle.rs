//! When a terminal has said what it has to say: by events, not by sleeping.
//!
//! A program is ready for the next input when its shell says so (a prompt mark), when it is blocked reading the terminal
//! (the kernel says so), or, where neither can be known, when it has printed nothing for a while.

use std::time::{Duration, Instant};

use crate::backend::process::Process;
use crate::cancel::Deadline;
use crate::error::Result;

use super::foreground::waits_for_input;

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
