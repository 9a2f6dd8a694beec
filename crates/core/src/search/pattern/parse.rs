//! Reads a glob pattern into its brace-free alternatives.
//!
//! One pass over the characters with an explicit stack: nothing recurses on the nesting of braces, and both the count
//! of alternatives and their total size are bounded before they are built.

use std::sync::Arc;

use crate::error::{Error, Result, Shown};
use crate::order;

/// 8 KiB: longer than any pattern that a person or a model writes (R-FS-10).
pub(crate) const MAX_PATTERN_BYTES: usize = 8 << 10;
/// 256: what `{…}` may expand to (R-FS-10).
pub(crate) const MAX_ALTERNATIVES: usize = 256;
/// 64 Ki pieces over all alternatives of one pattern: bounds the work of expanding braces.
const MAX_EXPANDED_PIECES: usize = 64 << 10;

/// One element of an alternative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// This character.
    Char(char),
    /// `?`: any one character of a name.
    One,
    /// `*`: any run of characters of a name.
    Star,
    /// `[…]`.
    Class(Arc<Class>),
    /// `/`.
    Separator,
}

/// A set of characters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Class {
    negated: bool,
    /// In order; no two share a character.
    ranges: Vec<(char, char)>,
}

impl Class {
    fn new(negated: bool, mut ranges: Vec<(char, char)>) -> Self {
        order::sort_by(&mut ranges, Ord::cmp);
        ranges.dedup_by(|next, kept| {
            let overlaps = next.0 <= kept.1;
            if overlaps {
                kept.1 = kept.1.max(next.1);
            }
            overlaps
        });
        Self { negated, ranges }
    }

    /// Whether a character is in the set; `None` stands for a byte that belongs to no character.
    pub(super) fn contains(&self, character: Option<char>) -> bool {
        let listed = character.is_some_and(|c| {
            let after = self.ranges.partition_point(|&(from, _)| from <= c);
            self.ranges[..after].last().is_some_and(|&(_, to)| c <= to)
        });
        listed != self.negated
    }

    /// Adds the class as text that is read as the same class.
    pub(super) fn write_pattern(&self, pattern: &mut String) {
        pattern.push_str(if self.negated { "[!" } else { "[" });
        for (from, to) in &self.ranges {
            push_member(*from, pattern);
            if from != to {
                pattern.push('-');
                push_member(*to, pattern);
            }
        }
        pattern.push(']');
    }
}

/// Adds a character of a class, ordinary there.
fn push_member(character: char, pattern: &mut String) {
    if matches!(character, '\\' | '[' | ']' | '-' | '!' | '^') {
        pattern.push('\\');
    }
    pattern.push(character);
}

/// The choices of one open brace, or of the whole pattern.
struct Frame {
    /// Where the brace stands; unused for the whole pattern.
    opened_at: usize,
    /// Alternatives that a comma or the end closed.
    finished: Vec<Vec<Piece>>,
    /// What the alternative being read may have become so far.
    current: Vec<Vec<Piece>>,
}

impl Frame {
    fn new(opened_at: usize) -> Self {
        Self { opened_at, finished: Vec::new(), current: vec![Vec::new()] }
    }

    fn push(&mut self, piece: &Piece) {
        for alternative in &mut self.current {
            alternative.push(piece.clone());
        }
    }

    fn finish_alternative(&mut self) {
        let current = std::mem::replace(&mut self.current, vec![Vec::new()]);
        self.finished.extend(current);
    }

    /// Follows every present alternative by every choice.
    fn append(&mut self, mut choices: Vec<Vec<Piece>>) {
        if choices.len() == 1 {
            let Some(only) = choices.pop() else { return };
            for alternative in &mut self.current {
                alternative.extend_from_slice(&only);
            }
            return;
        }
        self.current = self
            .current
            .iter()
            .flat_map(|head| choices.iter().map(|tail| [head.as_slice(), tail.as_slice()].concat()))
            .collect();
    }
}

