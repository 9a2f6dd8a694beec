use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::access::{Guard, Operation};
use crate::backend::{Call, FileInfo, Missing, Window};
use crate::change;
use crate::error::{Error, ErrorKind};

fn backend(options: Value) -> Result<StateBackend> {
    let options = serde_json::from_value(options).map_err(|error| Error::invalid(error.to_string()))?;
    StateBackend::new(options, Limits::default())
}

fn with_files(files: Value) -> StateBackend {
    backend(json!({ "files": files })).unwrap()
}

fn at(path: &str) -> VirtualPath {
    VirtualPath::absolute(path).unwrap()
}

async fn bytes(backend: &StateBackend, path: &str) -> Result<Vec<u8>> {
    backend.files().read_bytes(&at(path), u64::MAX, &Call::default()).await.map(|content| content.bytes)
}

async fn write(backend: &StateBackend, path: &str, content: &[u8]) -> Result<bool> {
    let content = content.to_vec();
    let (path, call) = (at(path), Call::default());
    let transform = Box::new(move |_: Option<_>| Ok(content));
    backend.update(&path, Operation::Write, Missing::Create, transform, &call).await.map(|updated| updated.created)
}

async fn listing(backend: &StateBackend) -> Vec<FileInfo> {
    backend.files().list(&VirtualPath::root(), u32::MAX, &Call::default()).await.unwrap().entries
}

fn document(backend: &StateBackend) -> Value {
    serde_json::from_str(&backend.to_json().unwrap()).unwrap()
}

#[tokio::test]
async fn a_document_comes_back_as_it_went() {
    let files = json!({
        "/a.txt": {
            "content": ["one\r", "two", ""],
            "created_at": "2024-02-29T12:00:00.123456789Z",
            "modified_at": "2026-11-21T03:29:30Z",
        },
        "/bin": {
            "content": ["AP+A"],
            "created_at": "2024-01-01T00:00:00Z",
            "modified_at": "2024-01-01T00:00:00.5Z",
            "encoding": "base64",
        },
        "/d/__proto__": {
            "content": [""],
            "created_at": "1969-12-31T23:59:59Z",
            "modified_at": "1970-01-01T00:00:00Z",
        },
        "/empty/": {
            "content": [],
            "created_at": "2025-01-01T00:00:00Z",
            "modified_at": "2025-01-01T00:00:00Z",
        },
    });
    let first = with_files(files.clone());
    assert_eq!(document(&first), files);
    let second = StateBackend::from_json(&first.to_json().unwrap(), StateLimits::default(), Limits::default()).unwrap();
    assert_eq!(document(&second), files);
    assert_eq!(bytes(&second, "/a.txt").await.unwrap(), b"one\r\ntwo\n");
    assert_eq!(bytes(&second, "/bin").await.unwrap(), [0, 0xff, 0x80]);
    let modified: Vec<_> = listing(&second).await.into_iter().map(|info| (info.path, info.modified_at)).collect();
    assert_eq!(
        modified,
        [
            ("/d".to_owned(), Some(0)),
            ("/d/__proto__".to_owned(), Some(0)),
            ("/empty".to_owned(), Some(1_735_689_600_000)),
            ("/a.txt".to_owned(), Some(1_795_231_770_000)),
            ("/bin".to_owned(), Some(1_704_067_200_500)),
        ]
    );
}

#[tokio::test]
async fn documents_of_others_load() {
    let backend = with_files(json!({
        "text.txt": "plain",
        "/./notes//a.md": { "content": "one\ntwo", "mime_type": "text/markdown" },
        "/legacy": { "content": ["a", "b"], "created_at": "2024-01-01T00:00:00+00:00" },
        "/none": { "content": [], "encoding": null },
        "/camel": { "content": ["x"], "createdAt": "2024-01-01", "modifiedAt": "2024-01-02", "encoding": "utf-8" },
        "/wrapped": { "content": ["aGVs", "bG8"], "encoding": "base64" },
    }));
    for (path, expected) in [
        ("/text.txt", "plain"),
        ("/notes/a.md", "one\ntwo"),
        ("/legacy", "a\nb"),
        ("/none", ""),
        ("/camel", "x"),
        ("/wrapped", "hello"),
    ] {
        assert_eq!(String::from_utf8(bytes(&backend, path).await.unwrap()).unwrap(), expected, "{path}");
    }
    assert_eq!(document(&backend)["/legacy"]["modified_at"], "2024-01-01T00:00:00Z");
    assert_eq!(document(&backend)["/camel"]["modified_at"], "2024-01-02T00:00:00Z");
}

