//! [`Remote`]: the traits of a backend over a connection. Which connection, is asked anew for each call: it may have been
//! lost, or never made. Where no guest can be there is another backend instead, which takes the calls as they are.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::answers::Ours;
use super::believe::{Believe, nonsense, outcome, slice};
use super::beside;
use super::connection::{Connection, Stopped};
use super::message::{Command, Method, Terminal};
use super::whole::Whole;
use crate::access::Operation;
use crate::backend::capture::Capture;
use crate::backend::process::{Process, ProcessOptions, process};
use crate::backend::{
    Backend, BoxFuture, Call, ExecuteOutcome, ExecuteRequest, FileContent, FileInfo, FileSlice, FileSystem, Listing,
    Missing, Resolution, Shell, TerminalRequest, Transform, Updated, Window, WritableFileSystem,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{
    FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery, pattern_fault,
};

/// Whoever has, or makes, the connection.
pub trait Link: Send + Sync {
    /// A connection for one call, made if there is none.
    fn lease<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Lease>>;

    /// What `~` is in a command, once that is known.
    fn home(&self) -> Option<String> {
        None
    }
}

/// Who answers.
#[derive(Clone)]
pub enum Line {
    /// A guest at the other end.
    Guest(Arc<Connection>),
    /// A backend of this process, where no guest can be.
    Here(Arc<dyn Backend>),
}

/// Whoever answers, lent for one call.
pub struct Lease {
    line: Line,
    _held: Option<Box<dyn Send + Sync>>,
}

impl Lease {
    /// `held` is dropped when the call is over.
    pub fn new(line: Line, held: Option<Box<dyn Send + Sync>>) -> Self {
        Self { line, _held: held }
    }

    /// The backend of this process, where it answers.
    fn here(&self) -> Option<&dyn Backend> {
        match &self.line {
            Line::Guest(_) => None,
            Line::Here(backend) => Some(&**backend),
        }
    }

    /// The guest, where it answers. Whoever asks has asked for the other one first.
    pub(super) fn guest(&self) -> Result<&Connection> {
        match &self.line {
            Line::Guest(connection) => Ok(connection),
            Line::Here(_) => Err(Error::internal("A call for a guest went astray.")),
        }
    }
}

/// What a backend of this process has of these; its own words where it has not.
fn writer(backend: &dyn Backend) -> Result<&dyn WritableFileSystem> {
    backend.writer().ok_or_else(|| Error::new(ErrorKind::PathNotWritable, "Nothing can be written here."))
}

fn shell(backend: &dyn Backend) -> Result<&dyn Shell> {
    backend.shell().ok_or_else(|| Error::new(ErrorKind::Unsupported, backend.no_shell_reason().to_owned()))
}

/// Files and a shell behind a [`Link`].
pub struct Remote<L> {
    link: L,
    working_directory: VirtualPath,
    limits: Limits,
}

impl<L: Link> Remote<L> {
    /// Everything from `/` on, relative paths from `working_directory` on.
    pub fn new(link: L, working_directory: VirtualPath, limits: Limits) -> Self {
        Self { link, working_directory, limits }
    }

    /// Whoever has the connection.
    pub fn link(&self) -> &L {
        &self.link
    }

    async fn ask<T: DeserializeOwned>(&self, lease: &Lease, method: Method, call: &Call) -> Result<T> {
        self.with_body(lease, method, call).await.map(|(value, _)| value)
    }

    async fn with_body<T: DeserializeOwned>(&self, lease: &Lease, method: Method, call: &Call) -> Result<(T, Vec<u8>)> {
        let (guest, bound) = (lease.guest()?, Some(self.limits.call_timeout));
        let (value, body) = guest.call(method, &[], call, bound, Stopped::Leaves, Ours::default()).await?;
        Ok((guest.decode(value)?, body))
    }

    async fn search<T: DeserializeOwned>(&self, lease: &Lease, method: Method, call: &Call) -> Result<T> {
        let (guest, bound) = (lease.guest()?, Some(self.limits.search_timeout));
        guest.decode(guest.call(method, &[], call, bound, Stopped::Leaves, Ours::default()).await?.0)
    }

    async fn change<T: DeserializeOwned>(
        &self,
        lease: &Lease,
        method: Method,
        body: &[u8],
        call: &Call,
        ours: Ours,
    ) -> Result<T> {
        let (guest, bound) = (lease.guest()?, Some(self.limits.call_timeout));
        guest.decode(guest.call(method, body, call, bound, Stopped::AsksForTheTruth, ours).await?.0)
    }
}

impl<L: Link> FileSystem for Remote<L> {
    fn working_directory(&self) -> &VirtualPath {
        &self.working_directory
    }

    fn readable_roots(&self) -> Vec<String> {
        vec!["/".to_owned()]
    }

    fn writable_roots(&self) -> Vec<String> {
        vec!["/".to_owned()]
    }

    fn mounts_ask(&self) -> bool {
        false
    }

    fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => backend.files().resolve(path, call).await,
                None => self.ask(&lease, Method::Resolve { path: path.clone() }, call).await,
            }
        })
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => backend.files().stat(path, call).await,
                None => {
                    let told: Option<FileInfo> = self.ask(&lease, Method::Stat { path: path.clone() }, call).await?;
                    told.map(|told| told.believed(1)).transpose()
                }
            }
        })
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => backend.files().list(path, depth, call).await,
                None => {
                    let told: Listing = self.ask(&lease, Method::List { path: path.clone(), depth }, call).await?;
                    told.believed(self.limits.list_entries)
                }
            }
        })
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            if let Some(backend) = lease.here() {
                return backend.files().read(path, window, call).await;
            }
            let method = Method::Read { path: path.clone(), window };
            let (told, body): (FileSlice, _) = self.with_body(&lease, method, call).await?;
            slice(told, String::from_utf8(body).map_err(|_| nonsense())?, &window)
        })
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            if let Some(backend) = lease.here() {
                return backend.files().read_bytes(path, max_bytes, call).await;
            }
            let method = Method::ReadBytes { path: path.clone(), max_bytes };
            let (mut content, body): (FileContent, _) = self.with_body(&lease, method, call).await?;
            if body.len() as u64 > max_bytes {
                return Err(nonsense());
            }
            content.bytes = body;
            Ok(content)
        })
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => backend.files().glob(query, call).await,
                None => {
                    let told: GlobOutcome = self.search(&lease, Method::Glob(query.clone()), call).await?;
                    told.believed(query.limit.min(self.limits.glob_paths))
                }
            }
        })
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => backend.files().grep(query, call).await,
                None => {
                    let told = self.search(&lease, Method::Grep(query.clone()), call).await;
                    // A guest's words are one line; ours show the place in the pattern.
                    let told: GrepOutcome = told.map_err(|error| match error.kind() {
                        ErrorKind::InvalidInput => pattern_fault(query).unwrap_or(error),
                        _ => error,
                    })?;
                    // The files of a page of matches are all files that were looked at for it.
                    told.believed(query.offset.saturating_add(query.limit).max(self.limits.grep_matches))
                }
            }
        })
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => backend.files().find(query, call).await,
                None => {
                    let told: FindOutcome = self.search(&lease, Method::Find(query.clone()), call).await?;
                    told.believed(query.limit.min(self.limits.glob_paths))
                }
            }
        })
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => backend.files().outline(query, call).await,
                None => {
                    let told: Outline = self.search(&lease, Method::Outline(query.clone()), call).await?;
                    told.believed(self.limits.list_entries)
                }
            }
        })
    }
}

