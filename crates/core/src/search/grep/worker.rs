//! Looks into files: one worker a thread, with its own buffer and searcher.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_matcher::{LineMatchKind, Matcher};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use parking_lot::Mutex;

use super::engines::Engines;
use super::pace::{Pace, Paced};
use super::page::Page;
use super::sink::{FileSink, Keep};
use crate::access::{Guard, Operation};
use crate::cancel::Deadline;
use crate::path::VirtualPath;
use crate::search::query::GrepQuery;
use crate::search::start::Names;
use crate::search::tree::{EntryKind, Metadata, Obstacle, Tree};
use crate::search::walk::{Entry, Visitor};
use crate::text::encoding::{Content, Encoding, sniff};

/// 256 KiB: nearly every source file is searched in one piece, and a piece takes well under the 20 ms in which a search
/// must hear a cancellation.
const WHOLE_FILE_BYTES: usize = 256 << 10;
/// 16 MiB: the longest line, and with `multiline` the largest file, since those are held in memory.
const MAX_HELD_BYTES: usize = 16 << 20;
/// 1,000 lines of context on either side of a match.
const MAX_CONTEXT: u32 = 1000;

/// What all workers of one search share.
pub(super) struct Job<'a, T, E> {
    pub(super) tree: &'a T,
    pub(super) guard: &'a dyn Guard,
    pub(super) names: &'a Names,
    pub(super) query: &'a GrepQuery,
    pub(super) engines: &'a E,
    pub(super) pace: Pace,
    pub(super) deadline: &'a Deadline,
    pub(super) keep: Keep,
    /// Bytes of the largest file to look into.
    pub(super) max_file_bytes: u64,
    /// Bytes that may still be read, over all files; where they run out the search ends.
    pub(super) bytes_left: AtomicU64,
    /// Held while a file is searched that needs [`MAX_HELD_BYTES`], so that only one does at a time.
    pub(super) large: Mutex<()>,
}

/// What is done with a file whose lines are shown.
const OPERATIONS: &[Operation] = &[Operation::Grep, Operation::Read];

impl<T: Tree, E> Job<'_, T, E> {
    /// Opens the file that the link at `path` leads to, when the guard lets that be searched.
    fn open_target(&self, path: &[u8]) -> Option<(T::File, Metadata)> {
        let path = VirtualPath::absolute(std::str::from_utf8(path).ok()?).ok()?;
        let opened = self.tree.open(&path).ok()?;
        opened.file.as_ref()?;
        OPERATIONS.iter().try_for_each(|operation| self.guard.check(*operation, &opened.resolved)).ok()?;
        self.tree.open_named(&opened, &path).ok()
    }
}

/// What is known of a file that is searched.
#[derive(Clone, Copy)]
struct Named<'a> {
    path: &'a str,
    modified_ns: Option<i64>,
    /// Whether the caller named it, so that it counts as text.
    is_named: bool,
}

/// One thread's part of a search for lines.
pub(super) struct Worker<'a, T, E> {
    job: &'a Job<'a, T, E>,
    searcher: Searcher,
    /// For text without a mark of its encoding, of which matches are counted only.
    counter: Searcher,
    /// Whether a match never spans lines, so that a whole file can be asked at once whether it holds one.
    is_line_oriented: bool,
    /// What is read of a file; made for the first that is not held in memory.
    buffer: Vec<u8>,
    pub(super) page: Page,
    pub(super) searched: u64,
    pub(super) too_large: u64,
    /// Whether something could not be looked into: a line too long for the pattern, a file for want of descriptors.
    pub(super) exceeded: bool,
}

