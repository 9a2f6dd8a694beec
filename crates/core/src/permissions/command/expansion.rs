//! What a word becomes, in the order of bash: braces first, then tildes and variables, patterns last.

use super::argument::{ANY_CHARACTER, ANY_NAME, ANYTHING};
use crate::script::{Part, Word};

/// 64 arguments from one word by `{a,b}`; more are taken as unknown.
const ALTERNATIVES: usize = 64;
/// 64 Ki pieces of all of them together, or a short text becomes megabytes of names.
const ALTERNATIVE_PIECES: usize = 64 << 10;

/// A piece of a word in which no variable was expanded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A character, and whether it is quoted.
    Character(char, bool),
    /// The variable or the output that is this part of the word, and whether it is quoted or else sure to be one word.
    Variable(usize, bool),
    /// What is known only when it runs.
    Unknown,
}

impl Piece {
    /// Whether it is that character without quotes.
    pub(super) fn is(self, character: char) -> bool {
        self == Self::Character(character, false)
    }
}

/// The pieces of a word.
pub(super) fn pieces(word: &Word) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (index, part) in word.parts.iter().enumerate() {
        match part {
            Part::Text { text, quoted } => {
                pieces.extend(text.chars().map(|character| match known(character) {
                    ANYTHING => Piece::Unknown,
                    known => Piece::Character(known, *quoted),
                }));
            }
            Part::Variable { quoted, .. } => pieces.push(Piece::Variable(index, *quoted)),
            Part::Output { quoted, .. } => pieces.push(Piece::Variable(index, *quoted)),
            Part::Number { value: Some(value) } => {
                pieces.extend(value.to_string().chars().map(|character| Piece::Character(character, true)));
            }
            // Like a variable in quotes of which nothing is known.
            Part::Number { value: None } | Part::Altered { is_one: true, .. } | Part::Dynamic { is_one: true } => {
                pieces.push(Piece::Variable(index, true));
            }
            Part::Pipe | Part::Altered { is_one: false, .. } | Part::Dynamic { is_one: false } => {
                pieces.push(Piece::Unknown);
            }
        }
    }
    pieces
}

/// A character of a text. Of those that only `$'…'` can bring in nothing is known: they may be our own markers.
pub(super) fn known(character: char) -> char {
    if character.is_control() && !matches!(character, '\n' | '\t') { ANYTHING } else { character }
}

/// Where a `~` without quotes stands at which bash puts a directory: at the beginning, and in words that look like assignments
/// behind the `=` and each `:`.
pub(super) fn tildes(pieces: &[Piece]) -> Vec<usize> {
    let mut found = Vec::new();
    if pieces.first().is_some_and(|first| first.is('~')) {
        found.push(0);
    }
    let is_name = |piece: &&Piece| matches!(piece, Piece::Character(c, false) if is_name_character(*c));
    let name = pieces.iter().take_while(is_name).count();
    let sign = name + usize::from(pieces.get(name).is_some_and(|piece| piece.is('+')));
    if name > 0 && pieces.get(sign).is_some_and(|piece| piece.is('=')) {
        let behind = |index: &usize| pieces[*index].is('~') && (pieces[*index - 1].is(':') || *index == sign + 1);
        found.extend((sign + 1..pieces.len()).filter(behind));
    }
    found
}

fn is_name_character(character: char) -> bool {
    character == '_' || character.is_ascii_alphanumeric()
}

/// Marks unquoted patterns.
pub(super) fn mark(characters: &[(char, bool)]) -> String {
    let mut text = String::with_capacity(characters.len());
    let mut index = 0;
    // The end of the name that is read, and behind the last `]` in it: no `[…]` goes beyond a slash.
    let (mut end, mut last_close) = (0, 0);
    while let Some(&(character, quoted)) = characters.get(index) {
        if index >= end {
            let length = characters[index..].iter().position(|(character, _)| *character == '/');
            end = length.map_or(characters.len(), |length| index + length + 1);
            let close = characters[index..end].iter().rposition(|(character, _)| *character == ']');
            last_close = close.map_or(0, |close| index + close + 1);
        }
        index += 1;
        match character {
            '*' if !quoted => text.push(ANY_NAME),
            '?' if !quoted => text.push(ANY_CHARACTER),
            '[' if !quoted && index < last_close => {
                let name = &characters[index..last_close];
                match bracket_length(name) {
                    Some(length) => {
                        index += length;
                        text.push(ANY_CHARACTER);
                    }
                    // Where it ends is not sure.
                    None => {
                        let is_unknown = name.iter().any(|(character, _)| *character == ANYTHING);
                        text.push(if is_unknown { ANYTHING } else { ANY_NAME });
                        index = last_close;
                    }
                }
            }
            _ => text.push(character),
        }
    }
    text
}

