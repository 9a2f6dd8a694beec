//! The order of results, and a collection that keeps only the first of them.

use std::cmp::Ordering;

use super::query::SortOrder;
use crate::file_info::{FileInfo, FileKind};

/// A result that has a place in the order.
pub(crate) trait Ranked {
    /// What comes first when results are not ordered by path, the greatest before all: nanoseconds since 1970, or how
    /// well something fits. `None` sorts last.
    fn rank(&self) -> Option<i64>;
    /// What breaks ties.
    fn path(&self) -> &str;
}

/// The order of two results: total, since paths differ.
pub(crate) fn compare<R: Ranked>(sort: SortOrder, left: &R, right: &R) -> Ordering {
    compare_places(sort, (left.rank(), left.path()), (right.rank(), right.path()))
}

/// [`compare`] for a rank and a path.
pub(crate) fn compare_places(sort: SortOrder, left: (Option<i64>, &str), right: (Option<i64>, &str)) -> Ordering {
    match sort {
        SortOrder::Modified => right.0.cmp(&left.0),
        SortOrder::Path => Ordering::Equal,
    }
    .then_with(|| left.1.cmp(right.1))
}

/// Keeps the first `keep` of all results pushed, in memory for at most about twice as many.
#[derive(Debug)]
pub(crate) struct First<R> {
    sort: SortOrder,
    keep: usize,
    results: Vec<R>,
}

impl<R: Ranked> First<R> {
    /// An empty collection.
    pub(crate) fn new(sort: SortOrder, keep: usize) -> Self {
        Self { sort, keep, results: Vec::new() }
    }

    /// Adds a result.
    pub(crate) fn push(&mut self, result: R) {
        /// Results beyond twice `keep` before the rest is dropped, so that a small `keep` is not sorted for each.
        const SLACK: usize = 256;
        self.results.push(result);
        if self.results.len() >= self.keep.saturating_mul(2).saturating_add(SLACK) {
            self.results.select_nth_unstable_by(self.keep, |left, right| compare(self.sort, left, right));
            self.results.truncate(self.keep);
        }
    }

    /// Adds what another thread collected.
    pub(crate) fn merge(&mut self, other: Self) {
        for result in other.results {
            self.push(result);
        }
    }

    /// The results from `offset` on, in order.
    pub(crate) fn into_page(mut self, offset: usize) -> Vec<R> {
        self.results.sort_unstable_by(|left, right| compare(self.sort, left, right));
        self.results.truncate(self.keep);
        self.results.drain(..offset.min(self.results.len()));
        self.results
    }
}

/// The order of a tree: directories before files, then by name, each directory followed by its entries.
pub(crate) fn tree_order(one: &FileInfo, other: &FileInfo) -> Ordering {
    let (mut ones, mut others) = (one.path.split('/').peekable(), other.path.split('/').peekable());
    loop {
        match (ones.next(), others.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(name), Some(another)) if name == another => {}
            (Some(name), Some(another)) => {
                let is_directory = |last: bool, entry: &FileInfo| !last || entry.kind == FileKind::Directory;
                let first = is_directory(ones.peek().is_none(), one);
                let second = is_directory(others.peek().is_none(), other);
                return second.cmp(&first).then_with(|| name.cmp(another));
            }
        }
    }
}
