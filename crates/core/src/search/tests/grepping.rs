use super::*;
use crate::error::ErrorKind;
use crate::search::{CaseMode, GrepFile, GrepLine, GrepMatch};

#[test]
fn finds_lines_in_order_with_context() {
    let tree =
        HostTree::new(&[("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\ntwo again\n"), ("b/c.txt", "nothing\r\ntwo\r\n")]);
    let outcome = grep(&tree, &GrepQuery { before: 1, after: 2, ..lines("two$|again") }).unwrap();
    let line = |line_number, line: &str| GrepLine { line_number, line: line.to_owned() };
    let expected = [
        GrepMatch {
            path: "/w/a.txt".into(),
            line_number: 2,
            line: "two".into(),
            before: vec![line(1, "one")],
            after: vec![line(3, "three"), line(4, "four")],
        },
        GrepMatch {
            path: "/w/a.txt".into(),
            line_number: 7,
            line: "two again".into(),
            before: vec![line(6, "six")],
            after: vec![],
        },
        GrepMatch {
            path: "/w/b/c.txt".into(),
            line_number: 2,
            line: "two".into(),
            before: vec![line(1, "nothing")],
            after: vec![],
        },
    ];
    assert_eq!(outcome.matches, expected);
    assert_eq!((outcome.total_matches, outcome.total_files, outcome.searched_files), (3, 2, 2));
    assert_eq!((outcome.truncated, outcome.incomplete), (false, false));
}

#[test]
fn options_say_what_matches() {
    let tree = HostTree::new(&[
        ("a.ts", "Foo.bar(1)\nfoobar\nfoo\n-v\nx\n"),
        ("b.js", "foo.bar\n"),
        ("we:ird:3:name.ts", "-v\n"),
    ]);
    let query = lines("");
    let all = |query: &GrepQuery| matched(&tree, query);
    let with = |pattern: &str| GrepQuery { pattern: pattern.to_owned(), ..query.clone() };
    assert_eq!(all(&with("foo.bar")), ["/w/b.js:1: foo.bar"]);
    assert_eq!(all(&GrepQuery { literal: true, ..with("bar(") }), ["/w/a.ts:1: Foo.bar(1)"]);
    let insensitive = GrepQuery { case: CaseMode::Insensitive, ..with("FOO.BAR") };
    assert_eq!(all(&insensitive), ["/w/a.ts:1: Foo.bar(1)", "/w/b.js:1: foo.bar"]);
    let smart = GrepQuery { case: CaseMode::Smart, ..with("foo.bar") };
    assert_eq!(all(&smart), ["/w/a.ts:1: Foo.bar(1)", "/w/b.js:1: foo.bar"]);
    assert_eq!(all(&GrepQuery { case: CaseMode::Smart, ..with("Foo") }), ["/w/a.ts:1: Foo.bar(1)"]);
    assert_eq!(all(&GrepQuery { word: true, ..with("foo") }), ["/w/a.ts:3: foo", "/w/b.js:1: foo.bar"]);
    // D5: a pattern that begins with `-` is a pattern; a name with `:` is a name.
    assert_eq!(all(&with("-v")), ["/w/a.ts:4: -v", "/w/we:ird:3:name.ts:1: -v"]);
    assert_eq!(all(&GrepQuery { globs: vec!["*.js".into()], ..with("foo") }), ["/w/b.js:1: foo.bar"]);
    assert_eq!(all(&GrepQuery { globs: vec!["!*.ts".into()], ..with("foo") }), ["/w/b.js:1: foo.bar"]);
    assert_eq!(all(&GrepQuery { types: vec!["js".into()], ..with("foo") }), ["/w/b.js:1: foo.bar"]);
    let multiline = GrepQuery { multiline: true, ..with("foobar\nfoo") };
    assert_eq!(all(&multiline), ["/w/a.ts:2: foobar\nfoo"]);
    let unknown = grep(&tree, &GrepQuery { types: vec!["nonsense".into()], ..query.clone() }).unwrap_err();
    assert!(unknown.message().starts_with("There is no file type 'nonsense'"));
}