impl<L: Link> WritableFileSystem for Remote<L> {
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            if let Some(backend) = lease.here() {
                return writer(backend)?.update(path, operation, missing, transform, call).await;
            }
            let ours = Ours { transform: Some(transform), ..Ours::default() };
            let method = Method::Update { path: path.clone(), operation, missing };
            self.change::<Updated>(&lease, method, &[], call, ours).await?.believed(1)
        })
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => writer(backend)?.append(path, content, call).await,
                None => {
                    let method = Method::Append { path: path.clone() };
                    self.change::<Updated>(&lease, method, &content, call, Ours::default()).await?.believed(1)
                }
            }
        })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => writer(backend)?.make_directory(path, call).await,
                None => {
                    self.change(&lease, Method::MakeDirectory { path: path.clone() }, &[], call, Ours::default()).await
                }
            }
        })
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => writer(backend)?.remove(path, recursive, call).await,
                None => {
                    let method = Method::Remove { path: path.clone(), recursive };
                    self.change::<u64>(&lease, method, &[], call, Ours::default()).await?.believed(1)
                }
            }
        })
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => writer(backend)?.rename(from, to, call).await,
                None => {
                    self.change(
                        &lease,
                        Method::Rename { from: from.clone(), to: to.clone() },
                        &[],
                        call,
                        Ours::default(),
                    )
                    .await
                }
            }
        })
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let lease = self.link.lease(call).await?;
            match lease.here() {
                Some(backend) => writer(backend)?.copy(from, to, call).await,
                None => {
                    let method = Method::Copy { from: from.clone(), to: to.clone() };
                    self.change::<u64>(&lease, method, &[], call, Ours::default()).await?.believed(1)
                }
            }
        })
    }
}

