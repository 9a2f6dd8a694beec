//! Replacing a file: read, transform, write beside it, rename over it (R-FS-6).
//!
//! A reader sees the old or the new bytes, and so does whoever looks after a crash. Permission bits are kept, set-id
//! bits are not; the owner is kept where this process may. The new file is another inode: a hard link elsewhere keeps
//! the old bytes, so that nothing outside changes (D38). A link inside the mount is kept and its target replaced. A
//! file without any write bit, or one that this process may not write, is refused, although a rename could replace it.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use super::Inner;
use super::errors::{Explain, busy, explain, is_directory, not_a_file, stale};
use super::facts::{size_of, type_of, version_of};
use super::lock::{lock, lock_at_once};
use super::options::Durability;
use super::read::content;
use super::resolve::{Directory, OpenFile, Place, same_file};
use super::system::{
    self, AsFd, AtFlags, Errno, FileType, Mode, OFlags, Stat, fstat, openat, rename_to_free, renameat, stat_file,
    statat, sync_directory, unlinkat,
};
use super::tree;
use crate::access::Operation;
use crate::backend::temp;
use crate::backend::{Call, FileContent, Missing, Transform, Updated};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::{MountTable, file_too_large};

/// 8 tries: a link that somebody keeps swapping while it is written through.
pub(super) const MAX_SWAPS: usize = 8;
/// 1 MiB between two looks at the deadline.
const CHUNK: usize = 1 << 20;
/// 64 KiB: a file that is read, edited and written in a fraction of a millisecond.
const SHORT_BYTES: u64 = 64 << 10;
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const OLD: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// How an update went that must not wait.
pub(super) enum Attempt {
    /// It is made.
    Made(Updated),
    /// Nothing was changed, because it would have taken longer. The transform did not run.
    Later(Transform),
}

impl Attempt {
    /// What a patient update made.
    pub(super) fn made(self, path: &VirtualPath) -> Result<Updated> {
        match self {
            Self::Made(updated) => Ok(updated),
            Self::Later(_) => Err(busy(path)),
        }
    }
}

/// Whether an update may take as long as it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// It may wait for others, until its deadline. Never [`Attempt::Later`].
    Patient,
    /// It waits for nobody, and gives up on what is large.
    AtOnce,
}

/// Reads, transforms and replaces the file at `path`.
pub(super) fn update(
    inner: &Inner,
    path: &VirtualPath,
    operation: Operation,
    missing: Missing,
    transform: Transform,
    call: &Call,
    pace: Pace,
) -> Result<Attempt> {
    let table = inner.resolver.table();
    inner.require_writable(path)?;
    if operation == Operation::Edit {
        table.require_read(path)?;
    }
    table.check_suffix(path)?;
    let mut place = match missing {
        Missing::Create => tree::place_with_parents(inner, path, call)?,
        Missing::Refuse => inner.resolver.place(path)?,
    };
    for _ in 0..MAX_SWAPS {
        call.guard.check(operation, &place.path)?;
        {
            let locked = match pace {
                Pace::Patient => lock(&place.directory, path, table, call)?,
                Pace::AtOnce => match lock_at_once(&place.directory, path, table)? {
                    Some(locked) => locked,
                    None => return Ok(Attempt::Later(transform)),
                },
            };
            let old = look(inner, &place, path)?;
            let is_long =
                || old.as_ref().is_some_and(|facts| size_of(facts) > SHORT_BYTES) || !inner.cleaned.is_done(&locked);
            if pace == Pace::AtOnce && is_long() {
                return Ok(Attempt::Later(transform));
            }
            if !old.as_ref().is_some_and(|facts| type_of(facts) == FileType::Symlink) {
                inner.cleaned.before_writing(&place.directory, &locked);
                return replace(inner, &place, old, path, missing, transform, call).map(Attempt::Made);
            }
        }
        place = inner.resolver.place_of_target(path)?;
        table.check_suffix(&place.path).map_err(|error| error.with_path(path.as_str()))?;
    }
    Err(busy(path))
}

