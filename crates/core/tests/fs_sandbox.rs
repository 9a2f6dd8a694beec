//! The recorded behaviour of a mount sandbox (`vectors/fs_sandbox.json`): each scenario is a tree, mounts, perhaps a
//! chain of derived sandboxes, and steps with their answers. Run as it stands and with `GLOVEPORT_RESOLVER=walk`.
//!
//! Steps of tools that are not a backend's (`approval`, `describe`, and the text rules of `edit`) are tested where those
//! tools are.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use gloveport_core::access::Operation;
use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::backend::{Backend, Call, FileKind, Missing, Transform, Window};
use gloveport_core::error::{ErrorKind, Result};
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Allowances, Mount, MountMode, Sandbox};
use gloveport_core::search::{GlobQuery, SortOrder};
use serde_json::{Value, json};

/// Where our answer is another one, with the reason.
const OURS: &[(&str, &[&str], &str)] = &[
    // D31b: a leading `./` says nothing.
    ("resolve", &["./in/a.txt"], "ok"),
    // D32: `..` is judged by words before a mount is chosen.
    ("resolve", &["/in/../out/o.txt", "/data/../data/x.txt", "/data/sub/../special/y.txt"], "ok"),
    ("can_read", &["./in/a.txt", "/in/../out/o.txt"], "true"),
    ("can_write", &["/in/../out/o.txt"], "true"),
    // Design §6: paths of tools are literal. Nothing is trimmed, `\` is a character.
    ("resolve", &["\\in\\a.txt", " /in/a.txt "], "PATH_NOT_IN_SANDBOX"),
    ("can_read", &["\\in\\a.txt", " /in/a.txt "], "false"),
    // What is no path at all is said to be that.
    ("resolve", &["/in/../../etc/passwd", "..", "../x", "/in/a\0b"], "INVALID_INPUT"),
    // Design §5: `can*` judge the mount table alone; a link that leaves is found out when it is opened.
    ("can_read", &["/in/escape", "/in/escdir/secret.txt", "/in/cross"], "true"),
    // A listing (not a search) of what is not there is an error, and a file lists itself (BE-28).
    ("list", &["/in/nope"], "FILE_NOT_FOUND"),
    ("list", &["/in/a.txt"], "ok"),
    // A directory above what a derived sandbox may read shows the way there, and nothing else.
    ("list", &["/docs", "/data"], "only what may be read"),
];

/// What a search answers where it is not what `list_files` of the recorder did.
enum Searched {
    Paths(&'static [&'static str]),
    Code(&'static str),
}

/// FS-36 by searching (`glob` with hidden and ignored files, by path): where our answer is another one, with the reason.
const OURS_SEARCHED: &[(&str, &str, Searched)] = &[
    // A pattern has one meaning, below the path that is searched, however many mounts lie there.
    ("/", "*", Searched::Paths(&["/a.txt"])),
    ("/", "sub/*", Searched::Paths(&[])),
    (".", "*.txt", Searched::Paths(&[])),
    // D8: `**` is every file.
    (
        "/in",
        "**",
        Searched::Paths(&[
            "/in/.hidden",
            "/in/a.txt",
            "/in/bin.dat",
            "/in/empty.txt",
            "/in/inner",
            "/in/sub/b.md",
            "/in/sub/deep/c.py",
            "/in/uni.txt",
        ]),
    ),
    // D7: braces are alternatives.
    ("/in", "*.{txt,md}", Searched::Paths(&["/in/a.txt", "/in/empty.txt", "/in/uni.txt"])),
    // An absolute pattern is judged as the path that it names.
    ("/in", "/etc/*", Searched::Code("PATH_NOT_IN_SANDBOX")),
    // `~`, `C:` and an escaped star are names, which nothing here has.
    ("/in", "~/*", Searched::Paths(&[])),
    ("/in", "C:/*", Searched::Paths(&[])),
    ("/in", "\\*", Searched::Paths(&[])),
    // A search of what is not there is an error (BE-29), as any look at it; a file that is named is found.
    ("/in/nope", "**/*", Searched::Code("FILE_NOT_FOUND")),
    ("/in/a.txt", "**/*", Searched::Paths(&["/in/a.txt"])),
];

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => many.iter().map(|item| item.as_str().unwrap().to_owned()).collect(),
        other => panic!("neither text nor a list: {other}"),
    }
}

