//! Sessions that ended, and what is still seen of them.

use super::*;

async fn seen(toolset: &Toolset) -> (Value, Vec<Part>) {
    let shown = call(toolset, "shell_screen", json!({ "id": "s", "image": true })).await;
    (shown.data.unwrap(), shown.parts)
}

/// What an ended session showed kept megabytes of cells, for each of the fifty that are remembered.
#[tokio::test]
async fn the_screen_of_an_ended_session_is_seen_as_it_was_and_has_no_other_size() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    assert!(!call(&toolset, "shell_resize", json!({ "id": "s", "columns": 100, "rows": 30 })).await.is_error);
    start(&toolset, "printf '\\033]2;name\\007\\033[31mred\\033[m 全\\n\\033[?25l'; until [ -e go ]; do sleep 0.01; done; kill -9 $$").await;
    // The last that it prints.
    until_shown(&toolset, "cursor hidden").await;
    // The first look is at what changed.
    screen(&toolset).await;
    let before = seen(&toolset).await;
    let session = toolset.sessions().find("s").unwrap();
    let shown = session.terminal.as_ref().unwrap().screen();
    assert!(!shown.lock().is_folded());
    fs::write(world.directory.path().join("go"), "").unwrap();
    session.process.over().await;
    while !shown.lock().is_folded() {
        tokio::task::yield_now().await;
    }
    let after = seen(&toolset).await;
    assert_eq!(after.0, before.0);
    assert!(after.1 == before.1);
    assert!(shown.lock().is_folded());
    let viewed = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert!(viewed.text.ends_with("--- SESSION TERMINATED (ended by SIGKILL) ---"), "{}", viewed.text);
    assert_eq!(viewed.data.unwrap()["signal"], json!("SIGKILL"));
    let refused = call(&toolset, "shell_resize", json!({ "id": "s", "columns": 80, "rows": 24 })).await;
    assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"));
    assert_eq!(refused.text, "Error: Session 's' has ended; its screen keeps its size.");
    assert_eq!(seen(&toolset).await.0["columns"], json!(100));
}

/// A look that found no new output said that and nothing of the reason.
#[tokio::test]
async fn a_look_tells_once_why_a_session_ended_also_where_nothing_was_printed() {
    let lost = "--- SESSION TERMINATED ---\n\n(The command ended the program that watches over its processes. Those \
                that could be found were ended; others may still run.)";
    for (end, told, code, signal) in [
        (
            "exec sh -c 'until [ -e go ]; do sleep 0.01; done; exit 4'",
            "--- SESSION TERMINATED (exit code 4) ---",
            Some(4),
            None,
        ),
        (
            "exec sh -c 'until [ -e go ]; do sleep 0.01; done; exit 0'",
            "--- SESSION TERMINATED (no new output) ---",
            Some(0),
            None,
        ),
        (
            "exec sh -c 'until [ -e go ]; do sleep 0.01; done; kill -9 $$'",
            "--- SESSION TERMINATED (ended by SIGKILL) ---",
            None,
            Some("SIGKILL"),
        ),
        ("exec sh -c 'until [ -e go ]; do sleep 0.01; done; kill -9 $PPID; sleep 300'", lost, None, None),
    ] {
        let world = World::new();
        let toolset = terminals(&world);
        start(&toolset, end).await;
        fs::write(world.directory.path().join("go"), "").unwrap();
        toolset.sessions().find("s").unwrap().process.over().await;
        let viewed = call(&toolset, "shell_view", json!({ "id": "s" })).await;
        assert_eq!(viewed.text, told, "{end}");
        let data = viewed.data.unwrap();
        assert_eq!((&data["exitCode"], &data["signal"]), (&json!(code), &json!(signal)), "{end}");
        let again = call(&toolset, "shell_view", json!({ "id": "s" })).await;
        assert_eq!(again.text, "--- SESSION TERMINATED (no new output) ---", "{end}");
    }
}

