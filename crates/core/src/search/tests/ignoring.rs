use super::*;
use crate::search::EntryFilter;

#[test]
fn ignore_files_are_honoured_nested_and_outside_a_repository() {
    let tree = HostTree::new(&[
        (".gitignore", "*.log\n/build\nnode_modules/\n!keep.log\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("build/x", ""),
        ("src/build/y", ""),
        ("src/.gitignore", "!a.log\n/gen\n"),
        ("src/a.log", ""),
        ("src/gen/z", ""),
        ("node_modules/m/index.js", ""),
        (".ignore", "secret.txt\n!b.log\n"),
        ("secret.txt", ""),
        ("b.log", ""),
        // A repository of its own: the rules above stop, but for those of `.ignore`.
        ("sub/.git/HEAD", ""),
        ("sub/c.log", ""),
        ("sub/secret.txt", ""),
    ]);
    let expected = ["/w/b.log", "/w/keep.log", "/w/src/a.log", "/w/src/build/y", "/w/sub/c.log"];
    assert_eq!(found(&tree, &pattern("**")), expected);
    // The rules above a path that is searched apply below it.
    assert_eq!(found(&tree, &GlobQuery { path: path("/w/src"), ..pattern("**") }), ["/w/src/a.log", "/w/src/build/y"]);
    // A path or a pattern that names an ignored directory looks into it.
    let named = GlobQuery { path: path("/w/node_modules"), ..pattern("**") };
    assert_eq!(found(&tree, &named), ["/w/node_modules/m/index.js"]);
    assert_eq!(found(&tree, &pattern("node_modules/**/*.js")), ["/w/node_modules/m/index.js"]);
    assert_eq!(found(&tree, &pattern("a.log")), ["/w/a.log"]);
    assert_eq!(found(&tree, &pattern("*/m/*.js")), [""; 0]);
    // What was left out is told: files of matching names, and directories that might have held some.
    let ignored = |query: &GlobQuery| glob(&tree, query).unwrap().ignored;
    assert_eq!(ignored(&pattern("**")), 6);
    assert_eq!(ignored(&pattern("*.log")), 1);
    assert_eq!(ignored(&pattern("*.md")), 0);
    assert_eq!(ignored(&GlobQuery { entries: EntryFilter::Any, hidden: true, ..pattern("**") }), 6);
    assert_eq!(grep(&tree, &lines("x")).unwrap().ignored, 6);
    let everything = GlobQuery { respect_ignore: false, ..pattern("**") };
    assert_eq!(found(&tree, &everything).len(), 11);
}

#[test]
fn an_ignore_file_that_makes_no_sense_has_no_say() {
    let tree = HostTree::new(&[
        ("a", ""),
        ("b", ""),
        (".gitignore", "[\n{\nb\n\0\n"),
        ("c/.gitignore", "->/etc/passwd"),
        ("c/d", ""),
    ]);
    assert_eq!(found(&tree, &pattern("**")), ["/w/a", "/w/c/d"]);
}

#[test]
fn ignore_files_made_to_fill_the_memory_have_no_say() {
    let tree = HostTree::new(&[("one/x", ""), ("one/large/x", ""), ("one/large/y", "")]);
    let hostile: String = (0..5_000).map(|index| format!("*{index}*{index}*\n")).collect();
    tree.add("one/large/.gitignore", &format!("x\n{}", hostile.repeat(2)));
    // One that is too large is left out as a whole, the others hold.
    assert_eq!(found(&tree, &pattern("**")), ["/w/one/large/x", "/w/one/large/y", "/w/one/x"]);
    let mut directory = String::new();
    for level in 0..8 {
        directory.push_str("d/");
        tree.add(&format!("{directory}.gitignore"), &format!("ignored\n#{}\n", "x".repeat(50_000)));
        tree.add(&format!("{directory}kept{level}"), "");
    }
    // The rules of the first five levels are all that a chain takes.
    tree.add("d/d/d/d/d/d/.gitignore", &format!("kept*\n#{}\n", "x".repeat(50_000)));
    let kept: Vec<_> = found(&tree, &pattern("d/**/kept*"));
    assert_eq!(kept.len(), 8);
    tree.add("d/d/d/d/d/.gitignore", "kept*\n");
    assert_eq!(found(&tree, &pattern("d/**/kept*")).len(), 4);
}
