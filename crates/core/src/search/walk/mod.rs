//! The walk that every search makes: from directory handle to directory handle, on several threads, in bounded memory.
//!
//! ```text
//! Queue of tasks (last in, first out)      a directory to enter, or a batch of files to look into
//!   └ Worker, one a thread                 lists a directory, filters its names, hands hits to its visitor
//!       └ Visitor                          glob, grep: what to do with a hit; decides nothing about the walk
//! ```
//!
//! Last in, first out keeps the walk depth-first, so that few directories are open at a time; beyond
//! [`MAX_OPEN_DIRECTORIES`] a task remembers its path instead of its parent's handle and goes down again from the
//! root. An entry that vanishes or cannot be read is left out and ends nothing (D74). Links are never entered.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use self::queue::{Busy, Queue, Task};
use super::filter::{Filter, Place};
use super::ignore_rules::{Present, Rules};
use super::pattern::Hit;
use super::query::EntryFilter;
use super::tree::{EntryKind, Obstacle, Tree};
use crate::cancel::Deadline;
use crate::error::Result;
use crate::file_info::FileKind;
use crate::path::{MAX_PATH_BYTES, VirtualPath};

mod queue;

/// 256: well below the descriptors that a process may have (1,024 where nobody raised it).
const MAX_OPEN_DIRECTORIES: usize = 256;
/// 64 MiB of names in one directory: millions of entries; the rest is left out and the answer called incomplete.
const MAX_LISTING_BYTES: usize = 64 << 20;
/// 8: a walk of fewer directories than this ends before another thread would have begun.
const TASKS_WORTH_A_THREAD: usize = 8;
/// 32: files that a thread takes at once when looking into them is what costs.
const BATCH: usize = 32;

/// What to walk, and how.
pub(crate) struct Walk<'a, T> {
    pub(crate) tree: &'a T,
    pub(crate) filter: &'a Filter,
    /// Which kinds of entries are hits.
    pub(crate) entries: EntryFilter,
    /// Whether a link to a hit is one.
    pub(crate) links: bool,
    /// Levels of directories to go down: 1 for the entries of the first one alone.
    pub(crate) levels: u32,
    /// Whether ignore files are honoured.
    pub(crate) respect_ignore: bool,
    /// Whether a hit costs much more than its listing, so that one directory's hits are worth sharing out.
    pub(crate) costly: bool,
    pub(crate) threads: usize,
    pub(crate) deadline: &'a Deadline,
}

/// Where a walk begins.
pub(crate) struct Root<D> {
    pub(crate) directory: D,
    /// The path under which entries are shown.
    pub(crate) path: VirtualPath,
    /// The ignore rules from above.
    pub(crate) rules: Option<Arc<Rules>>,
}

/// An entry that the walk hands out.
pub(crate) struct Entry<'a, T: Tree> {
    pub(crate) directory: &'a T::Directory,
    /// The name in that directory.
    pub(crate) name: &'a [u8],
    /// The whole path as bytes; not UTF-8 where a name on the way is not.
    pub(crate) path: &'a [u8],
    pub(crate) kind: EntryKind,
}

/// What is done with the hits of one thread.
pub(crate) trait Visitor<T: Tree>: Send {
    /// Takes one hit. Breaks when the whole search is to end.
    fn visit(&mut self, entry: Entry<'_, T>) -> ControlFlow<()>;
}

/// How a walk ended.
pub(crate) struct Walked<V> {
    /// The visitors of all threads.
    pub(crate) visitors: Vec<V>,
    /// Entries that ignore files left out, whatever lies below them not counted.
    pub(crate) ignored: u64,
    /// Those that would have been hits or looked into.
    pub(crate) left_out: u64,
    /// Whether time or a budget ended it, or something could not be looked into for want of descriptors.
    pub(crate) incomplete: bool,
}

struct Node<'a, D> {
    directory: D,
    /// Ends with `/`.
    path: Vec<u8>,
    /// 1 for where the walk begins.
    level: u32,
    place: Place,
    rules: Option<Arc<Rules>>,
    _open: OpenCount<'a>,
}

/// Counts a directory as open for as long as it lives.
struct OpenCount<'a>(&'a AtomicUsize);

