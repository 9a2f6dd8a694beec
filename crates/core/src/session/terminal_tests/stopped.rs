//! Calls that are aborted, and what becomes of their commands.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::json;

use super::*;
use crate::cancel::CancelToken;
use crate::error::Error;

/// Bash went on with the second line of a paste when the first was ended, and the model was told that its command had ended.
#[tokio::test]
async fn a_command_of_several_lines_ends_as_one() {
    let world = World::new();
    let toolset = terminals(&world);
    let lines = "echo re''ady; sleep 300\ntouch second\nsleep 300\ntouch third";
    let (error, _) = aborted(&toolset, lines).await;
    let text = error.details().unwrap()["partial"]["text"].as_str().unwrap().replace("^C^C", "^C");
    assert!(text.ends_with("session 's' is open. Output so far:\nready\n^C"), "{text}");
    assert_eq!(exec(&toolset, "clear; ls").await.text, "Command executed successfully (no output).");
    start(&toolset, lines).await;
    until_shown(&toolset, "\nready").await;
    let ended = finished(&toolset, press(&toolset, &["ctrl-c"]).await).await;
    assert!(ended.ends_with("--- COMMAND FINISHED (exit code 130) ---"), "{ended}");
    assert_eq!(exec(&toolset, "clear; ls").await.text, "Command executed successfully (no output).");
}

/// Aborts a call of `shell_exec` when its command has printed `ready`.
async fn aborted(toolset: &Toolset, command: &str) -> (Error, Duration) {
    let cancel = CancelToken::new();
    let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let runs = toolset.call("shell_exec", json!({ "id": "s", "command": command, "timeout": 300 }), options);
    let stops = async {
        while toolset.sessions().find("s").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        until_shown(toolset, "\nready").await;
        cancel.cancel();
        Instant::now()
    };
    let (ran, stopped_at) = tokio::join!(runs, stops);
    (ran.unwrap_err(), stopped_at.elapsed())
}

/// An abort left the command running in its session, and said nothing of it.
#[tokio::test]
async fn an_abort_ends_the_command_and_says_what_became_of_its_session() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "X=kept").await;
    let (error, _) = aborted(&toolset, "echo re''ady; sh -c 'echo $$ >pid; exec sleep 300'").await;
    let partial = error.details().unwrap()["partial"].clone();
    assert_eq!(error.kind().code(), "ABORTED");
    // On a busy machine Ctrl-C is pressed again.
    assert_eq!(
        partial["text"].as_str().unwrap().replace("^C^C", "^C"),
        "The call was aborted: the command was ended with Ctrl-C, and session 's' is open. Output so far:\nready\n^C"
    );
    assert_eq!((&partial["data"]["running"], &partial["data"]["sessionEnded"]), (&json!(false), &json!(false)));
    assert_eq!(exec(&toolset, "clear; echo $X").await.text, "kept");
    // One that Ctrl-C does not end takes its session with it.
    let (error, took) = aborted(&toolset, "(trap '' INT; echo re''ady; while :; do sleep 300; done)").await;
    let partial = error.details().unwrap()["partial"].clone();
    assert!(partial["text"].as_str().unwrap().contains("session 's' was ended with all that ran in it"), "{partial}");
    assert_eq!(partial["data"]["sessionEnded"], json!(true));
    assert!(toolset.sessions().find("s").unwrap().process.ended().is_some());
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(exec(&toolset, "echo $X.").await.text, ".");
}

/// Programs found half of the fields at an abort, and what was printed before counted as the command's.
#[tokio::test]
async fn an_abort_tells_the_fields_that_every_command_tells_and_what_was_printed_before() {
    let world = World::new();
    let toolset = terminals(&world);
    let told = exec(&toolset, "( (until [ -e go ]; do :; done; echo ear''ly) & )").await.data.unwrap();
    fs::write(world.directory.path().join("go"), "").unwrap();
    until_shown(&toolset, "early").await;
    let (error, _) = aborted(&toolset, "echo re''ady; sleep 300").await;
    let partial = error.details().unwrap()["partial"].clone();
    let fields = |data: &Value| data.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let mut expected = fields(&told);
    expected.insert("sessionEnded".to_owned());
    assert_eq!(fields(&partial["data"]), expected);
    assert!(partial["data"]["before"].as_str().unwrap().contains("early"), "{partial}");
    assert_eq!(partial["data"]["output"].as_str().unwrap().replace("^C^C", "^C"), "ready\n^C");
    let text = partial["text"].as_str().unwrap();
    assert!(text.starts_with("(Printed in the session before this command:)\n"), "{text}");
}

/// A call whose own time was over left its command behind in the same silence.
#[tokio::test]
async fn a_command_that_outlives_the_time_of_its_call_goes_on_in_its_session() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["terminal"], "limits": { "callTimeout": 2_000 } }));
    exec(&toolset, "true").await;
    let left = exec(&toolset, "echo begin; sleep 300").await;
    let (seconds, _) = left.text.strip_prefix("Command still runs after ").unwrap().split_once(' ').unwrap();
    let seconds: f64 = seconds.parse().unwrap();
    assert!((1.0..60.0).contains(&seconds), "{}", left.text);
}
