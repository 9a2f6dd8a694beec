//! Options and their values, and what is left as operands.

use super::super::allow::is_option;
use super::super::argument::Argument;

/// The values of these options, glued to them or in the word behind.
pub(super) fn values_of(arguments: &[Argument], options: &[&str]) -> Vec<Argument> {
    let mut values = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let text = word.marked();
        let Some(option) = options.iter().find(|option| is_option(text, option)) else { continue };
        let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
        let glued = match (text.split_once('=').filter(|_| text.starts_with("--")), letter) {
            (Some((_, value)), _) => value,
            (None, Some(letter)) => text.split_once(letter).map_or("", |(_, value)| value.trim_start_matches('=')),
            (None, None) => "",
        };
        if !glued.is_empty() {
            values.push(Argument::known(glued));
        } else if let Some(value) = arguments.get(index + 1) {
            values.push(value.clone());
        }
    }
    values
}

/// Whether a word is one of these long options (without their dashes), or a beginning of one.
pub(super) fn is_long(word: &str, names: &[&str]) -> bool {
    let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) else { return false };
    let name = long.split('=').next().unwrap_or_default();
    !name.is_empty() && names.iter().any(|known| known.starts_with(name))
}

/// The letters of a cluster of short options, up to the first that takes the rest of the word, and that rest; nothing where the
/// word is no such cluster.
pub(super) fn cluster<'a>(word: &'a str, valued: &str) -> Option<(&'a str, Option<(char, &'a str)>)> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-'))?;
    let Some((position, letter)) = letters.char_indices().find(|(_, letter)| valued.contains(*letter)) else {
        return Some((letters, None));
    };
    let (before, rest) = letters.split_at(position);
    Some((before, Some((letter, &rest[letter.len_utf8()..]))))
}

/// The operands of a command whose short and long options (without their dashes) take a value, also in the word behind.
pub(super) fn positional<'a>(arguments: &'a [Argument], letters: &str, names: &[&str]) -> Vec<&'a Argument> {
    parted(arguments, letters, names).1
}

/// The same behind its options, which stand without the values that are words of their own.
pub(super) fn parted<'a>(
    arguments: &'a [Argument],
    letters: &str,
    names: &[&str],
) -> (Vec<&'a str>, Vec<&'a Argument>) {
    let (mut options, mut operands) = (Vec::new(), Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.marked();
        if text == "--" {
            operands.extend(words.by_ref());
        } else if !text.starts_with('-') || text == "-" {
            operands.push(word);
        } else {
            options.push(text);
            let takes_next = match cluster(text, letters) {
                Some((_, value)) => matches!(value, Some((_, ""))),
                None => !text.contains('=') && is_long(text, names),
            };
            if takes_next {
                words.next();
            }
        }
    }
    (options, operands)
}