/// Adds bytes at the end of the file at `path`.
pub(super) fn append(inner: &Inner, path: &VirtualPath, added: Vec<u8>, call: &Call) -> Result<Updated> {
    let transform: Transform = Box::new(move |old| match old {
        None => Ok(added),
        Some(mut old) => {
            old.bytes.extend_from_slice(&added);
            Ok(old.bytes)
        }
    });
    update(inner, path, Operation::Write, Missing::Create, transform, call, Pace::Patient)?.made(path)
}

/// What has the name of `place`, not followed.
pub(super) fn look(inner: &Inner, place: &Place, asked: &VirtualPath) -> Result<Option<Stat>> {
    inner.resolver.require_own_spelling(&place.directory, &place.name, asked)?;
    match statat(&place.directory.handle, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) => Ok(Some(facts)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(explain(errno, asked, inner.resolver.table())),
    }
}

/// The rest of an update, under the lock of the directory.
fn replace(
    inner: &Inner,
    place: &Place,
    old: Option<Stat>,
    asked: &VirtualPath,
    missing: Missing,
    transform: Transform,
    call: &Call,
) -> Result<Updated> {
    let table = inner.resolver.table();
    let limit = inner.largest(&place.path);
    if table.holds_mount(&place.path) {
        return Err(is_directory(asked));
    }
    let before = match (old, missing) {
        (None, Missing::Refuse) => return Err(Error::not_found(asked).with_path(asked.as_str())),
        (None, Missing::Create) => None,
        (Some(facts), Missing::Refuse | Missing::Create) => Some(read_old(place, &facts, limit, asked, table, call)?),
    };
    let (before, content) = match before {
        Some((content, facts)) => (Some((content.version, facts)), Some(content)),
        None => (None, None),
    };
    let bytes = transform(content)?;
    if bytes.len() as u64 > limit {
        return Err(file_too_large(asked.as_str(), bytes.len() as u64, limit));
    }
    let mut new = NewFile::create(&place.directory, before.as_ref().map(|(_, facts)| facts), asked, table)?;
    new.write(&bytes, call)?;
    new.settle(inner.durability)?;
    let facts = match &before {
        Some((version, _)) => {
            let now = look(inner, place, asked)?;
            if now.as_ref().map(version_of) != Some(*version) {
                return Err(stale(asked));
            }
            new.replace(&place.name)?
        }
        None => new.name(&place.name, stale)?,
    };
    if inner.durability == Durability::Full {
        sync_directory(&place.directory.handle).explain(asked, table)?;
    }
    Ok(Updated {
        created: before.is_none(),
        size: size_of(&facts),
        resolved: place.path.clone(),
        version: version_of(&facts),
    })
}

/// The old content, when it is a regular file that may be written.
fn read_old(
    place: &Place,
    facts: &Stat,
    limit: u64,
    asked: &VirtualPath,
    table: &MountTable,
    call: &Call,
) -> Result<(FileContent, Stat)> {
    require_replaceable(place, facts, asked)?;
    let handle = openat(&place.directory.handle, &place.name, OLD, Mode::empty()).explain(asked, table)?;
    let opened = fstat(&handle).explain(asked, table)?;
    if !same_file(&opened, facts) || type_of(&opened) != FileType::RegularFile {
        return Err(stale(asked));
    }
    let content = content(OpenFile { handle, facts: opened, path: place.path.clone() }, limit, asked, call)?;
    Ok((content, opened))
}

/// An error unless it is a regular file that may be written.
pub(super) fn require_replaceable(place: &Place, facts: &Stat, asked: &VirtualPath) -> Result<()> {
    match type_of(facts) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(is_directory(asked)),
        _ => return Err(not_a_file(asked)),
    }
    if system::is_write_protected(&place.directory.handle, &place.name, facts) {
        return Err(write_protected(asked));
    }
    Ok(())
}

fn write_protected(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::PathNotWritable,
        format!("'{path}' is write-protected by its permission bits; they must be changed before it can be written."),
    )
    .with_path(path.as_str())
}

/// A file that is being written under a temporary name. Dropping it before it got its name removes it.
pub(super) struct NewFile<'a> {
    directory: &'a Directory,
    temporary: Option<String>,
    file: Arc<File>,
    asked: &'a VirtualPath,
    table: &'a MountTable,
}

