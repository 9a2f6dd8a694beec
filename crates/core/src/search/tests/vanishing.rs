//! Entries that are gone, or are something else, between the listing that names them and their opening (D74).

use std::sync::Arc;

use parking_lot::Mutex;

use super::*;
use crate::access::{Guard, Operation};
use crate::backend::Backend as _;
use crate::search::{EntryFilter, FindQuery, OutlineQuery};

/// Does something when it is first asked about what lies below `/w`: all of `/w` is listed then, and nothing in it opened.
struct Meanwhile(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Guard for Meanwhile {
    fn check(&self, _operation: Operation, path: &VirtualPath) -> Result<()> {
        if path.as_str() != "/w"
            && let Some(act) = self.0.lock().take()
        {
            act();
        }
        Ok(())
    }
}

/// A tree, where a link may lead out, and a call in which much of what was listed is taken away or replaced.
struct Swapped {
    tree: HostTree,
    outside: HostTree,
}

impl Swapped {
    fn new() -> Self {
        let outside = HostTree::new(&[("secret.txt", "x"), ("b.txt", "x")]);
        let tree = HostTree::new(&[
            ("a/kept.txt", "x"),
            ("gone-directory/b.txt", "x"),
            ("directory-to-file/b.txt", "x"),
            ("directory-to-link/b.txt", "x"),
            ("gone.txt", "x"),
            ("kept.txt", "x"),
            ("to-directory.txt", "x"),
            ("to-link.txt", "x"),
            ("to-pipe.txt", "x"),
        ]);
        Self { tree, outside }
    }

    fn call(&self) -> (Call, Arc<Meanwhile>) {
        let (root, outside) = (self.tree.root.path().to_owned(), self.outside.root.path().to_owned());
        let act = move || {
            for directory in ["gone-directory", "directory-to-file", "directory-to-link"] {
                std::fs::remove_dir_all(root.join(directory)).unwrap();
            }
            for file in ["gone.txt", "to-directory.txt", "to-link.txt", "to-pipe.txt"] {
                std::fs::remove_file(root.join(file)).unwrap();
            }
            std::fs::write(root.join("directory-to-file"), "x").unwrap();
            std::os::unix::fs::symlink(&outside, root.join("directory-to-link")).unwrap();
            std::fs::create_dir(root.join("to-directory.txt")).unwrap();
            std::fs::write(root.join("to-directory.txt/b.txt"), "x").unwrap();
            std::os::unix::fs::symlink(outside.join("secret.txt"), root.join("to-link.txt")).unwrap();
            let fifo = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, root.join("to-pipe.txt"), fifo, 0o600.into(), 0).unwrap();
        };
        let guard = Arc::new(Meanwhile(Mutex::new(Some(Box::new(act)))));
        (Call { guard: guard.clone(), ..Call::default() }, guard)
    }
}

/// The paths that a search of a tree shows which is swapped meanwhile, none of which may come from outside.
fn shown(
    search: impl AsyncFn(&crate::backend::local::LocalBackend, &Call) -> Result<(Vec<String>, bool)>,
) -> Vec<String> {
    let swapped = Swapped::new();
    let (call, guard) = swapped.call();
    let backend = swapped.tree.backend(&[], Limits::default());
    let (mut paths, is_cut_short) = host::block_on(search(&backend, &call)).unwrap();
    assert!(guard.0.lock().is_none(), "nothing was swapped");
    assert!(!is_cut_short);
    paths.sort();
    paths
}

fn paths(files: Vec<crate::backend::FileInfo>) -> Vec<String> {
    files.into_iter().map(|file| file.path).collect()
}

#[test]
fn what_vanishes_or_is_replaced_between_listing_and_opening_is_left_out() {
    let kept = ["/w/a/kept.txt", "/w/kept.txt"];
    let found = shown(async |backend, call| {
        let query = GrepQuery { files_only: true, ..lines("x") };
        let outcome = backend.files().grep(&query, call).await?;
        Ok((outcome.files.into_iter().map(|file| file.path).collect(), outcome.truncated))
    });
    assert_eq!(found, kept, "grep");
    let found = shown(async |backend, call| {
        let outcome = backend.files().glob(&pattern("**/*.txt"), call).await?;
        Ok((paths(outcome.files), outcome.truncated))
    });
    assert_eq!(found, kept, "glob");
    let found = shown(async |backend, call| {
        let outcome = backend.files().find(&FindQuery::new("txt", path("/w")), call).await?;
        Ok((paths(outcome.files), outcome.truncated))
    });
    assert_eq!(found, kept, "find");
}

/// They show an entry as it is when they look at it, and follow nothing that has become a link.
#[test]
fn a_tree_that_changes_while_it_is_shown_shows_nothing_that_is_gone_or_outside() {
    let mut expected = vec!["/w/a", "/w/a/kept.txt", "/w/kept.txt"];
    let any = shown(async |backend, call| {
        let query = GlobQuery { entries: EntryFilter::Any, ..pattern("**") };
        let outcome = backend.files().glob(&query, call).await?;
        Ok((paths(outcome.files), outcome.truncated))
    });
    expected.extend(["/w/directory-to-file", "/w/to-directory.txt"]);
    expected.sort();
    assert_eq!(any, expected, "glob of any");
    let query = OutlineQuery { path: path("/w"), depth: 3, respect_ignore: true, counts: true };
    let outline = shown(async |backend, call| {
        let outline = backend.files().outline(&query, call).await?;
        Ok((paths(outline.entries.into_iter().map(|entry| entry.info).collect()), outline.truncated))
    });
    expected.extend(["/w/directory-to-link", "/w/to-link.txt", "/w/to-pipe.txt"]);
    expected.sort();
    assert_eq!(outline, expected, "outline");
    let listing = shown(async |backend, call| {
        let listing = backend.files().list(&path("/w"), 3, call).await?;
        Ok((paths(listing.entries), listing.truncated))
    });
    assert_eq!(listing, expected, "list");
}
