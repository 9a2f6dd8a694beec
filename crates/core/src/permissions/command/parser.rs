//! Reads shell text, POSIX and bash, and finds every simple command in it.
//!
//! One pass over the text with a stack of our own, so that no input can exhaust the thread's. The parser is strict where
//! shells disagree with each other or with their manual (`$'…\'…'`, quotes inside `"${…}"`, a here-document that starts
//! inside a substitution): such text is an error, and an error is never allowed to run unasked. It is lax where a shell
//! would refuse (an empty `if`), because what no shell runs does no harm. What it must never do is take for data what a
//! shell runs: every unquoted separator, back-quote, `$(` and newline either ends a command or opens one (R-CMD-4).

use super::frame::{At, Close, Compound, Frame, Inner, PendingDocument};
use super::script::{Body, Function, Nested, NestedKind, Part, Redirect, RedirectKind, RedirectTarget, Script, Word};

/// 40 levels of nesting (R-CMD-1): people write five.
const DEPTH: usize = 40;

/// Why a text was not understood.
type Failure = &'static str;

/// Parses a script.
pub(super) fn parse(text: &str, kind: NestedKind) -> Script {
    let mut parser =
        Parser { text, position: 0, frames: vec![Frame::new(Close::End)], depth: 1, script: Script::default() };
    if kind == NestedKind::Template {
        parser.top().inner.push(Inner::Template);
        parser.top().word = Some(Word::default());
    }
    if let Err(failure) = parser.run() {
        parser.finish_after_failure();
        parser.script.error = Some(failure);
    }
    parser.script
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    /// Never empty: the first is the script itself.
    frames: Vec<Frame>,
    /// Frames, inner contexts and compounds that are open.
    depth: usize,
    script: Script,
}

