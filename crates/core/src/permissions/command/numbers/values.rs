//! What words and their parts are as numbers: which variables they hold, and what nobody knows.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

use super::super::argument::Argument;
use super::super::variables::{self, Becomes};
use crate::script::{Part, RawCommand, Script, Word, names_in, sets};

/// What a variable is given.
#[derive(Debug)]
pub(super) enum Value {
    /// What these variables hold, and else digits.
    Of(Vec<String>),
    /// Nobody knows.
    Unknown,
}

/// A script, the functions that are known so far, its own included, and the programs that were taken to print numbers.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) script: &'a Script,
    pub(super) functions: &'a HashSet<String>,
    pub(super) trusted: &'a RefCell<BTreeSet<String>>,
}

/// What a word is as a number. `expands_patterns` says that it may become names of files.
pub(super) fn value_of(word: &Word, seen: Seen<'_>, expands_patterns: bool) -> Value {
    let mut names = Vec::new();
    let is_joined = word.parts.windows(2).any(|pair| joins(&pair[0], &pair[1]));
    for part in &word.parts {
        let is_pattern =
            expands_patterns && matches!(part, Part::Text { text, quoted: false } if text.contains(['*', '?']));
        match value_of_part(part, seen) {
            Value::Of(of_part) if !is_pattern && !is_joined => names.extend(of_part),
            Value::Of(_) | Value::Unknown => return Value::Unknown,
        }
    }
    Value::Of(names)
}

/// Whether two parts of a text may make a name together, or a name and what sets it, that neither holds by itself.
fn joins(before: &Part, after: &Part) -> bool {
    let is_known = |part: &Part| matches!(part, Part::Text { .. } | Part::Number { .. } | Part::Output { .. });
    match (before, after) {
        (Part::Text { text, .. }, after) if !is_known(after) => {
            let is_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
            let start = text.trim_end_matches(is_name).len();
            text[start..].starts_with(|first: char| !first.is_ascii_digit())
        }
        (before, Part::Text { text, .. }) if !is_known(before) => {
            text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic()) || assigns(text)
        }
        (Part::Text { text: before, .. }, Part::Text { text: after, .. }) => {
            before.ends_with(|last: char| last == '_' || last.is_ascii_alphanumeric())
                && (after.starts_with(|first: char| first == '_' || first.is_ascii_alphanumeric()) || assigns(after))
        }
        (before, after) => !is_known(before) && !is_known(after),
    }
}

/// Whether a text begins with an operator that sets what stands in front of it.
fn assigns(text: &str) -> bool {
    let text = text.trim_start();
    let operators = ["<<", ">>", "+", "-", "*", "/", "%", "&", "^", "|"];
    operators.iter().any(|operator| text.strip_prefix(operator).is_some_and(|rest| rest.starts_with('='))) || sets(text)
}

pub(super) fn value_of_part(part: &Part, seen: Seen<'_>) -> Value {
    match part {
        Part::Text { text, .. } => value_of_text(text),
        Part::Variable { name, .. } => Value::Of(vec![name.clone()]),
        Part::Number { .. } => Value::Of(Vec::new()),
        Part::Output { .. } if is_number(part, seen) => Value::Of(Vec::new()),
        Part::Output { .. } | Part::Pipe | Part::Altered { .. } | Part::Dynamic { .. } => Value::Unknown,
    }
}

pub(super) fn value_of_argument(word: &Argument) -> Value {
    word.exact().map_or(Value::Unknown, value_of_text)
}

fn value_of_text(text: &str) -> Value {
    if text.contains('[') {
        return Value::Unknown;
    }
    let names = names_in(text);
    let names: Vec<String> = names.read.into_iter().chain(names.set).collect();
    // Such a text may set them: `IFS=1`.
    if names.iter().any(|name| variables::changes(name, Becomes::Unknown)) { Value::Unknown } else { Value::Of(names) }
}

/// Whether the commands of a substitution print a number and nothing else, whatever they read.
pub(super) fn is_number(part: &Part, seen: Seen<'_>) -> bool {
    let Part::Output { first, end, .. } = *part else { return false };
    let Some((last, before)) = seen.script.commands.get(first..end).and_then(<[RawCommand]>::split_last) else {
        return false;
    };
    // Anything but one pipeline prints more than its end does.
    if !before.iter().all(|command| command.piped_out) || last.piped_out {
        return false;
    }
    let Some(words) = last.words.iter().map(|word| word.plain()).collect::<Option<Vec<_>>>() else { return false };
    if let Some(name) = words.first() {
        seen.trusted.borrow_mut().insert((*name).to_owned());
    }
    let is_option = |word: &&str| word.starts_with('-');
    match words.as_slice() {
        ["wc", options @ ..] => !options.is_empty() && options.iter().all(is_option),
        ["nproc", options @ ..] => options.iter().all(is_option),
        ["seq", words @ ..] => words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')),
        ["date", format] => format.strip_prefix('+').is_some_and(|format| {
            format.split('%').all(|piece| ["", "s", "N", "Y", "m", "d", "H", "M", "S", "j"].contains(&piece))
        }),
        ["grep", "-c", rest @ ..] => {
            rest.len() <= 2 && !rest.iter().any(|word| word.contains(['*', '?', '[']) || is_option(word))
        }
        ["id", "-u" | "-g"] | ["tput", "cols" | "lines"] | ["stat", "-c", "%s" | "%Y", _] => true,
        ["git", "rev-list", "--count", ..] => true,
        _ => false,
    }
}
