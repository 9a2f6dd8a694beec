//! What directories held when they were last listed: who searches again need not ask for the names again.
//!
//! A directory tells the time of its last change, which nothing can set but the clock, and every name that comes, goes or is
//! replaced changes it. As long as it is the same the names are the same. Two changes within one tick of the clock have the same
//! time, so only what had rested for [`REST`] before it was listed is kept, and only on file systems of this machine that are
//! known to keep that time themselves. What is kept are names: each is opened, and judged, as one that was just listed.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;

use super::facts::version_of;
use super::system::Stat;
use crate::search::EntryKind;

/// 2 s: the coarsest times (whole seconds, on ext4 with small inodes) tell a later change apart, with one to spare.
const REST: Duration = Duration::from_secs(2);
/// 48 MiB of names in the process: some 900,000 files. Beyond it directories are listed each time.
const MOST_BYTES: usize = 48 << 20;
/// 160 bytes: what one directory takes besides its names.
const OVERHEAD: usize = 160;

/// Bytes that all backends hold, because they share the memory.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// A directory as it was when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    /// Device and inode.
    directory: (u64, u64),
    /// Nanoseconds since 1970.
    changed: i128,
}

impl State {
    pub(super) fn of(facts: &Stat) -> Self {
        let version = version_of(facts);
        Self { directory: (version.device, version.inode), changed: version.changed_ns }
    }

    /// Whether nothing changed for [`REST`] at `now`.
    fn rests(self, now: SystemTime) -> bool {
        let before = now.checked_sub(REST).and_then(|then| then.duration_since(UNIX_EPOCH).ok());
        before.is_some_and(|before| i128::try_from(before.as_nanos()).is_ok_and(|before| self.changed < before))
    }
}

/// Names with their kinds: for each the kind, the length of the name, and the name.
#[derive(Debug, Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    /// Whether all of it may be kept.
    is_whole: bool,
}

impl Record {
    fn begin(&mut self, state: State, now: SystemTime) {
        self.bytes.clear();
        self.is_whole = state.rests(now);
    }

    /// Takes one more name.
    pub(super) fn add(&mut self, name: &[u8], kind: EntryKind) {
        match u8::try_from(name.len()) {
            Ok(length) if self.is_whole => {
                self.bytes.extend_from_slice(&[code(kind), length]);
                self.bytes.extend_from_slice(name);
            }
            _ => self.is_whole = false,
        }
    }
}

fn code(kind: EntryKind) -> u8 {
    match kind {
        EntryKind::File => 0,
        EntryKind::Directory => 1,
        EntryKind::Link => 2,
        EntryKind::Other => 3,
        EntryKind::Unknown => 4,
    }
}

fn kind(code: u8) -> EntryKind {
    match code {
        0 => EntryKind::File,
        1 => EntryKind::Directory,
        2 => EntryKind::Link,
        3 => EntryKind::Other,
        _ => EntryKind::Unknown,
    }
}

/// Calls `visit` with every name of a record, until it breaks.
pub(super) fn visit_all(record: &[u8], mut visit: impl FnMut(&[u8], EntryKind) -> ControlFlow<()>) {
    let mut rest = record;
    while let [code, length, behind @ ..] = rest {
        let Some((name, others)) = behind.split_at_checked(usize::from(*length)) else { return };
        if visit(name, kind(*code)).is_break() {
            return;
        }
        rest = others;
    }
}

#[derive(Debug)]
struct Listed {
    changed: i128,
    names: Arc<[u8]>,
    /// The search that used it last.
    used: AtomicU32,
}

impl Listed {
    fn bytes(&self) -> usize {
        self.names.len() + OVERHEAD
    }
}

/// The directories of one backend.
#[derive(Debug)]
pub(super) struct Listings {
    clock: fn() -> SystemTime,
    kept: RwLock<HashMap<(u64, u64), Listed>>,
    /// Which search is the last that began.
    search: AtomicU32,
    /// The search that last threw out what was not used any more.
    swept: AtomicU32,
}

impl Default for Listings {
    fn default() -> Self {
        Self::by(SystemTime::now)
    }
}

impl Listings {
    fn by(clock: fn() -> SystemTime) -> Self {
        Self { clock, kept: RwLock::default(), search: AtomicU32::new(0), swept: AtomicU32::new(0) }
    }

    /// Tells that a search begins: what it does not use may go where room is needed.
    pub(super) fn begin(&self) {
        self.search.fetch_add(1, Ordering::Relaxed);
    }

