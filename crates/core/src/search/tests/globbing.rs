use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::error::ErrorKind;
use crate::search::{EntryFilter, SortOrder};

#[test]
fn patterns_have_one_meaning() {
    let tree = HostTree::new(&[
        ("a.ts", ""),
        ("b.js", ""),
        ("src/c.ts", ""),
        ("src/deep/er/d.ts", ""),
        ("src/deep/e.tsx", ""),
        ("lib/f.ts", ""),
        (".env", ""),
        (".github/ci.yml", ""),
        ("src/.secret/g.ts", ""),
        ("-dash.ts", ""),
        ("we:ird\nname.ts", ""),
    ]);
    let all = ["/w/-dash.ts", "/w/a.ts", "/w/b.js", "/w/lib/f.ts", "/w/src/c.ts", "/w/src/deep/e.tsx"];
    let all: Vec<&str> = [&all[..], &["/w/src/deep/er/d.ts", "/w/we:ird\nname.ts"]].concat();
    for (text, expected) in [
        // D8: the empty pattern and `**` are all files.
        ("", all.clone()),
        ("**", all.clone()),
        ("**/*", all.clone()),
        ("***/**", all.clone()),
        ("*", vec!["/w/-dash.ts", "/w/a.ts", "/w/b.js", "/w/we:ird\nname.ts"]),
        ("*.ts", vec!["/w/-dash.ts", "/w/a.ts", "/w/we:ird\nname.ts"]),
        ("-*", vec!["/w/-dash.ts"]),
        ("we:*", vec!["/w/we:ird\nname.ts"]),
        // D7, D77: braces, also over whole paths and within each other.
        ("*.{js,tsx}", vec!["/w/b.js"]),
        ("{src/deep,lib}/*.{ts,tsx}", vec!["/w/lib/f.ts", "/w/src/deep/e.tsx"]),
        ("{a,{b,c}}.{t,j}s", vec!["/w/a.ts", "/w/b.js"]),
        ("a{,.ts}", vec!["/w/a.ts"]),
        ("src/**/*.ts", vec!["/w/src/c.ts", "/w/src/deep/er/d.ts"]),
        ("src/**", vec!["/w/src/c.ts", "/w/src/deep/e.tsx", "/w/src/deep/er/d.ts"]),
        ("src/", vec!["/w/src/c.ts", "/w/src/deep/e.tsx", "/w/src/deep/er/d.ts"]),
        ("./src//c.ts", vec!["/w/src/c.ts"]),
        ("**/er/**", vec!["/w/src/deep/er/d.ts"]),
        ("**/deep/*", vec!["/w/src/deep/e.tsx"]),
        ("*/?.ts", vec!["/w/lib/f.ts", "/w/src/c.ts"]),
        ("[a-b].?s", vec!["/w/a.ts", "/w/b.js"]),
        ("[!a].?s", vec!["/w/b.js"]),
        ("[^a].?s", vec!["/w/b.js"]),
        ("[b-ca-b].?s", vec!["/w/a.ts", "/w/b.js"]),
        ("[!c-da-ac].?s", vec!["/w/b.js"]),
        ("\\a.ts", vec!["/w/a.ts"]),
        // BE-44: a dot that the pattern names.
        (".*", vec!["/w/.env"]),
        (".github/*", vec!["/w/.github/ci.yml"]),
        ("**/.*/*.yml", vec!["/w/.github/ci.yml"]),
        ("src/.secret/**", vec!["/w/src/.secret/g.ts"]),
        ("!**/*.ts", vec!["/w/b.js", "/w/src/deep/e.tsx"]),
        ("!src", vec!["/w/-dash.ts", "/w/a.ts", "/w/b.js", "/w/lib/f.ts", "/w/we:ird\nname.ts"]),
        ("none/*", vec![]),
        // Absolute patterns: below the path, or elsewhere in the tree.
        ("/w/src/*.ts", vec!["/w/src/c.ts"]),
        ("/w/*.js", vec!["/w/b.js"]),
        ("/**/f.ts", vec!["/w/lib/f.ts"]),
    ] {
        assert_eq!(found(&tree, &pattern(text)), expected, "{text:?}");
    }
    let below = |text: &str| GlobQuery { path: path("/w/src"), ..pattern(text) };
    assert_eq!(found(&tree, &below("/w/lib/*.ts")), ["/w/lib/f.ts"]);
    assert_eq!(found(&tree, &below("/w/missing/*.ts")), [""; 0]);
    assert_eq!(glob(&tree, &below("/etc/*")).unwrap_err().kind(), ErrorKind::PathNotInSandbox);
    assert_eq!(found(&tree, &below("*.ts")), ["/w/src/c.ts"]);
}

