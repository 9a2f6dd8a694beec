//! The walk: names followed one at a time from a handle, links expanded by us (R-FS-2).
//!
//! Every directory on the way is opened with `O_NOFOLLOW` from the handle before it, so that a swapped link is met as
//! a link and judged, never followed by accident. `..` in a link goes back on the stack of handles; above the root it
//! leaves the mount. Also used where the kernel resolves, to find out where a link leads that is about to be written
//! through.

use super::MAX_SWAPS;
use super::root::DIRECTORY_HANDLE;
use super::spelling::{Names, as_found, require_own};
use crate::backend::local::facts::type_of;
use crate::backend::local::system::{
    AsFd, AtFlags, BorrowedFd, Errno, FileType, Mode, OFlags, OwnedFd, Stat, openat, readlinkat, statat,
};

/// 40 links: where Linux gives up too.
const MAX_LINKS: usize = 40;
/// 512 levels: each holds a handle during the walk, and a process has 1,024 by default.
const MAX_LEVELS: usize = 512;

/// Whether a link in the last place is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Follow,
    Keep,
}

/// Where a walk ended.
#[derive(Debug)]
pub(super) struct Walked {
    /// The handles of the directories below the root, with their names, outermost first.
    stack: Vec<(OwnedFd, String)>,
    /// What was found at the end.
    pub(super) end: End,
}

/// The end of a walk, in the directory that [`Walked::directory`] gives.
#[derive(Debug)]
pub(super) enum End {
    /// That directory itself.
    Directory,
    /// This name, which is no directory unless the walk kept the last name unopened.
    Entry { name: String, facts: Box<Stat> },
    /// Nothing: the names that do not exist, outermost first, at least one.
    Missing { names: Vec<String> },
}

impl Walked {
    /// The last directory that was reached; `root` when none below it was.
    pub(super) fn directory<'a>(&'a self, root: BorrowedFd<'a>) -> BorrowedFd<'a> {
        self.stack.last().map_or(root, |(handle, _)| handle.as_fd())
    }

    /// The names from the root to that directory.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.stack.iter().map(|(_, name)| name.as_str())
    }
}

/// Follows `relative` from `root`. `XDEV` when it leads out; `ILSEQ` when a link holds bytes that are not UTF-8;
/// `OTHER_SPELLING` when a name on the way is not spelled like the entry that it finds.
pub(super) fn walk(root: BorrowedFd<'_>, relative: &str, last: Last, names: Names) -> Result<Walked, Errno> {
    let mut stack: Vec<(OwnedFd, String)> = Vec::new();
    let mut pending: Vec<String> = names_of(relative).rev().collect();
    let (mut links, mut swaps) = (0, 0);
    // A link whose text ends with a slash names a directory, as it does for the kernel.
    let mut directory_wanted = false;
    while let Some(name) = pending.pop() {
        if name == ".." {
            stack.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = stack.last().map_or(root, |(handle, _)| handle.as_fd());
        // What was found is compared after it was found, so that no swap in between is believed.
        let found = as_found(here, &name, names);
        if pending.is_empty() && last == Last::Keep {
            let end = match statat(here, &*found, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(facts) => {
                    require_own(here, &name, names)?;
                    drop(found);
                    End::Entry { name, facts: Box::new(facts) }
                }
                Err(Errno::NOENT) => End::Missing { names: vec![name] },
                Err(errno) => return Err(errno),
            };
            return Ok(Walked { stack, end });
        }
        match openat(here, &*found, DIRECTORY_HANDLE | OFlags::NOFOLLOW | OFlags::NONBLOCK, Mode::empty()) {
            Ok(_) if stack.len() == MAX_LEVELS => return Err(Errno::NAMETOOLONG),
            Ok(handle) => {
                require_own(here, &name, names)?;
                drop(found);
                stack.push((handle, name));
            }
            Err(Errno::NOENT) => {
                let mut names = vec![name];
                names.extend(pending.into_iter().rev());
                if directory_wanted || names.iter().any(|name| name == "..") {
                    return Err(Errno::NOENT);
                }
                return Ok(Walked { stack, end: End::Missing { names } });
            }
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => match readlinkat(here, &*found, Vec::with_capacity(256))
            {
                Ok(target) => {
                    require_own(here, &name, names)?;
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP);
                    }
                    let target = target.into_string().map_err(|_| Errno::ILSEQ)?;
                    if target.starts_with('/') {
                        return Err(Errno::XDEV);
                    }
                    if pending.is_empty() {
                        directory_wanted |= target.ends_with('/') || target.ends_with("/.");
                    }
                    pending.extend(names_of(&target).rev());
                }
                Err(Errno::INVAL) if pending.is_empty() && !directory_wanted => {
                    let facts = Box::new(statat(here, &*found, AtFlags::SYMLINK_NOFOLLOW)?);
                    require_own(here, &name, names)?;
                    drop(found);
                    // What is no directory now, and no link a moment later, is neither: otherwise it was swapped.
                    if !matches!(type_of(&facts), FileType::Directory | FileType::Symlink) {
                        return Ok(Walked { stack, end: End::Entry { name, facts } });
                    }
                    swaps += 1;
                    if swaps > MAX_SWAPS {
                        return Err(Errno::AGAIN);
                    }
                    pending.push(name);
                }
                Err(Errno::INVAL) => return Err(Errno::NOTDIR),
                Err(errno) => return Err(errno),
            },
            Err(errno) => return Err(errno),
        }
    }
    Ok(Walked { stack, end: End::Directory })
}

/// The names of a path; blanks between slashes and `.` say nothing.
fn names_of(path: &str) -> impl DoubleEndedIterator<Item = String> + '_ {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned)
}
