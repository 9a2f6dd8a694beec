//! `shell_input` of the group `background`: what a background command reads.
//!
//! It may be a shell or another interpreter that reads, so each line is judged as a command would be, and so is the text as a
//! whole. Only whole lines are given: no two calls make up a line that nobody judged.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;
use crate::text::shown::{shown_in_line, shown_to_person};
use crate::tool::background::find;
use crate::tool::taking::{TAKE, reads_on};
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// 64 KiB in one call, with the last line end: what a process is given in one piece, so whole or not at all.
const TEXT_BYTES: usize = 64 << 10;

/// What a shell skips between words.
const BLANKS: [char; 2] = [' ', '\t'];

/// The input of `shell_input`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellInput {
    /// The id that `run_in_background` or `execute` gave.
    shell_id: String,
    /// The lines to give; the last one is ended where it is not.
    #[serde(default)]
    text: Option<String>,
    /// Whether the input ends behind it, as Ctrl-D does; false when left out.
    #[serde(default)]
    close_stdin: Option<bool>,
}

impl ShellInput {
    fn closes(&self) -> bool {
        self.close_stdin.unwrap_or(false)
    }

    /// What is given: whole lines.
    fn lines(&self) -> String {
        match self.text.as_deref() {
            None => String::new(),
            Some(text) if text.ends_with('\n') => text.to_owned(),
            Some(text) => format!("{text}\n"),
        }
    }

    fn refused(&self, error: Error) -> Error {
        let id = Shown(&self.shell_id);
        match error.kind() {
            ErrorKind::Closed => {
                let text = format!(
                    "Background shell {id} reads no more input: it ended, or its input was ended. `read_output` shows which."
                );
                match error.details().and_then(|details| details["partial"]["givenBytes"].as_u64()) {
                    None => Error::invalid(text),
                    Some(given) => Error::invalid(format!("{text} The first {given} bytes were given to it before."))
                        .with_details(json!({ "partial": { "givenBytes": given } })),
                }
            }
            _ => error,
        }
    }
}

fn does_not_read(id: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "Background shell {} does not read: what it was given before still waits, and this was not given. Look at it with \
             `read_output`, give it this again once it reads, or end it with `kill_shell`.",
            Shown(id)
        ),
    )
}

/// Each line as a command, and all of them together where there are more: a quote may go on from one to the next. What reads them
/// may take a carriage return for a line end, or for a character. Only blanks and tabs are nothing to a shell: a line of other blanks is a
/// command.
pub(super) fn judged_lines(text: &str, session: &str, working_directory: &VirtualPath) -> Vec<Access> {
    let access = |command: &str| Access::Command {
        command: command.to_owned(),
        working_directory: working_directory.clone(),
        session: Some(session.to_owned()),
        at_prompt: false,
    };
    let lines: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.trim_matches(BLANKS).is_empty()).collect();
    let whole = (lines.len() > 1 || (!lines.is_empty() && text.contains('\r'))).then(|| access(text));
    lines.into_iter().map(access).chain(whole).collect()
}

impl Tool for ShellInput {
    const SPEC: Spec = Spec {
        name: "shell_input",
        groups: &[Group::Background],
        description: "Gives a background shell lines to read, such as an answer to a question; a line end is added where it \
                      lacks. `close_stdin: true` ends its input behind them: a program that reads to the end goes on then. \
                      At most 65,536 bytes. What it prints then comes with `read_output`.",
        instruction: "`shell_input` answers a background command that waits for input.",
        operation: Operation::Execute,
        needs: Need::Shell,
        destructive: true,
        example: r#"{"shell_id": "bg_1", "text": "yes"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let text = self.text.as_deref().unwrap_or_default();
        let bytes = self.lines().len();
        if bytes > TEXT_BYTES {
            return Err(Error::invalid(format!(
                "`text` has {bytes} bytes with its line end; at most {TEXT_BYTES} are given."
            )));
        }
        if text.contains('\0') {
            return Err(Error::invalid("`text` holds a NUL character; lines are text without NUL."));
        }
        let last = text.strip_suffix(['\n', '\r']).unwrap_or(text);
        let backslashes = last.bytes().rev().take_while(|byte| *byte == b'\\').count();
        if backslashes % 2 == 1 && !self.closes() {
            return Err(Error::invalid(
                "The last line of `text` ends with a backslash: a shell would join the first line of the next call to it, and neither call \
                 could be judged by what runs. Give all of the line in one call.",
            ));
        }
        if self.text.is_none() && !self.closes() {
            return Err(Error::invalid("Give `text`, `close_stdin: true` or both."));
        }
        let mut accesses = judged_lines(text, &self.shell_id, working_directory);
        if accesses.is_empty() {
            accesses.push(Access::Session { id: self.shell_id.clone() });
        }
        Ok(accesses)
    }

    fn describe(&self) -> String {
        let id = shown_in_line(&self.shell_id);
        let end = if self.closes() { "; then end its input" } else { "" };
        match &self.text {
            Some(text) => format!("Give {id} to read: {}{end}", shown_to_person(text)),
            None => format!("End the input of {id}"),
        }
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let session = find(view, &self.shell_id)?;
            if session.terminal.is_some() {
                return Err(Error::invalid(format!(
                    "'{}' is a terminal session: use `shell_write_to_process`.",
                    Shown(&self.shell_id)
                )));
            }
            let lines = self.lines();
            let process = &session.process;
            let id = &session.id;
            let deadline = view.call.deadline.within(TAKE);
            let turn = tokio::select! {
                turn = process.turn().there() => turn,
                // Somebody before waits for it to read.
                stop = deadline.reached() => return Err(if stop.kind() == ErrorKind::Timeout { does_not_read(id) } else { stop }),
            };
            let given = async {
                reads_on(process, &deadline, || does_not_read(id)).await?;
                let given = match lines.is_empty() {
                    true => None,
                    false => Some(process.give(lines.as_bytes(), &deadline).await?),
                };
                if self.closes() {
                    process.close_input(&deadline).await?;
                }
                Ok(given)
            };
            let given = given.await.map_err(|error| self.refused(error))?;
            drop(turn);
            let waits = match given {
                None => false,
                Some(given) => match process.taken(given, &deadline).await {
                    Ok(()) => false,
                    // It was given, and is read when it reads.
                    Err(error) if error.kind() == ErrorKind::Timeout => true,
                    Err(error) => return Err(self.refused(error)),
                },
            };
            let mut text = match (lines.is_empty(), self.closes()) {
                (false, false) => format!("Gave background shell {id} its input."),
                (false, true) => format!("Gave background shell {id} its input, and ended it."),
                (true, _) => format!("Ended the input of background shell {id}."),
            };
            if waits {
                text.push_str(" It has not read all of it: the rest waits until it does.");
            }
            let data = json!({ "shellId": id, "bytes": lines.len(), "closed": self.closes(), "waits": waits });
            Ok(ToolResult::new(text, data))
        })
    }
}
