//! Reading and listing: one part is asked, in its own paths; a listing goes on into the routes that lie below.

use super::listing::{in_order, virtual_directory};
use super::routes::Part;
use super::{CompositeBackend, guard, join};
use crate::access::Operation;
use crate::backend::stream::FileReader;
use crate::backend::{
    BoxFuture, Call, FileContent, FileInfo, FileKind, FileSlice, FileSystem, Listing, Resolution, Window,
};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::not_in_sandbox;
use crate::search::{FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery};

/// The part that has a path, and how it is asked for it.
pub(super) struct Routed<'a> {
    pub(super) index: usize,
    pub(super) part: &'a Part,
    pub(super) path: VirtualPath,
    pub(super) call: Call,
}

impl CompositeBackend {
    /// The part that has `path`, ready to be asked.
    pub(super) fn route(&self, path: &VirtualPath, call: &Call) -> Result<Routed<'_>> {
        self.check_open()?;
        let (index, part) = self.routes.owner(path);
        Ok(Routed { index, part, path: part.inner(path)?, call: guard::within(call, &self.routes, index) })
    }

    /// [`CompositeBackend::route`] for the path of a file: no path at or above a route is one.
    pub(super) fn route_of_file(&self, path: &VirtualPath, call: &Call) -> Result<Routed<'_>> {
        if self.routes.is_directory(path) {
            self.check_open()?;
            return Err(Error::new(
                ErrorKind::NotAFile,
                format!("'{path}' is a directory, not a file; list it instead."),
            )
            .with_path(path.as_str()));
        }
        self.route(path, call)
    }

    async fn resolve_routed(&self, path: &VirtualPath, call: &Call) -> Result<Resolution> {
        let routed = self.route(path, call)?;
        let resolution = routed.part.backend.files().resolve(&routed.path, &routed.call).await;
        let mut resolution = resolution.map_err(|error| self.routes.explain(routed.part, error, &[path]))?;
        let resolved = routed.part.outer(&resolution.resolved);
        let resolved = resolved.filter(|resolved| self.routes.owner(resolved).0 == routed.index);
        resolution.resolved = resolved.ok_or_else(|| not_in_sandbox(path.as_str(), &self.routes.readable_roots()))?;
        resolution.writable &= routed.part.backend.writer().is_some();
        if self.routes.is_directory(path) {
            resolution.kind = Some(FileKind::Directory);
            resolution.version = None;
        }
        for (_, below) in self.routes.below(path) {
            resolution.read_approval |= below.backend.files().mounts_ask();
        }
        Ok(resolution)
    }

    pub(super) async fn stat_routed(&self, path: &VirtualPath, call: &Call) -> Result<Option<FileInfo>> {
        let routed = self.route(path, call)?;
        let info = routed.part.backend.files().stat(&routed.path, &routed.call).await;
        let info = info.map_err(|error| self.routes.explain(routed.part, error, &[path]))?;
        match info {
            Some(info) if info.kind == FileKind::Directory || !self.routes.is_directory(path) => {
                let name = path.file_name().unwrap_or("/").to_owned();
                Ok(Some(FileInfo { name, path: path.to_string(), ..info }))
            }
            Some(_) | None if self.routes.is_directory(path) => {
                call.guard.check(Operation::Ls, path)?;
                Ok(Some(virtual_directory(path)))
            }
            Some(_) | None => Ok(None),
        }
    }

    async fn list_routed(&self, path: &VirtualPath, depth: u32, call: &Call) -> Result<Listing> {
        let mut listing = match self.list_part(path, depth, call).await {
            Err(error) if is_missing(&error) && self.routes.is_directory(path) => {
                call.guard.check(Operation::Ls, path)?;
                Listing::default()
            }
            listing => listing?,
        };
        if depth == 0 || !self.routes.is_directory(path) {
            return Ok(listing);
        }
        // A file of this name is hidden by the route.
        listing.entries.retain(|entry| entry.path != path.as_str());
        if !self.routes.holds_route(path) {
            return Ok(listing);
        }
        let (shown, directories) = self.routes_to_show(path, depth, call)?;
        let parts = shown.iter().map(|(prefix, levels)| -> BoxFuture<'_, _> {
            Box::pin(async move {
                let below = match levels {
                    0 => Ok(Listing::default()),
                    levels => self.list_part(prefix, *levels, call).await,
                };
                (self.stat_routed(prefix, call).await, below)
            })
        });
        for (directory, below) in join::all(parts.collect()).await {
            listing.entries.extend(directory.ok().flatten());
            match below {
                Ok(below) => {
                    listing.truncated |= below.truncated;
                    listing.entries.extend(below.entries);
                }
                Err(error) if is_missing(&error) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Aborted | ErrorKind::Timeout) => return Err(error),
                // A part that cannot be listed is shown without its entries, as such a directory on disk is (D74).
                Err(_) => listing.truncated = true,
            }
        }
        listing.entries.extend(directories.iter().map(virtual_directory));
        listing.entries = in_order(listing.entries);
        listing.truncated |= listing.entries.len() > self.limits.list_entries;
        listing.entries.truncate(self.limits.list_entries);
        Ok(listing)
    }

    /// The routes that a listing reaches, each with the levels left below it, and the directories that lead to them.
    #[expect(clippy::type_complexity, reason = "two lists, named where they are taken apart")]
    fn routes_to_show(
        &self,
        path: &VirtualPath,
        depth: u32,
        call: &Call,
    ) -> Result<(Vec<(&VirtualPath, u32)>, Vec<VirtualPath>)> {
        let (mut shown, mut directories) = (Vec::new(), Vec::new());
        'routes: for (_, part) in self.routes.below(path) {
            let mut levels = depth;
            let mut directory = path.clone();
            for name in part.prefix.relative_to(path).unwrap_or_default().split('/') {
                directory = directory.join(name)?;
                // What the guard hides is hidden with all that lies below.
                if levels == 0 || call.guard.check(Operation::Ls, &directory).is_err() {
                    continue 'routes;
                }
                levels -= 1;
                directories.push(directory.clone());
            }
            shown.push((&part.prefix, levels));
        }
        Ok((shown, directories))
    }

    async fn list_part(&self, path: &VirtualPath, depth: u32, call: &Call) -> Result<Listing> {
        let routed = self.route(path, call)?;
        let listing = routed.part.backend.files().list(&routed.path, depth, &routed.call).await;
        let mut listing = listing.map_err(|error| self.routes.explain(routed.part, error, &[path]))?;
        for entry in &mut listing.entries {
            entry.path = routed.part.shown(std::mem::take(&mut entry.path));
        }
        Ok(listing)
    }

    async fn read_routed(&self, path: &VirtualPath, window: Window, call: &Call) -> Result<FileSlice> {
        let routed = self.route_of_file(path, call)?;
        let slice = routed.part.backend.files().read(&routed.path, window, &routed.call).await;
        let mut slice = slice.map_err(|error| self.routes.explain(routed.part, error, &[path]))?;
        slice.resolved = routed.part.outer(&slice.resolved).unwrap_or_else(|| path.clone());
        Ok(slice)
    }

    pub(super) async fn read_bytes_routed(&self, path: &VirtualPath, max: u64, call: &Call) -> Result<FileContent> {
        let routed = self.route_of_file(path, call)?;
        let content = routed.part.backend.files().read_bytes(&routed.path, max, &routed.call).await;
        let mut content = content.map_err(|error| self.routes.explain(routed.part, error, &[path]))?;
        content.resolved = routed.part.outer(&content.resolved).unwrap_or_else(|| path.clone());
        Ok(content)
    }
}

