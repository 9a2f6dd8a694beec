//! `mkdir`: directories with their parents.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::batch::{Report, items};
use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::error::Result;
use crate::path::VirtualPath;
use crate::text::shown::listed_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// The input of `mkdir`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Mkdir {
    /// The directory to make; its parents are made too.
    #[serde(default)]
    path: Option<String>,
    /// Several directories, instead of `path`.
    #[serde(default)]
    paths: Option<Vec<String>>,
}

impl Mkdir {
    fn targets(&self) -> Result<Vec<&str>> {
        let several = self.paths.as_ref().map(|paths| paths.iter().map(String::as_str).collect());
        items(self.path.as_deref(), several, ("`path`", "`paths`"))
    }
}

impl Tool for Mkdir {
    const SPEC: Spec = Spec {
        name: "mkdir",
        groups: &[Group::Files],
        description: "Makes a directory and the parents it needs; one that exists is no error. `write_file` makes parents by \
                      itself, so this is only for directories that stay empty. Takes up to 200 `paths` in one call.",
        instruction: "`mkdir` makes directories with their parents.",
        operation: Operation::Write,
        needs: Need::Writer,
        destructive: false,
        example: r#"{"path": "build/output"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let access = |path: &str| {
            VirtualPath::parse(path, working_directory).map(|path| Access::Path { operation: Operation::Write, path })
        };
        self.targets()?.into_iter().map(access).collect()
    }

    fn describe(&self) -> String {
        format!("Make directory {}", listed_in_line(&self.targets().unwrap_or_default()))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let mut report = Report::new();
            for target in self.targets()? {
                let path = view.path(target)?;
                let outcome = view.writer()?.make_directory(&path, view.call).await.map(|created| {
                    if created {
                        format!("Made directory {path}.")
                    } else {
                        format!("Directory {path} exists already.")
                    }
                });
                report.push(json!({ "path": path.as_str() }), outcome);
            }
            report.finish()
        })
    }
}
