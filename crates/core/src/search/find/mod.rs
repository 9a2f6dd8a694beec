//! Finding a file by what somebody remembers of its path, best fit first.

use std::ops::ControlFlow;

use super::filter::Filter;
use super::glob::threads;
use super::order::{First, Ranked};
use super::query::{EntryFilter, FindOutcome, FindQuery, SortOrder};
use super::start::{Names, Start};
use super::tree::{EntryKind, Metadata, Tree};
use super::walk::{Entry, Visitor, Walk};
use crate::access::{Guard, Operation};
use crate::call::Call;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::file_info::{FileInfo, FileKind};
use crate::limits::Limits;
use crate::order;
use crate::path::VirtualPath;

mod rank;
mod score;

pub(crate) use rank::Ranking;

/// Answers `query` over `tree`. Blocks. Each word must fit the path below `query.path`, letters in order, case of no
/// account, one letter in five missing at most; files whose own name fits come first, then shorter paths. A deadline
/// makes the answer incomplete; an abort is an `Aborted` error. Fails with `InvalidInput` for an empty or overlong
/// query, with `NotADirectory` for a file, and, as the tree does, for a path that cannot be opened.
pub fn find<T: Tree>(tree: &T, query: &FindQuery, call: &Call, limits: &Limits) -> Result<FindOutcome> {
    let ranking = Ranking::new(&query.query)?;
    let deadline = call.deadline.within(limits.search_timeout);
    let guard = call.guard.as_ref();
    let (start, names) = Start::open(tree, &query.path, query.respect_ignore, guard, Operation::Glob)?;
    let Start::Directory(root) = start else {
        return Err(Error::new(ErrorKind::NotADirectory, format!("'{}' is a file, not a directory.", query.path))
            .with_path(query.path.as_str()));
    };
    let filter = Filter::of_globs(&[], &[], &query.path, query.hidden)?;
    let keep = query.offset.saturating_add(query.limit.min(limits.glob_paths));
    let finder = || Finder {
        tree,
        guard,
        deadline: &deadline,
        names: &names,
        ranking: ranking.clone(),
        above: &query.above,
        path: String::new(),
        below: bytes_above(&query.path),
        checked_at: 0,
        total: 0,
        first: First::new(SortOrder::Modified, keep),
    };
    let walk = Walk {
        tree,
        filter: &filter,
        entries: EntryFilter::Files,
        links: false,
        levels: u32::MAX,
        respect_ignore: query.respect_ignore,
        costly: false,
        threads: threads(limits, 0),
        deadline: &deadline,
    };
    let walked = walk.run(root, finder)?;
    let mut total = 0;
    let mut first = First::new(SortOrder::Modified, keep);
    for part in walked.visitors {
        total += part.total;
        first.merge(part.first);
    }
    let files: Vec<FileInfo> = first.into_page(query.offset).into_iter().map(Fit::into_info).collect();
    let truncated = walked.incomplete || query.offset.saturating_add(files.len()) < total;
    Ok(FindOutcome { files, total, ignored: walked.left_out, truncated, incomplete: walked.incomplete })
}

/// Bytes of a path below `directory` that say no more than that it lies there.
fn bytes_above(directory: &VirtualPath) -> usize {
    directory.as_str().trim_end_matches('/').len() + 1
}

/// Puts files in the order of a search for `query` below `directory`, and says how many fit; the others are dropped.
/// `above` is that of a [`FindQuery`].
pub(crate) fn in_order(files: &mut Vec<FileInfo>, query: &str, directory: &VirtualPath, above: &str) -> Result<usize> {
    let mut ranking = Ranking::new(query)?;
    let below = bytes_above(directory);
    let mut rank = |path: &str| ranking.rank(&format!("{above}{}", path.get(below..)?));
    let mut ranked: Vec<(i64, FileInfo)> =
        std::mem::take(files).into_iter().filter_map(|file| Some((rank(&file.path)?, file))).collect();
    order::sort_by(&mut ranked, |(one, file), (other, another)| {
        other.cmp(one).then_with(|| file.path.cmp(&another.path))
    });
    files.extend(ranked.into_iter().map(|(_, file)| file));
    Ok(files.len())
}

/// A file that fits.
struct Fit {
    rank: i64,
    path: String,
    metadata: Metadata,
}

impl Fit {
    fn into_info(self) -> FileInfo {
        self.metadata.named(self.path)
    }
}

impl Ranked for Fit {
    fn rank(&self) -> Option<i64> {
        Some(self.rank)
    }

    fn path(&self) -> &str {
        &self.path
    }
}

struct Finder<'a, T> {
    tree: &'a T,
    guard: &'a dyn Guard,
    deadline: &'a Deadline,
    names: &'a Names,
    ranking: Ranking,
    /// What stands before each path, for the words.
    above: &'a str,
    /// The present path with what stands before it.
    path: String,
    /// Bytes of a shown path that belong to the searched directory.
    below: usize,
    /// The cost of ranking when the clock was last looked at.
    checked_at: u64,
    total: usize,
    first: First<Fit>,
}

impl<T: Tree> Finder<'_, T> {
    /// Whether the search must end, by the clock: asked after so much ranking as takes about a millisecond.
    fn is_over(&mut self) -> bool {
        const CELLS_A_CHECK: u64 = 1 << 18;
        let cost = self.ranking.cost();
        if cost - self.checked_at < CELLS_A_CHECK {
            return false;
        }
        self.checked_at = cost;
        self.deadline.check().is_err()
    }
}

impl<T: Tree> Visitor<T> for Finder<'_, T> {
    fn visit(&mut self, entry: Entry<'_, T>) -> ControlFlow<()> {
        if entry.kind != EntryKind::File {
            return ControlFlow::Continue(());
        }
        if self.is_over() {
            return ControlFlow::Break(());
        }
        let shown = self.names.shown(entry.path);
        self.path.clear();
        self.path.push_str(self.above);
        self.path.push_str(shown.get(self.below..).unwrap_or_default());
        let Some(rank) = self.ranking.rank(&self.path) else { return ControlFlow::Continue(()) };
        if !self.names.permits(self.guard, &[Operation::Glob], entry.path, &shown) {
            return ControlFlow::Continue(());
        }
        let Ok(metadata) = self.tree.metadata(entry.directory, entry.name) else { return ControlFlow::Continue(()) };
        if metadata.kind == FileKind::File {
            self.total += 1;
            self.first.push(Fit { rank, path: shown.into_owned(), metadata });
        }
        ControlFlow::Continue(())
    }
}
