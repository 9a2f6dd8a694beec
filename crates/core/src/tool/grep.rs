//! `grep`: lines by regular expression.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::error::{Result, Shown};
use crate::path::VirtualPath;
use crate::search::{CaseMode, GrepMatch, GrepOutcome, GrepQuery};
use crate::text::shown::shown_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View, ignored};

/// 50: matches or files on one page unless the model asks for another count; as BE-101.
const PAGE: usize = 50;

/// The input of `grep`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// Regular expression (Rust `regex` syntax), or plain text with `literal`.
    pattern: String,
    /// File or directory to search; the working directory when left out.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose name matches, such as `*.ts`, `src/**/*.{js,ts}` or `!*.min.js`.
    #[serde(default)]
    glob_pattern: Option<String>,
    /// Only files of this type, such as `ts`, `rust` or `md`.
    #[serde(default)]
    file_type: Option<String>,
    /// `files_with_matches` names the files, `content` shows the lines, `count` counts.
    #[serde(default)]
    output_mode: OutputMode,
    /// Whether hidden files are left out.
    #[serde(default)]
    ignore_hidden: Option<bool>,
    /// Whether files that .gitignore and .ignore exclude are searched too.
    #[serde(default)]
    include_ignored: bool,
    /// Whether `pattern` is plain text.
    #[serde(default)]
    literal: bool,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// Whether only whole words match.
    #[serde(default)]
    word: bool,
    /// Whether a match may span lines.
    #[serde(default)]
    multiline: bool,
    /// Lines to show before and after each match, up to 20.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(max = 20)))]
    context: u32,
    /// Matches of one file before it is left; all when left out.
    #[serde(default)]
    #[cfg_attr(test, schemars(range(min = 1)))]
    max_per_file: Option<u64>,
    /// Matches or files to show, up to 1000.
    #[serde(default = "page")]
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    limit: usize,
    /// Matches or files to skip, to see the next page.
    #[serde(default)]
    offset: usize,
}

/// What `grep` shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

fn page() -> usize {
    PAGE
}

impl Tool for Grep {
    const SPEC: Spec = Spec {
        name: "grep",
        groups: &[Group::Console, Group::Files],
        description: "Searches file content with a regular expression (Rust syntax; look-around and back-references work \
                      within a line), newest files first. `output_mode` decides between file names (default), matching lines with numbers (`content`) and counts. \
                      Hidden files and files that .gitignore excludes are left out unless asked for; a file named in `path` \
                      is always searched. Binary files are skipped. Shows 50 results a call; use `limit` and `offset` for more.",
        instruction: "`grep` searches file content; use `output_mode: \"content\"` to see the lines.",
        operation: Operation::Grep,
        needs: Need::Files,
        destructive: false,
        example: r#"{"pattern": "fn main", "glob_pattern": "*.rs", "output_mode": "content"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let path = VirtualPath::parse(self.path.as_deref().unwrap_or("."), working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Grep, path }])
    }

    fn describe(&self) -> String {
        format!("Search {} for {}", shown_in_line(self.path.as_deref().unwrap_or(".")), shown_in_line(&self.pattern))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let hidden = !self.ignore_hidden.unwrap_or(view.settings.ignore_hidden);
            let query = GrepQuery {
                literal: self.literal,
                case: if self.ignore_case { CaseMode::Insensitive } else { CaseMode::Sensitive },
                word: self.word,
                multiline: self.multiline,
                // Only a pattern that needs it pays for it.
                look_around: !self.multiline,
                globs: self.glob_pattern.iter().cloned().collect(),
                types: self.file_type.iter().cloned().collect(),
                hidden,
                respect_ignore: !self.include_ignored,
                max_per_file: self.max_per_file.map(|most| most.max(1)),
                before: self.context.min(20),
                after: self.context.min(20),
                files_only: self.output_mode == OutputMode::FilesWithMatches,
                count_only: self.output_mode == OutputMode::Count,
                offset: self.offset,
                limit: self.limit.clamp(1, 1_000),
                ..GrepQuery::new(self.pattern.clone(), view.path(self.path.as_deref().unwrap_or("."))?)
            };
            let outcome = view.files().grep(&query, view.call).await?;
            Ok(self.shape(&query, outcome))
        })
    }
}

