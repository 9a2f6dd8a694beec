//! The calls as Unix has them.

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use std::ffi::OsString;
use std::fs::File;
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, CWD, FlockOperation, Gid, Timespec, Timestamps, UTIME_NOW, Uid, accessat, fchmod, fchown, futimens,
};
pub(crate) use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, renameat, statat, unlinkat,
};
pub(crate) use rustix::io::Errno;
pub(crate) use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The host path that the kernel gives for a handle. `NOSYS` where it cannot be asked.
#[cfg(target_os = "linux")]
pub(crate) fn host_path(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let bytes = by_number(handle, |directory, number| readlinkat(directory, number, Vec::with_capacity(NAME_BYTES)))?;
    Ok(PathBuf::from(OsString::from_vec(bytes.into_bytes())))
}

/// The host path that the kernel gives for a handle. `NOSYS` where it cannot be asked.
#[cfg(target_vendor = "apple")]
pub(crate) fn host_path(handle: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let bytes = rustix::fs::getpath(handle)?.into_bytes();
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// The host path that the kernel gives for a handle. `NOSYS` where it cannot be asked.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn host_path(_: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    Err(Errno::NOSYS)
}

/// Opens with `flags` what a handle without rights already names.
#[cfg(target_os = "linux")]
pub(crate) fn reopen(seen: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    by_number(seen, |directory, number| openat(directory, number, flags, Mode::empty()))
}

/// Opens with `flags` what a handle without rights already names.
#[cfg(not(target_os = "linux"))]
pub(crate) fn reopen(_: BorrowedFd<'_>, _: OFlags) -> Result<OwnedFd, Errno> {
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
    use std::sync::OnceLock;

    use rustix::process::{Pid, getpid};

    const HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    static HANDLES: OnceLock<(Pid, OwnedFd)> = OnceLock::new();
    let open = || openat(CWD, "/proc/self/fd", HANDLE, Mode::empty());
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

/// Whether a handle lies on a file system of the kernel, whose "files" are doors into it.
#[cfg(target_os = "linux")]
pub(crate) fn is_system(handle: BorrowedFd<'_>) -> Result<bool, Errno> {
    rustix::fs::fstatfs(handle).map(|facts| super::is_system_kind(facts.f_type as u32))
}

/// Whether a handle lies on a file system of the kernel, whose "files" are doors into it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_system(_: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(false)
}

/// Whether the file system of a directory changes its time with every name that comes or goes, by a clock of this machine.
#[cfg(target_os = "linux")]
pub(crate) fn tells_changes(directory: BorrowedFd<'_>) -> bool {
    /// From `linux/magic.h`: ext2 to ext4, XFS, Btrfs, tmpfs.
    const TELLING: [u32; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
    rustix::fs::fstatfs(directory).is_ok_and(|facts| TELLING.contains(&(facts.f_type as u32)))
}

/// Whether the file system of a directory changes its time with every name that comes or goes: nobody looked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tells_changes(_: BorrowedFd<'_>) -> bool {
    false
}

/// Whether the file system of a directory may take one name for another. On macOS most volumes do.
#[cfg(not(target_os = "linux"))]
pub(crate) fn may_fold_names(_: BorrowedFd<'_>) -> bool {
    true
}

/// Whether the file system of a directory may take one name for another: by its kind, and where single directories can
/// fold names, by their flags.
#[cfg(target_os = "linux")]
pub(crate) fn may_fold_names(directory: BorrowedFd<'_>) -> bool {
    /// From `linux/magic.h`: FAT, exFAT, NTFS (both), SMB (three), HFS+, HFS, 9p, FUSE, VirtualBox.
    const FOLDING: [u32; 12] = [
        0x4d44,
        0x2011_bab0,
        0x5346_544e,
        0x7366_746e,
        0xff53_4d42,
        0xfe53_4d42,
        0x517b,
        0x482b,
        0x4244,
        0x0102_1997,
        0x6573_5546,
        0x786f_4256,
    ];
    /// `FS_CASEFOLD_FL`.
    const CASEFOLD: u32 = 0x4000_0000;
    const READABLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let kind_folds = rustix::fs::fstatfs(directory).is_ok_and(|facts| FOLDING.contains(&(facts.f_type as u32)));
    let flag_folds = || {
        let handle = openat(directory, ".", READABLE, Mode::empty())?;
        rustix::fs::ioctl_getflags(handle).map(|flags| flags.bits() & CASEFOLD != 0)
    };
    kind_folds || flag_folds().unwrap_or(false)
}

