//! Programs that end processes, where they end all of them.

use super::argument::{ANY_CHARACTER, ANY_NAME, Argument, is_marked};
use super::deny::{has_option, operands};
use super::paths::Places;

/// Whether a command ends every process that it may, or every one that uses a file system.
pub(super) fn ends_all(name: &str, arguments: &[Argument], places: &Places<'_>) -> bool {
    match name {
        "killall5" => true,
        "kill" => {
            arguments.iter().skip(1).any(|word| is_everybody(word.marked()))
                || arguments.iter().any(|word| names_files(word.marked()))
        }
        "pkill" | "killall" | "skill" => {
            let everything = |word: &Argument| !needs_letters(word.marked());
            let is_user = |word: &Argument| names_user(word.marked());
            // The word behind `-u` is the user.
            let glued = arguments.iter().any(|word| is_user(word) == Some(true));
            let apart = arguments.iter().any(|word| is_user(word) == Some(false));
            let ends_user = (glued || apart) && operands(arguments).count() < 1 + usize::from(apart);
            let others = name == "pkill" && arguments.iter().any(|word| is_inverse(word.marked()));
            others || ends_user || operands(arguments).any(everything)
        }
        "fuser" => {
            // A signal stands in capitals (`-TERM`).
            let is_signal = |word: &Argument| !word.marked().contains(|sign: char| sign.is_ascii_lowercase());
            let own: Vec<Argument> = arguments.iter().filter(|word| !is_signal(word)).cloned().collect();
            has_option(&own, "k", "kill")
                && (has_option(&own, "mc", "mount")
                    || operands(arguments).any(|word| !places.is_own(word) && places.whole(word).is_some()))
        }
        _ => false,
    }
}

/// `-1`, as shells read a number.
fn is_everybody(word: &str) -> bool {
    word.trim().parse::<i64>() == Ok(-1)
}

/// `*`: a file may be named like a process, or like all.
fn names_files(word: &str) -> bool {
    word.strip_prefix('-').unwrap_or(word).starts_with([ANY_NAME, ANY_CHARACTER])
}

/// Whether a word of `pkill` says whose processes are meant, and whether the user is glued to it.
fn names_user(word: &str) -> Option<bool> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let is_one = name.len() > 1 && ["user", "euid", "uid"].iter().any(|known| known.starts_with(name));
        return is_one.then_some(value.is_some());
    }
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
    // A signal stands in capitals (`-USR1`) or figures.
    let is_real = letters.starts_with('U') && !matches!(letters, "URG" | "USR1" | "USR2");
    let at = letters.find('u').or_else(|| is_real.then_some(0))?;
    Some(at + 1 < letters.len())
}

/// Whether a word of `pkill` means all others, and is no option with a value.
fn is_inverse(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let is_first = |at: usize| !letters[..at].contains(['d', 'F', 'g', 'G', 'P', 'r', 's', 't', 'u', 'U']);
    (word.len() > 3 && "--inverse".starts_with(word))
        || (!letters.starts_with('-') && letters.find('v').is_some_and(is_first))
}

/// Whether a pattern needs a letter or a figure that stands for itself: `.+`, `[a-z]`, `$`, `x*` and `x|` match any name.
fn needs_letters(pattern: &str) -> bool {
    // Of each group that is open: whether its last branch needs one, and whether all before that do.
    let mut groups = vec![(false, true)];
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        let needs = match sign {
            // `\w`; and a sign is no letter.
            '\\' => {
                signs.next();
                false
            }
            '[' => {
                signs.next_if_eq(&'^');
                signs.next_if_eq(&']');
                while signs.next().is_some_and(|sign| sign != ']') {}
                false
            }
            '{' => {
                while signs.next_if(|sign| sign.is_ascii_digit() || *sign == ',').is_some() {}
                signs.next_if_eq(&'}');
                false
            }
            '(' => {
                groups.push((false, true));
                continue;
            }
            ')' if groups.len() > 1 => groups.pop().is_some_and(|(last, before)| last && before),
            '|' => {
                if let Some((last, before)) = groups.last_mut() {
                    *before &= std::mem::take(last);
                }
                continue;
            }
            _ => sign.is_alphanumeric() || sign == '_' || is_marked(sign.encode_utf8(&mut [0; 4])),
        };
        let is_optional = match signs.peek() {
            Some('*' | '?') => true,
            Some('{') => matches!(signs.clone().nth(1), Some('0' | ',')),
            Some(_) | None => false,
        };
        if let Some((last, _)) = groups.last_mut() {
            *last |= needs && !is_optional;
        }
    }
    // One that is not closed is no pattern, and what stands in it counts.
    groups.iter().any(|(last, before)| *last && *before)
}
