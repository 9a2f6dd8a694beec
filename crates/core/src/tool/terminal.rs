//! The group `terminal`: shells on real terminals that last from call to call, one a session. What is typed into them is in
//! `shell_write`, looks at them are in `terminal_view`, persons who help in `shell_help`.

use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::{BoxFuture, Ceiling, CommandLimits, TerminalRequest};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::exit_code::{meaning, stop};
use crate::lent;
use crate::path::VirtualPath;
use crate::session::interrupt::Stopped;
use crate::session::keys::check_typed;
use crate::session::overflow::Older;
use crate::session::running::Ran;
use crate::session::terminal::Terminal;
use crate::session::{Fresh, Session};
use crate::text::ours::set_off;
use crate::text::progress::readable;
use crate::text::shown::{shown_in_line, shown_to_person};
use crate::tool::command_facts::CommandFacts;
use crate::tool::command_output::{Told, said_before, tell};
use crate::tool::execute::{SPENT, SUPERVISOR_LOST, command_access, over};
use crate::tool::going_on::{before, going_on, started};
use crate::tool::no_session::not_open;
use crate::tool::torn;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// 20 s: as TT-10.
pub(super) const DEFAULT_TIMEOUT_S: f64 = 20.0;
/// 590 s: the longest wait of one call, which as a whole may take 600.
pub(super) const MAX_WAIT_S: f64 = 590.0;
/// The input of `shell_exec`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellExec {
    /// The session: a name of your choice. A new name opens a new shell; a known one goes on in its shell.
    id: String,
    /// The command line.
    command: String,
    /// Whether to wait for its end; true when left out.
    #[serde(default)]
    block: Option<bool>,
    /// Seconds to wait; after them it goes on in the session. 20 when left out.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(min = 0, max = 590)))]
    timeout: Option<f64>,
    /// The directory in which a new session begins; the working directory when left out.
    #[serde(default)]
    cwd: Option<String>,
}

impl Tool for ShellExec {
    const SPEC: Spec = Spec {
        name: "shell_exec",
        groups: &[Group::Terminal],
        description: "Runs a command in a shell on a terminal. The shell of a session lasts: directory, variables and history \
                      stay for the next call with the same `id`. A command that takes longer than `timeout` seconds (20, at most \
                      590), that asks for input (told after 2 s), or with `block: false`, is not ended but goes on there: look with `shell_view` or `shell_screen`, write to it with \
                      `shell_write_to_process`, end the session with `shell_kill_process`. Interactive programs work.",
        instruction: "`shell_exec` runs a command in a terminal session that keeps its directory and variables; use it for \
                      interactive programs and for work in several steps.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: true,
        example: r#"{"id": "main", "command": "cd src && ls"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        if self.timeout.is_some_and(|seconds| !(0.0..=MAX_WAIT_S).contains(&seconds)) {
            return Err(Error::invalid(format!("`timeout` must be from 0 to {MAX_WAIT_S} seconds.")));
        }
        let mut accesses = command_access(&self.command, self.cwd.as_deref(), working_directory)?;
        check_typed(&self.command)?;
        if let [Access::Command { session, at_prompt, .. }] = accesses.as_mut_slice() {
            (*session, *at_prompt) = (Some(self.id.clone()), true);
        }
        Ok(accesses)
    }

    fn describe(&self) -> String {
        let (id, command) = (shown_in_line(&self.id), shown_to_person(&self.command));
        match &self.cwd {
            Some(cwd) => format!("Run in terminal session {id}, in {}: {command}", shown_in_line(cwd)),
            None => format!("Run in terminal session {id}: {command}"),
        }
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let mut last = None;
            let session = match view.sessions.find(&self.id) {
                Some(session) if session.process.ended().is_none() => {
                    if self.cwd.is_some() {
                        return Err(Error::invalid(format!(
                            "Session '{}' is open, and its shell keeps its directory: leave `cwd` out, and go elsewhere with \
                             `cd` in the command.",
                            session.id
                        )));
                    }
                    view.opening.map_or(Ok(()), |opening| opening.check(&session))?;
                    session
                }
                Some(session) if session.terminal.is_none() => {
                    return Err(Error::invalid(format!(
                        "'{}' is a command in the background that has ended: read it with `read_output`, and use another id.",
                        session.id
                    )));
                }
                ended => {
                    let session = open(view, &self.id, &self.command, self.cwd.as_deref(), Self::SPEC.name).await?;
                    last = ended.and_then(|ended| last_words(view, &ended));
                    session
                }
            };
            session.check_free()?;
            let terminal = terminal_of(&session)?;
            session.find_thrown_away(terminal).await;
            let mut result = self.run_in(view, &session, terminal).await?;
            torn::tell_thrown_away(&mut result, terminal.take_thrown_away());
            if let Some(last) = last {
                result.text.insert_str(0, &last.said);
                if let Some(data) = &mut result.data {
                    data["before"] = json!(last.output);
                    data["beforeExitCode"] = json!(last.exit_code);
                }
            }
            Ok(result)
        })
    }
}

