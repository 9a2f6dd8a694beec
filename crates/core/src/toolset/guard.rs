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
    /// Paths that were judged before the call ran, as asked and as resolved.
    decided: Vec<VirtualPath>,
    /// Whether somebody approved the call.
    approved: bool,
}

impl CallGuard {
    pub(super) fn new(policy: Arc<Policy>, decided: Vec<VirtualPath>, approved: bool) -> Self {
        Self { policy, decided, approved }
    }

    /// Whether an approved path is `path`, lies below it (a parent that is created on the way) or above it (an entry
    /// that an approved search or copy reaches).
    fn is_covered(&self, path: &VirtualPath) -> bool {
        self.approved && self.decided.iter().any(|decided| path.is_within(decided) || decided.is_within(path))
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
            Action::Ask if self.is_covered(path) => Ok(()),
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