#[test]
fn a_glob_without_slash_matches_at_any_depth() {
    let tree = HostTree::new(&[
        ("a.ts", "x"),
        ("src/b.ts", "x"),
        ("src/test/c.ts", "x"),
        ("node/d.ts", "x"),
        (".hid/e.ts", "x"),
    ]);
    for (globs, expected) in [
        (vec!["*.ts"], vec!["/w/a.ts", "/w/node/d.ts", "/w/src/b.ts", "/w/src/test/c.ts"]),
        (vec!["./*.ts"], vec!["/w/a.ts"]),
        (vec!["src/**"], vec!["/w/src/b.ts", "/w/src/test/c.ts"]),
        (vec!["test/"], vec!["/w/src/test/c.ts"]),
        (vec!["/w/src/*"], vec!["/w/src/b.ts"]),
        (vec!["!test", "!node/"], vec!["/w/a.ts", "/w/src/b.ts"]),
        (vec!["*.ts", "!src/"], vec!["/w/a.ts", "/w/node/d.ts"]),
        (vec!["{a,b}.ts"], vec!["/w/a.ts", "/w/src/b.ts"]),
        (vec![".hid/**"], vec!["/w/.hid/e.ts"]),
    ] {
        let globs: Vec<String> = globs.into_iter().map(str::to_owned).collect();
        let outcome = grep(&tree, &GrepQuery { files_only: true, globs: globs.clone(), ..lines("x") }).unwrap();
        let paths: Vec<_> = outcome.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, expected, "{globs:?}");
    }
}

#[test]
fn an_invalid_pattern_is_an_error_with_a_caret() {
    let tree = HostTree::new(&[]);
    let message = |query: &GrepQuery| {
        let error = grep(&tree, query).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.message().to_owned()
    };
    assert_eq!(
        message(&lines("foo(bar")),
        "The pattern is not a valid regular expression: unclosed group.\n  foo(bar\n     ^\nEscape it with '\\', or set \
         'literal' to search for plain text."
    );
    assert!(message(&lines("ab[z-a]")).contains("\n  ab[z-a]\n     ^\n"));
    assert!(message(&lines(r"\p{Nonsense}")).contains("Unicode property not found"));
    assert!(message(&lines("a\nb")).contains("set 'multiline'"));
    assert!(message(&lines(r"a\nb")).contains("set 'multiline'"));
    assert!(message(&GrepQuery { literal: true, ..lines("a\nb") }).contains("set 'multiline'"));
    assert!(message(&lines(&format!("{}{}", "(".repeat(101), ")".repeat(101)))).contains("nested"));
    assert!(message(&lines(r"(\w{100}){100}")).contains("more than 8 MiB"));
    assert!(message(&lines(&"x".repeat(9000))).contains("at most 8192"));
    assert!(message(&lines("x(?=a)")).contains("need the option 'look_around'.\n  x(?=a)\n   ^\n"));
    let look_around = |pattern| GrepQuery { look_around: true, ..lines(pattern) };
    assert!(message(&look_around("(?=a")).contains("\n  (?=a\n"));
    // What is wrong with or without look-around is told in the same words.
    assert_eq!(message(&look_around("foo(bar")), message(&lines("foo(bar")));
    assert!(message(&GrepQuery { multiline: true, ..look_around("(?=a)") }).contains("without 'multiline'"));
}

#[test]
fn counts_files_and_pages() {
    let tree = HostTree::new(&[("a", "x\nx\nx\n"), ("b", "x\n"), ("c", "y\n"), ("d", "x\nx\n")]);
    let file = |path: &str, count| GrepFile { path: path.to_owned(), count };
    let counts = grep(&tree, &GrepQuery { count_only: true, ..lines("x") }).unwrap();
    assert_eq!(counts.files, [file("/w/a", 3), file("/w/b", 1), file("/w/d", 2)]);
    assert_eq!((counts.total_matches, counts.total_files, counts.searched_files), (6, 3, 4));
    let names = grep(&tree, &GrepQuery { files_only: true, offset: 1, limit: 1, ..lines("x") }).unwrap();
    assert_eq!(names.files, [file("/w/b", 1)]);
    assert_eq!((names.total_files, names.truncated), (3, true));
    for (offset, limit, expected, truncated) in [
        (0, 2, vec!["/w/a:1: x", "/w/a:2: x"], true),
        (2, 2, vec!["/w/a:3: x", "/w/b:1: x"], true),
        (4, 2, vec!["/w/d:1: x", "/w/d:2: x"], false),
        (6, 2, vec![], false),
    ] {
        let query = GrepQuery { offset, limit, ..lines("x") };
        assert_eq!(matched(&tree, &query), expected);
        let outcome = grep(&tree, &query).unwrap();
        assert_eq!((outcome.total_matches, outcome.truncated), (6, truncated));
    }
    let capped = grep(&tree, &GrepQuery { max_per_file: Some(1), ..lines("x") }).unwrap();
    assert_eq!(capped.total_matches, 3);
}

