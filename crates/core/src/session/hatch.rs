//! Commands that are handed to a session's bash and not typed: a line editor draws each character and sets the terminal twice, which
//! takes several times as long as what a small command does.
//!
//! A line that is typed once has bash read at its [hatch](crate::backend::tap::Tap::with_hatch) in a loop: a number, and so many characters,
//! which it evaluates and says how that ended. Its terminal is for programs alone meanwhile. What a line editor would have shown is
//! recorded here, with the same marks, so that nobody else has to know; and whoever types has the line editor back first, as has every
//! command of which [something](fits) might be otherwise in such a loop. What interrupts a command, stops it, changes the prompt or begins
//! a job ends the loop by itself.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Session;
use super::fitting::{fits, leads_the_loop};
use super::foreground::{Alone, may_prompt, shows_prompts};
use super::marks::Marks;
use super::running::{BEGIN, LOOK};
use super::shells::{Serving, handed, pasted, serve, whole};
use super::terminal::{ShellState, Terminal};
use crate::backend::process::{Process, Saying};
use crate::backend::tap::Heard;
use crate::cancel::Deadline;
use crate::error::Result;

/// What takes the prompt back that was shown for it, before it shows its own.
const TAKE_BACK: &[u8] = b"\r\x1b[K";
/// 8 commands are typed where bash would not read at its hatch, before it is asked again.
const REFUSED: u32 = 8;
/// 64 bytes of the end of a line that has not ended are kept, or twice as many: bash says less.
const WORD_BYTES: usize = 64;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Hatch {
    state: State,
    /// What was said of a line that has not ended.
    said: Vec<u8>,
    /// The prompt that bash would show.
    prompt: String,
    /// With it begins all that either side says.
    seal: String,
    /// How many commands are typed before it is asked again.
    refused: u32,
    /// Whether the last command fitted: one alone is typed sooner.
    has_fitted: bool,
    /// Whether the session was given a text that may run between what bash reads there and what it evaluates: it is typed at for good.
    is_led: bool,
    /// Tells whether another process may read there.
    alone: Option<Alone>,
    /// When it was said last that a command had ended.
    told: Option<Instant>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Bash reads in its line editor, or runs what was typed there.
    #[default]
    Closed,
    /// The line is typed that has it read at the hatch.
    Opening,
    /// It reads there.
    Open,
    /// It has a command from there.
    Handed,
    /// It is told to leave the loop.
    Closing,
}

impl Hatch {
    /// Takes what bash said; tells what is shown for it and said back. `leads` tells whether it has the terminal, and no command of it, whose
    /// end is believed then alone; `is_alone` is where nothing was typed that it may find in its line editor.
    fn hear(&mut self, bytes: &[u8], word: &str, leads: &dyn Fn() -> bool, is_alone: bool) -> Heard {
        let mut heard = Heard::default();
        for byte in bytes {
            if *byte != b'\n' {
                self.said.push(*byte);
                if self.said.len() == 2 * WORD_BYTES {
                    self.said.drain(..WORD_BYTES);
                }
                continue;
            }
            let said = std::mem::take(&mut self.said);
            // What a command of the session says there, also before it on the same line, is nobody's.
            let seal = memchr::memmem::rfind(&said, self.seal.as_bytes()).filter(|_| !self.seal.is_empty());
            let sealed = seal.and_then(|at| std::str::from_utf8(&said[at + self.seal.len()..]).ok());
            let Some(said) = sealed else { continue };
            match (self.state, said.strip_prefix('P'), said.parse::<i32>()) {
                (State::Opening | State::Closed, Some(is_root), _) => {
                    self.state = State::Opening;
                    self.prompt = if is_root == "1" { "# " } else { "$ " }.to_owned();
                }
                (State::Opening, None, Ok(_)) if !self.prompt.is_empty() => {
                    self.state = State::Open;
                    heard.shown = format!("\x1b]133;B;{word}\x07").into_bytes();
                }
                (State::Handed, None, Ok(code)) if is_alone && leads() => {
                    (self.state, self.told) = (State::Open, Some(Instant::now()));
                    let prompt = &self.prompt;
                    heard.shown = format!("\x1b]133;D;{code};{word}\x07{prompt}\x1b]133;B;{word}\x07").into_bytes();
                }
                // What runs in a shell below it can say so too.
                (State::Handed, None, Ok(_)) if !leads() => {}
                // Its line editor is to find what was typed, and says how the command ended.
                (State::Handed, None, Ok(_)) => heard.answer = handed("", &self.seal).into_bytes(),
                // Nobody asked.
                (_, _, _) => {}
            }
        }
        heard
    }

