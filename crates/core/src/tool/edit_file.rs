//! `edit_file` and `hashline_edit`: parts of a file replaced, by text or by tagged lines. One run, two inputs.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::{BoxFuture, Missing};
use crate::change;
use crate::edit::{Edit, Hashline, MAX_EDITS, StrReplace};
use crate::error::{Error, ErrorKind, Result};
use crate::lent;
use crate::path::VirtualPath;
use crate::text::shown::shown_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// The input of `edit_file`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    /// The file to edit.
    path: String,
    /// The text to replace, exactly as it stands in the file, with enough lines around it to be unique.
    #[serde(default)]
    old_string: Option<String>,
    /// The text to put in its place.
    #[serde(default)]
    new_string: Option<String>,
    /// Whether every occurrence is replaced.
    #[serde(default)]
    replace_all: Option<bool>,
    /// Several edits, applied one after the other, all or none; instead of `old_string` and `new_string`.
    #[serde(default)]
    edits: Option<Vec<Replacement>>,
}

/// One of several replacements.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct Replacement {
    /// The text to replace.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Whether every occurrence is replaced.
    #[serde(default)]
    replace_all: Option<bool>,
}

/// The input of `hashline_edit`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct HashlineEdit {
    /// The file to edit.
    path: String,
    /// The first line to replace, from 1; 0 with `insert_after` inserts before the first line.
    #[serde(default)]
    start_line: Option<i64>,
    /// The tag that `read_file` showed for `start_line`.
    #[serde(default)]
    start_hash: Option<String>,
    /// The new lines; empty deletes.
    #[serde(default)]
    new_content: Option<String>,
    /// The last line to replace; `start_line` when left out.
    #[serde(default)]
    end_line: Option<i64>,
    /// The tag of `end_line`.
    #[serde(default)]
    end_hash: Option<String>,
    /// Whether to insert after `start_line` instead of replacing it.
    #[serde(default)]
    insert_after: Option<bool>,
    /// Several edits, all or none; all line numbers and tags refer to the file as read.
    #[serde(default)]
    edits: Option<Vec<TaggedLines>>,
}

/// One of several edits of tagged lines.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct TaggedLines {
    /// The first line to replace, from 1; 0 with `insert_after` inserts before the first line.
    start_line: i64,
    /// The tag of `start_line`.
    start_hash: String,
    /// The new lines; empty deletes.
    new_content: String,
    /// The last line to replace.
    #[serde(default)]
    end_line: Option<i64>,
    /// The tag of `end_line`.
    #[serde(default)]
    end_hash: Option<String>,
    /// Whether to insert after `start_line`.
    #[serde(default)]
    insert_after: Option<bool>,
}

impl EditFile {
    fn edits(&self) -> Result<Vec<Edit>> {
        let single = (&self.old_string, &self.new_string);
        match (&self.edits, single) {
            (None, (Some(old), Some(new))) => Ok(vec![Edit::StrReplace(StrReplace {
                old_string: old.clone(),
                new_string: new.clone(),
                replace_all: self.replace_all.unwrap_or(false),
            })]),
            (Some(edits), (None, None)) if self.replace_all.is_none() && is_count(edits.len()) => Ok(edits
                .iter()
                .map(|edit| {
                    Edit::StrReplace(StrReplace {
                        old_string: edit.old_string.clone(),
                        new_string: edit.new_string.clone(),
                        replace_all: edit.replace_all.unwrap_or(false),
                    })
                })
                .collect()),
            _ => Err(Error::invalid(format!(
                "Give either `old_string` and `new_string`, or `edits` with 1 to {MAX_EDITS} of them. An input that works: {}",
                Self::SPEC.example
            ))),
        }
    }
}

impl HashlineEdit {
    fn edits(&self) -> Result<Vec<Edit>> {
        let rest = self.end_line.is_some() || self.end_hash.is_some() || self.insert_after.is_some();
        match (&self.edits, self.start_line, &self.start_hash, &self.new_content) {
            (None, Some(start_line), Some(start_hash), Some(new_content)) => Ok(vec![Edit::Hashline(Hashline {
                start_line,
                start_hash: start_hash.clone(),
                new_content: new_content.clone(),
                end_line: self.end_line,
                end_hash: self.end_hash.clone(),
                insert_after: self.insert_after.unwrap_or(false),
            })]),
            (Some(edits), None, None, None) if !rest && is_count(edits.len()) => Ok(edits
                .iter()
                .map(|edit| {
                    Edit::Hashline(Hashline {
                        start_line: edit.start_line,
                        start_hash: edit.start_hash.clone(),
                        new_content: edit.new_content.clone(),
                        end_line: edit.end_line,
                        end_hash: edit.end_hash.clone(),
                        insert_after: edit.insert_after.unwrap_or(false),
                    })
                })
                .collect()),
            _ => Err(Error::invalid(format!(
                "Give either `start_line`, `start_hash` and `new_content`, or `edits` with 1 to {MAX_EDITS} of them. An input \
                 that works: {}",
                Self::SPEC.example
            ))),
        }
    }
}

