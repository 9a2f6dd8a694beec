//! Rules against targets that are only partly known, such as `cat .e*` or `cat "$file"`: can the rule match what the
//! target turns out to be, and must it?

use super::command::argument::{is_marked, is_marker};
use super::pattern::Slash;
use super::steps::Steps;

/// Stands in a target for any text without a `/`; at the beginning of a name, where shells leave out hidden files, for
/// any that does not begin with a `.`.
pub(super) const ANY_NAME: char = super::command::argument::ANY_NAME;
/// Stands in a target for any one character but `/`, with the same exception.
pub(super) const ANY_CHARACTER: char = super::command::argument::ANY_CHARACTER;
/// Stands in a target for any text.
pub(super) const ANYTHING: char = super::command::argument::ANYTHING;

/// A pattern as a chain of states, walked with all that a target can be at once.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    tokens: Vec<Token>,
    /// The plain text that the pattern begins with.
    head: String,
    /// The plain text that the pattern ends with.
    tail: String,
    /// How it begins, where it begins anywhere (`**/.env`).
    lead: Option<Lead>,
    folds_case: bool,
    slash: Slash,
}

/// The beginning of a pattern that begins anywhere.
#[derive(Debug, Clone)]
struct Lead {
    /// The tokens for any text at its start.
    length: usize,
    /// The plain text that the first name behind them begins with.
    name: String,
    /// Whether the pattern can go on in what lies below that name.
    goes_on: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Character(char),
    /// `?`
    One,
    /// `[…]`: may match any one character (a `/` only where it can hold one), and surely matches none.
    Class {
        may_be_slash: bool,
    },
    /// `*`
    Name,
    /// `**`
    Any,
    /// `**/` before its first character: it may be skipped.
    Directories,
    /// `**/` after its first character: it must end with a `/`.
    InDirectories,
}

/// How the markers of a target are walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Markers {
    /// As every text that they stand for: does any of them match?
    AsTexts,
    /// As characters that only a token for any text takes: do all of them match?
    AsCharacters,
}

/// One step of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Exactly(char),
    /// Any character but `/`.
    OfName,
    /// Any character but `/` and `.`.
    OfVisibleName,
    /// A whole text of which nothing is known.
    UnknownText,
    /// A whole text without `/`.
    UnknownName,
}

/// What a rule means for a target that is partly known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It matches whatever the target turns out to be.
    Always,
    /// It matches something that the target can turn out to be.
    Sometimes,
    /// It matches nothing of it.
    Never,
}

