//! The errors of the walls: each names what *is* allowed, and only virtual paths.

use serde_json::json;

use crate::error::{Error, ErrorKind, Shown};

/// `path` lies in no mount or leads out of it. The answer is the same whether anything exists there or not (R-FS-8).
pub fn not_in_sandbox(path: &str, readable: &[String]) -> Error {
    Error::new(
        ErrorKind::PathNotInSandbox,
        format!("'{}' is outside the sandbox. Paths that can be read: {}.", Shown(path), listed(readable)),
    )
    .with_path(path)
    .with_details(json!({ "readableRoots": readable }))
}

/// A command was given no directory, and the one in which it would begin lies in no mount.
pub fn nowhere_to_begin(path: &str, readable: &[String]) -> Error {
    Error::new(
        ErrorKind::PathNotInSandbox,
        format!(
            "A command has no directory to begin in: '{}' lies in no mount. Give `cwd`, in one of these: {}.",
            Shown(path),
            listed(readable)
        ),
    )
    .with_path(path)
    .with_details(json!({ "readableRoots": readable }))
}

/// `path` can be read but not written.
pub fn not_writable(path: &str, writable: &[String]) -> Error {
    Error::new(
        ErrorKind::PathNotWritable,
        format!("'{}' is read-only. Paths that can be written: {}.", Shown(path), listed(writable)),
    )
    .with_path(path)
    .with_details(json!({ "writableRoots": writable }))
}

/// The mount of `path` does not take its suffix.
pub fn suffix_not_allowed(path: &str, suffix: Option<&str>, allowed: &[String]) -> Error {
    let found = match suffix {
        Some(suffix) => format!("the suffix '{}'", Shown(suffix)),
        None => "no suffix".to_owned(),
    };
    Error::new(
        ErrorKind::SuffixNotAllowed,
        format!("'{}' has {found}, which is not allowed here. Allowed suffixes: {}.", Shown(path), listed(allowed)),
    )
    .with_path(path)
    .with_details(json!({ "suffix": suffix, "allowed": allowed }))
}

/// The file at `path` has, or would have, more bytes than its mount or a limit takes.
pub fn file_too_large(path: &str, size: u64, limit: u64) -> Error {
    Error::new(
        ErrorKind::FileTooLarge,
        format!("'{}' has {} bytes; at most {} are allowed here.", Shown(path), grouped(size), grouped(limit)),
    )
    .with_path(path)
    .with_details(json!({ "size": size, "limit": limit }))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| Shown(name).to_string()).collect::<Vec<_>>().join(", ")
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
