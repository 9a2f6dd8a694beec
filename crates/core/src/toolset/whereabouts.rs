//! Where the shells of sessions are: names in a line count from there, and not from where the session began.
//!
//! Nobody asks the shell. What is kept is every directory that the lines of a session may have led it to, before they run:
//! `cd private` in one call and `cat key` in the next are judged like both in one. A line that is nothing but commands which
//! depend on each other, and ended well, leaves it where it says, unless a function, an alias or a trap of the session leads it too.
//! What a person types, and what a script that is sourced does, nobody sees.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;
use crate::permissions::command::argument::ANYTHING;
use crate::permissions::command::paths::Entered;
use crate::permissions::{CommandContext, analyze};
use crate::session::{OF_A_PERSON, Sessions};
use crate::tool::ToolResult;

/// 256 sessions; those that run are never forgotten.
const SESSIONS: usize = 256;
/// 16 directories of one session; with more it may be anywhere.
const DIRECTORIES: usize = 16;

/// A line for a session: where its shell was taken to be, and where the line leads.
#[derive(Debug)]
pub(super) struct Entering {
    pub(super) id: String,
    pub(super) from: Vec<String>,
    pub(super) entered: Entered,
}

/// The directories of all sessions.
pub(super) struct Whereabouts {
    sessions: Arc<Sessions>,
    known: Mutex<HashMap<String, Known>>,
}

/// What is known of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    directories: Vec<String>,
    /// Whether something leads it besides its lines.
    is_led_later: bool,
}

impl Whereabouts {
    /// None is known.
    pub(super) fn new(sessions: Arc<Sessions>) -> Self {
        Self { sessions, known: Mutex::default() }
    }

    /// Where the shell of a session may be; `start` where it is not there yet.
    pub(super) fn of(&self, id: &str, start: &VirtualPath) -> Vec<String> {
        self.look(&self.known.lock(), id, start.as_str())
    }

    fn look(&self, known: &HashMap<String, Known>, id: &str, start: &str) -> Vec<String> {
        let session = self.sessions.find(id);
        if session.as_ref().is_some_and(|session| session.process.ended().is_some()) {
            return vec![start.to_owned()];
        }
        match (known.get(id), session) {
            (Some(known), _) => known.directories.clone(),
            // Nobody says what a person ran.
            (None, Some(session)) if session.command == OF_A_PERSON => vec![ANYTHING.to_string()],
            // A command in the background may have led its shell away before it was given a line.
            (None, Some(session)) => {
                let context = CommandContext { working_directory: start.to_owned(), ..CommandContext::default() };
                analyze(&session.command, &context).entered.all
            }
            (None, None) => vec![start.to_owned()],
        }
    }

    /// Takes lines to have run, before they do. `StaleFile` when other lines went before them since they were judged.
    pub(super) fn enter(&self, lines: &[Entering]) -> Result<()> {
        let Some(first) = lines.first() else { return Ok(()) };
        let mut known = self.known.lock();
        let start = first.from.first().map_or("/", String::as_str);
        if self.look(&known, &first.id, start) != first.from {
            return Err(Error::new(
                ErrorKind::StaleFile,
                format!("Session '{}' was led elsewhere while this was judged; call again.", Shown(&first.id)),
            ));
        }
        if known.len() >= SESSIONS {
            known.retain(|id, _| self.sessions.find(id).is_some_and(|session| session.process.ended().is_none()));
        }
        let is_open = self.sessions.find(&first.id).is_some_and(|session| session.process.ended().is_none());
        let was_led = is_open && known.get(&first.id).is_some_and(|known| known.is_led_later);
        let is_led_later = was_led || lines.iter().any(|line| line.entered.is_led_later);
        let mut directories = led(lines);
        let anywhere = ANYTHING.to_string();
        if is_led_later && !directories.contains(&anywhere) {
            directories.push(anywhere);
        }
        known.insert(first.id.clone(), Known { directories, is_led_later });
        Ok(())
    }

    /// Where the shell of a command is that went to the background under an id which nobody knew before.
    pub(super) fn begin(&self, directories: &[String], result: &ToolResult) {
        if let Some(id) = result.data.as_ref().and_then(|data| data.get("shellId")).and_then(Value::as_str) {
            let known = Known { directories: directories.to_vec(), is_led_later: false };
            self.known.lock().insert(id.to_owned(), known);
        }
    }

    /// Where a line of `shell_exec` led for sure that ended well, unless others came behind it.
    pub(super) fn arrive(&self, tool: &str, lines: &[Entering], result: &ToolResult) {
        let [line] = lines else { return };
        let code = result.data.as_ref().and_then(|data| data.get("exitCode")).and_then(Value::as_i64);
        if tool != "shell_exec" || code != Some(0) {
            return;
        }
        if let Some(last) = &line.entered.last
            && let Some(known) = self.known.lock().get_mut(&line.id)
            && !known.is_led_later
            && known.directories == led(lines)
        {
            known.directories.clone_from(last);
        }
    }
}

/// Where lines may lead a shell, and where it was.
fn led(lines: &[Entering]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for directory in lines.iter().flat_map(|line| line.from.iter().chain(&line.entered.all)) {
        if !all.contains(directory) {
            all.push(directory.clone());
        }
    }
    if all.len() > DIRECTORIES { vec![ANYTHING.to_string()] } else { all }
}
