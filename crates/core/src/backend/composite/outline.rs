//! The shape of a tree that several parts have: each shows its own, and what lies in a route counts for the directories
//! above it too.

use std::collections::{HashMap, HashSet};

use super::listing::virtual_directory;
use super::read::is_missing;
use super::search::Share;
use super::{CompositeBackend, guard, join};
use crate::access::Operation;
use crate::backend::{BoxFuture, Call, FileKind};
use crate::error::Result;
use crate::path::VirtualPath;
use crate::search::{self, Outline, OutlineEntry, OutlineQuery};

impl CompositeBackend {
    pub(super) async fn outline_routed(&self, query: &OutlineQuery, call: &Call) -> Result<Outline> {
        self.check_open()?;
        let share = |names: &str, path| {
            Ok(Some(OutlineQuery { path, depth: query.depth.saturating_sub(levels(names)), ..query.clone() }))
        };
        let shares = self.shares(&query.path, call, Operation::Ls, share)?;
        let is_directory = self.routes.is_directory(&query.path);
        let parts = shares.iter().map(|share| -> BoxFuture<'_, _> { Box::pin(self.outline_part(share, call)) });
        let mut all = Outline { files: query.counts.then_some(0), ..Outline::default() };
        let mut entries: Vec<OutlineEntry> = Vec::new();
        let mut in_routes: HashMap<String, u64> = HashMap::new();
        for (share, found) in shares.iter().zip(join::all(parts.collect()).await) {
            let found = match found {
                Err(error) if (is_directory || !share.first) && is_missing(&error) => Outline::default(),
                found => found?,
            };
            if !share.first {
                for directory in self.directories_to(&query.path, &share.part.prefix)? {
                    *in_routes.entry(directory.to_string()).or_default() += found.files.unwrap_or(0);
                    if directory.relative_to(&query.path).is_some_and(|names| levels(names) <= query.depth) {
                        let info = self.stat_routed(&directory, call).await.ok().flatten();
                        let info = info.unwrap_or_else(|| virtual_directory(&directory));
                        entries.push(OutlineEntry { info, files: query.counts.then_some(0) });
                    }
                }
            }
            all.total += found.total - found.entries.len();
            all.ignored += found.ignored;
            all.incomplete |= found.incomplete;
            if let (Some(files), Some(more)) = (&mut all.files, found.files) {
                *files += more;
            }
            entries.extend(found.entries);
        }
        // What a route or a directory to one hides, and the second of two entries that both found.
        let directories: HashSet<String> =
            entries.iter().filter(|e| e.info.kind == FileKind::Directory).map(|e| e.info.path.clone()).collect();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for mut entry in entries {
            if entry.info.kind != FileKind::Directory && directories.contains(&entry.info.path) {
                continue;
            }
            if is_directory && entry.info.path == query.path.as_str() {
                continue;
            }
            match seen.get(&entry.info.path).and_then(|index| all.entries.get_mut(*index)) {
                Some(first) => {
                    first.files = first.files.max(entry.files);
                    first.info.modified_at = first.info.modified_at.or(entry.info.modified_at);
                }
                None => {
                    seen.insert(entry.info.path.clone(), all.entries.len());
                    entry.files = entry.files.filter(|_| query.counts);
                    all.entries.push(entry);
                }
            }
        }
        for entry in &mut all.entries {
            if let (Some(files), Some(more)) = (&mut entry.files, in_routes.get(&entry.info.path)) {
                *files += more;
            }
        }
        all.total += all.entries.len();
        search::fit(&mut all.entries, self.limits.list_entries);
        all.truncated = all.incomplete || all.entries.len() < all.total;
        Ok(all)
    }

    async fn outline_part(&self, share: &Share<'_, OutlineQuery>, call: &Call) -> Result<Outline> {
        if share.query.depth == 0 && !share.query.counts {
            return Ok(Outline::default());
        }
        let inside = guard::within(call, &self.routes, share.index);
        let asked = share.part.outer(&share.query.path);
        let found = share.part.backend.files().outline(&share.query, &inside).await;
        let mut found =
            found.map_err(|error| self.routes.explain(share.part, error, &asked.iter().collect::<Vec<_>>()))?;
        for entry in &mut found.entries {
            entry.info.path = share.part.shown(std::mem::take(&mut entry.info.path));
        }
        Ok(found)
    }

    /// The directories below `base` that lead to `route`, and the route itself.
    fn directories_to(&self, base: &VirtualPath, route: &VirtualPath) -> Result<Vec<VirtualPath>> {
        let mut directory = base.clone();
        let names = route.relative_to(base).unwrap_or_default().split('/').filter(|name| !name.is_empty());
        names
            .map(|name| {
                directory = directory.join(name)?;
                Ok(directory.clone())
            })
            .collect()
    }
}

fn levels(names: &str) -> u32 {
    names.split('/').filter(|name| !name.is_empty()).count() as u32
}
