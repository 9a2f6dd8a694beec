//! Matches one name against one segment of a pattern.

use super::parse::{Class, Piece};
use std::sync::Arc;

/// What stands between two `/` of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// `**`: any number of names, none included (at the end of a pattern at least one).
    AnyDepth,
    /// `*`.
    Any,
    /// A name without wildcards.
    Literal(Box<[u8]>),
    /// `*` and then text: `*.ts`.
    Suffix(Box<[u8]>),
    /// Anything else.
    Wild(Box<[Token]>),
}

/// An element of a wild segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Text(Box<[u8]>),
    One,
    Star,
    Class(Arc<Class>),
}

impl Segment {
    /// Builds the segment that `pieces`, none of which is a separator, stand for.
    pub(super) fn new(pieces: &[Piece]) -> Self {
        let mut tokens: Vec<Token> = Vec::new();
        let mut text = String::new();
        for piece in pieces {
            let token = match piece {
                Piece::Char(character) => {
                    text.push(*character);
                    continue;
                }
                Piece::Separator => continue,
                Piece::One => Token::One,
                Piece::Star => Token::Star,
                Piece::Class(class) => Token::Class(Arc::clone(class)),
            };
            flush(&mut text, &mut tokens);
            if !(token == Token::Star && tokens.last() == Some(&Token::Star)) {
                tokens.push(token);
            }
        }
        flush(&mut text, &mut tokens);
        match tokens.as_mut_slice() {
            [Token::Star] if pieces.len() > 1 => Self::AnyDepth,
            [Token::Star] => Self::Any,
            [Token::Text(name)] => Self::Literal(std::mem::take(name)),
            [Token::Star, Token::Text(suffix)] => Self::Suffix(std::mem::take(suffix)),
            _ => Self::Wild(tokens.into_boxed_slice()),
        }
    }

    /// The segment as text that is read as the same segment.
    pub(super) fn to_pattern(&self) -> String {
        let mut pattern = String::new();
        match self {
            Self::AnyDepth => pattern.push_str("**"),
            Self::Any => pattern.push('*'),
            Self::Literal(name) => escape(name, &mut pattern),
            Self::Suffix(suffix) => {
                pattern.push('*');
                escape(suffix, &mut pattern);
            }
            Self::Wild(tokens) => {
                for token in tokens {
                    match token {
                        Token::Text(text) => escape(text, &mut pattern),
                        Token::One => pattern.push('?'),
                        Token::Star => pattern.push('*'),
                        Token::Class(class) => class.write_pattern(&mut pattern),
                    }
                }
            }
        }
        pattern
    }

    /// Whether the segment is a name without wildcards.
    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    /// Whether the segment begins with a `.` of its own, and so means hidden names.
    pub(super) fn names_the_dot(&self) -> bool {
        match self {
            Self::Literal(name) => name.first() == Some(&b'.'),
            Self::Wild(tokens) => matches!(tokens.first(), Some(Token::Text(text)) if text.first() == Some(&b'.')),
            Self::AnyDepth | Self::Any | Self::Suffix(_) => false,
        }
    }

    /// Whether the segment matches the whole of `name`.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::AnyDepth | Self::Any => true,
            Self::Literal(literal) => **literal == *name,
            Self::Suffix(suffix) => name.ends_with(suffix),
            Self::Wild(tokens) => matches_tokens(tokens, name),
        }
    }
}

/// Adds text in which every character is ordinary.
fn escape(text: &[u8], pattern: &mut String) {
    for character in String::from_utf8_lossy(text).chars() {
        if matches!(character, '\\' | '*' | '?' | '[' | ']' | '{' | '}' | ',' | '!') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
}

fn flush(text: &mut String, tokens: &mut Vec<Token>) {
    if !text.is_empty() {
        tokens.push(Token::Text(std::mem::take(text).into_bytes().into_boxed_slice()));
    }
}

/// Goes back to the last `*` only, so the work is at most the product of the two lengths.
fn matches_tokens(tokens: &[Token], name: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut resume: Option<(usize, usize)> = None;
    loop {
        let advanced = match tokens.get(token) {
            None if at == name.len() => return true,
            None => None,
            Some(Token::Star) => {
                resume = Some((token + 1, at));
                token += 1;
                continue;
            }
            Some(Token::Text(text)) => name[at..].starts_with(text).then_some(text.len()),
            Some(Token::One) => first_character(&name[at..]).map(|(_, length)| length),
            Some(Token::Class(class)) => {
                first_character(&name[at..]).and_then(|(character, length)| class.contains(character).then_some(length))
            }
        };
        match (advanced, &mut resume) {
            (Some(length), _) => {
                token += 1;
                at += length;
            }
            (None, Some((after_star, from))) => match first_character(&name[*from..]) {
                Some((_, length)) => {
                    *from += length;
                    (token, at) = (*after_star, *from);
                }
                None => return false,
            },
            (None, None) => return false,
        }
    }
}

/// The first character and its length; a byte that begins no character counts as one of its own.
fn first_character(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let first = *bytes.first()?;
    let width = match first {
        0x00..=0x7F => return Some((Some(char::from(first)), 1)),
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        0x80..=0xC1 | 0xF5..=0xFF => return Some((None, 1)),
    };
    let character = bytes.get(..width).and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(|s| s.chars().next());
    Some(character.map_or((None, 1), |character| (Some(character), width)))
}
