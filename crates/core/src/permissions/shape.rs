//! Rules against targets that are only partly known, such as `cat .e*` or `cat "$file"`: can the rule match what the
//! target turns out to be, and must it?

use super::pattern::Slash;

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
    folds_case: bool,
    slash: Slash,
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
        Self { tokens, folds_case, slash }
    }

    /// What the rule means for `target`.
    pub(super) fn reach(&self, target: &str) -> Reach {
        if !self.can_match(target) {
            return Reach::Never;
        }
        if self.walk(target, Markers::AsCharacters) { Reach::Always } else { Reach::Sometimes }
    }

    fn can_match(&self, target: &str) -> bool {
        self.walk(target, Markers::AsTexts)
    }

    /// What the rule means for what lies in `directory` (without a slash at its end; empty for the one that relative
    /// patterns start from): whether it speaks of it by some name of its own. A pattern that begins anywhere (`**/.env`) may
    /// match in every directory, and speaks of none.
    pub(super) fn below(&self, directory: &str) -> Reach {
        let anything =
            |token: &&Token| matches!(token, Token::Any | Token::Name | Token::Directories | Token::InDirectories);
        let lead = self.tokens.iter().take_while(anything).count();
        let target = if directory.is_empty() { String::new() } else { format!("{}/", directory.trim_end_matches('/')) };
        if lead > 0 && !self.is_said_in(lead, &target) {
            return Reach::Never;
        }
        let Some(states) = self.states(&target, Markers::AsTexts) else { return Reach::Never };
        if self.walk(&format!("{target}{ANYTHING}"), Markers::AsCharacters) {
            return Reach::Always;
        }
        let speaks = if lead == 0 { states.contains(&true) } else { states[lead + 1..].contains(&true) };
        if speaks { Reach::Sometimes } else { Reach::Never }
    }

    /// Whether the first name of a pattern that begins anywhere stands in `directory`, with more of the pattern behind it: a
    /// cheap look before the whole walk.
    fn is_said_in(&self, lead: usize, directory: &str) -> bool {
        let rest = &self.tokens[lead..];
        let name: String = rest
            .iter()
            .map_while(|token| match token {
                Token::Character('/') => None,
                Token::Character(character) => Some(*character),
                _ => None,
            })
            .collect();
        let goes_on = rest.iter().any(|token| match token {
            Token::Character(character) => *character == '/',
            Token::Any | Token::Directories | Token::InDirectories => true,
            Token::Class { may_be_slash } => *may_be_slash,
            Token::One | Token::Name => false,
        });
        let is_all = rest.is_empty();
        let found = || {
            directory.contains([ANY_NAME, ANY_CHARACTER, ANYTHING])
                || if self.folds_case {
                    directory.to_ascii_lowercase().contains(&name)
                } else {
                    directory.contains(&name)
                }
        };
        is_all || (goes_on && found())
    }

    fn walk(&self, target: &str, markers: Markers) -> bool {
        self.states(target, markers).is_some_and(|states| states[self.tokens.len()])
    }

    /// The states behind a target; `None` where no text that begins so can match.
    fn states(&self, target: &str, markers: Markers) -> Option<Vec<bool>> {
        let end = self.tokens.len();
        let mut states = vec![false; end + 1];
        states[0] = true;
        self.skip(&mut states);
        let mut begins_name = true;
        for character in target.chars() {
            let one = if begins_name { Symbol::OfVisibleName } else { Symbol::OfName };
            match (character, markers) {
                (ANYTHING, Markers::AsTexts) => {
                    let first = states.iter().position(|state| *state).unwrap_or(end + 1);
                    states.iter_mut().skip(first).for_each(|state| *state = true);
                }
                (ANY_NAME, Markers::AsTexts) => {
                    let mut symbol = one;
                    loop {
                        let next = self.step(&states, symbol, markers);
                        symbol = Symbol::OfName;
                        let mut grew = false;
                        for (state, more) in states.iter_mut().zip(next) {
                            grew |= more && !*state;
                            *state |= more;
                        }
                        if !grew {
                            break;
                        }
                    }
                }
                (ANY_CHARACTER, Markers::AsTexts) => states = self.step(&states, one, markers),
                (ANYTHING, Markers::AsCharacters) => states = self.step(&states, Symbol::UnknownText, markers),
                (ANY_NAME, Markers::AsCharacters) => states = self.step(&states, Symbol::UnknownName, markers),
                _ => states = self.step(&states, Symbol::Exactly(character), markers),
            }
            if !states.contains(&true) {
                return None;
            }
            begins_name = character == '/';
        }
        Some(states)
    }

    /// The states after one symbol.
    fn step(&self, states: &[bool], symbol: Symbol, markers: Markers) -> Vec<bool> {
        let symbol = match symbol {
            Symbol::Exactly(character) if self.folds_case => Symbol::Exactly(character.to_ascii_lowercase()),
            other => other,
        };
        let is_slash = symbol == Symbol::Exactly('/');
        let is_name = self.slash == Slash::IsCharacter || !(is_slash || symbol == Symbol::UnknownText);
        let is_one = is_name && !matches!(symbol, Symbol::UnknownText | Symbol::UnknownName);
        let mut next = vec![false; states.len()];
        for (index, token) in self.tokens.iter().enumerate().filter(|(index, _)| states[*index]) {
            match token {
                Token::Character(expected) => {
                    next[index + 1] |= match symbol {
                        Symbol::Exactly(character) => character == *expected,
                        Symbol::OfName => *expected != '/',
                        Symbol::OfVisibleName => !matches!(expected, '/' | '.'),
                        Symbol::UnknownText | Symbol::UnknownName => false,
                    };
                }
                Token::One => next[index + 1] |= is_one,
                Token::Class { may_be_slash } => {
                    next[index + 1] |= markers == Markers::AsTexts && (is_name || *may_be_slash);
                }
                Token::Name => next[index] |= is_name,
                Token::Any => next[index] = true,
                Token::Directories => {
                    next[index + 1] = true;
                    next[index + 2] |= is_slash;
                }
                Token::InDirectories => {
                    next[index] = true;
                    next[index + 1] |= is_slash;
                }
            }
        }
        self.skip(&mut next);
        next
    }

    /// Adds the states that are reached without a character.
    fn skip(&self, states: &mut [bool]) {
        for (index, token) in self.tokens.iter().enumerate() {
            if states[index] {
                match token {
                    Token::Name | Token::Any => states[index + 1] = true,
                    Token::Directories => states[index + 2] = true,
                    Token::Character(_) | Token::One | Token::Class { .. } | Token::InDirectories => {}
                }
            }
        }
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