impl Grep {
    fn shape(&self, query: &GrepQuery, outcome: GrepOutcome) -> ToolResult {
        let pattern = Shown(&self.pattern);
        let mut text = match (outcome.total_files, self.output_mode) {
            (0, _) => format!("No matches for '{pattern}'"),
            (_, OutputMode::FilesWithMatches) => format!("Files containing '{pattern}':"),
            (_, OutputMode::Content) => format!("Matches for '{pattern}':"),
            (files, OutputMode::Count) => {
                format!("Found {} match(es) for '{pattern}' in {files} file(s):", outcome.total_matches)
            }
        };
        // Who found something is not told what else there may be, at the price of words on every search.
        if outcome.total_files == 0 {
            text.push_str(&ignored::note(outcome.ignored));
        }
        let (shown, total, noun) = match self.output_mode {
            OutputMode::FilesWithMatches => {
                for file in &outcome.files {
                    text.push_str(&format!("\n{}", Shown(&file.path)));
                }
                (outcome.files.len(), outcome.total_files, "files")
            }
            OutputMode::Count => {
                for file in &outcome.files {
                    text.push_str(&format!("\n{}: {}", Shown(&file.path), file.count));
                }
                (outcome.files.len(), outcome.total_files, "files")
            }
            OutputMode::Content => {
                push_matches(&mut text, &outcome.matches);
                (outcome.matches.len(), outcome.total_matches, "matches")
            }
        };
        let seen = query.offset as u64 + shown as u64;
        let left = total.saturating_sub(seen);
        if left > 0 && shown > 0 {
            text.push_str(&format!("\n... and {left} more {noun}; continue with offset={seen}"));
        } else if shown == 0 && total > 0 {
            text.push_str(&format!("\n(offset {} is past the last of {total} {noun})", query.offset));
        }
        if let Some(most) = query.max_per_file
            && total > 0
        {
            text.push_str(&format!("\n(At most {most} of each file's matches are counted.)"));
        }
        if outcome.incomplete {
            text.push_str(
                "\n(The search was cut short by its time or size limit: there may be more. Search a narrower path.)",
            );
        }
        let data = json!({
            "matches": outcome.matches,
            "files": outcome.files,
            "totalMatches": outcome.total_matches,
            "totalFiles": outcome.total_files,
            "searchedFiles": outcome.searched_files,
            "ignored": outcome.ignored,
            "truncated": outcome.truncated,
            "nextOffset": (left > 0 && shown > 0).then_some(seen),
        });
        ToolResult { truncated: outcome.truncated, ..ToolResult::new(text, data) }
    }
}

/// `path:line: text` for matches, `path-line- text` for context; overlapping context is shown once, gaps as `--`.
fn push_matches(text: &mut String, matches: &[GrepMatch]) {
    let has_context = matches.iter().any(|found| !found.before.is_empty() || !found.after.is_empty());
    if !has_context {
        for found in matches {
            text.push_str(&format!("\n{}:{}: {}", Shown(&found.path), found.line_number, Shown(&found.line)));
        }
        return;
    }
    let mut start = 0;
    while start < matches.len() {
        let path = &matches[start].path;
        let end = start + matches[start..].iter().take_while(|found| found.path == *path).count();
        let mut lines: BTreeMap<u64, (char, &str)> = BTreeMap::new();
        for found in &matches[start..end] {
            for line in found.before.iter().chain(&found.after) {
                lines.entry(line.line_number).or_insert(('-', &line.line));
            }
        }
        for found in &matches[start..end] {
            lines.insert(found.line_number, (':', &found.line));
        }
        let mut previous = None;
        for (number, (mark, line)) in lines {
            if previous.is_some_and(|previous| previous + 1 != number) || (previous.is_none() && start > 0) {
                text.push_str("\n--");
            }
            text.push_str(&format!("\n{}{mark}{number}{mark} {}", Shown(path), Shown(line)));
            previous = Some(number);
        }
        start = end;
    }
}