impl Shape {
    pub(super) fn new(pattern: &str, slash: Slash) -> Self {
        let (mut rest, folds_case) = match pattern.strip_prefix("(?i)") {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        let mut tokens = Vec::with_capacity(rest.len() + 1);
        while let Some(character) = rest.chars().next() {
            let length = if rest.starts_with("**/") {
                tokens.extend([Token::Directories, Token::InDirectories]);
                3
            } else if rest.starts_with("**") {
                tokens.push(Token::Any);
                2
            } else if character == '*' {
                tokens.push(Token::Name);
                1
            } else if character == '?' {
                tokens.push(Token::One);
                1
            } else if let Some(length) = class_length(rest) {
                let inner = &rest[1..length];
                let may_be_slash = !inner.starts_with(['!', '^']) && inner.contains(['/', '-']);
                tokens.push(Token::Class { may_be_slash });
                length
            } else {
                tokens.push(Token::Character(if folds_case { character.to_ascii_lowercase() } else { character }));
                character.len_utf8()
            };
            rest = &rest[length..];
        }
        let plain = |token: &Token| match token {
            Token::Character(character) => Some(*character),
            Token::One | Token::Class { .. } | Token::Name | Token::Any | Token::Directories | Token::InDirectories => {
                None
            }
        };
        let head = tokens.iter().map_while(plain).collect();
        let mut tail: Vec<char> = tokens.iter().rev().map_while(plain).collect();
        tail.reverse();
        Self { lead: Lead::of(&tokens), tokens, head, tail: tail.into_iter().collect(), folds_case, slash }
    }

    /// What the rule means for `target`; [`Reach::Sometimes`] where `steps` are spent before that is known.
    pub(super) fn reach(&self, target: &str, steps: &Steps<'_>) -> Reach {
        if self.differs_at_the_end(target) || self.differs_at_the_start(target) {
            return Reach::Never;
        }
        match self.walk(target, Markers::AsTexts, steps) {
            Some(false) => Reach::Never,
            Some(true) if self.walk(target, Markers::AsCharacters, steps) == Some(true) => Reach::Always,
            Some(true) | None => Reach::Sometimes,
        }
    }

    /// Whether it speaks of names anywhere (`**/.env`).
    pub(super) fn begins_anywhere(&self) -> bool {
        self.lead.is_some()
    }

    /// Whether it can match all that lies below a directory.
    pub(super) fn ends_open(&self) -> bool {
        matches!(self.tokens.last(), Some(Token::Any | Token::Name))
    }

    /// Whether it matches whatever `target` turns out to be, which ends with [`ANYTHING`]; no where the `steps` are spent first.
    pub(super) fn takes_all(&self, target: &str, steps: &Steps<'_>) -> bool {
        self.ends_open()
            && !self.differs_at_the_start(target)
            && self.lead.as_ref().is_none_or(|lead| lead.is_named_in(target, self.folds_case))
            && self.walk(target, Markers::AsCharacters, steps) == Some(true)
    }

    /// What the rule means for what lies in `directory` (without a slash at its end; empty for the one that relative
    /// patterns start from): whether it speaks of it by some name of its own. A pattern that begins anywhere (`**/.env`) may
    /// match in every directory, and speaks of none.
    pub(super) fn below(&self, directory: &str, steps: &Steps<'_>) -> Reach {
        if directory.is_empty() && self.tokens.first() == Some(&Token::Character('/')) {
            // An absolute pattern says nothing of relative names.
            return Reach::Never;
        }
        if self.lead.as_ref().is_some_and(|lead| !lead.is_said_in(directory, self.folds_case)) {
            return Reach::Never;
        }
        let target = if directory.is_empty() { String::new() } else { format!("{}/", directory.trim_end_matches('/')) };
        if self.differs_at_the_start(&target) {
            return Reach::Never;
        }
        let Some(states) = self.states(&target, Markers::AsTexts, steps) else { return Reach::Sometimes };
        if self.takes_all(&format!("{target}{ANYTHING}"), steps) {
            return Reach::Always;
        }
        let lead = self.lead.as_ref().map_or(0, |lead| lead.length);
        let speaks = states.iter().any(|state| lead == 0 || state > lead);
        if speaks { Reach::Sometimes } else { Reach::Never }
    }

    /// Whether what both end with, in plain text, is not the same: the cheap answer for most rules.
    fn differs_at_the_end(&self, target: &str) -> bool {
        let (target, tail) = (target.as_bytes(), self.tail.as_bytes());
        let known = target.iter().rev().take(tail.len()).take_while(|byte| !is_marker(**byte)).count();
        let (_, target) = target.split_at(target.len() - known);
        let (_, tail) = tail.split_at(tail.len() - known);
        self.differs(target, tail)
    }

    /// The same of what both begin with.
    fn differs_at_the_start(&self, target: &str) -> bool {
        let (target, head) = (target.as_bytes(), self.head.as_bytes());
        let known = target.iter().take(head.len()).take_while(|byte| !is_marker(**byte)).count();
        let (target, _) = target.split_at(known);
        let (head, _) = head.split_at(known);
        self.differs(target, head)
    }

    fn differs(&self, target: &[u8], plain: &[u8]) -> bool {
        if self.folds_case { !target.eq_ignore_ascii_case(plain) } else { target != plain }
    }

    /// Whether the pattern's end is reached by the target's; `None` where the steps are spent before that is known.
    fn walk(&self, target: &str, markers: Markers, steps: &Steps<'_>) -> Option<bool> {
        Some(self.states(target, markers, steps)?.holds(self.tokens.len()))
    }

    /// The states behind a target; none where no text that begins so can match.
    fn states(&self, target: &str, markers: Markers, steps: &Steps<'_>) -> Option<States> {
        let end = self.tokens.len();
        let (mut states, mut next) = (States::new(end + 1), States::new(end + 1));
        self.reach_state(&mut states, 0);
        let mut begins_name = true;
        for character in target.chars() {
            let one = if begins_name { Symbol::OfVisibleName } else { Symbol::OfName };
            match (character, markers) {
                (ANYTHING, Markers::AsTexts) => {
                    let first = states.iter().next().unwrap_or(end + 1);
                    steps.walk(end + 1 - first)?;
                    (first..=end).for_each(|state| states.insert(state));
                }
                (ANY_NAME, Markers::AsTexts) => {
                    // Only the first character of a name is not a dot.
                    steps.walk(states.count())?;
                    let mut reached = States::new(end + 1);
                    self.step(&states, &mut reached, one, markers);
                    let mut may_grow = reached.count() > 0;
                    while may_grow {
                        let count = reached.count();
                        steps.walk(count)?;
                        self.step(&reached, &mut next, Symbol::OfName, markers);
                        reached.add(&next);
                        may_grow = reached.count() > count;
                    }
                    states.add(&reached);
                }
                (character, markers) => {
                    let symbol = match (character, markers) {
                        (ANY_CHARACTER, Markers::AsTexts) => one,
                        (ANYTHING, Markers::AsCharacters) => Symbol::UnknownText,
                        (ANY_NAME, Markers::AsCharacters) => Symbol::UnknownName,
                        (character, _) => Symbol::Exactly(character),
                    };
                    steps.walk(states.count() + 1)?;
                    self.step(&states, &mut next, symbol, markers);
                    std::mem::swap(&mut states, &mut next);
                }
            }
            if states.count() == 0 {
                break;
            }
            begins_name = character == '/';
        }
        Some(states)
    }

    /// The states after one symbol.
    fn step(&self, states: &States, next: &mut States, symbol: Symbol, markers: Markers) {
        let symbol = match symbol {
            Symbol::Exactly(character) if self.folds_case => Symbol::Exactly(character.to_ascii_lowercase()),
            other => other,
        };
        let is_slash = symbol == Symbol::Exactly('/');
        let is_name = self.slash == Slash::IsCharacter || !(is_slash || symbol == Symbol::UnknownText);
        let is_one = is_name && !matches!(symbol, Symbol::UnknownText | Symbol::UnknownName);
        next.clear();
        for (index, token) in states.iter().filter_map(|index| Some((index, self.tokens.get(index)?))) {
            let (stays, goes_on) = match token {
                Token::Character(expected) => (
                    false,
                    match symbol {
                        Symbol::Exactly(character) => character == *expected,
                        Symbol::OfName => *expected != '/',
                        Symbol::OfVisibleName => !matches!(expected, '/' | '.'),
                        Symbol::UnknownText | Symbol::UnknownName => false,
                    },
                ),
                Token::One => (false, is_one),
                Token::Class { may_be_slash } => (false, markers == Markers::AsTexts && (is_name || *may_be_slash)),
                Token::Name => (is_name, false),
                Token::Any => (true, false),
                Token::Directories => {
                    if is_slash {
                        self.reach_state(next, index + 2);
                    }
                    (false, true)
                }
                Token::InDirectories => (true, is_slash),
            };
            if stays {
                self.reach_state(next, index);
            }
            if goes_on {
                self.reach_state(next, index + 1);
            }
        }
    }

    /// Adds a state, and those that are reached from it without a character.
    fn reach_state(&self, states: &mut States, mut index: usize) {
        loop {
            states.insert(index);
            index += match self.tokens.get(index) {
                Some(Token::Name | Token::Any) => 1,
                Some(Token::Directories) => 2,
                Some(Token::Character(_) | Token::One | Token::Class { .. } | Token::InDirectories) | None => return,
            };
        }
    }
}

impl Lead {
    fn of(tokens: &[Token]) -> Option<Self> {
        let anything =
            |token: &&Token| matches!(token, Token::Any | Token::Name | Token::Directories | Token::InDirectories);
        let length = tokens.iter().take_while(anything).count();
        let (_, rest) = tokens.split_at(length);
        let plain = |token: &Token| match token {
            Token::Character(character) if *character != '/' => Some(*character),
            _ => None,
        };
        let goes_on = rest.iter().any(|token| match token {
            Token::Character(character) => *character == '/',
            Token::Any | Token::Directories | Token::InDirectories => true,
            Token::Class { may_be_slash } => *may_be_slash,
            Token::One | Token::Name => false,
        });
        let name = rest.iter().map_while(plain).collect();
        (length > 0).then_some(Self { length, name, goes_on: goes_on || rest.is_empty() })
    }