/// What is told of a session whose place a new one takes, where nobody was told that it had ended: what it printed last, and that
/// directory and variables went with it.
struct LastWords {
    said: String,
    output: String,
    exit_code: Option<i32>,
}

fn last_words(view: &View<'_>, session: &Session) -> Option<LastWords> {
    let how = terminated(session);
    if session.tells_end() {
        return None;
    }
    let output = plain(&session.fresh_printed(view.limits.output_bytes));
    let gap = if output.is_empty() { "" } else { "\n" };
    let said = format!(
        "(The shell of session '{}' had ended; this is a new one, without its directory and variables. Printed there and not shown:)\n{}\
         {gap}{how}\n(In the new one:)\n",
        session.id,
        set_off(&output)
    );
    let exit_code = session.process.ended().and_then(|outcome| outcome.exit_code);
    Some(LastWords { said, output, exit_code })
}

impl ShellExec {
    /// Runs it in that session, which is open.
    async fn run_in(&self, view: &View<'_>, session: &Session, terminal: &Terminal) -> Result<ToolResult> {
        let blocks = self.block.unwrap_or(true);
        let seconds = if blocks { self.timeout.unwrap_or(DEFAULT_TIMEOUT_S) } else { 0.0 };
        let time = Duration::from_secs_f64(seconds);
        let before = terminal.mark_count();
        let begun = Instant::now();
        let mut waited = seconds;
        let ran = match terminal.run(session, &self.command, time, &view.call.deadline).await {
            Ok(ran) => ran,
            // It was typed, and goes on: the time of the whole call was over first.
            Err(stop) if stop.kind() == ErrorKind::Timeout && terminal.was_given_behind(before) => {
                waited = begun.elapsed().as_millis() as f64 / 1_000.0;
                Ran::Running
            }
            Err(stop) if stop.kind() == ErrorKind::Aborted && terminal.was_given_behind(before) => {
                return Ok(stopped(view, session, terminal).await);
            }
            Err(error) => return Err(error),
        };
        if !blocks && ran == Ran::Running {
            return Ok(started(view, session, terminal));
        }
        torn::check(session, terminal)?;
        let mut result = self.shape(view, session, ran, waited).await;
        if let Some(note) = torn::note(session, terminal) {
            result.text.insert_str(0, &(note + "\n"));
        }
        Ok(result)
    }

    async fn shape(&self, view: &View<'_>, session: &Session, ran: Ran, seconds: f64) -> ToolResult {
        let id = &session.id;
        let code = match ran {
            Ran::Ended(code) => Some(code),
            Ran::ShellEnded => session.process.ended().and_then(|outcome| outcome.exit_code),
            Ran::Untold => None,
            Ran::Running | Ran::Asks | Ran::Incomplete | Ran::Silent => {
                return going_on(view, session, ran, seconds).await;
            }
        };
        let told = match &session.terminal {
            Some(terminal) => {
                let output = session.printed_around_command(terminal);
                if ran != Ran::ShellEnded {
                    session.told_end(terminal);
                }
                tell(output, terminal.take_missed(), view.limits.output_bytes, view.spill()).await
            }
            None => Told::default(),
        };
        let stop = code.filter(|_| ran != Ran::ShellEnded).and_then(|code| stop_of(session, code));
        let exit_meaning = code.filter(|_| stop.is_none()).and_then(|code| meaning(&self.command, code));
        let text = told.text(|output| match (code, stop) {
            _ if ran == Ran::ShellEnded => {
                session.tells_end();
                let gap = if output.is_empty() { "" } else { "\n" };
                format!("{output}{gap}{}", terminated(session))
            }
            (Some(0), _) if output.is_empty() => "Command executed successfully (no output).".to_owned(),
            (Some(0), _) => output.to_owned(),
            (Some(code), Some(stop)) => {
                format!("Command was stopped ({}.\n{}", stopped_as(code, stop), or_none(output))
            }
            (Some(code), None) => {
                let reason = exit_meaning.map_or_else(String::new, |meaning| format!(": {meaning}"));
                format!("Command ended with exit code {code}{reason}.\n{}", or_none(output))
            }
            (None, _) => format!(
                "The command ended, and the shell of session '{id}' did not say with which exit code: its prompt was changed.\n{}",
                or_none(output)
            ),
        });
        let facts = CommandFacts {
            exit_code: code,
            exit_meaning,
            output: told.output,
            before: told.before,
            before_exit_code: told.missed,
            dropped_bytes: told.dropped,
            spill_path: told.file,
            spill_bytes: told.file_bytes,
            stopped: stop.is_some(),
            ..CommandFacts::of(session)
        };
        ToolResult { truncated: told.dropped > 0, ..ToolResult::new(text, facts.told()) }
    }
}

