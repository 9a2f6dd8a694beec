//! The mount table against a model that looks at every mount; what an author is told about bad mounts.

use std::fs;

use proptest::prelude::*;

use super::{Allowances, Mount, MountEntry, MountMode, MountTable, Sandbox};
use crate::access::Operation;
use crate::error::ErrorKind;
use crate::path::VirtualPath;

fn at(path: &str) -> VirtualPath {
    VirtualPath::absolute(path).unwrap()
}

fn entry(point: &str) -> MountEntry {
    MountEntry {
        mount_point: at(point),
        aliases: vec![],
        mode: MountMode::ReadWrite,
        suffixes: None,
        max_file_bytes: None,
        write_approval: false,
        read_approval: false,
    }
}

fn list(paths: &[&str]) -> Option<Vec<String>> {
    Some(paths.iter().map(|path| (*path).to_owned()).collect())
}

#[test]
fn the_longest_mount_point_of_whole_segments_wins() {
    let table = MountTable::new(["/", "/data", "/data/special", "/data/special/x/y"].map(entry).to_vec(), true);
    for (path, point) in [
        ("/", "/"),
        ("/database", "/"),
        ("/data", "/data"),
        ("/data/specials", "/data"),
        ("/data/special/x", "/data/special"),
        ("/data/special/x/y/z", "/data/special/x/y"),
    ] {
        let found = table.find(&at(path)).unwrap();
        assert_eq!(table.mount(found).mount_point, at(point), "{path}");
    }
    assert_eq!(MountTable::new(vec![entry("/a")], true).find(&at("/ab")), None);
}

#[test]
fn an_alias_is_another_spelling_of_its_mount_point() {
    let mut mount = entry("/link");
    mount.aliases = vec![at("/real/place")];
    let table = MountTable::new(vec![mount], false);
    assert_eq!(table.locate(&at("/real/place/a")).unwrap().path, at("/link/a"));
    assert_eq!(table.locate(&at("/real/place")).unwrap().path, at("/link"));
    assert_eq!(table.locate(&at("/link/a")).unwrap().path, at("/link/a"));
    assert_eq!(table.locate(&at("/real/places")), None);
}

#[test]
fn ancestors_of_mounts_are_directories_that_show_only_the_way() {
    let table = MountTable::new(["/a/b/c", "/a/d", "/e"].map(entry).to_vec(), true);
    let children = |path: &str| table.virtual_children(&at(path)).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!((children("/"), children("/a"), children("/a/b")), ("a e".into(), "b d".into(), "c".into()));
    assert_eq!(children("/a/b/c"), "");
    for (path, is) in [("/", true), ("/a", true), ("/a/b", true), ("/a/b/c", false), ("/x", false), ("/a/x", false)] {
        assert_eq!(table.is_virtual_directory(&at(path)), is, "{path}");
    }
    assert!(table.holds_mount(&at("/a")) && !table.holds_mount(&at("/a/d")));
}

#[test]
fn suffixes_compare_without_case_and_an_empty_list_takes_nothing() {
    let mut some = entry("/some");
    some.suffixes = Some(vec![".txt".into(), ".gz".into()]);
    let mut none = entry("/none");
    none.suffixes = Some(vec![]);
    let table = MountTable::new(vec![some, none, entry("/all")], true);
    for (path, allowed) in [
        ("/some/a.TXT", true),
        ("/some/a.tar.gz", true),
        ("/some/.txt", false),
        ("/some/a", false),
        ("/some/a.md", false),
        ("/none/a.txt", false),
        ("/all/a", true),
    ] {
        assert_eq!(table.check_suffix(&at(path)).is_ok(), allowed, "{path}");
    }
    let error = table.check_suffix(&at("/some/a.md")).unwrap_err();
    assert_eq!(
        error.message(),
        "'/some/a.md' has the suffix '.md', which is not allowed here. Allowed suffixes: .txt, .gz."
    );
}

