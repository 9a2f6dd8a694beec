//! How sure it is where the commands of a script run: which of them run only when all before them went well.

use crate::script::{RawCommand, Script, Word};

/// Commands that lead the shell that runs them to another directory.
pub(super) const MOVERS: [&str; 4] = ["cd", "chdir", "pushd", "popd"];

/// A script as it is read from left to right.
pub(super) struct Chain {
    /// Whether its end says how what led it ended, as far as it was read.
    is_plain: bool,
    /// Whether the pipeline that is read runs only when what stands right before it succeeded, in the same shell.
    holds: bool,
    /// The shell of the command that was read last, and whether a pipe takes its output.
    shell: usize,
    is_piped: bool,
    /// Whether it stands between `[[` and `]]`, where `&&` parts no commands; and whether it ends there.
    is_test: bool,
    ends_test: bool,
}

impl Chain {
    /// Nothing of it was read.
    pub(super) fn new(script: &Script) -> Self {
        let is_plain = !script.constructs.control_flow && !script.constructs.background && script.error.is_none();
        Self { is_plain, holds: false, shell: 0, is_piped: false, is_test: false, ends_test: false }
    }

    /// Begins the next command. Whether it is for sure where the one before it left its shell.
    pub(super) fn begin(&mut self, command: &RawCommand) -> bool {
        let is = |word: Option<&Word>, text| word.and_then(Word::plain) == Some(text);
        let goes_on = self.is_test && !self.ends_test;
        self.is_test = goes_on || is(command.words.first(), "[[");
        self.ends_test = is(command.words.last(), "]]");
        let is_same_shell = std::mem::replace(&mut self.shell, command.shell) == command.shell;
        // A pipe from a compound holds nothing: what is in it may have led its own shell.
        let is_same_pipe = std::mem::replace(&mut self.is_piped, command.piped_out);
        let holds = if command.piped_in { self.holds && is_same_pipe && !command.repeated } else { command.joined };
        self.holds = is_same_shell && holds;
        self.is_plain &= !command.negated;
        self.holds
    }

    /// Whether what depends on a command that led its shell elsewhere is there for sure: not where it leads a shell of its own,
    /// such as a part of a pipe, or a program is asked to, or where the rest runs also when it does not.
    pub(super) fn is_led_by(&mut self, command: &RawCommand) -> bool {
        let literal = |index: usize| command.words.get(index).and_then(Word::literal);
        let name = literal(0);
        let is_mover = name.as_deref().is_some_and(|name| MOVERS.contains(&name));
        let is_sure = is_mover && command.is_own() && !command.optional && !self.is_test;
        self.holds &= is_sure;
        self.is_plain &= is_sure
            && name.as_deref() == Some("cd")
            && command.assignments.is_empty()
            && literal(1).is_some_and(|directory| !directory.starts_with('-'));
        is_sure
    }

    /// Whether a script that ended well is where it was led last: nothing but `cd`s of its own led it.
    pub(super) const fn is_plain(&self) -> bool {
        self.is_plain
    }
}
