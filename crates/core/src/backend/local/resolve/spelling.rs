//! File systems that take one name for another: `A` for `a`, `é` for `e` and an accent, `LONGNA~1` for a long name.
//!
//! Mount points, rules and allow-lists speak of names letter by letter, and so does this library everywhere (R-FS-9): an
//! entry that the system finds under a name which is not spelled like its own is not found, and nothing is created
//! beside it. On such a file system names are therefore followed one at a time, by the walk, and each that exists is
//! compared with what its directory holds.

use std::borrow::Cow;

use super::same_file;
use crate::backend::local::system::{AtFlags, BorrowedFd, Dir, Errno, Mode, OFlags, may_fold_names, openat, statat};

/// What a look-up answers when an entry is there under another spelling.
pub(super) const OTHER_SPELLING: Errno = Errno::ALREADY;

/// How a file system compares names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Letter by letter.
    Distinct,
    /// It may take one for another.
    Folded,
}

impl Names {
    /// Found out for the directory that a mount begins with.
    pub(super) fn of(directory: BorrowedFd<'_>) -> Self {
        if may_fold_names(directory) { Self::Folded } else { Self::Distinct }
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
