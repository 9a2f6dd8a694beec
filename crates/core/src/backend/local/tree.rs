//! Names in directories: making directories, removing entries, and walking a subtree before something happens to it.

use super::Inner;
use super::errors::{Explain, busy, exists, explain, is_directory, not_a_directory};
use super::facts::{shown_name, type_of};
use super::lock::lock;
use super::resolve::{Directory, Place, Reach, Right, Target};
use super::system::{AsFd, AtFlags, Dir, Errno, FileType, Mode, OFlags, OwnedFd, mkdirat, openat, statat, unlinkat};
use super::update::look;
use crate::access::Operation;
use crate::backend::Call;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 256 levels: each holds an open directory while a subtree is walked.
const MAX_DEPTH: usize = 256;
/// 16 tries: somebody removes a directory between its making and its opening.
const MAX_SWAPS: usize = 16;
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// The place of `path`, its parents made where they are missing.
pub(super) fn place_with_parents(inner: &Inner, path: &VirtualPath, call: &Call) -> Result<Place> {
    for _ in 0..MAX_SWAPS {
        match inner.resolver.place(path) {
            Err(error) if error.kind() == ErrorKind::FileNotFound => {}
            answer => return answer,
        }
        let Some(parent) = path.parent() else { return Err(is_directory(path)) };
        make_all(inner, &parent, path, call)?;
    }
    Err(busy(path))
}

/// Makes a directory and its parents; whether the directory itself is new.
pub(super) fn make_directory(inner: &Inner, path: &VirtualPath, call: &Call) -> Result<bool> {
    let table = inner.resolver.table();
    if table.is_virtual_directory(path) || table.is_mount_point(path) || table.holds_mount(path) {
        return Ok(false);
    }
    inner.require_writable(path)?;
    if let Reach::Found(found) = inner.resolver.reach(path, Right::Write)? {
        call.guard.check(Operation::Write, &found.path)?;
        return match (type_of(&found.facts), found.target) {
            (FileType::Directory, Target::Inside) => Ok(false),
            (_, Target::Outside) => Err(table.outside(path)),
            (_, Target::Inside | Target::Missing) => Err(exists(path)),
        };
    }
    make_all(inner, path, path, call)
}

/// Makes every missing level of `path`, each opened from the one above without following a link (R-FS-5). Every name
/// made is judged like any other write (R-FS-3).
fn make_all(inner: &Inner, path: &VirtualPath, asked: &VirtualPath, call: &Call) -> Result<bool> {
    let table = inner.resolver.table();
    // The deepest level that is there. Links on the way to it are followed; names below it cannot be links.
    let mut missing: Vec<String> = Vec::new();
    let mut level = path.clone();
    let mut directory = loop {
        match inner.resolver.open_for_names(&level, asked) {
            Ok(directory) => break directory,
            Err(error) if error.kind() == ErrorKind::FileNotFound => {
                let (Some(parent), Some(name)) = (level.parent(), level.file_name()) else { return Err(error) };
                missing.push(name.to_owned());
                level = parent;
            }
            Err(error) => return Err(error),
        }
    };
    let mut created = false;
    while let Some(name) = missing.pop() {
        let child = directory.path.join(&name)?;
        if table.find(&child) != Some(directory.mount) {
            return Err(table.outside(asked));
        }
        table.require_write(&child).map_err(|error| error.with_path(asked.as_str()))?;
        call.guard.check(Operation::Write, &child)?;
        inner.resolver.require_own_spelling(&directory, &name, &child)?;
        created = match mkdirat(&directory.handle, &name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => {
                inner.resolver.require_own_spelling(&directory, &name, &child)?;
                false
            }
            Err(errno) => return Err(explain(errno, asked, table)),
        };
        let handle = match openat(&directory.handle, &name, DIRECTORY, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => return Err(not_a_directory(&child)),
            Err(errno) => return Err(explain(errno, asked, table)),
        };
        directory = Directory { handle, mount: directory.mount, path: child };
    }
    Ok(created)
}

/// Removes the entry at `path` itself, a link not followed; how many entries went.
pub(super) fn remove(inner: &Inner, path: &VirtualPath, recursive: bool, call: &Call) -> Result<u64> {
    let table = inner.resolver.table();
    refuse_mounts(inner, path, "removed")?;
    inner.require_writable(path)?;
    let place = inner.resolver.place(path)?;
    refuse_mounts(inner, &place.path, "removed").map_err(|error| error.with_path(path.as_str()))?;
    call.guard.check(Operation::Delete, &place.path)?;
    let facts = look(inner, &place, path)?.ok_or_else(|| Error::not_found(path).with_path(path.as_str()))?;
    if type_of(&facts) != FileType::Directory {
        let _locked = lock(&place.directory, path, table, call)?;
        unlinkat(&place.directory.handle, &place.name, AtFlags::empty()).explain(path, table)?;
        return Ok(1);
    }
    let mut removed = 0;
    if recursive {
        judge_subtree(inner, &place, call, &|_, child| {
            table.require_write(child)?;
            call.guard.check(Operation::Delete, child)
        })?;
        removed = empty(inner, &place, call)?;
    }
    match unlinkat(&place.directory.handle, &place.name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(removed + 1),
        // Some systems say so for a directory that is not empty.
        Err(Errno::EXIST) => Err(explain(Errno::NOTEMPTY, path, table)),
        Err(errno) => Err(explain(errno, path, table)),
    }
}

