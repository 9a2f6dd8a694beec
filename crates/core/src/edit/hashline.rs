//! Edits lines that are named by number and tag (BE-90 … BE-95).
//!
//! Beyond those: line 0 with `insert_after` is the place before the first line; inserting empty content inserts one empty
//! line; deleting every line leaves an empty file (D24); new lines take the line ends of the place they go to, so a CRLF
//! file stays one (D3); tags that were pasted into `new_content` are taken off; all edits of a call name lines as they
//! were read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memchr_iter;
use serde_json::json;

use super::splice::{self, Change, Splice, compose};
use super::str_replace::with_crlf;
use super::{Edit, EditOptions, Edited, Failure, Hashline, failed, other_kind, too_large};
use crate::error::{Result, Shown};
use crate::order;
use crate::text::encoding::Document;
use crate::text::hashline::LineTag;

/// Lines on each side of a line whose tag differs that the message shows. 2.
const CONTEXT: i64 = 2;

/// Characters of a line that a message shows. 160.
const SHOWN_CHARS: usize = 160;

/// Validates all edits against the text as it is, then applies them together.
pub(super) fn apply(document: &Document<'_>, edits: &[Edit], options: &EditOptions<'_>) -> Result<Edited> {
    options.deadline.check()?;
    let text: &[u8] = &document.text;
    let table = LineTable::new(text, document.first_line_start(), edits);
    let mut failures = Vec::new();
    let mut plans = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let checked = match edit {
            Edit::Hashline(edit) => check(edit, &table).and_then(|target| plan(edit, target, &table, index)),
            Edit::StrReplace(_) => Err(other_kind()),
        };
        match checked {
            Ok(plan) => plans.push(plan),
            Err(failure) => failures.push((index, failure)),
        }
    }
    failures.extend(overlaps(&plans));
    if !failures.is_empty() {
        order::sort_by_key(&mut failures, |(index, _)| *index);
        return Err(failed(&failures, edits.len(), options.path));
    }
    let summary = plans.iter().map(|plan| plan.summary.as_str()).collect::<Vec<_>>().join("; ");
    let (text, changes) = make(&table, plans, document, options)?;
    Ok(Edited { text, changes, replacements: edits.len() as u64, summary })
}

/// What an edit is aimed at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// These lines, 1-based, both inclusive.
    Lines(i64, i64),
    /// The place behind this line; 0 is before the first.
    Behind(i64),
}

struct Plan<'a> {
    index: usize,
    target: Target,
    splice: Splice<'a>,
    summary: String,
}

/// Checks in the order of BE-93.
fn check(edit: &Hashline, table: &LineTable<'_>) -> Result<Target, Failure> {
    let Hashline { start_line: start, end_line, .. } = *edit;
    let before_first = start == 0 && edit.insert_after;
    if !before_first {
        table.require(start)?;
    }
    if edit.insert_after {
        if end_line.is_some() || edit.end_hash.is_some() {
            return Err(Failure::new("insert_with_end", "end_line/end_hash cannot be combined with insert_after"));
        }
        if !before_first {
            table.require_tag(start, &edit.start_hash)?;
        }
        return Ok(Target::Behind(start));
    }
    table.require_tag(start, &edit.start_hash)?;
    let Some(end) = end_line else { return Ok(Target::Lines(start, start)) };
    if end < start {
        let message = format!("end_line ({end}) must be >= start_line ({start})");
        return Err(Failure::new("range_reversed", message));
    }
    table.require(end)?;
    match &edit.end_hash {
        Some(hash) => table.require_tag(end, hash)?,
        None if end == start => {}
        // R-ED-2: both ends of a range are checked.
        None => {
            let message = format!("end_hash is missing: line {end} is '{}' now.{}", table.tag(end), table.around(end));
            return Err(Failure::new("end_hash_missing", message).at([number(end)]));
        }
    }
    Ok(Target::Lines(start, end))
}

