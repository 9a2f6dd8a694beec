//! All that a command of a container prints, where memory does not hold it: in a file of this machine that the agent's tools read, and
//! that nothing inside can reach.

use std::sync::Arc;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::backend::{Backend, Call, ExecuteRequest, Spill};
use gloveport_core::tool::ToolResult;
use gloveport_core::toolset::{Application, CallOptions, Toolset};
use serde_json::{Value, json};

use crate::served::spill;
use crate::{Engine, engine};

fn into(folder: &tempfile::TempDir, bytes: usize) -> Option<Spill> {
    spill(folder.path().join("all"), bytes)
}

/// As it is, and as on an engine with a processor that there is no guest for.
fn both_ways(engine: &Engine) -> [DockerBackend; 2] {
    [engine.options().guest, GuestProgram::default()]
        .map(|guest| DockerBackend::new(DockerOptions { guest, ..engine.options() }, None).unwrap())
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|number| format!("{number}\n")).collect()
}

/// What memory did not hold of a container's output was lost for good.
#[tokio::test(flavor = "multi_thread")]
async fn what_memory_does_not_hold_is_whole_in_a_file_with_a_guest_and_without() {
    let engine = engine();
    for backend in both_ways(&engine) {
        let shell = backend.shell().unwrap();
        let [short, long, cut] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let request = |command: &str, spill| ExecuteRequest { spill, ..ExecuteRequest::new(command) };
        let outcome = shell.execute(request("seq 1 100", into(&short, 1 << 30)), &Call::default()).await.unwrap();
        assert_eq!((outcome.truncated, outcome.spill_path), (false, None));
        assert!(!short.path().join("all").exists());

        let command = "seq 1 300000; echo oops >&2; exit 3";
        let outcome = shell.execute(request(command, into(&long, 1 << 30)), &Call::default()).await.unwrap();
        assert_eq!(
            (outcome.truncated, outcome.spill_path.as_deref(), outcome.spill_bytes, outcome.exit_code),
            (true, Some("/all"), None, Some(3))
        );
        let all = std::fs::read_to_string(long.path().join("all")).unwrap();
        // Two pipes: which of them is heard first is open.
        assert_eq!(all.replacen("oops\n", "", 1), numbers(1..=300_000));

        let outcome = shell.execute(request("seq 1 300000", into(&cut, 500_001)), &Call::default()).await.unwrap();
        assert_eq!((outcome.spill_path.as_deref(), outcome.spill_bytes), (Some("/all"), Some(500_001)));
        let part = std::fs::read_to_string(cut.path().join("all")).unwrap();
        assert_eq!(part, numbers(1..=300_000)[..500_001]);
        backend.close().await.unwrap();
    }
}

async fn call(toolset: &Toolset, name: &str, input: Value) -> ToolResult {
    toolset.call(name, input, CallOptions::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_read_what_commands_printed_and_no_command_reaches_it() {
    let engine = engine();
    for backend in both_ways(&engine) {
        let backend: Arc<dyn Backend> = Arc::new(backend);
        let options = json!({ "tools": ["console"], "requireExecuteApproval": false });
        let options = || serde_json::from_value(options.clone()).unwrap();
        let toolset = Toolset::new(Arc::clone(&backend), options(), Application::default()).unwrap();
        // Links where the files would be, if they were in the container.
        let links =
            "mkdir -p /.gloveport && cd /.gloveport && for n in 1 2 3 4; do ln -s /etc/forged output-$n.txt; done";
        let laid = call(&toolset, "execute", json!({ "command": links })).await;
        assert_eq!(laid.text, "(no output)");
        let run = async |first: u32| {
            let last = first + 99_999;
            let printed = call(&toolset, "execute", json!({ "command": format!("seq {first} {last}") })).await;
            let path = printed.data.unwrap()["spillPath"].as_str().unwrap().to_owned();
            let note = format!("(The whole output is in {path}; look into it with `read_file` or `grep`.)");
            assert!(printed.text.ends_with(&note), "{}", printed.text);
            let input = json!({ "path": path, "pattern": ".", "output_mode": "count" });
            let counted = call(&toolset, "grep", input).await;
            assert!(counted.text.contains("100000"), "{}", counted.text);
            let middle = call(&toolset, "read_file", json!({ "path": path, "offset": 50_000, "limit": 1 })).await;
            assert!(middle.text.contains(&(first + 50_000).to_string()), "{}", middle.text);
            path
        };
        let (one, two, three) = tokio::join!(run(1), run(1_000_001), run(2_000_001));
        let mut paths = [one, two, three];
        paths.sort();
        assert_eq!(paths, [1, 2, 3].map(|n| format!("/.gloveport/output-{n}.txt")));
        let inside = call(&toolset, "execute", json!({ "command": "cat /etc/forged /.gloveport/output-1.txt" })).await;
        assert!(inside.text.contains("No such file"), "{}", inside.text);
        let written = call(&toolset, "write_file", json!({ "path": paths[0], "content": "x" })).await;
        assert_eq!(written.code.as_deref(), Some("PATH_NOT_WRITABLE"));
        // Another toolset of the same container sees nothing of it but the links.
        let other = Toolset::new(Arc::clone(&backend), options(), Application::default()).unwrap();
        assert!(call(&other, "read_file", json!({ "path": paths[0] })).await.is_error);
        backend.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_command_of_a_container_has_its_whole_output_in_a_file_too() {
    let engine = engine();
    let backend = engine.backend();
    let folder = tempfile::tempdir().unwrap();
    let request = ExecuteRequest { spill: into(&folder, 1 << 30), ..ExecuteRequest::new("seq 1 300000") };
    let process = backend.shell().unwrap().start(request, &Call::default()).await.unwrap();
    let outcome = process.over().await;
    assert_eq!((outcome.truncated, outcome.spill_path.as_deref(), outcome.spill_bytes), (true, Some("/all"), None));
    assert_eq!(std::fs::read_to_string(folder.path().join("all")).unwrap(), numbers(1..=300_000));
    backend.close().await.unwrap();
}
