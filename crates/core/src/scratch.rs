//! A private folder of one toolset for what is too long to be told: whole outputs of commands.
//!
//! The folder is made when the first file is (readable by this user alone) and goes with the toolset. The agent sees it as
//! [`MOUNT_POINT`], read-only: the backend of the toolset is then one with a route more, so that every tool that reads
//! works there as anywhere else. Commands do not see it.

use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::backend::composite::{CompositeBackend, Strip};
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::backend::{Backend, Spill, SpillFile};
use crate::limits::Limits;

/// Where the agent finds the folder.
pub const MOUNT_POINT: &str = "/.gloveport";
/// 100 files: the oldest goes when one more is made.
const FILES: u64 = 100;

/// The folder of one toolset. Clones are the same folder; the last removes it.
#[derive(Clone)]
pub struct Scratch(Arc<Shared>);

struct Shared {
    backend: Arc<dyn Backend>,
    /// Looked at by every call, which waits for nobody who makes it.
    folder: OnceLock<Folder>,
    making: Mutex<()>,
    made: AtomicU64,
}

struct Folder {
    path: PathBuf,
    /// The toolset's backend with the folder in it.
    with_folder: Arc<dyn Backend>,
}

impl Scratch {
    /// None on disk yet. `backend` is the toolset's.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        let shared = Shared { backend, folder: OnceLock::new(), making: Mutex::default(), made: AtomicU64::new(0) };
        Self(Arc::new(shared))
    }

    /// The toolset's backend, with the folder in it as soon as there is one.
    pub fn backend(&self) -> Arc<dyn Backend> {
        match self.0.folder.get() {
            Some(folder) => Arc::clone(&folder.with_folder),
            None => Arc::clone(&self.0.backend),
        }
    }

    /// What makes a file for the output of a command.
    pub fn spill(&self) -> Spill {
        let scratch = self.clone();
        Arc::new(move || scratch.file("output"))
    }

    /// A new file, `NAME-N.txt`; `None` where the system takes none.
    fn file(&self, name: &str) -> Option<SpillFile> {
        let folder = self.folder()?;
        let number = self.0.made.fetch_add(1, Ordering::Relaxed) + 1;
        if number > FILES {
            // Best effort: it goes with the folder otherwise.
            let _ = std::fs::remove_file(folder.path.join(format!("{name}-{}.txt", number - FILES)));
        }
        let name = format!("{name}-{number}.txt");
        let file = File::options().write(true).create_new(true).open(folder.path.join(&name)).ok()?;
        Some(SpillFile { file, path: format!("{MOUNT_POINT}/{name}") })
    }

    /// The folder, which is made when it is first asked for.
    fn folder(&self) -> Option<&Folder> {
        let _making = self.0.making.lock();
        if self.0.folder.get().is_none() {
            // Nobody else sets it meanwhile.
            let _ = self.0.folder.set(Folder::new(&self.0.backend)?);
        }
        self.0.folder.get()
    }
}

impl Folder {
    fn new(backend: &Arc<dyn Backend>) -> Option<Self> {
        let path = std::env::temp_dir().join(format!("gloveport-{:016x}", RandomState::new().hash_one(())));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).ok()?;
        let options = LocalOptions { root: Some(path.clone()), read_only: true, ..LocalOptions::default() };
        let with_folder = LocalBackend::new(options).and_then(|files| {
            let routes = vec![(MOUNT_POINT.to_owned(), Arc::new(files) as Arc<dyn Backend>)];
            CompositeBackend::new(Arc::clone(backend), routes, &Strip::All(true), Limits::default())
        });
        match with_folder {
            Ok(with_folder) => Some(Self { path, with_folder: Arc::new(with_folder) }),
            Err(_) => {
                // Nothing is in it.
                let _ = std::fs::remove_dir(&path);
                None
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Best effort: it lies in the system's temporary directory.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
