use super::*;
use crate::backend::{Backend as _, FileKind};
use crate::search::{Outline, OutlineQuery};

fn query() -> OutlineQuery {
    OutlineQuery { path: path("/w"), depth: 2, respect_ignore: true, counts: true }
}

fn outline(tree: &HostTree, limits: Limits, query: &OutlineQuery) -> Outline {
    host::block_on(tree.backend(&[], limits).files().outline(query, &Call::default())).unwrap()
}

fn shown(outline: &Outline) -> Vec<String> {
    let line = |entry: &crate::search::OutlineEntry| match (entry.info.kind, entry.files) {
        (FileKind::Directory, Some(files)) => format!("{}/ {files}", entry.info.path),
        (FileKind::Directory, None) => format!("{}/", entry.info.path),
        _ => entry.info.path.clone(),
    };
    outline.entries.iter().map(line).collect()
}

#[test]
fn a_tree_too_large_to_show_loses_its_deepest_entries_first_and_says_so() {
    let tree = HostTree::new(&[("b/1", ""), ("b/2", ""), ("b/c/3", ""), ("a/4", ""), ("z", "")]);
    let limits = Limits { list_entries: 4, ..Limits::default() };
    let found = outline(&tree, limits, &query());
    assert_eq!(shown(&found), ["/w/a/ 1", "/w/a/4", "/w/b/ 3", "/w/z"]);
    assert_eq!((found.total, found.files, found.truncated, found.incomplete), (7, Some(5), true, false));
}

#[test]
fn what_is_ignored_is_left_out_and_counted_once() {
    let tree = HostTree::new(&[
        (".gitignore", "node_modules/\n*.log\n"),
        ("node_modules/a/b/c.js", ""),
        ("node_modules/d.js", ""),
        ("src/x.log", ""),
        ("src/y.ts", ""),
        ("src/in/.ignore", "z"),
        ("src/in/z", ""),
    ]);
    let found = outline(&tree, Limits::default(), &OutlineQuery { depth: 9, ..query() });
    assert_eq!(shown(&found), ["/w/src/ 2", "/w/src/in/ 1", "/w/src/in/.ignore", "/w/src/y.ts", "/w/.gitignore"]);
    assert_eq!((found.ignored, found.files), (3, Some(3)));
    // Without counts nothing below the levels shown is looked at.
    let flat = OutlineQuery { depth: 1, counts: false, ..query() };
    assert_eq!(outline(&tree, Limits::default(), &flat).ignored, 1);
    // A path that is named is shown, ignored or not.
    let named = OutlineQuery { path: path("/w/node_modules"), ..query() };
    assert_eq!(
        shown(&outline(&tree, Limits::default(), &named)),
        ["/w/node_modules/a/ 1", "/w/node_modules/a/b/ 1", "/w/node_modules/d.js"]
    );
}

#[test]
fn links_are_shown_and_neither_entered_nor_counted() {
    let tree = HostTree::new(&[
        ("real/a", ""),
        ("dir", "->real"),
        ("file", "->real/a"),
        ("loop", "->."),
        ("gone", "->nothing"),
        ("out", "->/etc"),
    ]);
    let found = outline(&tree, Limits::default(), &OutlineQuery { depth: 5, ..query() });
    assert_eq!(shown(&found), ["/w/dir/ 0", "/w/loop/ 0", "/w/real/ 1", "/w/real/a", "/w/file"]);
    let through = OutlineQuery { path: path("/w/dir"), ..query() };
    assert_eq!(shown(&outline(&tree, Limits::default(), &through)), ["/w/dir/a"]);
}

#[test]
fn a_deadline_makes_counts_lower_bounds() {
    let tree = HostTree::new(&[("a/b", ""), ("c", "")]);
    let limits = Limits { search_timeout: std::time::Duration::ZERO, ..Limits::default() };
    let found = outline(&tree, limits, &query());
    assert!(found.incomplete && found.truncated);
}

/// Beyond the directories that are open at once, the walk goes down from the root again.
#[test]
fn a_depth_holds_also_where_more_levels_than_open_directories_lie_above_it() {
    let tree = HostTree::new(&[(".gitignore", "skip")]);
    let mut at = rustix::fs::open(tree.root.path(), rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    for level in 0..700 {
        for name in ["d", "e"] {
            rustix::fs::mkdirat(&at, name, 0o700.into()).unwrap();
        }
        // A directory stays open while the other name in it waits: whichever is entered first, on half of the levels.
        let name = if level % 2 == 0 { "d" } else { "e" };
        at = rustix::fs::openat(&at, name, rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    }
    // Only the count of what was ignored tells that a walk went deeper than is shown.
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    drop(rustix::fs::openat(&at, "skip", flags, 0o600.into()).unwrap());
    // Another thread would take what waits.
    let search_timeout = std::time::Duration::from_secs(600);
    let limits = Limits { search_threads: 1, search_timeout, ..Limits::default() };
    for depth in [1, 600] {
        let found = outline(&tree, limits.clone(), &OutlineQuery { depth, counts: false, ..query() });
        assert_eq!((found.total, found.ignored, found.truncated), (2 * depth as usize + 1, 0, false));
    }
}
