use super::*;
use crate::backend::{Backend as _, local::LocalBackend};
use crate::error::ErrorKind;
use crate::search::{FindOutcome, FindQuery};

fn find(backend: &LocalBackend, query: &FindQuery) -> Result<FindOutcome> {
    host::block_on(backend.files().find(query, &Call::default()))
}

fn paths(backend: &LocalBackend, query: &FindQuery) -> Vec<String> {
    find(backend, query).unwrap().files.into_iter().map(|file| file.path).collect()
}

#[test]
fn the_file_that_fits_best_comes_first() {
    let tree = HostTree::new(&[
        (".gitignore", "dist/"),
        ("src/user/user_controller.ts", ""),
        ("src/user/user.ts", ""),
        ("src/controllers/index.ts", ""),
        ("test/user_controller.test.ts", ""),
        ("dist/user_controller.js", ""),
        (".cache/user.ts", ""),
        ("README.md", ""),
    ]);
    let backend = tree.backend(&[], Limits::default());
    let query = |text: &str| FindQuery::new(text, path("/w"));
    for (text, first) in [
        ("user controller", "/w/src/user/user_controller.ts"),
        ("usrctrl", "/w/src/user/user_controller.ts"),
        ("UserController.ts", "/w/src/user/user_controller.ts"),
        ("user_contoller test", "/w/test/user_controller.test.ts"),
        ("user", "/w/src/user/user.ts"),
        ("readme", "/w/README.md"),
        ("controllers/index", "/w/src/controllers/index.ts"),
    ] {
        assert_eq!(paths(&backend, &query(text)).first().map(String::as_str), Some(first), "{text}");
    }
    assert_eq!(paths(&backend, &query("zebra")), [""; 0]);
    assert_eq!(paths(&backend, &FindQuery { hidden: true, ..query(".cache") }), ["/w/.cache/user.ts"]);
    let page = find(&backend, &FindQuery { offset: 1, limit: 1, ..query("user") }).unwrap();
    assert_eq!((page.files.len(), page.total, page.truncated), (1, 3, true));
    // What a path above the searched directory is called is of no account.
    assert_eq!(paths(&backend, &FindQuery { path: path("/w/src/user"), ..query("w") }), [""; 0]);
}

#[test]
fn a_query_that_makes_no_sense_is_refused() {
    let tree = HostTree::new(&[("a", "")]);
    let backend = tree.backend(&[], Limits::default());
    let kind = |query: FindQuery| find(&backend, &query).unwrap_err().kind();
    assert_eq!(kind(FindQuery::new(" ", path("/w"))), ErrorKind::InvalidInput);
    assert_eq!(kind(FindQuery::new("x".repeat(200), path("/w"))), ErrorKind::InvalidInput);
    assert_eq!(kind(FindQuery::new("a b c d e f g h i", path("/w"))), ErrorKind::InvalidInput);
    assert_eq!(kind(FindQuery::new("a", path("/w/a"))), ErrorKind::NotADirectory);
    assert_eq!(kind(FindQuery::new("a", path("/w/missing"))), ErrorKind::FileNotFound);
}