/// The alternatives of `pattern`, at least one.
pub(super) fn alternatives(pattern: &str) -> Result<Vec<Vec<Piece>>> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(Error::invalid(format!(
            "The glob pattern has {} bytes; at most {MAX_PATTERN_BYTES} are possible.",
            pattern.len()
        )));
    }
    let characters: Vec<char> = pattern.chars().collect();
    let mut outer: Vec<Frame> = Vec::new();
    let mut frame = Frame::new(0);
    let mut written = 0;
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        at += 1;
        let piece = match character {
            '\0' => return Err(fault(pattern, at - 1, "a NUL character, which no file name holds, stands")),
            '\\' => match characters.get(at) {
                Some(&escaped) => {
                    at += 1;
                    if escaped == '/' { Piece::Separator } else { Piece::Char(escaped) }
                }
                None => return Err(fault(pattern, at - 1, "a '\\' that escapes nothing stands")),
            },
            '?' => Piece::One,
            '*' => Piece::Star,
            '/' => Piece::Separator,
            '[' => {
                let (class, end) = class(pattern, &characters, at)?;
                at = end;
                Piece::Class(Arc::new(class))
            }
            '{' => {
                outer.push(std::mem::replace(&mut frame, Frame::new(at - 1)));
                continue;
            }
            ',' if !outer.is_empty() => {
                frame.finish_alternative();
                continue;
            }
            '}' => {
                let Some(enclosing) = outer.pop() else {
                    return Err(fault(pattern, at - 1, "a '}' without its '{' (write '\\}' for the character) stands"));
                };
                let mut closed = std::mem::replace(&mut frame, enclosing);
                closed.finish_alternative();
                check_size(&frame, &closed.finished)?;
                frame.append(closed.finished);
                continue;
            }
            other => Piece::Char(other),
        };
        written += frame.current.len();
        if written > MAX_EXPANDED_PIECES {
            return Err(too_many());
        }
        frame.push(&piece);
    }
    if !outer.is_empty() {
        return Err(fault(
            pattern,
            frame.opened_at,
            "a '{' that is never closed (write '\\{' for the character) stands",
        ));
    }
    Ok(frame.current)
}

/// Refuses an expansion that grows beyond the limits, before it is built.
fn check_size(frame: &Frame, choices: &[Vec<Piece>]) -> Result<()> {
    let pieces = |alternatives: &[Vec<Piece>]| alternatives.iter().map(Vec::len).sum::<usize>();
    let count = frame.current.len().saturating_mul(choices.len());
    let size = pieces(&frame.current)
        .saturating_mul(choices.len())
        .saturating_add(pieces(choices).saturating_mul(frame.current.len()));
    if count + frame.finished.len() > MAX_ALTERNATIVES || size > MAX_EXPANDED_PIECES {
        return Err(too_many());
    }
    Ok(())
}

fn too_many() -> Error {
    Error::invalid(format!(
        "The braces of the glob pattern stand for more than {MAX_ALTERNATIVES} alternatives, or for very long ones; use \
         '*' instead, or search several times."
    ))
}

/// Reads a class whose `[` stands just before `start`; returns it with the position after its `]`.
fn class(pattern: &str, characters: &[char], start: usize) -> Result<(Class, usize)> {
    let unclosed = || fault(pattern, start - 1, "a '[' that is never closed (write '\\[' for the character) stands");
    let mut at = start;
    let negated = matches!(characters.get(at), Some('!' | '^'));
    if negated {
        at += 1;
    }
    let first = at;
    let mut ranges = Vec::new();
    loop {
        let from = match characters.get(at) {
            None => return Err(unclosed()),
            Some(']') if at > first => return Ok((Class::new(negated, ranges), at + 1)),
            Some('\\') => {
                at += 1;
                *characters.get(at).ok_or_else(unclosed)?
            }
            Some(&character) => character,
        };
        let from_at = at;
        at += 1;
        let is_range = characters.get(at) == Some(&'-') && characters.get(at + 1).is_some_and(|&end| end != ']');
        if !is_range {
            ranges.push((from, from));
            continue;
        }
        at += 1;
        if characters.get(at) == Some(&'\\') {
            at += 1;
        }
        let to = *characters.get(at).ok_or_else(unclosed)?;
        at += 1;
        if to < from {
            return Err(fault(pattern, from_at, "a range that runs backwards stands"));
        }
        ranges.push((from, to));
    }
}

/// An error that says what is wrong at which character.
fn fault(pattern: &str, position: usize, what: &str) -> Error {
    /// Characters of the pattern that a message shows on either side of the fault.
    const SHOWN: usize = 30;
    let from = position.saturating_sub(SHOWN);
    let excerpt: String = pattern.chars().skip(from).take(2 * SHOWN).collect();
    Error::invalid(format!(
        "The glob pattern is not valid: {what} at character {} of it (in '{}').",
        position + 1,
        Shown(&excerpt)
    ))
}
