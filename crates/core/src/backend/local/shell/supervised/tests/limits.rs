//! Ceilings of commands, which count for all of their processes together, and the peak of what they took.

use super::*;

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

/// Its first thread has ended: it shows as dead, and with no memory.
#[tokio::test]
async fn memory_of_a_process_whose_first_thread_has_ended_counts() {
    let program = "import ctypes, os, threading, time\n\
                   def hold():\n    held = b'x' * 60_000_000\n    time.sleep(300)\n\
                   threading.Thread(target=hold).start()\n\
                   ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)";
    let limits = CommandLimits { memory_bytes: Some(200 << 20), ..CommandLimits::default() };
    let command = format!("for child in 1 2 3 4 5; do python3 -c \"{program}\" & done; wait");
    let outcome = limited(&command, limits).await;
    assert_eq!((outcome.ceiling, outcome.timed_out), (Some(Ceiling::Memory), false), "{}", outcome.stderr);
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

/// The kernel ended each process that had its time, and the command ended well with nothing told.
#[tokio::test]
async fn processor_time_of_children_that_were_ended_alone_is_told_with_the_exit_code() {
    let limits = CommandLimits { cpu_time: Some(Duration::from_secs(1)), ..CommandLimits::default() };
    let spins = "while :; do :; done";
    for (command, code) in [
        (format!("sh -c '{spins}'; echo next"), Some(0)),
        (format!("({spins}) & wait; exit 3"), Some(3)),
        (format!("trap '' XCPU; exec sh -c '{spins}'"), None),
    ] {
        let outcome = run(ExecuteRequest { limits, ..within(&command, 60_000) }).await;
        assert_eq!((outcome.exit_code, outcome.ceiling), (code, Some(Ceiling::CpuTime)), "{command}");
    }
    let below = run(ExecuteRequest { limits, ..within("sh -c 'exit 3'", 60_000) }).await;
    assert_eq!((below.exit_code, below.ceiling), (Some(3), None));
}

/// What a process used whose parent ignores its end is added to nobody.
#[tokio::test]
async fn processor_time_of_children_that_nobody_waits_for_counts() {
    let program = "import os, signal, time\n\
                   signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
                   while True:\n    child = os.fork()\n    while child == 0 and time.process_time() < 0.5: pass\n    \
                   if child == 0: os._exit(0)\n    try: os.wait()\n    except ChildProcessError: pass";
    let limits = CommandLimits { cpu_time: Some(Duration::from_secs(1)), ..CommandLimits::default() };
    let command = format!("exec python3 -c \"{program}\"");
    let outcome = run(ExecuteRequest { limits, ..within(&command, 30_000) }).await;
    assert_eq!((outcome.ceiling, outcome.timed_out), (Some(Ceiling::CpuTime), false), "{}", outcome.stderr);
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
