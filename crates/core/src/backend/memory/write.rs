//! Writing. One change at a time: it is worked out beside the tree, then put in place at once, so that a reader sees the
//! old or the new and an error leaves everything as it was.

use std::sync::Arc;

use super::StateBackend;
use super::errors;
use super::tree::{Node, Place, Stored, Tree};
use crate::access::{Operation, check_move};
use crate::backend::{BoxFuture, Call, FileContent, Missing, Transform, Updated, WritableFileSystem};
use crate::error::Result;
use crate::path::VirtualPath;

impl StateBackend {
    fn update_now(
        &self,
        path: &VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &Call,
    ) -> Result<Updated> {
        self.begin(call)?;
        let _changing = self.changing.lock();
        let old = {
            let tree = self.tree.read();
            check_creation(&tree, path, operation, call)?;
            match tree.find(path) {
                Place::File(file) => Some(Arc::clone(file)),
                Place::Directory(_) => return Err(errors::not_a_file(path)),
                Place::Missing { .. } => None,
                Place::Blocked { names } => return Err(errors::not_a_directory(path, names)),
            }
        };
        let old = match (old, missing) {
            (None, Missing::Refuse) => return Err(errors::not_found(path)),
            (None, Missing::Create) => None,
            (Some(file), Missing::Create | Missing::Refuse) => {
                Some(FileContent { bytes: file.bytes.clone(), resolved: path.clone(), version: file.version() })
            }
        };
        let bytes = transform(old)?;
        let stored = self.tree.write().put(path, bytes, None, &self.quotas)?;
        Ok(updated(path, stored))
    }

    fn append_now(&self, path: &VirtualPath, content: Vec<u8>, call: &Call) -> Result<Updated> {
        self.begin(call)?;
        let _changing = self.changing.lock();
        let mut tree = self.tree.write();
        check_creation(&tree, path, Operation::Write, call)?;
        let stored = tree.append(path, content, &self.quotas)?;
        Ok(updated(path, stored))
    }

    fn make_directory_now(&self, path: &VirtualPath, call: &Call) -> Result<bool> {
        self.begin(call)?;
        let _changing = self.changing.lock();
        let mut tree = self.tree.write();
        check_creation(&tree, path, Operation::Write, call)?;
        tree.make_directory(path, &self.quotas)
    }

    fn remove_now(&self, path: &VirtualPath, recursive: bool, call: &Call) -> Result<u64> {
        self.begin(call)?;
        let _changing = self.changing.lock();
        let mut tree = self.tree.write();
        check_subtree(&tree, path, None, call)?;
        tree.remove(path, recursive)
    }

    fn rename_now(&self, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<()> {
        self.begin(call)?;
        let _changing = self.changing.lock();
        let mut tree = self.tree.write();
        check_subtree(&tree, from, Some(to), call)?;
        check_creation(&tree, to, Operation::Write, call)?;
        tree.rename(from, to, &self.quotas)
    }

    fn copy_now(&self, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<u64> {
        self.begin(call)?;
        let _changing = self.changing.lock();
        let mut tree = self.tree.write();
        call.guard.check(Operation::Read, from)?;
        check_creation(&tree, to, Operation::Write, call)?;
        tree.copy(from, to, &self.quotas)
    }
}

/// Asks about `path`, and about each directory that would be made on the way to it (R-FS-3).
fn check_creation(tree: &Tree, path: &VirtualPath, operation: Operation, call: &Call) -> Result<()> {
    call.guard.check(operation, path)?;
    if call.guard.is_open() {
        return Ok(());
    }
    let mut next = path.parent();
    while let Some(directory) = next {
        match tree.find(&directory) {
            Place::Missing { .. } => call.guard.check(Operation::Write, &directory)?,
            Place::File(_) | Place::Directory(_) | Place::Blocked { .. } => break,
        }
        next = directory.parent();
    }
    Ok(())
}

/// Asks about everything at and below `from`, which is taken away, and about where it would go: a rule for a file holds
/// when a directory above it moves (R-FS-3).
fn check_subtree(tree: &Tree, from: &VirtualPath, to: Option<&VirtualPath>, call: &Call) -> Result<()> {
    let check = |from: &VirtualPath, to: Option<&VirtualPath>| {
        to.map_or_else(|| call.guard.check(Operation::Delete, from), |to| check_move(&*call.guard, from, to))
    };
    check(from, to)?;
    let Place::Directory(directory) = tree.find(from) else { return Ok(()) };
    if call.guard.is_open() {
        return Ok(());
    }
    let mut open = vec![(directory, from.clone(), to.cloned())];
    while let Some((directory, from, to)) = open.pop() {
        for (name, node) in directory.entries.iter() {
            let from = from.join(name)?;
            let to = to.as_ref().map(|to| to.join(name)).transpose()?;
            check(&from, to.as_ref())?;
            if let Node::Directory(directory) = node {
                open.push((directory, from, to));
            }
        }
    }
    Ok(())
}

fn updated(path: &VirtualPath, stored: Stored) -> Updated {
    Updated { created: stored.created, size: stored.version.size, resolved: path.clone(), version: stored.version }
}

impl WritableFileSystem for StateBackend {
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            self.mind_the_writer(path).await;
            self.update_now(path, operation, missing, transform, call)
        })
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            self.mind_the_writer(path).await;
            self.append_now(path, content, call)
        })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            self.mind_the_caller(0).await;
            self.make_directory_now(path, call)
        })
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            self.mind_the_caller(0).await;
            self.remove_now(path, recursive, call)
        })
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.mind_the_caller(0).await;
            self.rename_now(from, to, call)
        })
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            self.mind_the_writer(from).await;
            self.copy_now(from, to, call)
        })
    }
}
