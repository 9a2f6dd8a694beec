//! What is asked about though its name is harmless: words that a builtin takes for code, and deletions of what nobody
//! knows.

use super::argument::{ANYTHING, Argument, is_marked};
use super::builtins::EVALUATORS;
use super::deny::{has_option, operands};
use super::paths::{Places, normalised};
use super::shells::is_input;
use super::variables::may_become_poison;
use super::wrappers::WRAPPERS;
use super::{harnesses, modes};

/// 16 devices inside one word are looked at; nobody writes more.
const GLUED_DEVICES: usize = 16;
/// Disks, by the beginnings of their names below `/dev`.
const DISKS: [&str; 11] = ["sd", "nvme", "vd", "hd", "xvd", "mmcblk", "disk", "rdisk", "dm-", "mapper/", "block/"];

/// Programs that only look at a disk that they are handed.
pub(super) const LOOKERS: [&str; 14] =
    ["ls", "stat", "file", "test", "[", "[[", "lsblk", "blkid", "df", "echo", "printf", "man", "grep", "git"];

/// Whether bash runs a command in `text` where it takes it for a number: `a[$(command)]`.
pub(super) fn is_subscript_with_code(text: &str) -> bool {
    text.find('[').is_some_and(|open| ["$(", "${", "`"].iter().any(|sign| text[open..].contains(sign)))
}

/// Why a command is not simply allowed, when it is not.
pub(super) fn doubt(name: &str, is_function: bool, arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    let leads_anywhere = |word: &Argument| places.all(word.marked()).iter().any(|path| path.starts_with(ANYTHING));
    let unknown = || arguments.iter().any(Argument::is_dynamic) || operands(arguments).any(leads_anywhere);
    if EVALUATORS.contains(&name) && arguments.iter().any(|word| is_subscript_with_code(word.marked())) {
        return Some(format!("'{name}' runs a command in the subscript of a variable"));
    }
    if let Some(reason) = names_unknown(name, arguments) {
        return Some(reason);
    }
    if has_unknown_option(name, arguments) {
        return Some(format!(
            "an option of '{name}' is known only when it runs, and may run a command or set a variable"
        ));
    }
    let is_variable_test = |word: &Argument| word.exact() == Some("-v");
    match name {
        "test" | "[" | "[[" if arguments.windows(2).any(|pair| is_variable_test(&pair[0]) && pair[1].is_dynamic()) => {
            Some(format!(
                "'{name}' takes what is known only when it runs for a variable's name, which may run a command"
            ))
        }
        "declare" | "typeset" | "local" if arguments.iter().any(|word| word.may_have_letter('n')) => {
            Some(format!("'{name}' gives a variable another name"))
        }
        "hash" if arguments.iter().any(|word| word.may_have_letter('p')) => {
            Some("'hash' gives a name to another program".to_owned())
        }
        "fc" => Some("'fc' runs earlier commands again".to_owned()),
        "set" => modes::set(arguments),
        "history"
            if arguments
                .iter()
                .any(|word| word.is_dynamic() || word.may_have_letter('s') || word.may_have_letter('p')) =>
        {
            Some("'history' makes up or expands earlier commands".to_owned())
        }
        "enable" | "bind" | "compgen" | "complete" if !arguments.is_empty() => {
            Some(format!("'{name}' changes what commands do, or runs some"))
        }
        "stty" if !arguments.iter().all(is_harmless_setting) => {
            Some("'stty' changes what keys and lines on the terminal are".to_owned())
        }
        // By themselves they put the terminal in order.
        "tset" | "reset" if !arguments.is_empty() => {
            Some(format!("'{name}' changes what keys on the terminal are, or prints commands for a shell"))
        }
        "mapfile" | "readarray" if arguments.iter().any(|word| word.may_have_letter('C')) => {
            Some(format!("'{name}' runs a command for its lines"))
        }
        "rm" if arguments.iter().take_while(|word| word.marked() != "--").any(Argument::is_unknown_option) => {
            Some("an option of 'rm' is known only when it runs".to_owned())
        }
        "rm" | "shred" if (name == "shred" || has_option(arguments, "rR", "recursive")) && unknown() => {
            Some(format!("what '{name}' deletes is known only when it runs"))
        }
        "cmake"
            if matches!(arguments.get(1).and_then(Argument::exact), Some("rm" | "remove_directory")) && unknown() =>
        {
            Some("what 'cmake' deletes is known only when it runs".to_owned())
        }
        "chmod" if has_option(arguments, "R", "recursive") && unknown() => {
            Some("what 'chmod' changes is known only when it runs".to_owned())
        }
        "dd" if arguments.iter().any(|word| word.is_dynamic() && !word.marked().starts_with("if=")) => {
            Some("what 'dd' writes to is known only when it runs".to_owned())
        }
        "tar" | "bsdtar" | "gtar" if extracts_anywhere(arguments) => {
            Some(format!("'{name}' writes where the names in the archive say, wherever that is"))
        }
        "unzip" if arguments.iter().any(|word| word.may_have_letter(':')) => {
            Some("'unzip -:' writes where the names in the archive say, wherever that is".to_owned())
        }
        "ln" if operands(arguments).any(is_input) => Some("'ln' gives another name to what is read there".to_owned()),
        "ln" => operands(arguments)
            .find_map(|word| places.whole(word))
            .map(|what| format!("'ln' gives another name to {what}")),
        "find" => find(arguments, places),
        _ => disk(name, is_function, arguments, places),
    }
}