impl<'a, T: Tree, E: Engines> Worker<'a, T, E> {
    pub(super) fn new(job: &'a Job<'a, T, E>, page: Page) -> Self {
        let query = job.query;
        let shows_lines = !query.files_only && !query.count_only;
        let context = |lines: u32| if shows_lines { lines.min(MAX_CONTEXT) as usize } else { 0 };
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(false)
            .multi_line(query.multiline)
            .max_matches(if query.files_only { Some(1) } else { query.max_per_file })
            .heap_limit(Some(MAX_HELD_BYTES))
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::none());
        let counter = builder.build();
        let searcher = builder
            .line_number(shows_lines)
            .before_context(context(query.before))
            .after_context(context(query.after))
            .bom_sniffing(true)
            .build();
        let is_line_oriented = !query.multiline
            && job.engines.ascii().and_then(Matcher::line_terminator) == Some(searcher.line_terminator());
        let buffer = Vec::new();
        Self { job, searcher, counter, is_line_oriented, buffer, page, searched: 0, too_large: 0, exceeded: false }
    }

    /// Searches an open file of `size` bytes; `is_named` when the caller named it, so that it counts as text. An error
    /// means that the search is to end.
    pub(super) fn search(
        &mut self,
        mut file: T::File,
        size: u64,
        modified_ns: Option<i64>,
        path: &str,
        is_named: bool,
    ) -> io::Result<()> {
        if size > self.job.max_file_bytes || (self.job.query.multiline && size > MAX_HELD_BYTES as u64) {
            self.too_large += 1;
            return Ok(());
        }
        let spent = |left: u64| left.checked_sub(size);
        if self.job.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent).is_err() {
            return Err(io::Error::other("the search has read as much as it may"));
        }
        let named = Named { path, modified_ns, is_named };
        if let Some(held) = T::held(&file).filter(|held| held.len() <= WHOLE_FILE_BYTES) {
            return self.search_bytes(held, io::empty(), held.len() as u64, named);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.is_empty() {
            buffer = vec![0; WHOLE_FILE_BYTES];
        }
        let filled = fill(&mut file, &mut buffer, size);
        let result = match filled {
            Ok(length) => self.search_bytes(&buffer[..length], file, size, named),
            // It cannot be read: it is left out, like one that cannot be opened.
            Err(_) => Ok(()),
        };
        self.buffer = buffer;
        result
    }

    /// Searches a file of which the first bytes are read, and adds what is found to the page.
    fn search_bytes(&mut self, head: &[u8], rest: impl Read, size: u64, named: Named<'_>) -> io::Result<()> {
        let job = self.job;
        let is_whole = head.len() < WHOLE_FILE_BYTES || size == head.len() as u64;
        let is_ascii = is_whole && gloveport_lines::is_ascii(head);
        // Before anything is compiled for it: nearly every folder has a picture.
        if !is_ascii && !named.is_named && matches!(sniff(head), Content::Binary(_)) {
            return Ok(());
        }
        let engine = if is_ascii { job.engines.ascii() } else { job.engines.any() };
        let engine = engine.ok_or_else(|| io::Error::other("the pattern is too large for this text"))?;
        let wants_matches = self.page.wants_matches(named.modified_ns, named.path);
        let keep = if wants_matches { job.keep } else { Keep { matches: 0, ..job.keep } };
        let mut sink = FileSink::new(engine, job.deadline, named.path, keep);
        let matcher = Paced::new(engine, job.deadline, job.pace);
        let result = self.search_with(&matcher, head, rest, (is_whole, named.is_named), &mut sink);
        self.exceeded |= matcher.exceeded();
        self.keep(result, sink, named.modified_ns)
    }

    fn search_with(
        &mut self,
        matcher: &Paced<'_, E::Matcher>,
        head: &[u8],
        rest: impl Read,
        (is_whole, is_named): (bool, bool),
        sink: &mut FileSink<'_, E::Matcher>,
    ) -> io::Result<()> {
        let has_wide_bom = matches!(head, [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..]);
        // A whole file is searched behind its mark; one in pieces, or in UTF-16, is left to the searcher's decoder.
        let text = if is_whole { head.strip_prefix(Encoding::Utf8Bom.bom()).unwrap_or(head) } else { head };
        let (mut confirmed, mut first) = (false, None);
        if is_whole && self.is_line_oriented && !has_wide_bom {
            match matcher.find_candidate_line(text).map_err(|_| io::Error::other("the call must end"))? {
                None => {
                    self.searched += 1;
                    return Ok(());
                }
                Some(LineMatchKind::Confirmed(at)) => (confirmed, first) = (true, Some(at)),
                Some(LineMatchKind::Candidate(at)) => first = Some(at),
            }
        }
        if !is_named && matches!(sniff(head), Content::Binary(_)) {
            return Ok(());
        }
        self.searched += 1;
        if confirmed && self.job.query.files_only {
            sink.count = 1;
            return Ok(());
        }
        if is_whole && !sink.keeps() && !has_wide_bom {
            // What stands before the first line that may match was looked at above.
            let start = first.map_or(0, |first| line_start(text, first));
            self.counter.search_slice(matcher, &text[start..], sink)
        } else if is_whole {
            self.searcher.search_slice(matcher, text, sink)
        } else {
            let _large = self.job.large.lock();
            let rest = Checked { inner: rest, deadline: self.job.deadline, left: self.job.max_file_bytes };
            self.searcher.search_reader(matcher, head.chain(rest), sink)
        }
    }

    /// Adds what was found in a file to the page.
    fn keep(
        &mut self,
        result: io::Result<()>,
        sink: FileSink<'_, E::Matcher>,
        modified_ns: Option<i64>,
    ) -> io::Result<()> {
        if let Err(error) = result {
            self.job.deadline.check().map_err(|_| error)?;
            // A line beyond the heap limit, or a file that stopped being readable half-way.
            self.too_large += 1;
            return Ok(());
        }
        if sink.count > 0 {
            self.page.push(sink.into_hits(modified_ns));
        }
        Ok(())
    }
}