#[test]
fn a_document_that_makes_no_sense_says_where() {
    for (files, kind, path) in [
        (json!({ "/a": { "content": ["!"], "encoding": "base64" } }), ErrorKind::InvalidInput, Some("/a")),
        (json!({ "/a": { "content": [], "encoding": "utf-7" } }), ErrorKind::InvalidInput, Some("/a")),
        (json!({ "/a": { "content": [], "created_at": "today" } }), ErrorKind::InvalidInput, Some("/a")),
        (json!({ "/a": "1", "a": "2" }), ErrorKind::InvalidInput, Some("/a")),
        (json!({ "/a": "1", "/a/b": "2" }), ErrorKind::NotADirectory, Some("/a/b")),
        (json!({ "/a/b": "2", "/a": "1" }), ErrorKind::NotAFile, Some("/a")),
        (json!({ "/a/b/": "", "/a/b": "2" }), ErrorKind::AlreadyExists, Some("/a/b")),
        (json!({ "": "1" }), ErrorKind::NotAFile, Some("/")),
        (json!({ "/..": "1" }), ErrorKind::InvalidInput, None),
        (json!({ "/a": 1 }), ErrorKind::InvalidInput, None),
        (json!({ "/a": { "lines": [] } }), ErrorKind::InvalidInput, None),
        (json!(["/a"]), ErrorKind::InvalidInput, None),
    ] {
        let error = backend(json!({ "files": files })).err().unwrap();
        assert_eq!((error.kind(), error.path()), (kind, path), "{files}: {error}");
    }
    let error = backend(json!({ "filez": {} })).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = StateBackend::from_json("{", StateLimits::default(), Limits::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn the_root_is_a_directory_whatever_is_asked() {
    let backend = with_files(json!({ "/a": "1" }));
    let (root, call) = (VirtualPath::root(), Call::default());
    // D14: a write to '/' made a file without a name.
    assert_eq!(write(&backend, "/", b"x").await.unwrap_err().kind(), ErrorKind::NotAFile);
    assert_eq!(backend.remove(&root, true, &call).await.unwrap_err().kind(), ErrorKind::PathNotWritable);
    assert_eq!(backend.rename(&root, &at("/b"), &call).await.unwrap_err().kind(), ErrorKind::PathNotWritable);
    assert_eq!(backend.rename(&at("/a"), &root, &call).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert!(!backend.make_directory(&root, &call).await.unwrap());
    assert_eq!(bytes(&backend, "/a").await.unwrap(), b"1");
}

#[tokio::test]
async fn quotas_hold_to_the_byte_and_a_refusal_changes_nothing() {
    let limits = json!({ "totalBytes": 10, "fileBytes": 8, "entries": 4, "depth": 3 });
    let backend = backend(json!({ "files": { "/a": "12345" }, "limits": limits })).unwrap();
    let call = Call::default();
    assert_eq!(write(&backend, "/b", b"123456").await.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(write(&backend, "/a", b"123456789").await.unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert!(write(&backend, "/d/e/f", b"12345").await.unwrap());
    assert_eq!(backend.append(&at("/a"), b"6".to_vec(), &call).await.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(write(&backend, "/g", b"").await.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(backend.make_directory(&at("/g"), &call).await.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(backend.copy(&at("/a"), &at("/g"), &call).await.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(backend.rename(&at("/a"), &at("/g/a"), &call).await.unwrap_err().kind(), ErrorKind::Io);
    backend.rename(&at("/a"), &at("/b"), &call).await.unwrap();
    let too_deep = write(&backend, "/d/e/x/y", b"").await.unwrap_err();
    assert_eq!(too_deep.kind(), ErrorKind::InvalidInput);
    assert_eq!(backend.rename(&at("/d"), &at("/b2/d"), &call).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(!write(&backend, "/b", b"1234").await.unwrap());
    assert_eq!(backend.append(&at("/b"), b"5".to_vec(), &call).await.unwrap().size, 5);
    let sizes: Vec<_> = listing(&backend).await.into_iter().map(|info| (info.path, info.size)).collect();
    let expected = [("/d", 0), ("/d/e", 0), ("/d/e/f", 5), ("/b", 5)];
    assert_eq!(sizes, expected.map(|(path, size)| (path.to_owned(), size)));
    // What is removed can be used again.
    assert_eq!(backend.remove(&at("/d"), true, &call).await.unwrap(), 3);
    assert!(write(&backend, "/x/y/z", b"12345").await.unwrap());
}

#[test]
fn a_depth_beyond_the_ceiling_is_the_ceiling() {
    let deep = "/d".repeat(MAX_DEPTH + 1);
    let error = backend(json!({ "files": { deep: "" }, "limits": { "depth": 1_000_000 } })).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn a_clone_is_a_snapshot_of_its_own() {
    let original = with_files(json!({ "/a": "1", "/d/b": "2", "/d/c": "3" }));
    let clone = original.clone();
    let before = document(&original);
    assert!(!write(&clone, "/d/b", b"changed").await.unwrap());
    clone.append(&at("/a"), b"more".to_vec(), &Call::default()).await.unwrap();
    clone.remove(&at("/d/c"), false, &Call::default()).await.unwrap();
    assert_eq!(document(&original), before);
    original.remove(&at("/d"), true, &Call::default()).await.unwrap();
    assert_eq!(bytes(&clone, "/a").await.unwrap(), b"1more");
    assert_eq!(bytes(&clone, "/d/b").await.unwrap(), b"changed");
    assert_ne!(original.id(), clone.id());
}

/// A clone costs nothing until it is changed, and then what is changed and the way there: never the rest.
#[tokio::test]
async fn the_first_change_of_a_clone_copies_no_other_file_and_no_other_directory() {
    let files: serde_json::Map<_, _> = (0..1_000).map(|n| (format!("/d{}/f{n}", n % 10), json!("text"))).collect();
    let original = with_files(files.into());
    let clone = original.clone();
    write(&clone, "/d3/f3", b"changed").await.unwrap();
    clone.append(&at("/d3/f13"), b"!".to_vec(), &Call::default()).await.unwrap();
    clone.remove(&at("/d3/f23"), false, &Call::default()).await.unwrap();
    let (before, after) = (original.snapshot(), clone.snapshot());
    let (mut shared, mut own) = (0, Vec::new());
    for number in 0..1_000 {
        let path = at(&format!("/d{}/f{number}", number % 10));
        match (before.find(&path), after.find(&path)) {
            (Place::File(one), Place::File(other)) if Arc::ptr_eq(one, other) => shared += 1,
            _ => own.push(number),
        }
    }
    assert_eq!((shared, own), (997, vec![3, 13, 23]));
    for number in 0..10 {
        let path = at(&format!("/d{number}"));
        let (Place::Directory(one), Place::Directory(other)) = (before.find(&path), after.find(&path)) else {
            panic!("{path} is a directory");
        };
        assert_eq!(Arc::ptr_eq(one, other), number != 3, "{path}");
    }
}

#[tokio::test]
async fn every_state_of_every_file_has_a_version_of_its_own() {
    let backend = with_files(json!({ "/a": "same", "/b": "same" }));
    let version = async |path: &str| backend.resolve(&at(path), &Call::default()).await.unwrap().version.unwrap();
    let mut seen = vec![version("/a").await, version("/b").await];
    for _ in 0..100 {
        write(&backend, "/a", b"same").await.unwrap();
        seen.push(version("/a").await);
    }
    backend.copy(&at("/a"), &at("/c"), &Call::default()).await.unwrap();
    seen.push(version("/c").await);
    let distinct: std::collections::HashSet<_> = seen.iter().copied().collect();
    assert_eq!(distinct.len(), seen.len());
    assert!(seen[2..102].iter().all(|version| version.inode == seen[0].inode));
}

#[tokio::test]
async fn an_overwrite_keeps_when_the_file_was_made() {
    let times = "2020-01-01T00:00:00Z";
    let backend = with_files(json!({ "/a": { "content": [], "created_at": times, "modified_at": times } }));
    write(&backend, "/a", b"new").await.unwrap();
    let file = &document(&backend)["/a"];
    assert_eq!(file["created_at"], times);
    assert_ne!(file["modified_at"], times);
}

#[tokio::test]
async fn a_closed_backend_refuses_but_still_shows_its_document() {
    let backend = with_files(json!({ "/a": "1" }));
    backend.close().await.unwrap();
    backend.close().await.unwrap();
    assert_eq!(bytes(&backend, "/a").await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(write(&backend, "/a", b"2").await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(document(&backend)["/a"]["content"], json!(["1"]));
    assert_eq!(bytes(&backend.clone(), "/a").await.unwrap(), b"1");
}

#[tokio::test]
async fn an_aborted_call_does_nothing() {
    let backend = with_files(json!({}));
    let call = Call::default();
    call.deadline.cancel.cancel();
    assert_eq!(backend.make_directory(&at("/d"), &call).await.unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(backend.read_bytes(&at("/d"), 1, &call).await.unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(backend.list(&at("/d"), 1, &call).await.unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(listing(&backend).await, []);
}

/// Denies what its list names.
struct Denied(&'static [(Operation, &'static str)]);

impl Guard for Denied {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        if self.0.contains(&(operation, path.as_str())) {
            return Err(Error::new(ErrorKind::PermissionDenied, "Denied.").with_path(path.as_str()));
        }
        Ok(())
    }
}

#[tokio::test]
async fn the_guard_is_asked_about_every_path_that_a_call_touches() {
    let backend = with_files(json!({ "/d/e/f": "1", "/a": "2" }));
    let call = |denied| Call { guard: Arc::new(Denied(denied)), ..Call::default() };
    use Operation::{Delete, Edit, Ls, Read, Write};
    let same: crate::backend::Transform = Box::new(|content| Ok(content.unwrap().bytes));
    let denied = |error: Option<Error>| error.map(|error| (error.kind(), error.path().unwrap_or_default().to_owned()));
    let expected = |path: &str| Some((ErrorKind::PermissionDenied, path.to_owned()));
    let window = Window { offset: 0, limit: 1, max_bytes: 1 };

    let moved = backend.rename(&at("/d"), &at("/g"), &call(&[(Delete, "/d/e/f")])).await;
    assert_eq!(denied(moved.err()), expected("/d/e/f"));
    let moved = backend.rename(&at("/d"), &at("/g"), &call(&[(Write, "/g/e/f")])).await;
    assert_eq!(denied(moved.err()), expected("/g/e/f"));
    let removed = backend.remove(&at("/d"), true, &call(&[(Delete, "/d/e")])).await;
    assert_eq!(denied(removed.err()), expected("/d/e"));
    let made = backend.make_directory(&at("/x/y"), &call(&[(Write, "/x")])).await;
    assert_eq!(denied(made.err()), expected("/x"));
    let copied = backend.copy(&at("/a"), &at("/b"), &call(&[(Read, "/a")])).await;
    assert_eq!(denied(copied.err()), expected("/a"));
    let copied = backend.copy(&at("/a"), &at("/b"), &call(&[(Write, "/b")])).await;
    assert_eq!(denied(copied.err()), expected("/b"));
    let edited = backend.update(&at("/a"), Edit, Missing::Refuse, same, &call(&[(Edit, "/a")])).await;
    assert_eq!(denied(edited.err()), expected("/a"));
    let read = backend.read(&at("/a"), window, &call(&[(Read, "/a")])).await;
    assert_eq!(denied(read.err()), expected("/a"));
    let listed = backend.list(&VirtualPath::root(), 9, &call(&[(Ls, "/d/e")])).await.unwrap();
    let paths: Vec<_> = listed.entries.into_iter().map(|info| info.path).collect();
    assert_eq!(paths, ["/d", "/a"]);
    let grep = crate::search::GrepQuery::new("1", VirtualPath::root());
    let found = backend.grep(&grep, &call(&[(Operation::Grep, "/d/e/f")])).await.unwrap();
    assert_eq!(found.total_matches, 0);
    // 31: a search that begins at what is denied is an error.
    assert_eq!(denied(backend.grep(&grep, &call(&[(Operation::Grep, "/")])).await.err()), expected("/"));
}

#[tokio::test]
async fn a_listing_is_cut_at_its_limit() {
    let limits = Limits { list_entries: 2, ..Limits::default() };
    let options = serde_json::from_value(json!({ "files": { "/a": "", "/b": "", "/c": "" } })).unwrap();
    let backend = StateBackend::new(options, limits).unwrap();
    let listing = backend.list(&VirtualPath::root(), 1, &Call::default()).await.unwrap();
    let paths: Vec<_> = listing.entries.iter().map(|info| info.path.as_str()).collect();
    assert_eq!((paths, listing.truncated), (vec!["/a", "/b"], true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_from_many_sides_are_all_applied() {
    let backend = Arc::new(with_files(json!({ "/count": "" })));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let backend = Arc::clone(&backend);
            tokio::spawn(async move {
                for _ in 0..50 {
                    let add = Box::new(|old: Option<crate::backend::FileContent>| {
                        Ok([old.map_or_else(Vec::new, |old| old.bytes), b"x".to_vec()].concat())
                    });
                    let call = Call::default();
                    backend.update(&at("/count"), Operation::Edit, Missing::Refuse, add, &call).await.unwrap();
                    backend.append(&at("/log"), b"y".to_vec(), &call).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(bytes(&backend, "/count").await.unwrap(), [b'x'; 400]);
    assert_eq!(bytes(&backend, "/log").await.unwrap(), [b'y'; 400]);
}

#[tokio::test]
async fn a_tree_that_is_searched_elsewhere_answers_the_same() {
    let backend = with_files(json!({ "/a.txt": "needle\n" }));
    let grep = crate::search::GrepQuery::new("needle", VirtualPath::root());
    let small = backend.grep(&grep, &Call::default()).await.unwrap();
    write(&backend, "/big.txt", &vec![b'\n'; 9 << 20]).await.unwrap();
    let large = backend.grep(&grep, &Call::default()).await.unwrap();
    assert_eq!(large.matches, small.matches);
    assert_eq!((small.searched_files, large.searched_files), (1, 2));
}

/// Whether a call ends on a thread that is lent for it.
fn ends_at_once<T>(work: impl Future<Output = T>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    // Longer than any test: a loaded machine must not decide.
    lent::poll_for(Duration::from_secs(3_600), pin!(work), &mut context).is_ready()
}

#[tokio::test]
async fn a_lent_thread_is_left_before_anything_long() {
    let call = &Call::default();
    let backend = with_files(json!({ "/a.txt": "needle\n", "/lines.txt": "a line\n".repeat(5_000), "/big.txt": "" }));
    let grep = |pattern: &str| crate::search::GrepQuery::new(pattern, VirtualPath::root());
    let look = |pattern: &str| backend.quick_pattern(&grep(pattern), &backend.snapshot()).is_some();
    let put = |path: &str| ends_at_once(write(&backend, path, b"new"));
    assert_eq!(
        (look("need.e"), look("[a-z]+"), look("(a{9}){9}"), look("(?s)."), look(r"\p{L}")),
        (true, true, false, false, false)
    );
    assert!(put("/a.txt"));
    let window = Window { offset: 0, limit: 10, max_bytes: 1_000 };
    assert!(ends_at_once(backend.read(&at("/lines.txt"), window, call)));
    assert!(ends_at_once(change::replace(&at("/a.txt"), vec![b'x'; 256 << 10])));
    assert!(!ends_at_once(change::replace(&at("/a.txt"), vec![b'x'; 257 << 10])));
    write(&backend, "/big.txt", &vec![b'x'; 257 << 10]).await.unwrap();
    assert!(!ends_at_once(backend.read(&at("/big.txt"), window, call)));
    assert!(!put("/big.txt"));
    assert!(!look("needle"), "more than 256 KiB");
    let busy = backend.changing.lock();
    assert!(!put("/a.txt"), "while another call changes files");
    drop(busy);
    assert!(put("/a.txt"));
    write(&backend, "/big.txt", b"").await.unwrap();
    assert!(look("needle"));
    write(&backend, "/.gitignore", b"*.tmp").await.unwrap();
    assert!(!look("needle"), "rules take their time to compile");
}

#[tokio::test]
async fn what_is_replaced_is_compared_where_there_is_time_for_it() {
    let backend = with_files(json!({ "/a.txt": "" }));
    let call = &Call::default();
    let replace = |path: &'static str, old: Option<String>, new: String| {
        let backend = &backend;
        async move {
            let path = at(path);
            backend.remove(&path, false, call).await.ok();
            if let Some(old) = old {
                write(backend, path.as_str(), old.as_bytes()).await.unwrap();
            }
            let (transform, receipt) = change::replace(&path, new.into_bytes()).await;
            let written = ends_at_once(backend.update(&path, Operation::Write, Missing::Create, transform, call));
            (written, receipt.diff())
        }
    };
    let other = |lines: usize| format!("same\n{}same\n", "x\n".repeat(lines));
    for (old, new, is_short) in [
        (Some(other(0)), other(200), true),
        (Some(other(0)), other(201), false),
        (Some(other(201)), other(0), false),
        (Some(other(9_000)), format!("{}more\n", other(9_000)), true),
        (None, "x\n".repeat(4_000), true),
        (None, "x\n".repeat(4_001), false),
    ] {
        let expected = crate::edit::diff::between(old.as_ref().map(String::as_bytes), new.as_bytes(), "/f.txt");
        let (written, diff) = replace("/f.txt", old.clone(), new.clone()).await;
        assert_eq!((written, ends_at_once(diff)), (true, is_short), "{} lines", new.lines().count());
        assert_eq!(bytes(&backend, "/f.txt").await.unwrap(), new.as_bytes());
        let (_, diff) = replace("/f.txt", old, new).await;
        assert_eq!(diff.await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_search_is_tried_where_it_is_asked_for_and_else_begun_anew() {
    let line = "const value = compute(first, second)\n";
    let backend = with_files(json!({ "/a.txt": format!("{}one needle\n{}", line.repeat(900), line.repeat(900)) }));
    let grep = |pattern: &str| crate::search::GrepQuery::new(pattern, VirtualPath::root());
    let call = &Call::default();
    let (long, never) = (Duration::from_secs(3_600), Duration::ZERO);
    let try_it = |query: &crate::search::GrepQuery, time| {
        let tree = backend.snapshot();
        let limits = Limits { search_timeout: time, search_threads: 1, ..Limits::default() };
        backend.quick_pattern(query, &tree).unwrap().try_grep(&tree, query, call, &limits)
    };
    let query = grep("need.e");
    assert!(ends_at_once(backend.grep_trying(&query, call, long)));
    assert!(try_it(&query, never).unwrap().is_none());
    let tried = try_it(&query, long).unwrap().unwrap();
    let begun_anew = backend.grep_trying(&query, call, never).await.unwrap();
    assert_eq!(tried.matches, begun_anew.matches);
    assert_eq!((tried.total_matches, tried.incomplete, begun_anew.incomplete), (1, false, false));
    // A line that is too long to be tried is searched with all that a search may take.
    write(&backend, "/b.txt", &[vec![b'x'; 100 << 10], b"needle".to_vec()].concat()).await.unwrap();
    assert!(try_it(&query, long).unwrap().is_none());
    let found = backend.grep_trying(&query, call, long).await.unwrap();
    assert_eq!((found.total_matches, found.incomplete), (2, false));
    // What the caller wants to end ends.
    let cancelled = Call::default();
    cancelled.deadline.cancel.cancel();
    let error = backend.grep_trying(&query, &cancelled, long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
}

#[test]
fn the_last_pattern_is_compiled_once() {
    let backend = with_files(json!({ "/a.txt": "needle\n" }));
    let grep = crate::search::GrepQuery::new("need.e", VirtualPath::root());
    let quick = |query: &crate::search::GrepQuery| backend.quick_pattern(query, &backend.snapshot()).unwrap();
    let first = quick(&grep);
    assert!(Arc::ptr_eq(&first, &quick(&grep)));
    let page = crate::search::GrepQuery { offset: 5, ..grep.clone() };
    assert!(Arc::ptr_eq(&first, &quick(&page)));
    for other in [
        crate::search::GrepQuery { word: true, ..grep.clone() },
        crate::search::GrepQuery { literal: true, ..grep.clone() },
        crate::search::GrepQuery { multiline: true, ..grep.clone() },
        crate::search::GrepQuery { case: crate::search::CaseMode::Insensitive, ..grep.clone() },
        crate::search::GrepQuery { pattern: "needle".to_owned(), ..grep.clone() },
    ] {
        let last = quick(&grep);
        assert!(!Arc::ptr_eq(&last, &quick(&other)), "{other:?}");
    }
}

proptest! {
    #[test]
    fn any_content_survives_the_document(
        files in prop::collection::btree_map("[a-zé._~\"\\\\ ]{1,6}", prop::collection::vec(any::<u8>(), 0..40), 0..8)
    ) {
        let files: Vec<_> = files.into_iter().filter(|(name, _)| name != "." && name != "..").collect();
        let document = files.iter().fold(Document::default(), |document, (name, content)| {
            document.with_file(format!("/d/{name}"), content)
        });
        let first = StateBackend::new(StateOptions { files: document, ..Default::default() }, Limits::default()).unwrap();
        let json = first.to_json().unwrap();
        let second = StateBackend::from_json(&json, StateLimits::default(), Limits::default()).unwrap();
        prop_assert_eq!(&second.to_json().unwrap(), &json);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (name, content) in &files {
            prop_assert_eq!(&runtime.block_on(bytes(&second, &format!("/d/{name}"))).unwrap(), content);
        }
    }
}
