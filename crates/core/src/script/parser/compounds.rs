//! Keywords and what they open and close, and the texts of here-documents.

use super::frame::{At, Close, Compound, Pattern};
use super::{Failure, Parser};
use crate::script::{Loop, Nested, NestedKind, Word};

impl Parser<'_> {
    pub(super) fn keyword(&mut self, name: &str) -> Result<(), Failure> {
        use Compound::{Brace, Case, CaseBody, Else, For, IfCondition, IfThen, LoopBody, LoopCondition};
        let top = self.top().compounds.last().copied();
        match (name, top) {
            ("if", _) => self.push_compound(IfCondition),
            ("while" | "until", _) => {
                self.begin_loop(false);
                self.push_compound(LoopCondition)
            }
            ("for" | "select", _) => {
                self.begin_loop(true);
                self.push_compound(For)?;
                let frame = self.top();
                // What is not chosen gives the variable of a `select` nothing.
                (frame.at, frame.chooses) = (At::ForName, name == "select");
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
            ("do", Some(For | LoopCondition)) => {
                let body = self.script.commands.len();
                let frame = self.top();
                let variable = (top == Some(For)).then(|| std::mem::take(&mut frame.variable));
                let variable = variable.filter(|name| !name.is_empty() && !frame.chooses);
                if let Some(one) = self.script.loops.iter_mut().rfind(|one| one.body == usize::MAX) {
                    (one.body, one.variable) = (body, variable);
                }
                self.replace_compound(LoopBody)
            }
            ("fi", Some(IfThen | Else))
            | ("done", Some(LoopBody))
            | ("esac", Some(Case | CaseBody))
            | ("}", Some(Brace)) => {
                self.depth -= 1;
                self.top().compounds.pop();
                if name == "done" {
                    self.end_loop();
                }
                self.close_compound()
            }
            (_, _) => Err("a keyword stands where none is expected"),
        }
    }

    /// Begins the pattern of a branch, or finds `esac` where one would begin.
    pub(super) fn begin_patterns(&mut self) {
        let frame = self.top();
        (frame.at, frame.pattern) = (At::CasePattern, Pattern::Nothing);
    }

    /// A word where a pattern may stand.
    pub(super) fn pattern(&mut self, word: &Word) -> Result<(), Failure> {
        let is_end = word.plain() == Some("esac");
        match self.top().pattern {
            Pattern::Nothing if is_end => {
                self.top().at = At::Command;
                self.keyword("esac")
            }
            Pattern::Opened if is_end => Err("'esac' stands for a pattern, which shells read differently"),
            Pattern::Nothing | Pattern::Opened => {
                self.top().pattern = Pattern::Word;
                Ok(())
            }
            Pattern::Word => Err("a 'case' is not understood"),
        }
    }

    fn begin_loop(&mut self, counted: bool) {
        self.script.constructs.repeats = true;
        let first = self.script.commands.len();
        self.script.loops.push(Loop {
            first,
            body: usize::MAX,
            end: usize::MAX,
            counted,
            variable: None,
            forks: false,
        });
    }

    fn end_loop(&mut self) {
        let end = self.script.commands.len();
        let open = |one: &&mut Loop| one.end == usize::MAX && one.body != usize::MAX;
        if let Some(one) = self.script.loops.iter_mut().rfind(open) {
            one.end = end;
        }
    }

    pub(super) fn replace_compound(&mut self, compound: Compound) -> Result<(), Failure> {
        if let Some(top) = self.top().compounds.last_mut() {
            *top = compound;
        }
        Ok(())
    }

    pub(super) fn close_compound(&mut self) -> Result<(), Failure> {
        self.top().at = At::AfterCompound;
        if matches!(self.top().compounds.last(), Some(Compound::Function(_))) {
            self.end_function();
        }
        Ok(())
    }

    pub(super) fn end_function(&mut self) {
        let end = self.script.commands.len();
        if let Some(Compound::Function(index)) = self.top().compounds.pop() {
            self.depth -= 1;
            if let Some(function) = self.script.functions.get_mut(index) {
                function.end = end;
            }
        }
    }

    /// Reads the texts of here-documents. Within a substitution bash ends one also where a line only begins with its last word.
    pub(super) fn read_documents(&mut self) -> Result<(), Failure> {
        let is_substituted = self.frames.iter().any(|frame| matches!(frame.close, Close::Substitution | Close::Pipe));
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
                if is_substituted && line.starts_with(&document.delimiter) {
                    return Err("a line of a here-document begins like its end, which shells read differently");
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
            let plain = if literal { None } else { without_expansions(&text) };
            let body = &mut self.script.bodies[document.body];
            body.literal |= plain.is_some();
            body.text = plain.unwrap_or(text);
        }
        Ok(())
    }
}

/// What a text that is expanded becomes where it holds nothing to expand: there a backslash quotes another one, `$` and a back-quote, and
/// stays before all else.
fn without_expansions(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let quoted = characters.next_if(|next| character == '\\' && "$`\\".contains(*next));
        if quoted.is_none() && matches!(character, '$' | '`') {
            return None;
        }
        plain.push(quoted.unwrap_or(character));
    }
    Some(plain)
}
