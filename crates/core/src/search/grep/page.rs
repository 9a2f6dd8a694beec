//! Keeps, of all files that matched, what the page asked for may need; memory stays bounded by the page.

use crate::search::order::{Ranked, compare, compare_places};
use crate::search::query::{GrepFile, GrepMatch, SortOrder};

/// 8 MiB of text in one answer: many times what a model is handed at once.
pub(super) const MAX_TEXT_BYTES: usize = 8 << 20;

/// What was found in one file.
#[derive(Debug)]
pub(super) struct FileHits {
    pub(super) path: String,
    pub(super) modified_ns: Option<i64>,
    /// Matching lines, also those not in `matches`.
    pub(super) count: u64,
    pub(super) matches: Vec<GrepMatch>,
    /// Bytes of text in `matches`.
    pub(super) bytes: usize,
}

impl Ranked for FileHits {
    fn rank(&self) -> Option<i64> {
        self.modified_ns
    }

    fn path(&self) -> &str {
        &self.path
    }
}

/// The files that matched, and the matches at the front of their order.
#[derive(Debug)]
pub(super) struct Page {
    sort: SortOrder,
    keep_files: usize,
    keep_matches: usize,
    files: Vec<FileHits>,
    kept_matches: usize,
    kept_bytes: usize,
    /// The place in the order behind which no match is shown, once there are matches enough.
    enough: Option<(Option<i64>, String)>,
    pub(super) total_files: u64,
    pub(super) total_matches: u64,
}

impl Page {
    /// Keeps the first `files` files and the matches of those that hold the first `matches` matches.
    pub(super) fn new(sort: SortOrder, files: usize, matches: usize) -> Self {
        Self {
            sort,
            keep_files: files,
            keep_matches: matches,
            files: Vec::new(),
            kept_matches: 0,
            kept_bytes: 0,
            enough: None,
            total_files: 0,
            total_matches: 0,
        }
    }

    /// Whether matches of a file may be on the page; of others their number is all that is asked for.
    pub(super) fn wants_matches(&self, modified_ns: Option<i64>, path: &str) -> bool {
        let place = (modified_ns, path);
        let is_before = |(rank, end): &(Option<i64>, String)| compare_places(self.sort, place, (*rank, end)).is_lt();
        self.keep_matches > 0 && self.enough.as_ref().is_none_or(is_before)
    }

    /// Adds what was found in one file.
    pub(super) fn push(&mut self, file: FileHits) {
        self.total_files += 1;
        self.total_matches += file.count;
        self.add(file);
    }

    fn add(&mut self, file: FileHits) {
        /// Results beyond twice the page before the rest is dropped, so that small pages are not sorted for each.
        const SLACK: usize = 256;
        let over = |kept: usize, keep: usize| kept > keep.saturating_mul(2).saturating_add(SLACK);
        self.kept_matches += file.matches.len();
        self.kept_bytes += file.bytes;
        self.files.push(file);
        if over(self.files.len(), self.keep_files)
            || over(self.kept_matches, self.keep_matches)
            || self.kept_bytes > 2 * MAX_TEXT_BYTES
        {
            self.prune();
        }
    }

    /// Adds what another thread collected.
    pub(super) fn merge(&mut self, other: Self) {
        self.total_files += other.total_files;
        self.total_matches += other.total_matches;
        for file in other.files {
            self.add(file);
        }
    }

    /// Drops what the page cannot need: files beyond the page, and matches behind the page or the byte budget.
    fn prune(&mut self) {
        self.files.sort_unstable_by(|left, right| compare(self.sort, left, right));
        self.files.truncate(self.keep_files);
        (self.kept_matches, self.kept_bytes) = (0, 0);
        let (mut counted, mut end) = (0, None);
        for file in &mut self.files {
            if counted >= self.keep_matches as u64 || self.kept_bytes >= MAX_TEXT_BYTES {
                end.get_or_insert_with(|| (file.modified_ns, file.path.clone()));
                file.matches = Vec::new();
                file.bytes = 0;
            }
            counted += file.count;
            self.kept_matches += file.matches.len();
            self.kept_bytes += file.bytes;
        }
        self.enough = end.or(self.enough.take());
    }

    /// The files in order.
    pub(super) fn into_files(mut self) -> Vec<FileHits> {
        self.prune();
        self.files
    }
}

/// The matches from `offset` on, at most `limit` and as many as the byte budget allows.
pub(super) fn matches(files: &mut [FileHits], offset: usize, limit: usize) -> Vec<GrepMatch> {
    let mut page = Vec::new();
    let mut skip = offset as u64;
    let mut bytes = 0;
    for file in files {
        if skip >= file.count {
            skip -= file.count;
            continue;
        }
        let is_complete = file.matches.len() as u64 == file.count;
        for found in std::mem::take(&mut file.matches).into_iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)) {
            bytes += text_bytes(&found);
            if page.len() >= limit || (bytes > MAX_TEXT_BYTES && !page.is_empty()) {
                return page;
            }
            page.push(found);
        }
        // The page has no gaps: where matches were dropped for their size, it ends.
        if !is_complete {
            return page;
        }
        skip = 0;
    }
    page
}

fn text_bytes(found: &GrepMatch) -> usize {
    let context = found.before.iter().chain(&found.after).map(|line| line.line.len()).sum::<usize>();
    found.path.len() + found.line.len() + context
}

/// The files themselves, as results.
pub(super) fn listed(files: Vec<FileHits>) -> Vec<GrepFile> {
    files.into_iter().map(|file| GrepFile { path: file.path, count: file.count }).collect()
}
