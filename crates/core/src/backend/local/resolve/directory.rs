//! Opening directories: by a path, or by a name in another open directory.

#[cfg(unix)]
use super::beneath::open_at_hand;
use super::beneath::{Links, open_beneath};
use super::steps::{End, Last};
use super::{DIRECTORY, Directory, MAX_SWAPS, Resolver, Right, Strategy};
use crate::backend::local::errors::{Explain, busy, explain, not_a_directory};
#[cfg(target_os = "linux")]
use crate::backend::local::facts::identity;
#[cfg(target_os = "linux")]
use crate::backend::local::system::fstat;
use crate::backend::local::system::{AsFd, Errno, Mode, OFlags, openat};
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::sandbox::Located;

impl Resolver {
    /// Opens a directory, links followed, and judges where it lies.
    pub(crate) fn open_directory(&self, asked: &VirtualPath) -> Result<Directory> {
        let located = self.locate(asked, Right::Read)?;
        self.open_located(&located, asked, Some(Right::Read))
    }

    /// As [`Resolver::open_directory`], where that takes nothing that might be waited for; `None` elsewhere, also where it fails.
    /// For commands, of which there are none on Windows.
    #[cfg(unix)]
    pub(crate) fn open_directory_at_hand(&self, asked: &VirtualPath) -> Result<Option<Directory>> {
        let located = self.locate(asked, Right::Read)?;
        let root = self.root(located.mount);
        if self.strategy_in(root) != Strategy::Kernel {
            return Ok(None);
        }
        let Some(handle) = open_at_hand(root.handle.as_fd(), self.relative(&located), DIRECTORY) else {
            return Ok(None);
        };
        self.refuse_system(&handle, root, asked)?;
        Ok(Some(Directory { handle, mount: located.mount, path: located.path }))
    }

    /// Which directory it is, told by nothing that might be waited for; `None` where it is not told so. A mount's own is held open.
    #[cfg(target_os = "linux")]
    pub(crate) fn identify_directory_at_hand(&self, asked: &VirtualPath) -> Option<(u64, u64)> {
        let located = self.locate(asked, Right::Read).ok()?;
        if self.relative(&located).is_empty() {
            return fstat(self.root(located.mount).handle()).ok().map(|facts| identity(&facts));
        }
        let opened = self.open_directory_at_hand(asked).ok()??;
        fstat(&opened.handle).ok().map(|facts| identity(&facts))
    }

    /// Opens a directory to work on names in it, which the caller judges: only that it lies in the mount of its path is
    /// checked. `asked` is what errors speak of.
    pub(crate) fn open_for_names(&self, path: &VirtualPath, asked: &VirtualPath) -> Result<Directory> {
        let located = self.table.locate(path).ok_or_else(|| self.table.outside(asked))?;
        self.open_located(&located, asked, None)
    }

    /// `right` is judged on the resolved path; `None` where the caller judges a name in it.
    pub(super) fn open_located(
        &self,
        located: &Located,
        asked: &VirtualPath,
        right: Option<Right>,
    ) -> Result<Directory> {
        let mount = located.mount;
        let root = self.root(mount);
        for _ in 0..MAX_SWAPS {
            let opened = match self.strategy_in(root) {
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

    fn directory_error(&self, errno: Errno, asked: &VirtualPath) -> Error {
        match errno {
            Errno::NOTDIR | Errno::LOOP | Errno::MLINK => not_a_directory(asked),
            errno => explain(errno, asked, &self.table),
        }
    }
}