    /// Notes that it is asked to read there. An end is believed behind the prompt that it says first.
    fn opens(&mut self, alone: Alone) {
        self.alone = Some(alone);
        self.state = State::Opening;
        self.prompt.clear();
        self.seal = format!("{:016x}", RandomState::new().hash_one(()));
    }

    /// Notes that bash shows a prompt in its line editor; whether that takes the place of one that was shown for it.
    pub(super) fn has_line_editor(&mut self) -> bool {
        let before = std::mem::take(&mut self.state);
        if before == State::Opening {
            self.refused = REFUSED;
        }
        matches!(before, State::Opening | State::Closing)
    }

    /// Whether a command is on its way there.
    pub(super) fn is_handed(&self) -> bool {
        self.state == State::Handed
    }

    /// Whether bash reads there, and nobody else: what it forked has a copy, and would read what is said to bash, or a part of it.
    fn is_open_to_one(&self) -> bool {
        self.state == State::Open && self.alone.as_ref().is_some_and(Alone::holds)
    }

    /// Goes on to another state from this one alone; whether it was this one.
    fn goes(&mut self, from: State, to: State) -> bool {
        let goes = self.state == from;
        if goes {
            self.state = to;
        }
        goes
    }

    /// Whether bash is to be asked to read there for a command that fits, or not.
    fn opens_for(&mut self, fits: bool) -> bool {
        let opens = self.state == State::Closed && fits && self.has_fitted && self.refused == 0;
        self.refused = self.refused.saturating_sub(1);
        self.has_fitted = fits;
        opens
    }
}

impl Terminal {
    /// Whether bash reads at its hatch for this command; it is asked to where that is worth it, and to leave where the command does not fit.
    /// In a turn of writing.
    pub(super) async fn opens_hatch(&self, session: &Session, command: &str, deadline: &Deadline) -> Result<bool> {
        let process = &session.process;
        self.settle_hatch(process).await?;
        // What it has at its hatch overtakes what waits: a new size of its terminal is its own before a command behind that.
        let is_led = self.is_led_by(command);
        let name = process
            .hatch_name()
            .filter(|_| !is_led && !self.typist.has_unread() && !process.has_queued() && fits(command));
        let (is_open, opens) = {
            let mut marks = self.marks.lock();
            let fits = name.is_some();
            let is_open = fits && marks.hatch.is_open_to_one();
            (is_open, !marks.is_plain() && marks.hatch.opens_for(fits))
        };
        if is_open {
            return Ok(true);
        }
        self.leave_hatch(process, deadline).await?;
        let alone = process.leader().filter(|_| opens).and_then(Alone::of);
        let alone = alone.filter(|alone| alone.holds() && process.leader().is_some_and(shows_prompts));
        let (Some(name), Some(alone)) = (name, alone) else { return Ok(false) };
        self.reads(session, deadline).await?;
        if self.state() != ShellState::AtPrompt {
            return Ok(false);
        }
        let Serving { said, typed } = {
            let mut marks = self.marks.lock();
            marks.hatch.opens(alone);
            serve(marks.word(), &marks.hatch.seal, name)
        };
        process.take_back();
        process.pass(Saying { shown: b"", said: said.as_bytes(), is_due: &|| true });
        self.typed_unseen(&typed);
        process.give(pasted(&typed).as_bytes(), deadline).await?;
        self.settle_hatch(process).await?;
        let is_open = self.marks.lock().hatch.state == State::Open;
        if !is_open {
            process.take_back();
        }
        deadline.check()?;
        Ok(is_open)
    }

