//! What `read_file`, `write_file`, `edit_file` and `hashline_edit` answer, by the number of the requirement, and of the defect of
//! the systems that gloveport follows. The answers are the same on a disk and in memory.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use gloveport_core::access::Operation;
use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::backend::memory::{StateBackend, StateOptions};
use gloveport_core::backend::{Backend, Call, Missing};
use gloveport_core::limits::Limits;
use gloveport_core::path::VirtualPath;
use gloveport_core::text::hashline::LineTag;
use gloveport_core::tool::ToolResult;
use gloveport_core::toolset::{Application, CallOptions, Toolset};
use serde_json::{Value, json};

/// A toolset on a disk and one in memory, with the same files.
struct World {
    directory: tempfile::TempDir,
    places: [(Arc<dyn Backend>, Toolset); 2],
}

impl World {
    fn new(options: &Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let local = LocalOptions { root: Some(directory.path().to_owned()), ..LocalOptions::default() };
        let backends: [Arc<dyn Backend>; 2] = [
            Arc::new(LocalBackend::new(local).unwrap()),
            Arc::new(StateBackend::new(StateOptions::default(), Limits::default()).unwrap()),
        ];
        let places = backends.map(|backend| {
            let options = serde_json::from_value(options.clone()).unwrap();
            let toolset = Toolset::new(Arc::clone(&backend), options, Application::default()).unwrap();
            (backend, toolset)
        });
        Self { directory, places }
    }

    fn at(backend: &dyn Backend, path: &str) -> VirtualPath {
        VirtualPath::parse(path, backend.files().working_directory()).unwrap()
    }

    /// Writes past the toolsets, as another program does.
    async fn put(&self, path: &str, bytes: &[u8]) {
        for (backend, _) in &self.places {
            let bytes = bytes.to_vec();
            let (path, call) = (Self::at(&**backend, path), Call::default());
            let writer = backend.writer().unwrap();
            writer.update(&path, Operation::Write, Missing::Create, Box::new(move |_| Ok(bytes)), &call).await.unwrap();
        }
    }

    /// The bytes of a file; `None` where there is none.
    async fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        for (backend, _) in &self.places {
            let path = Self::at(&**backend, path);
            all.push(backend.files().read_bytes(&path, 1 << 20, &Call::default()).await.ok().map(|file| file.bytes));
        }
        assert_eq!(all[0], all[1], "{path}");
        all.swap_remove(0)
    }

    /// The answer of a tool, with the directory taken out of its text and out of `data.path`.
    async fn call(&self, tool: &str, input: Value) -> ToolResult {
        let mut answers = Vec::new();
        for (backend, toolset) in &self.places {
            let mut answer = toolset.call(tool, input.clone(), CallOptions::default()).await.unwrap();
            let base = backend.files().working_directory().as_str().trim_end_matches('/').to_owned();
            answer.text = answer.text.replace(&format!("{base}/"), "/");
            if let Some(Value::Object(data)) = &mut answer.data {
                if let Some(Value::String(path)) = data.get_mut("path") {
                    *path = path.strip_prefix(&base).unwrap_or(path).to_owned();
                }
                data.remove("diff");
            }
            if answer.is_error {
                // Facts for programs; they name the directory too.
                answer.data = None;
            }
            answers.push(answer);
        }
        assert_eq!(answers[0], answers[1], "{tool} {input}");
        answers.swap_remove(0)
    }

    async fn text(&self, tool: &str, input: Value) -> String {
        let answer = self.call(tool, input).await;
        assert!(!answer.is_error, "{}", answer.text);
        answer.text
    }

    /// A failure that the model can read: never a rejection (D90).
    async fn failure(&self, tool: &str, input: Value) -> (String, String) {
        let answer = self.call(tool, input.clone()).await;
        assert!(answer.is_error && answer.text.starts_with("Error: "), "{input}: {}", answer.text);
        (answer.code.unwrap(), answer.text)
    }
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "old_string": old, "new_string": new })
}

