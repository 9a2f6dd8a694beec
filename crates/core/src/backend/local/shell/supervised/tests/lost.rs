//! Supervisors that their commands stop, kill or disarm: nobody is shielded by that.

use super::*;

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
