//! The group `background`: commands that run beside the conversation, read from time to time, and ended.

use std::sync::Arc;
use std::time::Duration;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::process::{Order, ProcessSignal};
use crate::backend::{BoxFuture, Ceiling, ExecuteRequest};
use crate::error::{Error, Result, Shown};
use crate::exit_code::meaning_of_signal;
use crate::path::VirtualPath;
use crate::session::{Fresh, Session};
use crate::text::ours::set_off;
use crate::text::progress::readable;
use crate::text::shown::{shown_in_line, shown_to_person};
use crate::tool::execute::{SPENT, SUPERVISOR_LOST, command_access, left_behind, output_file, over};
use crate::tool::no_session::{backgrounds, unknown_background};
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// 590 s: the longest wait of one look; a whole call may take 600.
const MAX_WAIT_S: f64 = 590.0;

/// The input of `run_in_background`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RunInBackground {
    /// The command line, for `sh -c`.
    command: String,
    /// The directory to run in; the working directory when left out.
    #[serde(default)]
    cwd: Option<String>,
}

impl Tool for RunInBackground {
    const SPEC: Spec = Spec {
        name: "run_in_background",
        groups: &[Group::Background],
        description: "Starts a shell command (`sh -c`) that runs on while you work, such as a server or a long build, and \
                      returns its id at once. Read its output with `read_output`, end it with `kill_shell`. Do not put it in the \
                      background of the shell (`&`): what a command leaves behind is ended with it. For a command whose result you need now, use `execute`.",
        instruction: "`run_in_background` starts a server or another long command; `read_output` and `kill_shell` go on \
                      with it.",
        operation: Operation::Execute,
        needs: Need::Shell,
        destructive: true,
        example: r#"{"command": "npm run dev"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        command_access(&self.command, self.cwd.as_deref(), working_directory)
    }

    fn describe(&self) -> String {
        match &self.cwd {
            Some(cwd) => {
                format!("Run in the background, in {}: {}", shown_in_line(cwd), shown_to_person(&self.command))
            }
            None => format!("Run in the background: {}", shown_to_person(&self.command)),
        }
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let place = view.sessions.numbered_place()?;
            let request = ExecuteRequest {
                working_directory: self.cwd.as_deref().map(|cwd| view.path(cwd)).transpose()?,
                spill: Some(view.spill()),
                ..ExecuteRequest::new(self.command.clone())
            };
            let process = view.shell()?.start(request, view.call).await?;
            let session = place.fill(process, None, &self.command, view.starter("run_in_background"), 0);
            let id = &session.id;
            let pid = session.process.pid();
            let number = pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
            let text = format!(
                "Started background shell {id}{number}. Read its output with `read_output` (shell_id '{id}'), end it \
                 with `kill_shell`."
            );
            Ok(ToolResult::new(text, json!({ "shellId": id, "pid": pid })))
        })
    }
}

/// The input of `read_output`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReadOutput {
    /// The id that `run_in_background` or `execute` gave.
    shell_id: String,
    /// Seconds to wait for new output or the end; 0, which does not wait, when left out.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(min = 0, max = 590)))]
    wait: Option<f64>,
}

impl Tool for ReadOutput {
    const SPEC: Spec = Spec {
        name: "read_output",
        groups: &[Group::Background],
        description: "Returns what a background shell has printed since the last `read_output`, and whether it still runs. \
                      With `wait` it waits so many seconds (at most 590) for new output or the end. Nothing is returned \
                      twice. Beyond 1 MiB of unread output the oldest is dropped and counted.",
        instruction: "`read_output` reads what a background command printed since the last look.",
        operation: Operation::Execute,
        needs: Need::Shell,
        destructive: false,
        example: r#"{"shell_id": "bg_1", "wait": 5}"#,
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        if self.wait.is_some_and(|seconds| !(0.0..=MAX_WAIT_S).contains(&seconds)) {
            return Err(Error::invalid(format!("`wait` must be from 0 to {MAX_WAIT_S} seconds.")));
        }
        Ok(Vec::new())
    }

    fn describe(&self) -> String {
        format!("Read the output of {}", shown_in_line(&self.shell_id))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let session = find(view, &self.shell_id)?;
            if session.terminal.is_some() {
                return Err(Error::invalid(format!("'{}' is a terminal session: look with `shell_view`.", session.id)));
            }
            if let Some(seconds) = self.wait.filter(|seconds| *seconds > 0.0) {
                session.wait_for_fresh(Duration::from_secs_f64(seconds), &view.call.deadline).await?;
            }
            let fresh = session.fresh(view.limits.output_bytes);
            // Looked at after the output was taken: an end that is told is told with all of the output, or with `more`.
            let ended = session.process.ended();
            let head = match &ended {
                None => format!("[{}] running", session.id),
                Some(outcome) => match (outcome.exit_code, &outcome.signal) {
                    (Some(code), _) if outcome.ceiling == Some(Ceiling::CpuTime) => {
                        format!("[{}] exited (code {code}), but {SPENT}", session.id)
                    }
                    _ if outcome.ceiling.is_some() => {
                        format!("[{}] was ended because {}", session.id, outcome.ceiling.map_or("", over))
                    }
                    (Some(code), _) => format!("[{}] exited (code {code})", session.id),
                    (None, Some(signal)) => format!("[{}] ended by {signal}{}", session.id, meaning_of_signal(signal)),
                    (None, None) => format!("[{}] ended", session.id),
                },
            };
            let mut text = format!("{head}\n{}", shown(&fresh));
            let supervisor_lost = ended.as_ref().is_some_and(|outcome| outcome.supervisor_lost);
            if supervisor_lost {
                text.push_str(SUPERVISOR_LOST);
            }
            if let Some(left) = ended.as_ref().and_then(|outcome| outcome.processes_left).filter(|left| *left > 0) {
                text.push_str(&left_behind(left));
            }
            if fresh.more {
                text.push_str("\n(More output is there: call `read_output` again.)");
            }
            let so_far = session.process.so_far();
            if let Some(file) = output_file(&so_far).filter(|_| fresh.dropped > 0) {
                text.push_str(&format!("\n{file}"));
            }
            let data = json!({
                "shellId": session.id, "running": ended.is_none(),
                "exitCode": ended.as_ref().and_then(|outcome| outcome.exit_code),
                "signal": ended.as_ref().and_then(|outcome| outcome.signal.clone()),
                "output": String::from_utf8_lossy(&fresh.bytes), "droppedBytes": fresh.dropped, "more": fresh.more,
                "durationMs": so_far.duration_ms, "ceiling": ended.as_ref().and_then(|outcome| outcome.ceiling), "processesLeft": ended.as_ref().and_then(|outcome| outcome.processes_left),
                "spillPath": so_far.spill_path, "spillBytes": so_far.spill_bytes,
            });
            Ok(ToolResult { truncated: fresh.dropped > 0 || fresh.more, ..ToolResult::new(text, data) })
        })
    }
}

