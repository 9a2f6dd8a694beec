//! A cgroup of its own for a supervisor and all that it starts: a leaf below the one that this process is in, where the
//! machine lets this user make one (R-SH-3b). What a command leaves behind by killing its supervisor is still in it, and ends by
//! one write.
//!
//! It is a net below the supervisor's own, no wall: a process of the same user may move itself to another cgroup. No
//! controller is enabled and no other cgroup is touched. What is killed and removed is named by an opened directory, never by
//! what a command could put in the place of a name. Where none can be made all goes on without.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{
    Access, AtFlags, CWD, Dir, Mode, OFlags, Stat, accessat, fstat, fstatfs, mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

/// `CGROUP2_SUPER_MAGIC` of the kernel's `magic.h`.
const CGROUP2: i64 = 0x6367_7270;
/// What the name of every leaf begins with.
const PREFIX: &str = "gloveport";
/// 1 s: killed processes end within milliseconds unless the kernel holds them (a dead network file system).
const END_WAIT: Duration = Duration::from_secs(1);
/// 16 levels of cgroups that a command made below its own; one that made more keeps its leaf.
const DEPTH: u32 = 16;
/// 256 bytes: `cgroup.events` has two short lines.
const EVENTS_BYTES: usize = 256;
/// The word of `/proc/<pid>/stat` after the name that says when the process started.
const START_WORD: usize = 19;

/// Set once a supervisor could not go on in a leaf: it would fail again.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);
static PARENT: Mutex<Option<Parent>> = Mutex::new(None);
static MADE: AtomicU64 = AtomicU64::new(0);

/// The cgroup that this process is in.
struct Parent {
    /// As `/proc/self/cgroup` names it.
    path: PathBuf,
    /// `None` where it cannot be had.
    directory: Option<Arc<OwnedFd>>,
}

/// A cgroup for one supervisor. Dropped, it is removed if nothing is in it.
#[derive(Debug)]
pub(super) struct Leaf {
    parent: Arc<OwnedFd>,
    name: String,
    directory: OwnedFd,
}

impl Leaf {
    /// A new one; `None` where this machine or user has none, or its kernel cannot kill one (before Linux 5.14).
    pub(super) fn make() -> Option<Self> {
        if IS_REFUSED.load(Ordering::Relaxed) {
            return None;
        }
        Self::make_in(own_cgroup()?)
    }

    fn make_in(parent: Arc<OwnedFd>) -> Option<Self> {
        let name = Owner::this()?.leaf(MADE.fetch_add(1, Ordering::Relaxed));
        mkdirat(&parent, &name, Mode::from_raw_mode(0o755)).ok()?;
        let leaf = Self { directory: opened(&parent, &name)?, parent, name };
        accessat(&leaf.directory, "cgroup.kill", Access::WRITE_OK, AtFlags::EACCESS).ok()?;
        Some(leaf)
    }

    /// Its directory, for a supervisor to begin in.
    pub(super) fn handle(&self) -> Option<OwnedFd> {
        self.directory.try_clone().ok()
    }

    /// A supervisor could not go on in it: none is made any more.
    pub(super) fn refuse(self) {
        IS_REFUSED.store(true, Ordering::Relaxed);
    }

    /// Kills every process in it and removes it. Returns how many processes that were. Blocks until they are gone, at most
    /// [`END_WAIT`].
    pub(super) fn end(self) -> u32 {
        // A command may move any process of its user into it. What it could end itself is none of our concern, but for this
        // process, which ends its own and not itself.
        let is_ours = |path: PathBuf| path.iter().any(|part| part == self.name.as_str());
        if self.remove() || own_path().is_none_or(is_ours) {
            return 0;
        }
        let listed = read(&self.directory, "cgroup.procs").unwrap_or_default();
        end_all(&self.directory);
        u32::try_from(listed.lines().count()).unwrap_or(u32::MAX)
    }

    /// Removes it, and what a command made below it, if no process is in any of them. Whether it is gone.
    fn remove(&self) -> bool {
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let named = statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW).map(identity);
        if named != fstat(&self.directory).map(identity) {
            return true;
        }
        let remove = || unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        remove().is_ok() || {
            remove_below(&self.directory, DEPTH);
            remove().is_ok()
        }
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Kills what is in a cgroup and below it, and waits until it is gone.
fn end_all(directory: &OwnedFd) {
    let open = |name: &str, flags| openat(directory, name, flags | OFlags::CLOEXEC, Mode::empty());
    let (Ok(kill), Ok(events)) = (open("cgroup.kill", OFlags::WRONLY), open("cgroup.events", OFlags::RDONLY)) else {
        return;
    };
    if rustix::io::write(&kill, b"1").is_err() {
        return;
    }
    let give_up = Instant::now() + END_WAIT;
    while is_populated(&events) && Instant::now() < give_up {
        let left = give_up.saturating_duration_since(Instant::now());
        let Ok(left) = Timespec::try_from(left) else { return };
        // A change since it was read is urgent. An interrupted wait is a short one.
        let _ = poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&left));
    }
}

