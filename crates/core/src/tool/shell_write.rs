//! `shell_write_to_process` of the group `terminal`: text and keys for what runs in a session, or whole lines for its shell.
//!
//! What reads them nobody can tell: a program, another shell, or the session's own shell where the program ended meanwhile.
//! So lines are judged where they end, with all that was typed of them before ([`crate::session::line`]); between the judgement
//! and the writing nothing else may be typed. What is left unread at the shell's prompt runs nothing there
//! (`crate::session::shells`).

use std::collections::HashSet;

use parking_lot::Mutex;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::backend::process::{LINE_BYTES, line_too_long};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;
use crate::session::keys::{CursorKeys, bytes_of, check_typed};
use crate::session::line::{EndedLine, Line};
use crate::session::settle::{COLLECT, FLUSH, Settled, settle};
use crate::session::terminal::{HOST_KEY, Reader, ShellState, Terminal};
use crate::session::{Session, Sessions};
use crate::text::shown::{shown_in_line, shown_to_person};
use crate::tool::no_session::not_open;
use crate::tool::shell_input::judged_lines;
use crate::tool::taking::{TAKE, reads_on};
use crate::tool::terminal::terminal_of;
use crate::tool::terminal_view::look;
use crate::tool::torn;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// 64 keys in one call.
const KEYS: usize = 64;
/// 64 KiB in one call.
const TEXT_BYTES: usize = 64 << 10;
/// Keys that at a shell's prompt neither recall nor make up a line.
const KEYS_AT_A_PROMPT: [&str; 5] = ["ctrl-c", "ctrl-d", "ctrl-l", "ctrl-z", "ctrl-u"];

/// Keys that interrupt what runs.
const INTERRUPTING_KEYS: [&str; 3] = ["ctrl-c", "ctrl-z", "ctrl-\\"];

/// The input of `shell_write_to_process`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ShellWrite {
    /// The session.
    id: String,
    /// The text to type; a return follows it unless `enter` is false.
    #[serde(default)]
    command: Option<String>,
    /// Whether a return follows the text; true when left out.
    #[serde(default)]
    enter: Option<bool>,
    /// Keys to press, after the text: `enter`, `tab`, `escape`, `up`, `ctrl-c`, `alt-x`, `f5`, or single characters.
    #[serde(default)]
    keys: Option<Vec<String>>,
    #[serde(skip)]
    judged: Mutex<Option<Judged>>,
}

/// What a call was judged by.
#[derive(Debug)]
struct Judged {
    /// What reads what is typed.
    reader: Reader,
    /// The line that was open.
    line: Line,
    /// What it ends, or may end, beside the lines of its own text.
    ended: Vec<String>,
}

/// What is typed in one call.
struct Typed {
    /// The text with its returns.
    text: String,
    /// The bytes of each key.
    keys: Vec<Vec<u8>>,
}

impl Typed {
    /// Puts it behind an open line. The lines that it ends.
    fn behind(&self, line: &mut Line) -> Vec<EndedLine> {
        line.begin_call();
        let mut ended = line.write(&self.text);
        ended.extend(self.keys.iter().filter_map(|key| line.press(key)));
        ended
    }
}

impl ShellWrite {
    /// The text that is typed. An empty one without a return is none, as models give it beside keys.
    fn text(&self) -> Option<&str> {
        self.command.as_deref().filter(|text| !text.is_empty() || self.enter.unwrap_or(true))
    }

    /// The text with its return, and the keys, as a program reads them.
    fn parts(&self, form: CursorKeys) -> Result<Typed> {
        let mut typed = String::new();
        if let Some(text) = self.text() {
            if text.len() > TEXT_BYTES {
                return Err(Error::invalid(format!("At most {TEXT_BYTES} bytes are typed in one call.")));
            }
            check_typed(text)?;
            typed = text.replace('\n', "\r");
            if self.enter.unwrap_or(true) {
                typed.push('\r');
            }
        }
        let keys = self.keys.as_deref().unwrap_or_default();
        if keys.len() > KEYS {
            return Err(Error::invalid(format!("At most {KEYS} keys are pressed in one call.")));
        }
        let keys = keys.iter().map(|key| bytes_of(key, form)).collect::<Result<Vec<_>>>()?;
        if keys.iter().flatten().any(|byte| *byte == HOST_KEY) {
            return Err(Error::invalid(
                "`ctrl-^` cannot be pressed in a session: it is what runs lines at its shell's prompt.",
            ));
        }
        if typed.is_empty() && keys.is_empty() {
            return Err(Error::invalid("Give `command`, `keys` or both."));
        }
        Ok(Typed { text: typed, keys })
    }

