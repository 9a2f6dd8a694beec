//! Looks at terminal sessions: new output, the screen, the list; and their size.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::background::list;
use super::terminal::{
    MAX_WAIT_S, ceiling, has_reason, is_open, more_of, older_of, plain, signal, stop_of, stopped_as, terminal_of,
    terminated,
};
use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::backend::process::{Order, TerminalSize};
use crate::error::{Error, ErrorKind, Result};
use crate::media::image::Format;
use crate::media::{terminal, too_large};
use crate::path::VirtualPath;
use crate::session::Session;
use crate::session::screen::ScreenView;
use crate::session::terminal::ShellState;
use crate::text::ours::set_off;
use crate::text::shown::shown_in_line;
use crate::tool::no_session::unknown;
use crate::tool::torn::of_thrown_away;
use crate::tool::{Group, Need, Part, Spec, Tool, ToolResult, View};

/// The input of `shell_view`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellView {
    /// The session.
    id: String,
    /// Seconds to wait for new output or the end; 0, which does not wait, when left out.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(min = 0, max = 590)))]
    wait: Option<f64>,
}

impl Tool for ShellView {
    const SPEC: Spec = Spec {
        name: "shell_view",
        groups: &[Group::Terminal],
        description: "Returns what a terminal session has printed since the last look, without prompts and escape sequences, \
                      and whether its command ended. Of a full-screen program it returns the screen. Waits only with \
                      `wait`: so many seconds (at most 590) for new output or the end.",
        instruction: "`shell_view` reads what a terminal session printed since the last look.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: false,
        example: r#"{"id": "main"}"#,
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        if self.wait.is_some_and(|seconds| !(0.0..=MAX_WAIT_S).contains(&seconds)) {
            return Err(Error::invalid(format!("`wait` must be from 0 to {MAX_WAIT_S} seconds.")));
        }
        Ok(Vec::new())
    }

    fn describe(&self) -> String {
        format!("Look at terminal session {}", shown_in_line(&self.id))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let session = view.sessions.find(&self.id).ok_or_else(|| unknown(view, &self.id))?;
            let terminal = terminal_of(&session)?;
            session.notice_prompt();
            // An end whose output was shown already is news too.
            let wait = self.wait.filter(|seconds| *seconds > 0.0 && session.untold_end(terminal).is_none());
            if let Some(seconds) = wait {
                session.wait_for_fresh(Duration::from_secs_f64(seconds), &view.call.deadline).await?;
            }
            let ended = !is_open(&session);
            let (mut result, _) = shown(view, &session, !ended).await;
            if ended {
                let was_told = session.tells_end();
                let is_told = ceiling(&session).is_none() && (was_told || !has_reason(&session));
                let marker = if result.text.is_empty() && is_told {
                    "--- SESSION TERMINATED (no new output) ---".to_owned()
                } else {
                    let gap = if result.text.is_empty() { "" } else { "\n" };
                    format!("{gap}{}", terminated(&session))
                };
                result.text.push_str(&marker);
            } else if result.text.is_empty() && terminal.state() == ShellState::Continuing {
                result.text =
                    "[No new output]\nThe shell waits for the rest of a command that is not whole. Give it up with \
                               `shell_write_to_process` and `keys: ['ctrl-c']`."
                        .to_owned();
            } else if result.text.is_empty()
                && result.data.as_ref().is_some_and(|data| data["waitsForInput"] == json!(true))
            {
                result.text = "[No new output]\nThe command waits for input. Answer it with `shell_write_to_process`, or give it \
                               up with `keys: ['ctrl-c']`."
                    .to_owned();
            } else if result.text.is_empty() && terminal.state() == ShellState::AtPrompt {
                result.text =
                    "[No new output]\nThe shell waits for a command, and none runs. Give it one with `shell_exec`."
                        .to_owned();
            } else if result.text.is_empty() {
                result.text = "[No new output]\nThe session is open. Wait with `wait`, look at its screen with \
                               `shell_screen`, or write to it with `shell_write_to_process`."
                    .to_owned();
            }
            Ok(result)
        })
    }
}

