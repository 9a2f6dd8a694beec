//! [`Root`]: the open handle of one mounted host directory. The handle is the capability; its host path serves only to
//! turn what the kernel reports into a virtual path.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat, stat};
use rustix::io::Errno;

use super::names;
use super::spelling::Names;
use crate::backend::local::facts::identity;

/// How a directory is held: on Linux a handle that grants nothing but being a starting point.
#[cfg(target_os = "linux")]
pub(super) const DIRECTORY_HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
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
        let handle = openat(CWD, host, DIRECTORY_HANDLE, Mode::empty())?;
        let device = identity(&fstat(&handle)?).0;
        let devices = Path::new("/dev");
        let same_device = stat(devices).is_ok_and(|facts| identity(&facts).0 == device);
        let may_hold_devices = same_device || devices.starts_with(host) || host.starts_with(devices);
        // The kernel's own spelling, where links or case may hide it from a canonical path.
        let host = if cfg!(target_vendor = "apple") { names::host_path(handle.as_fd())? } else { host.to_owned() };
        let names = Names::of(handle.as_fd());
        Ok(Self { handle, host, device, may_hold_devices, names })
    }

    /// The same root, said to lie on a file system that folds names.
    #[cfg(test)]
    pub(crate) fn folding(self) -> Self {
        Self { names: Names::Folded, ..self }
    }

    /// The handle: a starting point, not a right to read.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