impl<L: Link> Shell for Remote<L> {
    fn home(&self) -> Option<String> {
        self.link.home()
    }

    fn execute<'a>(&'a self, mut request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            request.working_directory.get_or_insert_with(|| self.working_directory.clone());
            let lease = self.link.lease(call).await?;
            if let Some(backend) = lease.here() {
                return shell(backend)?.execute(request, call).await;
            }
            let bound = request.timeout;
            let (command, stdin, on_output, spill) = Command::of(request);
            let whole = Whole::of(spill);
            let ours = Ours { on_output, whole: whole.clone(), ..Ours::default() };
            let method = Method::Execute(command);
            let guest = lease.guest()?;
            let told = guest.call(method, &stdin, call, bound, Stopped::AsksForTheTruth, ours).await?.0;
            let told = outcome(guest.decode(told)?, self.limits.output_bytes);
            let (spill_path, spill_bytes) = whole.told();
            Ok(ExecuteOutcome { spill_path, spill_bytes, ..told })
        })
    }

    fn start<'a>(&'a self, mut request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            request.working_directory.get_or_insert_with(|| self.working_directory.clone());
            let lease = self.link.lease(call).await?;
            if let Some(backend) = lease.here() {
                return shell(backend)?.start(request, call).await;
            }
            // All of its output comes here anyway.
            let spill = request.spill.take();
            let (command, stdin, sink, _) = Command::of(request);
            let capture = Capture::new(self.limits.output_bytes, None, spill);
            let halves = process(Some(capture), ProcessOptions { sink, tap: None });
            beside::start(lease, Method::Start(command), &stdin, call, self.limits.call_timeout, halves).await
        })
    }

    fn open_terminal<'a>(&'a self, mut request: TerminalRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            request.working_directory.get_or_insert_with(|| self.working_directory.clone());
            let lease = self.link.lease(call).await?;
            if let Some(backend) = lease.here() {
                return shell(backend)?.open_terminal(request, call).await;
            }
            let (terminal, tap) = Terminal::of(request);
            let halves = process(None, ProcessOptions { sink: None, tap });
            beside::start(lease, Method::OpenTerminal(terminal), &[], call, self.limits.call_timeout, halves).await
        })
    }

    fn has_terminals(&self) -> bool {
        true
    }
}
