//! Replaces text: exactly once, or everywhere when asked.
//!
//! Matching is byte for byte. The only tolerance (R-ED-1): in a file whose every line end is CRLF a lone `\n` of
//! `old_string` and of `new_string` stands for CRLF, so that text that a model wrote with `\n` matches and the file keeps
//! its line ends (D3, D35, D78, D93).

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;
use serde_json::json;

use super::splice::{self, Change, Splice, compose};
use super::{Edit, EditOptions, Edited, Failure, StrReplace, failed, nearest, other_kind, too_large};
use crate::error::{Result, Shown};
use crate::text::encoding::Document;
use crate::text::lines;

/// Occurrences that one edit replaces: 1,000,000, about 64 MiB of bookkeeping.
const MAX_OCCURRENCES: usize = 1_000_000;

/// Occurrences that are counted when one was expected. 1,000; beyond, "more than" says enough.
const COUNTED_OCCURRENCES: usize = 1_000;

/// Lines of occurrences that a message names. 20.
const LINES_TOLD: usize = 20;

/// Characters of `old_string` that a message quotes. 200.
const QUOTED_CHARS: usize = 200;

/// Runs the edits one after the other; every one that fails is reported.
pub(super) fn apply(document: &Document<'_>, edits: &[Edit], options: &EditOptions<'_>) -> Result<Edited> {
    let mut text: Cow<'_, [u8]> = Cow::Borrowed(&document.text);
    let mut changes: Vec<Change> = Vec::new();
    let mut failures = Vec::new();
    let mut replacements = 0;
    for (index, edit) in edits.iter().enumerate() {
        options.deadline.check()?;
        let Edit::StrReplace(edit) = edit else {
            failures.push((index, other_kind()));
            continue;
        };
        let (old, new) = in_line_ends_of(&text, edit);
        let splices = match find(&text, edit, &old, &new, options.path) {
            Ok(splices) => splices,
            Err(failure) => {
                failures.push((index, failure));
                continue;
            }
        };
        let length = splice::spliced_len(&text, &splices);
        let encoded = document.encoded_len_at_most(length);
        if encoded > options.max_bytes {
            return Err(too_large(encoded, options));
        }
        let (replaced, made) = splice::apply(&text, &splices, length);
        replacements += made.len() as u64;
        changes = compose(&changes, made);
        text = Cow::Owned(replaced);
    }
    if !failures.is_empty() {
        return Err(failed(&failures, edits.len(), options.path));
    }
    Ok(Edited { text: text.into_owned(), changes, replacements, summary: summary(replacements) })
}

/// What was done, for a model.
pub(super) fn summary(replacements: u64) -> String {
    format!("replaced {replacements} occurrence(s)")
}

/// Where an edit replaces one place of a text that is in the file as it is, and with what; `None` for several places and
/// for a text that is decoded. Errors as those of [`apply`].
pub(super) fn only_place<'e>(
    document: &Document<'_>,
    edit: &'e StrReplace,
    options: &EditOptions<'_>,
) -> Result<Option<(Range<usize>, Cow<'e, str>)>> {
    if document.encoding.is_utf16() || edit.replace_all {
        return Ok(None);
    }
    options.deadline.check()?;
    let (old, new) = in_line_ends_of(&document.text, edit);
    let splices = find(&document.text, edit, &old, &new, options.path)
        .map_err(|failure| failed(&[(0, failure)], 1, options.path))?;
    let [only] = splices.as_slice() else { return Ok(None) };
    let length = splice::spliced_len(&document.text, &splices);
    if length > options.max_bytes {
        return Err(too_large(length, options));
    }
    let range = only.range.clone();
    Ok(Some((range, new)))
}

/// The two texts with the file's own line ends.
fn in_line_ends_of<'e>(text: &[u8], edit: &'e StrReplace) -> (Cow<'e, str>, Cow<'e, str>) {
    let has_line_end = edit.old_string.contains('\n') || edit.new_string.contains('\n');
    if has_line_end && lines::all_crlf(text) {
        (with_crlf(&edit.old_string), with_crlf(&edit.new_string))
    } else {
        (Cow::Borrowed(&edit.old_string), Cow::Borrowed(&edit.new_string))
    }
}

