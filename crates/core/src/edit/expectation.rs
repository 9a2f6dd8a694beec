//! No lost work: whether a file changed, since it was shown, where an edit touches it.
//!
//! A [`ReadRecord`] holds a hash of each line that a model was shown. When a file's version is no longer the one that the
//! record was made with, [`ReadRecord::check`] refuses an edit only if the lines it touches are not as they were shown;
//! otherwise the edit stands and the caller reports it as rebased. The record also binds line tags to what was read: a
//! tag alone misses one change in 256 and cannot see that equal lines were shifted (R-ED-2).
//!
//! The caller keeps the file's version beside the record, starts a new record when it reads another version, and asks
//! only when the version differs. Lines that were never shown are not guarded.

use std::ops::Range;

use gloveport_lines::{Key, Lines};
use serde_json::json;

use super::{Applied, ChangedLines, Edit};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::text::encoding::Document;
use crate::text::lines;

/// Lines that one record remembers. 20,000, which is 160 KiB; what was shown first is forgotten first.
const MAX_LINES: usize = 20_000;

/// Comparisons of lines that one check may take. 10,000,000, some 10 ms; beyond, the edit is refused.
const MAX_COMPARISONS: usize = 10_000_000;

/// Lines of a file that a check looks at. 4,000,000, which take 64 MiB meanwhile; a larger file is refused.
const MAX_FILE_LINES: usize = 4_000_000;

/// Lines on each side of a tagged line that vouch for its place when earlier lines changed. 3.
const NEIGHBOURS: u64 = 3;

/// Lines and characters of a line that a refusal shows. 8 and 160.
const SHOWN_LINES: usize = 8;
const SHOWN_CHARS: usize = 160;

/// What was shown of one file, in one version.
#[derive(Debug, Clone, Default)]
pub struct ReadRecord {
    key: Key,
    /// In the order of their lines, without overlap.
    segments: Vec<Segment>,
    /// Whether the segments are the whole file.
    whole: bool,
}

/// Lines that stand one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    /// The 0-based number of the first.
    first: u64,
    hashes: Vec<u64>,
}

impl Segment {
    fn end(&self) -> u64 {
        self.first + self.hashes.len() as u64
    }

    fn at(&self, line: u64) -> Option<u64> {
        let index = usize::try_from(line.checked_sub(self.first)?).ok()?;
        self.hashes.get(index).copied()
    }
}

impl ReadRecord {
    /// Nothing was shown yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The record of a file whose whole content is known, because it was just written. Nothing for a file without text.
    pub fn of_whole(bytes: &[u8], path: &str) -> Self {
        let mut record = Self::default();
        if let Ok(document) = Document::open(bytes, path) {
            let text = &document.text[document.first_line_start()..];
            let hashes = record.hashes_of(text);
            record.whole = hashes.len() < MAX_LINES;
            record.put(Segment { first: 0, hashes });
        }
        record
    }

    /// Remembers the lines of a window of the same version. `truncated` as in `FileSlice`: more follows, or the last line was
    /// cut.
    pub fn shown(&mut self, offset: u64, lines: &Lines<'_>, truncated: bool) {
        // Of a line that was cut nothing is known.
        let cut = truncated && !lines.text().is_empty() && !lines.text().ends_with('\n');
        let hashes = self.key.of_first(lines, MAX_LINES.min(lines.count() - usize::from(cut)));
        let all = offset == 0 && !truncated && hashes.len() < MAX_LINES;
        self.put(Segment { first: offset, hashes });
        self.whole |= all;
    }

    /// Takes over an edit of ours: what it put in is known, and what stands behind it moved. Nothing is known of a file that
    /// the edit made into another text than the one it meant, or into none.
    pub fn edited(&mut self, applied: &Applied, path: &str) {
        let document = match Document::open(&applied.bytes, path) {
            Ok(document) if applied.reopens => document,
            _ => {
                *self = Self::default();
                return;
            }
        };
        let mut segments = std::mem::take(&mut self.segments);
        let mut placed: Vec<Segment> = Vec::new();
        let (mut old_line, mut new_line) = (0, 0);
        for ChangedLines { old_first, removed, new_first, new } in &applied.lines {
            // What stands before the change is as far from it as before.
            let (earlier, later) = split(segments, *old_first, old_first + removed);
            placed.extend(moved(earlier, *old_first, *new_first));
            segments = later;
            let lines = without_mark(&document.text, new);
            let hashes: Vec<u64> = lines::ranges(lines).map(|line| self.hash(&lines[line])).collect();
            (old_line, new_line) = (old_first + removed, new_first + hashes.len() as u64);
            placed.push(Segment { first: *new_first, hashes });
        }
        placed.extend(moved(segments, old_line, new_line));
        let whole = self.whole;
        placed.into_iter().for_each(|segment| self.put(segment));
        self.whole = whole && self.segments.len() <= 1;
    }