#[test]
fn a_named_file_is_always_searched() {
    let tree = HostTree::new(&[(".gitignore", "*"), (".hid/x.bin", "ab\0needle\n"), ("plain", "needle\n")]);
    let at = |text: &str| GrepQuery { path: path(text), globs: vec!["*.ts".into()], ..lines("needle") };
    assert_eq!(matched(&tree, &at("/w/.hid/x.bin")), ["/w/.hid/x.bin:1: ab\0needle"]);
    assert_eq!(matched(&tree, &at("/w/plain")), ["/w/plain:1: needle"]);
    assert_eq!(matched(&tree, &lines("needle")), [""; 0]);
    assert_eq!(grep(&tree, &at("/w/missing")).unwrap_err().kind(), ErrorKind::FileNotFound);
}

#[test]
fn encodings_are_read_and_binary_files_left_out() {
    let tree = HostTree::new(&[("bom", "\u{FEFF}needle ä\n"), ("bin", "needle\0\n"), ("after", "x\n")]);
    let wide: Vec<u8> = "\u{FEFF}one\nneedle ä\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(tree.root.path().join("wide"), wide).unwrap();
    let big: Vec<u8> = "\u{FEFF}needle ä\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    std::fs::write(tree.root.path().join("big-endian"), big).unwrap();
    std::fs::write(tree.root.path().join("latin"), b"needle \xE4\n").unwrap();
    let expected =
        ["/w/big-endian:1: needle ä", "/w/bom:1: needle ä", "/w/latin:1: needle \u{FFFD}", "/w/wide:2: needle ä"];
    assert_eq!(matched(&tree, &lines("needle")), expected);
    assert_eq!(matched(&tree, &lines("^needle")), expected);
}

#[test]
fn large_files_are_read_in_pieces_and_long_lines_cut() {
    let tree = HostTree::new(&[]);
    let mut content = "filler line\n".repeat(100_000);
    content.push_str(&"y".repeat(5_000));
    content.push_str("needle");
    content.push_str(&"z".repeat(5_000));
    content.push_str("\nlast needle\n");
    tree.add("big", &content);
    let outcome = grep(&tree, &lines("needle")).unwrap();
    let expected = format!("…{}needle{}…", "y".repeat(500), "z".repeat(1_494));
    let found: Vec<_> = outcome.matches.iter().map(|found| (found.line_number, found.line.as_str())).collect();
    assert_eq!(found, [(100_001, expected.as_str()), (100_002, "last needle")]);
}

