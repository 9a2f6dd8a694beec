//! The shell of a local backend: its commands run in a directory that the resolver opened.

use std::os::fd::OwnedFd;
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::time::SystemTime;

use super::Inner;
use super::inline::Turn;
use super::options::LocalOptions;
use super::shell::{CommandRunner, Environment, SEARCH_PATH, WritablePlaces};
#[cfg(target_os = "linux")]
use super::standing::{standing, stands_at_hand};
use super::system::into_std;
use crate::backend::process::Process;
use crate::backend::{BoxFuture, Call, ExecuteOutcome, ExecuteRequest, Shell};
#[cfg(target_os = "linux")]
use crate::backend::{Standing, TerminalRequest};
use crate::blocking::blocking;
use crate::error::{Error, ErrorKind, Result};
use crate::lent;
use crate::path::VirtualPath;
use crate::sandbox::nowhere_to_begin;

/// Runs the commands of one backend.
#[derive(Debug)]
pub(super) struct LocalShell {
    inner: Arc<Inner>,
    runner: CommandRunner,
    /// Whether the application has programs looked up where the agent may write.
    searches_writable: bool,
}

impl LocalShell {
    /// `InvalidInput` when a variable can be in no environment.
    pub(super) fn new(options: LocalOptions, inner: &Arc<Inner>) -> Result<Self> {
        let places = WritablePlaces::new(inner.resolver.writable_identities());
        let environment = Environment::outside(&options.environment, &places)?;
        // Of the host's own such directories are left out.
        let is_given = options.environment.iter().any(|(name, _)| name == SEARCH_PATH);
        let searches_writable = is_given && environment.search_path().is_some_and(|path| places.any_in(path));
        let runner = CommandRunner::new(environment, inner.limits.output_bytes).with_limits(options.command_limits);
        #[cfg(target_os = "linux")]
        let runner = match options.supervisor {
            Some(program) if options.starts_nothing_ahead => runner.with_supervisor(program.without_starting_ahead()),
            Some(program) => runner.with_supervisor(program),
            None => runner,
        };
        Ok(Self { inner: Arc::clone(inner), runner, searches_writable })
    }

    /// The directory that a command runs in, opened inside the walls. Where mounts lie beside the working directory there is none to begin
    /// in, unless the caller names one.
    async fn directory(&self, path: Option<VirtualPath>) -> Result<OwnedFd> {
        let path = path.unwrap_or_else(|| self.inner.working_directory.clone());
        let table = self.inner.resolver.table();
        if path == self.inner.working_directory && table.find(&path).is_none() {
            return Err(nowhere_to_begin(path.as_str(), &table.readable_roots()));
        }
        self.opened(path).await
    }

    async fn opened(&self, path: VirtualPath) -> Result<OwnedFd> {
        let inner = Arc::clone(&self.inner);
        if lent::is_lent() {
            if let Some(directory) = inner.resolver.open_directory_at_hand(&path)? {
                return Ok(into_std(directory.handle));
            }
            lent::give_back(|| true).await;
        }
        // Opened here it crosses no thread, where it cannot hang and another thread stays free.
        if inner.near
            && let Some(turn) = Turn::take()
        {
            return turn.run(|| inner.resolver.open_directory(&path)).map(|directory| into_std(directory.handle));
        }
        let opened = blocking(move || inner.resolver.open_directory(&path));
        let directory = opened.await.map_err(|_| Error::internal("A file operation stopped unexpectedly."))??;
        Ok(into_std(directory.handle))
    }

    /// Ends what runs.
    pub(super) async fn close(&self) {
        self.runner.close().await;
    }
}

impl Shell for LocalShell {
    fn home(&self) -> Option<String> {
        std::env::var("HOME").ok()
    }

    fn searches_writable(&self) -> bool {
        self.searches_writable
    }

    fn execute<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            self.inner.require_open()?;
            let directory = self.directory(request.working_directory.clone()).await?;
            // Dropping the running command ends its processes.
            tokio::select! {
                outcome = self.runner.run(request, directory, call) => outcome,
                () = self.inner.closed.cancelled() => {
                    Err(Error::new(ErrorKind::Closed, "The backend was closed while the command ran; it was ended."))
                }
            }
        })
    }

    fn start<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            self.inner.require_open()?;
            call.deadline.check()?;
            let directory = self.directory(request.working_directory.clone()).await?;
            self.runner.start_beside(request, directory).await
        })
    }

    #[cfg(target_os = "linux")]
    fn open_terminal<'a>(&'a self, request: TerminalRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            self.inner.require_open()?;
            call.deadline.check()?;
            let directory = self.directory(request.working_directory.clone()).await?;
            self.runner.open_terminal(request, directory).await
        })
    }

    #[cfg(target_os = "linux")]
    fn stands_in<'a>(
        &'a self,
        process: &'a Process,
        directory: &'a VirtualPath,
        since: SystemTime,
    ) -> BoxFuture<'a, Option<Standing>> {
        Box::pin(async move {
            let leader = process.leader()?;
            // Asked before every line: what takes nothing but microseconds crosses no thread.
            if stands_at_hand(&self.inner.resolver, leader, directory) {
                return Some(Standing::In);
            }
            lent::give_back(|| true).await;
            let (inner, directory) = (Arc::clone(&self.inner), directory.clone());
            if inner.near
                && let Some(turn) = Turn::take()
            {
                return turn.run(|| Ok(standing(&inner.resolver, leader, &directory, since))).ok().flatten();
            }
            blocking(move || standing(&inner.resolver, leader, &directory, since)).await.ok().flatten()
        })
    }

    #[cfg(target_os = "linux")]
    fn starts_at_hand(&self) -> bool {
        // Without the supervisor a start waits until the program runs.
        self.runner.has_supervisor()
    }

    #[cfg(target_os = "linux")]
    fn has_terminals(&self) -> bool {
        self.runner.has_supervisor()
    }
}
