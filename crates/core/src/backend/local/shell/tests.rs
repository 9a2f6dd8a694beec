//! Real commands, one clause a test.

use std::cell::Cell;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use self::slow::{
    a_slow_reader_of_output_holds_up_no_abort, a_slow_reader_of_output_holds_up_no_order,
    a_slow_reader_of_output_holds_up_no_timeout,
};
use super::*;
use crate::backend::{OutputChunk, Stream};
use crate::cancel::{CancelToken, Deadline};

mod slow;

/// Makes two tests of each function: the contract is the same with and without a supervisor.
macro_rules! both_ways {
    ($($name:ident,)*) => {
        mod without_supervisor {
            $(#[tokio::test] async fn $name() { super::$name().await; })*
        }
        #[cfg(target_os = "linux")]
        mod with_supervisor {
            $(#[tokio::test] async fn $name() {
                super::IS_SUPERVISED.set(true);
                super::$name().await;
            })*
        }
    };
}

both_ways! {
    returns_output_streams_and_exit_code,
    keeps_the_order_in_which_output_arrives,
    names_the_signal_that_ended_the_shell,
    reads_nothing_unless_input_is_given,
    a_command_that_was_given_its_input_takes_no_more,
    input_that_a_command_does_not_read_is_refused_with_what_was_taken_of_it,
    runs_in_the_opened_directory_whatever_its_name_became,
    says_that_the_working_directory_is_gone,
    gives_variables_by_name_only,
    refuses_what_no_shell_can_take,
    ends_with_the_shell_and_ends_what_it_left,
    ends_a_process_whose_first_thread_has_ended,
    says_nothing_of_processes_where_none_is_left,
    returns_the_output_so_far_when_time_is_over,
    kills_what_ignores_the_request_to_end,
    lets_a_command_clean_up_when_time_is_over,
    asks_each_process_once_to_end,
    an_interactive_shell_that_is_ended_runs_nothing_more,
    finds_a_descendant_that_left_the_group_and_its_mark,
    no_time_is_a_timeout_and_starts_nothing,
    an_abort_ends_the_tree_and_returns_the_output_so_far,
    the_calls_deadline_ends_a_command_without_a_limit_of_its_own,
    ends_the_tree_when_nobody_waits_for_the_result_any_more,
    a_slow_reader_of_output_holds_up_no_timeout,
    a_slow_reader_of_output_holds_up_no_abort,
    a_slow_reader_of_output_holds_up_no_order,
    bounds_output_and_keeps_head_and_tail,
    shows_output_that_is_no_text,
    leaves_nothing_behind_after_many_commands,
}

thread_local! {
    /// A test and all its tasks run on one thread.
    static IS_SUPERVISED: Cell<bool> = const { Cell::new(false) };
}

fn request(command: &str) -> ExecuteRequest {
    ExecuteRequest::new(command)
}

fn within(command: &str, milliseconds: u64) -> ExecuteRequest {
    ExecuteRequest { timeout: Some(Duration::from_millis(milliseconds)), ..request(command) }
}

/// A runner as the test that asks wants it.
fn runner_with(environment: Environment, output_bytes: usize) -> CommandRunner {
    let runner = CommandRunner::new(environment, output_bytes);
    #[cfg(target_os = "linux")]
    if IS_SUPERVISED.get() {
        return runner.with_supervisor(supervised::tests::program());
    }
    runner
}

fn runner() -> CommandRunner {
    runner_with(Environment::of_host(&[]).unwrap(), 100_000)
}

