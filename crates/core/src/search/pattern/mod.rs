//! Glob patterns, matched name by name on the way down a tree.
//!
//! `*`, `?` and `[…]` match within one name, `**` matches any number of names, `{a,b}` is a choice (also of whole
//! paths), `\` makes the next character ordinary. A pattern is compiled into segments, and a walk carries the positions
//! that the directory it is in has reached ([`Positions`]): no path is ever matched as a whole, and a directory from
//! which no position can reach the end is not entered at all.
//!
//! `.` segments and doubled or trailing `/` are dropped (`dir/` means what lies below it, `dir/**`), the empty pattern
//! is `**`, `..` is refused (D73). Names are bytes: one that is not UTF-8 matches `*` and `?` like any other.

use std::sync::Arc;

use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;

mod parse;
mod segment;
#[cfg(test)]
mod tests;

use parse::Piece;
use segment::Segment;

/// One pattern as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    /// Whether it begins with `/`.
    pub(crate) absolute: bool,
    alternatives: Vec<Vec<Segment>>,
}

/// Where a pattern of one segment applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// In the directory that it is relative to.
    Here,
    /// At any depth below it, as in a `.gitignore` file.
    AnyDepth,
}

impl Glob {
    /// Reads a pattern. `InvalidInput`, with the character at fault, for an unclosed `[` or `{`, a `}` without `{`, a
    /// range that runs backwards, a `\` at the end, NUL, a `..` segment, and what exceeds the limits.
    pub(crate) fn parse(pattern: &str, reach: Reach) -> Result<Self> {
        let expanded = parse::alternatives(pattern)?;
        let absolute = expanded.iter().filter(|pieces| pieces.first() == Some(&Piece::Separator)).count();
        if absolute != 0 && absolute != expanded.len() {
            return Err(Error::invalid(
                "The glob pattern is absolute in some of its alternatives and relative in others; search twice.",
            ));
        }
        let absolute = absolute != 0;
        let reach = if absolute { Reach::Here } else { reach };
        let alternatives =
            expanded.iter().map(|pieces| segments(pattern, pieces, reach)).collect::<Result<Vec<_>>>()?;
        Ok(Self { absolute, alternatives })
    }

    /// What remains of an absolute pattern below `path`, relative to it; `None` when it can match nothing there.
    pub(crate) fn below(&self, path: &VirtualPath) -> Option<Self> {
        self.remaining(path.as_str(), true)
    }

    /// What remains of the pattern below the directory `names`, relative to it; `None` when it can match nothing there,
    /// with `hidden` false also because a name begins with a dot that the pattern does not spell.
    pub(crate) fn remaining(&self, names: &str, hidden: bool) -> Option<Self> {
        let set = PatternSet::new([self.clone()]);
        let mut positions = set.start();
        for name in names.split('/').filter(|name| !name.is_empty()) {
            positions = set.enter(&positions, name.as_bytes(), hidden).0;
        }
        // The position behind a `**` says nothing that the `**` does not say.
        let is_implied = |position: &Position| {
            let before = position.segment.checked_sub(1).map(|segment| Position { segment, ..*position });
            before.is_some_and(|before| {
                set.segment(before).is_some_and(|(_, segment)| *segment == Segment::AnyDepth)
                    && positions.binary_search(&before).is_ok()
            })
        };
        let alternatives: Vec<_> = positions
            .iter()
            .filter(|position| !is_implied(position))
            .filter_map(|position| Some(set.segment(*position)?.0.segments[position.segment as usize..].to_vec()))
            .collect();
        if alternatives.is_empty() { None } else { Some(Self { absolute: false, alternatives }) }
    }