#[test]
fn errors_name_what_is_allowed() {
    let mut small = entry("/w");
    small.max_file_bytes = Some(1_000_000);
    let mut read_only = entry("/r");
    read_only.mode = MountMode::ReadOnly;
    let table = MountTable::new(vec![small, read_only], true);
    let message = |result: crate::error::Result<()>| result.unwrap_err().message().to_owned();
    assert_eq!(
        message(table.check_size(&at("/w/f"), 1_234_567)),
        "'/w/f' has 1,234,567 bytes; at most 1,000,000 are allowed here."
    );
    assert_eq!(
        message(table.require_write(&at("/r/f")).map(drop)),
        "'/r/f' is read-only. Paths that can be written: /w."
    );
    assert_eq!(
        message(table.require_read(&at("/etc")).map(drop)),
        "'/etc' is outside the sandbox. Paths that can be read: /w, /r."
    );
    let empty = MountTable::new(vec![], true);
    assert_eq!(
        message(empty.require_read(&at("/etc")).map(drop)),
        "'/etc' is outside the sandbox. Paths that can be read: none."
    );
}

#[test]
fn an_author_is_told_which_mounts_overlap() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    fs::create_dir(root.join("a")).unwrap();
    std::os::unix::fs::symlink("a", root.join("l")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    let message = |mounts: &[(&str, &str)]| {
        let mounts = mounts.iter().map(|(host, point)| Mount::new(*host, *point)).collect();
        let error = Sandbox::new(mounts, &root).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.message().replace(root.to_str().unwrap(), "~")
    };
    assert_eq!(message(&[]), "A sandbox needs at least one mount.");
    assert_eq!(
        message(&[("a", "/x"), ("a/b", "/y")]),
        "Host directories of mounts must not overlap: '/x' is '~/a' and '/y' is '~/a/b'."
    );
    assert_eq!(
        message(&[("a", "/x"), ("l", "/y")]),
        "Host directories of mounts must not overlap: '/x' is '~/a' and '/y' is '~/a'."
    );
    assert_eq!(message(&[("a", "/x"), ("b", "/x/")]), "Two mounts have the mount point '/x'; each needs its own.");
    assert_eq!(message(&[("a", "x")]), "The mount point 'x' must begin with '/', such as '/x'.");
    assert_eq!(
        message(&[("file", "/x")]),
        "The host directory 'file' of the mount '/x' cannot be used: it is, or lies beneath, a file."
    );
    assert_eq!(
        message(&[("missing/../b", "/x")]),
        "The host directory 'missing/../b' of the mount '/x' cannot be used: a '..' follows a name that does not exist."
    );
    assert!(!root.join("b").exists(), "nothing is made before all mounts are sound");
}

#[test]
fn a_child_never_has_more_than_its_parent() {
    let base = tempfile::tempdir().unwrap();
    let mounts = vec![Mount::new("d", "/d").read_write(), Mount::new("n", "/d/n").read_write(), Mount::new("r", "/r")];
    let parent = Sandbox::new(mounts, base.path()).unwrap();
    let child =
        parent.derive(&Allowances { allow_write: list(&["/d"]), inherit: true, ..Allowances::default() }).unwrap();
    assert!(child.can_write("/d/x") && child.can_read("/d/x"));
    assert!(!child.can_read("/d/n/x"), "a mount nested below is not part of what was allowed");
    assert!(!child.can_read("/r/x"));
    let refused = child.derive(&Allowances { allow_read: list(&["/r"]), ..Allowances::default() }).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PathNotInSandbox);
    let config = parent.path_config("/d/n/f", Operation::Write).unwrap();
    assert_eq!((config.mount_point, config.mount.mount_point.as_str()), (at("/d/n"), "/d/n"));
    assert_eq!(parent.mount_root("/r").unwrap(), base.path().canonicalize().unwrap().join("r"));
}

#[test]
fn an_allowed_directory_that_is_a_link_is_judged_by_where_it_leads() {
    let base = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(vec![Mount::new("d", "/d"), Mount::new("o", "/o")], base.path()).unwrap();
    fs::create_dir(base.path().join("d/real")).unwrap();
    std::os::unix::fs::symlink("real", base.path().join("d/link")).unwrap();
    std::os::unix::fs::symlink("../o", base.path().join("d/out")).unwrap();
    let child = sandbox.derive(&Allowances { allow_read: list(&["/d/link"]), ..Allowances::default() }).unwrap();
    assert!(child.can_read("/d/link/x") && child.can_read("/d/real/x") && !child.can_read("/d/x"));
    assert_eq!(child.readable_roots(), ["/d/link"]);
    let refused = sandbox.derive(&Allowances { allow_read: list(&["/d/out"]), ..Allowances::default() }).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PathNotInSandbox);
}