    /// Notes a text that is given to bash; whether any of the session may lead the loop at its hatch from now on.
    pub(super) fn is_led_by(&self, text: &str) -> bool {
        let leads = leads_the_loop(text);
        let hatch = &mut self.marks.lock().hatch;
        hatch.is_led |= leads;
        hatch.is_led
    }

    /// Waits until bash has come to its hatch or to its line editor, where it is on its way. Whoever stops a call cannot stop that.
    async fn settle_hatch(&self, process: &Process) -> Result<()> {
        let is_settled = || {
            let marks = self.marks.lock();
            !matches!(marks.hatch.state, State::Opening | State::Closing) && !marks.is_being_drawn()
        };
        let give_up = Instant::now() + BEGIN;
        let mut seen = None;
        while !is_settled() && Instant::now() < give_up && process.ended().is_none() {
            if self.wait(process, LOOK, &Deadline::default(), is_settled).await? {
                break;
            }
            // Where another program took a part of what was typed, bash goes on reading in its line editor.
            let now = process.leader().is_some_and(may_prompt).then(|| process.position());
            if now.is_some() && now == seen {
                let mut marks = self.marks.lock();
                marks.hatch.has_line_editor();
                marks.gives_line_up();
                self.typist.unread.store(true, Ordering::Release);
            }
            seen = now;
        }
        Ok(())
    }

    /// Hands it to bash, which reads at its hatch; whether it could, and bash had not left by itself. What comes behind it is taken on this thread for that time.
    pub(super) fn hand_over(
        &self,
        process: &Process,
        command: &str,
        look_on: Option<Duration>,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let (shown, said) = {
            let mut marks = self.marks.lock();
            marks.hatch.state = State::Handed;
            let word = marks.word();
            let shown = format!("\x1b]133;H;{word}\x07{}\r\n\x1b]133;C;{word}\x07", whole(command));
            (shown, handed(command, &marks.hatch.seal))
        };
        let is_due = || self.marks.lock().hatch.is_handed();
        let saying = Saying { shown: shown.as_bytes(), said: said.as_bytes(), is_due: &is_due };
        let is_handed = match look_on {
            Some(time) => process.pass_and_look_on(saying, time, is_over),
            None => process.pass(saying),
        };
        if !is_handed {
            self.marks.lock().hatch.goes(State::Handed, State::Closing);
        }
        is_handed
    }

    /// Whether bash had not come to the command that was handed over when it showed a prompt in its line editor: something else had
    /// interrupted it. Nothing runs then.
    pub(super) fn was_not_heard(&self, process: &Process) -> bool {
        self.marks.lock().hatch.state == State::Closed && process.take_back()
    }

    /// How long a command took that was given at that time and has ended: whoever waits for it wakes later than its end was told.
    pub(super) fn took(&self, given: Instant) -> Duration {
        let told = self.marks.lock().hatch.told.filter(|told| *told >= given);
        told.map_or_else(|| given.elapsed(), |told| told - given)
    }

    /// Has bash read in its line editor again, where it waits for a command at its hatch.
    pub(crate) async fn leave_hatch(&self, process: &Process, deadline: &Deadline) -> Result<()> {
        let leave = {
            let mut marks = self.marks.lock();
            marks.hatch.goes(State::Open, State::Closing).then(|| handed("", &marks.hatch.seal))
        };
        if let Some(leave) = leave {
            let is_due = || self.marks.lock().hatch.state == State::Closing;
            process.pass(Saying { shown: TAKE_BACK, said: leave.as_bytes(), is_due: &is_due });
        }
        self.settle_hatch(process).await?;
        deadline.check()
    }
}

#[cfg(test)]
impl Terminal {
    /// Whether bash waits for a command at its hatch.
    pub(super) fn is_at_hatch(&self) -> bool {
        self.marks.lock().hatch.state == State::Open
    }
}

