//! [`PermissionChecker`]: a ruleset made ready to judge.

use std::borrow::Cow;
use std::sync::Arc;

use crate::access::Operation;
use crate::error::{Error, Result, Shown};
use crate::path::{NAMES_FOLD, without_detours};

use super::command::CommandContext;
use super::command::paths::is_within;
use super::pattern::{IGNORING_CASE, Pattern, Slash, shown};
use super::presets::{is_of_system, without_system};
use super::ruleset::{Action, Rule, Ruleset};
use super::shape::Shape;

/// 1,000 rules in one section: presets have about a hundred.
const SECTION_RULES: usize = 1_000;

/// Judges operations by a ruleset. Pure and total: no input, no output, no clock, an answer for every target.
#[derive(Debug, Clone)]
pub struct PermissionChecker {
    ruleset: Ruleset,
    /// In the order of [`Operation::ALL`].
    sections: [Section; Operation::ALL.len()],
    own: Option<Arc<Own>>,
}

/// Directories of the agent that lie in one of the operating system's, and the same rules without those that protect that.
#[derive(Debug)]
struct Own {
    roots: Vec<String>,
    checker: PermissionChecker,
}

#[derive(Debug, Clone)]
struct Section {
    default: Action,
    /// The patterns of the section's rules, in their order; `None` without rules.
    patterns: Option<Pattern>,
    /// The same patterns, for targets that are partly known.
    shapes: Vec<Shape>,
}

impl Section {
    fn new(ruleset: &Ruleset, operation: Operation) -> Result<Self> {
        let rules = rules_of(ruleset, operation);
        Ok(Self {
            default: ruleset.default_of(operation),
            patterns: compile(operation, rules, NAMES_FOLD)?,
            shapes: rules
                .iter()
                .map(|rule| Shape::new(&compared(operation, rule, NAMES_FOLD), slash_of(operation, rule)))
                .collect(),
        })
    }

    /// This section, made for `own`, as that of `other`, where both have the same patterns and examples. Actions are read
    /// from the ruleset and need not agree; neither operation may be `execute`, whose patterns depend on them.
    fn shared_with(&self, ruleset: &Ruleset, own: Operation, other: Operation) -> Option<Self> {
        let (own, others) = (rules_of(ruleset, own), rules_of(ruleset, other));
        let same = own.len() == others.len()
            && own.iter().zip(others).all(|(one, two)| {
                one.pattern == two.pattern && one.matching == two.matching && one.not_match == two.not_match
            });
        same.then(|| Self { default: ruleset.default_of(other), ..self.clone() })
    }
}

fn rules_of(ruleset: &Ruleset, operation: Operation) -> &[Rule] {
    ruleset.section(operation).map_or(&[], |section| &section.rules)
}

/// A judgement, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// What happens.
    pub action: Action,
    /// The rule that decided; absent where a default did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<MatchedRule>,
    /// Why, as one sentence for a person or a model.
    pub reason: String,
}

impl Verdict {
    /// The stricter of two; this one when they are equal.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        if other.action > self.action { other } else { self }
    }
}

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchedRule {
    /// The section it stands in.
    pub operation: Operation,
    /// Its pattern, as written.
    pub pattern: String,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its place in the section, from 0.
    pub index: usize,
}

/// The stricter of two actions: `deny` over `ask` over `allow`.
pub fn strictest(first: Action, second: Action) -> Action {
    first.max(second)
}

impl PermissionChecker {
    /// Makes a ruleset ready. Fails with `InvalidInput` where a rule's `match` or `notMatch` examples do not hold, or
    /// where there is more than can be matched; the message names the rule.
    pub fn new(ruleset: Ruleset) -> Result<Self> {
        let [read, write, edit, delete, execute, glob, grep, ls] = Operation::ALL;
        let write_section = Section::new(&ruleset, write)?;
        // Most rulesets, and all presets, say the same of everything that changes files; an automaton costs milliseconds.
        let like_write = |operation| match write_section.shared_with(&ruleset, write, operation) {
            Some(section) => Ok(section),
            None => Section::new(&ruleset, operation),
        };
        let sections = [
            like_write(read)?,
            write_section.clone(),
            like_write(edit)?,
            like_write(delete)?,
            Section::new(&ruleset, execute)?,
            Section::new(&ruleset, glob)?,
            Section::new(&ruleset, grep)?,
            Section::new(&ruleset, ls)?,
        ];
        Ok(Self { ruleset, sections, own: None })
    }

