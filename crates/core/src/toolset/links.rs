//! Where links lead that a command names: rules hold on the file that it gets, as well as on the name by which it asks (BE-79).
//!
//! A seat belt like all that is said of commands: a name that only a shell completes (`*`) is judged as it is written, and a link
//! that is laid while the command runs is followed by the command.

use std::collections::HashSet;

use super::plan::{Judges, Plan};
use super::policy::Start;
use crate::access::Operation;
use crate::approval::Touch;
use crate::backend::FileSystem;
use crate::error::{ErrorKind, Result};
use crate::path::VirtualPath;
use crate::permissions::command::argument::{ANY_CHARACTER, ANY_NAME, ANYTHING};
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

/// The strictest of what the rules say of the files to which names in a command lead. Adds those to what is touched.
pub(super) async fn judge(
    judges: &Judges<'_>,
    analysis: &CommandAnalysis,
    start: Start<'_>,
    plan: &mut Plan,
) -> Result<Verdict> {
    let mut verdict = Verdict { action: Action::Allow, rule: None, reason: String::new() };
    if judges.policy.treats_files_alike() {
        return Ok(verdict);
    }
    let mut seen = HashSet::new();
    for place in &analysis.places {
        for written in &place.paths {
            if written.contains([ANY_NAME, ANY_CHARACTER, ANYTHING]) || !seen.insert((written, place.what)) {
                continue;
            }
            let Ok(path) = VirtualPath::absolute(written) else { continue };
            match follow(judges, &path).await? {
                Leads::Nowhere => {}
                Leads::To(resolved) => {
                    let there = Place { paths: vec![resolved.as_str().to_owned()], what: place.what };
                    verdict = verdict.strictest(judges.policy.place(&there, start));
                    plan.touches.push(Touch {
                        operation: operation_of(place.what),
                        target: written.clone(),
                        resolved: Some(resolved.as_str().to_owned()),
                    });
                }
                Leads::Out => {
                    let reason = format!("'{path}' leads out of the places that rules know");
                    verdict = verdict.strictest(Verdict { action: Action::Ask, rule: None, reason });
                }
            }
        }
    }
    Ok(verdict)
}

async fn follow(judges: &Judges<'_>, path: &VirtualPath) -> Result<Leads> {
    judges.call.deadline.check()?;
    let files = judges.backend.files();
    match files.resolve(path, judges.call).await {
        Ok(resolution) if resolution.resolved != *path => Ok(Leads::To(resolution.resolved)),
        Ok(_) => Ok(Leads::Nowhere),
        Err(error) => match error.kind() {
            ErrorKind::Aborted | ErrorKind::Timeout | ErrorKind::Closed => Err(error),
            ErrorKind::PathNotInSandbox if lies_inside(judges, files, path).await? => Ok(Leads::Out),
            _ => Ok(Leads::Nowhere),
        },
    }
}

/// Whether the directory of a path is one of the agent's: then the path itself is a link that leads out.
async fn lies_inside(judges: &Judges<'_>, files: &dyn FileSystem, path: &VirtualPath) -> Result<bool> {
    let Some(parent) = path.parent() else { return Ok(false) };
    match files.resolve(&parent, judges.call).await {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::Aborted | ErrorKind::Timeout | ErrorKind::Closed) => Err(error),
        Err(_) => Ok(false),
    }
}

fn operation_of(what: Use) -> Operation {
    match what {
        Use::Read | Use::Perhaps | Use::Glued | Use::Whole => Operation::Read,
        Use::Write => Operation::Write,
        Use::Delete => Operation::Delete,
    }
}
