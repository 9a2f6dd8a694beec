//! THE module that turns a virtual path into an open handle (invariant 3, R-FS-1…R-FS-4).
//!
//! A path is looked up in the mount table by its words; the rest is followed beneath the open handle of that mount,
//! by the kernel (`openat2`) or by our walk. Then the name of what was opened is judged again: it must belong to the
//! same mount and be allowed there (D32, R-FS-3). No host path is ever made from input and opened by name.
//!
//! For walkers (`glob`, `grep`, listings, removals) the way down is:
//!
//! ```text
//! let top = resolver.open_directory(&path)?;             // links followed, judged; top.handle can be read
//! for name in entries of top.handle:
//!     let child = top.path.join(name)?;
//!     if resolver.is_shadowed(&top, &child) { continue }  // belongs to a nested mount: see virtual_children
//!     resolver.open_child_directory(&top, name)?           // never follows a link; also judged
//!     resolver.open_child_file(&top, name)?                // regular files only, never follows, never blocks
//! for name in resolver.virtual_children(&top.path):      // mount points directly below, and ways to them
//!     resolver.open_directory(&top.path.join(name)?)?     // NotFound-like errors mean: a virtual directory only
//! ```
//!
//! Must never: follow a link by name after having checked it; block; open what is not a regular file or directory.

//!
//! ```text
//! file.rs, directory.rs, reach.rs, place.rs   what is asked of a resolver, a file each
//! beneath.rs   following names by the kernel; steps.rs: by us
//! opened.rs    judging what was opened; names.rs: host paths as the kernel tells them
//! root.rs      the open directory of one mount; spelling.rs: names where the file system folds them
//! ```

mod beneath;
mod directory;
mod file;
mod names;
mod opened;
mod place;
mod reach;
mod root;
mod spelling;
mod steps;
#[cfg(all(test, target_os = "linux", not(feature = "portable")))]
pub(crate) mod storm;

use std::path::Path;
use std::sync::Arc;

use self::spelling::{Names, OTHER_SPELLING, require_own};
use self::steps::{Last, Walked, walk};
use super::errors::{explain, no_windows_name, not_text_name, other_spelling, spelled_otherwise};
use super::facts::identity;
use super::windows_names;
#[cfg(unix)]
use crate::backend::local::system::fstat;
use crate::backend::local::system::{AsFd, Errno, OFlags, OwnedFd, Stat};
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::sandbox::{Located, MountId, MountMode, MountTable};

pub(crate) use self::beneath::Strategy;
pub(crate) use self::root::Root;

/// Content is opened without waiting for anybody and without becoming anybody's terminal.
const CONTENT: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
#[cfg(all(target_os = "linux", not(feature = "portable")))]
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
const HANDLE: OFlags = CONTENT;

/// 16 tries: each needs somebody to swap a name in the microseconds between two looks at it.
const MAX_SWAPS: usize = 16;

/// Which right a path needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    Read,
    Write,
}

/// An open directory of one mount.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Can be read (`getdents`) and used as the start of `*at` calls.
    pub(crate) handle: OwnedFd,
    /// The mount that holds it.
    pub(crate) mount: MountId,
    /// Its path with every link followed.
    pub(crate) path: VirtualPath,
}

/// An open regular file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Open for reading.
    pub(crate) handle: OwnedFd,
    /// Its facts, taken from the handle.
    pub(crate) facts: Stat,
    /// Its path with every link followed.
    pub(crate) path: VirtualPath,
}

/// Facts about what a path leads to.
#[derive(Debug)]
pub(crate) struct Inspected {
    /// Of the target; of the link itself when there is none.
    pub(crate) facts: Stat,
    /// The path with every link followed; the path of the link itself when there is no target.
    pub(crate) path: VirtualPath,
    /// What the links on the way lead to.
    pub(crate) target: Target,
}

/// What a path leads to in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Something inside.
    Inside,
    /// Nothing: the last name is a link to a name that does not exist.
    Missing,
    /// The last name is a link that leads out of its mount. Whether anything is there is not told.
    Outside,
}

