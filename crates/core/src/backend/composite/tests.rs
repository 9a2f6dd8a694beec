use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::access::{Guard, Operation};
use crate::backend::memory::StateBackend;
use crate::backend::{Call, FileContent, FileKind, Missing, Window};
use crate::search::{
    EntryFilter, FindOutcome, FindQuery, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery, SortOrder,
};

pub(super) fn memory(files: serde_json::Value) -> Arc<StateBackend> {
    let options = serde_json::from_value(json!({ "files": files })).unwrap();
    Arc::new(StateBackend::new(options, Limits::default()).unwrap())
}

pub(super) fn composite(
    default: Arc<dyn Backend>,
    routes: &[(&str, Arc<dyn Backend>)],
    strip: Strip,
) -> CompositeBackend {
    let routes = routes.iter().map(|(prefix, backend)| ((*prefix).to_owned(), Arc::clone(backend))).collect();
    CompositeBackend::new(default, routes, &strip, Limits::default()).unwrap()
}

pub(super) fn at(path: &str) -> VirtualPath {
    VirtualPath::absolute(path).unwrap()
}

async fn text(backend: &dyn Backend, path: &str) -> Result<String> {
    let content = backend.files().read_bytes(&at(path), u64::MAX, &Call::default()).await?;
    Ok(String::from_utf8(content.bytes).unwrap())
}

async fn write(backend: &dyn Backend, path: &str, content: &'static str) -> Result<()> {
    let (path, call) = (at(path), Call::default());
    let transform = Box::new(move |_: Option<FileContent>| Ok(content.as_bytes().to_vec()));
    let writer = backend.writer().unwrap();
    writer.update(&path, Operation::Write, Missing::Create, transform, &call).await.map(drop)
}

/// The paths of a listing, a `/` behind each directory.
async fn list(backend: &dyn Backend, path: &str, depth: u32) -> Vec<String> {
    let listing = backend.files().list(&at(path), depth, &Call::default()).await.unwrap();
    assert!(!listing.truncated);
    listing
        .entries
        .into_iter()
        .map(|info| if info.kind == FileKind::Directory { info.path + "/" } else { info.path })
        .collect()
}

async fn glob(backend: &dyn Backend, adjust: impl FnOnce(&mut GlobQuery)) -> Result<(Vec<String>, usize, bool)> {
    let mut query = GlobQuery::new("**", VirtualPath::root());
    query.sort = SortOrder::Path;
    adjust(&mut query);
    let found = backend.files().glob(&query, &Call::default()).await?;
    Ok((found.files.into_iter().map(|info| info.path).collect(), found.total, found.truncated))
}

pub(super) fn error_of<T>(result: Result<T>) -> (ErrorKind, String, String) {
    let error = result.err().unwrap();
    (error.kind(), error.path().unwrap_or_default().to_owned(), error.message().to_owned())
}

#[tokio::test]
async fn the_longest_route_wins_on_whole_names() {
    let (mem, deep) = (memory(json!({})), memory(json!({})));
    let default = memory(json!({}));
    let backend = composite(default.clone(), &[("/mem/", mem.clone()), ("mem/deep", deep.clone())], Strip::default());
    // 16: '/mem' took '/memory' too.
    for path in ["/memory/a", "/mem/a", "/mem/deeper", "/mem/deep/a", "/a"] {
        write(&backend, path, "x").await.unwrap();
    }
    assert_eq!(list(&*default, "/", 9).await, ["/memory/", "/memory/a", "/a"]);
    assert_eq!(list(&*mem, "/", 9).await, ["/mem/", "/mem/a", "/mem/deeper"]);
    assert_eq!(list(&*deep, "/", 9).await, ["/mem/", "/mem/deep/", "/mem/deep/a"]);
}

