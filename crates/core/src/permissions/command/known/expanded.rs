//! What the words of a command become, with what is known of variables there.

use super::Variables;
use crate::permissions::command::argument::{ANYTHING, Argument, is_marked};
use crate::permissions::command::expansion::{self, Piece};
use crate::permissions::command::loops::Turn;
use crate::script::{Part, RawCommand, Word};

/// 256 Ki characters of values in all words of a script.
const SUBSTITUTED: usize = 256 << 10;

impl Variables<'_> {
    /// The arguments that the words of a command become.
    pub(in crate::permissions::command) fn arguments(&self, index: usize) -> &[Argument] {
        self.expanded.get(index).map(|(arguments, _)| arguments.as_slice()).unwrap_or_default()
    }

    /// Whether braces in its words were expanded.
    pub(in crate::permissions::command) fn has_braces(&self, index: usize) -> bool {
        self.expanded.get(index).is_some_and(|(_, has_braces)| *has_braces)
    }

    /// What they are for a plain `sh`, when that is something else: it knows no braces.
    pub(in crate::permissions::command) fn plain_arguments(
        &self,
        command: &RawCommand,
        index: usize,
    ) -> Option<Vec<Argument>> {
        if !self.has_braces(index) {
            return None;
        }
        let mut arguments = Vec::with_capacity(command.words.len());
        for word in &command.words {
            self.substitute(&expansion::pieces(word), word, (index, Turn::NONE), false, &mut arguments);
        }
        Some(arguments)
    }

    /// The turns of the loops around a command in which it is looked at: each of them, where it says something else in each.
    pub(in crate::permissions::command) fn turns(&self, command: &RawCommand, index: usize) -> Vec<Turn<'_>> {
        if self.has_braces(index) { vec![Turn::NONE] } else { self.loops.turns(command, index) }
    }

    /// The arguments that the words of a command become in one turn.
    pub(in crate::permissions::command) fn arguments_in(
        &self,
        turn: Turn<'_>,
        command: &RawCommand,
        index: usize,
    ) -> Vec<Argument> {
        if turn == Turn::NONE {
            return self.arguments(index).to_vec();
        }
        let mut arguments = Vec::with_capacity(command.words.len());
        for word in &command.words {
            self.expand(word, index, turn, &mut arguments);
        }
        arguments
    }

    /// Whether a word may become options, or more words than one: no quotes hold it together, and nobody knows what it begins with, or what
    /// a command or an earlier line put into it.
    pub(in crate::permissions::command) fn may_be_options(&self, word: &Word, index: usize, turn: Turn<'_>) -> bool {
        let is_open = |(position, part): (usize, &Part)| match part {
            Part::Dynamic { is_one } => !is_one,
            Part::Altered { name, is_one } => {
                let parts = |value: &str| is_marked(value) || value.contains([' ', '\t', '\n']);
                !is_one
                    && match turn.value(name).or_else(|| self.value(name, index)) {
                        Some(value) => parts(value) || (position == 0 && value.contains('-')),
                        None => position == 0 || self.context.continues || self.is_given(name),
                    }
            }
            Part::Variable { name, .. } if name == "@" => true,
            Part::Variable { name, quoted } => {
                !quoted && (position == 0 || self.context.continues || self.is_given(name))
            }
            Part::Output { quoted, .. } => !quoted,
            Part::Text { .. } | Part::Number { .. } | Part::Pipe => false,
        };
        let mut arguments = Vec::new();
        word.parts.iter().enumerate().any(is_open) && {
            self.expand(word, index, turn, &mut arguments);
            arguments.iter().any(Argument::is_dynamic)
        }
    }

    /// The one argument that a word becomes where words are not split, as after `>`.
    pub(in crate::permissions::command) fn single(&self, word: &Word, index: usize, turn: Turn<'_>) -> Argument {
        let mut arguments = Vec::new();
        let has_braces = self.expand(word, index, turn, &mut arguments);
        match <[Argument; 1]>::try_from(arguments) {
            Ok([argument]) if !has_braces => argument,
            Err(none) if none.is_empty() && !has_braces => Argument::known(""),
            Ok(_) | Err(_) => Argument::unknown(),
        }
    }

    /// The value that a word gives to a variable: nothing in it is split, quoted or not.
    pub(in crate::permissions::command) fn assigned(&self, word: &Word, command: usize) -> Argument {
        if let Some(text) = word.literal().filter(|text| !text.contains(char::is_control)) {
            return Argument::known(text);
        }
        let mut whole = word.clone();
        for part in &mut whole.parts {
            match part {
                Part::Text { quoted, .. } | Part::Variable { quoted, .. } | Part::Output { quoted, .. } => {
                    *quoted = true
                }
                Part::Altered { is_one, .. } | Part::Dynamic { is_one } => *is_one = true,
                Part::Number { .. } | Part::Pipe => {}
            }
        }
        self.single(&whole, command, Turn::NONE)
    }

    /// Adds what a word becomes. Whether braces in it were expanded.
    pub(super) fn expand(&self, word: &Word, index: usize, turn: Turn<'_>, out: &mut Vec<Argument>) -> bool {
        if word.parts == [Part::Pipe] && self.readers.get(index) == Some(&true) {
            out.push(Argument::pipe());
            return false;
        }
        // The common word: unquoted text without anything special.
        if let Some(text) = word.plain()
            && !text.contains(['*', '?', '[', '{', '~'])
        {
            out.push(Argument::known(text));
            return false;
        }
        let (alternatives, has_braces) = expansion::alternatives(expansion::pieces(word));
        for pieces in &alternatives {
            self.substitute(pieces, word, (index, turn), has_braces, out);
        }
        has_braces
    }

    /// A word without braces: one, or none where an expansion leaves nothing, or several where a value has blanks and no quotes.
    pub(super) fn substitute(
        &self,
        pieces: &[Piece],
        word: &Word,
        place: (usize, Turn<'_>),
        has_braces: bool,
        out: &mut Vec<Argument>,
    ) {
        let tildes = expansion::tildes(pieces);
        let before = out.len();
        let mut characters: Vec<(char, bool)> = Vec::with_capacity(pieces.len());
        let mut is_one = true;
        for (position, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Character(..) if tildes.binary_search(&position).is_ok() => {
                    let ends = pieces.get(position + 1).is_none_or(|next| next.is('/'));
                    // Only at the beginning all shells put it, and only where no quotes stand in front of the slash.
                    match self.home().filter(|_| ends && position == 0 && !word.quoted) {
                        Some(home) => characters.extend(home.chars().map(|character| (character, true))),
                        None => characters.push((ANYTHING, true)),
                    }
                }
                Piece::Character(character, quoted) => characters.push((*character, *quoted)),
                Piece::Variable(part, quoted) => match self.part_value(word, *part, place) {
                    // Nobody knows whether an empty word in quotes stands in front.
                    Some(value)
                        if !*quoted && word.quoted && characters.is_empty() && value.starts_with([' ', '\t', '\n']) =>
                    {
                        is_one = false;
                        characters.push((ANYTHING, true));
                    }
                    // Its names may have blanks.
                    Some(value) if !*quoted && is_marked(value) => {
                        is_one = false;
                        characters.push((ANYTHING, true));
                    }
                    Some(value) if *quoted || !value.contains(['*', '?', '[']) => {
                        let of_loop =
                            matches!(&word.parts[*part], Part::Variable { name, .. } if place.1.value(name).is_some());
                        for character in value.chars() {
                            if !*quoted && matches!(character, ' ' | '\t' | '\n') {
                                if !characters.is_empty() {
                                    out.push(Argument::known(expansion::mark(&characters)));
                                    characters.clear();
                                }
                                continue;
                            }
                            let is_pattern = of_loop && is_marked(character.encode_utf8(&mut [0; 4]));
                            characters.push((if is_pattern { character } else { expansion::known(character) }, true));
                        }
                    }
                    Some(_) | None => {
                        is_one &= *quoted && !matches!(&word.parts[*part], Part::Variable { name, .. } if name == "@");
                        characters.push((ANYTHING, true));
                    }
                },
                Piece::Unknown => {
                    is_one = false;
                    characters.push((ANYTHING, true));
                }
            }
        }
        match (characters.is_empty(), word.quoted) {
            (true, false) => {}
            // Which of the alternatives held the quotes is not sure, or whether they stand behind the last blank.
            (true, true) if has_braces || out.len() > before => out.push(Argument::unknown()),
            (_, _) if is_one => out.push(Argument::one(expansion::mark(&characters))),
            (_, _) => out.push(Argument::known(expansion::mark(&characters))),
        }
    }

    /// The value of the variable that is a part of a word. Beyond a limit none is known, or a short text becomes megabytes.
    fn part_value<'v>(&'v self, word: &Word, part: usize, (command, turn): (usize, Turn<'v>)) -> Option<&'v str> {
        let value = match word.parts.get(part)? {
            Part::Variable { name, .. } => turn.value(name).or_else(|| self.value(name, command))?,
            // A text that runs in between may give `cat` another meaning.
            Part::Output { .. } if self.hidden => return None,
            Part::Output { first, .. } => {
                // In the order of their commands.
                let at = self.printed.binary_search_by_key(first, |(command, _)| *command).ok()?;
                &self.printed.get(at)?.1
            }
            Part::Text { .. } | Part::Number { .. } | Part::Pipe | Part::Altered { .. } | Part::Dynamic { .. } => {
                return None;
            }
        };
        self.substituted.set(self.substituted.get() + value.len());
        (self.substituted.get() <= SUBSTITUTED).then_some(value)
    }
}