    /// The pattern as text that [`Glob::parse`] reads, where a single segment reaches as far as `reach` says, as the same
    /// relative pattern.
    pub(crate) fn to_pattern(&self, reach: Reach) -> String {
        let alternatives: Vec<String> = self
            .alternatives
            .iter()
            .map(|segments| {
                let text = segments.iter().map(Segment::to_pattern).collect::<Vec<_>>().join("/");
                // A second part keeps a lone name in the directory that it is relative to.
                if reach == Reach::AnyDepth && segments.len() == 1 { format!("./{text}") } else { text }
            })
            .collect();
        match alternatives.as_slice() {
            [only] => only.clone(),
            several => format!("{{{}}}", several.join(",")),
        }
    }

    /// The directory that the leading literal names of an absolute pattern spell, as far as all alternatives share
    /// them; the last segment is never counted.
    pub(crate) fn literal_directory(&self) -> Result<VirtualPath> {
        let literal = |segments: &[Segment], index: usize| match segments.get(index) {
            Some(Segment::Literal(name)) if index + 1 < segments.len() => Some(name.clone()),
            Some(_) | None => None,
        };
        let mut path = String::new();
        let Some((first, others)) = self.alternatives.split_first() else { return Ok(VirtualPath::root()) };
        for index in 0.. {
            let Some(name) = literal(first, index) else { break };
            if others.iter().any(|other| literal(other, index).as_ref() != Some(&name)) {
                break;
            }
            path.push('/');
            path.push_str(&String::from_utf8_lossy(&name));
        }
        VirtualPath::parse(&path, &VirtualPath::root())
    }
}

/// The pattern that matches `path` alone; empty for the root.
pub(crate) fn literal(path: &VirtualPath) -> String {
    let names = path.as_str().split('/').filter(|name| !name.is_empty());
    names.fold(String::new(), |pattern, name| pattern + "/" + &Segment::Literal(name.as_bytes().into()).to_pattern())
}

fn segments(pattern: &str, pieces: &[Piece], reach: Reach) -> Result<Vec<Segment>> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut parts = 0;
    for part in pieces.split(|piece| *piece == Piece::Separator) {
        parts += usize::from(!part.is_empty());
        match part {
            [] | [Piece::Char('.')] => continue,
            [Piece::Char('.'), Piece::Char('.')] => {
                return Err(Error::invalid(format!(
                    "The glob pattern '{}' holds '..'; patterns only go down. Give the directory above as the path.",
                    Shown(&pattern.chars().take(80).collect::<String>())
                )));
            }
            _ => {}
        }
        let segment = Segment::new(part);
        if !(segment == Segment::AnyDepth && segments.last() == Some(&Segment::AnyDepth)) {
            segments.push(segment);
        }
    }
    if reach == Reach::AnyDepth && parts == 1 && segments.first().is_some_and(|first| *first != Segment::AnyDepth) {
        segments.insert(0, Segment::AnyDepth);
    }
    let ends_open = matches!(pieces.last(), None | Some(Piece::Separator)) || segments.is_empty();
    if ends_open && segments.last() != Some(&Segment::AnyDepth) {
        segments.push(Segment::AnyDepth);
    }
    Ok(segments)
}

/// Several patterns compiled together: a path matches when one of them does.
#[derive(Debug)]
pub(crate) struct PatternSet {
    alternatives: Vec<Alternative>,
}

#[derive(Debug)]
struct Alternative {
    segments: Vec<Segment>,
    /// How many leading segments are plain names.
    literal: usize,
}

/// How far a directory has come in each pattern. Sorted, without duplicates; empty when nothing below can match.
pub(crate) type Positions = Arc<[Position]>;

/// An alternative and the segment that the next name is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    alternative: u32,
    segment: u32,
}

/// What a name is to the patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hit {
    /// No pattern takes it.
    No,
    /// A wildcard, or a name behind one, takes it.
    Pattern,
    /// The leading literal names of a pattern spell it out: it is as good as named in the call, so neither ignore files
    /// nor its dot hide it.
    Named,
}

