//! Places of sessions, taken before what runs in them is started: calls side by side neither exceed the cap nor name two
//! sessions alike.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use super::help::{Held, Writing};
use super::terminal::Terminal;
use super::{ID_CHARS, RUNNING, Session, SessionEnded, Sessions, Starter, State, tell_to_end};
use crate::backend::process::Process;
use crate::error::{Error, ErrorKind, Result, Shown};

/// A place for one session, given back when it is dropped.
pub struct Place<'a> {
    sessions: &'a Sessions,
    /// `None` where it gets the next number.
    id: Option<String>,
}

impl Sessions {
    /// A place for a session of that name; `AlreadyExists` while another of that name runs or is started, `Busy` when there
    /// are too many.
    pub fn place(&self, id: &str) -> Result<Place<'_>> {
        Self::check_id(id)?;
        self.take_place(Some(id.to_owned()))
    }

    /// `InvalidInput` for what cannot name a session.
    pub fn check_id(id: &str) -> Result<()> {
        let is_id = !id.is_empty()
            && id.len() <= ID_CHARS
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        if !is_id {
            return Err(Error::invalid(format!(
                "'{}' cannot name a session: use 1 to {ID_CHARS} letters, digits, '_', '-' and '.'.",
                Shown(id)
            )));
        }
        Ok(())
    }

    /// A place for a session under the next number: `bg_1`, `bg_2`, …; `Busy` when there are too many.
    pub fn numbered_place(&self) -> Result<Place<'_>> {
        self.take_place(None)
    }

    fn take_place(&self, id: Option<String>) -> Result<Place<'_>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Error::new(ErrorKind::Closed, "The toolset is closed."));
        }
        if let Some(id) = id.as_deref().filter(|id| state.is_used(id)) {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!(
                    "Session '{id}' already exists and is running. Use another id, or end it first with `shell_kill_process`."
                ),
            ));
        }
        let running = state.sessions.iter().filter(|session| session.process.ended().is_none()).count();
        if running + state.starting.len() >= RUNNING {
            return Err(Error::new(
                ErrorKind::Busy,
                format!(
                    "{RUNNING} sessions and background commands are open already, and no more may be: end one that is not needed with \
                     `shell_kill_process` or `kill_shell`; `shell_list` or `list_shells` lists them."
                ),
            ));
        }
        state.starting.push(id.clone());
        Ok(Place { sessions: self, id })
    }
}

impl Place<'_> {
    /// Fills it with a process of whose output `seen` bytes were shown. An ended session of its name is forgotten.
    pub fn fill(
        self,
        process: Process,
        terminal: Option<Terminal>,
        command: &str,
        starter: Starter<'_>,
        seen: u64,
    ) -> Arc<Session> {
        let id = self.id.clone().unwrap_or_else(|| self.sessions.state.lock().next_number());
        let session = Arc::new(Session {
            id,
            command: command.to_owned(),
            process,
            terminal,
            seen: Mutex::new(seen),
            told: Mutex::default(),
            end_told: AtomicBool::default(),
            held: Held::default(),
            writing: Writing::default(),
        });
        let is_closed = {
            let mut state = self.sessions.state.lock();
            state.sessions.retain(|other| other.id != session.id);
            state.sessions.push(Arc::clone(&session));
            state.forget_ended();
            state.closed
        };
        if is_closed {
            // The toolset closed while it started.
            tell_to_end(&session.process);
        }
        self.tell_of_end(&session, starter);
        // The place is given back behind this: between them the session counts twice, never not at all.
        session
    }

    fn tell_of_end(&self, session: &Session, Starter { call_id, tool }: Starter<'_>) {
        let (on_end, end) = (Arc::clone(&self.sessions.on_end), session.process.end_watch());
        let (session_id, call_id, command) = (session.id.clone(), call_id.to_owned(), session.command.clone());
        tokio::spawn(async move {
            let outcome = end.over().await;
            on_end(SessionEnded {
                session_id,
                call_id,
                tool,
                command,
                exit_code: outcome.exit_code,
                signal: outcome.signal,
                duration_ms: outcome.duration_ms,
                supervisor_lost: outcome.supervisor_lost,
            });
        });
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.sessions.state.lock();
        if let Some(at) = state.starting.iter().position(|id| *id == self.id) {
            state.starting.swap_remove(at);
        }
    }
}

impl State {
    /// Whether a session of that name runs or is started.
    fn is_used(&self, id: &str) -> bool {
        self.starting.iter().flatten().any(|starting| starting == id)
            || self.sessions.iter().any(|session| session.id == id && session.process.ended().is_none())
    }

    fn next_number(&mut self) -> String {
        loop {
            self.numbered += 1;
            let id = format!("bg_{}", self.numbered);
            // A terminal may have been given that name.
            if !self.is_used(&id) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ENDED;
    use super::*;
    use crate::backend::process::tests_support::idle;

    const STARTER: Starter<'static> = Starter { call_id: "c", tool: "t" };

    fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
        result.err().map(|error| error.kind())
    }

    /// Calls side by side all looked before any of them added what it had started.
    #[tokio::test]
    async fn as_many_as_may_run_and_not_one_more_also_while_they_start() {
        let sessions = Sessions::new(Arc::new(|_| {}), None);
        let mut places: Vec<_> = (0..RUNNING).map(|_| sessions.numbered_place().unwrap()).collect();
        assert_eq!(kind(sessions.numbered_place()), Some(ErrorKind::Busy));
        assert_eq!(kind(sessions.place("a")), Some(ErrorKind::Busy));
        let full = sessions.numbered_place().err().unwrap().to_string();
        assert!(full.contains("100 sessions") && full.contains("`shell_kill_process`"), "{full}");
        drop(places.pop());
        places.push(sessions.place("a").unwrap());
        let mut drivers = Vec::new();
        for place in places {
            let (process, driver) = idle();
            drivers.push(driver);
            place.fill(process, None, "x", STARTER, 0);
            assert_eq!(kind(sessions.numbered_place()), Some(ErrorKind::Busy));
        }
        drivers.clear();
        let (process, _driver) = idle();
        sessions.place("a").unwrap().fill(process, None, "again", STARTER, 0);
        assert_eq!(sessions.all().len(), ENDED + 1, "only the last that ended are remembered");
        sessions.close();
        assert_eq!(kind(sessions.numbered_place()), Some(ErrorKind::Closed));
    }

    /// Two calls that opened a session of one name both did, and the first of them ran on unseen.
    #[tokio::test]
    async fn a_name_is_one_sessions_from_the_moment_it_is_started() {
        let sessions = Sessions::new(Arc::new(|_| {}), None);
        let place = sessions.place("a").unwrap();
        assert_eq!(kind(sessions.place("a")), Some(ErrorKind::AlreadyExists));
        drop(place);
        let (process, driver) = idle();
        let place = sessions.place("a").unwrap();
        let first = place.fill(process, None, "x", STARTER, 0);
        assert_eq!(kind(sessions.place("a")), Some(ErrorKind::AlreadyExists));
        drop(driver);
        first.process.over().await;
        sessions.place("a").unwrap();
        for wrong in ["", "a b", "../x", &"x".repeat(ID_CHARS + 1)] {
            assert_eq!(kind(sessions.place(wrong)), Some(ErrorKind::InvalidInput), "{wrong}");
        }
        // A number that was given to a terminal as its name is left out.
        let _named = sessions.place("bg_1").unwrap();
        let (process, _driver) = idle();
        assert_eq!(sessions.numbered_place().unwrap().fill(process, None, "x", STARTER, 0).id, "bg_2");
    }
}
