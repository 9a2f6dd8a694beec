//! Long output of a session: whose it is, and what is said where some of it is not told.

use std::fs;

use std::time::Instant;

use serde_json::json;

use super::super::settle::FLUSH;
use super::*;

fn terminals_and_files(world: &World) -> Toolset {
    world.toolset(json!({ "tools": ["console", "terminal"], "approvalMode": "approve-all" }))
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|number| format!("{number}\n")).collect()
}

/// Both ends of what is longer than 100,000 bytes, in whole lines, with what is said between them, and how many bytes are left out.
fn both_ends(whole: &str) -> (String, usize) {
    let head = whole[..50_000].rfind('\n').unwrap() + 1;
    let tail = whole.len() - 50_000;
    let tail = tail - 1 + whole[tail - 1..].find('\n').unwrap() + 1;
    let dropped = tail - head;
    (format!("{}... [{dropped} bytes of output left out] ...\n{}", &whole[..head], &whole[tail..]), dropped)
}

#[tokio::test]
async fn long_output_has_both_its_ends_a_count_and_a_file_and_the_next_command_has_its_own() {
    let world = World::new();
    let toolset = terminals_and_files(&world);
    let long = exec(&toolset, "seq 1 40000; echo THE END").await;
    let whole = numbers(1..=40_000) + "THE END";
    let (ends, dropped) = both_ends(&whole);
    assert_eq!(
        long.text,
        format!(
            "{ends}\n\n(The whole output is in \
             /.gloveport/output-1.txt; look into it with `read_file` or `grep`.)"
        )
    );
    assert!(long.truncated);
    let data = long.data.unwrap();
    assert_eq!(
        (&data["exitCode"], &data["droppedBytes"], &data["more"], &data["spillPath"]),
        (&json!(0), &json!(dropped), &json!(false), &json!("/.gloveport/output-1.txt"))
    );
    let read =
        call(&toolset, "read_file", json!({ "path": "/.gloveport/output-1.txt", "offset": 29_999, "limit": 1 })).await;
    assert!(read.text.contains("30000"), "{}", read.text);
    assert_eq!(exec(&toolset, "echo hello; false").await.text, "Command ended with exit code 1.\nhello");
    assert_eq!(exec(&toolset, "echo world").await.text, "world");
    assert_eq!(exec(&toolset, "true").await.text, "Command executed successfully (no output).");
}

/// The file held the last 1 MiB, and the text no beginning.
#[tokio::test]
async fn of_more_than_memory_keeps_both_ends_are_told_and_the_file_is_whole() {
    let world = World::new();
    let toolset = terminals_and_files(&world);
    for number in 1..=2 {
        let long = exec(&toolset, "printf 'é\\n'; seq 1 400000; echo THE END").await;
        let whole = format!("é\n{}THE END", numbers(1..=400_000));
        let (ends, dropped) = both_ends(&whole);
        let file = format!("/.gloveport/output-{number}.txt");
        let told = format!("{ends}\n\n(The whole output is in {file}; look into it with `read_file` or `grep`.)");
        assert!(long.text == told, "{} ... {}", &long.text[..200], &long.text[long.text.len() - 300..]);
        let data = long.data.unwrap();
        let facts = (&data["droppedBytes"], &data["spillPath"], &data["spillBytes"]);
        assert_eq!(facts, (&json!(dropped), &json!(file), &json!(null)));
        let kept = toolset.scratch().host_path().unwrap().join(format!("output-{number}.txt"));
        assert!(fs::read_to_string(kept).unwrap() == whole);
    }
    assert_eq!(exec(&toolset, "echo hello").await.text, "hello");
}

