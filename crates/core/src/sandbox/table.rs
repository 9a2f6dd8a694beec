//! [`MountTable`]: the longest mount prefix of a path, and what may be done there. Pure: no disk, no clock.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::derive::Scope;
use super::errors::{file_too_large, not_in_sandbox, not_writable, suffix_not_allowed};
use super::mount::MountMode;
use crate::error::Result;
use crate::order;
use crate::path::VirtualPath;

/// Names one mount of one table: its place in the author's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MountId(pub(super) usize);

impl MountId {
    /// The place in [`MountTable::mounts`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// One mount as the table holds it: normalised, without its host directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// The path that the agent sees.
    pub mount_point: VirtualPath,
    /// Other spellings of the mount point that are accepted, such as the canonical one of a linked directory.
    pub aliases: Vec<VirtualPath>,
    /// Whether writes are taken.
    pub mode: MountMode,
    /// Lower-cased suffixes with their dot; `None`: every name.
    pub suffixes: Option<Vec<String>>,
    /// Bytes of the largest file.
    pub max_file_bytes: Option<u64>,
    /// Whether somebody is asked before a write.
    pub write_approval: bool,
    /// Whether somebody is asked before a read.
    pub read_approval: bool,
}

/// A path and the mount that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The mount.
    pub mount: MountId,
    /// The path in the spelling of its mount point: an alias is gone.
    pub path: VirtualPath,
}

/// All mounts, and the narrower rights of a derived sandbox.
#[derive(Debug, Clone)]
pub struct MountTable {
    mounts: Vec<MountEntry>,
    /// Mount points and aliases.
    points: HashMap<String, MountId>,
    /// The most segments of any key of `points`: a longer prefix needs no look-up.
    deepest: usize,
    /// Every strict ancestor of a mount point.
    ancestors: HashSet<String>,
    /// Whether ancestors of mount points are shown as directories that hold nothing else.
    shows_ancestors: bool,
    pub(super) readable: Scope,
    pub(super) writable: Scope,
}

impl MountTable {
    /// A table of `mounts`, whose mount points are distinct. With `shows_ancestors`, a directory that exists only
    /// because a mount lies beneath it can be listed.
    pub(crate) fn new(mounts: Vec<MountEntry>, shows_ancestors: bool) -> Self {
        let mut points = HashMap::new();
        let mut ancestors = HashSet::new();
        let mut deepest = 0;
        for (index, mount) in mounts.iter().enumerate() {
            for alias in &mount.aliases {
                points.entry(alias.as_str().to_owned()).or_insert(MountId(index));
                deepest = deepest.max(segments(alias));
            }
        }
        for (index, mount) in mounts.iter().enumerate() {
            points.insert(mount.mount_point.as_str().to_owned(), MountId(index));
            deepest = deepest.max(segments(&mount.mount_point));
            let mut above = mount.mount_point.parent();
            while let Some(directory) = above {
                above = directory.parent();
                ancestors.insert(directory.as_str().to_owned());
            }
        }
        Self { mounts, points, deepest, ancestors, shows_ancestors, readable: Scope::Mounts, writable: Scope::Mounts }
    }

    /// The mounts in the author's order.
    pub fn mounts(&self) -> &[MountEntry] {
        &self.mounts
    }

    /// One mount.
    pub fn mount(&self, id: MountId) -> &MountEntry {
        &self.mounts[id.0]
    }

    /// The identifiers of all mounts.
    pub fn ids(&self) -> impl Iterator<Item = MountId> + use<> {
        (0..self.mounts.len()).map(MountId)
    }

    /// The mount with the longest mount point that `path` lies at or below, whole segments compared.
    pub fn find(&self, path: &VirtualPath) -> Option<MountId> {
        self.find_prefix(path.as_str()).map(|(id, _)| id)
    }

    /// The mount that holds `path`, and `path` in the spelling of its mount point.
    pub fn locate(&self, path: &VirtualPath) -> Option<Located> {
        let (mount, length) = self.find_prefix(path.as_str())?;
        let point = &self.mounts[mount.0].mount_point;
        let prefix = if length == 0 { "/" } else { &path.as_str()[..length] };
        if prefix == point.as_str() {
            return Some(Located { mount, path: path.clone() });
        }
        let spelled = format!("{point_text}{rest}", point_text = trimmed(point), rest = &path.as_str()[length..]);
        let path = VirtualPath::absolute(&spelled).ok()?;
        Some(Located { mount: self.find(&path)?, path })
    }

