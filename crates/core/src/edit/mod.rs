//! Edits as pure functions: bytes and edits in, new bytes and an account of the change out.
//!
//! [`apply`] is the way in. It works on bytes: what an edit does not touch stays identical, be it a byte order mark, mixed
//! line ends or bytes that are not UTF-8 (R-ED-1). It never reads or writes a file and never decides whether an edit is
//! allowed. `str_replace` finds text, `hashline` finds tagged lines, `nearest` explains a miss, `splice` puts new text in,
//! `diff` shows the change, and `expectation` tells whether a file changed where it matters since it was read.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::text::encoding::Document;
use crate::text::lines;

pub mod diff;
pub mod expectation;
mod hashline;
mod nearest;
mod splice;
mod str_replace;

use diff::Diff;
pub use splice::Change;

/// Edits that one call takes: 500, which keeps a call on a 64 MiB file in the range of seconds.
pub const MAX_EDITS: usize = 500;

/// Bytes around a single replacement that are compared apart from the rest. 64 KiB; longer lines take the other way.
const NEIGHBOURHOOD_BYTES: usize = 64 << 10;

/// Failures that the message of a failed call tells in full; the others are counted. 10.
const FAILURES_TOLD: usize = 10;

/// One edit. As JSON it is told apart by its fields: `oldString` and `newString`, or `startLine`, `startHash` and
/// `newContent`; snake case is taken too, and an unknown or missing field is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, try_from = "EditFields")]
pub enum Edit {
    /// Replaces text.
    StrReplace(StrReplace),
    /// Replaces, deletes or inserts whole lines.
    Hashline(Hashline),
}

/// Replaces a text that occurs exactly once, or each of its occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrReplace {
    /// What is there. Empty only for an empty file, which then becomes `new_string`.
    pub old_string: String,
    /// What takes its place, literally.
    pub new_string: String,
    /// Whether every occurrence is replaced, from left to right.
    pub replace_all: bool,
}

/// Replaces, deletes or inserts lines that are named by number and tag (BE-92 … BE-94).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hashline {
    /// The first line, 1-based. 0 together with `insert_after` is the place before the first line.
    pub start_line: i64,
    /// The tag of the first line; not looked at for line 0.
    pub start_hash: String,
    /// The new lines, separated by `\n`; empty deletes, or inserts one empty line with `insert_after`.
    pub new_content: String,
    /// The last line; the first when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<i64>,
    /// The tag of the last line; needed when it is another line than the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_hash: Option<String>,
    /// Whether the new lines go behind `start_line` and nothing is replaced.
    pub insert_after: bool,
}

/// The fields of both kinds, as they come.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EditFields {
    #[serde(alias = "old_string")]
    old_string: Option<String>,
    #[serde(alias = "new_string")]
    new_string: Option<String>,
    #[serde(alias = "replace_all")]
    replace_all: Option<bool>,
    #[serde(alias = "start_line")]
    start_line: Option<i64>,
    #[serde(alias = "start_hash")]
    start_hash: Option<String>,
    #[serde(alias = "new_content")]
    new_content: Option<String>,
    #[serde(alias = "end_line")]
    end_line: Option<i64>,
    #[serde(alias = "end_hash")]
    end_hash: Option<String>,
    #[serde(alias = "insert_after")]
    insert_after: Option<bool>,
}

impl TryFrom<EditFields> for Edit {
    type Error = &'static str;

    fn try_from(fields: EditFields) -> Result<Self, &'static str> {
        match fields {
            EditFields {
                old_string: Some(old_string),
                new_string: Some(new_string),
                replace_all,
                start_line: None,
                start_hash: None,
                new_content: None,
                end_line: None,
                end_hash: None,
                insert_after: None,
            } => Ok(Self::StrReplace(StrReplace { old_string, new_string, replace_all: replace_all.unwrap_or(false) })),
            EditFields {
                old_string: None,
                new_string: None,
                replace_all: None,
                start_line: Some(start_line),
                start_hash,
                new_content: Some(new_content),
                end_line,
                end_hash,
                insert_after,
            } if start_hash.is_some() || start_line == 0 => Ok(Self::Hashline(Hashline {
                start_line,
                start_hash: start_hash.unwrap_or_default(),
                new_content,
                end_line,
                end_hash,
                insert_after: insert_after.unwrap_or(false),
            })),
            _ => Err("an edit is { oldString, newString, replaceAll? } \
                      or { startLine, startHash, newContent, endLine?, endHash?, insertAfter? }"),
        }
    }
}

