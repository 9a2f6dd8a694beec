//! The files that a command touches, judged by the rules for files: those that it names, those that it may name, and all that
//! lies below a directory. The strictest answer wins.

use crate::access::Operation;

use super::checker::{PermissionChecker, Verdict};
use super::command::CommandAnalysis;
use super::command::argument::{ANY_NAME, ANYTHING, is_marked};
use super::command::paths::{Place, Use};
use super::ruleset::{Action, Rule};
use super::shape::{Reach, Shape};
use super::steps::Steps;

/// 4,096 bytes, the longest path that Linux opens: where more than its text would be compared, a longer one is asked about.
const PATH_BYTES: usize = 4_096;
/// What a look at a pattern costs besides its walk, in looks at a state.
const PATTERN: usize = 2;
/// What a look at all that lies below a directory costs besides that.
const BELOW: usize = 50;

impl PermissionChecker {
    /// What the rules say of all files that a command touches; a rule may name one relative to `base`.
    pub(crate) fn check_places(&self, analysis: &CommandAnalysis, base: &str, steps: &Steps<'_>) -> Verdict {
        let mut verdict = Verdict { action: Action::Allow, rule: None, reason: String::new() };
        for place in &analysis.places {
            if verdict.action == Action::Deny {
                break;
            }
            // Of all that cannot be compared any more one says what the others would.
            if !is_uncompared(place, steps) || self.uncompared(place.what) > verdict.action {
                verdict = verdict.strictest(self.check_place(place, base, steps));
            }
        }
        verdict
    }

    /// How a place is judged where nothing is left to compare it with: limits skip no rule that denies.
    fn uncompared(&self, what: Use) -> Action {
        let of = |operation| {
            let rules = self.every_rule(operation);
            rules.map(|rule| self.action_of(operation, rule)).max().unwrap_or(Action::Deny)
        };
        match what {
            Use::Read | Use::Whole => of(Operation::Read),
            Use::Write | Use::Filled => of(Operation::Write),
            Use::PerhapsWrite => of(Operation::Write).min(Action::Ask),
            Use::Delete => of(Operation::Delete),
            Use::Within(operation) => of(operation),
            Use::Perhaps | Use::Glued => of(Operation::Read).max(of(Operation::Write).min(Action::Ask)),
        }
    }

    /// All rules of a section, and its default.
    fn every_rule(&self, operation: Operation) -> impl Iterator<Item = Option<usize>> + use<> {
        (0..self.rules(operation).len()).map(Some).chain([None])
    }

    /// What the rules for files say of one that a command named `base` as its working directory touches.
    pub(crate) fn check_place(&self, place: &Place, base: &str, steps: &Steps<'_>) -> Verdict {
        let mut verdict: Option<Verdict> = None;
        for path in &place.paths {
            let this = self.at(path);
            let of_path = match place.what {
                Use::Read => this.check_file(Operation::Read, path, base, steps),
                Use::Write => this.check_file(Operation::Write, path, base, steps),
                Use::Delete => {
                    let below = this.check_below(Operation::Delete, path, base, steps);
                    this.check_file(Operation::Delete, path, base, steps).strictest(below)
                }
                Use::Whole => this.check_below(Operation::Read, path, base, steps),
                Use::Filled => {
                    let below = this.check_below(Operation::Write, path, base, steps);
                    this.check_file(Operation::Write, path, base, steps).strictest(below)
                }
                Use::Within(operation) => this.check_all_below(operation, path, base, steps),
                Use::Glued => this.check_glued(path, base, steps),
                Use::PerhapsWrite => this.check_perhaps_written(path, base, steps),
                Use::Perhaps => {
                    let write = asked_where_denied(this.check_file(Operation::Write, path, base, steps));
                    let of_file = this.check_file(Operation::Read, path, base, steps).strictest(write);
                    of_file.strictest(this.check_perhaps_directory(path, base, steps))
                }
            };
            verdict = Some(match verdict {
                Some(verdict) => verdict.strictest(of_path),
                None => of_path,
            });
        }
        verdict.unwrap_or(Verdict { action: Action::Allow, rule: None, reason: String::new() })
    }

