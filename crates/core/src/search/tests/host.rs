//! A tree over one host directory, for testing the engine without mounts.

use std::ops::ControlFlow;
use std::os::fd::AsRawFd as _;

use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, open, openat2};

use crate::backend::FileKind;
use crate::backend::local::walk_handles::{Handle, ListingBuffer, OpenedFile, metadata};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::search::{EntryKind, Followed, Metadata, Obstacle, Opened, Tree};

/// The directory is seen at `/w`.
pub(super) struct HostTree {
    pub(super) root: tempfile::TempDir,
}

impl HostTree {
    /// Files by path; a name that ends with `/` is a directory, content that begins with `->` a link.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let tree = Self { root };
        for (path, content) in files {
            tree.add(path, content);
        }
        tree
    }

    pub(super) fn add(&self, path: &str, content: &str) {
        let full = self.root.path().join(path);
        if path.ends_with('/') {
            std::fs::create_dir_all(full).unwrap();
            return;
        }
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        match content.strip_prefix("->") {
            Some(target) => std::os::unix::fs::symlink(target, full).unwrap(),
            None => std::fs::write(full, content).unwrap(),
        }
    }

    /// Sets how many seconds after 1970 a file was changed.
    pub(super) fn touch(&self, path: &str, seconds: u64) {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::open(self.root.path().join(path)).unwrap().set_modified(time).unwrap();
    }

    fn beneath(&self, path: &str) -> Result<(std::os::fd::OwnedFd, VirtualPath)> {
        let base = open(self.root.path(), OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let relative = if path.is_empty() { "." } else { path };
        let fd = openat2(
            base,
            relative,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        )
        .map_err(|errno| match errno {
            rustix::io::Errno::XDEV => Error::new(ErrorKind::PathNotInSandbox, "outside"),
            _ => Error::not_found(path),
        })?;
        let host = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap();
        let below = host.strip_prefix(self.root.path().canonicalize().unwrap()).unwrap().to_str().unwrap();
        let resolved = VirtualPath::parse(below, &VirtualPath::absolute("/w").unwrap())?;
        Ok((fd, resolved))
    }

    fn handle(&self, relative: &str) -> Result<Handle> {
        let path = self.root.path().join(relative);
        let fd =
            open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map_err(|_| Error::not_found(relative))?;
        Handle::new(fd).map_err(|_| Error::not_found(relative))
    }
}

impl Tree for HostTree {
    type Directory = Handle;
    type File = OpenedFile;
    type Buffer = ListingBuffer;

    fn open(&self, path: &VirtualPath) -> Result<Opened<Handle>> {
        let Some(relative) = path.relative_to(&VirtualPath::absolute("/w").unwrap()) else {
            return Err(Error::new(ErrorKind::PathNotInSandbox, "outside"));
        };
        let (fd, resolved) = self.beneath(relative)?;
        let below = |path: &VirtualPath| path.as_str().trim_start_matches("/w").trim_start_matches('/').to_owned();
        match metadata(&fstat(&fd).unwrap()).kind {
            FileKind::Directory => Ok(Opened { directory: self.handle(&below(&resolved))?, resolved, file: None }),
            FileKind::File => {
                let directory = self.handle(&below(&resolved.parent().unwrap()))?;
                Ok(Opened { directory, file: resolved.file_name().map(|name| name.as_bytes().to_vec()), resolved })
            }
            FileKind::Symlink | FileKind::Other => Err(Error::new(ErrorKind::NotAFile, "no file")),
        }
    }

    fn ignore_root(&self, _resolved: &VirtualPath) -> VirtualPath {
        VirtualPath::absolute("/w").unwrap()
    }

    fn entries(
        &self,
        directory: &Handle,
        buffer: &mut ListingBuffer,
        visit: &mut impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        directory.list(buffer, visit)
    }

    fn open_directory(&self, parent: &Handle, name: &[u8]) -> Result<Handle, Obstacle> {
        parent.open_directory(name)
    }

    fn open_file(&self, parent: &Handle, name: &[u8]) -> Result<(OpenedFile, Metadata), Obstacle> {
        parent.open_file(name)
    }

    fn metadata(&self, parent: &Handle, name: &[u8]) -> Result<Metadata, Obstacle> {
        parent.metadata(name)
    }

    fn follow(&self, _parent: &Handle, _name: &[u8], path: &[u8]) -> Result<Followed, Obstacle> {
        let path = std::str::from_utf8(path).map_err(|_| Obstacle::Unusable)?;
        let relative = path.strip_prefix("/w/").ok_or(Obstacle::Unusable)?;
        let (fd, resolved) = self.beneath(relative).map_err(|_| Obstacle::Unusable)?;
        Ok(Followed { resolved, metadata: metadata(&fstat(&fd).unwrap()) })
    }
}
