//! Tagged lines of a text that a program holds: pure functions.

use gloveport_core::wire::hashline;
use napi_derive::napi;

use crate::convert::{NativeOutcome, text_of};

/// The tag of one line, in `text`.
#[napi(catch_unwind)]
pub fn line_hash(line: String) -> NativeOutcome {
    text(hashline::line_hash(&line))
}

/// Lines with their tags, in `text`.
#[napi(catch_unwind)]
pub fn format_hashline_output(content: String, offset: Option<i64>, limit: Option<i64>) -> NativeOutcome {
    // The facade lets only whole numbers from 0 on through.
    let count = |number: Option<i64>| number.map(i64::unsigned_abs);
    text(hashline::format(&content, count(offset), count(limit)))
}

/// `{ content, edits, summary, diff }` as JSON in `value`. `edits_json` is a list of edits by tags.
#[napi(catch_unwind)]
pub fn apply_hashline_edit(content: String, edits_json: String) -> NativeOutcome {
    match hashline::apply(&content, &edits_json) {
        Ok(value) => NativeOutcome { value: Some(value.to_string()), ..NativeOutcome::default() },
        Err(error) => NativeOutcome { error: Some(error.into()), ..NativeOutcome::default() },
    }
}

fn text(answer: gloveport_core::error::Result<String>) -> NativeOutcome {
    match answer {
        Ok(text) => NativeOutcome { text: Some(text_of(text)), ..NativeOutcome::default() },
        Err(error) => NativeOutcome { error: Some(error.into()), ..NativeOutcome::default() },
    }
}