/// What an edit is told about its file.
#[derive(Debug, Clone, Copy)]
pub struct EditOptions<'a> {
    /// The virtual path, for messages and for the diff.
    pub path: &'a str,
    /// Bytes that the file may have afterwards: `Limits::file_bytes`, or the mount's.
    pub max_bytes: u64,
    /// Checked between edits.
    pub deadline: &'a Deadline,
}

/// What edits did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The whole file now.
    pub bytes: Vec<u8>,
    /// Occurrences replaced, or tagged lines edited.
    pub replacements: u64,
    /// What was done, for a model: `replaced 2 occurrence(s)`, or the sentences of BE-95 joined by `; `.
    pub summary: String,
    /// The first line that differs, 1-based, in the new text.
    pub first_changed_line: u64,
    /// A unified diff; see [`diff`].
    pub diff: String,
    /// What changed, in order and without overlap. Offsets are into the text, before as [`Document`] opens it.
    pub changes: Vec<Change>,
    /// The lines that changed, in order and without overlap.
    pub lines: Vec<ChangedLines>,
    /// Whether the text after is what [`Document`] makes of `bytes`. Seldom not: see [`Encoding::reopens`].
    pub reopens: bool,
}

/// Whole lines that became others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The 0-based number of the first of them in the text before.
    pub old_first: u64,
    /// Lines taken out.
    pub removed: u64,
    /// The 0-based number of the first of them in the text after.
    pub new_first: u64,
    /// Bytes of the lines put in, in the text after, line ends included.
    pub new: Range<usize>,
}

/// Applies all edits, or none.
///
/// `StrReplace` edits run one after the other, each on the text that the one before it left. `Hashline` edits all name
/// lines of `bytes` as given and must not overlap. One call takes one kind.
///
/// Errors: `EditFailed` with `details` `{ reason, edit, lines, … , failures: [one for each failed edit] }`, edits numbered
/// from 1; `FileTooLarge`, decided before the result is made (R-ED-4); `BinaryFile`; `InvalidInput` for no edits or more
/// than [`MAX_EDITS`]; `Timeout` and `Aborted`.
pub fn apply(bytes: &[u8], edits: &[Edit], options: &EditOptions<'_>) -> Result<Applied> {
    let wrong_count = match edits.len() {
        0 => Some("There is no edit in the list.".to_owned()),
        count if count > MAX_EDITS => Some(format!("{count} edits are more than one call takes ({MAX_EDITS}).")),
        _ => None,
    };
    if let Some(message) = wrong_count {
        return Err(Error::invalid(message).with_path(options.path));
    }
    let document = Document::open(bytes, options.path)?;
    let edited = match &edits[0] {
        Edit::StrReplace(_) => str_replace::apply(&document, edits, options)?,
        Edit::Hashline(_) => hashline::apply(&document, edits, options)?,
    };
    let Edited { text, changes, replacements, summary } = edited;
    let first = changes.first().map_or(0, |change| change.old.start);
    // What stands before the first change is the same in both texts, so one count serves the line and the diff.
    let line = lines::number_at(&document.text, first);
    let first_changed_line = first_changed_line(&text, first, line);
    let Diff { text: diff, lines } = diff::of_changes(&document.text, &text, &changes, line, options.path);
    let reopens = document.encoding.reopens(&text);
    Ok(Applied {
        bytes: document.encode(text),
        replacements,
        summary,
        first_changed_line,
        diff,
        changes,
        lines,
        reopens,
    })
}

