//! Words, and the simple commands that they make: where a word ends, what it is there, and where a command ends.

use super::frame::{At, Compound, Inner, Pattern, PendingDocument};
use super::{Failure, Parser, Separator};
use crate::script::{Body, POSITIONAL, Part, Redirect, RedirectKind, RedirectTarget, Word};

const SUBSCRIPT: &str = "a subscript holds blanks or operators, which shells read differently";

impl Parser<'_> {
    pub(super) fn end_word(&mut self) -> Result<(), Failure> {
        let frame = self.top();
        let Some(word) = frame.word.take() else { return Ok(()) };
        if let Some((kind, strip)) = frame.redirect.take() {
            return self.end_redirect(kind, strip, word);
        }
        if frame.command.joins_output {
            // bash takes it for an argument, dash for the next command.
            return Err("shells do not agree what a word behind '&>' is");
        }
        match frame.at {
            At::Command => match word.plain() {
                Some(name) if is_keyword(name) => {
                    let name = name.to_owned();
                    self.keyword(&name)
                }
                Some(_) | None => self.first_word(word),
            },
            At::Prefix => self.first_word(word),
            At::Arguments => {
                let opens = word.plain().is_some_and(|word| is_keyword(word) && word != "!");
                if opens && leaves_room_for_compound(&frame.command.words) {
                    return Err("a compound command stands behind 'time' or 'coproc'");
                }
                if opens_subscript(&word) && leaves_room_for_assignment(&frame.command.words) {
                    return Err(SUBSCRIPT);
                }
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
                self.top().variable.clone_from(&name);
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
                    self.give_positional();
                    self.keyword("do")
                }
                Some(_) | None => Err("a 'for' is not understood"),
            },
            At::ForWords => {
                let variable = frame.variable.clone();
                self.script.given.push((variable, word));
                Ok(())
            }
            At::CaseWord => {
                frame.at = At::CaseIn;
                Ok(())
            }
            At::CaseIn => match word.plain() {
                Some("in") => {
                    self.begin_patterns();
                    Ok(())
                }
                Some(_) | None => Err("a 'case' is not understood"),
            },
            At::CasePattern => self.pattern(&word),
            At::Elements => match word.parts.first() {
                Some(Part::Text { text, quoted: false }) if text.starts_with('[') => Err(SUBSCRIPT),
                _ => Ok(()),
            },
            At::FunctionName => {
                let name = word.literal().ok_or("a function's name is not plain")?;
                self.skip_blanks();
                if self.take('(') {
                    self.skip_blanks();
                    if !self.take(')') {
                        return Err("a function is not understood");
                    }
                    self.skip_blanks();
                }
                // For dash, which knows no `function`, all of this line are words of a program of that name.
                if !self.rest().starts_with(['{', '\n']) {
                    return Err("a function begins with something else than '{', which shells read differently");
                }
                self.begin_function(name)
            }
        }
    }

    pub(super) fn first_word(&mut self, word: Word) -> Result<(), Failure> {
        if opens_subscript(&word) {
            return Err(SUBSCRIPT);
        }
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
        Ok(())
    }

    /// Whether what is read stands somewhere in `$(( … ))`, of which bash counts the parentheses before it reads the rest.
    pub(super) fn is_in_sum(&self) -> bool {
        self.frames.iter().any(|frame| frame.inner.iter().any(|inner| matches!(inner, Inner::Arithmetic { .. })))
    }

    /// `|` where a regular expression of `[[` may go on: a `#` behind it begins no comment for bash.
    pub(super) fn check_no_regex(&mut self) -> Result<(), Failure> {
        let mut words = self.top().command.words.iter().rev().filter_map(Word::plain);
        if words.find(|word| matches!(*word, "[[" | "]]")) == Some("[[") {
            return Err("a pattern between '[[' and ']]' holds '|', which shells read differently");
        }
        Ok(())
    }

    /// Skips a comment.
    pub(super) fn comment(&mut self) -> Result<(), Failure> {
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        if self.rest()[..length].contains(['(', ')']) && self.is_in_sum() {
            return Err("a comment within arithmetic holds a parenthesis, which shells read differently");
        }
        self.position += length;
        Ok(())
    }

    /// `for x; do`: the variable runs through the arguments of the script or function.
    fn give_positional(&mut self) {
        let name = std::mem::take(&mut self.top().variable);
        if !name.is_empty() {
            let all = Part::Variable { name: POSITIONAL.to_owned(), quoted: true };
            self.script.given.push((name, Word { parts: vec![all], quoted: true }));
        }
    }

    pub(super) fn end_redirect(&mut self, kind: RedirectKind, strip: bool, word: Word) -> Result<(), Failure> {
        let redirect = match kind {
            RedirectKind::HereDocument => {
                if self.is_in_sum() {
                    return Err("a here-document stands within arithmetic, which shells read differently");
                }
                let delimiter = word.literal().ok_or("the end of a here-document is not plain")?;
                let body = self.script.bodies.len();
                self.script.bodies.push(Body { text: String::new(), literal: word.quoted });
                self.top().documents.push(PendingDocument { delimiter, strip, body });
                Redirect { kind, target: RedirectTarget::Body(body) }
            }
            RedirectKind::Duplicate => {
                let is_closing =
                    matches!(word.parts.first(), Some(Part::Text { text, quoted: false }) if text.starts_with('-'));
                if is_closing && word.plain() != Some("-") {
                    return Err("a word touches '>&-', which shells read differently");
                }
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

    pub(super) fn end_command(&mut self, separator: Separator) -> Result<(), Failure> {
        self.end_word()?;
        if separator == Separator::Background {
            for compound in self.frames.iter().flat_map(|frame| &frame.compounds) {
                if let Compound::Function(index) = compound
                    && let Some(function) = self.script.functions.get_mut(*index)
                {
                    function.forks = true;
                }
            }
            for one in self.script.loops.iter_mut().filter(|one| one.end == usize::MAX) {
                one.forks = true;
            }
        }
        let certain_place = self.frames.len() == 1 && self.frames[0].compounds.is_empty();
        let frame = self.top();
        if frame.redirect.is_some() {
            return Err("a redirection has no target");
        }
        match frame.at {
            // `in` or `do` may stand on a line of its own.
            At::ForIn if separator == Separator::Newline => return Ok(()),
            At::ForIn | At::ForWords => {
                let is_bare = frame.at == At::ForIn;
                frame.at = At::Command;
                if is_bare {
                    self.give_positional();
                }
                return match separator {
                    Separator::Newline | Separator::List => Ok(()),
                    Separator::And | Separator::Or | Separator::Pipe | Separator::Background | Separator::End => {
                        Err("a 'for' is not understood")
                    }
                };
            }
            At::CaseIn if separator == Separator::Newline => return Ok(()),
            At::CasePattern if separator == Separator::Newline && frame.pattern == Pattern::Nothing => return Ok(()),
            At::Elements if separator == Separator::Newline => return Ok(()),
            At::ForName | At::CaseWord | At::CaseIn | At::CasePattern | At::FunctionName | At::Elements => {
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
        command.joined = std::mem::take(&mut frame.joined);
        command.optional = frame.conditional && !command.joined;
        command.negated = frame.negated;
        command.shell = frame.shell;
        command.in_function = frame.compounds.iter().any(|one| matches!(one, Compound::Function(_)));
        command.repeated = command.in_function || frame.compounds.iter().any(|one| one.is_loop());
        if is_command || frame.at == At::AfterCompound {
            // Only a newline leaves a pipe or a condition open: `a |` and its next line are one pipeline.
            frame.piped = piped_out;
            frame.conditional = matches!(separator, Separator::And | Separator::Or);
        }
        frame.joined = separator == Separator::And && is_command && frame.at != At::AfterCompound && !frame.negated
            || separator == Separator::Newline && !is_command && command.joined;
        frame.negated = false;
        let ends_function = is_command && matches!(frame.compounds.last(), Some(Compound::Function(_)));
        let ends_compound = frame.at == At::AfterCompound;
        frame.at = At::Command;
        if is_command {
            self.script.commands.push(command);
        }
        if is_command || ends_compound {
            self.end_stage(piped_out, is_command, ends_compound);
        }
        if ends_function {
            self.end_function();
        }
        Ok(())
    }
}

/// What a word begins with that looks like `name[`, from its bracket on.
fn subscripted(word: &Word) -> Option<&str> {
    let Some(Part::Text { text, quoted: false }) = word.parts.first() else { return None };
    let (name, _) = text.split_once('[')?;
    let is_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    (!name.is_empty() && name.bytes().all(is_name)).then(|| &text[name.len()..])
}

/// Whether a word where an assignment may stand is the beginning of `name[…]=`: bash reads on to the end of the subscript, which for
/// `a[[]` is not there yet.
fn opens_subscript(word: &Word) -> bool {
    let Some(first) = subscripted(word) else { return false };
    let unquoted = word.parts.iter().skip(1).filter_map(|part| match part {
        Part::Text { text, quoted: false } => Some(text.as_str()),
        Part::Text { quoted: true, .. }
        | Part::Variable { .. }
        | Part::Number { .. }
        | Part::Output { .. }
        | Part::Pipe
        | Part::Altered { .. }
        | Part::Dynamic { .. } => None,
    });
    let mut open = 0_usize;
    for byte in std::iter::once(first).chain(unquoted).flat_map(str::bytes) {
        match byte {
            b'[' => open += 1,
            b']' if open == 1 => return false,
            b']' => open -= 1,
            _ => {}
        }
    }
    true
}

/// Whether behind these words a keyword is one: bash runs whole compounds behind `time`, `coproc` and `coproc NAME`.
fn leaves_room_for_compound(words: &[Word]) -> bool {
    let mut is_name = false;
    words.iter().all(|word| match word.plain() {
        Some("time" | "-p" | "--" | "!") => {
            is_name = false;
            true
        }
        Some("coproc") => {
            is_name = true;
            true
        }
        Some(_) | None => std::mem::take(&mut is_name),
    })
}

/// Whether behind these words bash takes `name[…]=` for an assignment: also behind others of its kind, which are words here.
fn leaves_room_for_assignment(words: &[Word]) -> bool {
    let leaves = |word: &Word| subscripted(word).is_some() || leaves_room_for_compound(std::slice::from_ref(word));
    leaves_room_for_compound(words) || words.iter().all(leaves)
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
pub(crate) fn assignment(word: &Word) -> Option<(String, Word)> {
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
        value.parts.insert(0, Part::Variable { name: bare.to_owned(), quoted: true });
    }
    Some((bare.to_owned(), value))
}