fn grow(root: &Path, tree: &Value) {
    for (path, content) in tree.as_object().unwrap() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match content {
            Value::Null => fs::create_dir_all(path).unwrap(),
            Value::String(text) => fs::write(path, text).unwrap(),
            Value::Object(_) if content.get("repeat").is_some() => {
                let count = usize::try_from(content["repeat"][1].as_u64().unwrap()).unwrap();
                fs::write(path, content["repeat"][0].as_str().unwrap().repeat(count)).unwrap();
            }
            Value::Object(_) => match (text(content, "hex"), text(content, "symlink")) {
                (Some(hex), _) => fs::write(path, bytes_of(hex)).unwrap(),
                // The recorder made absolute links; those that stay inside are made relative, as we refuse the others.
                (_, Some(target)) => {
                    let target = Path::new(target.strip_prefix("${ROOT}/").unwrap());
                    std::os::unix::fs::symlink(relative(&path, &root.join(target)), path).unwrap();
                }
                (None, None) => panic!("unknown kind of content: {content}"),
            },
            other => panic!("unknown kind of content: {other}"),
        }
    }
}

fn relative(link: &Path, target: &Path) -> std::path::PathBuf {
    let from: Vec<_> = link.parent().unwrap().components().collect();
    let to: Vec<_> = target.components().collect();
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    from[common..].iter().map(|_| std::path::Component::ParentDir).chain(to[common..].iter().copied()).collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn mount(value: &Value) -> Mount {
    let flag = |key: &str| value.get(key).and_then(Value::as_bool);
    let mut mount = Mount::new(text(value, "host_path").unwrap(), text(value, "mount_point").unwrap());
    if text(value, "mode") == Some("rw") {
        mount.mode = MountMode::ReadWrite;
    }
    mount.suffixes = value.get("suffixes").filter(|list| !list.is_null()).map(strings);
    mount.max_file_bytes = value.get("max_file_bytes").and_then(Value::as_u64);
    mount.write_approval = flag("write_approval").unwrap_or(true);
    mount.read_approval = flag("read_approval").unwrap_or(false);
    mount
}

fn allowances(value: &Value) -> Allowances {
    let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
    let list = |key: &str| value.get(key).filter(|list| !list.is_null()).map(strings);
    Allowances {
        allow_read: list("allow_read"),
        allow_write: list("allow_write"),
        readonly: flag("readonly"),
        inherit: flag("inherit"),
    }
}

/// The code that stands for a recorded exception.
fn code(class: &str) -> &'static str {
    match class {
        "PathNotInSandboxError" => "PATH_NOT_IN_SANDBOX",
        "PathNotWritableError" => "PATH_NOT_WRITABLE",
        "SuffixNotAllowedError" => "SUFFIX_NOT_ALLOWED",
        "FileTooLargeError" => "FILE_TOO_LARGE",
        "FileNotFoundError" => "FILE_NOT_FOUND",
        "IsADirectoryError" => "NOT_A_FILE",
        "ValueError" | "ValidationError" => "INVALID_INPUT",
        other => panic!("unknown class {other}"),
    }
}

fn answer(result: Result<Value>) -> Value {
    match result {
        Ok(value) => value,
        Err(error) => {
            let shown = format!("{error}{:?}", error.details());
            assert!(!shown.contains("/tmp/"), "R-FS-8: a host path in '{shown}'");
            json!({ "error": error.kind().code() })
        }
    }
}

struct World<'a> {
    root: &'a Path,
    sandbox: Sandbox,
    backend: LocalBackend,
}

