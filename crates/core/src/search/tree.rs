//! [`Tree`]: what a backend gives the search engine to walk.
//!
//! Everything is reached from the handle of its parent directory and one name, so a backend of real directories is
//! immune to renames on the way down. The engine in this folder decides what matches, is ignored, and is shown; a tree
//! decides what exists: it leaves out entries that its mounts shadow or hide, and adds mount points that have no
//! directory of their own.

use std::io::Read;
use std::ops::ControlFlow;

use crate::error::{Error, ErrorKind, Result};
use crate::file_info::{FileInfo, FileKind};
use crate::path::VirtualPath;

/// A tree of directories. Methods block; each must be quick (one or a few system calls), so that a search can be
/// cancelled between them.
pub trait Tree: Sync {
    /// An open directory. Only a bounded number is alive at a time.
    type Directory: Send + Sync;
    /// An open regular file.
    type File: Read;
    /// Scratch space of one thread, reused for all directories that it lists.
    type Buffer: Default;

    /// Opens what `path` leads to, links that stay inside followed. Fails as [`crate::backend::FileSystem::stat`] does,
    /// with `FileNotFound` when nothing is there and `NotAFile` for what is neither directory nor regular file.
    fn open(&self, path: &VirtualPath) -> Result<Opened<Self::Directory>>;

    /// Calls `visit` with each name in a directory, in any order and without `.` and `..`, until it breaks.
    fn entries(
        &self,
        directory: &Self::Directory,
        buffer: &mut Self::Buffer,
        visit: &mut impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle>;

    /// Opens a directory by name. Never follows a link.
    fn open_directory(&self, parent: &Self::Directory, name: &[u8]) -> Result<Self::Directory, Obstacle>;

    /// Opens a regular file by name, with its facts. Never follows a link, never blocks, refuses all else.
    fn open_file(&self, parent: &Self::Directory, name: &[u8]) -> Result<(Self::File, Metadata), Obstacle>;

    /// Opens the regular file that [`Tree::open`] found at `asked`, with the errors of a read: a search that names a
    /// file says why it cannot look into it.
    fn open_named(&self, opened: &Opened<Self::Directory>, asked: &VirtualPath) -> Result<(Self::File, Metadata)> {
        let file = opened.file.as_deref().and_then(|name| self.open_file(&opened.directory, name).ok());
        file.ok_or_else(|| {
            Error::new(ErrorKind::Io, format!("'{asked}' cannot be opened for reading.")).with_path(asked.as_str())
        })
    }

    /// All of a file that is held in memory, so that it need not be read.
    fn held(_file: &Self::File) -> Option<&[u8]> {
        None
    }

    /// Facts about an entry itself.
    fn metadata(&self, parent: &Self::Directory, name: &[u8]) -> Result<Metadata, Obstacle>;

    /// Where the link `name` leads, when that is a file or directory inside. `path` is its whole path, as bytes.
    fn follow(&self, parent: &Self::Directory, name: &[u8], path: &[u8]) -> Result<Followed, Obstacle>;
}

/// What a search begins at.
pub struct Opened<D> {
    /// The path with every link followed.
    pub resolved: VirtualPath,
    /// The directory itself, or the one that holds the file.
    pub directory: D,
    /// The name of the file within `directory`; `None` when a directory was opened.
    pub file: Option<Vec<u8>>,
}

/// What a directory says an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link.
    Link,
    /// A FIFO, socket or device.
    Other,
    /// The directory does not say.
    Unknown,
}

/// Facts about one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// What it is; a link is `Symlink`.
    pub kind: FileKind,
    /// Bytes; 0 for what is not a regular file.
    pub size: u64,
    /// Nanoseconds since 1970 of the last change of content; `None` where unknown.
    pub modified_ns: Option<i64>,
}

impl Metadata {
    /// These facts about the entry that is shown as `path`.
    pub(super) fn named(self, path: String) -> FileInfo {
        FileInfo {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            path,
            kind: self.kind,
            size: self.size,
            modified_at: self.modified_ns.map(|nanoseconds| nanoseconds.div_euclid(1_000_000)),
        }
    }
}

/// The end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// The path with every link followed.
    pub resolved: VirtualPath,
    /// Facts about the target: `File` or `Directory`.
    pub metadata: Metadata,
}

/// Why an entry cannot be used. No search ends for it (D74).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It vanished, may not be read, leads out, or is not what it was: it is left out.
    Unusable,
    /// The process has no descriptors or memory left: it is left out, and the answer says that it is incomplete.
    Exhausted,
}
