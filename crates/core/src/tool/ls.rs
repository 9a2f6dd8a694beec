//! `ls`: what is in a directory, a few levels deep if asked.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::{BoxFuture, FileKind, Listing};
use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;
use crate::search::{self, Outline, OutlineEntry, OutlineQuery};
use crate::text::shown::shown_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View, ignored};

/// 1,000: entries in the text; a longer list teaches a model nothing, `data` holds up to `Limits::list_entries`.
const SHOWN_ENTRIES: usize = 1_000;
/// 8: levels below the directory.
const MAX_DEPTH: u32 = 8;

/// The input of `ls`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Ls {
    /// The directory to list.
    #[serde(default = "here")]
    path: String,
    /// How many levels to show, from 1 to 8; more than 1 shows a tree.
    #[serde(default = "one")]
    #[cfg_attr(test, schemars(range(min = 1, max = 8)))]
    depth: u32,
    /// Whether to count the files below each directory, at any depth.
    #[serde(default)]
    counts: bool,
    /// Whether a tree and its counts include what .gitignore and .ignore exclude. One level shows everything anyway.
    #[serde(default)]
    include_ignored: bool,
}

fn here() -> String {
    ".".to_owned()
}

fn one() -> u32 {
    1
}

impl Tool for Ls {
    const SPEC: Spec = Spec {
        name: "ls",
        groups: &[Group::Console, Group::Files],
        description: "Lists a directory: directories first, then files with their sizes in bytes, hidden ones too. To orient \
                      yourself, `depth` shows several levels as a tree without what .gitignore excludes, and `counts` says \
                      how many files lie below each directory; use `glob` or `grep` to search. Shows at most 1000 \
                      entries; of a larger tree the upper levels.",
        instruction: "`ls` lists a directory (with `depth` and `counts` as a tree).",
        operation: Operation::Ls,
        needs: Need::Files,
        destructive: false,
        example: r#"{"path": ".", "depth": 2, "counts": true}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        if !(1..=MAX_DEPTH).contains(&self.depth) {
            return Err(Error::invalid(format!("`depth` must be from 1 to {MAX_DEPTH}, not {}.", self.depth)));
        }
        let path = VirtualPath::parse(&self.path, working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Ls, path }])
    }

    fn describe(&self) -> String {
        format!("List {}", shown_in_line(&self.path))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let path = view.path(&self.path)?;
            let is_tree = self.depth > 1 || self.counts;
            let outline = if is_tree && (self.counts || !self.include_ignored) {
                let query = OutlineQuery {
                    path: path.clone(),
                    depth: self.depth,
                    respect_ignore: !self.include_ignored,
                    counts: self.counts,
                };
                view.files().outline(&query, view.call).await?
            } else {
                let Listing { entries, truncated } = view.files().list(&path, self.depth, view.call).await?;
                let entries: Vec<_> = entries.into_iter().map(|info| OutlineEntry { info, files: None }).collect();
                Outline { total: entries.len(), entries, truncated, ..Outline::default() }
            };
            Ok(shape(&path, outline))
        })
    }
}

fn shape(path: &VirtualPath, mut outline: Outline) -> ToolResult {
    let data = json!({
        "path": path.as_str(), "entries": outline.entries, "total": outline.total, "files": outline.files,
        "ignored": outline.ignored, "truncated": outline.truncated,
    });
    search::fit(&mut outline.entries, SHOWN_ENTRIES);
    let mut text = match (outline.total, outline.files) {
        (0, _) if outline.ignored == 0 => format!("Directory '{path}' is empty."),
        (_, Some(files)) => format!("Contents of {path} ({}):", counted(files, outline.incomplete)),
        (_, None) => format!("Contents of {path}:"),
    };
    for entry in &outline.entries {
        let info = &entry.info;
        let below = info.path.strip_prefix(path.as_str()).unwrap_or(&info.path);
        let level = below.trim_start_matches('/').matches('/').count();
        let name = Shown(&info.name);
        let indent = "  ".repeat(level + 1);
        let line = match (info.kind, entry.files) {
            (FileKind::Directory, Some(files)) => {
                format!("\n{indent}{name}/ ({})", counted(files, outline.incomplete))
            }
            (FileKind::Directory, None) => format!("\n{indent}{name}/"),
            (FileKind::File, _) => format!("\n{indent}{name} ({} bytes)", info.size),
            (FileKind::Symlink, _) => format!("\n{indent}{name} (link that leads nowhere or outside)"),
            (FileKind::Other, _) => format!("\n{indent}{name} (not a regular file)"),
        };
        text.push_str(&line);
    }
    let left = outline.total.saturating_sub(outline.entries.len());
    if left > 0 {
        text.push_str(&format!("\n  ... and {left} more"));
    }
    if outline.truncated && outline.entries.len() >= outline.total {
        text.push_str("\n  ... the listing itself was cut; list a subdirectory to see the rest");
    } else if outline.incomplete {
        text.push_str("\n  ... the walk was cut short by its time limit: there may be more");
    }
    text.push_str(&ignored::note(outline.ignored));
    let truncated = outline.truncated || left > 0;
    ToolResult { truncated, ..ToolResult::new(text, data) }
}

fn counted(files: u64, is_lower_bound: bool) -> String {
    let least = if is_lower_bound { "at least " } else { "" };
    if files == 1 { format!("{least}1 file") } else { format!("{least}{files} files") }
}
