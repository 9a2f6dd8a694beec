//! Changes of a file's content with a diff of what they did: the transforms that tools and programs hand to
//! [`WritableFileSystem::update`](crate::backend::WritableFileSystem::update).
//!
//! A transform runs while the file is locked, on the bytes that are really there; what it found out comes back in a
//! [`Receipt`]. Nothing here touches a disk.

use std::sync::{Arc, Mutex, PoisonError};

use memchr::memchr_iter;

use crate::backend::{FileContent, Transform};
use crate::cancel::Deadline;
use crate::edit::expectation::ReadRecord;
use crate::edit::{self, Edit, EditOptions};
use crate::error::{Error, Result};
use crate::lent;
use crate::memory::ReadMemory;
use crate::path::VirtualPath;

/// What a transform found out; empty until it ran.
pub struct Receipt<T>(Arc<Mutex<Option<T>>>);

impl<T> Receipt<T> {
    fn new() -> (Self, Self) {
        let slot = Arc::new(Mutex::new(None));
        (Self(Arc::clone(&slot)), Self(slot))
    }

    fn fill(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// What the transform found out. An error when the backend answered without running it.
    pub fn take(self) -> Result<T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| Error::internal("The backend reported a write that it did not make."))
    }
}

/// What a replaced file looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced(Difference);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Difference {
    /// The unified diff.
    Told(String),
    /// Both contents of a file, which are compared where there is time for it.
    Long { path: VirtualPath, old: Option<Vec<u8>>, new: Vec<u8> },
}

impl Receipt<Replaced> {
    /// The unified diff; empty when nothing changed. Gives a lent thread back before long content is compared.
    pub async fn diff(self) -> Result<String> {
        match self.take()?.0 {
            Difference::Told(diff) => Ok(diff),
            Difference::Long { path, old, new } => {
                lent::give_back(|| true).await;
                Ok(edit::diff::between(old.as_deref(), &new, path.as_str()))
            }
        }
    }
}

/// What an edit did.
#[derive(Debug, Clone)]
pub struct Edited {
    /// Strings replaced, or hashline edits made.
    pub replacements: u64,
    /// One line: what was done.
    pub summary: String,
    /// Unified diff.
    pub diff: String,
    /// Whether the file had changed elsewhere since it was read.
    pub rebased: bool,
    /// What is known of the file now; `None` where nothing was shown before, or it changed elsewhere.
    pub record: Option<ReadRecord>,
}

/// 200 lines: more take their time to be compared with what they replace.
const SHORT_LINES: usize = 200;

/// 4,000 lines of a new file, which are compared with nothing.
const SHORT_NEW_LINES: usize = 4_000;

/// 256 KiB: to look at all of it takes some ten microseconds.
const SHORT_BYTES: usize = 256 << 10;

/// 8 edits.
const SHORT_EDITS: usize = 8;

fn is_long(text: &[u8]) -> bool {
    memchr_iter(b'\n', text).nth(SHORT_LINES).is_some()
}

fn is_long_change(old: Option<&[u8]>, new: &[u8]) -> bool {
    match old {
        Some(old) => edit::diff::is_longer(old, new, SHORT_LINES),
        None => memchr_iter(b'\n', new).nth(SHORT_NEW_LINES).is_some(),
    }
}

/// One that replaces everywhere makes as much text as there are places.
fn is_long_edit(edit: &Edit) -> bool {
    match edit {
        Edit::StrReplace(edit) => {
            edit.replace_all || is_long(edit.old_string.as_bytes()) || is_long(edit.new_string.as_bytes())
        }
        Edit::Hashline(edit) => is_long(edit.new_content.as_bytes()),
    }
}

/// Replaces the whole content. On a lent thread what is long is compared later, for [`Receipt::diff`].
pub async fn replace(path: &VirtualPath, content: Vec<u8>) -> (Transform, Receipt<Replaced>) {
    lent::give_back(|| content.len() > SHORT_BYTES).await;
    let (receipt, slot) = Receipt::new();
    let path = path.clone();
    let transform: Transform = Box::new(move |current: Option<FileContent>| {
        let old = current.map(|current| current.bytes);
        slot.fill(Replaced(if lent::is_lent() && is_long_change(old.as_deref(), &content) {
            Difference::Long { path, old, new: content.clone() }
        } else {
            Difference::Told(edit::diff::between(old.as_deref(), &content, path.as_str()))
        }));
        Ok(content)
    });
    (transform, receipt)
}

/// What bounds an edit.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Bytes that the file may have afterwards.
    pub max_bytes: u64,
    /// Checked between edits.
    pub deadline: Deadline,
}

/// Applies edits, all or none. With a memory, an edit of lines that changed since they were shown is `StaleFile`. Gives a
/// lent thread back before edits that are long, many, or made in many places.
pub async fn apply(
    path: &VirtualPath,
    edits: Vec<Edit>,
    bounds: Bounds,
    memory: Option<Arc<ReadMemory>>,
) -> (Transform, Receipt<Edited>) {
    lent::give_back(|| edits.len() > SHORT_EDITS || edits.iter().any(is_long_edit)).await;
    let (receipt, slot) = Receipt::new();
    let path = path.clone();
    let transform: Transform = Box::new(move |current: Option<FileContent>| {
        let current = current.ok_or_else(|| Error::not_found(&path))?;
        let path = path.as_str();
        let options = EditOptions { path, max_bytes: bounds.max_bytes, deadline: &bounds.deadline };
        let (applied, rebased, record) = match memory.and_then(|memory| memory.recall(&current.resolved)) {
            Some((version, shown)) if version != current.version => {
                let applied = edit::apply(&current.bytes, &edits, &options)?;
                shown.check(&current.bytes, &edits, &applied, path)?;
                (applied, true, None)
            }
            known => {
                let applied = edit::apply_owned(current.bytes, &edits, &options)?;
                let record = known.map(|(_, mut shown)| {
                    shown.edited(&applied, path);
                    shown
                });
                (applied, false, record)
            }
        };
        slot.fill(Edited {
            replacements: applied.replacements,
            summary: applied.summary,
            diff: applied.diff,
            rebased,
            record,
        });
        Ok(applied.bytes)
    });
    (transform, receipt)
}