#[tokio::test]
async fn listings_show_routes_at_any_depth() {
    let default =
        memory(json!({ "/a.txt": "", "/mem/hidden": "", "/mem/deep/hidden": "", "/x": "a file", "/z/real": "" }));
    let mem = memory(json!({ "/own": "", "/deep/hidden": "" }));
    let (deep, far) = (memory(json!({ "/b": "", "/c/d": "" })), memory(json!({})));
    let routes: [(&str, Arc<dyn Backend>); 3] = [("/mem", mem), ("/mem/deep", deep), ("/x/y/far", far)];
    let backend = composite(default, &routes, Strip::All(true));
    assert_eq!(list(&backend, "/", 1).await, ["/mem/", "/x/", "/z/", "/a.txt"]);
    // D16: the parent of a nested route did not show it.
    assert_eq!(list(&backend, "/mem", 1).await, ["/mem/deep/", "/mem/own"]);
    assert_eq!(list(&backend, "/x", 1).await, ["/x/y/"]);
    assert_eq!(list(&backend, "/x/y", 1).await, ["/x/y/far/"]);
    assert_eq!(list(&backend, "/x/y/far", 1).await, [""; 0]);
    let all = [
        "/mem/",
        "/mem/deep/",
        "/mem/deep/c/",
        "/mem/deep/c/d",
        "/mem/deep/b",
        "/mem/own",
        "/x/",
        "/x/y/",
        "/x/y/far/",
        "/z/",
        "/z/real",
        "/a.txt",
    ];
    assert_eq!(list(&backend, "/", 9).await, all);
    assert_eq!(list(&backend, "/", 2).await.len(), 8);
    for path in ["/mem", "/x", "/x/y", "/x/y/far"] {
        let info = backend.files().stat(&at(path), &Call::default()).await.unwrap().unwrap();
        assert_eq!((info.path.as_str(), info.kind), (path, FileKind::Directory));
        let resolution = backend.files().resolve(&at(path), &Call::default()).await.unwrap();
        assert_eq!((resolution.resolved.as_str(), resolution.kind), (path, Some(FileKind::Directory)));
    }
}

#[tokio::test]
async fn a_route_stays_a_directory() {
    let backend = composite(memory(json!({ "/a": "1" })), &[("/r/s", memory(json!({})))], Strip::All(true));
    let (writer, call) = (backend.writer().unwrap(), Call::default());
    for path in ["/", "/r", "/r/s"] {
        assert_eq!(write(&backend, path, "x").await.unwrap_err().kind(), ErrorKind::NotAFile, "{path}");
        assert_eq!(text(&backend, path).await.unwrap_err().kind(), ErrorKind::NotAFile, "{path}");
        let removed = writer.remove(&at(path), true, &call).await;
        assert_eq!(removed.unwrap_err().kind(), ErrorKind::PathNotWritable, "{path}");
        let moved = writer.rename(&at(path), &at("/elsewhere"), &call).await;
        assert_eq!(moved.unwrap_err().kind(), ErrorKind::PathNotWritable, "{path}");
        let moved = writer.rename(&at("/a"), &at(path), &call).await;
        assert_eq!(moved.unwrap_err().kind(), ErrorKind::AlreadyExists, "{path}");
        let copied = writer.copy(&at("/a"), &at(path), &call).await;
        assert_eq!(copied.unwrap_err().kind(), ErrorKind::AlreadyExists, "{path}");
        assert!(!writer.make_directory(&at(path), &call).await.unwrap(), "{path}");
    }
}

#[tokio::test]
async fn files_move_and_copy_between_parts() {
    let (default, notes) = (memory(json!({ "/a": "1", "/d/b": "2" })), memory(json!({ "/taken": "" })));
    let backend = composite(default.clone(), &[("/notes", notes.clone())], Strip::All(true));
    let (writer, call) = (backend.writer().unwrap(), Call::default());
    assert_eq!(writer.copy(&at("/a"), &at("/notes/new/a"), &call).await.unwrap(), 1);
    writer.rename(&at("/a"), &at("/notes/moved"), &call).await.unwrap();
    writer.rename(&at("/notes/new/a"), &at("/back"), &call).await.unwrap();
    assert_eq!(list(&*default, "/", 9).await, ["/d/", "/d/b", "/back"]);
    assert_eq!(list(&*notes, "/", 9).await, ["/new/", "/moved", "/taken"]);
    assert_eq!(text(&backend, "/notes/moved").await.unwrap(), "1");
    let (kind, path, message) = error_of(writer.rename(&at("/back"), &at("/notes/taken"), &call).await);
    assert_eq!((kind, path.as_str()), (ErrorKind::AlreadyExists, "/notes/taken"), "{message}");
    let (kind, path, message) = error_of(writer.copy(&at("/back"), &at("/notes/taken/below"), &call).await);
    assert_eq!((kind, path.as_str()), (ErrorKind::NotADirectory, "/notes/taken/below"), "{message}");
    let moved = writer.rename(&at("/d"), &at("/notes/d"), &call).await;
    assert_eq!(moved.unwrap_err().kind(), ErrorKind::Unsupported);
    let moved = writer.rename(&at("/missing"), &at("/notes/d"), &call).await;
    assert_eq!(error_of(moved).0, ErrorKind::FileNotFound);
    assert_eq!(text(&backend, "/back").await.unwrap(), "1");
}