    /// A text that may be the name of a file: what rules say of it, as of a file that a command perhaps writes.
    fn check_glued(&self, path: &str, base: &str, steps: &Steps<'_>) -> Verdict {
        if is_marked(path) {
            return allowed();
        }
        let of_rules = |operation| {
            let judged = self.check_file(operation, path, base, steps);
            // Where it was not compared, a rule may be what nobody asked.
            if judged.rule.is_some() || steps.have_no_targets() { judged } else { allowed() }
        };
        let of_file = of_rules(Operation::Read).strictest(asked_where_denied(of_rules(Operation::Write)));
        of_file.strictest(self.check_perhaps_directory(path, base, steps))
    }

    /// A word that may be the name of a file that is written: asked about where a rule does not permit that. What a rule says of
    /// names anywhere (`**/*password*`) is no reason to hold up a branch of such a name.
    fn check_perhaps_written(&self, path: &str, base: &str, steps: &Steps<'_>) -> Verdict {
        let relative = relative_to(path, base).filter(|relative| !relative.is_empty());
        let speaks = |shape: &Shape| {
            let reaches = |spelling: &str| shape.reach(spelling, steps) != Reach::Never;
            !shape.begins_anywhere() && (reaches(path) || relative.is_some_and(reaches))
        };
        let decides = self.shapes(Operation::Write).iter().position(speaks);
        let of_file = decides.map_or_else(allowed, |rule| self.verdict(Operation::Write, path, Some(rule)));
        asked_at_most(of_file.strictest(self.check_all_below(Operation::Write, path, base, steps)))
    }

    /// A word that may be the name of a directory: asked about where a rule speaks of all that lies below it.
    fn check_perhaps_directory(&self, path: &str, base: &str, steps: &Steps<'_>) -> Verdict {
        let of = |operation| self.check_all_below(operation, path, base, steps);
        asked_at_most(of(Operation::Read)).strictest(asked_where_denied(of(Operation::Write)))
    }

    /// What lies below a directory, where the first rule that speaks of all of it says something else than yes. A rule about a
    /// part of it counts for nothing here, and neither does a default.
    fn check_all_below(&self, operation: Operation, path: &str, base: &str, steps: &Steps<'_>) -> Verdict {
        if is_marked(path) || path.len() > PATH_BYTES {
            return allowed();
        }
        let ends_open =
            |(_, (rule, shape)): &(usize, (&Rule, &Shape))| rule.action != Action::Allow && shape.ends_open();
        let rules = || self.rules(operation).iter().zip(self.shapes(operation)).enumerate();
        let count = rules().filter(ends_open).count();
        if count == 0 {
            return allowed();
        }
        if steps.walk(PATTERN * count).is_none() {
            let restricting: Vec<_> = rules().filter(ends_open).map(|(index, _)| Some(index)).collect();
            let strictest = self.strictest_of(operation, &restricting);
            return strictest.map_or_else(allowed, |rule| self.too_much(operation, path, rule));
        }
        let below = spelled_below(path, base);
        let decides =
            |(_, (_, shape)): &(usize, (&Rule, &Shape))| below.iter().any(|target| shape.takes_all(target, steps));
        let decided = rules().find(decides).map(|(index, (rule, _))| (index, rule.action));
        match decided {
            Some((_, Action::Allow)) => allowed(),
            Some((index, _)) => self.verdict(operation, path, Some(index)),
            // What was not compared any more may be what denies.
            None if steps.have_no_walks() => {
                let restricting: Vec<_> = rules().filter(ends_open).map(|(index, _)| Some(index)).collect();
                let strictest = self.strictest_of(operation, &restricting);
                strictest.map_or_else(allowed, |rule| self.too_much(operation, path, rule))
            }
            None => allowed(),
        }
    }

