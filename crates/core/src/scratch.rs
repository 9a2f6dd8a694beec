//! A private folder of one toolset for what is too long to be told: whole outputs of commands, and what the application
//! keeps there for the agent.
//!
//! The folder is made when the first file is (readable by this user alone) and goes with the toolset, or with the next process where
//! this one is killed. The agent sees it as [`MOUNT_POINT`], read-only: the backend of the toolset is then one with a route more, so
//! that every tool that reads works there as anywhere else. Commands do not see it.

mod directory;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
#[cfg(test)]
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use self::directory::Directory;
use crate::backend::composite::{CompositeBackend, Strip};
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::backend::{Backend, Spill, SpillFile, SpillRoom};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::limits::Limits;

/// Where the agent finds the folder.
pub const MOUNT_POINT: &str = "/.gloveport";
/// 100 files: the oldest goes when one more is made. In its place stands a line that says so, for who was told its name.
const MAX_FILES: usize = 100;
/// 1,000 such lines: then the oldest goes without.
const MAX_NOTES: usize = 1_000;
/// 1 GiB of one command's output.
const FILE_BYTES: u64 = 1 << 30;
/// 4 GiB of all files: where a new one could not take its part, the oldest go.
const FOLDER_BYTES: u64 = 4 << 30;
const NOTE: &[u8] = b"(What was kept here was deleted to make room for newer files.)\n";
/// 40 and 10 bytes of a kept file's name and of its suffix.
const MAX_STEM: usize = 40;
const MAX_SUFFIX: usize = 10;

/// The folder of one toolset. Clones are the same folder; the last removes it.
#[derive(Clone)]
pub struct Scratch(Arc<Shared>);

struct Shared {
    backend: Arc<dyn Backend>,
    /// Bytes of one file, and of all.
    bounds: (u64, u64),
    /// Bytes that lie in the folder.
    bytes: Arc<AtomicU64>,
    /// Looked at by every call, which waits for nobody who makes it.
    folder: OnceLock<Folder>,
    files: Mutex<Files>,
}

/// What lies in the folder.
#[derive(Default)]
struct Files {
    /// The oldest first.
    kept: VecDeque<(String, Arc<Room>)>,
    /// The names of those that had to go.
    notes: VecDeque<String>,
    made: u64,
    closed: bool,
}

/// What one file may take of the folder.
struct Room {
    left: AtomicU64,
    written: AtomicU64,
    folder: Arc<AtomicU64>,
    folder_bytes: u64,
    is_gone: AtomicBool,
}

impl Room {
    fn count(&self, bytes: u64) {
        self.written.fetch_add(bytes, Relaxed);
        self.folder.fetch_add(bytes, Relaxed);
    }
}

impl SpillRoom for Room {
    fn take(&self, wanted: usize) -> usize {
        // One writer; others write other files at the same time, so that all may end a piece each beyond the bound.
        let room = self.folder_bytes.saturating_sub(self.folder.load(Relaxed)).min(self.left.load(Relaxed));
        let given = if self.is_gone() { 0 } else { room.min(wanted as u64) };
        self.left.fetch_sub(given, Relaxed);
        self.count(given);
        usize::try_from(given).unwrap_or(wanted)
    }

    fn is_gone(&self) -> bool {
        self.is_gone.load(Relaxed)
    }
}

struct Folder {
    directory: Directory,
    /// The toolset's backend with the folder in it.
    with_folder: Arc<dyn Backend>,
}