/// New output of a session as a result; the screen of a full-screen program instead. And the code of a command that ended meanwhile: it
/// is told with the last of its output.
async fn shown(view: &View<'_>, session: &Session, is_open: bool) -> (ToolResult, Option<i32>) {
    session.notice_prompt();
    // The end first: what is told to have ended has printed all.
    let end = session.terminal.as_ref().and_then(|terminal| session.untold_end(terminal));
    let thrown = match (&session.terminal, end) {
        (Some(terminal), Some(_)) => {
            session.find_thrown_away(terminal).await;
            terminal.take_thrown_away()
        }
        _ => None,
    };
    let fresh = session.fresh_printed(view.limits.output_bytes);
    session.drawn().await;
    let end = end.filter(|_| !fresh.more).inspect(|end| session.tells_end_of_command(*end));
    let code = end.map(|end| end.code);
    let at_prompt = session.is_at_prompt();
    let screen = if session.is_full_screen() { screen_text(session).ok() } else { None };
    let is_full_screen = screen.is_some();
    let asks = session.terminal.as_ref().is_some_and(|terminal| terminal.is_asking(&session.process));
    let output = screen.unwrap_or_else(|| plain(&fresh));
    let mut text = output.clone();
    if !is_full_screen {
        text = set_off(&output).into_owned() + &more_of(&fresh);
    }
    let stop = code.and_then(|code| stop_of(session, code));
    if let Some(code) = code {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&match stop {
            Some(stop) => format!("--- COMMAND STOPPED ({} ---", stopped_as(code, stop)),
            None => format!("--- COMMAND FINISHED (exit code {code}) ---"),
        });
    }
    if let Some(thrown) = &thrown {
        text.push_str(&format!("\n{}", of_thrown_away(thrown)));
    }
    let (file, file_bytes) = older_of(&fresh);
    let torn = session.terminal.as_ref().is_some_and(|terminal| terminal.torn().is_some());
    let exit_code = code.or_else(|| session.process.ended()?.exit_code);
    let data = json!({
        "id": session.id, "running": is_open && !at_prompt, "open": is_open, "atPrompt": is_open && at_prompt, "exitCode": exit_code,
        "stopped": stop.is_some(), "torn": torn, "thrownAway": thrown, "signal": signal(session),
        "fullScreen": is_full_screen, "waitsForInput": asks, "output": output, "droppedBytes": fresh.dropped, "more": fresh.more,
        "spillPath": file, "spillBytes": file_bytes, "ceiling": ceiling(session),
    });
    (ToolResult { truncated: fresh.dropped > 0 || fresh.more, ..ToolResult::new(text, data) }, code)
}

/// What a session printed since the last look, and that it ended where it did; with the code of a command that ended meanwhile.
pub(super) async fn look(view: &View<'_>, session: &Session) -> (ToolResult, Option<i32>) {
    let is_open = is_open(session);
    let (mut result, code) = shown(view, session, is_open).await;
    if !is_open {
        session.tells_end();
        let gap = if result.text.is_empty() { "" } else { "\n" };
        result.text.push_str(&format!("{gap}{}", terminated(session)));
    }
    (result, code)
}

/// The screen of a session as text.
pub(super) fn screen_text(session: &Session) -> Result<String> {
    Ok(text_of(&terminal_of(session)?.screen().lock().look()))
}

fn text_of(view: &ScreenView) -> String {
    let title = if view.title.is_empty() { String::new() } else { format!(", title '{}'", view.title) };
    let kind = if view.alternate_screen { ", full-screen program" } else { "" };
    let cursor = if view.cursor_hidden {
        "hidden".to_owned()
    } else {
        format!("line {}, column {}", view.cursor_row + 1, view.cursor_column + 1)
    };
    format!(
        "[screen {} x {}, cursor {cursor}{kind}{title}]\n{}",
        view.columns,
        view.rows,
        set_off(&view.lines.join("\n"))
    )
}

/// The input of `shell_screen`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellScreen {
    /// The session.
    id: String,
    /// Whether only the lines that changed since the last look are shown, with their numbers.
    #[serde(default)]
    changes: Option<bool>,
    /// Whether a picture of the screen comes with the text, for colours and layout.
    #[serde(default)]
    image: Option<bool>,
}

impl Tool for ShellScreen {
    const SPEC: Spec = Spec {
        name: "shell_screen",
        groups: &[Group::Terminal],
        description: "Shows the screen of a terminal session as text, with cursor and title: what a person would see. With \
                      `changes` only the lines that changed since the last look; with `image` also as a picture.",
        instruction: "`shell_screen` shows what a terminal session looks like now.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: false,
        example: r#"{"id": "main"}"#,
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        Ok(Vec::new())
    }