/// The type of the inode.
#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
pub(crate) fn type_of(facts: &Stat) -> FileType {
    FileType::from_raw_mode(facts.st_mode as _)
}

/// What an error of the standard library says.
pub(crate) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

const EVERY_WRITE: Mode = Mode::WUSR.union(Mode::WGRP).union(Mode::WOTH);

/// Opens the directory that the author of a mount named: the one call that takes a path of the host.
pub(crate) fn open_root(host: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(CWD, host, flags, Mode::empty())
}

/// Whether device nodes may lie at or below `host`, which lies on `device`.
pub(crate) fn may_hold_devices(host: &Path, device: u64) -> bool {
    let devices = Path::new("/dev");
    let same_device =
        rustix::fs::stat(devices).is_ok_and(|facts| crate::backend::local::facts::identity(&facts).0 == device);
    same_device || devices.starts_with(host) || host.starts_with(devices)
}

/// A handle as the standard library has it, for a child process.
pub(crate) fn into_std(handle: OwnedFd) -> OwnedFd {
    handle
}

/// Facts about an open file.
pub(crate) fn stat_file(file: &File) -> Result<Stat, Errno> {
    fstat(file)
}

/// Without set-id and sticky bits.
fn permission_bits(facts: &Stat) -> Mode {
    Mode::from_raw_mode(facts.st_mode & 0o777)
}

/// Whether the file, of which `facts` tell, may not be written: by its bits, or by this process.
pub(crate) fn is_write_protected(directory: &OwnedFd, name: &str, facts: &Stat) -> bool {
    permission_bits(facts).intersection(EVERY_WRITE).is_empty()
        || accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS) == Err(Errno::ACCESS)
}

/// Gives a new file the permission bits and, where possible, the owner of another.
pub(crate) fn resemble(file: &File, like: &Stat) -> Result<(), Errno> {
    let now = fstat(file)?;
    if now.st_uid != like.st_uid || now.st_gid != like.st_gid {
        // Only a privileged process may: a file of somebody else then becomes ours, as with any editor.
        let (owner, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
        if fchown(file, Some(owner), Some(group)).is_err() {
            let _ = fchown(file, None, Some(group));
        }
    }
    fchmod(file, permission_bits(like))
}

/// Gives a file the time at which another was changed last.
pub(crate) fn keep_time_of(file: &File, like: &Stat) -> Result<(), Errno> {
    let kept = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        last_modification: Timespec { tv_sec: like.st_mtime, tv_nsec: like.st_mtime_nsec as _ },
    };
    futimens(file, &kept)
}

/// Brings the bytes of a file to the disk.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn sync_content(file: &File) -> Result<(), Errno> {
    rustix::fs::fdatasync(file)
}

/// Brings the bytes of a file to the disk.
#[cfg(target_vendor = "apple")]
pub(crate) fn sync_content(file: &File) -> Result<(), Errno> {
    rustix::fs::fsync(file)
}

/// Brings the names in a directory to the disk.
pub(crate) fn sync_directory(directory: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::fsync(directory)
}

/// Locks a directory against other processes, unless one has it: `WOULDBLOCK` then.
pub(crate) fn try_lock(directory: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive)
}

/// Unlocks it.
pub(crate) fn unlock(directory: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::flock(directory, FlockOperation::Unlock)
}

/// Says that a file is in use for as long as it is open.
pub(crate) fn lock_file(file: &File) -> Result<(), Errno> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Whether somebody said so of the file with that name.
pub(crate) fn is_locked(directory: BorrowedFd<'_>, name: &std::ffi::CStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty()).is_ok_and(|file| lock_file(&File::from(file)) == Err(Errno::AGAIN))
}

/// Renames to a name that nothing has; `EXIST` when something does.
pub(crate) fn rename_to_free(from: impl AsFd, old: &str, to: impl AsFd, new: &str) -> Result<(), Errno> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(&from, old, &to, new, RenameFlags::NOREPLACE) {
            // File systems without that flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            answer => return answer,
        }
    }
    match statat(&to, new, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => renameat(from, old, to, new),
        Ok(_) => Err(Errno::EXIST),
        Err(errno) => Err(errno),
    }
}
