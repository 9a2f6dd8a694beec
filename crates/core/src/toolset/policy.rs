//! What a toolset is allowed to do, as one question with one answer: a ruleset, or the plain flags of BE-103.

use crate::access::Operation;
use crate::path::VirtualPath;
use crate::permissions::{Action, PermissionChecker, Verdict};

/// Judges operations. Pure: no I/O, no clock.
#[derive(Debug)]
pub(super) enum Policy {
    /// Without a ruleset: reads run, writes and commands run or ask.
    Flags {
        /// Whether writes, edits and deletions ask.
        write_asks: bool,
        /// Whether commands ask.
        execute_asks: bool,
    },
    /// A ruleset.
    Rules {
        /// The rules, compiled.
        checker: Box<PermissionChecker>,
        /// A rule may also name a path relative to this.
        working_directory: VirtualPath,
    },
}

impl Policy {
    /// The verdict on an operation on a normalised path.
    pub(super) fn path(&self, operation: Operation, path: &VirtualPath) -> Verdict {
        let (checker, working_directory) = match self {
            Self::Flags { .. } => return self.flag(operation),
            Self::Rules { checker, working_directory } => (checker, working_directory),
        };
        match path.relative_to(working_directory) {
            Some(relative) if !working_directory.is_root() && !relative.is_empty() => {
                checker.check_path(operation, &[path.as_str(), relative])
            }
            Some(_) | None => checker.check(operation, path.as_str()),
        }
    }

    /// The verdict on a command line.
    pub(super) fn command(&self, command: &str) -> Verdict {
        match self {
            Self::Flags { .. } => self.flag(Operation::Execute),
            Self::Rules { checker, .. } => checker.check(Operation::Execute, command),
        }
    }

    /// The verdict where no rule speaks.
    fn flag(&self, operation: Operation) -> Verdict {
        let action = match self {
            Self::Rules { checker, .. } => checker.operation_default(operation),
            Self::Flags { write_asks, execute_asks } => {
                let asks = match operation {
                    Operation::Write | Operation::Edit | Operation::Delete => *write_asks,
                    Operation::Execute => *execute_asks,
                    Operation::Read | Operation::Glob | Operation::Grep | Operation::Ls => false,
                };
                if asks { Action::Ask } else { Action::Allow }
            }
        };
        Verdict { action, rule: None, reason: format!("{} needs approval in this toolset", operation.name()) }
    }

    /// Whether every target gets the same answer for this operation, so that resolving a path first teaches nothing.
    pub(super) fn is_uniform(&self, operation: Operation) -> bool {
        match self {
            Self::Flags { .. } => true,
            Self::Rules { checker, .. } => checker.allows_all(operation) || checker.denies_all(operation),
        }
    }

    /// Whether nothing passes: the tools of this operation are left out.
    pub(super) fn denies_all(&self, operation: Operation) -> bool {
        match self {
            Self::Flags { .. } => false,
            Self::Rules { checker, .. } => checker.denies_all(operation),
        }
    }
}
