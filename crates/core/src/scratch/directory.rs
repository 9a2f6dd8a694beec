//! The directory on disk: made in the system's temporary directory for this user alone, and emptied by its handle.
//!
//! Whoever made one holds its lock, which ends with the process, however that ends. So what killed processes left is told from what
//! is in use, and goes when the next process makes its first directory. Nothing is followed and nothing descended into: commands of
//! the same user can put anything there. A directory that they put into one stays, and the one around it.
//!
//! On Windows nothing is locked, and what a killed process left stays.

use std::fs::DirBuilder;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

#[cfg(unix)]
use parking_lot::Mutex;

#[cfg(unix)]
use self::locked::Lock;

/// A name of ours has this and 16 hexadecimal digits.
const PREFIX: &str = "gloveport-output-";

/// One directory. It is locked until it is removed or this is dropped, and stays where nobody removes it.
pub(super) struct Directory {
    path: PathBuf,
    #[cfg(unix)]
    lock: Mutex<Option<Lock>>,
}

impl Directory {
    /// A new one; `None` where the system makes none.
    pub(super) fn new() -> Option<Self> {
        let parent = std::env::temp_dir();
        #[cfg(unix)]
        locked::sweep_once(&parent);
        Self::within(&parent)
    }

    #[cfg(unix)]
    fn within(parent: &Path) -> Option<Self> {
        /// Another process may take one for left that is not locked yet.
        const TRIES: usize = 8;
        (0..TRIES).find_map(|_| {
            let path = made(parent)?;
            match Lock::of_new(&path) {
                Some(lock) => Some(Self { path, lock: Mutex::new(Some(lock)) }),
                None => {
                    // Nothing is in it, where it is ours.
                    let _ = std::fs::remove_dir(&path);
                    None
                }
            }
        })
    }

    #[cfg(not(unix))]
    fn within(parent: &Path) -> Option<Self> {
        made(parent).map(|path| Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes its files, and itself where nothing else is in it. Best effort: it lies among what is temporary.
    pub(super) fn remove(&self) {
        #[cfg(unix)]
        if let Some(lock) = self.lock.lock().take() {
            lock.remove(&self.path);
        }
        #[cfg(not(unix))]
        {
            for entry in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
                let _ = std::fs::remove_file(entry.path());
            }
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

fn made(parent: &Path) -> Option<PathBuf> {
    let path = parent.join(format!("{PREFIX}{:016x}", RandomState::new().hash_one(())));
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are Unix'"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&path).ok()?;
    Some(path)
}

#[cfg(unix)]
mod locked {
    use std::ffi::OsStr;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::sync::Once;

    use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, statat, unlinkat};
    use rustix::io::Errno;

    use super::PREFIX;

    /// 1,000 directories are looked at, and 10,000 files of one removed: the rest goes another time.
    const DIRECTORIES: usize = 1_000;
    const FILES: usize = 10_000;

    /// The handle of a directory of ours, with its lock.
    pub(super) struct Lock(OwnedFd);

    impl Lock {
        /// `None` where it is no directory of this user, another process has it, or it has gone.
        pub(super) fn of(path: &Path) -> Option<Self> {
            let (handle, facts) = opened(path)?;
            flock(&handle, FlockOperation::NonBlockingLockExclusive).ok()?;
            // Whoever had it before may have removed it.
            is_at(path, &facts).then_some(Self(handle))
        }

        /// The same for whoever has just made it: also without a lock, where the file system has none. Nobody takes it for left there.
        pub(super) fn of_new(path: &Path) -> Option<Self> {
            let (handle, facts) = opened(path)?;
            match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => None,
                Ok(()) | Err(_) => is_at(path, &facts).then_some(Self(handle)),
            }
        }

        /// Removes the files of the directory, which lies at `path`, and then itself. Whether it is gone.
        pub(super) fn remove(&self, path: &Path) -> bool {
            for entry in Dir::read_from(&self.0).into_iter().flatten().flatten().take(FILES) {
                // What is a directory stays.
                let _ = unlinkat(&self.0, entry.file_name(), AtFlags::empty());
            }
            unlinkat(CWD, path, AtFlags::REMOVEDIR).is_ok()
        }
    }

    fn opened(path: &Path) -> Option<(OwnedFd, Stat)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(CWD, path, flags, Mode::empty()).ok()?;
        let facts = fstat(&handle).ok()?;
        (facts.st_uid == rustix::process::geteuid().as_raw()).then_some((handle, facts))
    }

    fn is_at(path: &Path, facts: &Stat) -> bool {
        let there = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
        there.is_ok_and(|there| (there.st_dev, there.st_ino) == (facts.st_dev, facts.st_ino))
    }

    /// Removes what killed processes left: once in a process.
    pub(super) fn sweep_once(parent: &Path) {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(parent));
    }

