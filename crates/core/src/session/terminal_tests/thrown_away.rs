//! Lines that were typed while a command ran which did not read them.

use super::*;

const NOTE: &str = "(What ran did not read what was typed while it ran";

/// It was told as if it had run, with the exit code of the command that ran instead, once, twice, or before the next command.
#[tokio::test]
async fn a_line_that_nobody_read_is_told_not_to_have_run_and_is_no_output() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "until_there() { until [ -e \"$1\" ]; do sleep 0.01; done; }").await;
    for (round, typed) in ["touch made", "touch made\ntouch made", "echo one; touch made"].into_iter().enumerate() {
        // Seen by a look.
        start(&toolset, &format!("until_there go-look-{round}")).await;
        let told = write(&toolset, typed).await;
        std::fs::write(world.directory.path().join(format!("go-look-{round}")), "").unwrap();
        let told = finished(&toolset, told).await;
        let (before, note) = told.split_once(NOTE).unwrap_or_else(|| panic!("{typed:?}: {told}"));
        assert!(note.contains(&typed.replace('\n', "\\n")), "{typed:?}: {note}");
        let echoes = before.matches("touch made").count();
        assert_eq!(echoes, typed.matches("touch made").count(), "each is echoed once, where it was typed: {told}");
        // Seen by the next command.
        start(&toolset, &format!("until_there go-exec-{round}")).await;
        write(&toolset, typed).await;
        std::fs::write(world.directory.path().join(format!("go-exec-{round}")), "").unwrap();
        while call(&toolset, "shell_list", json!({})).await.data.unwrap()[0]["running"] == json!(true) {
            tokio::task::yield_now().await;
        }
        let next = exec(&toolset, "echo next; ls made").await;
        assert!(next.text.starts_with(NOTE), "{typed:?}: {}", next.text);
        assert_eq!(next.data.as_ref().unwrap()["thrownAway"], json!(typed));
        assert!(!next.data.as_ref().unwrap()["before"].as_str().unwrap().contains("touch"), "{:?}", next.data);
        assert!(next.text.contains("No such file"), "{typed:?}: {}", next.text);
        // Told once.
        let after = exec(&toolset, "echo after").await;
        assert_eq!((after.text.as_str(), &after.data.unwrap()["thrownAway"]), ("after", &json!(null)));
    }
}

#[tokio::test]
async fn a_line_that_was_read_is_told_as_ever() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "read a; read b; echo \"[$a$b]\"").await;
    write(&toolset, "one").await;
    let told = write(&toolset, "two").await;
    let told = finished(&toolset, told).await;
    assert!(told.contains("[onetwo]") && !told.contains(NOTE), "{told}");
    // The second of two lines is left.
    start(&toolset, "read a; echo \"[$a]\"").await;
    let told = write(&toolset, "three\nfour").await;
    let told = finished(&toolset, told).await;
    let (before, note) = told.split_once(NOTE).unwrap_or_else(|| panic!("{told}"));
    assert!(before.contains("[three]") && note.contains(": four)"), "{told}");
}

/// What a look and a write tell of them is in `data` too, and a call that fails leaves them to the next.
#[tokio::test]
async fn programs_are_told_of_thrown_lines_once_by_the_first_call_that_does_not_fail() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "until_there() { until [ -e \"$1\" ]; do sleep 0.01; done; }").await;
    let leave = async |file: &str| {
        start(&toolset, &format!("until_there {file}")).await;
        write(&toolset, "touch made").await;
        std::fs::write(world.directory.path().join(file), "").unwrap();
        while call(&toolset, "shell_list", json!({})).await.data.unwrap()[0]["running"] == json!(true) {
            tokio::task::yield_now().await;
        }
    };
    let told = |result: &ToolResult| (result.data.as_ref().unwrap()["thrownAway"].clone(), result.text.contains(NOTE));
    let (once, nothing) = ((json!("touch made"), true), (json!(null), false));

    leave("look").await;
    assert_eq!(told(&call(&toolset, "shell_view", json!({ "id": "s" })).await), once);
    assert_eq!(told(&call(&toolset, "shell_view", json!({ "id": "s" })).await), nothing);
    leave("write").await;
    assert_eq!(told(&write(&toolset, "true").await), once);
    leave("fail").await;
    let refused = call(&toolset, "shell_exec", json!({ "id": "s", "command": "true", "cwd": "/" })).await;
    assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"));
    let cut = call(&toolset, "shell_write_to_process", json!({ "id": "s", "command": "true", "enter": false })).await;
    assert!(cut.is_error, "{}", cut.text);
    let next = exec(&toolset, "true").await;
    assert_eq!(told(&next), once, "{}", next.text);
    assert_eq!(told(&exec(&toolset, "true").await), nothing);
}
