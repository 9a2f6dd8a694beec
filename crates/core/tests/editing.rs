//! `edit_file`, `hashline_edit` and `write_file` on a real disk: what a file keeps, and what happens all or none.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::text::hashline::LineTag;
use gloveport_core::tool::ToolResult;
use gloveport_core::toolset::{Application, CallOptions, Toolset};
use serde_json::{Value, json};

struct World {
    directory: tempfile::TempDir,
    toolset: Toolset,
}

impl World {
    fn new(edit_format: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = LocalOptions { root: Some(directory.path().to_owned()), ..LocalOptions::default() };
        let backend = Arc::new(LocalBackend::new(options).unwrap());
        let options = serde_json::from_value(json!({ "editFormat": edit_format })).unwrap();
        Self { directory, toolset: Toolset::new(backend, options, Application::default()).unwrap() }
    }

    fn host(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn call(&self, tool: &str, input: Value) -> ToolResult {
        self.toolset.call(tool, input, CallOptions::default()).await.unwrap()
    }
}

/// UTF-16, low byte first, behind its mark.
fn utf16(text: &str) -> Vec<u8> {
    [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

#[tokio::test]
async fn utf16_is_read_as_text_said_plainly_and_stays_utf16() {
    let world = World::new("str_replace");
    fs::write(world.host("a.txt"), utf16("naïve 😀\r\ntwo\r\n")).unwrap();
    let read = world.call("read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(read.text, "     1\tnaïve 😀\n     2\ttwo\n\n(The file is UTF-16 (little endian); edits keep that.)");
    assert_eq!(read.data.unwrap()["encoding"], "utf16-le");
    let edited = world.call("edit_file", json!({ "path": "a.txt", "old_string": "😀\ntwo", "new_string": "é" })).await;
    assert!(!edited.is_error, "{}", edited.text);
    assert_eq!(fs::read(world.host("a.txt")).unwrap(), utf16("naïve é\r\n"));
}

#[tokio::test]
async fn text_that_is_not_utf8_is_shown_with_a_word_about_it_and_kept() {
    let world = World::new("str_replace");
    fs::write(world.host("a.txt"), b"caf\xE9\none\n").unwrap();
    let read = world.call("read_file", json!({ "path": "a.txt" })).await;
    assert!(read.text.ends_with("shown as U+FFFD. Edits keep them as they are.)"), "{}", read.text);
    world.call("edit_file", json!({ "path": "a.txt", "old_string": "one", "new_string": "two" })).await;
    assert_eq!(fs::read(world.host("a.txt")).unwrap(), b"caf\xE9\ntwo\n");
}

#[tokio::test]
async fn mode_and_owner_stay_and_a_link_stays_a_link() {
    for (format, tool, input) in [
        ("str_replace", "edit_file", json!({ "path": "link", "old_string": "one", "new_string": "two" })),
        (
            "hashline",
            "hashline_edit",
            json!({ "path": "link", "start_line": 1, "start_hash": LineTag::of(b"one").as_str(), "new_content": "two" }),
        ),
        ("str_replace", "write_file", json!({ "path": "link", "content": "two\n" })),
    ] {
        let world = World::new(format);
        let file = world.host("file.txt");
        fs::write(&file, "one\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file.txt", world.host("link")).unwrap();
        // Only a privileged process may give files away; any other keeps its own.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(4_711), Some(4_712)).unwrap();
        }
        let before = fs::metadata(&file).unwrap();
        let done = world.call(tool, input).await;
        assert!(!done.is_error, "{tool}: {}", done.text);
        let after = fs::metadata(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "two\n", "{tool}");
        assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()), "{tool}");
        assert_ne!(after.ino(), before.ino(), "{tool} replaces the file as a whole");
        assert_eq!(fs::read_link(world.host("link")).unwrap(), PathBuf::from("file.txt"), "{tool}");
    }
}

#[tokio::test]
async fn several_edits_are_made_all_or_none_and_each_failure_has_its_number() {
    let tag = |line: &str| LineTag::of(line.as_bytes()).to_string();
    let text = "one\ntwo\nthree\n";
    for (format, tool, good, bad) in [
        (
            "str_replace",
            "edit_file",
            json!([{ "old_string": "one", "new_string": "1" }, { "old_string": "1\ntwo", "new_string": "1\n2" }]),
            json!([
                { "old_string": "one", "new_string": "1" },
                { "old_string": "missing", "new_string": "x" },
                { "old_string": "e", "new_string": "x" },
            ]),
        ),
        (
            "hashline",
            "hashline_edit",
            json!([
                { "start_line": 1, "start_hash": tag("one"), "new_content": "1" },
                { "start_line": 2, "start_hash": tag("two"), "new_content": "2" },
            ]),
            json!([
                { "start_line": 1, "start_hash": tag("one"), "new_content": "1" },
                { "start_line": 2, "start_hash": "zz", "new_content": "2" },
                { "start_line": 9, "start_hash": "aa", "new_content": "9" },
            ]),
        ),
    ] {
        let world = World::new(format);
        fs::write(world.host("a.txt"), text).unwrap();
        let failed = world.call(tool, json!({ "path": "a.txt", "edits": bad })).await;
        assert_eq!(failed.code.as_deref(), Some("EDIT_FAILED"), "{tool}");
        assert!(failed.text.contains("2 of 3 edits of "), "{}", failed.text);
        assert!(failed.text.contains("\nEdit 2 of 3: ") && failed.text.contains("\nEdit 3 of 3: "), "{}", failed.text);
        assert_eq!(fs::read_to_string(world.host("a.txt")).unwrap(), text, "{tool}");
        let done = world.call(tool, json!({ "path": "a.txt", "edits": good })).await;
        assert!(!done.is_error, "{tool}: {}", done.text);
        assert_eq!(fs::read_to_string(world.host("a.txt")).unwrap(), "1\n2\nthree\n", "{tool}");
        let diff = done.data.unwrap()["diff"].as_str().unwrap().to_owned();
        assert!(diff.ends_with("@@ -1,3 +1,3 @@\n-one\n-two\n+1\n+2\n three\n"), "{diff}");
    }
}

#[tokio::test]
async fn a_changed_time_alone_refuses_no_edit() {
    let world = World::new("str_replace");
    fs::write(world.host("a.txt"), "one\ntwo\n").unwrap();
    world.call("read_file", json!({ "path": "a.txt" })).await;
    let file = fs::File::options().write(true).open(world.host("a.txt")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let done = world.call("edit_file", json!({ "path": "a.txt", "old_string": "two", "new_string": "2" })).await;
    assert!(!done.is_error, "{}", done.text);
    assert_eq!(fs::read_to_string(world.host("a.txt")).unwrap(), "one\n2\n");
}