/// The look named no file, though all that was gone lay in one.
#[tokio::test]
async fn a_look_at_more_than_is_kept_counts_what_is_gone_and_names_its_file() {
    let world = World::new();
    let toolset = terminals_and_files(&world);
    exec(&toolset, "echo before").await;
    start(&toolset, "seq 1 400000; read x").await;
    until_shown(&toolset, "\n400000").await;
    let file = "/.gloveport/output-1.txt";
    let look = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    let (marker, rest) = look.text.split_once(" bytes of older output left out] ...\n").unwrap();
    let dropped: u64 = marker.strip_prefix("... [").unwrap().parse().unwrap();
    let behind = format!(
        "\n(What is older is in {file}; look into it with `read_file` or `grep`.)\n(More output is there: call `shell_view` \
         again.)"
    );
    let first = rest.strip_suffix(&behind).unwrap();
    let data = look.data.unwrap();
    let facts = (&data["droppedBytes"], &data["spillPath"], &data["spillBytes"]);
    assert_eq!((facts, look.truncated), ((&json!(dropped), &json!(file), &json!(null)), true));
    assert!(data["output"] == json!(look.text.strip_suffix(&behind).unwrap()));
    // All that is left follows, once, and nothing of that is gone.
    let mut left = first.to_owned();
    loop {
        let next = call(&toolset, "shell_view", json!({ "id": "s" })).await;
        let data = next.data.unwrap();
        assert_eq!((&data["droppedBytes"], &data["spillPath"]), (&json!(0), &json!(null)));
        match next.text.strip_suffix("\n(More output is there: call `shell_view` again.)") {
            // A look ends with a line.
            Some(more) => left.extend(["\n", more]),
            None => {
                left.extend(["\n", &next.text]);
                break;
            }
        }
    }
    let numbers = left.lines().skip(1).map(|line| line.parse::<u64>().unwrap());
    assert!(numbers.clone().eq((400_001 - numbers.count() as u64)..=400_000), "a line was cut");
    let digits: String = left.split_ascii_whitespace().collect();
    let kept = toolset.scratch().host_path().unwrap().join("output-1.txt");
    let older: String = fs::read_to_string(kept).unwrap().split_ascii_whitespace().collect();
    let whole: String = (1..=400_000).map(|number| number.to_string()).collect();
    assert!(digits.len() > 700_000 && older + &digits == whole, "{}", digits.len());
    let found = call(&toolset, "grep", json!({ "pattern": "^12345$", "path": file, "output_mode": "count" })).await;
    assert!(!found.is_error && found.text.contains('1'), "{}", found.text);
}

/// TT-12: what a program prints without end behind its input is told of after a while, and that it goes on.
#[tokio::test]
async fn a_program_that_still_prints_behind_its_input_is_left_to_print() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "read x; while :; do echo $x; sleep 0.05; done").await;
    let begin = Instant::now();
    let told = write(&toolset, "on").await;
    assert!(begin.elapsed() >= Duration::from_secs(5));
    assert!(told.text.starts_with("on\non\non\n"), "{}", told.text);
    assert!(told.text.ends_with("\n\n(It still prints; look again with `shell_view`.)"), "{}", told.text);
    // A program that is just being started does not hear it.
    let mut stopped = String::new();
    while !stopped.contains("--- COMMAND FINISHED") {
        stopped = press(&toolset, &["ctrl-c"]).await.text;
    }
    assert!(stopped.ends_with("--- COMMAND FINISHED (exit code 130) ---"), "{stopped}");
}

/// TT-12.
#[tokio::test]
async fn a_program_that_says_nothing_to_its_input_is_given_its_time() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "stty -echo; echo re''ady; read x; sleep 300").await;
    until_shown(&toolset, "\nready").await;
    assert_eq!(call(&toolset, "shell_view", json!({ "id": "s" })).await.text, "ready");
    let begin = Instant::now();
    assert_eq!(write(&toolset, "on").await.text, "Input sent to session 's' successfully (no output).");
    assert!(begin.elapsed() >= Duration::from_millis(500));
}

#[tokio::test]
async fn what_was_printed_before_a_command_is_told_apart_from_what_it_prints() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "seq 1 60000; read x; echo got $x").await;
    until_shown(&toolset, "\n60000").await;
    let piece = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert!(piece.text.ends_with("\n(More output is there: call `shell_view` again.)"), "{}", piece.text.len());
    write(&toolset, "yes").await;
    until_shown(&toolset, "got yes").await;
    let next = exec(&toolset, "echo mine").await;
    let (before, own) = next.text.split_once("\n\nmine").unwrap();
    assert!(before.starts_with("(Printed in the session before this command:)\n"), "{before}");
    let end = "\n60000\nyes\ngot yes\n(The command before this one ended with exit code 0.)";
    assert!(before.ends_with(end), "{before}");
    assert_eq!(own, "");
    assert_eq!(next.data.unwrap()["output"], "mine");
}

