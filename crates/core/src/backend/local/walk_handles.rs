//! The system calls of a walk: listing, opening and describing entries by the handle of their directory and one name.
//!
//! Nothing here takes a path, follows a link, waits, or opens anything but directories and regular files. Kernel
//! file systems whose files are doors (procfs and its kin) are refused wherever a walk meets one.

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::backend::FileKind;
use crate::search::{EntryKind, Metadata, Obstacle};

/// 128 KiB: lists some 3,000 names with one system call; the C library takes 32 KiB.
const LISTING_BYTES: usize = 128 << 10;

/// Room for the names of one directory, kept from one to the next.
pub(crate) struct ListingBuffer(Vec<MaybeUninit<u8>>);

impl Default for ListingBuffer {
    fn default() -> Self {
        Self(vec![MaybeUninit::uninit(); LISTING_BYTES])
    }
}

/// A directory that can be listed, and the device it lies on.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) fd: OwnedFd,
    pub(crate) device: u64,
}

/// An open regular file.
pub(crate) struct OpenedFile(OwnedFd);

impl io::Read for OpenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        rustix::io::read(&self.0, buffer).map_err(io::Error::from)
    }
}

impl Handle {
    /// Takes a handle that was judged already.
    pub(crate) fn new(fd: OwnedFd) -> Result<Self, Obstacle> {
        let device = fstat(&fd).map_err(obstacle)?.st_dev;
        Ok(Self { fd, device })
    }

    /// Opens the directory `name`.
    pub(crate) fn open_directory(&self, name: &[u8]) -> Result<Self, Obstacle> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, OsStr::from_bytes(name), flags, Mode::empty()).map_err(obstacle)?;
        let opened = Self::new(fd)?;
        self.refuse_system(opened.fd.as_fd(), opened.device)?;
        Ok(opened)
    }

    /// Opens the regular file `name` for reading.
    pub(crate) fn open_file(&self, name: &[u8]) -> Result<(OpenedFile, Metadata), Obstacle> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(&self.fd, OsStr::from_bytes(name), flags, Mode::empty()).map_err(obstacle)?;
        let stat = fstat(&fd).map_err(obstacle)?;
        let metadata = metadata(&stat);
        if metadata.kind != FileKind::File {
            return Err(Obstacle::Unusable);
        }
        self.refuse_system(fd.as_fd(), stat.st_dev)?;
        Ok((OpenedFile(fd), metadata))
    }

    /// Facts about the entry `name` itself.
    pub(crate) fn metadata(&self, name: &[u8]) -> Result<Metadata, Obstacle> {
        let stat = statat(&self.fd, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW).map_err(obstacle)?;
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

    /// Calls `visit` with every name but `.` and `..`.
    pub(crate) fn list(
        &self,
        buffer: &mut ListingBuffer,
        mut visit: impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        #[cfg(target_os = "linux")]
        let mut names = rustix::fs::RawDir::new(&self.fd, &mut buffer.0);
        #[cfg(not(target_os = "linux"))]
        let (mut names, _) = (rustix::fs::Dir::read_from(&self.fd).map_err(obstacle)?, buffer);
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

/// The facts in a `stat` structure.
pub(crate) fn metadata(stat: &Stat) -> Metadata {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            FileKind::Other
        }
    };
    let size = if kind == FileKind::File { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
    let modified_ns =
        stat.st_mtime.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add_unsigned(stat.st_mtime_nsec));
    Metadata { kind, size, modified_ns }
}

fn obstacle(errno: Errno) -> Obstacle {
    match errno {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Obstacle::Exhausted,
        _ => Obstacle::Unusable,
    }
}

/// Whether a handle lies on a kernel file system, whose "files" are doors into the kernel.
#[cfg(target_os = "linux")]
fn is_system(handle: BorrowedFd<'_>) -> Result<bool, Errno> {
    /// From `linux/magic.h`: proc, sysfs, debugfs, tracefs, securityfs, bpf, cgroup, cgroup2.
    const SYSTEM: [u32; 8] =
        [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0xcafe_4a11, 0x0027_e0eb, 0x6367_7270];
    let kind = rustix::fs::fstatfs(handle)?.f_type as u32;
    Ok(SYSTEM.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn is_system(_: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(false)
}
