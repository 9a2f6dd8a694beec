//! `read_file`: a window of lines, numbered; an image or a document as a part; a notebook as cells.

use gloveport_lines::Lines;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::batch::items;
use super::read_media::{self, PartsLeft};
use crate::access::{Access, Operation};
use crate::backend::{BoxFuture, FileSlice, Window};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::lent;
use crate::path::VirtualPath;
use crate::text::numbered::{self, Style, ViewOptions};
use crate::text::shown::listed_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// The input of `read_file`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    /// The file to read.
    #[serde(default)]
    path: Option<String>,
    /// Several files, instead of `path`.
    #[serde(default)]
    paths: Option<Vec<String>>,
    /// Lines to skip; 0 starts at the first line.
    #[serde(default)]
    offset: u64,
    /// Lines to show.
    #[serde(default = "default_limit")]
    #[cfg_attr(test, schemars(range(min = 1)))]
    limit: u64,
    /// Characters of the first line to skip, to read on in a line that was cut.
    #[serde(default)]
    column: usize,
    /// Whether to show a notebook (.ipynb) as the JSON that it is, which is what edits work on, instead of its cells.
    #[serde(default)]
    raw: bool,
}

fn default_limit() -> u64 {
    2_000
}

impl ReadFile {
    fn targets(&self) -> Result<Vec<&str>> {
        let several = self.paths.as_ref().map(|paths| paths.iter().map(String::as_str).collect());
        items(self.path.as_deref(), several, ("`path`", "`paths`"))
    }
}

impl Tool for ReadFile {
    const SPEC: Spec = Spec {
        name: "read_file",
        groups: &[Group::Console, Group::Files],
        description: "Reads a text file and shows its lines with numbers. Shows 2000 lines at most unless `limit` says \
                      otherwise; `offset` skips lines, and the end of the text says where to read on. Lines over 2000 \
                      characters are cut. Images (png, jpg, gif, webp) and PDF documents are shown as such where that is \
                      supported, notebooks (.ipynb) as their cells. Use `paths` for several small files at once, and \
                      `grep` to find a place in a large file.",
        instruction: "`read_file` shows a file with line numbers; use `offset` and `limit` for large files.",
        operation: Operation::Read,
        needs: Need::Files,
        destructive: false,
        example: r#"{"path": "src/index.ts", "offset": 0, "limit": 200}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        if self.limit == 0 {
            return Err(Error::invalid("`limit` must be at least 1."));
        }
        let access = |path: &str| {
            VirtualPath::parse(path, working_directory).map(|path| Access::Path { operation: Operation::Read, path })
        };
        self.targets()?.into_iter().map(access).collect()
    }

    fn describe(&self) -> String {
        format!("Read from {}", listed_in_line(&self.targets().unwrap_or_default()))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let targets = self.targets()?;
            let mut left = PartsLeft::of(view.limits);
            if let [only] = targets.as_slice() {
                return self.read(view, only, view.limits.read_bytes, &mut left).await;
            }
            lent::give_back(|| true).await;
            let share = view.limits.read_bytes / targets.len() as u64;
            let mut all = ToolResult::default();
            let mut files: Vec<Value> = Vec::with_capacity(targets.len());
            for target in targets {
                let one = match self.read(view, target, share.max(1), &mut left).await {
                    Ok(one) => one,
                    Err(error) if matches!(error.kind(), ErrorKind::Aborted | ErrorKind::Timeout) => return Err(error),
                    Err(error) => ToolResult::from_error(&error),
                };
                if !all.text.is_empty() {
                    all.text.push_str("\n\n");
                }
                all.text.push_str(&format!("==> {} <==\n{}", Shown(target), one.text));
                all.truncated |= one.truncated;
                all.parts.extend(one.parts);
                files.push(json!({ "path": target, "isError": one.is_error, "code": one.code, "data": one.data }));
            }
            all.data = Some(json!({ "files": files }));
            Ok(all)
        })
    }
}

impl ReadFile {
    async fn read(&self, view: &View<'_>, target: &str, max_bytes: u64, left: &mut PartsLeft) -> Result<ToolResult> {
        let path = view.path(target)?;
        let window = Window { offset: self.offset, limit: self.limit, max_bytes };
        if !self.raw
            && read_media::is_notebook(&path)
            && let Some(cells) = read_media::notebook(view, &path, window, self.column, left).await?
        {
            return Ok(cells);
        }
        let slice = match view.files().read(&path, window, view.call).await {
            Ok(slice) => slice,
            Err(error) => return read_media::instead_of(error, view, &path, left).await,
        };
        view.check_binding(&path, Some(slice.version))?;
        if slice.bytes == 0 && read_media::is_named_like_media(&path) {
            return Err(read_media::empty(&path));
        }
        let lines = Lines::of(&slice.content);
        view.memory.shown(&slice, &lines);
        Ok(shape(view, &path, &slice, &lines, self))
    }
}

fn shape(view: &View<'_>, path: &VirtualPath, slice: &FileSlice, lines: &Lines<'_>, asked: &ReadFile) -> ToolResult {
    let shown = numbered::View {
        content: &slice.content,
        offset: slice.offset,
        total_lines: slice.total_lines,
        next_offset: slice.next_offset,
        truncated: slice.truncated,
    };
    let style = if view.settings.hashline { Style::Tagged } else { Style::Numbered };
    let options = ViewOptions { style, line_chars: view.limits.line_chars, column: asked.column };
    let mut text = numbered::render_lines(&shown, lines, &options);
    if slice.next_offset.is_some() && slice.lines < asked.limit {
        // BE-24: nothing is an error that can be told; what was asked for is told apart from what fitted.
        text.push_str(&format!(
            " (Only {} of the {} lines asked for fit into one read; ask for fewer, or search for the place.)",
            slice.lines, asked.limit
        ));
    }
    if let Some(note) = slice.encoding.note() {
        text.push_str(&format!("\n\n({note})"));
    }
    let data = json!({
        "path": path.as_str(), "offset": slice.offset, "lines": slice.lines, "totalLines": slice.total_lines,
        "bytes": slice.bytes, "nextOffset": slice.next_offset, "truncated": slice.truncated, "encoding": slice.encoding,
    });
    ToolResult { truncated: slice.truncated, ..ToolResult::new(text, data) }
}
