//! `move_file` and `copy_file`: from one name to another that does not exist yet.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::batch::{Report, items};
use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::text::shown::shown_in_line;
use crate::tool::{Group, Need, Spec, Tool, ToolResult, View};

/// The input of `move_file`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct MoveFile {
    /// What to move: a file, a link itself, or a directory.
    #[serde(default)]
    source: Option<String>,
    /// The new name; nothing may have it yet.
    #[serde(default)]
    destination: Option<String>,
    /// Several moves, instead of `source` and `destination`.
    #[serde(default)]
    pairs: Option<Vec<Pair>>,
}

/// The input of `copy_file`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CopyFile {
    /// The file to copy.
    #[serde(default)]
    source: Option<String>,
    /// The name of the copy; nothing may have it yet.
    #[serde(default)]
    destination: Option<String>,
    /// Several copies, instead of `source` and `destination`.
    #[serde(default)]
    pairs: Option<Vec<Pair>>,
}

/// From where to where.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct Pair {
    /// From where.
    source: String,
    /// To where.
    destination: String,
}

fn pairs(source: &Option<String>, destination: &Option<String>, several: &Option<Vec<Pair>>) -> Result<Vec<Pair>> {
    let one = match (source, destination) {
        (Some(source), Some(destination)) => Some(Pair { source: source.clone(), destination: destination.clone() }),
        (None, None) => None,
        _ => return Err(Error::invalid("Give `source` and `destination` together.")),
    };
    let several = several.as_ref().map(|pairs| pairs.iter().collect());
    let chosen = items(one.as_ref(), several, ("`source` and `destination`", "`pairs`"))?;
    Ok(chosen.into_iter().cloned().collect())
}

/// The accesses of each pair: `firsts` on the source, write on the destination.
fn accesses(pairs: &[Pair], firsts: &[Operation], working_directory: &VirtualPath) -> Result<Vec<Access>> {
    let mut accesses = Vec::with_capacity(pairs.len() * (firsts.len() + 1));
    for pair in pairs {
        let source = VirtualPath::parse(&pair.source, working_directory)?;
        let destination = VirtualPath::parse(&pair.destination, working_directory)?;
        accesses.extend(firsts.iter().map(|&operation| Access::Path { operation, path: source.clone() }));
        accesses.push(Access::Path { operation: Operation::Write, path: destination });
    }
    Ok(accesses)
}

fn describe(verb: &str, pairs: Result<Vec<Pair>>) -> String {
    let each: Vec<_> = pairs
        .unwrap_or_default()
        .iter()
        .map(|pair| format!("{verb} {} to {}", shown_in_line(&pair.source), shown_in_line(&pair.destination)))
        .collect();
    each.join(", ")
}

impl Tool for MoveFile {
    const SPEC: Spec = Spec {
        name: "move_file",
        groups: &[Group::Files],
        description: "Moves or renames a file or directory. The destination must not exist; its parent directories are made. \
                      Takes up to 200 `pairs` in one call.",
        instruction: "`move_file` moves or renames; it never overwrites.",
        operation: Operation::Delete,
        needs: Need::Writer,
        destructive: true,
        example: r#"{"source": "src/old.ts", "destination": "src/new.ts"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let pairs = pairs(&self.source, &self.destination, &self.pairs)?;
        // What is moved can be read by another name afterwards.
        accesses(&pairs, &[Operation::Delete, Operation::Read], working_directory)
    }

    fn describe(&self) -> String {
        describe("Move", pairs(&self.source, &self.destination, &self.pairs))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let mut report = Report::new();
            for pair in pairs(&self.source, &self.destination, &self.pairs)? {
                let (from, to) = (view.path(&pair.source)?, view.path(&pair.destination)?);
                let outcome = async {
                    view.check_unchanged(&from).await?;
                    view.writer()?.rename(&from, &to, view.call).await?;
                    Ok(format!("Moved {from} to {to}."))
                };
                let outcome = outcome.await;
                report.push(json!({ "source": from.as_str(), "destination": to.as_str() }), outcome);
            }
            report.finish()
        })
    }
}

impl Tool for CopyFile {
    const SPEC: Spec = Spec {
        name: "copy_file",
        groups: &[Group::Files],
        description: "Copies one regular file with its permission bits. The destination must not exist; its parent directories \
                      are made. Takes up to 200 `pairs` in one call. Directories are not copied.",
        instruction: "`copy_file` copies a file; it never overwrites.",
        operation: Operation::Write,
        needs: Need::Writer,
        destructive: false,
        example: r#"{"source": "config.example.json", "destination": "config.json"}"#,
    };

    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let pairs = pairs(&self.source, &self.destination, &self.pairs)?;
        accesses(&pairs, &[Operation::Read], working_directory)
    }

    fn describe(&self) -> String {
        describe("Copy", pairs(&self.source, &self.destination, &self.pairs))
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let mut report = Report::new();
            for pair in pairs(&self.source, &self.destination, &self.pairs)? {
                let (from, to) = (view.path(&pair.source)?, view.path(&pair.destination)?);
                let outcome = async {
                    view.check_unchanged(&from).await?;
                    let bytes = view.writer()?.copy(&from, &to, view.call).await?;
                    Ok(format!("Copied {from} to {to} ({bytes} bytes)."))
                };
                let outcome = outcome.await;
                report.push(json!({ "source": from.as_str(), "destination": to.as_str() }), outcome);
            }
            report.finish()
        })
    }
}
