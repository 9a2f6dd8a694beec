//! Showing a tree some levels deep, with the files below each directory counted: for orienting oneself in a repository.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::filter::Filter;
use super::glob::threads;
use super::order::{First, Ranked, tree_order};
use super::query::{EntryFilter, Outline, OutlineEntry, OutlineQuery, SortOrder};
use super::start::{Names, Start};
use super::tree::{EntryKind, Metadata, Tree};
use super::walk::{Entry, Visitor, Walk};
use crate::access::{Guard, Operation};
use crate::call::Call;
use crate::error::Result;
use crate::file_info::FileKind;
use crate::limits::Limits;
use crate::order;

/// 100,000 directories whose files are counted apart, some 20 MB; beyond them the answer is called incomplete.
const MAX_COUNTED: usize = 100_000;

/// Answers `query` over `tree`. Blocks. A deadline makes the answer incomplete; an abort is an `Aborted` error. Fails as
/// the tree does for a path that cannot be opened. Shows directories, regular files and links to them; what the guard
/// denies is left out with all that lies below. Links are neither entered nor counted.
pub fn outline<T: Tree>(tree: &T, query: &OutlineQuery, call: &Call, limits: &Limits) -> Result<Outline> {
    let deadline = call.deadline.within(limits.search_timeout);
    let guard = call.guard.as_ref();
    let (start, names) = Start::open(tree, &query.path, query.respect_ignore, guard, Operation::Ls)?;
    let outliner = |root: usize| Outliner {
        tree,
        guard,
        names: &names,
        root,
        query,
        directory: Vec::new(),
        is_permitted: true,
        uncounted: 0,
        counts: HashMap::new(),
        files: 0,
        overflowed: false,
        total: 0,
        first: First::new(SortOrder::Modified, limits.list_entries),
    };
    let root = match start {
        Start::Directory(root) => root,
        Start::File(opened) => {
            let name = opened.file.as_deref().unwrap_or_default();
            let path = opened.resolved.as_str().as_bytes();
            let mut outliner = outliner(path.len() - name.len());
            let _ = outliner.visit(Entry { directory: &opened.directory, name, path, kind: EntryKind::File });
            return Ok(outliner.into_outline(query, 0, false));
        }
    };
    let filter = Filter::of_globs(&[], &[], &query.path, true)?;
    let root_bytes = root.path.as_str().trim_end_matches('/').len() + 1;
    let walk = Walk {
        tree,
        filter: &filter,
        entries: EntryFilter::Any,
        links: true,
        levels: if query.counts { u32::MAX } else { query.depth },
        respect_ignore: query.respect_ignore,
        costly: false,
        threads: threads(limits, 0),
        deadline: &deadline,
    };
    let walked = walk.run(root, || outliner(root_bytes))?;
    let mut all = outliner(root_bytes);
    for part in walked.visitors {
        all.merge(part);
    }
    Ok(all.into_outline(query, walked.ignored, walked.incomplete))
}

/// Keeps the first `keep` entries, the shallowest before all, in the order of a tree.
pub(crate) fn fit(entries: &mut Vec<OutlineEntry>, keep: usize) {
    if entries.len() > keep {
        let level = |entry: &OutlineEntry| entry.info.path.matches('/').count();
        order::sort_by(entries, |one, other| {
            level(one).cmp(&level(other)).then_with(|| one.info.path.cmp(&other.info.path))
        });
        entries.truncate(keep);
    }
    order::sort_by(entries, |one, other| tree_order(&one.info, &other.info));
}

/// An entry to show.
struct Line {
    level: u32,
    path: String,
    /// As the walk knows it.
    real: Box<[u8]>,
    metadata: Metadata,
}

impl Ranked for Line {
    fn rank(&self) -> Option<i64> {
        Some(-i64::from(self.level))
    }

    fn path(&self) -> &str {
        &self.path
    }
}

struct Outliner<'a, T> {
    tree: &'a T,
    guard: &'a dyn Guard,
    names: &'a Names,
    /// Bytes of each path up to the first name below the directory.
    root: usize,
    query: &'a OutlineQuery,
    /// The directory of the last entry, whether the guard lets it and all above it be listed, and its files that are
    /// not in `counts` yet.
    directory: Vec<u8>,
    is_permitted: bool,
    uncounted: u64,
    /// The files below each directory that is shown.
    counts: HashMap<Box<[u8]>, u64>,
    files: u64,
    /// Whether there were more directories than are counted.
    overflowed: bool,
    total: usize,
    first: First<Line>,
}

