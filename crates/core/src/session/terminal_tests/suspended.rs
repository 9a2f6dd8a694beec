//! Commands that are stopped, and go on.

use super::*;

/// A command that Ctrl-Z stopped was told as one that had ended, with exit code 148.
#[tokio::test]
async fn a_command_that_is_stopped_has_not_ended() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let by_itself = exec(&toolset, "sh -c 'kill -TSTP $$; exit 5'").await;
    assert!(
        by_itself
            .text
            .starts_with("Command was stopped (exit code 148, Ctrl-Z, SIGTSTP): it has not ended; `fg` goes on"),
        "{}",
        by_itself.text
    );
    assert!(by_itself.text.contains("`fg`"), "{}", by_itself.text);
    let data = by_itself.data.unwrap();
    assert_eq!((&data["stopped"], &data["exitCode"]), (&json!(true), &json!(148)));
    let on = exec(&toolset, "fg").await;
    assert!(on.text.starts_with("Command ended with exit code 5."), "{}", on.text);
    assert_eq!(on.data.unwrap()["stopped"], json!(false));
    // What ends with that code by itself has ended.
    let ended = exec(&toolset, "sh -c 'exit 148'").await;
    assert!(ended.text.starts_with("Command ended with exit code 148."), "{}", ended.text);
    // Nobody waited for it.
    start(&toolset, "sh -c 'sleep 0.2; kill -STOP $$'").await;
    let mut looked = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
    while !looked.text.contains("---") {
        looked = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
    }
    assert!(looked.text.contains("--- COMMAND STOPPED (exit code 147"), "{}", looked.text);
    assert_eq!(looked.data.unwrap()["stopped"], json!(true));
}