    /// Refuses edits whose lines are not as they were shown.
    ///
    /// `before` is the file as it is now, `edits` were applied to it and made `applied`; call this only when the version
    /// of `before` is not the record's. `Ok` means that the edit may stand, as one that was rebased.
    ///
    /// Errors: `StaleFile`, with the lines as they are now and `details` `{ reason: "stale", lines }`.
    pub fn check(&self, before: &[u8], edits: &[Edit], applied: &Applied, path: &str) -> Result<()> {
        if self.segments.is_empty() {
            return Ok(());
        }
        let document = Document::open(before, path)?;
        let now = Now::new(&document, self);
        if now.lines.len() > MAX_FILE_LINES {
            return Err(now.stale(0..0, path));
        }
        let mut budget = MAX_COMPARISONS;
        let mut touched = edits.iter().filter_map(tagged_lines).peekable();
        if touched.peek().is_some() {
            return touched.try_for_each(|lines| match self.in_place(&now, &lines) {
                true => Ok(()),
                false => Err(now.stale(lines, path)),
            });
        }
        let (mut at, mut line) = (0, 0_u64);
        for change in &applied.changes {
            let start = lines::start_of(&document.text, change.old.start).max(at);
            line += lines::count(&document.text[at..start]);
            let end = if change.old.is_empty() { change.old.end } else { change.old.end - 1 };
            let end = lines::end_of(&document.text, end).max(start);
            let touched = line..line + lines::count(&document.text[start..end]);
            if !self.known(&now, &touched, &mut budget) {
                return Err(now.stale(touched, path));
            }
            (at, line) = (end, touched.end);
        }
        Ok(())
    }

    /// Whether lines of now stand, side by side, among the lines shown, or were never shown.
    fn known(&self, now: &Now<'_>, touched: &Range<u64>, budget: &mut usize) -> bool {
        let region = now.hashes(touched);
        if region.is_empty() {
            return true;
        }
        for segment in &self.segments {
            let shown = &segment.hashes;
            // The region may stand out over either end of what was shown.
            for shift in 0..shown.len() + region.len() - 1 {
                let from = shift.saturating_sub(region.len() - 1);
                let skipped = (region.len() - 1).saturating_sub(shift);
                let mut pairs = shown[from..].iter().zip(&region[skipped..]);
                let whole = !self.whole || skipped == 0 && shown.len() - from >= region.len();
                let equal = pairs.all(|(shown, now)| {
                    *budget = budget.saturating_sub(1);
                    shown == now
                });
                if equal && whole {
                    return true;
                }
                if *budget == 0 {
                    return false;
                }
            }
        }
        // Not as it was shown. Was it shown at all? Its neighbours tell.
        let neighbours = [touched.start.checked_sub(1), Some(touched.end)].into_iter().flatten();
        let shown = neighbours
            .filter_map(|line| now.hash(line))
            .any(|hash| hash != now.blank && self.segments.iter().any(|segment| segment.hashes.contains(&hash)));
        !self.whole && !shown
    }

    /// Whether lines stand where they stood when they were shown.
    fn in_place(&self, now: &Now<'_>, touched: &Range<u64>) -> bool {
        let Some(segment) =
            self.segments.iter().find(|segment| segment.first < touched.end && touched.start < segment.end())
        else {
            return true;
        };
        let same = |lines: Range<u64>| {
            let (start, end) = (lines.start.max(segment.first), lines.end.min(segment.end()));
            (start..end).all(|line| now.hash(line) == segment.at(line))
        };
        let near = touched.start.saturating_sub(NEIGHBOURS)..touched.end + NEIGHBOURS;
        same(touched.clone())
            && (same(segment.first..touched.start)
                || self.whole && segment.end() == now.total && same(touched.end..segment.end())
                || same(near))
    }

    /// The hashes of the first lines of a text, as many as are remembered.
    fn hashes_of(&self, text: &[u8]) -> Vec<u64> {
        // Looked at once for all lines.
        match std::str::from_utf8(text) {
            Ok(text) => self.key.of_first(&Lines::of(text), MAX_LINES),
            Err(_) => lines::ranges(text).take(MAX_LINES).map(|line| self.hash(&text[line])).collect(),
        }
    }

    /// The hash of a line as it is shown, so that a record of what was shown compares with a record of the bytes.
    fn hash(&self, line: &[u8]) -> u64 {
        self.key.of(String::from_utf8_lossy(line).as_bytes())
    }

