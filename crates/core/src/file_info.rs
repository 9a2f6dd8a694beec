//! What is told of an entry: [`FileInfo`].

use serde::{Deserialize, Serialize};

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link whose target is missing or lies outside.
    Symlink,
    /// A FIFO, socket or device: named, never opened.
    Other,
}

/// Facts about one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    /// The last name; bytes that are not UTF-8 are shown escaped as `\xNN`.
    pub name: String,
    /// The path as the agent sees it.
    pub path: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: FileKind,
    /// Bytes; 0 for what is not a regular file.
    pub size: u64,
    /// Milliseconds since 1970; absent when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<i64>,
}
