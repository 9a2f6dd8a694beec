//! [`RemoteBackend`]: a whole backend over a [`Place`] that can do little, such as an application's own object or a shell
//! with nothing but `sh`.
//!
//! What the place lacks is derived from what it has: an edit from reading and writing, a search from listing and reading,
//! a move from copying and removing. The answers are those of every other backend, because everything that a place could
//! see differently (what a path means, what is in the way, which line is meant) is decided here. Somebody else's code is
//! slow, wrong or silent at times: each question has a deadline, each answer is checked, and nothing is held while one is
//! outstanding but the lock of one file.
//!
//! ```text
//! place   what a place must be able to do
//! peer    a place made of callbacks, whose answers are not believed
//! locate  what is at a path, or in its way
//! read, write, walk   what the traits ask
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use self::locks::PathLocks;
pub use self::peer::{Answer, Payload, Peer, PeerShell, Question, Questions, refusal};
pub use self::place::{Abilities, Entry, Opened, Place};
use super::memory::errors;
use super::{Backend, BoxFuture, Call, FileSystem, Shell, WritableFileSystem};
use crate::error::Result;
use crate::limits::Limits;
use crate::path::VirtualPath;

mod locate;
mod locks;
mod peer;
mod place;
mod read;
#[cfg(test)]
mod tests;
mod walk;
mod write;

/// 120 s for a search (BE-64): each directory and file is a question of its own.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(120);
/// 8 questions at once during a search.
const SEARCH_THREADS: usize = 8;

/// How a [`RemoteBackend`] is set up.
pub struct RemoteOptions {
    /// What relative paths are relative to.
    pub working_directory: VirtualPath,
    /// The bounds.
    pub limits: Limits,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self { working_directory: VirtualPath::root(), limits: Limits::default() }
    }
}

/// A backend over somebody else's files.
pub struct RemoteBackend {
    id: Box<str>,
    place: Arc<dyn Place>,
    abilities: Abilities,
    shell: Option<Arc<dyn Shell>>,
    working_directory: VirtualPath,
    limits: Limits,
    locks: PathLocks,
    closed: AtomicBool,
}

impl RemoteBackend {
    /// A backend over `place`, whose commands `shell` runs.
    pub fn new(place: Arc<dyn Place>, shell: Option<Arc<dyn Shell>>, options: RemoteOptions) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = format!("remote-{}", NEXT.fetch_add(1, Ordering::Relaxed)).into_boxed_str();
        let limits = Limits { search_timeout: SEARCH_TIMEOUT, search_threads: SEARCH_THREADS, ..options.limits };
        Self {
            id,
            abilities: place.abilities(),
            place,
            shell,
            working_directory: options.working_directory,
            limits,
            locks: PathLocks::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn begin(&self, call: &Call) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(errors::closed());
        }
        call.deadline.check()
    }
}

impl Backend for RemoteBackend {
    fn id(&self) -> &str {
        &self.id
    }

    fn files(&self) -> &dyn FileSystem {
        self
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        if self.abilities.write { Some(self) } else { None }
    }

    fn shell(&self) -> Option<&dyn Shell> {
        self.shell.as_ref().map(|_| self as &dyn Shell)
    }

    /// Refuses later calls. Whoever made the place ends it.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.closed.store(true, Ordering::Release);
            Ok(())
        })
    }
}

impl Shell for RemoteBackend {
    fn execute<'a>(
        &'a self,
        request: super::ExecuteRequest,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<super::ExecuteOutcome>> {
        Box::pin(async move {
            self.begin(call)?;
            match &self.shell {
                Some(shell) => shell.execute(request, call).await,
                None => Err(place::cannot_error("run commands", &self.working_directory)),
            }
        })
    }

    fn home(&self) -> Option<String> {
        self.shell.as_ref().and_then(|shell| shell.home())
    }
}
