//! The calls over `cap-std`, for systems without them.
//!
//! Weaker than the kernel's own, as `SECURITY.md` says: a rename to a free name is a look and a rename, and on Windows
//! directories cannot be locked against other processes. While a directory is open there, nobody can rename or remove it:
//! that is what holds the walls in place of `openat`.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Metadata, OpenOptions, ReadDir};

use super::types::{AtFlags, Errno, FileType, Mode, OFlags, Stat};

/// An open directory or file.
#[derive(Debug)]
pub(crate) enum OwnedFd {
    Directory(cap_std::fs::Dir),
    File(cap_std::fs::File),
}

/// A borrowed handle.
pub(crate) type BorrowedFd<'a> = &'a OwnedFd;

/// What holds a handle.
pub(crate) trait AsFd {
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self
    }
}

impl<T: AsFd> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (*self).as_fd()
    }
}

impl OwnedFd {
    fn directory(&self) -> Result<&cap_std::fs::Dir, Errno> {
        match self {
            Self::Directory(directory) => Ok(directory),
            Self::File(_) => Err(Errno::NOTDIR),
        }
    }
}

impl From<OwnedFd> for File {
    fn from(handle: OwnedFd) -> Self {
        match handle {
            OwnedFd::Directory(directory) => directory.into_std_file(),
            OwnedFd::File(file) => file.into_std(),
        }
    }
}

/// A handle as the standard library has it, for a child process.
#[cfg(unix)]
pub(crate) fn into_std(handle: OwnedFd) -> std::os::fd::OwnedFd {
    File::from(handle).into()
}

#[cfg(unix)]
impl std::os::fd::AsFd for OwnedFd {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            Self::Directory(directory) => std::os::fd::AsFd::as_fd(directory),
            Self::File(file) => std::os::fd::AsFd::as_fd(file),
        }
    }
}

/// One name in a directory. `INVAL` for what could be read as more than a name.
pub(crate) trait Name {
    fn bytes(&self) -> &[u8];
}

impl Name for str {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Name for String {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Name for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Name for CStr {
    fn bytes(&self) -> &[u8] {
        self.to_bytes()
    }
}

fn single<N: Name + ?Sized>(name: &N) -> Result<Cow<'_, OsStr>, Errno> {
    let bytes = name.bytes();
    if bytes.is_empty() || bytes == b".." || bytes.contains(&b'/') || (cfg!(windows) && bytes.contains(&b'\\')) {
        return Err(Errno::INVAL);
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Ok(Cow::Borrowed(OsStr::from_bytes(bytes)))
    }
    #[cfg(windows)]
    {
        let text = std::str::from_utf8(bytes).map_err(|_| Errno::ILSEQ)?;
        // What Windows would take for a device, a stream or another name never gets to it.
        if !crate::backend::local::windows_names::is_ordinary(text) && text != "." {
            return Err(Errno::NOENT);
        }
        Ok(Cow::Borrowed(OsStr::new(text)))
    }
}

fn errno<T>(answer: std::io::Result<T>) -> Result<T, Errno> {
    answer.map_err(|error| Errno::of(&error))
}

/// Opens the directory that the author of a mount named: the one call that takes a path of the host.
pub(crate) fn open_root(host: &Path, _: OFlags) -> Result<OwnedFd, Errno> {
    errno(cap_std::fs::Dir::open_ambient_dir(host, ambient_authority())).map(OwnedFd::Directory)
}

/// Opens `name`; `.` is the directory itself.
pub(crate) fn openat<N: Name + ?Sized>(from: impl AsFd, name: &N, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let directory = from.as_fd().directory()?;
    let name = single(name)?;
    let name: &OsStr = &name;
    if flags.contains(OFlags::CREATE) {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        with_mode(&mut options, mode);
        return errno(directory.open_with(name, &options)).map(OwnedFd::File);
    }
    if name == "." {
        return errno(directory.open_dir(name)).map(OwnedFd::Directory);
    }
    // The look gives the reason; the opening itself follows no link, whatever was put there meanwhile.
    let seen = kind(&errno(directory.symlink_metadata(name))?);
    match (seen, flags.contains(OFlags::DIRECTORY)) {
        (FileType::Symlink, _) => Err(Errno::LOOP),
        (FileType::Directory, true) => errno(directory.open_dir_nofollow(name)).map(OwnedFd::Directory),
        (_, true) => Err(Errno::NOTDIR),
        (FileType::Directory, false) => Err(Errno::ISDIR),
        (FileType::RegularFile, false) => {
            let mut options = OpenOptions::new();
            options.read(true).follow(FollowSymlinks::No);
            without_waiting(&mut options);
            errno(directory.open_with(name, &options)).map(OwnedFd::File)
        }
        (_, false) => Err(Errno::NXIO),
    }
}

#[cfg(unix)]
fn with_mode(options: &mut OpenOptions, mode: Mode) {
    use cap_std::fs::OpenOptionsExt;

    let bits = [(Mode::RUSR, 0o400), (Mode::WUSR, 0o200)].iter().filter(|(bit, _)| mode.contains(*bit));
    let own: u32 = bits.map(|(_, bit)| bit).sum();
    options.mode(if own == 0o600 && !mode.contains(Mode::from_raw_mode(0o060)) { own } else { 0o666 });
}

#[cfg(windows)]
fn with_mode(_: &mut OpenOptions, _: Mode) {}

/// A FIFO that takes the place of a file between the look and the opening is not waited for.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;