/// A [`NewFile`] between two pieces of a stream, of which somebody else knows the place. Dropping it leaves the file.
pub(super) struct Unnamed {
    temporary: String,
    file: Arc<File>,
}

impl Unnamed {
    /// The file again, in the directory where it was made.
    pub(super) fn of<'a>(self, directory: &'a Directory, asked: &'a VirtualPath, table: &'a MountTable) -> NewFile<'a> {
        NewFile { directory, temporary: Some(self.temporary), file: self.file, asked, table }
    }
}

impl<'a> NewFile<'a> {
    /// An empty file in `directory`. It will have the permission bits (but not set-id) and, where possible, the owner
    /// of `like`; without it, those of any new file.
    pub(super) fn create(
        directory: &'a Directory,
        like: Option<&Stat>,
        asked: &'a VirtualPath,
        table: &'a MountTable,
    ) -> Result<Self> {
        let temporary = temp::name();
        // The bits of a new file are left to the kernel, which knows the umask.
        let mode = if like.is_some() { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(0o666) };
        let handle = openat(&directory.handle, &temporary, NEW, mode).explain(asked, table)?;
        let new = Self { directory, temporary: Some(temporary), file: Arc::new(File::from(handle)), asked, table };
        if let Some(like) = like {
            new.resemble(like)?;
        }
        Ok(new)
    }

    /// Gives the file the permission bits (but not set-id) and, where possible, the owner of `like`.
    pub(super) fn resemble(&self, like: &Stat) -> Result<()> {
        system::resemble(&self.file, like).explain(self.asked, self.table)
    }

    /// Writes all of `bytes`.
    pub(super) fn write(&mut self, bytes: &[u8], call: &Call) -> Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            call.deadline.check()?;
            (&*self.file).write_all(chunk).map_err(|error| self.unwritten(&error))?;
        }
        Ok(())
    }

    /// The open file, for a copy.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The file without its place; nothing when it has its name.
    pub(super) fn unnamed(mut self) -> Option<Unnamed> {
        Some(Unnamed { temporary: self.temporary.take()?, file: Arc::clone(&self.file) })
    }

    pub(super) fn unwritten(&self, error: &std::io::Error) -> Error {
        explain(system::errno_of(error), self.asked, self.table)
    }

    /// Gives the file the time at which `like` was changed last.
    pub(super) fn keep_time_of(&self, like: &Stat) -> Result<()> {
        system::keep_time_of(&self.file, like).explain(self.asked, self.table)
    }

    /// Brings the bytes to the disk as `durability` asks.
    pub(super) fn settle(&self, durability: Durability) -> Result<()> {
        match durability {
            Durability::None => Ok(()),
            Durability::Data | Durability::Full => system::sync_content(&self.file).explain(self.asked, self.table),
        }
    }

    /// Takes `name` from the file that has it.
    pub(super) fn replace(mut self, name: &str) -> Result<Stat> {
        let Some(temporary) = &self.temporary else { return Err(Error::internal("A new file lost its name.")) };
        let directory = self.directory.handle.as_fd();
        renameat(directory, temporary, directory, name).explain(self.asked, self.table)?;
        self.temporary = None;
        stat_file(&self.file).explain(self.asked, self.table)
    }

    /// Takes `name`, which nothing may have: `taken` is the error when something does.
    pub(super) fn name(mut self, name: &str, taken: fn(&VirtualPath) -> Error) -> Result<Stat> {
        let Some(temporary) = &self.temporary else { return Err(Error::internal("A new file lost its name.")) };
        let directory = self.directory.handle.as_fd();
        match rename_to_free(directory, temporary, directory, name) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(taken(self.asked)),
            Err(errno) => return Err(explain(errno, self.asked, self.table)),
        }
        self.temporary = None;
        stat_file(&self.file).explain(self.asked, self.table)
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // What is left is hidden, and removed by the next write in this directory.
            let _ = unlinkat(&self.directory.handle, temporary, AtFlags::empty());
        }
    }
}
