//! Shells that are started ahead of their command: nobody can tell them from others but by the time that they take.

use super::*;

/// A runner whose supervisor holds a shell for its next command, and the numbers of both.
async fn standing_by() -> (CommandRunner, String, String) {
    let runner = runner();
    let supervisor = run_by(&runner, within("echo $PPID", 30_000)).await.stdout.trim().to_owned();
    let shell = held_by(&supervisor).await;
    (runner, supervisor, shell)
}

fn children(process: &str) -> String {
    fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap().trim().to_owned()
}

/// Waits until a supervisor at rest holds a shell that waits for its command.
async fn held_by(supervisor: &str) -> String {
    loop {
        let shell = children(supervisor);
        // The socket is its last descriptor once the library is closed.
        let is_held = !shell.is_empty()
            && fs::read_to_string(format!("/proc/{shell}/cmdline")).is_ok_and(|words| words.starts_with("/bin/sh\0"))
            && descriptors(&shell) == ["0", "1", "2", "3"];
        if is_held {
            return shell;
        }
        tokio::task::yield_now().await;
    }
}

fn descriptors(process: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).map(|entries| entries.flatten().collect::<Vec<_>>());
    let mut names: Vec<_> =
        entries.unwrap_or_default().iter().map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a command may see of itself. Numbers of processes, times and places in memory differ from one shell to the next.
const LOOKS: [&str; 24] = [
    "tr '\\0' '|' < /proc/$$/cmdline",
    "tr '\\0' '\\n' < /proc/$$/environ | grep -v '^GLOVEPORT_CALL='",
    "grep -c '^GLOVEPORT_CALL=................$' /proc/$$/environ -z",
    "env | grep -v '^GLOVEPORT_CALL='; set | grep -v '^GLOVEPORT_CALL=' | grep -v '^PPID='",
    "ls /proc/$$/fd; readlink /proc/$$/fd/0; readlink /proc/$$/fd/1 | sed 's/[0-9]//g'",
    // That of processes begins with the threads of the machine.
    "sed '/^Max processes/s/ [0-9]\\+//g' /proc/$$/limits; umask; cat /proc/self/timerslack_ns",
    // Read by itself: while it starts something else it blocks signals. `SigQ` counts what waits for all processes of the user.
    "while read -r line; do case $line in Vm*|Rss*|*ctxt*|SigQ:*|Pid:*|Tgid:*|PPid:*|NS*|State:*) ;; *) echo \"$line\" ;; esac; \
     done < /proc/$$/status",
    "readlink /proc/$$/exe /proc/$$/cwd; pwd; cat /proc/$$/comm /proc/$$/oom_score_adj /proc/$$/personality",
    "read -r stat < /proc/$$/stat; set -- ${stat##*)}; echo $(($3 - $$)) $(($4 - $$)) $5 ${16} ${17} ${36} ${38} ${39}",
    "stat -c '%U %a' /proc/$$ /proc/$$/mem",
    "ps -o sid=,pgid= -p $$ | tr -s ' ' | sed \"s/$$/own/g\"; (: < /dev/tty) 2>/dev/null || echo no terminal",
    "echo \"$0 $# $-\"; trap",
    "nonsense-that-is-no-program",
    "if",
    "echo out; echo err >&2; exit 7",
    "kill -TERM $$; sleep 300",
    "exec sleep 0",
    "cat; echo end",
    "-c",
    " # nothing",
    "sleep 300 & echo started",
    "sh -c 'sh -c \"echo deep; exit 3\"'",
    "printf '%s' \"$GIVEN|$EMPTY\"",
    "head -c 300000 /dev/zero | tr '\\0' x | wc -c",
];

