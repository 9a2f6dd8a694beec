//! What is asked about though its name is harmless: words that a builtin takes for code, and deletions of what nobody
//! knows.

use super::argument::Argument;
use super::deny::{has_option, operands};
use super::paths::{Places, normalised};
use super::wrappers::WRAPPERS;

/// Builtins that evaluate their words as arithmetic or as names, subscripts and all.
const EVALUATORS: [&str; 17] = [
    "let",
    "declare",
    "typeset",
    "local",
    "readonly",
    "export",
    "test",
    "[",
    "[[",
    "read",
    "unset",
    "wait",
    "getopts",
    "mapfile",
    "readarray",
    "printf",
    "env",
];

/// Builtins that set the variables which their words name.
const SETTERS: [&str; 13] = [
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "read",
    "unset",
    "getopts",
    "mapfile",
    "readarray",
    "printf",
    "let",
    "wait",
];

/// Disks, by the beginnings of their names below `/dev`.
const DISKS: [&str; 11] = ["sd", "nvme", "vd", "hd", "xvd", "mmcblk", "disk", "rdisk", "dm-", "mapper/", "block/"];

/// Whether bash runs a command in `text` where it takes it for a number: `a[$(command)]`.
pub(super) fn is_subscript_with_code(text: &str) -> bool {
    text.find('[').is_some_and(|open| ["$(", "${", "`"].iter().any(|sign| text[open..].contains(sign)))
}

/// The variables that a builtin sets by its words.
pub(super) fn variables_set(name: &str, arguments: &[Argument]) -> Vec<String> {
    if !SETTERS.contains(&name) {
        return Vec::new();
    }
    let base = |word: &Argument| {
        let text = word.marked();
        let text = if name == "printf" { text.strip_prefix("-v").unwrap_or(text) } else { text };
        text.split(['=', '+', '[']).next().unwrap_or_default().to_owned()
    };
    let count = if name == "printf" { 2 } else { arguments.len() };
    let sets = name != "printf" || arguments.first().is_some_and(|word| word.marked().starts_with("-v"));
    arguments.iter().take(if sets { count } else { 0 }).map(base).collect()
}

/// Why a command is not simply allowed, when it is not.
pub(super) fn doubt(name: &str, arguments: &[Argument], places: &Places<'_>) -> Option<String> {
    let unknown = || arguments.iter().any(Argument::is_dynamic);
    let has = |option: &str| arguments.iter().any(|word| word.marked().starts_with(option));
    if EVALUATORS.contains(&name) && arguments.iter().any(|word| is_subscript_with_code(word.marked())) {
        return Some(format!("'{name}' runs a command in the subscript of a variable"));
    }
    match name {
        "hash" if has("-p") => Some("'hash' gives a name to another program".to_owned()),
        "enable" | "bind" | "compgen" | "complete" | "fc" if !arguments.is_empty() => {
            Some(format!("'{name}' changes what commands do, or runs some"))
        }
        "mapfile" | "readarray" if has("-C") => Some(format!("'{name}' runs a command for its lines")),
        "rm" | "shred" if (name == "shred" || has_option(arguments, "rR", "recursive")) && unknown() => {
            Some(format!("what '{name}' deletes is known only when it runs"))
        }
        "chmod" if has_option(arguments, "R", "recursive") && unknown() => {
            Some("what 'chmod' changes is known only when it runs".to_owned())
        }
        "dd" if arguments.iter().any(|word| word.is_dynamic() && !word.marked().starts_with("if=")) => {
            Some("what 'dd' writes to is known only when it runs".to_owned())
        }
        "ln" => operands(arguments)
            .find_map(|word| places.whole(word))
            .map(|what| format!("'ln' gives another name to {what}")),
        "find" => find(arguments, places),
        _ => disk(name, arguments),
    }
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
    let start = arguments
        .iter()
        .skip_while(|word| matches!(word.exact(), Some("-H" | "-L" | "-P")))
        .take_while(|word| !word.marked().starts_with(['-', '(', '!']))
        .find_map(|word| places.whole(word).map(|what| (places.is_own(word), what)));
    let (own, what) = start.or_else(|| {
        let here = Argument::known(".");
        arguments
            .first()
            .is_none_or(|word| word.marked().starts_with('-'))
            .then(|| places.whole(&here).map(|what| (places.is_own(&here), what)))?
    })?;
    let runs = arguments.windows(2).filter(|pair| matches!(pair[0].exact(), Some("-exec" | "-ok")));
    for pair in runs {
        let name = pair[1].exact().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default();
        let hides = name == "env" || WRAPPERS.iter().any(|wrapper| wrapper.names.contains(&name));
        if hides || !(own || READERS.contains(&name)) {
            return Some(format!("'find' runs '{name}' for everything in {what}"));
        }
    }
    None
}

/// A program that is not known to only look at a disk is handed one.
fn disk(name: &str, arguments: &[Argument]) -> Option<String> {
    const LOOKERS: [&str; 14] =
        ["ls", "stat", "file", "test", "[", "[[", "lsblk", "blkid", "df", "echo", "printf", "man", "grep", "git"];
    if LOOKERS.contains(&name) {
        return None;
    }
    arguments.iter().find_map(|word| {
        let text = word.marked();
        let start = text.find("/dev/")?;
        let path = normalised(&text[start..], "/");
        let device = path.strip_prefix("/dev/")?;
        let is_disk = DISKS.iter().any(|disk| device.starts_with(disk));
        is_disk.then(|| format!("'{name}' is handed the disk '{}'", Argument::known(path.clone()).shown()))
    })
}
