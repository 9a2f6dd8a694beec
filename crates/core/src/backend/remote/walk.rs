//! How a search walks somebody else's files: each directory is one question, and files are asked for when the engine
//! looks into them, several at once where the place can.
//!
//! The engine blocks on threads made for it; the questions are answered on the runtime. Names that vanish or cannot be
//! read are left out, as everywhere; a place that fails as such ends the search with its error, so that a dead place is
//! never mistaken for an empty one.

use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::place::{Entry, Place};
use crate::access::{Guard, Operation};
use crate::backend::{BoxFuture, Call, FileKind};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::order;
use crate::path::VirtualPath;
use crate::search::{self, EntryKind, Followed, Metadata, Obstacle, Opened};

/// 64 KiB: larger files are read one by one.
const BATCHED_FILE_BYTES: u64 = 64 << 10;
/// 512 KiB and 100 files: one batch.
const BATCH_BYTES: u64 = 512 << 10;
const BATCH_FILES: usize = 100;

/// Files of a place, for one search.
pub(super) struct RemoteTree {
    place: Arc<dyn Place>,
    batches: bool,
    runtime: Handle,
    deadline: Deadline,
    guard: Arc<dyn Guard>,
    max_file_bytes: u64,
    failure: Arc<Mutex<Option<Error>>>,
}

/// A listed directory.
pub(super) struct Directory {
    path: VirtualPath,
    /// Sorted by name.
    entries: Vec<Entry>,
    /// Files that came with another one and that nobody has asked for yet.
    fetched: Mutex<HashMap<String, Vec<u8>>>,
}

/// A file that is fetched when it is first read.
pub(super) struct File {
    place: Arc<dyn Place>,
    runtime: Handle,
    deadline: Deadline,
    failure: Arc<Mutex<Option<Error>>>,
    path: VirtualPath,
    max_bytes: u64,
    content: Option<Vec<u8>>,
    position: usize,
}

impl RemoteTree {
    pub(super) fn new(place: Arc<dyn Place>, call: &Call, limits: &Limits) -> Self {
        Self {
            batches: place.abilities().batches,
            place,
            runtime: Handle::current(),
            deadline: call.deadline.within(limits.search_timeout),
            guard: Arc::clone(&call.guard),
            max_file_bytes: limits.grep_file_bytes,
            failure: Arc::default(),
        }
    }

    /// What ended the search before its time. Running out of time is no failure: the engine says that it is incomplete.
    pub(super) fn failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }

    fn ask<T>(&self, question: BoxFuture<'_, Result<T>>) -> Result<T, Obstacle> {
        self.runtime.block_on(question).map_err(|error| note(&self.failure, error))
    }

    fn listed(&self, path: VirtualPath) -> Result<Arc<Directory>, Obstacle> {
        let mut entries = self.ask(self.place.list(&path, &self.deadline))?;
        order::sort_by(&mut entries, |one, other| one.name.cmp(&other.name));
        entries.dedup_by(|one, other| one.name == other.name);
        Ok(Arc::new(Directory { path, entries, fetched: Mutex::default() }))
    }

    /// Fetches `name` and the small files that follow it in its directory.
    fn fetch_batch(&self, directory: &Directory, name: &str) {
        let from = directory.entries.partition_point(|entry| entry.name.as_str() < name);
        let mut files = Vec::new();
        let mut bytes = 0;
        for entry in directory.entries.iter().skip(from) {
            let small = entry.kind == FileKind::File && entry.is_exact && entry.size <= BATCHED_FILE_BYTES;
            let Some(path) = directory.path.join(&entry.name).ok().filter(|_| small) else { continue };
            if self.guard.check(Operation::Read, &path).is_err() {
                continue;
            }
            bytes += entry.size;
            if files.len() >= BATCH_FILES || bytes > BATCH_BYTES {
                break;
            }
            files.push((path, entry.size));
        }
        if files.len() < 2 {
            return;
        }
        let Ok(contents) = self.ask(self.place.read_several(&files, &self.deadline)) else { return };
        let mut fetched = directory.fetched.lock();
        for ((path, _), content) in files.into_iter().zip(contents) {
            if let (Some(name), Some(content)) = (path.file_name(), content) {
                fetched.insert(name.to_owned(), content);
            }
        }
    }
}

/// Keeps an error that is the place's own, and says what it is to the walk.
fn note(failure: &Mutex<Option<Error>>, error: Error) -> Obstacle {
    match error.kind() {
        ErrorKind::BackendUnavailable | ErrorKind::Unsupported | ErrorKind::Closed | ErrorKind::Internal => {
            failure.lock().get_or_insert(error);
            Obstacle::Unusable
        }
        ErrorKind::Timeout | ErrorKind::Aborted | ErrorKind::Busy => Obstacle::Exhausted,
        _ => Obstacle::Unusable,
    }
}

