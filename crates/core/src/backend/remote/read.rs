//! Reading and listing.

use std::io;
use std::sync::Arc;

use super::locate::{info, info_at, resolved, tells_states_apart, version};
use super::place::{Entry, Place};
use super::{RemoteBackend, place};
use crate::access::Operation;
use crate::backend::memory::errors;
use crate::backend::stream::{FileReader, WholeReader};
use crate::backend::{
    BoxFuture, Call, FileContent, FileInfo, FileKind, FileSlice, FileSystem, FileVersion, Listing, Resolution,
};
use crate::blocking::blocking;
use crate::cancel::Deadline;
use crate::error::{Error, Result};
use crate::order;
use crate::path::VirtualPath;
use crate::search::{
    self, FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery,
};
use crate::text::window::{self, ReadAt, TextWindow, Window, WindowRequest};

/// 4 MiB: larger files are read piece by piece where the place can, so that a window costs what it shows.
const WHOLE_BYTES: u64 = 4 << 20;
/// 1 MiB: one piece of a file that is read in pieces.
const PIECE_BYTES: u64 = 1 << 20;

impl RemoteBackend {
    async fn resolve_now(&self, path: &VirtualPath, call: &Call) -> Result<Resolution> {
        self.begin(call)?;
        let found = self.entry(path, &call.deadline).await?;
        let (place, version) = match &found {
            None => (path.clone(), None),
            Some(entry) => {
                let place = resolved(entry, path);
                let version =
                    if entry.kind == FileKind::File { Some(self.state(entry, &place, call).await?) } else { None };
                (place, version)
            }
        };
        Ok(Resolution {
            resolved: place,
            kind: found.map(|entry| entry.kind),
            version,
            writable: self.abilities.write,
            read_approval: false,
            write_approval: false,
        })
    }

    async fn state(&self, entry: &Entry, path: &VirtualPath, call: &Call) -> Result<FileVersion> {
        if tells_states_apart(entry) {
            return Ok(FileVersion { size: entry.size, ..version(entry, &[]) });
        }
        Ok(version(entry, &self.whole(path, entry, self.limits.file_bytes, &call.deadline).await?))
    }

    /// All bytes of a file.
    pub(super) async fn whole(
        &self,
        path: &VirtualPath,
        entry: &Entry,
        max_bytes: u64,
        deadline: &Deadline,
    ) -> Result<Vec<u8>> {
        if entry.size > max_bytes {
            return Err(errors::file_too_large(path, entry.size, max_bytes));
        }
        let bytes = self.place.read(path, 0, max_bytes.saturating_add(1), deadline).await?;
        if bytes.len() as u64 > max_bytes {
            return Err(errors::file_too_large(path, bytes.len() as u64, max_bytes));
        }
        Ok(bytes)
    }

    /// The bytes of a file that came with it, or all that it has now.
    async fn given(
        &self,
        path: &VirtualPath,
        entry: &Entry,
        bytes: Option<Vec<u8>>,
        max_bytes: u64,
        deadline: &Deadline,
    ) -> Result<Vec<u8>> {
        match bytes {
            Some(bytes) if bytes.len() as u64 <= max_bytes => Ok(bytes),
            Some(_) | None => self.whole(path, entry, max_bytes, deadline).await,
        }
    }

    async fn stat_now(&self, path: &VirtualPath, call: &Call) -> Result<Option<FileInfo>> {
        self.begin(call)?;
        call.guard.check(Operation::Ls, path)?;
        Ok(self.entry(path, &call.deadline).await?.map(|entry| info(&entry, path)))
    }

