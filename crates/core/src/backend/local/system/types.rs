//! The words that the calls of [`super::portable`] speak: what `rustix` calls the same on Unix, as far as it is used.

#![allow(dead_code, reason = "each system uses some of these words")]

use std::io;
use std::ops::BitOr;

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(&'static str);

macro_rules! errnos {
    ($($name:ident),* $(,)?) => {
        impl Errno {
            $(pub(crate) const $name: Self = Self(stringify!($name));)*
        }

        #[cfg(unix)]
        impl From<rustix::io::Errno> for Errno {
            fn from(errno: rustix::io::Errno) -> Self {
                match errno {
                    $(rustix::io::Errno::$name => Self::$name,)*
                    _ => Self::IO,
                }
            }
        }
    };
}

errnos!(
    ACCESS,
    AGAIN,
    ALREADY,
    BADF,
    BUSY,
    DQUOT,
    EXIST,
    ILSEQ,
    INTR,
    INVAL,
    IO,
    ISDIR,
    LOOP,
    MFILE,
    MLINK,
    NAMETOOLONG,
    NFILE,
    NODEV,
    NOENT,
    NOLCK,
    NOMEM,
    NOSPC,
    NOSYS,
    NOTDIR,
    NOTEMPTY,
    NXIO,
    OPNOTSUPP,
    PERM,
    ROFS,
    TXTBSY,
    XDEV,
);

impl Errno {
    pub(crate) const WOULDBLOCK: Self = Self::AGAIN;

    /// What an error of the standard library says.
    pub(crate) fn of(error: &io::Error) -> Self {
        #[cfg(unix)]
        if let Some(errno) = rustix::io::Errno::from_io_error(error) {
            return errno.into();
        }
        #[cfg(windows)]
        match error.raw_os_error() {
            // ERROR_TOO_MANY_OPEN_FILES.
            Some(4) => return Self::MFILE,
            // ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION.
            Some(32 | 33) => return Self::BUSY,
            // ERROR_STOPPED_ON_SYMLINK, ERROR_TOO_MANY_LINKS, ERROR_CANT_RESOLVE_FILENAME.
            Some(681 | 1142 | 1921) => return Self::LOOP,
            _ => {}
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::NOENT,
            io::ErrorKind::PermissionDenied => Self::ACCESS,
            io::ErrorKind::AlreadyExists => Self::EXIST,
            io::ErrorKind::NotADirectory => Self::NOTDIR,
            io::ErrorKind::IsADirectory => Self::ISDIR,
            io::ErrorKind::DirectoryNotEmpty => Self::NOTEMPTY,
            io::ErrorKind::ReadOnlyFilesystem => Self::ROFS,
            io::ErrorKind::StorageFull => Self::NOSPC,
            io::ErrorKind::QuotaExceeded => Self::DQUOT,
            io::ErrorKind::ResourceBusy => Self::BUSY,
            io::ErrorKind::CrossesDevices => Self::XDEV,
            io::ErrorKind::InvalidFilename => Self::NAMETOOLONG,
            io::ErrorKind::OutOfMemory => Self::NOMEM,
            io::ErrorKind::Interrupted => Self::INTR,
            io::ErrorKind::WouldBlock => Self::AGAIN,
            io::ErrorKind::InvalidInput => Self::INVAL,
            io::ErrorKind::Unsupported => Self::OPNOTSUPP,
            _ => Self::IO,
        }
    }
}

/// A set of bits.
macro_rules! bits {
    ($(#[$doc:meta])* $type:ident { $($name:ident = $value:expr),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $type(u32);

        impl $type {
            $(pub(crate) const $name: Self = Self($value);)*

            pub(crate) const fn empty() -> Self {
                Self(0)
            }

            pub(crate) const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }

        impl BitOr for $type {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}

bits!(
    /// How something is opened. What cannot be said here is always so: no handle is inherited, none becomes a terminal.
    OFlags { RDONLY = 0, WRONLY = 1, CREATE = 2, EXCL = 4, NOFOLLOW = 8, DIRECTORY = 16, NONBLOCK = 0, NOCTTY = 0, CLOEXEC = 0 }
);

impl OFlags {
    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

bits!(
    /// What a name in a directory is meant as.
    AtFlags { SYMLINK_NOFOLLOW = 1, REMOVEDIR = 2 }
);

bits!(
    /// Permission bits of a new entry.
    Mode { RUSR = 0o400, WUSR = 0o200 }
);

impl Mode {
    pub(crate) const fn from_raw_mode(mode: u32) -> Self {
        Self(mode)
    }
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileType {
    RegularFile,
    Directory,
    Symlink,
    Fifo,
    Socket,
    CharacterDevice,
    BlockDevice,
    Unknown,
}

/// Facts about an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    pub(crate) st_dev: u64,
    pub(crate) st_ino: u64,
    pub(crate) st_size: i64,
    pub(crate) st_mtime: i64,
    pub(crate) st_mtime_nsec: u32,
    pub(crate) st_ctime: i64,
    pub(crate) st_ctime_nsec: u32,
    /// Permission bits; on Windows those that say the same as the read-only attribute.
    pub(crate) st_mode: u32,
    pub(crate) kind: FileType,
}
