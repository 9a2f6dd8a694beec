//! Which shell runs a command, when, and how often: what it leads elsewhere depends on that.

use crate::script::RawCommand;

/// How a text, or a command of it, runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) by: Runner,
    /// Whether it may run again and again, each time where it led its shell the last time.
    pub(super) repeats: bool,
}

/// Which shell runs it, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    /// The one that reads the line, where the line says so.
    Now,
    /// That one, whenever something else makes it: an alias, a trap, the body of a function.
    Later,
    /// Another one.
    Apart,
}

impl Running {
    /// A line: once, in the shell that reads it.
    pub(super) const LINE: Self = Self { by: Runner::Now, repeats: false };
    /// Once, in a shell of its own.
    pub(super) const APART: Self = Self { by: Runner::Apart, repeats: false };

    /// The same for a command of a text that runs so.
    pub(super) fn of(self, command: &RawCommand) -> Self {
        let by = match self.by {
            _ if command.shell != 0 || !command.is_own() => Runner::Apart,
            Runner::Now if command.in_function => Runner::Later,
            by => by,
        };
        Self { by, repeats: command.is_own() && (self.repeats || command.repeated) }
    }

    /// The same for a text that such a command of that name is given.
    pub(super) fn text_of(self, name: Option<&str>) -> Self {
        match (name, self.by) {
            (Some("eval"), _) => self,
            (Some("trap" | "alias"), Runner::Apart) => Self { repeats: true, ..self },
            (Some("trap" | "alias"), Runner::Now | Runner::Later) => Self { by: Runner::Later, repeats: true },
            (Some(_) | None, _) => Self::APART,
        }
    }
}
