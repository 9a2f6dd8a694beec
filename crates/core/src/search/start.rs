//! Where a search begins, what its entries are called, and which of them its guard lets through.

use std::borrow::Cow;
use std::sync::Arc;

use super::ignore_rules::{Present, Rules};
use super::tree::{Opened, Tree};
use super::walk::Root;
use crate::access::{Guard, Operation};
use crate::error::Result;
use crate::path::VirtualPath;

/// The opened beginning of a search.
pub(crate) enum Start<D> {
    /// A directory to walk.
    Directory(Root<D>),
    /// One file.
    File(Opened<D>),
}

impl<D> Start<D> {
    /// Opens `path`, reads the ignore files above it where they are honoured, and asks the guard about it.
    pub(crate) fn open<T: Tree<Directory = D>>(
        tree: &T,
        path: &VirtualPath,
        respect_ignore: bool,
        guard: &dyn Guard,
        operation: Operation,
    ) -> Result<(Self, Names)> {
        let opened = tree.open(path)?;
        guard.check(operation, &opened.resolved)?;
        let names = Names {
            asked: if opened.resolved == *path { None } else { Some(path.as_str().to_owned()) },
            resolved: opened.resolved.as_str().len(),
        };
        if opened.file.is_some() {
            return Ok((Self::File(opened), names));
        }
        let rules = if respect_ignore { rules_above(tree, &opened.resolved) } else { None };
        Ok((Self::Directory(Root { directory: opened.directory, path: opened.resolved, rules }), names))
    }
}

/// The rules of the directories above `path`, from the topmost that can be opened down: a search of a directory obeys
/// the same rules as one that came down to it, also where a mount begins in between.
fn rules_above<T: Tree>(tree: &T, path: &VirtualPath) -> Option<Arc<Rules>> {
    let mut above: Vec<VirtualPath> = std::iter::successors(path.parent(), VirtualPath::parent).collect();
    above.reverse();
    let mut rules = None;
    for directory in above {
        let Ok(Opened { resolved, directory, file: None }) = tree.open(&directory) else { continue };
        let prefix = resolved.as_str().len() + usize::from(!resolved.is_root());
        rules = Rules::within(rules.as_ref(), tree, &directory, prefix, Present::probe(tree, &directory));
    }
    rules
}

/// Turns the resolved paths that a walk sees into the paths that the caller asked about.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// The path asked for, where links lay on the way.
    asked: Option<String>,
    /// Bytes of its resolved path.
    resolved: usize,
}

impl Names {
    /// The path to show for an entry. Bytes that are not UTF-8 become `\xNN`, so that no name is lost.
    pub(crate) fn shown<'p>(&self, path: &'p [u8]) -> Cow<'p, str> {
        match &self.asked {
            None => escaped(path),
            Some(asked) => {
                let below = path.get(self.resolved..).unwrap_or_default();
                let separator =
                    if asked.ends_with('/') || below.is_empty() || below.starts_with(b"/") { "" } else { "/" };
                Cow::Owned(format!("{}{separator}{}", asked.trim_end_matches('/'), escaped(below)))
            }
        }
    }

    /// Whether the guard lets every one of `operations` be done on the entry at `path`, as asked and as resolved.
    pub(crate) fn permits(&self, guard: &dyn Guard, operations: &[Operation], path: &[u8], shown: &str) -> bool {
        if guard.is_open() {
            return true;
        }
        let permitted = |path: &str| {
            VirtualPath::absolute(path)
                .is_ok_and(|path| operations.iter().all(|operation| guard.check(*operation, &path).is_ok()))
        };
        permitted(shown) && (self.asked.is_none() || permitted(&escaped(path)))
    }
}

/// Bytes as text, each byte that belongs to no character as `\xNN`.
fn escaped(bytes: &[u8]) -> Cow<'_, str> {
    use std::fmt::Write as _;
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    Cow::Owned(text)
}
