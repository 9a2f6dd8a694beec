//! Terminals by their names: whoever opens one may read from it what was typed for another program, such as the shell of a session, which
//! is then left with another line than the one that was judged.

use super::argument::{Argument, is_marked};
use super::paths::{Places, may_be_within};

/// What is handed names and opens none of them, or only looks at what they name.
const LOOKERS: [&str; 9] = ["ls", "stat", "test", "[", "[[", "echo", "printf", "cd", "pushd"];
/// Processes of which everybody is one: what they have open is their own.
const OWN: [&str; 2] = ["self", "thread-self"];

/// Why a command is not simply allowed that is handed a terminal.
pub(super) fn handed(name: &str, arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    if LOOKERS.contains(&name) {
        return None;
    }
    let is_near =
        places.entered().iter().any(|directory| directory.starts_with("/dev") || directory.starts_with("/proc"));
    let named = arguments.iter().filter(|word| is_near || may_name_one(word.marked()));
    let found = named.into_iter().find_map(|word| read(word, places))?;
    Some(format!("'{name}' is handed the terminal '{found}', where it may read what is typed for another program"))
}

/// The terminal that a word may name.
pub(super) fn read(word: &Argument, places: &Places<'_>) -> Option<String> {
    let text = word.marked();
    let value = text.split_once('=').map_or(text, |(_, value)| value);
    // Behind an option or a sign: `-f/dev/pts/3`, `raw,file=/dev/pts/3`. What stands behind a name is a directory of that name (`src/dev/tty.rs`).
    let is_glued = |at: &usize| *at == 0 || text.starts_with('-') || text[..*at].ends_with(['=', ',', ':', '@', '{']);
    let found = text.match_indices("/dev/").chain(text.match_indices("/proc/")).map(|(at, _)| at);
    let glued = found.filter(is_glued).map(|at| text[at..].to_owned());
    let mut paths = places.all(value).into_iter().chain(glued);
    paths.find(|path| is_terminal(path)).map(|path| Argument::known(path).shown())
}

/// Whether it is worth a look: most words name nothing of the kind.
fn may_name_one(text: &str) -> bool {
    text.contains("dev/") || text.contains("proc/") || (text.contains('/') && is_marked(text))
}

fn is_terminal(path: &str) -> bool {
    let is_below = may_be_within(path, "/dev/pts") && path.trim_start_matches('/').split('/').count() > 2;
    is_below
        || path.contains("/dev/pts/")
        || path == "/dev/console"
        || path.strip_prefix("/dev/tty").is_some_and(|number| !number.is_empty())
        || is_open_elsewhere(path)
}

/// Whether it is what another process has open.
fn is_open_elsewhere(path: &str) -> bool {
    let Some((process, open)) = path.strip_prefix("/proc/").and_then(|path| path.split_once('/')) else { return false };
    !OWN.contains(&process) && open.split('/').any(|name| name == "fd" || is_marked(name))
}
