//! The engine over real directories.

mod bounding;
mod finding;
mod globbing;
mod grepping;
mod host;
mod ignoring;
mod made;
mod outlining;
mod vanishing;
mod walking;

use host::HostTree;

use super::{GlobOutcome, GlobQuery, GrepOutcome, GrepQuery};
use crate::backend::Call;
use crate::error::Result;
use crate::limits::Limits;
use crate::path::VirtualPath;

fn path(text: &str) -> VirtualPath {
    VirtualPath::absolute(text).unwrap()
}

/// A glob at `/w`, by path, whose answer does not depend on when files were made.
fn pattern(pattern: &str) -> GlobQuery {
    GlobQuery { sort: super::SortOrder::Path, ..GlobQuery::new(pattern, path("/w")) }
}

/// A search for lines at `/w`, files by path.
fn lines(pattern: &str) -> GrepQuery {
    GrepQuery { sort: super::SortOrder::Path, ..GrepQuery::new(pattern, path("/w")) }
}

fn glob(tree: &HostTree, query: &GlobQuery) -> Result<GlobOutcome> {
    host::glob(&tree.backend(&[], Limits::default()), query, &Call::default())
}

fn grep(tree: &HostTree, query: &GrepQuery) -> Result<GrepOutcome> {
    host::grep(&tree.backend(&[], Limits::default()), query, &Call::default())
}

/// The paths that a glob finds, or the code and message of its error.
fn found(tree: &HostTree, query: &GlobQuery) -> Vec<String> {
    match glob(tree, query) {
        Ok(outcome) => outcome.files.into_iter().map(|file| file.path).collect(),
        Err(error) => vec![format!("{}: {}", error.kind().code(), error.message())],
    }
}

/// `path:line: text` of every match, or the code and message of the error.
fn matched(tree: &HostTree, query: &GrepQuery) -> Vec<String> {
    match grep(tree, query) {
        Ok(outcome) => outcome
            .matches
            .into_iter()
            .map(|found| format!("{}:{}: {}", found.path, found.line_number, found.line))
            .collect(),
        Err(error) => vec![format!("{}: {}", error.kind().code(), error.message())],
    }
}
