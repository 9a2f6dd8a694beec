//! Finding a file by what somebody remembers of its path, best fit first.

use std::ops::ControlFlow;

use super::filter::Filter;
use super::glob::threads;
use super::order::{First, Ranked};
use super::query::{EntryFilter, FindOutcome, FindQuery, SortOrder};
use super::start::{Names, Start, last_name};
use super::tree::{EntryKind, Metadata, Tree};
use super::walk::{Entry, Visitor, Walk};
use crate::access::{Guard, Operation};
use crate::backend::{Call, FileInfo, FileKind};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

mod score;

use score::{Candidate, MAX_WORD_CHARS, Word};

/// 8 words: more narrow nothing down.
const MAX_WORDS: usize = 8;

/// Answers `query` over `tree`. Blocks. Each word must fit the path below `query.path`, letters in order, case of no
/// account, one letter in five missing at most; files whose own name fits come first, then shorter paths. A deadline
/// makes the answer incomplete; an abort is an `Aborted` error. Fails with `InvalidInput` for an empty or overlong
/// query, with `NotADirectory` for a file, and, as the tree does, for a path that cannot be opened.
pub fn find<T: Tree>(tree: &T, query: &FindQuery, call: &Call, limits: &Limits) -> Result<FindOutcome> {
    let words = words(&query.query)?;
    let deadline = call.deadline.within(limits.search_timeout);
    let guard = call.guard.as_ref();
    let (start, names) = Start::open(tree, &query.path, query.respect_ignore, guard, Operation::Glob)?;
    let Start::Directory(root) = start else {
        return Err(Error::new(ErrorKind::NotADirectory, format!("'{}' is a file, not a directory.", query.path))
            .with_path(query.path.as_str()));
    };
    let filter = Filter::of_globs(&[], &[], &query.path, query.hidden)?;
    let keep = query.offset.saturating_add(query.limit.min(limits.glob_paths));
    let below = query.path.as_str().trim_end_matches('/').len() + 1;
    let finder = || Finder {
        tree,
        guard,
        names: &names,
        words: &words,
        below,
        candidate: Candidate::default(),
        total: 0,
        first: First::new(SortOrder::Modified, keep),
    };
    let walk = Walk {
        tree,
        filter: &filter,
        entries: EntryFilter::Files,
        links: false,
        respect_ignore: query.respect_ignore,
        costly: false,
        threads: threads(limits),
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
    Ok(FindOutcome { files, total, truncated, incomplete: walked.incomplete })
}

fn words(query: &str) -> Result<Vec<Word>> {
    let words: Vec<&str> = query.split_whitespace().collect();
    if words.is_empty() || words.len() > MAX_WORDS || words.iter().any(|word| word.chars().count() > MAX_WORD_CHARS) {
        return Err(Error::invalid(format!(
            "The query is one to {MAX_WORDS} words of at most {MAX_WORD_CHARS} characters: parts of the path that you \
             remember."
        )));
    }
    Ok(words.into_iter().map(Word::new).collect())
}

/// A file that fits.
struct Fit {
    rank: i64,
    path: String,
    metadata: Metadata,
}

impl Fit {
    fn into_info(self) -> FileInfo {
        FileInfo {
            name: last_name(&self.path).to_owned(),
            path: self.path,
            kind: self.metadata.kind,
            size: self.metadata.size,
            modified_at: self.metadata.modified_ns.map(|nanoseconds| nanoseconds.div_euclid(1_000_000)),
        }
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
    names: &'a Names,
    words: &'a [Word],
    /// Bytes of a shown path that belong to the searched directory.
    below: usize,
    candidate: Candidate,
    total: usize,
    first: First<Fit>,
}

impl<T: Tree> Visitor<T> for Finder<'_, T> {
    fn visit(&mut self, entry: Entry<'_, T>) -> ControlFlow<()> {
        /// More than any path has bytes, so that length only breaks ties.
        const SCORE: i64 = 1 << 13;
        if entry.kind != EntryKind::File {
            return ControlFlow::Continue(());
        }
        let shown = self.names.shown(entry.path);
        self.candidate.set(shown.get(self.below..).unwrap_or_default());
        let mut score = 0;
        for word in self.words {
            match self.candidate.score(word) {
                Some(fit) => score += i64::from(fit),
                None => return ControlFlow::Continue(()),
            }
        }
        if !self.names.permits(self.guard, &[Operation::Glob], entry.path, &shown) {
            return ControlFlow::Continue(());
        }
        let Ok(metadata) = self.tree.metadata(entry.directory, entry.name) else { return ControlFlow::Continue(()) };
        if metadata.kind == FileKind::File {
            self.total += 1;
            let rank = score * SCORE - shown.len() as i64;
            self.first.push(Fit { rank, path: shown.into_owned(), metadata });
        }
        ControlFlow::Continue(())
    }
}
