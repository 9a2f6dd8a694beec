//! Where the shells of sessions are: names in a line count from there, and not from where the session began.
//!
//! Nobody asks the shell. What is kept is every directory that the lines of a session may have led it to, before they run:
//! `cd private` in one call and `cat key` in the next are judged like both in one. A line that is nothing but commands which
//! depend on each other, and ended well, leaves it where it says, unless a function, an alias or a trap of the session leads it too;
//! and behind a line that ended the kernel is asked, where it can be, in which of them the shell is. Before a line it is asked whether
//! the shell is in any of them at all: another call may have moved the directory in which it stands.
//! What a person types, and what a script that is sourced does, nobody sees.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde_json::Value;

use crate::backend::process::Process;
use crate::backend::{Shell, Standing};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;
use crate::permissions::command::argument::{ANYTHING, is_marked};
use crate::permissions::command::paths::Entered;
use crate::permissions::{CommandContext, analyze};
use crate::session::{OF_A_PERSON, Sessions};
use crate::tool::ToolResult;

/// 256 sessions; those that run are never forgotten.
const SESSIONS: usize = 256;
/// 16 directories of one session; with more it may be anywhere.
const DIRECTORIES: usize = 16;
/// 1 s for the kernel to say where a shell is: a file system behind it may not answer.
const ASK: Duration = Duration::from_secs(1);

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
    /// How many times lines were given to it, and when the last of them were.
    turns: u64,
    given: SystemTime,
    /// No later than when the shell was given the name of its directory.
    since: SystemTime,
}

impl Known {
    /// A shell that was started nobody knows when, and was given no line.
    fn of(directories: Vec<String>) -> Self {
        let never = SystemTime::UNIX_EPOCH;
        Self { directories, is_led_later: false, turns: 0, given: never, since: never }
    }
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

    /// The same for a line that is about to be given to it: anywhere, where the kernel says that it is in none of them.
    pub(super) async fn of_now(&self, id: &str, start: &VirtualPath, shell: Option<&dyn Shell>) -> Vec<String> {
        let directories = self.of(id, start);
        let session = self.sessions.find(id).filter(|session| session.process.ended().is_none());
        let (Some(shell), Some(session)) = (shell, session) else { return directories };
        let stands = standings(shell, &session.process, &directories, SystemTime::now());
        let is_lost = match tokio::time::timeout(ASK, stands).await {
            Ok(Some(stands)) => !stands.contains(&Standing::In),
            Ok(None) | Err(_) => false,
        };
        if !is_lost {
            return directories;
        }
        let mut known = self.known.lock();
        if self.look(&known, id, start.as_str()) == directories {
            let entry = known.entry(id.to_owned()).or_insert_with(|| Known::of(Vec::new()));
            entry.directories = vec![ANYTHING.to_string()];
        }
        self.look(&known, id, start.as_str())
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

    /// Takes lines to have run, before they do, as the turn that is returned. `StaleFile` when other lines went before them since
    /// they were judged.
    pub(super) fn enter(&self, lines: &[Entering]) -> Result<u64> {
        let Some(first) = lines.first() else { return Ok(0) };
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
        let before = known.get(&first.id);
        let turns = before.map_or(0, |known| known.turns) + 1;
        let given = SystemTime::now();
        let since = match before {
            Some(known) if is_open => known.since,
            _ if is_open => SystemTime::UNIX_EPOCH,
            _ => given,
        };
        known.insert(first.id.clone(), Known { directories, is_led_later, turns, given, since });
        Ok(turns)
    }

    /// Where the shell of a command is that went to the background under an id which nobody knew before.
    pub(super) fn begin(&self, directories: &[String], result: &ToolResult) {
        if let Some(id) = result.data.as_ref().and_then(|data| data.get("shellId")).and_then(Value::as_str) {
            self.known.lock().insert(id.to_owned(), Known::of(directories.to_vec()));
        }
    }

    /// Where a line of `shell_exec` led that ended, unless other lines were given to the shell since its `turn`: where it says so
    /// for sure, if it ended well; and of all these directories those in which the shell is, if the kernel says so.
    pub(super) async fn arrive(
        &self,
        tool: &str,
        lines: &[Entering],
        turn: u64,
        shell: Option<&dyn Shell>,
        result: &ToolResult,
    ) {
        let [line] = lines else { return };
        let code = result.data.as_ref().and_then(|data| data.get("exitCode")).and_then(Value::as_i64);
        let Some(code) = code.filter(|_| tool == "shell_exec") else { return };
        let Some(known) = self.known_at(&line.id, turn) else { return };
        // Of a line that did not run as it was judged nothing is sure.
        let is_torn = result.data.as_ref().is_some_and(|data| data["torn"] == Value::Bool(true));
        let sure = line.entered.last.clone().filter(|_| code == 0 && !is_torn);
        let mut directories = sure.unwrap_or_else(|| known.directories.clone());
        if directories.len() > 1
            && let Some(shell) = shell
            && let Some(session) = self.sessions.find(&line.id)
            && session.is_at_prompt()
            && let stands = standings(shell, &session.process, &directories, known.since)
            && let Ok(Some(stands)) = tokio::time::timeout(ASK, stands).await
            && stands.contains(&Standing::In)
            && !stands.contains(&Standing::Elsewhere)
        {
            let mut stands = stands.into_iter();
            directories.retain(|_| stands.next() == Some(Standing::In));
        }
        if let Some(known) = self.known.lock().get_mut(&line.id).filter(|known| known.turns == turn) {
            // Where it was not before, it came by this line.
            if !directories.iter().any(|directory| line.from.contains(directory)) {
                known.since = known.given;
            }
            known.directories = directories;
        }
    }

    /// What is known of a session that was given nothing since, and that nothing else leads.
    fn known_at(&self, id: &str, turn: u64) -> Option<Known> {
        self.known.lock().get(id).filter(|known| known.turns == turn && !known.is_led_later).cloned()
    }
}

/// Where the shell is as against each of the directories; `None` where that is not known of one.
async fn standings(
    shell: &dyn Shell,
    process: &Process,
    directories: &[String],
    since: SystemTime,
) -> Option<Vec<Standing>> {
    let mut found = Vec::new();
    for directory in directories {
        let path = VirtualPath::absolute(directory).ok().filter(|_| !is_marked(directory))?;
        found.push(shell.stands_in(process, &path, since).await?);
    }
    Some(found)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The first of two lines ended while the second was on its way: the shell was taken to be where the first had led it.
    #[tokio::test]
    async fn the_end_of_a_line_says_nothing_once_another_was_given_to_the_shell() {
        let whereabouts = Whereabouts::new(Arc::new(Sessions::new(Arc::new(|_| {}), None)));
        let start = VirtualPath::absolute("/work").unwrap();
        let line = |to: &str| {
            let all = vec!["/work".to_owned(), "/work/a".to_owned()];
            let entered = Entered { all: all.clone(), last: Some(vec![to.to_owned()]), is_led_later: false };
            [Entering { id: "s".to_owned(), from: whereabouts.of("s", &start), entered }]
        };
        let ended = ToolResult::new("", json!({ "exitCode": 0 }));
        let first = line("/work/a");
        let turn = whereabouts.enter(&first).unwrap();
        let second = line("/work");
        let next = whereabouts.enter(&second).unwrap();
        whereabouts.arrive("shell_exec", &first, turn, None, &ended).await;
        assert_eq!(whereabouts.of("s", &start), ["/work", "/work/a"]);
        whereabouts.arrive("shell_exec", &second, next, None, &ended).await;
        assert_eq!(whereabouts.of("s", &start), ["/work"]);
    }
}