    options.custom_flags((rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits() as i32);
}

#[cfg(windows)]
fn without_waiting(_: &mut OpenOptions) {}

/// Facts about the entry `name` itself.
pub(crate) fn statat<N: Name + ?Sized>(from: impl AsFd, name: &N, _: AtFlags) -> Result<Stat, Errno> {
    errno(from.as_fd().directory()?.symlink_metadata(&*single(name)?)).map(|facts| stat(&facts))
}

/// Facts about what is open.
pub(crate) fn fstat(handle: impl AsFd) -> Result<Stat, Errno> {
    let facts = match handle.as_fd() {
        OwnedFd::Directory(directory) => directory.dir_metadata(),
        OwnedFd::File(file) => file.metadata(),
    };
    errno(facts).map(|facts| stat(&facts))
}

/// Facts about an open file.
pub(crate) fn stat_file(file: &File) -> Result<Stat, Errno> {
    errno(Metadata::from_file(file)).map(|facts| stat(&facts))
}

fn stat(facts: &Metadata) -> Stat {
    let since = |time: std::io::Result<cap_std::time::SystemTime>| {
        let time = time.ok().map(cap_std::time::SystemTime::into_std);
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        (i64::try_from(since.as_secs()).unwrap_or(0), since.subsec_nanos())
    };
    let (st_mtime, st_mtime_nsec) = since(facts.modified());
    let (st_ctime, st_ctime_nsec) = changed(facts);
    Stat {
        st_dev: MetadataExt::dev(facts),
        st_ino: MetadataExt::ino(facts),
        st_size: i64::try_from(facts.len()).unwrap_or(i64::MAX),
        st_mtime,
        st_mtime_nsec,
        st_ctime,
        st_ctime_nsec,
        st_mode: permission_bits(facts),
        kind: kind(facts),
    }
}

#[cfg(unix)]
fn changed(facts: &Metadata) -> (i64, u32) {
    use cap_std::fs::MetadataExt;

    (facts.ctime(), u32::try_from(facts.ctime_nsec()).unwrap_or(0))
}

#[cfg(windows)]
fn changed(_: &Metadata) -> (i64, u32) {
    (0, 0)
}

#[cfg(unix)]
fn permission_bits(facts: &Metadata) -> u32 {
    use cap_std::fs::MetadataExt;

    facts.mode() & 0o777
}

#[cfg(windows)]
fn permission_bits(facts: &Metadata) -> u32 {
    if facts.permissions().readonly() { 0o444 } else { 0o666 }
}

fn kind(facts: &Metadata) -> FileType {
    kind_of(facts.file_type())
}

fn kind_of(kind: cap_std::fs::FileType) -> FileType {
    if kind.is_symlink() {
        FileType::Symlink
    } else if kind.is_dir() {
        FileType::Directory
    } else if kind.is_file() {
        FileType::RegularFile
    } else {
        other_kind(kind)
    }
}

#[cfg(unix)]
fn other_kind(kind: cap_std::fs::FileType) -> FileType {
    use cap_std::fs::FileTypeExt;

    if kind.is_fifo() {
        FileType::Fifo
    } else if kind.is_socket() {
        FileType::Socket
    } else if kind.is_char_device() {
        FileType::CharacterDevice
    } else if kind.is_block_device() {
        FileType::BlockDevice
    } else {
        FileType::Unknown
    }
}

#[cfg(windows)]
fn other_kind(_: cap_std::fs::FileType) -> FileType {
    FileType::CharacterDevice
}

/// What a link says, with `/` between its names; an absolute one begins with `/`. `INVAL` for what is no link.
pub(crate) fn readlinkat<N: Name + ?Sized>(from: impl AsFd, name: &N, _: Vec<u8>) -> Result<CString, Errno> {
    let directory = from.as_fd().directory()?;
    let name = single(name)?;
    if kind(&errno(directory.symlink_metadata(&*name))?) != FileType::Symlink {
        return Err(Errno::INVAL);
    }
    let target = errno(directory.read_link_contents(&*name))?;
    let bytes = target.as_os_str().as_encoded_bytes();
    let text = if cfg!(windows) {
        let rooted = target.has_root() || target.is_absolute() || bytes.get(1) == Some(&b':');
        let names: Vec<u8> = bytes.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect();
        if rooted { [b"/".as_slice(), &names].concat() } else { names }
    } else {
        bytes.to_vec()
    };
    CString::new(text).map_err(|_| Errno::ILSEQ)
}

/// Makes a directory.
pub(crate) fn mkdirat<N: Name + ?Sized>(from: impl AsFd, name: &N, _: Mode) -> Result<(), Errno> {
    errno(from.as_fd().directory()?.create_dir(&*single(name)?))
}

/// Removes the entry `name` itself: an empty directory with `REMOVEDIR`, anything else without.
pub(crate) fn unlinkat<N: Name + ?Sized>(from: impl AsFd, name: &N, flags: AtFlags) -> Result<(), Errno> {
    let directory = from.as_fd().directory()?;
    let name = single(name)?;
    if flags.contains(AtFlags::REMOVEDIR) {
        errno(directory.remove_dir(&*name))
    } else {
        errno(directory.remove_file_or_symlink(&*name))
    }
}

/// Renames, replacing a file that has the new name.
pub(crate) fn renameat(from: impl AsFd, old: &str, to: impl AsFd, new: &str) -> Result<(), Errno> {
    errno(from.as_fd().directory()?.rename(&*single(old)?, to.as_fd().directory()?, &*single(new)?))
}

/// Renames to a name that nothing has; `EXIST` when something does. Another program that takes the name between the look
/// and the rename loses what it put there.
pub(crate) fn rename_to_free(from: impl AsFd, old: &str, to: impl AsFd, new: &str) -> Result<(), Errno> {
    match statat(&to, new, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => renameat(from, old, to, new),
        Ok(_) => Err(Errno::EXIST),
        Err(errno) => Err(errno),
    }
}

/// The entries of a directory.
pub(crate) struct Dir(ReadDir);

/// One of them.
pub(crate) struct DirEntry {
    name: CString,
    kind: FileType,
}

impl Dir {
    pub(crate) fn read_from(handle: impl AsFd) -> Result<Self, Errno> {
        errno(handle.as_fd().directory()?.entries()).map(Self)
    }