    /// Whether that name can stand in `directory`, with more of the pattern behind it: a cheap look before the whole walk.
    fn is_said_in(&self, directory: &str, folds_case: bool) -> bool {
        self.goes_on && (is_marked(directory) || self.is_named_in(directory, folds_case))
    }

    /// Whether that name stands in what is known of a target.
    fn is_named_in(&self, target: &str, folds_case: bool) -> bool {
        if folds_case { target.to_ascii_lowercase().contains(&self.name) } else { target.contains(&self.name) }
    }
}

/// A set of states.
struct States {
    words: Vec<u64>,
    count: usize,
}

impl States {
    fn new(size: usize) -> Self {
        Self { words: vec![0; size.div_ceil(64)], count: 0 }
    }

    fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    fn count(&self) -> usize {
        self.count
    }

    fn holds(&self, state: usize) -> bool {
        self.words[state / 64] & (1 << (state % 64)) != 0
    }

    fn insert(&mut self, state: usize) {
        if !self.holds(state) {
            self.words[state / 64] |= 1 << (state % 64);
            self.count += 1;
        }
    }

    fn add(&mut self, other: &Self) {
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            self.count += (more & !*word).count_ones() as usize;
            *word |= more;
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|bits| *bits != 0);
            let bits = std::iter::successors(Some(*word).filter(|bits| *bits != 0), rest);
            bits.map(move |bits| index * 64 + bits.trailing_zeros() as usize)
        })
    }
}

/// The bytes of the class that `rest` begins with, as [`super::Pattern`] reads it.
fn class_length(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('[')?;
    let inner = inner.strip_prefix(['!', '^']).unwrap_or(inner);
    let first = inner.chars().next()?.len_utf8();
    let end = first + inner[first..].find(']')?;
    Some(rest.len() - inner.len() + end + 1)
}
