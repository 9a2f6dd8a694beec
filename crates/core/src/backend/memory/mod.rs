//! [`StateBackend`]: files in memory, which go to and come from one JSON document.
//!
//! For agents without a disk: thousands in a process, each a few hundred bytes until it writes. The answers are those of
//! a directory on disk; there are no links, no permission bits and no shell. Nothing here looks at the host: not at its
//! disk, its environment or its users, only at its clock. Every operation runs where it is polled, as it takes
//! microseconds; one that takes longer gives a lent thread back first (see [`crate::lent`]).
//!
//! ```text
//! read, write, walk   what the traits ask: guards, deadlines, locks
//! document            JSON ⇄ tree
//! tree                files, directories, quotas; a copy is a snapshot
//! names               the sorted map of one directory, shared between snapshots
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use serde::Deserialize;

pub use self::document::Document;
use self::tree::{File, Place, Tree};
use super::{Backend, BoxFuture, Call, FileSystem, Shell, WritableFileSystem};
use crate::error::Result;
use crate::lent;
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::LastPattern;

mod document;
pub(super) mod errors;
mod names;
mod read;
mod time;
mod tree;
mod walk;
mod write;

/// The options of a [`StateBackend`], as an application writes them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StateOptions {
    /// The files to begin with: path → text, or path → file as [`StateBackend::to_json`] writes it. Relative paths
    /// begin at `/`. A path that ends with `/` and has no content is an empty directory.
    pub files: Document,
    /// What it may hold.
    pub limits: StateLimits,
}

/// What a [`StateBackend`] may hold. What goes beyond is refused and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StateLimits {
    /// Bytes of all files together. 256 MiB: a host of agents is not filled by one of them.
    pub total_bytes: u64,
    /// Bytes of one file. 64 MiB, as `Limits::file_bytes`.
    pub file_bytes: u64,
    /// Files and directories. 100,000: more than most repositories have.
    pub entries: u64,
    /// Names of a path. 128, and at most 256 whatever is asked for: dropping a tree takes stack for each level.
    pub depth: usize,
}

/// 256 KiB: a read or an edit of them takes some hundred microseconds at most.
const SHORT_BYTES: u64 = 256 << 10;
/// 1,000 entries: the same.
const SHORT_ENTRIES: u64 = 1_000;
/// The ceiling of [`StateLimits::depth`].
const MAX_DEPTH: usize = 256;

impl Default for StateLimits {
    fn default() -> Self {
        Self { total_bytes: 256 << 20, file_bytes: 64 << 20, entries: 100_000, depth: 128 }
    }
}

impl StateLimits {
    fn depth(&self) -> usize {
        self.depth.min(MAX_DEPTH)
    }
}

/// Files in memory.
pub struct StateBackend {
    id: Box<str>,
    working_directory: VirtualPath,
    /// Held while a change is worked out, so that changes follow one another; never by a reader.
    changing: Mutex<()>,
    /// Held to look something up or to put a finished change in place.
    tree: RwLock<Tree>,
    limits: Limits,
    quotas: StateLimits,
    closed: AtomicBool,
    last_pattern: LastPattern,
}

impl StateBackend {
    /// A backend that holds `options.files`.
    ///
    /// Errors, with the path that is at fault: `InvalidInput` for a path, time or encoding that cannot be read and for a
    /// name that would be both file and directory (D14); `FileTooLarge` and `Io` for what the limits do not take.
    pub fn new(options: StateOptions, limits: Limits) -> Result<Self> {
        let mut tree = Tree::new();
        options.files.load_into(&mut tree, &options.limits)?;
        Ok(Self::with_tree(tree, options.limits, limits))
    }

    /// A backend that holds the files of a document that [`StateBackend::to_json`] or an earlier version wrote.
    ///
    /// Errors: `InvalidInput` when it is no such document, and those of [`StateBackend::new`].
    pub fn from_json(document: &str, quotas: StateLimits, limits: Limits) -> Result<Self> {
        Self::new(StateOptions { files: Document::from_json(document)?, limits: quotas }, limits)
    }

    /// All files as one JSON object: path → `{ content, created_at, modified_at, encoding? }`. `content` is the lines of
    /// a text without their `\n`; a file that is not UTF-8 is one line of base64, with `encoding: "base64"`. Of the
    /// directories only empty ones are named, with a `/` at the end. Works on a closed backend too.
    pub fn to_json(&self) -> Result<String> {
        document::write(&self.snapshot())
    }

    fn with_tree(tree: Tree, quotas: StateLimits, limits: Limits) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = format!("state-{}", NEXT.fetch_add(1, Ordering::Relaxed)).into_boxed_str();
        Self {
            id,
            working_directory: VirtualPath::root(),
            last_pattern: LastPattern::default(),
            changing: Mutex::new(()),
            tree: RwLock::new(tree),
            limits,
            quotas,
            closed: AtomicBool::new(false),
        }
    }

    /// The present state, which later changes leave alone.
    fn snapshot(&self) -> Tree {
        self.tree.read().clone()
    }

    /// Gives a lent thread back before an operation on `bytes` bytes that would take more than some hundred microseconds, or
    /// wait.
    async fn mind_the_caller(&self, bytes: u64) {
        lent::give_back(|| {
            bytes > SHORT_BYTES || self.changing.is_locked() || self.tree.read().entries() > SHORT_ENTRIES
        })
        .await;
    }

    /// The same before the file at `path` is read.
    async fn mind_the_reader(&self, path: &VirtualPath) {
        lent::give_back(|| self.file_at(path).is_some_and(|file| file.size() > SHORT_BYTES)).await;
    }

    /// The same before the file at `path` is changed.
    async fn mind_the_writer(&self, path: &VirtualPath) {
        lent::give_back(|| {
            self.changing.is_locked() || self.file_at(path).is_some_and(|file| file.size() > SHORT_BYTES)
        })
        .await;
    }

    fn file_at(&self, path: &VirtualPath) -> Option<Arc<File>> {
        match self.tree.read().find(path) {
            Place::File(file) => Some(Arc::clone(file)),
            Place::Directory(_) | Place::Missing { .. } | Place::Blocked { .. } => None,
        }
    }

    fn begin(&self, call: &Call) -> Result<()> {
        self.check_open()?;
        call.deadline.check()
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(errors::closed()) } else { Ok(()) }
    }
}

impl Clone for StateBackend {
    /// An open backend of its own with the files of this moment. Takes the same time for any number of files: both share
    /// what neither changes.
    fn clone(&self) -> Self {
        Self::with_tree(self.snapshot(), self.quotas.clone(), self.limits.clone())
    }
}

impl Backend for StateBackend {
    fn id(&self) -> &str {
        &self.id
    }

    fn files(&self) -> &dyn FileSystem {
        self
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        Some(self)
    }

    fn shell(&self) -> Option<&dyn Shell> {
        None
    }

    fn is_immediate(&self) -> bool {
        true
    }

    fn no_shell_reason(&self) -> &str {
        "These files are held in memory; there is no machine to run commands on."
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.closed.store(true, Ordering::Release);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
