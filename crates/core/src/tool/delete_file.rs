//! `delete_file`: files, links, and directories when asked for explicitly.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::batch::{Report, items};
use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::text::shown::listed_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// The input of `delete_file`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct DeleteFile {
    /// The file to delete; a link is deleted itself, never its target.
    #[serde(default)]
    path: Option<String>,
    /// Several files, instead of `path`.
    #[serde(default)]
    paths: Option<Vec<String>>,
    /// Whether a directory is deleted with all it holds.
    #[serde(default)]
    recursive: bool,
}

impl DeleteFile {
    fn targets(&self) -> Result<Vec<&str>> {
        let several = self.paths.as_ref().map(|paths| paths.iter().map(String::as_str).collect());
        items(self.path.as_deref(), several, ("`path`", "`paths`"))
    }
}

impl Tool for DeleteFile {
    const SPEC: Spec = Spec {
        name: "delete_file",
        groups: &[Group::Files],
        description: "Deletes a file, a link or an empty directory; with `recursive` a directory and all it holds. There is no \
                      way back. Takes up to 200 `paths` in one call. The working directory itself and the roots stay.",
        instruction: "`delete_file` deletes files; a directory with content needs `recursive`.",
        operation: Operation::Delete,
        needs: Need::Writer,
        destructive: true,
        example: r#"{"path": "build/old.log"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let access = |path: &str| {
            let path = VirtualPath::parse(path, working_directory)?;
            if path.is_root() || path == *working_directory || working_directory.is_within(&path) {
                return Err(Error::invalid(format!(
                    "'{path}' holds the working directory and is not deleted; name what lies in it instead."
                )));
            }
            Ok(Access::Path { operation: Operation::Delete, path })
        };
        self.targets()?.into_iter().map(access).collect()
    }

    fn describe(&self) -> String {
        let how = if self.recursive { " with all it holds" } else { "" };
        format!("Delete {}{how}", listed_in_line(&self.targets().unwrap_or_default()))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let mut report = Report::new();
            for target in self.targets()? {
                let path = view.path(target)?;
                let outcome = async {
                    view.check_unchanged(&path).await?;
                    let removed = view.writer()?.remove(&path, self.recursive, view.call).await?;
                    Ok(if removed > 1 {
                        format!("Deleted {path} ({removed} entries).")
                    } else {
                        format!("Deleted {path}.")
                    })
                };
                let outcome = outcome.await;
                report.push(json!({ "path": path.as_str() }), outcome);
            }
            report.finish()
        })
    }
}
