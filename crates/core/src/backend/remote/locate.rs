//! What is at a path, or why nothing can be: the one place where a missing name is told from one that a file blocks.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::RemoteBackend;
use super::place::Entry;
use crate::access::Operation;
use crate::backend::memory::errors;
use crate::backend::{Call, FileInfo, FileKind, FileVersion};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// What a path leads to.
pub(super) enum Located {
    /// An entry.
    Entry(Entry),
    /// Nothing; `existing` is the nearest directory above.
    Missing { existing: VirtualPath },
    /// Nothing, and nothing can be: the first `names` names lead to something that is no directory.
    Blocked { names: usize },
}

impl RemoteBackend {
    /// What is at `path`.
    pub(super) async fn entry(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Option<Entry>> {
        if path.is_root() {
            return Ok(Some(Entry::new("/", FileKind::Directory)));
        }
        self.place.stat(path, deadline).await
    }

    pub(super) async fn locate(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Located> {
        match self.entry(path, deadline).await? {
            Some(entry) => Ok(Located::Entry(entry)),
            None => self.missing(path, deadline).await,
        }
    }

    /// Why nothing is at `path`.
    async fn missing(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Located> {
        let mut above = path.parent();
        while let Some(directory) = above {
            match self.entry(&directory, deadline).await? {
                None => above = directory.parent(),
                Some(entry) if entry.kind == FileKind::Directory => {
                    return Ok(Located::Missing { existing: directory });
                }
                Some(_) => return Ok(Located::Blocked { names: depth(&directory) }),
            }
        }
        Ok(Located::Missing { existing: VirtualPath::root() })
    }

    /// The regular file at `path`, to be read, and where it lies.
    pub(super) async fn file(&self, path: &VirtualPath, call: &Call) -> Result<(Entry, VirtualPath)> {
        self.begin(call)?;
        call.guard.check(Operation::Read, path)?;
        let found = self.locate(path, &call.deadline).await?;
        self.readable(path, found, call)
    }

    /// The same, with its bytes where the place gives them at once.
    pub(super) async fn opened(
        &self,
        path: &VirtualPath,
        call: &Call,
    ) -> Result<(Entry, VirtualPath, Option<Vec<u8>>)> {
        self.begin(call)?;
        call.guard.check(Operation::Read, path)?;
        let opened = if path.is_root() { None } else { self.place.open(path, &call.deadline).await? };
        let (found, bytes) = match opened {
            Some((entry, bytes)) => {
                let bytes = bytes.filter(|_| entry.resolved.is_none());
                (Located::Entry(entry), bytes)
            }
            None if path.is_root() => (self.locate(path, &call.deadline).await?, None),
            None => (self.missing(path, &call.deadline).await?, None),
        };
        let (entry, resolved) = self.readable(path, found, call)?;
        Ok((entry, resolved, bytes))
    }

    /// What was found, where it is a file that may be read.
    fn readable(&self, path: &VirtualPath, found: Located, call: &Call) -> Result<(Entry, VirtualPath)> {
        let entry = match found {
            Located::Entry(entry) => entry,
            Located::Missing { .. } => return Err(errors::not_found(path)),
            Located::Blocked { names } => return Err(errors::not_a_directory(path, names)),
        };
        let resolved = resolved(&entry, path);
        if resolved != *path {
            call.guard.check(Operation::Read, &resolved)?;
        }
        match entry.kind {
            FileKind::File => Ok((entry, resolved)),
            kind @ (FileKind::Directory | FileKind::Symlink | FileKind::Other) => Err(not_a_file(path, kind)),
        }
    }
}

/// Where an entry lies, links followed.
pub(super) fn resolved(entry: &Entry, path: &VirtualPath) -> VirtualPath {
    entry.resolved.clone().unwrap_or_else(|| path.clone())
}

/// The count of names of a path.
pub(super) fn depth(path: &VirtualPath) -> usize {
    path.as_str().split('/').filter(|name| !name.is_empty()).count()
}

pub(super) fn not_a_file(path: &VirtualPath, kind: FileKind) -> Error {
    match kind {
        FileKind::Directory => errors::not_a_file(path),
        FileKind::Symlink => Error::new(ErrorKind::FileNotFound, format!("'{path}' is a link that leads nowhere."))
            .with_path(path.as_str()),
        FileKind::File | FileKind::Other => Error::new(
            ErrorKind::NotAFile,
            format!("'{path}' is not a regular file; pipes, sockets and devices are never opened."),
        )
        .with_path(path.as_str()),
    }
}

pub(super) fn info(entry: &Entry, path: &VirtualPath) -> FileInfo {
    info_at(entry, path.file_name().unwrap_or("/").to_owned(), path.as_str().to_owned())
}

pub(super) fn info_at(entry: &Entry, name: String, path: String) -> FileInfo {
    FileInfo {
        name,
        path,
        kind: entry.kind,
        size: if entry.kind == FileKind::File { entry.size } else { 0 },
        modified_at: entry.modified_ns.map(|nanoseconds| nanoseconds.div_euclid(1_000_000)),
    }
}

/// Whether the facts about an entry tell two states of a file apart. Where they do not, its content must.
pub(super) fn tells_states_apart(entry: &Entry) -> bool {
    entry.modified_ns.is_some() || entry.inode != 0
}

/// The state of a file. `content` is looked at where the facts say too little.
pub(super) fn version(entry: &Entry, content: &[u8]) -> FileVersion {
    let changed_ns = if tells_states_apart(entry) {
        i128::from(entry.changed_ns)
    } else {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        i128::from(hasher.finish())
    };
    FileVersion {
        device: 0,
        inode: entry.inode,
        size: content.len() as u64,
        modified_ns: i128::from(entry.modified_ns.unwrap_or(0)),
        changed_ns,
    }
}
