//! Containers that take no program of ours, served through their shells.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram, Notices};
use gloveport_core::backend::{Backend, Call, CommandLimits, ExecuteRequest};
use gloveport_core::error::ErrorKind;
use gloveport_core::path::VirtualPath;

use crate::{Engine, engine, read, run, write};

/// As on an engine with a processor that there is no guest for.
fn without_guest(engine: &Engine) -> DockerBackend {
    DockerBackend::new(DockerOptions { guest: GuestProgram::default(), ..engine.options() }, None).unwrap()
}

/// The whole contract over a shell runs in core, where a command takes a hundredth of this time.
#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_container_without_a_guest_are_used_through_its_shell() {
    let engine = engine();
    let options =
        DockerOptions { guest: GuestProgram::default(), capabilities: vec!["CHOWN".to_owned()], ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    let content: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    write(&backend, "/workspace/d/it's -rf $(id).bin", &content).await;
    assert_eq!(read(&backend, "/workspace/d/it's -rf $(id).bin").await.unwrap(), content);
    write(&backend, "/workspace/d/a.txt", b"one\r\nneedle\r\n").await;
    run(&backend, "chmod 750 d/a.txt").await;
    write(&backend, "/workspace/d/a.txt", b"two\r\nneedle\r\n").await;
    assert_eq!(run(&backend, "ls -l d/a.txt | cut -c1-10; tail -n 1 d/a.txt").await.stdout, "-rwxr-x---\nneedle\r\n");
    // Somebody else's stays theirs.
    run(&backend, "chown 1234:1235 d/a.txt").await;
    write(&backend, "/workspace/d/a.txt", b"three\n").await;
    assert_eq!(run(&backend, "stat -c '%a %u:%g %s' d/a.txt").await.stdout, "750 1234:1235 6\n");
    let listed = backend.files().list(&VirtualPath::absolute("/workspace/d").unwrap(), 1, &Call::default()).await;
    let names: Vec<_> = listed.unwrap().entries.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a.txt", "it's -rf $(id).bin"]);
    let error = read(&backend, "/workspace/missing").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileNotFound);
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_without_a_guest_are_told_apart_bounded_and_ended() {
    let engine = engine();
    let backend = without_guest(&engine);
    let outcome = run(&backend, "pwd; echo oops >&2; exit 3").await;
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.exit_code),
        ("/workspace\n", "oops\n", Some(3))
    );
    let mut request = ExecuteRequest::new("cat; echo \"$A\"");
    request.stdin = Some(vec![b'x'; 300_000]);
    request.environment = vec![("A".to_owned(), "it's".to_owned())];
    let outcome = backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
    assert!(outcome.truncated && outcome.stdout.ends_with("xit's\n"), "{}", outcome.stdout.len());
    // What is left behind is ended with its command, and the whole tree when the time is over (R-DK-3).
    run(&backend, "sleep 1000 >/dev/null 2>&1 & setsid sleep 1001 >/dev/null 2>&1 & echo done").await;
    assert_eq!(run(&backend, "ps | grep -c '[s]leep 100'").await.stdout, "0\n");
    let mut request = ExecuteRequest::new("echo before; (sleep 1000 & setsid sleep 1001 & wait)");
    // Long enough for a machine that does much else to print first.
    request.timeout = Some(Duration::from_secs(4));
    let outcome = backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.timed_out), ("before\n", true));
    assert_eq!(run(&backend, "ps | grep -c '[s]leep 100'").await.stdout, "0\n");
    let error = backend.shell().unwrap().start(ExecuteRequest::new("true"), &Call::default()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let id = backend.container_id().await.unwrap();
    backend.close().await.unwrap();
    assert!(!engine.exists(&id));
}

/// Every directory of somebody else's container may forbid programs.
#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_runs_no_new_program_is_used_all_the_same() {
    let engine = engine();
    let id = engine.docker(&[
        "run",
        "--detach",
        "--network=none",
        "--rm",
        "--read-only",
        "--tmpfs=/tmp:noexec",
        "--tmpfs=/workspace:noexec",
        &engine.image,
        "sleep",
        "1000",
    ]);
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let notices = Notices::to(Arc::new(move |text: &str| heard.lock().unwrap().push(text.to_owned())));
    let options = DockerOptions { image: None, container: Some(id.clone()), notices, ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    write(&backend, "/workspace/a", b"text").await;
    assert_eq!(run(&backend, "cat a").await.stdout, "text");
    assert_eq!(read(&backend, "/workspace/a").await.unwrap(), b"text");
    // Once, and not at each call.
    let said = said.lock().unwrap().join("|");
    assert!(said.starts_with("The container takes no program:") && !said.contains('|'), "{said}");
    backend.close().await.unwrap();
    assert!(engine.exists(&id));
    engine.kill(&id);
}

/// A shell bounds files, and what it cannot bound is refused rather than run without.
#[tokio::test(flavor = "multi_thread")]
async fn commands_without_a_guest_are_held_to_ceilings_on_files_and_to_no_others() {
    let engine = engine();
    let file_bytes = Some(1_000_000);
    let command_limits = CommandLimits { file_bytes, open_files: Some(99), ..CommandLimits::default() };
    let options = || DockerOptions { guest: GuestProgram::default(), command_limits, ..engine.options() };
    let backend = DockerBackend::new(options(), None).unwrap();
    let shell = backend.shell().unwrap();
    let outcome = run(&backend, "ulimit -n; ulimit -H -n; head -c 3000000 /dev/zero >big; wc -c <big; exit 7").await;
    // 1,954 blocks of 512 bytes.
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("99\n99\n1000448\n", Some(7)));
    let mut request = ExecuteRequest::new("ulimit -n; ulimit -f");
    request.limits = CommandLimits { open_files: Some(50), file_bytes: Some(1 << 30), ..CommandLimits::default() };
    assert_eq!(shell.execute(request, &Call::default()).await.unwrap().stdout, "50\n1954\n");
    // The files of the tools are no command's.
    write(&backend, "/workspace/large", &vec![b'x'; 2_000_000]).await;
    assert_eq!(read(&backend, "/workspace/large").await.unwrap().len(), 2_000_000);
    for limits in [
        CommandLimits { memory_bytes: Some(1 << 30), ..CommandLimits::default() },
        CommandLimits { cpu_time: Some(Duration::from_secs(9)), ..CommandLimits::default() },
        CommandLimits { processes: Some(9), ..CommandLimits::default() },
    ] {
        let request = ExecuteRequest { limits, ..ExecuteRequest::new("true") };
        let error = shell.execute(request, &Call::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("`fileBytes` and `openFiles`"), "{error}");
    }
    backend.close().await.unwrap();
}