    /// What is typed, the text and the keys: at the prompt of a shell the line that runs the text there.
    fn typed(&self, terminal: &Terminal, is_at_prompt: bool) -> Result<(Vec<u8>, Vec<u8>)> {
        let form = terminal.screen().lock().cursor_keys();
        let Typed { text, keys } = self.parts(form)?;
        Ok(match self.text() {
            _ if !is_at_prompt => (text.into_bytes(), keys.concat()),
            Some(command) => (terminal.line(command).into_bytes(), keys.concat()),
            None => (Vec::new(), keys.into_iter().flat_map(|key| terminal.key_at_prompt(key)).collect()),
        })
    }

    /// The line that its keys alone leave open.
    fn keys_alone(&self) -> Result<Line> {
        let mut line = Line::default();
        let Typed { keys, .. } = self.parts(CursorKeys::Normal)?;
        Typed { text: String::new(), keys }.behind(&mut line);
        Ok(line)
    }

    /// Whether nothing but keys that interrupt what runs is typed.
    fn interrupts(&self) -> bool {
        let mut keys = self.keys.iter().flatten();
        self.text().is_none() && keys.all(|key| INTERRUPTING_KEYS.contains(&key.to_ascii_lowercase().as_str()))
    }

    fn keys_are_harmless(&self) -> bool {
        self.keys.iter().flatten().all(|key| KEYS_AT_A_PROMPT.contains(&key.to_ascii_lowercase().as_str()))
    }

    /// What is typed was judged for what read it then, together with the line that was open; `Busy` when either is another one now. An
    /// answer to a program that has ended is no command for the shell, and none to what runs in its place.
    fn check_judged(&self, session: &Session, terminal: &Terminal, is_at_prompt: bool) -> Result<()> {
        let judged = self.judged.lock();
        let what = match &*judged {
            Some(judged) if judged.reader != terminal.reader() => {
                "What reads in session '{}' is another program than before"
            }
            Some(judged) if !is_at_prompt && judged.line != terminal.open_line() => {
                "Something else was typed into session '{}' meanwhile"
            }
            Some(_) => return Ok(()),
            None => "Session '{}' was opened meanwhile",
        };
        let what = what.replace("{}", &session.id);
        let text = format!(
            "{what}, so nothing was typed. Look at it with `shell_view`, then repeat the call where it still fits."
        );
        Err(Error::new(ErrorKind::Busy, text))
    }

    /// At a shell's prompt only whole lines are typed, each judged as a command: pieces would make up one that nobody
    /// judged, and keys would recall one. The rest of a command that is not whole is such a piece.
    fn check_typed(&self, state: ShellState) -> Result<()> {
        // A tab completes names: `sud` and a tab are `sudo`, which nobody judged.
        let completes = self.text().is_some_and(|text| text.contains('\t'));
        let keys_are_harmless = self.keys_are_harmless();
        match state {
            ShellState::AtPrompt => {
                if keys_are_harmless && (self.text().is_none() || (self.enter.unwrap_or(true) && !completes)) {
                    return Ok(());
                }
            }
            ShellState::Continuing => {
                if keys_are_harmless && self.text().is_none() {
                    return Ok(());
                }
                return Err(Error::invalid(format!(
                    "The shell of session '{}' waits for the rest of a command, and only whole commands are typed. Give it up \
                     with `keys: ['ctrl-c']` and run the whole with `shell_exec`.",
                    Shown(&self.id)
                )));
            }
            ShellState::Starting | ShellState::Busy => return Ok(()),
        }
        Err(Error::invalid(format!(
            "The session waits at its shell's prompt, where only whole lines are typed and only {} are pressed; use \
             `shell_exec`.",
            KEYS_AT_A_PROMPT.join(", ")
        )))
    }
}

fn is_typed_into(id: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "Another call types into session '{}', and nothing was typed now. Call again once it is done.",
            Shown(id)
        ),
    )
}

