//! Writing: one part is asked, in its own paths. Where a route begins, and what lies above, stays a directory. Between
//! parts only regular files move, by a copy and a removal, as between mounts on disk.

use super::CompositeBackend;
use super::read::Routed;
use super::routes::Part;
use crate::access::Operation;
use crate::backend::stream::FileWriter;
use crate::backend::{
    BoxFuture, Call, FileContent, FileKind, FileVersion, Missing, Transform, Updated, WritableFileSystem,
};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::not_writable;

impl CompositeBackend {
    async fn update_routed(
        &self,
        path: &VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &Call,
    ) -> Result<Updated> {
        let routed = self.route_of_file(path, call)?;
        let writer = self.writer_of(routed.part, path)?;
        let transform = if routed.path == *path { transform } else { with_path(transform, path.clone()) };
        let updated = writer.update(&routed.path, operation, missing, transform, &routed.call).await;
        self.updated(&routed, path, updated)
    }

    async fn append_routed(&self, path: &VirtualPath, content: Vec<u8>, call: &Call) -> Result<Updated> {
        let routed = self.route_of_file(path, call)?;
        let updated = self.writer_of(routed.part, path)?.append(&routed.path, content, &routed.call).await;
        self.updated(&routed, path, updated)
    }

    async fn make_directory_routed(&self, path: &VirtualPath, call: &Call) -> Result<bool> {
        let routed = self.route(path, call)?;
        if self.routes.is_directory(path) {
            call.guard.check(Operation::Write, path)?;
            return Ok(false);
        }
        let made = self.writer_of(routed.part, path)?.make_directory(&routed.path, &routed.call).await;
        made.map_err(|error| self.routes.explain(routed.part, error, &[path]))
    }

    async fn remove_routed(&self, path: &VirtualPath, recursive: bool, call: &Call) -> Result<u64> {
        let routed = self.route(path, call)?;
        self.refuse_routes(path, "removed")?;
        let removed = self.writer_of(routed.part, path)?.remove(&routed.path, recursive, &routed.call).await;
        removed.map_err(|error| self.routes.explain(routed.part, error, &[path]))
    }

