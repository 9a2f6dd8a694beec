//! From what the system says about a file to what a caller is told.

use super::system::{self, FileType, Stat};
use crate::backend::{FileInfo, FileKind, FileVersion};
use crate::path::VirtualPath;

/// Nanoseconds in a second.
const NANOS: i128 = 1_000_000_000;

/// Identifies the state that `facts` describe.
pub(super) fn version_of(facts: &Stat) -> FileVersion {
    let (device, inode) = identity(facts);
    FileVersion {
        device,
        inode,
        size: size_of(facts),
        modified_ns: i128::from(facts.st_mtime) * NANOS + i128::from(facts.st_mtime_nsec),
        changed_ns: i128::from(facts.st_ctime) * NANOS + i128::from(facts.st_ctime_nsec),
    }
}

/// The device and inode: what stays the same under every name.
#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
pub(super) fn identity(facts: &Stat) -> (u64, u64) {
    (facts.st_dev as u64, facts.st_ino as u64)
}

/// Bytes of the file.
pub(super) fn size_of(facts: &Stat) -> u64 {
    u64::try_from(facts.st_size).unwrap_or(0)
}

/// The type of the inode.
pub(super) fn type_of(facts: &Stat) -> FileType {
    system::type_of(facts)
}

/// What an agent is told that it is.
pub(super) fn kind_of(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            FileKind::Other
        }
    }
}

/// Facts about the entry that the agent sees at `path`.
pub(super) fn info_of(path: &VirtualPath, facts: &Stat) -> FileInfo {
    named_info(path.file_name().unwrap_or("/").to_owned(), path.as_str().to_owned(), facts)
}

/// Facts about an entry whose name may not be text.
pub(super) fn named_info(name: String, path: String, facts: &Stat) -> FileInfo {
    let kind = kind_of(type_of(facts));
    let size = if kind == FileKind::File { size_of(facts) } else { 0 };
    let modified_at = i64::try_from(version_of(facts).modified_ns.div_euclid(1_000_000)).ok();
    FileInfo { name, path, kind, size, modified_at }
}

/// A directory that exists only because a mount lies below it.
pub(super) fn virtual_directory(path: &VirtualPath) -> FileInfo {
    FileInfo {
        name: path.file_name().unwrap_or("/").to_owned(),
        path: path.as_str().to_owned(),
        kind: FileKind::Directory,
        size: 0,
        modified_at: None,
    }
}

/// A name as it is shown: bytes that are not UTF-8 become `\xNN`.
pub(super) fn shown_name(name: &[u8]) -> String {
    if let Ok(name) = std::str::from_utf8(name) {
        return name.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
