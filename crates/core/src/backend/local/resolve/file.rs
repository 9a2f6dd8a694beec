//! Opening regular files for reading: by a path, or by a name in an open directory.

use super::beneath::{Links, open_at_hand, open_beneath};
use super::steps::{End, Last};
use super::{CONTENT, Directory, HANDLE, MAX_SWAPS, OpenFile, Resolver, Right, Strategy, same_file};
use crate::backend::local::errors::{Explain, busy, explain, is_directory, not_a_file};
use crate::backend::local::facts::type_of;
use crate::backend::local::system::{AsFd, AtFlags, Errno, FileType, Mode, OFlags, fstat, openat, reopen, statat};
use crate::error::{ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::Located;

impl Resolver {
    /// Opens a regular file for reading. Suffixes are judged on both paths; the size is the caller's to judge.
    pub(crate) fn open_file(&self, asked: &VirtualPath) -> Result<OpenFile> {
        let located = self.locate(asked, Right::Read)?;
        self.table.check_suffix(&located.path)?;
        let root = self.root(located.mount);
        let relative = self.relative(&located);
        if self.table.holds_mount(&located.path) {
            return Err(is_directory(asked));
        }
        if self.strategy_in(root) == Strategy::Kernel && !root.may_hold_devices {
            match open_beneath(root.handle.as_fd(), relative, CONTENT, Links::Refuse) {
                Ok(handle) => {
                    let facts = fstat(&handle).explain(asked, &self.table)?;
                    self.require_regular(&facts, handle.as_fd(), root, asked)?;
                    return Ok(OpenFile { handle, facts, path: located.path });
                }
                Err(Errno::LOOP) => {}
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

    /// As [`Resolver::open_file`], where that takes nothing that might be waited for; `None` elsewhere, also where it fails.
    pub(crate) fn open_file_at_hand(&self, asked: &VirtualPath) -> Result<Option<OpenFile>> {
        if self.table.is_virtual_directory(asked) {
            return Ok(None);
        }
        let located = self.locate(asked, Right::Read)?;
        self.table.check_suffix(&located.path)?;
        let root = self.root(located.mount);
        if self.strategy_in(root) != Strategy::Kernel || root.may_hold_devices || self.table.holds_mount(&located.path)
        {
            return Ok(None);
        }
        let Some(handle) = open_at_hand(root.handle.as_fd(), self.relative(&located), CONTENT) else { return Ok(None) };
        let facts = fstat(&handle).explain(asked, &self.table)?;
        self.require_regular(&facts, handle.as_fd(), root, asked)?;
        Ok(Some(OpenFile { handle, facts, path: located.path }))
    }

    /// Looks first, opens then, and compares; `None` when somebody swapped the file in between.
    fn open_file_slowly(&self, located: &Located, asked: &VirtualPath) -> Result<Option<OpenFile>> {
        let root = self.root(located.mount);
        match self.strategy_in(root) {
            Strategy::Kernel => {
                let seen = open_beneath(root.handle.as_fd(), self.relative(located), HANDLE, Links::Follow)
                    .explain(asked, &self.table)?;
                let facts = fstat(&seen).explain(asked, &self.table)?;
                self.require_regular(&facts, seen.as_fd(), root, asked)?;
                let Some(path) = self.name_of(located.mount, seen.as_fd(), asked)? else { return Ok(None) };
                let handle = reopen(seen.as_fd(), CONTENT).explain(asked, &self.table)?;
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
}