    pub(crate) fn new(handle: OwnedFd) -> Result<Self, Errno> {
        Self::read_from(&handle)
    }
}

impl Iterator for Dir {
    type Item = Result<DirEntry, Errno>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self.0.next()? {
            Ok(entry) => entry,
            Err(error) => return Some(Err(Errno::of(&error))),
        };
        // A name that is no text stays one that is none: it is listed, and never opened.
        let name = CString::new(entry.file_name().as_encoded_bytes()).map_err(|_| Errno::ILSEQ);
        let kind = entry.file_type().map_or(FileType::Unknown, kind_of);
        Some(name.map(|name| DirEntry { name, kind }))
    }
}

impl DirEntry {
    pub(crate) fn file_name(&self) -> &CStr {
        &self.name
    }

    pub(crate) fn file_type(&self) -> FileType {
        self.kind
    }
}

/// Whether device nodes may lie at or below `host`: everything is looked at before it is opened.
pub(crate) fn may_hold_devices(_: &Path, _: u64) -> bool {
    true
}

/// Whether the file, of which `facts` tell, may not be written.
pub(crate) fn is_write_protected(_: &OwnedFd, _: &str, facts: &Stat) -> bool {
    facts.st_mode & 0o222 == 0
}

/// Gives a new file the permission bits of another; its owner is this process's.
#[cfg(unix)]
pub(crate) fn resemble(file: &File, like: &Stat) -> Result<(), Errno> {
    use std::os::unix::fs::PermissionsExt;

    errno(file.set_permissions(std::fs::Permissions::from_mode(like.st_mode & 0o777)))
}