fn plan<'a>(edit: &'a Hashline, target: Target, table: &LineTable<'_>, index: usize) -> Result<Plan<'a>, Failure> {
    let (content, stripped) = without_tags(&edit.new_content, target, table);
    let count = |content: &str| content.split('\n').count() as i64;
    let added = count(&content);
    let (splice, mut summary) = match target {
        Target::Behind(line) => {
            (insertion(content, line, table), format!("Inserted {added} line(s) after line {line}"))
        }
        Target::Lines(start, end) => {
            let removed = end - start + 1;
            let first = table.line(start).start;
            let last = table.line(end);
            if content.is_empty() && !table.is_empty() {
                let range = first..last.end + usize::from(last.end < table.text.len());
                (Splice { range, text: Cow::Borrowed(b"") }, format!("Deleted {removed} line(s) at line {start}"))
            } else {
                let crlf = table
                    .ends_with_crlf(start)
                    .or_else(|| table.ends_with_crlf(end))
                    .or_else(|| table.ends_with_crlf(start - 1));
                // The last line's end stays as it is, its `\r` included.
                let kept = table.ends_with_crlf(end) == Some(true);
                let range = first..last.end - usize::from(kept);
                let mut text = if crlf == Some(true) { into_crlf(content) } else { content };
                if kept && text.ends_with('\r') {
                    text.to_mut().pop();
                }
                let text = into_bytes(text);
                if table.text[range.clone()] == *text {
                    let message =
                        format!("The new lines are what stands at line {start} already: there is nothing to change.");
                    return Err(Failure::new("identical", message).at([number(start)]));
                }
                let with = if added == removed { String::new() } else { format!(" with {added} line(s)") };
                (Splice { range, text }, format!("Replaced {removed} line(s){with} at line {start}"))
            }
        }
    };
    if stripped {
        summary.push_str(" (pasted line tags taken off)");
    }
    Ok(Plan { index, target, splice, summary })
}

/// New lines behind a line, or before the first.
fn insertion<'a>(content: Cow<'a, str>, line: i64, table: &LineTable<'_>) -> Splice<'a> {
    if table.is_empty() {
        // There is no line to go behind: the text becomes the content.
        return Splice { range: table.start..table.start, text: into_bytes(content) };
    }
    let crlf = table.ends_with_crlf(line.max(1)).or_else(|| table.ends_with_crlf(line - 1)) == Some(true);
    let end = if crlf { "\r\n" } else { "\n" };
    let mut text = if crlf { into_crlf(content) } else { content };
    let at = match line {
        0 => table.start,
        _ => table.line(line).end,
    };
    if line == 0 || at < table.text.len() {
        let text = text.to_mut();
        if crlf && text.ends_with('\r') {
            text.pop();
        }
        text.push_str(end);
        let at = if line == 0 { at } else { at + 1 };
        return Splice { range: at..at, text: Cow::Owned(text.clone().into_bytes()) };
    }
    // Behind a last line without an end. An empty line there needs its own, or it would not be a line.
    let own = if text.is_empty() { end } else { "" };
    Splice { range: at..at, text: Cow::Owned([end, &text, own].concat().into_bytes()) }
}

fn into_crlf(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => with_crlf(text),
        Cow::Owned(text) => Cow::Owned(with_crlf(&text).into_owned()),
    }
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Takes off `N:hh|` when every line of the content has it, numbered upwards from a line that the edit is about, and the
/// lines in the file do not look like that themselves.
fn without_tags<'a>(content: &'a str, target: Target, table: &LineTable<'_>) -> (Cow<'a, str>, bool) {
    let (first, last) = match target {
        Target::Lines(start, end) => (start, end),
        Target::Behind(line) => (line, line),
    };
    let as_is = (Cow::Borrowed(content), false);
    let tagged_in_file = [first, last]
        .into_iter()
        .filter(|line| *line > 0)
        .any(|line| std::str::from_utf8(&table.text[table.line(line)]).is_ok_and(|line| split_tag(line).is_some()));
    if content.is_empty() || tagged_in_file {
        return as_is;
    }
    let mut bare = Vec::new();
    let mut previous = None;
    for line in content.strip_suffix('\n').unwrap_or(content).split('\n') {
        let Some((number, text)) = split_tag(line) else { return as_is };
        let follows = previous.map_or(number >= first && number <= last + 1, |previous| number > previous);
        if !follows {
            return as_is;
        }
        previous = Some(number);
        bare.push(text);
    }
    let mut bare = bare.join("\n");
    if content.ends_with('\n') {
        bare.push('\n');
    }
    (Cow::Owned(bare), true)
}