    /// The same for an agent whose directories these are: what a preset forbids as a part of the operating system (`/var/**`)
    /// binds it outside of them (`/var/www/app`). A rule that somebody wrote holds everywhere.
    pub(crate) fn of_roots(self, roots: &[String]) -> Result<Self> {
        let Some(ruleset) = without_system(&self.ruleset, roots) else { return Ok(self) };
        let roots = roots.iter().filter(|root| is_of_system(root)).cloned().collect();
        let own = Own { roots, checker: Self::new(ruleset)? };
        Ok(Self { own: Some(Arc::new(own)), ..self })
    }

    /// The checker for a path, absolute and normalised.
    pub(super) fn at(&self, path: &str) -> &Self {
        match &self.own {
            Some(own) if own.roots.iter().any(|root| is_within(path, root)) => &own.checker,
            Some(_) | None => self,
        }
    }

    /// The ruleset as it was given.
    pub fn ruleset(&self) -> &Ruleset {
        &self.ruleset
    }

    /// Judges one target: the first rule whose pattern matches, else the default. A path with `.`, `..` or doubled slashes
    /// in it is judged as it is spelled and without them, and the stricter answer counts: a rule about `/w/**` gives nothing
    /// at `/w/../etc` (D22b). For a place that is known by several names see [`PermissionChecker::check_path`]. A command is
    /// parsed and judged as by [`PermissionChecker::check_command`], in a context of which nothing is known.
    pub fn check(&self, operation: Operation, target: &str) -> Verdict {
        if operation == Operation::Execute {
            let verdict = self.check_command(target, &CommandContext::default());
            return Verdict { action: verdict.action, rule: verdict.rule, reason: verdict.reason };
        }
        let judged = |checker: &Self, path: &str| checker.verdict(operation, path, checker.first_rule(operation, path));
        match without_detours(target) {
            None => judged(self.at(target), target),
            Some(plain) => judged(self, target).strictest(judged(self.at(&plain), &plain)),
        }
    }

    /// Judges one place in the file system that has several spellings, such as its absolute path and its path relative
    /// to the working directory: the first rule that matches any of them decides. The spellings must be normalised, or
    /// a `..` in them would carry a rule elsewhere (D22b). The first spelling is the one that messages show. A path as
    /// asked and the path that it resolves to are two places: judge both, and take [`Verdict::strictest`].
    pub fn check_path(&self, operation: Operation, spellings: &[&str]) -> Verdict {
        let path = spellings.first().copied().unwrap_or_default();
        let checker = self.at(path);
        let rule = spellings.iter().filter_map(|spelling| checker.first_rule(operation, spelling)).min();
        checker.verdict(operation, path, rule)
    }

    /// The action of [`PermissionChecker::check_path`] alone: cheap enough for every entry of a search.
    pub fn action(&self, operation: Operation, spellings: &[&str]) -> Action {
        let checker = self.at(spellings.first().copied().unwrap_or_default());
        let rule = spellings.iter().filter_map(|spelling| checker.first_rule(operation, spelling)).min();
        checker.rule(operation, rule).map_or_else(|| self.operation_default(operation), |rule| rule.action)
    }

    /// What happens to an operation where no rule matches.
    pub fn operation_default(&self, operation: Operation) -> Action {
        self.section(operation).default
    }

    /// Whether the operation is denied whatever its target: its tools need not be offered.
    pub fn denies_all(&self, operation: Operation) -> bool {
        self.is_always(operation, Action::Deny)
    }

    /// Whether the operation is allowed whatever its target: nothing need be asked.
    pub fn allows_all(&self, operation: Operation) -> bool {
        self.is_always(operation, Action::Allow)
    }

    fn is_always(&self, operation: Operation, action: Action) -> bool {
        self.operation_default(operation) == action && self.rules(operation).iter().all(|rule| rule.action == action)
    }

    /// The number of the first rule that matches.
    pub(super) fn first_rule(&self, operation: Operation, target: &str) -> Option<usize> {
        self.section(operation).patterns.as_ref()?.first_match(target)
    }

