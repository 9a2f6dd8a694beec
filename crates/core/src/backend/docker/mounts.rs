//! Files of mounts: the local backend's, each use of them counted as use of the container (D30). And commands, which begin within
//! the mounts or where the author said: where a command runs is a path like any other (R-SH-9).
//!
//! A search over a mount may take longer than an idle container is left alone, and a file that is read or written piece by
//! piece may be held for as long: while there is one, nobody ends the container under the command that it is for.

use super::container::Container;
use super::idle::Busy;
use crate::access::Operation;
use crate::backend::guest::Remote;
use crate::backend::local::LocalBackend;
use crate::backend::process::Process;
use crate::backend::stream::{FileReader, FileWriter};
use crate::backend::{
    Backend, BoxFuture, Call, ExecuteOutcome, ExecuteRequest, FileContent, FileInfo, FileSlice, FileSystem, Listing,
    Missing, Resolution, Shell, TerminalRequest, Transform, Updated, Window, WritableFileSystem,
};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::search::{FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery};

/// The mounts of a container.
pub(super) struct Mounts {
    local: LocalBackend,
    container: Container,
    /// Where commands run: in the container, as without mounts.
    commands: Remote<Container>,
}

impl Mounts {
    /// The files of `local`, and the commands of the container.
    pub(super) fn new(local: LocalBackend, commands: Remote<Container>) -> Self {
        Self { local, container: commands.link().clone(), commands }
    }

    pub(super) fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.local.close()
    }

    /// Whether there is anything to write to.
    pub(super) fn writes(&self) -> bool {
        self.local.writer().is_some()
    }

    fn files(&self) -> &dyn FileSystem {
        self.local.files()
    }

    /// A writer is handed out only where there is one ([`Mounts::writes`]).
    fn writer(&self) -> Result<&dyn WritableFileSystem> {
        let none = || Error::new(ErrorKind::PathNotWritable, "Nothing can be written here: the files are read-only.");
        self.local.writer().ok_or_else(none)
    }

    /// Refuses a directory for a command that no file tool would be given. One that is missing is for the container to say.
    async fn check_place(&self, asked: Option<&VirtualPath>, call: &Call) -> Result<()> {
        match asked.filter(|path| *path != self.working_directory()) {
            Some(path) => self.files().resolve(path, call).await.map(drop),
            None => Ok(()),
        }
    }

    /// `work` as a call that runs.
    fn busy<'a, T: 'a>(&self, work: BoxFuture<'a, Result<T>>) -> BoxFuture<'a, Result<T>> {
        let busy = Busy::new(&self.container);
        Box::pin(async move {
            let _busy = busy;
            work.await
        })
    }

    fn change<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&'a dyn WritableFileSystem) -> BoxFuture<'a, Result<T>>,
    ) -> BoxFuture<'a, Result<T>> {
        match self.writer() {
            Ok(writer) => self.busy(work(writer)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl FileSystem for Mounts {
    /// Where commands run, so that a relative path is the same file to both.
    fn working_directory(&self) -> &VirtualPath {
        self.commands.working_directory()
    }

    fn readable_roots(&self) -> Vec<String> {
        self.files().readable_roots()
    }

    fn writable_roots(&self) -> Vec<String> {
        self.files().writable_roots()
    }

    fn changes_host(&self, host: &std::path::Path) -> bool {
        self.files().changes_host(host)
    }

    fn mounts_ask(&self) -> bool {
        self.files().mounts_ask()
    }

    fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
        self.busy(self.files().resolve(path, call))
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        self.busy(self.files().stat(path, call))
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        self.busy(self.files().list(path, depth, call))
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        self.busy(self.files().read(path, window, call))
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        self.busy(self.files().read_bytes(path, max_bytes, call))
    }

    fn open_reader<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Box<dyn FileReader>>> {
        Box::pin(async move {
            let busy = Busy::new(&self.container);
            let reader = self.files().open_reader(path, call).await?;
            Ok(Box::new(Held { inner: reader, _busy: busy }) as Box<dyn FileReader>)
        })
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        self.busy(self.files().glob(query, call))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        self.busy(self.files().grep(query, call))
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        self.busy(self.files().find(query, call))
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        self.busy(self.files().outline(query, call))
    }
}

impl WritableFileSystem for Mounts {
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>> {
        self.change(|writer| writer.update(path, operation, missing, transform, call))
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        self.change(|writer| writer.append(path, content, call))
    }

    fn open_writer<'a>(
        &'a self,
        path: &'a VirtualPath,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Option<Box<dyn FileWriter>>>> {
        Box::pin(async move {
            let busy = Busy::new(&self.container);
            let writer = self.writer()?.open_writer(path, call).await?;
            Ok(writer.map(|inner| Box::new(Held { inner, _busy: busy }) as Box<dyn FileWriter>))
        })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        self.change(|writer| writer.make_directory(path, call))
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        self.change(|writer| writer.remove(path, recursive, call))
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        self.change(|writer| writer.rename(from, to, call))
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        self.change(|writer| writer.copy(from, to, call))
    }
}

impl Shell for Mounts {
    fn execute<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            self.check_place(request.working_directory.as_ref(), call).await?;
            self.commands.execute(request, call).await
        })
    }

    fn start<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            self.check_place(request.working_directory.as_ref(), call).await?;
            self.commands.start(request, call).await
        })
    }

    fn open_terminal<'a>(&'a self, request: TerminalRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            self.check_place(request.working_directory.as_ref(), call).await?;
            self.commands.open_terminal(request, call).await
        })
    }

    fn has_terminals(&self) -> bool {
        self.commands.has_terminals()
    }

    fn home(&self) -> Option<String> {
        self.commands.home()
    }
}

/// A file that is open: as long as somebody holds it, the container is used.
struct Held<T: ?Sized> {
    _busy: Busy,
    inner: Box<T>,
}

impl FileReader for Held<dyn FileReader> {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read<'a>(&'a mut self, offset: u64, length: usize, call: &'a Call) -> BoxFuture<'a, Result<Vec<u8>>> {
        self.inner.read(offset, length, call)
    }
}

impl FileWriter for Held<dyn FileWriter> {
    fn write<'a>(&'a mut self, bytes: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        self.inner.write(bytes, call)
    }

    fn finish<'a>(self: Box<Self>, call: &'a Call) -> BoxFuture<'a, Result<Updated>>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let Self { inner, _busy } = *self;
            inner.finish(call).await
        })
    }

    fn abandon<'a>(self: Box<Self>) -> BoxFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move {
            let Self { inner, _busy } = *self;
            inner.abandon().await;
        })
    }
}