/// The number and the text of a line that begins with `N:hh|`.
fn split_tag(line: &str) -> Option<(i64, &str)> {
    let (number, rest) = line.split_once(':')?;
    let (tag, text) = rest.split_once('|')?;
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let plausible = !number.is_empty() && number.len() <= 9 && number.bytes().all(|byte| byte.is_ascii_digit());
    (plausible && tag.len() == 2 && tag.bytes().all(hex)).then(|| number.parse().ok().map(|number| (number, text)))?
}

/// The edits whose lines another one names too.
fn overlaps(plans: &[Plan<'_>]) -> Vec<(usize, Failure)> {
    let clash = |one: Target, two: Target| match (one, two) {
        (Target::Lines(start, end), Target::Lines(other_start, other_end)) => start <= other_end && other_start <= end,
        (Target::Lines(start, end), Target::Behind(line)) | (Target::Behind(line), Target::Lines(start, end)) => {
            start <= line && line < end
        }
        (Target::Behind(_), Target::Behind(_)) => false,
    };
    let later = plans.iter().enumerate().filter_map(|(position, plan)| {
        let other = plans[..position].iter().find(|other| clash(other.target, plan.target))?;
        let message = format!("It names lines that edit {} changes too. Make them one edit.", other.index + 1);
        Some((plan.index, Failure::new("overlap", message).with(json!({ "overlaps": other.index + 1 }))))
    });
    later.collect()
}

/// Puts all plans into the text.
fn make(
    table: &LineTable<'_>,
    mut plans: Vec<Plan<'_>>,
    document: &Document<'_>,
    options: &EditOptions<'_>,
) -> Result<(Vec<u8>, Vec<Change>)> {
    let text = table.text;
    let last_deleted = !table.is_empty()
        && !text.ends_with(b"\n")
        && plans.iter().any(|plan| {
            plan.splice.range.end == text.len() && !plan.splice.range.is_empty() && plan.splice.text.is_empty()
        });
    if last_deleted {
        // What goes behind the last line takes its place: the line end that would have parted them is not needed.
        for plan in plans.iter_mut().filter(|plan| plan.splice.range == (text.len()..text.len())) {
            let inserted = plan.splice.text.to_mut();
            let end = if inserted.starts_with(b"\r\n") { 2 } else { 1 };
            inserted.drain(..end);
        }
    }
    // An insertion goes before a change that begins where it stands; insertions at one place keep their order.
    order::sort_by_key(&mut plans, |plan| (plan.splice.range.start, !plan.splice.range.is_empty()));
    let splices: Vec<Splice<'_>> = plans.into_iter().map(|plan| plan.splice).collect();
    let length = splice::spliced_len(text, &splices);
    let encoded = document.encoded_len_at_most(length);
    if encoded > options.max_bytes {
        return Err(too_large(encoded, options));
    }
    let (result, changes) = splice::apply(text, &splices, length);
    if !last_deleted || !result.ends_with(b"\n") || splices.last().is_some_and(|splice| !splice.text.is_empty()) {
        return Ok((result, changes));
    }
    // The file had no line end at its end: the line that is the last now has none either.
    let body = result.len() - 1;
    let body = if result[..body].ends_with(b"\r") { body - 1 } else { body };
    let end = [Splice { range: body..result.len(), text: Cow::Borrowed(b"") }];
    let (result, cut) = splice::apply(&result, &end, body as u64);
    Ok((result, compose(&changes, cut)))
}

/// Where the lines are that the edits name.
struct LineTable<'a> {
    text: &'a [u8],
    /// Where the first line begins.
    start: usize,
    /// Lines of the file.
    total: i64,
    /// The lines around those that are named, by number, without their `\n`.
    lines: BTreeMap<i64, Range<usize>>,
}