impl World<'_> {
    async fn run(&self, operation: &str, arguments: &[Value]) -> Option<Value> {
        let path = arguments.first().and_then(Value::as_str).unwrap_or("/");
        let parsed = VirtualPath::parse(path, &VirtualPath::root());
        let call = Call::default();
        let sandbox = &self.sandbox;
        Some(match operation {
            "roots" => json!({ "readable": sandbox.readable_roots(), "writable": sandbox.writable_roots() }),
            "resolve" => answer(
                sandbox
                    .resolve(path)
                    .map(|host| json!(host.to_str().unwrap().replacen(self.root.to_str().unwrap(), "${ROOT}", 1))),
            ),
            "can_read" => json!(sandbox.can_read(path)),
            "can_write" => json!(sandbox.can_write(path)),
            "needs_read_approval" => json!(sandbox.needs_read_approval(path)),
            "needs_write_approval" => json!(sandbox.needs_write_approval(path)),
            "host_exists" => json!(self.root.join(path).exists()),
            "read" if arguments.len() == 1 => {
                let window = Window { offset: 0, limit: u64::MAX, max_bytes: 1 << 20 };
                let slice = self.backend.files().read(&parsed.unwrap(), window, &call).await;
                answer(slice.map(|slice| json!(slice.content)))
            }
            "write" => {
                let content = arguments[1].as_str().unwrap().as_bytes().to_vec();
                let transform: Transform = Box::new(move |_| Ok(content));
                let path = parsed.unwrap();
                let Some(writer) = self.backend.writer() else { return Some(json!({ "error": "PATH_NOT_WRITABLE" })) };
                let written = writer.update(&path, Operation::Write, Missing::Create, transform, &call).await;
                answer(written.map(|_| json!("written")))
            }
            "list" if arguments.len() <= 1 => {
                let listing = self.backend.files().list(&parsed.unwrap(), 100, &call).await;
                answer(listing.map(|listing| {
                    let files = listing.entries.into_iter().filter(|entry| entry.kind == FileKind::File);
                    json!(files.map(|entry| entry.path).collect::<BTreeSet<_>>())
                }))
            }
            "search" => {
                let pattern = arguments.get(1).and_then(Value::as_str).unwrap_or("**/*");
                let query = GlobQuery {
                    hidden: true,
                    respect_ignore: false,
                    sort: SortOrder::Path,
                    ..GlobQuery::new(pattern, parsed.unwrap())
                };
                let found = self.backend.files().glob(&query, &call).await;
                answer(found.map(|found| json!(found.files.into_iter().map(|file| file.path).collect::<Vec<_>>())))
            }
            _ => return None,
        })
    }
}

fn expected(operation: &str, step: &Value) -> Value {
    if let Some(class) = text(step, "error") {
        return json!({ "error": code(class) });
    }
    match (operation, &step["ok"]) {
        ("read", ok) => ok["content"].clone(),
        ("write", _) => json!("written"),
        (_, ok) => ok.clone(),
    }
}

fn ours(operation: &str, path: &str) -> Option<&'static str> {
    OURS.iter().find(|(op, paths, _)| *op == operation && paths.contains(&path)).map(|(_, _, answer)| *answer)
}

/// The scenario with a mount below `/data`: it is part of the tree there, and searched with it (D32).
const NESTED: (&str, &str, &[&str]) =
    ("root + nested mounts, longest prefix", "/data", &["/data/n.txt", "/data/special/y.txt", "/data/x.txt"]);

fn ours_searched(name: &str, path: &str, pattern: &str) -> Option<Value> {
    if (name, path) == (NESTED.0, NESTED.1) {
        return Some(json!(NESTED.2));
    }
    let found = OURS_SEARCHED.iter().find(|(at, asked, _)| (*at, *asked) == (path, pattern));
    found.map(|(_, _, answer)| match answer {
        Searched::Paths(paths) => json!(paths),
        Searched::Code(code) => json!({ "error": code }),
    })
}