/// New output as text for a model.
pub(super) fn shown(fresh: &Fresh) -> String {
    let text = readable(&String::from_utf8_lossy(&fresh.bytes));
    let text = text.trim_end_matches('\n');
    let marker = match fresh.dropped {
        0 => String::new(),
        dropped => format!("... [{dropped} bytes of older output left out] ...\n"),
    };
    if text.is_empty() && marker.is_empty() {
        "(no new output)".to_owned()
    } else {
        format!("{marker}{}", set_off(text))
    }
}

/// The input of `kill_shell`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct KillShell {
    /// The id that `run_in_background` or `execute` gave.
    shell_id: String,
    /// Sends only this signal, such as `SIGINT`, instead of ending it.
    #[serde(default)]
    signal: Option<String>,
}

impl Tool for KillShell {
    const SPEC: Spec = Spec {
        name: "kill_shell",
        groups: &[Group::Background],
        description: "Ends a background shell with all its processes: asked first, killed 0.3 s later. With `signal` it only \
                      sends that signal (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGKILL, SIGCONT, SIGTSTP). \
                      Output that was not read can still be read.",
        instruction: "`kill_shell` ends a background command.",
        operation: Operation::Execute,
        needs: Need::Shell,
        destructive: true,
        example: r#"{"shell_id": "bg_1"}"#,
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        if let Some(signal) = &self.signal {
            ProcessSignal::named(signal)?;
        }
        Ok(vec![Access::Session { id: self.shell_id.clone() }])
    }

    fn describe(&self) -> String {
        match &self.signal {
            Some(signal) => format!("Send {} to {}", shown_in_line(signal), shown_in_line(&self.shell_id)),
            None => format!("End {}", shown_in_line(&self.shell_id)),
        }
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let id = &self.shell_id;
            let session = view.sessions.find(id);
            let finished = || {
                let more = match view.sessions.find(id) {
                    Some(ended) => format!("It ended: {}.", ended.state()),
                    None => backgrounds(view),
                };
                let text = format!("Background shell {} was already finished or unknown. {more}", Shown(id));
                ToolResult::new(text, json!({ "shellId": id, "killed": false }))
            };
            let Some(session) = session.filter(|session| session.process.ended().is_none()) else {
                return Ok(finished());
            };
            session.check_free()?;
            if let Some(signal) = &self.signal {
                session.process.order(Order::Signal(ProcessSignal::named(signal)?)).await?;
                let text = format!("Sent {} to background shell {id}.", Shown(signal));
                return Ok(ToolResult::new(text, json!({ "shellId": id, "killed": false })));
            }
            let killed = session.process.end().await;
            if !killed {
                return Ok(finished());
            }
            Ok(ToolResult::new(format!("Killed background shell {id}."), json!({ "shellId": id, "killed": true })))
        })
    }
}

/// The input of `list_shells`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ListShells {}

impl Tool for ListShells {
    const SPEC: Spec = Spec {
        name: "list_shells",
        groups: &[Group::Background],
        description: "Lists background shells, one a line: id, `running` (`idle` for a terminal at its prompt), `exited(CODE)` or \
                      `ended(SIGNAL)`, command. The last 50 that ended are listed too.",
        instruction: "`list_shells` lists background commands.",
        operation: Operation::Execute,
        needs: Need::Shell,
        destructive: false,
        example: "{}",
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        Ok(Vec::new())
    }

    fn describe(&self) -> String {
        "List background commands".to_owned()
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move { Ok(list(&view.sessions.all(), "No background shells.")) })
    }
}

/// A line for each session.
pub(super) fn list(sessions: &[Arc<Session>], none: &str) -> ToolResult {
    let lines: Vec<String> = sessions
        .iter()
        .map(|session| format!("{}  {}  {}", session.id, session.state(), shown_in_line(&session.command)))
        .collect();
    let data: Vec<_> = sessions
        .iter()
        .map(|session| {
            let ended = session.process.ended();
            json!({
                "id": session.id, "command": session.command, "pid": session.process.pid(),
                "running": ended.is_none() && !session.is_at_prompt(), "open": ended.is_none(),
                "exitCode": ended.as_ref().and_then(|outcome| outcome.exit_code),
                "signal": ended.and_then(|outcome| outcome.signal),
            })
        })
        .collect();
    ToolResult::new(if lines.is_empty() { none.to_owned() } else { lines.join("\n") }, json!(data))
}

pub(super) fn find(view: &View<'_>, id: &str) -> Result<Arc<Session>> {
    view.sessions.find(id).ok_or_else(|| unknown_background(view, id))
}