impl<'a> OpenCount<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for OpenCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T: Tree> Walk<'_, T> {
    /// Walks everything below `root`. `Aborted` when the caller cancelled; a deadline only makes it incomplete.
    pub(crate) fn run<V: Visitor<T>>(
        &self,
        root: Root<T::Directory>,
        visitor: impl Fn() -> V + Sync,
    ) -> Result<Walked<V>> {
        let open = AtomicUsize::new(0);
        let queue = Queue::default();
        let shared = Shared { walk: self, queue: &queue, root: OnceLock::new(), open: &open };
        let mut path = root.path.as_str().as_bytes().to_vec();
        if !root.path.is_root() {
            path.push(b'/');
        }
        let mut first_visitor = visitor();
        let mut first = Worker::new(&shared, &mut first_visitor);
        first.list(root.directory, path, 1, self.filter.start(), root.rules);
        let (mut ignored, mut left_out) = (0, 0);
        let mut visitors = Vec::with_capacity(self.threads.max(1));
        std::thread::scope(|scope| {
            let mut helpers = Vec::new();
            first.run(&mut |waiting| {
                if waiting < TASKS_WORTH_A_THREAD || helpers.len() + 1 >= self.threads {
                    return;
                }
                let (shared, visitor) = (&shared, &visitor);
                let helper = move || {
                    let mut visitor = visitor();
                    let mut worker = Worker::new(shared, &mut visitor);
                    worker.run(&mut |_| {});
                    let counts = (worker.ignored, worker.left_out);
                    (visitor, counts)
                };
                // Without another thread the walk is slower, not wrong.
                helpers.extend(std::thread::Builder::new().name("search".into()).spawn_scoped(scope, helper));
            });
            for helper in helpers {
                match helper.join() {
                    Ok((visitor, counts)) => {
                        visitors.push(visitor);
                        ignored += counts.0;
                        left_out += counts.1;
                    }
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        ignored += first.ignored;
        left_out += first.left_out;
        visitors.push(first_visitor);
        if self.deadline.cancel.is_cancelled() {
            self.deadline.check()?;
        }
        Ok(Walked { visitors, ignored, left_out, incomplete: queue.incomplete.load(Ordering::Relaxed) })
    }

    fn wants(&self, kind: EntryKind) -> bool {
        match (kind, self.entries) {
            (EntryKind::File, EntryFilter::Files | EntryFilter::Any)
            | (EntryKind::Directory, EntryFilter::Directories | EntryFilter::Any) => true,
            (EntryKind::Link, _) => self.links,
            (EntryKind::File, EntryFilter::Directories)
            | (EntryKind::Directory, EntryFilter::Files)
            | (EntryKind::Other | EntryKind::Unknown, _) => false,
        }
    }
}

struct Shared<'s, 'a, T: Tree> {
    walk: &'s Walk<'s, T>,
    queue: &'s Queue<'a, T::Directory>,
    /// The first directory that was listed, which paths in tasks go down from.
    root: OnceLock<Arc<Node<'a, T::Directory>>>,
    open: &'a AtomicUsize,
}

struct Worker<'s, 'a, T: Tree> {
    shared: &'s Shared<'s, 'a, T>,
    /// Behind a pointer: the walk is compiled once for each kind of tree, not for each kind of search.
    visitor: &'s mut dyn Visitor<T>,
    buffer: T::Buffer,
    listing: Listing,
    /// Tasks found in the present directory and not yet shared.
    found: Vec<Task<'a, T::Directory>>,
    /// Tasks that waited when some were last shared.
    waiting: usize,
    /// The path of the present entry.
    path: Vec<u8>,
    /// Entries seen, for looking at the clock now and then only.
    seen: u32,
    /// Entries that ignore files left out.
    ignored: u64,
    /// Those that would have been hits or looked into.
    left_out: u64,
}

/// The names of one directory, one after the other.
#[derive(Default)]
struct Listing {
    names: Vec<u8>,
    /// Where each name ends.
    entries: Vec<(usize, EntryKind)>,
    /// Indexes of files that are hits.
    hits: Vec<usize>,
}

impl Listing {
    fn name(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.entries[before].0);
        &self.names[start..self.entries[index].0]
    }
}

impl<'s, 'a, T: Tree> Worker<'s, 'a, T> {
    fn new(shared: &'s Shared<'s, 'a, T>, visitor: &'s mut dyn Visitor<T>) -> Self {
        Self {
            shared,
            visitor,
            buffer: T::Buffer::default(),
            listing: Listing::default(),
            found: Vec::new(),
            waiting: 0,
            path: Vec::new(),
            seen: 0,
            ignored: 0,
            left_out: 0,
        }
    }

    /// Works until nothing is left. `waiting` is told after each task how many waited when some were added.
    fn run(&mut self, waiting: &mut dyn FnMut(usize)) {
        waiting(self.waiting);
        while let Some(task) = self.shared.queue.next() {
            let busy = Busy(self.shared.queue);
            self.work(task);
            drop(busy);
            waiting(std::mem::take(&mut self.waiting));
        }
    }

    fn work(&mut self, task: Task<'a, T::Directory>) {
        let tree = self.shared.walk.tree;
        let (directory, path, level, place, rules) = match task {
            Task::Files { directory, files } => {
                for (name, kind) in files {
                    if self.must_stop() || self.visit(&directory, &name, kind).is_break() {
                        return;
                    }
                }
                return;
            }
            Task::Enter { parent, name, place } => {
                let mut path = Vec::with_capacity(parent.path.len() + name.len() + 1);
                path.extend_from_slice(&parent.path);
                path.extend_from_slice(&name);
                path.push(b'/');
                (tree.open_directory(&parent.directory, &name), path, parent.level + 1, place, parent.rules.clone())
            }
            Task::EnterFromRoot { path, level, place, rules } => {
                (self.open_from_root(&path), path, level, place, rules)
            }
        };
        match directory {
            Ok(directory) => self.list(directory, path, level, place, rules),
            Err(obstacle) => self.shared.queue.note(obstacle),
        }
    }

    fn open_from_root(&self, path: &[u8]) -> Result<T::Directory, Obstacle> {
        let tree = self.shared.walk.tree;
        let root = self.shared.root.get().ok_or(Obstacle::Unusable)?;
        let below = path.get(root.path.len()..).unwrap_or_default();
        let mut reached: Option<T::Directory> = None;
        for name in below.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            reached = Some(tree.open_directory(reached.as_ref().unwrap_or(&root.directory), name)?);
        }
        reached.ok_or(Obstacle::Unusable)
    }

    /// Lists a directory, hands out its hits and shares the directories below it.
    fn list(&mut self, directory: T::Directory, path: Vec<u8>, level: u32, place: Place, above: Option<Arc<Rules>>) {
        if self.must_stop() {
            return;
        }
        let walk = self.shared.walk;
        let mut listing = std::mem::take(&mut self.listing);
        let present = self.read(&directory, &mut listing);
        let rules = if walk.respect_ignore {
            Rules::within(above.as_ref(), walk.tree, &directory, path.len(), present)
        } else {
            None
        };
        let node = Arc::new(Node { directory, path, level, place, rules, _open: OpenCount::new(self.shared.open) });
        let _ = self.shared.root.get_or_init(|| Arc::clone(&node));
        self.path.clear();
        self.path.extend_from_slice(&node.path);
        for index in 0..listing.entries.len() {
            if self.must_stop() {
                break;
            }
            let kind = listing.entries[index].1;
            if let Some(kind) = self.judge(&node, listing.name(index), kind) {
                if walk.costly {
                    listing.hits.push(index);
                    listing.entries[index].1 = kind;
                } else if self.visit(&node, listing.name(index), kind).is_break() {
                    break;
                }
            }
        }
        self.share_hits(&node, &mut listing);
        for &index in &listing.hits {
            if self.must_stop() || self.visit(&node, listing.name(index), listing.entries[index].1).is_break() {
                break;
            }
        }
        self.listing = listing;
    }

    /// Reads the names of a directory into `listing`.
    fn read(&mut self, directory: &T::Directory, listing: &mut Listing) -> Present {
        let walk = self.shared.walk;
        listing.names.clear();
        listing.entries.clear();
        listing.hits.clear();
        let mut present = Present::default();
        let mut overlong = false;
        let ended = walk.tree.entries(directory, &mut self.buffer, &mut |name, kind| {
            present.note(name);
            listing.names.extend_from_slice(name);
            listing.entries.push((listing.names.len(), kind));
            overlong = listing.names.len() >= MAX_LISTING_BYTES;
            let late = listing.entries.len().is_multiple_of(1024) && walk.deadline.check().is_err();
            if overlong || late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if overlong {
            self.shared.queue.incomplete.store(true, Ordering::Relaxed);
        }
        if let Err(obstacle) = ended {
            self.shared.queue.note(obstacle);
        }
        present
    }

    /// Decides about one entry: a directory to enter becomes a task; a hit is returned with its kind.
    fn judge(&mut self, node: &Arc<Node<'a, T::Directory>>, name: &[u8], kind: EntryKind) -> Option<EntryKind> {
        let walk = self.shared.walk;
        if node.path.len() + name.len() > MAX_PATH_BYTES {
            return None;
        }
        let kind = match kind {
            EntryKind::Unknown => match walk.tree.metadata(&node.directory, name).ok()?.kind {
                FileKind::File => EntryKind::File,
                FileKind::Directory => EntryKind::Directory,
                FileKind::Symlink => EntryKind::Link,
                FileKind::Other => EntryKind::Other,
            },
            known @ (EntryKind::File | EntryKind::Directory | EntryKind::Link | EntryKind::Other) => known,
        };
        let mut is_left_out = false;
        let hit = match kind {
            EntryKind::Directory => {
                let entered = if node.level < walk.levels { walk.filter.enter(&node.place, name) } else { None };
                if let Some((place, hit)) = entered {
                    is_left_out = hit != Hit::Named && self.is_ignored(node, name, true);
                    if !is_left_out {
                        self.enter_later(node, name, place);
                    }
                }
                if walk.wants(kind) { walk.filter.entry(&node.place, name) } else { Hit::No }
            }
            EntryKind::File | EntryKind::Link if walk.wants(kind) => walk.filter.file(&node.place, name),
            EntryKind::File | EntryKind::Link | EntryKind::Other | EntryKind::Unknown => Hit::No,
        };
        let taken = match hit {
            Hit::No => false,
            Hit::Named => true,
            Hit::Pattern => {
                let is_ignored = self.is_ignored(node, name, kind == EntryKind::Directory);
                self.ignored += u64::from(is_ignored);
                is_left_out |= is_ignored;
                !is_ignored
            }
        };
        // Nobody misses what git keeps for itself.
        self.left_out += u64::from(is_left_out && name != b".git");
        taken.then_some(kind)
    }

    fn is_ignored(&mut self, node: &Node<'a, T::Directory>, name: &[u8], is_directory: bool) -> bool {
        if !self.shared.walk.respect_ignore {
            return false;
        }
        // What git keeps for itself is no part of the tree that ignore files speak of.
        if name == b".git" {
            return true;
        }
        let Some(rules) = &node.rules else { return false };
        self.path.truncate(node.path.len());
        self.path.extend_from_slice(name);
        rules.ignores(&self.path, is_directory)
    }

    fn enter_later(&mut self, node: &Arc<Node<'a, T::Directory>>, name: &[u8], place: Place) {
        self.found.push(if self.shared.open.load(Ordering::Relaxed) < MAX_OPEN_DIRECTORIES {
            Task::Enter { parent: Arc::clone(node), name: name.into(), place }
        } else {
            let path = [node.path.as_slice(), name, b"/"].concat();
            Task::EnterFromRoot { path, level: node.level + 1, place, rules: node.rules.clone() }
        });
    }

    /// Shares the directories found, and all hits but the first batch where they are worth it.
    fn share_hits(&mut self, node: &Arc<Node<'a, T::Directory>>, listing: &mut Listing) {
        if listing.hits.len() > BATCH && self.shared.walk.threads > 1 {
            let rest = listing.hits.split_off(BATCH);
            for batch in rest.chunks(BATCH) {
                let files = batch.iter().map(|&index| (listing.name(index).into(), listing.entries[index].1)).collect();
                self.found.push(Task::Files { directory: Arc::clone(node), files });
            }
        }
        self.waiting = self.shared.queue.add(&mut self.found);
    }

    fn visit(&mut self, node: &Node<'a, T::Directory>, name: &[u8], kind: EntryKind) -> ControlFlow<()> {
        self.path.clear();
        self.path.extend_from_slice(&node.path);
        self.path.extend_from_slice(name);
        let flow = self.visitor.visit(Entry { directory: &node.directory, name, path: &self.path, kind });
        if flow.is_break() {
            self.shared.queue.incomplete.store(true, Ordering::Relaxed);
            self.shared.queue.end();
        }
        flow
    }

    /// Whether the search is over; asks the clock for the first entry and then every eighth, since one may take a while
    /// to hold against a pattern that was made to be slow.
    fn must_stop(&mut self) -> bool {
        const ENTRIES_A_LOOK: u32 = 8;
        let queue = self.shared.queue;
        if queue.stop.load(Ordering::Relaxed) {
            return true;
        }
        let walk = self.shared.walk;
        let look = walk.costly || self.seen.is_multiple_of(ENTRIES_A_LOOK);
        self.seen = self.seen.wrapping_add(1);
        let over = walk.deadline.cancel.is_cancelled() || (look && walk.deadline.check().is_err());
        if over {
            queue.incomplete.store(true, Ordering::Relaxed);
            queue.end();
        }
        over
    }
}
