//! Sessions that use more than they may.

use serde_json::json;

use super::*;
use crate::backend::CommandLimits;

/// A session that was ended at a ceiling only said that it had ended.
#[tokio::test]
async fn the_ceiling_at_which_a_session_was_ended_is_named() {
    let most = CommandLimits { processes: Some(20), ..CommandLimits::default() };
    let world = World::with_limits(most);
    let toolset = terminals(&world);
    assert_eq!(exec(&toolset, "echo open").await.text, "open");
    let many = "for i in {1..40}; do sleep 300 & done >/dev/null 2>&1; wait";
    let ended = exec(&toolset, many).await;
    let why = "--- SESSION TERMINATED (it ran more processes at once than it may) ---";
    assert!(ended.text.ends_with(why), "{}", ended.text);
    let data = ended.data.unwrap();
    assert_eq!(
        (&data["ceiling"], &data["running"], &data["exitCode"]),
        (&json!("processes"), &json!(false), &json!(null))
    );
    let later = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert!(later.text.ends_with(why), "{}", later.text);
    assert_eq!(later.data.unwrap()["ceiling"], json!("processes"));
    let anew = exec(&toolset, "echo anew").await;
    assert_eq!((anew.text.as_str(), &anew.data.unwrap()["ceiling"]), ("anew", &json!(null)));
}

#[tokio::test]
async fn a_program_that_used_up_its_processor_time_is_told_from_one_that_failed_and_its_session_goes_on() {
    let most = CommandLimits { cpu_time: Some(Duration::from_secs(1)), ..CommandLimits::default() };
    let world = World::with_limits(most);
    let toolset = terminals(&world);
    let ended = exec(&toolset, "sh -c 'while :; do :; done'").await;
    let told = "Command ended with exit code 152: as after SIGXCPU: more processor time than it may use.";
    assert!(ended.text.starts_with(told), "{}", ended.text);
    let short = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let all = exec(&toolset, &format!("while :; do sh -c '{short}'; done")).await;
    let why = "--- SESSION TERMINATED (its processes used more processor time than they may) ---";
    assert!(all.text.ends_with(why), "{}", all.text);
}