fn is_populated(events: &OwnedFd) -> bool {
    let mut buffer = [0; EVENTS_BYTES];
    let count = rustix::io::pread(events, &mut buffer, 0).unwrap_or(0);
    buffer[..count].split(|byte| *byte == b'\n').any(|line| line == b"populated 1")
}

/// Removes the empty cgroups below one.
fn remove_below(directory: &OwnedFd, depth: u32) {
    let Some(left) = depth.checked_sub(1) else { return };
    for name in directories_in(directory) {
        if let Some(below) = opened(directory, &name) {
            remove_below(&below, left);
        }
        let _ = unlinkat(directory, &name, AtFlags::REMOVEDIR);
    }
}

/// Whose a leaf is, as its name says: numbers of processes mean something in their namespace only, and are given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    namespace: u64,
    pid: i32,
    /// Ticks after the start of the machine.
    start: u64,
}

impl Owner {
    /// This process.
    fn this() -> Option<Self> {
        static THIS: OnceLock<Option<Owner>> = OnceLock::new();
        *THIS.get_or_init(|| {
            let namespace = fs::metadata("/proc/self/ns/pid").ok()?.ino();
            let pid = i32::try_from(std::process::id()).ok()?;
            Some(Self { namespace, pid, start: start_of(pid)? })
        })
    }

    fn leaf(self, number: u64) -> String {
        format!("{PREFIX}-{}-{}-{}-{number}", self.namespace, self.pid, self.start)
    }

    /// Of a leaf of this name; `None` where it is no leaf's.
    fn of(name: &str) -> Option<Self> {
        let mut words = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
        let owner = Self {
            namespace: words.next()?.parse().ok()?,
            pid: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
        };
        let number: u64 = words.next()?.parse().ok()?;
        (owner.leaf(number) == name).then_some(owner)
    }

    /// Whether the process may live. In doubt it does.
    fn may_live(self) -> bool {
        let is_there = Pid::from_raw(self.pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH));
        is_there && start_of(self.pid).is_none_or(|start| start == self.start)
    }
}

fn start_of(pid: i32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().nth(START_WORD)?.parse().ok()
}

/// Ends and removes what dead processes of this user left in the cgroup of this one.
fn sweep(parent: &Arc<OwnedFd>) {
    let Some(this) = Owner::this() else { return };
    let is_dead = |owner: Owner| owner.namespace == this.namespace && !owner.may_live();
    for name in directories_in(parent).into_iter().filter(|name| Owner::of(name).is_some_and(is_dead)) {
        let Some(directory) = opened(parent, &name) else { continue };
        let leaf = Leaf { parent: Arc::clone(parent), name, directory };
        if fstat(&leaf.directory).is_ok_and(|stat| stat.st_uid == geteuid().as_raw()) {
            leaf.end();
        }
    }
}

/// The directory of the cgroup that this process is in. It is asked each time: a process may be moved, and what it starts
/// belongs where it is then, under the same bounds.
fn own_cgroup() -> Option<Arc<OwnedFd>> {
    let path = own_path()?;
    let mut known = PARENT.lock();
    if let Some(parent) = known.as_ref().filter(|parent| parent.path == path) {
        return parent.directory.clone();
    }
    let directory = find(&path).map(Arc::new);
    if let Some(directory) = &directory {
        sweep(directory);
    }
    *known = Some(Parent { path, directory: directory.clone() });
    directory
}

/// The path of this process's cgroup in the second version's tree.
fn own_path() -> Option<PathBuf> {
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    cgroups.lines().find_map(|line| line.strip_prefix("0::")).map(PathBuf::from)
}

/// Opens the cgroup of this path where its tree is mounted.
fn find(path: &Path) -> Option<OwnedFd> {
    fs::read_to_string("/proc/self/mountinfo").ok()?.lines().find_map(|mount| {
        let (place, kind) = mount.split_once(" - ")?;
        let mut words = place.split(' ').skip(3);
        let (root, point) = (words.next()?, words.next()?);
        // Outside of what is mounted there. A path with `..` begins with no root but the whole tree's.
        let below = path.strip_prefix(root).ok().filter(|_| kind.starts_with("cgroup2 "))?;
        if !below.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(CWD, Path::new(point).join(below), flags, Mode::empty()).ok()?;
        #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "its type is another on each system")]
        let is_cgroup = fstatfs(&directory).is_ok_and(|facts| facts.f_type as i64 == CGROUP2);
        is_cgroup.then_some(directory)
    })
}

fn opened(parent: &OwnedFd, name: &str) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).ok()
}

fn read(directory: &OwnedFd, name: &str) -> Option<String> {
    let mut text = String::new();
    let file = openat(directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    File::from(file).read_to_string(&mut text).ok().map(|_| text)
}

/// The names of the cgroups in one; what cannot be read of them is left out.
fn directories_in(directory: &OwnedFd) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listing) = openat(directory, ".", flags, Mode::empty()).and_then(Dir::new) else { return Vec::new() };
    let is_directory = |entry: &rustix::fs::DirEntry| entry.file_type().is_dir();
    listing
        .filter_map(|entry| Some(entry.ok().filter(is_directory)?.file_name().to_str().ok()?.to_owned()))
        .filter(|name| name != "." && name != "..")
        .collect()
}

#[cfg(test)]
mod tests;
