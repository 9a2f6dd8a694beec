//! Input for what runs in the background.

use super::*;

/// D56: the session that a timed-out command became had its input closed; and it was another process.
#[tokio::test]
async fn a_command_whose_time_is_over_goes_on_as_the_same_process_with_its_input_open() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    let input = json!({ "command": "echo $$; read line; echo got $line; read line; echo $line", "timeout": 0.3, "on_timeout": "background" });
    let left = call(&toolset, "execute", input).await;
    assert!(!left.is_error);
    assert!(
        left.text.starts_with("Command still runs after 0.3 s and goes on as background shell bg_1."),
        "{}",
        left.text
    );
    let data = left.data.unwrap();
    assert_eq!(data["timedOut"], json!(true));
    let session = toolset.sessions().find("bg_1").unwrap();
    session.process.write(b"a\n", &Deadline::default()).await.unwrap();
    session.process.write("é\n".as_bytes(), &Deadline::default()).await.unwrap();
    // What was shown already does not come again.
    let (rest, ended) = read_to_end(&toolset, "bg_1").await;
    let all = format!("{}{rest}", data["output"].as_str().unwrap());
    assert_eq!((all, ended["exitCode"].as_i64()), (format!("{}\ngot a\né\n", data["pid"]), Some(0)));

    let in_time = call(&toolset, "execute", json!({ "command": "echo done", "on_timeout": "background" })).await;
    assert_eq!(in_time.text, "done");
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let options = CallOptions { cancel, on_output: Some(Arc::new(move |_| stop.cancel())), ..CallOptions::default() };
    let command = json!({ "command": "echo $$; sleep 300", "on_timeout": "background" });
    let error = toolset.call("execute", command, options).await.unwrap_err();
    let process = error.details().unwrap()["partial"]["data"]["output"].as_str().unwrap().to_owned();
    assert!(!is_alive(&process), "an abort ends it all the same");
}

/// A command was ended when its call was over, also one that was to go on then, and told to have had all the time that it had asked for.
#[tokio::test]
async fn a_command_has_no_more_time_than_its_call_and_what_is_told_is_what_it_had() {
    let world = World::new();
    let toolset = world.toolset(json!({ "limits": { "callTimeout": 2_000 } }));
    let ended = call(&toolset, "execute", json!({ "command": "echo out; sleep 300", "timeout": 700 })).await;
    let why = " s, which is all that a call may take here; its processes were ended. Output so far:\nout";
    let seconds = ended.text.strip_prefix("Command timed out after ").and_then(|text| text.strip_suffix(why));
    let seconds: f64 = seconds.unwrap_or_else(|| panic!("{}", ended.text)).parse().unwrap();
    assert!(seconds > 0.0 && seconds < 2.0, "{seconds}");
    assert_eq!(ended.code.as_deref(), Some("TIMEOUT"));
    let left = call(&toolset, "execute", json!({ "command": "echo out; sleep 300", "on_timeout": "background" })).await;
    assert!(
        !left.is_error
            && left.text.contains(" s, which is all that a call may take here, and goes on as background shell bg_1."),
        "{}",
        left.text
    );
    let waited = call(&toolset, "read_output", json!({ "shell_id": "bg_1", "wait": 500 })).await;
    assert_eq!((waited.text.as_str(), waited.is_error), ("[bg_1] running\n(no new output)", false));
}

/// Only programs were told where it is.
#[tokio::test]
async fn a_command_that_goes_on_names_the_file_with_the_output_that_is_left_out() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    let input = json!({ "command": "seq 1 60000; read x", "timeout": 3, "on_timeout": "background" });
    let left = call(&toolset, "execute", input).await;
    let file = left.data.unwrap()["spillPath"].as_str().unwrap().to_owned();
    let named = format!("\n\n(The output so far is in {file}; look into it with `read_file` or `grep`.)");
    assert!(left.text.ends_with(&named), "{}", &left.text[left.text.len() - 300..]);
}

/// TS-31: a background command that asked something could only be ended.
#[tokio::test]
async fn a_background_shell_is_answered_line_by_line_and_its_input_ended() {
    let world = World::new();
    let toolset = world.toolset(json!({ "approvalMode": "approve-all" }));
    let give = async |input: Value| call(&toolset, "shell_input", input).await;
    let command = "read a; read b; echo \"$a|$b\"; cat; echo over";
    call(&toolset, "run_in_background", json!({ "command": command })).await;
    let given = give(json!({ "shell_id": "bg_1", "text": "one" })).await;
    assert_eq!(given.text, "Gave background shell bg_1 its input.");
    assert_eq!(given.data, Some(json!({ "shellId": "bg_1", "bytes": 4, "closed": false, "waits": false })));
    give(json!({ "shell_id": "bg_1", "text": "two\nthree\n" })).await;
    let last = give(json!({ "shell_id": "bg_1", "text": "é", "close_stdin": true })).await;
    assert_eq!(last.text, "Gave background shell bg_1 its input, and ended it.");
    let late = give(json!({ "shell_id": "bg_1", "text": "late" })).await;
    assert!(
        late.is_error && late.text.contains("bg_1 reads no more input") && late.text.contains("`read_output`"),
        "{}",
        late.text
    );
    assert_eq!(read_to_end(&toolset, "bg_1").await.0, "one|two\nthree\né\nover\n");
    assert_eq!(give(json!({ "shell_id": "bg_1", "close_stdin": true })).await.code.as_deref(), Some("INVALID_INPUT"));

    call(&toolset, "run_in_background", json!({ "command": "cat" })).await;
    let ended = give(json!({ "shell_id": "bg_2", "close_stdin": true })).await;
    assert_eq!(ended.text, "Ended the input of background shell bg_2.");
    assert_eq!(read_to_end(&toolset, "bg_2").await.0, "");
    for input in [
        json!({ "shell_id": "bg_9", "text": "x" }),
        json!({ "shell_id": "bg_1" }),
        json!({ "shell_id": "bg_1", "text": "a\0b" }),
        json!({ "shell_id": "bg_1", "text": "x".repeat(64 << 10) }),
    ] {
        assert_eq!(give(input).await.code.as_deref(), Some("INVALID_INPUT"));
    }
}

