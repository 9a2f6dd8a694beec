//! Unified diffs, made from where the change is known to be: what did not change is never compared.
//!
//! Inside a changed region lines are compared (crate `similar`) while that is cheap; a region that is large is shown as
//! taken out and put in. A diff that would be long is cut at a line and says how much is missing. Virtual paths only.

use std::ops::Range;
use std::time::{Duration, Instant};

use memchr::memchr_iter;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::ChangedLines;
use super::splice::Change;
use crate::error::Shown;
use crate::text::lines;

/// Unchanged lines around a change. 3, as every tool does.
const CONTEXT: usize = 3;

/// Bytes of a diff before it is cut. 256 KiB: what one tool call may tell a model.
const MAX_BYTES: usize = 256 << 10;

/// Lines of a changed region that are compared with each other; larger regions are taken out and put in whole. 4,000.
const COMPARED_LINES: u64 = 4000;

/// Time that comparing may take; then the rest is shown as taken out and put in. 100 ms.
const COMPARE_TIME: Duration = Duration::from_millis(100);

/// The unified diff between two contents of `path`; `old` is `None` for a new file. Empty when they are equal.
///
/// What both share at their beginning and end is passed over; what is between is one region.
pub fn between(old: Option<&[u8]>, new: &[u8], path: &str) -> String {
    let Some(old) = old else {
        let change = Change { old: 0..0, new: 0..new.len() };
        return Writer::new("/dev/null", &Shown(path).to_string()).run(b"", new, &[change], 0).text;
    };
    let change = only_change(old, new);
    let line = lines::number_at(old, change.old.start);
    of_changes(old, new, &[change], line, path).text
}

/// Whether more than so many lines of either are compared with the other's.
pub(crate) fn is_longer(old: &[u8], new: &[u8], most_lines: usize) -> bool {
    let change = only_change(old, new);
    let is_longer = |text: &[u8]| memchr_iter(b'\n', text).nth(most_lines).is_some();
    is_longer(&old[change.old]) || is_longer(&new[change.new])
}

/// All between what both share at their beginning and end.
fn only_change(old: &[u8], new: &[u8]) -> Change {
    let prefix = shared_prefix(old, new);
    let suffix = shared_suffix(&old[prefix..], &new[prefix..]);
    Change { old: prefix..old.len() - suffix, new: prefix..new.len() - suffix }
}

/// A diff, and the lines that it is about.
pub(super) struct Diff {
    pub(super) text: String,
    pub(super) lines: Vec<ChangedLines>,
}

/// The lines around a range that the diff of a change there can need.
pub(super) fn neighbourhood(text: &[u8], range: &Range<usize>) -> (usize, usize) {
    let start = context_before(text, lines::start_of(text, range.start));
    // The line in which the range ends, the next one, which the change may join to it, and the context.
    let end = lines::end_of(text, lines::end_of(text, range.end));
    (start, context_after(text, end))
}

/// The unified diff of known changes, which are in order and do not overlap; `line` is the 0-based number of the line in
/// which the first of them begins. Empty when nothing differs.
pub(super) fn of_changes(old: &[u8], new: &[u8], changes: &[Change], line: u64, path: &str) -> Diff {
    let path = Shown(path).to_string();
    Writer::new(&path, &path).run(old, new, changes, line)
}

/// Bytes that are compared at once.
const BLOCK: usize = 4096;

fn shared_prefix(one: &[u8], two: &[u8]) -> usize {
    let blocks =
        one.chunks_exact(BLOCK).zip(two.chunks_exact(BLOCK)).take_while(|(one, two)| one == two).count() * BLOCK;
    blocks + one[blocks..].iter().zip(&two[blocks..]).take_while(|(one, two)| one == two).count()
}

fn shared_suffix(one: &[u8], two: &[u8]) -> usize {
    let blocks =
        one.rchunks_exact(BLOCK).zip(two.rchunks_exact(BLOCK)).take_while(|(one, two)| one == two).count() * BLOCK;
    let rest = one[..one.len() - blocks].iter().rev().zip(two[..two.len() - blocks].iter().rev());
    blocks + rest.take_while(|(one, two)| one == two).count()
}

/// A run of whole lines that changed: byte ranges that begin and end at line borders.
#[derive(Debug, Clone)]
struct Region {
    old: Range<usize>,
    new: Range<usize>,
}

