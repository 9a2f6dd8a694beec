//! One writer for each directory, from the look at the old file to the rename of the new one (R-ED-3).
//!
//! Two locks: a table of this process, keyed by (device, inode) and shared by every backend in it, and `flock` on the
//! directory's descriptor against other processes. A directory rather than a file is locked, because a write replaces
//! the file: the name is what two writers fight over, whether a file has it yet or not. Whoever holds the lock knows
//! that a temporary file of ours in that directory is one that a crash left.
//!
//! Waiting ends with the call's deadline. Two directories are locked in the order of their keys, so that two moves
//! never wait for each other.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use super::errors::Explain;
use super::facts::identity;
use super::resolve::Directory;
use super::system::{AsFd, Errno, fstat, try_lock, unlock};
use crate::backend::Call;
use crate::error::Result;
use crate::path::VirtualPath;
use crate::sandbox::MountTable;
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};

/// 20 ms: how long a waiting writer of this process goes without looking at its deadline.
const LOOK_UP: Duration = Duration::from_millis(20);
/// The pauses between two tries for a lock that another process holds: from 50 µs, doubled, to 5 ms.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// 1,024 entries: the table is swept of locks that nobody holds when it grows past this.
const SWEEP_AT: usize = 1024;

type Key = (u64, u64);

static LOCKS: LazyLock<Mutex<HashMap<Key, Weak<Mutex<()>>>>> = LazyLock::new(Mutex::default);

/// Held while names in one directory change. Dropping it lets the next writer in.
pub(super) struct Locked<'a> {
    /// Dropped first: other processes may go on before the next thread of this one.
    file: FileLock<'a>,
    /// The directory.
    key: Key,
    _process: ArcMutexGuard<RawMutex, ()>,
}

impl Locked<'_> {
    /// Whether no other process can hold this lock: false on file systems without `flock`.
    pub(super) fn excludes_other_processes(&self) -> bool {
        self.file.0.is_some()
    }

    /// The device and inode of the directory.
    pub(super) fn directory(&self) -> (u64, u64) {
        self.key
    }
}

struct FileLock<'a>(Option<&'a Directory>);

impl Drop for FileLock<'_> {
    fn drop(&mut self) {
        if let Some(directory) = self.0 {
            // The descriptor is closed soon after, which unlocks as well.
            let _ = unlock(&directory.handle);
        }
    }
}

/// Locks one directory.
pub(super) fn lock<'a>(
    directory: &'a Directory,
    asked: &VirtualPath,
    table: &MountTable,
    call: &Call,
) -> Result<Locked<'a>> {
    let key = key_of(directory, asked, table)?;
    lock_key(key, directory, asked, table, call)
}

/// Locks one directory when nobody has it at this moment; `None` otherwise. Never waits.
pub(super) fn lock_at_once<'a>(
    directory: &'a Directory,
    asked: &VirtualPath,
    table: &MountTable,
) -> Result<Option<Locked<'a>>> {
    let key = key_of(directory, asked, table)?;
    let Some(process) = mutex_of(key).try_lock_arc() else { return Ok(None) };
    let file = try_lock_file(directory, asked, table)?;
    Ok(file.map(|file| Locked { file, key, _process: process }))
}

/// Locks two directories, or one when they are the same.
pub(super) fn lock_both<'a>(
    one: &'a Directory,
    other: &'a Directory,
    asked: &VirtualPath,
    table: &MountTable,
    call: &Call,
) -> Result<(Locked<'a>, Option<Locked<'a>>)> {
    let (first, second) = (key_of(one, asked, table)?, key_of(other, asked, table)?);
    if first == second {
        return Ok((lock_key(first, one, asked, table, call)?, None));
    }
    let ordered = if first < second { [(first, one), (second, other)] } else { [(second, other), (first, one)] };
    let [(low, low_directory), (high, high_directory)] = ordered;
    let held = lock_key(low, low_directory, asked, table, call)?;
    let also = lock_key(high, high_directory, asked, table, call)?;
    Ok((held, Some(also)))
}

fn key_of(directory: &Directory, asked: &VirtualPath, table: &MountTable) -> Result<Key> {
    let facts = fstat(directory.handle.as_fd()).explain(asked, table)?;
    Ok(identity(&facts))
}

fn lock_key<'a>(
    key: Key,
    directory: &'a Directory,
    asked: &VirtualPath,
    table: &MountTable,
    call: &Call,
) -> Result<Locked<'a>> {
    let mutex = mutex_of(key);
    let process = loop {
        call.deadline.check()?;
        if let Some(guard) = mutex.try_lock_arc_for(LOOK_UP) {
            break guard;
        }
    };
    let file = lock_file(directory, asked, table, call)?;
    Ok(Locked { file, key, _process: process })
}

/// The lock of this process for one directory.
fn mutex_of(key: Key) -> Arc<Mutex<()>> {
    let mut locks = LOCKS.lock();
    if locks.len() > SWEEP_AT {
        locks.retain(|_, lock| lock.strong_count() > 0);
    }
    match locks.get(&key).and_then(Weak::upgrade) {
        Some(mutex) => mutex,
        None => {
            let mutex = Arc::new(Mutex::new(()));
            locks.insert(key, Arc::downgrade(&mutex));
            mutex
        }
    }
}

fn lock_file<'a>(
    directory: &'a Directory,
    asked: &VirtualPath,
    table: &MountTable,
    call: &Call,
) -> Result<FileLock<'a>> {
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(locked) = try_lock_file(directory, asked, table)? {
            return Ok(locked);
        }
        call.deadline.check()?;
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// `None` when another process has it.
fn try_lock_file<'a>(
    directory: &'a Directory,
    asked: &VirtualPath,
    table: &MountTable,
) -> Result<Option<FileLock<'a>>> {
    match try_lock(&directory.handle) {
        Ok(()) => Ok(Some(FileLock(Some(directory)))),
        // Some network file systems have no locks; the lock of this process holds all the same.
        Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS | Errno::INVAL | Errno::BADF) => Ok(Some(FileLock(None))),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno).explain(asked, table),
    }
}
