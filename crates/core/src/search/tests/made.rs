//! A tree that is made up while it is walked: as large as a test wants it, and with entries that cannot be used, whoever
//! runs the test.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::file_info::FileKind;
use crate::path::VirtualPath;
use crate::search::{EntryKind, Followed, Metadata, Obstacle, Opened, Tree};

/// Hands over the names in the directory at a path, that of the root being empty, until it is told to break off.
type Names = dyn Fn(&str, &mut dyn FnMut(&str) -> ControlFlow<()>) + Sync;

/// A name that begins with `d` is a directory, every other one a file of one line, `x`.
pub(super) struct MadeTree {
    names: Box<Names>,
    /// Files of which nothing is told and that cannot be opened, directories that cannot be opened, and those that can,
    /// but not listed: their names end with `-unlisted`.
    unusable: &'static [&'static str],
    obstacle: Obstacle,
    open: Arc<OpenDirectories>,
}

#[derive(Default)]
struct OpenDirectories {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Counted for as long as it lives.
pub(super) struct MadeDirectory {
    path: String,
    open: Arc<OpenDirectories>,
}

impl Drop for MadeDirectory {
    fn drop(&mut self) {
        self.open.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl MadeTree {
    pub(super) fn new(names: impl Fn(&str, &mut dyn FnMut(&str) -> ControlFlow<()>) + Sync + 'static) -> Self {
        Self { names: Box::new(names), unusable: &[], obstacle: Obstacle::Unusable, open: Arc::default() }
    }

    /// The names that cannot be used, and why.
    pub(super) fn without(self, unusable: &'static [&'static str], obstacle: Obstacle) -> Self {
        Self { unusable, obstacle, ..self }
    }

    /// The most directories that were open at a time.
    pub(super) fn most_open(&self) -> usize {
        self.open.most.load(Ordering::SeqCst)
    }

    fn directory(&self, path: String) -> MadeDirectory {
        let now = self.open.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.open.most.fetch_max(now, Ordering::SeqCst);
        MadeDirectory { path, open: Arc::clone(&self.open) }
    }

    fn check(&self, name: &[u8]) -> Result<(), Obstacle> {
        let is_unusable = self.unusable.iter().any(|unusable| unusable.as_bytes() == name);
        if is_unusable { Err(self.obstacle) } else { Ok(()) }
    }
}

fn kind_of(name: &[u8]) -> FileKind {
    if name.starts_with(b"d") { FileKind::Directory } else { FileKind::File }
}

fn facts(name: &[u8]) -> Metadata {
    Metadata { kind: kind_of(name), size: if kind_of(name) == FileKind::File { 2 } else { 0 }, modified_ns: Some(0) }
}

impl Tree for MadeTree {
    type Directory = MadeDirectory;
    type File = &'static [u8];
    type Buffer = ();

    fn open(&self, path: &VirtualPath) -> Result<Opened<MadeDirectory>> {
        if !path.is_root() {
            return Err(Error::not_found(path));
        }
        Ok(Opened { resolved: path.clone(), directory: self.directory(String::new()), file: None })
    }

    fn entries(
        &self,
        directory: &MadeDirectory,
        _buffer: &mut (),
        visit: &mut impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        let name = directory.path.rsplit('/').next().unwrap_or_default();
        self.check(name.as_bytes())?;
        (self.names)(&directory.path, &mut |name| {
            let is_directory = kind_of(name.as_bytes()) == FileKind::Directory;
            visit(name.as_bytes(), if is_directory { EntryKind::Directory } else { EntryKind::File })
        });
        Ok(())
    }

    fn open_directory(&self, parent: &MadeDirectory, name: &[u8]) -> Result<MadeDirectory, Obstacle> {
        let name = std::str::from_utf8(name).map_err(|_| Obstacle::Unusable)?;
        if !name.ends_with("-unlisted") {
            self.check(name.as_bytes())?;
        }
        let between = if parent.path.is_empty() { "" } else { "/" };
        Ok(self.directory(format!("{}{between}{name}", parent.path)))
    }

    fn open_file(&self, _parent: &MadeDirectory, name: &[u8]) -> Result<(Self::File, Metadata), Obstacle> {
        self.check(name)?;
        Ok((b"x\n", facts(name)))
    }

    fn metadata(&self, _parent: &MadeDirectory, name: &[u8]) -> Result<Metadata, Obstacle> {
        // Facts are told of a directory that nobody may open.
        if kind_of(name) == FileKind::File {
            self.check(name)?;
        }
        Ok(facts(name))
    }

    fn follow(&self, _parent: &MadeDirectory, _name: &[u8], _path: &[u8]) -> Result<Followed, Obstacle> {
        Err(Obstacle::Unusable)
    }
}