struct Writer {
    header: String,
    text: String,
    deadline: Instant,
    /// Regions that were left out because the diff is long enough.
    left_out: usize,
}

impl Writer {
    fn new(old_path: &str, new_path: &str) -> Self {
        Self {
            header: format!("--- {old_path}\n+++ {new_path}\n"),
            text: String::new(),
            deadline: Instant::now() + COMPARE_TIME,
            left_out: 0,
        }
    }

    fn run(mut self, old: &[u8], new: &[u8], changes: &[Change], line: u64) -> Diff {
        let first = changes.first().map_or(0, |change| lines::start_of(old, change.old.start));
        let mut counted = Counted { old_at: first, old_lines: line, new_lines: line };
        let mut changed = Vec::new();
        let mut regions = Regions::new(old, new, changes).peekable();
        while let Some(first) = regions.next() {
            let mut hunk = vec![first];
            let mut end = hunk[0].old.end;
            // Regions whose context would touch share a hunk.
            while let Some(next) = regions.next_if(|next| few_lines(&old[end..next.old.start])) {
                end = next.old.end;
                hunk.push(next);
            }
            let first = changed.len();
            changed.extend(hunk.iter().map(|region| counted.over(old, new, region)));
            if self.text.len() >= MAX_BYTES {
                self.left_out += hunk.len();
                continue;
            }
            let before = changed.get(first).map_or((0, 0), |changed| (changed.old_first, changed.new_first));
            self.hunk(old, new, &hunk, before);
        }
        if self.text.is_empty() {
            return Diff { text: String::new(), lines: changed };
        }
        self.header.push_str(&self.text);
        if self.left_out > 0 {
            self.header.push_str(&format!("\\ {} more places changed; the diff is cut here.\n", self.left_out));
        }
        Diff { text: self.header, lines: changed }
    }

    fn hunk(&mut self, old: &[u8], new: &[u8], regions: &[Region], lines_before: (u64, u64)) {
        let (Some(first), Some(last)) = (regions.first(), regions.last()) else { return };
        let before = context_before(old, first.old.start);
        let after = context_after(old, last.old.end);
        let mut body = Body { text: String::new(), old_lines: 0, new_lines: 0, skipped: 0 };
        body.same(&old[before..first.old.start]);
        let mut changed = false;
        for (index, region) in regions.iter().enumerate() {
            changed |= body.region(&old[region.old.clone()], &new[region.new.clone()], self.deadline);
            let next = regions.get(index + 1).map_or(after, |next| next.old.start);
            body.same(&old[region.old.end..next]);
        }
        if !changed {
            return;
        }
        let context = lines::count(&old[before..first.old.start]);
        let (old_line, new_line) = (lines_before.0 - context, lines_before.1 - context);
        self.text.push_str(&format!("@@ -{} +{} @@\n", span(old_line, body.old_lines), span(new_line, body.new_lines)));
        self.text.push_str(&body.text);
        if body.skipped > 0 {
            self.text.push_str(&format!("\\ {} more lines; the diff is cut here.\n", body.skipped));
        }
    }
}

/// `start,count` as unified diffs write it: 1-based, without a count of 1, and the line before for none.
fn span(lines_before: u64, count: u64) -> String {
    match count {
        0 => format!("{lines_before},0"),
        1 => format!("{}", lines_before + 1),
        _ => format!("{},{count}", lines_before + 1),
    }
}

/// Widens changes to whole lines and joins those that then touch.
struct Regions<'a> {
    old: &'a [u8],
    new: &'a [u8],
    changes: &'a [Change],
    next: usize,
}

impl<'a> Regions<'a> {
    fn new(old: &'a [u8], new: &'a [u8], changes: &'a [Change]) -> Self {
        Self { old, new, changes, next: 0 }
    }
}

