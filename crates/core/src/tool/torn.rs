//! What a model is told of a line that was typed at a session's shell, and of which another program had a part: one that reads the
//! same terminal, such as one that went on behind a Ctrl-C.

use crate::error::{Error, ErrorKind, Shown};
use crate::session::Session;
use crate::session::marks::Torn;
use crate::session::terminal::Terminal;
use crate::text::shown::shown_in_line;

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
