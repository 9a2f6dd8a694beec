//! [`LocalBackend`]: the traits of a backend over the machinery of this folder. Each file operation is one blocking
//! task, but for what is as short as the read of a small file: see `inline.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[cfg(unix)]
use super::commands::LocalShell;
use super::debris::{self, Cleaned};
use super::facts::size_of;
use super::inline::{self, Turn};
use super::listings::Listings;
#[cfg(windows)]
use super::no_commands::LocalShell;
use super::open::{Opened, open};
use super::options::{Confinement, Durability, LocalOptions};
use super::resolve::{OpenFile, Resolver, Strategy};
use super::update::{Attempt, Pace, append, update};
use super::{at_hand, list, read, stream, transfer, tree, walk};
use crate::access::Operation;
use crate::backend::stream::{FileReader, FileWriter};
use crate::backend::{
    Backend, BoxFuture, Call, FileContent, FileInfo, FileSlice, FileSystem, Listing, Missing, Resolution, Shell,
    Transform, Updated, Window, WritableFileSystem,
};
use crate::blocking::blocking;
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::lent;
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::sandbox::not_writable;
use crate::search::{FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery};

/// 1 s after its deadline a search that has not answered is left alone: a pattern made to be slow may take this long
/// over one piece of one file.
const SEARCH_GRACE: Duration = Duration::from_secs(1);

/// Files of this machine, and perhaps its shell, behind the walls of [`LocalOptions`].
#[derive(Debug)]
pub struct LocalBackend {
    id: String,
    inner: Arc<Inner>,
    shell: Option<LocalShell>,
    no_shell_reason: &'static str,
}

/// What the blocking tasks share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) resolver: Resolver,
    pub(super) limits: Limits,
    pub(super) durability: Durability,
    pub(super) writable: bool,
    pub(super) working_directory: VirtualPath,
    pub(super) cleaned: Cleaned,
    pub(super) listings: Listings,
    pub(super) closed: CancelToken,
    /// Whether reads cannot hang: see `inline.rs`.
    pub(super) near: bool,
}

impl LocalBackend {
    /// Opens the directories that `options` name and keeps them open. `InvalidInput` when one is missing or is no
    /// directory (none is made), when both kinds of walls are given, or when a variable can be in no environment.
    pub fn new(options: LocalOptions) -> Result<Self> {
        let resolver = |Opened { table, roots, working_directory }| {
            (Resolver::new(table, roots, Strategy::of_process()), working_directory)
        };
        Self::with_resolver(options, resolver)
    }

    /// A backend that follows names by `strategy`, whatever the process chose.
    #[cfg(test)]
    pub(super) fn with_strategy(options: LocalOptions, strategy: Strategy) -> Result<Self> {
        Self::with_resolver(options, |Opened { table, roots, working_directory }| {
            (Resolver::new(table, roots, strategy), working_directory)
        })
    }

    /// Device and number of each mount's directory, as it was opened.
    #[cfg(feature = "docker")]
    pub(crate) fn identities(&self) -> Vec<Option<(u64, u64)>> {
        self.inner.resolver.identities()
    }

    /// What the blocking tasks share.
    #[cfg(all(test, target_os = "linux", not(feature = "portable")))]
    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// A backend whose resolver is changed first.
    #[cfg(test)]
    pub(super) fn with_changed(
        options: LocalOptions,
        strategy: Strategy,
        change: impl FnOnce(Resolver) -> Resolver,
    ) -> Result<Self> {
        Self::with_resolver(options, |Opened { table, roots, working_directory }| {
            (change(Resolver::new(table, roots, strategy)), working_directory)
        })
    }

    /// Opens a regular file for reading, on the caller's thread, which it blocks for a few system calls. The mounts
    /// judge it as [`FileSystem::read`] does; there is no call, and no guard.
    pub fn open_file(&self, path: &VirtualPath) -> Result<std::fs::File> {
        self.inner.require_open()?;
        read::open(&self.inner, path, Operation::Read, &Call::default()).map(|file| file.handle.into())
    }

