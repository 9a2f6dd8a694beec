//! What a variable is in each turn of a `for` whose words are known, or are patterns for names of files.

use std::cell::Cell;

use crate::script::{Part, RawCommand, RedirectTarget, Script, Word};

/// The first 100 loops of a script are looked at.
const LOOPS: usize = 100;
/// 32 words of one loop; of more none is known.
const WORDS: usize = 32;
/// 2 loops around a command, with 64 turns and 4,000 words in all of them.
const AROUND: usize = 2;
const TURNS: usize = 64;
const TURN_WORDS: usize = 4_000;
/// 256 times a command of a script is looked at once more.
const LOOKS: usize = 256;

/// Builtins whose effect on what stands behind them depends on their words: what they do in one turn they find done in the next. Of those
/// that lead somewhere all turns are followed, from wherever the ones before may have led.
const LASTING: [&str; 24] = [
    ".",
    "alias",
    "builtin",
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
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
    "typeset",
    "unalias",
    "unset",
];

/// The values of one loop's variable.
struct Values<'a> {
    name: &'a str,
    /// The commands of its body.
    body: std::ops::Range<usize>,
    /// With the markers of [`super::argument`] for patterns.
    words: Vec<String>,
}

/// The values of the variables in one turn of the loops around a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn<'v> {
    values: [Option<(&'v str, &'v str)>; AROUND],
}

impl Turn<'_> {
    /// Of no loop.
    pub(super) const NONE: Self = Self { values: [None; AROUND] };
}

impl<'v> Turn<'v> {
    pub(super) fn value(self, name: &str) -> Option<&'v str> {
        self.values.iter().flatten().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// The loops of a script of which all words are known.
#[derive(Default)]
pub(super) struct Loops<'a> {
    known: Vec<Values<'a>>,
    /// How many commands were looked at once more.
    looks: Cell<usize>,
}

impl<'a> Loops<'a> {
    /// `is_fixed` tells whether nothing else sets a variable, `named` what a word becomes.
    pub(super) fn of(
        script: &'a Script,
        is_fixed: impl Fn(&str) -> bool,
        named: impl Fn(&Word, usize) -> Option<Vec<String>>,
    ) -> Self {
        let mut known = Vec::new();
        for one in script.loops.iter().take(LOOPS).filter(|one| one.end != usize::MAX) {
            let Some(name) = one.variable.as_deref().filter(|name| is_fixed(name)) else { continue };
            let mut words: Vec<String> = Vec::new();
            let is_known = script.given.iter().filter(|(given, _)| given == name).all(|(_, word)| {
                let more = named(word, one.first).unwrap_or_default();
                let is_known = !more.is_empty();
                for word in more {
                    if !words.contains(&word) {
                        words.push(word);
                    }
                }
                is_known && words.len() <= WORDS
            });
            if is_known && !words.is_empty() {
                known.push(Values { name, body: one.body..one.end, words });
            }
        }
        Self { known, looks: Cell::new(0) }
    }

    /// The turns in which a command is looked at: each, where it reads a variable of a loop around it.
    pub(super) fn turns(&self, command: &RawCommand, index: usize) -> Vec<Turn<'_>> {
        let first = command.words.first();
        let lasts = first.is_some_and(|word| word.plain().is_none_or(|name| LASTING.contains(&name)));
        let is_around = |one: &&Values<'_>| !lasts && one.body.contains(&index) && reads(command, one.name);
        let around: Vec<_> = self.known.iter().filter(is_around).collect();
        let mut turns = vec![Turn::NONE];
        let count = around.iter().fold(1, |count: usize, one| count.saturating_mul(one.words.len()));
        let looks = self.looks.get() + count - 1;
        if around.len() > AROUND || count > TURNS || count * command.words.len() > TURN_WORDS || looks > LOOKS {
            return turns;
        }
        self.looks.set(looks);
        for (at, one) in around.into_iter().enumerate() {
            let before = std::mem::take(&mut turns);
            for turn in before {
                for word in &one.words {
                    let mut turn = turn;
                    turn.values[at] = Some((one.name, word));
                    turns.push(turn);
                }
            }
        }
        turns
    }
}

/// Whether a word of a command, or a place to which it is redirected, holds that variable.
fn reads(command: &RawCommand, name: &str) -> bool {
    let targets = command.redirects.iter().filter_map(|redirect| match &redirect.target {
        RedirectTarget::Word(word) => Some(word),
        RedirectTarget::Body(_) => None,
    });
    let is_it = |part: &Part| matches!(part, Part::Variable { name: read, .. } | Part::Altered { name: read, .. } if read == name);
    command.words.iter().chain(targets).any(|word| word.parts.iter().any(is_it))
}
