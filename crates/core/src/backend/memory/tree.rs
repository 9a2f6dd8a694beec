//! [`Tree`]: directories and files in memory, as one value whose copy is a snapshot.
//!
//! Everything below the root is shared between copies and copied only along the path of a change. The tree keeps its
//! quotas and its own rules (a name is a file or a directory, never both); it knows no guards, calls or locks, which
//! are its neighbours `read` and `write`. Nothing here recurses: the one thing that does, dropping nested directories,
//! is bounded by [`StateLimits::depth`](super::StateLimits).

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::names::Names;
use super::{StateLimits, errors};
use crate::backend::{FileInfo, FileKind, FileVersion};
use crate::error::Result;
use crate::path::{MAX_PATH_BYTES, VirtualPath};

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Node {
    File(Arc<File>),
    Directory(Arc<Directory>),
}

/// A regular file.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    /// Unique within the tree and its copies.
    inode: u64,
    pub(super) created_ns: i64,
    pub(super) modified_ns: i64,
}

/// A directory.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    pub(super) entries: Names<Node>,
    /// When an entry was last added or removed.
    pub(super) modified_ns: i64,
}

/// When a file was made and changed, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) created_ns: i64,
    pub(super) modified_ns: i64,
}

/// All files of one backend.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    root: Arc<Directory>,
    bytes: u64,
    entries: u64,
    last_inode: u64,
    /// The latest time that anything carries. Times only ascend, so that two states of a file never look the same.
    clock_ns: i64,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    File(&'a Arc<File>),
    Directory(&'a Arc<Directory>),
    /// Nothing; the first `existing` names are directories.
    Missing {
        existing: usize,
    },
    /// Nothing, and nothing can be: the first `names` names lead to a file.
    Blocked {
        names: usize,
    },
}

/// What a change of content did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) created: bool,
    pub(super) version: FileVersion,
}

/// What lies at and below a node.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    entries: u64,
    bytes: u64,
    /// Names below the node, at the deepest place.
    height: usize,
    /// Bytes of the longest path below the node.
    path_bytes: usize,
}

impl File {
    pub(super) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(super) fn version(&self) -> FileVersion {
        FileVersion {
            device: 0,
            inode: self.inode,
            size: self.size(),
            modified_ns: i128::from(self.modified_ns),
            changed_ns: i128::from(self.modified_ns),
        }
    }
}

impl Node {
    pub(super) fn kind(&self) -> FileKind {
        match self {
            Self::File(_) => FileKind::File,
            Self::Directory(_) => FileKind::Directory,
        }
    }

    pub(super) fn info(&self, name: &str, path: String) -> FileInfo {
        let (size, modified_ns) = match self {
            Self::File(file) => (file.size(), file.modified_ns),
            Self::Directory(directory) => (0, directory.modified_ns),
        };
        FileInfo {
            name: name.to_owned(),
            path,
            kind: self.kind(),
            size,
            modified_at: Some(modified_ns.div_euclid(1_000_000)),
        }
    }

    fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        let mut open = vec![(self, 0_usize, 0_usize)];
        while let Some((node, height, path_bytes)) = open.pop() {
            extent.entries += 1;
            extent.height = extent.height.max(height);
            extent.path_bytes = extent.path_bytes.max(path_bytes);
            match node {
                Self::File(file) => extent.bytes += file.size(),
                Self::Directory(directory) => open.extend(
                    directory.entries.iter().map(|(name, node)| (node, height + 1, path_bytes + 1 + name.len())),
                ),
            }
        }
        extent
    }
}

impl Tree {
    pub(super) fn new() -> Self {
        let mut tree = Self { root: Arc::default(), bytes: 0, entries: 0, last_inode: 0, clock_ns: 0 };
        let now = tree.tick();
        tree.root = Arc::new(Directory { entries: Names::default(), modified_ns: now });
        tree
    }

    pub(super) fn root(&self) -> &Arc<Directory> {
        &self.root
    }