#[tokio::test]
async fn errors_speak_of_the_paths_that_were_asked() {
    let routes: [(&str, Arc<dyn Backend>); 1] = [("/memories", memory(json!({ "/d/x": "1" })))];
    let backend = composite(memory(json!({})), &routes, Strip::All(true));
    let window = Window { offset: 0, limit: 9, max_bytes: 9 };
    let missing = backend.files().read(&at("/memories/a.md"), window, &Call::default()).await;
    let expected = (ErrorKind::FileNotFound, "/memories/a.md".into(), "'/memories/a.md' does not exist.".into());
    assert_eq!(error_of(missing), expected);
    let (kind, path, message) = error_of(write(&backend, "/memories/d/x/y", "2").await);
    assert_eq!((kind, path.as_str()), (ErrorKind::NotADirectory, "/memories/d/x/y"));
    assert!(message.contains("'/memories/d/x/y'"), "{message}");
    let mut query = GrepQuery::new("x", at("/memories/gone"));
    let (_, path, _) = error_of(backend.files().grep(&query, &Call::default()).await);
    assert_eq!(path, "/memories/gone");
    query.globs = vec!["/elsewhere/*".to_owned()];
    assert_eq!(error_of(backend.files().grep(&query, &Call::default()).await).0, ErrorKind::InvalidInput);
}

/// Writes down what it is asked, and denies one path.
struct Recorder {
    asked: parking_lot::Mutex<Vec<String>>,
    denied: &'static str,
}

impl Guard for Recorder {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        self.asked.lock().push(format!("{} {path}", operation.name()));
        if path.as_str() == self.denied {
            let message = format!("'{path}' is denied by the rule '{path}'.");
            return Err(Error::new(ErrorKind::PermissionDenied, message).with_path(path.as_str()));
        }
        Ok(())
    }
}

#[tokio::test]
async fn the_guard_hears_the_paths_of_the_tree() {
    let routes: [(&str, Arc<dyn Backend>); 2] =
        [("/m", memory(json!({ "/d/a": "needle", "/b": "needle" }))), ("/m/d/hid", memory(json!({ "/c": "needle" })))];
    let backend = composite(memory(json!({})), &routes, Strip::All(true));
    let guard = |denied| Arc::new(Recorder { asked: parking_lot::Mutex::default(), denied });
    let call = |guard: &Arc<Recorder>| Call { guard: guard.clone(), ..Call::default() };

    let denies = guard("/m/b");
    let read = backend.files().read_bytes(&at("/m/b"), 99, &call(&denies)).await;
    let expected = (ErrorKind::PermissionDenied, "/m/b".into(), "'/m/b' is denied by the rule '/m/b'.".into());
    assert_eq!(error_of(read), expected);
    assert_eq!(*denies.asked.lock(), ["read /m/b"]);

    let removed = backend.writer().unwrap().remove(&at("/m/d"), true, &call(&guard(""))).await;
    assert_eq!(error_of(removed).0, ErrorKind::PathNotWritable);

    // What the guard hides is hidden with the routes below.
    let denies = guard("/m/d");
    let listing = backend.files().list(&at("/"), 9, &call(&denies)).await.unwrap();
    let paths: Vec<_> = listing.entries.iter().map(|info| info.path.as_str()).collect();
    assert_eq!(paths, ["/m", "/m/b"]);
    let found = backend.files().grep(&GrepQuery::new("needle", VirtualPath::root()), &call(&denies)).await.unwrap();
    let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert!(!paths.contains(&"/m/d/hid/c"), "{paths:?}");
}