fn is_count(edits: usize) -> bool {
    (1..=MAX_EDITS).contains(&edits)
}

impl Tool for EditFile {
    const SPEC: Spec = Spec {
        name: "edit_file",
        groups: &[Group::Console, Group::Files],
        description: "Replaces text in a file. `old_string` must stand in the file exactly once (or set `replace_all`): copy \
                      it from `read_file` without the line numbers, with its indentation. Line ends, encoding and mode of the \
                      file are kept. Several changes of one file go into `edits`: all are made, or none.",
        instruction: "`edit_file` replaces exact text in a file; read the file first.",
        operation: Operation::Edit,
        needs: Need::Writer,
        destructive: true,
        example: r#"{"path": "src/greet.ts", "old_string": "'hello'", "new_string": "'hello, world'"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        self.edits()?;
        let path = VirtualPath::parse(&self.path, working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Edit, path }])
    }

    fn describe(&self) -> String {
        match &self.edits {
            Some(edits) => format!("Edit {}: {} replacements", shown_in_line(&self.path), edits.len()),
            None => {
                let count = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
                let (old, new) = (count(&self.old_string), count(&self.new_string));
                format!("Edit {}: replace {old} characters with {new} characters", shown_in_line(&self.path))
            }
        }
    }

    fn preview<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move { preview(view, &self.path, self.edits()?).await })
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move { run(view, &self.path, self.edits()?).await })
    }
}

impl Tool for HashlineEdit {
    const SPEC: Spec = Spec {
        name: "hashline_edit",
        groups: &[Group::Console, Group::Files],
        description: "Replaces, deletes or inserts whole lines that `read_file` showed as `number:tag|text`. Name the first \
                      line (and the last, for a range) with their tags; a tag that no longer fits refuses the edit and shows \
                      the present lines. `insert_after` adds lines after `start_line`. Several changes of one file go into \
                      `edits`, with numbers as read: all are made, or none.",
        instruction: "`hashline_edit` replaces tagged lines; read the file first to see the tags.",
        operation: Operation::Edit,
        needs: Need::Writer,
        destructive: true,
        example: r#"{"path": "src/greet.ts", "start_line": 3, "start_hash": "a1", "new_content": "  return 'hi'"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        self.edits()?;
        let path = VirtualPath::parse(&self.path, working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Edit, path }])
    }

    fn describe(&self) -> String {
        match (&self.edits, self.start_line, self.end_line) {
            (Some(edits), _, _) => format!("Edit {}: {} changes of lines", shown_in_line(&self.path), edits.len()),
            (None, Some(start), Some(end)) => format!("Edit {}: lines {start} to {end}", shown_in_line(&self.path)),
            (None, Some(start), None) => format!("Edit {}: line {start}", shown_in_line(&self.path)),
            (None, None, _) => format!("Edit {}", shown_in_line(&self.path)),
        }
    }

    fn preview<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move { preview(view, &self.path, self.edits()?).await })
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move { run(view, &self.path, self.edits()?).await })
    }
}

async fn preview(view: &View<'_>, path: &str, edits: Vec<Edit>) -> Result<Option<String>> {
    let path = view.path(path)?;
    let current = view.files().read_bytes(&path, view.limits.file_bytes, view.call).await?;
    let (transform, receipt) = change::apply(&path, edits, view.bounds(), Some(Arc::clone(view.memory))).await;
    // A person is about to be asked: no reason to hurry on a lent thread.
    lent::give_back(|| true).await;
    transform(Some(current))?;
    Ok(Some(receipt.take()?.diff))
}

async fn run(view: &View<'_>, path: &str, edits: Vec<Edit>) -> Result<ToolResult> {
    let path = view.path(path)?;
    let creates = matches!(&edits[..], [Edit::StrReplace(StrReplace { old_string, .. }), ..] if old_string.is_empty());
    let (transform, receipt) = change::apply(&path, edits, view.bounds(), Some(Arc::clone(view.memory))).await;
    let updated = match view.update(&path, Operation::Edit, Missing::Refuse, transform).await {
        // TS-21 decided: who may edit what is there may not thereby make what is not.
        Err(error) if creates && error.kind() == ErrorKind::FileNotFound => {
            let message = format!("'{path}' does not exist, and an edit makes no file; write it as a whole instead.");
            return Err(Error::new(ErrorKind::FileNotFound, message).with_path(path.as_str()));
        }
        updated => updated?,
    };
    let edited = receipt.take()?;
    if let Some(record) = edited.record {
        view.memory.wrote(updated.resolved, updated.version, record);
    }
    let data = json!({
        "path": path.as_str(), "replacements": edited.replacements, "summary": edited.summary,
        "bytes": updated.size, "diff": edited.diff, "rebased": edited.rebased,
    });
    let mut text = format!("Edited {path}: {}.", edited.summary.trim_end_matches('.'));
    if edited.rebased {
        text.push_str(" (The file had changed elsewhere since you read it; the edited lines had not.)");
    }
    Ok(ToolResult::new(text, data))
}
