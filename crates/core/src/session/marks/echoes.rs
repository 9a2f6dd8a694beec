//! Lines that were typed: what is echo of them, and how much of each the shell had.

use super::{Kind, Mark, Marks, NOT_WHOLE, Torn};
use crate::session::typed_line::{Taken, TypedLine};
use crate::text::ansi::strip;

/// 64 lines whose echo is remembered. Output is read far sooner.
const ECHOES: usize = 64;

impl Marks {
    /// Notes that this line is typed behind what was printed until now. What a plain shell is typed is another one, and all
    /// that comes until it has it is taken for its echo.
    pub fn typed(&mut self, line: &str) {
        self.begins_line();
        self.line = (!self.is_plain).then(|| TypedLine::new(line, self.position));
    }

    /// The same for a line that nobody is to see: where it is not drawn whole all that comes until the shell has it is its echo.
    pub(in crate::session) fn typed_unseen(&mut self, line: &str) {
        self.typed(line);
        self.is_unseen = true;
    }

    /// As [`Marks::typed`], where prompts of an interrupt may come before the line is taken: its echo goes on behind them. It is
    /// typed by these keys.
    pub fn typed_behind_interrupt(&mut self, line: &str, keys: &str) {
        self.typed(line);
        self.line = self.line.take().map(|line| line.by_keys(keys));
        self.is_interrupted = true;
    }

    pub(super) fn begins_line(&mut self) {
        self.end_echo(self.position);
        self.alternate.give_up();
        self.taken = Taken::Whole;
        (self.is_typed, self.is_interrupted, self.tells_begin) = (true, false, false);
        (self.doubted, self.redrawn, self.is_unseen) = (None, None, false);
        self.remember(Mark { kind: Kind::Typed, from: self.position, to: self.position });
    }

    /// Takes what may be echo of `bytes`, which began at `position`, up to where the shell has the line: there the marks after
    /// the first `count` say so.
    pub(super) fn take_echo(&mut self, bytes: &[u8], position: u64, count: u64) {
        let Some(line) = &mut self.line else { return };
        let skip = usize::try_from(count.saturating_sub(self.forgotten)).unwrap_or(usize::MAX);
        let is_interrupted = self.is_interrupted;
        let has_it = |mark: &&Mark| match mark.kind {
            Kind::Begin => true,
            Kind::Accepted | Kind::End(_) | Kind::Continuation => !is_interrupted,
            Kind::Prompt | Kind::Typed | Kind::Redrawn => false,
        };
        let end = self.found.iter().skip(skip).find(has_it).map(|mark| mark.from);
        let is_too_much = !line.take(bytes);
        if let Some(end) = end {
            self.taken = self.end_echo(end);
        } else if is_too_much {
            self.end_echo(position + bytes.len() as u64);
        }
    }

    /// Whether these lines, which nobody typed at the prompt that ends at `prompt`, are shown first of the `bytes` behind it. What is shown
    /// of them is an echo then.
    pub fn thrown_away(&mut self, lines: &str, prompt: u64, bytes: &[u8]) -> bool {
        let is_there = self.last().is_some_and(|mark| mark.kind == Kind::Prompt && mark.to == prompt);
        if !is_there || self.line.is_some() {
            return false;
        }
        let mut line = TypedLine::new(lines, prompt);
        line.take(bytes);
        let echo = line.echo(prompt + bytes.len() as u64, false);
        let first = echo.first().and_then(|(from, _)| usize::try_from(from - prompt).ok());
        if !first.is_some_and(|first| strip(&String::from_utf8_lossy(&bytes[..first])).trim().is_empty()) {
            return false;
        }
        self.remember_echo(prompt, echo);
        true
    }

    /// How much of the line was drawn, where the shell has it then.
    fn end_echo(&mut self, end: u64) -> Taken {
        let Some(line) = self.line.take() else { return Taken::Whole };
        let mut marks = self.found.iter().rev().take_while(|mark| mark.kind != Kind::Typed);
        let is_redrawn = marks.any(|mark| mark.kind == Kind::Redrawn);
        let echo = line.echo(end, is_redrawn);
        let drawn = line.drawn(end, &echo);
        if self.is_unseen && matches!(drawn, Taken::Part(_) | Taken::Unseen) {
            self.remember_echo(line.from, vec![(line.from, end)]);
            return Taken::Whole;
        }
        self.remember_echo(line.from, echo);
        drawn
    }

    fn remember_echo(&mut self, from: u64, echo: Vec<(u64, u64)>) {
        self.echoes.push_back((from, echo));
        if self.echoes.len() > ECHOES {
            self.echoes.pop_front();
        }
    }

    /// What another program took of the line that was typed last, where one did.
    pub fn torn(&self) -> Option<Torn> {
        let since = || self.found.iter().rev().take_while(|mark| mark.kind != Kind::Typed);
        let has_begun = since().any(|mark| mark.kind == Kind::Begin);
        // Where an editor's drawing goes nowhere (`exec 2>/dev/null`) neither this comes nor a begin.
        let is_drawn = since().any(|mark| mark.kind == Kind::Accepted);
        let code = since().find_map(|mark| if let Kind::End(code) = mark.kind { Some(code) } else { None });
        match (&self.taken, has_begun, code) {
            (Taken::Part(shown), true, _) => Some(Torn::Part(shown.clone())),
            (Taken::Part(_), false, Some(_)) if is_drawn => Some(Torn::Whole),
            // What is not whole does not begin either.
            (Taken::Among | Taken::Unseen, false, Some(code)) if is_drawn && code != NOT_WHOLE => Some(Torn::Whole),
            (_, _, _) => None,
        }
    }

    /// The position up to which it is known what is output: behind it a line was typed whose echo is on its way.
    pub fn known_until(&mut self) -> u64 {
        if self.line.as_ref().is_some_and(TypedLine::is_late) {
            self.end_echo(self.position);
        }
        self.line.as_ref().map_or(u64::MAX, |line| line.from)
    }

    /// Notes that the line that was typed last has not reached the shell, which reads at its prompt.
    pub(in crate::session) fn gives_line_up(&mut self) {
        self.is_typed = false;
        self.end_echo(self.position);
        self.remember(Mark { kind: Kind::Prompt, from: self.position, to: self.position });
    }
}