    /// The mount, and how many bytes of `path` its mount point (or alias) takes; 0 for `/`.
    fn find_prefix(&self, path: &str) -> Option<(MountId, usize)> {
        let mut end = if path.len() > 1 { path.len() } else { 0 };
        let mut depth = path[..end].bytes().filter(|byte| *byte == b'/').count();
        while depth > 0 {
            if depth <= self.deepest
                && let Some(id) = self.points.get(&path[..end])
            {
                return Some((*id, end));
            }
            end = path[..end].rfind('/').unwrap_or(0);
            depth -= 1;
        }
        self.points.get("/").map(|id| (*id, 0))
    }

    /// Whether `path` may be read, by its mount and by the rights of a derived sandbox.
    pub fn can_read(&self, path: &VirtualPath) -> bool {
        self.locate(path).is_some_and(|located| self.readable.covers(&located))
    }

    /// Whether `path` may be written.
    pub fn can_write(&self, path: &VirtualPath) -> bool {
        self.locate(path).is_some_and(|located| self.takes_writes(&located))
    }

    fn takes_writes(&self, located: &Located) -> bool {
        self.mount(located.mount).mode == MountMode::ReadWrite && self.writable.covers(located)
    }

    /// Whether somebody is asked before `path` is read; false for a path that cannot be read at all.
    pub fn needs_read_approval(&self, path: &VirtualPath) -> bool {
        self.locate(path)
            .is_some_and(|located| self.readable.covers(&located) && self.mount(located.mount).read_approval)
    }

    /// Whether somebody is asked before `path` is written; false for a path that cannot be written at all.
    pub fn needs_write_approval(&self, path: &VirtualPath) -> bool {
        self.locate(path).is_some_and(|located| self.takes_writes(&located) && self.mount(located.mount).write_approval)
    }

    /// The place of a path that may be read; `PathNotInSandbox` else.
    pub fn require_read(&self, path: &VirtualPath) -> Result<Located> {
        match self.locate(path) {
            Some(located) if self.readable.covers(&located) => Ok(located),
            Some(_) | None => Err(self.outside(path)),
        }
    }

    /// The place of a path that may be written; `PathNotWritable` when its mount, or the rights of a derived
    /// sandbox, say no; `PathNotInSandbox` when it lies in no mount.
    pub fn require_write(&self, path: &VirtualPath) -> Result<Located> {
        match self.locate(path) {
            Some(located) if self.takes_writes(&located) => Ok(located),
            Some(_) => Err(not_writable(path.as_str(), &self.writable_roots())),
            None => Err(self.outside(path)),
        }
    }

    /// The error for a path that lies, or leads, outside.
    pub fn outside(&self, path: &VirtualPath) -> crate::error::Error {
        not_in_sandbox(path.as_str(), &self.readable_roots())
    }

    /// `SuffixNotAllowed` when the mount of `path` does not take names with its suffix (FS-15).
    pub fn check_suffix(&self, path: &VirtualPath) -> Result<()> {
        let Some(allowed) = self.find(path).and_then(|id| self.mount(id).suffixes.as_ref()) else { return Ok(()) };
        let suffix = path.suffix();
        if suffix.as_ref().is_some_and(|suffix| allowed.contains(suffix)) {
            return Ok(());
        }
        Err(suffix_not_allowed(path.as_str(), suffix.as_deref(), allowed))
    }

    /// `FileTooLarge` when the mount of `path` takes no file of `size` bytes.
    pub fn check_size(&self, path: &VirtualPath, size: u64) -> Result<()> {
        match self.max_file_bytes(path) {
            Some(limit) if size > limit => Err(file_too_large(path.as_str(), size, limit)),
            Some(_) | None => Ok(()),
        }
    }

    /// Bytes of the largest file that the mount of `path` takes.
    pub fn max_file_bytes(&self, path: &VirtualPath) -> Option<u64> {
        self.find(path).and_then(|id| self.mount(id).max_file_bytes)
    }

