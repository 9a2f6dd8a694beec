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
