//! What stands in quotes and behind a `$`: text that separates nothing, and expansions that are known only when they run.

use super::frame::{Close, Inner, Region};
use super::{Failure, Parser, ansi};
use crate::script::{Nested, NestedKind, POSITIONAL, Part, RedirectKind, Word, sets, sums};

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
        word.begin_quotes();
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
                    // In a here-document quotes are letters.
                    Some(next) if "$`\\".contains(next) || (next == '"' && !template) => {
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

    /// Whether what is read here is taken for a number.
    pub(super) fn in_number(&mut self) -> bool {
        self.top().inner.iter().any(|inner| match inner {
            Inner::Arithmetic { .. } => true,
            Inner::Parameter { region, .. } => *region != Region::Text,
            Inner::DoubleQuotes | Inner::Template => false,
        })
    }

    /// Notes variables whose text is taken for a number here.
    pub(super) fn takes_for_numbers(&mut self, names: impl IntoIterator<Item = String>) {
        let at = self.script.commands.len();
        self.script.numbers.read.extend(names.into_iter().map(|name| (name, at)));
    }

    /// Notes the variable of that name, which is read here.
    fn read_name(&mut self, name: &str) {
        if self.in_number() {
            self.takes_for_numbers([name.to_owned()]);
        }
    }

    /// The rest of a name or number whose first character was taken, inside a sum.
    fn number_word(&mut self, first: char) -> Result<(), Failure> {
        let length = self.name_length();
        self.check_end_of_name(length)?;
        let start = self.position - first.len_utf8();
        self.position += length;
        if first.is_ascii_digit() {
            return Ok(());
        }
        let name = self.text[start..self.position].to_owned();
        let sets = sets(self.rest());
        if sets {
            self.script.numbers.set.push(name);
        } else {
            self.takes_for_numbers([name]);
        }
        Ok(())
    }

    pub(super) fn dollar(&mut self, quoted: bool) -> Result<(), Failure> {
        match self.peek() {
            Some('(') => {
                self.advance('(');
                self.script.constructs.substitution = true;
                if self.peek() == Some('(') {
                    self.advance('(');
                    // Within another expansion it is no part of the word.
                    let is_part = self.top().inner.iter().all(|inner| *inner == Inner::DoubleQuotes);
                    let value = is_part.then(|| sums::value(self.rest())).flatten();
                    self.word().parts.push(Part::Number { value });
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
                self.script.constructs.dollar_quotes = true;
                self.ansi_quotes()
            }
            Some('"') if !quoted => {
                self.advance('"');
                self.script.constructs.dollar_quotes = true;
                self.word().begin_quotes();
                self.word().parts.push(Part::Dynamic { is_one: true });
                self.enter(Inner::DoubleQuotes)
            }
            Some('[') => Err("it holds '$[', which shells read differently"),
            Some(first) if first == '_' || first.is_ascii_alphabetic() => {
                let length = self.name_length();
                self.check_end_of_name(length)?;
                let name = self.rest()[..length].to_owned();
                self.position += length;
                self.read_name(&name);
                self.word().parts.push(Part::Variable { name, quoted });
                Ok(())
            }
            Some(special) if special.is_ascii_digit() || "@*".contains(special) => {
                self.advance(special);
                self.read_name(POSITIONAL);
                self.word().parts.push(Part::Variable { name: POSITIONAL.to_owned(), quoted });
                Ok(())
            }
            Some(special) if "#?-$!".contains(special) => {
                self.advance(special);
                // `$-` is letters.
                let part = if special == '-' { Part::Dynamic { is_one: true } } else { Part::Number { value: None } };
                self.word().parts.push(part);
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

    /// Shells join continued lines before they look where a name ends.
    fn check_end_of_name(&self, length: usize) -> Result<(), Failure> {
        let behind = &self.rest()[length..];
        let joined = behind.trim_start_matches("\\\n");
        let goes_on = |character: char| character == '_' || character.is_ascii_alphanumeric();
        if joined.len() < behind.len() && joined.starts_with(goes_on) {
            return Err("a name goes on in the next line");
        }
        Ok(())
    }

    pub(super) fn parameter(&mut self, quoted: bool) -> Result<(), Failure> {
        // `${ command; }` and `${| command; }` of bash 5.3 and ksh.
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|' | '(')) {
            return Err("it holds '${ …; }', which some shells run");
        }
        let length = self.name_length();
        self.check_end_of_name(length)?;
        if let Some(value) = self.rest()[length..].trim_start_matches([':', '\\', '\n']).strip_prefix('=') {
            let name = self.rest()[..length].to_owned();
            let digits = value.split('}').next().filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
            let part = if digits.is_some() { Part::Number { value: None } } else { Part::Dynamic { is_one: true } };
            self.script.given.push((name.clone(), Word { parts: vec![part], quoted: true }));
            self.script.loop_variables.push(name);
        }
        if length > 0
            && self.rest()[length..].starts_with('}')
            && !self.rest().starts_with(|c: char| c.is_ascii_digit())
        {
            let name = self.rest()[..length].to_owned();
            self.position += length + 1;
            self.read_name(&name);
            self.word().parts.push(Part::Variable { name, quoted });
            return Ok(());
        }
        let is_keys = |rest: &str| rest.starts_with("[@]}") || rest.starts_with("[*]}");
        if let Some(named) = self.rest().strip_prefix('!') {
            // `${!a[@]}` are the keys of an array.
            let is_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
            let name = named.find(|character| !is_name(character)).unwrap_or(named.len());
            self.script.constructs.indirection |= name == 0 || !is_keys(&named[name..]);
        }
        let is_length = self.rest().starts_with('#');
        let is_named = self.rest().starts_with('!');
        if is_length || is_named {
            self.position += 1;
        }
        let name = self.parameter_name();
        let plain = self.rest().starts_with('}');
        let is_one = quoted && !is_named && name != "@" && !self.rest().starts_with("[@");
        let is_variable = name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
        let is_number = match (is_length, name.is_empty()) {
            (true, false) => true,
            // `${#}`, `${#?}`; but `${#-y}` is `$#` or `y`.
            (true, true) => {
                plain || self.rest().starts_with(['#', '?', '-', '$', '!']) && self.rest()[1..].starts_with('}')
            }
            (false, true) => self.rest().starts_with("?}") || self.rest().starts_with("$}"),
            (false, false) => false,
        };
        let part = if is_number {
            Part::Number { value: None }
        } else if is_variable && !is_named && brings_nothing_in(self.rest()) {
            Part::Altered { name: name.clone(), is_one }
        } else {
            Part::Dynamic { is_one }
        };
        self.word().parts.push(part);
        match name.chars().next() {
            _ if is_length && plain => {}
            Some(first) if first.is_ascii_digit() || "@*".contains(first) => self.read_name(POSITIONAL),
            Some(_) => self.read_name(&name),
            None => self.script.numbers.unknown |= self.in_number(),
        }
        let region = match self.peek() {
            Some('[') => Region::Subscript,
            Some(':') if !self.rest()[1..].trim_start_matches(['\\', '\n']).starts_with(['-', '=', '?', '+']) => {
                Region::Offset
            }
            Some(_) | None => Region::Text,
        };
        if region != Region::Text {
            self.position += 1;
        }
        self.enter(Inner::Parameter { quoted, region })
    }

    /// The name in `${name…}`, continued lines joined.
    fn parameter_name(&mut self) -> String {
        let mut name = String::new();
        if let Some(all @ ('@' | '*')) = self.peek() {
            self.advance(all);
            name.push(all);
            return name;
        }
        while let Some(character) = self.peek().filter(|c| *c == '_' || c.is_ascii_alphanumeric()) {
            self.advance(character);
            name.push(character);
        }
        name
    }

    pub(super) fn step_parameter(&mut self, character: char) -> Result<(), Failure> {
        let within_quotes = self.top().inner.iter().any(|inner| match inner {
            Inner::DoubleQuotes | Inner::Template => true,
            Inner::Parameter { quoted, .. } => *quoted,
            Inner::Arithmetic { .. } => false,
        });
        let region = match self.top().inner.last() {
            Some(Inner::Parameter { region, .. }) => *region,
            Some(_) | None => Region::Text,
        };
        self.advance(character);
        match character {
            // `${a[0]:=x}` sets a part of the variable.
            ']' if self.rest().trim_start_matches([':', '\\', '\n']).starts_with('=') => {
                Err("it sets a part of a variable in an expansion")
            }
            ']' if region == Region::Subscript => {
                let offset = self.peek() == Some(':') && !self.rest()[1..].starts_with(['-', '=', '?', '+']);
                if offset {
                    self.position += 1;
                }
                if let Some(Inner::Parameter { region, .. }) = self.top().inner.last_mut() {
                    *region = if offset { Region::Offset } else { Region::Text };
                }
                Ok(())
            }
            '@' if region == Region::Subscript => Ok(()),
            _ if region != Region::Text && (character == '_' || character.is_ascii_alphanumeric()) => {
                self.number_word(character)
            }
            _ if (character == '_' || character.is_ascii_alphabetic()) && self.in_number() => {
                self.number_word(character)
            }
            '}' => {
                self.leave();
                Ok(())
            }
            '\'' | '"' | '\\' if within_quotes => Err("it holds quotes inside \"${…}\", which shells read differently"),
            '\'' => {
                let Some(length) = self.rest().find('\'') else { return Err("a single quote is not closed") };
                self.position += length + 1;
                self.script.numbers.unknown |= self.in_number();
                Ok(())
            }
            '"' => {
                self.script.numbers.unknown |= self.in_number();
                self.enter(Inner::DoubleQuotes)
            }
            '\\' => {
                if let Some(next) = self.rest().chars().next() {
                    self.advance(next);
                }
                Ok(())
            }
            '$' if self.peek() == Some('\'') => Err("it holds $'…' inside '${…}', which shells read differently"),
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
            _ if character == '_' || character.is_ascii_alphanumeric() => self.number_word(character),
            _ if " +-*/%<>=!&|^~?:,#".contains(character) => Ok(()),
            _ => Err("it holds arithmetic that is not understood"),
        }
    }

    /// `` `…` ``, its opening quote taken: ends at the next back-quote that no backslash protects, whatever lies between.
    pub(super) fn back_quotes(&mut self, quoted: bool) -> Result<(), Failure> {
        self.script.constructs.substitution = true;
        // In here-documents and expansions shells do not agree what a backslash before a quote is.
        let is_plain = self.top().inner.iter().all(|inner| matches!(inner, Inner::DoubleQuotes));
        let mut text = String::new();
        loop {
            let Some(character) = self.rest().chars().next() else { return Err("a back-quote is not closed") };
            self.advance(character);
            match character {
                '`' => break,
                '\\' => match self.rest().chars().next() {
                    Some('"') if !is_plain => {
                        return Err("it holds an escaped quote in back-quotes, which shells read differently");
                    }
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
        self.script.numbers.unknown |= self.in_number();
        self.word().parts.push(Part::Dynamic { is_one: quoted });
        self.script.nested.push(Nested { text, kind: NestedKind::Script });
        Ok(())
    }

    /// `$'…'`, its opening quote taken.
    pub(super) fn ansi_quotes(&mut self) -> Result<(), Failure> {
        if self.top().redirect.is_some_and(|(kind, _)| kind == RedirectKind::HereDocument) {
            return Err("a here-document ends with $'…', which shells read differently");
        }
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
        let slashes = |text: &str| memchr::memchr_iter(b'/', text.as_bytes()).count();
        let part = match ansi::decode(text) {
            // Where dash keeps the backslash, one name is what are two for bash.
            Some(decoded) if slashes(&decoded) != slashes(text) => Part::Dynamic { is_one: true },
            Some(text) => Part::Text { text, quoted: true },
            None => Part::Dynamic { is_one: true },
        };
        let word = self.word();
        word.quoted = true;
        word.parts.push(part);
        Ok(())
    }
}

/// Whether what stands behind the name in `${name…}` brings in nothing but signs that part no words and begin no option.
fn brings_nothing_in(behind: &str) -> bool {
    let is_letter = |character: char| character == '_' || character.is_ascii_alphanumeric();
    let behind = match behind.strip_prefix('[') {
        None => behind,
        Some(subscript) => {
            let Some((subscript, behind)) = subscript.split_once(']') else { return false };
            if !subscript.chars().all(|character| is_letter(character) || "$@*".contains(character)) {
                return false;
            }
            behind
        }
    };
    let of_default = |text: &str| text.starts_with(['-', '=', '?', '+']);
    let brought = match behind.strip_prefix(':') {
        Some(text) if of_default(text) => &text[1..],
        Some(text) => return !text.starts_with('\\'),
        None if of_default(behind) || behind.starts_with('/') => &behind[1..],
        None => return behind.starts_with(['}', '%', '#', '^', ',']),
    };
    let text = brought.split('}').next().unwrap_or_default();
    text.chars().all(|character| is_letter(character) || "./:,+=%".contains(character))
}
