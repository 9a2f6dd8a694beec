//! The judgement that a backend asks for while a call runs, on each path as it really resolved.

use std::sync::Arc;

use serde_json::json;

use super::policy::Policy;
use crate::access::{Guard, Operation};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::permissions::Action;

/// Holds what was decided for one call. Denials are final; what a rule marks `ask` passes only where this call's
/// approval covers it.
pub(super) struct CallGuard {
    policy: Arc<Policy>,
    /// Paths that were judged before the call ran, as asked and as resolved, each for its operation.
    decided: Vec<(Operation, VirtualPath)>,
    /// Whether somebody approved the call.
    approved: bool,
}

impl CallGuard {
    pub(super) fn new(policy: Arc<Policy>, decided: Vec<(Operation, VirtualPath)>, approved: bool) -> Self {
        Self { policy, decided, approved }
    }

    /// Whether an approved path is `path`, lies below it (a parent that is created on the way) or above it (an entry
    /// that an approved search or copy reaches). A yes to reading covers no change, and none but the one that was approved.
    fn is_covered(&self, operation: Operation, path: &VirtualPath) -> bool {
        let covers = |(approved, decided): &(Operation, VirtualPath)| {
            let reaches_up = matches!(operation, Operation::Write) || !operation.mutates();
            (!operation.mutates() || *approved == operation)
                && (path.is_within(decided) || (reaches_up && decided.is_within(path)))
        };
        self.approved && self.decided.iter().any(covers)
    }
}

impl Guard for CallGuard {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        if let Some(reason) = self.policy.shows_denied(operation, path) {
            return Err(denied(operation, path, &reason));
        }
        let verdict = self.policy.path(operation, path);
        match verdict.action {
            Action::Allow => Ok(()),
            Action::Deny => Err(denied(operation, path, &verdict.reason)),
            // Names may be seen where content must be asked for (BE-78).
            Action::Ask if matches!(operation, Operation::Ls | Operation::Glob) => Ok(()),
            Action::Ask if self.is_covered(operation, path) => Ok(()),
            Action::Ask => Err(Error::new(
                ErrorKind::ApprovalDenied,
                format!("{} of '{path}' needs an approval that this call does not have.", operation.name()),
            )
            .with_path(path.as_str())),
        }
    }

    fn is_open(&self) -> bool {
        const ON_PATHS: [Operation; 7] = [
            Operation::Read,
            Operation::Write,
            Operation::Edit,
            Operation::Delete,
            Operation::Glob,
            Operation::Grep,
            Operation::Ls,
        ];
        ON_PATHS.iter().all(|&operation| {
            self.policy.is_uniform(operation)
                && self.policy.path(operation, &VirtualPath::root()).action == Action::Allow
        })
    }
}

/// The refusal of a rule, in words for a model.
pub(super) fn denied(operation: Operation, path: &VirtualPath, reason: &str) -> Error {
    let reason = reason.trim_end_matches('.');
    Error::new(ErrorKind::PermissionDenied, format!("{} of '{path}' is not permitted: {reason}.", operation.name()))
        .with_path(path.as_str())
        .with_details(json!({ "operation": operation, "target": path.as_str() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolset::ToolsetOptions;

    /// A yes to reading one file covered every change of it, so that a link swapped meanwhile turned the one into the other.
    #[test]
    fn a_yes_to_one_operation_covers_no_change_of_another_kind() {
        let options: ToolsetOptions = serde_json::from_value(json!({ "permissions": { "default": "ask" } })).unwrap();
        let backend = crate::backend::memory::StateBackend::new(Default::default(), Default::default()).unwrap();
        let policy = Arc::new(crate::toolset::policy_of(&options, &backend).unwrap());
        let path = |text: &str| VirtualPath::parse(text, &VirtualPath::root()).unwrap();
        let (read, written) = ((Operation::Read, path("/w/from")), (Operation::Write, path("/w/to")));
        let guard = CallGuard::new(Arc::clone(&policy), vec![read.clone(), written.clone()], true);
        for (operation, on, passes) in [
            (Operation::Read, "/w/from", true),
            (Operation::Read, "/w/from/below", true),
            (Operation::Write, "/w/to", true),
            (Operation::Write, "/w/to/below", true),
            // A parent that is made on the way.
            (Operation::Write, "/w", true),
            (Operation::Write, "/w/from", false),
            (Operation::Edit, "/w/to", false),
            (Operation::Delete, "/w/from", false),
            (Operation::Delete, "/w/to", false),
            (Operation::Read, "/elsewhere", false),
        ] {
            assert_eq!(guard.check(operation, &path(on)).is_ok(), passes, "{operation:?} {on}");
        }
        let deleted = CallGuard::new(Arc::clone(&policy), vec![(Operation::Delete, path("/w/d"))], true);
        assert!(deleted.check(Operation::Delete, &path("/w/d/x")).is_ok());
        assert!(deleted.check(Operation::Delete, &path("/w")).is_err());
        let nobody = CallGuard::new(policy, vec![read, written], false);
        assert!(nobody.check(Operation::Read, &path("/w/from")).is_err());
    }
}
