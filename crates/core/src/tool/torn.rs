//! What a model is told of lines that were typed and did not come to who they were for: one that was typed at a session's shell, and of
//! which another program had a part that reads the same terminal, such as one that went on behind a Ctrl-C; and those that were typed
//! into what ran, which did not read them.

use serde_json::json;

use crate::error::{Error, ErrorKind, Shown};
use crate::session::Session;
use crate::session::marks::Torn;
use crate::session::terminal::Terminal;
use crate::text::shown::shown_in_line;
use crate::tool::ToolResult;

/// `Busy` where nothing of the line ran.
pub(super) fn check(session: &Session, terminal: &Terminal) -> crate::error::Result<()> {
    if terminal.torn() != Some(Torn::Whole) {
        return Ok(());
    }
    // The shell tells the code of the command before again.
    session.told_end(terminal);
    let id = Shown(&session.id);
    let text = format!(
        "Nothing ran: another program reads the terminal of session '{id}' and took a part of the line that was typed. End that program, \
         end the session with `shell_kill_process`, or use another id."
    );
    Err(Error::new(ErrorKind::Busy, text))
}

/// What is said where another line ran, or none.
pub(super) fn note(session: &Session, terminal: &Terminal) -> Option<String> {
    let id = &session.id;
    let what = match terminal.torn()? {
        Torn::Whole => "nothing of it ran, and the exit code is of the command before.".to_owned(),
        Torn::Part(shown) => format!("the shell ran another one, which it shows as: {}", shown_in_line(&shown)),
    };
    Some(format!(
        "(Another program reads the terminal of session '{id}' and took a part of the line that was typed: {what})"
    ))
}

/// What is said of lines that were typed ahead and thrown away.
pub(super) fn of_thrown_away(lines: &str) -> String {
    format!(
        "(What ran did not read what was typed while it ran, and the shell runs nothing that is typed ahead. Run it with `shell_exec`, where \
         it is a command: {})",
        shown_in_line(lines)
    )
}

/// Has the result of what was typed behind such lines tell of them, in front.
pub(super) fn tell_thrown_away(result: &mut ToolResult, lines: Option<String>) {
    let Some(lines) = lines else { return };
    result.text.insert_str(0, &(of_thrown_away(&lines) + "\n"));
    if let Some(data) = &mut result.data {
        // A look behind it may have found more.
        let more = data["thrownAway"].as_str().map(|more| format!("{lines}\n{more}"));
        data["thrownAway"] = json!(more.unwrap_or(lines));
    }
}