/// A mount point, and what lies above one, stays where it is.
pub(super) fn refuse_mounts(inner: &Inner, path: &VirtualPath, what: &str) -> Result<()> {
    let table = inner.resolver.table();
    if table.is_mount_point(path) || table.holds_mount(path) {
        return Err(Error::new(
            ErrorKind::PathNotWritable,
            format!("'{path}' is, or holds, a mount point and cannot be {what}; name something below it."),
        )
        .with_path(path.as_str()));
    }
    Ok(())
}

/// Judges every entry below the directory at `place`, before anything happens to it: `judge` gets its kind and path.
pub(super) fn judge_subtree(
    inner: &Inner,
    place: &Place,
    call: &Call,
    judge: &dyn Fn(&EntryFacts, &VirtualPath) -> Result<()>,
) -> Result<()> {
    descend(inner, place, call, &mut |step| match step {
        Step::Entry { facts, path, .. } => judge(&facts, path),
        Step::Left { .. } => Ok(()),
    })
}

/// Removes all that is below the directory at `place`.
fn empty(inner: &Inner, place: &Place, call: &Call) -> Result<u64> {
    let table = inner.resolver.table();
    let mut removed = 0;
    descend(inner, place, call, &mut |step| {
        let (directory, name, flags, path) = match step {
            Step::Entry { facts: EntryFacts { is_directory: true, .. }, .. } => return Ok(()),
            Step::Entry { directory, name, path, .. } => (directory, name, AtFlags::empty(), path),
            Step::Left { directory, name, path } => (directory, name, AtFlags::REMOVEDIR, path),
        };
        match unlinkat(directory, name, flags) {
            Ok(()) => removed += 1,
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(explain(errno, path, table)),
        }
        Ok(())
    })?;
    Ok(removed)
}

/// What a subtree walk knows about an entry.
pub(super) struct EntryFacts {
    pub(super) is_directory: bool,
    pub(super) is_file: bool,
    pub(super) size: u64,
}

enum Step<'a> {
    /// An entry, before anything below it.
    Entry { directory: &'a OwnedFd, name: &'a [u8], facts: EntryFacts, path: &'a VirtualPath },
    /// A directory, after everything below it.
    Left { directory: &'a OwnedFd, name: &'a [u8], path: &'a VirtualPath },
}

struct Level {
    handle: OwnedFd,
    /// Its name in the level above.
    name: Vec<u8>,
    path: VirtualPath,
    entries: Vec<Vec<u8>>,
}

/// Walks below the directory at `place`, iteratively, never following a link.
fn descend(inner: &Inner, place: &Place, call: &Call, visit: &mut dyn FnMut(Step<'_>) -> Result<()>) -> Result<()> {
    let table = inner.resolver.table();
    let open = |parent: &OwnedFd, name: &[u8], path: &VirtualPath| -> Result<Level> {
        let handle = openat(parent, name, DIRECTORY, Mode::empty()).explain(path, table)?;
        let mut entries = Vec::new();
        for item in Dir::read_from(&handle).explain(path, table)? {
            call.deadline.check()?;
            let item = item.explain(path, table)?;
            let name = item.file_name().to_bytes();
            if name != b"." && name != b".." {
                entries.push(name.to_vec());
            }
        }
        Ok(Level { handle, name: name.to_vec(), path: path.clone(), entries })
    };
    let mut levels = vec![open(&place.directory.handle, place.name.as_bytes(), &place.path)?];
    while let Some(level) = levels.last_mut() {
        call.deadline.check()?;
        let Some(name) = level.entries.pop() else {
            let Some(Level { handle, name, path, .. }) = levels.pop() else { break };
            // Windows removes no directory that somebody holds open.
            drop(handle);
            if let Some(above) = levels.last() {
                visit(Step::Left { directory: &above.handle, name: &name, path: &path })?;
            }
            continue;
        };
        // A name that is not UTF-8 is judged as it is shown.
        let path = level.path.join(&shown_name(&name))?;
        let facts = match statat(level.handle.as_fd(), name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) => facts,
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(explain(errno, &path, table)),
        };
        let kind = type_of(&facts);
        let entry = EntryFacts {
            is_directory: kind == FileType::Directory,
            is_file: kind == FileType::RegularFile,
            size: super::facts::size_of(&facts),
        };
        visit(Step::Entry { directory: &level.handle, name: &name, facts: entry, path: &path })?;
        if kind == FileType::Directory {
            if levels.len() >= MAX_DEPTH {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("'{}' holds directories deeper than {MAX_DEPTH} levels; begin further down.", place.path),
                )
                .with_path(place.path.as_str()));
            }
            let Some(level) = levels.last() else { break };
            let below = open(&level.handle, &name, &path)?;
            levels.push(below);
        }
    }
    Ok(())
}
