//! What memory backends cost: `cargo bench -p gloveport-core --bench memory`.
//!
//! Prints one line for each figure. Sizes come from the process's resident pages, so they hold all that an allocator
//! adds; times are the best of several rounds, since everything else on the machine only ever adds to them.

#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to say")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use gloveport_core::access::Operation;
use gloveport_core::backend::memory::{Document, StateBackend, StateLimits, StateOptions};
use gloveport_core::backend::{Call, FileContent, FileSystem, Missing, Window, WritableFileSystem};
use gloveport_core::limits::Limits;
use gloveport_core::path::VirtualPath;
use gloveport_core::search::{GlobQuery, GrepQuery};

const BACKENDS: u32 = 10_000;
const FILES: usize = 10_000;

/// Prints the best average of 100 runs, of 20 rounds.
macro_rules! report {
    ($what:literal, $of:expr, $run:expr) => {{
        let mut fastest = Duration::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            for _ in 0..100 {
                black_box($run);
            }
            fastest = fastest.min(start.elapsed() / 100);
        }
        println!("{} of {}: {:.2?}", $what, $of, fastest);
    }};
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        creation();
        snapshots().await;
        documents();
        for (name, lines) in [("2 KB", 50), ("100 KB", 2_500)] {
            operations(name, lines).await;
        }
    });
}

fn creation() {
    for (name, files) in [("empty", 0), ("with 5 files of 1 KB", 5)] {
        let document = || {
            (0..files).fold(Document::default(), |document, file| {
                document.with_file(format!("/notes/{file}.md"), &[b'x'; 1024])
            })
        };
        let before = resident_bytes();
        let start = Instant::now();
        let backends: Vec<_> = (0..BACKENDS).map(|_| backend(document())).collect();
        let rate = f64::from(BACKENDS) / start.elapsed().as_secs_f64();
        let each = resident_bytes().saturating_sub(before) / u64::from(BACKENDS);
        println!("create, {name}: {rate:.0} a second, {each} bytes each at rest");
        drop(backends);
    }
}

async fn snapshots() {
    for (name, directories) in [("in 100 directories", 100), ("in one directory", 1)] {
        let backend = backend(many(directories));
        println!("clone of {FILES} files {name}: {:.2?}", best(100, || black_box(backend.clone())));
        let first = async |backend: &StateBackend| write(backend, "/0/file-5000.md", b"changed").await;
        let mut fastest = Duration::MAX;
        for _ in 0..100 {
            let clone = backend.clone();
            let start = Instant::now();
            first(&clone).await;
            fastest = fastest.min(start.elapsed());
        }
        println!("first write to such a clone: {fastest:.2?}");
    }
}

fn documents() {
    let backend = backend(many(100));
    let json = backend.to_json().unwrap();
    println!("to_json of {FILES} files ({} KB): {:.2?}", json.len() >> 10, best(5, || backend.to_json().unwrap()));
    let load = || StateBackend::from_json(&json, StateLimits::default(), Limits::default()).unwrap();
    println!("from_json of the same: {:.2?}", best(5, load));
}

async fn operations(name: &str, lines: usize) {
    let content: String = (0..lines).map(|line| format!("line {line}: some words of a source file\n")).collect();
    let backend = backend(Document::default().with_file("/src/a.ts", content.as_bytes()));
    let (path, call) = (at("/src/a.ts"), Call::default());
    let window = Window { offset: 0, limit: 2_000, max_bytes: 256 << 10 };
    let middle = format!("line {}: some", lines / 2);
    let query = GrepQuery::new(middle.clone(), VirtualPath::root());
    let names = GlobQuery::new("**/*.ts", VirtualPath::root());

    report!("read", name, backend.read(&path, window, &call).await.unwrap());
    report!("read_bytes", name, backend.read_bytes(&path, u64::MAX, &call).await.unwrap());
    report!("write", name, write(&backend, "/src/a.ts", content.as_bytes()).await);
    report!("edit", name, {
        let (from, to) = (middle.clone(), middle.to_uppercase());
        let edit = move |old: Option<FileContent>| {
            let old = old.unwrap();
            let text = std::str::from_utf8(&old.bytes).unwrap();
            Ok(text.replacen(&from, &to, 1).into_bytes())
        };
        backend.update(&path, Operation::Edit, Missing::Refuse, Box::new(edit), &call).await.unwrap();
    });
    report!("grep", name, backend.grep(&query, &call).await.unwrap());
    report!("glob", name, backend.glob(&names, &call).await.unwrap());
    report!("stat", name, backend.stat(&path, &call).await.unwrap());
}

fn backend(files: Document) -> StateBackend {
    StateBackend::new(StateOptions { files, limits: StateLimits::default() }, Limits::default()).unwrap()
}

/// Files of about 100 bytes, spread over directories.
fn many(directories: usize) -> Document {
    (0..FILES).fold(Document::default(), |document, file| {
        let path = format!("/{}/file-{file}.md", file % directories);
        document.with_file(path, "a line of text\n".repeat(7).as_bytes())
    })
}

async fn write(backend: &StateBackend, path: &str, content: &[u8]) {
    let (path, call, content) = (at(path), Call::default(), content.to_vec());
    let replace = Box::new(move |_: Option<_>| Ok(content));
    backend.update(&path, Operation::Write, Missing::Create, replace, &call).await.unwrap();
}

fn at(path: &str) -> VirtualPath {
    VirtualPath::absolute(path).unwrap()
}

fn best<T>(rounds: u32, mut run: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        let result = run();
        let elapsed = start.elapsed();
        drop(result);
        elapsed
    };
    (0..rounds).map(time).min().unwrap_or_default()
}

/// Bytes of this process's resident pages.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