#[tokio::test]
async fn a_shell_that_stood_by_is_in_nothing_different_from_one_that_is_started() {
    let request = |command: &str| ExecuteRequest {
        environment: [("GIVEN".to_owned(), "a 'b'\n=c".to_owned()), ("EMPTY".to_owned(), String::new())].into(),
        stdin: (command == "cat; echo end").then(|| b"given".to_vec()),
        limits: CommandLimits {
            open_files: Some(99),
            cpu_time: Some(Duration::from_secs(20)),
            memory_bytes: Some(1 << 30),
            ..Default::default()
        },
        ..within(command, 30_000)
    };
    let told = |outcome: ExecuteOutcome| {
        let ExecuteOutcome { stdout, stderr, exit_code, signal, timed_out, processes_left, .. } = outcome;
        (stdout, stderr, exit_code, signal, timed_out, processes_left)
    };
    for command in LOOKS {
        let (runner, _, shell) = standing_by().await;
        let held = told(run_by(&runner, request(command)).await);
        assert!(!is_alive(&shell), "it ran the command: {command}");
        assert_eq!(held, told(run(request(command)).await), "{command}");
    }
    let (runner, _, shell) = standing_by().await;
    assert_eq!(run_by(&runner, within("echo $$", 30_000)).await.stdout.trim(), shell);
}

/// What a command may use up is counted from its own start.
#[tokio::test]
async fn ceilings_and_ends_hold_for_a_shell_that_stood_by() {
    let limited = |limits, command: &str| ExecuteRequest { limits, ..within(command, 30_000) };
    let (runner, _, _) = standing_by().await;
    let cpu = CommandLimits { cpu_time: Some(Duration::from_secs(1)), ..Default::default() };
    let outcome = run_by(&runner, limited(cpu, "while :; do :; done")).await;
    assert_eq!((outcome.signal.as_deref(), outcome.ceiling), (Some("SIGXCPU"), Some(Ceiling::CpuTime)));
    let (runner, _, _) = standing_by().await;
    let processes = CommandLimits { processes: Some(20), ..Default::default() };
    let outcome = run_by(&runner, limited(processes, "bomb() { bomb | bomb & }; bomb; sleep 300")).await;
    assert_eq!(outcome.ceiling, Some(Ceiling::Processes));
    let (runner, _, _) = standing_by().await;
    let outcome = run_by(&runner, within(&format!("{DAEMON} daemon; sleep 300"), 300)).await;
    assert!(outcome.timed_out);
    wait_for_death(outcome.stdout.trim()).await;
    let (runner, _, _) = standing_by().await;
    let peak = run_by(&runner, within("true", 30_000)).await.peak_memory_bytes.unwrap();
    assert!((64 << 10..16 << 20).contains(&peak), "{peak}");
}

#[tokio::test]
async fn while_it_stands_by_a_shell_has_nothing_of_any_command() {
    let (runner, supervisor, shell) = standing_by().await;
    let words = fs::read_to_string(format!("/proc/{shell}/cmdline")).unwrap();
    assert_eq!(words, "/bin/sh\0-c\0--\0:\0");
    let environment = fs::read_to_string(format!("/proc/{shell}/environ")).unwrap();
    let mut variables: Vec<_> = environment.split_terminator('\0').collect();
    variables.dedup();
    assert_eq!(variables, ["LD_PRELOAD=/proc/self/fd/4", "_="]);
    for descriptor in ["0", "1", "2"] {
        let target = fs::read_link(format!("/proc/{shell}/fd/{descriptor}")).unwrap();
        assert_eq!(target.to_str(), Some("/dev/null"));
    }
    assert_eq!(children(&supervisor), shell, "one at a time");
    // No child of the supervisor is another's than the command's while one runs.
    let seen = run_by(&runner, within("cat /proc/$PPID/task/$PPID/children; echo $$", 30_000)).await.stdout;
    assert_eq!(seen, format!("{shell} {shell}\n"));
    let next = held_by(&supervisor).await;
    assert_ne!(next, shell);
    runner.close().await;
    assert!(!is_alive(&next) && !is_alive(&supervisor), "closing waits until both are gone");
}

