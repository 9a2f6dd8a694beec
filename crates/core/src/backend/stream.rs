//! Files of any size, piece by piece: [`FileReader`] and [`FileWriter`] (TS-42).
//!
//! A reader sees the file that was opened; a writer shows nothing until it is finished, and nothing at all when it is
//! dropped before. What a backend cannot do piece by piece is done with the whole content in memory, within the limits of
//! every other read and write.

use std::sync::Arc;

use super::{Backend, BoxFuture, Call, InUse, Missing, Updated};
use crate::access::Operation;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::sandbox::file_too_large;

/// A file that is read piece by piece.
pub trait FileReader: Send {
    /// Bytes of the file when it was opened.
    fn size(&self) -> u64;

    /// At most `length` bytes from `offset` on; none only at the end.
    fn read<'a>(&'a mut self, offset: u64, length: usize, call: &'a Call) -> BoxFuture<'a, Result<Vec<u8>>>;
}

/// A file that is written piece by piece.
pub trait FileWriter: Send {
    /// Adds bytes behind those that were written before.
    fn write<'a>(&'a mut self, bytes: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<()>>;

    /// Puts the file in its place.
    fn finish<'a>(self: Box<Self>, call: &'a Call) -> BoxFuture<'a, Result<Updated>>
    where
        Self: 'a;

    /// Leaves everything as it was, and ends when it is. Dropping does the same, a moment later.
    fn abandon<'a>(self: Box<Self>) -> BoxFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move { drop(self) })
    }
}

/// A file that is held as a whole.
pub(super) struct WholeReader(pub(super) Vec<u8>);

impl FileReader for WholeReader {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read<'a>(&'a mut self, offset: u64, length: usize, call: &'a Call) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            call.deadline.check()?;
            Ok(piece(&self.0, offset, length).to_vec())
        })
    }
}

/// At most `length` bytes from `offset` on.
pub(super) fn piece(bytes: &[u8], offset: u64, length: usize) -> &[u8] {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
    rest.get(..length).unwrap_or(rest)
}

/// Opens a file to be written, by whatever the backend offers. It is not touched before [`FileWriter::finish`].
pub async fn open_writer(backend: Arc<dyn Backend>, path: VirtualPath, call: &Call) -> Result<Box<dyn FileWriter>> {
    let writer = backend.writer().ok_or_else(|| {
        Error::new(ErrorKind::PathNotWritable, "Nothing can be written here: the files are read-only.")
    })?;
    match writer.open_writer(&path, call).await? {
        Some(writer) => Ok(writer),
        None => {
            call.guard.check(Operation::Write, &path)?;
            let in_use = backend.in_use();
            Ok(Box::new(Gathered { limit: Limits::default().file_bytes, in_use, backend, path, bytes: Vec::new() }))
        }
    }
}

/// Content that is written at once when it is all there.
struct Gathered {
    backend: Arc<dyn Backend>,
    /// The backend hears of nothing before the last piece, and must not end as idle until then.
    in_use: Option<InUse>,
    path: VirtualPath,
    bytes: Vec<u8>,
    limit: u64,
}

impl FileWriter for Gathered {
    fn write<'a>(&'a mut self, bytes: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            call.deadline.check()?;
            let size = (self.bytes.len() + bytes.len()) as u64;
            if size > self.limit {
                return Err(file_too_large(self.path.as_str(), size, self.limit));
            }
            self.bytes.extend_from_slice(&bytes);
            Ok(())
        })
    }

    fn finish<'a>(self: Box<Self>, call: &'a Call) -> BoxFuture<'a, Result<Updated>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let Self { backend, in_use: _in_use, path, bytes, limit: _ } = *self;
            let writer = backend.writer().ok_or_else(|| Error::internal("The writer went away."))?;
            let transform = Box::new(move |_| Ok(bytes));
            writer.update(&path, Operation::Write, Missing::Create, transform, call).await
        })
    }
}
