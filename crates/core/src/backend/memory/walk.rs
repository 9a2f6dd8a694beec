//! How a search walks a snapshot: what [`crate::search`] asks of a tree.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::errors;
use super::tree::{Directory, File, Node, Place, Tree};
use super::{SHORT_BYTES, StateBackend};
use crate::backend::{Call, FileKind};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{
    self, EntryKind, FindOutcome, FindQuery, Followed, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Metadata,
    Obstacle, Opened, Outline, OutlineQuery, Quick,
};

/// 8 MiB: a few milliseconds of searching, in which starting threads would not pay.
const ONE_THREAD_BYTES: u64 = 8 << 20;
/// 256 Ki steps: a search that is over before a thread would have begun it, half a millisecond at the slowest.
const SHORT_STEPS: u64 = 256 << 10;
/// 400 µs: what a search may try that could take longer, but hardly ever does.
const TRIAL_TIME: Duration = Duration::from_micros(400);
/// 128 bytes of a pattern for names.
const SHORT_PATTERN_BYTES: usize = 128;

impl StateBackend {
    pub(super) async fn glob_now(&self, query: &GlobQuery, call: &Call) -> Result<GlobOutcome> {
        self.search(query, |query, _| is_short(&query.pattern), call, search::glob).await
    }

    pub(super) async fn grep_now(&self, query: &GrepQuery, call: &Call) -> Result<GrepOutcome> {
        self.grep_trying(query, call, TRIAL_TIME).await
    }

    /// A search whose pattern and tree are small is tried for `time` where it is asked for, and begun anew elsewhere when it is
    /// not over then; one that is surely short takes its time.
    pub(super) async fn grep_trying(&self, query: &GrepQuery, call: &Call, time: Duration) -> Result<GrepOutcome> {
        self.check_open()?;
        let tree = self.snapshot();
        if let Some(pattern) = self.quick_pattern(query, &tree) {
            self.mind_the_caller(0).await;
            // Starting threads would take longer than the search.
            let limits = Limits { search_threads: 1, ..self.limits.clone() };
            if pattern.most_steps(tree.bytes()) <= SHORT_STEPS {
                return pattern.grep(&tree, query, call, &limits);
            }
            if let Some(outcome) = pattern.try_grep(&tree, query, call, &Limits { search_timeout: time, ..limits })? {
                return Ok(outcome);
            }
        }
        self.search(query, |_, _| false, call, search::grep).await
    }

    pub(super) async fn find_now(&self, query: &FindQuery, call: &Call) -> Result<FindOutcome> {
        self.search(query, |query, _| is_short(&query.query), call, search::find).await
    }

    pub(super) async fn outline_now(&self, query: &OutlineQuery, call: &Call) -> Result<Outline> {
        self.search(query, |_, _| true, call, search::outline).await
    }

    /// The pattern of a search that is short, or most likely is; most trees are small and hold ASCII alone.
    pub(super) fn quick_pattern(&self, query: &GrepQuery, tree: &Tree) -> Option<Arc<Quick>> {
        let is_short = tree.bytes() <= SHORT_BYTES
            && query.globs.iter().map(String::len).sum::<usize>() <= SHORT_PATTERN_BYTES
            && is_short_tree(tree)
            && tree.is_ascii();
        if is_short { self.last_pattern.quick(query) } else { None }
    }

    async fn search<Q: Clone + Send + 'static, O: Send + 'static>(
        &self,
        query: &Q,
        is_short: fn(&Q, &Tree) -> bool,
        call: &Call,
        search: fn(&Tree, &Q, &Call, &Limits) -> Result<O>,
    ) -> Result<O> {
        self.check_open()?;
        let tree = self.snapshot();
        let mut limits = self.limits.clone();
        if tree.bytes() <= ONE_THREAD_BYTES {
            limits.search_threads = 1;
        }
        if is_short_tree(&tree) && is_short(query, &tree) {
            self.mind_the_caller(0).await;
            return search(&tree, query, call, &limits);
        }
        let (query, theirs) = (query.clone(), call.clone());
        // Never on a thread that others wait for: what a pattern costs is up to whoever wrote it.
        let task = tokio::task::spawn_blocking(move || search(&tree, &query, &theirs, &limits));
        tokio::select! {
            biased;
            joined = task => joined.map_err(|_| Error::internal("The search ended unexpectedly."))?,
            () = call.deadline.cancel.cancelled() => Err(call.deadline.reached().await),
        }
    }
}

