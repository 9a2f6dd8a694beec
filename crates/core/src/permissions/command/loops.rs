//! What a variable is in each turn of a `for` whose words are known.

use super::script::{Part, RawCommand, RedirectTarget, Script, Word};

/// The first 100 loops of a script are looked at.
const LOOPS: usize = 100;
/// 32 words of one loop; of more none is known.
const WORDS: usize = 32;
/// 64 turns of all loops around a command, each of which is looked at.
const TURNS: usize = 64;

/// Builtins whose effect on what stands behind them depends on their words: what they do in one turn they find done in the next.
const LASTING: [&str; 24] = [
    ".",
    "alias",
    "builtin",
    "cd",
    "chdir",
    "command",
    "declare",
    "eval",
    "exec",
    "export",
    "getopts",
    "hash",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
];

/// The values of one loop's variable.
pub(super) struct Values<'a> {
    name: &'a str,
    /// The commands of its body.
    body: std::ops::Range<usize>,
    words: Vec<String>,
}

/// The values of the variables in one turn of the loops around a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn<'v> {
    values: [Option<(&'v str, &'v str)>; 2],
}

impl Turn<'_> {
    /// Of no loop.
    pub(super) const NONE: Self = Self { values: [None; 2] };
}

impl<'v> Turn<'v> {
    pub(super) fn value(self, name: &str) -> Option<&'v str> {
        self.values.iter().flatten().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// The loops of a script of which all words are known. `is_fixed` tells whether nothing else sets a variable, `exact` what a word
/// becomes.
pub(super) fn values<'a>(
    script: &'a Script,
    is_fixed: impl Fn(&str) -> bool,
    exact: impl Fn(&Word, usize) -> Option<Vec<String>>,
) -> Vec<Values<'a>> {
    let mut found = Vec::new();
    for one in script.loops.iter().take(LOOPS).filter(|one| one.end != usize::MAX) {
        let Some(name) = one.variable.as_deref().filter(|name| is_fixed(name)) else { continue };
        let mut words: Vec<String> = Vec::new();
        let is_known = script.given.iter().filter(|(given, _)| given == name).all(|(_, word)| {
            let more = exact(word, one.first).unwrap_or_default();
            let is_known = !more.is_empty();
            for word in more {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            is_known && words.len() <= WORDS
        });
        if is_known && !words.is_empty() {
            found.push(Values { name, body: one.body..one.end, words });
        }
    }
    found
}

/// The turns in which a command is looked at.
pub(super) fn turns<'v>(loops: &'v [Values<'_>], command: &RawCommand, index: usize) -> Vec<Turn<'v>> {
    let name = command.words.first().map(|word| word.plain());
    let lasts = match name {
        Some(Some(name)) => LASTING.contains(&name),
        Some(None) => true,
        None => false,
    };
    let around = loops.iter().filter(|one| one.body.contains(&index) && !lasts && reads(command, one.name));
    let around: Vec<_> = around.collect();
    let [first, rest @ ..] = around.as_slice() else { return vec![Turn::NONE] };
    if rest.len() > 1 || around.iter().map(|one| one.words.len()).product::<usize>() > TURNS {
        return vec![Turn::NONE];
    }
    let mut turns = Vec::new();
    for word in &first.words {
        let value = Some((first.name, word.as_str()));
        match rest {
            [second, ..] => {
                let others = second.words.iter().map(|word| Some((second.name, word.as_str())));
                turns.extend(others.map(|other| Turn { values: [value, other] }));
            }
            [] => turns.push(Turn { values: [value, None] }),
        }
    }
    turns
}

/// Whether a word of a command, or a place to which it is redirected, holds that variable.
fn reads(command: &RawCommand, name: &str) -> bool {
    let targets = command.redirects.iter().filter_map(|redirect| match &redirect.target {
        RedirectTarget::Word(word) => Some(word),
        RedirectTarget::Body(_) => None,
    });
    let is_it = |part: &Part| matches!(part, Part::Variable { name: read, .. } if read == name);
    command.words.iter().chain(targets).any(|word| word.parts.iter().any(is_it))
}