#[test]
fn a_pattern_made_to_backtrack_ends_at_once() {
    let tree = HostTree::new(&[("a", &format!("{}!", "a".repeat(100_000)))]);
    let begun = std::time::Instant::now();
    assert_eq!(matched(&tree, &lines("(a+)+$")), [""; 0]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn look_around_is_an_option_with_a_bound() {
    let tree = HostTree::new(&[("a.ts", "foobar\r\nfoobaz\nFOObar abab\nxfoobar\n")]);
    let with = |pattern: &str| GrepQuery { look_around: true, ..lines(pattern) };
    assert_eq!(matched(&tree, &with("foo(?!baz)")), ["/w/a.ts:1: foobar", "/w/a.ts:4: xfoobar"]);
    assert_eq!(matched(&tree, &with("(?<=foo)bar$")), ["/w/a.ts:1: foobar", "/w/a.ts:4: xfoobar"]);
    assert_eq!(matched(&tree, &with(r"(ab)\1")), ["/w/a.ts:3: FOObar abab"]);
    let smart = GrepQuery { case: CaseMode::Smart, ..with("foo(?=bar)") };
    assert_eq!(matched(&tree, &smart).len(), 3);
    let word = GrepQuery { word: true, ..with("foo(?=bar)bar") };
    assert_eq!(matched(&tree, &word), ["/w/a.ts:1: foobar"]);
    let tree = HostTree::new(&[("a", &format!("{}!\nfine aa!\n", "a".repeat(5_000)))]);
    let outcome = grep(&tree, &with(r"(?=x|a)(a+)+\1$")).unwrap();
    assert_eq!((outcome.total_matches, outcome.incomplete, outcome.truncated), (0, true, true));
}

#[test]
fn a_pattern_with_many_states_is_not_tried_on_lines_that_would_take_too_long() {
    let heavy = "(a.{0,200}b.{0,200}c.{0,200}){4}$";
    let long = "abc".repeat(50_000);
    let tree = HostTree::new(&[("one", &format!("{long}\n{}\n", "abc".repeat(4))), ("two", "x\n")]);
    let outcome = grep(&tree, &lines(heavy)).unwrap();
    let found: Vec<_> = outcome.matches.iter().map(|found| (found.path.as_str(), found.line_number)).collect();
    assert_eq!(found, [("/w/one", 2)]);
    assert!(outcome.incomplete && outcome.truncated);
    // Where it may, the line is found whatever its length.
    let outcome = grep(&tree, &lines("(abc){50}$")).unwrap();
    assert_eq!((outcome.total_matches, outcome.incomplete), (1, false));
    // A text that is matched as a whole is one long line.
    let outcome = grep(&tree, &GrepQuery { multiline: true, ..lines(heavy) }).unwrap();
    assert_eq!((outcome.total_matches, outcome.incomplete), (0, true));
    // Look-around is tried on lines of up to 8 KiB.
    let tree = HostTree::new(&[("one", &format!("{}b\nab\n", "x".repeat(9_000)))]);
    let outcome = grep(&tree, &GrepQuery { look_around: true, ..lines("(?<!c)b") }).unwrap();
    assert_eq!((outcome.total_matches, outcome.incomplete), (1, true));
}

#[test]
fn patterns_made_to_be_large_are_refused_before_they_are_built() {
    let tree = HostTree::new(&[]);
    for pattern in [r"(\w{999}){999}{999}", "(((a{200}){200}){200}){200}", &"a{1000}".repeat(1_000), r"(?i)\pL{99999}"]
    {
        let error = grep(&tree, &lines(pattern)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}", error.message());
    }
}

#[test]
fn a_budget_of_bytes_ends_a_search_with_what_it_has() {
    let tree = HostTree::new(&[("a", "x\n"), ("b", "x\n"), ("c", "x\n")]);
    let limits = Limits { grep_bytes: 4, search_threads: 1, ..Limits::default() };
    let outcome = host::grep(&tree.backend(&[], limits), &lines("x"), &Call::default()).unwrap();
    assert_eq!((outcome.total_matches, outcome.searched_files), (2, 2));
    assert!(outcome.incomplete && outcome.truncated);
    let limits = Limits { grep_file_bytes: 1, ..Limits::default() };
    let outcome = host::grep(&tree.backend(&[], limits), &lines("x"), &Call::default()).unwrap();
    assert_eq!((outcome.total_matches, outcome.too_large_files), (0, 3));
}

#[test]
fn links_to_files_are_searched_where_that_is_asked_for() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "x\n").unwrap();
    let tree =
        HostTree::new(&[("real", "x\n"), ("link", "->real"), ("dir/a", "x\n"), ("way", "->dir"), ("gone", "->no")]);
    std::os::unix::fs::symlink(outside.path().join("secret"), tree.root.path().join("out")).unwrap();
    assert_eq!(matched(&tree, &lines("x")), ["/w/dir/a:1: x", "/w/real:1: x"]);
    let linked = GrepQuery { links: crate::search::LinkPolicy::Match, ..lines("x") };
    assert_eq!(matched(&tree, &linked), ["/w/dir/a:1: x", "/w/link:1: x", "/w/real:1: x"]);
}

/// Files of ASCII are matched without Unicode, and others with it.
#[test]
fn each_text_is_matched_by_what_its_characters_are() {
    let tree = HostTree::new(&[
        ("ascii", "Kelvin\nx y\n"),
        ("letters", "\u{212A}elvin\né à\n"),
        ("marked", "\u{FEFF}kelvin\nß\n"),
        ("picture", "\0kelvin é\n"),
    ]);
    let long = "x\n".repeat(200_000);
    tree.add("long", &format!("{long}kelvin é\n"));
    let insensitive = |pattern| GrepQuery { case: CaseMode::Insensitive, ..lines(pattern) };
    let all = ["/w/ascii:1: Kelvin", "/w/letters:1: \u{212A}elvin", "/w/long:200001: kelvin é", "/w/marked:1: kelvin"];
    assert_eq!(matched(&tree, &insensitive("kelvin")), all);
    assert_eq!(matched(&tree, &insensitive(r"^(?:k)elvin\b")), all);
    assert_eq!(matched(&tree, &lines(r"^\w \w$")), ["/w/ascii:2: x y", "/w/letters:2: é à"]);
    let total = |query: &GrepQuery| grep(&tree, query).unwrap().total_matches;
    assert_eq!(total(&GrepQuery { word: true, ..lines(r"\w") }), 4 + 200_000);
    assert_eq!(total(&lines(r"^.$")), 1 + 200_000);
    assert_eq!(matched(&tree, &lines(r"^\W+$")), Vec::<String>::new());
}

