//! Commands of a session: typed at its shell, and waited for.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Session;
use super::foreground::{may_prompt, reads_a_line};
use super::keys::check_typed;
use super::marks::Kind;
use super::shells::TYPED_BYTES;
use super::terminal::{ShellState, Terminal};
use crate::backend::process::Process;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};

/// 15 s for a shell to show its first prompt.
const START: Duration = Duration::from_secs(15);
/// 10 s for the prompt behind a command that ended: hooks of the session's own settings run before it.
pub(super) const PROMPT: Duration = Duration::from_secs(10);

/// 300 µs behind a typed command, whoever typed it looks on: what a shell does itself is over then. As long as commands of a
/// session are.
const LOOK_ON: Duration = Duration::from_micros(300);

/// 500 µs for a command to end whose end another thread told: then the next one is looked on again.
const QUICK: Duration = Duration::from_micros(500);

/// 3 s for a shell to give the terminal to a command that it was typed. As long as an echo is waited for.
pub(super) const BEGIN: Duration = Duration::from_secs(3);

/// 20 looks, some microseconds each, whether the shell reads what is typed: it has just shown its prompt. Then one each millisecond.
const READS_SOON: usize = 20;
const READS: Duration = Duration::from_millis(1);

/// 300 ms between two looks at a shell that marks nothing; they must agree.
pub(super) const LOOK: Duration = Duration::from_millis(300);

/// How far a command came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// It ended with this code.
    Ended(i32),
    /// It ended, and the shell did not say with which code.
    Untold,
    /// It still runs.
    Running,
    /// It still runs, and waits for what it asked for ([`super::asking`]).
    Asks,
    /// It is not whole: the shell waits for the rest.
    Incomplete,
    /// The shell reads a line itself, and does not say why: it ended, or asks for something.
    Silent,
    /// The shell itself ended.
    ShellEnded,
}

impl Terminal {
    /// Waits until the shell waits for a command; `false` when it does not within `time`.
    pub async fn prompt(&self, process: &Process, time: Duration, deadline: &Deadline) -> Result<bool> {
        self.wait(process, time, deadline, || self.state() == ShellState::AtPrompt).await
    }

    pub(super) async fn wait(
        &self,
        process: &Process,
        time: Duration,
        deadline: &Deadline,
        is_there: impl Fn() -> bool + Send,
    ) -> Result<bool> {
        let give_up = Instant::now().checked_add(time).unwrap_or_else(Instant::now);
        let mut seen_reading = None;
        loop {
            let marked = process.marked();
            if is_there() {
                return Ok(true);
            }
            if process.ended().is_some() {
                return Ok(false);
            }
            tokio::select! {
                biased;
                () = marked => {}
                () = tokio::time::sleep_until(give_up.min(Instant::now() + LOOK).into()) => {
                    seen_reading = self.look(process, seen_reading);
                    if Instant::now() >= give_up {
                        return Ok(is_there());
                    }
                }
                stop = deadline.reached() => return Err(stop),
            }
        }
    }

    /// Looks whether the shell reads a line without having said so: where its output ends then. Two looks that agree, `before`
    /// being what the one before found, are noted.
    fn look(&self, process: &Process, before: Option<u64>) -> Option<u64> {
        let is_asked = self.state() == ShellState::Busy && !self.is_plain();
        let reads = is_asked && process.leader().is_some_and(may_prompt);
        let now = reads.then(|| process.position());
        if now.is_some() && now == before {
            self.marks.lock().reads_a_line();
        }
        now
    }

    /// Notes that the shell waits for a command behind one that it told the end of, though no prompt was seen since: it goes where errors go,
    /// which may be nowhere.
    pub(super) fn notice_prompt(&self, process: &Process) {
        let is_due = self.last_is_end() && !self.is_plain() && process.quiet_for() >= LOOK;
        if is_due && process.leader().is_some_and(may_prompt) {
            self.marks.lock().reads_a_line();
        }
    }

