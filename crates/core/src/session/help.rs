//! Who answers where a model cannot: [`Helper`]; and the [`Hold`] that keeps a session theirs meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::Session;
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Help {
    /// They answered; it is typed for them.
    Answer(String),
    /// They worked in the session themselves and gave it back.
    TookOver,
}

/// Asks a person for help with a terminal, where the application has somebody to ask.
pub trait Helper: Send + Sync {
    /// Asks a person for help with a terminal session; what they did, or `None` where nobody can be asked. `request` is
    /// `{ sessionId, prompt, screen, exists, runsAnswer }`. At the deadline they are told to stop, and what they did counts no more.
    fn help<'a>(
        &'a self,
        call: CallInfo<'a>,
        request: &'a Value,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<Option<Help>>> {
        let _ = (call, request, deadline);
        Box::pin(async { Ok(None) })
    }
}

/// Whether a person has a session.
#[derive(Debug, Default)]
pub(super) struct Held(AtomicBool);

/// One call writes into a session at a time, and looks before at what it writes to.
pub(super) type Writing = tokio::sync::Mutex<()>;

/// While it lives the session is a person's: calls of the model type nothing into it. What a person answers must reach the
/// program that they saw asking, and what they type must stay theirs.
pub struct Hold(Arc<Session>);

impl Hold {
    /// Takes the session, behind a call that is just writing into it; `Busy` while another person has it.
    pub async fn take(session: &Arc<Session>, deadline: &Deadline) -> Result<Self> {
        let _writing = session.writing_turn(deadline).await?;
        if session.held.0.swap(true, Ordering::AcqRel) {
            return Err(taken(session));
        }
        let hold = Self(Arc::clone(session));
        if let Some(terminal) = &session.terminal {
            // They type at a line editor, also behind what runs now.
            terminal.typist().unread.store(true, Ordering::Release);
            terminal.leave_hatch(&session.process, deadline).await?;
        }
        Ok(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.held.0.store(false, Ordering::Release);
    }
}

impl Session {
    /// The turn of a call to write into the session; `Busy` while a person has it. While it lasts no person gets it.
    pub async fn turn(&self, deadline: &Deadline) -> Result<tokio::sync::MutexGuard<'_, ()>> {
        let turn = self.turn_at_hatch(deadline).await?;
        if let Some(terminal) = &self.terminal {
            terminal.leave_hatch(&self.process, deadline).await?;
        }
        Ok(turn)
    }

    /// The same for a command that may be handed to a shell at its [hatch](super::hatch).
    pub(super) async fn turn_at_hatch(&self, deadline: &Deadline) -> Result<tokio::sync::MutexGuard<'_, ()>> {
        let turn = self.writing_turn(deadline).await?;
        self.check_free()?;
        Ok(turn)
    }

    async fn writing_turn(&self, deadline: &Deadline) -> Result<tokio::sync::MutexGuard<'_, ()>> {
        if let Ok(turn) = self.writing.try_lock() {
            return Ok(turn);
        }
        tokio::select! {
            turn = self.writing.lock() => Ok(turn),
            stop = deadline.reached() => Err(stop),
        }
    }

    /// `Busy` while a person has the session.
    pub fn check_free(&self) -> Result<()> {
        if self.held.0.load(Ordering::Acquire) { Err(taken(self)) } else { Ok(()) }
    }
}

fn taken(session: &Session) -> Error {
    let message = format!(
        "A person has session '{}' now. Wait with `shell_view` until they are done, or work in another session.",
        session.id
    );
    Error::new(ErrorKind::Busy, message)
}