/// What is counted only goes another way than what is shown.
#[test]
fn counting_finds_what_showing_finds() {
    let tree = HostTree::new(&[
        ("empty", ""),
        ("ends", "\n"),
        ("one", "a"),
        ("late", "b\nb\n\na\n\nb\n"),
        ("windows", "b\r\n\r\na\r\n"),
        ("mark", "\u{FEFF}a\n\n"),
        ("dense", "a\na\na\na\n"),
        ("latin", "b\n"),
    ]);
    std::fs::write(tree.root.path().join("latin"), b"b\n\xFF\xFEa\n").unwrap();
    let wide: Vec<u8> = "\u{FEFF}b\na\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(tree.root.path().join("wide"), wide).unwrap();
    for text in ["a", "^a", "a$", "^$", "x*", "b|^$", r"\ba", "nowhere"] {
        for (max_per_file, word) in [(None, false), (Some(1), false), (None, true)] {
            let shown = GrepQuery { max_per_file, word, ..lines(text) };
            let expected = grep(&tree, &shown).unwrap();
            let counted = grep(&tree, &GrepQuery { count_only: true, ..shown.clone() }).unwrap();
            assert_eq!((counted.files, counted.total_matches), (expected.files, expected.total_matches), "{text}");
        }
    }
    let found = grep(&tree, &GrepQuery { count_only: true, ..lines("a") }).unwrap();
    assert_eq!((found.total_files, found.total_matches), (7, 10));
}

/// Beyond the page asked for, matches are counted and not kept.
#[test]
fn a_small_page_of_many_matches_is_that_of_all() {
    let names: Vec<String> = (0..400).map(|index| format!("{:03}", index * 7 % 400)).collect();
    let tree = HostTree::new(&[]);
    for name in &names {
        tree.add(name, &"a\nb\n\na\n".repeat(name.len() + usize::from(name.ends_with('3'))));
        tree.touch(name, 1_000 + name.parse::<u64>().unwrap() % 50);
    }
    for sort in [crate::search::SortOrder::Path, crate::search::SortOrder::Modified] {
        let all = grep(&tree, &GrepQuery { sort, ..lines("a") }).unwrap();
        assert!(all.total_matches > 2_400 && !all.truncated);
        for (offset, limit) in [(0, 1), (0, 20), (37, 5), (2_000, 100)] {
            let page = grep(&tree, &GrepQuery { sort, offset, limit, ..lines("a") }).unwrap();
            assert_eq!(page.matches, all.matches[offset..offset + limit]);
            assert_eq!((page.files, page.total_matches), (all.files.clone(), all.total_matches));
        }
    }
}

/// Context of a match behind the page was shown as that of the last match on it.
#[test]
fn a_page_ends_with_the_context_of_its_own_last_match() {
    let tree = HostTree::new(&[("a", "x\none\nx\ntwo\n")]);
    let found = grep(&tree, &GrepQuery { after: 1, limit: 1, ..lines("x") }).unwrap();
    let after: Vec<_> = found.matches[0].after.iter().map(|line| line.line.as_str()).collect();
    assert_eq!((found.matches.len(), after, found.total_matches), (1, vec!["one"], 2));
}

/// A file that cannot be searched spends nothing of what the search may read.
#[test]
fn a_file_too_large_to_be_held_is_left_out_before_it_is_read() {
    let tree = HostTree::new(&[("small", "x")]);
    std::fs::File::create(tree.root.path().join("large")).unwrap().set_len(17 << 20).unwrap();
    let limits = Limits { grep_bytes: 1 << 20, grep_file_bytes: 64 << 20, ..Limits::default() };
    let query = GrepQuery { multiline: true, ..lines("x") };
    let outcome = host::grep(&tree.backend(&[], limits), &query, &Call::default()).unwrap();
    assert_eq!((outcome.total_files, outcome.searched_files, outcome.too_large_files), (1, 1, 1));
    assert!(!outcome.incomplete);
}