/// [`apply`], in the buffer of the old bytes where that can be done: for a single replacement of text. A large file then
/// needs no second buffer, whose fresh memory costs more than the edit.
pub fn apply_owned(bytes: Vec<u8>, edits: &[Edit], options: &EditOptions<'_>) -> Result<Applied> {
    let [Edit::StrReplace(edit)] = edits else { return apply(&bytes, edits, options) };
    let document = Document::open(&bytes, options.path)?;
    let Some((range, text)) = str_replace::only_place(&document, edit, options)? else {
        return apply(&bytes, edits, options);
    };
    // Lines around the place, more than a diff shows, stand for the whole text.
    let (start, end) = diff::neighbourhood(&bytes, &range);
    if end - start > NEIGHBOURHOOD_BYTES {
        return apply(&bytes, edits, options);
    }
    let near = bytes[start..end].to_vec();
    let splice = [splice::Splice { range: range.start - start..range.end - start, text: text.as_bytes().into() }];
    let (near_now, near_changes) = splice::apply(&near, &splice, splice::spliced_len(&near, &splice));
    let line = lines::number_at(&bytes, range.start);
    let Diff { text: diff, mut lines } = diff::of_changes(&near, &near_now, &near_changes, line, options.path);
    for changed in &mut lines {
        changed.new = changed.new.start + start..changed.new.end + start;
    }
    let first = range.start;
    let changes = vec![Change { new: first..first + text.len(), old: range.clone() }];
    let encoding = document.encoding;
    let mut bytes = bytes;
    bytes.splice(range, text.bytes());
    Ok(Applied {
        first_changed_line: first_changed_line(&bytes, first, line),
        reopens: encoding.reopens(&bytes),
        bytes,
        replacements: 1,
        summary: str_replace::summary(1),
        diff,
        changes,
        lines,
    })
}

/// The 1-based line that holds the first change, which begins at the byte `first` of the line `line` of the text before.
fn first_changed_line(text: &[u8], first: usize, line: u64) -> u64 {
    // Where the end was cut off, the last line that is left is the one that differs.
    let cut_off = first == text.len() && text.ends_with(b"\n");
    if cut_off { line.max(1) } else { line + 1 }
}

/// What one of the engines made.
struct Edited {
    text: Vec<u8>,
    changes: Vec<Change>,
    replacements: u64,
    summary: String,
}

/// Why one edit failed.
#[derive(Debug)]
struct Failure {
    /// For programs.
    reason: &'static str,
    /// A sentence or more, for a model.
    message: String,
    /// The lines it is about, 1-based.
    lines: Vec<u64>,
    /// Further facts, as an object.
    facts: Box<Value>,
}

impl Failure {
    fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), lines: Vec::new(), facts: Box::new(json!({})) }
    }

    fn at(mut self, lines: impl IntoIterator<Item = u64>) -> Self {
        self.lines = lines.into_iter().collect();
        self
    }

    fn with(mut self, facts: Value) -> Self {
        *self.facts = facts;
        self
    }

    fn details(&self, edit: usize) -> Value {
        let mut details = json!({ "reason": self.reason, "edit": edit + 1, "lines": self.lines });
        if let (Some(details), Some(facts)) = (details.as_object_mut(), self.facts.as_object()) {
            details.extend(facts.clone());
        }
        details
    }
}

/// The error for the failures of a call, each with the index of its edit; there is at least one.
fn failed(failures: &[(usize, Failure)], edits: usize, path: &str) -> Error {
    let mut message = String::new();
    if edits == 1 {
        message.push_str(&failures[0].1.message);
    } else {
        message.push_str(&format!(
            "{} of {edits} edits of '{}' failed, so none was made.",
            failures.len(),
            Shown(path)
        ));
        for (index, failure) in failures.iter().take(FAILURES_TOLD) {
            message.push_str(&format!("\nEdit {} of {edits}: {}", index + 1, failure.message));
        }
        if failures.len() > FAILURES_TOLD {
            message.push_str(&format!("\nAnd {} more.", failures.len() - FAILURES_TOLD));
        }
    }
    let mut details = failures[0].1.details(failures[0].0);
    if let Some(object) = details.as_object_mut() {
        let all = failures.iter().map(|(index, failure)| {
            let mut one = failure.details(*index);
            one["message"] = failure.message.as_str().into();
            one
        });
        object.insert("failures".into(), all.collect());
    }
    Error::new(ErrorKind::EditFailed, message).with_path(path).with_details(details)
}

fn other_kind() -> Failure {
    Failure::new("mixed_kinds", "One call takes edits of one kind only: text replacements or tagged lines.")
}

fn too_large(bytes: u64, options: &EditOptions<'_>) -> Error {
    let message = format!(
        "The edit would make '{}' {bytes} bytes large; at most {} are allowed.",
        Shown(options.path),
        options.max_bytes
    );
    Error::new(ErrorKind::FileTooLarge, message)
        .with_path(options.path)
        .with_details(json!({ "bytes": bytes, "maxBytes": options.max_bytes }))
}

#[cfg(test)]
mod tests;