    /// The verdict for `target` where `rule` matched first.
    pub(super) fn verdict(&self, operation: Operation, target: &str, rule: Option<usize>) -> Verdict {
        let target = shown(target);
        let Some((index, rule)) = rule.zip(self.rule(operation, rule)) else {
            let action = self.operation_default(operation);
            let reason = match action {
                Action::Allow => format!("'{}' on '{target}' is allowed.", operation.name()),
                Action::Ask => format!("'{}' on '{target}' needs somebody's approval.", operation.name()),
                Action::Deny => format!("'{}' on '{target}' is not permitted.", operation.name()),
            };
            return Verdict { action, rule: None, reason };
        };
        let says = match rule.action {
            Action::Allow => "is allowed",
            Action::Ask => "needs somebody's approval",
            Action::Deny => "is not permitted",
        };
        // How case is compared is no part of what a rule says to a model.
        let pattern = rule.pattern.strip_prefix(IGNORING_CASE).unwrap_or(&rule.pattern);
        let mut reason = format!("'{}' on '{target}' {says} by the rule '{}'", operation.name(), Shown(pattern));
        match rule.description.as_deref().map(str::trim).filter(|description| !description.is_empty()) {
            Some(description) => {
                reason.push_str(": ");
                reason.push_str(description.trim_end_matches('.'));
                reason.push('.');
            }
            None => reason.push('.'),
        }
        let matched =
            MatchedRule { operation, pattern: rule.pattern.clone(), description: rule.description.clone(), index };
        Verdict { action: rule.action, rule: Some(matched), reason }
    }

    pub(super) fn shapes(&self, operation: Operation) -> &[Shape] {
        &self.section(operation).shapes
    }

    pub(super) fn rules(&self, operation: Operation) -> &[Rule] {
        rules_of(&self.ruleset, operation)
    }

    pub(super) fn rule(&self, operation: Operation, index: Option<usize>) -> Option<&Rule> {
        self.rules(operation).get(index?)
    }

    fn section(&self, operation: Operation) -> &Section {
        let [read, write, edit, delete, execute, glob, grep, ls] = &self.sections;
        match operation {
            Operation::Read => read,
            Operation::Write => write,
            Operation::Edit => edit,
            Operation::Delete => delete,
            Operation::Execute => execute,
            Operation::Glob => glob,
            Operation::Grep => grep,
            Operation::Ls => ls,
        }
    }
}

/// Makes one automaton of a section's patterns and checks the examples of its rules.
pub(super) fn compile(operation: Operation, rules: &[Rule], names_fold: bool) -> Result<Option<Pattern>> {
    if rules.is_empty() {
        return Ok(None);
    }
    if rules.len() > SECTION_RULES {
        return Err(Error::invalid(format!(
            "The '{}' section has {} rules; at most {SECTION_RULES} are possible.",
            operation.name(),
            rules.len()
        )));
    }
    for (index, rule) in rules.iter().enumerate() {
        check_examples(operation, index, rule)?;
    }
    let patterns: Vec<_> =
        rules.iter().map(|rule| (compared(operation, rule, names_fold), slash_of(operation, rule))).collect();
    Pattern::ordered(patterns.iter().map(|(pattern, slash)| (pattern.as_ref(), *slash))).map(Some)
}

/// The pattern of a rule as it is compared. Where file systems take `.ENV` for `.env`, a rule about one is about both
/// (R-FS-9): a name that does not exist yet has no spelling of its own that could be judged.
fn compared(operation: Operation, rule: &Rule, names_fold: bool) -> Cow<'_, str> {
    if !names_fold || operation == Operation::Execute || rule.pattern.starts_with(IGNORING_CASE) {
        return Cow::Borrowed(&rule.pattern);
    }
    Cow::Owned(format!("{IGNORING_CASE}{}", rule.pattern))
}

/// A `*` in a command is meant for its words, and words hold paths. A rule that takes away is read that way (D18, D20);
/// a rule that gives is read as for paths, so that `cat *` allows `cat notes` and not `cat /etc/shadow`.
fn slash_of(operation: Operation, rule: &Rule) -> Slash {
    match (operation, rule.action) {
        (Operation::Execute, Action::Ask | Action::Deny) => Slash::IsCharacter,
        (_, _) => Slash::Divides,
    }
}

fn check_examples(operation: Operation, index: usize, rule: &Rule) -> Result<()> {
    if rule.matching.is_empty() && rule.not_match.is_empty() {
        return Ok(());
    }
    let pattern = Pattern::ordered([(rule.pattern.as_str(), slash_of(operation, rule))].into_iter())?;
    let wrong = |example: &str, expected: &str| {
        Error::invalid(format!(
            "Rule {index} of the '{}' section, '{}', {expected} its example '{}'; mend the pattern or the example.",
            operation.name(),
            Shown(&rule.pattern),
            shown(example)
        ))
    };
    if let Some(example) = rule.matching.iter().find(|example| !pattern.matches(example)) {
        return Err(wrong(example, "does not match"));
    }
    if let Some(example) = rule.not_match.iter().find(|example| pattern.matches(example)) {
        return Err(wrong(example, "matches"));
    }
    Ok(())
}