    /// Types a command and waits for its end, at most `time`. `AlreadyExists` when another still runs.
    pub async fn run(&self, session: &Session, command: &str, time: Duration, deadline: &Deadline) -> Result<Ran> {
        if command.len() > TYPED_BYTES {
            return Err(Error::invalid(format!(
                "The command has {} bytes; at most {TYPED_BYTES} are typed. Write a script to a file and run that.",
                command.len()
            )));
        }
        check_typed(command)?;
        let process = &session.process;
        let Ok(_typing) = self.typing.try_lock() else { return Err(busy(&session.id)) };
        match self.state() {
            ShellState::AtPrompt => {}
            ShellState::Starting => {
                self.prompt(process, START, deadline).await?;
            }
            // A prompt is on its way where a command has just ended.
            ShellState::Busy if self.last_is_end() => {
                self.prompt(process, PROMPT, deadline).await?;
            }
            ShellState::Continuing => return Err(incomplete(&session.id)),
            ShellState::Busy => {}
        }
        let was_at_prompt = self.state() == ShellState::AtPrompt;
        let turn = session.turn_at_hatch(deadline).await?;
        // The first prompt of all tells of no command.
        *self.missed.lock() = self.typed_at().and_then(|_| session.untold_end(self)).map(|end| end.code);
        let looks_on = self.looks_on() && !time.is_zero();
        let look_on = looks_on.then_some(LOOK_ON);
        let mut typed = Instant::now();
        let mut before = self.mark_count();
        let is_over = |before: u64| {
            let marks = self.marks.lock();
            // A plain shell asks for the rest of every line that was typed in parts.
            let asks_for_more = !marks.is_plain() && marks.since(before).any(|mark| mark.kind == Kind::Continuation);
            // An end is told together with the prompt behind it: one wake-up for both. A prompt that expands nothing may come without one.
            let has_ended = marks.since(before).any(|mark| matches!(mark.kind, Kind::End(_) | Kind::Begin));
            marks.is_silent()
                || asks_for_more
                || (has_ended && marks.last().is_some_and(|mark| mark.kind == Kind::Prompt))
        };
        let is_handed = self.opens_hatch(session, command, deadline).await? && {
            before = self.mark_count();
            self.gives(process, before);
            self.hand_over(process, command, look_on, &|| is_over(before))
        };
        if !is_handed {
            self.leave_hatch(process, deadline).await?;
            self.check_editor(session)?;
            self.calm(session, deadline).await?;
            self.reads(session, deadline).await?;
            if self.state() != ShellState::AtPrompt {
                let is_silent = self.marks.lock().is_silent();
                return match process.ended() {
                    Some(_) => Ok(Ran::ShellEnded),
                    None if is_silent => Err(silent(&session.id)),
                    None if was_at_prompt => Err(distracted(&session.id)),
                    None => Err(busy(&session.id)),
                };
            }
            before = self.mark_count();
            typed = Instant::now();
            let line = self.line(command);
            process.check_lines(line.as_bytes())?;
            self.typed(command);
            self.gives(process, before);
            match look_on {
                Some(time) => process.give_and_look_on(line.as_bytes(), time, &|| is_over(before), deadline).await?,
                None => process.give(line.as_bytes(), deadline).await?,
            };
            self.typed_whole();
        }
        drop(turn);
        let is_over = || is_over(before);
        let is_seen = looks_on && is_over();
        let is_over = tokio::select! {
            biased;
            is_over = self.wait(process, time, deadline, is_over) => is_over?,
            () = self.asks(process, before) => return Ok(Ran::Asks),
        };
        self.is_quick.store(is_seen || !looks_on && is_over && self.took(typed) < QUICK, Ordering::Relaxed);
        let code = self.ended_since(before);
        if is_handed && is_over && self.was_not_heard(process) {
            return Err(interrupted(&session.id));
        }
        if !is_over && code.is_none() {
            self.begun(process, before, deadline).await?;
            return Ok(if process.ended().is_some() { Ran::ShellEnded } else { Ran::Running });
        }
        let Some(code) = code else {
            let is_silent = self.marks.lock().is_silent();
            return Ok(match self.state() {
                ShellState::AtPrompt => Ran::Untold,
                ShellState::Starting | ShellState::Continuing | ShellState::Busy if is_silent => Ran::Silent,
                ShellState::Starting | ShellState::Continuing | ShellState::Busy => Ran::Incomplete,
            });
        };
        self.prompt(process, PROMPT, deadline).await?;
        Ok(Ran::Ended(code))
    }

