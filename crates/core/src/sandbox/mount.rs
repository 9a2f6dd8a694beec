//! [`Mount`]: one host directory, the path it is seen under, and its rules.

use std::path::PathBuf;

use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;

/// Whether a mount takes writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MountMode {
    /// Reads only.
    #[default]
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
}

/// One mount as its author writes it (FS-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The host directory; a relative one lies beneath the base path of the sandbox.
    pub host_path: PathBuf,
    /// The path that the agent sees. Read by [`parse_mount_point`].
    pub mount_point: String,
    /// Default: read-only.
    pub mode: MountMode,
    /// Suffixes with their dot, compared without case. `None`: every name; empty: no file at all.
    pub suffixes: Option<Vec<String>>,
    /// Bytes of the largest file; `None`: only the limits of the backend hold.
    pub max_file_bytes: Option<u64>,
    /// Whether somebody is asked before a write. Default: yes.
    pub write_approval: bool,
    /// Whether somebody is asked before a read. Default: no.
    pub read_approval: bool,
}

impl Mount {
    /// A read-only mount with the defaults of FS-1.
    pub fn new(host_path: impl Into<PathBuf>, mount_point: impl Into<String>) -> Self {
        Self {
            host_path: host_path.into(),
            mount_point: mount_point.into(),
            mode: MountMode::ReadOnly,
            suffixes: None,
            max_file_bytes: None,
            write_approval: true,
            read_approval: false,
        }
    }

    /// The same mount, taking writes.
    #[must_use]
    pub fn read_write(mut self) -> Self {
        self.mode = MountMode::ReadWrite;
        self
    }
}

/// Reads a mount point as an author spells it (FS-2): `\` is `/`, blanks around it are dropped, the empty text is `/`,
/// and `..` above `/` stays at `/`. It must begin with `/`. Paths that tools give are *not* read like this.
pub(super) fn parse_mount_point(text: &str) -> Result<VirtualPath> {
    let spelled = text.trim().replace('\\', "/");
    if !spelled.is_empty() && !spelled.starts_with('/') {
        return Err(Error::invalid(format!(
            "The mount point '{}' must begin with '/', such as '/{}'.",
            Shown(text),
            Shown(&spelled)
        )));
    }
    let mut names: Vec<&str> = Vec::new();
    for segment in spelled.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    VirtualPath::absolute(&format!("/{}", names.join("/")))
}
