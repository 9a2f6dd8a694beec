//! Programs that tell the clock and the name of the machine, and set them by their words.

use super::argument::Argument;
use super::deny::{has_option, operands};

/// What a command sets, when it does.
pub(super) fn sets(name: &str, arguments: &[Argument]) -> Option<String> {
    let what = match name {
        "date" if sets_clock(arguments) => "the clock",
        "timedatectl" if sets_first(arguments, &[]) => "the clock",
        "hostname" | "domainname" | "nisdomainname" | "ypdomainname"
            if operands(arguments).next().is_some() || has_option(arguments, "F", "file") =>
        {
            "the name"
        }
        "hostnamectl" if sets_first(arguments, &["hostname", "icon-name", "chassis", "deployment", "location"]) => {
            "the name"
        }
        "localectl" if sets_first(arguments, &[]) => "the language",
        _ => return None,
    };
    Some(format!("'{name}' sets {what} of the machine"))
}

/// `-s` by itself or behind letters that take no value, or a time: digits that are no value of an option.
fn sets_clock(arguments: &[Argument]) -> bool {
    let mut is_value = false;
    arguments.iter().map(Argument::marked).any(|word| {
        if std::mem::take(&mut is_value) {
            return false;
        }
        match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => {
                let name = long.split('=').next().unwrap_or_default();
                let takes_next = |option: &str| !name.is_empty() && option.starts_with(name) && !long.contains('=');
                is_value = ["date", "reference", "file"].into_iter().any(takes_next);
                !name.is_empty() && "set".starts_with(name)
            }
            (None, Some(letters)) => {
                let end = letters.find(['s', 'd', 'f', 'r', 'I']).unwrap_or(letters.len());
                is_value = end + 1 == letters.len() && letters[end..].starts_with(['d', 'f', 'r']);
                letters[end..].starts_with('s')
            }
            (None, None) => !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'),
        }
    })
}

/// Whether the first word sets something: `set-time`, or one of these with more behind it.
fn sets_first(arguments: &[Argument], names: &[&str]) -> bool {
    let mut words = operands(arguments).map(Argument::marked);
    words.next().is_some_and(|first| first.starts_with("set-") || (names.contains(&first) && words.next().is_some()))
}