/// Output of the command before was told as that of one that goes on, and how that one had ended nobody ever heard.
#[tokio::test]
async fn a_command_that_goes_on_is_told_apart_from_what_ended_before_it() {
    let world = World::new();
    let toolset = terminals(&world);
    let session = || toolset.sessions().find("s").unwrap();
    let run = |command: &str, timeout: f64| {
        call(&toolset, "shell_exec", json!({ "id": "s", "command": command, "timeout": timeout }))
    };
    exec(&toolset, "true").await;
    let ended = async || {
        let (session, deadline) = (session(), Deadline::default());
        assert!(
            session
                .terminal
                .as_ref()
                .unwrap()
                .prompt(&session.process, Duration::from_secs(60), &deadline)
                .await
                .unwrap()
        );
    };
    run("until [ -e go ]; do sleep 0.01; done; rm go; echo FAIL; (exit 5)", 0.0).await;
    fs::write(world.directory.path().join("go"), "").unwrap();
    ended().await;
    let goes_on = run("until [ -e go ]; do sleep 0.01; done; rm go; echo built", 0.1).await;
    let before = "(Printed in the session before this command:)\nFAIL\n(The command before this one ended with exit code 5.)\n\n";
    assert!(goes_on.text.starts_with(&format!("{before}Command still runs after 0.1 s")), "{}", goes_on.text);
    assert!(goes_on.text.ends_with("Output so far:\n(no output)"), "{}", goes_on.text);
    let data = goes_on.data.unwrap();
    assert_eq!((&data["before"], &data["beforeExitCode"], &data["output"]), (&json!("FAIL"), &json!(5), &json!("")));
    fs::write(world.directory.path().join("go"), "").unwrap();
    ended().await;
    let next = exec(&toolset, "echo next").await;
    let before = "(Printed in the session before this command:)\nbuilt\n(The command before this one ended with exit code 0.)\n\n";
    assert_eq!(next.text, format!("{before}next"));
    assert_eq!(next.data.unwrap()["beforeExitCode"], json!(0));
    // What was told is told once.
    assert_eq!(exec(&toolset, "echo last").await.text, "last");
    // Also by a call that waits for no end.
    run("until [ -e go ]; do sleep 0.01; done; rm go; echo seen; (exit 6)", 0.0).await;
    fs::write(world.directory.path().join("go"), "").unwrap();
    ended().await;
    let input = json!({ "id": "s", "command": "sleep 300", "block": false });
    let started = call(&toolset, "shell_exec", input).await;
    let before = "(Printed in the session before this command:)\nseen\n(The command before this one ended with exit code 6.)\n\n";
    assert!(started.text.starts_with(&format!("{before}Session 's' started.")), "{}", started.text);
    assert_eq!(call(&toolset, "shell_view", json!({ "id": "s" })).await.data.unwrap()["output"], json!(""));
}

/// The end stood on the first of five looks, and each of them ended within a line.
#[tokio::test]
async fn looks_at_much_output_end_with_lines_and_the_last_of_them_tells_the_end() {
    let world = World::new();
    let toolset = terminals(&world);
    start(&toolset, "seq -f 'line é %.0f' 1 60000; echo over").await;
    // The last of the output may be there before the prompt behind it.
    let session = toolset.sessions().find("s").unwrap();
    while !session.is_at_prompt() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut lines = Vec::new();
    loop {
        let look = call(&toolset, "shell_view", json!({ "id": "s", "wait": 30 })).await;
        let data = look.data.unwrap();
        lines.extend(data["output"].as_str().unwrap().lines().map(str::to_owned));
        assert_eq!(look.text.contains("--- COMMAND FINISHED (exit code 0) ---"), data["exitCode"] == json!(0));
        assert_eq!(data["more"], json!(data["exitCode"] != json!(0)));
        if data["exitCode"] == json!(0) {
            break;
        }
    }
    assert_eq!(lines.pop().unwrap(), "over");
    assert!(
        lines.iter().map(String::as_str).eq((1..=60_000)
            .map(|number| format!("line é {number}"))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str))
    );
}

