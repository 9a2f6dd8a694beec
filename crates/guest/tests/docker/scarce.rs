//! Whom the kernel ends when a container's memory runs out: commands, and never our program among them.

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::backend::process::{Process, TerminalSize};
use gloveport_core::backend::{Backend, Call, CommandLimits, ExecuteRequest, TerminalRequest};

use crate::{engine, run};

/// What a process of the container says of itself.
const SCORE: &str = "cat /proc/self/oom_score_adj";
/// Of our program's two processes, the first of the container and the one that serves.
const OURS: &str = "for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline | grep -q 'guest \\(hold\\|serve\\)' && \
                    cat $each/oom_score_adj; done";

async fn said(process: Process) -> String {
    process.over().await;
    String::from_utf8(process.read(0, 1 << 10).bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_go_first_and_our_program_stays() {
    let engine = engine();
    // Raising it takes no right; the file of it may.
    for user in [None, Some("1234:1234".to_owned())] {
        let backend = DockerBackend::new(DockerOptions { user, ..engine.options() }, None).unwrap();
        let shell = backend.shell().unwrap();
        let call = Call::default();
        // The second by a supervisor that has run the first.
        for _ in 0..2 {
            assert_eq!(run(&backend, SCORE).await.stdout, "1000\n");
        }
        let request = TerminalRequest {
            command: Some(SCORE.to_owned()),
            working_directory: None,
            environment: Vec::new(),
            size: TerminalSize::new(80, 24).unwrap(),
            limits: CommandLimits::default(),
            tap: None,
        };
        assert_eq!(said(shell.open_terminal(request, &call).await.unwrap()).await, "1000\r\n");
        assert_eq!(said(shell.start(ExecuteRequest::new(SCORE), &call).await.unwrap()).await, "1000\n");
        assert_eq!(run(&backend, OURS).await.stdout, "0\n0\n");
        backend.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_a_container_without_a_guest_go_first() {
    let engine = engine();
    let options = || DockerOptions { guest: GuestProgram::default(), ..engine.options() };
    let ceilings = CommandLimits { open_files: Some(99), ..CommandLimits::default() };
    for options in [
        options(),
        DockerOptions { command_limits: ceilings, ..options() },
        DockerOptions { user: Some("1234:1234".to_owned()), ..options() },
    ] {
        let backend = DockerBackend::new(options, None).unwrap();
        let outcome = run(&backend, "cat /proc/self/oom_score_adj /proc/1/oom_score_adj; exit 7").await;
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.exit_code), ("1000\n0\n", "", Some(7)));
        backend.close().await.unwrap();
    }
}

/// The kernel ended the largest process, which was ours where the memory was no process's own, and sometimes where several commands
/// wanted it at once: every call was lost with it (`BACKEND_UNAVAILABLE`).
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fills_memory_ends_alone() {
    let engine = engine();
    let backend = DockerBackend::new(DockerOptions { memory: 64 << 20, ..engine.options() }, None).unwrap();
    run(&backend, "true").await;
    let id = backend.container_id().await;
    // A file without a name in memory: it goes with its only process, which is itself a small one.
    let fills = "exec 3>/dev/shm/file; rm /dev/shm/file; exec head -c 200000000 /dev/zero >&3";
    for _ in 0..5 {
        let outcome = run(&backend, fills).await;
        assert_eq!((outcome.signal.as_deref(), outcome.supervisor_lost), (Some("SIGKILL"), false), "{outcome:?}");
    }
    assert_eq!(run(&backend, "echo alive").await.stdout, "alive\n");
    assert_eq!(backend.container_id().await, id);
    backend.close().await.unwrap();
}
