//! The shell of a local backend on Windows: there is none.

use std::sync::Arc;

use super::Inner;
use super::options::LocalOptions;
use crate::backend::{BoxFuture, Call, ExecuteOutcome, ExecuteRequest, Shell};
use crate::error::{Error, ErrorKind, Result};

/// Cannot be made.
#[derive(Debug)]
pub(super) enum LocalShell {}

impl LocalShell {
    /// Always `Unsupported`.
    pub(super) fn new(_: LocalOptions, _: &Arc<Inner>) -> Result<Self> {
        Err(Error::new(ErrorKind::Unsupported, "Commands do not run on Windows yet."))
    }

    pub(super) async fn close(&self) {
        match *self {}
    }
}

impl Shell for LocalShell {
    fn execute<'a>(&'a self, _: ExecuteRequest, _: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        match *self {}
    }
}