#[tokio::test]
async fn an_error_of_any_part_is_the_error_of_the_search() {
    let (default, broken) = (memory(json!({ "/a": "text" })), memory(json!({ "/b": "text" })));
    broken.close().await.unwrap();
    let backend = composite(default, &[("/broken", broken)], Strip::All(true));
    // 15: the error of a part was swallowed.
    let found = backend.files().grep(&GrepQuery::new("text", VirtualPath::root()), &Call::default()).await;
    assert_eq!(found.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(glob(&backend, |_| {}).await.unwrap_err().kind(), ErrorKind::Closed);
    // A listing shows what there is, and says that it is not all.
    let listing = backend.files().list(&VirtualPath::root(), 9, &Call::default()).await.unwrap();
    let paths: Vec<_> = listing.entries.iter().map(|info| info.path.as_str()).collect();
    assert_eq!((paths, listing.truncated), (vec!["/broken", "/a"], true));
    assert_eq!(list(&backend, "/", 1).await, ["/broken/", "/a"]);
}

#[tokio::test]
async fn searches_page_over_all_parts() {
    let numbered =
        |prefix: &str| (0..10).map(|n| (format!("/{prefix}{n}"), json!("x\nx\n"))).collect::<serde_json::Map<_, _>>();
    let routes: [(&str, Arc<dyn Backend>); 2] =
        [("/b", memory(numbered("f").into())), ("/d", memory(numbered("f").into()))];
    let backend = composite(memory(numbered("c").into()), &routes, Strip::All(true));
    let mut paths = Vec::new();
    for offset in (0..30).step_by(7) {
        let (page, total, truncated) = glob(&backend, |query| (query.offset, query.limit) = (offset, 7)).await.unwrap();
        assert_eq!((total, truncated), (30, offset + 7 < 30));
        paths.extend(page);
    }
    let all = glob(&backend, |_| {}).await.unwrap().0;
    assert_eq!((paths.len(), &paths), (30, &all));
    assert!(paths.is_sorted());
    let mut query = GrepQuery::new("x", VirtualPath::root());
    query.sort = SortOrder::Path;
    let mut lines = Vec::new();
    for offset in (0..60).step_by(7) {
        (query.offset, query.limit) = (offset, 7);
        let found = backend.files().grep(&query, &Call::default()).await.unwrap();
        assert_eq!((found.total_matches, found.total_files, found.truncated), (60, 30, offset + 7 < 60));
        lines.extend(found.matches.into_iter().map(|line| (line.path, line.line_number)));
    }
    let expected: Vec<_> = all.into_iter().flat_map(|path| [(path.clone(), 1), (path, 2)]).collect();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn newest_first_holds_across_parts() {
    let dated = |day: u32| json!({ "content": ["x"], "modified_at": format!("2026-01-{day:02}T00:00:00Z") });
    let routes: [(&str, Arc<dyn Backend>); 1] = [("/b", memory(json!({ "/two": dated(2), "/four": dated(4) })))];
    let backend = composite(memory(json!({ "/one": dated(1), "/three": dated(3) })), &routes, Strip::All(true));
    let expected = ["/b/four", "/three", "/b/two", "/one"];
    assert_eq!(glob(&backend, |query| query.sort = SortOrder::Modified).await.unwrap().0, expected);
    let found = backend.files().grep(&GrepQuery::new("x", VirtualPath::root()), &Call::default()).await.unwrap();
    assert_eq!(found.matches.iter().map(|line| line.path.as_str()).collect::<Vec<_>>(), expected);
    assert_eq!(found.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn pages_of_the_newest_first_hold_where_times_differ_by_less_than_a_millisecond() {
    // Parts order by nanoseconds; where they were put together by milliseconds, a page repeated what the one before had.
    let dated = |nanoseconds: u32| {
        let time = format!("2026-01-01T00:00:00.{nanoseconds:09}Z");
        json!({ "content": ["x"], "modified_at": time })
    };
    let routes: [(&str, Arc<dyn Backend>); 1] = [("/b", memory(json!({ "/m": dated(700), "/n": dated(100) })))];
    let backend = composite(memory(json!({ "/z": dated(900), "/y": dated(300) })), &routes, Strip::All(true));
    for files_only in [false, true] {
        let mut paths = Vec::new();
        for offset in 0..4 {
            let page = GrepQuery { offset, limit: 1, files_only, ..GrepQuery::new("x", VirtualPath::root()) };
            let found = backend.files().grep(&page, &Call::default()).await.unwrap();
            paths.extend(match files_only {
                true => found.files.into_iter().map(|file| file.path).collect::<Vec<_>>(),
                false => found.matches.into_iter().map(|line| line.path).collect(),
            });
        }
        assert_eq!(paths, ["/z", "/b/m", "/y", "/b/n"]);
    }
}

#[test]
fn routes_that_make_no_sense_are_refused() {
    let build = |routes: &[&str], strip: Strip| {
        let routes = routes.iter().map(|route| ((*route).to_owned(), memory(json!({})) as Arc<dyn Backend>)).collect();
        CompositeBackend::new(memory(json!({})), routes, &strip, Limits::default()).err().map(|error| error.kind())
    };
    let invalid = Some(ErrorKind::InvalidInput);
    assert_eq!(build(&["/"], Strip::default()), invalid);
    assert_eq!(build(&["/a/", "a"], Strip::default()), invalid);
    assert_eq!(build(&["/a/../.."], Strip::default()), invalid);
    assert_eq!(build(&["/a"], Strip::Only(vec!["/b".to_owned()])), invalid);
    assert_eq!(build(&["/a", "/b"], Strip::Only(vec!["b/".to_owned()])), None);
    assert_eq!(serde_json::from_str::<Strip>("true").unwrap(), Strip::All(true));
    assert_eq!(serde_json::from_str::<Strip>(r#"["/a/"]"#).unwrap(), Strip::Only(vec!["/a/".to_owned()]));
}

#[tokio::test]
async fn a_closed_composite_refuses_and_leaves_its_parts_open() {
    let default = memory(json!({ "/a": "1" }));
    let backend = composite(default.clone(), &[("/r", memory(json!({})))], Strip::default());
    backend.close().await.unwrap();
    assert_eq!(text(&backend, "/a").await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(text(&backend, "/r").await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(glob(&backend, |_| {}).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(text(&*default, "/a").await.unwrap(), "1");
}

const ROUTES: [&str; 4] = ["/a", "/a/b", "/.h/r", "/c/a/b"];

/// The same files in one backend, and shared out to the routes that have them.
fn both(files: &BTreeMap<String, String>, strip: Strip) -> (Arc<StateBackend>, CompositeBackend) {
    let owner = |path: &str| {
        let within = |route: &&&str| path.strip_prefix(**route).is_some_and(|rest| rest.starts_with('/'));
        ROUTES.iter().filter(within).max_by_key(|route| route.len()).copied().unwrap_or("")
    };
    let strips = strip == Strip::All(true);
    let part = |route: &str| {
        let files = files.iter().filter(|(path, _)| owner(path) == route);
        let spelled = |path: &str| if strips { path[route.len()..].to_owned() } else { path.to_owned() };
        memory(files.map(|(path, content)| (spelled(path), json!(content))).collect::<serde_json::Map<_, _>>().into())
    };
    let mut all: serde_json::Map<_, _> = ROUTES.iter().map(|route| (format!("{route}/"), json!(""))).collect();
    all.extend(files.iter().map(|(path, content)| (path.clone(), json!(content))));
    let routes: Vec<_> = ROUTES.iter().map(|route| (*route, part(route) as Arc<dyn Backend>)).collect();
    (memory(all.into()), composite(part(""), &routes, strip))
}

fn files() -> impl Strategy<Value = BTreeMap<String, String>> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c", ".h", "r"]), 0..4);
    let name = prop::sample::select(vec!["x.ts", "y.md", ".z", "w"]);
    let path = (path, name).prop_map(|(names, name)| format!("/{}", [names, vec![name]].concat().join("/")));
    prop::collection::btree_map(path, "[ab]{0,3}\n", 0..12)
}

fn pattern() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        "**",
        "*",
        "a",
        "b",
        "?",
        "[!a]",
        "{a,c}",
        "*.ts",
        ".h",
        "{a/b,*.md}",
        "[a-b]*",
        "x.ts",
    ]);
    let negated = prop::sample::select(vec!["", "", "", "!", "/"]);
    (negated, prop::collection::vec(segment, 1..4)).prop_map(|(sign, segments)| sign.to_owned() + &segments.join("/"))
}

/// All paths that a glob finds, by one page of two after the other.
async fn paged(backend: &dyn Backend, adjust: impl Fn(&mut GlobQuery)) -> Vec<String> {
    let mut query = GlobQuery::new("**", VirtualPath::root());
    adjust(&mut query);
    (query.sort, query.limit) = (SortOrder::Path, 2);
    let mut paths = Vec::new();
    loop {
        let found = backend.files().glob(&query, &Call::default()).await.unwrap();
        paths.extend(found.files.into_iter().map(|file| file.path));
        match found.next {
            Some(next) => query.after = Some(next),
            None => return paths,
        }
    }
}

fn without_times(found: FindOutcome) -> (Vec<String>, usize, bool) {
    (found.files.into_iter().map(|file| file.path).collect(), found.total, found.truncated)
}

/// All but the times, which the directories of a route have none of.
fn outlined(mut found: Outline) -> Outline {
    for entry in &mut found.entries {
        entry.info.modified_at = None;
    }
    found
}

proptest! {
    #[test]
    fn a_composite_answers_like_one_backend_with_all_the_files(
        files in files(),
        pattern in pattern(),
        globs in prop::collection::vec(pattern(), 0..3),
        path in prop::sample::select(vec!["/", "/a", "/a/b", "/c", "/c/a", "/.h"]),
        (hidden, strip) in any::<(bool, bool)>(),
        entries in prop::sample::select(vec![EntryFilter::Files, EntryFilter::Directories, EntryFilter::Any]),
        depth in 1_u32..5,
        words in prop::sample::select(vec!["a", "b x", "xts", "r w", "md"]),
    ) {
        let (plain, composite) = both(&files, Strip::All(strip));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(list(&composite, path, depth).await, list(&*plain, path, depth).await);
            let query = |query: &mut GlobQuery| {
                query.pattern = pattern.clone();
                query.path = at(path);
                query.hidden = hidden;
                query.entries = entries;
            };
            let (ours, theirs) = (glob(&composite, query).await, glob(&*plain, query).await);
            assert_eq!(ours.map_err(|error| error.kind()), theirs.map_err(|error| error.kind()));
            if let Ok((expected, ..)) = glob(&*plain, query).await {
                assert_eq!(paged(&composite, query).await, expected);
            }
            let words = FindQuery { hidden, ..FindQuery::new(words, at(path)) };
            let ours = composite.files().find(&words, &Call::default()).await.map_err(|error| error.kind());
            let theirs = plain.files().find(&words, &Call::default()).await.map_err(|error| error.kind());
            assert_eq!(ours.map(without_times), theirs.map(without_times));
            let tree = OutlineQuery { path: at(path), depth, respect_ignore: true, counts: hidden };
            let ours = composite.files().outline(&tree, &Call::default()).await.map_err(|error| error.kind());
            let theirs = plain.files().outline(&tree, &Call::default()).await.map_err(|error| error.kind());
            assert_eq!(ours.map(outlined), theirs.map(outlined));
            let mut query = GrepQuery::new("a", at(path));
            query.globs = globs.clone();
            query.hidden = hidden;
            query.sort = SortOrder::Path;
            let ours = composite.files().grep(&query, &Call::default()).await.map_err(|error| error.kind());
            let theirs = plain.files().grep(&query, &Call::default()).await.map_err(|error| error.kind());
            // The same files, written at other times.
            let timeless = |found| GrepOutcome { ranks: Vec::new(), ..found };
            assert_eq!(ours.map(timeless), theirs.map(timeless));
        });
    }
}
