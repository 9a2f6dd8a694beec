//! Searches that a backend need not make itself, because its glob gives all that they need.

use std::collections::BTreeMap;

use super::{Call, FileInfo, FileKind, FileSystem};
use crate::error::Result;
use crate::search::{
    self, EntryFilter, FindOutcome, FindQuery, GlobQuery, Outline, OutlineEntry, OutlineQuery, SortOrder,
};

/// 10,000 entries are looked at: what one glob returns. Where there are more, the answer is incomplete.
const MAX_ENTRIES: usize = 10_000;

/// See [`FileSystem::find`].
pub(super) async fn find<F: FileSystem + ?Sized>(files: &F, query: &FindQuery, call: &Call) -> Result<FindOutcome> {
    let glob = GlobQuery {
        hidden: query.hidden,
        respect_ignore: query.respect_ignore,
        limit: MAX_ENTRIES,
        ..GlobQuery::new("**", query.path.clone())
    };
    let found = files.glob(&glob, call).await?;
    let (ignored, incomplete) = (found.ignored, found.truncated);
    let mut files = found.files;
    let total = search::in_order(&mut files, &query.query, &query.path, &query.above)?;
    files.drain(..query.offset.min(total));
    files.truncate(query.limit);
    let truncated = incomplete || query.offset.saturating_add(files.len()) < total;
    Ok(FindOutcome { files, total, ignored, truncated, incomplete })
}

/// See [`FileSystem::outline`].
pub(super) async fn outline<F: FileSystem + ?Sized>(files: &F, query: &OutlineQuery, call: &Call) -> Result<Outline> {
    let glob = GlobQuery {
        entries: EntryFilter::Any,
        hidden: true,
        respect_ignore: query.respect_ignore,
        sort: SortOrder::Path,
        limit: MAX_ENTRIES,
        ..GlobQuery::new("**", query.path.clone())
    };
    let found = files.glob(&glob, call).await?;
    let incomplete = found.truncated;
    let base = query.path.as_str().trim_end_matches('/');
    let mut entries: BTreeMap<String, OutlineEntry> = BTreeMap::new();
    let mut all_files = 0;
    for info in found.files {
        let is_file = info.kind == FileKind::File;
        all_files += u64::from(is_file);
        let below = info.path.strip_prefix(base).unwrap_or_default();
        // A backend that finds no directories has them all the same.
        for (end, _) in below.match_indices('/').skip(1).take(query.depth as usize) {
            let path = &info.path[..base.len() + end];
            let entry = entries.entry(path.to_owned()).or_insert_with(|| directory(path));
            *entry.files.get_or_insert(0) += u64::from(is_file);
        }
        if below.matches('/').count() <= query.depth as usize {
            let files = (info.kind == FileKind::Directory).then_some(0);
            let known = entries.entry(info.path.clone()).or_insert_with(|| OutlineEntry { info: info.clone(), files });
            known.info = info;
        }
    }
    let mut entries: Vec<OutlineEntry> = entries.into_values().collect();
    if !query.counts {
        entries.iter_mut().for_each(|entry| entry.files = None);
    }
    let total = entries.len();
    search::fit(&mut entries, MAX_ENTRIES);
    Ok(Outline {
        entries,
        total,
        files: query.counts.then_some(all_files),
        ignored: 0,
        truncated: incomplete,
        incomplete,
    })
}

fn directory(path: &str) -> OutlineEntry {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let info = FileInfo { name, path: path.to_owned(), kind: FileKind::Directory, size: 0, modified_at: None };
    OutlineEntry { info, files: Some(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::memory::StateBackend;
    use crate::backend::{Backend as _, BoxFuture, FileContent, FileSlice, Listing, Resolution, Window};
    use crate::limits::Limits;
    use crate::path::VirtualPath;
    use crate::search::{GlobOutcome, GrepOutcome, GrepQuery};

    /// A backend that makes none of these searches itself.
    struct Globs(StateBackend);

    impl FileSystem for Globs {
        fn working_directory(&self) -> &VirtualPath {
            self.0.files().working_directory()
        }

        fn readable_roots(&self) -> Vec<String> {
            self.0.files().readable_roots()
        }

        fn writable_roots(&self) -> Vec<String> {
            self.0.files().writable_roots()
        }

        fn mounts_ask(&self) -> bool {
            self.0.files().mounts_ask()
        }

        fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>> {
            self.0.files().resolve(path, call)
        }

        fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>> {
            self.0.files().stat(path, call)
        }

        fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>> {
            self.0.files().list(path, depth, call)
        }

        fn read<'a>(
            &'a self,
            path: &'a VirtualPath,
            window: Window,
            call: &'a Call,
        ) -> BoxFuture<'a, Result<FileSlice>> {
            self.0.files().read(path, window, call)
        }

        fn read_bytes<'a>(
            &'a self,
            path: &'a VirtualPath,
            max: u64,
            call: &'a Call,
        ) -> BoxFuture<'a, Result<FileContent>> {
            self.0.files().read_bytes(path, max, call)
        }

        fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>> {
            Box::pin(async move {
                let mut found = self.0.files().glob(query, call).await?;
                // As of a backend that knows files only.
                found.files.retain(|info| info.kind == FileKind::File);
                Ok(found)
            })
        }

        fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>> {
            self.0.files().grep(query, call)
        }
    }

    #[tokio::test]
    async fn a_glob_gives_the_same_answers_as_a_walk() {
        let files = r#"{ "files": { "/.gitignore": "out", "/src/user/user.ts": "1", "/src/use.ts": "", "/src/deep/er/x.rs": "",
                         "/out/user.ts": "", "/.hid/user.ts": "", "/readme.md": "" } }"#;
        let memory = || StateBackend::new(serde_json::from_str(files).unwrap(), Limits::default()).unwrap();
        let (plain, derived, call) = (memory(), Globs(memory()), Call::default());
        for (words, path, offset) in [("user ts", "/", 0), ("use", "/src", 1), ("src", "/src", 0), ("zebra", "/", 0)] {
            let path = VirtualPath::absolute(path).unwrap();
            let query = FindQuery { offset, limit: 1, ..FindQuery::new(words, path) };
            let paths = |found: FindOutcome| {
                let paths: Vec<_> = found.files.into_iter().map(|file| file.path).collect();
                (paths, found.total, found.truncated)
            };
            let theirs = plain.files().find(&query, &call).await.unwrap();
            assert_eq!(paths(derived.find(&query, &call).await.unwrap()), paths(theirs), "{words}");
        }
        for (path, depth, counts, respect_ignore) in
            [("/", 1, false, true), ("/", 2, true, true), ("/src", 3, true, false), ("/readme.md", 1, false, true)]
        {
            let query = OutlineQuery { path: VirtualPath::absolute(path).unwrap(), depth, counts, respect_ignore };
            let shape = |found: Outline| {
                let entries: Vec<_> =
                    found.entries.into_iter().map(|entry| (entry.info.path, entry.info.kind, entry.files)).collect();
                (entries, found.total, found.files, found.truncated)
            };
            let theirs = plain.files().outline(&query, &call).await.unwrap();
            assert_eq!(shape(derived.outline(&query, &call).await.unwrap()), shape(theirs), "{path} {depth}");
        }
    }
}