    fn with_resolver(options: LocalOptions, resolver: impl FnOnce(Opened) -> (Resolver, VirtualPath)) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (resolver, working_directory) = resolver(open(&options)?);
        let inner = Arc::new(Inner {
            near: inline::are_near(resolver.hosts()),
            writable: !resolver.table().writable_roots().is_empty(),
            resolver,
            working_directory,
            durability: options.durability,
            cleaned: Cleaned::default(),
            listings: Listings::default(),
            closed: CancelToken::new(),
            limits: options.limits.clone(),
        });
        debris::clean_mounts(&inner);
        let no_shell_reason = no_shell_reason(&options);
        let shell = if no_shell_reason.is_empty() { Some(LocalShell::new(options, &inner)?) } else { None };
        let id = format!("local-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Ok(Self { id, inner, shell, no_shell_reason })
    }

    /// The right to do something short right here, where that is sensible.
    fn turn(&self, call: &Call) -> Result<Option<Turn>> {
        self.inner.require_open()?;
        call.deadline.check()?;
        Ok(if self.inner.near && !lent::is_lent() { Turn::take() } else { None })
    }

    /// What `look` has at once, on a thread that is lent; then whoever goes on is on another.
    async fn at_hand<T>(&self, call: &Call, look: impl FnOnce(&Inner) -> Result<Option<T>>) -> Result<Option<T>> {
        if lent::is_lent() {
            self.inner.require_open()?;
            call.deadline.check()?;
            if let Some(found) = look(&self.inner)? {
                return Ok(Some(found));
            }
            lent::give_back(|| true).await;
        }
        Ok(None)
    }

    /// Opens a file and reads it with `work`: right here when it is small, or when `looks_at_little` of a large one.
    async fn read_with<T: Send + 'static>(
        &self,
        path: &VirtualPath,
        call: &Call,
        looks_at_little: impl FnOnce(u64) -> bool,
        work: impl FnOnce(&Inner, OpenFile, &VirtualPath, &Call) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut opened = None;
        if let Some(turn) = self.turn(call)? {
            let file = turn.run(|| read::open(&self.inner, path, Operation::Read, call))?;
            let size = size_of(&file.facts);
            if size <= inline::MAX_BYTES || looks_at_little(size) {
                return turn.run(|| work(&self.inner, file, path, call));
            }
            opened = Some(file);
        }
        let path = path.clone();
        self.blocking(call, Waits::UntilStopped, move |inner, call| {
            let file = match opened {
                Some(file) => file,
                None => read::open(inner, &path, Operation::Read, call)?,
            };
            work(inner, file, &path, call)
        })
        .await
    }

    /// Runs `work` on a thread that may block. A read is left alone when its call must stop; what changes files is
    /// waited for, so that its answer is the truth.
    async fn blocking<T: Send + 'static>(
        &self,
        call: &Call,
        waits: Waits,
        work: impl FnOnce(&Inner, &Call) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.inner.require_open()?;
        // A search whose time is over answers with what it has, which is nothing.
        if waits != Waits::ForThePart || call.deadline.cancel.is_cancelled() {
            call.deadline.check()?;
        }
        let inner = Arc::clone(&self.inner);
        let theirs = call.clone();
        let mut task = blocking(move || work(&inner, &theirs));
        let joined = match waits {
            Waits::ForTheTruth => task.await,
            Waits::ForThePart => {
                // The work itself ends at its deadline, with what it has; this is for a look that takes too long.
                let mut patience = call.deadline.within(self.inner.limits.search_timeout);
                patience.at = patience.at.and_then(|at| at.checked_add(SEARCH_GRACE));
                tokio::select! {
                    biased;
                    joined = &mut task => joined,
                    error = patience.reached() => return Err(error),
                }
            }
            Waits::UntilStopped => tokio::select! {
                biased;
                joined = &mut task => joined,
                error = call.deadline.reached() => return Err(error),
            },
        };
        joined.map_err(|_| Error::internal("A file operation stopped unexpectedly."))?
    }
}

/// How long a call waits for its blocking task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    UntilStopped,
    /// Until an abort, or some time after the deadline: the task answers with a part of the whole by itself.
    ForThePart,
    ForTheTruth,
}

