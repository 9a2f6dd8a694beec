//! The files of a guarded backend: each method by the operation that it is.

use super::GuardedBackend;
use super::content::Shown;
use crate::access::{Access, Operation};
use crate::backend::stream::{FileReader, FileWriter};
use crate::backend::{
    BoxFuture, Call, FileContent, FileInfo, FileSlice, FileSystem, Listing, Missing, Resolution, Transform, Updated,
    Window, WritableFileSystem,
};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::search::{FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery};

impl FileSystem for GuardedBackend {
    fn working_directory(&self) -> &VirtualPath {
        self.inner.files().working_directory()
    }

    fn readable_roots(&self) -> Vec<String> {
        self.inner.files().readable_roots()
    }

    fn writable_roots(&self) -> Vec<String> {
        if self.policy.denies_all(Operation::Write) { Vec::new() } else { self.inner.files().writable_roots() }
    }

    fn changes_host(&self, host: &std::path::Path) -> bool {
        self.inner.files().changes_host(host)
    }

    fn mounts_ask(&self) -> bool {
        self.inner.files().mounts_ask()
    }

    /// Says where a path leads and nothing of what is there; judged where something is done with it.
    fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
        self.inner.files().resolve(path, call)
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        Box::pin(async move {
            let call = self.admit_path("stat", Operation::Ls, path, call).await?;
            self.inner.files().stat(path, &call).await
        })
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(async move {
            let call = self.admit_path("ls", Operation::Ls, path, call).await?;
            self.inner.files().list(path, depth, &call).await
        })
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        Box::pin(async move {
            let call = self.admit_path("read", Operation::Read, path, call).await?;
            self.inner.files().read(path, window, &call).await
        })
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        Box::pin(async move {
            let call = self.admit_path("readBytes", Operation::Read, path, call).await?;
            self.inner.files().read_bytes(path, max_bytes, &call).await
        })
    }

    fn open_reader<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Box<dyn FileReader>>> {
        Box::pin(async move {
            let call = self.admit_path("readStream", Operation::Read, path, call).await?;
            self.inner.files().open_reader(path, &call).await
        })
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        Box::pin(async move {
            let call = self.admit_path("glob", Operation::Glob, &query.path, call).await?;
            self.inner.files().glob(query, &call).await
        })
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        Box::pin(async move {
            let call = self.admit_path("grep", Operation::Grep, &query.path, call).await?;
            self.inner.files().grep(query, &call).await
        })
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        Box::pin(async move {
            let call = self.admit_path("find", Operation::Glob, &query.path, call).await?;
            self.inner.files().find(query, &call).await
        })
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        Box::pin(async move {
            let call = self.admit_path("outline", Operation::Ls, &query.path, call).await?;
            self.inner.files().outline(query, &call).await
        })
    }
}

impl GuardedBackend {
    fn inner_writer(&self) -> Result<&dyn WritableFileSystem> {
        self.inner
            .writer()
            .ok_or_else(|| Error::new(ErrorKind::PathNotWritable, "Nothing can be written in this backend."))
    }
}

impl WritableFileSystem for GuardedBackend {
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            let method = if operation == Operation::Edit { "edit" } else { "write" };
            let judged = self.judge(method, vec![Access::Path { operation, path: path.clone() }], call).await?;
            let (shown, transform) = match judged.plan.asks.is_empty() {
                true => (Shown::default(), transform),
                false => self.preview(path, missing, transform, call).await?,
            };
            let call = self.admit_judged(judged, shown, call).await?;
            self.inner_writer()?.update(path, operation, missing, transform, &call).await
        })
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            let access = Access::Path { operation: Operation::Write, path: path.clone() };
            let judged = self.judge("append", vec![access], call).await?;
            let shown = match judged.plan.asks.is_empty() {
                true => Shown::default(),
                false => self.preview_append(path, &content, call).await?,
            };
            let call = self.admit_judged(judged, shown, call).await?;
            self.inner_writer()?.append(path, content, &call).await
        })
    }

    fn open_writer<'a>(
        &'a self,
        path: &'a VirtualPath,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Option<Box<dyn FileWriter>>>> {
        Box::pin(async move {
            let access = Access::Path { operation: Operation::Write, path: path.clone() };
            let judged = self.judge("writeStream", vec![access], call).await?;
            let call = self.admit_judged(judged, Shown::unknown(), call).await?;
            self.inner_writer()?.open_writer(path, &call).await
        })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let call = self.admit_path("mkdir", Operation::Write, path, call).await?;
            self.inner_writer()?.make_directory(path, &call).await
        })
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let call = self.admit_path("remove", Operation::Delete, path, call).await?;
            self.inner_writer()?.remove(path, recursive, &call).await
        })
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let accesses = pair(&[Operation::Delete, Operation::Read], from, to);
            let call = self.admit("move", accesses, call).await?;
            self.inner_writer()?.rename(from, to, &call).await
        })
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let accesses = pair(&[Operation::Read], from, to);
            let call = self.admit("copy", accesses, call).await?;
            self.inner_writer()?.copy(from, to, &call).await
        })
    }
}

fn pair(firsts: &[Operation], from: &VirtualPath, to: &VirtualPath) -> Vec<Access> {
    let first = firsts.iter().map(|&operation| Access::Path { operation, path: from.clone() });
    first.chain([Access::Path { operation: Operation::Write, path: to.clone() }]).collect()
}
