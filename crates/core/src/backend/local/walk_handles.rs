//! The system calls of a walk: listing, opening and describing entries by the handle of their directory and one name.
//!
//! Nothing here takes a path, follows a link, waits, or opens anything but directories and regular files. Kernel
//! file systems whose files are doors (procfs and its kin) are refused wherever a walk meets one.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use super::debris;
use super::facts::{identity, kind_of, size_of, type_of, version_of};
use super::listings::{Listings, Record, State, visit_all};
use super::system::{
    AsFd, AtFlags, BorrowedFd, Errno, FileType, Mode, OFlags, OwnedFd, Stat, fstat, is_system, openat, statat,
    tells_changes,
};
use crate::backend::FileKind;
use crate::search::{EntryKind, Metadata, Obstacle};

/// 128 KiB: lists some 3,000 names with one system call; the C library takes 32 KiB.
const LISTING_BYTES: usize = 128 << 10;

/// Room for the names of one directory, kept from one to the next.
pub(super) struct ListingBuffer {
    listed: Vec<MaybeUninit<u8>>,
    record: Record,
}

impl Default for ListingBuffer {
    fn default() -> Self {
        Self { listed: vec![MaybeUninit::uninit(); LISTING_BYTES], record: Record::default() }
    }
}

/// A directory that can be listed.
#[derive(Debug)]
pub(super) struct Handle {
    fd: OwnedFd,
    /// The device it lies on, whose file system was judged.
    device: u64,
    /// How it was when it was opened, where that file system tells each change.
    state: Option<State>,
    /// Whether device nodes may lie here, so that nothing is opened before its kind is known (R-FS-4).
    may_hold_devices: bool,
}

/// An open regular file.
pub(super) struct OpenedFile(File);

impl OpenedFile {
    /// Takes a handle that was judged already.
    pub(super) fn new(handle: OwnedFd) -> Self {
        Self(handle.into())
    }
}

impl io::Read for OpenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Handle {
    /// Takes a handle that was judged already.
    pub(super) fn new(fd: OwnedFd, may_hold_devices: bool) -> Result<Self, Obstacle> {
        let facts = fstat(&fd).map_err(obstacle)?;
        let state = tells_changes(fd.as_fd()).then(|| State::of(&facts));
        Ok(Self { fd, device: identity(&facts).0, state, may_hold_devices })
    }

    /// Opens the directory `name`.
    pub(super) fn open_directory(&self, name: &[u8]) -> Result<Self, Obstacle> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty()).map_err(obstacle)?;
        let facts = fstat(&fd).map_err(obstacle)?;
        let device = identity(&facts).0;
        if device != self.device {
            self.refuse_system(fd.as_fd(), device)?;
            return Self::new(fd, self.may_hold_devices);
        }
        let state = self.state.map(|_| State::of(&facts));
        Ok(Self { fd, device, state, may_hold_devices: self.may_hold_devices })
    }

    /// Opens the regular file `name` for reading.
    pub(super) fn open_file(&self, name: &[u8]) -> Result<(OpenedFile, Metadata), Obstacle> {
        if self.may_hold_devices && self.metadata(name)?.kind != FileKind::File {
            return Err(Obstacle::Unusable);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty()).map_err(obstacle)?;
        let stat = fstat(&fd).map_err(obstacle)?;
        let metadata = metadata(&stat);
        if metadata.kind != FileKind::File {
            return Err(Obstacle::Unusable);
        }
        self.refuse_system(fd.as_fd(), identity(&stat).0)?;
        Ok((OpenedFile::new(fd), metadata))
    }

    /// Removes what killed writers left.
    pub(super) fn clean(&self) {
        debris::clean(&self.fd);
    }

    /// Facts about the entry `name` itself.
    pub(super) fn metadata(&self, name: &[u8]) -> Result<Metadata, Obstacle> {
        let stat = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).map_err(obstacle)?;
        Ok(metadata(&stat))
    }

    /// Refuses what lies on a kernel file system. Only a change of device can lead onto one.
    fn refuse_system(&self, fd: BorrowedFd<'_>, device: u64) -> Result<(), Obstacle> {
        if device == self.device {
            return Ok(());
        }
        match is_system(fd) {
            Ok(false) => Ok(()),
            Ok(true) => Err(Obstacle::Unusable),
            Err(errno) => Err(obstacle(errno)),
        }
    }

    /// Calls `visit` with every name but `.` and `..`, from `listings` where nothing changed.
    pub(super) fn list(
        &self,
        listings: &Listings,
        buffer: &mut ListingBuffer,
        mut visit: impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        let Some(state) = self.state else { return self.read_names(&mut buffer.listed, &mut visit) };
        if let Some(names) = listings.get(state) {
            visit_all(&names, visit);
            return Ok(());
        }
        let ListingBuffer { listed, record } = buffer;
        listings.take_down(state, record);
        let mut is_whole = true;
        self.read_names(listed, &mut |name, kind| {
            record.add(name, kind);
            let flow = visit(name, kind);
            is_whole &= flow.is_continue();
            flow
        })?;
        if is_whole {
            listings.keep(state, record);
        }
        Ok(())
    }

    /// Asks the system for the names.
    fn read_names(
        &self,
        listed: &mut [MaybeUninit<u8>],
        visit: &mut impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        #[cfg(all(target_os = "linux", not(feature = "portable")))]
        let mut names = rustix::fs::RawDir::new(&self.fd, listed);
        #[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
        let (mut names, _) = (super::system::Dir::read_from(&self.fd).map_err(obstacle)?, listed);
        while let Some(entry) = names.next() {
            let entry = entry.map_err(obstacle)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if visit(name, kind(entry.file_type())).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        FileType::Unknown => EntryKind::Unknown,
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice => EntryKind::Other,
    }
}

/// What the system says about an entry, in the terms of a search.
pub(super) fn metadata(facts: &Stat) -> Metadata {
    let kind = kind_of(type_of(facts));
    let size = if kind == FileKind::File { size_of(facts) } else { 0 };
    Metadata { kind, size, modified_ns: i64::try_from(version_of(facts).modified_ns).ok() }
}

fn obstacle(errno: Errno) -> Obstacle {
    match errno {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Obstacle::Exhausted,
        _ => Obstacle::Unusable,
    }
}

#[cfg(all(test, unix, not(feature = "portable")))]
mod tests {
    use rustix::fs::{CWD, mknodat};

    use super::*;

    /// A listing may say that a name is a file, and it be something else when it is opened.
    #[test]
    fn what_is_no_regular_file_when_it_is_open_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "four").unwrap();
        std::fs::create_dir(folder.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("file", folder.path().join("link")).unwrap();
        mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for may_hold_devices in [false, true] {
            let fd = openat(CWD, folder.path(), flags, Mode::empty()).unwrap();
            let handle = Handle::new(fd, may_hold_devices).unwrap();
            assert_eq!(handle.open_file(b"file").unwrap().1.size, 4);
            for name in ["directory", "link", "pipe", "missing"] {
                assert_eq!(handle.open_file(name.as_bytes()).err(), Some(Obstacle::Unusable), "{name}");
            }
        }
    }
}