fn open(path: &std::path::Path) -> OwnedFd {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

async fn run_with(request: ExecuteRequest, call: &Call) -> Result<ExecuteOutcome> {
    runner().run(request, open(&std::env::temp_dir()), call).await
}

async fn run(request: ExecuteRequest) -> ExecuteOutcome {
    run_with(request, &Call::default()).await.unwrap()
}

/// What becomes of a command whose time is over when it has printed that many lines: a loaded machine may need longer for
/// them than the command is given, which then is given twice as much. `grace` is what it has to clean up.
async fn when_time_is_over(command: &str, lines: usize, grace: Duration) -> ExecuteOutcome {
    let mut milliseconds = 300;
    loop {
        let mut runner = runner();
        runner.grace = grace;
        let directory = open(&std::env::temp_dir());
        let outcome = runner.run(within(command, milliseconds), directory, &Call::default()).await.unwrap();
        assert!(outcome.timed_out, "{outcome:?}");
        if outcome.stdout.lines().count() >= lines {
            return outcome;
        }
        milliseconds *= 2;
    }
}

/// 60 s: who ends when asked to is never killed on the way.
const LONG_GRACE: Duration = Duration::from_secs(60);

fn call_with(cancel: &CancelToken) -> Call {
    Call { deadline: Deadline { cancel: cancel.clone(), at: None }, ..Call::default() }
}

fn text(output: &str) -> ExecuteOutcome {
    ExecuteOutcome {
        output: output.to_owned(),
        stdout: output.to_owned(),
        stderr: String::new(),
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        aborted: false,
        truncated: false,
        duration_ms: 0,
        processes_left: None,
        processes_kept: Vec::new(),
        peak_memory_bytes: None,
        ceiling: None,
        supervisor_lost: false,
        spill_path: None,
        spill_bytes: None,
        exit_meaning: None,
    }
}

/// The outcome without its measurements, which no test knows.
fn timeless(outcome: ExecuteOutcome) -> ExecuteOutcome {
    ExecuteOutcome { duration_ms: 0, peak_memory_bytes: None, ..outcome }
}

/// Whether the process lives; none does where no number is given. A zombie whose parent does not care is dead.
pub(crate) fn is_alive(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    // Without a number that is the file of the machine, which names no program.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim().chars().next());
    state.is_some_and(|state| !"ZX".contains(state))
}

async fn returns_output_streams_and_exit_code() {
    let outcome = run(request("echo out; echo err >&2; exit 3")).await;
    assert_eq!(
        timeless(outcome),
        ExecuteOutcome { output: "out\nerr\n".into(), stderr: "err\n".into(), exit_code: Some(3), ..text("out\n") }
    );
}

async fn keeps_the_order_in_which_output_arrives() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let acknowledge = tempfile::NamedTempFile::new().unwrap();
    let path = acknowledge.path().to_owned();
    // The command goes on only when the piece before has arrived: the order is a fact and no luck.
    let sink = move |chunk: OutputChunk| {
        seen.lock().push(chunk);
        let count = seen.lock().len();
        fs::write(&path, "x".repeat(count)).unwrap();
    };
    let wait = |count| format!("until [ $(wc -c < {}) -ge {count} ]; do :; done;", acknowledge.path().display());
    let command = format!("echo 1; {} echo 2 >&2; {} echo 3", wait(1), wait(2));
    let outcome = run(ExecuteRequest { on_output: Some(Arc::new(sink)), ..within(&command, 20_000) }).await;
    assert_eq!(outcome.output, "1\n2\n3\n");
    let piece = |stream, text: &str| OutputChunk { stream, text: text.into() };
    assert_eq!(
        *lines.lock(),
        [piece(Stream::Stdout, "1\n"), piece(Stream::Stderr, "2\n"), piece(Stream::Stdout, "3\n")]
    );
}

async fn names_the_signal_that_ended_the_shell() {
    for (command, signal) in [("kill -KILL $$", "SIGKILL"), ("kill -SEGV $$", "SIGSEGV"), ("kill -40 $$", "signal 40")]
    {
        let outcome = run(request(command)).await;
        assert_eq!((outcome.exit_code, outcome.signal.as_deref()), (None, Some(signal)), "{command}");
    }
}