/// A name in an open directory: where something is made, replaced, moved or removed.
#[derive(Debug)]
pub(crate) struct Place {
    /// The directory, links on the way followed.
    pub(crate) directory: Directory,
    /// One plain name.
    pub(crate) name: String,
    /// The directory's path and the name.
    pub(crate) path: VirtualPath,
}

/// Where a path leads when part of it may not exist.
#[derive(Debug)]
pub(crate) enum Reach {
    /// Something is there.
    Found(Inspected),
    /// Nothing is; the path with the links of its existing part followed.
    Missing(VirtualPath),
}

/// The mount table with the open handles of its mounts.
#[derive(Debug)]
pub(crate) struct Resolver {
    table: Arc<MountTable>,
    roots: Vec<Root>,
    strategy: Strategy,
    /// Whether names that Windows takes for something else are refused: where it is the system.
    refuses_windows_names: bool,
}

#[cfg(all(unix, feature = "docker"))]
fn number(root: &Root) -> Option<(u64, u64)> {
    fstat(root.handle()).ok().map(|facts| identity(&facts))
}

#[cfg(all(not(unix), feature = "docker"))]
fn number(_root: &Root) -> Option<(u64, u64)> {
    None
}

impl Resolver {
    /// `roots` are in the order of the table's mounts.
    pub(crate) fn new(table: Arc<MountTable>, roots: Vec<Root>, strategy: Strategy) -> Self {
        Self { table, roots, strategy, refuses_windows_names: cfg!(windows) }
    }

    /// The same resolver over file systems that fold names.
    #[cfg(test)]
    pub(crate) fn folding(self) -> Self {
        Self { roots: self.roots.into_iter().map(Root::folding).collect(), ..self }
    }

    /// The same resolver as it is on Windows.
    #[cfg(test)]
    pub(crate) fn refusing_windows_names(self) -> Self {
        Self { refuses_windows_names: true, ..self }
    }

    /// The pure table.
    pub(crate) fn table(&self) -> &MountTable {
        &self.table
    }

