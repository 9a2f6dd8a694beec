//! A command judged by everything at once: the rules for commands, the rules for the files it touches, and the built-in
//! policy. The strictest answer wins.

use serde::Serialize;

use crate::access::Operation;

use super::check_files::shown;
use super::checker::{MatchedRule, PermissionChecker, Verdict};
use super::command::argument::is_marked;
use super::command::{CommandAnalysis, CommandContext, CommandJudgement, SimpleCommand, analyze};
use super::ruleset::Action;
use super::steps::Steps;

/// By what a command is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgedBy {
    /// The built-in policy, the rules, and the section's default.
    Policy,
    /// The rules alone, where its own policy is another: the `execute` rules that match the whole or a simple command of it, and
    /// the rules for the files that it names.
    Rules,
}

/// The judgement of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandVerdict {
    /// What happens.
    pub action: Action,
    /// Why, as one sentence for a person or a model.
    pub reason: String,
    /// The rule that decided; absent where a default or the built-in policy did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<MatchedRule>,
    /// The parsed picture that this rests on.
    pub analysis: CommandAnalysis,
}

impl PermissionChecker {
    /// Judges a command line by
    ///
    /// - the built-in policy of [`analyze`], with the allow list of `context`;
    /// - the `execute` rules on the whole text, and on each simple command in it. The section's default counts for the
    ///   simple commands, and for the whole where it was not understood or holds no command; a wrapper such as `nohup` counts only where
    ///   a rule names it, as what it starts is judged in its place;
    /// - the `read`, `write` and `delete` rules on every file that the command names (BE-79, D20). A name that is partly
    ///   known (`.e*`, `$file`) is asked about where a rule could match it. A file that goes to a command whose ways are
    ///   not known is judged as read, and asked about where it must not be written.
    pub fn check_command(&self, command: &str, context: &CommandContext) -> CommandVerdict {
        self.check_command_within(command, context, &Steps::of_a_command())
    }

    /// As [`check_command`](Self::check_command), with so many steps to compare what is partly known with the rules.
    pub(super) fn check_command_within(
        &self,
        command: &str,
        context: &CommandContext,
        steps: &Steps<'_>,
    ) -> CommandVerdict {
        let analysis = analyze(command, context);
        let Verdict { action, rule, reason } =
            self.judge_command(command, &analysis, &context.working_directory, steps, JudgedBy::Policy);
        CommandVerdict { action, reason, rule, analysis }
    }

    /// As [`check_command`](Self::check_command), of a command that was parsed already.
    pub(crate) fn judge_command(
        &self,
        command: &str,
        analysis: &CommandAnalysis,
        base: &str,
        steps: &Steps<'_>,
        by: JudgedBy,
    ) -> Verdict {
        let mut verdict = match by {
            JudgedBy::Policy => {
                let CommandJudgement { action, reason } = analysis.verdict.clone();
                Verdict { action, rule: None, reason }
            }
            JudgedBy::Rules => Verdict { action: Action::Allow, rule: None, reason: String::new() },
        };
        let has_default = by == JudgedBy::Policy;
        let whole = command.trim();
        let rule = self.first_rule(Operation::Execute, whole);
        let is_whole = !analysis.parsed || analysis.commands.iter().all(|command| command.wrapper);
        if rule.is_some() || has_default && is_whole {
            verdict = verdict.strictest(self.verdict(Operation::Execute, whole, rule));
        }
        for simple in &analysis.commands {
            if verdict.action == Action::Deny {
                return verdict;
            }
            if let Some(of_simple) = self.check_simple(simple, has_default && !simple.wrapper, steps) {
                verdict = verdict.strictest(of_simple);
            }
        }
        verdict.strictest(self.check_places(analysis, base, steps))
    }

    /// A simple command as it is spelled, and by its plain name, as what a runner starts, where a rule takes that away: a rule
    /// that gives is meant as it is written.
    fn check_simple(&self, simple: &SimpleCommand, default: bool, steps: &Steps<'_>) -> Option<Verdict> {
        let takes_away = |verdict: &Verdict| verdict.action != Action::Allow;
        let spelled = if simple.named {
            self.check_spelling(&simple.marked, false, steps).filter(takes_away)
        } else {
            self.check_spelling(&simple.marked, default, steps)
        };
        let plain = simple.plain.as_ref();
        let plain = plain.and_then(|plain| self.check_spelling(plain, false, steps)).filter(takes_away);
        match (spelled, plain) {
            (Some(spelled), Some(plain)) => Some(spelled.strictest(plain)),
            (spelled, plain) => spelled.or(plain),
        }
    }

    fn check_spelling(&self, marked: &str, default: bool, steps: &Steps<'_>) -> Option<Verdict> {
        if is_marked(marked) {
            return self.check_partly(Operation::Execute, &[marked], &shown(marked), default, steps);
        }
        let rule = self.first_rule(Operation::Execute, marked);
        (rule.is_some() || default).then(|| self.verdict(Operation::Execute, marked, rule))
    }
}
