//! Reads shell text, POSIX and bash, and finds every simple command in it.
//!
//! One pass over the text with a stack of our own, so that no input can exhaust the thread's. The parser is strict where
//! shells disagree with each other or with their manual (`$'…\'…'`, quotes inside `"${…}"`, a here-document that starts
//! inside a substitution): such text is an error, and an error is never allowed to run unasked. It is lax where a shell
//! would refuse (an empty `if`), because what no shell runs does no harm. What it must never do is take for data what a
//! shell runs: every unquoted separator, back-quote, `$(` and newline either ends a command or opens one (R-CMD-4).

use self::frame::{At, Close, Compound, Frame, Inner, Pattern, Stage};
use super::{NestedKind, RedirectKind, Script, Word};

pub(crate) use self::commands::assignment;

mod ansi;
mod commands;
mod compounds;
mod frame;
mod operators;
mod pipes;
mod quotes;

/// 40 levels of nesting (R-CMD-1): people write five.
const DEPTH: usize = 40;
/// Why a text is not read to its end.
pub(crate) const TOO_DEEP: &str = "it is nested too deeply";

/// Why a text was not understood.
type Failure = &'static str;

/// Parses a script.
pub(crate) fn parse(text: &str, kind: NestedKind) -> Script {
    let mut parser = Parser {
        text,
        position: 0,
        frames: vec![Frame::new(Close::End, 0, 0, 0)],
        depth: 1,
        shells: 0,
        script: Script::default(),
    };
    if kind == NestedKind::Template {
        parser.top().inner.push(Inner::Template);
        parser.top().word = Some(Word::default());
    }
    if let Err(failure) = parser.run() {
        parser.finish_after_failure();
        parser.script.error = Some(failure);
    } else if kind == NestedKind::Template {
        parser.script.template = parser.top().word.take();
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
    /// How many frames were opened behind the first.
    shells: usize,
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
        let frame = self.top();
        let goes_on = frame.piped || frame.conditional;
        self.script.goes_on = goes_on;
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
        if self.depth > DEPTH { Err(TOO_DEEP) } else { Ok(()) }
    }

    fn open(&mut self, close: Close) -> Result<(), Failure> {
        self.deepen()?;
        let first = self.script.commands.len();
        self.shells += 1;
        self.frames.push(Frame::new(close, self.position, first, self.shells));
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
        let first = self.script.commands.len();
        let frame = self.top();
        frame.compounds.push(compound);
        frame.stages.truncate(frame.compounds.len());
        frame.stages.push(Stage { first, pipe: None });
        if compound.is_loop() || matches!(compound, Compound::Function(_)) {
            // What it begins with runs also behind its end, or later.
            frame.joined = false;
        }
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
            '#' if self.top().word.is_none() => self.comment(),
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
                    self.begin_redirect(RedirectKind::Write, false)?;
                    self.top().command.joins_output = true;
                    Ok(())
                } else {
                    self.script.constructs.background = true;
                    self.end_command(Separator::Background)
                }
            }
            '|' => {
                self.advance(character);
                // `esac` ends the `case` whatever stands behind it.
                self.end_word()?;
                if self.top().at == At::CasePattern {
                    self.top().pattern = Pattern::Opened;
                    return Ok(());
                }
                if self.take('|') {
                    return self.end_command(Separator::Or);
                }
                self.check_no_regex()?;
                if self.take('&') {
                    self.top().command.pours_errors = true;
                }
                self.end_command(Separator::Pipe)
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
                self.word().begin_quotes();
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
                    // A shell that is typed at waits for the line that this one goes on with.
                    None => return Err("it ends with a backslash, which the next line goes on"),
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