/// How long a `[…]` is behind its `[`, where all shells agree.
fn bracket_length(characters: &[(char, bool)]) -> Option<usize> {
    let mut index = usize::from(matches!(characters.first(), Some(('!' | '^', false))));
    if matches!(characters.get(index), Some((']', _))) {
        return None;
    }
    while let Some(&(character, quoted)) = characters.get(index) {
        index += 1;
        match (character, characters.get(index)) {
            (']', _) => return (!quoted).then_some(index),
            ('[', Some((':', _))) => {
                let class = characters[index + 1..].iter().take_while(|(c, _)| c.is_ascii_lowercase()).count();
                index += class + 1;
                if !matches!(characters.get(index..index + 2), Some([(':', false), (']', false)])) {
                    return None;
                }
                index += 2;
            }
            ('[', Some(('.' | '=', _))) | (ANYTHING, _) => return None,
            _ => {}
        }
    }
    None
}

/// What `{a,b}` expands to, and whether any braces did. Braces within braces, ranges, and more than can be listed become
/// unknown text.
pub(super) fn alternatives(pieces: Vec<Piece>) -> (Vec<Vec<Piece>>, bool) {
    if braces(&pieces).is_none() {
        return (vec![pieces], false);
    }
    if pieces.iter().any(|piece| piece.is('$')) {
        // Braces may put a name behind it: `{$,}x`.
        return (vec![vec![Piece::Unknown]], true);
    }
    let mut done = Vec::new();
    let mut open = vec![pieces];
    let mut ranges = 0;
    while let Some(word) = open.pop() {
        let Some(Braces { start, end, last }) = braces(&word) else {
            done.push(word);
            continue;
        };
        let replace = |end: usize, choice: &[Piece]| joined(&word[..start], choice, &word[end + 1..]);
        let inner = &word[start + 1..end];
        let is_simple = !inner.iter().any(|piece| piece.is('{'));
        let choices: Vec<&[Piece]> = inner.split(|piece| piece.is(',')).collect();
        let count = done.len() + open.len() + choices.len();
        let fits = count <= ALTERNATIVES && count * word.len() <= ALTERNATIVE_PIECES;
        if is_simple && choices.len() > 1 && fits {
            open.extend(choices.into_iter().rev().map(|choice| replace(end, choice)));
        } else if is_simple && choices.len() == 1 && is_range(inner) && ranges < ALTERNATIVES {
            ranges += 1;
            open.push(replace(end, &[Piece::Unknown]));
        } else {
            // Whatever is done with them, nothing in front of the first and behind the last changes.
            open.push(replace(last, &[Piece::Unknown]));
        }
    }
    (done, true)
}

/// Puts a choice between what stands around its braces. Which variable is read where that brings a name and more of a name together
/// depends on how it was written: `$x{b,c}` is `$xb $xc`.
fn joined(front: &[Piece], choice: &[Piece], back: &[Piece]) -> Vec<Piece> {
    let mut word = [front, choice, back].concat();
    for joint in [front.len(), front.len() + choice.len()] {
        let goes_on = match word.get(joint) {
            Some(Piece::Character(character, false)) => is_name_character(*character),
            Some(Piece::Unknown) => true,
            Some(Piece::Character(_, true) | Piece::Variable(..)) | None => false,
        };
        if goes_on
            && let Some(before @ Piece::Variable(_, false)) = joint.checked_sub(1).and_then(|at| word.get_mut(at))
        {
            *before = Piece::Unknown;
        }
    }
    word
}

/// Where unquoted braces stand that something is done with.
struct Braces {
    start: usize,
    /// The first that can end the one at `start`.
    end: usize,
    /// The last of all.
    last: usize,
}

/// Shells differ in what they do with braces that are not balanced or hold no comma, so only words without any comma or
/// range between the first and the last brace are sure to be left as they are.
fn braces(word: &[Piece]) -> Option<Braces> {
    let start = word.iter().position(|piece| piece.is('{'))?;
    let last = word.iter().rposition(|piece| piece.is('}')).filter(|last| *last > start)?;
    let within = &word[start + 1..last];
    if !within.iter().any(|piece| piece.is(',')) && !is_range(within) {
        return None;
    }
    let end = start + word[start..].iter().position(|piece| piece.is('}'))?;
    Some(Braces { start, end, last })
}

fn is_range(inner: &[Piece]) -> bool {
    inner.windows(2).any(|pair| pair[0].is('.') && pair[1].is('.'))
}
