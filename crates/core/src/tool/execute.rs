//! `execute`: one shell command to its end.

use std::time::Duration;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::on_timeout::{Left, execute_or_leave};
use crate::backend::{BoxFuture, Ceiling, ExecuteOutcome, ExecuteRequest};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::exit_code::{meaning, meaning_of_signal};
use crate::path::VirtualPath;
use crate::session::Session;
use crate::text::ours::set_off;
use crate::text::progress::readable;
use crate::text::shown::{shown_in_line, shown_to_person};
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// A day: longer work belongs in the background.
const MAX_TIMEOUT_S: f64 = 86_400.0;

/// The input of `execute`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Execute {
    /// The command line, for `sh -c`.
    command: String,
    /// Seconds after which the command is ended.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(min = 0, max = 86400), default = "usual_timeout"))]
    timeout: Option<f64>,
    /// The directory to run in; the working directory when left out.
    #[serde(default)]
    cwd: Option<String>,
    /// What happens after `timeout`: `end` (default) ends the command, `background` lets it run on as a background shell.
    #[serde(default)]
    on_timeout: Option<OnTimeout>,
}

/// What happens to a command whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
enum OnTimeout {
    End,
    Background,
}

/// The access of a tool that runs a command, after a look at the command itself.
pub(super) fn command_access(command: &str, cwd: Option<&str>, working_directory: &VirtualPath) -> Result<Vec<Access>> {
    if command.trim().is_empty() {
        return Err(Error::invalid("`command` is empty; give a command line such as 'npm test'."));
    }
    if command.contains('\0') {
        return Err(Error::invalid("`command` holds a NUL character; a command line is text without NUL."));
    }
    let working_directory = match cwd {
        Some(cwd) => VirtualPath::parse(cwd, working_directory)?,
        None => working_directory.clone(),
    };
    Ok(vec![Access::Command { command: command.to_owned(), working_directory, session: None, at_prompt: false }])
}

/// The seconds of a command that names none, unless the author says otherwise.
#[cfg(test)]
fn usual_timeout() -> Option<f64> {
    Some(crate::limits::Limits::default().command_timeout.as_secs_f64())
}

impl Tool for Execute {
    const SPEC: Spec = Spec {
        name: "execute",
        groups: &[Group::Console],
        description: "Runs a shell command (`sh -c`) and returns its output and exit code. Standard input is empty, so a \
                      command that waits for input ends. Each call starts a fresh shell: `cd` does not last, use `cwd`. \
                      Processes that the command leaves behind are ended. Output beyond 100,000 bytes loses its middle here \
                      and is whole in a file that the result names. \
                      Prefer `read_file`, `edit_file`, `glob` and `grep` for files. Ends after `timeout` seconds (120), \
                      or with `on_timeout: 'background'` runs on then, where there is `read_output` to read it.",
        instruction: "`execute` runs a shell command; prefer the file tools for reading, searching and editing.",
        operation: Operation::Execute,
        needs: Need::Shell,
        destructive: true,
        example: r#"{"command": "npm test", "timeout": 300}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        if self.timeout.is_some_and(|seconds| !(0.0..=MAX_TIMEOUT_S).contains(&seconds)) {
            return Err(Error::invalid(format!("`timeout` must be from 0 to {MAX_TIMEOUT_S} seconds.")));
        }
        command_access(&self.command, self.cwd.as_deref(), working_directory)
    }

    fn describe(&self) -> String {
        match &self.cwd {
            Some(cwd) => format!("Run in {}: {}", shown_in_line(cwd), shown_to_person(&self.command)),
            None => format!("Run: {}", shown_to_person(&self.command)),
        }
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let asked = self.timeout.map_or(view.limits.command_timeout, Duration::from_secs_f64);
            let timeout = Bound::of(asked, &view.call.deadline);
            let request = ExecuteRequest {
                timeout: Some(timeout.time),
                working_directory: self.cwd.as_deref().map(|cwd| view.path(cwd)).transpose()?,
                on_output: view.on_output.clone(),
                spill: Some(view.spill()),
                ..ExecuteRequest::new(self.command.clone())
            };
            let shell = view.shell()?;
            let (mut outcome, left) = match self.on_timeout {
                Some(OnTimeout::Background) if !view.reads_background => {
                    return Err(Error::invalid(
                        "`on_timeout: 'background'` is not there: no tool here reads what runs in the background. Leave it out, and \
                         give a longer `timeout`.",
                    ));
                }
                Some(OnTimeout::Background) => {
                    let place = view.sessions.numbered_place()?;
                    let (outcome, left) = execute_or_leave(shell, request, view.call).await?;
                    (outcome, left.map(|left| (place, left)))
                }
                Some(OnTimeout::End) | None => (shell.execute(request, view.call).await?, None),
            };
            outcome.exit_meaning = outcome.exit_code.and_then(|code| meaning(&self.command, code));
            let Some((place, Left { process, told })) = left else { return Ok(shape(outcome, &timeout)) };
            let session = place.fill(process, None, &self.command, view.starter("execute"), told);
            Ok(shape_left(&outcome, &timeout, &session))
        })
    }
}

