//! What a toolset is allowed to do, as one question with one answer: a ruleset, or the plain flags of BE-103.
//!
//! Commands are parsed in both cases: what is dangerous is denied, and what was not understood is never simply allowed.

use std::collections::HashMap;
use std::sync::Arc;

use crate::access::Operation;
use crate::path::VirtualPath;
use crate::permissions::command::paths::Place;
use crate::permissions::{
    Action, CommandAnalysis, CommandContext, CommandJudgement, JudgedBy, PermissionChecker, Steps, Verdict, analyze,
};

/// What a command line starts from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    /// The directory that it runs in.
    pub(super) working_directory: &'a VirtualPath,
    /// Where the shell of a session may be, which ran other commands before.
    pub(super) session: Option<&'a [String]>,
    /// Whether that shell reads it at its prompt.
    pub(super) at_prompt: bool,
    /// Programs that earlier commands gave another name.
    pub(super) programs: &'a Arc<HashMap<String, String>>,
    /// Directories that are links, and where they lead.
    pub(super) links: &'a [(String, String)],
}

/// Judges operations. Pure: no I/O, no clock.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) rules: Rules,
    /// What commands are judged against; the working directory is the call's.
    pub(super) commands: CommandContext,
}

/// Where the answers come from.
#[derive(Debug)]
pub(super) enum Rules {
    /// Without a ruleset: reads run, writes and commands run or ask.
    Flags {
        /// Whether writes, edits and deletions ask.
        write_asks: bool,
        /// Whether commands ask.
        execute_asks: bool,
    },
    /// A ruleset.
    Checked {
        /// The rules, compiled.
        checker: Box<PermissionChecker>,
        /// A rule may also name a path relative to this.
        working_directory: VirtualPath,
    },
}

impl Policy {
    /// The verdict on an operation on a normalised path.
    pub(super) fn path(&self, operation: Operation, path: &VirtualPath) -> Verdict {
        let (checker, working_directory) = match &self.rules {
            Rules::Flags { .. } => return self.flag(operation),
            Rules::Checked { checker, working_directory } => (checker, working_directory),
        };
        match path.relative_to(working_directory) {
            Some(relative) if !working_directory.is_root() && !relative.is_empty() => {
                checker.check_path(operation, &[path.as_str(), relative])
            }
            Some(_) | None => checker.check(operation, path.as_str()),
        }
    }

    /// Why an operation that is allowed itself is denied because it shows what may not be read: an edit tells what it finds,
    /// in its errors and in its diff.
    pub(super) fn shows_denied(&self, operation: Operation, path: &VirtualPath) -> Option<String> {
        if operation != Operation::Edit {
            return None;
        }
        let read = self.path(Operation::Read, path);
        (read.action == Action::Deny).then_some(read.reason)
    }

    /// What the parser sees of a command line, and what the built-in policy says of it.
    pub(super) fn analysis(&self, command: &str, start: Start<'_>) -> CommandAnalysis {
        let context = CommandContext {
            working_directory: start.working_directory.as_str().to_owned(),
            continues: start.session.is_some(),
            expands_history: !start.at_prompt,
            directories: start.session.unwrap_or_default().to_vec(),
            programs: Arc::clone(start.programs),
            links: start.links.to_vec(),
            ..self.commands.clone()
        };
        analyze(command, &context)
    }

    /// The verdict on a command line. Where the application's own policy judges it too, the rules alone do here: built-in defaults
    /// and lists stand back, what a rule denies or asks about does not.
    pub(super) fn command(
        &self,
        command: &str,
        analysis: &CommandAnalysis,
        start: Start<'_>,
        steps: &Steps<'_>,
        by: JudgedBy,
    ) -> Verdict {
        match (&self.rules, by) {
            (Rules::Flags { .. }, JudgedBy::Policy) => {
                let CommandJudgement { action, reason } = analysis.verdict.clone();
                Verdict { action, rule: None, reason }.strictest(self.flag(Operation::Execute))
            }
            (Rules::Flags { .. }, JudgedBy::Rules) => {
                Verdict { action: Action::Allow, rule: None, reason: String::new() }
            }
            (Rules::Checked { checker, working_directory }, by) => {
                let verdict = checker.judge_command(command, analysis, start.working_directory.as_str(), steps, by);
                if start.working_directory == working_directory {
                    return verdict;
                }
                // A rule names files relative to where the toolset works, wherever this command does.
                verdict.strictest(checker.check_places(analysis, working_directory.as_str(), steps))
            }
        }
    }

    /// What the rules say of a file that a command touches.
    pub(super) fn place(&self, place: &Place, start: Start<'_>, steps: &Steps<'_>) -> Verdict {
        match &self.rules {
            Rules::Flags { .. } => Verdict { action: Action::Allow, rule: None, reason: String::new() },
            Rules::Checked { checker, working_directory } => checker
                .check_place(place, start.working_directory.as_str(), steps)
                .strictest(checker.check_place(place, working_directory.as_str(), steps)),
        }
    }

    /// Whether it is the same which file a command touches.
    pub(super) fn treats_files_alike(&self) -> bool {
        [Operation::Read, Operation::Write, Operation::Delete].into_iter().all(|operation| self.is_uniform(operation))
    }

    /// Whether commands are judged by more than the built-in policy, so that it matters which one runs.
    pub(super) fn binds_commands(&self) -> bool {
        let by_rules = match &self.rules {
            Rules::Flags { execute_asks, .. } => *execute_asks,
            Rules::Checked { checker, .. } => !checker.allows_all(Operation::Execute) || !self.treats_files_alike(),
        };
        by_rules || self.commands.allowed_commands.is_some()
    }

    /// The verdict on ending what runs already.
    pub(super) fn ending(&self) -> Verdict {
        self.flag(Operation::Execute)
    }

    /// The verdict where no rule speaks.
    pub(super) fn flag(&self, operation: Operation) -> Verdict {
        let action = match &self.rules {
            Rules::Checked { checker, .. } => checker.operation_default(operation),
            Rules::Flags { write_asks, execute_asks } => {
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
        let shows = operation == Operation::Edit && !self.is_uniform(Operation::Read);
        if shows {
            return false;
        }
        match &self.rules {
            Rules::Flags { .. } => true,
            Rules::Checked { checker, .. } => checker.allows_all(operation) || checker.denies_all(operation),
        }
    }

    /// Whether nothing passes: the tools of this operation are left out.
    pub(super) fn denies_all(&self, operation: Operation) -> bool {
        match &self.rules {
            Rules::Flags { .. } => false,
            Rules::Checked { checker, .. } => checker.denies_all(operation),
        }
    }
}
