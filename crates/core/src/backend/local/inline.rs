//! Short work on the thread that asks for it.
//!
//! To hand work to a thread that may block, and to be woken when it is done, costs several times what a small read takes, and
//! as much as a small edit that does not wait for the disk. So either runs where it is asked for, under two conditions: it cannot hang, because every file system at and
//! below the mounts is one of this machine (a dead network share keeps a read forever, and its abort must be answered all
//! the same); and another thread of the runtime stays free for everybody else.

use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::error::{Error, Result};

/// 1 MiB: read and counted in a fraction of a millisecond.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// File systems whose files lie on this machine.
const NEAR: [&str; 15] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "tmpfs", "ramfs", "overlay", "erofs",
    "squashfs", "vfat", "exfat",
];

/// 16 KiB: the mounts of an ordinary machine. Its size is not known before, and to guess it step by step took ten reads.
const TABLE_BYTES: usize = 16 << 10;

/// Threads of the runtime that are reading now: of all backends, because they share the threads.
static READING: AtomicUsize = AtomicUsize::new(0);

/// The right to block this thread for a short while. Dropping it gives it back.
pub(super) struct Turn(&'static AtomicUsize);

impl Turn {
    /// `None` when no other thread of the runtime would stay free.
    pub(super) fn take() -> Option<Self> {
        Self::of(&READING)
    }

    fn of(reading: &'static AtomicUsize) -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        if runtime.runtime_flavor() != RuntimeFlavor::MultiThread {
            return None;
        }
        let threads = runtime.metrics().num_workers();
        if reading.fetch_add(1, Ordering::AcqRel) + 1 < threads {
            return Some(Self(reading));
        }
        reading.fetch_sub(1, Ordering::AcqRel);
        None
    }

    /// Runs `work` here. A panic is an error, as it is on a thread of its own.
    pub(super) fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|_| Err(Error::internal("A file operation stopped unexpectedly.")))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether everything at and below these directories lies on this machine, as far as the system tells now.
pub(super) fn are_near<'a>(mut directories: impl Iterator<Item = &'a Path>) -> bool {
    let mut table = String::with_capacity(TABLE_BYTES);
    let read = File::open("/proc/self/mountinfo").and_then(|mut file| file.read_to_string(&mut table));
    if read.is_err() {
        return false;
    }
    let mounts: Vec<_> = table.lines().filter_map(mount).collect();
    directories.all(|directory| is_near(directory, &mounts))
}

fn is_near(directory: &Path, mounts: &[(PathBuf, &str)]) -> bool {
    // Of several at one place the last hides the others.
    let own = mounts
        .iter()
        .filter(|(point, _)| directory.starts_with(point))
        .max_by_key(|(point, _)| point.as_os_str().len());
    let below = mounts.iter().filter(|(point, _)| point.starts_with(directory));
    own.is_some() && own.into_iter().chain(below).all(|(_, kind)| NEAR.contains(kind))
}

/// The place and the kind of one mount: the fifth field, and the first behind the dash.
fn mount(line: &str) -> Option<(PathBuf, &str)> {
    let (fields, source) = line.split_once(" - ")?;
    let point = fields.split(' ').nth(4)?;
    Some((PathBuf::from(unescaped(point)?), source.split(' ').next()?))
}

/// White space and backslashes stand as three octal digits.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3)?;
        plain.push(char::from(u8::from_str_radix(digits, 8).ok()?));
        plain.push_str(rest);
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "22 27 0:21 / /proc rw - proc proc rw\n27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
                         28 27 0:5 / /home rw - nfs4 server:/home rw\n29 28 0:6 / /home/me/disk rw - xfs /dev/vdb rw\n\
                         30 27 0:7 / /a\\040b rw - tmpfs none rw\n31 27 0:8 / /srv rw - ext4 /dev/vdc rw\n\
                         32 31 0:9 / /srv/share rw - fuse.sshfs host: rw\n33 27 0:10 / /twice rw - nfs server: rw\n\
                         34 33 0:11 / /twice rw - ext4 /dev/vdd rw\n";

    #[test]
    fn a_directory_is_near_when_nothing_in_it_lies_elsewhere() {
        let mounts: Vec<_> = TABLE.lines().filter_map(mount).collect();
        assert_eq!(mounts.len(), 9);
        for (directory, near) in [
            ("/work", true),
            ("/", false),
            ("/home/me", false),
            ("/home/me/disk/project", true),
            ("/a b/c", true),
            ("/srv", false),
            ("/srv/other", true),
            ("/srv/share/deep", false),
            ("/proc/self", false),
            // The older one stays below the newer; unmounting shows it again.
            ("/twice", false),
        ] {
            assert_eq!(is_near(Path::new(directory), &mounts), near, "{directory}");
        }
        assert!(!is_near(Path::new("/work"), &[]));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_thread_of_the_runtime_stays_free() {
        static READING: AtomicUsize = AtomicUsize::new(0);
        let turn = Turn::of(&READING).unwrap();
        assert!(Turn::of(&READING).is_none());
        drop(turn);
        let turn = Turn::of(&READING).unwrap();
        assert!(turn.run::<()>(|| panic!("a defect")).is_err());
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_has_no_turns() {
        assert!(Turn::take().is_none());
    }
}
