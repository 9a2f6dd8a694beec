//! `env`: its own options and settings stand before the command that it starts.

use super::argument::Argument;
use super::unwrap::{Layer, Unwrapped};
use super::wrappers::FLAGS;

/// 8 texts, each of which hands over the next.
const SPLITS: usize = 8;

/// What a call of `env` starts, and what it sets for that.
pub(super) fn env(rest: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    // What `-S` splits stands in the place of its text, and is read like the words behind it.
    let mut words = rest.to_vec();
    for _ in 0..SPLITS {
        match read(&words, layer, found) {
            Some(next) => words = next,
            None => return,
        }
    }
    found.unresolved.push("'env -S' splits a text into a command".to_owned());
}

/// Reads the words up to a `-S`; the words that there are with its text split.
fn read(rest: &[Argument], layer: &Layer, found: &mut Unwrapped) -> Option<Vec<Argument>> {
    let moves = || "'env' starts a program in another directory, or looks for it in others".to_owned();
    let mut start = 0;
    while let Some(word) = rest.get(start) {
        if sets_one(word) {
            found.assigned.push(word.marked().to_owned());
            start += 1;
            continue;
        }
        let Some(text) = word.exact() else { break };
        if let Some(long) = text.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, glued) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            match name {
                "split-string" if !glued => return split(&rest[start + 1..], found),
                "unset" if glued => found.assigned.extend(long.split_once('=').map(|(_, name)| name.to_owned())),
                "unset" => {
                    start += 1;
                    found.assigned.extend(rest.get(start).map(|name| name.marked().to_owned()));
                }
                // Where it is the only name that begins so, the shorter one is it.
                "ignore-environment" | "ignore" => found.clears = true,
                "chdir" => {
                    found.unresolved.push(moves());
                    start += usize::from(!glued);
                }
                // Any beginning of a name stands for it.
                _ if name.starts_with(['s', 'c', 'u']) || !(glued || FLAGS.contains(&name)) => {
                    found.unresolved.push("an option of 'env' is not known".to_owned());
                    return None;
                }
                _ => {}
            }
        } else if let Some(letters) = text.strip_prefix('-') {
            // The first letter with a value takes the rest of the word, or the next one.
            let flags = letters.find(|letter| "SuCaPLU".contains(letter)).map_or(letters, |end| &letters[..end]);
            found.clears |= letters.is_empty() || flags.contains('i');
            if let Some((position, letter)) = letters.char_indices().find(|(_, letter)| "SuCaPLU".contains(*letter)) {
                match letter {
                    'S' if letters == "S" => return split(&rest[start + 1..], found),
                    'S' => {
                        found.unresolved.push("'env -S' splits a text into a command".to_owned());
                        return None;
                    }
                    'C' | 'P' => found.unresolved.push(moves()),
                    'u' => {
                        let glued = Some(&letters[position + 1..]).filter(|name| !name.is_empty());
                        found.assigned.extend(glued.or(rest.get(start + 1).map(Argument::marked)).map(str::to_owned));
                    }
                    _ => {}
                }
                start += usize::from(position + 1 == letters.len());
            }
        } else if text.contains('=') {
            found.assigned.push(text.to_owned());
        } else {
            break;
        }
        start += 1;
    }
    let command = rest.get(start..).filter(|command| !command.is_empty())?;
    if command[0].is_dynamic() {
        found.unresolved.push("what 'env' starts is known only when it runs".to_owned());
    }
    found.transparent = true;
    found.inner.push(Layer::started(command.to_vec()).reading_as(layer));
    None
}

/// Whether it gives one variable a value that is not known (`X="$y"`).
fn sets_one(word: &Argument) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    word.is_dynamic() && word.is_one() && word.marked().split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// `env -S text words`: the text is split by rules of its own (`\_` is a blank in it, and `#` begins a comment).
fn split(words: &[Argument], found: &mut Unwrapped) -> Option<Vec<Argument>> {
    let (text, rest) = words.split_first()?;
    let pieces = text.exact().and_then(pieces);
    if pieces.is_none() || text.marked().contains(['\\', '$', '#']) {
        found.unresolved.push("'env -S' splits a text into a command".to_owned());
    }
    Some(pieces?.into_iter().map(Argument::known).chain(rest.iter().cloned()).collect())
}

/// The words of a text, which quotes of either kind hold together; `None` where one does not end.
fn pieces(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_ascii_whitespace() => words.extend(word.take()),
            (_, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
