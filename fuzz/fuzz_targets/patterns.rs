//! Glob patterns and searches over a small tree: they end, and find what is there or say what is wrong.
#![no_main]

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use gloveport_core::backend::memory::{Document, StateBackend, StateOptions};
use gloveport_core::backend::{Call, FileSystem};
use gloveport_core::limits::Limits;
use gloveport_core::path::VirtualPath;
use gloveport_core::search::{GlobQuery, GrepQuery};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    pattern: String,
    filter: Option<String>,
    grep: bool,
    look_around: bool,
    multiline: bool,
}

fuzz_target!(|input: Input| {
    let backend = tree();
    let root = VirtualPath::root();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let call = Call::default();
    let ended = if input.grep {
        let mut query = GrepQuery::new(input.pattern, root);
        query.globs.extend(input.filter);
        query.look_around = input.look_around;
        query.multiline = input.multiline;
        runtime.block_on(backend.grep(&query, &call)).map(drop)
    } else {
        runtime.block_on(backend.glob(&GlobQuery::new(input.pattern, root), &call)).map(drop)
    };
    if let Err(error) = ended {
        assert_ne!(error.kind().code(), "INTERNAL");
    }
});

fn tree() -> &'static StateBackend {
    static TREE: OnceLock<StateBackend> = OnceLock::new();
    TREE.get_or_init(|| {
        let files = ["/a.txt", "/src/main.rs", "/src/deep/{odd}/[name].ts", "/.hidden/x", "/ünï/码.md"];
        let files = files.into_iter().fold(Document::default(), |files, path| {
            files.with_file(path, "one two\nthree (four) [five]\n".as_bytes())
        });
        StateBackend::new(StateOptions { files, ..StateOptions::default() }, Limits::default()).expect("a tree")
    })
}
