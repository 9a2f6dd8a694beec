//! Tagged lines for programs (BE-96): the tag of a line, a text with its tags, and edits by tags, on a text that the program
//! holds. The same functions that the tools use, without a file.

use serde_json::{Value, json};

use super::arguments::decode;
use crate::cancel::Deadline;
use crate::edit::{self, Edit, EditOptions};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::text::hashline::LineTag;
use crate::text::numbered::{Style, ViewOptions, render};
use crate::text::window::{self, Window, WindowRequest};

/// What messages and diffs call a text without a file.
const NAME: &str = "text";

/// The tag of one line, given without its line feed (BE-90).
pub fn line_hash(line: &str) -> Result<String> {
    if line.contains('\n') {
        return Err(Error::invalid("`line` is one line: it must not hold a line feed."));
    }
    Ok(LineTag::of(line.as_bytes()).to_string())
}

/// The lines of `content` from `offset` on, at most `limit` of them (2,000 when absent), as `read_file` shows them tagged, and
/// never cut (BE-91). `InvalidInput` for an offset past the end and for a limit of 0.
pub fn format(content: &str, offset: Option<u64>, limit: Option<u64>) -> Result<String> {
    let offset = offset.unwrap_or(0);
    let limit = limit.unwrap_or(Limits::default().read_lines);
    let request = WindowRequest {
        window: Window { offset, limit, max_bytes: u64::MAX },
        size: content.len() as u64,
        count_lines_bytes: u64::MAX,
        path: NAME,
        deadline: &Deadline::default(),
    };
    let shown = window::read(&mut content.as_bytes(), &request)?;
    Ok(render(&shown.view(offset), &ViewOptions { style: Style::Tagged, line_chars: usize::MAX, column: 0 }))
}

/// Applies tagged edits, a JSON list, to `content`: all or none (BE-92 … BE-95). Answers `{ content, edits, summary, diff }`.
pub fn apply(content: &str, edits_json: &str) -> Result<Value> {
    let edits: Vec<Edit> = decode("applyHashlineEdit", edits_json)?;
    if edits.iter().any(|edit| matches!(edit, Edit::StrReplace(_))) {
        return Err(Error::invalid(
            "These edits name lines by number and tag: { startLine, startHash, newContent, endLine?, endHash?, insertAfter? }.",
        ));
    }
    let deadline = Deadline::default();
    let options = EditOptions { path: NAME, max_bytes: Limits::default().file_bytes, deadline: &deadline };
    let applied = edit::apply(content.as_bytes(), &edits, &options)?;
    let content = String::from_utf8(applied.bytes).map_err(|_| Error::internal("An edit of text left no text."))?;
    Ok(json!({
        "content": content, "edits": applied.replacements, "summary": applied.summary, "diff": applied.diff,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_program_gets_what_the_tools_show_and_do() {
        assert_eq!(line_hash("hello").unwrap(), "5d");
        assert_eq!(line_hash("a\nb").unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(format("", None, None).unwrap(), "1:d4|");
        assert_eq!(
            format("hello\nx\n", None, Some(1)).unwrap(),
            "1:5d|hello\n\n... (1 more lines) Read on with offset=1."
        );
        assert_eq!(format("hello\n", Some(5), None).unwrap_err().kind(), ErrorKind::InvalidInput);
        let long = "x".repeat(10_000);
        assert!(format(&long, None, None).unwrap().ends_with(&long), "a program gets whole lines");

        let edits = r#"[{ "startLine": 1, "startHash": "5d", "newContent": "bye" }]"#;
        let done = apply("hello\r\nx", edits).unwrap_err();
        assert_eq!(done.kind(), ErrorKind::EditFailed, "a carriage return is part of its line");
        let done = apply("hello\nx", edits).unwrap();
        assert_eq!((done["content"].as_str(), done["edits"].as_u64()), (Some("bye\nx"), Some(1)));
        assert_eq!(done["summary"], "Replaced 1 line(s) at line 1");
        assert!(done["diff"].as_str().unwrap().contains("-hello\n+bye\n"));
        for edits in ["[]", "{}", r#"[{ "oldString": "x", "newString": "y" }]"#] {
            assert_eq!(apply("x", edits).unwrap_err().kind(), ErrorKind::InvalidInput, "{edits}");
        }
    }
}