#[tokio::test]
async fn a_command_that_never_reads_holds_no_call_for_ever_and_takes_lines_whole_or_not() {
    let world = World::new();
    let toolset = world.toolset(json!({ "approvalMode": "approve-all" }));
    let command = "while ! [ -e go ]; do sleep 0.05; done; wc -c";
    call(&toolset, "run_in_background", json!({ "command": command })).await;
    let line = "x".repeat((64 << 10) - 1);
    let give = json!({ "shell_id": "bg_1", "text": line });
    let mut bytes = 0;
    let mut waits = Vec::new();
    let refused = loop {
        let given = call(&toolset, "shell_input", give.clone()).await;
        if given.is_error {
            break given;
        }
        bytes += 64 << 10;
        waits.push(given.data.unwrap()["waits"].as_bool().unwrap());
        let says = given.text.ends_with("It has not read all of it: the rest waits until it does.");
        assert_eq!(Some(&says), waits.last(), "{}", given.text);
    };
    // One piece at most waits beside what the pipe holds, and each call said whether its own does.
    assert_eq!((waits.iter().filter(|waits| **waits).count(), waits.last()), (1, Some(&true)));
    assert_eq!(refused.code.as_deref(), Some("BUSY"), "{}", refused.text);
    fs::write(world.directory.path().join("go"), "").unwrap();
    let ended = call(&toolset, "shell_input", json!({ "shell_id": "bg_1", "close_stdin": true })).await;
    assert!(!ended.is_error, "{}", ended.text);
    assert_eq!(read_to_end(&toolset, "bg_1").await.0.trim(), bytes.to_string());
}

#[tokio::test]
async fn what_a_background_shell_is_given_is_judged_line_by_line_and_as_a_whole() {
    let world = World::new();
    let rules = json!({ "execute": { "default": "allow", "rules": [{ "pattern": "touch *", "action": "deny" }] } });
    let toolset = world.toolset(json!({ "permissions": rules, "approvalMode": "approve-all" }));
    call(&toolset, "run_in_background", json!({ "command": "cat" })).await;
    // A program may take a carriage return for a line end.
    for text in [
        "touch x",
        "yes\ntouch x\n",
        "touch \\\nx",
        "rm -rf /",
        "rm -rf \\\n/",
        "yes\rtouch x",
        "touch x\r\n",
        "a\r\ntouch x\r",
    ] {
        let blocked = call(&toolset, "shell_input", json!({ "shell_id": "bg_1", "text": text })).await;
        assert_eq!(blocked.code.as_deref(), Some("COMMAND_BLOCKED"), "{text}: {}", blocked.text);
    }
    call(&toolset, "shell_input", json!({ "shell_id": "bg_1", "text": "echo typed", "close_stdin": true })).await;
    assert_eq!(read_to_end(&toolset, "bg_1").await.0, "echo typed\n");
}

#[tokio::test]
async fn input_can_be_ended() {
    let world = World::new();
    let toolset = world.toolset(json!({}));
    call(&toolset, "run_in_background", json!({ "command": "cat | wc -c" })).await;
    let session = toolset.sessions().find("bg_1").unwrap();
    session.process.write(&vec![b'x'; 300_000], &Deadline::default()).await.unwrap();
    session.process.close_input(&Deadline::default()).await.unwrap();
    assert_eq!(read_to_end(&toolset, "bg_1").await.0.trim(), "300000");
}

/// Pieces that were typed past `shell_input` made up a line that nobody judged.
#[tokio::test]
async fn nothing_is_typed_into_a_background_shell_but_whole_lines() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["background", "terminal"], "approvalMode": "approve-all" }));
    call(&toolset, "run_in_background", json!({ "command": "cat" })).await;
    let typed = json!({ "id": "bg_1", "command": "r", "enter": false });
    let refused = call(&toolset, "shell_write_to_process", typed).await;
    assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"));
    assert!(refused.text.contains("use `read_output` and `shell_input`"), "{}", refused.text);
    // A shell joins the next line to one that ends so, and each would be judged alone.
    for text in ["cat \\", "cat \\\n", "a\ncat \\\\\\\n"] {
        let refused = call(&toolset, "shell_input", json!({ "shell_id": "bg_1", "text": text })).await;
        assert_eq!(refused.code.as_deref(), Some("INVALID_INPUT"), "{text:?}");
    }
    call(&toolset, "shell_input", json!({ "shell_id": "bg_1", "text": "m \\\n\n" })).await;
    // Behind the end of input nothing comes.
    call(&toolset, "shell_input", json!({ "shell_id": "bg_1", "text": "x\\", "close_stdin": true })).await;
    assert_eq!(read_to_end(&toolset, "bg_1").await.0, "m \\\n\nx\\\n");
}
