//! `env`: its own options and settings stand before the command that it starts.

use super::argument::Argument;
use super::shells::texts;
use super::unwrap::{Layer, Unwrapped};
use super::wrappers::FLAGS;

/// What a call of `env` starts, and what it sets for that.
pub(super) fn env(rest: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    let moves = || "'env' starts a program in another directory, or looks for it in others".to_owned();
    let mut start = 0;
    while let Some(text) = rest.get(start).and_then(Argument::exact) {
        if let Some(long) = text.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, glued) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            match name {
                "split-string" if !glued => return split(&rest[start + 1..], found),
                "unset" => start += usize::from(!glued),
                "chdir" => {
                    found.unresolved.push(moves());
                    start += usize::from(!glued);
                }
                _ if name.starts_with(['s', 'c']) || !(glued || FLAGS.contains(&name)) => {
                    found.unresolved.push("an option of 'env' is not known".to_owned());
                    return;
                }
                _ => {}
            }
        } else if let Some(letters) = text.strip_prefix('-') {
            // The first letter with a value takes the rest of the word, or the next one.
            if let Some((position, letter)) = letters.char_indices().find(|(_, letter)| "SuCaPLU".contains(*letter)) {
                match letter {
                    'S' if letters == "S" => return split(&rest[start + 1..], found),
                    'S' => {
                        found.unresolved.push("'env -S' splits a text into a command".to_owned());
                        return;
                    }
                    'C' | 'P' => found.unresolved.push(moves()),
                    _ => {}
                }
                start += usize::from(position + 1 == letters.len());
            }
        } else if let Some((name, _)) = text.split_once('=') {
            found.assigned.push(name.to_owned());
        } else {
            break;
        }
        start += 1;
    }
    let Some(command) = rest.get(start..).filter(|command| !command.is_empty()) else { return };
    if command[0].is_dynamic() {
        found.unresolved.push("what 'env' starts is known only when it runs".to_owned());
    }
    found.transparent = true;
    found.inner.push(Layer {
        arguments: command.to_vec(),
        has_terminal_input: layer.has_terminal_input,
        restated: false,
        silent: false,
    });
}

/// `env -S text`: the text is split by rules of its own (`\_` is a blank in it).
fn split(words: &[Argument], found: &mut Unwrapped) {
    if words.iter().any(|word| word.marked().contains(['\\', '$'])) {
        found.unresolved.push("'env -S' splits a text into a command".to_owned());
    }
    texts(words, "env -S", found);
}
