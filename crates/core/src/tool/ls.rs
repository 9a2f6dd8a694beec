//! `ls`: what is in a directory, a few levels deep if asked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::{BoxFuture, FileKind, Listing};
use crate::error::{Error, Result, Shown};
use crate::path::VirtualPath;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// 1,000: entries in the text; a longer list teaches a model nothing, `data` holds up to `Limits::list_entries`.
const SHOWN_ENTRIES: usize = 1_000;
/// 8: levels below the directory.
const MAX_DEPTH: u32 = 8;

/// The input of `ls`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ls {
    /// The directory to list.
    #[serde(default = "here")]
    path: String,
    /// How many levels to show, from 1 to 8.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 8))]
    depth: u32,
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
        description: "Lists a directory: directories first, then files with their sizes in bytes, hidden ones too. Use `depth` \
                      to see several levels at once when you orient yourself; use `glob` to find files by name. Shows at \
                      most 1000 entries.",
        instruction: "`ls` lists a directory (with `depth` as a tree).",
        operation: Operation::Ls,
        needs: Need::Files,
        destructive: false,
        example: r#"{"path": ".", "depth": 2}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        if !(1..=MAX_DEPTH).contains(&self.depth) {
            return Err(Error::invalid(format!("`depth` must be from 1 to {MAX_DEPTH}, not {}.", self.depth)));
        }
        let path = VirtualPath::parse(&self.path, working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Ls, path }])
    }

    fn describe(&self) -> String {
        format!("List {}", self.path)
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let path = view.path(&self.path)?;
            let listing = view.files().list(&path, self.depth, view.call).await?;
            Ok(shape(&path, listing))
        })
    }
}

fn shape(path: &VirtualPath, listing: Listing) -> ToolResult {
    let count = listing.entries.len();
    let mut text = if count == 0 { format!("Directory '{path}' is empty.") } else { format!("Contents of {path}:") };
    for entry in listing.entries.iter().take(SHOWN_ENTRIES) {
        let below = entry.path.strip_prefix(path.as_str()).unwrap_or(&entry.path);
        let level = below.trim_start_matches('/').matches('/').count();
        let name = Shown(&entry.name);
        let indent = "  ".repeat(level + 1);
        let line = match entry.kind {
            FileKind::Directory => format!("\n{indent}{name}/"),
            FileKind::File => format!("\n{indent}{name} ({} bytes)", entry.size),
            FileKind::Symlink => format!("\n{indent}{name} (link that leads nowhere or outside)"),
            FileKind::Other => format!("\n{indent}{name} (not a regular file)"),
        };
        text.push_str(&line);
    }
    if count > SHOWN_ENTRIES {
        text.push_str(&format!("\n  ... and {} more", count - SHOWN_ENTRIES));
    }
    if listing.truncated {
        text.push_str("\n  ... the listing itself was cut; list a subdirectory to see the rest");
    }
    let truncated = listing.truncated || count > SHOWN_ENTRIES;
    let data = json!({ "path": path.as_str(), "entries": listing.entries, "truncated": listing.truncated });
    ToolResult { truncated, ..ToolResult::new(text, data) }
}