/// Whether a session has not ended.
pub(super) fn is_open(session: &Session) -> bool {
    session.process.ended().is_none()
}

/// The signal by which a session ended.
pub(super) fn signal(session: &Session) -> Option<String> {
    session.process.ended().and_then(|outcome| outcome.signal)
}

/// What stopped the command that a session's shell told this code of, where it is stopped and has not ended.
pub(super) fn stop_of(session: &Session, code: i32) -> Option<&'static str> {
    stop(code).filter(|_| session.has_stopped_job().unwrap_or(true))
}

/// How a command is told to be stopped, behind an opening bracket.
pub(super) fn stopped_as(code: i32, stop: &str) -> String {
    format!("exit code {code}, {stop}): it has not ended; `fg` goes on with it, `kill %%` ends it")
}

/// The ceiling for which a session was ended.
pub(super) fn ceiling(session: &Session) -> Option<Ceiling> {
    session.process.ended().and_then(|outcome| outcome.ceiling)
}

/// What is said behind the output of a session that ended, with the reason where there is one.
pub(super) fn terminated(session: &Session) -> String {
    let reason = reason(session).map_or_else(String::new, |reason| format!(" ({reason})"));
    format!("--- SESSION TERMINATED{reason} ---{}", if is_lost(session) { SUPERVISOR_LOST } else { "" })
}

/// Whether a session ended for a reason, or with more to say of it.
pub(super) fn has_reason(session: &Session) -> bool {
    reason(session).is_some() || is_lost(session)
}

fn reason(session: &Session) -> Option<String> {
    let outcome = session.process.ended()?;
    match (outcome.ceiling, outcome.exit_code, outcome.signal) {
        (Some(Ceiling::CpuTime), Some(code), _) => Some(format!("exit code {code}, but {SPENT}")),
        (Some(ceiling), _, _) => Some(over(ceiling).to_owned()),
        (None, Some(0), _) | (None, None, None) => None,
        (None, Some(code), _) => Some(format!("exit code {code}")),
        (None, None, Some(signal)) => Some(format!("ended by {signal}")),
    }
}

fn is_lost(session: &Session) -> bool {
    session.process.ended().is_some_and(|outcome| outcome.supervisor_lost)
}

/// Ends what an aborted call had started: nobody waits for it, and whoever stopped the call believes it stopped.
async fn stopped(view: &View<'_>, session: &Session, terminal: &Terminal) -> ToolResult {
    let stopped = terminal.stop(session).await;
    let (before, before_dropped, missed) = before(view, session, terminal);
    let code = session.told_end(terminal);
    let fresh = session.fresh_printed(view.limits.output_bytes);
    let (id, output) = (&session.id, plain(&fresh));
    let what = match stopped {
        Stopped::Command => format!("the command was ended with Ctrl-C, and session '{id}' is open"),
        Stopped::Session => {
            session.tells_end();
            format!("the command did not end at Ctrl-C, and session '{id}' was ended with all that ran in it")
        }
        Stopped::Nothing => format!("a person has session '{id}', and the command goes on there"),
    };
    let torn = torn::note(session, terminal).map_or_else(String::new, |note| note + "\n");
    let text = format!(
        "{torn}{}The call was aborted: {what}. Output so far:\n{}{}",
        said_before(&before, missed),
        or_none(&set_off(&output)),
        more_of(&fresh)
    );
    let dropped = fresh.dropped + before_dropped;
    let facts = CommandFacts {
        running: stopped == Stopped::Nothing,
        exit_code: code,
        output,
        before,
        before_exit_code: missed,
        dropped_bytes: dropped,
        more: fresh.more,
        ..CommandFacts::of(session).with_older(fresh.older.as_ref())
    };
    let mut data = facts.told();
    data["sessionEnded"] = json!(stopped == Stopped::Session);
    let kind = Some(ErrorKind::Aborted.code().to_owned());
    ToolResult { is_error: true, code: kind, truncated: dropped > 0 || fresh.more, ..ToolResult::new(text, data) }
}

