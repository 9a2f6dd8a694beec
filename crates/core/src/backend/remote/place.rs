//! [`Place`]: the little that somebody else's files must be able to do, so that a [`RemoteBackend`](super::RemoteBackend)
//! can do the rest.
//!
//! A place is not trusted to answer sensibly: what it says about entries is checked where it is decoded, and what it
//! refuses it refuses in the words of [`ErrorKind`](crate::error::ErrorKind). It judges nothing: rules, deadlines, limits
//! and the meaning of paths are the backend's business.

use crate::backend::{BoxFuture, FileKind};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// What a place can do besides telling what is at a path and reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// Listing a directory.
    pub list: bool,
    /// Reading from anywhere in a file, at the price of the bytes that are read.
    pub ranges: bool,
    /// Whether there can be links, so that two paths can mean one file.
    pub links: bool,
    /// Reading several files at once for about the price of one.
    pub batches: bool,
    /// Replacing or creating a file.
    pub write: bool,
    /// Adding at the end of a file.
    pub append: bool,
    /// Making directories.
    pub make_directory: bool,
    /// Removing.
    pub remove: bool,
    /// Moving within the place.
    pub rename: bool,
    /// Copying a file within the place.
    pub copy: bool,
}

/// One entry of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last name of the path, or `/`.
    pub name: String,
    /// What it is; a link counts as what it leads to, and as `Symlink` where that is nothing.
    pub kind: FileKind,
    /// Bytes of a file.
    pub size: u64,
    /// Nanoseconds since 1970; `None` where unknown.
    pub modified_ns: Option<i64>,
    /// Changes whenever the file is replaced; 0 where the place has no such thing.
    pub inode: u64,
    /// Nanoseconds since 1970 of the last change of anything; 0 where unknown.
    pub changed_ns: i64,
    /// Permission bits, where the place has them.
    pub mode: Option<u32>,
    /// Where it leads, when a link lies on the way. Listings leave it out.
    pub resolved: Option<VirtualPath>,
    /// Whether a listing found a link here.
    pub is_link: bool,
    /// Whether the name is the one that the place knows: names that are not UTF-8 are shown escaped and cannot be used.
    pub is_exact: bool,
}

impl Entry {
    /// An entry of which no more is known.
    pub fn new(name: impl Into<String>, kind: FileKind) -> Self {
        Self {
            name: name.into(),
            kind,
            size: 0,
            modified_ns: None,
            inode: 0,
            changed_ns: 0,
            mode: None,
            resolved: None,
            is_link: false,
            is_exact: true,
        }
    }
}

/// What is at a path, with all of its bytes where they came along.
pub type Opened = Option<(Entry, Option<Vec<u8>>)>;

/// Somebody else's files. Every method ends by its deadline, and soon after an abort.
pub trait Place: Send + Sync {
    /// What it can do; fixed for its life.
    fn abilities(&self) -> Abilities;

    /// What is at `path`; `None` when nothing is. Never asked about `/`.
    fn stat<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Option<Entry>>>;

    /// The same of a file that is about to be read, with all of its bytes where they come at no further question; never those of
    /// another file that a link leads to.
    fn open<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Opened>> {
        Box::pin(async move { Ok(self.stat(path, deadline).await?.map(|entry| (entry, None))) })
    }

    /// The entries of the directory at `path`, in any order.
    fn list<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Vec<Entry>>>;

    /// At most `length` bytes of the file at `path`, beginning with byte `from` (0 unless it can read ranges). Fewer only
    /// at the end of the file.
    fn read<'a>(
        &'a self,
        path: &'a VirtualPath,
        from: u64,
        length: u64,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<Vec<u8>>>;

    /// Whole files, each with at most as many bytes as is said; `None` for one that cannot be read.
    fn read_several<'a>(
        &'a self,
        files: &'a [(VirtualPath, u64)],
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>>> {
        Box::pin(async move {
            let mut contents = Vec::with_capacity(files.len());
            for (path, size) in files {
                contents.push(self.read(path, 0, *size, deadline).await.ok());
            }
            Ok(contents)
        })
    }

    /// Creates or replaces a file, atomically where it can, with its parents. `mode` is what an old file had.
    fn write<'a>(
        &'a self,
        path: &'a VirtualPath,
        _content: Vec<u8>,
        _mode: Option<u32>,
        _deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        cannot("write files", path)
    }

    /// Adds at the end of a file, or creates it with its parents.
    fn append<'a>(
        &'a self,
        path: &'a VirtualPath,
        _content: Vec<u8>,
        _deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        cannot("append to files", path)
    }

    /// Makes a directory with its parents.
    fn make_directory<'a>(&'a self, path: &'a VirtualPath, _deadline: &'a Deadline) -> BoxFuture<'a, Result<()>> {
        cannot("make directories", path)
    }

    /// Removes a file, an empty directory, or with `recursive` a directory and all in it.
    fn remove<'a>(
        &'a self,
        path: &'a VirtualPath,
        _recursive: bool,
        _deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        cannot("remove", path)
    }

    /// Moves to a name that is free and whose parent exists.
    fn rename<'a>(
        &'a self,
        from: &'a VirtualPath,
        _to: &'a VirtualPath,
        _deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        cannot("move", from)
    }

    /// Copies a file to a name that is free and whose parent exists.
    fn copy<'a>(
        &'a self,
        from: &'a VirtualPath,
        _to: &'a VirtualPath,
        _deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        cannot("copy", from)
    }
}

/// The refusal of what a place cannot do.
pub(super) fn cannot<'a, T: Send + 'a>(what: &str, path: &VirtualPath) -> BoxFuture<'a, Result<T>> {
    Box::pin(std::future::ready(Err(cannot_error(what, path))))
}

pub(super) fn cannot_error(what: &str, path: &VirtualPath) -> Error {
    Error::new(ErrorKind::Unsupported, format!("This backend cannot {what} ('{path}').")).with_path(path.as_str())
}
