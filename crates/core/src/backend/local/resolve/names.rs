//! From an opened handle back to the name it has now.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The host path that the kernel gives for a handle. `NOSYS` where it cannot be asked.
#[cfg(target_os = "linux")]
pub(super) fn host_path(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::ffi::OsString;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;

    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let bytes = rustix::fs::readlink(link, Vec::with_capacity(256))?.into_bytes();
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(target_vendor = "apple")]
pub(super) fn host_path(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    let bytes = rustix::fs::getpath(handle)?.into_bytes();
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn host_path(_: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    Err(Errno::NOSYS)
}

/// What lies below `root` in `path`: both as the kernel named them.
pub(super) fn below<'a>(path: &'a Path, root: &Path) -> Option<&'a Path> {
    path.strip_prefix(root).ok()
}

/// The end of the name that Linux gives to a handle whose name is gone. A file can really be called like that, so that
/// a name with this end is never believed without a look.
pub(super) fn may_be_deleted(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")
}
