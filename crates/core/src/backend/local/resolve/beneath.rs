//! The two ways to follow names beneath a handle: the kernel's own (`openat2`), and our walk (`steps`). One is chosen
//! for the whole process.

use std::sync::OnceLock;

use crate::backend::local::system::{BorrowedFd, Errno, OFlags, OwnedFd};

/// Set to `walk`, this variable makes every process that inherits it use the walk, so that the whole test list can be
/// run with it (R-FS-2).
pub(crate) const RESOLVER_VARIABLE: &str = "GLOVEPORT_RESOLVER";

/// 128 tries: a rename anywhere on the host makes the kernel give up one look-up; a storm of them passes quickly.
const MAX_RETRIES: usize = 128;

/// How names are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// `openat2`, on Linux since 5.6.
    Kernel,
    /// One component at a time, links expanded by us.
    Walk,
}

impl Strategy {
    /// The way of this process, found out on first use.
    pub(crate) fn of_process() -> Self {
        static CHOSEN: OnceLock<Strategy> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let forced = std::env::var_os(RESOLVER_VARIABLE).is_some_and(|value| value == "walk");
            if !forced && kernel_resolves() { Self::Kernel } else { Self::Walk }
        })
    }
}

/// Whether links may lie on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// A link fails with `LOOP`; the opened path is then the one asked for.
    Refuse,
    /// Links that stay beneath are followed.
    Follow,
}

/// Opens `relative` beneath `directory`: no `..` above it, no absolute link, no magic link. `XDEV` when it leads out.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    relative: &str,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, ResolveFlags, openat2};

    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let resolve = match links {
        Links::Refuse => beneath | ResolveFlags::NO_SYMLINKS,
        Links::Follow => beneath,
    };
    let relative = if relative.is_empty() { "." } else { relative };
    for _ in 0..MAX_RETRIES {
        #[cfg(test)]
        if super::storm::makes_the_kernel_give_up() {
            continue;
        }
        match openat2(directory, relative, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            answer => return answer,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens `relative` beneath `directory` when the kernel knows the whole way by heart: no disk is waited for, no link
/// followed, and no other file system entered, which might make one wait. `None` otherwise, and where it fails.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(super) fn open_at_hand(directory: BorrowedFd<'_>, relative: &str, flags: OFlags) -> Option<OwnedFd> {
    use rustix::fs::{Mode, ResolveFlags, openat2};

    const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
        .union(ResolveFlags::NO_MAGICLINKS)
        .union(ResolveFlags::NO_SYMLINKS)
        .union(ResolveFlags::NO_XDEV)
        .union(ResolveFlags::CACHED);
    let relative = if relative.is_empty() { "." } else { relative };
    openat2(directory, relative, flags | OFlags::CLOEXEC, Mode::empty(), RESOLVE).ok()
}

#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
pub(super) fn open_at_hand(_: BorrowedFd<'_>, _: &str, _: OFlags) -> Option<OwnedFd> {
    None
}

#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
pub(super) fn open_beneath(_: BorrowedFd<'_>, _: &str, _: OFlags, _: Links) -> Result<OwnedFd, Errno> {
    let _ = MAX_RETRIES;
    Err(Errno::NOSYS)
}

/// Whether this kernel (and whatever filters its calls) has `openat2`, and `/proc` to name what it opened.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
fn kernel_resolves() -> bool {
    use rustix::fs::{CWD, Mode, openat};

    let Ok(root) = openat(CWD, "/", super::root::DIRECTORY_HANDLE, Mode::empty()) else { return false };
    use std::os::fd::AsFd;
    open_beneath(root.as_fd(), "", super::root::DIRECTORY_HANDLE, Links::Refuse).is_ok()
        && crate::backend::local::system::host_path(root.as_fd()).is_ok()
}

#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
fn kernel_resolves() -> bool {
    false
}
