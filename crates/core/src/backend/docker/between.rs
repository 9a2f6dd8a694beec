//! One at a time among the processes of this user on this machine: whoever holds a file of a name has its turn, and a process that
//! dies gives it back.
//!
//! Two hosts that find the same container still would both put the guest into it, the second while it runs (R-DK-4). A host of another
//! machine, or of another user, is not seen here.

#[cfg(unix)]
pub(super) use self::unix::Turn;

#[cfg(not(unix))]
pub(super) enum Turn {}

#[cfg(not(unix))]
impl Turn {
    /// Elsewhere there is none.
    pub(super) async fn of(_what: &str) -> Option<Self> {
        None
    }
}

#[cfg(unix)]
mod unix {
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::time::Duration;

    use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdir, open, openat, statat, unlinkat};
    use rustix::io::Errno;
    use rustix::process::geteuid;

    use super::super::digest::sha256;

    /// 50 ms between two looks whether it is free: whoever holds it starts a container, which takes longer.
    const LOOK_AGAIN: Duration = Duration::from_millis(50);
    /// Nobody else may read or write.
    const OURS: Mode = Mode::RWXU;

    /// A turn; dropped, the next one has it.
    pub(in super::super) struct Turn {
        folder: OwnedFd,
        name: String,
        /// Holds the lock.
        _file: OwnedFd,
    }

    impl Turn {
        /// Waits for the turn of `what`. None where no folder of this user can be had: what was asked for goes on, held back by this
        /// process alone, as a machine whose temporary directory cannot be written runs containers too.
        pub(in super::super) async fn of(what: &str) -> Option<Self> {
            Self::within(&std::env::temp_dir(), what).await
        }

        pub(super) async fn within(temporary: &Path, what: &str) -> Option<Self> {
            let name = sha256(what.as_bytes());
            loop {
                match Self::taken(temporary, &name) {
                    Ok(turn) => return Some(turn),
                    Err(Errno::AGAIN) => tokio::time::sleep(LOOK_AGAIN).await,
                    Err(_) => return None,
                }
            }
        }

        /// `AGAIN` where somebody else has it.
        fn taken(temporary: &Path, name: &str) -> rustix::io::Result<Self> {
            let folder = folder(temporary)?;
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            // Whoever had it before removed the file, perhaps while this one was opened.
            let (ours, there) = (fstat(&file)?, statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW));
            match there {
                Ok(there) if there.st_ino == ours.st_ino => Ok(Self { folder, name: name.to_owned(), _file: file }),
                Ok(_) | Err(_) => Err(Errno::AGAIN),
            }
        }
    }

    impl Drop for Turn {
        fn drop(&mut self) {
            // Removed before it is given back: who opened it by then looks again. Best effort: an empty file is left otherwise.
            let _ = unlinkat(&self.folder, self.name.as_str(), AtFlags::empty());
        }
    }

    /// The folder of this user, which nobody else may have made in its place.
    fn folder(temporary: &Path) -> rustix::io::Result<OwnedFd> {
        let path = temporary.join(format!("gloveport-turns-{}", geteuid().as_raw()));
        match mkdir(&path, OURS) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let folder = open(&path, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let facts = fstat(&folder)?;
        let others = Mode::RWXG | Mode::RWXO;
        if facts.st_uid != geteuid().as_raw() || Mode::from_raw_mode(facts.st_mode).intersects(others) {
            return Err(Errno::PERM);
        }
        Ok(folder)
    }

    #[cfg(test)]
    mod tests {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        use super::*;

        fn ours(temporary: &tempfile::TempDir) -> std::path::PathBuf {
            temporary.path().join(format!("gloveport-turns-{}", geteuid().as_raw()))
        }

        #[tokio::test(start_paused = true)]
        async fn one_has_the_turn_and_leaves_nothing() {
            let temporary = tempfile::tempdir().unwrap();
            let first = Turn::within(temporary.path(), "a").await.unwrap();
            let other = Turn::within(temporary.path(), "b").await.unwrap();
            let mut second = Box::pin(Turn::within(temporary.path(), "a"));
            // Time passes at once here: it looks a thousand times.
            assert!(tokio::time::timeout(LOOK_AGAIN * 1_000, &mut second).await.is_err());
            drop(first);
            drop((second.await.unwrap(), other));
            assert_eq!(std::fs::read_dir(ours(&temporary)).unwrap().count(), 0);
        }

        /// Another user could have made the folder, or put a link in its place.
        #[tokio::test]
        async fn a_folder_that_others_may_write_and_a_link_are_not_used() {
            let temporary = tempfile::tempdir().unwrap();
            std::fs::create_dir(ours(&temporary)).unwrap();
            std::fs::set_permissions(ours(&temporary), std::fs::Permissions::from_mode(0o777)).unwrap();
            assert!(Turn::within(temporary.path(), "a").await.is_none());
            std::fs::remove_dir(ours(&temporary)).unwrap();
            let elsewhere = tempfile::tempdir().unwrap();
            symlink(elsewhere.path(), ours(&temporary)).unwrap();
            assert!(Turn::within(temporary.path(), "a").await.is_none());
            assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        }
    }
}
