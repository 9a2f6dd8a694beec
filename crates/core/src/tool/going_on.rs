//! What a model is told of a command of a terminal session that goes on, that asks, or that is not whole.

use std::borrow::Cow;

use super::command_facts::CommandFacts;
use super::terminal::{more_of, or_none, plain};
use crate::session::Session;
use crate::session::running::Ran;
use crate::session::terminal::Terminal;
use crate::text::ours::set_off;
use crate::tool::command_output::{before_of, said_before};
use crate::tool::terminal_view::screen_text;
use crate::tool::{ToolResult, View};

/// What is told of a command for whose end nobody waits.
pub(super) fn started(view: &View<'_>, session: &Session, terminal: &Terminal) -> ToolResult {
    let id = &session.id;
    let (before, dropped, missed) = before(view, session, terminal);
    let text = format!(
        "{}Session '{id}' started.\nLook at its output with `shell_view`, write to it with `shell_write_to_process`, end it with \
         `shell_kill_process`.{}",
        said_before(&before, missed),
        replaced(session)
    );
    let facts = CommandFacts {
        running: true,
        before,
        before_exit_code: missed,
        dropped_bytes: dropped,
        ..CommandFacts::of(session)
    };
    ToolResult { truncated: dropped > 0, ..ToolResult::new(text, facts.told()) }
}

/// What the session printed before the command that was just typed, how much of it is left out, and how what ran before ended, where nobody
/// was told. It counts as told.
pub(super) fn before(view: &View<'_>, session: &Session, terminal: &Terminal) -> (String, u64, Option<i32>) {
    let (bytes, dropped) = session.printed_before_command(terminal);
    let (before, dropped) = before_of(&bytes, dropped, view.limits.output_bytes);
    (before, dropped, terminal.take_missed())
}

/// What is told of a command that goes on, or that is not whole.
pub(super) async fn going_on(view: &View<'_>, session: &Session, ran: Ran, seconds: f64) -> ToolResult {
    let (before, before_dropped, missed) =
        session.terminal.as_ref().map_or_else(Default::default, |terminal| before(view, session, terminal));
    let fresh = session.fresh_printed(view.limits.output_bytes);
    session.drawn().await;
    // What draws a screen is not to be read as lines.
    let screen = if session.is_full_screen() { screen_text(session).ok() } else { None };
    let is_full_screen = screen.is_some();
    let (id, output) = (&session.id, screen.unwrap_or_else(|| plain(&fresh)));
    let shown = if is_full_screen { Cow::Borrowed(output.as_str()) } else { set_off(&output) };
    let replaced = replaced(session);
    let text = if ran == Ran::Silent && replaced.is_empty() {
        format!(
            "The shell of session '{id}' reads a line, and does not say why: the command ended and took the session's prompt \
             away, so that its exit code is not known, or it asks for a line. Answer it with `shell_write_to_process`, or end \
             the session with `shell_kill_process` and use another. Output so far:\n{}{}",
            or_none(&shown),
            more_of(&fresh)
        )
    } else if ran == Ran::Incomplete {
        format!(
            "The command is not whole: the shell of session '{id}' waits for the rest, such as a closing quote. Give it up \
             with `shell_write_to_process` and `keys: ['ctrl-c']`, and run the whole."
        )
    } else if ran == Ran::Asks {
        let (what, more) =
            if is_full_screen { ("It shows", String::new()) } else { ("Output so far", more_of(&fresh)) };
        format!(
            "The command waits for input in session '{id}': it reads the terminal behind a line that it left open. Answer it with \
             `shell_write_to_process`, give it up with `keys: ['ctrl-c']`, or look with `shell_view` and `wait` whether it goes \
             on.{replaced} {what}:\n{}{more}",
            or_none(&shown)
        )
    } else {
        let time = if ran == Ran::Silent { String::new() } else { format!(" after {seconds} s") };
        let (what, more) =
            if is_full_screen { ("It shows", String::new()) } else { ("Output so far", more_of(&fresh)) };
        format!(
            "Command still runs{time} and goes on in session '{id}'. Look with `shell_view` or `shell_screen`, write to it with \
             `shell_write_to_process`, end it with `shell_kill_process`.{replaced} {what}:\n{}{more}",
            or_none(&shown)
        )
    };
    let text = said_before(&before, missed) + &text;
    let dropped = fresh.dropped + before_dropped;
    let facts = CommandFacts {
        running: true,
        output,
        full_screen: is_full_screen,
        before,
        before_exit_code: missed,
        dropped_bytes: dropped,
        more: fresh.more,
        timed_out: ran == Ran::Running,
        waits_for_input: ran == Ran::Asks,
        ..CommandFacts::of(session).with_older(fresh.older.as_ref())
    };
    ToolResult { truncated: dropped > 0 || fresh.more, ..ToolResult::new(text, facts.told()) }
}

/// What is said of a session without a shell.
fn replaced(session: &Session) -> &'static str {
    if session.is_replaced() {
        " It took the place of the session's shell (`exec`): when it ends the session ends."
    } else {
        ""
    }
}
