//! Writing. What is in the way is found out first, so that every place refuses in the same words; what a place cannot do
//! at once is done in steps.

use super::locate::{Located, not_a_file, resolved, version};
use super::place::{Entry, cannot_error};
use super::{RemoteBackend, errors};
use crate::access::{Operation, check_move};
use crate::backend::{BoxFuture, Call, FileContent, FileKind, Missing, Transform, Updated, WritableFileSystem};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 100,000 entries: a larger tree is not moved or removed in one call.
const MAX_TREE: usize = 100_000;

/// Something at or below a path, and where it would go.
struct Below {
    path: VirtualPath,
    kind: FileKind,
}

impl RemoteBackend {
    async fn update_now(
        &self,
        path: &VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &Call,
    ) -> Result<Updated> {
        self.begin(call)?;
        call.guard.check(operation, path)?;
        // A link and its target share one lock.
        let known = if self.abilities.links { self.entry(path, &call.deadline).await? } else { None };
        let target = known.map_or_else(|| path.clone(), |entry| resolved(&entry, path));
        let _lock = tokio::select! {
            lock = self.locks.lock(&target) => lock,
            error = call.deadline.reached() => return Err(error),
        };
        let (old, target) = self.writable_file(path, operation, missing, call).await?;
        let mode = old.as_ref().and_then(|entry| entry.mode);
        let content = match &old {
            None => None,
            Some(entry) => {
                let bytes = self.whole(&target, entry, self.limits.file_bytes, &call.deadline).await?;
                let version = version(entry, &bytes);
                Some(FileContent { bytes, resolved: target.clone(), version })
            }
        };
        let bytes = transform(content)?;
        let size = bytes.len() as u64;
        if size > self.limits.file_bytes {
            return Err(errors::file_too_large(path, size, self.limits.file_bytes));
        }
        call.deadline.check()?;
        self.place.write(&target, bytes.clone(), mode, &call.deadline).await?;
        self.updated(target, old.is_none(), &bytes, size, call).await
    }

    /// What is there after a change.
    async fn updated(
        &self,
        path: VirtualPath,
        created: bool,
        content: &[u8],
        size: u64,
        call: &Call,
    ) -> Result<Updated> {
        // Done is done: what cannot be looked at any more is described by what was written.
        let entry = self.entry(&path, &call.deadline).await.ok().flatten();
        let entry = entry.unwrap_or_else(|| Entry::new("", FileKind::File));
        let version = crate::backend::FileVersion { size, ..version(&entry, content) };
        Ok(Updated { created, size, resolved: path, version })
    }

    /// The file to be changed, if it is there, and where it lies. Asks the guard about everything that will be made.
    async fn writable_file(
        &self,
        path: &VirtualPath,
        operation: Operation,
        missing: Missing,
        call: &Call,
    ) -> Result<(Option<Entry>, VirtualPath)> {
        match self.locate(path, &call.deadline).await? {
            Located::Entry(entry) if entry.kind == FileKind::File => {
                let target = resolved(&entry, path);
                if target != *path {
                    call.guard.check(operation, &target)?;
                }
                Ok((Some(entry), target))
            }
            Located::Entry(entry) => Err(not_a_file(path, entry.kind)),
            Located::Blocked { names } => Err(errors::not_a_directory(path, names)),
            Located::Missing { .. } if missing == Missing::Refuse => Err(errors::not_found(path)),
            Located::Missing { existing } => {
                self.check_creation(path, &existing, call)?;
                Ok((None, path.clone()))
            }
        }
    }

    /// Asks about each directory that would be made between `existing` and `path` (R-FS-3).
    fn check_creation(&self, path: &VirtualPath, existing: &VirtualPath, call: &Call) -> Result<()> {
        let mut next = path.parent();
        while let Some(directory) = next.filter(|directory| directory != existing && directory.is_within(existing)) {
            call.guard.check(Operation::Write, &directory)?;
            next = directory.parent();
        }
        Ok(())
    }