    fn describe(&self) -> String {
        format!("Look at the screen of terminal session {}", shown_in_line(&self.id))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let session = view.sessions.find(&self.id).ok_or_else(|| unknown(view, &self.id))?;
            session.drawn().await;
            let (look, still) = {
                let mut screen = terminal_of(&session)?.screen().lock();
                (screen.look(), self.image.unwrap_or(false).then(|| screen.still()))
            };
            let text = if self.changes.unwrap_or(false) {
                let line = |row: &usize| format!("{}: {}", row + 1, look.lines.get(*row).map_or("", String::as_str));
                let lines: Vec<String> = look.changed.iter().map(line).collect();
                if lines.is_empty() { "[Nothing changed]".to_owned() } else { lines.join("\n") }
            } else {
                text_of(&look)
            };
            let parts = match still {
                Some(still) => vec![picture(view, still).await?],
                None => Vec::new(),
            };
            Ok(ToolResult { parts, ..ToolResult::new(text, json!(look)) })
        })
    }
}

/// A picture of a screen, where the application hands images to its model.
async fn picture(view: &View<'_>, still: vt100::Screen) -> Result<Part> {
    let Some(max_bytes) = view.settings.image_bytes else {
        return Err(Error::new(ErrorKind::Unsupported, "Images cannot be shown here; look without `image`."));
    };
    let work = move || terminal::draw(&still).ok_or_else(|| Error::internal("The screen could not be drawn."));
    let shot = view.media.run("screen", &view.call.deadline, work).await?;
    let bytes = shot.bytes.len() as u64;
    if bytes > max_bytes {
        return Err(too_large("screen", "Image", bytes, max_bytes));
    }
    Ok(Part::Image { media_type: Format::Png.media_type().to_owned(), data: STANDARD.encode(&shot.bytes) })
}

/// The input of `shell_list`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellList {}

impl Tool for ShellList {
    const SPEC: Spec = Spec {
        name: "shell_list",
        groups: &[Group::Terminal],
        description: "Lists the terminal sessions and background shells, one a line: id, state (`running`, `idle` at its prompt, \
                      `exited(CODE)`, `ended(SIGNAL)`), first command.",
        instruction: "`shell_list` lists terminal sessions.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: false,
        example: "{}",
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        Ok(Vec::new())
    }

    fn describe(&self) -> String {
        "List terminal sessions".to_owned()
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let sessions = view.sessions.all();
            sessions.iter().for_each(|session| session.notice_prompt());
            Ok(list(&sessions, "No sessions."))
        })
    }
}

/// The input of `shell_resize`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellResize {
    /// The session.
    id: String,
    /// Columns, from 4 to 500.
    #[cfg_attr(test, schemars(range(min = 4, max = 500)))]
    columns: u16,
    /// Rows, from 2 to 500.
    #[cfg_attr(test, schemars(range(min = 2, max = 500)))]
    rows: u16,
}

impl Tool for ShellResize {
    const SPEC: Spec = Spec {
        name: "shell_resize",
        groups: &[Group::Terminal],
        description: "Gives a terminal session another size; it begins with 120 columns and 40 rows. Programs draw themselves \
                      anew.",
        instruction: "`shell_resize` changes the size of a terminal session.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: false,
        example: r#"{"id": "main", "columns": 80, "rows": 24}"#,
    };

    fn accesses(&self, _: &VirtualPath) -> Result<Vec<Access>> {
        TerminalSize::new(self.columns, self.rows)?;
        Ok(Vec::new())
    }

    fn describe(&self) -> String {
        format!("Resize terminal session {}", shown_in_line(&self.id))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let session = view.sessions.find(&self.id).ok_or_else(|| unknown(view, &self.id))?;
            let size = TerminalSize::new(self.columns, self.rows)?;
            session.check_free()?;
            let terminal = terminal_of(&session)?;
            let over = || Error::invalid(format!("Session '{}' has ended; its screen keeps its size.", session.id));
            if session.process.ended().is_some() {
                return Err(over());
            }
            terminal.screen().resize(size);
            session.process.order(Order::Resize(size)).await.map_err(|_| over())?;
            let text = format!("Session '{}' has {} columns and {} rows.", session.id, size.columns, size.rows);
            Ok(ToolResult::new(text, json!({ "id": session.id, "columns": size.columns, "rows": size.rows })))
        })
    }
}
