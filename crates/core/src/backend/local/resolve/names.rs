//! From an opened handle back to the name it has now, and to another handle of the same file.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// The host path that the kernel gives for a handle. `NOSYS` where it cannot be asked.
#[cfg(target_os = "linux")]
pub(super) fn host_path(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    let bytes = by_number(handle, |directory, number| {
        rustix::fs::readlinkat(directory, number, Vec::with_capacity(NAME_BYTES))
    })?;
    Ok(PathBuf::from(OsString::from_vec(bytes.into_bytes())))
}

/// Opens with `flags` what a handle without rights already names.
#[cfg(target_os = "linux")]
pub(super) fn reopen(seen: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    by_number(seen, |directory, number| rustix::fs::openat(directory, number, flags, rustix::fs::Mode::empty()))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reopen(_: BorrowedFd<'_>, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// 256 bytes: room for nearly every path; a longer one is read again.
#[cfg(target_os = "linux")]
const NAME_BYTES: usize = 256;

/// Does `work` with the directory of this process's handles and the name that `handle` has there. The directory is
/// opened once, which saves half of the cost; a process that was forked since looks at its own.
#[cfg(target_os = "linux")]
fn by_number<T>(
    handle: BorrowedFd<'_>,
    work: impl FnOnce(BorrowedFd<'_>, &std::ffi::CStr) -> Result<T, Errno>,
) -> Result<T, Errno> {
    use std::os::fd::AsFd;
    use std::sync::OnceLock;

    use rustix::fs::{CWD, Mode, openat};
    use rustix::process::{Pid, getpid};

    static HANDLES: OnceLock<(Pid, OwnedFd)> = OnceLock::new();
    let open = || openat(CWD, "/proc/self/fd", super::root::DIRECTORY_HANDLE, Mode::empty());
    let number = rustix::path::DecInt::from_fd(handle);
    let process = getpid();
    match HANDLES.get() {
        Some((owner, directory)) if *owner == process => work(directory.as_fd(), number.as_c_str()),
        Some(_) => work(open()?.as_fd(), number.as_c_str()),
        None => {
            let directory = open()?;
            work(HANDLES.get_or_init(|| (process, directory)).1.as_fd(), number.as_c_str())
        }
    }
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