/// What is heard at the hatch of a terminal with these marks.
pub(super) fn heard(marks: &mut Marks, bytes: &[u8], leads: &dyn Fn() -> bool, is_alone: bool) -> Heard {
    let word = marks.word().to_owned();
    marks.hatch.hear(bytes, &word, leads, is_alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hatch(state: State) -> Hatch {
        Hatch { state, prompt: "$ ".into(), seal: "seal".into(), ..Hatch::default() }
    }

    #[test]
    fn what_bash_says_is_heard_however_it_comes_and_an_end_only_while_it_has_the_terminal() {
        let end = "\x1b]133;D;7;w\x07$ \x1b]133;B;w\x07";
        let leave = format!("seal00000{}", " ".repeat(55));
        // Before its prompt, and before anybody asked.
        for (seal, said) in [("seal", "seal0\n"), ("", "P0\n0\n")] {
            let mut early = Hatch { prompt: String::new(), seal: seal.into(), ..hatch(State::Opening) };
            assert_eq!(early.hear(said.as_bytes(), "w", &|| true, true).shown, b"", "{said:?}");
            assert_eq!(early.state, State::Opening);
        }
        for (state, said, leads, is_alone, shown, answer, then) in [
            (State::Opening, "sealP0\nseal0\n", true, true, "\x1b]133;B;w\x07", "", State::Open),
            (State::Closed, "sealP1\n", true, true, "", "", State::Opening),
            (State::Closed, "seal7\n", true, true, "", "", State::Closed),
            (State::Handed, "seal7\n", true, true, end, "", State::Open),
            (State::Handed, "seal7\n", false, true, "", "", State::Handed),
            (State::Handed, "seal7\n", false, false, "", "", State::Handed),
            (State::Handed, "seal7\n", true, false, "", &leave, State::Handed),
            (State::Handed, "sealseven\n", true, true, "", "", State::Handed),
            (State::Handed, "seal7\nseal8\n", true, true, end, "", State::Open),
            (State::Open, "seal7\n", true, true, "", "", State::Open),
            // What a command says there, before it too.
            (State::Handed, "7\n", true, true, "", "", State::Handed),
            (State::Handed, "x\nseal7\n", true, true, end, "", State::Open),
            (State::Handed, "xseal8\u{e9}seal7\n", true, true, end, "", State::Open),
            (State::Handed, &*format!("{}seal7\n", "s".repeat(1_000)), true, true, end, "", State::Open),
        ] {
            for size in 1..=said.len() {
                let mut hatch = hatch(state);
                let (mut all, mut answers) = (Vec::new(), Vec::new());
                for bytes in said.as_bytes().chunks(size) {
                    let Heard { shown, answer } = hatch.hear(bytes, "w", &|| leads, is_alone);
                    all.extend(shown);
                    answers.extend(answer);
                }
                let told = (String::from_utf8(all).unwrap(), String::from_utf8(answers).unwrap(), hatch.state);
                assert_eq!(told, (shown.to_owned(), answer.to_owned(), then), "{state:?} {said:?} {size}");
            }
        }
        let mut endless = hatch(State::Handed);
        endless.hear(&[b'1'; 10 * WORD_BYTES], "w", &|| true, true);
        assert!(endless.said.len() < 2 * WORD_BYTES);
    }

    #[test]
    fn bash_is_asked_to_its_hatch_for_the_second_command_that_fits_and_not_soon_again_where_it_did_not_come() {
        let mut hatch = Hatch::default();
        assert_eq!(
            [true, true, false, true, true].map(|fits| hatch.opens_for(fits)),
            [false, true, false, false, true]
        );
        hatch.state = State::Opening;
        assert!(hatch.has_line_editor() && hatch.state == State::Closed);
        let asked = (0..=REFUSED).position(|_| hatch.opens_for(true));
        assert_eq!(asked, Some(REFUSED as usize));
    }
}