impl Directory {
    fn entry(&self, name: &[u8]) -> Result<&Entry, Obstacle> {
        let name = std::str::from_utf8(name).map_err(|_| Obstacle::Unusable)?;
        let at = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        at.ok().and_then(|at| self.entries.get(at)).ok_or(Obstacle::Unusable)
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let content = match &self.content {
            Some(content) => content,
            None => {
                let read = self.place.read(&self.path, 0, self.max_bytes, &self.deadline);
                match self.runtime.block_on(read) {
                    Ok(content) => self.content.insert(content),
                    Err(error) => {
                        note(&self.failure, error);
                        return Err(io::Error::other("the place failed"));
                    }
                }
            }
        };
        let mut rest = content.get(self.position..).unwrap_or_default();
        let read = rest.read(buffer)?;
        self.position += read;
        Ok(read)
    }
}

fn metadata(entry: &Entry) -> Metadata {
    Metadata {
        kind: entry.kind,
        size: if entry.kind == FileKind::File { entry.size } else { 0 },
        modified_ns: entry.modified_ns,
    }
}

impl search::Tree for RemoteTree {
    type Directory = Arc<Directory>;
    type File = File;
    type Buffer = ();

    fn open(&self, path: &VirtualPath) -> Result<Opened<Self::Directory>> {
        let missing = || Error::not_found(path);
        let entry = if path.is_root() {
            Entry::new("/", FileKind::Directory)
        } else {
            self.runtime.block_on(self.place.stat(path, &self.deadline))?.ok_or_else(missing)?
        };
        let resolved = super::locate::resolved(&entry, path);
        let unlisted = |_| self.failure().unwrap_or_else(missing);
        match entry.kind {
            FileKind::Directory => {
                let directory = self.listed(resolved.clone()).map_err(unlisted)?;
                Ok(Opened { resolved, directory, file: None })
            }
            FileKind::File => {
                let name = resolved.file_name().unwrap_or_default().to_owned();
                let parent = resolved.parent().unwrap_or_else(VirtualPath::root);
                let entries = vec![Entry { name: name.clone(), ..entry }];
                let directory = Arc::new(Directory { path: parent, entries, fetched: Mutex::default() });
                Ok(Opened { resolved, directory, file: Some(name.into_bytes()) })
            }
            kind @ (FileKind::Symlink | FileKind::Other) => Err(super::locate::not_a_file(path, kind)),
        }
    }

    fn entries(
        &self,
        directory: &Self::Directory,
        _buffer: &mut Self::Buffer,
        visit: &mut impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        for entry in &directory.entries {
            let kind = match entry.kind {
                _ if !entry.is_exact => EntryKind::Other,
                _ if entry.is_link => EntryKind::Link,
                FileKind::File => EntryKind::File,
                FileKind::Directory => EntryKind::Directory,
                FileKind::Symlink | FileKind::Other => EntryKind::Other,
            };
            if visit(entry.name.as_bytes(), kind).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn open_directory(&self, parent: &Self::Directory, name: &[u8]) -> Result<Self::Directory, Obstacle> {
        let entry = parent.entry(name)?;
        let path = parent.path.join(&entry.name).map_err(|_| Obstacle::Unusable)?;
        self.listed(path)
    }

    fn open_file(&self, parent: &Self::Directory, name: &[u8]) -> Result<(Self::File, Metadata), Obstacle> {
        let entry = parent.entry(name)?;
        if entry.kind != FileKind::File {
            return Err(Obstacle::Unusable);
        }
        let path = parent.path.join(&entry.name).map_err(|_| Obstacle::Unusable)?;
        let mut content = parent.fetched.lock().remove(&entry.name);
        if content.is_none() && self.batches && entry.size <= BATCHED_FILE_BYTES {
            self.fetch_batch(parent, &entry.name);
            content = parent.fetched.lock().remove(&entry.name);
        }
        let size = content.as_ref().map_or(entry.size, |content| content.len() as u64);
        let file = File {
            place: Arc::clone(&self.place),
            runtime: self.runtime.clone(),
            deadline: self.deadline.clone(),
            failure: Arc::clone(&self.failure),
            path,
            max_bytes: self.max_file_bytes,
            content,
            position: 0,
        };
        Ok((file, Metadata { size, ..metadata(entry) }))
    }

    fn metadata(&self, parent: &Self::Directory, name: &[u8]) -> Result<Metadata, Obstacle> {
        parent.entry(name).map(metadata)
    }

    fn follow(&self, parent: &Self::Directory, name: &[u8], _path: &[u8]) -> Result<Followed, Obstacle> {
        let entry = parent.entry(name)?;
        let path = parent.path.join(&entry.name).map_err(|_| Obstacle::Unusable)?;
        let target = self.ask(self.place.stat(&path, &self.deadline))?.ok_or(Obstacle::Unusable)?;
        match target.kind {
            FileKind::File | FileKind::Directory => {
                Ok(Followed { resolved: super::locate::resolved(&target, &path), metadata: metadata(&target) })
            }
            FileKind::Symlink | FileKind::Other => Err(Obstacle::Unusable),
        }
    }
}