impl Inner {
    pub(super) fn require_open(&self) -> Result<()> {
        if self.closed.is_cancelled() {
            return Err(Error::new(ErrorKind::Closed, "This backend was closed; make a new one."));
        }
        Ok(())
    }

    /// The error for a path that may not be written, by the table alone.
    pub(super) fn require_writable(&self, path: &VirtualPath) -> Result<()> {
        let table = self.resolver.table();
        if table.is_virtual_directory(path) {
            return Err(not_writable(path.as_str(), &table.writable_roots()));
        }
        table.require_write(path).map(drop)
    }

    /// Bytes of the largest file that may lie at `path`.
    pub(super) fn largest(&self, path: &VirtualPath) -> u64 {
        self.resolver
            .table()
            .max_file_bytes(path)
            .map_or(self.limits.file_bytes, |limit| limit.min(self.limits.file_bytes))
    }

    /// Whether somebody is asked before reads in any mount at or below `path`.
    pub(super) fn asks_below(&self, path: &VirtualPath) -> bool {
        let table = self.resolver.table();
        table
            .mounts()
            .iter()
            .any(|mount| mount.read_approval && mount.mount_point.is_within(path) && table.can_read(&mount.mount_point))
            || table.needs_read_approval(path)
    }
}

/// Why there is no shell; empty where there is one.
fn no_shell_reason(options: &LocalOptions) -> &'static str {
    match (options.execute, &options.sandbox, options.confinement) {
        (false, _, _) => "Commands are switched off for this backend.",
        (true, _, _) if cfg!(windows) => "Commands do not run on Windows yet; use the file tools, or a container.",
        (true, Some(_), Confinement::Auto) => {
            "Commands are refused on a backend with mounts, because nothing would hold a command inside them; use the \
             file tools. An application that accepts commands without walls sets `confinement: 'none'`."
        }
        (true, Some(_), Confinement::None) | (true, None, _) => "",
    }
}

impl Backend for LocalBackend {
    fn id(&self) -> &str {
        &self.id
    }

    fn files(&self) -> &dyn FileSystem {
        self
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        if self.inner.writable { Some(self) } else { None }
    }

    fn shell(&self) -> Option<&dyn Shell> {
        self.shell.as_ref().map(|shell| shell as &dyn Shell)
    }

    fn no_shell_reason(&self) -> &str {
        self.no_shell_reason
    }

    fn reads_at_hand(&self) -> bool {
        self.inner.near
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            self.inner.closed.cancel();
            if let Some(shell) = &self.shell {
                shell.close().await;
            }
            Ok(())
        })
    }
}

impl FileSystem for LocalBackend {
    fn working_directory(&self) -> &VirtualPath {
        &self.inner.working_directory
    }

    fn readable_roots(&self) -> Vec<String> {
        self.inner.resolver.table().readable_roots()
    }

    fn writable_roots(&self) -> Vec<String> {
        self.inner.resolver.table().writable_roots()
    }

    fn changes_host(&self, host: &std::path::Path) -> bool {
        self.inner.writable && self.inner.resolver.holds_writable(host)
    }

    fn mounts_ask(&self) -> bool {
        self.inner.resolver.table().mounts().iter().any(|mount| mount.read_approval || mount.write_approval)
    }

    fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
        Box::pin(async move {
            if let Some(resolution) = self.at_hand(call, |inner| read::resolve_at_hand(inner, path)).await? {
                return Ok(resolution);
            }
            if let Some(turn) = self.turn(call)? {
                return turn.run(|| read::resolve(&self.inner, path));
            }
            let path = path.clone();
            self.blocking(call, Waits::UntilStopped, move |inner, _| read::resolve(inner, &path)).await
        })
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        Box::pin(async move {
            if let Some(turn) = self.turn(call)? {
                return turn.run(|| read::stat(&self.inner, path, call));
            }
            let path = path.clone();
            self.blocking(call, Waits::UntilStopped, move |inner, call| read::stat(inner, &path, call)).await
        })
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        let path = path.clone();
        Box::pin(self.blocking(call, Waits::UntilStopped, move |inner, call| list::list(inner, &path, depth, call)))
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        // The beginning of a file whose lines are not counted.
        let counted = self.inner.limits.count_lines_bytes;
        let is_beginning = move |size| window.offset == 0 && window.max_bytes <= inline::MAX_BYTES && size > counted;
        Box::pin(async move {
            if let Some(file) = self.at_hand(call, |inner| at_hand::file(inner, path, call)).await? {
                let mut bytes = file.bytes.as_slice();
                return read::window_in(&self.inner, &mut bytes, &file.facts, file.path, (path, window), call);
            }
            let work = move |inner: &Inner, file, path: &VirtualPath, call: &Call| {
                read::window_of(inner, file, path, window, call)
            };
            self.read_with(path, call, is_beginning, work).await
        })
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        Box::pin(async move {
            lent::give_back(|| true).await;
            let work =
                move |_: &Inner, file, path: &VirtualPath, call: &Call| read::content(file, max_bytes, path, call);
            self.read_with(path, call, |_| false, work).await
        })
    }

    fn open_reader<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Box<dyn FileReader>>> {
        let path = path.clone();
        let shared = Arc::clone(&self.inner);
        Box::pin(self.blocking(call, Waits::UntilStopped, move |inner, call| {
            let opened = read::open(inner, &path, Operation::Read, call)?;
            let size = size_of(&opened.facts);
            let file = Arc::new(std::fs::File::from(opened.handle));
            Ok(Box::new(stream::LocalReader { inner: shared, file, size, path }) as Box<dyn FileReader>)
        }))
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        let query = query.clone();
        Box::pin(self.blocking(call, Waits::ForThePart, move |inner, call| walk::glob(inner, &query, call)))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        let query = query.clone();
        Box::pin(self.blocking(call, Waits::ForThePart, move |inner, call| walk::grep(inner, &query, call)))
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        let query = query.clone();
        Box::pin(self.blocking(call, Waits::ForThePart, move |inner, call| walk::find(inner, &query, call)))
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        let query = query.clone();
        Box::pin(self.blocking(call, Waits::ForThePart, move |inner, call| walk::outline(inner, &query, call)))
    }
}

impl WritableFileSystem for LocalBackend {
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            let mut transform = transform;
            // Without waiting for the disk an edit is as short as the read of a small file, and waking two threads for it costs
            // most of what it takes. Somebody else's new content may be of any length.
            if operation == Operation::Edit && self.inner.durability == Durability::None && self.inner.near {
                lent::give_back(|| true).await;
                if let Some(turn) = self.turn(call)? {
                    let attempt = || update(&self.inner, path, operation, missing, transform, call, Pace::AtOnce);
                    match turn.run(attempt)? {
                        Attempt::Made(updated) => return Ok(updated),
                        Attempt::Later(given_back) => transform = given_back,
                    }
                }
            }
            let path = path.clone();
            self.blocking(call, Waits::ForTheTruth, move |inner, call| {
                update(inner, &path, operation, missing, transform, call, Pace::Patient)?.made(&path)
            })
            .await
        })
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        let path = path.clone();
        Box::pin(self.blocking(call, Waits::ForTheTruth, move |inner, call| append(inner, &path, content, call)))
    }

    fn open_writer<'a>(
        &'a self,
        path: &'a VirtualPath,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Option<Box<dyn FileWriter>>>> {
        Box::pin(async move {
            self.inner.require_open()?;
            let writer = stream::LocalWriter::open(Arc::clone(&self.inner), path.clone(), call).await?;
            Ok(Some(Box::new(writer) as Box<dyn FileWriter>))
        })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        let path = path.clone();
        Box::pin(self.blocking(call, Waits::ForTheTruth, move |inner, call| tree::make_directory(inner, &path, call)))
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        let path = path.clone();
        Box::pin(
            self.blocking(call, Waits::ForTheTruth, move |inner, call| tree::remove(inner, &path, recursive, call)),
        )
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        let (from, to) = (from.clone(), to.clone());
        Box::pin(self.blocking(call, Waits::ForTheTruth, move |inner, call| transfer::rename(inner, &from, &to, call)))
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        let (from, to) = (from.clone(), to.clone());
        Box::pin(self.blocking(call, Waits::ForTheTruth, move |inner, call| transfer::copy(inner, &from, &to, call)))
    }
}
