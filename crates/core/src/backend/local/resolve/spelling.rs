//! File systems that take one name for another: `A` for `a`, `é` for `e` and an accent, `LONGNA~1` for a long name.
//!
//! Mount points, rules and allow-lists speak of names letter by letter, and so does this library everywhere (R-FS-9): an
//! entry that the system finds under a name which is not spelled like its own is not found, and nothing is created
//! beside it. On such a file system names are therefore followed one at a time, by the walk, and each that exists is
//! compared with what its directory holds.

use std::borrow::Cow;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::same_file;

/// What a look-up answers when an entry is there under another spelling.
pub(super) const OTHER_SPELLING: Errno = Errno::ALREADY;

/// How a file system compares names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Letter by letter.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere no file system is known to do so"))]
    Distinct,
    /// It may take one for another.
    Folded,
}

impl Names {
    /// Found out for the directory that a mount begins with. On macOS most volumes fold names.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_: BorrowedFd<'_>) -> Self {
        Self::Folded
    }

    /// Found out for the directory that a mount begins with, by the kind of its file system, and where single
    /// directories can fold names, by its flags.
    #[cfg(target_os = "linux")]
    pub(super) fn of(directory: BorrowedFd<'_>) -> Self {
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
        let kind_folds = rustix::fs::fstatfs(directory).is_ok_and(|facts| FOLDING.contains(&(facts.f_type as u32)));
        let flag_folds = || {
            let handle = openat(directory, ".", LISTING, Mode::empty())?;
            rustix::fs::ioctl_getflags(handle).map(|flags| flags.bits() & CASEFOLD != 0)
        };
        if kind_folds || flag_folds().unwrap_or(false) { Self::Folded } else { Self::Distinct }
    }
}

const LISTING: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// `OTHER_SPELLING` when the entry that the system finds under `name` in `directory` has another name there. Nothing at
/// all is no error: whoever looks next says so.
pub(super) fn require_own(directory: BorrowedFd<'_>, name: &str, names: Names) -> Result<(), Errno> {
    match names {
        Names::Distinct => Ok(()),
        Names::Folded if is_own(directory, name)? => Ok(()),
        Names::Folded => Err(OTHER_SPELLING),
    }
}

fn is_own(directory: BorrowedFd<'_>, name: &str) -> Result<bool, Errno> {
    let look = |name: &str| statat(directory, &*as_found(directory, name, Names::Folded), AtFlags::SYMLINK_NOFOLLOW);
    let found = match look(name) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(true),
        Err(errno) => return Err(errno),
    };
    // Where the same letters in the other case are another entry, or none, this directory folds nothing.
    let swapped = swapped_case(name);
    if swapped != name {
        match look(&swapped) {
            Ok(other) if same_file(&found, &other) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(errno),
        }
    }
    for entry in Dir::new(openat(directory, ".", LISTING, Mode::empty())?)? {
        if entry?.file_name().to_bytes() == name.as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn swapped_case(name: &str) -> String {
    let swap = |letter: char| match letter.is_ascii_lowercase() {
        true => letter.to_ascii_uppercase(),
        false => letter.to_ascii_lowercase(),
    };
    name.chars().map(swap).collect()
}

/// The name by which a system call finds `name`: itself.
#[cfg(not(all(test, target_os = "linux")))]
pub(super) fn as_found<'a>(_: BorrowedFd<'_>, name: &'a str, _: Names) -> Cow<'a, str> {
    Cow::Borrowed(name)
}

/// In tests on Linux, where hardly a machine has such a file system, a mount that is said to fold names does: a name
/// finds the entry that is equal without regard to case.
#[cfg(all(test, target_os = "linux"))]
pub(super) fn as_found<'a>(directory: BorrowedFd<'_>, name: &'a str, names: Names) -> Cow<'a, str> {
    if names == Names::Distinct {
        return Cow::Borrowed(name);
    }
    let entries = openat(directory, ".", LISTING, Mode::empty()).and_then(Dir::new).into_iter().flatten().flatten();
    let mut entries = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    Cow::Owned(entries.find(|entry| entry.eq_ignore_ascii_case(name)).unwrap_or_else(|| name.to_owned()))
}
