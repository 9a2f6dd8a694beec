//! Whom the kernel ends first when memory runs out: the processes of the command, and neither this program nor its host.
//!
//! A process has the score of the one that starts it, and may raise its own. So this program has the score that a command is to
//! have for as long as it stands ready, which costs nothing between an order and its command, and its own again once the command
//! runs: it is a small program, but a command may fill memory that counts for no process, and then the small ones go too. Where
//! the system does not let itself be told (no `/proc`, or one that cannot be written) things stay as they are.

use alloc::vec::Vec;

use rustix::fd::OwnedFd;
use rustix::fs::OFlags;

use crate::proc;

/// The highest that the kernel knows: before everything that has less, whatever that needs.
const FIRST: &[u8] = b"1000\n";
/// 16 bytes: a number of at most five characters and its line end.
const SCORE_BYTES: usize = 16;

/// The score of this process.
pub(crate) struct Score {
    /// The kernel's file of it, held because its name cannot be opened any more where this process may not be traced.
    file: OwnedFd,
    /// What it was at first.
    own: Vec<u8>,
}

impl Score {
    /// The score as it is; `None` where it cannot be had or changed.
    pub(crate) fn take() -> Option<Self> {
        let file = proc::opened(format_args!("/proc/self/oom_score_adj"), OFlags::RDWR)?;
        let mut own = [0; SCORE_BYTES];
        let count = rustix::io::read(&file, &mut own).ok()?;
        Some(Self { file, own: own.get(..count)?.to_vec() })
    }

    /// What is started from now on goes first.
    pub(crate) fn lend(&self) {
        let _ = rustix::io::write(&self.file, FIRST);
    }

    /// This process has its own again; what it started keeps what it got.
    pub(crate) fn restore(&self) {
        let _ = rustix::io::write(&self.file, &self.own);
    }
}
