//! One listing made of several: the order of a tree, and entries that no backend has.

use std::collections::HashSet;

use crate::backend::{FileInfo, FileKind};
use crate::order;
use crate::path::VirtualPath;
use crate::search::tree_order;

/// A directory that is there because a route begins at or below it.
pub(super) fn virtual_directory(path: &VirtualPath) -> FileInfo {
    FileInfo {
        name: path.file_name().unwrap_or("/").to_owned(),
        path: path.to_string(),
        kind: FileKind::Directory,
        size: 0,
        modified_at: None,
    }
}

/// The entries in the order of a listing, each path once: of two the first, unless only the second is a directory.
pub(super) fn in_order(entries: Vec<FileInfo>) -> Vec<FileInfo> {
    let directories: HashSet<String> =
        entries.iter().filter(|entry| entry.kind == FileKind::Directory).map(|entry| entry.path.clone()).collect();
    let mut seen = HashSet::new();
    let mut entries: Vec<FileInfo> = entries
        .into_iter()
        .filter(|entry| entry.kind == FileKind::Directory || !directories.contains(&entry.path))
        .filter(|entry| seen.insert(entry.path.clone()))
        .collect();
    order::sort_by(&mut entries, tree_order);
    entries
}
