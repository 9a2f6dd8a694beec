//! What only a supervisor gives, one clause a test. What both ways give is in the tests of the module above.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::ready::READY;
use super::*;
pub(crate) use crate::backend::local::shell::tests::is_alive;
use crate::backend::local::shell::{CommandRunner, Environment, SCRIPT_BYTES, SupervisorProgram};
use crate::backend::{Background, Call, CommandLimits, ExecuteOutcome, ExecuteRequest, OutputChunk};

mod limits;
mod lost;
mod standby;

/// The program, built as it is shipped; `GLOVEPORT_SUPERVISOR` names one that is built already.
pub(crate) fn program() -> SupervisorProgram {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    SupervisorProgram::from_path(PATH.get_or_init(|| match std::env::var_os("GLOVEPORT_SUPERVISOR") {
        Some(path) => path.into(),
        None => build(),
    }))
}

fn build() -> PathBuf {
    let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/supervisor");
    // A machine without the musl target tests with the host's own.
    for target in [Some(musl.as_str()), None] {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "gloveport-supervisor", "--features", "standalone"])
            .args(["--profile", "supervisor"])
            .args(["--target-dir", directory])
            .args(target.iter().flat_map(|target| ["--target", target]))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::null())
            .status()
            .unwrap();
        if built.success() {
            let folder = PathBuf::from(directory).join(target.unwrap_or_default());
            return folder.join("supervisor/gloveport-supervisor");
        }
    }
    panic!("the supervisor does not build");
}

fn runner() -> CommandRunner {
    CommandRunner::new(Environment::of_host(&[]).unwrap(), 100_000).with_supervisor(program())
}