    async fn append_now(&self, path: &VirtualPath, content: Vec<u8>, call: &Call) -> Result<Updated> {
        if !self.abilities.append {
            let transform: Transform = Box::new(move |old| {
                let mut bytes = old.map(|old| old.bytes).unwrap_or_default();
                bytes.extend_from_slice(&content);
                Ok(bytes)
            });
            return self.update_now(path, Operation::Write, Missing::Create, transform, call).await;
        }
        self.begin(call)?;
        call.guard.check(Operation::Write, path)?;
        let _lock = tokio::select! {
            lock = self.locks.lock(path) => lock,
            error = call.deadline.reached() => return Err(error),
        };
        let (old, target) = self.writable_file(path, Operation::Write, Missing::Create, call).await?;
        let size = old.as_ref().map_or(0, |entry| entry.size) + content.len() as u64;
        if !content.is_empty() || old.is_none() {
            self.place.append(&target, content, &call.deadline).await?;
        }
        let entry = self.entry(&target, &call.deadline).await?;
        let size = entry.map_or(size, |entry| entry.size);
        self.updated(target, old.is_none(), &[], size, call).await
    }

    async fn make_directory_now(&self, path: &VirtualPath, call: &Call) -> Result<bool> {
        self.begin(call)?;
        call.guard.check(Operation::Write, path)?;
        match self.locate(path, &call.deadline).await? {
            Located::Entry(entry) if entry.kind == FileKind::Directory => Ok(false),
            Located::Entry(_) => Err(errors::already_a_file(path)),
            Located::Blocked { names } => Err(errors::not_a_directory(path, names)),
            Located::Missing { existing } => {
                self.check_creation(path, &existing, call)?;
                self.place.make_directory(path, &call.deadline).await?;
                Ok(true)
            }
        }
    }

    async fn remove_now(&self, path: &VirtualPath, recursive: bool, call: &Call) -> Result<u64> {
        self.begin(call)?;
        call.guard.check(Operation::Delete, path)?;
        let entry = self.movable(path, call).await?;
        // A link is removed itself.
        if entry.kind != FileKind::Directory || entry.resolved.is_some() {
            self.place.remove(path, false, &call.deadline).await?;
            return Ok(1);
        }
        let below = self.below(path, recursive, call).await?;
        if !recursive && !below.is_empty() {
            return Err(errors::directory_not_empty(path, below.len()));
        }
        for entry in &below {
            call.guard.check(Operation::Delete, &entry.path)?;
        }
        self.place.remove(path, recursive, &call.deadline).await?;
        Ok(below.len() as u64 + 1)
    }

    /// The entry at `path`, which has a name that can be taken away.
    async fn movable(&self, path: &VirtualPath, call: &Call) -> Result<Entry> {
        if path.is_root() {
            return Err(errors::is_the_root());
        }
        match self.locate(path, &call.deadline).await? {
            Located::Entry(entry) => Ok(entry),
            Located::Missing { .. } => Err(errors::not_found(path)),
            Located::Blocked { names } => Err(errors::not_a_directory(path, names)),
        }
    }

    /// The directory that is nearest to `path`, at which nothing must be.
    async fn free_name(&self, path: &VirtualPath, call: &Call) -> Result<VirtualPath> {
        match self.locate(path, &call.deadline).await? {
            Located::Missing { existing } => Ok(existing),
            Located::Entry(_) => Err(errors::already_exists(path)),
            Located::Blocked { names } => Err(errors::not_a_directory(path, names)),
        }
    }