#[tokio::test]
async fn what_it_cannot_be_is_started_as_ever() {
    let many = (0..200).map(|number| (format!("VARIABLE_{number}"), "x".to_owned())).collect();
    let long = format!("echo {}", "x".repeat(40_000));
    let script = format!("echo {}", "x".repeat(200_000));
    let memory = CommandLimits { memory_bytes: Some(32 << 20), ..Default::default() };
    let variable = |name: &str| [(name.to_owned(), "1".to_owned())].into();
    let requests = [
        ExecuteRequest { environment: many, ..within("echo $VARIABLE_199", 30_000) },
        ExecuteRequest { environment: variable("LD_BIND_NOW"), ..within("echo $LD_BIND_NOW", 30_000) },
        ExecuteRequest { environment: variable("MALLOC_ARENA_MAX"), ..within("echo $MALLOC_ARENA_MAX", 30_000) },
        ExecuteRequest { environment: variable("GLIBC_TUNABLES"), ..within("echo $GLIBC_TUNABLES", 30_000) },
        ExecuteRequest { limits: memory, ..within("ulimit -v", 30_000) },
        within(&long, 30_000),
        within(&script, 30_000),
    ];
    for request in requests {
        let (runner, supervisor, shell) = standing_by().await;
        let command = format!("{}; echo; echo $$", request.command);
        let outcome = run_by(&runner, ExecuteRequest { command, ..request.clone() }).await;
        let (said, own) = outcome.stdout.trim_end().rsplit_once('\n').unwrap();
        let (kept, begin) = (said.trim_end().len(), &request.command[..request.command.len().min(30)]);
        assert_eq!(outcome.exit_code, Some(0), "{begin}");
        assert!(kept > 0, "{begin}");
        assert_ne!(own, shell, "{begin}");
        assert_eq!(outcome.processes_left, None, "it is none of the command's: {begin}");
        assert!(!is_alive(&shell), "it waits for no later one: {begin}");
        // None is held for another of its kind; for others there is one again.
        let ended = Instant::now();
        while ended.elapsed() < Duration::from_millis(30) {
            assert_eq!(children(&supervisor), "", "{begin}");
            tokio::task::yield_now().await;
        }
        run_by(&runner, within("true", 30_000)).await;
        held_by(&supervisor).await;
    }
}

#[tokio::test]
async fn others_that_meddle_with_a_shell_that_stands_by_get_it_replaced() {
    let meddling = [
        ("killed", "kill -KILL"),
        ("stopped", "kill -STOP"),
        ("hung up", "kill -HUP"),
        ("with fewer open files", "prlimit --nofile=64:64 --pid"),
        ("with a smaller stack", "prlimit --stack=65536:65536 --pid"),
    ];
    for (name, meddle) in meddling {
        let (runner, supervisor, shell) = standing_by().await;
        let status = Command::new("sh").args(["-c", &format!("{meddle} {shell}")]).status().unwrap();
        assert!(status.success(), "{name}");
        let begin = Instant::now();
        let outcome = run_by(&runner, within("echo $$; ulimit -n -s", 30_000)).await;
        assert!(begin.elapsed() < Duration::from_secs(5), "{name}");
        let (own, limits) = outcome.stdout.split_once('\n').unwrap();
        assert_ne!(own, shell, "{name}");
        assert_eq!(outcome.processes_left, None, "it is none of the command's: {name}");
        assert_eq!(limits, run(within("ulimit -n -s", 30_000)).await.stdout, "{name}");
        assert!(!is_alive(&shell), "{name}");
        held_by(&supervisor).await;
    }
}