impl<'a> LineTable<'a> {
    fn new(text: &'a [u8], start: usize, edits: &[Edit]) -> Self {
        let mut wanted: Vec<i64> = Vec::new();
        for edit in edits {
            if let Edit::Hashline(edit) = edit {
                for line in [Some(edit.start_line), edit.end_line].into_iter().flatten() {
                    wanted.extend((-CONTEXT..=CONTEXT).map(|by| line.saturating_add(by)).filter(|line| *line > 0));
                }
            }
        }
        wanted.push(1);
        order::sort_by(&mut wanted, Ord::cmp);
        wanted.dedup();
        let mut wanted = wanted.into_iter().peekable();
        let mut lines = BTreeMap::new();
        let (mut number, mut from) = (1_i64, start);
        let ends = memchr_iter(b'\n', &text[start..]).map(|at| start + at);
        let unended = (text.len() > start && !text.ends_with(b"\n")).then_some(text.len());
        for end in ends.chain(unended) {
            if wanted.next_if_eq(&number).is_some() {
                lines.insert(number, from..end);
            }
            from = end + 1;
            number += 1;
        }
        let total = number - 1;
        if total == 0 {
            // BE-91: an empty file shows one line, `1:d4|`, so that it can be named.
            lines.insert(1, start..start);
        }
        Self { text, start, total, lines }
    }

    fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// A line that [`LineTable::require`] let pass, or a neighbour of it.
    fn line(&self, number: i64) -> Range<usize> {
        self.lines.get(&number).cloned().unwrap_or(self.text.len()..self.text.len())
    }

    fn tag(&self, number: i64) -> LineTag {
        LineTag::of(&self.text[self.line(number)])
    }

    /// Whether a line ends with CRLF; `None` when it has no end.
    fn ends_with_crlf(&self, number: i64) -> Option<bool> {
        let line = self.lines.get(&number)?;
        (line.end < self.text.len()).then(|| self.text[line.clone()].ends_with(b"\r"))
    }

    fn require(&self, line: i64) -> Result<(), Failure> {
        if line >= 1 && line <= self.total.max(1) {
            return Ok(());
        }
        let message = format!("Line {line} out of range (file has {} lines)", self.total);
        Err(Failure::new("line_out_of_range", message).with(json!({ "line": line, "totalLines": self.total })))
    }

    fn require_tag(&self, line: i64, expected: &str) -> Result<(), Failure> {
        let found = self.tag(line);
        if found == *expected {
            return Ok(());
        }
        let expected: String = expected.chars().take(16).collect();
        let message = format!(
            "Hash mismatch at line {line}: expected '{}', got '{found}'. File may have changed — re-read it first.{}",
            Shown(&expected),
            self.around(line)
        );
        Err(Failure::new("hash_mismatch", message)
            .at([number(line)])
            .with(json!({ "expected": expected, "found": found.as_str() })))
    }

    /// The lines around one, with their tags, as a model would be shown them now.
    fn around(&self, line: i64) -> String {
        let mut shown = String::from("\nThese lines are now:");
        for (number, range) in self.lines.range(line - CONTEXT..=line + CONTEXT) {
            let bytes = &self.text[range.clone()];
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_CHARS * 4)]);
            let text = text.strip_suffix('\r').unwrap_or(&text);
            let cut: String = text.chars().take(SHOWN_CHARS).collect();
            let more = if cut.len() < text.len() { "…" } else { "" };
            shown.push_str(&format!("\n{number}:{}|{cut}{more}", LineTag::of(bytes)));
        }
        shown
    }
}

fn number(line: i64) -> u64 {
    u64::try_from(line).unwrap_or_default()
}

#[cfg(test)]
#[path = "hashline_tests.rs"]
mod tests;
