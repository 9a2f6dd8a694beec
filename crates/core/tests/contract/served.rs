//! A guest as a backend, wherever it is: what a container adds is not here.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gloveport_core::backend::guest::{Link, Remote, Setup};
use gloveport_core::backend::{
    Backend, BoxFuture, CommandLimits, FileSystem, Shell, Spill, SpillFile, SpillRoom, WritableFileSystem,
};
use gloveport_core::error::Result;
use gloveport_core::limits::Limits;
use gloveport_core::path::VirtualPath;

/// The files and commands of the guest that `L` leads to.
pub(crate) struct Served<L>(Remote<L>);

impl<L: Link> Served<L> {
    pub(crate) fn new(link: L, base: VirtualPath) -> Self {
        Self(Remote::new(link, base, Limits::default()))
    }
}

impl<L: Link> Backend for Served<L> {
    fn id(&self) -> &str {
        "guest"
    }
    fn files(&self) -> &dyn FileSystem {
        &self.0
    }
    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        Some(&self.0)
    }
    fn shell(&self) -> Option<&dyn Shell> {
        Some(&self.0)
    }
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A guest without anything special that begins there.
pub(crate) fn setup(working_directory: VirtualPath) -> Setup {
    Setup {
        working_directory,
        limits: Limits::default(),
        command_limits: CommandLimits::default(),
        environment: Vec::new(),
        places: Vec::new(),
    }
}

/// Room for so many bytes.
pub(crate) struct Room(AtomicUsize);

impl Room {
    pub(crate) fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(bytes)))
    }
}

impl SpillRoom for Room {
    fn take(&self, wanted: usize) -> usize {
        let given = wanted.min(self.0.load(Ordering::Relaxed));
        self.0.fetch_sub(given, Ordering::Relaxed);
        given
    }
    fn is_gone(&self) -> bool {
        false
    }
}

/// The whole output of one command into the file `path`, so many bytes of it. The agent knows it as `/all`.
pub(crate) fn spill(path: PathBuf, bytes: usize) -> Option<Spill> {
    Some(Arc::new(move || {
        let file = Box::new(std::fs::File::create_new(&path).unwrap());
        Some(SpillFile { file, path: "/all".to_owned(), room: Room::of(bytes) })
    }))
}
