//! Glob and grep over the mounts: what [`crate::search`] walks here.
//!
//! A search begins at a directory that the resolver opened and judged, and goes down from handle to handle
//! ([`super::walk_handles`]). Below a readable directory everything in the same mount is readable (rights hold for
//! whole subtrees), so names are looked up in the mount table only where another mount lies further down: there the
//! host's own entry is shadowed and the mount takes its place (D32).

use std::ops::ControlFlow;

use super::Inner;
use super::errors::not_a_file;
use super::facts::{kind_of, type_of};
use super::listings::Listings;
use super::resolve::{self, Resolver, Target};
use super::system::OwnedFd;
use super::walk_handles::{Handle, ListingBuffer, OpenedFile, metadata};
use crate::backend::temp;
use crate::backend::{Call, FileKind};
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::sandbox::MountId;
use crate::search::{
    self, EntryKind, FindOutcome, FindQuery, Followed, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Metadata,
    Obstacle, Opened, Outline, OutlineQuery,
};

/// Names by pattern. Blocking: runs inside the one `spawn_blocking` of its call.
pub(super) fn glob(inner: &Inner, query: &GlobQuery, call: &Call) -> Result<GlobOutcome> {
    search::glob(&Tree::of(inner), query, call, &inner.limits)
}

/// Lines by pattern. Blocking: runs inside the one `spawn_blocking` of its call.
pub(super) fn grep(inner: &Inner, query: &GrepQuery, call: &Call) -> Result<GrepOutcome> {
    search::grep(&Tree::of(inner), query, call, &inner.limits)
}

/// Files by what is remembered of their path. Blocking: runs inside the one `spawn_blocking` of its call.
pub(super) fn find(inner: &Inner, query: &FindQuery, call: &Call) -> Result<FindOutcome> {
    search::find(&Tree::of(inner), query, call, &inner.limits)
}

/// The shape of a tree. Blocking: runs inside the one `spawn_blocking` of its call.
pub(super) fn outline(inner: &Inner, query: &OutlineQuery, call: &Call) -> Result<Outline> {
    search::outline(&Tree::of(inner), query, call, &inner.limits)
}

/// All mounts as one tree.
struct Tree<'a> {
    resolver: &'a Resolver,
    listings: &'a Listings,
}

/// A directory on the way down.
struct Directory {
    /// `None` for a directory that exists only because mounts lie below it.
    real: Option<(Handle, MountId)>,
    /// Its path, where another mount lies below and names have to be looked up; `None` where none does.
    looked_up: Option<VirtualPath>,
}

impl<'a> Tree<'a> {
    /// For one search.
    fn of(inner: &'a Inner) -> Self {
        inner.listings.begin();
        Self { resolver: &inner.resolver, listings: &inner.listings }
    }
}

impl Tree<'_> {
    fn judged(&self, directory: resolve::Directory) -> Result<Directory> {
        let resolve::Directory { handle, mount, path } = directory;
        let handle = self.handle(handle, mount).map_err(|_| self.resolver.table().outside(&path))?;
        let looked_up = self.resolver.table().holds_other_names(&path).then_some(path);
        Ok(Directory { real: Some((handle, mount)), looked_up })
    }

    fn handle(&self, handle: OwnedFd, mount: MountId) -> Result<Handle, Obstacle> {
        Handle::new(handle, self.resolver.may_hold_devices(mount))
    }

    fn virtual_directory(path: VirtualPath) -> Directory {
        Directory { real: None, looked_up: Some(path) }
    }

    /// Whether a directory is there for the agent because a mount lies below it, whatever the host holds.
    fn leads_to_a_mount(&self, path: &VirtualPath) -> bool {
        let table = self.resolver.table();
        table.holds_mount(path) || table.is_virtual_directory(path)
    }

    /// Whether the host's own entry `child` of a directory in `mount` is the agent's to see.
    fn is_own(&self, mount: MountId, child: &VirtualPath) -> bool {
        let table = self.resolver.table();
        !table.holds_mount(child) && !table.is_shadowed(mount, child) && table.can_read(child)
    }

    /// Whether a name in `directory` leads to another mount, or to a directory that is there only for one.
    fn belongs_elsewhere(&self, directory: &Directory, name: &[u8]) -> Option<VirtualPath> {
        let path = directory.looked_up.as_ref()?;
        let child = path.join(std::str::from_utf8(name).ok()?).ok()?;
        let is_own = directory.real.as_ref().is_some_and(|(_, mount)| self.is_own(*mount, &child));
        (!is_own).then_some(child)
    }
}

