//! When a terminal has said what it has to say: by events, not by sleeping.
//!
//! A program is ready for the next input when its shell says so (a prompt mark), when it is blocked reading the terminal
//! (the kernel says so), or, where neither can be known, when it has printed nothing for a while.

use std::time::{Duration, Instant};

use crate::backend::process::Process;
use crate::cancel::Deadline;
use crate::error::Result;

use super::foreground::{Waits, waits_for_input};

/// 0.3 s of quiet, at most 2 s: what a program still prints before it is written to (TT-12).
pub const FLUSH: Times = Times { quiet: Duration::from_millis(300), most: Duration::from_secs(2) };
/// 0.5 s of quiet, at most 5 s: what a program prints after it was written to (TT-12).
pub const COLLECT: Times = Times { quiet: Duration::from_millis(500), most: Duration::from_secs(5) };
/// 30 ms without output before the kernel is asked, and between two looks that must agree: a program that was just given
/// input has been woken by then.
const LOOK_EVERY: Duration = Duration::from_millis(30);
/// 120 ms for which looks must agree where a program waits for a time: vim ends 100 ms behind the command that ends it.
const AGREE_FOR_A_TIME: Duration = Duration::from_millis(120);

/// How long a wait takes.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Without output, for a process to be quiet.
    pub quiet: Duration,
    /// At the most.
    pub most: Duration,
}

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

/// What is seen of a process at one moment.
#[derive(Clone, Copy)]
struct Seen {
    has_ended: bool,
    is_ready: bool,
    /// Behind its last output.
    position: u64,
    /// Since its last output.
    quiet_for: Duration,
    /// Since the wait began.
    waited: Duration,
}

/// A wait, which is told the time.
struct Wait {
    times: Times,
    given: Option<u64>,
    /// Where its output ended when it was first seen to wait for input and did so at each look since, and when that was.
    reading: Option<(u64, Duration)>,
}

/// What comes of a look.
enum Step {
    Over(Settled),
    /// Another look, after so long or at new output.
    Again(Duration),
}

impl Wait {
    /// Looks at a process. `waits` asks whether it waits for input.
    fn step(&mut self, seen: Seen, waits: impl FnOnce() -> Waits) -> Step {
        let Times { quiet, most } = self.times;
        let Seen { has_ended, is_ready, position, quiet_for, waited } = seen;
        if has_ended {
            return Step::Over(Settled::Ended);
        }
        if is_ready {
            return Step::Over(Settled::Ready);
        }
        // A process that printed long ago has not seen the new input yet.
        let calm = if self.given.is_some() { quiet_for.min(waited) } else { quiet_for };
        if calm >= quiet {
            return Step::Over(Settled::Quiet);
        }
        if waited >= most {
            return Step::Over(Settled::Busy);
        }
        if calm >= LOOK_EVERY && self.given.is_none_or(|given| position > given) {
            let waits = waits();
            let since = self.reading.filter(|(at, _)| *at == position).map(|(_, since)| since);
            let agreed = since.map(|since| waited.saturating_sub(since));
            let is_reading = match waits {
                Waits::On => agreed.is_some(),
                Waits::ForATime => agreed.is_some_and(|agreed| agreed >= AGREE_FOR_A_TIME),
                Waits::No => false,
            };
            if is_reading {
                return Step::Over(Settled::Reading);
            }
            self.reading = (waits != Waits::No).then_some((position, since.unwrap_or(waited)));
        }
        Step::Again((quiet - calm).min(most.saturating_sub(waited)).min(LOOK_EVERY))
    }
}

