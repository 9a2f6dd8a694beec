//! Files of a part, piece by piece, with errors in the paths of the tree.

use std::sync::Arc;

use super::CompositeBackend;
use super::routes::Routes;
use crate::backend::stream::{FileReader, FileWriter};
use crate::backend::{BoxFuture, Call, Updated};
use crate::error::{Error, Result};
use crate::path::VirtualPath;

/// Where an open file of a part belongs.
struct Place {
    routes: Arc<Routes>,
    index: usize,
    path: VirtualPath,
}

impl Place {
    fn explain(&self, error: Error) -> Error {
        match self.routes.parts().get(self.index) {
            Some(part) => self.routes.explain(part, error, &[&self.path]),
            None => error,
        }
    }
}

struct PartReader {
    inner: Box<dyn FileReader>,
    place: Place,
}

struct PartWriter {
    inner: Box<dyn FileWriter>,
    place: Place,
}

impl CompositeBackend {
    pub(super) async fn open_reader_routed(&self, path: &VirtualPath, call: &Call) -> Result<Box<dyn FileReader>> {
        let routed = self.route_of_file(path, call)?;
        let place = self.place(path);
        let opened = routed.part.backend.files().open_reader(&routed.path, &routed.call).await;
        match opened {
            Ok(inner) => Ok(Box::new(PartReader { inner, place })),
            Err(error) => Err(place.explain(error)),
        }
    }

    pub(super) async fn open_writer_routed(
        &self,
        path: &VirtualPath,
        call: &Call,
    ) -> Result<Option<Box<dyn FileWriter>>> {
        let routed = self.route_of_file(path, call)?;
        let place = self.place(path);
        let opened = self.writer_of(routed.part, path)?.open_writer(&routed.path, &routed.call).await;
        match opened {
            Ok(None) => Ok(None),
            Ok(Some(inner)) => Ok(Some(Box::new(PartWriter { inner, place }))),
            Err(error) => Err(place.explain(error)),
        }
    }

    fn place(&self, path: &VirtualPath) -> Place {
        Place { routes: Arc::clone(&self.routes), index: self.routes.owner(path).0, path: path.clone() }
    }
}

impl FileReader for PartReader {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read<'a>(&'a mut self, offset: u64, length: usize, call: &'a Call) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move { self.inner.read(offset, length, call).await.map_err(|error| self.place.explain(error)) })
    }
}

impl FileWriter for PartWriter {
    fn write<'a>(&'a mut self, bytes: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.inner.write(bytes, call).await.map_err(|error| self.place.explain(error)) })
    }

    fn finish<'a>(self: Box<Self>, call: &'a Call) -> BoxFuture<'a, Result<Updated>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let Self { inner, place } = *self;
            inner.finish(call).await.map_err(|error| place.explain(error))
        })
    }

    fn abandon<'a>(self: Box<Self>) -> BoxFuture<'a, ()>
    where
        Self: 'a,
    {
        self.inner.abandon()
    }
}