impl<T: Tree, E: Engines> Visitor<T> for Worker<'_, T, E> {
    fn visit(&mut self, entry: Entry<'_, T>) -> ControlFlow<()> {
        let job = self.job;
        let shown = job.names.shown(entry.path);
        if !job.names.permits(job.guard, OPERATIONS, entry.path, &shown) {
            return ControlFlow::Continue(());
        }
        let opened = match entry.kind {
            EntryKind::File => match job.tree.open_file(entry.directory, entry.name) {
                Ok(opened) => Some(opened),
                Err(obstacle) => {
                    self.exceeded |= obstacle == Obstacle::Exhausted;
                    None
                }
            },
            EntryKind::Link => job.open_target(entry.path),
            EntryKind::Directory | EntryKind::Other | EntryKind::Unknown => None,
        };
        let Some((file, metadata)) = opened else { return ControlFlow::Continue(()) };
        match self.search(file, metadata.size, metadata.modified_ns, &shown, false) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// Where the line of `text` begins in which `at` lies.
fn line_start(text: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &text[..at.min(text.len())]).map_or(0, |end| end + 1)
}

/// Fills `buffer` from a file of `size` bytes, as far as either goes. A file that was empty when it was opened is read
/// once, since some file systems do not know sizes.
fn fill(file: &mut impl Read, buffer: &mut [u8], size: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => {
                length += read;
                if length as u64 == size {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A file read piece by piece: ends when the call must, and at the size limit even while somebody writes on.
struct Checked<'a, R> {
    inner: R,
    deadline: &'a Deadline,
    left: u64,
}

impl<R: Read> Read for Checked<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        /// 64 KiB: between two of them the clock is looked at.
        const PIECE: usize = 64 << 10;
        if self.deadline.check().is_err() {
            return Err(io::Error::other("the call must end"));
        }
        let room = buffer.len().min(PIECE).min(usize::try_from(self.left).unwrap_or(PIECE));
        let read = self.inner.read(&mut buffer[..room])?;
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody may write to a file as fast as it is read.
    #[test]
    fn a_file_that_grows_is_read_up_to_the_limit() {
        let deadline = Deadline::default();
        let growing = io::repeat(b'x').take(1 << 20);
        let mut read = Vec::new();
        Checked { inner: growing, deadline: &deadline, left: 100_000 }.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), 100_000);
        deadline.cancel.cancel();
        assert!(Checked { inner: io::repeat(b'x'), deadline: &deadline, left: 1 }.read(&mut [0]).is_err());
    }
}