/// Gives a new file the permission bits of another: there are none, and what cannot be written is never replaced.
#[cfg(windows)]
pub(crate) fn resemble(_: &File, _: &Stat) -> Result<(), Errno> {
    Ok(())
}

/// Gives a file the time at which another was changed last.
pub(crate) fn keep_time_of(file: &File, like: &Stat) -> Result<(), Errno> {
    let since = Duration::new(u64::try_from(like.st_mtime).unwrap_or(0), like.st_mtime_nsec);
    errno(file.set_modified(UNIX_EPOCH + since))
}

/// Brings the bytes of a file to the disk.
pub(crate) fn sync_content(file: &File) -> Result<(), Errno> {
    errno(file.sync_data())
}

/// Brings the names in a directory to the disk: there is no call for it.
pub(crate) fn sync_directory(_: &OwnedFd) -> Result<(), Errno> {
    Ok(())
}

/// Locks a directory against other processes: only files can be locked, and the lock of this process holds all the same.
pub(crate) fn try_lock(_: &OwnedFd) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Unlocks it.
pub(crate) fn unlock(_: &OwnedFd) -> Result<(), Errno> {
    Ok(())
}

/// Says that a file is in use: nobody asks here, as nothing is taken for a leftover without locks.
pub(crate) fn lock_file(_: &File) -> Result<(), Errno> {
    Ok(())
}

/// Whether somebody said so of the file with that name.
pub(crate) fn is_locked(_: BorrowedFd<'_>, _: &CStr) -> bool {
    false
}

/// The host path of a handle: not told here, so that the walk's own account is believed.
pub(crate) fn host_path(_: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    Err(Errno::NOSYS)
}

/// Handles without rights do not exist here.
pub(crate) fn reopen(_: BorrowedFd<'_>, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Whether a handle lies on a file system of the kernel, whose "files" are doors into it.
#[cfg(target_os = "linux")]
pub(crate) fn is_system(handle: BorrowedFd<'_>) -> Result<bool, Errno> {
    let facts = rustix::fs::fstatfs(handle).map_err(Errno::from)?;
    Ok(super::is_system_kind(facts.f_type as u32))
}

/// Whether a handle lies on a file system of the kernel: there are none.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_system(_: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(false)
}

/// Whether the file system of a directory changes its time with every name that comes or goes: nobody looked.
pub(crate) fn tells_changes(_: BorrowedFd<'_>) -> bool {
    false
}

/// Whether the file system of a directory may take one name for another: on Windows always.
pub(crate) fn may_fold_names(_: BorrowedFd<'_>) -> bool {
    cfg!(windows)
}

/// The kind of an entry.
pub(crate) fn type_of(facts: &Stat) -> FileType {
    facts.kind
}

/// What an error of the standard library says.
pub(crate) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::of(error)
}