    /// The names of a directory that is in the state in which it was listed.
    pub(super) fn get(&self, state: State) -> Option<Arc<[u8]>> {
        let kept = self.kept.read();
        let listed = kept.get(&state.directory).filter(|listed| listed.changed == state.changed)?;
        listed.used.store(self.search.load(Ordering::Relaxed), Ordering::Relaxed);
        Some(Arc::clone(&listed.names))
    }

    /// Begins to take down a directory that was opened in `state`, before its names are asked for.
    pub(super) fn take_down(&self, state: State, record: &mut Record) {
        record.begin(state, (self.clock)());
    }

    /// Keeps what was listed in full of a directory that was in `state` before.
    pub(super) fn keep(&self, state: State, record: &Record) {
        if !record.is_whole {
            return;
        }
        let search = self.search.load(Ordering::Relaxed);
        let listed =
            Listed { changed: state.changed, names: record.bytes.as_slice().into(), used: AtomicU32::new(search) };
        let mut kept = self.kept.write();
        if let Some(before) = kept.remove(&state.directory) {
            HELD.fetch_sub(before.bytes(), Ordering::Relaxed);
        }
        if !take(listed.bytes()) {
            // Once a search: a tree that is too large is not to be thrown out again and again.
            if self.swept.swap(search, Ordering::Relaxed) == search {
                return;
            }
            kept.retain(|_, listed| {
                let is_used = *listed.used.get_mut() == search;
                if !is_used {
                    HELD.fetch_sub(listed.bytes(), Ordering::Relaxed);
                }
                is_used
            });
            if !take(listed.bytes()) {
                return;
            }
        }
        kept.insert(state.directory, listed);
    }
}

/// Whether there was room for so many bytes; they are taken.
fn take(bytes: usize) -> bool {
    let more = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= MOST_BYTES);
    HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

