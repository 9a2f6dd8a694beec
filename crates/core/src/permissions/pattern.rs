//! The pattern language of rules, for paths and for commands.
//!
//! | written | matches |
//! |---|---|
//! | `*` | anything without `/`, also nothing |
//! | `**/` | any directories, also none |
//! | `**` | anything, also nothing |
//! | `?` | one character, not `/` |
//! | `[abc]`, `[a-z]` | one of these; a `]` that comes first is meant literally |
//! | `[!abc]`, `[^abc]` | one character that is none of these, and never `/` |
//! | `(?i)` at the very beginning | the rest without regard to the case of ASCII letters |
//! | anything else | itself: `{`, `}`, `\`, and a `[` that is never closed |
//!
//! Where file systems commonly take `A` for `a` (macOS, Windows), every pattern for paths is read as with `(?i)`.
//!
//! A pattern matches a whole target. A range that runs backwards (`[z-a]`) holds no character. Patterns become one finite
//! automaton for each section, so a match takes time in proportion to the target, whatever the pattern.

use std::fmt::Write as _;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use crate::error::{Error, Result, Shown};

/// 4,096 bytes: the longest path; a longer pattern is a mistake.
const PATTERN_BYTES: usize = 4_096;
/// 4 MiB for the automaton of one section: some thousand patterns.
const AUTOMATON_BYTES: usize = 4 << 20;
/// 256 KiB of remembered states for each thread that matches.
const CACHE_BYTES: usize = 256 << 10;

/// Begins a pattern that does not regard the case of ASCII letters.
pub(super) const IGNORING_CASE: &str = "(?i)";

/// Patterns in order, matched together.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// One pattern.
    pub fn new(pattern: &str) -> Result<Self> {
        Self::ordered([(pattern, Slash::Divides)].into_iter())
    }

    /// Several patterns; [`Pattern::first_match`] tells which one matched first. Fails with `InvalidInput` when they
    /// are too long to build an automaton of them.
    pub(super) fn ordered<'a>(patterns: impl Iterator<Item = (&'a str, Slash)>) -> Result<Self> {
        let mut expressions = Vec::new();
        for (pattern, slash) in patterns {
            if pattern.len() > PATTERN_BYTES {
                return Err(Error::invalid(format!(
                    "A rule's pattern has {} bytes; at most {PATTERN_BYTES} are possible.",
                    pattern.len()
                )));
            }
            expressions.push(expression(pattern, slash));
        }
        let config =
            Regex::config().nfa_size_limit(Some(AUTOMATON_BYTES)).hybrid_cache_capacity(CACHE_BYTES).backtrack(false);
        // Patterns are valid UTF-8 and so are targets; `utf8(false)` only allows a byte-wise `[^/]`.
        let syntax = syntax::Config::new().dot_matches_new_line(true).utf8(false);
        Regex::builder()
            .configure(config.utf8_empty(false))
            .syntax(syntax)
            .build_many(&expressions)
            .map(Self)
            .map_err(|_| Error::invalid("The patterns of these rules are together too large to be matched."))
    }

    /// Whether any pattern matches the whole of `target`.
    pub fn matches(&self, target: &str) -> bool {
        self.first_match(target).is_some()
    }

    /// The number of the first pattern, in their order, that matches the whole of `target`.
    pub(super) fn first_match(&self, target: &str) -> Option<usize> {
        // Every pattern is anchored at both ends, and alternatives are preferred in their order: the match that is
        // reported is that of the first pattern.
        self.0.search_half(&Input::new(target).anchored(Anchored::Yes)).map(|found| found.pattern().as_usize())
    }
}

/// Whether `*`, `?` and `[!…]` stop at a `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slash {
    /// They do: in paths, and in commands that are to be allowed.
    Divides,
    /// They do not: in commands that are to be denied or asked for, so that `rm *` also means `rm a/b`.
    IsCharacter,
}

/// The regular expression of a pattern.
fn expression(pattern: &str, slash: Slash) -> String {
    let (mut rest, mut out) = match pattern.strip_prefix(IGNORING_CASE) {
        Some(rest) => (rest, String::from("(?i-u)")),
        None => (pattern, String::new()),
    };
    let one = match slash {
        Slash::Divides => "(?u:[^/])",
        Slash::IsCharacter => "(?u:.)",
    };
    let many = match slash {
        Slash::Divides => "(?-u:[^/])*",
        Slash::IsCharacter => "(?-u:.)*",
    };
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            out.push_str("(?:(?-u:.)*/)?");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            out.push_str("(?-u:.)*");
            rest = after;
        } else if let Some(after) = rest.strip_prefix('*') {
            out.push_str(many);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('?') {
            out.push_str(one);
            rest = after;
        } else if let Some((class, after)) = class(rest, slash) {
            out.push_str(&class);
            rest = after;
        } else {
            push_literal(&mut out, character);
            rest = &rest[character.len_utf8()..];
        }
    }
    format!("^(?:{out})$")
}

/// The class that `rest` begins with, as an expression, and what follows it.
fn class(rest: &str, slash: Slash) -> Option<(String, &str)> {
    let inner = rest.strip_prefix('[')?;
    let (negated, inner) = match inner.strip_prefix(['!', '^']) {
        Some(inner) => (true, inner),
        None => (false, inner),
    };
    // A `]` that comes first belongs to the class.
    let first = inner.chars().next()?;
    let end = first.len_utf8() + inner[first.len_utf8()..].find(']')?;
    let members: Vec<char> = inner[..end].chars().collect();
    let mut set = String::new();
    let mut index = 0;
    while let Some(&low) = members.get(index) {
        let (high, length) = match members.get(index + 1..index + 3) {
            Some(&['-', high]) => (high, 3),
            Some(_) | None => (low, 1),
        };
        if low <= high {
            push_code(&mut set, low);
            set.push('-');
            push_code(&mut set, high);
        }
        index += length;
    }
    let expression = match (negated, set.is_empty(), slash) {
        (false, false, _) => format!("(?u:[{set}])"),
        (false, true, _) => r"(?u:[^\x{0}-\x{10FFFF}])".to_owned(),
        (true, _, Slash::Divides) => format!("(?u:[^/{set}])"),
        (true, false, Slash::IsCharacter) => format!("(?u:[^{set}])"),
        (true, true, Slash::IsCharacter) => "(?u:.)".to_owned(),
    };
    Some((expression, &inner[end + 1..]))
}

fn push_literal(out: &mut String, character: char) {
    if character.is_ascii_alphanumeric() || !character.is_ascii() {
        // Only ASCII letters fold; a letter beyond them stands in a group of its own that folds nothing.
        if character.is_ascii() {
            out.push(character);
        } else {
            out.push_str("(?u-i:");
            push_code(out, character);
            out.push(')');
        }
    } else {
        push_code(out, character);
    }
}

fn push_code(out: &mut String, character: char) {
    // Writing to a `String` cannot fail.
    let _ = write!(out, "\\x{{{:X}}}", u32::from(character));
}

/// What an example says about itself in an error message.
pub(super) fn shown(text: &str) -> String {
    const CHARACTERS: usize = 100;
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", Shown(&text[..end])),
        None => Shown(text).to_string(),
    }
}