fn does_not_read(id: &str) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "What runs in session '{}' does not read: what was typed before still waits, and nothing was typed now. Look at it \
             with `shell_view`, or end it with `shell_kill_process`.",
            Shown(id)
        ),
    )
}

impl Tool for ShellWrite {
    const SPEC: Spec = Spec {
        name: "shell_write_to_process",
        groups: &[Group::Terminal],
        description: "Types text and presses keys in a terminal session, such as an answer to a question or `keys: ['escape']`, \
                      `['ctrl-c']`; then returns what was printed until the program waits again, or prints nothing for 0.5 s (at most \
                      5 s; before it types it waits up to 2 s for a program that prints), or the screen of a full-screen program.",
        instruction: "`shell_write_to_process` types into a terminal session: text with a return, or keys.",
        operation: Operation::Execute,
        needs: Need::Terminals,
        destructive: true,
        example: r#"{"id": "main", "command": "yes"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        self.parts(CursorKeys::Normal)?;
        let mut accesses = judged_lines(self.text().unwrap_or_default(), &self.id, working_directory);
        if accesses.is_empty() {
            accesses.push(Access::Session { id: self.id.clone() });
        }
        Ok(accesses)
    }

    fn session_accesses(&self, sessions: &Sessions, working_directory: &VirtualPath) -> Vec<Access> {
        let session = sessions.find(&self.id).inspect(|session| session.notice_prompt());
        let terminal = session.as_ref().and_then(|session| session.terminal.as_ref());
        let (Some(terminal), Ok(typed)) = (terminal, self.parts(CursorKeys::Normal)) else { return Vec::new() };
        let reader = terminal.reader();
        let is_at_prompt = reader.is_shell();
        let mut before = terminal.open_line();
        *self.judged.lock() = Some(Judged { reader, line: before.clone(), ended: Vec::new() });
        if is_at_prompt {
            // Only a whole line is typed there, which was judged.
            return Vec::new();
        }
        let mut accesses = Vec::new();
        // What is left unread of a line is another one at the prompt of a plain shell.
        let mut is_known = !terminal.is_plain() || (self.text().is_none() && self.keys_are_harmless());
        // Lines of the text by itself were judged.
        let mut judged: HashSet<String> = self.text().iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
        let mut others = Vec::new();
        for EndedLine { text, others: readings, is_known: is_line_known } in typed.behind(&mut before) {
            is_known &= is_line_known;
            for text in std::iter::once(text).chain(readings).filter(|text| !text.is_empty()) {
                if !judged.contains(&text) {
                    accesses.extend(judged_lines(&text, &self.id, working_directory));
                    judged.insert(text.clone());
                    others.push(text);
                }
            }
        }
        if let Some(judged) = &mut *self.judged.lock() {
            judged.ended = others;
        }
        if !is_known {
            accesses.push(Access::UnknownLine { id: self.id.clone() });
        }
        accesses
    }

    fn reader(&self) -> Option<Reader> {
        self.judged.lock().as_ref().map(|judged| judged.reader.clone())
    }

