//! What stands in quotes and behind a `$`: text that separates nothing, and expansions that are known only when they run.

use super::super::frame::{Close, Inner};
use super::super::script::{Nested, NestedKind, Part};
use super::{Failure, Parser};

impl Parser<'_> {
    pub(super) fn single_quotes(&mut self) -> Result<(), Failure> {
        let Some(length) = self.rest().find('\'') else { return Err("a single quote is not closed") };
        let start = self.position;
        self.position += length + 1;
        let text = &self.text[start..start + length];
        if text.contains('\n') {
            self.check_no_document(false)?;
        }
        let word = self.word();
        word.quoted = true;
        if !text.is_empty() {
            word.parts.push(Part::Text { text: text.to_owned(), quoted: true });
        }
        Ok(())
    }

    pub(super) fn step_quoted(&mut self, character: char) -> Result<(), Failure> {
        self.advance(character);
        let template = matches!(self.top().inner.last(), Some(Inner::Template));
        match character {
            '"' if !template => {
                self.leave();
                Ok(())
            }
            '\\' => {
                let next = self.rest().chars().next();
                match next {
                    Some(next @ ('$' | '`' | '"' | '\\')) => {
                        self.advance(next);
                        self.push_quoted(next);
                    }
                    Some(_) | None => self.push_quoted('\\'),
                }
                Ok(())
            }
            '$' => self.dollar(true),
            '`' => self.back_quotes(true),
            '\n' => {
                self.check_no_document(false)?;
                self.push_quoted('\n');
                Ok(())
            }
            _ => {
                self.push_quoted(character);
                Ok(())
            }
        }
    }

    /// Adds a character to the word, unless an expansion around it makes the word dynamic anyway.
    pub(super) fn push_quoted(&mut self, character: char) {
        let outermost = self.top().inner.len() == 1;
        if outermost {
            self.word().push(character, true);
        }
    }

    pub(super) fn dollar(&mut self, quoted: bool) -> Result<(), Failure> {
        match self.peek() {
            Some('(') => {
                self.advance('(');
                self.script.constructs.substitution = true;
                if self.peek() == Some('(') {
                    self.advance('(');
                    self.word().parts.push(Part::Dynamic);
                    self.enter(Inner::Arithmetic { open: 0 })
                } else {
                    self.open(Close::Substitution)
                }
            }
            Some('{') => {
                self.advance('{');
                self.parameter(quoted)
            }
            Some('\'') if !quoted => {
                self.advance('\'');
                self.ansi_quotes()
            }
            Some('"') if !quoted => {
                self.advance('"');
                self.word().quoted = true;
                self.word().parts.push(Part::Dynamic);
                self.enter(Inner::DoubleQuotes)
            }
            Some('[') => Err("it holds '$[', which shells read differently"),
            Some(first) if first == '_' || first.is_ascii_alphabetic() => {
                let length = self.name_length();
                let name = self.rest()[..length].to_owned();
                self.position += length;
                self.word().parts.push(Part::Variable { name, quoted });
                Ok(())
            }
            Some(special) if special.is_ascii_digit() || "@*#?-$!".contains(special) => {
                self.advance(special);
                self.word().parts.push(Part::Dynamic);
                Ok(())
            }
            Some(_) | None => {
                self.word().push('$', quoted);
                Ok(())
            }
        }
    }

    pub(super) fn name_length(&self) -> usize {
        self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
    }

    pub(super) fn parameter(&mut self, quoted: bool) -> Result<(), Failure> {
        // `${ command; }` and `${| command; }` of bash 5.3 and ksh.
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|' | '(')) {
            return Err("it holds '${ …; }', which some shells run");
        }
        let length = self.name_length();
        if self.rest()[length..].trim_start_matches([':', '\\', '\n']).starts_with('=') {
            let name = self.rest()[..length].to_owned();
            self.script.loop_variables.push(name);
        }
        if length > 0
            && self.rest()[length..].starts_with('}')
            && !self.rest().starts_with(|c: char| c.is_ascii_digit())
        {
            let name = self.rest()[..length].to_owned();
            self.position += length + 1;
            self.word().parts.push(Part::Variable { name, quoted });
            return Ok(());
        }
        if self.rest().starts_with('!') {
            self.script.constructs.indirection = true;
        }
        self.word().parts.push(Part::Dynamic);
        self.enter(Inner::Parameter { quoted })
    }

    pub(super) fn step_parameter(&mut self, character: char) -> Result<(), Failure> {
        let within_quotes = self.top().inner.iter().any(|inner| match inner {
            Inner::DoubleQuotes | Inner::Template => true,
            Inner::Parameter { quoted } => *quoted,
            Inner::Arithmetic { .. } => false,
        });
        self.advance(character);
        match character {
            '}' => {
                self.leave();
                Ok(())
            }
            '\'' | '"' | '\\' if within_quotes => Err("it holds quotes inside \"${…}\", which shells read differently"),
            '\'' => {
                let Some(length) = self.rest().find('\'') else { return Err("a single quote is not closed") };
                self.position += length + 1;
                Ok(())
            }
            '"' => self.enter(Inner::DoubleQuotes),
            '\\' => {
                if let Some(next) = self.rest().chars().next() {
                    self.advance(next);
                }
                Ok(())
            }
            '$' => self.dollar(true),
            '`' => self.back_quotes(within_quotes),
            '<' | '>' if self.peek() == Some('(') => Err("it holds a process substitution inside '${…}'"),
            '@' => {
                self.script.constructs.indirection = true;
                Ok(())
            }
            '=' => {
                self.script.constructs.assigning_expansion = true;
                Ok(())
            }
            '\n' => self.check_no_document(false),
            _ => Ok(()),
        }
    }

    pub(super) fn step_arithmetic(&mut self, character: char) -> Result<(), Failure> {
        self.advance(character);
        let Some(Inner::Arithmetic { open }) = self.top().inner.last_mut() else { return Ok(()) };
        match character {
            '(' => {
                *open += 1;
                Ok(())
            }
            ')' if *open > 0 => {
                *open -= 1;
                Ok(())
            }
            ')' => {
                if !self.take(')') {
                    return Err("'$((' opens no arithmetic");
                }
                self.leave();
                Ok(())
            }
            '$' => self.dollar(true),
            '`' => self.back_quotes(true),
            _ if character.is_ascii_alphanumeric() || " _+-*/%<>=!&|^~?:,".contains(character) => Ok(()),
            _ => Err("it holds arithmetic that is not understood"),
        }
    }

    /// `` `…` ``, its opening quote taken: ends at the next back-quote that no backslash protects, whatever lies between.
    pub(super) fn back_quotes(&mut self, quoted: bool) -> Result<(), Failure> {
        self.script.constructs.substitution = true;
        let mut text = String::new();
        loop {
            let Some(character) = self.rest().chars().next() else { return Err("a back-quote is not closed") };
            self.advance(character);
            match character {
                '`' => break,
                '\\' => match self.rest().chars().next() {
                    Some(next) if "`$\\".contains(next) || (quoted && next == '"') => {
                        self.advance(next);
                        text.push(next);
                    }
                    Some(_) | None => text.push('\\'),
                },
                '\n' => {
                    self.check_no_document(false)?;
                    text.push('\n');
                }
                _ => text.push(character),
            }
        }
        self.word().parts.push(Part::Dynamic);
        self.script.nested.push(Nested { text, kind: NestedKind::Script });
        Ok(())
    }

    /// `$'…'`, its opening quote taken.
    pub(super) fn ansi_quotes(&mut self) -> Result<(), Failure> {
        let Some(length) = self.rest().find('\'') else { return Err("a single quote is not closed") };
        let start = self.position;
        let text = &self.text[start..start + length];
        // dash ends the string at the first quote, bash not at an escaped one.
        if text.ends_with('\\') {
            return Err("it holds $'…\\'…', which shells read differently");
        }
        self.position += length + 1;
        if text.contains('\n') {
            self.check_no_document(false)?;
        }
        let part = match super::super::ansi::decode(text) {
            Some(text) => Part::Text { text, quoted: true },
            None => Part::Dynamic,
        };
        let word = self.word();
        word.quoted = true;
        word.parts.push(part);
        Ok(())
    }
}