async fn reads_nothing_unless_input_is_given() {
    assert_eq!(timeless(run(within("cat; echo end", 20_000)).await), text("end\n"));
    let stdin = "ab\n".repeat(200_000).into_bytes();
    let outcome = run(ExecuteRequest { stdin: Some(stdin), ..within("wc -c", 20_000) }).await;
    assert_eq!(outcome.stdout.trim(), "600000");
    let unread = ExecuteRequest { stdin: Some(vec![0; 1 << 20]), ..within("exec <&-; echo closed", 20_000) };
    assert_eq!(timeless(run(unread).await), text("closed\n"));
    let empty = ExecuteRequest { stdin: Some(Vec::new()), ..within("cat; echo end", 20_000) };
    assert_eq!(timeless(run(empty).await), text("end\n"));
}

/// What was written behind it was said to be given, and was lost.
async fn a_command_that_was_given_its_input_takes_no_more() {
    let request = ExecuteRequest {
        stdin: Some(b"first\n".to_vec()),
        ..request("read a; read b; echo \"$a-$b\"; exec sleep 300")
    };
    let runner = runner();
    let process = runner.start_beside(request, open(&std::env::temp_dir())).await.unwrap();
    let refused = process.write(b"second\n", &Deadline::default()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
    process.changed(0).await;
    process.end().await;
    assert_eq!(process.read(0, 100).bytes, b"first-\n");
}

/// It was said to be given, and nobody knew that it was lost.
async fn input_that_a_command_does_not_read_is_refused_with_what_was_taken_of_it() {
    let runner = runner();
    let endless = Deadline::default();
    let start = async |command| runner.start_beside(request(command), open(&std::env::temp_dir())).await.unwrap();
    let process = start("read -r line; exit 0").await;
    process.write(b"read\n", &endless).await.unwrap();
    assert_eq!(process.over().await.exit_code, Some(0));
    let process = start("exec head -c 10").await;
    let refused = process.write(&b"x".repeat(1 << 20), &endless).await.unwrap_err();
    let given = refused.details().unwrap()["partial"]["givenBytes"].as_u64().unwrap();
    assert!(refused.kind() == ErrorKind::Closed && (10..1 << 20).contains(&given), "{refused}");
    let process = start("exec <&-; echo closed; exec sleep 1000").await;
    process.changed(0).await;
    let refused = process.write(b"x", &endless).await.unwrap_err();
    assert_eq!(refused.message(), "The process reads no more input: it has closed it.");
    process.close_input(&endless).await.unwrap();
    process.end().await;
}

async fn runs_in_the_opened_directory_whatever_its_name_became() {
    let parent = tempfile::tempdir().unwrap();
    let old = parent.path().join("old");
    fs::create_dir(&old).unwrap();
    let directory = open(&old);
    fs::rename(&old, parent.path().join("new")).unwrap();
    fs::create_dir(&old).unwrap();
    runner().run(request("echo x > f"), directory, &Call::default()).await.unwrap();
    assert!(parent.path().join("new/f").exists());
    assert!(!old.join("f").exists());
}

async fn says_that_the_working_directory_is_gone() {
    let parent = tempfile::tempdir().unwrap();
    let directory = open(parent.path());
    parent.close().unwrap();
    let error = runner().run(request("true"), directory, &Call::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileNotFound);
}

async fn gives_variables_by_name_only() {
    let environment = Environment::of_host(&[("OF_BACKEND".into(), "1".into())]).unwrap();
    let runner = runner_with(environment, 100_000);
    let request = ExecuteRequest {
        environment: vec![("OF_CALL".into(), "2".into())],
        ..request("echo $OF_BACKEND$OF_CALL; env | grep -c CARGO")
    };
    let outcome = runner.run(request, open(&std::env::temp_dir()), &Call::default()).await.unwrap();
    assert_eq!(outcome.stdout, "12\n0\n");
}

async fn refuses_what_no_shell_can_take() {
    let most = if IS_SUPERVISED.get() { SCRIPT_BYTES } else { COMMAND_BYTES };
    for command in ["", " \n", "echo a\0b", &"x".repeat(most + 1)] {
        let error = run_with(request(command), &Call::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    let longest = format!("echo ok #{}", "x".repeat(COMMAND_BYTES - 9));
    assert_eq!(timeless(run(request(&longest)).await), text("ok\n"));
}

/// D9, D95: a child that kept the pipe held the call until the timeout, and its output was lost.
async fn ends_with_the_shell_and_ends_what_it_left() {
    // No other process of the machine has it among its arguments.
    let mark = format!("300.{:09}{}", std::process::id(), u8::from(IS_SUPERVISED.get()));
    for (command, most) in [
        ("sleep 300 & echo $!", 1),
        ("(sleep 300 & echo $!)", 1),
        ("nohup sleep 300 >/dev/null 2>&1 & echo $!", 1),
        ("setsid sleep 300 & echo $!", 1),
        // Each of the first three may be met before it has made the next; and a killed `sleep` may be seen by its shell.
        ("setsid setsid sh -c 'sleep 300; sleep 300' & echo $!", 4),
    ] {
        let begin = Instant::now();
        let outcome = run(within(&command.replace("300", &mark), 60_000)).await;
        assert!(begin.elapsed() < Duration::from_secs(30), "{command}");
        assert!(!outcome.timed_out, "{command}");
        let ended = outcome.processes_left.unwrap_or_default();
        assert!((1..=most).contains(&ended), "{command}: {ended}");
        assert!(!is_alive(&outcome.stdout), "{command}");
        assert_eq!(living_with(&mark), Vec::<String>::new(), "{command}");
    }
}

/// The living processes that have `mark` among their arguments, as these stand.
fn living_with(mark: &str) -> Vec<String> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    numbers
        .filter(|number| is_alive(number))
        .filter_map(|number| fs::read_to_string(format!("/proc/{number}/cmdline")).ok())
        .filter(|arguments| arguments.contains(mark))
        .collect()
}

/// It showed as dead, and went on beyond the end of its host.
async fn ends_a_process_whose_first_thread_has_ended() {
    let program = "import ctypes, os, threading, time; os.setsid(); \
                   threading.Thread(target=time.sleep, args=(300,)).start(); print(os.getpid(), flush=True); \
                   ctypes.CDLL(None).syscall(60 if os.uname().machine == \"x86_64\" else 93, 0)";
    for end in ["read x <&3; sleep 0.2", "read x <&3; sleep 300"] {
        let command = format!("mkfifo p; python3 -c '{program}' | tee p & exec 3<p; {end}; echo $x");
        let directory = tempfile::tempdir().unwrap();
        let begin = Instant::now();
        let outcome = runner().run(within(&command, 2_000), open(directory.path()), &Call::default()).await.unwrap();
        let number = outcome.stdout.lines().next().unwrap().to_owned();
        assert!(begin.elapsed() < Duration::from_secs(20), "{command}");
        assert_eq!(outcome.timed_out, end.contains("300"), "{command}");
        let threads = fs::read_dir(format!("/proc/{number}/task")).map_or(0, Iterator::count);
        assert!(threads <= 1, "{threads} threads of {number} live: {command}");
    }
}

async fn says_nothing_of_processes_where_none_is_left() {
    assert_eq!(run(request("true | true; (exit 0); sh -c true")).await.processes_left, None);
}

/// D9, D98: what was printed before the time was over is not lost.
async fn returns_the_output_so_far_when_time_is_over() {
    let outcome = when_time_is_over("echo partial; exec sleep 300", 1, LONG_GRACE).await;
    assert_eq!(
        timeless(outcome),
        ExecuteOutcome { exit_code: None, signal: Some("SIGTERM".into()), timed_out: true, ..text("partial\n") }
    );
}

async fn kills_what_ignores_the_request_to_end() {
    let command =
        "trap '' TERM; sleep 300 & echo $!; setsid sh -c \"trap '' TERM; echo \\$\\$; sleep 300\" & wait; wait; wait";
    let outcome = when_time_is_over(command, 2, GRACE).await;
    assert_eq!((outcome.timed_out, outcome.signal.as_deref()), (true, Some("SIGKILL")));
    assert_eq!(outcome.stdout.lines().count(), 2);
    for process in outcome.stdout.lines() {
        assert!(!is_alive(process));
    }
}

async fn lets_a_command_clean_up_when_time_is_over() {
    let command = "sh -c 'trap \"echo cleaned; exit\" TERM; echo ready; while :; do sleep 0.01; done'; echo never";
    let outcome = when_time_is_over(command, 1, LONG_GRACE).await;
    assert_eq!(timeless(outcome).stdout, "ready\ncleaned\n");
}

/// Each below the shell of the command was asked twice by a supervisor, and began anew to clean up; one elsewhere could be missed
/// when the shell died. Two requests close together are heard as one: so there are many of them.
async fn asks_each_process_once_to_end() {
    const MANY: usize = 16;
    let loops = "echo ready; left=100000; while [ $left -gt 0 ]; do left=$((left - 1)); sleep 0.05; done";
    let of = |name: &str| format!("sh -c 'trap \"echo {name}; left=4\" TERM; {loops}'");
    let command =
        format!("setsid {} & {}wait; echo never", of("elsewhere"), format!("{} & ", of("below")).repeat(MANY));
    let outcome = when_time_is_over(&command, MANY + 1, LONG_GRACE).await;
    let count = |word| outcome.stdout.lines().filter(|line| *line == word).count();
    assert_eq!(["ready", "below", "elsewhere", "never"].map(count), [MANY + 1, MANY, 1, 0]);
}

/// It ignores the request to end, saw its program end, and ran what was behind that.
async fn an_interactive_shell_that_is_ended_runs_nothing_more() {
    let line = "echo ready; sleep 300; echo went on; sleep 300 || echo went on; echo went on";
    // What bash does about signals while it forks, for as long as it takes.
    let forking = "import signal as s, subprocess; s.signal(s.SIGQUIT, s.SIG_IGN); s.signal(s.SIGINT, lambda *_: 0); \
                   child = subprocess.Popen([\"sleep\", \"300\"]); s.pthread_sigmask(s.SIG_BLOCK, [s.SIGTERM]); \
                   print(\"ready\", flush=True); child.wait(); print(\"went on\", flush=True)";
    for command in [
        format!("python3 -c '{forking}'; echo went on"),
        format!("exec bash --norc -ic '{line}'"),
        format!("exec dash -ic '{line}'"),
        format!("exec bash --norc -ic \"trap '' INT; {line}\""),
        format!("exec bash --norc -ic 'trap : QUIT; {line}'"),
        format!("bash --norc -ic '{line}'; echo went on"),
        format!("setsid --wait bash --norc -ic '{line}'; echo went on"),
        format!("bash --norc -ic \"dash -ic '{line}'; echo went on\"; echo went on"),
    ] {
        let outcome = when_time_is_over(&command, 1, GRACE).await;
        assert_eq!((outcome.stdout.as_str(), outcome.timed_out), ("ready\n", true), "{command}");
    }
}

async fn finds_a_descendant_that_left_the_group_and_its_mark() {
    let command = "env -i setsid sleep 300 & echo $!; wait";
    let outcome = when_time_is_over(command, 1, GRACE).await;
    assert!(!is_alive(&outcome.stdout));
}

async fn no_time_is_a_timeout_and_starts_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = runner().run(within("touch started", 0), open(directory.path()), &Call::default()).await.unwrap();
    assert_eq!(timeless(outcome), ExecuteOutcome { exit_code: None, timed_out: true, ..text("") });
    assert!(!directory.path().join("started").exists());
    assert_eq!(timeless(run(request("echo no limit")).await), text("no limit\n"));
}

async fn an_abort_ends_the_tree_and_returns_the_output_so_far() {
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let sink = move |_: OutputChunk| stop.cancel();
    let request = ExecuteRequest { on_output: Some(Arc::new(sink)), ..within("echo $$; sleep 300; true", 60_000) };
    let outcome = run_with(request, &call_with(&cancel)).await.unwrap();
    assert_eq!((outcome.aborted, outcome.timed_out), (true, false));
    assert!(!is_alive(&outcome.stdout));

    let before = run_with(self::request("echo ran"), &call_with(&cancel)).await.unwrap();
    assert_eq!(timeless(before), ExecuteOutcome { exit_code: None, aborted: true, ..text("") });
}

async fn the_calls_deadline_ends_a_command_without_a_limit_of_its_own() {
    let call = Call { deadline: Deadline::default().within(Duration::from_millis(300)), ..Call::default() };
    assert!(run_with(request("sleep 300"), &call).await.unwrap().timed_out);
}

async fn ends_the_tree_when_nobody_waits_for_the_result_any_more() {
    let (sender, started) = tokio::sync::oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let sink = move |chunk: OutputChunk| {
        if let Some(sender) = sender.lock().take() {
            sender.send(chunk.text).unwrap();
        }
    };
    let request = ExecuteRequest { on_output: Some(Arc::new(sink)), ..request("echo $$; sleep 300; true") };
    let task = tokio::spawn(async move { run(request).await });
    let process = started.await.unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    while is_alive(&process) {
        tokio::task::yield_now().await;
    }
}

/// D99: output was held whole before it was cut.
async fn bounds_output_and_keeps_head_and_tail() {
    let runner = runner_with(Environment::of_host(&[]).unwrap(), 1_000);
    let request = within("echo first; yes é | head -c 3000000; echo last; echo whole >&2", 60_000);
    let outcome = runner.run(request, open(&std::env::temp_dir()), &Call::default()).await.unwrap();
    assert!(outcome.truncated);
    assert!(outcome.stdout.starts_with("first\n") && outcome.stdout.ends_with("last\n"));
    assert!(outcome.stdout.len() < 1_200, "{}", outcome.stdout.len());
    assert!(!outcome.stdout.contains('\u{FFFD}'));
    assert_eq!(outcome.stderr, "whole\n");
}

/// D9: output that was no UTF-8 was lost as a whole.
async fn shows_output_that_is_no_text() {
    assert_eq!(run(request(r"printf 'a\377b\303'")).await.stdout, "a\u{FFFD}b\u{FFFD}");
}

/// 39 descriptors and nine dead children could be left, for the sake of other tests.
async fn leaves_nothing_behind_after_many_commands() {
    #[cfg(target_os = "linux")]
    {
        let way = if IS_SUPERVISED.get() { "with_supervisor" } else { "without_supervisor" };
        let name = format!("backend::local::shell::tests::{way}::leaves_nothing_behind_after_many_commands");
        if !super::supervised::tests::is_alone(&name) {
            return;
        }
    }
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    run(request("true")).await;
    let before = descriptors();
    for _ in 0..50 {
        run(request("sleep 300 &")).await;
    }
    assert!(comes_true(|| descriptors() <= before).await, "{before} before, {} after", descriptors());
    let tasks: Vec<_> = (0..20).map(|_| tokio::spawn(run(within("sleep 300 & sleep 300", 100)))).collect();
    for task in tasks {
        assert!(task.await.unwrap().timed_out);
    }
    assert!(comes_true(|| descriptors() <= before).await, "{before} before, {} after", descriptors());
    assert!(comes_true(|| zombies() == 0).await, "{}", zombies());
}

/// Dead children that this process has not waited for.
fn zombies() -> usize {
    let children = fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    children
        .flat_map(|line| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter(|process| fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default().contains(") Z "))
        .count()
}

/// Whether it is so within a minute: supervisors whose runner is gone end by themselves, a moment later.
async fn comes_true(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > Duration::from_secs(60) {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}
