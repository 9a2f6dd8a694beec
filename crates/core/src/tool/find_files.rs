//! `find_files`: files by what is remembered of their path, best fit first.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::error::{Result, Shown};
use crate::path::VirtualPath;
use crate::search::{FindOutcome, FindQuery};
use crate::text::shown::shown_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View, ignored};

/// 20: what fits best is at the top; who must look further down remembers too little.
const PAGE: usize = 20;
/// 200 paths in one answer.
const MAX_PAGE: usize = 200;

/// The input of `find_files`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct FindFiles {
    /// Parts of the path that you remember, in any order: `user controller`, `usrctrl`, `auth/midleware.ts`.
    query: String,
    /// The directory to search.
    #[serde(default = "here")]
    path: String,
    /// Whether hidden files are searched too.
    #[serde(default)]
    include_hidden: Option<bool>,
    /// Whether files that .gitignore and .ignore exclude are searched too.
    #[serde(default)]
    include_ignored: bool,
    /// Results to show, up to 200.
    #[serde(default = "page")]
    #[cfg_attr(test, schemars(range(min = 1, max = 200)))]
    limit: usize,
    /// Results to skip, to see the next page.
    #[serde(default)]
    offset: usize,
}

fn here() -> String {
    ".".to_owned()
}

fn page() -> usize {
    PAGE
}

impl Tool for FindFiles {
    const SPEC: Spec = Spec {
        name: "find_files",
        groups: &[Group::Files],
        description: "Finds files of which you remember the name or path only roughly, best fit first. Each word of `query` must \
                      fit the path: its letters in order, with gaps; case does not matter and one letter in five may be \
                      wrong. Files that .gitignore excludes and hidden files are left out unless asked for. Shows 20 \
                      results a call; use `limit` and `offset` for more. Use `glob` for an exact pattern and `grep` to \
                      search in content.",
        instruction: "`find_files` finds files by roughly remembered names, best fit first.",
        operation: Operation::Glob,
        needs: Need::Files,
        destructive: false,
        example: r#"{"query": "user controller"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let path = VirtualPath::parse(&self.path, working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Glob, path }])
    }

    fn describe(&self) -> String {
        format!("List file paths in {} like {}", shown_in_line(&self.path), shown_in_line(&self.query))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let query = FindQuery {
                hidden: self.include_hidden.unwrap_or(!view.settings.ignore_hidden),
                respect_ignore: !self.include_ignored,
                offset: self.offset,
                limit: self.limit.clamp(1, MAX_PAGE),
                ..FindQuery::new(self.query.clone(), view.path(&self.path)?)
            };
            let outcome = view.files().find(&query, view.call).await?;
            Ok(shape(&query, outcome))
        })
    }
}

fn shape(query: &FindQuery, outcome: FindOutcome) -> ToolResult {
    let asked = Shown(&query.query);
    let mut text = match outcome.total {
        0 => format!("No files like '{asked}' in {}", query.path),
        total => format!("Found {total} file(s) like '{asked}', best fit first:"),
    };
    if outcome.total == 0 {
        text.push_str(&ignored::note(outcome.ignored));
    }
    for file in &outcome.files {
        text.push_str(&format!("\n{}", Shown(&file.path)));
    }
    let seen = query.offset.saturating_add(outcome.files.len()).min(outcome.total);
    let left = outcome.total - seen;
    if left > 0 {
        text.push_str(&format!("\n... and {left} more; continue with offset={seen}"));
    }
    if outcome.incomplete {
        text.push_str("\n(The search was cut short by its time limit: there may be more. Search a narrower path.)");
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