/// Whether a setting of the terminal leaves alone which characters its programs read.
fn is_harmless_setting(word: &Argument) -> bool {
    let known = ["-a", "--all", "-g", "--save", "size", "speed", "sane", "echo", "-echo", "rows", "cols", "columns"];
    word.exact().is_some_and(|word| known.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a builtin is given an option that nobody knows, where one of its options runs a command, or names a variable or a program.
fn has_unknown_option(name: &str, arguments: &[Argument]) -> bool {
    let own = || arguments.iter().take_while(|word| word.marked() != "--");
    match name {
        "hash" | "jobs" => own().any(|word| is_marked(word.marked())),
        "declare" | "typeset" | "local" | "export" | "readonly" | "unset" | "read" | "mapfile" | "readarray"
        | "getopts" | "wait" => own().any(Argument::is_unknown_option),
        // Its options stand in front; `-v` takes the name of a variable, and a format has signs that no name has.
        "printf" => arguments.split_first().is_some_and(|(first, behind)| {
            let text = first.marked();
            let is_name = |sign: char| sign == '_' || sign == ANYTHING || sign.is_ascii_alphanumeric();
            first.is_unknown_option()
                || (text.starts_with(ANYTHING)
                    && !behind.is_empty()
                    && text.split(['[', ']']).next().unwrap_or_default().chars().all(is_name))
        }),
        _ => false,
    }
}

/// Builtins that are handed the name of a variable that nobody knows: a subscript in it may run a command, and `PATH` may be
/// that name.
fn names_unknown(name: &str, arguments: &[Argument]) -> Option<String> {
    let is_unknown = |word: &Argument| {
        let text = word.marked();
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        name.contains(ANYTHING) || may_become_poison(name)
    };
    let operands = || arguments.iter().filter(|word| !word.marked().starts_with('-'));
    let found = match name {
        "declare" | "typeset" | "local" | "readonly" | "export" | "unset" | "mapfile" | "readarray" | "getopts" => {
            operands().any(is_unknown)
        }
        "printf" => arguments.windows(2).take(1).any(|pair| pair[0].exact() == Some("-v") && is_unknown(&pair[1])),
        "wait" => arguments.windows(2).any(|pair| pair[0].may_have_letter('p') && is_unknown(&pair[1])),
        "read" => {
            // The last letter of `-rp` takes the next word.
            let takes = |word: &Argument| {
                word.exact()
                    .is_some_and(|text| text.starts_with('-') && text.ends_with(['p', 'd', 'i', 'n', 'N', 't', 'u']))
            };
            let mut after_option = false;
            arguments.iter().any(|word| {
                let is_value = std::mem::replace(&mut after_option, takes(word));
                !is_value && is_unknown(word) && !word.marked().starts_with('-')
            })
        }
        _ => false,
    };
    found.then(|| format!("the name of a variable that '{name}' is given is known only when it runs"))
}

/// A command for every file of the machine or of home, or one that hides what it does for those of the project.
fn find(arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    const READERS: [&str; 16] = [
        "grep",
        "egrep",
        "fgrep",
        "cat",
        "ls",
        "wc",
        "head",
        "tail",
        "file",
        "stat",
        "echo",
        "printf",
        "du",
        "md5sum",
        "sha256sum",
        "test",
    ];
    if arguments.iter().any(|word| word.exact() == Some("-files0-from")) {
        return Some("where 'find' looks is known only when it runs".to_owned());
    }
    let (own, what) = searched_whole(arguments, places)?;
    let runs = arguments.windows(2).filter(|pair| matches!(pair[0].exact(), Some("-exec" | "-ok")));
    for pair in runs {
        let name = pair[1].exact().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default();
        let hides = name == "env"
            || harnesses::NAMES.contains(&name)
            || WRAPPERS.iter().any(|wrapper| wrapper.names.contains(&name));
        if hides || !(own || READERS.contains(&name)) {
            return Some(format!("'find' runs '{name}' for everything in {what}"));
        }
    }
    None
}

/// What a `find` with these words goes through whole of the machine, of home or of the project, and whether it is the project.
pub(super) fn searched_whole(arguments: &[Argument], places: &Places<'_>) -> Option<(bool, String)> {
    let start = arguments
        .iter()
        .skip_while(|word| matches!(word.exact(), Some("-H" | "-L" | "-P")))
        .take_while(|word| !word.marked().starts_with(['-', '(', '!']))
        .find_map(|word| places.whole(word).map(|what| (places.is_own(word), what)));
    start.or_else(|| {
        let here = Argument::known(".");
        arguments
            .first()
            .is_none_or(|word| word.marked().starts_with('-'))
            .then(|| places.whole(&here).map(|what| (places.is_own(&here), what)))?
    })
}

/// Whether tar extracts files by the names that they have, absolute ones too.
fn extracts_anywhere(arguments: &[Argument]) -> bool {
    let letters = |letter: char| {
        let is_bundle = |word: &Argument| !word.marked().starts_with('-') && word.marked().contains(letter);
        // Behind these stands a file or a directory.
        let is_option = |word: &Argument| {
            let letters =
                word.marked().strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
            letters.split_inclusive(['C', 'f', 'I', 'T', 'X']).next().unwrap_or_default().contains(letter)
        };
        arguments.first().is_some_and(is_bundle) || arguments.iter().any(is_option)
    };
    let is_long = |word: &Argument, full: &str| word.marked().len() > 3 && full.starts_with(word.marked());
    let is_absolute = letters('P') || arguments.iter().any(|word| is_long(word, "--absolute-names"));
    let extracts = letters('x') || arguments.iter().any(|word| is_long(word, "--extract") || word.marked() == "--get");
    is_absolute && extracts
}

/// A program that is not known to only look at a disk is handed one.
fn disk(name: &str, is_function: bool, arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    if LOOKERS.contains(&name) && !is_function {
        return None;
    }
    let in_devices = places.entered().iter().any(|directory| directory.starts_with("/dev"));
    arguments.iter().filter(|word| in_devices || word.marked().contains("dev/")).find_map(|word| {
        let text = word.marked();
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        if glued_devices(text).nth(GLUED_DEVICES).is_some() {
            return Some(format!("'{name}' is handed more devices in one word than are looked at"));
        }
        let glued = glued_devices(text).map(|position| normalised(&text[position..], "/"));
        let paths = places.all(value).into_iter().chain(glued);
        let disk = paths.into_iter().find(|path| {
            path.strip_prefix("/dev/").is_some_and(|device| DISKS.iter().any(|disk| device.starts_with(disk)))
        })?;
        Some(format!("'{name}' is handed the disk '{}'", Argument::known(disk).shown()))
    })
}

/// Where devices begin inside a word, behind an option or a sign: `-o/dev/sda`, `raw,file=/dev/sda`. What stands behind a name is
/// a directory of that name (`packages/dev/sdk`).
fn glued_devices(text: &str) -> impl Iterator<Item = usize> {
    // Behind the first slash only a sign counts, so no position needs more than the character in front of it.
    let first_slash = text.find('/').unwrap_or(text.len());
    text.match_indices("/dev/").map(|(position, _)| position).filter(move |position| {
        let before = &text[..*position];
        let is_option = text.starts_with('-') && *position > 0 && *position <= first_slash;
        is_option || before.ends_with(|sign: char| !sign.is_alphanumeric() && !"._-/~".contains(sign))
    })
}
