//! The recorded answers of approvals by mounts (AP-1 … AP-5 in `tests/vectors/fs_sandbox.json`), asked of `assess`.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::sandbox::{Allowances, Mount, MountMode, Sandbox};

/// Where our answer is another one, by tool, input and what is approved beforehand, with the reason.
const OURS: [(&str, &str, &str, &str); 5] = [
    // D41: an approval beforehand opened what is blocked, so that the call failed later.
    ("write_file", r#"{"path":"/in/x"}"#, r#"{"write_file":{"pre_approved":true}}"#, "blocked PATH_NOT_WRITABLE"),
    ("read_file", "{}", r#"{"read_file":{"pre_approved":true}}"#, "blocked INVALID_INPUT"),
    // Where nothing can be written, the tools for it are not there.
    ("write_file", r#"{"path":"/data/x.txt"}"#, "null", "blocked UNKNOWN_TOOL"),
    // A tool that is not there runs for nobody's yes.
    ("whatever", "{}", "null", "blocked UNKNOWN_TOOL"),
    ("whatever", "{}", r#"{"whatever":{"pre_approved":true}}"#, "blocked UNKNOWN_TOOL"),
];

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// A backend over the mounts of a scenario, each directory of which holds a file `x`.
fn backend(scenario: &Value, host: &std::path::Path) -> Arc<dyn Backend> {
    let flag = |value: &Value, key: &str, default| value.get(key).and_then(Value::as_bool).unwrap_or(default);
    let mount = |value: &Value| {
        let path = text(value, "host_path").unwrap();
        fs::create_dir_all(host.join(path)).unwrap();
        for name in ["x", "a", "x.txt"] {
            fs::write(host.join(path).join(name), "abc\n").unwrap();
        }
        let mut mount = Mount::new(path, text(value, "mount_point").unwrap());
        if text(value, "mode") == Some("rw") {
            mount.mode = MountMode::ReadWrite;
        }
        mount.write_approval = flag(value, "write_approval", true);
        mount.read_approval = flag(value, "read_approval", false);
        mount
    };
    let mounts = scenario["mounts"].as_array().unwrap().iter().map(mount).collect();
    let mut sandbox = Sandbox::new(mounts, host).unwrap();
    for derived in scenario.get("derive").and_then(Value::as_array).unwrap_or(&Vec::new()) {
        let list = |key: &str| match derived.get(key) {
            Some(Value::String(one)) => Some(vec![one.clone()]),
            Some(Value::Array(many)) => Some(many.iter().map(|item| item.as_str().unwrap().to_owned()).collect()),
            _ => None,
        };
        sandbox = sandbox
            .derive(&Allowances {
                allow_read: list("allow_read"),
                allow_write: list("allow_write"),
                readonly: flag(derived, "readonly", false),
                inherit: flag(derived, "inherit", false),
            })
            .unwrap();
    }
    let options = LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() };
    Arc::new(LocalBackend::new(options).unwrap())
}

/// Our tool and input for the recorded ones, whose inputs hold more than the tool takes.
fn ours(tool: &str, given: &Value) -> (String, Value) {
    let mut input = serde_json::Map::new();
    let mut take = |from: &str, to: &str| given.get(from).map(|value| input.insert(to.to_owned(), value.clone()));
    let name = match tool {
        "list_files" => {
            take("path", "path");
            if take("pattern", "pattern").is_none() {
                input.insert("pattern".to_owned(), json!("**/*"));
            }
            // The original takes these for the root, whatever the working directory.
            if matches!(input.get("path").and_then(Value::as_str), None | Some("" | ".")) {
                input.insert("path".to_owned(), json!("/"));
            }
            "glob"
        }
        "move_file" | "copy_file" => {
            take("source", "source");
            take("destination", "destination");
            tool
        }
        "edit_file" => {
            take("path", "path");
            take("old_text", "old_string");
            take("new_text", "new_string");
            tool
        }
        "write_file" => {
            take("path", "path");
            if take("content", "content").is_none() && given.get("path").is_some() {
                input.insert("content".to_owned(), json!("x"));
            }
            tool
        }
        _ => {
            take("path", "path");
            tool
        }
    };
    (name.to_owned(), Value::Object(input))
}

/// The recorded answer in our words.
fn recorded(answer: &Value) -> String {
    match (text(answer, "status").unwrap(), text(answer, "block_reason")) {
        ("pre_approved", _) => "allowed".to_owned(),
        ("needs_approval", _) => "needs-approval".to_owned(),
        (_, Some(reason)) if reason.contains("read-only") => "blocked PATH_NOT_WRITABLE".to_owned(),
        (_, Some(reason)) if reason.contains("not in any mount") => "blocked PATH_NOT_IN_SANDBOX".to_owned(),
        (_, Some(reason)) if reason.starts_with("Missing required") => "blocked INVALID_INPUT".to_owned(),
        (status, reason) => panic!("unknown answer: {status} {reason:?}"),
    }
}

#[tokio::test]
async fn gives_the_recorded_answers_of_approvals() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/fs_sandbox.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for scenario in vectors["scenarios"].as_array().unwrap() {
        let steps = scenario.get("steps").and_then(Value::as_array);
        let steps: Vec<&Value> = steps.into_iter().flatten().filter(|step| step["step"][0] == "approval").collect();
        if steps.is_empty() {
            continue;
        }
        let host = tempfile::tempdir().unwrap();
        let backend = backend(scenario, host.path());
        for step in steps {
            let (tool, given) = (step["step"][1].as_str().unwrap(), &step["step"][2]);
            let config = &step["step"][3];
            let beforehand: Vec<&str> = config
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(name, config)| config["pre_approved"] == true && *name != "whatever")
                .map(|(name, _)| name.as_str())
                .collect();
            let options = serde_json::from_value(json!({ "tools": ["files"], "preApproved": beforehand })).unwrap();
            let toolset = Toolset::new(Arc::clone(&backend), options, Application::default()).unwrap();
            let (name, input) = ours(tool, given);
            let assessed = toolset.assess(&name, &input, CallOptions::default()).await.unwrap();
            let status = json!(assessed.status).as_str().unwrap().to_owned();
            let answer = assessed.code.map_or(status.clone(), |code| format!("{status} {code}"));
            let (given_text, config_text) = (given.to_string(), config.to_string());
            let different = OURS.iter().find(|(other, input, config_of, _)| {
                *other == tool && *input == given_text && *config_of == config_text
            });
            let expected = different.map_or_else(|| recorded(&step["ok"]), |(.., ours)| (*ours).to_owned());
            if answer != expected {
                wrong.push(format!("{tool} {given} {config}: {answer}, not {expected}: {:?}", assessed.reason));
            }
            count += 1;
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(count > 90, "{count}");
}

#[tokio::test]
async fn says_what_will_happen_as_recorded() {
    let mounts = json!({ "mounts": [{ "host_path": "out", "mount_point": "/out", "mode": "rw" }] });
    let host = tempfile::tempdir().unwrap();
    let options = serde_json::from_value(json!({ "tools": ["files"] })).unwrap();
    let toolset = Toolset::new(backend(&mounts, host.path()), options, Application::default()).unwrap();
    for (tool, input, expected) in [
        ("write_file", json!({ "path": "/out/x", "content": "hällo" }), "Write 5 characters to /out/x"),
        ("read_file", json!({ "path": "/out/x", "offset": 5 }), "Read from /out/x"),
        (
            "edit_file",
            json!({ "path": "/out/x", "old_string": "abc", "new_string": "de" }),
            "Edit /out/x: replace 3 characters with 2 characters",
        ),
        ("glob", json!({ "path": "/out", "pattern": "*.md" }), "List file paths in /out matching *.md"),
        ("delete_file", json!({ "path": "/out/x" }), "Delete /out/x"),
        ("move_file", json!({ "source": "/out/x", "destination": "/out/b" }), "Move /out/x to /out/b"),
        ("copy_file", json!({ "source": "/out/x", "destination": "/out/b" }), "Copy /out/x to /out/b"),
    ] {
        let assessed = toolset.assess(tool, &input, CallOptions::default()).await.unwrap();
        let request = assessed.request.unwrap_or_else(|| panic!("{tool}: {:?}", assessed.reason));
        assert_eq!((request.tool.as_str(), request.description.as_str()), (tool, expected));
        assert_eq!(request.input, input);
    }
}