#[tokio::test]
async fn a_read_is_numbered_and_says_how_much_there_is() {
    let world = World::new(&json!({}));
    // BE-23, JV-5, TS-20: numbers from 1, offsets from 0, what is left and where to read on.
    world.put("a.txt", b"one\ntwo\r\nthree\n").await;
    let answer = world.call("read_file", json!({ "path": "a.txt", "offset": 1, "limit": 1 })).await;
    assert_eq!(answer.text, "     2\ttwo\n\n... (1 more lines) Read on with offset=2.");
    let data = json!({
        "path": "/a.txt", "offset": 1, "lines": 1, "totalLines": 3, "bytes": 15, "nextOffset": 2, "truncated": true,
        "encoding": "utf8",
    });
    assert_eq!(answer.data, Some(data));
    // D1, JV-5: an empty file is no error. D13: a last line end makes no further line.
    world.put("empty", b"").await;
    assert_eq!(world.text("read_file", json!({ "path": "empty" })).await, "(empty file)");
    assert!(world.text("read_file", json!({ "path": "a.txt" })).await.ends_with("     3\tthree"));
    // D92: only a line feed ends a line.
    world.put("odd", "a\u{2028}b\u{b}c\u{c}d\u{85}e\rf\n".as_bytes()).await;
    assert_eq!(world.call("read_file", json!({ "path": "odd" })).await.data.unwrap()["totalLines"], 1);
    // D75, D90: bytes that are not UTF-8 are shown, with a word about it.
    world.put("latin", b"caf\xE9\n").await;
    let text = world.text("read_file", json!({ "path": "latin" })).await;
    assert!(text.starts_with("     1\tcaf\u{FFFD}\n\n(") && text.contains("U+FFFD"), "{text}");
}

#[tokio::test]
async fn a_window_that_makes_no_sense_is_refused_in_words() {
    let world = World::new(&json!({}));
    world.put("a.txt", b"one\ntwo\n").await;
    for (window, said) in [
        (json!({ "offset": -1 }), "offset"),                                // D2, D82
        (json!({ "limit": 0 }), "`limit` must be at least 1."),             // D2
        (json!({ "offset": 2 }), "Offset 2 exceeds file length (2 lines)"), // BE-23, D94
        (json!({ "offset": 9 }), "The last line is at offset 1."),          // D94
        (json!({ "offset": 0.5 }), "offset"),
    ] {
        let mut input = window.clone();
        input["path"] = "a.txt".into();
        let (code, text) = world.failure("read_file", input).await;
        assert_eq!(code, "INVALID_INPUT", "{window}");
        assert!(text.contains(said), "{window}: {text}");
    }
}

#[tokio::test]
async fn a_window_that_does_not_fit_is_cut_and_says_so() {
    // BE-24, decided: no error, whether the lines were asked for or not; what fitted is told.
    let world = World::new(&json!({ "limits": { "readBytes": 40 } }));
    world.put("a.txt", "0123456789\n".repeat(9).as_bytes()).await;
    let told = |asked: u64| {
        format!(
            "     3\t0123456789\n\n... (6 more lines) Read on with offset=3. (Only 3 of the {asked} lines asked for fit into \
             one read; ask for fewer, or search for the place.)"
        )
    };
    for (limit, asked) in [(Value::Null, 2_000), (json!(5), 5)] {
        let mut input = json!({ "path": "a.txt" });
        if !limit.is_null() {
            input["limit"] = limit;
        }
        let text = world.text("read_file", input).await;
        assert!(text.ends_with(&told(asked)), "{text}");
    }
    // What fits says nothing of the kind.
    let text = world.text("read_file", json!({ "path": "a.txt", "limit": 3 })).await;
    assert!(text.ends_with("Read on with offset=3."), "{text}");
}

#[tokio::test]
async fn what_is_no_readable_file_is_named_for_what_it_is() {
    for format in ["str_replace", "hashline"] {
        let world = World::new(&json!({ "editFormat": format }));
        world.put("d/a.bin", b"\x00\x01\x02").await;
        for (path, code, said) in [
            ("d", "NOT_A_FILE", "directory"),           // BE-23, D27, D90
            ("missing", "FILE_NOT_FOUND", "not exist"), // BE-23
            ("d/a.bin", "BINARY_FILE", "text"),         // D29
            ("a\u{0}b", "INVALID_INPUT", ""),           // D90
        ] {
            let (got, text) = world.failure("read_file", json!({ "path": path })).await;
            assert_eq!(got, code, "{path}: {text}");
            assert!(text.contains(said), "{path}: {text}");
        }
    }
}

