//! Finding names by pattern.

use std::num::NonZero;
use std::ops::ControlFlow;

use super::filter::Filter;
use super::order::{First, Ranked, compare_places};
use super::pattern::Hit;
use super::query::{Cursor, EntryFilter, GlobOutcome, GlobQuery, LinkPolicy};
use super::start::{Names, Start};
use super::tree::{EntryKind, Metadata, Tree};
use super::walk::{Entry, Visitor, Walk};
use crate::access::{Guard, Operation};
use crate::call::Call;
use crate::error::{ErrorKind, Result};
use crate::file_info::{FileInfo, FileKind};
use crate::limits::Limits;
use crate::path::VirtualPath;

/// Threads of a search where the limits name none; more only wait for the kernel's locks.
const MAX_DEFAULT_THREADS: usize = 8;

/// Answers `query` over `tree`. Blocks. A deadline makes the answer incomplete; an abort is an `Aborted` error. Fails
/// with `InvalidInput` for a pattern that is not valid and, as the tree does, for a path that cannot be opened. An
/// absolute pattern is held against what lies below `query.path`, or leads the search to another place of the tree.
pub fn glob<T: Tree>(tree: &T, query: &GlobQuery, call: &Call, limits: &Limits) -> Result<GlobOutcome> {
    let deadline = call.deadline.within(limits.search_timeout);
    let (filter, base) = Filter::of_pattern(&query.pattern, &query.path, query.hidden)?;
    let guard = call.guard.as_ref();
    let (start, names) = match Start::open(tree, &base, query.respect_ignore, guard, Operation::Glob) {
        Ok(start) => start,
        // The pattern spelled a directory that is not there: nothing matches it.
        Err(error) if error.kind() == ErrorKind::FileNotFound && base != query.path => {
            return Ok(GlobOutcome::default());
        }
        Err(error) => return Err(error),
    };
    let limit = query.limit.min(limits.glob_paths);
    let keep = query.offset.saturating_add(limit);
    let collector =
        || Collector { tree, guard, names: &names, query, total: 0, before: 0, first: First::new(query.sort, keep) };
    let (collected, ignored, incomplete) = match start {
        Start::File(opened) => {
            let mut collector = collector();
            let name = opened.file.as_deref().unwrap_or_default();
            if matches_file(query, &base)? && !matches!(query.entries, EntryFilter::Directories) {
                let path = opened.resolved.as_str().as_bytes();
                let _ = collector.visit(Entry { directory: &opened.directory, name, path, kind: EntryKind::File });
            }
            (collector, 0, false)
        }
        Start::Directory(root) => {
            let walk = Walk {
                tree,
                filter: &filter,
                entries: query.entries,
                links: query.links == LinkPolicy::Match,
                levels: u32::MAX,
                respect_ignore: query.respect_ignore,
                costly: false,
                threads: threads(limits, query.threads),
                deadline: &deadline,
            };
            let walked = walk.run(root, collector)?;
            let mut all = collector();
            for part in walked.visitors {
                all.total += part.total;
                all.before += part.before;
                all.first.merge(part.first);
            }
            (all, walked.left_out, walked.incomplete)
        }
    };
    let page = collected.first.into_page(query.offset);
    let ranks: Vec<Option<i64>> = page.iter().map(Ranked::rank).collect();
    let files: Vec<FileInfo> = page.into_iter().map(Found::into_info).collect();
    let has_more = collected.before.saturating_add(query.offset).saturating_add(files.len()) < collected.total;
    let last = files.last().zip(ranks.last()).filter(|_| has_more);
    let next = last.map(|(file, rank)| Cursor::of(file, Some(*rank)));
    Ok(GlobOutcome {
        files,
        ranks,
        next,
        total: collected.total,
        before: collected.before,
        ignored,
        truncated: incomplete || has_more,
        incomplete,
    })
}

/// Whether a file that is searched by its own path matches; naming it makes its dot no obstacle.
fn matches_file(query: &GlobQuery, path: &VirtualPath) -> Result<bool> {
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return Ok(false) };
    let (filter, _) = Filter::of_pattern(&query.pattern, &parent, true)?;
    Ok(filter.file(&filter.start(), name.as_bytes()) != Hit::No)
}

/// How many threads a search may use of which its caller allows `asked`, 0 for any number.
pub(super) fn threads(limits: &Limits, asked: usize) -> usize {
    let allowed = match limits.search_threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_DEFAULT_THREADS),
        named => named,
    };
    if asked == 0 { allowed } else { asked.min(allowed) }
}

struct Found {
    path: String,
    metadata: Metadata,
}

impl Found {
    fn into_info(self) -> FileInfo {
        self.metadata.named(self.path)
    }
}

impl Ranked for Found {
    fn rank(&self) -> Option<i64> {
        self.metadata.modified_ns
    }

    fn path(&self) -> &str {
        &self.path
    }
}

struct Collector<'a, T> {
    tree: &'a T,
    guard: &'a dyn Guard,
    names: &'a Names,
    query: &'a GlobQuery,
    total: usize,
    /// How many of them came on earlier pages.
    before: usize,
    first: First<Found>,
}

impl<T: Tree> Collector<'_, T> {
    /// The facts to show, once everything that decides about an entry has agreed to it.
    fn admitted(&self, entry: &Entry<'_, T>, shown: &str) -> Option<Metadata> {
        if !self.names.permits(self.guard, &[Operation::Glob], entry.path, shown) {
            return None;
        }
        if entry.kind != EntryKind::Link {
            return self.tree.metadata(entry.directory, entry.name).ok();
        }
        let target = self.tree.follow(entry.directory, entry.name, entry.path).ok()?;
        self.guard.check(Operation::Glob, &target.resolved).ok()?;
        Some(target.metadata)
    }
}

impl<T: Tree> Visitor<T> for Collector<'_, T> {
    fn visit(&mut self, entry: Entry<'_, T>) -> ControlFlow<()> {
        let shown = self.names.shown(entry.path);
        let Some(metadata) = self.admitted(&entry, &shown) else { return ControlFlow::Continue(()) };
        let wanted = match metadata.kind {
            FileKind::File => matches!(self.query.entries, EntryFilter::Files | EntryFilter::Any),
            FileKind::Directory => matches!(self.query.entries, EntryFilter::Directories | EntryFilter::Any),
            FileKind::Symlink | FileKind::Other => false,
        };
        if wanted {
            self.total += 1;
            let is_new = self.query.after.as_ref().is_none_or(|after| {
                let place = (metadata.modified_ns, shown.as_ref());
                compare_places(self.query.sort, place, (after.rank, &after.path)).is_gt()
            });
            if is_new {
                self.first.push(Found { path: shown.into_owned(), metadata });
            } else {
                self.before += 1;
            }
        }
        ControlFlow::Continue(())
    }
}