    /// A directory with all that lies below it: denied where a rule denies all of that, and asked about where a rule names a
    /// place below it. What a rule says of names anywhere (`**/.env`) is left to the names themselves: it would hold up every
    /// search.
    fn check_below(&self, operation: Operation, path: &str, base: &str, steps: &Steps<'_>) -> Verdict {
        let mut verdict = Verdict { action: Action::Allow, rule: None, reason: String::new() };
        // `*` stands for everything in a directory; of any other pattern what it matches is judged.
        let path = path.strip_suffix(ANY_NAME).filter(|rest| rest.ends_with('/')).unwrap_or(path);
        let restricts = |rule: &Option<usize>| self.action_of(operation, *rule) != Action::Allow;
        let restricting: Vec<_> = (0..self.rules(operation).len()).map(Some).filter(restricts).collect();
        let Some(strictest) = self.strictest_of(operation, &restricting) else { return verdict };
        if path.len() > PATH_BYTES {
            return strictest.map_or(verdict, |rule| self.asks_below(operation, path, rule));
        }
        if steps.walk(BELOW + PATTERN * self.rules(operation).len()).is_none() {
            return self.too_much(operation, path, strictest);
        }
        let directory = path.trim_end_matches('/');
        let relative = relative_to(directory, base);
        let below = spelled_below(directory, base);
        let is_pattern = is_marked(path);
        for (index, (rule, shape)) in self.rules(operation).iter().zip(self.shapes(operation)).enumerate() {
            let all = below.iter().any(|target| shape.takes_all(target, steps));
            if all {
                let of_rule = self.verdict(operation, path, Some(index));
                return if rule.action == Action::Allow { verdict } else { verdict.strictest(of_rule) };
            }
            // What a pattern matches may be a directory of which a rule takes all.
            let names = |spelling: &str| match shape.below(spelling, steps) {
                Reach::Sometimes => true,
                Reach::Always => is_pattern,
                Reach::Never => false,
            };
            let absolute = if directory.is_empty() { "/" } else { directory };
            if rule.action != Action::Allow && (names(absolute) || relative.is_some_and(names)) {
                verdict = verdict.strictest(self.asks_below(operation, path, index));
            }
        }
        if steps.have_no_walks() { self.too_much(operation, path, strictest) } else { verdict }
    }

    fn asks_below(&self, operation: Operation, path: &str, rule: usize) -> Verdict {
        let reason = format!(
            "'{}' on '{}' needs somebody's approval: what lies below it may not be permitted.",
            operation.name(),
            super::pattern::shown(path)
        );
        Verdict { action: Action::Ask, reason, ..self.verdict(operation, path, Some(rule)) }
    }