#[tokio::test]
async fn answers_as_recorded_or_better() {
    let data = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/fs_sandbox.json")).unwrap();
    let data: Value = serde_json::from_str(&data).unwrap();
    let (mut compared, mut searched, mut wrong) = (0, 0, Vec::new());
    for scenario in data["scenarios"].as_array().unwrap() {
        let name = text(scenario, "name").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        grow(&root, &scenario["tree"]);
        let mounts = scenario["mounts"].as_array().unwrap().iter().map(mount).collect();
        let made = Sandbox::new(mounts, &root);
        if scenario.get("construct").is_some() {
            assert_eq!(made.unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
            continue;
        }
        let mut derived = made;
        for step in scenario.get("derive").and_then(Value::as_array).into_iter().flatten() {
            derived = derived.and_then(|sandbox| sandbox.derive(&allowances(step)));
        }
        if let Some(class) = scenario.get("derive_result").and_then(|result| text(result, "error")) {
            assert_eq!(derived.unwrap_err().kind().code(), code(class), "{name}");
            continue;
        }
        let sandbox = derived.unwrap();
        let backend =
            LocalBackend::new(LocalOptions { sandbox: Some(sandbox.clone()), ..LocalOptions::default() }).unwrap();
        let world = World { root: &root, sandbox, backend };
        for step in scenario["steps"].as_array().unwrap() {
            let words = step["step"].as_array().unwrap();
            let operation = words[0].as_str().unwrap();
            if operation == "list" {
                let (path, pattern) = (words.get(1), words.get(2));
                let asked = |word: Option<&Value>, default| word.and_then(Value::as_str).unwrap_or(default).to_owned();
                let (path, pattern) = (asked(path, "/"), asked(pattern, "**/*"));
                let found = world.run("search", &words[1..]).await.unwrap();
                let recorded = expected(operation, step);
                // A directory above what may be read shows the way there, and nothing else.
                let is_way = !world.sandbox.can_read(&path)
                    && recorded.get("error").is_some()
                    && found
                        .as_array()
                        .is_some_and(|paths| paths.iter().all(|path| world.sandbox.can_read(path.as_str().unwrap())));
                let right = match ours_searched(name, &path, &pattern) {
                    Some(ours) => found == ours,
                    None => found == recorded || is_way,
                };
                searched += 1;
                if !right {
                    wrong.push(format!("{name}: search {path} {pattern}: {found} instead of {recorded}"));
                }
            }
            let Some(found) = world.run(operation, &words[1..]).await else { continue };
            compared += 1;
            let path = words.get(1).and_then(Value::as_str).unwrap_or("");
            let right = match ours(operation, path) {
                Some("only what may be read") => {
                    found == expected(operation, step)
                        || found.as_array().is_some_and(|paths| {
                            paths.iter().all(|path| world.sandbox.can_read(path.as_str().unwrap()))
                        })
                }
                Some("ok") => found.get("error").is_none(),
                Some("true") => found == json!(true) || found == expected(operation, step),
                Some("false") => found == json!(false),
                Some(code) => found == json!({ "error": code }),
                None => found == expected(operation, step),
            };
            if !right {
                wrong.push(format!("{name}: {words:?}: {found} instead of {}", expected(operation, step)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 500, "only {compared} steps were compared");
    assert!(searched > 70, "only {searched} searches were compared");
}

#[test]
fn mount_points_are_read_as_recorded() {
    let data = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/fs_sandbox.json")).unwrap();
    let data: Value = serde_json::from_str(&data).unwrap();
    for case in data["mount_point"].as_array().unwrap() {
        let directory = tempfile::tempdir().unwrap();
        let made = Sandbox::new(vec![Mount::new("d", text(case, "mount_point").unwrap())], directory.path());
        match text(case, "ok") {
            Some(point) => assert_eq!(made.unwrap().readable_roots(), [point], "{case}"),
            None => assert_eq!(made.unwrap_err().kind(), ErrorKind::InvalidInput, "{case}"),
        }
    }
}