fn directory() -> OwnedFd {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open(std::env::temp_dir(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

fn within(command: &str, milliseconds: u64) -> ExecuteRequest {
    ExecuteRequest { timeout: Some(Duration::from_millis(milliseconds)), ..ExecuteRequest::new(command) }
}

async fn run_by(runner: &CommandRunner, request: ExecuteRequest) -> ExecuteOutcome {
    runner.run(request, directory(), &Call::default()).await.unwrap()
}

async fn run(request: ExecuteRequest) -> ExecuteOutcome {
    run_by(&runner(), request).await
}

async fn limited(command: &str, limits: CommandLimits) -> ExecuteOutcome {
    run(ExecuteRequest { limits, ..within(command, 30_000) }).await
}

/// Whether this is a process in which no other test runs: the one that starts it returns when the test `name` has passed
/// there. Elsewhere others hold descriptors and children at any moment, and nothing can be counted.
pub(crate) fn is_alone(name: &str) -> bool {
    const ALONE: &str = "GLOVEPORT_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let test = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(ALONE, "1")
        .env("GLOVEPORT_SUPERVISOR", program().path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stdout);
    assert!(test.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&test.stderr));
    false
}

/// Waits until the process is dead; the test runner's own limit ends a test in which it never is.
async fn wait_for_death(process: &str) {
    while is_alive(process) {
        tokio::task::yield_now().await;
    }
}

/// The processes of the test whose environment holds `mark`, which no other test uses.
fn marked(mark: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && is_alive(name))
        .filter(|name| {
            let environment = fs::read(format!("/proc/{name}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(mark)
        })
        .collect()
}

/// A shell function: a daemon as daemons are made, out of the session, without parent, environment or pipes.
const DAEMON: &str = "daemon() { setsid sh -c 'env -i sleep 300 <&- >&- 2>&- & echo $!' </dev/null & }; ";

#[tokio::test]
async fn ends_a_daemon_within_a_second_of_the_timeout() {
    for command in ["daemon; sleep 300", "daemon; exec sleep 300", "trap '' TERM; daemon; sleep 300; sleep 300"] {
        // A loaded machine may give the daemon no time to start, or us none to end it: then it has twice as long, and
        // the promise must hold in one of the rounds. What is left behind is left in none.
        let mut rounds = Vec::new();
        while !rounds.contains(&true) {
            let milliseconds = 500 << rounds.len();
            assert!(milliseconds <= 8_000, "{command}: never within a second");
            let outcome = run(within(&format!("{DAEMON}{command}"), milliseconds)).await;
            assert!(outcome.timed_out, "{command}: {outcome:?}");
            assert!(!is_alive(&outcome.stdout), "{command}: {outcome:?}");
            rounds.push(outcome.stdout.lines().count() == 1 && outcome.duration_ms < milliseconds + 1_000);
        }
    }
}

#[tokio::test]
async fn ends_a_daemon_when_the_shell_ends() {
    // The command waits for its daemon's line, so that there is one to end.
    let outcome = run(within(&format!("{DAEMON} daemon; wait"), 30_000)).await;
    assert_eq!((outcome.exit_code, outcome.timed_out, outcome.processes_left), (Some(0), false, Some(1)));
    assert!(!is_alive(&outcome.stdout));
}

#[tokio::test]
async fn ends_what_makes_new_processes_all_the_time() {
    // Each generation is a new session that starts the next and ends: no process lives for long, none has a parent.
    let mark = "GLOVEPORT_TEST=respawn";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("next");
    fs::write(&file, format!("setsid sh {} &", file.display())).unwrap();
    let chain = format!("export {mark}; for chain in 1 2 3 4; do sh {} & done; sleep 0.2", file.display());
    let outcome = run(within(&chain, 30_000)).await;
    assert!(!outcome.timed_out && outcome.processes_left.is_some(), "{outcome:?}");
    assert_eq!(marked(mark), Vec::<String>::new());
}

#[tokio::test]
async fn runs_a_command_longer_than_an_argument() {
    let long = format!("echo \"$0\"; # {}\ncat; echo ${{#x}}; ls /proc/self/fd | wc -l", "x".repeat(300_000));
    let outcome = run(ExecuteRequest { stdin: Some(b"in\n".into()), ..within(&long, 30_000) }).await;
    // `ls` has its three and the directory that it lists.
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("/bin/sh\nin\n0\n4\n", Some(0)));
    assert_eq!(run(within(&format!("exit 7 #{}", "x".repeat(SCRIPT_BYTES - 8)), 30_000)).await.exit_code, Some(7));
}

#[tokio::test]
async fn a_command_starts_clean() {
    let own = std::process::id();
    let command = "ls -l /proc/self/fd | grep -c -- '->'; umask; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; \
                   ps -o sid= -p $$ | tr -d ' '; echo $$; (: < /dev/tty) 2>/dev/null || echo no terminal; \
                   cat /proc/self/timerslack_ns";
    let outcome = run(within(command, 30_000)).await;
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let &[descriptors, umask, blocked, ignored, _, session, shell, terminal, slack] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    // The supervisor is a real-time process where it may be one, and those have no slack.
    assert_eq!((descriptors, umask, terminal, slack), ("4", "0022", "no terminal", "50000"));
    assert_eq!((blocked, ignored), ("SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"));
    assert_eq!(session, shell);
    // The supervisor shows nothing of the host's environment, though the host's own can be found from there.
    let parent = run(within("tr '\\0' '\\n' < /proc/$PPID/environ 2>/dev/null | wc -l; echo $PPID", 30_000)).await;
    let (variables, parent) = parent.stdout.split_once('\n').unwrap();
    assert_eq!(variables.trim(), "0");
    assert_ne!(parent.trim(), own.to_string());
}

#[tokio::test]
async fn one_supervisor_runs_command_after_command() {
    let runner = runner();
    let first = run_by(&runner, within("echo $PPID", 30_000)).await.stdout;
    run_by(&runner, within("sleep 300 & sleep 300; nonsense-that-is-no-program", 100)).await;
    let second = run_by(&runner, within("echo $PPID", 30_000)).await.stdout;
    assert_eq!(first, second);
    drop(runner);
    wait_for_death(&first).await;
}

/// The end of its command was seen when the time of the call was over, as a timeout; without one never.
/// Its memory had grown by the order for ever, and each later command was told to have had as much.
#[tokio::test]
async fn a_supervisor_that_took_a_large_order_takes_no_other() {
    /// 1 MiB: how much of the shell itself lies in memory differs by a third of that, and the order is 1.8 MB, twice.
    const SOME: u64 = 1 << 20;
    let runner = runner();
    let supervisor = async || run_by(&runner, within("echo $PPID", 30_000)).await;
    let large = |count: usize| ExecuteRequest {
        environment: (0..count).map(|number| (format!("LARGE_{number}"), "x".repeat(100_000))).collect(),
        ..within("echo $PPID", 30_000)
    };
    let first = supervisor().await;
    let (small, same) = (first.peak_memory_bytes.unwrap(), supervisor().await);
    assert_eq!(first.stdout, same.stdout);
    assert_eq!(run_by(&runner, large(18)).await.stdout, first.stdout);
    let second = supervisor().await;
    assert_ne!(second.stdout, first.stdout);
    assert!(second.peak_memory_bytes.unwrap() < small + SOME, "{second:?} {small}");
    // Also one that the system does not take.
    assert_eq!(runner.run(large(30), directory(), &Call::default()).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    for _ in 0..5 {
        let later = supervisor().await;
        assert!(later.peak_memory_bytes.unwrap() < small + SOME, "{later:?} {small}");
    }
}

#[tokio::test]
async fn keeps_what_is_left_until_the_end_of_the_backend() {
    let keep = |command: &str| ExecuteRequest { background: Background::Keep, ..within(command, 30_000) };
    for close in [true, false] {
        let runner = runner();
        // It prints more than a pipe holds: somebody must go on reading.
        let command = "(yes | head -n 100000; sleep 300) & echo $!; echo end >&2";
        let outcome = run_by(&runner, keep(command)).await;
        assert_eq!((outcome.exit_code, outcome.processes_left, outcome.stderr.as_str()), (Some(0), None, "end\n"));
        let kept = outcome.stdout.lines().find(|line| *line != "y").unwrap().to_owned();
        assert!(outcome.processes_kept.contains(&kept.parse().unwrap()), "{:?}", outcome.processes_kept);
        assert!(outcome.peak_memory_bytes.is_some_and(|peak| peak > 0));
        assert_eq!(run_by(&runner, within("echo other", 30_000)).await.stdout, "other\n");
        assert!(is_alive(&kept));
        if close {
            runner.close().await;
            assert!(!is_alive(&kept));
            let error = runner.run(keep("true"), directory(), &Call::default()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed);
        } else {
            drop(runner);
            wait_for_death(&kept).await;
        }
    }
    let nothing_left = run(keep("echo done; exit 4")).await;
    assert_eq!((nothing_left.stdout.as_str(), nothing_left.exit_code), ("done\n", Some(4)));
    assert_eq!(nothing_left.processes_kept, Vec::<u32>::new());
}

/// Says to this test program, started again, that it is the host that will be killed.
const HOST: &str = "GLOVEPORT_TEST_HOST";

/// What the command does last in the host that is given its name.
const HOSTS: [(&str, &str); 3] =
    [("plain", ""), ("stopped", "kill -STOP $PPID;"), ("bereft", "prlimit --pid $PPID --nofile=0:0;")];

/// A supervisor that its command had stopped slept on when the host was dead, and all that was below it lived.
#[tokio::test]
async fn the_tree_dies_with_its_host() {
    if let Ok(name) = std::env::var(HOST) {
        let last = HOSTS.iter().find(|(known, _)| *known == name).unwrap().1;
        let sink = |chunk: OutputChunk| eprintln!("{}", chunk.text.trim());
        let command = format!("{DAEMON} daemon; sh -c 'echo $$; sleep 300' & echo $PPID; {last} echo $$; sleep 300");
        run(ExecuteRequest { on_output: Some(Arc::new(sink)), ..within(&command, 300_000) }).await;
        return;
    }
    for (host, _) in HOSTS {
        dies_with(host).await;
    }
}

async fn dies_with(host: &str) {
    let name = "backend::local::shell::supervised::tests::the_tree_dies_with_its_host";
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(HOST, host)
        .env("GLOVEPORT_SUPERVISOR", program().path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(host.stderr.take().unwrap()).lines();
    let processes: Vec<String> =
        lines.map(|line| line.unwrap()).filter(|line| line.parse::<u32>().is_ok()).take(4).collect();
    assert_eq!(processes.len(), 4);
    host.kill().unwrap();
    let killed = Instant::now();
    for process in &processes {
        wait_for_death(process).await;
    }
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
    host.wait().unwrap();
}

#[tokio::test]
async fn says_that_a_program_does_not_start() {
    for bytes in [&b"no program"[..], b""] {
        let program = SupervisorProgram::from_bytes(bytes).unwrap();
        let runner = CommandRunner::new(Environment::of_host(&[]).unwrap(), 1_000).with_supervisor(program);
        let error = runner.run(within("true", 1_000), directory(), &Call::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    let large = ExecuteRequest {
        environment: (0..40).map(|number| (format!("V{number}"), "x".repeat(100_000))).collect(),
        ..within("true", 1_000)
    };
    let error = runner().run(large, directory(), &Call::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn twenty_at_once_are_no_trouble() {
    let runner = Arc::new(runner());
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let runner = Arc::clone(&runner);
            tokio::spawn(async move { run_by(&runner, within(&format!("echo {number}; sleep 300 &"), 60_000)).await })
        })
        .collect();
    for (number, task) in tasks.into_iter().enumerate() {
        let outcome = task.await.unwrap();
        assert_eq!((outcome.stdout, outcome.exit_code), (format!("{number}\n"), Some(0)));
    }
    assert_eq!(runner.supervision.as_ref().unwrap().supervisors.ready.lock().links.len(), READY);
}

#[tokio::test]
async fn a_closed_runner_leaves_no_supervisor_standing() {
    let runner = runner();
    let ready = run_by(&runner, within("echo $PPID", 30_000)).await.stdout;
    assert!(is_alive(&ready), "it stands ready for the next command");
    runner.close().await;
    assert!(!is_alive(&ready), "closing waits until it is gone");
    // One whose command ends afterwards does not stand ready any more.
    let later = run_by(&runner, within("echo $PPID", 30_000)).await.stdout;
    wait_for_death(&later).await;
}

/// A command went through three threads before it ran: the figure that showed it is measured by nobody's test.
#[test]
fn a_command_runs_after_one_poll_by_the_thread_that_asks() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let runner = runner();
    let folder = tempfile::tempdir().unwrap();
    let path = |round: u32| folder.path().join(round.to_string());
    // From then on a supervisor stands ready.
    runtime.block_on(run_by(&runner, within("true", 60_000)));
    let call = Call::default();
    for round in 0..10 {
        let command = format!("echo > {}", path(round).display());
        let mut running = std::pin::pin!(runner.run(within(&command, 60_000), directory(), &call));
        let polled = {
            let _inside = runtime.enter();
            let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
            crate::lent::poll_for(Duration::from_secs(3_600), running.as_mut(), context)
        };
        assert!(polled.is_pending(), "the thread is given back at once");
        // Nobody drives the runtime or polls again: work on any other thread would wait for that.
        let begin = Instant::now();
        while !path(round).exists() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it waits for another poll");
            std::thread::yield_now();
        }
        assert_eq!(runtime.block_on(running).unwrap().exit_code, Some(0));
    }
}

/// Pipes that closed when the command ended woke the host twice, just before the report that it waited for.
#[tokio::test]
async fn the_pipes_of_a_command_close_no_sooner_than_its_end_is_told() {
    let launch = Launch {
        command: "exec >&-; echo closed >&2; read line".to_owned(),
        directory: directory(),
        environment: Environment::of_host(&[]).unwrap(),
        limits: CommandLimits::default(),
        background: Background::End,
        with_stdin: true,
        terminal: None,
        hatch: None,
        is_announced: false,
    };
    let (mut command, ends) = Supervisors::new(program()).start(&launch).await.unwrap();
    let ends = ends.unwrap();
    let mut said = [0; 7];
    let mut stderr = fs::File::from(ends.stderr);
    std::io::Read::read_exact(&mut stderr, &mut said).unwrap();
    assert_eq!(&said, b"closed\n");
    rustix::io::ioctl_fionbio(&ends.stdout, true).unwrap();
    assert_eq!(rustix::io::read(&ends.stdout, &mut [0]), Err(Errno::AGAIN), "nobody is woken yet");
    drop(ends.stdin);
    command.over().await;
    assert_eq!(command.end().await.unwrap().status.and_then(|status| status.code()), Some(1));
    rustix::io::ioctl_fionbio(&ends.stdout, false).unwrap();
    assert_eq!(rustix::io::read(&ends.stdout, &mut [0]), Ok(0));
}

/// The kernel ended whoever was largest, the host or its supervisor too, when memory ran out.
#[tokio::test]
async fn a_command_goes_first_when_memory_runs_out_and_nobody_else() {
    let score = || fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let own = score();
    assert_ne!(own, "1000\n", "this test says nothing where it would go first itself");
    let runner = runner();
    // The supervisor may be seen just before it has its own score again. The second runs under the same one.
    let command = format!(
        "cat /proc/self/oom_score_adj; until [ \"$(cat /proc/$PPID/oom_score_adj)\" = {} ]; do :; done; echo $PPID",
        own.trim()
    );
    let first = run_by(&runner, within(&command, 30_000)).await;
    let second = run_by(&runner, within(&command, 30_000)).await;
    assert_eq!(first.stdout.lines().next(), Some("1000"), "{first:?}");
    assert_eq!((first.exit_code, second.stdout), (Some(0), first.stdout));
    let kept = ExecuteRequest { background: Background::Keep, ..within("sleep 300 & echo $!", 30_000) };
    let kept = run_by(&runner, kept).await.stdout;
    assert_eq!(fs::read_to_string(format!("/proc/{}/oom_score_adj", kept.trim())).unwrap(), "1000\n");
    assert_eq!(score(), own);
}

/// A start that was given up while its supervisor was started left a zombie until the process ended.
#[test]
fn a_start_that_is_given_up_leaves_no_dead_child() {
    if !is_alone("backend::local::shell::supervised::tests::a_start_that_is_given_up_leaves_no_dead_child") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..50 {
            let (runner, call) = (runner(), Call::default());
            let mut run = Box::pin(runner.run(within("true", 60_000), directory(), &call));
            assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
    });
    // What has begun of them is over then.
    drop(runtime);
    let children = || -> Vec<String> {
        let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
        let children = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
        children.filter(|children| !children.is_empty()).collect()
    };
    let begin = Instant::now();
    while !children().is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", children());
        std::thread::yield_now();
    }
}
