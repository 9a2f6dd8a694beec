//! Where links lead that a command names: rules hold on the file that it gets, as well as on the name by which it asks (BE-79).
//!
//! And where those lead that a command enters, for `..` behind a link is above its target, and the fence of `cd` holds there.
//!
//! A seat belt like all that is said of commands: a name that only a shell completes (`*`) is judged as it is written, and a link
//! that another program lays while the command runs is followed by the command.

use std::collections::HashSet;

use super::plan::{Judges, Plan, blocked, compared};
use super::policy::Start;
use crate::access::Operation;
use crate::approval::Touch;
use crate::error::{ErrorKind, Result};
use crate::path::VirtualPath;
use crate::permissions::command::argument::is_marked;
use crate::permissions::command::paths::{Place, Use};
use crate::permissions::{Action, CommandAnalysis, Verdict};

/// Where a name leads.
enum Leads {
    /// To itself, or to nothing.
    Nowhere,
    To(VirtualPath),
    /// Beyond everything that rules speak of.
    Out,
}

/// 8 looks at the directories that a command enters: where one leads may make another of the next.
const ROUNDS: usize = 8;

/// What is seen of a command that knows where the directories lead which it enters, and those of them that are links. `Err` where
/// one leads out and the fence holds.
pub(super) async fn analyzed(
    judges: &Judges<'_>,
    command: &str,
    start: Start<'_>,
) -> Result<(CommandAnalysis, Vec<(String, String)>)> {
    let mut links: Vec<(String, String)> = Vec::new();
    let mut looked = HashSet::from([start.working_directory.as_str().to_owned()]);
    looked.extend(start.session.unwrap_or_default().iter().cloned());
    for _ in 0..ROUNDS {
        let analysis = judges.policy.analysis(command, Start { links: &links, ..start });
        let known = links.len();
        // What is blocked anyway is not looked for.
        let is_open = judges.replace_policy() || analysis.verdict.action != Action::Deny;
        for directory in analysis.entered.all.iter().filter(|_| is_open) {
            if is_marked(directory) || !looked.insert(directory.clone()) {
                continue;
            }
            let Ok(path) = VirtualPath::absolute(directory) else { continue };
            match follow(judges, &path).await? {
                Leads::Nowhere => {}
                Leads::To(resolved) => links.push((directory.clone(), resolved.as_str().to_owned())),
                Leads::Out if judges.replace_policy() => {}
                Leads::Out => {
                    let reason = format!(
                        "'{path}' is entered, and leads out of the directories that are yours; copy what you need into them instead"
                    );
                    return Err(blocked(&reason, command));
                }
            }
        }
        if links.len() == known {
            return Ok((analysis, links));
        }
    }
    Err(blocked("it enters more links than are followed", command))
}

/// The strictest of what the rules say of the files to which names in a command lead. Adds those to what is touched.
pub(super) async fn judge(
    judges: &Judges<'_>,
    analysis: &CommandAnalysis,
    start: Start<'_>,
    plan: &mut Plan,
) -> Result<Verdict> {
    let mut verdict = allowed();
    if judges.policy.treats_files_alike() {
        return Ok(verdict);
    }
    let mut seen = HashSet::new();
    for place in &analysis.places {
        for written in &place.dotted {
            if !seen.insert((written, place.what)) {
                continue;
            }
            verdict = verdict.strictest(match above_targets(judges, written).await? {
                Some(path) => {
                    let named = judge_at(judges, &path, place.what, start).await?;
                    named.strictest(judge_target(judges, (written, &path), place.what, start, plan).await?)
                }
                None => asked(format!("'{written}' goes up from a place that rules do not know")),
            });
        }
        for written in &place.paths {
            if seen.insert((written, place.what)) {
                verdict = verdict.strictest(judge_target(judges, (written, written), place.what, start, plan).await?);
            }
        }
    }
    Ok(verdict)
}

/// What the rules say of the file to which a path leads, if it is another; adds that to what is touched, as it is `written`.
async fn judge_target(
    judges: &Judges<'_>,
    (written, path): (&str, &str),
    what: Use,
    start: Start<'_>,
    plan: &mut Plan,
) -> Result<Verdict> {
    let path = Some(path).filter(|path| !is_marked(path)).and_then(|path| VirtualPath::absolute(path).ok());
    let Some(path) = path else { return Ok(allowed()) };
    match follow(judges, &path).await? {
        Leads::Nowhere => Ok(allowed()),
        Leads::To(resolved) => {
            plan.touches.push(Touch {
                operation: operation_of(what),
                target: written.to_owned(),
                resolved: Some(resolved.as_str().to_owned()),
            });
            judge_at(judges, resolved.as_str(), what, start).await
        }
        Leads::Out => Ok(asked(format!("'{path}' leads out of the places that rules know"))),
    }
}

/// What the rules say of a path by its name.
async fn judge_at(judges: &Judges<'_>, path: &str, what: Use, start: Start<'_>) -> Result<Verdict> {
    let there = Place { paths: vec![path.to_owned()], dotted: Vec::new(), what };
    compared(judges.call, |steps| judges.policy.place(&there, start, steps)).await
}

fn allowed() -> Verdict {
    Verdict { action: Action::Allow, rule: None, reason: String::new() }
}

fn asked(reason: String) -> Verdict {
    Verdict { action: Action::Ask, rule: None, reason }
}

/// Where a spelled path leads when each `..` goes up from where the name in front of it leads; `None` where that is beyond
/// everything that rules speak of. What stands behind the last `..` is as it is spelled.
async fn above_targets(judges: &Judges<'_>, spelled: &str) -> Result<Option<String>> {
    let mut reached = String::new();
    for name in spelled.split('/').filter(|name| !matches!(*name, "" | ".")) {
        if name != ".." {
            reached.push('/');
            reached.push_str(name);
            continue;
        }
        if let Ok(path) = VirtualPath::absolute(&reached) {
            match follow(judges, &path).await? {
                Leads::Nowhere => {}
                Leads::To(resolved) => reached = resolved.as_str().trim_end_matches('/').to_owned(),
                Leads::Out => return Ok(None),
            }
        }
        reached.truncate(reached.rfind('/').unwrap_or_default());
    }
    Ok(Some(if reached.is_empty() { "/".to_owned() } else { reached }))
}

async fn follow(judges: &Judges<'_>, path: &VirtualPath) -> Result<Leads> {
    judges.call.deadline.check()?;
    match judges.backend.files().resolve(path, judges.call).await {
        Ok(resolution) if resolution.resolved != *path => Ok(Leads::To(resolution.resolved)),
        Ok(_) => Ok(Leads::Nowhere),
        Err(error) => match error.kind() {
            ErrorKind::Aborted | ErrorKind::Timeout | ErrorKind::Closed => Err(error),
            ErrorKind::PathNotInSandbox if is_own(judges, path) => Ok(Leads::Out),
            _ => Ok(Leads::Nowhere),
        },
    }
}

/// Whether a path is one of the agent's as it is written: where it lies outside all the same, a link on its way leads out.
fn is_own(judges: &Judges<'_>, path: &VirtualPath) -> bool {
    let roots = judges.policy.commands.roots.iter();
    roots.filter_map(|root| VirtualPath::absolute(root).ok()).any(|root| path.is_within(&root))
}

fn operation_of(what: Use) -> Operation {
    match what {
        Use::Read | Use::Perhaps | Use::Glued | Use::Whole => Operation::Read,
        Use::Write | Use::Filled | Use::PerhapsWrite => Operation::Write,
        Use::Delete => Operation::Delete,
        Use::Within(operation) => operation,
    }
}