impl PatternSet {
    /// Compiles patterns, each as it stands.
    pub(crate) fn new(globs: impl IntoIterator<Item = Glob>) -> Self {
        let alternatives = globs
            .into_iter()
            .flat_map(|glob| glob.alternatives)
            .map(|segments| {
                let literal = segments.iter().take_while(|segment| segment.is_literal()).count();
                Alternative { segments, literal }
            })
            .collect();
        Self { alternatives }
    }

    /// The positions at the directory that the patterns are relative to.
    pub(crate) fn start(&self) -> Positions {
        let mut positions = Vec::new();
        for index in 0..self.alternatives.len() {
            self.reach(index, 0, &mut positions);
        }
        collected(positions)
    }

    /// Whether a file (or directory) called `name` in a directory at `positions` is matched. With `hidden` false a name
    /// that begins with `.` is matched only by a segment that begins with `.` itself.
    pub(crate) fn matches(&self, positions: &[Position], name: &[u8], hidden: bool) -> Hit {
        let mut hit = Hit::No;
        for position in positions {
            let Some((alternative, segment)) = self.segment(*position) else { continue };
            if position.segment as usize + 1 == alternative.segments.len() && admits(segment, name, hidden) {
                if (position.segment as usize) < alternative.literal {
                    return Hit::Named;
                }
                hit = Hit::Pattern;
            }
        }
        hit
    }

    /// The positions of the directory called `name` in one at `positions`, and what it is to the patterns:
    /// [`Hit::No`] when nothing below it can match.
    pub(crate) fn enter(&self, positions: &Positions, name: &[u8], hidden: bool) -> (Positions, Hit) {
        let mut reached = Vec::new();
        let mut named = false;
        for position in positions.iter() {
            let Some((alternative, segment)) = self.segment(*position) else { continue };
            if !admits(segment, name, hidden) {
                continue;
            }
            if *segment == Segment::AnyDepth {
                reached.push(*position);
                // A `**` at the end takes all that lies below; elsewhere the segment after it is a position already.
                continue;
            }
            let before = reached.len();
            self.reach(position.alternative as usize, position.segment as usize + 1, &mut reached);
            named |= reached.len() > before && (position.segment as usize) < alternative.literal;
        }
        if reached.is_empty() {
            return (Arc::from([]), Hit::No);
        }
        let hit = if named { Hit::Named } else { Hit::Pattern };
        // The segment behind a `**` stays reachable below it.
        for index in 0..reached.len() {
            let Position { alternative, segment } = reached[index];
            if self.alternatives[alternative as usize].segments[segment as usize] == Segment::AnyDepth {
                self.reach(alternative as usize, segment as usize, &mut reached);
            }
        }
        reached.sort_unstable();
        reached.dedup();
        if *reached == **positions { (Arc::clone(positions), hit) } else { (reached.into(), hit) }
    }

    /// Adds the position before `segment`, and the one behind it where it is a `**` that may stand for nothing.
    fn reach(&self, alternative: usize, segment: usize, positions: &mut Vec<Position>) {
        let segments = &self.alternatives[alternative].segments;
        let position = |segment: usize| Position { alternative: alternative as u32, segment: segment as u32 };
        if segment < segments.len() {
            positions.push(position(segment));
            if segments[segment] == Segment::AnyDepth && segment + 1 < segments.len() {
                positions.push(position(segment + 1));
            }
        }
    }

    fn segment(&self, position: Position) -> Option<(&Alternative, &Segment)> {
        let alternative = self.alternatives.get(position.alternative as usize)?;
        Some((alternative, alternative.segments.get(position.segment as usize)?))
    }
}

fn admits(segment: &Segment, name: &[u8], hidden: bool) -> bool {
    (hidden || name.first() != Some(&b'.') || segment.names_the_dot()) && segment.matches(name)
}

fn collected(mut positions: Vec<Position>) -> Positions {
    positions.sort_unstable();
    positions.dedup();
    positions.into()
}