/// Waits until `process` has settled. `given` is the position of its output when it was given input: until something was
/// printed since, a wait for input may be the one from before.
pub async fn settle(
    process: &Process,
    times: Times,
    given: Option<u64>,
    deadline: &Deadline,
    is_ready: impl Fn() -> bool + Send,
) -> Result<Settled> {
    let begin = Instant::now();
    let mut wait = Wait { times, given, reading: None };
    loop {
        let position = process.position();
        let seen = Seen {
            has_ended: process.ended().is_some(),
            is_ready: is_ready(),
            position,
            quiet_for: process.quiet_for(),
            waited: begin.elapsed(),
        };
        let next = match wait.step(seen, || process.leader().map_or(Waits::No, waits_for_input)) {
            Step::Over(settled) => return Ok(settled),
            Step::Again(next) => next,
        };
        tokio::select! {
            biased;
            () = process.changed(position) => {}
            () = tokio::time::sleep(next) => {}
            stop = deadline.reached() => return Err(stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program as it is seen, by the milliseconds since the wait began.
    struct Program {
        /// Since its last output before.
        quiet_before: u64,
        prints: Vec<u64>,
        waits: fn(u64) -> Waits,
        /// When its shell says that it waits for a command, and when it ends; each with output, or none.
        ready: Option<u64>,
        ends: Option<u64>,
    }

    /// It does nothing, and printed nothing for long.
    const IDLE: Program =
        Program { quiet_before: 60_000, prints: Vec::new(), waits: |_| Waits::No, ready: None, ends: None };

    /// How a wait ends, and when: by a clock that stands but when the wait lets it go on.
    fn settled(times: Times, is_given: bool, program: &Program) -> (Settled, u64) {
        let before = 10;
        let mut wait = Wait { times, given: is_given.then_some(before), reading: None };
        let mut now = 0;
        loop {
            let printed: Vec<u64> = program.prints.iter().copied().filter(|time| *time <= now).collect();
            let seen = Seen {
                has_ended: program.ends.is_some_and(|time| time <= now),
                is_ready: program.ready.is_some_and(|time| time <= now),
                position: before + printed.len() as u64,
                quiet_for: Duration::from_millis(printed.last().map_or(program.quiet_before + now, |time| now - time)),
                waited: Duration::from_millis(now),
            };
            match wait.step(seen, || (program.waits)(now)) {
                Step::Over(settled) => return (settled, now),
                Step::Again(next) => {
                    assert!(!next.is_zero(), "it would never end");
                    let change = program.prints.iter().copied().chain(program.ends).filter(|time| *time > now).min();
                    let later = now + u64::try_from(next.as_millis()).unwrap();
                    now = change.map_or(later, |change| change.min(later));
                }
            }
        }
    }

    fn on(is_on: bool) -> Waits {
        if is_on { Waits::On } else { Waits::No }
    }

    fn every(step: usize) -> Vec<u64> {
        (0..20_000).step_by(step).collect()
    }

    /// TT-12.
    #[test]
    fn before_input_a_program_has_300_ms_of_quiet_and_2_s_at_the_most() {
        for (name, program, expected) in [
            ("idle", IDLE, (Settled::Quiet, 0)),
            ("quiet for a moment", Program { quiet_before: 100, ..IDLE }, (Settled::Quiet, 200)),
            ("prints twice", Program { prints: vec![0, 299], ..IDLE }, (Settled::Quiet, 599)),
            ("prints just too late", Program { prints: vec![0, 301], ..IDLE }, (Settled::Quiet, 300)),
            ("prints on", Program { prints: every(290), ..IDLE }, (Settled::Busy, 2_000)),
            ("prints slowly", Program { prints: every(310), ..IDLE }, (Settled::Quiet, 300)),
            ("reads", Program { quiet_before: 10, waits: |_| Waits::On, ..IDLE }, (Settled::Reading, 60)),
            ("ends", Program { prints: every(10), ends: Some(77), ..IDLE }, (Settled::Ended, 77)),
        ] {
            assert_eq!(settled(FLUSH, false, &program), expected, "{name}");
        }
    }

    /// TT-12.
    #[test]
    fn behind_input_a_program_has_500_ms_of_quiet_and_5_s_at_the_most() {
        for (name, program, expected) in [
            ("says nothing", IDLE, (Settled::Quiet, 500)),
            ("answers once", Program { prints: vec![450], ..IDLE }, (Settled::Quiet, 950)),
            ("answers in pieces", Program { prints: vec![10, 300, 700], ..IDLE }, (Settled::Quiet, 1_200)),
            ("answers too late", Program { prints: vec![501], ..IDLE }, (Settled::Quiet, 500)),
            ("prints on", Program { prints: every(490), ..IDLE }, (Settled::Busy, 5_000)),
            ("is done", Program { prints: vec![40], ready: Some(40), ..IDLE }, (Settled::Ready, 40)),
            ("ends", Program { ends: Some(77), ..IDLE }, (Settled::Ended, 77)),
        ] {
            assert_eq!(settled(COLLECT, true, &program), expected, "{name}");
        }
    }

    #[test]
    fn a_program_waits_for_input_when_two_looks_at_the_same_output_agree() {
        for (name, program, expected) in [
            // It may not have seen the input.
            ("as before the input", Program { waits: |_| Waits::On, ..IDLE }, (Settled::Quiet, 500)),
            ("behind its echo", Program { prints: vec![5], waits: |_| Waits::On, ..IDLE }, (Settled::Reading, 65)),
            (
                "printing between",
                Program { prints: vec![5, 50], waits: |_| Waits::On, ..IDLE },
                (Settled::Reading, 110),
            ),
            ("once", Program { prints: vec![5], waits: |now| on(now == 35), ..IDLE }, (Settled::Quiet, 505)),
            // vim, told to end.
            (
                "for 100 ms, then ends",
                Program { prints: vec![5], waits: |_| Waits::ForATime, ends: Some(105), ..IDLE },
                (Settled::Ended, 105),
            ),
            (
                "for a time again and again",
                Program { prints: vec![5], waits: |_| Waits::ForATime, ..IDLE },
                (Settled::Reading, 155),
            ),
            ("not at once", Program { prints: vec![5], waits: |now| on(now > 100), ..IDLE }, (Settled::Reading, 155)),
        ] {
            assert_eq!(settled(COLLECT, true, &program), expected, "{name}");
        }
    }
}
