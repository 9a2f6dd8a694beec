//! What programs are told of a command that was typed in a session, beside the text for the model: one shape, however far it came.

use serde::Serialize;
use serde_json::{Value, json};

use super::terminal::{ceiling, is_open, signal};
use crate::backend::Ceiling;
use crate::session::Session;
use crate::session::overflow::Older;

/// The `data` of a `shell_exec`. What is not known, or is not there, is null.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommandFacts {
    pub(super) id: String,
    pub(super) open: bool,
    pub(super) pid: Option<u32>,
    pub(super) signal: Option<String>,
    pub(super) ceiling: Option<Ceiling>,
    pub(super) running: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) exit_meaning: Option<&'static str>,
    pub(super) output: String,
    pub(super) full_screen: bool,
    pub(super) before: String,
    pub(super) before_exit_code: Option<i32>,
    pub(super) dropped_bytes: u64,
    pub(super) more: bool,
    pub(super) spill_path: Option<String>,
    pub(super) spill_bytes: Option<u64>,
    pub(super) timed_out: bool,
    pub(super) waits_for_input: bool,
    pub(super) stopped: bool,
    /// Whether another program took a part of the line.
    pub(super) torn: bool,
    /// Lines that were typed ahead of it, and that its shell threw away.
    pub(super) thrown_away: Option<String>,
}

impl CommandFacts {
    /// What its session says of itself; nothing is known of the command yet.
    pub(super) fn of(session: &Session) -> Self {
        Self {
            id: session.id.clone(),
            open: is_open(session),
            pid: session.process.pid(),
            signal: signal(session),
            ceiling: ceiling(session),
            torn: session.terminal.as_ref().is_some_and(|terminal| terminal.torn().is_some()),
            ..Self::default()
        }
    }

    /// With the file that has what memory does not keep of its output.
    pub(super) fn with_older(self, older: Option<&Older>) -> Self {
        let spill_path = older.map(|older| older.file.clone());
        Self { spill_path, spill_bytes: older.and_then(|older| older.file_bytes), ..self }
    }

    /// As JSON.
    pub(super) fn told(&self) -> Value {
        json!(self)
    }
}