fn is_short(pattern: &str) -> bool {
    pattern.len() <= SHORT_PATTERN_BYTES
}

/// Whether a walk of `tree` is short.
fn is_short_tree(tree: &Tree) -> bool {
    tree.entries() <= super::SHORT_ENTRIES && !tree.holds_ignore_files()
}

/// A file that is read from its beginning.
pub(super) struct Reader {
    file: Arc<File>,
    position: usize,
}

impl io::Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut rest = self.file.bytes.get(self.position..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.position += count;
        Ok(count)
    }
}

impl search::Tree for Tree {
    type Directory = Arc<Directory>;
    type File = Reader;
    type Buffer = ();

    fn open(&self, path: &VirtualPath) -> Result<Opened<Self::Directory>> {
        let resolved = path.clone();
        match self.find(path) {
            Place::Directory(directory) => Ok(Opened { resolved, directory: Arc::clone(directory), file: None }),
            Place::File(_) => {
                let parent = path.parent().unwrap_or_else(VirtualPath::root);
                let (Place::Directory(directory), Some(name)) = (self.find(&parent), path.file_name()) else {
                    return Err(errors::not_found(path));
                };
                Ok(Opened { resolved, directory: Arc::clone(directory), file: Some(name.as_bytes().to_vec()) })
            }
            Place::Missing { .. } | Place::Blocked { .. } => Err(errors::not_found(path)),
        }
    }

    fn entries(
        &self,
        directory: &Self::Directory,
        _buffer: &mut Self::Buffer,
        visit: &mut impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        for (name, node) in directory.entries.iter() {
            let kind = match node {
                Node::File(_) => EntryKind::File,
                Node::Directory(_) => EntryKind::Directory,
            };
            if visit(name.as_bytes(), kind).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn open_directory(&self, parent: &Self::Directory, name: &[u8]) -> Result<Self::Directory, Obstacle> {
        match entry(parent, name)? {
            Node::Directory(directory) => Ok(Arc::clone(directory)),
            Node::File(_) => Err(Obstacle::Unusable),
        }
    }

    fn open_file(&self, parent: &Self::Directory, name: &[u8]) -> Result<(Self::File, Metadata), Obstacle> {
        let node = entry(parent, name)?;
        match node {
            Node::File(file) => Ok((Reader { file: Arc::clone(file), position: 0 }, facts(node))),
            Node::Directory(_) => Err(Obstacle::Unusable),
        }
    }

    fn held(file: &Self::File) -> Option<&[u8]> {
        Some(&file.file.bytes)
    }

    fn metadata(&self, parent: &Self::Directory, name: &[u8]) -> Result<Metadata, Obstacle> {
        entry(parent, name).map(facts)
    }

    fn follow(&self, _parent: &Self::Directory, _name: &[u8], _path: &[u8]) -> Result<Followed, Obstacle> {
        Err(Obstacle::Unusable)
    }
}

fn entry<'a>(directory: &'a Directory, name: &[u8]) -> Result<&'a Node, Obstacle> {
    std::str::from_utf8(name).ok().and_then(|name| directory.entries.get(name)).ok_or(Obstacle::Unusable)
}

fn facts(node: &Node) -> Metadata {
    match node {
        Node::File(file) => Metadata { kind: FileKind::File, size: file.size(), modified_ns: Some(file.modified_ns) },
        Node::Directory(directory) => {
            Metadata { kind: FileKind::Directory, size: 0, modified_ns: Some(directory.modified_ns) }
        }
    }
}