#[test]
fn a_pattern_that_is_not_valid_says_where() {
    let tree = HostTree::new(&[("a.ts", "")]);
    for (text, message) in [
        ("a/../*", "holds '..'"),
        ("{a,../b}/*", "holds '..'"),
        ("src/[ab", "a '[' that is never closed (write '\\[' for the character) stands at character 5 of it"),
        ("{a,b", "a '{' that is never closed (write '\\{' for the character) stands at character 1 of it"),
        ("a{b}}", "a '}' without its '{' (write '\\}' for the character) stands at character 5 of it"),
        ("[z-a]", "a range that runs backwards stands at character 2 of it"),
        ("a\\", "a '\\' that escapes nothing stands at character 2 of it"),
        ("a\0", "a NUL character, which no file name holds, stands at character 2 of it"),
        (&"{a,b}".repeat(9), "more than 256 alternatives"),
        (&"x".repeat(9000), "has 9000 bytes; at most 8192 are possible"),
    ] {
        let error = glob(&tree, &pattern(text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains(message), "{text:?}: {}", error.message());
    }
}

#[test]
fn hidden_names_are_an_option() {
    let tree = HostTree::new(&[("a", ""), (".b", ""), (".c/d", ""), (".git/HEAD", "")]);
    let query = GlobQuery { hidden: true, ..pattern("**") };
    assert_eq!(found(&tree, &query), ["/w/.b", "/w/.c/d", "/w/a"]);
    assert_eq!(found(&tree, &GlobQuery { respect_ignore: false, ..query }).len(), 4);
    // A root that lies below a hidden directory hides nothing (D6).
    assert_eq!(found(&tree, &GlobQuery { path: path("/w/.c"), ..pattern("**") }), ["/w/.c/d"]);
}

/// D79: directories and names that do not match were counted too, in the order of their times.
#[test]
fn a_limit_counts_what_matches_and_nothing_else() {
    let tree = HostTree::new(&[("a.js", ""), ("b/x.js", ""), ("c.ts", ""), ("d.ts", ""), ("e/f.ts", "")]);
    tree.touch("a.js", 900);
    let page = glob(&tree, &GlobQuery { limit: 2, sort: SortOrder::Path, ..pattern("**/*.ts") }).unwrap();
    let names: Vec<_> = page.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((names.as_slice(), page.total, page.truncated), (["c.ts", "d.ts"].as_slice(), 3, true));
}

#[test]
fn answers_newest_first_and_pages_with_totals() {
    let tree = HostTree::new(&[("a", "1"), ("b", "22"), ("c", ""), ("d", "")]);
    for (name, seconds) in [("a", 100), ("b", 300), ("c", 200), ("d", 200)] {
        tree.touch(name, seconds);
    }
    let query = GlobQuery { sort: SortOrder::Modified, ..pattern("*") };
    assert_eq!(found(&tree, &query), ["/w/b", "/w/c", "/w/d", "/w/a"]);
    let page = glob(&tree, &GlobQuery { offset: 1, limit: 2, ..query.clone() }).unwrap();
    let names: Vec<_> = page.files.iter().map(|file| (file.name.as_str(), file.size, file.modified_at)).collect();
    assert_eq!(names, [("c", 0, Some(200_000)), ("d", 0, Some(200_000))]);
    assert_eq!((page.total, page.truncated, page.incomplete), (4, true, false));
    let last = glob(&tree, &GlobQuery { offset: 3, limit: 2, ..query.clone() }).unwrap();
    assert_eq!((last.files.len(), last.total, last.truncated), (1, 4, false));
    let beyond = glob(&tree, &GlobQuery { offset: 9, limit: 2, ..query }).unwrap();
    assert_eq!((beyond.files.len(), beyond.total), (0, 4));
}

#[test]
fn links_count_when_they_stay_inside_and_are_never_entered() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.ts"), "").unwrap();
    let tree = HostTree::new(&[
        ("real/a.ts", ""),
        ("in.ts", "->real/a.ts"),
        ("dir.ts", "->real"),
        ("gone.ts", "->missing"),
        ("loop", "->."),
        ("abs.ts", "->/etc/passwd"),
    ]);
    std::os::unix::fs::symlink(outside.path(), tree.root.path().join("out")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.ts"), tree.root.path().join("out.ts")).unwrap();
    assert_eq!(found(&tree, &pattern("**/*.ts")), ["/w/in.ts", "/w/real/a.ts"]);
    let skipped = GlobQuery { links: crate::search::LinkPolicy::Skip, ..pattern("**/*.ts") };
    assert_eq!(found(&tree, &skipped), ["/w/real/a.ts"]);
    let any = GlobQuery { entries: EntryFilter::Any, ..pattern("**") };
    assert_eq!(found(&tree, &any), ["/w/dir.ts", "/w/in.ts", "/w/loop", "/w/real", "/w/real/a.ts"]);
    let directories = GlobQuery { entries: EntryFilter::Directories, ..pattern("*") };
    assert_eq!(found(&tree, &directories), ["/w/dir.ts", "/w/loop", "/w/real"]);
    // A path that leads through a link is shown as it was asked for.
    assert_eq!(found(&tree, &GlobQuery { path: path("/w/dir.ts"), ..pattern("*") }), ["/w/dir.ts/a.ts"]);
}

#[test]
fn one_bad_entry_breaks_nothing() {
    let tree = HostTree::new(&[("a.ts", ""), ("closed/b.ts", ""), ("fifo.d/", ""), ("z/c.ts", "")]);
    let root = tree.root.path();
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe.ts"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    std::fs::write(root.join(std::ffi::OsStr::from_bytes(b"caf\xE9.ts")), "").unwrap();
    std::fs::set_permissions(root.join("closed"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut expected = vec!["/w/a.ts", "/w/caf\\xe9.ts", "/w/z/c.ts"];
    if std::fs::read_dir(root.join("closed")).is_ok() {
        // The superuser reads everything.
        expected.insert(2, "/w/closed/b.ts");
    }
    assert_eq!(found(&tree, &pattern("**/*.ts")), expected);
    std::fs::set_permissions(root.join("closed"), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_file_is_tested_itself() {
    let tree = HostTree::new(&[("src/.a.ts", "")]);
    let at = |text: &str| GlobQuery { path: path("/w/src/.a.ts"), ..pattern(text) };
    assert_eq!(found(&tree, &at("*.ts")), ["/w/src/.a.ts"]);
    assert_eq!(found(&tree, &at("**")), ["/w/src/.a.ts"]);
    assert_eq!(found(&tree, &at("*.js")), [""; 0]);
    let missing = GlobQuery { path: path("/w/nothing"), ..pattern("*") };
    assert_eq!(glob(&tree, &missing).unwrap_err().kind(), ErrorKind::FileNotFound);
}

#[test]
fn a_cursor_goes_on_where_a_page_ended_whatever_happened_meanwhile() {
    let tree = HostTree::new(&[("a", ""), ("b", ""), ("c", ""), ("d", "")]);
    for (name, seconds) in [("a", 100), ("b", 300), ("c", 200), ("d", 200)] {
        tree.touch(name, seconds);
    }
    let query = GlobQuery { sort: SortOrder::Modified, limit: 2, ..pattern("*") };
    let first = glob(&tree, &query).unwrap();
    assert_eq!(first.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    let cursor = first.next.unwrap();
    assert_eq!(cursor.to_string().parse::<crate::search::Cursor>().unwrap(), cursor);
    // An offset would show `c` again.
    tree.add("new", "");
    tree.touch("new", 400);
    let rest = glob(&tree, &GlobQuery { after: Some(cursor), ..query.clone() }).unwrap();
    assert_eq!(rest.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["d", "a"]);
    assert_eq!((rest.total, rest.before, rest.truncated, rest.next), (5, 3, false, None));
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let query = GlobQuery { sort: SortOrder::Path, limit: 1, after, ..query.clone() };
        let page = glob(&tree, &query).unwrap();
        seen.extend(page.files.into_iter().map(|file| file.name));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["a", "b", "c", "d", "new"]);
    for text in ["", "x", "1", "x /w/a", "99999999999999999999 /w/a"] {
        assert_eq!(text.parse::<crate::search::Cursor>().unwrap_err().kind(), ErrorKind::InvalidInput, "{text}");
    }
}