/// What a model is told where a command killed the program that ends its processes.
pub(super) const SUPERVISOR_LOST: &str = "\n\n(The command ended the program that watches over its processes. Those that could be found were ended; others may \
     still run.)";

/// What is said where a command ended by itself, with an exit code, and its processor time was over: the kernel ends each process alone.
pub(super) const SPENT: &str =
    "its processes used up the processor time that they may have, and some of them may have been ended for that";

/// What is said of processes that were ended because their command ended before them.
pub(super) fn left_behind(count: u32) -> String {
    format!("\n\n({count} process(es) that the command left behind were ended.)")
}

/// Why a command was ended.
pub(super) fn over(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::Processes => "it ran more processes at once than it may",
        Ceiling::Memory => "its processes used more memory than they may",
        Ceiling::CpuTime => "its processes used more processor time than they may",
    }
}

/// How long a command may run.
struct Bound {
    time: Duration,
    /// Whether it is less than was asked for, as the whole call may take no longer.
    is_cut: bool,
}

impl Bound {
    /// As long as `asked`, or as is left of the call.
    fn of(asked: Duration, deadline: &Deadline) -> Self {
        let time = deadline.leaves(asked);
        Self { time, is_cut: time < asked }
    }

    /// What is said of it where it is over: in seconds, to the thousandth.
    fn said(&self) -> String {
        let seconds = self.time.as_millis() as f64 / 1_000.0;
        let why = if self.is_cut { ", which is all that a call may take here," } else { "" };
        format!("{seconds} s{why}")
    }
}

/// What is said of a command that runs on.
fn shape_left(outcome: &ExecuteOutcome, timeout: &Bound, session: &Session) -> ToolResult {
    let id = &session.id;
    let output = readable(&outcome.output);
    let output = set_off(output.trim_end_matches('\n'));
    let mut text = format!(
        "Command still runs after {} and goes on as background shell {id}. Read what it prints with `read_output` \
         (shell_id '{id}'), end it with `kill_shell`. Output so far:\n{}",
        timeout.said(),
        if output.is_empty() { "(no output)" } else { &output },
    );
    if let Some(file) = output_file(outcome) {
        // It still prints.
        text.push_str(&format!("\n\n{}", file.replacen("The whole output is", "The output so far is", 1)));
    }
    let mut data = json!(outcome);
    data["shellId"] = json!(id);
    data["pid"] = json!(session.process.pid());
    ToolResult { truncated: outcome.truncated, ..ToolResult::new(text, data) }
}

fn shape(outcome: ExecuteOutcome, timeout: &Bound) -> ToolResult {
    let output = readable(&outcome.output);
    let output = set_off(output.trim_end_matches('\n'));
    let mut text = match (&outcome.signal, outcome.exit_code) {
        _ if outcome.aborted => "Command was aborted; its processes were ended. Output so far:\n".to_owned(),
        _ if outcome.timed_out && timeout.time.is_zero() && !timeout.is_cut => {
            "Command was not started: its timeout is 0 s.\n".to_owned()
        }
        _ if outcome.timed_out => format!(
            "Command timed out after {}; its processes were ended. Output so far:\n",
            timeout.said().trim_end_matches(',')
        ),
        (None, Some(code)) if outcome.ceiling == Some(Ceiling::CpuTime) => {
            format!("Command ended with exit code {code}, but {SPENT}. Output:\n")
        }
        _ if outcome.ceiling.is_some() => {
            format!("Command was ended because {}. Output so far:\n", outcome.ceiling.map_or("", over))
        }
        (Some(signal), _) => format!("Command was ended by {signal}{}:\n", meaning_of_signal(signal)),
        (None, Some(0)) => String::new(),
        (None, Some(code)) => match outcome.exit_meaning {
            Some(meaning) => format!("Command ended with exit code {code}: {meaning}.\n"),
            None => format!("Command failed (exit code {code}):\n"),
        },
        (None, None) => "Command ended without an exit code:\n".to_owned(),
    };
    text.push_str(if output.is_empty() { "(no output)" } else { &output });
    if let Some(left) = outcome.processes_left.filter(|&left| left > 0) {
        text.push_str(&left_behind(left));
    }
    if outcome.supervisor_lost {
        text.push_str(SUPERVISOR_LOST);
    }
    if let Some(file) = output_file(&outcome) {
        text.push_str(&format!("\n\n{file}"));
    }
    let code = if outcome.aborted { Some(ErrorKind::Aborted) } else { outcome.timed_out.then_some(ErrorKind::Timeout) };
    ToolResult {
        is_error: code.is_some(),
        code: code.map(|kind| kind.code().to_owned()),
        truncated: outcome.truncated,
        data: serde_json::to_value(&outcome).ok(),
        text,
        parts: Vec::new(),
    }
}

/// Which file has the output of a command that is not told whole.
pub(super) fn output_file(outcome: &ExecuteOutcome) -> Option<String> {
    let path = outcome.spill_path.as_ref()?;
    let what = match outcome.spill_bytes {
        Some(bytes) => format!("The first {bytes} bytes of the output are"),
        None => "The whole output is".to_owned(),
    };
    Some(format!("({what} in {path}; look into it with `read_file` or `grep`.)"))
}