impl Directory {
    fn handle(&self) -> Result<&Handle, Obstacle> {
        self.real.as_ref().map(|(handle, _)| handle).ok_or(Obstacle::Unusable)
    }
}

impl search::Tree for Tree<'_> {
    type Directory = Directory;
    type File = OpenedFile;
    type Buffer = ListingBuffer;

    fn open(&self, path: &VirtualPath) -> Result<Opened<Directory>> {
        let table = self.resolver.table();
        if table.is_virtual_directory(path) {
            return Ok(Opened { resolved: path.clone(), directory: Self::virtual_directory(path.clone()), file: None });
        }
        let found = self.resolver.inspect(path)?;
        match found.target {
            Target::Inside => {}
            Target::Missing => return Err(Error::not_found(path)),
            Target::Outside => return Err(table.outside(path)),
        }
        match kind_of(type_of(&found.facts)) {
            FileKind::Directory => {
                let directory = self.resolver.open_directory(path)?;
                let resolved = directory.path.clone();
                Ok(Opened { resolved, directory: self.judged(directory)?, file: None })
            }
            FileKind::File => {
                let Some((parent, name)) = found.path.parent().zip(found.path.file_name()) else {
                    return Err(not_a_file(path));
                };
                let directory = self.resolver.open_for_names(&parent, path)?;
                let file = Some(name.as_bytes().to_vec());
                Ok(Opened { directory: self.judged(directory)?, file, resolved: found.path })
            }
            FileKind::Symlink | FileKind::Other => Err(not_a_file(path)),
        }
    }

    fn entries(
        &self,
        directory: &Directory,
        buffer: &mut ListingBuffer,
        visit: &mut impl FnMut(&[u8], EntryKind) -> ControlFlow<()>,
    ) -> Result<(), Obstacle> {
        if let Some(path) = &directory.looked_up {
            for name in self.resolver.virtual_children(path) {
                if visit(name.as_bytes(), EntryKind::Directory).is_break() {
                    return Ok(());
                }
            }
        }
        let Some((handle, mount)) = &directory.real else { return Ok(()) };
        let mut debris = false;
        let listed = handle.list(self.listings, buffer, |name, kind| {
            let is_temporary = temp::is_temporary(name);
            debris |= is_temporary;
            if is_temporary || self.belongs_elsewhere(directory, name).is_some() {
                return ControlFlow::Continue(());
            }
            visit(name, kind)
        });
        if debris && self.resolver.table().can_write(&self.resolver.table().mount(*mount).mount_point) {
            handle.clean();
        }
        listed
    }

    fn open_directory(&self, parent: &Directory, name: &[u8]) -> Result<Directory, Obstacle> {
        if let Some(child) = self.belongs_elsewhere(parent, name) {
            return match self.resolver.open_directory(&child) {
                Ok(directory) => self.judged(directory).map_err(|_| Obstacle::Unusable),
                Err(_) if self.leads_to_a_mount(&child) => Ok(Self::virtual_directory(child)),
                Err(_) => Err(Obstacle::Unusable),
            };
        }
        let (handle, mount) = parent.real.as_ref().ok_or(Obstacle::Unusable)?;
        let handle = handle.open_directory(name)?;
        let looked_up = parent
            .looked_up
            .as_ref()
            .and_then(|path| path.join(std::str::from_utf8(name).ok()?).ok())
            .filter(|path| self.resolver.table().holds_other_names(path));
        Ok(Directory { real: Some((handle, *mount)), looked_up })
    }

    fn open_file(&self, parent: &Directory, name: &[u8]) -> Result<(OpenedFile, Metadata), Obstacle> {
        let (handle, mount) = parent.real.as_ref().ok_or(Obstacle::Unusable)?;
        let rules = self.resolver.table().mount(*mount);
        if rules.suffixes.is_some() {
            let name = std::str::from_utf8(name).map_err(|_| Obstacle::Unusable)?;
            let path = rules.mount_point.join(name).map_err(|_| Obstacle::Unusable)?;
            self.resolver.table().check_suffix(&path).map_err(|_| Obstacle::Unusable)?;
        }
        let (file, metadata) = handle.open_file(name)?;
        if rules.max_file_bytes.is_some_and(|limit| metadata.size > limit) {
            return Err(Obstacle::Unusable);
        }
        Ok((file, metadata))
    }

    fn open_named(&self, opened: &Opened<Directory>, asked: &VirtualPath) -> Result<(OpenedFile, Metadata)> {
        let file = self.resolver.open_file(asked)?;
        if file.path != opened.resolved {
            return Err(super::errors::busy(asked));
        }
        let metadata = metadata(&file.facts);
        self.resolver.table().check_size(&file.path, metadata.size)?;
        Ok((OpenedFile::new(file.handle), metadata))
    }

    fn metadata(&self, parent: &Directory, name: &[u8]) -> Result<Metadata, Obstacle> {
        match self.belongs_elsewhere(parent, name) {
            None => parent.handle()?.metadata(name),
            Some(child) => match self.resolver.inspect(&child) {
                Ok(found) => Ok(metadata(&found.facts)),
                Err(_) => Ok(Metadata { kind: FileKind::Directory, size: 0, modified_ns: None }),
            },
        }
    }

    fn follow(&self, _parent: &Directory, _name: &[u8], path: &[u8]) -> Result<Followed, Obstacle> {
        let path = std::str::from_utf8(path).ok().and_then(|path| VirtualPath::absolute(path).ok());
        let found = self.resolver.inspect(&path.ok_or(Obstacle::Unusable)?).map_err(|_| Obstacle::Unusable)?;
        let metadata = metadata(&found.facts);
        match (found.target, metadata.kind) {
            (Target::Inside, FileKind::File | FileKind::Directory) => Ok(Followed { resolved: found.path, metadata }),
            (Target::Inside | Target::Missing | Target::Outside, _) => Err(Obstacle::Unusable),
        }
    }
}