/// The text with a `\r` before each `\n` that has none.
pub(super) fn with_crlf(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    let mut converted = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(body) if !body.ends_with('\r') => {
                converted.push_str(body);
                converted.push_str("\r\n");
            }
            _ => converted.push_str(line),
        }
    }
    Cow::Owned(converted)
}

fn find<'n>(text: &[u8], edit: &StrReplace, old: &str, new: &'n str, path: &str) -> Result<Vec<Splice<'n>>, Failure> {
    let splice = |at: usize| Splice { range: at..at + old.len(), text: Cow::Borrowed(new.as_bytes()) };
    if old == new {
        return Err(Failure::new("identical", "old_string and new_string are the same: there is nothing to change."));
    }
    if old.is_empty() {
        if text.is_empty() {
            return Ok(vec![splice(0)]);
        }
        return Err(Failure::new(
            "empty_old_string",
            format!(
                "old_string is empty, but '{}' is not. Name the text next to which the new text goes.",
                Shown(path)
            ),
        ));
    }
    let finder = Finder::new(old.as_bytes());
    let Some(first) = finder.find(text) else { return Err(not_found(text, old, path)) };
    if edit.replace_all {
        let splices: Vec<_> = finder.find_iter(text).take(MAX_OCCURRENCES + 1).map(splice).collect();
        if splices.len() > MAX_OCCURRENCES {
            let message = format!("old_string occurs more than {MAX_OCCURRENCES} times: too often for one edit.");
            return Err(Failure::new("too_many_occurrences", message));
        }
        return Ok(splices);
    }
    // From the next byte on, so that occurrences that overlap count as several.
    if finder.find(&text[first + 1..]).is_some() {
        return Err(ambiguous(text, old, first, path));
    }
    Ok(vec![splice(first)])
}

fn ambiguous(text: &[u8], old: &str, first: usize, path: &str) -> Failure {
    let finder = Finder::new(old.as_bytes());
    let (mut at, mut line, mut count) = (first, lines::number_at(text, first) + 1, 1);
    let mut found = vec![line];
    while count <= COUNTED_OCCURRENCES {
        let Some(next) = finder.find(&text[at + 1..]).map(|next| at + 1 + next) else { break };
        line += lines::number_at(&text[at..], next - at);
        if found.len() < LINES_TOLD {
            found.push(line);
        }
        (at, count) = (next, count + 1);
    }
    let times =
        if count > COUNTED_OCCURRENCES { format!("more than {COUNTED_OCCURRENCES}") } else { count.to_string() };
    let more = if count > found.len() { ", …" } else { "" };
    let told: Vec<String> = found.iter().map(u64::to_string).collect();
    let message = format!(
        "old_string occurs {times} times in '{}' (lines {}{more}). Add surrounding lines until it is unique, or set \
         replace_all to change them all.",
        Shown(path),
        told.join(", ")
    );
    Failure::new("ambiguous", message).at(found).with(json!({ "occurrences": count }))
}

fn not_found(text: &[u8], old: &str, path: &str) -> Failure {
    let quoted: String = old.chars().take(QUOTED_CHARS).collect();
    let more = if quoted.len() < old.len() { "…" } else { "" };
    let mut message = format!("old_string was not found in '{}': \"{}{more}\".", Shown(path), Shown(&quoted));
    match nearest::explain(text, old) {
        None => {
            message.push_str(" Nothing like it is there; read the file again.");
            Failure::new("not_found", message)
        }
        Some(nearest) => {
            message.push(' ');
            message.push_str(&nearest.message);
            Failure::new("not_found", message)
                .at(nearest.first_line..=nearest.last_line)
                .with(json!({ "differs": nearest.differs }))
        }
    }
}
