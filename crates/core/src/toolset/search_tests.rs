//! What the tools for searching tell the model, to the letter (BE-101, TS-22 … TS-26).

use std::sync::Arc;

use serde_json::{Value, json};

use super::tests::call;
use super::*;
use crate::backend::memory::StateBackend;

/// A toolset over files in memory, each with the day of January on which it was changed last.
fn toolset(files: &[(&str, &str, usize)]) -> Toolset {
    let document = |(path, content, day): &(&str, &str, usize)| {
        let lines: Vec<_> = content.split('\n').collect();
        ((*path).to_owned(), json!({ "content": lines, "modified_at": format!("2026-01-{day:02}T00:00:00Z") }))
    };
    let documents: serde_json::Map<String, Value> = files.iter().map(document).collect();
    let options = serde_json::from_value(json!({ "files": documents })).unwrap();
    let backend = StateBackend::new(options, crate::limits::Limits::default()).unwrap();
    let options = serde_json::from_value(json!({ "tools": ["console", "files"] })).unwrap();
    Toolset::new(Arc::new(backend), options, Application::default()).unwrap()
}

fn project() -> Toolset {
    toolset(&[
        ("/README.md", "x one", 1),
        ("/src/b.ts", "x\nx", 2),
        ("/src/a.ts", "one\ntwo x\n", 3),
        ("/dist/c.js", "x", 4),
        ("/.env", "x", 5),
        ("/.gitignore", "dist\n", 6),
    ])
}

#[tokio::test]
async fn searches_answer_with_these_texts() {
    let toolset = project();
    for (tool, input, expected) in [
        ("glob", json!({ "pattern": "**/*.ts" }), "Found 2 file(s) matching '**/*.ts':\n/src/a.ts\n/src/b.ts"),
        ("glob", json!({ "pattern": "*.{js,py}" }), "No files matching '*.{js,py}' in /"),
        (
            "glob",
            json!({ "pattern": "**/*.js" }),
            "No files matching '**/*.js' in /\n(1 entry that .gitignore or .ignore exclude left out; `include_ignored` shows them)",
        ),
        (
            "glob",
            json!({ "pattern": "**/*.js", "include_ignored": true }),
            "Found 1 file(s) matching '**/*.js':\n/dist/c.js",
        ),
        (
            "glob",
            json!({ "pattern": "*", "include_hidden": true }),
            "Found 3 file(s) matching '*':\n/.gitignore\n/.env\n/README.md",
        ),
        ("glob", json!({ "pattern": "*.ts", "path": "src" }), "Found 2 file(s) matching '*.ts':\n/src/a.ts\n/src/b.ts"),
        ("grep", json!({ "pattern": "x" }), "Files containing 'x':\n/src/a.ts\n/src/b.ts\n/README.md"),
        (
            "grep",
            json!({ "pattern": "x", "output_mode": "content" }),
            "Matches for 'x':\n/src/a.ts:2: two x\n/src/b.ts:1: x\n/src/b.ts:2: x\n/README.md:1: x one",
        ),
        (
            "grep",
            json!({ "pattern": "x", "output_mode": "count" }),
            "Found 4 match(es) for 'x' in 3 file(s):\n/src/a.ts: 1\n/src/b.ts: 2\n/README.md: 1",
        ),
        (
            "grep",
            json!({ "pattern": "nothing" }),
            "No matches for 'nothing'\n(1 entry that .gitignore or .ignore exclude left out; `include_ignored` shows them)",
        ),
        ("grep", json!({ "pattern": "nothing", "include_ignored": true }), "No matches for 'nothing'"),
        (
            "grep",
            json!({ "pattern": "two", "output_mode": "content", "context": 1 }),
            "Matches for 'two':\n/src/a.ts-1- one\n/src/a.ts:2: two x",
        ),
        (
            "grep",
            json!({ "pattern": "ONE", "ignore_case": true, "file_type": "md" }),
            "Files containing 'ONE':\n/README.md",
        ),
        ("grep", json!({ "pattern": "x", "glob_pattern": "!*.ts" }), "Files containing 'x':\n/README.md"),
        ("grep", json!({ "pattern": "x", "path": "dist/c.js" }), "Files containing 'x':\n/dist/c.js"),
        (
            "grep",
            json!({ "pattern": "x", "ignore_hidden": false, "include_ignored": true, "limit": 2 }),
            "Files containing 'x':\n/.env\n/dist/c.js\n... and 3 more files; continue with offset=2",
        ),
        ("find_files", json!({ "query": "readme" }), "Found 1 file(s) like 'readme', best fit first:\n/README.md"),
        (
            "find_files",
            json!({ "query": "zebra" }),
            "No files like 'zebra' in /\n(1 entry that .gitignore or .ignore exclude left out; `include_ignored` shows them)",
        ),
        (
            "ls",
            json!({}),
            "Contents of /:\n  dist/\n  src/\n  .env (1 bytes)\n  .gitignore (5 bytes)\n  README.md (5 bytes)",
        ),
    ] {
        assert_eq!(call(&toolset, tool, input.clone()).await.unwrap().text, expected, "{tool} {input}");
    }
}

