//! Files piece by piece. A writer is one blocking task that holds what is being written: pieces come to it one after
//! another, and when nobody sends any more the half-written file goes.

use std::fs::File;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::Inner;
use super::errors::{Explain, busy, stale};
use super::facts::{size_of, version_of};
use super::lock::lock;
use super::options::Durability;
use super::resolve::Place;
use super::system::{self, FileType, type_of};
use super::tree;
use super::update::{MAX_SWAPS, NewFile, look, require_replaceable};
use crate::access::Operation;
use crate::backend::stream::{FileReader, FileWriter};
use crate::backend::{BoxFuture, Call, Updated};
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
            let task = tokio::task::spawn_blocking(move || {
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

/// What is asked of the task that writes.
enum Order {
    Write(Vec<u8>, oneshot::Sender<Result<()>>),
    Finish(oneshot::Sender<Result<Updated>>),
    Abandon(oneshot::Sender<Result<()>>),
}

/// A file that is being written.
pub(super) struct LocalWriter(mpsc::Sender<Order>);

impl LocalWriter {
    /// Begins beside the file at `path`, whose parents are made.
    pub(super) async fn open(inner: Arc<Inner>, path: VirtualPath, call: &Call) -> Result<Self> {
        let (orders, mut received) = mpsc::channel(1);
        let (begun, beginning) = oneshot::channel();
        let call = call.clone();
        tokio::task::spawn_blocking(move || {
            let mut begun = Some(begun);
            // Why it could not begin is told to whoever opens; all that follows, to whoever writes.
            if let Err(error) = write_all(&inner, &path, &call, &mut begun, &mut received)
                && let Some(begun) = begun
            {
                let _ = begun.send(Err(error));
            }
        });
        beginning.await.map_err(|_| Error::internal("A write stopped unexpectedly."))??;
        Ok(Self(orders))
    }

    async fn order<T>(&self, order: impl FnOnce(oneshot::Sender<Result<T>>) -> Order) -> Result<T> {
        let ended = |_| Error::internal("A write stopped before its end.");
        let (answer, answered) = oneshot::channel();
        self.0.send(order(answer)).await.map_err(|_| ended(()))?;
        answered.await.map_err(|_| ended(()))?
    }
}

impl FileWriter for LocalWriter {
    fn write<'a>(&'a mut self, bytes: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            call.deadline.check()?;
            self.order(|answer| Order::Write(bytes, answer)).await
        })
    }

    fn finish<'a>(self: Box<Self>, call: &'a Call) -> BoxFuture<'a, Result<Updated>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            call.deadline.check()?;
            self.order(Order::Finish).await
        })
    }

    fn abandon<'a>(self: Box<Self>) -> BoxFuture<'a, ()>
    where
        Self: 'a,
    {
        // A task that has ended left nothing.
        Box::pin(async move { drop(self.order(Order::Abandon).await) })
    }
}

/// Writes what is ordered, until it is finished or nobody orders any more.
fn write_all(
    inner: &Inner,
    path: &VirtualPath,
    call: &Call,
    begun: &mut Option<oneshot::Sender<Result<()>>>,
    orders: &mut mpsc::Receiver<Order>,
) -> Result<()> {
    let table = inner.resolver.table();
    inner.require_writable(path)?;
    table.check_suffix(path)?;
    let place = target(inner, path, call)?;
    let mut new = {
        // Under the lock, so that nobody takes the file for one that a crash left before it says that it is in use.
        let locked = lock(&place.directory, path, table, call)?;
        inner.cleaned.before_writing(&place.directory, &locked);
        let mut new = NewFile::create(&place.directory, None, path, table)?;
        let _ = system::lock_file(new.file());
        new
    };
    let limit = table.max_file_bytes(&place.path).unwrap_or(u64::MAX);
    let mut size = 0;
    if let Some(begun) = begun.take() {
        let _ = begun.send(Ok(()));
    }
    while let Some(order) = orders.blocking_recv() {
        match order {
            Order::Write(bytes, answer) => {
                size += bytes.len() as u64;
                let written = if size > limit {
                    Err(file_too_large(path.as_str(), size, limit))
                } else {
                    inner.require_open().and_then(|()| new.write(&bytes, call))
                };
                if written.is_err() {
                    // Gone before anybody is told.
                    drop(new);
                    let _ = answer.send(written);
                    return Ok(());
                }
                let _ = answer.send(written);
            }
            Order::Abandon(answer) => {
                drop(new);
                let _ = answer.send(Ok(()));
                return Ok(());
            }
            Order::Finish(answer) => {
                let _ = answer.send(inner.require_open().and_then(|()| finish(inner, &place, new, path, call)));
                return Ok(());
            }
        }
    }
    Ok(())
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