/// Whether a part says that nothing is there: what is true of a route that nothing was written to.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::FileNotFound | ErrorKind::NotADirectory)
}

impl FileSystem for CompositeBackend {
    fn working_directory(&self) -> &VirtualPath {
        self.default_backend().files().working_directory()
    }

    fn readable_roots(&self) -> Vec<String> {
        self.routes.readable_roots()
    }

    fn writable_roots(&self) -> Vec<String> {
        self.routes.writable_roots()
    }

    fn mounts_ask(&self) -> bool {
        self.routes.parts().iter().any(|part| part.backend.files().mounts_ask())
    }

    fn changes_host(&self, host: &std::path::Path) -> bool {
        self.routes.parts().iter().any(|part| part.backend.files().changes_host(host))
    }

    fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
        Box::pin(self.resolve_routed(path, call))
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
        Box::pin(self.stat_routed(path, call))
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(self.list_routed(path, depth, call))
    }

    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>> {
        Box::pin(self.read_routed(path, window, call))
    }

    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>> {
        Box::pin(self.read_bytes_routed(path, max_bytes, call))
    }

    fn open_reader<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Box<dyn FileReader>>> {
        Box::pin(self.open_reader_routed(path, call))
    }

    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
        Box::pin(self.glob_routed(query, call))
    }

    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
        Box::pin(self.grep_routed(query, call))
    }

    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        Box::pin(self.find_routed(query, call))
    }

    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        Box::pin(self.outline_routed(query, call))
    }
}