impl Parser<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        while let Some(character) = self.peek() {
            match self.top().inner.last() {
                None => self.step(character)?,
                Some(Inner::DoubleQuotes | Inner::Template) => self.step_quoted(character)?,
                Some(Inner::Parameter { .. }) => self.step_parameter(character)?,
                Some(Inner::Arithmetic { .. }) => self.step_arithmetic(character)?,
            }
        }
        if self.frames.len() == 1 && matches!(self.top().inner.as_slice(), [Inner::Template]) {
            return Ok(());
        }
        if self.frames.len() > 1 || !self.top().inner.is_empty() {
            return Err("a quote, parenthesis or brace is not closed");
        }
        self.end_command(Separator::End)?;
        self.check_closed()
    }

    /// Keeps what was read of the commands that an error cut short: a deny rule still applies to them.
    fn finish_after_failure(&mut self) {
        while let Some(mut frame) = self.frames.pop() {
            if let (Some(word), None) = (frame.word.take(), &frame.redirect) {
                frame.command.words.push(word);
            }
            if !frame.command.words.is_empty() {
                self.script.commands.push(frame.command);
            }
        }
        let end = self.script.commands.len();
        for function in &mut self.script.functions {
            function.end = function.end.min(end);
        }
    }

    // --- looking ---------------------------------------------------------------------------------------------------

    fn top(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    /// The next character, continued lines joined.
    fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.position += 2;
        }
        self.rest().chars().next()
    }

    fn advance(&mut self, character: char) {
        self.position += character.len_utf8();
    }

    /// Takes `expected` when it comes next.
    fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.advance(expected);
        }
        found
    }

    fn word(&mut self) -> &mut Word {
        self.top().word.get_or_insert_default()
    }

    fn deepen(&mut self) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth > DEPTH { Err("it is nested too deeply") } else { Ok(()) }
    }

    fn open(&mut self, close: Close) -> Result<(), Failure> {
        self.deepen()?;
        self.frames.push(Frame::new(close));
        Ok(())
    }

    fn enter(&mut self, inner: Inner) -> Result<(), Failure> {
        self.deepen()?;
        self.top().inner.push(inner);
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.top().inner.pop();
    }

    fn push_compound(&mut self, compound: Compound) -> Result<(), Failure> {
        self.deepen()?;
        self.script.constructs.control_flow = true;
        self.top().compounds.push(compound);
        Ok(())
    }

    /// A newline inside quotes or a substitution while a here-document waits for its text: shells differ.
    fn check_no_document(&mut self, own: bool) -> Result<(), Failure> {
        let outer = self.frames.len() - usize::from(own);
        if self.frames[..outer].iter().any(|frame| !frame.documents.is_empty()) {
            return Err("a here-document begins on a line that goes on");
        }
        Ok(())
    }

    // --- unquoted text ---------------------------------------------------------------------------------------------

    fn step(&mut self, character: char) -> Result<(), Failure> {
        match character {
            ' ' | '\t' => {
                self.advance(character);
                self.end_word()
            }
            '\n' => {
                self.advance(character);
                self.check_no_document(true)?;
                self.end_command(Separator::Newline)?;
                self.read_documents()
            }
            '\r' => Err("it holds a carriage return outside quotes"),
            '#' if self.top().word.is_none() => {
                self.position += self.rest().find('\n').unwrap_or(self.rest().len());
                Ok(())
            }
            ';' => {
                self.advance(character);
                self.semicolon()
            }
            '&' => {
                self.advance(character);
                if self.take('&') {
                    self.end_command(Separator::And)
                } else if self.take('>') {
                    self.take('>');
                    self.end_word()?;
                    self.begin_redirect(RedirectKind::Write, false)
                } else {
                    self.script.constructs.background = true;
                    self.end_command(Separator::Background)
                }
            }
            '|' => {
                self.advance(character);
                if self.top().at == At::CasePattern {
                    self.top().word = None;
                    Ok(())
                } else if self.take('|') {
                    self.end_command(Separator::Or)
                } else {
                    self.take('&');
                    self.end_command(Separator::Pipe)
                }
            }
            '(' => {
                self.advance(character);
                self.parenthesis()
            }
            ')' => {
                self.advance(character);
                self.close_parenthesis()
            }
            '<' | '>' => {
                self.advance(character);
                self.redirection(character)
            }
            '\'' => {
                self.advance(character);
                self.single_quotes()
            }
            '"' => {
                self.advance(character);
                self.word().quoted = true;
                self.enter(Inner::DoubleQuotes)
            }
            '\\' => {
                self.advance(character);
                let next = self.rest().chars().next();
                match next {
                    Some(next) => {
                        self.advance(next);
                        self.word().push(next, true);
                    }
                    None => self.word().push('\\', true),
                }
                Ok(())
            }
            '$' => {
                self.advance(character);
                self.dollar(false)
            }
            '`' => {
                self.advance(character);
                self.back_quotes(false)
            }
            _ => {
                self.advance(character);
                self.word().push(character, false);
                Ok(())
            }
        }
    }

    fn single_quotes(&mut self) -> Result<(), Failure> {
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

    // --- quoted and nested text ------------------------------------------------------------------------------------

    fn step_quoted(&mut self, character: char) -> Result<(), Failure> {
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
    fn push_quoted(&mut self, character: char) {
        let outermost = self.top().inner.len() == 1;
        if outermost {
            self.word().push(character, true);
        }
    }

    fn dollar(&mut self, quoted: bool) -> Result<(), Failure> {
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

    fn name_length(&self) -> usize {
        self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
    }

    fn parameter(&mut self, quoted: bool) -> Result<(), Failure> {
        let length = self.name_length();
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

    fn step_parameter(&mut self, character: char) -> Result<(), Failure> {
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

    fn step_arithmetic(&mut self, character: char) -> Result<(), Failure> {
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
    fn back_quotes(&mut self, quoted: bool) -> Result<(), Failure> {
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
    fn ansi_quotes(&mut self) -> Result<(), Failure> {
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
        let part = match super::ansi::decode(text) {
            Some(text) => Part::Text { text, quoted: true },
            None => Part::Dynamic,
        };
        let word = self.word();
        word.quoted = true;
        word.parts.push(part);
        Ok(())
    }

    // --- operators -------------------------------------------------------------------------------------------------

    fn semicolon(&mut self) -> Result<(), Failure> {
        let fall_through = self.peek() == Some('&');
        if self.take(';') || fall_through {
            self.take('&');
            self.end_command(Separator::List)?;
            let frame = self.top();
            if frame.compounds.last() != Some(&Compound::CaseBody) {
                return Err("';;' stands outside a 'case'");
            }
            frame.at = At::CasePattern;
            return Ok(());
        }
        self.end_command(Separator::List)
    }

    fn parenthesis(&mut self) -> Result<(), Failure> {
        let frame = self.top();
        if frame.at == At::CasePattern && frame.word.is_none() {
            return Ok(());
        }
        let names_a_function = match (&frame.word, frame.command.words.as_slice()) {
            (Some(_), []) | (None, [_]) => {
                frame.redirect.is_none() && frame.command.assignments.is_empty() && frame.command.redirects.is_empty()
            }
            (_, _) => false,
        };
        if names_a_function {
            let name = frame.word.take().or_else(|| frame.command.words.pop());
            self.skip_blanks();
            if !self.take(')') {
                return Err("a parenthesis stands where none is expected");
            }
            let name = name.as_ref().and_then(Word::literal).ok_or("a function's name is not plain")?;
            return self.begin_function(name);
        }
        if frame.at == At::Command && frame.word.is_none() {
            self.script.constructs.control_flow = true;
            return self.open(Close::Subshell);
        }
        Err("a parenthesis stands where none is expected")
    }

    fn skip_blanks(&mut self) {
        while let Some(blank @ (' ' | '\t')) = self.peek() {
            self.advance(blank);
        }
    }

    fn begin_function(&mut self, name: String) -> Result<(), Failure> {
        let index = self.script.functions.len();
        let first = self.script.commands.len();
        self.script.functions.push(Function { name, first, end: usize::MAX });
        self.push_compound(Compound::Function(index))?;
        self.top().at = At::Command;
        Ok(())
    }

    fn close_parenthesis(&mut self) -> Result<(), Failure> {
        if self.top().at == At::CasePattern {
            let frame = self.top();
            frame.word = None;
            frame.at = At::Command;
            return match frame.compounds.last_mut() {
                Some(compound @ Compound::Case) => {
                    *compound = Compound::CaseBody;
                    Ok(())
                }
                Some(Compound::CaseBody) => Ok(()),
                Some(_) | None => Err("a 'case' is not understood"),
            };
        }
        self.end_command(Separator::End)?;
        self.check_closed()?;
        if self.frames.len() == 1 {
            return Err("a parenthesis is closed that was not opened");
        }
        self.depth -= 1;
        let close = self.frames.pop().map(|frame| frame.close);
        match close {
            Some(Close::Subshell) => self.close_compound(),
            Some(Close::Substitution) => {
                self.word().parts.push(Part::Dynamic);
                Ok(())
            }
            Some(Close::End) | None => Err("a parenthesis is closed that was not opened"),
        }
    }

    /// Whether everything that the top frame opened is closed.
    fn check_closed(&mut self) -> Result<(), Failure> {
        let frame = self.top();
        if !frame.compounds.is_empty() {
            return Err("a compound command is not closed");
        }
        if !frame.documents.is_empty() {
            return Err("a here-document has no text");
        }
        if !matches!(frame.at, At::Command | At::AfterCompound) {
            return Err("a command is not complete");
        }
        Ok(())
    }

    fn redirection(&mut self, first: char) -> Result<(), Failure> {
        if self.peek() == Some('(') {
            self.advance('(');
            self.script.constructs.substitution = true;
            self.word();
            return self.open(Close::Substitution);
        }
        // Digits that touch the operator are a descriptor.
        let descriptor = self
            .top()
            .word
            .as_ref()
            .and_then(Word::plain)
            .is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        if descriptor {
            self.top().word = None;
        } else {
            self.end_word()?;
        }
        let kind = match first {
            '<' if self.take('<') => {
                if self.take('<') {
                    RedirectKind::HereString
                } else {
                    let strip = self.take('-');
                    return self.begin_redirect(RedirectKind::HereDocument, strip);
                }
            }
            '<' if self.take('>') => RedirectKind::ReadWrite,
            '<' if self.take('&') => RedirectKind::Duplicate,
            '<' => RedirectKind::Read,
            _ if self.take('&') => RedirectKind::Duplicate,
            _ => {
                if !self.take('>') {
                    self.take('|');
                }
                RedirectKind::Write
            }
        };
        self.begin_redirect(kind, false)
    }

    fn begin_redirect(&mut self, kind: RedirectKind, strip: bool) -> Result<(), Failure> {
        let frame = self.top();
        if frame.redirect.is_some() {
            return Err("a redirection has no target");
        }
        if !matches!(frame.at, At::Command | At::Prefix | At::Arguments | At::AfterCompound) {
            return Err("a redirection stands where none is expected");
        }
        frame.redirect = Some((kind, strip));
        if frame.at == At::Command {
            frame.at = At::Prefix;
        }
        Ok(())
    }

    // --- words and commands ----------------------------------------------------------------------------------------

    fn end_word(&mut self) -> Result<(), Failure> {
        let frame = self.top();
        let Some(word) = frame.word.take() else { return Ok(()) };
        if let Some((kind, strip)) = frame.redirect.take() {
            return self.end_redirect(kind, strip, word);
        }
        match frame.at {
            At::Command => match word.plain() {
                Some(name) if is_keyword(name) => {
                    let name = name.to_owned();
                    self.keyword(&name)
                }
                Some(_) | None => {
                    self.first_word(word);
                    Ok(())
                }
            },
            At::Prefix => {
                self.first_word(word);
                Ok(())
            }
            At::Arguments => {
                frame.command.words.push(word);
                Ok(())
            }
            At::AfterCompound => match word.plain() {
                // `if …; then { …; } fi` and the like: a closing word may follow a closing word.
                Some(name) if is_keyword(name) => {
                    frame.at = At::Command;
                    let name = name.to_owned();
                    self.keyword(&name)
                }
                Some(_) | None => Err("a word follows a compound command"),
            },
            At::ForName => {
                frame.at = At::ForIn;
                let name = word.literal().ok_or("a loop's variable is not plain")?;
                self.script.loop_variables.push(name);
                Ok(())
            }
            At::ForIn => match word.plain() {
                Some("in") => {
                    frame.at = At::ForWords;
                    Ok(())
                }
                Some("do") => {
                    frame.at = At::Command;
                    self.keyword("do")
                }
                Some(_) | None => Err("a 'for' is not understood"),
            },
            At::ForWords => Ok(()),
            At::CaseWord => {
                frame.at = At::CaseIn;
                Ok(())
            }
            At::CaseIn => match word.plain() {
                Some("in") => {
                    frame.at = At::CasePattern;
                    Ok(())
                }
                Some(_) | None => Err("a 'case' is not understood"),
            },
            At::CasePattern => {
                if word.plain() == Some("esac") {
                    frame.at = At::Command;
                    return self.keyword("esac");
                }
                // The pattern of a branch; its `)` comes next.
                Ok(())
            }
            At::FunctionName => {
                let name = word.literal().ok_or("a function's name is not plain")?;
                self.skip_blanks();
                if self.take('(') {
                    self.skip_blanks();
                    if !self.take(')') {
                        return Err("a function is not understood");
                    }
                }
                self.begin_function(name)
            }
        }
    }

    fn first_word(&mut self, word: Word) {
        let frame = self.top();
        match assignment(&word) {
            Some(assignment) => {
                frame.at = At::Prefix;
                frame.command.assignments.push(assignment);
            }
            None => {
                frame.at = At::Arguments;
                frame.command.words.push(word);
            }
        }
    }

    fn end_redirect(&mut self, kind: RedirectKind, strip: bool, word: Word) -> Result<(), Failure> {
        let redirect = match kind {
            RedirectKind::HereDocument => {
                let delimiter = word.literal().ok_or("the end of a here-document is not plain")?;
                let body = self.script.bodies.len();
                self.script.bodies.push(Body { text: String::new(), literal: word.quoted });
                self.top().documents.push(PendingDocument { delimiter, strip, body });
                Redirect { kind, target: RedirectTarget::Body(body) }
            }
            RedirectKind::Duplicate => {
                let is_descriptor = word
                    .plain()
                    .is_some_and(|word| word.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()));
                let kind = if is_descriptor { RedirectKind::Duplicate } else { RedirectKind::Write };
                Redirect { kind, target: RedirectTarget::Word(word) }
            }
            RedirectKind::Read | RedirectKind::Write | RedirectKind::ReadWrite | RedirectKind::HereString => {
                Redirect { kind, target: RedirectTarget::Word(word) }
            }
        };
        self.top().command.redirects.push(redirect);
        Ok(())
    }

    fn end_command(&mut self, separator: Separator) -> Result<(), Failure> {
        self.end_word()?;
        let certain_place = self.frames.len() == 1 && self.frames[0].compounds.is_empty();
        let frame = self.top();
        if frame.redirect.is_some() {
            return Err("a redirection has no target");
        }
        match frame.at {
            At::ForIn | At::ForWords => {
                frame.at = At::Command;
                return match separator {
                    Separator::Newline | Separator::List => Ok(()),
                    Separator::And | Separator::Or | Separator::Pipe | Separator::Background | Separator::End => {
                        Err("a 'for' is not understood")
                    }
                };
            }
            At::CaseIn | At::CasePattern if separator == Separator::Newline => return Ok(()),
            At::ForName | At::CaseWord | At::CaseIn | At::CasePattern | At::FunctionName => {
                return Err("a compound command is not complete");
            }
            At::Command | At::Prefix | At::Arguments | At::AfterCompound => {}
        }
        let mut command = std::mem::take(&mut frame.command);
        let is_command = !(command.words.is_empty() && command.assignments.is_empty() && command.redirects.is_empty());
        let piped_out = separator == Separator::Pipe;
        command.piped_in = frame.piped;
        command.piped_out = piped_out;
        command.background = separator == Separator::Background;
        command.certain = certain_place && !frame.piped && !piped_out && !frame.conditional && !command.background;
        if is_command || frame.at == At::AfterCompound {
            // Only a newline leaves a pipe or a condition open: `a |` and its next line are one pipeline.
            frame.piped = piped_out;
            frame.conditional = matches!(separator, Separator::And | Separator::Or);
        }
        command.joined = std::mem::take(&mut frame.joined);
        frame.joined = separator == Separator::And && is_command && frame.at != At::AfterCompound && !frame.negated
            || separator == Separator::Newline && !is_command && command.joined;
        frame.negated = false;
        let ends_function = is_command && matches!(frame.compounds.last(), Some(Compound::Function(_)));
        frame.at = At::Command;
        if is_command {
            self.script.commands.push(command);
        }
        if ends_function {
            self.end_function();
        }
        Ok(())
    }

    // --- compounds -------------------------------------------------------------------------------------------------

    fn keyword(&mut self, name: &str) -> Result<(), Failure> {
        use Compound::{Brace, Case, CaseBody, Else, For, IfCondition, IfThen, LoopBody, LoopCondition};
        let top = self.top().compounds.last().copied();
        match (name, top) {
            ("if", _) => self.push_compound(IfCondition),
            ("while" | "until", _) => self.push_compound(LoopCondition),
            ("for" | "select", _) => {
                self.push_compound(For)?;
                self.top().at = At::ForName;
                Ok(())
            }
            ("case", _) => {
                self.push_compound(Case)?;
                self.top().at = At::CaseWord;
                Ok(())
            }
            ("{", _) => self.push_compound(Brace),
            ("function", _) => {
                self.top().at = At::FunctionName;
                Ok(())
            }
            ("!", _) => {
                self.top().negated = true;
                Ok(())
            }
            ("then", Some(IfCondition)) => self.replace_compound(IfThen),
            ("elif", Some(IfThen)) => self.replace_compound(IfCondition),
            ("else", Some(IfThen)) => self.replace_compound(Else),
            ("do", Some(For | LoopCondition)) => self.replace_compound(LoopBody),
            ("fi", Some(IfThen | Else))
            | ("done", Some(LoopBody))
            | ("esac", Some(Case | CaseBody))
            | ("}", Some(Brace)) => {
                self.depth -= 1;
                self.top().compounds.pop();
                self.close_compound()
            }
            (_, _) => Err("a keyword stands where none is expected"),
        }
    }

    fn replace_compound(&mut self, compound: Compound) -> Result<(), Failure> {
        if let Some(top) = self.top().compounds.last_mut() {
            *top = compound;
        }
        Ok(())
    }

    fn close_compound(&mut self) -> Result<(), Failure> {
        self.top().at = At::AfterCompound;
        if matches!(self.top().compounds.last(), Some(Compound::Function(_))) {
            self.end_function();
        }
        Ok(())
    }

    fn end_function(&mut self) {
        let end = self.script.commands.len();
        if let Some(Compound::Function(index)) = self.top().compounds.pop() {
            self.depth -= 1;
            if let Some(function) = self.script.functions.get_mut(index) {
                function.end = end;
            }
        }
    }

    // --- here-documents --------------------------------------------------------------------------------------------

    fn read_documents(&mut self) -> Result<(), Failure> {
        for document in std::mem::take(&mut self.top().documents) {
            let literal = self.script.bodies[document.body].literal;
            let mut text = String::new();
            loop {
                if self.rest().is_empty() {
                    return Err("a here-document is not closed");
                }
                let end = self.rest().find('\n').unwrap_or(self.rest().len());
                let line = &self.text[self.position..self.position + end];
                self.position = (self.position + end + 1).min(self.text.len());
                let line = if document.strip { line.trim_start_matches('\t') } else { line };
                if line == document.delimiter {
                    break;
                }
                if !literal && line.ends_with('\\') {
                    return Err("a line of a here-document is continued");
                }
                text.push_str(line);
                text.push('\n');
            }
            if !literal && text.contains(['$', '`']) {
                self.script.nested.push(Nested { text: text.clone(), kind: NestedKind::Template });
            }
            self.script.bodies[document.body].text = text;
        }
        Ok(())
    }
}

/// What ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// A newline.
    Newline,
    /// `;`, `;;` and its kin.
    List,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`, `|&`
    Pipe,
    /// `&`
    Background,
    /// The end of the text, or a closing parenthesis.
    End,
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "elif"
            | "else"
            | "fi"
            | "while"
            | "until"
            | "do"
            | "done"
            | "for"
            | "select"
            | "case"
            | "esac"
            | "{"
            | "}"
            | "function"
            | "!"
    )
}

/// Splits `NAME=value` and `NAME+=value`.
fn assignment(word: &Word) -> Option<(String, Word)> {
    let Some(Part::Text { text, quoted: false }) = word.parts.first() else { return None };
    let equals = text.find('=')?;
    let name = &text[..equals];
    let bare = name.strip_suffix('+').unwrap_or(name);
    let is_name = bare
        .bytes()
        .enumerate()
        .all(|(index, byte)| byte == b'_' || byte.is_ascii_alphabetic() || (index > 0 && byte.is_ascii_digit()));
    if bare.is_empty() || !is_name {
        return None;
    }
    let mut value = word.clone();
    match &text[equals + 1..] {
        "" => {
            value.parts.remove(0);
        }
        rest => value.parts[0] = Part::Text { text: rest.to_owned(), quoted: false },
    }
    if name.ends_with('+') {
        value.parts.insert(0, Part::Dynamic);
    }
    Some((bare.to_owned(), value))
}
