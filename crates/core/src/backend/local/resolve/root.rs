//! [`Root`]: the open handle of one mounted host directory. The handle is the capability; its host path serves only to
//! turn what the kernel reports into a virtual path.

use std::path::{Path, PathBuf};

use super::spelling::Names;
use crate::backend::local::facts::identity;
use crate::backend::local::system::{
    AsFd, BorrowedFd, Errno, OFlags, OwnedFd, fstat, host_path, may_hold_devices, open_root,
};

/// How a directory is held: on Linux a handle that grants nothing but being a starting point.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(super) const DIRECTORY_HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
pub(super) const DIRECTORY_HANDLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// One mount's host directory, opened once.
#[derive(Debug)]
pub(crate) struct Root {
    pub(super) handle: OwnedFd,
    /// Canonical.
    pub(super) host: PathBuf,
    pub(super) device: u64,
    /// Whether device nodes may lie beneath, so that nothing is opened before its kind is known (R-FS-4).
    pub(super) may_hold_devices: bool,
    /// Whether the file system may take one name for another.
    pub(super) names: Names,
}

impl Root {
    /// Opens `host`, a canonical directory that the author mounted.
    pub(crate) fn open(host: &Path) -> Result<Self, Errno> {
        let handle = open_root(host, DIRECTORY_HANDLE)?;
        let device = identity(&fstat(&handle)?).0;
        let may_hold_devices = may_hold_devices(host, device);
        // The kernel's own spelling, where links or case may hide it from a canonical path.
        let host = if cfg!(target_vendor = "apple") { host_path(handle.as_fd())? } else { host.to_owned() };
        let names = Names::of(handle.as_fd());
        Ok(Self { handle, host, device, may_hold_devices, names })
    }

    /// The same root, said to lie on a file system that folds names.
    #[cfg(test)]
    pub(super) fn folding(self) -> Self {
        Self { names: Names::Folded, ..self }
    }

    /// The handle: a starting point, not a right to read.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
