//! Modes of files that lend the rights of their owner or group to whoever runs them.

use super::argument::Argument;
use super::deny::operands;

/// Whether a mode does, for their owner: as a number or in letters. `for_group` asks the same for their group.
fn lends(mode: &str, for_group: bool) -> bool {
    let (bit, letters) = if for_group { (2, ['g', 'a']) } else { (4, ['u', 'a']) };
    let octal = mode.len() >= 4 && mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let high = octal && mode[..mode.len() - 3].bytes().any(|byte| byte & bit != 0);
    high || mode.split(',').any(|part| {
        part.split_once(['+', '=']).is_some_and(|(who, what)| {
            who.bytes().all(|byte| b"ugoa".contains(&byte))
                && what.contains('s')
                && (who.is_empty() || who.contains(letters))
        })
    })
}

/// Whether `chmod` gives a file such a mode. A file may be named like a number.
pub(super) fn changes(arguments: &[Argument]) -> bool {
    arguments.iter().filter_map(Argument::exact).any(|word| lends(word, false))
        || operands(arguments).next().and_then(Argument::exact).is_some_and(|mode| lends(mode, true))
}

/// Whether `install` does: `-m 4755`, `-Dm4755`, `--mode=u+s`.
pub(super) fn installs(arguments: &[Argument]) -> bool {
    arguments.iter().enumerate().any(|(index, word)| {
        let text = word.marked();
        let glued = if text.starts_with("--") {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            (name.len() > 2 && "--mode".starts_with(name)).then_some(value)
        } else {
            // The first letter that takes a value takes the rest.
            let letters = text.strip_prefix('-').unwrap_or_default();
            letters.find(['m', 'g', 'o', 'S', 't']).and_then(|at| letters[at..].strip_prefix('m'))
        };
        let mode = match glued {
            Some("") => arguments.get(index + 1).map(Argument::marked),
            glued => glued,
        };
        mode.is_some_and(|mode| lends(mode, false) || lends(mode, true))
    })
}
