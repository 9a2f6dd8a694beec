//! `glob`: files by name pattern.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::error::{Result, Shown};
use crate::path::VirtualPath;
use crate::search::{EntryFilter, GlobOutcome, GlobQuery, SortOrder};
use crate::text::shown::shown_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View, ignored};

/// 100: paths on one page; as BE-101.
const PAGE: usize = 100;

/// The input of `glob`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    /// Pattern relative to `path`: `*` stays within a segment, `**` crosses segments, `?`, `[a-z]`, `{js,ts}`.
    pattern: String,
    /// Where to search.
    #[serde(default = "here")]
    path: String,
    /// Whether hidden files are searched too.
    #[serde(default)]
    include_hidden: Option<bool>,
    /// Whether files that .gitignore and .ignore exclude are searched too.
    #[serde(default)]
    include_ignored: bool,
    /// Results to skip, to see the next page.
    #[serde(default)]
    offset: usize,
}

fn here() -> String {
    ".".to_owned()
}

impl Tool for Glob {
    const SPEC: Spec = Spec {
        name: "glob",
        groups: &[Group::Console, Group::Files],
        description: "Finds files by name pattern, newest first. `*.ts` matches in `path` itself, `**/*.ts` at any depth, \
                      `src/**/*.{js,ts}` takes alternatives. Files that .gitignore excludes and hidden files are left out \
                      unless asked for. Shows 100 results a call; use `offset` for more. Use `grep` to search in content.",
        instruction: "`glob` finds files by name pattern, newest first.",
        operation: Operation::Glob,
        needs: Need::Files,
        destructive: false,
        example: r#"{"pattern": "**/*.ts"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let path = VirtualPath::parse(&self.path, working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Glob, path }])
    }

    fn describe(&self) -> String {
        format!("List file paths in {} matching {}", shown_in_line(&self.path), shown_in_line(&self.pattern))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let query = GlobQuery {
                entries: EntryFilter::Files,
                hidden: self.include_hidden.unwrap_or(!view.settings.ignore_hidden),
                respect_ignore: !self.include_ignored,
                sort: SortOrder::Modified,
                offset: self.offset,
                limit: PAGE,
                ..GlobQuery::new(self.pattern.clone(), view.path(&self.path)?)
            };
            let outcome = view.files().glob(&query, view.call).await?;
            Ok(self.shape(&query, outcome))
        })
    }
}

impl Glob {
    fn shape(&self, query: &GlobQuery, outcome: GlobOutcome) -> ToolResult {
        let pattern = Shown(&self.pattern);
        let mut text = if outcome.total == 0 {
            format!("No files matching '{pattern}' in {}", query.path)
        } else {
            format!("Found {} file(s) matching '{pattern}':", outcome.total)
        };
        // Who found something is not told what else there may be, at the price of words on every search.
        if outcome.total == 0 {
            text.push_str(&ignored::note(outcome.ignored));
        }
        for file in &outcome.files {
            text.push_str(&format!("\n{}", Shown(&file.path)));
        }
        let seen = (query.offset + outcome.files.len()).min(outcome.total);
        let left = outcome.total - seen;
        if left > 0 {
            text.push_str(&format!("\n... and {left} more; continue with offset={seen}"));
        }
        if outcome.incomplete {
            text.push_str(
                "\n(The search was cut short by its time or size limit: there may be more. Search a narrower path.)",
            );
        }
        let data = json!({
            "files": outcome.files,
            "total": outcome.total,
            "ignored": outcome.ignored,
            "truncated": outcome.truncated,
            "nextOffset": (left > 0).then_some(seen),
        });
        ToolResult { truncated: outcome.truncated, ..ToolResult::new(text, data) }
    }
}