/// D79: the number of files to show counted directories, and files in which nothing was found.
#[tokio::test]
async fn bounds_count_what_was_found_and_every_page_says_what_is_left() {
    let toolset = project();
    for (input, expected) in [
        (
            json!({ "pattern": "x", "output_mode": "content", "max_per_file": 1 }),
            "Matches for 'x':\n/src/a.ts:2: two x\n/src/b.ts:1: x\n/README.md:1: x one\n(At most 1 of each file's matches are counted.)",
        ),
        (
            json!({ "pattern": "x", "output_mode": "content", "limit": 2 }),
            "Matches for 'x':\n/src/a.ts:2: two x\n/src/b.ts:1: x\n... and 2 more matches; continue with offset=2",
        ),
        (
            json!({ "pattern": "x", "output_mode": "content", "limit": 2, "offset": 2 }),
            "Matches for 'x':\n/src/b.ts:2: x\n/README.md:1: x one",
        ),
        (
            json!({ "pattern": "x", "limit": 1, "offset": 1 }),
            "Files containing 'x':\n/src/b.ts\n... and 1 more files; continue with offset=2",
        ),
        (json!({ "pattern": "x", "offset": 9 }), "Files containing 'x':\n(offset 9 is past the last of 3 files)"),
    ] {
        assert_eq!(call(&toolset, "grep", input.clone()).await.unwrap().text, expected, "{input}");
    }
    let names: Vec<String> = (0..101).map(|index| format!("/many/{index:03}.txt")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "needle", 1)).collect();
    let toolset = self::toolset(&files);
    let page = call(&toolset, "glob", json!({ "pattern": "many/*" })).await.unwrap();
    let lines: Vec<&str> = page.text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (102, "Found 101 file(s) matching 'many/*':"));
    assert_eq!(lines[100..], ["/many/099.txt", "... and 1 more; continue with offset=100"]);
    assert!(page.truncated);
    let data = page.data.unwrap();
    assert_eq!((&data["total"], &data["nextOffset"]), (&json!(101), &json!(100)));
    let rest = call(&toolset, "glob", json!({ "pattern": "many/*", "offset": 100 })).await.unwrap();
    assert_eq!((rest.text.as_str(), rest.truncated), ("Found 101 file(s) matching 'many/*':\n/many/100.txt", false));
    let found = call(&toolset, "grep", json!({ "pattern": "needle" })).await.unwrap();
    assert_eq!(found.text.lines().last(), Some("... and 51 more files; continue with offset=50"));
    let found = call(&toolset, "find_files", json!({ "query": "txt", "limit": 20 })).await.unwrap();
    assert_eq!(found.text.lines().last(), Some("... and 81 more; continue with offset=20"));
}

/// BE-30, D5, D73: errors say what is wrong and name the agent's own paths.
#[tokio::test]
async fn a_search_that_makes_no_sense_says_why() {
    let toolset = project();
    for (tool, input, code, part) in [
        ("grep", json!({ "pattern": "a(" }), "INVALID_INPUT", "unclosed group"),
        ("grep", json!({ "pattern": "x", "path": "none" }), "FILE_NOT_FOUND", "/none"),
        ("grep", json!({ "pattern": "x", "file_type": "klingon" }), "INVALID_INPUT", "no file type 'klingon'"),
        ("glob", json!({ "pattern": "../*" }), "INVALID_INPUT", "holds '..'"),
        ("glob", json!({ "pattern": "a\0b" }), "INVALID_INPUT", "NUL"),
        ("glob", json!({ "pattern": "*", "path": "none" }), "FILE_NOT_FOUND", "/none"),
        ("find_files", json!({ "query": " " }), "INVALID_INPUT", ""),
        ("ls", json!({ "path": "none" }), "FILE_NOT_FOUND", "/none"),
    ] {
        let ended = call(&toolset, tool, input.clone()).await.unwrap();
        assert_eq!(ended.code.as_deref(), Some(code), "{tool} {input}: {}", ended.text);
        assert!(ended.text.contains(part), "{tool} {input}: {}", ended.text);
    }
}
