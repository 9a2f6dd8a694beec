//! Where the shells of sessions are: names in a line count from there, and not from where the session began.
//!
//! Nobody asks the shell. What is kept is every directory that the lines of a session may have led it to, before they run:
//! `cd private` in one call and `cat key` in the next are judged like both in one. A line that is nothing but commands which
//! depend on each other, and ended well, leaves it where it says. What a person types, and what a script that is sourced does,
//! nobody sees.

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
    pub(super) command: String,
    pub(super) entered: Entered,
}

/// The directories of all sessions.
pub(super) struct Whereabouts {
    sessions: Arc<Sessions>,
    known: Mutex<HashMap<String, Vec<String>>>,
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

    fn look(&self, known: &HashMap<String, Vec<String>>, id: &str, start: &str) -> Vec<String> {
        let session = self.sessions.find(id);
        if session.as_ref().is_some_and(|session| session.process.ended().is_some()) {
            return vec![start.to_owned()];
        }
        match (known.get(id), session) {
            (Some(directories), _) => directories.clone(),
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
        known.insert(first.id.clone(), led(lines));
        Ok(())
    }

    /// Where the shell of a command is that went to the background under an id which nobody knew before.
    pub(super) fn begin(&self, directories: &[String], result: &ToolResult) {
        if let Some(id) = result.data.as_ref().and_then(|data| data.get("shellId")).and_then(Value::as_str) {
            self.known.lock().insert(id.to_owned(), directories.to_vec());
        }
    }

    /// Where a line of `shell_exec` led for sure that ended well, unless others came behind it.
    pub(super) fn arrive(&self, tool: &str, lines: &[Entering], result: &ToolResult) {
        let [line] = lines else { return };
        let code = result.data.as_ref().and_then(|data| data.get("exitCode")).and_then(Value::as_i64);
        if tool != "shell_exec" || code != Some(0) || !is_chain(&line.command) {
            return;
        }
        let mut known = self.known.lock();
        if let Some(last) = &line.entered.last
            && known.get(&line.id) == Some(&led(lines))
        {
            known.insert(line.id.clone(), last.clone());
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

/// Whether a line is `cd directory`, perhaps with commands behind `&&`: every part ran when all of it succeeded.
fn is_chain(command: &str) -> bool {
    const LEADING: [&str; 7] = ["cd", "chdir", "pushd", "popd", "eval", "source", "."];
    let text = command.trim().replace("&&", " && ");
    let mut words = text.split_whitespace();
    words.next() == Some("cd")
        && words.next().is_some_and(|word| !word.starts_with('-'))
        && !text.contains('\n')
        && !words.any(|word| LEADING.contains(&word))
        && !text.replace("&&", "").contains(|sign: char| "|;&(){}!`$<>\\'\"".contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_chain_of_commands_says_where_it_ends() {
        for command in ["cd a", "cd a && make", " cd a/b&&ls -l && make test "] {
            assert!(is_chain(command), "{command}");
        }
        for command in [
            "cd",
            "ls",
            "cd -P a",
            "cd - ",
            "cd a; ls",
            "cd a | cat",
            "cd a &",
            "(cd a)",
            "cd a || true",
            "! cd a",
            "cd a\nls",
            "cd a && cd b",
            "cd a && nohup cd b",
            "cd a && bash -c 'cd b'",
            "cd $X",
            "cd a > f",
            "cdx a",
        ] {
            assert!(!is_chain(command), "{command}");
        }
    }
}