    /// Adds a segment over those that are there, and forgets what is too much.
    fn put(&mut self, segment: Segment) {
        if segment.hashes.is_empty() {
            return;
        }
        let (mut earlier, later) = split(std::mem::take(&mut self.segments), segment.first, segment.end());
        earlier.push(segment);
        earlier.extend(later);
        for segment in earlier {
            match self.segments.last_mut() {
                Some(last) if last.end() == segment.first => last.hashes.extend(segment.hashes),
                _ => self.segments.push(segment),
            }
        }
        let mut count: usize = self.segments.iter().map(|segment| segment.hashes.len()).sum();
        while count > MAX_LINES {
            let first = &mut self.segments[0];
            let gone = (count - MAX_LINES).min(first.hashes.len());
            first.hashes.drain(..gone);
            first.first += gone as u64;
            count -= gone;
            self.whole = false;
            if first.hashes.is_empty() {
                self.segments.remove(0);
            }
        }
    }
}

/// The lines, 0-based, that a tagged edit is about; for an insertion those on both sides.
fn tagged_lines(edit: &Edit) -> Option<Range<u64>> {
    let Edit::Hashline(edit) = edit else { return None };
    let start = u64::try_from(edit.start_line).unwrap_or_default();
    if edit.insert_after {
        return Some(start.saturating_sub(1)..start + 1);
    }
    let end = edit.end_line.map_or(start, |end| u64::try_from(end).unwrap_or_default());
    Some(start.saturating_sub(1)..end)
}

/// What stands before `start` and what stands at or behind `end`.
fn split(segments: Vec<Segment>, start: u64, end: u64) -> (Vec<Segment>, Vec<Segment>) {
    let (mut earlier, mut later) = (Vec::new(), Vec::new());
    for mut segment in segments {
        let index = |line: u64| usize::try_from(line.saturating_sub(segment.first)).unwrap_or(usize::MAX);
        let (from, to) = (index(start).min(segment.hashes.len()), index(end).min(segment.hashes.len()));
        let tail = segment.hashes.split_off(to.max(from));
        if !tail.is_empty() {
            later.push(Segment { first: segment.end(), hashes: tail });
        }
        segment.hashes.truncate(from);
        if !segment.hashes.is_empty() {
            earlier.push(segment);
        }
    }
    (earlier, later)
}

/// The segments with the line that had the number `old` at the number `new`.
fn moved(segments: Vec<Segment>, old: u64, new: u64) -> impl Iterator<Item = Segment> {
    segments.into_iter().map(move |segment| Segment { first: (segment.first + new).saturating_sub(old), ..segment })
}

/// Changed lines without the byte order mark that is no part of its first line.
fn without_mark<'a>(text: &'a [u8], lines: &Range<usize>) -> &'a [u8] {
    let bytes = &text[lines.clone()];
    if lines.start == 0 { bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes) } else { bytes }
}

/// The file as it is now.
struct Now<'a> {
    text: &'a [u8],
    record: &'a ReadRecord,
    lines: Vec<Range<usize>>,
    total: u64,
    blank: u64,
}

impl<'a> Now<'a> {
    fn new(document: &'a Document<'_>, record: &'a ReadRecord) -> Self {
        let text = &document.text[document.first_line_start()..];
        let lines: Vec<_> = lines::ranges(text).take(MAX_FILE_LINES + 1).collect();
        Self { text, record, total: lines.len() as u64, lines, blank: record.hash(b"") }
    }

    fn hash(&self, line: u64) -> Option<u64> {
        let range = self.lines.get(usize::try_from(line).ok()?)?;
        Some(self.record.hash(&self.text[range.clone()]))
    }

    fn hashes(&self, touched: &Range<u64>) -> Vec<u64> {
        touched.clone().map_while(|line| self.hash(line)).collect()
    }

    fn stale(&self, touched: Range<u64>, path: &str) -> Error {
        if touched.is_empty() {
            let message = format!("'{}' changed since it was read. Read it again and decide anew.", Shown(path));
            return Error::new(ErrorKind::StaleFile, message)
                .with_path(path)
                .with_details(json!({ "reason": "stale" }));
        }
        let numbers: Vec<u64> = touched.clone().map(|line| line + 1).take(SHOWN_LINES * 2).collect();
        let span = match touched.end.saturating_sub(touched.start) {
            1 => format!("line {}", touched.start + 1),
            _ => format!("lines {}-{}", touched.start + 1, touched.end),
        };
        let mut message = format!(
            "'{}' changed since it was read, also where this edit touches it. Read it again and decide anew. Now {span}:",
            Shown(path)
        );
        for line in touched.clone().take(SHOWN_LINES) {
            let range = usize::try_from(line).ok().and_then(|line| self.lines.get(line).cloned()).unwrap_or_default();
            let bytes = &self.text[range];
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_CHARS * 4)]);
            let cut: String = text.trim_end_matches('\r').chars().take(SHOWN_CHARS).collect();
            message.push_str(&format!("\n{:>6}\t{cut}", line + 1));
        }
        Error::new(ErrorKind::StaleFile, message)
            .with_path(path)
            .with_details(json!({ "reason": "stale", "lines": numbers }))
    }
}

#[cfg(test)]
#[path = "expectation_tests.rs"]
mod tests;