    /// Whether any file has rules for what a search passes over.
    pub(super) fn holds_ignore_files(&self) -> bool {
        let mut open = vec![&self.root];
        while let Some(directory) = open.pop() {
            for (name, node) in directory.entries.iter() {
                match node {
                    Node::File(_) if matches!(name, ".gitignore" | ".ignore") => return true,
                    Node::File(_) => {}
                    Node::Directory(directory) => open.push(directory),
                }
            }
        }
        false
    }

    /// Whether every file holds ASCII alone. Looks at all of them.
    pub(super) fn is_ascii(&self) -> bool {
        let mut open = vec![&self.root];
        while let Some(directory) = open.pop() {
            for (_, node) in directory.entries.iter() {
                match node {
                    Node::File(file) if !file.bytes.is_ascii() => return false,
                    Node::File(_) => {}
                    Node::Directory(directory) => open.push(directory),
                }
            }
        }
        true
    }

    /// Files and directories.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn find(&self, path: &VirtualPath) -> Place<'_> {
        let mut directory = &self.root;
        let mut names = names_of(path).enumerate().peekable();
        while let Some((index, name)) = names.next() {
            match directory.entries.get(name) {
                None => return Place::Missing { existing: index },
                Some(Node::Directory(next)) => directory = next,
                Some(Node::File(file)) if names.peek().is_none() => return Place::File(file),
                Some(Node::File(_)) => return Place::Blocked { names: index + 1 },
            }
        }
        Place::Directory(directory)
    }

    /// Replaces the content of a file, or creates it with its parents. `times` are those of a document; without them a
    /// new file is made now, and an old one keeps when it was made.
    pub(super) fn put(
        &mut self,
        path: &VirtualPath,
        mut bytes: Vec<u8>,
        times: Option<Times>,
        limits: &StateLimits,
    ) -> Result<Stored> {
        let (old, existing) = self.writable_file(path)?;
        let old = old.map(|file| (file.size(), file.created_ns));
        let size = bytes.len() as u64;
        let old_size = old.map_or(0, |(size, _)| size);
        self.check_size(path, old_size, size, limits)?;
        if let Some(existing) = existing {
            self.check_new_names(path, existing, limits)?;
        }
        bytes.shrink_to_fit();
        let now = self.tick();
        let created_ns = old.map_or(now, |(_, created_ns)| created_ns);
        let times = times.unwrap_or(Times { created_ns, modified_ns: now });
        // The directories of a document have no times but those of what they hold.
        let now = times.modified_ns;
        self.clock_ns = self.clock_ns.max(times.modified_ns);
        self.bytes = self.bytes - old_size + size;
        let last_inode = self.last_inode;
        let (directory, made, name) = self.open_parent(path, now)?;
        let inode = match directory.entries.get(name) {
            Some(Node::File(file)) => file.inode,
            Some(Node::Directory(_)) | None => last_inode + 1,
        };
        let file = File { bytes, inode, created_ns: times.created_ns, modified_ns: times.modified_ns };
        let version = file.version();
        let created = directory.entries.insert(name, Node::File(Arc::new(file))).is_none();
        if created {
            directory.modified_ns = directory.modified_ns.max(now);
            self.last_inode = inode;
            self.entries += made + 1;
        }
        Ok(Stored { created, version })
    }

    /// Adds bytes at the end of a file, or creates it with its parents.
    pub(super) fn append(&mut self, path: &VirtualPath, bytes: Vec<u8>, limits: &StateLimits) -> Result<Stored> {
        let (Some(old), _) = self.writable_file(path)? else {
            return self.put(path, bytes, None, limits);
        };
        let (old_size, added) = (old.size(), bytes.len() as u64);
        self.check_size(path, old_size, old_size + added, limits)?;
        let now = self.tick();
        let (directory, _, name) = self.open_parent(path, now)?;
        let Some(Node::File(shared)) = directory.entries.get_mut(name) else {
            return Err(errors::not_found(path));
        };
        let file = Arc::make_mut(shared);
        file.bytes.extend_from_slice(&bytes);
        file.modified_ns = now;
        let version = file.version();
        self.bytes += added;
        Ok(Stored { created: false, version })
    }

    /// Makes a directory and its parents. `false` when it existed.
    pub(super) fn make_directory(&mut self, path: &VirtualPath, limits: &StateLimits) -> Result<bool> {
        let existing = match self.find(path) {
            Place::Directory(_) => return Ok(false),
            Place::File(_) => return Err(errors::already_a_file(path)),
            Place::Blocked { names } => return Err(errors::not_a_directory(path, names)),
            Place::Missing { existing } => existing,
        };
        self.check_new_names(path, existing, limits)?;
        let now = self.tick();
        let (directory, made, name) = self.open_parent(path, now)?;
        directory.entries.insert(name, empty_directory(now));
        directory.modified_ns = now;
        self.entries += made + 1;
        Ok(true)
    }

    /// Sets when a directory changed, as a document says.
    pub(super) fn set_directory_time(&mut self, path: &VirtualPath, modified_ns: i64) {
        self.clock_ns = self.clock_ns.max(modified_ns);
        let mut directory = Arc::make_mut(&mut self.root);
        for name in names_of(path) {
            match directory.entries.get_mut(name) {
                Some(Node::Directory(next)) => directory = Arc::make_mut(next),
                Some(Node::File(_)) | None => return,
            }
        }
        directory.modified_ns = modified_ns;
    }

    /// Removes a file or directory. Returns the count of entries removed.
    pub(super) fn remove(&mut self, path: &VirtualPath, recursive: bool) -> Result<u64> {
        let node = self.movable(path)?;
        if let Node::Directory(directory) = &node
            && !recursive
            && !directory.entries.is_empty()
        {
            return Err(errors::directory_not_empty(path, directory.entries.len()));
        }
        let extent = node.extent();
        let now = self.tick();
        self.take(path, now)?;
        self.entries -= extent.entries;
        self.bytes -= extent.bytes;
        Ok(extent.entries)
    }

    /// Moves a file or directory to a name that does not exist yet; its parents are made.
    pub(super) fn rename(&mut self, from: &VirtualPath, to: &VirtualPath, limits: &StateLimits) -> Result<()> {
        let node = self.movable(from)?;
        if to.is_within(from) {
            return Err(errors::into_itself(from, to));
        }
        let existing = self.free_name(to)?;
        let extent = node.extent();
        if to.as_str().len() + extent.path_bytes > MAX_PATH_BYTES {
            return Err(errors::paths_too_long(from, to));
        }
        let depth = names_of(to).count();
        check_depth(to, depth + extent.height, limits)?;
        // The entries that move are counted already: only the parents that are made are new.
        self.check_entries(to, (depth - existing - 1) as u64, limits)?;
        let now = self.tick();
        self.take(from, now)?;
        self.place(to, node, now)
    }

    /// Copies one file to a name that does not exist yet; its parents are made. Returns the bytes copied.
    pub(super) fn copy(&mut self, from: &VirtualPath, to: &VirtualPath, limits: &StateLimits) -> Result<u64> {
        let mut file = match self.find(from) {
            Place::File(file) => (**file).clone(),
            Place::Directory(_) => return Err(errors::not_a_file(from)),
            Place::Missing { .. } => return Err(errors::not_found(from)),
            Place::Blocked { names } => return Err(errors::not_a_directory(from, names)),
        };
        let existing = self.free_name(to)?;
        self.check_size(to, 0, file.size(), limits)?;
        self.check_new_names(to, existing, limits)?;
        let now = self.tick();
        self.last_inode += 1;
        file.inode = self.last_inode;
        file.created_ns = now;
        file.modified_ns = now;
        let size = file.size();
        self.bytes += size;
        self.entries += 1;
        self.place(to, Node::File(Arc::new(file)), now)?;
        Ok(size)
    }

    /// Puts a node where nothing is, making the parents. The node itself is counted already.
    fn place(&mut self, path: &VirtualPath, node: Node, now: i64) -> Result<()> {
        let (directory, made, name) = self.open_parent(path, now)?;
        directory.entries.insert(name, node);
        directory.modified_ns = now;
        self.entries += made;
        Ok(())
    }

    /// Takes an existing entry out of its directory.
    fn take(&mut self, path: &VirtualPath, now: i64) -> Result<()> {
        let (directory, _, name) = self.open_parent(path, now)?;
        directory.entries.remove(name);
        directory.modified_ns = now;
        Ok(())
    }

    /// The directory that holds the last name of `path`, to change, with the count of directories that had to be made.
    fn open_parent<'t, 'p>(&'t mut self, path: &'p VirtualPath, now: i64) -> Result<(&'t mut Directory, u64, &'p str)> {
        let Some(last) = path.file_name() else { return Err(errors::is_the_root()) };
        let parents = names_of(path).count() - 1;
        let mut made = 0;
        let mut directory = Arc::make_mut(&mut self.root);
        for (index, name) in names_of(path).take(parents).enumerate() {
            if directory.entries.get(name).is_none() {
                directory.entries.insert(name, empty_directory(now));
                directory.modified_ns = now;
                made += 1;
            }
            match directory.entries.get_mut(name) {
                Some(Node::Directory(next)) => directory = Arc::make_mut(next),
                Some(Node::File(_)) | None => return Err(errors::not_a_directory(path, index + 1)),
            }
        }
        Ok((directory, made, last))
    }

    /// The file at `path` to write; otherwise how many of the path's names exist.
    fn writable_file(&self, path: &VirtualPath) -> Result<(Option<&Arc<File>>, Option<usize>)> {
        match self.find(path) {
            Place::File(file) => Ok((Some(file), None)),
            Place::Missing { existing } => Ok((None, Some(existing))),
            Place::Directory(_) => Err(errors::not_a_file(path)),
            Place::Blocked { names } => Err(errors::not_a_directory(path, names)),
        }
    }

    /// The node at `path`, which has a name that can be taken away.
    fn movable(&self, path: &VirtualPath) -> Result<Node> {
        if path.is_root() {
            return Err(errors::is_the_root());
        }
        match self.find(path) {
            Place::File(file) => Ok(Node::File(Arc::clone(file))),
            Place::Directory(directory) => Ok(Node::Directory(Arc::clone(directory))),
            Place::Missing { .. } => Err(errors::not_found(path)),
            Place::Blocked { names } => Err(errors::not_a_directory(path, names)),
        }
    }

    /// How many names of `path`, which must not exist, do.
    fn free_name(&self, path: &VirtualPath) -> Result<usize> {
        match self.find(path) {
            Place::Missing { existing } => Ok(existing),
            Place::File(_) | Place::Directory(_) => Err(errors::already_exists(path)),
            Place::Blocked { names } => Err(errors::not_a_directory(path, names)),
        }
    }

    fn check_size(&self, path: &VirtualPath, old: u64, new: u64, limits: &StateLimits) -> Result<()> {
        if new > limits.file_bytes {
            return Err(errors::file_too_large(path, new, limits.file_bytes));
        }
        if new > old && self.bytes - old + new > limits.total_bytes {
            return Err(errors::storage_full(path, limits.total_bytes));
        }
        Ok(())
    }

    fn check_new_names(&self, path: &VirtualPath, existing: usize, limits: &StateLimits) -> Result<()> {
        let depth = names_of(path).count();
        check_depth(path, depth, limits)?;
        self.check_entries(path, (depth - existing) as u64, limits)
    }

    fn check_entries(&self, path: &VirtualPath, new: u64, limits: &StateLimits) -> Result<()> {
        if self.entries + new > limits.entries { Err(errors::too_many_entries(path, limits.entries)) } else { Ok(()) }
    }

    /// The present, later than every time that the tree carries.
    pub(super) fn tick(&mut self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let now = now.and_then(|now| i64::try_from(now.as_nanos()).ok()).unwrap_or(0);
        self.clock_ns = now.max(self.clock_ns.saturating_add(1));
        self.clock_ns
    }
}

/// The names of a path, from the root down.
pub(super) fn names_of(path: &VirtualPath) -> impl Iterator<Item = &str> {
    path.as_str().split('/').filter(|name| !name.is_empty())
}

fn check_depth(path: &VirtualPath, depth: usize, limits: &StateLimits) -> Result<()> {
    if depth > limits.depth() { Err(errors::too_deep(path, limits.depth())) } else { Ok(()) }
}

fn empty_directory(now: i64) -> Node {
    Node::Directory(Arc::new(Directory { entries: Names::default(), modified_ns: now }))
}