    /// Paths that can be read: mount points, longest first, or the entries of a derived sandbox in their order (FS-14).
    pub fn readable_roots(&self) -> Vec<String> {
        self.roots(&self.readable, |_| true)
    }

    /// Paths that can be written.
    pub fn writable_roots(&self) -> Vec<String> {
        self.roots(&self.writable, |mount| mount.mode == MountMode::ReadWrite)
    }

    fn roots(&self, scope: &Scope, keep: impl Fn(&MountEntry) -> bool) -> Vec<String> {
        match scope {
            Scope::Mounts => {
                let mut roots: Vec<_> = self
                    .mounts
                    .iter()
                    .filter(|mount| keep(mount))
                    .map(|mount| mount.mount_point.as_str().to_owned())
                    .collect();
                order::sort_by_key(&mut roots, |root| std::cmp::Reverse(root.len()));
                roots
            }
            Scope::Listed(entries) => entries.iter().map(|entry| entry.label.as_str().to_owned()).collect(),
        }
    }

    /// Whether some mount point lies strictly below `path`: it is a directory for the agent whatever the host holds
    /// there, and it can be neither replaced, nor moved, nor removed.
    pub fn holds_mount(&self, path: &VirtualPath) -> bool {
        self.ancestors.contains(path.as_str())
    }

    /// Whether another mount point, or another spelling of one, lies strictly below `path`: only then can a name there
    /// belong to another mount.
    pub fn holds_other_names(&self, path: &VirtualPath) -> bool {
        self.holds_mount(path)
            || self.mounts.iter().flat_map(|mount| &mount.aliases).any(|alias| alias != path && alias.is_within(path))
    }

    /// Whether every name below the directory `path` belongs to its mount and may be read, so that none need be judged
    /// by itself.
    pub fn reads_all_below(&self, path: &VirtualPath) -> bool {
        let all_of_the_mount = match &self.readable {
            Scope::Mounts => true,
            Scope::Listed(_) => false,
        };
        all_of_the_mount && self.can_read(path) && !self.holds_other_names(path)
    }

    /// Whether `path` is a mount point.
    pub fn is_mount_point(&self, path: &VirtualPath) -> bool {
        self.find(path).is_some_and(|id| self.mount(id).mount_point == *path)
    }

    /// Whether `path` is a directory for the agent although it may not be read itself: something that can be read lies
    /// below it, and the table shows such ancestors.
    pub fn is_virtual_directory(&self, path: &VirtualPath) -> bool {
        self.shows_ancestors && !self.can_read(path) && (path.is_root() || !self.virtual_children(path).is_empty())
    }

    /// The names directly below `path` that lead to a mount point (or, in a derived sandbox, to a readable entry) and
    /// are directories for the agent whatever the host directory holds under them. In order, without doubles.
    pub fn virtual_children(&self, path: &VirtualPath) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        if !self.shows_ancestors && !self.ancestors.contains(path.as_str()) {
            return names;
        }
        let mut add = |below: &VirtualPath| {
            let first = below.relative_to(path).and_then(|rest| rest.split('/').next());
            names.extend(first.filter(|name| !name.is_empty()).map(str::to_owned));
        };
        match &self.readable {
            Scope::Mounts => self.mounts.iter().for_each(|mount| add(&mount.mount_point)),
            Scope::Listed(entries) => {
                let here = self.find(path).filter(|_| self.can_read(path));
                entries.iter().filter(|entry| Some(entry.mount) != here).for_each(|entry| add(&entry.label));
            }
        }
        names
    }

    /// Whether the name `child` of the directory at `path`, which lies in `mount`, belongs to another mount: what the
    /// host directory holds under it is never shown (D32).
    pub fn is_shadowed(&self, mount: MountId, child: &VirtualPath) -> bool {
        self.find(child) != Some(mount)
    }
}

fn segments(path: &VirtualPath) -> usize {
    if path.is_root() { 0 } else { path.as_str().bytes().filter(|byte| *byte == b'/').count() }
}

/// The text of a path to which `/name` can be appended.
fn trimmed(path: &VirtualPath) -> &str {
    if path.is_root() { "" } else { path.as_str() }
}
