//! Where a session's shell is, for the rules: one call leads it, and the next is judged there.

use super::*;

fn code(result: &ToolResult) -> String {
    result.code.clone().unwrap_or_else(|| "OK".to_owned())
}

/// `cd private` in one call and `cat key` in the next were judged each by itself, where the session began.
#[tokio::test]
async fn the_lines_of_a_session_are_judged_where_its_shell_is() {
    let world = World::new();
    for (name, text) in [("private/key", "TOPSECRET"), ("public/key", "open"), ("public/sub/x", "x")] {
        let path = world.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let rules = json!({ "default": "allow", "read": { "default": "allow", "rules": [
        { "pattern": "private/**", "action": "deny" } ] } });
    let toolset = world
        .toolset(json!({ "permissions": rules, "tools": ["terminal", "execute", "run_in_background", "shell_input"] }));
    let run = |id: &'static str, command: &'static str| {
        let toolset = &toolset;
        async move { code(&call(toolset, "shell_exec", json!({ "id": id, "command": command, "timeout": 60 })).await) }
    };
    for (id, command, expected) in [
        ("a", "cd private", "OK"),
        ("a", "cat key", "COMMAND_BLOCKED"),
        ("a", "cat $PWD/key", "COMMAND_BLOCKED"),
        ("a", "cd ../public && cat key", "OK"),
        ("a", "cat key", "OK"),
        ("a", "cat sub/x", "OK"),
        ("a", "cat ../private/key", "COMMAND_BLOCKED"),
        // Where it may be in either, the stricter counts.
        ("b", "cd private; true", "OK"),
        ("b", "cat key", "COMMAND_BLOCKED"),
        // Another session is where it was.
        ("c", "cat public/key", "OK"),
        ("c", "cd public && false", "OK"),
        ("c", "cat key", "OK"),
        ("c", "cd sub", "OK"),
        ("c", "cat ../../private/key", "COMMAND_BLOCKED"),
    ] {
        assert_eq!(run(id, command).await, expected, "{id}: {command}");
    }
    // It was opened there.
    let opened = json!({ "id": "d", "command": "true", "cwd": "private" });
    assert_eq!(code(&call(&toolset, "shell_exec", opened).await), "OK");
    assert_eq!(run("d", "cat key").await, "COMMAND_BLOCKED");
    let there = json!({ "command": "cat key", "cwd": "private" });
    assert_eq!(code(&call(&toolset, "execute", there).await), "COMMAND_BLOCKED");
    // A shell in the background was led there before it was given a line.
    let started = call(&toolset, "run_in_background", json!({ "command": "cd private && exec cat" })).await;
    let id = started.data.unwrap()["shellId"].clone();
    let line = json!({ "shell_id": id, "text": "cat key" });
    let given = call(&toolset, "shell_input", line).await;
    assert_eq!(code(&given), "COMMAND_BLOCKED", "{}", given.text);
    let started = json!({ "command": "exec cat", "cwd": "private" });
    let id = call(&toolset, "run_in_background", started).await.data.unwrap()["shellId"].clone();
    let line = json!({ "shell_id": id, "text": "cat key" });
    let given = call(&toolset, "shell_input", line).await;
    assert_eq!(code(&given), "COMMAND_BLOCKED", "{}", given.text);
    // A name that is used again begins anew.
    assert_eq!(code(&call(&toolset, "shell_kill_process", json!({ "id": "a" })).await), "OK");
    assert_eq!(run("a", "cat public/key").await, "OK");
    toolset.close();
    toolset.sessions().over().await;
}
