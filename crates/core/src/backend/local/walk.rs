//! Searches beneath a directory handle.

use super::Inner;
use crate::backend::Call;
use crate::error::{Error, ErrorKind, Result};
use crate::search::{GlobOutcome, GlobQuery, GrepOutcome, GrepQuery};

/// Names by pattern. Blocking: runs inside the one `spawn_blocking` of its call.
pub(super) fn glob(_inner: &Inner, query: &GlobQuery, _call: &Call) -> Result<GlobOutcome> {
    Err(Error::new(ErrorKind::Unsupported, "This backend does not search names.").with_path(query.path.as_str()))
}

/// Lines by pattern. Blocking: runs inside the one `spawn_blocking` of its call.
pub(super) fn grep(_inner: &Inner, query: &GrepQuery, _call: &Call) -> Result<GrepOutcome> {
    Err(Error::new(ErrorKind::Unsupported, "This backend does not search content.").with_path(query.path.as_str()))
}
