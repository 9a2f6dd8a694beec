//! Programs that read nothing of what is typed.

use super::*;
use crate::error::ErrorKind;

/// It held the call, and each call behind it, for all of their time; and what was refused in the end counted as typed.
#[tokio::test]
async fn what_is_typed_behind_input_that_nobody_reads_is_refused_and_counts_as_never_typed() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "stty raw -echo; echo re''ady; while ! [ -e go ]; do sleep 0.05; done; head -c 20000 | wc -c")
        .await;
    until_shown(&toolset, "ready").await;
    let typed = |enter: bool| json!({ "id": "s", "command": "x".repeat(20_000), "enter": enter });
    assert!(!call(&toolset, "shell_write_to_process", typed(false)).await.is_error);
    let session = toolset.sessions().find("s").unwrap();
    let terminal = session.terminal.as_ref().unwrap();
    let line = terminal.open_line();
    let keys = json!({ "id": "s", "keys": ["ctrl-c"] });
    for input in [typed(true), keys] {
        let refused = call(&toolset, "shell_write_to_process", input).await;
        assert_eq!(refused.code.as_deref(), Some("BUSY"), "{}", refused.text);
        assert!(
            refused.text.contains("does not read") && refused.text.contains("shell_kill_process"),
            "{}",
            refused.text
        );
        assert!(terminal.open_line() == line);
    }
    // Whoever types by the session itself waits for nobody.
    let process = &session.process;
    let soon = Deadline::default().within(Duration::from_millis(20));
    assert_eq!(process.reads_on(&soon).await.unwrap_err().kind(), ErrorKind::Timeout);
    fs::write(world.directory.path().join("go"), "").unwrap();
    process.reads_on(&Deadline::default()).await.unwrap();
    until_shown(&toolset, "20000").await;
}
