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
use crate::backend::local::shell::{CommandRunner, Environment, SCRIPT_BYTES, SupervisorProgram};
use crate::backend::{Background, Call, CommandLimits, ExecuteOutcome, ExecuteRequest, OutputChunk};

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

/// Whether the process lives. A zombie whose parent does not care is dead.
fn is_alive(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).is_some_and(|state| !"ZX".contains(state))
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
            assert!(outcome.timed_out, "{command}");
            assert!(!is_alive(&outcome.stdout), "{command}");
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

/// A fork bomb that goes out by itself at 4,095 processes, should nobody stop it.
const BOMB: &str = "bomb() { if [ $1 -lt 11 ]; then bomb $(($1 + 1)) & bomb $(($1 + 1)) & fi; sleep 60; }; bomb 0";

#[tokio::test]
async fn a_fork_bomb_ends() {
    let mark = "GLOVEPORT_TEST=bomb";
    let limits = CommandLimits { processes: Some(300), ..CommandLimits::default() };
    // The first shell stays, so that it is no leftover that is ended but the ceiling that ends it.
    let outcome = limited(&format!("export {mark}; {BOMB}"), limits).await;
    assert_eq!((outcome.ceiling, outcome.timed_out), (Some(Ceiling::Processes), false));
    assert_eq!((outcome.signal.as_deref(), outcome.processes_left), (Some("SIGKILL"), None));
    assert_eq!(marked(mark), Vec::<String>::new());

    // Where the first shell ends, that is the end.
    let outcome = limited(&format!("export {mark}; {BOMB} & sleep 0.1"), limits).await;
    assert!(!outcome.timed_out);
    assert_eq!(marked(mark), Vec::<String>::new());
}

#[tokio::test]
async fn limits_hold() {
    let none = CommandLimits::default();
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();

    let files = limited("ulimit -n; ulimit -c", CommandLimits { open_files: Some(17), ..none }).await;
    assert_eq!(files.stdout, "17\n0\n");

    let size = CommandLimits { file_bytes: Some(4096), ..none };
    let size = limited(&format!("exec head -c 100000 /dev/zero > {path}"), size).await;
    assert_eq!((size.signal.as_deref(), fs::metadata(file.path()).unwrap().len()), (Some("SIGXFSZ"), 4096));

    let time = CommandLimits { cpu_time: Some(Duration::from_millis(1)), ..none };
    let time = limited("while :; do :; done", time).await;
    assert_eq!((time.signal.as_deref(), time.timed_out), (Some("SIGXCPU"), false));

    let memory = CommandLimits { memory_bytes: Some(64 << 20), ..none };
    let memory = limited("head -c 200000000 /dev/zero | tail -n 1 | wc -c", memory).await;
    assert!(memory.stderr.contains("memory"), "{}", memory.stderr);
    assert_ne!(memory.stdout.trim(), "200000000");
}

/// Four children of 40 MB each were no 160 MB.
#[tokio::test]
async fn memory_counts_for_all_processes_together() {
    let most = 200 << 20;
    let each = "{ head -c 80000000 /dev/zero; exec sleep 300; } | tail -n 1";
    let limits = CommandLimits { memory_bytes: Some(most), ..CommandLimits::default() };
    let outcome = limited(&format!("for child in 1 2 3 4; do {each} & done; wait"), limits).await;
    assert_eq!((outcome.ceiling, outcome.timed_out), (Some(Ceiling::Memory), false));
    let peak = outcome.peak_memory_bytes.unwrap();
    assert!((most..=500 << 20).contains(&peak), "{peak}");
    // What they share counts once: the memory of these children is that of the shell, which each has whole.
    let fork =
        "x=$(head -c 20000000 /dev/zero | tr '\\0' x); for child in 1 2 3 4 5 6 7 8; do (sleep 0.3; :) & done; wait";
    let outcome = limited(fork, limits).await;
    assert_eq!((outcome.exit_code, outcome.ceiling), (Some(0), None));
}

