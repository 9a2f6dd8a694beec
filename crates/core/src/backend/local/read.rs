//! Reading: where a path leads, facts, windows of lines, whole files.

use std::fs::File;
use std::io::Read;

use super::Inner;
use super::errors::is_directory;
use super::facts::{info_of, kind_of, size_of, type_of, version_of, virtual_directory};
use super::resolve::{Inspected, OpenFile, Reach, Right, Target};
use super::system::Stat;
use crate::access::Operation;
use crate::backend::{Call, FileContent, FileInfo, FileKind, FileSlice, Resolution};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::file_too_large;
use crate::text::window::{self, ReadAt, Window, WindowRequest};

/// 64 KiB: small enough to notice an abort soon, large enough to cost nothing.
const CHUNK: u64 = 64 << 10;

/// 4 KiB of room behind the bytes of a whole file, so that most edits grow it in its own buffer.
const ROOM: usize = 4 << 10;

/// Where `path` leads. Asks no guard: what it tells is what rules are judged on.
pub(super) fn resolve(inner: &Inner, path: &VirtualPath) -> Result<Resolution> {
    resolved(inner, path, |right| inner.resolver.reach(path, right))
}

/// [`resolve`], where nobody has to wait for it.
pub(super) fn resolve_at_hand(inner: &Inner, path: &VirtualPath) -> Result<Option<Resolution>> {
    if !inner.near || inner.resolver.table().is_virtual_directory(path) {
        return Ok(None);
    }
    match inner.resolver.reach_at_hand(path, right_to_see(inner, path))? {
        Some(found) => resolved(inner, path, |_| Ok(Reach::Found(found))).map(Some),
        None => Ok(None),
    }
}

/// A derived sandbox may write where it may not read.
fn right_to_see(inner: &Inner, path: &VirtualPath) -> Right {
    let table = inner.resolver.table();
    if !table.can_read(path) && table.can_write(path) { Right::Write } else { Right::Read }
}

fn resolved(inner: &Inner, path: &VirtualPath, reach: impl FnOnce(Right) -> Result<Reach>) -> Result<Resolution> {
    let table = inner.resolver.table();
    if table.is_virtual_directory(path) {
        return Ok(Resolution {
            resolved: path.clone(),
            kind: Some(FileKind::Directory),
            version: None,
            writable: false,
            read_approval: inner.asks_below(path),
            write_approval: false,
        });
    }
    let (resolved, kind, version) = match reach(right_to_see(inner, path))? {
        Reach::Found(Inspected { target: Target::Outside, .. }) => return Err(table.outside(path)),
        Reach::Found(Inspected { facts, path, target: Target::Inside }) => {
            let kind = kind_of(type_of(&facts));
            (path, Some(kind), (kind == FileKind::File).then(|| version_of(&facts)))
        }
        Reach::Found(Inspected { path, target: Target::Missing, .. }) => (path, Some(FileKind::Symlink), None),
        Reach::Missing(path) => (path, None, None),
    };
    let either = |ask: fn(&crate::sandbox::MountTable, &VirtualPath) -> bool| ask(table, path) || ask(table, &resolved);
    Ok(Resolution {
        kind,
        version,
        writable: inner.writable && table.can_write(path) && table.can_write(&resolved),
        read_approval: either(crate::sandbox::MountTable::needs_read_approval)
            || (kind == Some(FileKind::Directory) && inner.asks_below(&resolved)),
        write_approval: either(crate::sandbox::MountTable::needs_write_approval),
        resolved,
    })
}

/// Facts about one entry.
pub(super) fn stat(inner: &Inner, path: &VirtualPath, call: &Call) -> Result<Option<FileInfo>> {
    if inner.resolver.table().is_virtual_directory(path) {
        call.guard.check(Operation::Ls, path)?;
        return Ok(Some(virtual_directory(path)));
    }
    match inner.resolver.reach(path, Right::Read)? {
        Reach::Found(Inspected { facts, path: resolved, .. }) => {
            call.guard.check(Operation::Ls, &resolved)?;
            Ok(Some(info_of(path, &facts)))
        }
        Reach::Missing(_) => Ok(None),
    }
}

/// A window of lines of an open file.
pub(super) fn window_of(
    inner: &Inner,
    file: OpenFile,
    path: &VirtualPath,
    window: Window,
    call: &Call,
) -> Result<FileSlice> {
    let OpenFile { handle, facts, path: resolved } = file;
    window_in(inner, &mut &File::from(handle), &facts, resolved, (path, window), call)
}

/// A window of lines of what `source` holds, which is the file that `facts` describe.
pub(super) fn window_in(
    inner: &Inner,
    source: &mut impl ReadAt,
    facts: &Stat,
    resolved: VirtualPath,
    (path, window): (&VirtualPath, Window),
    call: &Call,
) -> Result<FileSlice> {
    let request = WindowRequest {
        window,
        size: size_of(facts),
        count_lines_bytes: inner.limits.count_lines_bytes,
        path: path.as_str(),
        deadline: &call.deadline,
    };
    let text = window::read(source, &request)?;
    Ok(FileSlice {
        content: text.content,
        offset: window.offset,
        lines: text.lines,
        total_lines: text.total_lines,
        bytes: size_of(facts),
        next_offset: text.next_offset,
        truncated: text.truncated,
        encoding: text.encoding,
        resolved,
        version: version_of(facts),
    })
}

/// Opens a regular file that its mount and the call's guard let be read.
pub(super) fn open(inner: &Inner, path: &VirtualPath, operation: Operation, call: &Call) -> Result<OpenFile> {
    if inner.resolver.table().is_virtual_directory(path) {
        return Err(is_directory(path));
    }
    judged(inner, inner.resolver.open_file(path)?, path, operation, call)
}

/// An open file, if the call's guard and the mount's limit let it be read.
pub(super) fn judged(
    inner: &Inner,
    file: OpenFile,
    path: &VirtualPath,
    operation: Operation,
    call: &Call,
) -> Result<OpenFile> {
    call.guard.check(operation, &file.path)?;
    inner.resolver.table().check_size(path, size_of(&file.facts))?;
    Ok(file)
}

/// All bytes of an open file; a byte more than `max_bytes` is an error, also when the file grows meanwhile (R-FS-4).
pub(super) fn content(file: OpenFile, max_bytes: u64, asked: &VirtualPath, call: &Call) -> Result<FileContent> {
    let OpenFile { handle, facts, path: resolved } = file;
    let size = size_of(&facts);
    if size > max_bytes {
        return Err(file_too_large(asked.as_str(), size, max_bytes));
    }
    let mut source = File::from(handle);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(ROOM));
    loop {
        call.deadline.check()?;
        let read = (&mut source).take(CHUNK).read_to_end(&mut bytes).map_err(|_| unreadable(asked))?;
        if bytes.len() as u64 > max_bytes {
            return Err(file_too_large(asked.as_str(), bytes.len() as u64, max_bytes));
        }
        if (read as u64) < CHUNK {
            return Ok(FileContent { bytes, resolved, version: version_of(&facts) });
        }
    }
}

pub(super) fn unreadable(path: &VirtualPath) -> Error {
    Error::new(ErrorKind::Io, format!("The file system reported an error while '{path}' was read."))
        .with_path(path.as_str())
}
