//! Removing the temporary files that killed writers left.
//!
//! Nobody is shown such a file. It goes when a backend is opened on its directory, when something is written there first,
//! and when a listing or a search comes across it where the agent may write. A temporary file is nobody's when nobody else has
//! the lock of its directory, nor its own: where there are no locks between processes, it stays.

use std::collections::HashSet;

use parking_lot::Mutex;

use super::Inner;
use super::lock::Locked;
use super::resolve::Directory;
use super::system::{AsFd, AtFlags, BorrowedFd, Dir, OwnedFd, is_locked, try_lock, unlinkat, unlock};
use crate::backend::temp;

/// 65,536 directories: what a backend remembers to have cleaned; then it begins anew.
const MAX_CLEANED: usize = 1 << 16;

/// Directories in which a backend has removed what a crash left before it wrote there.
#[derive(Debug, Default)]
pub(super) struct Cleaned(Mutex<HashSet<(u64, u64)>>);

impl Cleaned {
    /// Whether nothing is left to clean before a write in a directory.
    pub(super) fn is_done(&self, locked: &Locked<'_>) -> bool {
        !locked.excludes_other_processes() || self.0.lock().contains(&locked.directory())
    }

    /// Cleans a directory before the first write there. The lock says that no writer is at work.
    pub(super) fn before_writing(&self, directory: &Directory, locked: &Locked<'_>) {
        if !locked.excludes_other_processes() {
            return;
        }
        {
            let mut cleaned = self.0.lock();
            if cleaned.len() >= MAX_CLEANED {
                cleaned.clear();
            }
            if !cleaned.insert(locked.directory()) {
                return;
            }
        }
        remove_temporaries(directory.handle.as_fd());
    }
}

/// Cleans the mounted directories themselves.
pub(super) fn clean_mounts(inner: &Inner) {
    let table = inner.resolver.table();
    for mount in table.mounts().iter().filter(|mount| table.can_write(&mount.mount_point)) {
        if let Ok(directory) = inner.resolver.open_for_names(&mount.mount_point, &mount.mount_point) {
            clean(&directory.handle);
        }
    }
}

/// Cleans a directory, unless somebody writes there at this moment, in this process or in another. Never waits.
pub(super) fn clean(directory: &OwnedFd) {
    if try_lock(directory).is_ok() {
        remove_temporaries(directory.as_fd());
        let _ = unlock(directory);
    }
}

fn remove_temporaries(directory: BorrowedFd<'_>) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.flatten() {
        // A writer that works piece by piece holds no lock but that of its file.
        if temp::is_temporary_entry(entry.file_name()) && !is_locked(directory, entry.file_name()) {
            // Best effort: what stays is hidden, and whoever comes next tries again.
            let _ = unlinkat(directory, entry.file_name(), AtFlags::empty());
        }
    }
}
