//! `;`, parentheses and redirections: what a character outside words begins or ends.

use super::frame::{At, Close, Compound, Frame, Inner, Pattern};
use super::{Failure, Parser, Separator, assignment};
use crate::script::{Function, Part, Redirect, RedirectKind, RedirectTarget, Word, names_in};

impl Parser<'_> {
    pub(super) fn semicolon(&mut self) -> Result<(), Failure> {
        let fall_through = self.peek() == Some('&');
        if self.take(';') || fall_through {
            self.take('&');
            self.end_command(Separator::List)?;
            let frame = self.top();
            if frame.compounds.last() != Some(&Compound::CaseBody) {
                return Err("';;' stands outside a 'case'");
            }
            self.begin_patterns();
            return Ok(());
        }
        self.end_command(Separator::List)
    }

    pub(super) fn parenthesis(&mut self) -> Result<(), Failure> {
        let frame = self.top();
        if frame.at == At::CasePattern {
            if frame.word.is_some() || frame.pattern != Pattern::Nothing {
                return Err("a 'case' is not understood");
            }
            frame.pattern = Pattern::Opened;
            return Ok(());
        }
        if frame.word.as_ref().is_some_and(|word| begins_array(word, frame.at, &frame.command.words)) {
            let declares = |word: &Word| matches!(word.plain(), Some("declare" | "typeset" | "local"));
            let is_declared = frame.at == At::Arguments && frame.command.words.first().is_some_and(declares);
            let name = frame.word.as_ref().and_then(assignment).map(|(name, _)| name);
            self.script.arrays.extend(name.map(|name| (name, is_declared)));
            self.open(Close::Array)?;
            self.top().at = At::Elements;
            return Ok(());
        }
        if frame.at == At::Elements {
            return Err("a parenthesis stands where none is expected");
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
        if frame.at == At::ForName && frame.word.is_none() && self.take('(') {
            return self.counting_loop();
        }
        let frame = self.top();
        if frame.at == At::Command && frame.word.is_none() {
            if self.peek() == Some('(') {
                // A sum for bash; for other shells a subshell in a subshell, which is how it is read on.
                let names = names_in(self.sum()?);
                self.takes_for_numbers(names.read);
                self.script.numbers.set.extend(names.set);
            }
            self.script.constructs.control_flow = true;
            return self.open(Close::Subshell);
        }
        Err("a parenthesis stands where none is expected")
    }

    /// What `((` holds, of which one parenthesis is taken, where it is read alike as a sum and as subshells up to its end: bash
    /// knows neither comments nor here-documents in a sum.
    fn sum(&self) -> Result<&str, Failure> {
        let mut open = 1;
        let end = self.rest().char_indices().find_map(|(at, character)| {
            match character {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            (open == 0).then_some(at)
        });
        let Some(end) = end else { return Err("a parenthesis is not closed") };
        let sum = &self.rest()[..end];
        if sum.contains(['#', '\'', '"', '\\', '\n']) || sum.contains("<<") {
            return Err("it holds arithmetic that is not understood");
        }
        Ok(&sum[1..])
    }

    /// `for ((i = 0; i < 3; i++))`, both parentheses taken; other shells refuse it.
    fn counting_loop(&mut self) -> Result<(), Failure> {
        let Some(length) = self.rest().find("))") else { return Err("a parenthesis is not closed") };
        let text = &self.text[self.position..self.position + length];
        if text.contains(['$', '`', '[', '"', '\'', '\\', '\n', '(']) {
            return Err("it holds arithmetic that is not understood");
        }
        let names = names_in(text);
        self.script.loop_variables.extend(names.set.iter().cloned());
        let (name, value) = text.split(';').next().and_then(|first| first.split_once('=')).unwrap_or_default();
        let (name, value) = (name.trim(), value.trim());
        // One that begins with another zero is octal, and may be an error.
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit()) && (value == "0" || !value.starts_with(['0']));
        let at = self.script.commands.len();
        let is_taken = self.script.numbers.read.iter().any(|(read, place)| read == name && *place == at);
        if is_number && !value.is_empty() && !is_taken && names.set.iter().any(|set| set == name) {
            self.script.numbers.counted.push((name.to_owned(), at));
        }
        self.takes_for_numbers(names.read);
        self.script.numbers.set.extend(names.set);
        self.position += length + 2;
        self.top().variable.clear();
        self.top().at = At::ForIn;
        Ok(())
    }

    pub(super) fn skip_blanks(&mut self) {
        while let Some(blank @ (' ' | '\t')) = self.peek() {
            self.advance(blank);
        }
    }

    pub(super) fn begin_function(&mut self, name: String) -> Result<(), Failure> {
        let index = self.script.functions.len();
        self.script.constructs.repeats = true;
        let first = self.script.commands.len();
        self.script.functions.push(Function { name, first, end: usize::MAX, forks: false });
        self.push_compound(Compound::Function(index))?;
        self.top().at = At::Command;
        Ok(())
    }

    pub(super) fn close_parenthesis(&mut self) -> Result<(), Failure> {
        // `esac` ends the `case` whatever stands behind it.
        self.end_word()?;
        if self.top().at == At::CasePattern {
            let frame = self.top();
            if frame.pattern != Pattern::Word {
                return Err("a 'case' is not understood");
            }
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
        if self.top().close == Close::Array {
            self.depth -= 1;
            self.frames.pop();
            self.word().parts.push(Part::Dynamic { is_one: true });
            return Ok(());
        }
        self.end_command(Separator::End)?;
        self.check_closed()?;
        if self.frames.len() == 1 {
            return Err("a parenthesis is closed that was not opened");
        }
        self.depth -= 1;
        let Some(Frame { close, start, first, .. }) = self.frames.pop() else {
            return Err("a parenthesis is closed that was not opened");
        };
        match close {
            Close::Subshell => self.close_compound(),
            Close::Pipe => {
                self.name_pipe(start, first);
                self.word().parts.push(Part::Pipe);
                Ok(())
            }
            Close::Substitution => {
                self.note_printed(start, first);
                let quoted = matches!(self.top().inner.last(), Some(Inner::DoubleQuotes));
                let output = Part::Output { first, end: self.script.commands.len(), quoted };
                if self.in_number() {
                    self.script.numbers.outputs.push(output.clone());
                }
                self.word().parts.push(output);
                Ok(())
            }
            Close::Array | Close::End => Err("a parenthesis is closed that was not opened"),
        }
    }

    /// Notes what a substitution prints that began there with that command, where all that is in it is a `cat` of a text.
    fn note_printed(&mut self, start: usize, first: usize) {
        let [command] = &self.script.commands[first..] else { return };
        let [word] = command.words.as_slice() else { return };
        let [Redirect { kind: RedirectKind::HereDocument, target: RedirectTarget::Body(body) }] =
            command.redirects.as_slice()
        else {
            return;
        };
        // Where it begins with the command, that stands in no compound.
        let begins = self.text[start..].trim_start_matches([' ', '\t', '\n']).starts_with("cat");
        let is_cat = begins && word.plain() == Some("cat") && command.assignments.is_empty();
        let body = &self.script.bodies[*body];
        if is_cat && body.literal && command.is_own() && !command.juggles_input {
            self.script.printed.push((first, body.text.trim_end_matches('\n').to_owned()));
        }
    }

    /// Whether everything that the top frame opened is closed.
    pub(super) fn check_closed(&mut self) -> Result<(), Failure> {
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

    pub(super) fn redirection(&mut self, first: char) -> Result<(), Failure> {
        if self.peek() == Some('(') {
            self.advance('(');
            self.script.constructs.substitution = true;
            self.word();
            return self.open(Close::Pipe);
        }
        if let Some(name) = self.top().word.as_ref().and_then(Word::plain).and_then(named_descriptor) {
            // `{name}>f`: bash puts the number of a new descriptor into the variable.
            let name = name.to_owned();
            if name.contains('[') {
                return Err("it gives a descriptor's number to a subscript");
            }
            let words = self.top().command.words.as_slice();
            let is_exec = matches!(words, [word] if word.plain() == Some("exec"));
            if !(words.is_empty() || is_exec) {
                return Err("shells do not agree whether '{name}' before a redirection is an argument");
            }
            self.script.loop_variables.push(name);
            self.top().word = None;
        }
        // A digit that touches the operator is a descriptor.
        let word = self.top().word.as_ref().and_then(Word::plain);
        let number = word.filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let is_input = number.map_or(first == '<', |number| number == "0");
        match number.map(str::len) {
            None => self.end_word()?,
            Some(1) => self.top().word = None,
            // `chmod 777>log x`: bash opens descriptor 777, dash hands the number to the program.
            Some(_) => return Err("shells do not agree whether a number before a redirection is an argument"),
        }
        let kind = match first {
            '<' if self.take('<') => {
                if self.take('<') {
                    RedirectKind::HereString
                } else {
                    let strip = self.take('-');
                    self.top().command.juggles_input |= !is_input;
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
        // `bash 3<<<text`, `bash 0<&3`: what it reads is not what the last redirection says.
        self.top().command.juggles_input |=
            (first == '<' && !is_input) || (kind == RedirectKind::Duplicate && is_input);
        self.begin_redirect(kind, false)
    }

    pub(super) fn begin_redirect(&mut self, kind: RedirectKind, strip: bool) -> Result<(), Failure> {
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
}

/// Whether a parenthesis behind this word opens an array: behind `name=` where an assignment may stand, for bash; other shells
/// refuse the line.
fn begins_array(word: &Word, at: At, words: &[Word]) -> bool {
    const DECLARE: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];
    let may_assign = match at {
        At::Command | At::Prefix => true,
        At::Arguments => words.first().and_then(Word::plain).is_some_and(|name| DECLARE.contains(&name)),
        _ => false,
    };
    may_assign && word.plain().is_some_and(|text| text.ends_with('=')) && assignment(word).is_some()
}

/// The variable in `{name}` before a redirection.
fn named_descriptor(word: &str) -> Option<&str> {
    let name = word.strip_prefix('{')?.strip_suffix('}')?;
    let first = name.chars().next()?;
    let is_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
    let bare = name.split('[').next().unwrap_or_default();
    ((first == '_' || first.is_ascii_alphabetic()) && bare.chars().all(is_name)).then_some(name)
}
