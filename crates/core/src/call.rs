//! What every operation on files is told about the call that it belongs to: [`Call`].

use std::sync::Arc;

use crate::access::{Guard, Unguarded};
use crate::cancel::Deadline;

/// What every operation is told about the call that it belongs to.
#[derive(Clone)]
pub struct Call {
    /// When the work must stop.
    pub deadline: Deadline,
    /// Who judges paths as they resolved.
    pub guard: Arc<dyn Guard>,
}

impl Default for Call {
    /// No deadline, no rules: a program that uses a backend directly.
    fn default() -> Self {
        Self { deadline: Deadline::default(), guard: Arc::new(Unguarded) }
    }
}