    async fn rename_routed(&self, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<()> {
        let (source, target) = (self.route(from, call)?, self.route(to, call)?);
        self.refuse_routes(from, "moved")?;
        self.refuse_taken(to)?;
        if source.index == target.index {
            let writer = self.writer_of(source.part, from)?;
            let moved = writer.rename(&source.path, &target.path, &source.call).await;
            return moved.map_err(|error| self.routes.explain(source.part, error, &[from, to]));
        }
        self.writer_of(source.part, from)?;
        call.guard.check(Operation::Delete, from)?;
        let (_, version) = self.copy_between(from, &source, to, &target, call).await?;
        let removed = self.remove_copied(from, &source, version).await;
        if removed.is_err() {
            // The name was free: what is there now is the copy.
            let undone = Call { deadline: crate::cancel::Deadline::default(), ..Call::default() };
            let _ = self.remove_routed(to, false, &undone).await;
        }
        removed
    }

    async fn copy_routed(&self, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<u64> {
        let (source, target) = (self.route_of_file(from, call)?, self.route(to, call)?);
        self.refuse_taken(to)?;
        if source.index == target.index {
            let writer = self.writer_of(source.part, to)?;
            let copied = writer.copy(&source.path, &target.path, &source.call).await;
            return copied.map_err(|error| self.routes.explain(source.part, error, &[from, to]));
        }
        Ok(self.copy_between(from, &source, to, &target, call).await?.0)
    }

    /// Copies a file to a free name of another part. Returns its bytes, and the state that was copied.
    async fn copy_between(
        &self,
        from: &VirtualPath,
        source: &Routed<'_>,
        to: &VirtualPath,
        target: &Routed<'_>,
        call: &Call,
    ) -> Result<(u64, FileVersion)> {
        let writer = self.writer_of(target.part, to)?;
        let found = source.part.backend.files().resolve(&source.path, &source.call).await;
        let found = found.map_err(|error| self.routes.explain(source.part, error, &[from]))?;
        if found.kind == Some(FileKind::Directory) {
            return Err(only_files(from, to));
        }
        let FileContent { bytes, version, .. } = self.read_bytes_routed(from, self.limits.file_bytes, call).await?;
        let taken = already_exists(&target.path);
        let size = bytes.len() as u64;
        let create: Transform = Box::new(move |there| if there.is_some() { Err(taken) } else { Ok(bytes) });
        let created = writer.update(&target.path, Operation::Write, Missing::Create, create, &target.call).await;
        created.map_err(|error| match error.kind() {
            ErrorKind::NotAFile => already_exists(to),
            _ => self.routes.explain(target.part, error, &[to]),
        })?;
        Ok((size, version))
    }

    /// Removes what was copied, unless it changed meanwhile.
    async fn remove_copied(&self, from: &VirtualPath, source: &Routed<'_>, version: FileVersion) -> Result<()> {
        let explain = |error| self.routes.explain(source.part, error, &[from]);
        let found = source.part.backend.files().resolve(&source.path, &source.call).await.map_err(explain)?;
        if found.version != Some(version) {
            let message = format!("'{from}' was changed by somebody else during this move, which left it; try again.");
            return Err(Error::new(ErrorKind::StaleFile, message).with_path(from.as_str()));
        }
        self.writer_of(source.part, from)?.remove(&source.path, false, &source.call).await.map_err(explain)?;
        Ok(())
    }

    pub(super) fn writer_of<'a>(&self, part: &'a Part, path: &VirtualPath) -> Result<&'a dyn WritableFileSystem> {
        part.backend.writer().ok_or_else(|| not_writable(path.as_str(), &self.routes.writable_roots()))
    }

    fn updated(&self, routed: &Routed<'_>, path: &VirtualPath, updated: Result<Updated>) -> Result<Updated> {
        let mut updated = updated.map_err(|error| self.routes.explain(routed.part, error, &[path]))?;
        updated.resolved = routed.part.outer(&updated.resolved).unwrap_or_else(|| path.clone());
        Ok(updated)
    }

    /// A route, and what lies above one, stays where it is.
    fn refuse_routes(&self, path: &VirtualPath, what: &str) -> Result<()> {
        if self.routes.is_directory(path) {
            let message =
                format!("'{path}' is, or holds, a mount point and cannot be {what}; name something below it.");
            return Err(Error::new(ErrorKind::PathNotWritable, message).with_path(path.as_str()));
        }
        Ok(())
    }

    fn refuse_taken(&self, path: &VirtualPath) -> Result<()> {
        if self.routes.is_directory(path) { Err(already_exists(path)) } else { Ok(()) }
    }
}

/// `transform`, told of a file that lies at `path`.
fn with_path(transform: Transform, path: VirtualPath) -> Transform {
    Box::new(move |content| match content {
        None => transform(None),
        Some(content) => transform(Some(FileContent { resolved: path, ..content })),
    })
}

fn already_exists(path: &VirtualPath) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("'{path}' exists already; choose another name or remove it first."))
        .with_path(path.as_str())
}

fn only_files(from: &VirtualPath, to: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "'{from}' is not a regular file, and only regular files go to the backend of '{to}'; make the directory \
             there and move or copy its files."
        ),
    )
    .with_path(from.as_str())
}

impl WritableFileSystem for CompositeBackend {
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(self.update_routed(path, operation, missing, transform, call))
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(self.append_routed(path, content, call))
    }

    fn open_writer<'a>(
        &'a self,
        path: &'a VirtualPath,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Option<Box<dyn FileWriter>>>> {
        Box::pin(self.open_writer_routed(path, call))
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.make_directory_routed(path, call))
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.remove_routed(path, recursive, call))
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.rename_routed(from, to, call))
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.copy_routed(from, to, call))
    }
}
