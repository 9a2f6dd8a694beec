//! Settings of a shell that change how it reads what follows: history expansion, assignments behind a command, comments, its
//! line editor, where its commands come from. Under any of them the text that is judged is not the text that runs.

use super::argument::{ANYTHING, Argument};
use crate::script::{RawCommand, Word};

/// Letters of `set` and of shells that leave the meaning of every text alone. `H` expands history, `k` takes words behind a
/// command for its environment, and under `P` a `cd ..` leads to what is above the target of a link.
const LETTERS: &str = "aefuxvnbhmtpBCET";
/// The same by name.
const NAMES: [&str; 20] = [
    "allexport",
    "braceexpand",
    "errexit",
    "errtrace",
    "functrace",
    "hashall",
    "ignoreeof",
    "interactive-comments",
    "monitor",
    "noclobber",
    "noexec",
    "noglob",
    "nolog",
    "notify",
    "nounset",
    "onecmd",
    "pipefail",
    "privileged",
    "verbose",
    "xtrace",
];
/// What is read differently for want of a setting. Without a line editor (`emacs`, `vi`) the shell of a session takes what was
/// typed ahead for commands, at a return that runs nothing in one.
const NEEDED: [&str; 3] = ["emacs", "vi", "interactive-comments"];

/// Why `set` is not simply allowed. What stands behind `--`, or behind a word that is no option, is data.
pub(super) fn set(arguments: &[Argument]) -> Option<String> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.marked();
        if text == "--" || text == "-" {
            return None;
        }
        if word.is_dynamic() && text.starts_with(['-', '+', ANYTHING]) {
            return Some("the settings that 'set' changes are known only when it runs".to_owned());
        }
        let is_known = if let Some(letters) = text.strip_prefix('+') {
            // Each `o` takes a name; no other letter is of a setting that is needed.
            words.by_ref().take(letters.matches('o').count()).all(|name| !is_needed(name))
        } else {
            let letters = text.strip_prefix('-')?;
            let is_named = |name: &Argument| name.exact().is_some_and(|name| NAMES.contains(&name));
            letters.chars().all(|letter| letter == 'o' || LETTERS.contains(letter))
                && words.by_ref().take(letters.matches('o').count()).all(is_named)
        };
        if !is_known {
            return Some("'set' changes how the shell reads what follows".to_owned());
        }
    }
    None
}

/// Whether a setting is one that is needed, or perhaps one.
fn is_needed(name: &Argument) -> bool {
    name.exact().is_none_or(|name| NEEDED.contains(&name))
}

/// Whether a cluster of a shell's own options (`-kc`), or a name that its `o` takes from the words behind it, changes how it reads
/// what follows.
pub(super) fn changes_reading(cluster: &str, behind: &[Argument]) -> bool {
    let mut names = behind.iter().take(cluster.matches('o').count());
    let Some(letters) = cluster.strip_prefix('-') else { return cluster.contains('O') || names.any(is_needed) };
    let is_unknown = |name: &Argument| name.exact().is_none_or(|name| !NAMES.contains(&name) && name != "posix");
    letters.contains(['H', 'k', 'O', 'P']) || names.any(is_unknown)
}

/// Whether a line typed at an interactive shell may be another one when it runs: `!word` and `^old^new` stand for what was
/// typed before, which was perhaps judged as data. A nested shell turns that on whatever ours is set to.
pub(super) fn expands_history(text: &str) -> bool {
    let mut carried = false;
    text.lines().any(|line| {
        if line.trim_start().starts_with('^') && line.matches('^').count() > 1 {
            return true;
        }
        // Versions differ in whether a quote goes on from one line to the next.
        expands(line, &mut carried) || expands(line, &mut false)
    })
}

fn expands(line: &str, is_single: &mut bool) -> bool {
    let bytes = line.as_bytes();
    let mut is_double = false;
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        match byte {
            b'\\' if !*is_single => index += 1,
            b'\'' if !is_double => *is_single = !*is_single,
            b'"' if !*is_single => is_double = !is_double,
            b'!' if !*is_single => {
                let before = |back: usize| index.checked_sub(back).map(|at| bytes[at]);
                let harmless = match bytes.get(index + 1) {
                    None | Some(b' ' | b'\t' | b'=' | b'(' | b'"' | b')' | b';' | b'&' | b'|' | b'>') => true,
                    Some(_) => {
                        (before(1) == Some(b'[') && line[index..].contains(']'))
                            || (before(1) == Some(b'$') && before(2).is_some())
                    }
                };
                if !harmless {
                    return true;
                }
            }
            _ => {}
        }
        index += 1;
    }
    false
}

/// Whether `exec` without a command gives the shell that reads these lines another input: it runs what it reads there.
pub(super) fn replaces_input(command: &RawCommand) -> bool {
    let Some(words) = command.words.iter().map(Word::literal).collect::<Option<Vec<_>>>() else { return false };
    let mut is_name = false;
    let rest = words.iter().skip_while(|word| matches!(word.as_str(), "command" | "builtin" | "-p" | "--"));
    let mut rest = rest.skip_while(|word| {
        // `-a` takes the name that the program is told it has.
        let is_value = std::mem::replace(&mut is_name, word.starts_with('-') && word.ends_with('a'));
        is_value || word.starts_with('-') || word.as_str() == "exec"
    });
    let is_bare = rest.next().is_none() && words.iter().any(|word| word == "exec");
    is_bare && (command.juggles_input || command.redirects.iter().any(|redirect| redirect.kind.gives_input()))
}
