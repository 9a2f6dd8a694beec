//! The local backend where its walls do not exist yet: it cannot be made.

use super::options::LocalOptions;
use crate::error::{Error, ErrorKind, Result};

/// Files of this machine. On this system there is no resolver that could hold the walls, so that it cannot be made.
#[derive(Debug)]
pub struct LocalBackend(std::convert::Infallible);

impl LocalBackend {
    /// Always `Unsupported`: a check of words is not a wall.
    pub fn new(_options: LocalOptions) -> Result<Self> {
        Err(Error::new(
            ErrorKind::Unsupported,
            "A local backend is not available on this system yet; use Linux, macOS, or a container.",
        ))
    }
}