    async fn list_now(&self, path: &VirtualPath, depth: u32, call: &Call) -> Result<Listing> {
        self.begin(call)?;
        call.guard.check(Operation::Ls, path)?;
        let entry = self.entry(path, &call.deadline).await?.ok_or_else(|| errors::not_found(path))?;
        if entry.kind != FileKind::Directory {
            return Ok(Listing { entries: vec![info(&entry, path)], truncated: false });
        }
        let resolved = resolved(&entry, path);
        if resolved != *path {
            call.guard.check(Operation::Ls, &resolved)?;
        }
        let mut listing = Listing::default();
        // Directories still to be listed in the middle of the answer: entries in reverse, so that the next is the last.
        let mut open = Vec::new();
        if depth > 0 {
            self.open_directory(path, 1, call, &mut open).await?;
        }
        while let Some((entry, level, parent)) = open.pop() {
            let shown = if parent.is_root() { format!("/{}", entry.name) } else { format!("{parent}/{}", entry.name) };
            let below = if entry.is_exact { parent.join(&entry.name).ok() } else { None };
            let permitted = match &below {
                Some(path) => call.guard.check(Operation::Ls, path).is_ok(),
                None => call.guard.is_open(),
            };
            if !permitted {
                continue;
            }
            if listing.entries.len() >= self.limits.list_entries {
                listing.truncated = true;
                break;
            }
            let path = below.as_ref().map_or(shown, |path| path.as_str().to_owned());
            listing.entries.push(info_at(&entry, entry.name.clone(), path));
            if let Some(path) = below.filter(|_| entry.kind == FileKind::Directory && level < depth) {
                match self.open_directory(&path, level + 1, call, &mut open).await {
                    Ok(()) => {}
                    // It vanished, or cannot be looked into: it is shown without entries (regression case 9).
                    Err(_) => call.deadline.check()?,
                }
            }
        }
        Ok(listing)
    }

    /// Adds the entries of a directory so that they are taken directories first, then by name.
    async fn open_directory(
        &self,
        path: &VirtualPath,
        level: u32,
        call: &Call,
        open: &mut Vec<(Entry, u32, VirtualPath)>,
    ) -> Result<()> {
        let mut entries = self.place.list(path, &call.deadline).await?;
        order::sort_by(&mut entries, |one, other| {
            let files_last = |entry: &Entry| entry.kind != FileKind::Directory;
            files_last(other).cmp(&files_last(one)).then_with(|| other.name.cmp(&one.name))
        });
        open.extend(entries.into_iter().map(|entry| (entry, level, path.clone())));
        Ok(())
    }

    async fn read_now(&self, path: &VirtualPath, window: Window, call: &Call) -> Result<FileSlice> {
        let (entry, resolved, bytes) = self.opened(path, call).await?;
        let request = |size| OwnedRequest {
            window,
            size,
            count_lines_bytes: self.limits.count_lines_bytes,
            path: path.clone(),
            deadline: call.deadline.clone(),
        };
        let (text, version) = if bytes.is_none() && self.abilities.ranges && entry.size > WHOLE_BYTES {
            let version = FileVersion { size: entry.size, ..version(&entry, &[]) };
            let pieces = Pieces {
                place: Arc::clone(&self.place),
                path: resolved.clone(),
                runtime: tokio::runtime::Handle::current(),
                deadline: call.deadline.clone(),
                size: entry.size,
                held: (0, Vec::new()),
                failure: None,
            };
            (pieces.window(request(entry.size)).await?, version)
        } else {
            let bytes = self.given(path, &entry, bytes, self.limits.file_bytes, &call.deadline).await?;
            (request(bytes.len() as u64).read(&mut bytes.as_slice())?, version(&entry, &bytes))
        };
        Ok(FileSlice {
            content: text.content,
            offset: window.offset,
            lines: text.lines,
            total_lines: text.total_lines,
            bytes: version.size,
            next_offset: text.next_offset,
            truncated: text.truncated,
            encoding: text.encoding,
            resolved,
            version,
        })
    }

    async fn read_bytes_now(&self, path: &VirtualPath, max_bytes: u64, call: &Call) -> Result<FileContent> {
        let (entry, resolved, bytes) = self.opened(path, call).await?;
        let bytes = self.given(path, &entry, bytes, max_bytes, &call.deadline).await?;
        let version = version(&entry, &bytes);
        Ok(FileContent { bytes, resolved, version })
    }

    async fn search<Q: Clone + Send + 'static, O: Send + 'static>(
        &self,
        query: &Q,
        path: &VirtualPath,
        call: &Call,
        search: fn(&super::walk::RemoteTree, &Q, &Call, &crate::limits::Limits) -> Result<O>,
    ) -> Result<O> {
        self.begin(call)?;
        if !self.abilities.list {
            return Err(place::cannot_error("list directories, so it cannot be searched", path));
        }
        let tree = super::walk::RemoteTree::new(Arc::clone(&self.place), call, &self.limits);
        let (query, call, limits) = (query.clone(), call.clone(), self.limits.clone());
        blocking(move || {
            let found = search(&tree, &query, &call, &limits);
            tree.failure().map_or(found, Err)
        })
        .await
        .map_err(|_| Error::internal("The search ended unexpectedly."))?
    }
}