/// A model that named a session which had ended, or none, was told no more than that.
#[tokio::test]
async fn whoever_names_a_session_that_is_not_open_is_told_which_are() {
    let world = World::new();
    let toolset = terminals(&world);
    let looked = call(&toolset, "shell_view", json!({ "id": "x" })).await;
    assert_eq!(
        looked.text,
        "Error: No session found with ID 'x'. None is open: `shell_exec` opens one. `shell_list` lists them."
    );
    exec(&toolset, "exit 3").await;
    for id in ["a", "b"] {
        call(&toolset, "shell_exec", json!({ "id": id, "command": "true" })).await;
    }
    let none = ["No session found", "No active non-blocking session found", "No active session found"];
    for (tool, input, none) in [
        ("shell_view", json!({}), none[0]),
        ("shell_screen", json!({}), none[0]),
        ("shell_resize", json!({ "columns": 80, "rows": 24 }), none[0]),
        ("shell_write_to_process", json!({ "command": "y" }), none[1]),
        ("shell_kill_process", json!({}), none[2]),
    ] {
        let mut input = input;
        input["id"] = json!("x");
        let refused = call(&toolset, tool, input).await;
        assert_eq!(refused.text, format!("Error: {none} with ID 'x'. Open: b, a. `shell_list` lists them."), "{tool}");
    }
    for (tool, input, none) in [
        ("shell_write_to_process", json!({ "id": "s", "command": "y" }), none[1]),
        ("shell_kill_process", json!({ "id": "s" }), none[2]),
    ] {
        let refused = call(&toolset, tool, input).await;
        let ended = "It has ended: exited(3). `shell_view` shows what it printed last; `shell_exec` with this id opens a new one.";
        assert_eq!(refused.text, format!("Error: {none} with ID 's'. {ended}"), "{tool}");
    }
}

/// The end was told by the next look alone, which a model that had its answer did not take.
#[tokio::test]
async fn a_write_that_ends_the_session_tells_it() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "exec sh -c 'read line; echo got $line; exit 3'").await;
    let written = write(&toolset, "it").await;
    assert_eq!(written.text, "it\ngot it\n--- SESSION TERMINATED (exit code 3) ---");
    let data = written.data.unwrap();
    assert_eq!((&data["running"], &data["open"], &data["exitCode"]), (&json!(false), &json!(false), &json!(3)));
    let viewed = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert_eq!(viewed.text, "--- SESSION TERMINATED (no new output) ---");
}

/// `running` was said of the command by one tool, and of the session by another: who waited for its end with looks waited for ever.
#[tokio::test]
async fn every_tool_tells_whether_a_command_runs_and_whether_the_session_is_open() {
    let world = World::new();
    let toolset = terminals(&world);
    let at_prompt = (json!(false), json!(true));
    let busy = (json!(true), json!(true));
    let over = (json!(false), json!(false));
    let is = |told: ToolResult| {
        let data = told.data.unwrap();
        (data["running"].clone(), data["open"].clone())
    };
    let view = || call(&toolset, "shell_view", json!({ "id": "s" }));
    assert_eq!(is(exec(&toolset, "true").await), at_prompt);
    assert_eq!(is(view().await), at_prompt);
    let started = call(&toolset, "shell_exec", json!({ "id": "s", "command": "cat", "block": false })).await;
    assert_eq!(is(started), busy);
    assert_eq!(is(write(&toolset, "line").await), busy);
    assert_eq!(is(view().await), busy);
    assert_eq!(is(press(&toolset, &["ctrl-d"]).await), at_prompt);
    let left = call(&toolset, "shell_exec", json!({ "id": "s", "command": "sleep 300", "timeout": 0 })).await;
    assert_eq!(is(left), busy);
    assert_eq!(is(press(&toolset, &["ctrl-c"]).await), at_prompt);
    assert_eq!(is(exec(&toolset, "exit 3").await), over);
    assert_eq!(is(view().await), over);
    exec(&toolset, "true").await;
    assert_eq!(is(call(&toolset, "shell_kill_process", json!({ "id": "s" })).await), over);
}
