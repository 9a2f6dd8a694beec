//! What a model is told that names a session or a background shell which is not there, or has ended: which there are instead.

use std::sync::Arc;

use crate::error::{Error, Shown};
use crate::session::Session;
use crate::tool::View;

/// 10 names are told; a model that has more of them has a tool that lists them.
const NAMES: usize = 10;

/// There is no terminal session of that name, also none that ended.
pub(super) fn unknown(view: &View<'_>, id: &str) -> Error {
    Error::invalid(format!("No session found with ID '{}'. {}", Shown(id), instead(view)))
}

fn instead(view: &View<'_>) -> String {
    let open = names(view, true);
    let which =
        if open.is_empty() { "None is open: `shell_exec` opens one.".to_owned() } else { format!("Open: {open}.") };
    format!("{which} `shell_list` lists them.")
}

/// No terminal session of that name is open, in the words of whoever looked for one; where one was, that it has ended.
pub(super) fn not_open(view: &View<'_>, id: &str, none: &str) -> Error {
    let more = match view.sessions.find(id) {
        Some(session) if session.terminal.is_none() => {
            format!("It was a background shell, and has ended: {}.", session.state())
        }
        Some(session) => format!(
            "It has ended: {}. `shell_view` shows what it printed last; `shell_exec` with this id opens a new one.",
            session.state()
        ),
        None => instead(view),
    };
    Error::invalid(format!("{none} '{}'. {more}", Shown(id)))
}

/// There is no background shell of that name, also none that ended.
pub(super) fn unknown_background(view: &View<'_>, id: &str) -> Error {
    Error::invalid(format!("No such background shell: {}. {}", Shown(id), backgrounds(view)))
}

/// Which background shells run.
pub(super) fn backgrounds(view: &View<'_>) -> String {
    let running = names(view, false);
    let which = if running.is_empty() { "None runs.".to_owned() } else { format!("Running: {running}.") };
    format!("{which} `list_shells` lists those there are.")
}

/// The names of those that have not ended, the newest first.
fn names(view: &View<'_>, on_terminal: bool) -> String {
    let is_one =
        |session: &Arc<Session>| session.terminal.is_some() == on_terminal && session.process.ended().is_none();
    let ids: Vec<String> =
        view.sessions.all().into_iter().rev().filter(is_one).map(|session| session.id.clone()).collect();
    let more = ids.len().saturating_sub(NAMES);
    let told = ids[..ids.len() - more].join(", ");
    if more == 0 { told } else { format!("{told} and {more} more") }
}