    /// Everything below a directory, each directory before what it holds; only its own entries unless `deep`.
    async fn below(&self, path: &VirtualPath, deep: bool, call: &Call) -> Result<Vec<Below>> {
        if !self.abilities.list {
            return Err(cannot_error("list directories, so directories cannot be moved or removed", path));
        }
        let mut found = Vec::new();
        let mut open = vec![path.clone()];
        while let Some(directory) = open.pop() {
            for entry in self.place.list(&directory, &call.deadline).await? {
                if !entry.is_exact {
                    let message =
                        format!("'{directory}' holds a name that is not UTF-8; it cannot be moved or removed here.");
                    return Err(Error::new(ErrorKind::Unsupported, message).with_path(directory.as_str()));
                }
                let path = directory.join(&entry.name)?;
                if deep && entry.kind == FileKind::Directory && !entry.is_link {
                    open.push(path.clone());
                }
                found.push(Below { path, kind: if entry.is_link { FileKind::Symlink } else { entry.kind } });
                if found.len() > MAX_TREE {
                    return Err(Error::invalid(format!(
                        "'{path}' holds more than {MAX_TREE} entries; take its directories one by one.",
                        path = found.first().map_or("it", |below| below.path.as_str())
                    )));
                }
            }
        }
        Ok(found)
    }

    async fn rename_now(&self, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<()> {
        self.begin(call)?;
        check_move(&*call.guard, from, to)?;
        let entry = self.movable(from, call).await?;
        if to.is_within(from) {
            return Err(errors::into_itself(from, to));
        }
        let existing = self.free_name(to, call).await?;
        self.check_creation(to, &existing, call)?;
        let is_tree = entry.kind == FileKind::Directory && entry.resolved.is_none();
        let in_steps = !self.abilities.rename;
        let below = if is_tree && (in_steps || !call.guard.is_open()) {
            self.below(from, true, call).await?
        } else {
            Vec::new()
        };
        let mut moves = Vec::with_capacity(below.len());
        for entry in below {
            let to = VirtualPath::parse(entry.path.relative_to(from).unwrap_or_default(), to)?;
            check_move(&*call.guard, &entry.path, &to)?;
            moves.push((entry, to));
        }
        if !in_steps {
            self.make_parents(to, &existing, call).await?;
            return self.place.rename(from, to, &call.deadline).await;
        }
        if !self.abilities.remove {
            return Err(cannot_error("move or remove files", from));
        }
        if is_tree {
            self.place.make_directory(to, &call.deadline).await?;
        } else {
            self.copy_bytes(from, &entry, to, call).await?;
        }
        for (entry, to) in moves {
            match entry.kind {
                FileKind::Directory => self.place.make_directory(&to, &call.deadline).await?,
                FileKind::File => {
                    let Some(found) = self.entry(&entry.path, &call.deadline).await? else { continue };
                    self.copy_bytes(&entry.path, &found, &to, call).await?;
                }
                kind @ (FileKind::Symlink | FileKind::Other) => return Err(not_a_file(&entry.path, kind)),
            }
        }
        self.place.remove(from, is_tree, &call.deadline).await
    }

    async fn make_parents(&self, path: &VirtualPath, existing: &VirtualPath, call: &Call) -> Result<()> {
        match path.parent() {
            Some(parent) if parent != *existing && self.abilities.make_directory => {
                self.place.make_directory(&parent, &call.deadline).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Copies a file by reading and writing it. Returns its bytes.
    async fn copy_bytes(&self, from: &VirtualPath, entry: &Entry, to: &VirtualPath, call: &Call) -> Result<u64> {
        let bytes = self.whole(from, entry, self.limits.file_bytes, &call.deadline).await?;
        let size = bytes.len() as u64;
        self.place.write(to, bytes, entry.mode, &call.deadline).await?;
        Ok(size)
    }

    async fn copy_now(&self, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<u64> {
        self.begin(call)?;
        call.guard.check(Operation::Write, to)?;
        let (entry, source) = self.file(from, call).await?;
        let existing = self.free_name(to, call).await?;
        self.check_creation(to, &existing, call)?;
        if self.abilities.copy {
            self.make_parents(to, &existing, call).await?;
            self.place.copy(&source, to, &call.deadline).await?;
            return Ok(entry.size);
        }
        self.copy_bytes(&source, &entry, to, call).await
    }
}

impl WritableFileSystem for RemoteBackend {
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(self.update_now(path, operation, missing, transform, call))
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(self.append_now(path, content, call))
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.make_directory_now(path, call))
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.remove_now(path, recursive, call))
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.rename_now(from, to, call))
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.copy_now(from, to, call))
    }
}