/// D27: a path that leads out is told from one that is missing, in both formats.
#[tokio::test]
async fn a_path_that_leads_out_is_not_called_missing() {
    for format in ["str_replace", "hashline"] {
        let world = World::new(&json!({ "editFormat": format }));
        let (_, disk) = &world.places[0];
        let input = json!({ "path": "../../outside" });
        let answer = disk.call("read_file", input, CallOptions::default()).await.unwrap();
        assert_eq!(answer.code.as_deref(), Some("PATH_NOT_IN_SANDBOX"), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_write_keeps_every_byte_and_counts_them() {
    let world = World::new(&json!({}));
    // BE-26, D76: parents are made. D4: a lone carriage return stays. JV-6, D91: bytes are bytes, lines are lines.
    let answer = world.call("write_file", json!({ "path": "a/b/c.txt", "content": "é\rx\r\ny\n" })).await;
    assert_eq!(answer.text, "Created /a/b/c.txt: 2 line(s), 8 bytes.");
    assert_eq!(answer.data, Some(json!({ "path": "/a/b/c.txt", "bytes": 8, "lines": 2, "created": true })));
    assert_eq!(world.bytes("a/b/c.txt").await.unwrap(), "é\rx\r\ny\n".as_bytes());
    let text = world.text("write_file", json!({ "path": "a/b/c.txt", "content": "" })).await;
    assert_eq!(text, "Wrote /a/b/c.txt: 0 line(s), 0 bytes.");
}

#[tokio::test]
async fn an_edit_changes_what_it_names_and_nothing_else() {
    let world = World::new(&json!({}));
    // BE-27, JV-6; D3, D35, D78, D93: line ends stay; D91: counts are of bytes.
    world.put("a.txt", b"\xEF\xBB\xBFone\r\ntwo\r\nthree").await;
    let answer = world.call("edit_file", replace("a.txt", "one\ntwo", "1\n2")).await;
    assert_eq!(answer.text, "Edited /a.txt: replaced 1 occurrence(s).");
    let data = answer.data.unwrap();
    assert_eq!((&data["replacements"], &data["bytes"]), (&json!(1), &json!(14)));
    assert_eq!(world.bytes("a.txt").await.unwrap(), b"\xEF\xBB\xBF1\r\n2\r\nthree");
    // BE-27: bytes that are not UTF-8 are never rewritten.
    world.put("latin", b"caf\xE9 one\r\n\rtwo\n").await;
    world.text("edit_file", replace("latin", "two", "2")).await;
    assert_eq!(world.bytes("latin").await.unwrap(), b"caf\xE9 one\r\n\r2\n");
}

#[tokio::test]
async fn an_edit_that_makes_no_sense_changes_nothing() {
    let world = World::new(&json!({}));
    let text = "x one\nx two\n";
    world.put("a.txt", text.as_bytes()).await;
    let everywhere = |old: &str| json!({ "path": "a.txt", "old_string": old, "new_string": "y", "replace_all": true });
    let several = |edits: Value| json!({ "path": "a.txt", "edits": edits });
    for (input, said) in [
        (replace("a.txt", "x", "x"), "are the same"),       // D28
        (replace("a.txt", "", "y"), "old_string is empty"), // D96, TS-21
        (everywhere(""), "old_string is empty"),            // D96
        (replace("a.txt", "three", "y"), "was not found in '/a.txt': \"three\""), // BE-27
        (replace("a.txt", "x ", "y"), "occurs 2 times in '/a.txt' (lines 1, 2). Add"), // BE-27
        (
            several(json!([{ "old_string": "x one", "new_string": "1" }, { "old_string": "", "new_string": "y" }])),
            "Edit 2 of 2: old_string is empty", // D80, D81
        ),
        (
            several(
                json!([{ "old_string": "x one", "new_string": "1" }, { "old_string": "x one", "new_string": "y" }]),
            ),
            "1 of 2 edits of '/a.txt' failed, so none was made.\nEdit 2 of 2: old_string was not found", // D80, TS-21
        ),
    ] {
        let (code, told) = world.failure("edit_file", input.clone()).await;
        assert_eq!(code, "EDIT_FAILED", "{input}: {told}");
        assert!(told.contains(said), "{input}: {told}");
        assert_eq!(world.bytes("a.txt").await.unwrap(), text.as_bytes(), "{input}");
    }
    // TS-21, D76, decided: an edit makes no file, whoever may edit what is there may not thereby make what is not.
    let (code, told) = world.failure("edit_file", replace("new/file", "", "text")).await;
    assert_eq!(code, "FILE_NOT_FOUND");
    assert!(told.contains("'/new/file' does not exist, and an edit makes no file; write it as a whole"), "{told}");
    assert_eq!(world.bytes("new/file").await, None);
    // An empty file takes its first text.
    world.put("empty", b"").await;
    world.text("edit_file", replace("empty", "", "text")).await;
    assert_eq!(world.bytes("empty").await.unwrap(), b"text");
}

#[tokio::test]
async fn an_edit_of_what_changed_since_it_was_read_is_refused_however_the_path_is_spelled() {
    // BE-107, D25.
    let world = World::new(&json!({}));
    world.put("d/a.txt", b"one\ntwo\n").await;
    world.text("read_file", json!({ "path": "./d/../d/a.txt" })).await;
    world.put("d/a.txt", b"one\nTWO, two\n").await;
    let (code, text) = world.failure("edit_file", replace("d//a.txt", "two", "2")).await;
    assert_eq!(code, "STALE_FILE");
    assert!(text.contains("     2\tTWO, two"), "{text}");
    // BE-107: what was never read is not guarded.
    world.put("b.txt", b"one\n").await;
    world.put("b.txt", b"two\n").await;
    world.text("edit_file", replace("b.txt", "two", "2")).await;
}

#[tokio::test]
async fn tagged_lines_are_shown_edited_and_summed_up() {
    let world = World::new(&json!({ "editFormat": "hashline" }));
    let tag = |line: &str| LineTag::of(line.as_bytes()).to_string();
    let line = |number: u64, text: &str, content: &str| json!({ "path": "a.txt", "start_line": number, "start_hash": tag(text), "new_content": content });
    // BE-91.
    world.put("a.txt", b"one\r\ntwo\r\n").await;
    let shown = world.text("read_file", json!({ "path": "a.txt", "limit": 1 })).await;
    assert_eq!(shown, format!("1:{}|one\r\n\n... (1 more lines) Read on with offset=1.", tag("one\r")));
    world.put("empty", b"").await;
    assert_eq!(world.text("read_file", json!({ "path": "empty" })).await, "1:d4|");
    // BE-92, BE-94, BE-95, D3, D24: one line of a CRLF file, and the other keeps its line end.
    assert_eq!(
        world.text("hashline_edit", line(2, "two\r", "2")).await,
        "Edited /a.txt: Replaced 1 line(s) at line 2."
    );
    assert_eq!(world.bytes("a.txt").await.unwrap(), b"one\r\n2\r\n");
    // D24: before the first line, and one empty line.
    let mut before = line(0, "", "zero");
    before["insert_after"] = true.into();
    world.text("hashline_edit", before).await;
    let mut blank = line(1, "zero\r", "");
    blank["insert_after"] = true.into();
    world.text("hashline_edit", blank).await;
    assert_eq!(world.bytes("a.txt").await.unwrap(), b"zero\r\n\r\none\r\n2\r\n");
    // BE-90, BE-93: a tag that does not fit changes nothing and shows the lines of now.
    let (code, told) = world.failure("hashline_edit", line(3, "other", "x")).await;
    assert_eq!(code, "EDIT_FAILED");
    assert!(told.contains(&format!("3:{}|one", tag("one\r"))), "{told}");
    assert_eq!(world.bytes("a.txt").await.unwrap(), b"zero\r\n\r\none\r\n2\r\n");
    // D24: all lines deleted leave nothing.
    let mut all = line(1, "zero\r", "");
    (all["end_line"], all["end_hash"]) = (4.into(), tag("2\r").into());
    world.text("hashline_edit", all).await;
    assert_eq!(world.bytes("a.txt").await.unwrap(), b"");
}

/// D10: the path that is told is the one that was asked for, and the link stays.
#[cfg(unix)]
#[tokio::test]
async fn an_edit_through_a_link_is_told_under_the_path_that_was_asked_for() {
    let world = World::new(&json!({}));
    world.put("d/real.txt", b"one\n").await;
    std::os::unix::fs::symlink("d/real.txt", world.directory.path().join("link")).unwrap();
    let (backend, toolset) = &world.places[0];
    let answer = toolset.call("edit_file", replace("link", "one", "two"), CallOptions::default()).await.unwrap();
    let asked = World::at(&**backend, "link");
    assert_eq!(answer.data.unwrap()["path"], asked.as_str());
    assert!(answer.text.contains(&format!("Edited {asked}")), "{}", answer.text);
    assert!(world.directory.path().join("link").is_symlink());
    assert_eq!(std::fs::read(world.directory.path().join("d/real.txt")).unwrap(), b"two\n");
}
