//! Searching: a query is shared out to the part where it begins and the routes below, each in its own paths, and the
//! answers are put in one order. An error of any part is the error of the search; a route that holds nothing is none.

use std::collections::HashMap;

use super::read::is_missing;
use super::routes::Part;
use super::{CompositeBackend, guard, join};
use crate::access::Operation;
use crate::backend::{BoxFuture, Call, FileInfo, FileKind};
use crate::error::Result;
use crate::order;
use crate::path::VirtualPath;
use crate::search::{
    self, Cursor, EntryFilter, FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepMatch, GrepOutcome, GrepQuery,
    SharedGlob, SortOrder, compare_places, find_below, grep_below,
};

/// A part, and its share of a query.
pub(super) struct Share<'a, Q> {
    pub(super) index: usize,
    pub(super) part: &'a Part,
    pub(super) query: Q,
    /// Whether it is the part where the search begins, so that it must have the path that was asked for.
    pub(super) first: bool,
}

impl CompositeBackend {
    pub(super) async fn glob_routed(&self, query: &GlobQuery, call: &Call) -> Result<GlobOutcome> {
        self.check_open()?;
        let shared = SharedGlob::new(query)?;
        let base = &shared.base;
        let shares = self.shares(base, call, Operation::Glob, |names, path| Ok(shared.below(names, path)))?;
        // What an absolute pattern spells need not be there.
        let optional = *base != query.path || self.routes.is_directory(base);
        if let [only] = shares.as_slice()
            && !self.routes.holds_route(base)
        {
            let found = self.glob_part(only, only.query.clone(), call).await;
            return match found {
                Err(error) if optional && is_missing(&error) => Ok(GlobOutcome::default()),
                found => found,
            };
        }
        let limit = query.limit.min(self.limits.glob_paths);
        let wanted = query.offset.saturating_add(limit);
        let parts = shares.iter().map(|share| -> BoxFuture<'_, _> { Box::pin(self.glob_pages(share, wanted, call)) });
        let mut all = GlobOutcome::default();
        let mut found_files: Vec<(FileInfo, Option<i64>)> = Vec::new();
        for (share, found) in shares.iter().zip(join::all(parts.collect()).await) {
            let found = match found {
                Err(error) if (optional || !share.first) && is_missing(&error) => continue,
                found => found?,
            };
            let mut ranks = found.ranks.into_iter();
            found_files.extend(found.files.into_iter().map(|file| {
                let Cursor { rank, .. } = Cursor::of(&file, ranks.next());
                (file, rank)
            }));
            all.total += found.total;
            all.incomplete |= found.incomplete;
            all.before += found.before;
            all.ignored += found.ignored;
        }
        let added = self.directories_between(&shared, query.entries, call).await?;
        all.total += added.len();
        for file in added {
            let Cursor { rank, path } = Cursor::of(&file, None);
            let is_new = query
                .after
                .as_ref()
                .is_none_or(|after| compare_places(query.sort, (rank, &path), (after.rank, &after.path)).is_gt());
            if is_new { found_files.push((file, rank)) } else { all.before += 1 }
        }
        order::sort_by(&mut found_files, |(one, rank), (other, another)| {
            compare_places(query.sort, (*rank, &one.path), (*another, &other.path))
        });
        page(&mut found_files, query.offset, limit);
        (all.files, all.ranks) = found_files.into_iter().unzip();
        let has_more = all.before.saturating_add(query.offset).saturating_add(all.files.len()) < all.total;
        all.next = all.files.last().filter(|_| has_more).map(|file| Cursor::of(file, all.ranks.last().copied()));
        all.truncated = all.incomplete || has_more;
        Ok(all)
    }

    /// The first `wanted` results of one part, or all.
    async fn glob_pages(&self, share: &Share<'_, GlobQuery>, wanted: usize, call: &Call) -> Result<GlobOutcome> {
        let mut all = GlobOutcome::default();
        loop {
            let offset = all.files.len();
            let query = GlobQuery { offset, limit: wanted - offset, ..share.query.clone() };
            let found = self.glob_part(share, query, call).await?;
            let ended = found.files.is_empty();
            all.files.extend(found.files);
            all.ranks.extend(found.ranks);
            all.total = found.total;
            all.before = found.before;
            all.ignored = found.ignored;
            all.incomplete |= found.incomplete;
            if ended || all.files.len() >= wanted.min(all.total.saturating_sub(all.before)) {
                return Ok(all);
            }
        }
    }

    async fn glob_part(&self, share: &Share<'_, GlobQuery>, mut query: GlobQuery, call: &Call) -> Result<GlobOutcome> {
        query.after = query.after.map(|after| Cursor { path: share.part.inner_place(after.path), ..after });
        let call = guard::within(call, &self.routes, share.index);
        let asked = share.part.outer(&query.path);
        let found = share.part.backend.files().glob(&query, &call).await;
        let mut found =
            found.map_err(|error| self.routes.explain(share.part, error, &asked.iter().collect::<Vec<_>>()))?;
        for info in &mut found.files {
            info.path = share.part.shown(std::mem::take(&mut info.path));
        }
        if let Some(next) = &mut found.next {
            next.path = share.part.shown(std::mem::take(&mut next.path));
        }
        Ok(found)
    }

    /// The routes below the search that are results themselves, and the directories to them that no backend has.
    async fn directories_between(
        &self,
        shared: &SharedGlob<'_>,
        entries: EntryFilter,
        call: &Call,
    ) -> Result<Vec<FileInfo>> {
        let mut found: Vec<FileInfo> = Vec::new();
        if matches!(entries, EntryFilter::Files) {
            return Ok(found);
        }
        for (_, part) in self.routes.below(&shared.base) {
            let mut directory = shared.base.clone();
            for name in part.prefix.relative_to(&shared.base).unwrap_or_default().split('/') {
                directory = directory.join(name)?;
                let names = directory.relative_to(&shared.base).unwrap_or_default();
                let known = found.iter().any(|info| info.path == directory.as_str());
                if known || !shared.matches_directory(names) || !self.begins_here(&directory, call).await? {
                    continue;
                }
                if call.guard.check(Operation::Glob, &directory).is_ok() {
                    found.extend(self.stat_routed(&directory, call).await?);
                }
            }
        }
        Ok(found)
    }

    /// Whether the directory is one only because of a route: the part that has it does not find it.
    async fn begins_here(&self, directory: &VirtualPath, call: &Call) -> Result<bool> {
        let routed = self.route(directory, call)?;
        if routed.part.prefix == *directory {
            return Ok(true);
        }
        let there = routed.part.backend.files().stat(&routed.path, &routed.call).await;
        let there = there.map_err(|error| self.routes.explain(routed.part, error, &[directory]))?;
        Ok(there.is_none_or(|info| info.kind != FileKind::Directory))
    }

    pub(super) async fn grep_routed(&self, query: &GrepQuery, call: &Call) -> Result<GrepOutcome> {
        self.check_open()?;
        let shares = self.shares(&query.path, call, Operation::Grep, |names, path| grep_below(query, names, path))?;
        if let [only] = shares.as_slice()
            && !self.routes.is_directory(&query.path)
        {
            return self.grep_part(only, only.query.clone(), call).await;
        }
        let limit = query.limit.min(self.limits.grep_matches);
        let wanted = query.offset.saturating_add(limit);
        let by_file = query.files_only || query.count_only;
        let parts = shares.iter().map(|share| -> BoxFuture<'_, _> { Box::pin(self.grep_pages(share, wanted, call)) });
        let mut all = GrepOutcome::default();
        for (share, found) in shares.iter().zip(join::all(parts.collect()).await) {
            let optional = !share.first || self.routes.is_directory(&query.path);
            let found = match found {
                Err(error) if optional && is_missing(&error) => continue,
                found => found?,
            };
            all.matches.extend(found.matches);
            all.files.extend(found.files);
            all.ranks.extend(found.ranks);
            all.total_matches += found.total_matches;
            all.total_files += found.total_files;
            all.searched_files += found.searched_files;
            all.too_large_files += found.too_large_files;
            all.ignored += found.ignored;
            all.incomplete |= found.incomplete;
        }
        put_in_order(&mut all, query.sort);
        let (returned, total) = if by_file {
            page(&mut all.files, query.offset, limit);
            page(&mut all.ranks, query.offset, limit);
            (all.files.len(), all.total_files)
        } else {
            page(&mut all.matches, query.offset, limit);
            (all.matches.len(), all.total_matches)
        };
        all.truncated = all.incomplete || (query.offset.saturating_add(returned) as u64) < total;
        Ok(all)
    }

    /// The first `wanted` results of one part, or all.
    async fn grep_pages(&self, share: &Share<'_, GrepQuery>, wanted: usize, call: &Call) -> Result<GrepOutcome> {
        let by_file = share.query.files_only || share.query.count_only;
        let mut all: Option<GrepOutcome> = None;
        loop {
            let offset = all.as_ref().map_or(0, |all| if by_file { all.files.len() } else { all.matches.len() });
            let query = GrepQuery { offset, limit: wanted - offset, ..share.query.clone() };
            let found = self.grep_part(share, query, call).await?;
            let (count, total) = if by_file {
                (found.files.len(), found.total_files)
            } else {
                (found.matches.len(), found.total_matches)
            };
            let all = match &mut all {
                None => all.insert(found),
                Some(all) => {
                    all.matches.extend(found.matches);
                    if by_file {
                        all.files.extend(found.files);
                        all.ranks.extend(found.ranks);
                    }
                    all.incomplete |= found.incomplete;
                    all
                }
            };
            let reached = offset + count;
            if count == 0 || reached >= wanted || reached as u64 >= total {
                return Ok(std::mem::take(all));
            }
        }
    }

    async fn grep_part(&self, share: &Share<'_, GrepQuery>, query: GrepQuery, call: &Call) -> Result<GrepOutcome> {
        let call = guard::within(call, &self.routes, share.index);
        let asked = share.part.outer(&query.path);
        let found = share.part.backend.files().grep(&query, &call).await;
        let mut found =
            found.map_err(|error| self.routes.explain(share.part, error, &asked.iter().collect::<Vec<_>>()))?;
        for line in &mut found.matches {
            line.path = share.part.shown(std::mem::take(&mut line.path));
        }
        for file in &mut found.files {
            file.path = share.part.shown(std::mem::take(&mut file.path));
        }
        Ok(found)
    }

    pub(super) async fn find_routed(&self, query: &FindQuery, call: &Call) -> Result<FindOutcome> {
        self.check_open()?;
        let share = |names: &str, path| Ok(find_below(query, names, path));
        let shares = self.shares(&query.path, call, Operation::Glob, share)?;
        let optional = self.routes.is_directory(&query.path);
        let limit = query.limit.min(self.limits.glob_paths);
        let wanted = query.offset.saturating_add(limit);
        let parts = shares.iter().map(|share| -> BoxFuture<'_, _> { Box::pin(self.find_pages(share, wanted, call)) });
        let mut all = FindOutcome::default();
        for (share, found) in shares.iter().zip(join::all(parts.collect()).await) {
            let found = match found {
                Err(error) if (optional || !share.first) && is_missing(&error) => continue,
                found => found?,
            };
            all.files.extend(found.files);
            all.total += found.total;
            all.ignored += found.ignored;
            all.incomplete |= found.incomplete;
        }
        search::in_order(&mut all.files, &query.query, &query.path, &query.above)?;
        page(&mut all.files, query.offset, limit);
        all.truncated = all.incomplete || query.offset.saturating_add(all.files.len()) < all.total;
        Ok(all)
    }

    /// The first `wanted` results of one part, or all.
    async fn find_pages(&self, share: &Share<'_, FindQuery>, wanted: usize, call: &Call) -> Result<FindOutcome> {
        let mut all = FindOutcome::default();
        loop {
            let offset = all.files.len();
            let query = FindQuery { offset, limit: wanted - offset, ..share.query.clone() };
            let inside = guard::within(call, &self.routes, share.index);
            let asked = share.part.outer(&query.path);
            let found = share.part.backend.files().find(&query, &inside).await;
            let mut found =
                found.map_err(|error| self.routes.explain(share.part, error, &asked.iter().collect::<Vec<_>>()))?;
            for info in &mut found.files {
                info.path = share.part.shown(std::mem::take(&mut info.path));
            }
            let ended = found.files.is_empty();
            all.files.extend(found.files);
            all.total = found.total;
            all.ignored = found.ignored;
            all.incomplete |= found.incomplete;
            if ended || all.files.len() >= wanted.min(all.total) {
                return Ok(all);
            }
        }
    }

    /// The parts that a search of `base` concerns, where it begins first, each with what `share` makes of the query.
    /// Routes that the guard hides are left out.
    pub(super) fn shares<Q>(
        &self,
        base: &VirtualPath,
        call: &Call,
        operation: Operation,
        share: impl Fn(&str, VirtualPath) -> Result<Option<Q>>,
    ) -> Result<Vec<Share<'_, Q>>> {
        let (index, part) = self.routes.owner(base);
        let mut shares = Vec::new();
        if let Some(query) = share("", part.inner(base)?)? {
            shares.push(Share { index, part, query, first: true });
        }
        for (index, part) in self.routes.below(base) {
            let hidden = std::iter::successors(Some(part.prefix.clone()), VirtualPath::parent)
                .take_while(|directory| directory != base)
                .any(|directory| call.guard.check(operation, &directory).is_err());
            if hidden {
                continue;
            }
            let names = part.prefix.relative_to(base).unwrap_or_default();
            if let Some(query) = share(names, part.inner(&part.prefix)?)? {
                shares.push(Share { index, part, query, first: false });
            }
        }
        Ok(shares)
    }
}

/// Orders the files of several parts, and their matches with them; the matches of one file keep their order.
fn put_in_order(found: &mut GrepOutcome, sort: SortOrder) {
    let ranks = std::mem::take(&mut found.ranks);
    let mut files: Vec<_> = std::mem::take(&mut found.files).into_iter().zip(ranks).collect();
    let times: HashMap<&str, Option<i64>> = files.iter().map(|(file, rank)| (file.path.as_str(), *rank)).collect();
    let place = |line: &GrepMatch| times.get(line.path.as_str()).copied().flatten();
    order::sort_by(&mut found.matches, |one, other| {
        compare_places(sort, (place(one), &one.path), (place(other), &other.path))
    });
    order::sort_by(&mut files, |(one, rank), (other, another)| {
        compare_places(sort, (*rank, &one.path), (*another, &other.path))
    });
    (found.files, found.ranks) = files.into_iter().unzip();
}

fn page<T>(results: &mut Vec<T>, offset: usize, limit: usize) {
    results.drain(..offset.min(results.len()));
    results.truncate(limit);
}
