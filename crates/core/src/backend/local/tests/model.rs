//! Random trees, links and operations against a plain model of what the walls let through.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::*;

/// What lies in the one host directory, by its path from there.
#[derive(Debug, Clone)]
enum Node {
    File(String),
    Directory,
    Link(String),
}

type Tree = BTreeMap<Vec<String>, Node>;

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "n"]).prop_map(str::to_owned)
}

fn names(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(name(), 1..=most)
}

fn node() -> impl Strategy<Value = Node> {
    let step = prop::sample::select(vec!["a", "b", "c", "n", "..", ".", "/"]);
    prop_oneof![
        3 => "[xyz]{1,3}".prop_map(Node::File),
        2 => Just(Node::Directory),
        3 => prop::collection::vec(step, 1..4).prop_map(|steps| Node::Link(steps.join("/"))),
    ]
}

/// A tree without contradictions: what has entries below it is a directory.
fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec((names(3), node()), 0..14).prop_map(|planned| {
        let mut tree = Tree::new();
        for (path, node) in planned {
            let parents_fit = (1..path.len()).all(|end| matches!(tree.get(&path[..end]), None | Some(Node::Directory)));
            if parents_fit && !tree.contains_key(&path) {
                for end in 1..path.len() {
                    tree.insert(path[..end].to_vec(), Node::Directory);
                }
                tree.insert(path, node);
            }
        }
        tree
    })
}

/// Where a path leads, as the rules say: links that stay inside are followed, all else is refused.
#[derive(Debug, PartialEq, Eq)]
enum Leads {
    To(Vec<String>),
    Nowhere,
    Out,
    Circle,
    ThroughAFile,
}

fn follow(tree: &Tree, path: &[String]) -> Leads {
    let mut here: Vec<String> = Vec::new();
    let mut pending: Vec<String> = path.iter().rev().cloned().collect();
    let mut links = 0;
    while let Some(step) = pending.pop() {
        match step.as_str() {
            "" | "." => continue,
            ".." => {
                if here.pop().is_none() {
                    return Leads::Out;
                }
                continue;
            }
            _ => {}
        }
        here.push(step);
        match tree.get(&here) {
            None => return Leads::Nowhere,
            Some(Node::Directory) => {}
            Some(Node::File(_)) if pending.is_empty() => {}
            Some(Node::File(_)) => return Leads::ThroughAFile,
            Some(Node::Link(target)) => {
                links += 1;
                if links > 40 {
                    return Leads::Circle;
                }
                if target.starts_with('/') {
                    return Leads::Out;
                }
                here.pop();
                pending.extend(target.split('/').rev().map(str::to_owned));
            }
        }
    }
    Leads::To(here)
}

fn grow(root: &Path, tree: &Tree) {
    for (path, node) in tree {
        let path = root.join(path.join("/"));
        match node {
            Node::File(text) => fs::write(path, text).unwrap(),
            Node::Directory => fs::create_dir(path).unwrap(),
            Node::Link(target) => symlink(target, path).unwrap(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_can_be_read_is_what_the_model_says(
        tree in tree(),
        asked in prop::collection::vec(names(4), 1..6),
        nested in prop::option::of(names(2)),
        denied in prop::option::of(names(2)),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("root")).unwrap();
        fs::write(base.path().join("a"), "OUTSIDE").unwrap();
        grow(&base.path().join("root"), &tree);
        let mut mounts = vec![Mount::new("root", "/").read_write()];
        if let Some(point) = &nested {
            fs::create_dir(base.path().join("nested")).unwrap();
            fs::write(base.path().join("nested/a"), "NESTED").unwrap();
            mounts.push(Mount::new("nested", format!("/{}", point.join("/"))));
        }
        // A derived sandbox that may read one directory only.
        let mut walls = Sandbox::new(mounts, base.path()).unwrap();
        let mut only = None;
        if let Some(directory) = &denied {
            let allow_read = Some(vec![format!("/{}", directory.join("/"))]);
            if let Ok(child) = walls.derive(&crate::sandbox::Allowances { allow_read, ..Default::default() }) {
                only = Some(directory.clone());
                walls = child;
            }
        }
        for strategy in STRATEGIES {
            let options = LocalOptions { sandbox: Some(walls.clone()), ..LocalOptions::default() };
            let backend = LocalBackend::with_strategy(options, strategy).unwrap();
            for path in &asked {
                let found = runtime.block_on(super::read(&backend, &format!("/{}", path.join("/"))));
                let in_nested = |path: &[String]| nested.as_ref().is_some_and(|point| path.starts_with(point));
                let holds_nested = |path: &[String]| nested.as_ref().is_some_and(|point| point.starts_with(path));
                let entry_resolved = only.as_ref().map(|only| match follow(&tree, only) {
                    Leads::To(resolved) if !in_nested(only) => resolved,
                    _ => only.clone(),
                });
                let allowed = |path: &[String]| match (&only, &entry_resolved) {
                    (Some(only), Some(resolved)) => {
                        in_nested(only) == in_nested(path) && (path.starts_with(only) || path.starts_with(resolved))
                    }
                    _ => true,
                };
                let expected = if !allowed(path) {
                    None
                } else if in_nested(path) {
                    let point = nested.as_ref().unwrap();
                    (path[point.len()..] == ["a".to_owned()]).then(|| "NESTED".to_owned())
                } else {
                    match follow(&tree, path) {
                        Leads::To(resolved) if !in_nested(&resolved) && allowed(&resolved) && !holds_nested(path) => {
                            match tree.get(&resolved) {
                                Some(Node::File(text)) => Some(text.clone()),
                                _ => None,
                            }
                        }
                        _ => None,
                    }
                };
                prop_assert_eq!(
                    found.as_ref().ok(), expected.as_ref(),
                    "/{} by {:?}: {:?}; tree {:?}; nested {:?}; only {:?}",
                    path.join("/"), strategy, found, tree, nested, only
                );
            }
        }
    }

    #[test]
    fn writes_land_where_the_model_says_and_never_outside(
        tree in tree(),
        written in prop::collection::vec((names(3), any::<bool>()), 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for strategy in STRATEGIES {
            let base = tempfile::tempdir().unwrap();
            fs::create_dir(base.path().join("root")).unwrap();
            fs::write(base.path().join("a"), "OUTSIDE").unwrap();
            grow(&base.path().join("root"), &tree);
            let backend = whole(base.path(), strategy);
            for (path, removes) in &written {
                let text = format!("/{}", path.join("/"));
                if *removes {
                    let call = Call::default();
                    let _ = runtime.block_on(backend.writer().unwrap().remove(&at(&text), true, &call));
                } else if runtime.block_on(write(&backend, &text, "WRITTEN")).is_ok() {
                    prop_assert_eq!(runtime.block_on(super::read(&backend, &text)).unwrap(), "WRITTEN");
                }
            }
            prop_assert_eq!(fs::read_to_string(base.path().join("a")).unwrap(), "OUTSIDE");
            prop_assert_eq!(fs::read_dir(base.path()).unwrap().count(), 2, "nothing new outside");
        }
    }
}