/// What models and people ask for, with the file that they mean among files like it.
const MEANT: &[(&str, &str)] = &[
    ("toolset call", "core/src/toolset/call.rs"),
    ("native files", "ts/backend/native-files.ts"),
    ("NativeFiles", "ts/backend/native-files.ts"),
    ("composite search", "core/src/backend/composite/search.rs"),
    ("edit file tool", "core/src/tool/edit_file.rs"),
    ("editfile", "core/src/tool/edit_file.rs"),
    ("terminal-approver", "ts/approval/terminal-approver.ts"),
    ("approver test", "test/terminal-approver.test.ts"),
    ("readme", "README.md"),
    ("str_replace", "core/src/edit/str_replace.rs"),
    ("strrep", "core/src/edit/str_replace.rs"),
    ("ignore rules", "core/src/search/ignore_rules.rs"),
    ("error code", "ts/errors/error-code.ts"),
    ("local/backend", "core/src/backend/local/backend.rs"),
    ("cargo.toml core", "core/Cargo.toml"),
    ("Cargo.toml", "Cargo.toml"),
    ("package.json", "package.json"),
    ("command parser", "core/src/permissions/command/parser.rs"),
    ("cmdparser", "core/src/permissions/command/parser.rs"),
    ("view.rs", "core/src/tool/view.rs"),
    ("window test", "core/src/text/window_tests.rs"),
    // Slips: a letter wrong, missing, doubled, two exchanged.
    ("supervizor protocol", "supervisor/src/protocol.rs"),
    ("archetecture", "ARCHITECTURE.md"),
    ("compsite routes", "core/src/backend/composite/routes.rs"),
    ("deleet_file", "core/src/tool/delete_file.rs"),
    ("enviroment shell", "core/src/backend/local/shell/environment.rs"),
    ("permissoins checker", "core/src/permissions/checker.rs"),
];

/// Files that the same letters lead to.
const LIKE_THEM: &[&str] = &[
    "core/src/toolset/mod.rs",
    "core/src/tool/mod.rs",
    "core/src/tool/read_file.rs",
    "core/src/backend/local/read.rs",
    "core/src/backend/memory/search.rs",
    "core/src/search/tests/ignoring.rs",
    "core/src/error.rs",
    "core/src/text/window.rs",
    "core/src/permissions/mod.rs",
    "core/src/permissions/command/paths.rs",
    "core/README-old/index.md",
    "docs/packages/json.md",
    "lib/ignore.js",
    "lib/error.js",
    "lib/parser.js",
    "lib/commander/lib/error.js",
    "lib/commander/command.js",
    "lib/config/cargo/toml.ts",
    "lib/review.rs",
    "test/toolset.test.ts",
    "test/local-backend.test.ts",
    "ts/backend/local.ts",
    "ts/native.ts",
    "ts/errors/index.ts",
];

#[test]
fn the_file_that_is_meant_is_the_first_one() {
    let files: Vec<(&str, &str)> =
        MEANT.iter().map(|(_, path)| *path).chain(LIKE_THEM.iter().copied()).map(|path| (path, "")).collect();
    let tree = HostTree::new(&files);
    let backend = tree.backend(&[], Limits::default());
    let mut wrong = Vec::new();
    let mut reciprocal_ranks = 0.0;
    for (text, meant) in MEANT {
        let found = paths(&backend, &FindQuery::new(*text, path("/w")));
        let place = found.iter().position(|path| path == &format!("/w/{meant}"));
        reciprocal_ranks += place.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
        if place != Some(0) {
            wrong.push(format!("{text}: {meant} at {place:?}, first {:?}", found.first()));
        }
    }
    let mean = reciprocal_ranks / MEANT.len() as f64;
    println!("mean reciprocal rank {mean:.3} of {} queries", MEANT.len());
    assert!(mean > 0.95, "{mean:.3}: {wrong:#?}");
}

#[test]
fn names_made_to_be_slow_are_ranked_in_bounded_steps() {
    use crate::search::find::Ranking;
    // As long as a path can be, and each letter of the query everywhere in it.
    let path = "ab/".repeat(crate::path::MAX_PATH_BYTES / 3);
    for query in ["ab".repeat(64), "ab ".repeat(8), "a".repeat(128), format!("{}xy", "ab".repeat(60))] {
        let mut ranking = Ranking::new(&query).unwrap();
        let _ = ranking.rank(&path);
        assert!(ranking.cost() <= 2_000_000, "{query}: {}", ranking.cost());
    }
    let mut ranking = Ranking::new("İßﬁ").unwrap();
    assert!(ranking.rank("docs/i\u{307}ssfi.md").is_none());
    for path in ["", "/", "\u{FFFD}\u{0}\n", "İSTANBUL/ẞ.md", &"x/".repeat(5_000)] {
        let _ = ranking.rank(path);
    }
}
