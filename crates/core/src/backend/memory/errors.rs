//! What memory refuses, with the same kinds as a directory on disk. A full quota is a full disk: `Io`.

use serde_json::json;

use super::tree::names_of;
use crate::error::{Error, ErrorKind, Shown};
use crate::path::VirtualPath;

pub(in crate::backend) fn not_found(path: &VirtualPath) -> Error {
    Error::not_found(path)
}

pub(in crate::backend) fn not_a_file(path: &VirtualPath) -> Error {
    about(path, ErrorKind::NotAFile, format!("'{}' is a directory, not a file; list it instead.", shown(path)))
}

/// The first `names` names of `path` lead to a file.
pub(in crate::backend) fn not_a_directory(path: &VirtualPath, names: usize) -> Error {
    let file = names_of(path).take(names).fold(String::new(), |file, name| file + "/" + name);
    about(
        path,
        ErrorKind::NotADirectory,
        format!("'{}' is a file, so '{}' cannot lie below it.", Shown(&file), shown(path)),
    )
}

pub(in crate::backend) fn already_a_file(path: &VirtualPath) -> Error {
    about(path, ErrorKind::AlreadyExists, format!("'{}' is a file; no directory can have its name.", shown(path)))
}

pub(in crate::backend) fn already_exists(path: &VirtualPath) -> Error {
    about(
        path,
        ErrorKind::AlreadyExists,
        format!("'{}' exists already; choose a name that is free, or remove it first.", shown(path)),
    )
}

pub(in crate::backend) fn directory_not_empty(path: &VirtualPath, entries: usize) -> Error {
    let message = format!("'{}' is a directory that holds entries; remove it recursively.", shown(path));
    about(path, ErrorKind::DirectoryNotEmpty, message).with_details(json!({ "entries": entries }))
}

pub(in crate::backend) fn is_the_root() -> Error {
    about(
        &VirtualPath::root(),
        ErrorKind::PathNotWritable,
        "'/' itself cannot be removed or moved; name something below it.".to_owned(),
    )
}

pub(in crate::backend) fn into_itself(from: &VirtualPath, to: &VirtualPath) -> Error {
    let message = format!("'{}' cannot be moved into itself ('{}').", shown(from), shown(to));
    about(to, ErrorKind::InvalidInput, message)
}

pub(in crate::backend) fn paths_too_long(from: &VirtualPath, to: &VirtualPath) -> Error {
    let message = format!("'{}' holds names whose paths would become too long below '{}'.", shown(from), shown(to));
    about(to, ErrorKind::InvalidInput, message)
}

pub(in crate::backend) fn too_deep(path: &VirtualPath, limit: usize) -> Error {
    about(
        path,
        ErrorKind::InvalidInput,
        format!("'{}' is nested too deeply; at most {limit} names are possible here.", shown(path)),
    )
}

pub(in crate::backend) fn file_too_large(path: &VirtualPath, size: u64, limit: u64) -> Error {
    let message = format!("'{}' has {size} bytes; at most {limit} are allowed here.", shown(path));
    about(path, ErrorKind::FileTooLarge, message).with_details(json!({ "size": size, "limit": limit }))
}

pub(in crate::backend) fn storage_full(path: &VirtualPath, limit: u64) -> Error {
    let message = format!(
        "'{}' could not be written: the storage holds at most {limit} bytes in all. Remove what is no longer needed.",
        shown(path)
    );
    about(path, ErrorKind::Io, message).with_details(json!({ "limit": limit }))
}

pub(in crate::backend) fn too_many_entries(path: &VirtualPath, limit: u64) -> Error {
    let message = format!(
        "'{}' could not be created: the storage holds at most {limit} files and directories. Remove what is no longer \
         needed.",
        shown(path)
    );
    about(path, ErrorKind::Io, message).with_details(json!({ "limit": limit }))
}

pub(in crate::backend) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "This backend was closed.")
}

fn about(path: &VirtualPath, kind: ErrorKind, message: String) -> Error {
    Error::new(kind, message).with_path(path.as_str())
}

fn shown(path: &VirtualPath) -> Shown<'_> {
    Shown(path.as_str())
}