impl Drop for Listings {
    fn drop(&mut self) {
        let held = self.kept.get_mut().values().map(Listed::bytes).sum();
        HELD.fetch_sub(held, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

    use super::*;
    use crate::backend::local::system::{AsFd, tells_changes};
    use crate::backend::local::walk_handles::{Handle, ListingBuffer};

    const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    fn later() -> SystemTime {
        SystemTime::now() + REST + REST
    }

    fn state_of(folder: &Path) -> State {
        State::of(&fstat(openat(CWD, folder, DIRECTORY, Mode::empty()).unwrap()).unwrap())
    }

    /// The names of a folder as a search gets them, sorted.
    fn list(listings: &Listings, folder: &Path) -> Vec<(String, EntryKind)> {
        let handle = Handle::new(openat(CWD, folder, DIRECTORY, Mode::empty()).unwrap(), false).unwrap();
        let mut names = Vec::new();
        let mut take = |name: &[u8], kind| {
            names.push((String::from_utf8(name.to_vec()).unwrap(), kind));
            ControlFlow::Continue(())
        };
        handle.list(listings, &mut ListingBuffer::default(), &mut take).unwrap();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }

    /// Waits for the clock by which directories tell their changes to go on.
    fn wait_for_a_tick(folder: &Path) {
        let before = state_of(folder);
        let probe = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
        while state_of(probe.path()).changed <= before.changed {
            fs::write(probe.path().join("name"), "").unwrap();
            fs::remove_file(probe.path().join("name")).unwrap();
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Create,
        Folder,
        Link,
        Remove,
        Rename(u8),
        MoveOut,
        MoveIn,
        Rewrite,
    }

    fn take_step(inside: &Path, outside: &Path, name: u8, step: Step) {
        let path = |folder: &Path, name: u8| folder.join(format!("name {name}"));
        let place = path(inside, name);
        // What cannot be done leaves all as it is.
        let _ = match step {
            Step::Create => fs::write(&place, "new"),
            Step::Folder => fs::create_dir(&place),
            Step::Link => std::os::unix::fs::symlink("name 0", &place),
            Step::Remove => fs::remove_file(&place).or_else(|_| fs::remove_dir(&place)),
            Step::Rename(other) => fs::rename(&place, path(inside, other)),
            Step::MoveOut => fs::rename(&place, path(outside, name)),
            Step::MoveIn => fs::rename(path(outside, name), &place),
            Step::Rewrite => fs::OpenOptions::new().append(true).open(&place).map(drop),
        };
    }

    fn steps() -> impl Strategy<Value = Vec<(u8, Step)>> {
        let kind = prop_oneof![
            Just(Step::Create),
            Just(Step::Folder),
            Just(Step::Link),
            Just(Step::Remove),
            (0..4_u8).prop_map(Step::Rename),
            Just(Step::MoveOut),
            Just(Step::MoveIn),
            Just(Step::Rewrite),
        ];
        vec((0..4_u8, kind), 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn what_is_kept_is_what_is_there_after_any_change(steps in steps()) {
            let base = tempfile::tempdir().unwrap();
            let (inside, outside) = (base.path().join("inside"), base.path().join("outside"));
            fs::create_dir(&inside).unwrap();
            fs::create_dir(&outside).unwrap();
            let listings = Listings::by(later);
            for (name, step) in steps {
                prop_assert_eq!(list(&listings, &inside), list(&Listings::default(), &inside));
                wait_for_a_tick(&inside);
                take_step(&inside, &outside, name, step);
                prop_assert_eq!(list(&listings, &inside), list(&Listings::default(), &inside), "{:?}", step);
            }
        }
    }

    /// Where this file system is none of those that tell their changes nothing is kept.
    #[test]
    fn a_folder_that_rested_is_listed_once() {
        let base = tempfile::tempdir().unwrap();
        for name in ["b", "a", "über"] {
            fs::write(base.path().join(name), "").unwrap();
        }
        fs::create_dir(base.path().join("d")).unwrap();
        let listings = Listings::by(later);
        let first = list(&listings, base.path());
        assert_eq!(first.len(), 4);
        assert_eq!(list(&listings, base.path()), first);
        let handle = openat(CWD, base.path(), DIRECTORY, Mode::empty()).unwrap();
        assert_eq!(listings.get(state_of(base.path())).is_some(), tells_changes(handle.as_fd()));
    }

    #[test]
    fn a_folder_that_changed_just_now_is_not_kept() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("a"), "").unwrap();
        let listings = Listings::default();
        list(&listings, base.path());
        assert_eq!(listings.get(state_of(base.path())), None);
    }

    #[test]
    fn a_directory_rests_when_it_did_not_change_for_two_seconds() {
        let state = |changed| State { directory: (1, 1), changed };
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        for (changed, now, rests) in [
            (0, 3, true),
            (999_999_999, 3, true),
            (1_000_000_000, 3, false),
            (5_000_000_000, 3, false),
            (0, 2, false),
            (-1, 2, true),
            (-1, 1, false),
        ] {
            assert_eq!(state(changed).rests(at(now)), rests, "{changed} at {now}");
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let names: [(&[u8], EntryKind); 5] = [
            (b"file", EntryKind::File),
            (b"\xff\x01", EntryKind::Directory),
            (&[b'x'; 255], EntryKind::Link),
            (b"pipe", EntryKind::Other),
            (b"?", EntryKind::Unknown),
        ];
        let mut record = Record { bytes: Vec::new(), is_whole: true };
        for (name, kind) in names {
            record.add(name, kind);
        }
        assert!(record.is_whole);
        let mut read = Vec::new();
        visit_all(&record.bytes, |name, kind| {
            read.push((name.to_vec(), kind));
            ControlFlow::Continue(())
        });
        assert_eq!(read, names.map(|(name, kind)| (name.to_vec(), kind)));
        record.add(&[b'x'; 256], EntryKind::File);
        assert!(!record.is_whole, "no name is as long");
    }

    /// Others of this process may hold a little meanwhile: two thirds are never more than there is.
    #[test]
    fn what_no_search_uses_goes_where_room_is_needed() {
        let listings = Listings::by(later);
        let record = |bytes| Record { bytes: vec![0; bytes], is_whole: true };
        let state = |inode| State { directory: (1, inode), changed: 0 };
        let third = MOST_BYTES / 3;
        listings.begin();
        listings.keep(state(1), &record(third));
        listings.keep(state(2), &record(third));
        listings.keep(state(2), &record(third));
        assert!(listings.get(state(1)).is_some() && listings.get(state(2)).is_some());
        listings.begin();
        assert!(listings.get(state(2)).is_some());
        listings.keep(state(3), &record(third));
        assert_eq!([1, 2, 3].map(|inode| listings.get(state(inode)).is_some()), [false, true, true]);
        listings.keep(state(4), &record(third));
        assert_eq!([2, 3, 4].map(|inode| listings.get(state(inode)).is_some()), [true, true, false]);
        assert_eq!(listings.get(State { directory: (1, 2), changed: 1 }), None, "it changed");
        drop(listings);
        let others = Listings::by(later);
        others.keep(state(1), &record(third));
        others.keep(state(2), &record(third));
        assert!(
            others.get(state(1)).is_some() && others.get(state(2)).is_some(),
            "a backend that is gone holds nothing"
        );
    }
}
