//! What every search has from the walk: walls, guard, cancellation, the same answer on any number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::access::{Guard, Operation};
use crate::cancel::{CancelToken, Deadline};
use crate::error::{Error, ErrorKind};
use crate::search::EntryFilter;

/// Denies the paths that hold a text, to the operations named.
struct Denies(&'static [Operation], &'static str);

impl Guard for Denies {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        if self.0.contains(&operation) && path.as_str().contains(self.1) {
            return Err(Error::new(ErrorKind::PermissionDenied, "denied"));
        }
        Ok(())
    }
}

fn guarded(operations: &'static [Operation], text: &'static str) -> Call {
    Call { guard: Arc::new(Denies(operations, text)), ..Call::default() }
}

fn glob_paths(outcome: GlobOutcome) -> Vec<String> {
    outcome.files.into_iter().map(|file| file.path).collect()
}

fn grep_paths(outcome: GrepOutcome) -> Vec<String> {
    outcome.files.into_iter().map(|file| file.path).collect()
}

#[test]
fn what_the_guard_denies_is_left_out_as_asked_and_as_resolved() {
    let tree = HostTree::new(&[
        ("a.txt", "x"),
        ("secret/b.txt", "x"),
        ("link.txt", "->secret/b.txt"),
        ("dir", "->secret"),
        ("plain/c.txt", "x"),
    ]);
    let backend = tree.backend(&[], Limits::default());
    let call = guarded(&[Operation::Glob], "secret");
    let outcome = host::glob(&backend, &pattern("**"), &call).unwrap();
    assert_eq!(outcome.total, 2);
    assert_eq!(glob_paths(outcome), ["/w/a.txt", "/w/plain/c.txt"]);
    let through = GlobQuery { path: path("/w/dir"), ..pattern("**") };
    assert_eq!(host::glob(&backend, &through, &call).unwrap_err().kind(), ErrorKind::PermissionDenied);
    // A line is content: a rule against reading holds for it as well (BE-78).
    for operations in [&[Operation::Grep], &[Operation::Read]] {
        let call = guarded(operations, "secret");
        let outcome = host::grep(&backend, &GrepQuery { count_only: true, ..lines("x") }, &call).unwrap();
        assert_eq!((outcome.total_files, outcome.searched_files), (2, 2));
        assert_eq!(grep_paths(outcome), ["/w/a.txt", "/w/plain/c.txt"]);
        let named = GrepQuery { path: path("/w/link.txt"), ..lines("x") };
        assert_eq!(host::grep(&backend, &named, &call).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_nested_mount_takes_the_place_of_what_the_host_has_there() {
    let other = HostTree::new(&[("o.txt", "x"), (".gitignore", "ignored"), ("ignored", "x")]);
    let far = HostTree::new(&[("f.txt", "x")]);
    let tree = HostTree::new(&[
        ("a.txt", "x"),
        ("inner/shadowed.txt", "x"),
        ("inner/deep/shadowed.txt", "x"),
        ("beside/b.txt", "x"),
        (".gitignore", "o.txt"),
    ]);
    let others =
        [(other.root.path().to_str().unwrap(), "/w/inner"), (far.root.path().to_str().unwrap(), "/w/no/such/dir")];
    let backend = tree.backend(&others, Limits::default());
    let outcome = host::glob(&backend, &pattern("**"), &Call::default()).unwrap();
    assert_eq!(glob_paths(outcome), ["/w/a.txt", "/w/beside/b.txt", "/w/no/such/dir/f.txt"]);
    // The rules above a mount are the same whether it is reached from above or searched itself.
    let inner = GlobQuery { path: path("/w/inner"), ..pattern("**") };
    assert_eq!(glob_paths(host::glob(&backend, &inner, &Call::default()).unwrap()), [""; 0]);
    let open = GlobQuery { respect_ignore: false, ..pattern("**/*.txt") };
    let expected = ["/w/a.txt", "/w/beside/b.txt", "/w/inner/o.txt", "/w/no/such/dir/f.txt"];
    assert_eq!(glob_paths(host::glob(&backend, &open, &Call::default()).unwrap()), expected);
    let from_above = GlobQuery { path: path("/"), ..open.clone() };
    assert_eq!(glob_paths(host::glob(&backend, &from_above, &Call::default()).unwrap()), expected);
    let directories = GlobQuery { entries: EntryFilter::Directories, ..open };
    let expected = ["/w/beside", "/w/inner", "/w/no", "/w/no/such", "/w/no/such/dir"];
    assert_eq!(
        glob_paths(host::glob(&backend, &GlobQuery { pattern: "**".into(), ..directories }, &Call::default()).unwrap()),
        expected
    );
    let query = GrepQuery { files_only: true, respect_ignore: false, ..lines("x") };
    let expected = ["/w/a.txt", "/w/beside/b.txt", "/w/inner/ignored", "/w/inner/o.txt", "/w/no/such/dir/f.txt"];
    assert_eq!(grep_paths(host::grep(&backend, &query, &Call::default()).unwrap()), expected);
}

#[test]
fn pipes_devices_and_kernel_files_are_never_opened() {
    let tree = HostTree::new(&[("a", "x")]);
    let pipe = tree.root.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let outcome = grep(&tree, &lines("x")).unwrap();
    assert_eq!((outcome.total_files, outcome.searched_files), (1, 1));
    let named = GrepQuery { path: path("/w/pipe"), ..lines("x") };
    assert_eq!(grep(&tree, &named).unwrap_err().kind(), ErrorKind::NotAFile);
}

/// Directories within each other and beside each other, some with many files.
fn forest(files: usize) -> HostTree {
    let tree = HostTree::new(&[(".gitignore", "*.skip\n"), ("deep/er/.gitignore", "7*\n")]);
    for index in 0..files {
        let directory = match index % 5 {
            0 => "deep/er/and/deeper".to_owned(),
            1 => "wide".to_owned(),
            _ => format!("many/{}/{}", index % 13, index % 7),
        };
        let suffix = if index % 11 == 0 { "skip" } else { "txt" };
        tree.add(&format!("{directory}/{index}.{suffix}"), &format!("line\nmatch {index}\nline\nmatch again\n"));
    }
    tree
}

#[test]
fn any_number_of_threads_gives_the_same_answer() {
    let tree = forest(600);
    let with = |search_threads| tree.backend(&[], Limits { search_threads, ..Limits::default() });
    for sort in [crate::search::SortOrder::Path, crate::search::SortOrder::Modified] {
        for (offset, limit) in [(0, 10_000), (0, 7), (30, 40)] {
            let names = GlobQuery { sort, offset, limit, ..pattern("**/*.txt") };
            let found = GrepQuery { sort, offset, limit, before: 1, ..lines(r"match \d*3|again") };
            let expected = (
                host::glob(&with(1), &names, &Call::default()).unwrap(),
                host::grep(&with(1), &found, &Call::default()).unwrap(),
            );
            assert!(expected.0.total > 400 && expected.1.total_matches > 400);
            for threads in [2, 8] {
                let backend = with(threads);
                assert_eq!(host::glob(&backend, &names, &Call::default()).unwrap(), expected.0);
                assert_eq!(host::grep(&backend, &found, &Call::default()).unwrap(), expected.1);
            }
        }
    }
}

#[test]
fn a_chain_deeper_than_the_open_directories_is_walked_to_its_end() {
    let tree = HostTree::new(&[]);
    let depth = 700;
    let mut at = rustix::fs::open(tree.root.path(), rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    for _ in 0..depth {
        for name in ["d", "e"] {
            rustix::fs::mkdirat(&at, name, 0o700.into()).unwrap();
        }
        at = rustix::fs::openat(&at, "d", rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    }
    drop(
        rustix::fs::openat(&at, "end.txt", rustix::fs::OFlags::CREATE | rustix::fs::OFlags::RDWR, 0o600.into())
            .unwrap(),
    );
    let end = format!("/w/{}end.txt", "d/".repeat(depth));
    assert_eq!(found(&tree, &pattern("**/*.txt")), [end]);
    let directories = GlobQuery { entries: EntryFilter::Directories, ..pattern("**/e") };
    assert_eq!(glob(&tree, &directories).unwrap().total, depth);
}

/// Nothing else could name it: a read of that path would be refused.
#[test]
fn what_lies_deeper_than_a_path_is_long_is_left_out() {
    let tree = HostTree::new(&[]);
    let name = "n".repeat(250);
    let mut at = rustix::fs::open(tree.root.path(), rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    for _ in 0..20 {
        let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
        drop(rustix::fs::openat(&at, "file", flags, 0o600.into()).unwrap());
        rustix::fs::mkdirat(&at, name.as_str(), 0o700.into()).unwrap();
        at = rustix::fs::openat(&at, name.as_str(), rustix::fs::OFlags::DIRECTORY, 0.into()).unwrap();
    }
    let paths = found(&tree, &pattern("**/file"));
    assert_eq!(paths.len(), 17);
    assert!(paths.iter().all(|path| VirtualPath::absolute(path).is_ok()));
}

#[test]
fn links_that_a_search_for_lines_follows_lead_to_nothing_denied() {
    let tree =
        HostTree::new(&[("secret/b.txt", "x"), ("link.txt", "->secret/b.txt"), ("fine", "->a.txt"), ("a.txt", "x")]);
    let backend = tree.backend(&[], Limits::default());
    let query = GrepQuery { links: crate::search::LinkPolicy::Match, files_only: true, ..lines("x") };
    for operations in [&[Operation::Grep], &[Operation::Read]] {
        let outcome = host::grep(&backend, &query, &guarded(operations, "secret")).unwrap();
        assert_eq!(grep_paths(outcome), ["/w/a.txt", "/w/fine"]);
    }
}

/// A rule names the real place; a search that came by a link shows other paths.
#[test]
fn what_is_denied_under_its_real_path_is_left_out_behind_a_link() {
    let tree = HostTree::new(&[("real/hid.txt", "x"), ("real/open.txt", "x"), ("link", "->real")]);
    let backend = tree.backend(&[], Limits::default());
    let call = guarded(&[Operation::Glob, Operation::Grep, Operation::Ls], "real/hid");
    let within = path("/w/link");
    let names = GlobQuery { path: within.clone(), ..pattern("**") };
    assert_eq!(glob_paths(host::glob(&backend, &names, &call).unwrap()), ["/w/link/open.txt"]);
    let found = GrepQuery { path: within.clone(), files_only: true, ..lines("x") };
    assert_eq!(grep_paths(host::grep(&backend, &found, &call).unwrap()), ["/w/link/open.txt"]);
    let query = crate::search::FindQuery::new("txt", within.clone());
    let found = host::block_on(crate::backend::Backend::files(&backend).find(&query, &call)).unwrap();
    assert_eq!(found.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["/w/link/open.txt"]);
    let query = crate::search::OutlineQuery { path: within, depth: 1, respect_ignore: true, counts: true };
    let shown = host::block_on(crate::backend::Backend::files(&backend).outline(&query, &call)).unwrap();
    let paths: Vec<_> = shown.entries.iter().map(|entry| entry.info.path.as_str()).collect();
    assert_eq!((paths, shown.files), (vec!["/w/link/open.txt"], Some(1)));
}

#[test]
fn a_deadline_returns_what_there_is_and_an_abort_is_an_error() {
    let tree = forest(50);
    let backend = tree.backend(&[], Limits { search_timeout: Duration::ZERO, ..Limits::default() });
    let outcome = host::glob(&backend, &pattern("**"), &Call::default()).unwrap();
    assert!(outcome.incomplete && outcome.truncated);
    let outcome = host::grep(&backend, &lines("match"), &Call::default()).unwrap();
    assert!(outcome.incomplete && outcome.truncated);
    let query = crate::search::FindQuery::new("txt", path("/w"));
    let find = |call: &Call| host::block_on(crate::backend::Backend::files(&backend).find(&query, call));
    let outcome = find(&Call::default()).unwrap();
    assert!(outcome.incomplete && outcome.truncated);
    let cancel = CancelToken::new();
    cancel.cancel();
    let call = Call { deadline: Deadline { cancel, at: None }, ..Call::default() };
    assert_eq!(host::glob(&backend, &pattern("**"), &call).unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(find(&call).unwrap_err().kind(), ErrorKind::Aborted);
}

/// Cancels when it is first asked about a file, and remembers when that was.
struct CancelsInTheMiddle(CancelToken, AtomicBool);

impl Guard for CancelsInTheMiddle {
    fn check(&self, _operation: Operation, path: &VirtualPath) -> Result<()> {
        if path.as_str().ends_with(".txt") && !self.1.swap(true, Ordering::Relaxed) {
            self.0.cancel();
        }
        Ok(())
    }
}

#[test]
fn an_abort_is_heard_in_the_middle_of_a_walk() {
    let tree = forest(300);
    let backend = tree.backend(&[], Limits::default());
    let cancel = CancelToken::new();
    let guard = Arc::new(CancelsInTheMiddle(cancel.clone(), AtomicBool::new(false)));
    let call = Call { deadline: Deadline { cancel, at: None }, guard };
    let begun = Instant::now();
    assert_eq!(host::grep(&backend, &lines("match"), &call).unwrap_err().kind(), ErrorKind::Aborted);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// Takes a file away between the reading of its name and the look at it.
struct TakesAway(std::path::PathBuf);

impl Guard for TakesAway {
    fn check(&self, _operation: Operation, path: &VirtualPath) -> Result<()> {
        if path.as_str().ends_with("gone.txt") {
            // Asked twice, it has gone.
            let _ = std::fs::remove_file(&self.0);
        }
        Ok(())
    }
}

/// 10: one file that was gone by the time it was looked at ended the whole search.
#[test]
fn a_search_goes_on_where_an_entry_vanishes() {
    let left = ["/w/a.txt", "/w/d/b.txt", "/w/d/z.txt"];
    let tree = || HostTree::new(&[("a.txt", "x"), ("d/b.txt", "x"), ("d/gone.txt", "x"), ("d/z.txt", "x")]);
    let taking = |tree: &HostTree| {
        let guard = Arc::new(TakesAway(tree.root.path().join("d/gone.txt")));
        (tree.backend(&[], Limits::default()), Call { guard, ..Call::default() })
    };
    for sort in [crate::search::SortOrder::Path, crate::search::SortOrder::Modified] {
        let tree = tree();
        let (backend, call) = taking(&tree);
        let mut outcome = host::glob(&backend, &GlobQuery { sort, ..pattern("**") }, &call).unwrap();
        assert!(!tree.root.path().join("d/gone.txt").exists());
        assert_eq!((outcome.total, outcome.truncated, outcome.incomplete), (3, false, false));
        outcome.files.sort_by(|one, other| one.path.cmp(&other.path));
        assert_eq!(glob_paths(outcome), left);
    }
    let tree = tree();
    let (backend, call) = taking(&tree);
    let outcome = host::grep(&backend, &lines("x"), &call).unwrap();
    assert!(!tree.root.path().join("d/gone.txt").exists());
    assert_eq!((outcome.total_files, outcome.incomplete), (3, false));
    assert_eq!(grep_paths(outcome), left);
}

#[test]
fn temporary_files_of_a_write_are_nobody_s() {
    let tree = HostTree::new(&[(".gloveport-0123456789abcdef.tmp", "x"), ("a", "x")]);
    assert_eq!(found(&tree, &GlobQuery { hidden: true, ..pattern("**") }), ["/w/a"]);
    assert_eq!(matched(&tree, &GrepQuery { hidden: true, ..lines("x") }), ["/w/a:1: x"]);
}

#[test]
fn a_mount_that_takes_few_suffixes_is_searched_for_those() {
    let tree = HostTree::new(&[("a.txt", "x"), ("b.key", "x")]);
    let mount = crate::sandbox::Mount { suffixes: Some(vec![".txt".into()]), ..crate::sandbox::Mount::new(".", "/w") };
    let sandbox = crate::sandbox::Sandbox::new(vec![mount], tree.root.path()).unwrap();
    let options = crate::backend::local::LocalOptions { sandbox: Some(sandbox), ..Default::default() };
    let backend = crate::backend::local::LocalBackend::new(options).unwrap();
    let outcome = host::grep(&backend, &GrepQuery { files_only: true, ..lines("x") }, &Call::default()).unwrap();
    assert_eq!(grep_paths(outcome), ["/w/a.txt"]);
    let named = GrepQuery { path: path("/w/b.key"), ..lines("x") };
    let error = host::grep(&backend, &named, &Call::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SuffixNotAllowed);
}

/// Notes the threads that ask it.
#[derive(Default)]
struct Threads(parking_lot::Mutex<std::collections::HashSet<std::thread::ThreadId>>);

impl Guard for Threads {
    fn check(&self, _operation: Operation, _path: &VirtualPath) -> Result<()> {
        self.0.lock().insert(std::thread::current().id());
        Ok(())
    }
}

#[test]
fn the_caller_may_allow_fewer_threads_and_never_more() {
    let tree = forest(400);
    for (limit, asked, most) in [(8, 1, 1), (1, 8, 1), (4, 2, 2)] {
        let backend = tree.backend(&[], Limits { search_threads: limit, ..Limits::default() });
        let guard = Arc::new(Threads::default());
        let call = Call { guard: guard.clone(), ..Call::default() };
        host::grep(&backend, &GrepQuery { threads: asked, ..lines("match") }, &call).unwrap();
        let used = guard.0.lock().len();
        assert!((1..=most).contains(&used), "{used} threads, {most} allowed");
        host::glob(&backend, &GlobQuery { threads: asked, ..pattern("**") }, &call).unwrap();
    }
}

/// Lets nobody go on before two threads have asked.
#[derive(Default)]
struct Meets(parking_lot::Mutex<std::collections::HashSet<std::thread::ThreadId>>, parking_lot::Condvar);

impl Guard for Meets {
    fn check(&self, _operation: Operation, path: &VirtualPath) -> Result<()> {
        if path.as_str() != "/w" {
            let mut threads = self.0.lock();
            threads.insert(std::thread::current().id());
            self.1.notify_all();
            while threads.len() < 2 {
                // As good as for ever; only a walk that has no other thread comes here.
                let waited = self.1.wait_for(&mut threads, Duration::from_secs(60));
                assert!(!waited.timed_out(), "one thread does it all");
            }
        }
        Ok(())
    }
}

#[test]
fn several_threads_work_where_the_caller_allows_them() {
    let tree = HostTree::new(&[]);
    for index in 0..40 {
        tree.add(&format!("{index}/a.txt"), "x");
    }
    let backend = tree.backend(&[], Limits { search_threads: 2, ..Limits::default() });
    let files = crate::backend::Backend::files(&backend);
    let met = |search: &dyn Fn(&Call) -> usize| {
        let guard = Arc::new(Meets::default());
        let found = search(&Call { guard: guard.clone(), ..Call::default() });
        (found, guard.0.lock().len())
    };
    assert_eq!(met(&|call| host::grep(&backend, &lines("x"), call).unwrap().total_files as usize), (40, 2));
    assert_eq!(met(&|call| host::glob(&backend, &pattern("**"), call).unwrap().total), (40, 2));
    let query = crate::search::FindQuery::new("txt", path("/w"));
    assert_eq!(met(&|call| host::block_on(files.find(&query, call)).unwrap().total), (40, 2));
}
