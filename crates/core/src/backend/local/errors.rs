//! What the operating system answered, in the words of a virtual path (R-FS-8).

use super::system::Errno;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;
use crate::sandbox::MountTable;

/// The error for `errno` on `path`, as the caller asked for it.
pub(super) fn explain(errno: Errno, path: &VirtualPath, table: &MountTable) -> Error {
    let (kind, message) = match errno {
        Errno::NOENT => return Error::not_found(path).with_path(path.as_str()),
        Errno::XDEV => return table.outside(path),
        Errno::NOTDIR => (ErrorKind::NotADirectory, format!("A part of '{path}' is not a directory.")),
        Errno::ISDIR => return is_directory(path),
        Errno::EXIST => return exists(path),
        Errno::NOTEMPTY => (
            ErrorKind::DirectoryNotEmpty,
            format!("The directory '{path}' is not empty; ask for a recursive removal to remove what it holds."),
        ),
        Errno::LOOP => (ErrorKind::Io, format!("'{path}' leads through links that never end.")),
        Errno::AGAIN => return busy(path),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            (ErrorKind::Busy, format!("The system has no room for another open file ('{path}'); try again."))
        }
        Errno::ACCESS | Errno::PERM => {
            (ErrorKind::Io, format!("The operating system does not let this process use '{path}'."))
        }
        Errno::ROFS => (ErrorKind::PathNotWritable, format!("'{path}' lies on a read-only file system.")),
        Errno::NOSPC | Errno::DQUOT => (ErrorKind::Io, format!("The disk that holds '{path}' is full.")),
        Errno::NAMETOOLONG => (ErrorKind::InvalidInput, format!("'{path}' is longer than the file system takes.")),
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => return not_a_file(path),
        Errno::BUSY | Errno::TXTBSY => (ErrorKind::Busy, format!("'{path}' is in use by the system.")),
        _ => (ErrorKind::Io, format!("The file system reported an error for '{path}'.")),
    };
    Error::new(kind, message).with_path(path.as_str())
}

/// `explain`, as what `map_err` takes.
pub(super) trait Explain<T> {
    fn explain(self, path: &VirtualPath, table: &MountTable) -> Result<T>;
}

impl<T> Explain<T> for std::result::Result<T, Errno> {
    fn explain(self, path: &VirtualPath, table: &MountTable) -> Result<T> {
        self.map_err(|errno| explain(errno, path, table))
    }
}

pub(super) fn is_directory(path: &VirtualPath) -> Error {
    Error::new(ErrorKind::NotAFile, format!("'{path}' is a directory, not a file; list it instead."))
        .with_path(path.as_str())
}

pub(super) fn not_a_file(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::NotAFile,
        format!("'{path}' is not a regular file; pipes, sockets, devices and system files are never opened."),
    )
    .with_path(path.as_str())
}

pub(super) fn not_a_directory(path: &VirtualPath) -> Error {
    Error::new(ErrorKind::NotADirectory, format!("'{path}' is not a directory.")).with_path(path.as_str())
}

pub(super) fn exists(path: &VirtualPath) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("'{path}' exists already; choose another name or remove it first."))
        .with_path(path.as_str())
}

pub(super) fn busy(path: &VirtualPath) -> Error {
    Error::new(ErrorKind::Busy, format!("'{path}' kept changing while it was looked up; try again."))
        .with_path(path.as_str())
}

pub(super) fn stale(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::StaleFile,
        format!("'{path}' was changed by somebody else during this call, which wrote nothing; read it again."),
    )
    .with_path(path.as_str())
}

pub(super) fn not_text_name(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("'{path}' leads to a name that is not UTF-8; such names are only listed."),
    )
    .with_path(path.as_str())
}

pub(super) fn other_spelling(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::FileNotFound,
        format!("Nothing is spelled like '{path}'; names are compared letter by letter, so look at a listing."),
    )
    .with_path(path.as_str())
}

pub(super) fn spelled_otherwise(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        format!(
            "For the file system '{path}' is an entry that is spelled otherwise; use the name that a listing shows."
        ),
    )
    .with_path(path.as_str())
}

pub(super) fn no_windows_name(path: &VirtualPath, name: &str) -> Error {
    Error::invalid(format!(
        "'{path}' holds the name '{}', which is no file name on Windows: devices such as NUL, the characters <>:\"|?*\\ and \
         a '.' or blank at the end are not taken. Names are separated by '/'.",
        Shown(name)
    ))
    .with_path(path.as_str())
}
