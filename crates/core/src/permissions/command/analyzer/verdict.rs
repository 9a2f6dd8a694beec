//! What was found in a command line, and the verdict that it comes to.

use super::super::super::Action;
use super::super::analysis::{CommandAnalysis, CommandJudgement};
use super::Analyzer;

impl Analyzer<'_> {
    /// What lies beyond a limit was not looked at, so it counts as what is denied (R-CMD-5).
    pub(in super::super) fn exceed(&mut self, problem: &str) {
        self.fail(problem);
        self.deny(&format!("{problem}, more than is looked at; write them to a script, and run that"));
    }

    pub(in super::super) fn fail(&mut self, problem: &str) {
        self.parsed = false;
        self.unresolve(&format!("the command was not understood: {problem}"));
    }

    pub(super) fn unresolve(&mut self, reason: &str) {
        if !self.unresolved.iter().any(|known| known == reason) {
            self.unresolved.push(reason.to_owned());
        }
    }

    pub(in super::super) fn deny(&mut self, reason: &str) {
        if self.denied.is_none() && self.context.deny_dangerous {
            self.denied = Some(reason.to_owned());
        }
    }

    pub(in super::super) fn finish(mut self) -> CommandAnalysis {
        if self.places.is_full() {
            self.exceed("it names too many files");
        }
        if self.places.hides_program() {
            self.unresolve("a program gets a name that is known only when it runs");
        }
        if let Some(reason) = self.numbers.doubt(self.context.continues) {
            self.unresolve(&reason);
        }
        if let Some(reason) = self.arrays.doubt(self.context.continues) {
            self.unresolve(&reason);
        }
        let refused = self.allow_list.and_then(|list| list.refusal(self.parsed, !self.commands.is_empty()));
        let verdict = match (self.denied, refused, self.unresolved.first()) {
            (Some(reason), _, _) => {
                CommandJudgement { action: Action::Deny, reason: format!("The command is blocked: {reason}.") }
            }
            (None, Some(reason), _) => CommandJudgement {
                action: Action::Deny,
                reason: format!("The command is not in the list of allowed commands: {reason}."),
            },
            (None, None, Some(reason)) => CommandJudgement {
                action: Action::Ask,
                reason: format!("The command needs somebody's approval: {reason}."),
            },
            (None, None, None) => CommandJudgement {
                action: Action::Allow,
                reason: "The command was understood, and nothing in it is known to be dangerous.".to_owned(),
            },
        };
        let (entered, renamed) = (self.places.whereabouts(), self.places.renamed());
        let (reads, writes, places) = self.places.finish();
        CommandAnalysis {
            parsed: self.parsed,
            commands: self.commands,
            reads,
            writes,
            unresolved: self.unresolved,
            verdict,
            entered,
            renamed,
            places,
        }
    }
}