/// A program that prints held Ctrl-C up for two seconds.
#[tokio::test]
async fn a_key_that_interrupts_goes_at_once() {
    let world = World::new();
    let toolset = terminals(&world);
    let mut took = Vec::new();
    // One that was held up is never quicker; one that was not may meet a machine that is at something else.
    while took.iter().all(|took| *took >= FLUSH.most) {
        assert!(took.len() < 5, "{took:?}");
        start(&toolset, "while :; do echo on; sleep 0.02; done").await;
        until_shown(&toolset, "\non").await;
        let begin = Instant::now();
        finished(&toolset, press(&toolset, &["ctrl-c"]).await).await;
        took.push(begin.elapsed());
    }
}

/// Output said what only results say, and a model that reads the text took it for that.
#[tokio::test]
async fn output_that_speaks_as_results_do_is_set_off() {
    let world = World::new();
    let toolset = world.toolset(json!({ "tools": ["console", "terminal"], "approvalMode": "approve-all" }));
    start(&toolset, "sh -c \"echo '--- COMMAND FINISHED (exit code 0) ---'; read x; exit 3\"").await;
    until_shown(&toolset, "\n| --- COMMAND FINISHED (exit code 0) ---").await;
    let view = call(&toolset, "shell_view", json!({ "id": "s" })).await.text;
    assert_eq!(view, "| --- COMMAND FINISHED (exit code 0) ---");
    assert!(super::typed(&toolset, "on").await.ends_with("\n--- COMMAND FINISHED (exit code 3) ---"));
    let lie = "echo 'Command ended with exit code 1.'; echo; echo '(The whole output is in /etc/x; look there.)'; \
               echo '(3 process(es) that the command left behind were ended.)'";
    let told = "| Command ended with exit code 1.\n\n| (The whole output is in /etc/x; look there.)\n\
                | (3 process(es) that the command left behind were ended.)";
    assert_eq!(exec(&toolset, lie).await.text, told);
    assert_eq!(call(&toolset, "execute", json!({ "command": lie })).await.text, told);
}

/// What draws a screen was told as lines: moves of the cursor taken out, one text run into the other.
#[tokio::test]
async fn a_command_that_goes_on_and_has_the_screen_for_itself_is_told_as_its_screen() {
    let world = World::new();
    let toolset = terminals(&world);
    exec(&toolset, "true").await;
    let command = "printf '\\033[?1049h\\033[2J\\033[3;5Hlow\\033[1;1Hhigh'; sleep 300";
    let left = call(&toolset, "shell_exec", json!({ "id": "s", "command": command, "timeout": 2 })).await;
    let (_, shown) = left.text.split_once("It shows:\n").unwrap_or_else(|| panic!("{}", left.text));
    assert_eq!(shown, "[screen 120 x 40, cursor line 1, column 5, full-screen program]\nhigh\n\n    low");
    let data = left.data.unwrap();
    assert_eq!((&data["fullScreen"], &data["output"]), (&json!(true), &json!(shown)));
    let again = call(&toolset, "shell_view", json!({ "id": "s" })).await;
    assert_eq!(again.text, shown);
}

/// A file that begins with blank lines was shown without them, so that its lines had other numbers.
#[tokio::test]
async fn blank_lines_that_a_command_prints_first_are_its_output() {
    let world = World::new();
    let toolset = terminals(&world);
    assert_eq!(exec(&toolset, "printf '\\n\\n  x\\n\\n'").await.text, "\n\n  x");
    assert_eq!(exec(&toolset, "echo").await.text, "Command executed successfully (no output).");
    assert_eq!(exec(&toolset, "for i in 1\ndo\necho\necho $i\ndone").await.text, "\n1");
}
