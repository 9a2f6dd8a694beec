//! Shells and interpreters: the texts that they are handed, and what they read from where nobody sees it.

use super::analyzer::Input;
use super::argument::{Argument, is_marked};
use super::interpreters::{Behind, behind, is_prompting_module, runs_modules};
use super::modes;
use super::paths::normalised;
use super::unwrap::Unwrapped;
use super::wrappers::{INTERPRETER_OPTIONS, SHELLS_WITH_MORE};

/// Devices that are a terminal, by the beginnings of their names.
const TERMINALS: [&str; 6] = ["/dev/tty", "/dev/pts/", "/dev/pty", "/dev/console", "/dev/stdout", "/dev/stderr"];

/// Whether a word names the command's own input, or a terminal, which may be that. One that is no full path may lead there by `..`.
pub(super) fn is_input(word: &Argument) -> bool {
    word.exact().is_some_and(|text| {
        let path = normalised(text, "/");
        text == "-"
            || path == "/dev/stdin"
            || path.starts_with("/dev/fd/")
            || (path.starts_with("/proc/") && path.contains("/fd/"))
            || TERMINALS.iter().any(|device| path.starts_with(device))
    })
}

/// Whether such a word is the command's input for sure, whatever it is.
fn is_own_input(word: &Argument) -> bool {
    matches!(word.exact(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// Words that are joined and handed to a shell.
pub(super) fn texts(words: &[Argument], name: &str, found: &mut Unwrapped) {
    if words.is_empty() {
        return;
    }
    match words.iter().map(Argument::exact).collect::<Option<Vec<&str>>>() {
        Some(words) => found.scripts.push(words.join(" ")),
        None => found.unresolved.push(format!("'{name}' runs what is known only when it runs")),
    }
}

/// `-c text`, in a cluster, glued or long.
pub(super) fn text_option(rest: &[Argument], name: &str, found: &mut Unwrapped) {
    for (index, word) in rest.iter().enumerate() {
        let text = word.marked();
        let long = text.strip_prefix("--").filter(|long| !long.is_empty());
        let glued = match long {
            Some(long) => match long.split_once('=') {
                Some((option, value)) if "command".starts_with(option) => Some(value),
                None if "command".starts_with(long) => Some(""),
                Some(_) | None => None,
            },
            None => text.strip_prefix('-').and_then(|short| Some(&short[short.find('c')? + 1..])),
        };
        match glued {
            Some("") => texts(rest.get(index + 1..index + 2).unwrap_or_default(), name, found),
            Some(value) => texts(&[Argument::known(value)], name, found),
            None => {}
        }
    }
}

/// Other meanings of names, and the texts behind them.
pub(super) fn alias(rest: &[Argument], found: &mut Unwrapped) {
    for word in rest {
        match word.exact().map(|text| text.split_once('=')) {
            Some(Some((name, text))) => {
                found.scripts.push(text.to_owned());
                found.unresolved.push(format!("it gives '{name}' another meaning"));
            }
            Some(None) => {}
            None => found.unresolved.push("'alias' gives a command another meaning".to_owned()),
        }
    }
}

/// Long options of bash, which takes them behind one dash as well.
const LONG_OPTIONS: [&str; 17] = [
    "debug",
    "debugger",
    "dump-po-strings",
    "dump-strings",
    "help",
    "init-file",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "pretty-print",
    "protected",
    "rcfile",
    "restricted",
    "verbose",
    "version",
];

/// `tests/*.sh`: whichever it is, it is no option, and a file of the project as one that is named is.
fn names_script(word: &Argument) -> bool {
    let text = word.marked().trim_start_matches("./");
    is_marked(text) && !word.is_dynamic() && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// A shell: its `-c` text, its script, or its input.
pub(super) fn shell(rest: &[Argument], name: &str, input: &Input, found: &mut Unwrapped) {
    if SHELLS_WITH_MORE.contains(&name) && !rest.is_empty() {
        found.unresolved.push(format!("'{name}' understands more than is read here"));
    }
    let mut index = 0;
    let mut takes_text = false;
    let mut takes_input = false;
    let mut interactive = false;
    while let Some(word) = rest.get(index) {
        if names_script(word) {
            break;
        }
        let Some(text) = word.exact() else {
            found.unresolved.push(format!("what '{name}' runs is known only when it runs"));
            return;
        };
        if text == "--" || text == "-" {
            index += 1;
            break;
        }
        if !text.starts_with(['-', '+']) || text.len() == 1 {
            break;
        }
        index += 1;
        let one_dash = text.strip_prefix('-').filter(|long| LONG_OPTIONS.contains(long));
        if one_dash.is_some() {
            found.unresolved.push(format!("shells read the option '{text}' differently"));
        }
        if let Some(long) = text.strip_prefix("--").or(one_dash) {
            index += usize::from(matches!(long, "rcfile" | "init-file"));
            if matches!(long, "rcfile" | "init-file") {
                found.unresolved.push(format!("'{name}' reads a start-up file"));
            }
            continue;
        }
        takes_text |= text.contains('c');
        takes_input |= text.contains('s');
        interactive |= text.starts_with('-') && text.contains('i');
        if modes::changes_reading(text, &rest[index..]) {
            found.unresolved.push(format!("'{text}' changes how '{name}' reads what it runs"));
        }
        index += text.matches(['o', 'O']).count();
    }
    let operand = rest.get(index);
    match operand {
        _ if takes_text => texts(rest.get(index..=index).unwrap_or_default(), name, found),
        Some(file) if !takes_input && !is_input(file) => {
            if file.is_dynamic() {
                found.unresolved.push(format!("what '{name}' runs is known only when it runs"));
            }
        }
        // A here-document is the input, and the terminal is read all the same.
        Some(file) if !takes_input && !is_own_input(file) => {
            found
                .unresolved
                .push(format!("'{name}' runs what it reads from its terminal, or from another file that is open"));
        }
        Some(_) | None => match input {
            // `!word` runs a line of the user's history again.
            Input::Text(text) if interactive && text.contains('!') => {
                found.unresolved.push(format!("'{name}' runs earlier commands again"));
            }
            Input::Text(text) => found.scripts.push(text.clone()),
            Input::Inherited | Input::Names(_) | Input::Unknown => {
                found.unresolved.push(format!("'{name}' runs what it reads from its input"));
            }
        },
    }
}

/// An interpreter of another language, whose name without a version is `bare`: program text among its words, or on its input.
pub(super) fn interpreter(rest: &[Argument], (name, bare): (&str, &str), letters: &str, found: &mut Unwrapped) {
    let is_python = name.starts_with("py");
    let mut place = Behind::Next;
    let mut has_program = false;
    let mut was_scanned = false;
    let mut options = Vec::new();
    for (index, word) in rest.iter().enumerate() {
        let Some(text) = word.exact() else {
            if word.is_dynamic() {
                found.unresolved.push(format!("an argument of '{name}' is known only when it runs"));
            }
            place = Behind::Next;
            continue;
        };
        let is_text_option = if let Some(long) = text.strip_prefix("--") {
            INTERPRETER_OPTIONS.iter().any(|option| long == &option[2..] || text.starts_with(&format!("{option}=")))
        } else {
            text.strip_prefix('-').is_some_and(|short| short.chars().any(|letter| letters.contains(letter)))
        };
        // A module of Python that takes program text, and programs that come as or from an address.
        let is_text = text.contains("data:") || (name == "deno" && text.contains("://"));
        if is_text_option || is_text || (name == "deno" && text == "eval") {
            found.unresolved.push(format!("'{name}' runs program text that is not read here"));
            return;
        }
        if is_input(word) {
            found.unresolved.push(format!("'{name}' runs what it reads from its input"));
            return;
        }
        // All words behind the first of them are looked at, so that those behind a later one are as well.
        let names_other = is_python && !was_scanned && runs_modules(text);
        was_scanned |= names_other;
        let mut further = rest[index..].iter().map(Argument::marked);
        if is_python && (is_prompting_module(text) || (names_other && further.any(is_prompting_module))) {
            found.unresolved.push(format!("'{name}' runs program text that is not read here"));
            return;
        }
        let is_option = text.starts_with('-');
        if is_option && place != Behind::Value {
            options.push(text);
        }
        let own = text.split(['W', 'X', 'm']).next().unwrap_or_default();
        let goes_on = (is_python && is_option && !text.starts_with("--") && own.contains('i'))
            || (name.starts_with("node") && matches!(text, "-i" | "--interactive"));
        if goes_on {
            found.unresolved.push(format!("'{name}' runs what it reads from its input"));
            return;
        }
        has_program |= !is_option && place == Behind::Perhaps;
        let is_value = place != Behind::Next;
        if !(is_value || is_option || (matches!(name, "deno" | "bun") && text == "run")) {
            return;
        }
        // A module is what runs: what stands behind it is its own.
        if is_value && !is_option && is_python && rest[index - 1].marked().ends_with('m') {
            return;
        }
        place = if is_option { behind(bare, text) } else { Behind::Next };
    }
    let shows = |text: &&str| matches!(*text, "--version" | "--test" | "-V" | "--help" | "-h" | "-m");
    let asks_only = options.iter().any(|text| shows(text) || (*text == "-v" && !is_python));
    let has_program = has_program || rest.iter().any(|word| word.exact().is_none());
    if !asks_only && !has_program {
        found.unresolved.push(format!("'{name}' runs what it reads from its input"));
    }
}