impl Scratch {
    /// None on disk yet. `backend` is the toolset's.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self::with_bounds(backend, FILE_BYTES, FOLDER_BYTES)
    }

    fn with_bounds(backend: Arc<dyn Backend>, file_bytes: u64, folder_bytes: u64) -> Self {
        let bounds = (file_bytes, folder_bytes);
        let bytes = Arc::default();
        Self(Arc::new(Shared { backend, bounds, bytes, folder: OnceLock::new(), files: Mutex::default() }))
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
        Arc::new(move || {
            let (kept, room) = scratch.file("output", "txt")?;
            Some(SpillFile { room, ..kept })
        })
    }

    /// Keeps `content` as a file whose name begins like `name` (`report.json` becomes `report-1.json`), and returns its
    /// path. `InvalidInput` for a name of other characters than letters, digits, `-` and `_`. Blocks.
    pub fn keep(&self, name: &str, content: &[u8]) -> Result<String> {
        let (stem, suffix) = name.rsplit_once('.').unwrap_or((name, "txt"));
        if !is_plain(stem, MAX_STEM) || !is_plain(suffix, MAX_SUFFIX) {
            return Err(Error::invalid(format!(
                "A kept file is named by letters, digits, '-' and '_', with at most one suffix, such as 'report.json'; not \
                 '{}'.",
                Shown(name)
            )));
        }
        let failed = || Error::new(ErrorKind::Io, "The toolset's folder for kept files cannot be written.");
        let (mut kept, room) = self.file(stem, suffix).ok_or_else(failed)?;
        // What the application keeps is bounded by the application.
        room.count(content.len() as u64);
        kept.file.write_all(content).map_err(|_| failed())?;
        Ok(kept.path)
    }

    /// Where the folder lies, once there is one.
    #[cfg(test)]
    pub(crate) fn host_path(&self) -> Option<PathBuf> {
        self.0.folder.get().map(|folder| folder.directory.path().to_owned())
    }

    /// Removes the folder with all that is in it; none is made any more.
    pub fn close(&self) {
        self.0.files.lock().closed = true;
        if let Some(folder) = self.0.folder.get() {
            folder.directory.remove();
        }
    }

    /// A new file, `STEM-N.SUFFIX`; `None` where the system takes none, and after the close.
    fn file(&self, stem: &str, suffix: &str) -> Option<(SpillFile, Arc<Room>)> {
        let mut files = self.0.files.lock();
        if files.closed {
            return None;
        }
        if self.0.folder.get().is_none() {
            // Nobody else sets it meanwhile.
            let _ = self.0.folder.set(Folder::new(&self.0.backend)?);
        }
        let folder = self.0.folder.get()?;
        let (file_bytes, folder_bytes) = self.0.bounds;
        let is_full = || self.0.bytes.load(Relaxed).saturating_add(file_bytes) > folder_bytes;
        while (files.kept.len() >= MAX_FILES || is_full())
            && let Some((oldest, room)) = files.kept.pop_front()
        {
            room.is_gone.store(true, Relaxed);
            self.0.bytes.fetch_sub(room.written.load(Relaxed), Relaxed);
            folder.note(&oldest);
            files.notes.push_back(oldest);
            if files.notes.len() > MAX_NOTES
                && let Some(note) = files.notes.pop_front()
            {
                // Best effort: it goes with the folder otherwise.
                let _ = std::fs::remove_file(folder.directory.path().join(note));
            }
        }
        files.made += 1;
        let name = format!("{stem}-{}.{suffix}", files.made);
        let file = File::options().write(true).create_new(true).open(folder.directory.path().join(&name)).ok()?;
        let path = format!("{MOUNT_POINT}/{name}");
        let room = Arc::new(Room {
            left: AtomicU64::new(file_bytes),
            written: AtomicU64::new(0),
            folder: Arc::clone(&self.0.bytes),
            folder_bytes,
            is_gone: AtomicBool::new(false),
        });
        files.kept.push_back((name, Arc::clone(&room)));
        Some((SpillFile { file: Box::new(file), path, room: Arc::clone(&room) as _ }, room))
    }
}