    pub(super) fn sweep(parent: &Path) {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_ours(&entry.file_name())).take(DIRECTORIES) {
            if let Some(lock) = Lock::of(&entry.path()) {
                lock.remove(&entry.path());
            }
        }
    }

    fn is_ours(name: &OsStr) -> bool {
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        number.is_some_and(|number| number.len() == 16 && number.bytes().all(|digit| digit.is_ascii_hexdigit()))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    /// They stayed for ever, each with up to 4 GiB.
    #[test]
    fn what_a_killed_process_left_goes_and_what_is_in_use_stays() {
        let parent = tempfile::tempdir().unwrap();
        let used = Directory::within(parent.path()).unwrap();
        fs::write(used.path().join("output-1.txt"), "used").unwrap();
        let left = Directory::within(parent.path()).unwrap();
        fs::write(left.path().join("output-1.txt"), "left").unwrap();
        // Its lock goes, as with its process.
        drop(left);
        locked::sweep(parent.path());
        assert_eq!(names(parent.path()), [used.path().file_name().unwrap().to_str().unwrap()]);
        assert_eq!(fs::read_to_string(used.path().join("output-1.txt")).unwrap(), "used");
        used.remove();
        assert_eq!(names(parent.path()), [""; 0]);
    }

    /// A command of the same user could have had other files deleted, or the stack of this process end in a deep tree.
    #[test]
    fn nothing_is_followed_and_nothing_descended_into() {
        let (parent, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("kept"), "kept").unwrap();
        let name = |digit: &str| parent.path().join(format!("{PREFIX}{}", digit.repeat(16)));
        symlink(other.path(), name("a")).unwrap();
        fs::create_dir(name("b")).unwrap();
        symlink(other.path(), name("b").join("link")).unwrap();
        fs::create_dir_all(name("c").join("deep/er")).unwrap();
        fs::write(name("c").join("file"), "").unwrap();
        fs::write(name("d"), "a file").unwrap();
        for other in ["gloveport-output-", "gloveport-output-00", "gloveport-output-x000000000000000", "mine"] {
            fs::create_dir(parent.path().join(other)).unwrap();
        }
        locked::sweep(parent.path());
        let own = |digit: &str| format!("{PREFIX}{}", digit.repeat(16));
        assert_eq!(
            names(parent.path()),
            [
                "gloveport-output-".to_owned(),
                "gloveport-output-00".to_owned(),
                own("a"),
                own("c"),
                own("d"),
                "gloveport-output-x000000000000000".to_owned(),
                "mine".to_owned()
            ]
        );
        assert_eq!(names(&name("c")), ["deep"]);
        assert_eq!(names(other.path()), ["kept"]);
    }

    #[test]
    fn one_that_another_process_takes_for_left_before_it_is_locked_is_made_anew() {
        let parent = tempfile::tempdir().unwrap();
        let path = made(parent.path()).unwrap();
        let theirs = Lock::of(&path).unwrap();
        assert!(Lock::of(&path).is_none() && Lock::of_new(&path).is_none(), "it is theirs");
        assert!(theirs.remove(&path));
        assert!(Lock::of(&path).is_none(), "it has gone");
    }
}