#[test]
fn an_allowed_link_that_leads_through_what_is_missing_allows_nothing_around_it() {
    let base = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(vec![Mount::new("d", "/d").read_write()], base.path()).unwrap();
    let n = base.path().join("d/n");
    fs::create_dir(&n).unwrap();
    fs::write(n.join("file"), "").unwrap();
    for (name, target) in [
        ("gone", "missing/.."),
        ("deep", "missing/../x"),
        ("twice", "gone/."),
        ("back", "missing/../../n"),
        ("through", "file/.."),
    ] {
        std::os::unix::fs::symlink(target, n.join(name)).unwrap();
        let entry = format!("/d/n/{name}");
        for allowances in [
            Allowances { allow_read: list(&[&entry]), ..Allowances::default() },
            Allowances { allow_write: list(&[&entry]), ..Allowances::default() },
        ] {
            let refused = sandbox.derive(&allowances).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PathNotInSandbox, "{name} -> {target}");
        }
        assert_eq!(sandbox.resolve(&entry).unwrap_err().kind(), ErrorKind::PathNotInSandbox);
    }
    std::os::unix::fs::symlink("later", n.join("dangling")).unwrap();
    let child = sandbox.derive(&Allowances { allow_read: list(&["/d/n/dangling"]), ..Allowances::default() }).unwrap();
    assert!(child.can_read("/d/n/later/x") && !child.can_read("/d/n/file"), "what does not exist yet may be named");
}

fn path() -> impl Strategy<Value = VirtualPath> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "ab", "c"]), 0..6)
        .prop_map(|names| at(&format!("/{}", names.join("/"))))
}

proptest! {
    #[test]
    fn finds_what_a_look_at_every_mount_finds(points in prop::collection::btree_set(path(), 0..12), asked in path()) {
        let points: Vec<VirtualPath> = points.into_iter().collect();
        let table = MountTable::new(points.iter().map(|point| entry(point.as_str())).collect(), true);
        let model = points.iter().filter(|point| asked.is_within(point)).max_by_key(|point| point.as_str().len());
        prop_assert_eq!(table.find(&asked).map(|id| &table.mount(id).mount_point), model);
        let below: std::collections::BTreeSet<String> = points
            .iter()
            .filter_map(|point| point.relative_to(&asked))
            .filter_map(|rest| rest.split('/').next().filter(|name| !name.is_empty()).map(str::to_owned))
            .collect();
        prop_assert_eq!(table.virtual_children(&asked), below);
    }

    #[test]
    fn a_chain_of_derived_sandboxes_only_narrows(
        chain in prop::collection::vec(
            (prop::option::of(prop::collection::vec(path(), 0..3)), prop::option::of(prop::collection::vec(path(), 0..3)),
             any::<bool>(), any::<bool>()),
            1..4,
        ),
        asked in prop::collection::vec(path(), 1..8),
    ) {
        let base = tempfile::tempdir().unwrap();
        let mounts = vec![
            Mount::new("one", "/a").read_write(),
            Mount::new("two", "/a/b"),
            Mount::new("three", "/c/ab").read_write(),
        ];
        let mut sandbox = Sandbox::new(mounts, base.path()).unwrap();
        for (read, write, readonly, inherit) in chain {
            let texts = |paths: Option<Vec<VirtualPath>>| {
                paths.map(|paths| paths.iter().map(|path| path.as_str().to_owned()).collect())
            };
            let allowances = Allowances { allow_read: texts(read), allow_write: texts(write), readonly, inherit };
            let Ok(child) = sandbox.derive(&allowances) else { continue };
            for path in &asked {
                let path = path.as_str();
                prop_assert!(
                    !child.can_read(path) || sandbox.can_read(path),
                    "read of {path} by {allowances:?}"
                );
                prop_assert!(!child.can_write(path) || sandbox.can_write(path), "write of {path} by {allowances:?}");
                prop_assert!(!(child.can_write(path) && readonly));
            }
            sandbox = child;
        }
    }
}