    /// A file by its absolute path, and by its path relative to the working directory.
    fn check_file(&self, operation: Operation, path: &str, base: &str, steps: &Steps<'_>) -> Verdict {
        let relative = path.strip_prefix(base.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
        let spellings: &[&str] = match &relative {
            Some(relative) => &[path, relative],
            None => &[path],
        };
        let is_marked = is_marked(path);
        let fits = if is_marked {
            path.len() <= PATH_BYTES
        } else {
            spellings.iter().all(|spelling| steps.target(spelling).is_some())
        };
        let every = || self.every_rule(operation).collect::<Vec<_>>();
        let of_path = match (fits, is_marked) {
            (true, false) => return self.check_path(operation, spellings),
            (true, true) => self.check_partly(operation, spellings, &shown(path), true, steps),
            // Nothing has such a name, whatever it turns out to be.
            (false, true) => self.may_be(operation, &shown(path), &every()),
            (false, false) => self.strictest_of(operation, &every()).map(|rule| self.too_much(operation, path, rule)),
        };
        of_path.unwrap_or_else(|| self.verdict(operation, path, None))
    }

    /// Judges a target that is partly known by the strictest of what can come out, but asks where only a rule *may* deny. `None` where nothing matches and the default does not count.
    pub(super) fn check_partly(
        &self,
        operation: Operation,
        targets: &[&str],
        shown: &str,
        default: bool,
        steps: &Steps<'_>,
    ) -> Option<Verdict> {
        let mut possible: Vec<Option<usize>> = Vec::new();
        let mut settled = false;
        let fits = steps.walk(PATTERN * self.rules(operation).len()).is_some();
        for (index, shape) in self.shapes(operation).iter().enumerate() {
            let reach = |target: &&str| if fits { shape.reach(target, steps) } else { Reach::Sometimes };
            match targets.iter().map(reach).min_by_key(|reach| *reach as u8) {
                Some(Reach::Always) => {
                    possible.push(Some(index));
                    settled = true;
                    break;
                }
                Some(Reach::Sometimes) => possible.push(Some(index)),
                Some(Reach::Never) | None => {}
            }
        }
        if !settled && default {
            possible.push(None);
        }
        if steps.have_no_walks() {
            let rule = self.strictest_of(operation, &possible)?;
            return Some(self.too_much(operation, shown, rule));
        }
        self.may_be(operation, shown, &possible)
    }

    /// The verdict where there is more to compare than is compared, by the strictest rule that may match.
    fn too_much(&self, operation: Operation, shown: &str, rule: Option<usize>) -> Verdict {
        let verdict = self.verdict(operation, shown, rule);
        let says = match verdict.action {
            Action::Allow => return verdict,
            Action::Ask => "needs somebody's approval",
            Action::Deny => "is not permitted",
        };
        let reason = format!(
            "'{}' on '{}' {says}: the command holds more than is compared with the rules; write it to a script, and run that.",
            operation.name(),
            super::pattern::shown(shown)
        );
        Verdict { reason, ..verdict }
    }

    /// The verdict where each of these may be the rule that matches first, or the default (`None`).
    fn may_be(&self, operation: Operation, shown: &str, possible: &[Option<usize>]) -> Option<Verdict> {
        let (rule, action) = self.decided(operation, possible)?;
        let mut verdict = self.verdict(operation, shown, rule);
        if verdict.action != action {
            verdict.action = action;
            verdict.reason = format!(
                "'{}' on '{}' needs somebody's approval: what it turns out to be may not be permitted.",
                operation.name(),
                super::pattern::shown(shown)
            );
        }
        Some(verdict)
    }

    /// The strictest of these, and what happens: what a rule only *may* deny is asked about. A default that denies stays: only
    /// what a rule gives is given.
    fn decided(&self, operation: Operation, possible: &[Option<usize>]) -> Option<(Option<usize>, Action)> {
        let strictest = self.strictest_of(operation, possible)?;
        let laxest = possible.iter().map(|rule| self.action_of(operation, *rule)).min()?;
        let action = self.action_of(operation, strictest);
        let may_deny = action == Action::Deny && laxest != Action::Deny && strictest.is_some();
        Some((strictest, if may_deny { Action::Ask } else { action }))
    }

    /// The strictest of these; the default before a rule.
    fn strictest_of(&self, operation: Operation, rules: &[Option<usize>]) -> Option<Option<usize>> {
        rules.iter().copied().max_by_key(|rule| (self.action_of(operation, *rule), rule.is_none()))
    }

    fn action_of(&self, operation: Operation, rule: Option<usize>) -> Action {
        self.rule(operation, rule).map_or_else(|| self.operation_default(operation), |rule| rule.action)
    }
}

fn allowed() -> Verdict {
    Verdict { action: Action::Allow, rule: None, reason: String::new() }
}

/// The verdict of what only may be so.
fn asked_at_most(verdict: Verdict) -> Verdict {
    Verdict { action: verdict.action.min(Action::Ask), ..verdict }
}

/// The same of what is less likely: a denial becomes a question, and a question nothing.
fn asked_where_denied(verdict: Verdict) -> Verdict {
    let action = if verdict.action == Action::Deny { Action::Ask } else { Action::Allow };
    Verdict { action, ..verdict }
}

/// A path as it is seen from `base`, if it lies there; empty for that itself.
fn relative_to<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    match path.strip_prefix(base.trim_end_matches('/')) {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    }
}

/// All that lies below a directory, as a rule may spell it.
fn spelled_below(directory: &str, base: &str) -> Vec<String> {
    let directory = directory.trim_end_matches('/');
    let mut below = vec![format!("{directory}/{ANYTHING}")];
    match relative_to(directory, base) {
        Some("") => below.push(ANYTHING.to_string()),
        Some(relative) => below.push(format!("{relative}/{ANYTHING}")),
        None => {}
    }
    below
}

/// A partly known text as people write it.
pub(super) fn shown(text: &str) -> String {
    super::command::argument::Argument::known(text).shown()
}

/// Whether nothing is left to compare a place with.
fn is_uncompared(place: &Place, steps: &Steps<'_>) -> bool {
    let is_spent = |path: &String| {
        if matches!(place.what, Use::Whole | Use::Filled | Use::Within(_)) || is_marked(path) {
            steps.have_no_walks()
        } else {
            steps.have_no_targets()
        }
    };
    (steps.have_no_walks() || steps.have_no_targets()) && place.paths.iter().all(is_spent)
}