    /// `AlreadyExists` where the shell has lost its line editor: it would take the keys that run a line for a part of one. One that reads
    /// nothing, such as at a trap, has given it up for a moment.
    pub(crate) fn check_editor(&self, session: &Session) -> Result<()> {
        let reads = || session.process.leader().is_none_or(|leader| reads_a_line(leader) != Some(false));
        if self.state() == ShellState::AtPrompt && !self.is_plain() && session.process.gives_lines() && reads() {
            let message = format!(
                "The shell of session '{}' has no line editor any more (`set +o emacs`), so that nothing can be run there. End the \
                 session with `shell_kill_process` and use another.",
                session.id
            );
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        Ok(())
    }

    /// Waits until the shell itself reads at its prompt, where the kernel can tell, and in its line editor. `AlreadyExists` where it does not
    /// within the time of a hand-over: another program showed the prompt, and would have what is typed.
    pub(crate) async fn reads(&self, session: &Session, deadline: &Deadline) -> Result<()> {
        let give_up = Instant::now() + BEGIN;
        let Some(leader) = session.process.leader() else { return Ok(()) };
        let mut looks = 0;
        while self.state() == ShellState::AtPrompt && reads_a_line(leader) == Some(false) {
            looks += 1;
            if looks < READS_SOON {
                std::hint::spin_loop();
                continue;
            }
            if session.process.ended().is_some() {
                return Ok(());
            }
            if Instant::now() >= give_up {
                return Err(pretended(&session.id));
            }
            tokio::select! {
                () = tokio::time::sleep(READS) => {}
                stop = deadline.reached() => return Err(stop),
            }
        }
        self.check_editor(session)
    }

    /// Waits until the command that was typed behind the first `count` marks has the terminal: a return that is written before that
    /// is one of the shell's line editor, and ends no line for the command.
    pub(super) async fn begun(&self, process: &Process, count: u64, deadline: &Deadline) -> Result<()> {
        self.marks.lock().tell_begin();
        let has_begun = || {
            let marks = self.marks.lock();
            let is_begun = |kind| matches!(kind, Kind::Begin | Kind::Continuation | Kind::End(_));
            marks.is_silent() || marks.since(count).any(|mark| is_begun(mark.kind))
        };
        self.wait(process, BEGIN, deadline, has_begun).await.map(drop)
    }

    /// Notes that a command is given behind the first `count` marks.
    fn gives(&self, process: &Process, count: u64) {
        self.given.store(count + 1, Ordering::Relaxed);
        self.spill(process);
    }

    /// Whether the next command is looked on from the thread that types it.
    pub(super) fn looks_on(&self) -> bool {
        self.is_quick.load(Ordering::Relaxed) && !self.is_logged
    }

    fn last_is_end(&self) -> bool {
        self.marks.lock().last().is_some_and(|mark| matches!(mark.kind, Kind::End(_)))
    }
}

pub(super) fn silent(id: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        format!(
            "Session '{id}' is open, but its shell says no more when a command ends, because its prompt was taken away; or a \
             command asks for a line there. Answer it with `shell_write_to_process`, or end the session with \
             `shell_kill_process` and use another."
        ),
    )
}

fn incomplete(id: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        format!(
            "The shell of session '{id}' waits for the rest of a command that is not whole. Give it up with \
             `shell_write_to_process` and `keys: ['ctrl-c']`, or use another id."
        ),
    )
}

fn pretended(id: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        format!(
            "The shell of session '{id}' does not read its next line although a prompt was shown: it is at something else, such as \
             a trap, or a program that it waits for showed the prompt, so that how the command before ended is not known either. \
             Look at it with `shell_view`, end it with `shell_kill_process`, or use another id."
        ),
    )
}

fn interrupted(id: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "Something interrupted the shell of session '{id}' before it had the command: nothing was run. Call again."
        ),
    )
}

fn distracted(id: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "The shell of session '{id}' left its prompt before it had the command, and nothing was run: another program that reads the \
             same terminal took a part of what was typed. Look at it with `shell_view`, end the session with `shell_kill_process`, or use \
             another id."
        ),
    )
}

fn busy(id: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        format!(
            "Session '{id}' already exists and is running. Look at it with `shell_view`, write to it with \
             `shell_write_to_process`, end it with `shell_kill_process`, or use another id."
        ),
    )
}
