//! [`Remote`]: the traits of a backend over a connection. Which connection, is asked anew for each call: it may have been
//! lost, or never made.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::beside;
use super::connection::{Connection, Ours, Stopped};
use super::message::{Command, Method, Terminal};
use crate::access::Operation;
use crate::backend::capture::Capture;
use crate::backend::process::{Process, ProcessOptions, process};
use crate::backend::{
    BoxFuture, Call, ExecuteOutcome, ExecuteRequest, FileContent, FileInfo, FileSlice, FileSystem, Listing, Missing,
    Resolution, Shell, TerminalRequest, Transform, Updated, Window, WritableFileSystem,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery};

/// Whoever has, or makes, the connection.
pub trait Link: Send + Sync {
    /// A connection for one call, made if there is none.
    fn lease<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Lease>>;

    /// What `~` is in a command, once that is known.
    fn home(&self) -> Option<String> {
        None
    }
}

/// A connection, lent for one call.
pub struct Lease {
    connection: Arc<Connection>,
    _held: Option<Box<dyn Send + Sync>>,
}

impl Lease {
    /// `held` is dropped when the call is over.
    pub fn new(connection: Arc<Connection>, held: Option<Box<dyn Send + Sync>>) -> Self {
        Self { connection, _held: held }
    }
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
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

    async fn ask<T: DeserializeOwned>(&self, method: Method, call: &Call, bound: Option<Duration>) -> Result<T> {
        self.with_body(method, &[], call, bound, Stopped::Leaves).await.map(|(value, _)| value)
    }

    async fn change<T: DeserializeOwned>(&self, method: Method, call: &Call) -> Result<T> {
        self.with_body(method, &[], call, None, Stopped::AsksForTheTruth).await.map(|(value, _)| value)
    }

    async fn with_body<T: DeserializeOwned>(
        &self,
        method: Method,
        body: &[u8],
        call: &Call,
        bound: Option<Duration>,
        stopped: Stopped,
    ) -> Result<(T, Vec<u8>)> {
        let lease = self.link.lease(call).await?;
        lease.call(method, body, call, bound.or(Some(self.limits.call_timeout)), stopped, Ours::default()).await
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
        Box::pin(self.ask(Method::Resolve { path: path.clone() }, call, None))
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        Box::pin(self.ask(Method::Stat { path: path.clone() }, call, None))
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(self.ask(Method::List { path: path.clone(), depth }, call, None))
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        Box::pin(async move {
            let method = Method::Read { path: path.clone(), window };
            let (mut slice, body): (FileSlice, _) = self.with_body(method, &[], call, None, Stopped::Leaves).await?;
            slice.content = String::from_utf8(body).map_err(|_| nonsense())?;
            Ok(slice)
        })
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        Box::pin(async move {
            let method = Method::ReadBytes { path: path.clone(), max_bytes };
            let (mut content, body): (FileContent, _) =
                self.with_body(method, &[], call, None, Stopped::Leaves).await?;
            if body.len() as u64 > max_bytes {
                return Err(nonsense());
            }
            content.bytes = body;
            Ok(content)
        })
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        Box::pin(self.ask(Method::Glob(query.clone()), call, Some(self.limits.search_timeout)))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        Box::pin(self.ask(Method::Grep(query.clone()), call, Some(self.limits.search_timeout)))
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        Box::pin(self.ask(Method::Find(query.clone()), call, Some(self.limits.search_timeout)))
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        Box::pin(self.ask(Method::Outline(query.clone()), call, Some(self.limits.search_timeout)))
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
            let ours = Ours { transform: Some(transform), ..Ours::default() };
            let method = Method::Update { path: path.clone(), operation, missing };
            let bound = Some(self.limits.call_timeout);
            lease.call(method, &[], call, bound, Stopped::AsksForTheTruth, ours).await.map(|(value, _)| value)
        })
    }

    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>> {
        Box::pin(async move {
            let method = Method::Append { path: path.clone() };
            self.with_body(method, &content, call, None, Stopped::AsksForTheTruth).await.map(|(value, _)| value)
        })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.change(Method::MakeDirectory { path: path.clone() }, call))
    }

    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.change(Method::Remove { path: path.clone(), recursive }, call))
    }

    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.change(Method::Rename { from: from.clone(), to: to.clone() }, call))
    }

    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.change(Method::Copy { from: from.clone(), to: to.clone() }, call))
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
            let bound = request.timeout;
            let (command, stdin, on_output) = Command::of(request);
            let ours = Ours { on_output, ..Ours::default() };
            let method = Method::Execute(command);
            lease.call(method, &stdin, call, bound, Stopped::AsksForTheTruth, ours).await.map(|(value, _)| value)
        })
    }

    fn start<'a>(&'a self, mut request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            request.working_directory.get_or_insert_with(|| self.working_directory.clone());
            let lease = self.link.lease(call).await?;
            let (command, stdin, sink) = Command::of(request);
            let capture = Capture::new(self.limits.output_bytes, None, None);
            let halves = process(Some(capture), ProcessOptions { sink, tap: None });
            beside::start(lease, Method::Start(command), &stdin, call, halves).await
        })
    }

    fn open_terminal<'a>(&'a self, mut request: TerminalRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            request.working_directory.get_or_insert_with(|| self.working_directory.clone());
            let lease = self.link.lease(call).await?;
            let (terminal, tap) = Terminal::of(request);
            let halves = process(None, ProcessOptions { sink: None, tap });
            beside::start(lease, Method::OpenTerminal(terminal), &[], call, halves).await
        })
    }

    fn has_terminals(&self) -> bool {
        true
    }
}

fn nonsense() -> Error {
    Error::new(ErrorKind::BackendUnavailable, "The container answered with what was not asked for.")
}