/// A loop that starts a new process every second never reached a ceiling that each process has for itself.
#[tokio::test]
async fn processor_time_counts_for_all_processes_together() {
    let limits = CommandLimits { cpu_time: Some(Duration::from_secs(1)), ..CommandLimits::default() };
    let short = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let command = format!("while :; do sh -c '{short}'; done");
    // Two seconds of it, of which a loaded machine gives little.
    let outcome = run(ExecuteRequest { limits, ..within(&command, 100_000) }).await;
    assert_eq!((outcome.ceiling, outcome.timed_out), (Some(Ceiling::CpuTime), false));
}

#[tokio::test]
async fn no_command_has_more_than_its_runner_gives() {
    let most = CommandLimits { open_files: Some(20), file_bytes: Some(4096), ..CommandLimits::default() };
    let runner = runner().with_limits(most);
    let file = tempfile::NamedTempFile::new().unwrap();
    for (asked, given) in [(None, "20\n"), (Some(100), "20\n"), (Some(18), "18\n")] {
        let limits = CommandLimits { open_files: asked, ..CommandLimits::default() };
        let command = format!("ulimit -n; exec head -c 100000 /dev/zero > {}", file.path().display());
        let request = || ExecuteRequest { limits, ..within(&command, 30_000) };
        let outcome = run_by(&runner, request()).await;
        assert_eq!((outcome.stdout.as_str(), outcome.signal.as_deref()), (given, Some("SIGXFSZ")));
        let beside = runner.start_beside(request(), directory()).await.unwrap().over().await;
        assert_eq!((beside.stdout.as_str(), beside.signal.as_deref()), (given, Some("SIGXFSZ")));
    }
    let unsupervised = CommandRunner::new(Environment::of_host(&[]).unwrap(), 100).with_limits(most);
    let error = unsupervised.run(within("true", 1_000), directory(), &Call::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn tells_the_peak_of_memory_of_the_largest_process() {
    let outcome = run(within("head -c 50000000 /dev/zero | tail -n 1 | wc -c", 30_000)).await;
    assert_eq!(outcome.stdout.trim(), "50000000");
    let peak = outcome.peak_memory_bytes.unwrap();
    assert!((50_000_000..500_000_000).contains(&peak), "{peak}");
    // Not what this process has: the command never was a copy of it.
    assert!(run(within("true", 30_000)).await.peak_memory_bytes.unwrap() < 20_000_000);
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
                   ps -o sid= -p $$ | tr -d ' '; echo $$; (: < /dev/tty) 2>/dev/null || echo no terminal";
    let outcome = run(within(command, 30_000)).await;
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let &[descriptors, umask, blocked, ignored, _, session, shell, terminal] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!((descriptors, umask, terminal), ("4", "0022", "no terminal"));
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
async fn a_stopped_supervisor_goes_on() {
    let outcome = run(ExecuteRequest::new("kill -STOP $PPID; echo hi; exit 3")).await;
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code, outcome.timed_out), ("hi\n", Some(3), false));
    assert!(!outcome.supervisor_lost);
    // Nor when the thread that started it ends, which wakes it too: an idle one does after ten seconds.
    assert!(outcome.duration_ms < 9_000, "{}", outcome.duration_ms);
}

#[tokio::test]
async fn a_killed_or_stopped_supervisor_shields_nobody() {
    for signal in ["KILL", "STOP"] {
        let runner = runner();
        let command = format!("setsid sleep 300 & echo $!; kill -{signal} $PPID; sleep 300");
        let outcome = run_by(&runner, within(&command, 500)).await;
        assert_eq!((outcome.exit_code, outcome.supervisor_lost), (None, signal == "KILL"), "{signal}");
        // On a machine that is busy it is told to die before it is dead.
        wait_for_death(&outcome.stdout).await;
        assert_eq!(run_by(&runner, within("echo on", 30_000)).await.stdout, "on\n", "{signal}");
    }
    // One that stood ready is replaced.
    let runner = runner();
    let ready = run_by(&runner, within("echo $PPID", 30_000)).await.stdout;
    let number = rustix::process::Pid::from_raw(ready.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
    wait_for_death(&ready).await;
    assert_eq!(run_by(&runner, within("echo on", 30_000)).await.stdout, "on\n");
}

/// What a command left lived on where it had taken the descriptors of its supervisor away, and no command ran there any more.
#[tokio::test]
async fn a_supervisor_that_may_open_nothing_shields_nobody() {
    // What it cannot count is too much.
    let blind = Some(Ceiling::Processes);
    for (limit, ceiling) in [("nofile=0:0", blind), ("nofile=0:9999", blind), ("nproc=0:0", None)] {
        let runner = runner();
        let command = format!("prlimit --pid $PPID --{limit}; {DAEMON} daemon; (daemon; sleep 300) & wait $!");
        let outcome = run_by(&runner, within(&command, 500)).await;
        assert_eq!((outcome.ceiling, outcome.supervisor_lost), (ceiling, false), "{limit}: {outcome:?}");
        let daemons: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(daemons.len(), 2, "{limit}: {outcome:?}");
        for daemon in daemons {
            assert!(!is_alive(daemon), "{limit}");
        }
        let left =
            run_by(&runner, within(&format!("prlimit --pid $PPID --{limit}; {DAEMON} daemon; wait"), 30_000)).await;
        assert_eq!((left.exit_code, left.processes_left, left.supervisor_lost), (Some(0), Some(1), false), "{limit}");
        assert!(!is_alive(&left.stdout), "{limit}");
        for _ in 0..3 {
            assert_eq!(run_by(&runner, within("echo on", 30_000)).await.stdout, "on\n", "{limit}");
        }
    }
}

/// It asked again at once for what it could not wait for, and ran before everything else.
#[tokio::test]
async fn a_supervisor_that_cannot_wait_takes_hardly_any_time() {
    // Behind its first look at the tree. Until the next one, which ends the command, it can wait for nothing.
    let command = "sleep 0.2; prlimit --pid $PPID --nofile=0:0
        while :; do read -r _ _ _ _ _ _ _ _ _ _ _ _ _ own kernel _ < /proc/$PPID/stat; echo $((own + kernel)); sleep 0.05; done";
    let outcome = run(within(command, 60_000)).await;
    assert_eq!(outcome.ceiling, Some(Ceiling::Processes), "{outcome:?}");
    // Hundredths of a second; of nearly a whole one.
    let used: u32 = outcome.stdout.lines().last().unwrap().parse().unwrap();
    assert!(used <= 20, "{used}");
}

/// What has no mark was left alone where its supervisor could not be asked: it is found by its descent from it.
#[tokio::test]
async fn a_supervisor_that_is_stopped_again_and_again_shields_nobody() {
    let stop = "trap '' TERM; supervisor=$PPID; (while kill -STOP $supervisor; do :; done) 2>/dev/null &";
    let mut rounds = Vec::new();
    // As above: a loaded machine has longer.
    while !rounds.contains(&true) {
        let milliseconds = 500 << rounds.len();
        assert!(milliseconds <= 8_000, "never within a second");
        let outcome = run(within(&format!("{DAEMON} daemon; {stop} echo $!; sleep 300"), milliseconds)).await;
        assert!(outcome.timed_out && !outcome.supervisor_lost, "{outcome:?}");
        let processes: Vec<&str> = outcome.stdout.lines().collect();
        for process in &processes {
            assert!(!is_alive(process));
        }
        rounds.push(processes.len() == 2 && outcome.duration_ms < milliseconds + 1_000);
    }
}

/// It waited for ever for the end of a supervisor that its command had stopped.
#[tokio::test]
async fn a_stopped_supervisor_ends_when_nobody_waits_for_its_command_any_more() {
    let (said, heard) = tokio::sync::oneshot::channel();
    let said = Mutex::new(Some(said));
    let sink = move |chunk: OutputChunk| {
        if let Some(said) = said.lock().take() {
            said.send(chunk.text).unwrap();
        }
    };
    let command = "(env -i sleep 300 & echo $PPID $!); kill -STOP $PPID; echo; sleep 300";
    let running = tokio::spawn(run(ExecuteRequest { on_output: Some(Arc::new(sink)), ..within(command, 300_000) }));
    let pids = heard.await.unwrap();
    let begin = Instant::now();
    running.abort();
    for process in pids.split_whitespace() {
        wait_for_death(process).await;
    }
    // As above.
    assert!(begin.elapsed() < Duration::from_secs(9), "{:?}", begin.elapsed());
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
