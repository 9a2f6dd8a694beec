//! Terminals by their names: whoever opens one may read from it what was typed for another program, such as the shell of a session, which
//! is then left with another line than the one that was judged.

use super::argument::{ANYTHING, Argument, is_marked};
use super::paths::{Places, may_match};

/// What is handed names and opens none of them, or only looks at what they name.
const LOOKERS: [&str; 15] = [
    "ls", "stat", "test", "[", "[[", "echo", "printf", "cd", "pushd", "readlink", "realpath", "basename", "dirname",
    "fuser", "ps",
];
/// Processes of which everybody is one: what they have open is their own.
const OWN: [&str; 2] = ["self", "thread-self"];
/// 16 places inside one word are looked at; nobody writes more.
const GLUED: usize = 16;
/// A virtual terminal for each last digit, for names that are patterns.
const VIRTUAL: [&str; 10] = ["tty0", "tty1", "tty2", "tty3", "tty4", "tty5", "tty6", "tty7", "tty8", "tty9"];

/// Why a command is not simply allowed that is handed a terminal. The name of a function says nothing of what it opens.
pub(super) fn handed(name: &str, is_function: bool, arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    if LOOKERS.contains(&name) && !is_function {
        return None;
    }
    let is_system = |directory: &String| directory.starts_with("/dev") || directory.starts_with("/proc");
    let is_near = places.entered().iter().chain(&places.all(".")).any(is_system);
    let runs = |word: &Argument| matches!(word.exact(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    // These go on from a directory to what is in it.
    let goes_on = name == "ln" || (name == "find" && arguments.iter().any(runs));
    let named = arguments.iter().filter(|word| is_near || may_name_one(word.marked()));
    let found = named.into_iter().find_map(|word| named_by(word, goes_on, places))?;
    Some(format!("'{name}' is handed the terminal '{found}', where it may read what is typed for another program"))
}

/// The terminal that is read where a word names a file.
pub(super) fn read(word: &Argument, places: &Places<'_>) -> Option<String> {
    named_by(word, false, places)
}

/// The terminal that a word may name, or with `goes_on` a directory that may hold one.
fn named_by(word: &Argument, goes_on: bool, places: &Places<'_>) -> Option<String> {
    let text = word.marked();
    let value = text.split_once('=').map_or(text, |(_, value)| value);
    // Behind an option or a sign: `-f/dev/pts/3`, `raw,file=/dev/pts/3`. What stands behind a name is a directory of that name (`src/dev/tty.rs`).
    let is_glued = |at: &usize| {
        text.starts_with('-') || text[..*at].ends_with(['=', ',', ':', '@', '{']) || text[..*at].ends_with("file://")
    };
    let mut glued = text.match_indices("/dev/").chain(text.match_indices("/proc/")).map(|(at, _)| at).filter(is_glued);
    let looked: Vec<&str> = glued.by_ref().take(GLUED).map(|at| &text[at..]).collect();
    if glued.next().is_some() {
        // More than are looked at: that is no name of a file.
        return Some("…".to_owned());
    }
    let resolved = places.all(value);
    // What leads elsewhere, as all in `/proc` may, is told by its words.
    let words = (value.starts_with('/') || value.contains("..")).then_some(value);
    let mut paths =
        resolved.iter().map(String::as_str).filter(|path| !path.starts_with(ANYTHING)).chain(words).chain(looked);
    paths.find(|path| is_terminal(path, goes_on)).map(|path| Argument::known(path).shown())
}

/// Whether it is worth a look: most words name nothing of the kind.
fn may_name_one(text: &str) -> bool {
    text.contains("dev/")
        || text.contains("proc/")
        || text.ends_with("/dev")
        || text.ends_with("/proc")
        || (text.contains('/') && is_marked(text))
}

fn is_terminal(path: &str, goes_on: bool) -> bool {
    let mut names: Vec<&str> = Vec::new();
    let mut leaves_own = false;
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        if name == ".." {
            // A link, which leads up from where it leads to.
            leaves_own |= names.pop().is_some_and(|left| OWN.contains(&left));
        } else {
            names.push(name);
        }
    }
    let is_open = |name: &&str| *name == "fd" || is_marked(name);
    if leaves_own && names.iter().any(is_open) {
        return true;
    }
    let is = |name: &str, expected: &str| name == expected || (is_marked(name) && may_match(name, expected));
    match names.as_slice() {
        [dev, rest @ ..] if is(dev, "dev") && is_device(rest, goes_on) => true,
        [proc] if is(proc, "proc") => goes_on,
        [proc, process, rest @ ..] if is(proc, "proc") => {
            let is_own = OWN.contains(process);
            let is_process = is_own || is_marked(process) || process.bytes().all(|byte| byte.is_ascii_digit());
            let is_elsewhere = match rest {
                [] => goes_on,
                ["root" | "cwd", behind @ ..] => behind.contains(&"pts") || behind.iter().any(|name| is_marked(name)),
                // Its own are its own, and what lies behind one is of any directory.
                ["fd", behind @ ..] if is_own => behind.len() > 1,
                _ if is_own => rest.contains(&"fd") && rest.len() > 4,
                _ => rest.iter().any(is_open),
            };
            is_process && is_elsewhere
        }
        _ => false,
    }
}

/// Whether it is one, or the directory of them, of what lies below `/dev`.
fn is_device(names: &[&str], goes_on: bool) -> bool {
    match names {
        [] => goes_on,
        ["fd", _, ..] => names.len() > 2,
        ["console"] => true,
        [name] if is_marked(name) => ["console", "pts"].iter().chain(&VIRTUAL).any(|known| may_match(name, known)),
        [name] if name.starts_with("tty") => name.len() > 3 && name[3..].bytes().all(|byte| byte.is_ascii_digit()),
        [name, ..] => *name == "pts" || (is_marked(name) && may_match(name, "pts")),
    }
}