pub(super) fn or_none(output: &str) -> &str {
    if output.is_empty() { "(no output)" } else { output }
}

/// What is said behind output that is not all there is.
pub(super) fn more_of(fresh: &Fresh) -> String {
    let mut text = String::new();
    if let Some(Older { file, file_bytes }) = &fresh.older {
        let what = match file_bytes {
            Some(bytes) => format!("The first {bytes} bytes of what is older are"),
            None => "What is older is".to_owned(),
        };
        text.push_str(&format!("\n({what} in {file}; look into it with `read_file` or `grep`.)"));
    }
    if fresh.more {
        text.push_str("\n(More output is there: call `shell_view` again.)");
    }
    text
}

/// Where older output is, for programs: the path, and how many bytes where that is not all.
pub(super) fn older_of(fresh: &Fresh) -> (Option<&str>, Option<u64>) {
    fresh.older.as_ref().map_or((None, None), |older| (Some(older.file.as_str()), older.file_bytes))
}

/// A new session with a shell that waits for commands; listed by `command`, as one that `tool` opened.
pub(super) async fn open(
    view: &View<'_>,
    id: &str,
    command: &str,
    cwd: Option<&str>,
    tool: &'static str,
) -> Result<Arc<Session>> {
    let opening = view.opening.cloned().unwrap_or_default();
    let size = opening.size()?;
    let environment = opening.environment();
    let place = view.sessions.place(id)?;
    // The thread of a caller that types at a shell is not held up by the start of one.
    lent::give_back(|| true).await;
    let (terminal, shell, tap) = Terminal::new(size, view.sessions.log(id, size));
    let terminal =
        terminal.with_spill(view.spill(), view.limits.output_bytes).with_environment(opening.env.unwrap_or_default());
    let request = TerminalRequest {
        command: Some(shell),
        working_directory: cwd.map(|cwd| view.path(cwd)).transpose()?,
        environment,
        size,
        limits: CommandLimits::default(),
        tap: Some(tap),
    };
    let process = view.shell()?.open_terminal(request, view.call).await?;
    Ok(place.fill(process, Some(terminal), command, view.starter(tool), 0))
}

/// The terminal of a session, or what to use where it has none.
pub(super) fn terminal_of(session: &Session) -> Result<&Terminal> {
    session.terminal.as_ref().ok_or_else(|| {
        Error::invalid(format!(
            "'{}' is a background shell without a terminal: use `read_output` and `shell_input`.",
            Shown(&session.id)
        ))
    })
}

/// Printed output as text for a model.
pub(super) fn plain(fresh: &Fresh) -> String {
    let text = readable(&String::from_utf8_lossy(&fresh.bytes));
    let text = text.trim_matches('\n');
    match fresh.dropped {
        0 => text.to_owned(),
        dropped => format!("... [{dropped} bytes of older output left out] ...\n{text}"),
    }
}

/// The input of `shell_kill_process`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellKill {
    /// The session.
    id: String,
}

impl Tool for ShellKill {
    const SPEC: Spec = Spec {
        name: "shell_kill_process",
        groups: &[Group::Terminal],
        description: "Ends a terminal session: its shell and every process of it. To stop only the command that runs, press \
                      `keys: ['ctrl-c']` with `shell_write_to_process`.",
        instruction: "`shell_kill_process` ends a terminal session.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: true,
        example: r#"{"id": "main"}"#,
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        Ok(vec![Access::Session { id: self.id.clone() }])
    }

    fn describe(&self) -> String {
        format!("End terminal session {}", shown_in_line(&self.id))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let session = view.sessions.find(&self.id).filter(|session| session.process.ended().is_none());
            let Some(session) = session else {
                return Err(not_open(view, &self.id, "No active session found with ID"));
            };
            // What they do in it is theirs to end.
            session.check_free()?;
            session.process.end().await;
            session.tells_end();
            let text = format!("Process in session '{}' has been terminated.", session.id);
            Ok(ToolResult::new(text, json!({ "id": session.id, "running": false, "open": false })))
        })
    }
}