impl<T: Tree> Outliner<'_, T> {
    fn permits(&self, path: &[u8]) -> bool {
        self.names.permits(self.guard, &[Operation::Ls], path, &self.names.shown(path))
    }

    /// The directories on the levels shown that hold `path`, a path below them.
    fn shown_above<'p>(&self, path: &'p [u8]) -> impl Iterator<Item = &'p [u8]> + use<'p, T> {
        let levels = self.query.depth as usize;
        let root = self.root;
        let ends = path.iter().enumerate().skip(root).filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        ends.take(levels).map(move |end| &path[..end])
    }

    /// Takes note of the directory that the next entries lie in. `path` ends with `/`.
    fn enter(&mut self, path: &[u8]) {
        self.count();
        self.directory.clear();
        self.directory.extend_from_slice(path);
        if !self.guard.is_open() {
            let above = path.iter().enumerate().skip(self.root).filter(|(_, byte)| **byte == b'/');
            self.is_permitted = above.map(|(end, _)| &path[..end]).all(|directory| self.permits(directory));
        }
    }

    /// Adds the files of the present directory to those of the directories shown.
    fn count(&mut self) {
        let files = std::mem::take(&mut self.uncounted);
        if files == 0 {
            return;
        }
        self.files += files;
        let directory = std::mem::take(&mut self.directory);
        for above in self.shown_above(&directory) {
            self.add(above, files);
        }
        self.directory = directory;
    }

    fn add(&mut self, directory: &[u8], files: u64) {
        if let Some(count) = self.counts.get_mut(directory) {
            *count += files;
        } else if self.counts.len() < MAX_COUNTED {
            self.counts.insert(directory.into(), files);
        } else {
            self.overflowed = true;
        }
    }

    /// Adds what another thread found.
    fn merge(&mut self, mut other: Self) {
        other.count();
        for (directory, files) in std::mem::take(&mut other.counts) {
            self.add(&directory, files);
        }
        self.files += other.files;
        self.overflowed |= other.overflowed;
        self.total += other.total;
        self.first.merge(other.first);
    }

    fn into_outline(mut self, query: &OutlineQuery, ignored: u64, incomplete: bool) -> Outline {
        self.count();
        let counts = std::mem::take(&mut self.counts);
        let mut entries: Vec<OutlineEntry> = self
            .first
            .into_page(0)
            .into_iter()
            .map(|line| {
                let is_counted = query.counts && line.metadata.kind == FileKind::Directory;
                let files = is_counted.then(|| counts.get(&line.real).copied().unwrap_or(0));
                OutlineEntry { info: line.metadata.named(line.path), files }
            })
            .collect();
        order::sort_by(&mut entries, |one, other| tree_order(&one.info, &other.info));
        let incomplete = incomplete || self.overflowed;
        Outline {
            truncated: incomplete || entries.len() < self.total,
            entries,
            total: self.total,
            files: query.counts.then_some(self.files),
            ignored,
            incomplete,
        }
    }
}

impl<T: Tree> Visitor<T> for Outliner<'_, T> {
    fn visit(&mut self, entry: Entry<'_, T>) -> ControlFlow<()> {
        let (directory, _) = entry.path.split_at(entry.path.len() - entry.name.len());
        if directory != self.directory {
            self.enter(directory);
        }
        let level = 1 + directory.iter().skip(self.root).filter(|byte| **byte == b'/').count() as u32;
        let is_counted = self.query.counts && entry.kind == EntryKind::File;
        let is_shown = level <= self.query.depth;
        if !self.is_permitted || !(is_counted || is_shown) || !self.guard.is_open() && !self.permits(entry.path) {
            return ControlFlow::Continue(());
        }
        self.uncounted += u64::from(is_counted);
        if !is_shown {
            return ControlFlow::Continue(());
        }
        let metadata = match entry.kind {
            EntryKind::Link => self
                .tree
                .follow(entry.directory, entry.name, entry.path)
                .ok()
                .filter(|target| self.guard.check(Operation::Ls, &target.resolved).is_ok())
                .map(|target| target.metadata),
            EntryKind::File | EntryKind::Directory | EntryKind::Other | EntryKind::Unknown => {
                self.tree.metadata(entry.directory, entry.name).ok()
            }
        };
        if let Some(metadata) = metadata {
            self.total += 1;
            let path = self.names.shown(entry.path).into_owned();
            self.first.push(Line { level, path, real: entry.path.into(), metadata });
        }
        ControlFlow::Continue(())
    }
}