/// What a command changed in the memory of such a shell would live on in the next command.
#[tokio::test]
async fn others_of_its_user_cannot_open_a_shell_that_stands_by() {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    /// Says to this test program, started again, that it runs as an ordinary user.
    const ORDINARY: &str = "GLOVEPORT_TEST_ORDINARY";
    const NOBODY: u32 = 65_534;
    if std::env::var_os(ORDINARY).is_none() && rustix::process::geteuid().is_root() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let supervisor = folder.path().join("supervisor");
        fs::copy(program().path(), &supervisor).unwrap();
        // This test program may lie where that user may not go.
        let own = fs::File::open(std::env::current_exe().unwrap()).unwrap();
        rustix::io::fcntl_setfd(&own, rustix::io::FdFlags::empty()).unwrap();
        let name = "standby::others_of_its_user_cannot_open_a_shell_that_stands_by";
        let test = Command::new(format!("/proc/self/fd/{}", own.as_raw_fd()))
            .args([&format!("backend::local::shell::supervised::tests::{name}"), "--exact", "--nocapture"])
            .env(ORDINARY, "1")
            .env("GLOVEPORT_SUPERVISOR", &supervisor)
            .current_dir(folder.path())
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&test.stdout);
        assert!(test.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&test.stderr));
        return;
    }
    let runner = runner();
    let supervisor = run_by(&runner, within("echo $PPID", 30_000)).await.stdout.trim().to_owned();
    let refused =
        |path: &str| fs::File::open(path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
    let begin = Instant::now();
    let shell = loop {
        let shell = children(&supervisor);
        let words = fs::read_to_string(format!("/proc/{shell}/cmdline")).unwrap_or_default();
        // Before its own words are there it is its supervisor still; it is hidden a moment after that.
        if words.starts_with("/bin/sh\0") && refused(&format!("/proc/{shell}/environ")) {
            break shell;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "it can be opened");
        tokio::task::yield_now().await;
    };
    for name in ["mem", "maps", "environ", "fd"] {
        assert!(refused(&format!("/proc/{shell}/{name}")), "{name}");
    }
    // The shell of a command is one like any other. While it looks at its descriptors it holds no pipe of its own.
    let look = "echo $$; tr '\\0' '\\n' < /proc/$$/environ | grep -c ^PATH=; ls /proc/$$/fd; :";
    assert_eq!(run_by(&runner, within(look, 30_000)).await.stdout, format!("{shell}\n1\n0\n1\n2\n"));
}

#[tokio::test]
async fn a_terminal_gets_a_shell_that_stood_by() {
    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    let (runner, _, shell) = standing_by().await;
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    let launch = Launch {
        command: "tty <&1; : < /dev/tty && echo of the session; echo $$".to_owned(),
        directory: directory(),
        environment: Environment::of_host(&[]).unwrap(),
        limits: CommandLimits::default(),
        background: Background::End,
        with_stdin: false,
        terminal: Some(theirs),
        hatch: None,
        is_announced: true,
    };
    let (command, _) = runner.supervision.as_ref().unwrap().supervisors.start(&launch).await.unwrap();
    drop(launch);
    let command = command.started().await.unwrap();
    assert_eq!(command.pid().unwrap().to_string(), shell);
    let mut said = Vec::new();
    let mut buffer = [0; 1_024];
    // At the end of its last process a terminal is at fault.
    while let Ok(count @ 1..) = rustix::io::read(&ours, &mut buffer) {
        said.extend_from_slice(&buffer[..count]);
    }
    let said = String::from_utf8(said).unwrap();
    assert!(said.starts_with("/dev/pts/"), "{said}");
    assert!(said.ends_with(&format!("\r\nof the session\r\n{shell}\r\n")), "{said}");
    assert_eq!(command.end().await.unwrap().status.unwrap().code(), Some(0));
}

#[tokio::test]
async fn from_the_third_command_on_two_supervisors_take_turns() {
    let runner = runner();
    let supervisor = async || run_by(&runner, within("echo $PPID", 30_000)).await.stdout;
    let first = supervisor().await;
    assert_eq!(supervisor().await, first);
    // The second one takes as long to start as it takes.
    let mut second = supervisor().await;
    while second == first {
        second = supervisor().await;
    }
    for _ in 0..5 {
        assert_eq!([supervisor().await, supervisor().await], [first.clone(), second.clone()]);
    }
    runner.close().await;
    assert!(!is_alive(&first) && !is_alive(&second));
}

#[tokio::test]
async fn where_nothing_is_to_be_started_ahead_nothing_is() {
    let program = program().without_starting_ahead();
    let runner = CommandRunner::new(Environment::of_host(&[]).unwrap(), 1_000).with_supervisor(program);
    let supervisor = async || run_by(&runner, within("echo $PPID", 30_000)).await.stdout.trim().to_owned();
    let first = supervisor().await;
    // Ten times as long as a supervisor waits before it starts one.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(100) {
        assert_eq!(children(&first), "");
        tokio::task::yield_now().await;
    }
    for _ in 0..5 {
        assert_eq!(supervisor().await, first, "and nobody takes turns");
    }
}
