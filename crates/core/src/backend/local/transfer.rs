//! Moving and copying. The target is a name that nothing has: neither ever replaces or follows what lies there.

use std::fs::File;
use std::io::Read;

use super::Inner;
use super::errors::{Explain, exists, explain};
use super::facts::{size_of, type_of};
use super::lock::{lock, lock_both};
use super::options::Durability;
use super::read::open;
use super::resolve::{OpenFile, Place, same_file};
use super::system::{AtFlags, Errno, FileType, Stat, rename_to_free, statat, sync_directory, unlinkat};
use super::tree::{judge_subtree, place_with_parents, refuse_mounts};
use super::update::{NewFile, look};
use crate::access::{Operation, check_move};
use crate::backend::Call;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::file_too_large;

/// 8 MiB between two looks at the deadline; the kernel copies them without us.
const CHUNK: u64 = 8 << 20;

/// Moves a file, link or directory. Within a mount it is one rename; between mounts only regular files move, by a copy
/// and a removal where they lie on different file systems.
pub(super) fn rename(inner: &Inner, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<()> {
    let table = inner.resolver.table();
    refuse_mounts(inner, from, "moved")?;
    inner.require_writable(from)?;
    inner.require_writable(to)?;
    let source = inner.resolver.place(from)?;
    refuse_mounts(inner, &source.path, "moved").map_err(|error| error.with_path(from.as_str()))?;
    let facts = look(inner, &source, from)?.ok_or_else(|| Error::not_found(from).with_path(from.as_str()))?;
    call.guard.check(Operation::Delete, &source.path)?;
    judge_moved(inner, &source, &facts, from, to, call)?;
    if to.is_within(from) || table.holds_mount(to) || table.is_mount_point(to) {
        return Err(impossible(from, to, if to == from { "they are the same" } else { "it would lie within itself" }));
    }
    let target = place_with_parents(inner, to, call)?;
    check_move(&*call.guard, &source.path, &target.path)?;
    if target.path != *to {
        judge_moved(inner, &source, &facts, from, &target.path, call)?;
    }
    let _locked = lock_both(&source.directory, &target.directory, to, table, call)?;
    if let Some(there) = look(inner, &target, to)? {
        // POSIX says yes to this and does nothing.
        return Err(if same_file(&there, &facts) { same(from, to) } else { exists(to) });
    }
    let kind = type_of(&facts);
    if source.directory.mount != target.directory.mount && kind != FileType::RegularFile {
        return Err(only_files(from));
    }
    match rename_to_free(&source.directory.handle, &source.name, &target.directory.handle, &target.name) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(exists(to)),
        Err(Errno::INVAL) => return Err(impossible(from, to, "it would lie within itself")),
        Err(Errno::XDEV) if kind == FileType::RegularFile => move_by_copy(inner, &source, &target, from, to, call)?,
        Err(Errno::XDEV) => return Err(only_files(from)),
        Err(errno) => return Err(explain(errno, from, table)),
    }
    if inner.durability == Durability::Full {
        sync_directory(&target.directory.handle).explain(to, table)?;
        sync_directory(&source.directory.handle).explain(from, table)?;
    }
    Ok(())
}

/// Suffixes and sizes on both sides (D40), and for a directory the same of all that moves with it.
fn judge_moved(
    inner: &Inner,
    source: &Place,
    facts: &Stat,
    from: &VirtualPath,
    to: &VirtualPath,
    call: &Call,
) -> Result<()> {
    let table = inner.resolver.table();
    if type_of(facts) != FileType::Directory {
        table.check_suffix(from)?;
        table.check_suffix(to)?;
        return table.check_size(to, size_of(facts));
    }
    judge_subtree(inner, source, call, &|entry, path| {
        let below = path.relative_to(&source.path).unwrap_or("");
        let target = VirtualPath::parse(below, to)?;
        check_move(&*call.guard, path, &target)?;
        table.require_write(path)?;
        table.require_write(&target)?;
        if entry.is_file {
            table.check_suffix(path)?;
            table.check_suffix(&target)?;
            table.check_size(&target, entry.size)?;
        }
        Ok(())
    })
}

/// Copies one regular file, with its permission bits and the time of its last change; how many bytes.
pub(super) fn copy(inner: &Inner, from: &VirtualPath, to: &VirtualPath, call: &Call) -> Result<u64> {
    let table = inner.resolver.table();
    inner.require_writable(to)?;
    let source = open(inner, from, Operation::Read, call)?;
    table.check_suffix(to)?;
    let target = place_with_parents(inner, to, call)?;
    call.guard.check(Operation::Write, &target.path)?;
    table.check_suffix(&target.path).map_err(|error| error.with_path(to.as_str()))?;
    let _locked = lock(&target.directory, to, table, call)?;
    if let Some(there) = look(inner, &target, to)? {
        return Err(if same_file(&there, &source.facts) { same(from, to) } else { exists(to) });
    }
    let copied = copy_bytes(inner, source, &target, to, call)?;
    if inner.durability == Durability::Full {
        sync_directory(&target.directory.handle).explain(to, table)?;
    }
    Ok(copied)
}

fn copy_bytes(inner: &Inner, source: OpenFile, target: &Place, to: &VirtualPath, call: &Call) -> Result<u64> {
    let table = inner.resolver.table();
    let limit = table.max_file_bytes(&target.path).unwrap_or(u64::MAX);
    let size = size_of(&source.facts);
    if size > limit {
        return Err(file_too_large(to.as_str(), size, limit));
    }
    let source_facts = source.facts;
    let new = NewFile::create(&target.directory, Some(&source_facts), to, table)?;
    let mut reader = File::from(source.handle);
    let mut copied = 0;
    loop {
        call.deadline.check()?;
        let chunk =
            std::io::copy(&mut (&mut reader).take(CHUNK), &mut new.file()).map_err(|error| new.unwritten(&error))?;
        copied += chunk;
        if copied > limit {
            return Err(file_too_large(to.as_str(), copied, limit));
        }
        if chunk < CHUNK {
            break;
        }
    }
    new.keep_time_of(&source_facts)?;
    new.settle(inner.durability)?;
    new.name(&target.name, exists)?;
    Ok(copied)
}

fn move_by_copy(
    inner: &Inner,
    source: &Place,
    target: &Place,
    from: &VirtualPath,
    to: &VirtualPath,
    call: &Call,
) -> Result<()> {
    let table = inner.resolver.table();
    let file = inner.resolver.open_child_file(&source.directory, &source.name)?;
    let opened = file.facts;
    copy_bytes(inner, file, target, to, call)?;
    // The name is given up only while it still means what was copied.
    let now = statat(&source.directory.handle, &source.name, AtFlags::SYMLINK_NOFOLLOW).explain(from, table)?;
    if !same_file(&now, &opened) {
        return Err(super::errors::stale(from));
    }
    unlinkat(&source.directory.handle, &source.name, AtFlags::empty()).explain(from, table)
}

fn same(from: &VirtualPath, to: &VirtualPath) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("'{from}' and '{to}' are the same file; choose another name."))
        .with_path(to.as_str())
}

fn impossible(from: &VirtualPath, to: &VirtualPath, reason: &str) -> Error {
    Error::invalid(format!("'{from}' cannot be moved to '{to}': {reason}.")).with_path(to.as_str())
}

fn only_files(from: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("'{from}' is not a regular file, and only regular files move between mounts; make the directory there and move its files."),
    )
    .with_path(from.as_str())
}
