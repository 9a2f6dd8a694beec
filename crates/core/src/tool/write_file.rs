//! `write_file`: a whole file, new or replaced.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::access::{Access, Operation};
use crate::backend::{BoxFuture, Missing};
use crate::change;
use crate::edit::expectation::ReadRecord;
use crate::error::{Error, ErrorKind, Result};
use crate::lent;
use crate::path::VirtualPath;
use crate::text::shown::shown_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// The input of `write_file`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// The file to create or replace; parent directories are made.
    path: String,
    /// The whole new content, written exactly as given.
    content: String,
}

impl Tool for WriteFile {
    const SPEC: Spec = Spec {
        name: "write_file",
        groups: &[Group::Console, Group::Files],
        description: "Creates a file, or replaces its whole content, exactly as given (UTF-8, up to 64 MiB). Parent \
                      directories are made. To change part of an existing file, edit it instead: that is shorter and loses \
                      nothing.",
        instruction: "`write_file` creates or replaces a whole file.",
        operation: Operation::Write,
        needs: Need::Writer,
        destructive: true,
        example: r#"{"path": "src/greet.ts", "content": "export const greet = () => 'hello'\n"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        if self.path.is_empty() || self.path.ends_with('/') {
            return Err(Error::invalid("`path` must name a file; it is empty or ends with '/'."));
        }
        let path = VirtualPath::parse(&self.path, working_directory)?;
        Ok(vec![Access::Path { operation: Operation::Write, path }])
    }

    fn describe(&self) -> String {
        format!("Write {} characters to {}", self.content.chars().count(), shown_in_line(&self.path))
    }

    fn preview<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let path = view.path(&self.path)?;
            let current = match view.files().read_bytes(&path, view.limits.file_bytes, view.call).await {
                Ok(current) => Some(current),
                Err(error) if error.kind() == ErrorKind::FileNotFound => None,
                Err(error) => return Err(error),
            };
            let (transform, receipt) = change::replace(&path, self.content.clone().into_bytes()).await;
            // A person is about to be asked: no reason to hurry on a lent thread.
            lent::give_back(|| true).await;
            transform(current)?;
            Ok(Some(receipt.diff().await?))
        })
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let path = view.path(&self.path)?;
            let (transform, receipt) = change::replace(&path, self.content.clone().into_bytes()).await;
            let updated = view.update(&path, Operation::Write, Missing::Create, transform).await?;
            let diff = receipt.diff().await?;
            let record = ReadRecord::of_whole(self.content.as_bytes(), path.as_str());
            view.memory.wrote(updated.resolved, updated.version, record);
            let lines = self.content.split_inclusive('\n').count();
            let verb = if updated.created { "Created" } else { "Wrote" };
            let data = json!({
                "path": path.as_str(), "bytes": updated.size, "lines": lines, "created": updated.created, "diff": diff,
            });
            Ok(ToolResult::new(format!("{verb} {path}: {lines} line(s), {} bytes.", updated.size), data))
        })
    }
}
