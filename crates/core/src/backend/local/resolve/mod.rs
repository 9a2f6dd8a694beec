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

mod beneath;
mod names;
mod root;
mod steps;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use self::beneath::{Links, open_beneath};
use self::steps::{End, Last, Walked, walk};
use super::errors::{Explain, busy, explain, is_directory, not_a_directory, not_a_file, not_text_name};
use super::facts::{identity, type_of};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::{Located, MountId, MountTable};

pub(crate) use self::beneath::Strategy;
pub(crate) use self::root::Root;

/// Content is opened without waiting for anybody and without becoming anybody's terminal.
const CONTENT: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
#[cfg(target_os = "linux")]
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlags = CONTENT;

/// 8 links one after another are taken the quick way; a longer chain is rare.
const MAX_QUICK_LINKS: usize = 8;
/// 256 bytes: room for nearly every link's text; a longer one is read again.
const LINK_BYTES: usize = 256;
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
}

impl Resolver {
    /// `roots` are in the order of the table's mounts.
    pub(crate) fn new(table: Arc<MountTable>, roots: Vec<Root>, strategy: Strategy) -> Self {
        Self { table, roots, strategy }
    }

    /// The pure table.
    pub(crate) fn table(&self) -> &MountTable {
        &self.table
    }

    /// The host directories of the mounts.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.host.as_path())
    }

    /// The place of `asked` in the table, if it may be read (or written).
    pub(crate) fn locate(&self, asked: &VirtualPath, right: Right) -> Result<Located> {
        match right {
            Right::Read => self.table.require_read(asked),
            Right::Write => self.table.require_write(asked),
        }
    }

    /// Opens a regular file for reading. Suffixes are judged on both paths; the size is the caller's to judge.
    pub(crate) fn open_file(&self, asked: &VirtualPath) -> Result<OpenFile> {
        let located = self.locate(asked, Right::Read)?;
        self.table.check_suffix(&located.path)?;
        let root = self.root(located.mount);
        let relative = self.relative(&located);
        if self.table.holds_mount(&located.path) {
            return Err(is_directory(asked));
        }
        if self.strategy == Strategy::Kernel && !root.may_hold_devices {
            match open_beneath(root.handle.as_fd(), relative, CONTENT, Links::Refuse) {
                Ok(handle) => {
                    let facts = fstat(&handle).explain(asked, &self.table)?;
                    self.require_regular(&facts, handle.as_fd(), root, asked)?;
                    return Ok(OpenFile { handle, facts, path: located.path });
                }
                Err(Errno::LOOP) => {
                    if let Some(file) = self.open_linked_file(&located)
                        && self.judge(&located, asked, &file.path, Right::Read).is_ok()
                        && self.table.check_suffix(&file.path).is_ok()
                    {
                        return Ok(file);
                    }
                }
                Err(errno) => return Err(explain(errno, asked, &self.table)),
            }
        }
        for _ in 0..MAX_SWAPS {
            let opened = self.open_file_slowly(&located, asked);
            // Behind a link that leads out of sight, what exists is told no more than what does not (R-FS-8).
            if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::FileNotFound) {
                self.reach(asked, Right::Read)?;
            }
            if let Some(file) = opened? {
                self.judge(&located, asked, &file.path, Right::Read)?;
                self.table.check_suffix(&file.path).map_err(|error| error.with_path(asked.as_str()))?;
                return Ok(file);
            }
        }
        Err(busy(asked))
    }

    /// The quick way through links in the last place: each is read from its open directory, and what it names is opened
    /// as a path without any link, so that its name is known. `None` leaves every other case, and every error, to the
    /// slow way, which asks the system for the name of what it opened.
    fn open_linked_file(&self, located: &Located) -> Option<OpenFile> {
        let root = self.root(located.mount);
        let mut relative = self.relative(located).to_owned();
        for _ in 0..MAX_QUICK_LINKS {
            let (parent, name) = relative.rsplit_once('/').unwrap_or(("", &relative));
            let directory =
                open_beneath(root.handle.as_fd(), parent, HANDLE | OFlags::DIRECTORY, Links::Refuse).ok()?;
            let target = readlinkat(&directory, name, Vec::with_capacity(LINK_BYTES)).ok()?;
            relative = relinked(parent, target.to_str().ok()?)?;
            match open_beneath(root.handle.as_fd(), &relative, CONTENT, Links::Refuse) {
                Ok(handle) => {
                    let facts = fstat(&handle).ok()?;
                    let path = VirtualPath::parse(&relative, &self.table.mount(located.mount).mount_point).ok()?;
                    self.require_regular(&facts, handle.as_fd(), root, &path).ok()?;
                    return Some(OpenFile { handle, facts, path });
                }
                Err(Errno::LOOP) => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Looks first, opens then, and compares; `None` when somebody swapped the file in between.
    fn open_file_slowly(&self, located: &Located, asked: &VirtualPath) -> Result<Option<OpenFile>> {
        let root = self.root(located.mount);
        match self.strategy {
            Strategy::Kernel => {
                let seen = open_beneath(root.handle.as_fd(), self.relative(located), HANDLE, Links::Follow)
                    .explain(asked, &self.table)?;
                let facts = fstat(&seen).explain(asked, &self.table)?;
                self.require_regular(&facts, seen.as_fd(), root, asked)?;
                let Some(path) = self.name_of(located.mount, seen.as_fd(), asked)? else { return Ok(None) };
                let handle = reopen(seen.as_fd()).explain(asked, &self.table)?;
                let facts = fstat(&handle).explain(asked, &self.table)?;
                Ok(Some(OpenFile { handle, facts, path }))
            }
            Strategy::Walk => {
                let walked = self.walk(located, asked, Last::Follow)?;
                let (name, seen) = match &walked.end {
                    End::Directory => return Err(is_directory(asked)),
                    End::Missing { .. } => return Err(explain(Errno::NOENT, asked, &self.table)),
                    End::Entry { name, facts } => (name, facts),
                };
                let directory = walked.directory(root.handle.as_fd());
                if type_of(seen) != FileType::RegularFile {
                    return Err(not_a_file(asked));
                }
                let handle = match openat(directory, name, CONTENT | OFlags::NOFOLLOW, Mode::empty()) {
                    Ok(handle) => handle,
                    Err(Errno::LOOP | Errno::NOENT | Errno::MLINK) => return Ok(None),
                    Err(errno) => return Err(explain(errno, asked, &self.table)),
                };
                let facts = fstat(&handle).explain(asked, &self.table)?;
                if !same_file(&facts, seen) {
                    return Ok(None);
                }
                self.require_regular(&facts, handle.as_fd(), root, asked)?;
                let walked_path = self.path_of(located.mount, walked.names().chain([name.as_str()]), asked)?;
                Ok(self.confirmed(located.mount, handle.as_fd(), walked_path, asked)?.map(|path| OpenFile {
                    handle,
                    facts,
                    path,
                }))
            }
        }
    }

    /// Opens a directory, links followed, and judges where it lies.
    pub(crate) fn open_directory(&self, asked: &VirtualPath) -> Result<Directory> {
        let located = self.locate(asked, Right::Read)?;
        self.open_located(&located, asked, Some(Right::Read))
    }

    /// Opens a directory to work on names in it, which the caller judges: only that it lies in the mount of its path is
    /// checked. `asked` is what errors speak of.
    pub(crate) fn open_for_names(&self, path: &VirtualPath, asked: &VirtualPath) -> Result<Directory> {
        let located = self.table.locate(path).ok_or_else(|| self.table.outside(asked))?;
        self.open_located(&located, asked, None)
    }

    /// `right` is judged on the resolved path; `None` where the caller judges a name in it.
    fn open_located(&self, located: &Located, asked: &VirtualPath, right: Option<Right>) -> Result<Directory> {
        let mount = located.mount;
        let root = self.root(mount);
        for _ in 0..MAX_SWAPS {
            let opened = match self.strategy {
                Strategy::Kernel => {
                    let relative = self.relative(located);
                    match open_beneath(root.handle.as_fd(), relative, DIRECTORY, Links::Refuse) {
                        Ok(handle) => Some((handle, located.path.clone())),
                        Err(Errno::LOOP) => {
                            let handle = open_beneath(root.handle.as_fd(), relative, DIRECTORY, Links::Follow)
                                .map_err(|errno| self.directory_error(errno, asked))?;
                            self.name_of(mount, handle.as_fd(), asked)?.map(|path| (handle, path))
                        }
                        Err(errno) => return Err(self.directory_error(errno, asked)),
                    }
                }
                Strategy::Walk => {
                    let walked = self.walk(located, asked, Last::Follow)?;
                    match &walked.end {
                        End::Directory => {}
                        End::Entry { .. } => return Err(not_a_directory(asked)),
                        End::Missing { .. } => return Err(explain(Errno::NOENT, asked, &self.table)),
                    }
                    let path = self.path_of(mount, walked.names(), asked)?;
                    let handle = openat(walked.directory(root.handle.as_fd()), ".", DIRECTORY, Mode::empty())
                        .explain(asked, &self.table)?;
                    self.confirmed(mount, handle.as_fd(), path, asked)?.map(|path| (handle, path))
                }
            };
            if let Some((handle, path)) = opened {
                if path != located.path {
                    self.judge_mount(located, asked, &path)?;
                    if let Some(right) = right {
                        self.judge(located, asked, &path, right)?;
                    }
                }
                self.refuse_system(&handle, root, asked)?;
                return Ok(Directory { handle, mount, path });
            }
        }
        Err(busy(asked))
    }

    /// Opens the directory `name` of `parent` for reading. Never follows a link; refused where the name belongs to
    /// another mount or may not be read.
    pub(crate) fn open_child_directory(&self, parent: &Directory, name: &str) -> Result<Directory> {
        let path = parent.path.join(name)?;
        self.require_child(parent, &path)?;
        let handle = openat(&parent.handle, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|errno| self.directory_error(errno, &path))?;
        self.refuse_system(&handle, self.root(parent.mount), &path)?;
        Ok(Directory { handle, mount: parent.mount, path })
    }

    /// Opens the regular file `name` of `directory` for reading. Never follows a link, never waits. Judged like
    /// [`Resolver::open_file`].
    pub(crate) fn open_child_file(&self, directory: &Directory, name: &str) -> Result<OpenFile> {
        let path = directory.path.join(name)?;
        self.require_child(directory, &path)?;
        self.table.check_suffix(&path)?;
        let root = self.root(directory.mount);
        if root.may_hold_devices {
            let seen = statat(&directory.handle, name, AtFlags::SYMLINK_NOFOLLOW).explain(&path, &self.table)?;
            if type_of(&seen) != FileType::RegularFile {
                return Err(not_a_file(&path));
            }
        }
        let handle = openat(&directory.handle, name, CONTENT | OFlags::NOFOLLOW, Mode::empty()).map_err(|errno| {
            if errno == Errno::LOOP { not_a_file(&path) } else { explain(errno, &path, &self.table) }
        })?;
        let facts = fstat(&handle).explain(&path, &self.table)?;
        self.require_regular(&facts, handle.as_fd(), root, &path)?;
        Ok(OpenFile { handle, facts, path })
    }

    fn require_child(&self, parent: &Directory, path: &VirtualPath) -> Result<()> {
        if self.is_shadowed(parent, path) || !self.table.can_read(path) {
            return Err(self.table.outside(path));
        }
        Ok(())
    }

    /// Whether what the host holds under `child`, a path directly below `parent`, is hidden by a nested mount.
    pub(crate) fn is_shadowed(&self, parent: &Directory, child: &VirtualPath) -> bool {
        self.table.is_shadowed(parent.mount, child)
    }

    /// Names directly below `path` that are directories because a mount lies there or below, in order.
    pub(crate) fn virtual_children(&self, path: &VirtualPath) -> impl Iterator<Item = String> + use<> {
        self.table.virtual_children(path).into_iter()
    }

    /// Facts about what `asked` leads to, judged for reading.
    pub(crate) fn inspect(&self, asked: &VirtualPath) -> Result<Inspected> {
        match self.reach(asked, Right::Read)? {
            Reach::Found(inspected) => Ok(inspected),
            Reach::Missing(_) => Err(explain(Errno::NOENT, asked, &self.table)),
        }
    }

    /// Where `asked` leads, judged for `right`; part of it need not exist.
    pub(crate) fn reach(&self, asked: &VirtualPath, right: Right) -> Result<Reach> {
        let located = self.locate(asked, right)?;
        let root = self.root(located.mount);
        if self.strategy == Strategy::Kernel {
            let relative = self.relative(&located);
            match open_beneath(root.handle.as_fd(), relative, HANDLE, Links::Refuse) {
                Ok(handle) => {
                    let facts = fstat(&handle).explain(asked, &self.table)?;
                    return Ok(Reach::Found(Inspected { facts, path: located.path, target: Target::Inside }));
                }
                Err(Errno::LOOP | Errno::NOENT) => {}
                Err(Errno::NOTDIR) => return Ok(Reach::Missing(located.path)),
                Err(errno) => return Err(explain(errno, asked, &self.table)),
            }
        }
        let walked = match self.walk_raw(&located, Last::Follow) {
            Ok(walked) => walked,
            Err(Errno::XDEV) => return self.link_itself(&located, asked, Errno::XDEV, right),
            Err(Errno::NOTDIR) => return Ok(Reach::Missing(located.path)),
            Err(errno) => return Err(self.walk_error(errno, asked)),
        };
        let path = match &walked.end {
            End::Directory => self.path_of(located.mount, walked.names(), asked)?,
            End::Entry { name, .. } => self.path_of(located.mount, walked.names().chain([name.as_str()]), asked)?,
            End::Missing { names } => {
                self.path_of(located.mount, walked.names().chain(names.iter().map(String::as_str)), asked)?
            }
        };
        if path != located.path && self.judge(&located, asked, &path, right).is_err() {
            return self.link_itself(&located, asked, Errno::XDEV, right);
        }
        match &walked.end {
            End::Directory => {
                let facts = fstat(walked.directory(root.handle.as_fd())).explain(asked, &self.table)?;
                Ok(Reach::Found(Inspected { facts, path, target: Target::Inside }))
            }
            End::Entry { facts, .. } => Ok(Reach::Found(Inspected { facts: **facts, path, target: Target::Inside })),
            End::Missing { .. } if path == located.path => Ok(Reach::Missing(path)),
            End::Missing { .. } => match self.link_itself(&located, asked, Errno::NOENT, right) {
                Ok(found) => Ok(found),
                Err(_) => Ok(Reach::Missing(path)),
            },
        }
    }

    /// The link at the end of `asked`, when it is one and lies inside; the error for `errno` else.
    fn link_itself(&self, located: &Located, asked: &VirtualPath, errno: Errno, right: Right) -> Result<Reach> {
        let refused = || explain(errno, asked, &self.table);
        let walked = self.walk_raw(located, Last::Keep).map_err(|_| refused())?;
        let End::Entry { name, facts } = &walked.end else { return Err(refused()) };
        if type_of(facts) != FileType::Symlink {
            return Err(refused());
        }
        let path = self.path_of(located.mount, walked.names().chain([name.as_str()]), asked)?;
        self.judge(located, asked, &path, right)?;
        let target = if errno == Errno::NOENT { Target::Missing } else { Target::Outside };
        Ok(Reach::Found(Inspected { facts: **facts, path, target }))
    }

    /// The place of the last name of `asked`, which is not followed. The parent must exist.
    pub(crate) fn place(&self, asked: &VirtualPath) -> Result<Place> {
        let located = self.locate(asked, Right::Write)?;
        let (parent, name) = self.split(&located, asked)?;
        let directory = self.open_located(&parent, asked, None)?;
        self.placed(directory, name, &located, asked)
    }

    /// Where a link in the place of `asked` leads: the place that a write goes to. The parent must exist.
    pub(crate) fn place_of_target(&self, asked: &VirtualPath) -> Result<Place> {
        let located = self.locate(asked, Right::Write)?;
        let walked = self.walk(&located, asked, Last::Follow)?;
        let name = match &walked.end {
            End::Directory => return Err(is_directory(asked)),
            End::Entry { name, .. } => name.clone(),
            End::Missing { names } => match names.as_slice() {
                [name] => name.clone(),
                _ => return Err(explain(Errno::NOENT, asked, &self.table)),
            },
        };
        let path = self.path_of(located.mount, walked.names(), asked)?;
        let root = self.root(located.mount);
        let handle =
            openat(walked.directory(root.handle.as_fd()), ".", DIRECTORY, Mode::empty()).explain(asked, &self.table)?;
        let path = self.confirmed(located.mount, handle.as_fd(), path, asked)?.ok_or_else(|| busy(asked))?;
        self.placed(Directory { handle, mount: located.mount, path }, name, &located, asked)
    }

    fn placed(&self, directory: Directory, name: String, located: &Located, asked: &VirtualPath) -> Result<Place> {
        let path = directory.path.join(&name)?;
        self.judge(located, asked, &path, Right::Write)?;
        Ok(Place { directory, name, path })
    }

    /// The parent and the last name of a located path; a mount point has none.
    fn split(&self, located: &Located, asked: &VirtualPath) -> Result<(Located, String)> {
        match (located.path.parent(), located.path.file_name()) {
            (Some(parent), Some(name)) if !self.table.is_mount_point(&located.path) => {
                Ok((Located { mount: located.mount, path: parent }, name.to_owned()))
            }
            _ => Err(is_directory(asked)),
        }
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

    fn root(&self, mount: MountId) -> &Root {
        &self.roots[mount.index()]
    }

    fn relative<'a>(&self, located: &'a Located) -> &'a str {
        located.path.relative_to(&self.table.mount(located.mount).mount_point).unwrap_or("")
    }

    fn walk_raw(&self, located: &Located, last: Last) -> std::result::Result<Walked, Errno> {
        walk(self.root(located.mount).handle.as_fd(), self.relative(located), last)
    }

    fn walk(&self, located: &Located, asked: &VirtualPath, last: Last) -> Result<Walked> {
        self.walk_raw(located, last).map_err(|errno| self.walk_error(errno, asked))
    }

    fn walk_error(&self, errno: Errno, asked: &VirtualPath) -> Error {
        if errno == Errno::ILSEQ { not_text_name(asked) } else { explain(errno, asked, &self.table) }
    }

    fn directory_error(&self, errno: Errno, asked: &VirtualPath) -> Error {
        match errno {
            Errno::NOTDIR | Errno::LOOP | Errno::MLINK => not_a_directory(asked),
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

    /// The virtual path of an open handle as the kernel names it now; `None` when its name is being changed.
    fn name_of(&self, mount: MountId, handle: BorrowedFd<'_>, asked: &VirtualPath) -> Result<Option<VirtualPath>> {
        let root = self.root(mount);
        let host = names::host_path(handle).explain(asked, &self.table)?;
        if names::may_be_deleted(&host) && !self.is_really_at(root, &host, handle) {
            return Ok(None);
        }
        let relative = match names::below(&host, &root.host) {
            Some(relative) => relative.to_owned(),
            // The mounted directory itself may have been renamed since it was opened.
            None => {
                let now = names::host_path(root.handle.as_fd()).explain(asked, &self.table)?;
                match names::below(&host, &now) {
                    Some(relative) => relative.to_owned(),
                    None => return Ok(None),
                }
            }
        };
        let text = relative.to_str().ok_or_else(|| not_text_name(asked))?;
        self.path_of(mount, text.split('/'), asked).map(Some)
    }

    fn is_really_at(&self, root: &Root, host: &Path, handle: BorrowedFd<'_>) -> bool {
        let Some(text) = names::below(host, &root.host).and_then(Path::to_str) else { return false };
        open_beneath(root.handle.as_fd(), text, HANDLE, Links::Refuse)
            .and_then(|again| Ok(same_file(&fstat(&again)?, &fstat(handle)?)))
            .unwrap_or(false)
    }

    /// The walk's last look: what was opened must still lie beneath the root by the kernel's own account, where the
    /// system can be asked. `None` when it moved.
    fn confirmed(
        &self,
        mount: MountId,
        handle: BorrowedFd<'_>,
        walked: VirtualPath,
        asked: &VirtualPath,
    ) -> Result<Option<VirtualPath>> {
        let root = self.root(mount);
        let Ok(host) = names::host_path(handle) else { return Ok(Some(walked)) };
        let relative = walked.relative_to(&self.table.mount(mount).mount_point).unwrap_or("");
        if names::below(&host, &root.host).is_some_and(|below| below.as_os_str().as_bytes() == relative.as_bytes()) {
            return Ok(Some(walked));
        }
        self.name_of(mount, handle, asked)
    }

    fn require_regular(&self, facts: &Stat, handle: BorrowedFd<'_>, root: &Root, asked: &VirtualPath) -> Result<()> {
        match type_of(facts) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(is_directory(asked)),
            _ => return Err(not_a_file(asked)),
        }
        // The root's own file system was judged when it was opened.
        if identity(facts).0 != root.device && is_system(handle).explain(asked, &self.table)? {
            return Err(not_a_file(asked));
        }
        Ok(())
    }

    fn refuse_system(&self, handle: &OwnedFd, root: &Root, asked: &VirtualPath) -> Result<()> {
        let device = identity(&fstat(handle).explain(asked, &self.table)?).0;
        if device != root.device && is_system(handle.as_fd()).explain(asked, &self.table)? {
            return Err(not_a_directory(asked));
        }
        Ok(())
    }
}

/// Whether two looks saw the same inode.
pub(crate) fn same_file(one: &Stat, other: &Stat) -> bool {
    identity(one) == identity(other)
}

/// What a link with the text `target` names when it lies in `parent`, a path without links. `None` where words are not
/// enough: a `..` behind a name, which may be a link itself, or above the root, an absolute target, or one that must be a
/// directory.
fn relinked(parent: &str, target: &str) -> Option<String> {
    if target.starts_with('/') || target.ends_with('/') || target.ends_with("/.") {
        return None;
    }
    let mut names: Vec<&str> = parent.split('/').filter(|name| !name.is_empty()).collect();
    let mut named = false;
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." if named => return None,
            ".." => {
                names.pop()?;
            }
            name => {
                named = true;
                names.push(name);
            }
        }
    }
    named.then(|| names.join("/"))
}

/// Opens for reading what a handle without rights already names.
#[cfg(target_os = "linux")]
fn reopen(seen: BorrowedFd<'_>) -> std::result::Result<OwnedFd, Errno> {
    use std::os::fd::AsRawFd;

    rustix::fs::open(format!("/proc/self/fd/{}", seen.as_raw_fd()), CONTENT, Mode::empty())
}

#[cfg(not(target_os = "linux"))]
fn reopen(_: BorrowedFd<'_>) -> std::result::Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Whether a handle lies on procfs, sysfs, debugfs or tracefs, whose "files" are doors into the kernel.
#[cfg(target_os = "linux")]
pub(crate) fn is_system(handle: BorrowedFd<'_>) -> std::result::Result<bool, Errno> {
    /// From `linux/magic.h`: proc, sysfs, debugfs, tracefs, securityfs, bpf, cgroup, cgroup2.
    const SYSTEM: [u32; 8] =
        [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xcafe_4a11, 0x0027_e0eb, 0x6367_7270];
    let kind = rustix::fs::fstatfs(handle)?.f_type as u32;
    Ok(SYSTEM.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_system(_: BorrowedFd<'_>) -> std::result::Result<bool, Errno> {
    Ok(false)
}