    /// The host directories of the mounts.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.host.as_path())
    }

    /// Devices and inodes of the host directories of all mounts, where the system has such.
    #[cfg(feature = "docker")]
    pub(crate) fn identities(&self) -> Vec<Option<(u64, u64)>> {
        self.roots.iter().map(number).collect()
    }

    /// Devices and inodes of the host directories below which something may be written.
    #[cfg(unix)]
    pub(crate) fn writable_identities(&self) -> impl Iterator<Item = (u64, u64)> {
        let is_writable = |mode| mode == MountMode::ReadWrite && !self.table.writable_roots().is_empty();
        let writable =
            self.table.mounts().iter().zip(self.roots.iter()).filter(move |(mount, _)| is_writable(mount.mode));
        writable.filter_map(|(_, root)| fstat(root.handle()).ok().map(|facts| identity(&facts)))
    }

    /// Whether a canonical directory of the host is a mount that may be written, or lies in one.
    pub(crate) fn holds_writable(&self, host: &Path) -> bool {
        let mounts = self.table.mounts().iter().zip(self.roots.iter());
        let inside = mounts.filter(|(_, root)| host.starts_with(&root.host));
        // A directory may be mounted in another one that is read-only: the innermost says.
        inside
            .max_by_key(|(_, root)| root.host.components().count())
            // `/` has no outside.
            .filter(|(_, root)| root.host.parent().is_some())
            .is_some_and(|(mount, _)| mount.mode == MountMode::ReadWrite && !self.table.writable_roots().is_empty())
    }

    /// The place of `asked` in the table, if it may be read (or written).
    pub(crate) fn locate(&self, asked: &VirtualPath, right: Right) -> Result<Located> {
        let located = match right {
            Right::Read => self.table.require_read(asked),
            Right::Write => self.table.require_write(asked),
        }?;
        if self.refuses_windows_names {
            let names = self.relative(&located).split('/').filter(|name| !name.is_empty());
            if let Some(name) = names.into_iter().find(|name| !windows_names::is_ordinary(name)) {
                return Err(no_windows_name(asked, name));
            }
        }
        Ok(located)
    }

    /// Whether what the host holds under `child`, a path directly below `parent`, is hidden by a nested mount.
    pub(crate) fn is_shadowed(&self, parent: &Directory, child: &VirtualPath) -> bool {
        self.table.is_shadowed(parent.mount, child)
    }

    /// Names directly below `path` that are directories because a mount lies there or below, in order.
    pub(crate) fn virtual_children(&self, path: &VirtualPath) -> impl Iterator<Item = String> + use<> {
        self.table.virtual_children(path).into_iter()
    }

    fn require_child(&self, parent: &Directory, path: &VirtualPath) -> Result<()> {
        if self.is_shadowed(parent, path) || !self.table.can_read(path) {
            return Err(self.table.outside(path));
        }
        Ok(())
    }

    /// Refuses a resolved path that belongs to another mount, or that may not be read (or written).
    fn judge(&self, located: &Located, asked: &VirtualPath, resolved: &VirtualPath, right: Right) -> Result<()> {
        self.judge_mount(located, asked, resolved)?;
        self.locate(resolved, right).map(drop).map_err(|error| error.with_path(asked.as_str()))
    }

    fn judge_mount(&self, located: &Located, asked: &VirtualPath, resolved: &VirtualPath) -> Result<()> {
        if self.table.find(resolved) == Some(located.mount) { Ok(()) } else { Err(self.table.outside(asked)) }
    }

    /// Whether device nodes may lie in a mount, so that nothing there is opened before its kind is known (R-FS-4).
    pub(crate) fn may_hold_devices(&self, mount: MountId) -> bool {
        self.root(mount).may_hold_devices
    }

    /// How names in a mount are followed: where the file system may fold them, one at a time.
    fn strategy_in(&self, root: &Root) -> Strategy {
        match root.names {
            Names::Distinct if !cfg!(any(windows, feature = "portable")) => self.strategy,
            Names::Distinct | Names::Folded => Strategy::Walk,
        }
    }

    /// `AlreadyExists` when the system takes `name` in `directory` for an entry that is spelled otherwise: nothing is
    /// made, replaced or removed under such a name.
    pub(crate) fn require_own_spelling(&self, directory: &Directory, name: &str, asked: &VirtualPath) -> Result<()> {
        match require_own(directory.handle.as_fd(), name, self.root(directory.mount).names) {
            Ok(()) => Ok(()),
            Err(OTHER_SPELLING) => Err(spelled_otherwise(asked)),
            Err(errno) => Err(explain(errno, asked, &self.table)),
        }
    }

    fn root(&self, mount: MountId) -> &Root {
        &self.roots[mount.index()]
    }

    fn relative<'a>(&self, located: &'a Located) -> &'a str {
        located.path.relative_to(&self.table.mount(located.mount).mount_point).unwrap_or("")
    }

    fn walk_raw(&self, located: &Located, last: Last) -> std::result::Result<Walked, Errno> {
        let root = self.root(located.mount);
        walk(root.handle.as_fd(), self.relative(located), last, root.names)
    }

    fn walk(&self, located: &Located, asked: &VirtualPath, last: Last) -> Result<Walked> {
        self.walk_raw(located, last).map_err(|errno| self.walk_error(errno, asked))
    }

    fn walk_error(&self, errno: Errno, asked: &VirtualPath) -> Error {
        match errno {
            Errno::ILSEQ => not_text_name(asked),
            OTHER_SPELLING => other_spelling(asked),
            errno => explain(errno, asked, &self.table),
        }
    }

    fn path_of<'a>(
        &self,
        mount: MountId,
        names: impl Iterator<Item = &'a str>,
        asked: &VirtualPath,
    ) -> Result<VirtualPath> {
        let point = &self.table.mount(mount).mount_point;
        let relative: Vec<&str> = names.collect();
        VirtualPath::parse(&relative.join("/"), point).map_err(|error| error.with_path(asked.as_str()))
    }
}

/// Whether two looks saw the same inode.
pub(crate) fn same_file(one: &Stat, other: &Stat) -> bool {
    identity(one) == identity(other)
}
