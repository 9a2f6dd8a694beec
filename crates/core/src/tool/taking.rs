//! Input for programs that may read nothing: whoever gives them some waits a while for what they were given before, and is told.
//!
//! Without an end such a program would hold the call, and each one behind it, for all of their time.

use std::time::Duration;

use crate::backend::process::Process;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};

/// 5 s for a program to read what it was given before.
pub(super) const TAKE: Duration = Duration::from_secs(5);

/// Waits until it has read what it was given before, until the deadline at most; what a call is told where it has not.
pub(super) async fn reads_on(process: &Process, deadline: &Deadline, told: impl FnOnce() -> Error) -> Result<()> {
    match process.reads_on(deadline).await {
        Err(error) if error.kind() == ErrorKind::Timeout => Err(told()),
        // What takes no input any more is for whoever gives it some.
        Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
        read => read,
    }
}