    fn describe(&self) -> String {
        let id = shown_in_line(&self.id);
        let names =
            self.keys.iter().flatten().map(|key| if key == " " { "space".to_owned() } else { shown_in_line(key) });
        let keys = names.collect::<Vec<_>>().join(" ");
        // A line that was typed in pieces is told where it ends.
        let ended = self.judged.lock().as_ref().map(|judged| judged.ended.clone()).unwrap_or_default();
        let what = if ended.len() > 1 { "It may end the line" } else { "It ends the line" };
        let ended: String = ended.iter().map(|line| format!("\n{what}: {}", shown_in_line(line))).collect();
        let Some(text) = self.text() else { return format!("Press keys in terminal session {id}: {keys}{ended}") };
        let ends = if self.enter.unwrap_or(true) { "with a return" } else { "without a return" };
        let behind = if keys.is_empty() { String::new() } else { format!(", then press {keys}") };
        // The text stands last: nothing in it looks like what is said of it.
        let begin = if ended.is_empty() { "; text" } else { "\nText" };
        format!("Type into terminal session {id}{behind}{ended}{begin} {ends}: {}", shown_to_person(text))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let session = view.sessions.find(&self.id).filter(|session| session.process.ended().is_none());
            let session =
                session.ok_or_else(|| not_open(view, &self.id, "No active non-blocking session found with ID"))?;
            let terminal = terminal_of(&session)?;
            let process = &session.process;
            let deadline = &view.call.deadline;
            // One time for both: where what runs reads nothing, each call in the turn waits for that.
            let soon = deadline.within(TAKE);
            let turn = session.turn(&soon).await.map_err(|error| match error.kind() {
                ErrorKind::Timeout => is_typed_into(&session.id),
                _ => error,
            })?;
            // Before anything counts as typed.
            reads_on(process, &soon, || does_not_read(&session.id)).await?;
            // What its keys are depends on what was printed.
            session.drawn().await;
            let mut state = terminal.state();
            self.check_typed(state)?;
            // What interrupts is not held up by what a program prints.
            if state != ShellState::AtPrompt && !self.interrupts() {
                settle(process, FLUSH, None, deadline, || false).await?;
                session.drawn().await;
                // What ran may have ended meanwhile.
                state = terminal.state();
                self.check_typed(state)?;
            }
            let is_at_prompt = state == ShellState::AtPrompt;
            if is_at_prompt {
                // What ran may have ended meanwhile.
                terminal.leave_hatch(process, deadline).await?;
                session.find_thrown_away(terminal).await;
                if self.text().is_some() {
                    terminal.check_editor(&session)?;
                }
                terminal.calm(&session, deadline).await?;
                if self.text().is_some() {
                    terminal.reads(&session, deadline).await?;
                }
            }
            self.check_judged(&session, terminal, is_at_prompt)?;
            let (mut text, mut keys) = self.typed(terminal, is_at_prompt)?;
            let is_looked_at = process.check_lines(&[&text[..], &keys[..]].concat())?;
            if !is_at_prompt {
                let mut line = terminal.open_line();
                let ended = self.parts(CursorKeys::Normal)?.behind(&mut line);
                // In a container nobody can look, and the program may get whole lines.
                let is_long = line.bytes() > LINE_BYTES || ended.iter().any(|line| line.text.len() > LINE_BYTES);
                if !is_looked_at && is_long {
                    return Err(line_too_long());
                }
                terminal.typed_into(line);
                // Where the shell comes back to its prompt at this moment it runs what is known, and was judged.
                let typed = (text.clone(), keys.clone());
                if ended.iter().all(|line| line.is_known) {
                    (text, keys) = (session.for_reader(text), session.for_reader(keys));
                }
                if (&text, &keys) == (&typed.0, &typed.1) {
                    terminal.typed_ahead(ended.into_iter().map(|line| line.text));
                }
            }
            if let Some(command) = self.text().filter(|_| is_at_prompt) {
                terminal.typed(command);
            }
            let before = terminal.mark_count();
            let given = process.position();
            let has_keys = !keys.is_empty();
            if is_at_prompt && !text.is_empty() && has_keys {
                // Keys behind a command are for it.
                process.give(&text, deadline).await?;
                terminal.taken(process, deadline).await?;
                terminal.write(process, &keys, deadline).await?;
            } else {
                terminal.write(process, &[text, keys].concat(), deadline).await?;
            }
            if is_at_prompt && self.text().is_some() {
                terminal.typed_whole();
                if has_keys {
                    // The line that is open behind the command begins with them.
                    terminal.typed_into(self.keys_alone()?);
                }
            }
            // What read may have ended before it was typed.
            terminal.leave_hatch(process, deadline).await?;
            drop(turn);
            let is_ready = || terminal.ended_since(before).is_some() && terminal.state() == ShellState::AtPrompt;
            let settled = settle(process, COLLECT, Some(given), deadline, is_ready).await?;
            let thrown = terminal.take_thrown_away();
            let (mut result, _) = look(view, &session).await;
            if result.text.is_empty() {
                result.text = format!("Input sent to session '{}' successfully (no output).", session.id);
            }
            if let Some(note) = torn::note(&session, terminal).filter(|_| is_at_prompt && self.text().is_some()) {
                result.text.push_str(&format!("\n\n{note}"));
            }
            torn::tell_thrown_away(&mut result, thrown);
            if settled == Settled::Busy {
                result.text.push_str("\n\n(It still prints; look again with `shell_view`.)");
            }
            Ok(result)
        })
    }
}