#[cfg(all(test, unix, not(feature = "portable")))]
mod tests {
    use super::super::open::{Opened, open};
    use super::super::options::LocalOptions;
    use super::super::resolve::Strategy;
    use super::*;
    use crate::sandbox::{Allowances, Mount, Sandbox};

    /// No walk gets to a directory that may not be read, and what lies in one that may be read can be read as well; should a
    /// walk hold such a directory all the same, what the rights leave out is nobody's.
    #[test]
    fn what_may_not_be_read_is_no_entry_of_its_directory() {
        let base = tempfile::tempdir().unwrap();
        for name in ["w/may", "w/may_not", "inner"] {
            std::fs::create_dir_all(base.path().join(name)).unwrap();
        }
        let mounts = vec![Mount::new("w", "/w"), Mount::new("inner", "/w/inner")];
        let allowances = Allowances { allow_read: Some(vec!["/w/may".into()]), ..Allowances::default() };
        let sandbox = Sandbox::new(mounts, base.path()).unwrap().derive(&allowances).unwrap();
        let options = LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() };
        let Opened { table, roots, .. } = open(&options).unwrap();
        let resolver = Resolver::new(table, roots, Strategy::Walk);
        let listings = Listings::default();
        let tree = Tree { resolver: &resolver, listings: &listings };
        let path = |text: &str| VirtualPath::absolute(text).unwrap();
        let mount = resolver.table().find(&path("/w")).unwrap();
        let real = resolver.open_for_names(&path("/w"), &path("/w")).unwrap();
        let held =
            Directory { real: Some((tree.handle(real.handle, mount).unwrap(), mount)), looked_up: Some(real.path) };
        for (name, elsewhere) in [("may", false), ("may_not", true), ("inner", true)] {
            assert_eq!(tree.belongs_elsewhere(&held, name.as_bytes()).is_some(), elsewhere, "{name}");
        }
    }
}
