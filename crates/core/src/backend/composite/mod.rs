//! [`CompositeBackend`]: several backends as one tree, each at its own path.
//!
//! A route gives a backend to a path and all that lies below; the longest route wins, on whole names; the default has
//! the rest. A route hides what other backends hold at its path, in every operation, and is a directory whatever they
//! say. Paths are handed on unchanged, or with `strip` begin where the routed backend begins. Nothing is cached here:
//! who holds a path is a pure function of the routes.
//!
//! ```text
//! routes       which part has a path; paths and errors in and out
//! guard        the call's guard, in the paths of a part, denying what other parts hold
//! read, write  one part, or a listing of several, or a copy from one to another
//! search       one search shared out to several parts, and their answers merged
//! outline      one tree shown of several
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use serde::Deserialize;

use self::routes::Routes;
use super::process::Process;
use super::{
    Backend, BoxFuture, Call, ExecuteOutcome, ExecuteRequest, FileSystem, InUse, Shell, Standing, TerminalRequest,
    WritableFileSystem,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::path::VirtualPath;

mod guard;
mod join;
mod listing;
mod outline;
mod read;
mod routes;
mod search;
#[cfg(test)]
mod shell_tests;
mod stream;
#[cfg(test)]
mod tests;
mod write;

/// Which routes hand on paths without their own prefix.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "true, false, or a list of routes")]
pub enum Strip {
    /// All of them, or none.
    All(bool),
    /// The named ones.
    Only(Vec<String>),
}

impl Default for Strip {
    /// None: a backend is asked for the path that the agent uses.
    fn default() -> Self {
        Self::All(false)
    }
}

/// Several backends as one tree.
pub struct CompositeBackend {
    id: Box<str>,
    routes: Arc<Routes>,
    limits: Limits,
    closed: AtomicBool,
}

impl CompositeBackend {
    /// A backend that asks `default`, and for paths at or below a route the backend of that route. `/memories/` and
    /// `memories` are the same route. With `strip`, `/memories/a.md` of the route `/memories` is `a.md` in the working
    /// directory of its backend.
    ///
    /// `InvalidInput` for the route `/` (that is the default), for two routes of one path, and for a stripped route that
    /// does not exist.
    pub fn new(
        default: Arc<dyn Backend>,
        routes: Vec<(String, Arc<dyn Backend>)>,
        strip: &Strip,
        limits: Limits,
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = format!("composite-{}", NEXT.fetch_add(1, Ordering::Relaxed)).into_boxed_str();
        let routes = Arc::new(Routes::new(default, routes, strip)?);
        Ok(Self { id, routes, limits, closed: AtomicBool::new(false) })
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "This backend was closed."));
        }
        Ok(())
    }

    fn default_backend(&self) -> &dyn Backend {
        &*self.routes.default_part().backend
    }
}

impl Backend for CompositeBackend {
    fn id(&self) -> &str {
        &self.id
    }

    fn files(&self) -> &dyn FileSystem {
        self
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        let any = self.routes.parts().iter().any(|part| part.backend.writer().is_some());
        if any { Some(self) } else { None }
    }

    /// Commands run on the default, which sees none of the routes.
    fn shell(&self) -> Option<&dyn Shell> {
        if self.default_backend().shell().is_some() { Some(self) } else { None }
    }

    fn no_shell_reason(&self) -> &str {
        self.default_backend().no_shell_reason()
    }

    fn is_immediate(&self) -> bool {
        self.routes.parts().iter().all(|part| part.backend.is_immediate())
    }

    fn reads_at_hand(&self) -> bool {
        self.routes.parts().iter().all(|part| part.backend.reads_at_hand())
    }

    fn in_use(&self) -> Option<InUse> {
        let parts: Vec<_> = self.routes.parts().iter().filter_map(|part| part.backend.in_use()).collect();
        (!parts.is_empty()).then(|| Box::new(parts) as InUse)
    }

    /// Refuses later calls. The backends are left open: whoever made them closes them.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.closed.store(true, Ordering::Release);
            Ok(())
        })
    }
}

impl CompositeBackend {
    /// The shell of the default, and the call as it sees it. Refuses a directory that another backend holds.
    fn shell_for(&self, directory: Option<&VirtualPath>, call: &Call) -> Result<(&dyn Shell, Call)> {
        self.check_open()?;
        let Some(shell) = self.default_backend().shell() else {
            return Err(Error::new(ErrorKind::Unsupported, self.no_shell_reason().to_owned()));
        };
        let default = self.routes.parts().len() - 1;
        if let Some(directory) = directory
            && self.routes.owner(directory).0 != default
        {
            let message = format!("Commands do not see '{directory}', which is another backend; run it elsewhere.");
            return Err(Error::new(ErrorKind::PathNotInSandbox, message).with_path(directory.as_str()));
        }
        Ok((shell, guard::within(call, &self.routes, default)))
    }
}

impl Shell for CompositeBackend {
    fn execute<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            let (shell, call) = self.shell_for(request.working_directory.as_ref(), call)?;
            shell.execute(request, &call).await
        })
    }

    fn start<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            let (shell, call) = self.shell_for(request.working_directory.as_ref(), call)?;
            shell.start(request, &call).await
        })
    }

    fn open_terminal<'a>(&'a self, request: TerminalRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            let (shell, call) = self.shell_for(request.working_directory.as_ref(), call)?;
            shell.open_terminal(request, &call).await
        })
    }

    fn has_terminals(&self) -> bool {
        self.default_backend().shell().is_some_and(Shell::has_terminals)
    }

    fn home(&self) -> Option<String> {
        self.default_backend().shell().and_then(Shell::home)
    }

    fn stands_in<'a>(
        &'a self,
        process: &'a Process,
        directory: &'a VirtualPath,
        since: SystemTime,
    ) -> BoxFuture<'a, Option<Standing>> {
        match self.default_backend().shell() {
            // A shell is in no other backend, whatever that calls its directories.
            Some(shell) if self.routes.owner(directory).0 == self.routes.parts().len() - 1 => {
                shell.stands_in(process, directory, since)
            }
            _ => Box::pin(async { None }),
        }
    }

    fn searches_writable(&self) -> bool {
        self.default_backend().shell().is_some_and(Shell::searches_writable)
    }
}

fn working_directory(backend: &dyn Backend) -> VirtualPath {
    backend.files().working_directory().clone()
}