impl Iterator for Regions<'_> {
    type Item = Region;

    fn next(&mut self) -> Option<Region> {
        let first = self.changes.get(self.next)?;
        self.next += 1;
        let old_start = lines::start_of(self.old, first.old.start);
        let new_start = lines::start_of(self.new, first.new.start);
        let (mut old_end, mut new_end) = (first.old.end, first.new.end);
        loop {
            // Both ends move on until both stand at a line border, over the same unchanged text.
            let at_border =
                |text: &[u8], start: usize, end: usize| end == start || end == text.len() || text[end - 1] == b'\n';
            if !(at_border(self.old, old_start, old_end) && at_border(self.new, new_start, new_end)) {
                let upto = lines::end_of(self.old, old_end) - old_end;
                let limit = self.changes.get(self.next).map_or(usize::MAX, |next| next.old.start - old_end);
                let by = upto.min(limit);
                old_end += by;
                new_end += by;
                if by == upto {
                    // At the end of the line, or of the text. One more round when a change begins right here.
                    if self.changes.get(self.next).is_none_or(|next| next.old.start > old_end) {
                        break;
                    }
                }
            }
            match self.changes.get(self.next) {
                Some(next) if next.old.start <= old_end => {
                    (old_end, new_end) = (next.old.end, next.new.end);
                    self.next += 1;
                }
                _ => break,
            }
        }
        Some(Region { old: old_start..old_end, new: new_start..new_end })
    }
}

/// Line numbers, counted once from the front to the back.
struct Counted {
    /// Where in the old text counting stands.
    old_at: usize,
    old_lines: u64,
    new_lines: u64,
}

impl Counted {
    /// Counts up to a region and over it.
    fn over(&mut self, old: &[u8], new: &[u8], region: &Region) -> ChangedLines {
        let ended = |text: &[u8]| memchr_iter(b'\n', text).count() as u64;
        // What lies between two regions is the same in both texts.
        let between = ended(&old[self.old_at..region.old.start]);
        let before = (self.old_lines + between, self.new_lines + between);
        self.old_at = region.old.end;
        self.old_lines = before.0 + ended(&old[region.old.clone()]);
        self.new_lines = before.1 + ended(&new[region.new.clone()]);
        let removed = lines::count(&old[region.old.clone()]);
        ChangedLines { old_first: before.0, removed, new_first: before.1, new: region.new.clone() }
    }
}

/// Whether two regions with these unchanged lines between them share a hunk.
fn few_lines(between: &[u8]) -> bool {
    memchr_iter(b'\n', between).take(2 * CONTEXT + 1).count() <= 2 * CONTEXT
}

fn context_before(text: &[u8], mut start: usize) -> usize {
    for _ in 0..CONTEXT {
        if start == 0 {
            break;
        }
        start = lines::start_of(text, start - 1);
    }
    start
}

fn context_after(text: &[u8], mut end: usize) -> usize {
    for _ in 0..CONTEXT {
        end = lines::end_of(text, end);
    }
    end
}

/// The lines of one hunk.
struct Body {
    text: String,
    old_lines: u64,
    new_lines: u64,
    /// Lines that are not shown.
    skipped: u64,
}

impl Body {
    fn same(&mut self, text: &[u8]) {
        self.lines(' ', text);
    }

    /// Shows a region; `false` when nothing in it differs.
    fn region(&mut self, old: &[u8], new: &[u8], deadline: Instant) -> bool {
        if old == new {
            self.same(old);
            return false;
        }
        let large = lines::count(old).max(lines::count(new)) > COMPARED_LINES;
        if large || self.is_full() {
            self.lines('-', old);
            self.lines('+', new);
            return true;
        }
        let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
        let new: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
        for op in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline)) {
            match op {
                DiffOp::Equal { old_index, len, .. } => {
                    old[old_index..old_index + len].iter().for_each(|line| self.line(' ', line));
                }
                DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                    old[op.old_range()].iter().for_each(|line| self.line('-', line));
                    new[op.new_range()].iter().for_each(|line| self.line('+', line));
                }
            }
        }
        true
    }

    /// Whether no more lines are shown, only counted.
    fn is_full(&self) -> bool {
        self.skipped > 0 || self.text.len() >= MAX_BYTES
    }

    fn lines(&mut self, sign: char, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() && !self.is_full() {
            let (line, later) = rest.split_at(lines::end_of(rest, 0));
            self.line(sign, line);
            rest = later;
        }
        let count = lines::count(rest);
        self.count(sign, count);
        self.skipped += count;
    }

    fn line(&mut self, sign: char, line: &[u8]) {
        self.count(sign, 1);
        if self.text.len() + line.len() > MAX_BYTES {
            self.skipped += 1;
            return;
        }
        self.text.push(sign);
        self.text.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            self.text.push_str("\n\\ No newline at end of file\n");
        }
    }

    fn count(&mut self, sign: char, lines: u64) {
        self.old_lines += if sign == '+' { 0 } else { lines };
        self.new_lines += if sign == '-' { 0 } else { lines };
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