/// A [`WindowRequest`] that can go to another thread.
struct OwnedRequest {
    window: Window,
    size: u64,
    count_lines_bytes: u64,
    path: VirtualPath,
    deadline: Deadline,
}

impl OwnedRequest {
    fn read(&self, file: &mut impl ReadAt) -> Result<TextWindow> {
        let Self { window, size, count_lines_bytes, path, deadline } = self;
        let request = WindowRequest {
            window: *window,
            size: *size,
            count_lines_bytes: *count_lines_bytes,
            path: path.as_str(),
            deadline,
        };
        window::read(file, &request)
    }
}

/// A file that is read piece by piece. Blocks.
struct Pieces {
    place: Arc<dyn Place>,
    path: VirtualPath,
    runtime: tokio::runtime::Handle,
    deadline: Deadline,
    size: u64,
    /// The piece that was read last, and where it begins.
    held: (u64, Vec<u8>),
    /// Why a piece could not be read.
    failure: Option<Error>,
}

impl Pieces {
    async fn window(mut self, request: OwnedRequest) -> Result<TextWindow> {
        blocking(move || {
            let text = request.read(&mut self);
            self.failure.map_or(text, Err)
        })
        .await
        .map_err(|_| Error::internal("The read ended unexpectedly."))?
    }
}

impl ReadAt for Pieces {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size {
            return Ok(0);
        }
        let (begin, piece) = &self.held;
        if offset < *begin || offset >= begin + piece.len() as u64 {
            let read = self.place.read(&self.path, offset, PIECE_BYTES, &self.deadline);
            match self.runtime.block_on(read) {
                Ok(piece) => self.held = (offset, piece),
                Err(error) => {
                    self.failure = Some(error);
                    return Err(io::Error::other("the place failed"));
                }
            }
        }
        let (begin, piece) = &self.held;
        let at = usize::try_from(offset - begin).unwrap_or(usize::MAX);
        let mut rest = piece.get(at..).unwrap_or_default();
        rest.read_at(0, buffer)
    }
}

/// A file that is asked for piece by piece.
struct RangeReader {
    place: Arc<dyn Place>,
    path: VirtualPath,
    size: u64,
}

impl FileReader for RangeReader {
    fn size(&self) -> u64 {
        self.size
    }

    fn read<'a>(&'a mut self, offset: u64, length: usize, call: &'a Call) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move { self.place.read(&self.path, offset, length as u64, &call.deadline).await })
    }
}

impl FileSystem for RemoteBackend {
    fn working_directory(&self) -> &VirtualPath {
        &self.working_directory
    }

    fn readable_roots(&self) -> Vec<String> {
        vec!["/".to_owned()]
    }

    fn writable_roots(&self) -> Vec<String> {
        if self.abilities.write { vec!["/".to_owned()] } else { Vec::new() }
    }

    fn mounts_ask(&self) -> bool {
        false
    }

    fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
        Box::pin(self.resolve_now(path, call))
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        Box::pin(self.stat_now(path, call))
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(self.list_now(path, depth, call))
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        Box::pin(self.read_now(path, window, call))
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        Box::pin(self.read_bytes_now(path, max_bytes, call))
    }

    fn open_reader<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Box<dyn FileReader>>> {
        Box::pin(async move {
            let (entry, resolved) = self.file(path, call).await?;
            if self.abilities.ranges {
                let reader = RangeReader { place: Arc::clone(&self.place), path: resolved, size: entry.size };
                return Ok(Box::new(reader) as Box<dyn FileReader>);
            }
            let bytes = self.whole(path, &entry, self.limits.file_bytes, &call.deadline).await?;
            Ok(Box::new(WholeReader(bytes)) as Box<dyn FileReader>)
        })
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        Box::pin(self.search(query, &query.path, call, search::glob))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        Box::pin(self.search(query, &query.path, call, search::grep))
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        Box::pin(self.search(query, &query.path, call, search::find))
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        Box::pin(self.search(query, &query.path, call, search::outline))
    }
}
