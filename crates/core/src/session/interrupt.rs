//! Keys that interrupt what runs in a session, and what they may do to what is typed around them.
//!
//! The terminal takes away what was typed before such a key and not read yet, and the signal of the key arrives when its reader
//! goes on: bash that has just read the first byte of what was typed behind the key drops it, and sometimes takes the whole for an
//! end of input. So such a key waits until the line before it was taken, and the first line behind it is one that may be lost.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Session;
use super::foreground::{Waits, waits_for_input};
use super::running::{BEGIN, LOOK, PROMPT, silent};
use super::terminal::{ShellState, Terminal};
use super::typist::Typist;
use crate::backend::process::Process;
use crate::cancel::Deadline;
use crate::error::{ErrorKind, Result};

/// Ctrl-C.
const INTERRUPT: u8 = 3;
/// Ctrl-C, Ctrl-Z and Ctrl-\.
const INTERRUPTING: [u8; 3] = [INTERRUPT, 0x1A, 0x1C];
/// Twice 250 ms for a command to end at Ctrl-C: one that is just being started when it is pressed does not hear it.
const INTERRUPTED: Duration = Duration::from_millis(250);
const INTERRUPTS: usize = 2;
/// 30 ms from the moment when a shell has a line until its program has the terminal. A key that comes sooner ends the shell's work
/// on the line, or nothing.
const HANDED_OVER: Duration = Duration::from_millis(30);
/// 5 lines may be lost.
const TRIES: usize = 5;
/// Does nothing, prints nothing, and leaves `$?` as it is, but where a code other than 0 ends the shell. Its first letters may be lost.
const NOTHING: &str = "    case $?$- in 0*|*e*);;*)(exit $?);;esac";

/// What was ended of a command that somebody stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The command alone.
    Command,
    /// The session, with all that ran in it.
    Session,
    /// Nothing: a person has the session.
    Nothing,
}

impl Typist {
    /// Notes what is typed: an interrupt among it may cost what is typed next its first byte.
    pub(super) fn note(&self, typed: &[u8]) -> bool {
        let interrupts = typed.iter().any(|byte| INTERRUPTING.contains(byte));
        if interrupts {
            self.unread.store(true, Ordering::Release);
            self.interrupted.store(true, Ordering::Release);
        }
        interrupts
    }
}

impl Terminal {
    /// Types it. A key that interrupts waits until the shell has the line that was typed last: it would take away what was not read.
    pub(crate) async fn write(&self, process: &Process, bytes: &[u8], deadline: &Deadline) -> Result<()> {
        if self.typist().note(bytes) {
            self.taken(process, deadline).await?;
        }
        process.give(bytes, deadline).await.map(drop)
    }

    /// Waits until what was typed at the prompt has the terminal, where that is on its way.
    pub(crate) async fn taken(&self, process: &Process, deadline: &Deadline) -> Result<()> {
        let Some(count) = self.handed_over() else { return Ok(()) };
        self.begun(process, count, deadline).await?;
        tokio::select! {
            () = tokio::time::sleep(HANDED_OVER) => Ok(()),
            stop = deadline.reached() => Err(stop),
        }
    }

    /// Has a shell that was interrupted run a line that does nothing, until one is run: what is typed behind it is read whole. In a
    /// turn of writing, at the shell's prompt.
    pub(crate) async fn calm(&self, session: &Session, deadline: &Deadline) -> Result<()> {
        let process = &session.process;
        for _ in 0..TRIES {
            if !self.typist().interrupted.load(Ordering::Acquire) || self.state() != ShellState::AtPrompt {
                return Ok(());
            }
            let before = self.mark_count();
            // Its first key may be lost, and does nothing.
            self.typist().unread.store(true, Ordering::Release);
            let keys = self.line(NOTHING);
            self.typed_behind_interrupt(NOTHING, &keys);
            process.give(keys.as_bytes(), deadline).await?;
            self.typed_whole();
            if self.has_run(process, before, deadline).await? {
                self.typist().interrupted.store(false, Ordering::Release);
                return Ok(());
            }
        }
        Err(silent(&session.id))
    }

    /// Waits until the line that was typed behind the first `count` marks has run; `false` where the shell waits for another without
    /// having had that one: two looks agree that it does.
    async fn has_run(&self, process: &Process, count: u64, deadline: &Deadline) -> Result<bool> {
        let mut seen = None;
        let give_up = Instant::now() + PROMPT;
        while Instant::now() < give_up && process.ended().is_none() {
            if self.wait(process, LOOK, deadline, || self.has_ended_since_begin(count)).await? {
                return Ok(true);
            }
            let waits = process.leader().is_some_and(|leader| waits_for_input(leader) != Waits::No);
            let now = waits.then(|| process.position());
            if now.is_some() && now == seen {
                return Ok(false);
            }
            seen = now;
        }
        Ok(process.ended().is_some())
    }

    /// Ends the command that runs: with Ctrl-C, or where it does not end at that with the session.
    pub async fn stop(&self, session: &Session) -> Stopped {
        let process = &session.process;
        for _ in 0..INTERRUPTS {
            // Whoever stops a call wants no other bound than these.
            let deadline = Deadline::default().within(BEGIN + INTERRUPTED);
            match session.turn(&deadline).await {
                Err(error) if error.kind() == ErrorKind::Busy => return Stopped::Nothing,
                Ok(_turn) if self.write(process, &[INTERRUPT], &deadline).await.is_ok() => {
                    if self.prompt(process, INTERRUPTED, &Deadline::default()).await.unwrap_or(false) {
                        return Stopped::Command;
                    }
                }
                Ok(_) | Err(_) => break,
            }
        }
        process.end().await;
        Stopped::Session
    }
}
