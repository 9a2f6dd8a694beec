//! Files piece by piece. A writer holds what is being written between the pieces; each is a task of its own, and when the
//! writer goes before it is finished the half-written file goes with it.

use std::fs::File;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::Inner;
use super::errors::{Explain, busy, stale};
use super::facts::{size_of, version_of};
use super::lock::lock;
use super::options::Durability;
use super::resolve::Place;
use super::system::{self, FileType, type_of};
use super::tree;
use super::update::{MAX_SWAPS, NewFile, Unnamed, look, require_replaceable};
use crate::access::Operation;
use crate::backend::stream::{FileReader, FileWriter};
use crate::backend::{BoxFuture, Call, Updated};
use crate::blocking::{Lost, blocking};
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::sandbox::file_too_large;
use crate::text::window::ReadAt as _;

/// An open file.
pub(super) struct LocalReader {
    pub(super) inner: Arc<Inner>,
    pub(super) file: Arc<File>,
    pub(super) size: u64,
    pub(super) path: VirtualPath,
}

impl FileReader for LocalReader {
    fn size(&self) -> u64 {
        self.size
    }

    fn read<'a>(&'a mut self, offset: u64, length: usize, call: &'a Call) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            self.inner.require_open()?;
            call.deadline.check()?;
            let file = Arc::clone(&self.file);
            let task = blocking(move || {
                let mut bytes = vec![0; length];
                let read = (&*file).read_at(offset, &mut bytes)?;
                bytes.truncate(read);
                Ok::<_, std::io::Error>(bytes)
            });
            let read = tokio::select! {
                biased;
                read = task => read,
                error = call.deadline.reached() => return Err(error),
            };
            let read = read.map_err(|_| Error::internal("A read stopped unexpectedly."))?;
            read.map_err(|_| super::read::unreadable(&self.path))
        })
    }
}

/// A file that is being written; none once it is finished, given up or could not be written. Between two pieces it holds open
/// files and no thread.
pub(super) struct LocalWriter(Option<Writing>);

impl LocalWriter {
    /// Begins beside the file at `path`, whose parents are made.
    pub(super) async fn open(inner: Arc<Inner>, path: VirtualPath, call: &Call) -> Result<Self> {
        let call = call.clone();
        let begun = blocking(move || Writing::begin(inner, path, &call)).await;
        Ok(Self(Some(begun.map_err(|Lost| stopped())??)))
    }

    /// Takes one step off this thread. Where nobody waits for it any more, what is being written goes with it.
    async fn step<T: Send + 'static>(&mut self, step: impl FnOnce(Writing) -> T + Send + 'static) -> Result<T> {
        let writing = self.0.take().ok_or_else(stopped)?;
        blocking(move || step(writing)).await.map_err(|Lost| stopped())
    }
}

fn stopped() -> Error {
    Error::internal("A write stopped before its end.")
}

impl FileWriter for LocalWriter {
    fn write<'a>(&'a mut self, bytes: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            call.deadline.check()?;
            let writing = self.step(move |writing| writing.write(&bytes)).await??;
            self.0 = Some(writing);
            Ok(())
        })
    }

    fn finish<'a>(mut self: Box<Self>, call: &'a Call) -> BoxFuture<'a, Result<Updated>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            call.deadline.check()?;
            self.step(Writing::finish).await?
        })
    }

    fn abandon<'a>(mut self: Box<Self>) -> BoxFuture<'a, ()>
    where
        Self: 'a,
    {
        // One that has ended left nothing.
        Box::pin(async move { drop(self.step(drop).await) })
    }
}

impl Drop for LocalWriter {
    fn drop(&mut self) {
        if let (Some(writing), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            drop(runtime.spawn_blocking(move || drop(writing)));
        }
    }
}

/// A file beside the one whose place it is to take. Dropped before that, it is removed.
struct Writing {
    inner: Arc<Inner>,
    path: VirtualPath,
    place: Place,
    new: Option<Unnamed>,
    size: u64,
    limit: u64,
    /// That of whoever opened it; each step looks at it.
    call: Call,
}

impl Writing {
    fn begin(inner: Arc<Inner>, path: VirtualPath, call: &Call) -> Result<Self> {
        let table = inner.resolver.table();
        inner.require_writable(&path)?;
        table.check_suffix(&path)?;
        let place = target(&inner, &path, call)?;
        let new = {
            // Under the lock, so that nobody takes the file for one that a crash left before it says that it is in use.
            let locked = lock(&place.directory, &path, table, call)?;
            inner.cleaned.before_writing(&place.directory, &locked);
            let new = NewFile::create(&place.directory, None, &path, table)?;
            let _ = system::lock_file(new.file());
            new.unnamed()
        };
        let limit = table.max_file_bytes(&place.path).unwrap_or(u64::MAX);
        Ok(Self { inner, path, place, new, size: 0, limit, call: call.clone() })
    }

    /// One more piece. Where that fails the file is gone before anybody is told.
    fn write(mut self, bytes: &[u8]) -> Result<Self> {
        self.size += bytes.len() as u64;
        if self.size > self.limit {
            return Err(file_too_large(self.path.as_str(), self.size, self.limit));
        }
        self.inner.require_open()?;
        let mut new =
            self.new.take().ok_or_else(stopped)?.of(&self.place.directory, &self.path, self.inner.resolver.table());
        new.write(bytes, &self.call)?;
        self.new = new.unnamed();
        Ok(self)
    }

    fn finish(mut self) -> Result<Updated> {
        self.inner.require_open()?;
        let new = self.new.take().ok_or_else(stopped)?;
        let Self { inner, path, place, call, .. } = &self;
        finish(inner, place, new.of(&place.directory, path, inner.resolver.table()), path, call)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(new) = self.new.take() {
            drop(new.of(&self.place.directory, &self.path, self.inner.resolver.table()));
        }
    }
}

/// Where the file is to be: at the end of a link that stays inside.
fn target(inner: &Inner, path: &VirtualPath, call: &Call) -> Result<Place> {
    let table = inner.resolver.table();
    let mut place = tree::place_with_parents(inner, path, call)?;
    for _ in 0..MAX_SWAPS {
        call.guard.check(Operation::Write, &place.path)?;
        let old = look(inner, &place, path)?;
        if !old.as_ref().is_some_and(|facts| type_of(facts) == FileType::Symlink) {
            if let Some(facts) = &old {
                require_replaceable(&place, facts, path)?;
            }
            return Ok(place);
        }
        place = inner.resolver.place_of_target(path)?;
        table.check_suffix(&place.path).map_err(|error| error.with_path(path.as_str()))?;
    }
    Err(busy(path))
}

fn finish(inner: &Inner, place: &Place, new: NewFile<'_>, path: &VirtualPath, call: &Call) -> Result<Updated> {
    let table = inner.resolver.table();
    let _locked = lock(&place.directory, path, table, call)?;
    let old = look(inner, place, path)?;
    let facts = match &old {
        None => {
            new.settle(inner.durability)?;
            new.name(&place.name, stale)?
        }
        Some(facts) => {
            require_replaceable(place, facts, path)?;
            new.resemble(facts)?;
            new.settle(inner.durability)?;
            new.replace(&place.name)?
        }
    };
    if inner.durability == Durability::Full {
        system::sync_directory(&place.directory.handle).explain(path, table)?;
    }
    Ok(Updated {
        created: old.is_none(),
        size: size_of(&facts),
        resolved: place.path.clone(),
        version: version_of(&facts),
    })
}