fn is_plain(part: &str, most: usize) -> bool {
    (1..=most).contains(&part.len())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

impl Folder {
    fn new(backend: &Arc<dyn Backend>) -> Option<Self> {
        let directory = Directory::new()?;
        let root = Some(directory.path().to_owned());
        let options = LocalOptions { root, read_only: true, ..LocalOptions::default() };
        let with_folder = LocalBackend::new(options).and_then(|files| {
            let routes = vec![(MOUNT_POINT.to_owned(), Arc::new(files) as Arc<dyn Backend>)];
            CompositeBackend::new(Arc::clone(backend), routes, &Strip::All(true), Limits::default())
        });
        match with_folder {
            Ok(with_folder) => Some(Self { directory, with_folder: Arc::new(with_folder) }),
            Err(_) => {
                directory.remove();
                None
            }
        }
    }
}

impl Folder {
    /// Puts the note in the place of a file. Best effort: without it the name is unknown.
    fn note(&self, name: &str) {
        let path = self.directory.path().join(name);
        // Whoever still writes it writes into what nobody sees, and stops.
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::write(&path, NOTE);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.directory.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::memory::{StateBackend, StateOptions};

    fn scratch() -> Scratch {
        Scratch::new(Arc::new(StateBackend::new(StateOptions::default(), Limits::default()).unwrap()))
    }

    #[test]
    fn keeps_files_by_plain_names() {
        let scratch = scratch();
        assert_eq!(scratch.keep("report.json", b"{}").unwrap(), "/.gloveport/report-1.json");
        assert_eq!(scratch.keep("notes", b"text").unwrap(), "/.gloveport/notes-2.txt");
        for name in ["", ".", "..", "a/b", "../a", "a.b.c", "a b", ".txt", "a.", "\0", &"a".repeat(41)] {
            assert_eq!(scratch.keep(name, b"").unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
        }
        let path = scratch.host_path().unwrap();
        assert_eq!(std::fs::read(path.join("report-1.json")).unwrap(), b"{}");
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_for_this_user_alone() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let scratch = scratch();
        scratch.keep("secret", b"text").unwrap();
        let folder = std::fs::symlink_metadata(scratch.host_path().unwrap()).unwrap();
        assert!(folder.is_dir());
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
        assert_eq!(folder.uid(), rustix::process::geteuid().as_raw());
    }

    #[test]
    fn of_too_many_files_the_oldest_goes() {
        let scratch = scratch();
        for number in 0..=MAX_FILES {
            scratch.keep(if number % 2 == 0 { "even" } else { "odd" }, b"").unwrap();
        }
        let path = scratch.host_path().unwrap();
        assert_eq!(std::fs::read(path.join("even-1.txt")).unwrap(), NOTE);
        assert_eq!(std::fs::read(path.join("odd-2.txt")).unwrap(), b"");
        for _ in 0..MAX_NOTES {
            scratch.keep("more", b"").unwrap();
        }
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), MAX_FILES + MAX_NOTES);
        assert!(!path.join("even-1.txt").exists() && path.join("odd-2.txt").exists());
    }

    /// Only the number of files was bounded, and a command could fill the disk with each.
    #[test]
    fn all_files_together_take_no_more_than_the_folder_may() {
        let state = StateBackend::new(StateOptions::default(), Limits::default()).unwrap();
        let scratch = Scratch::with_bounds(Arc::new(state), 10, 25);
        let [first, second, third] = [(); 3].map(|()| scratch.spill()().unwrap());
        assert_eq!((first.room.take(8), first.room.take(8), second.room.take(9)), (8, 2, 9));
        // 19 of 25 are taken: the next file would have no room, and the first goes for it.
        assert_eq!((third.room.take(10), third.room.take(1)), (6, 0));
        let fourth = scratch.spill()().unwrap();
        assert!(first.room.is_gone() && !second.room.is_gone());
        assert_eq!((first.room.take(1), fourth.room.take(10)), (0, 10));
        let path = scratch.host_path().unwrap();
        assert_eq!(std::fs::read(path.join("output-1.txt")).unwrap(), NOTE);
        // What the application keeps counts, and is never cut.
        scratch.keep("report.json", &[b'x'; 30]).unwrap();
        assert_eq!(std::fs::read(path.join("report-5.json")).unwrap().len(), 30);
        assert_eq!(scratch.spill()().unwrap().room.take(10), 10);
        assert_eq!(std::fs::read(path.join("report-5.json")).unwrap(), NOTE);
    }

    /// The folder stayed until the last reference went, which JavaScript keeps until it collects garbage.
    #[test]
    fn nothing_is_left_after_the_close() {
        let scratch = scratch();
        scratch.keep("a", b"").unwrap();
        let path = scratch.host_path().unwrap();
        assert!(path.exists());
        scratch.close();
        assert!(!path.exists());
        assert_eq!(scratch.keep("a", b"").unwrap_err().kind(), ErrorKind::Io);
        assert!(!path.exists());
    }
}
