//! Commands and files of a container: one and the same, bounded and ended.

use std::sync::Arc;
use std::time::Duration;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::backend::{Backend, Background, Call, Ceiling, CommandLimits, ExecuteRequest};
use gloveport_core::cancel::CancelToken;
use gloveport_core::error::ErrorKind;
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};

use crate::{engine, read, run, write};

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_files_see_the_same() {
    let engine = engine();
    let backend = engine.backend();
    write(&backend, "/workspace/a/b.txt", b"one\r\ntwo\r\n\xff").await;
    let outcome =
        run(&backend, "cat a/b.txt | od -An -c | tr -d ' \\n'; chmod 750 a/b.txt; ls -l a/b.txt | cut -c1-10").await;
    assert_eq!(outcome.stdout, "one\\r\\ntwo\\r\\n377-rwxr-x---\n");
    // What is new may be read by everybody (BE-124).
    write(&backend, "/workspace/a/new", b"").await;
    assert_eq!(run(&backend, "ls -l a/new | cut -c1-10").await.stdout, "-rw-r--r--\n");
    // An edit keeps the mode (D30).
    write(&backend, "/workspace/a/b.txt", b"changed").await;
    assert_eq!(run(&backend, "ls -l a/b.txt | cut -c1-10").await.stdout, "-rwxr-x---\n");
    run(&backend, "printf made > /etc/made").await;
    assert_eq!(read(&backend, "/etc/made").await.unwrap(), b"made");
    // A file that is larger than one frame of any pipe.
    let large = vec![b'x'; 20 << 20];
    write(&backend, "/workspace/large", &large).await;
    assert_eq!(run(&backend, "wc -c < large").await.stdout.trim(), (20 << 20).to_string());
    assert_eq!(read(&backend, "/workspace/large").await.unwrap().len(), 20 << 20);
    // A pipe is no file, and nobody waits for it.
    run(&backend, "mkfifo pipe").await;
    assert_eq!(read(&backend, "/workspace/pipe").await.unwrap_err().kind(), ErrorKind::NotAFile);
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn time_and_abort_end_the_whole_tree_inside() {
    let engine = engine();
    let backend = engine.backend();
    run(&backend, "true").await;
    let mut request = ExecuteRequest::new("echo before; (sleep 1000 & setsid sleep 1001 & wait)");
    // Long enough for a machine that does much else to print first.
    request.timeout = Some(Duration::from_secs(3));
    let outcome = backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.timed_out), ("before\n", true));
    assert_eq!(run(&backend, "ps | grep -c '[s]leep 100'").await.stdout, "0\n");

    let token = CancelToken::new();
    let mut call = Call::default();
    call.deadline.cancel = token.clone();
    let mut request = ExecuteRequest::new("echo before; sleep 1000");
    request.on_output = Some(Arc::new(move |_| token.cancel()));
    let outcome = backend.shell().unwrap().execute(request, &call).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.aborted), ("before\n", true));
    assert_eq!(run(&backend, "ps | grep -c '[s]leep 100'").await.stdout, "0\n");
    // What is left behind is ended with its command.
    let outcome = run(&backend, "sleep 1000 & echo done").await;
    assert_eq!((outcome.stdout.as_str(), outcome.processes_left), ("done\n", Some(1)));
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_bounded_where_it_arises() {
    let engine = engine();
    let backend = engine.backend();
    let outcome = run(&backend, "yes 0123456789 | head -c 50000000; echo end").await;
    assert!(outcome.truncated && outcome.stdout.len() < 200_000, "{}", outcome.stdout.len());
    assert!(outcome.stdout.ends_with("end\n"));
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mounts_are_the_agents_paths_in_both_ways() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let mounts = vec![Mount::new("project", "/work").read_write(), Mount::new("reference", "/work/reference")];
    let sandbox = Sandbox::new(mounts, folder.path()).unwrap();
    std::fs::write(folder.path().join("reference/r.txt"), "read me").unwrap();
    let backend = DockerBackend::new(DockerOptions { sandbox: Some(sandbox), ..engine.options() }, None).unwrap();
    write(&backend, "/work/a.txt", b"from outside").await;
    let outcome =
        run(&backend, "pwd; cat a.txt; cat reference/r.txt; echo inside > b.txt; echo x > reference/no").await;
    assert_eq!(outcome.stdout, "/work\nfrom outsideread me");
    assert!(outcome.stderr.contains("Read-only file system"), "{}", outcome.stderr);
    assert_eq!(read(&backend, "/work/b.txt").await.unwrap(), b"inside\n");
    assert_eq!(read(&backend, "/etc/hostname").await.unwrap_err().kind(), ErrorKind::PathNotInSandbox);
    // A link that a command makes leads nowhere.
    run(&backend, "ln -s /etc/hostname link; ln -s ../../../../etc/passwd up").await;
    for link in ["/work/link", "/work/up"] {
        assert_eq!(read(&backend, link).await.unwrap_err().kind(), ErrorKind::PathNotInSandbox);
    }
    backend.close().await.unwrap();
    assert_eq!(std::fs::read(folder.path().join("project/b.txt")).unwrap(), b"inside\n");
}

/// Processes whose parents are gone were left unburied by a first process that does not wait for them (22).
#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_buried() {
    let engine = engine();
    let backend = engine.backend();
    run(&backend, "true").await;
    let id = backend.container_id().await.unwrap();
    engine.docker(&["exec", &id, "sh", "-c", "for n in 1 2 3 4 5; do (sleep 0.2 &); done"]);
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    // What has ended and was not waited for is still listed.
    while run(&backend, "ps -o stat,args | grep -c '[s]leep'").await.stdout != "0\n" {
        assert!(std::time::Instant::now() < deadline, "{}", run(&backend, "ps -o stat,args").await.stdout);
    }
    backend.close().await.unwrap();
}

/// What the contract of commands says besides: what one reads, where and with what it runs, what ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_inside_has_its_input_its_place_its_variables_and_its_ceilings() {
    let engine = engine();
    let backend = engine.backend();
    let shell = backend.shell().unwrap();
    let call = Call::default();
    run(&backend, "mkdir -p deep/down").await;
    let mut request = ExecuteRequest::new("wc -c; pwd; echo \"$A $B\"; printf 'a\\377b\\n'");
    request.stdin = Some(vec![b'x'; 300_000]);
    request.working_directory = Some(VirtualPath::absolute("/workspace/deep/down").unwrap());
    request.environment = vec![("A".to_owned(), "it's".to_owned()), ("B".to_owned(), "$A".to_owned())];
    let outcome = shell.execute(request, &call).await.unwrap();
    assert_eq!(outcome.stdout, "300000\n/workspace/deep/down\nit's $A\na\u{FFFD}b\n");
    // By which signal one ended, and by whose hand.
    let outcome = run(&backend, "kill -SEGV $$").await;
    assert_eq!((outcome.exit_code, outcome.signal.as_deref()), (None, Some("SIGSEGV")), "{outcome:?}");
    let mut request = ExecuteRequest::new("n=0; while [ $n -lt 30 ]; do sleep 100 & n=$((n+1)); done; wait");
    request.limits.processes = Some(10);
    let outcome = shell.execute(request, &call).await.unwrap();
    assert_eq!(outcome.ceiling, Some(Ceiling::Processes), "{outcome:?}");
    let mut request = ExecuteRequest::new("head -c 3000000 /dev/zero >big; wc -c <big; ulimit -n; while :; do :; done");
    request.limits.file_bytes = Some(1 << 20);
    request.limits.open_files = Some(99);
    request.limits.cpu_time = Some(Duration::from_secs(1));
    request.timeout = Some(Duration::from_secs(60));
    let outcome = shell.execute(request, &call).await.unwrap();
    assert_eq!(outcome.stdout, "1048576\n99\n");
    assert_eq!((outcome.signal.as_deref(), outcome.timed_out), (Some("SIGXCPU"), false), "{outcome:?}");
    // What is to stay stays, until the container is gone.
    let mut request = ExecuteRequest::new("sleep 1234 >/dev/null 2>&1 & echo left");
    request.background = Background::Keep;
    assert_eq!(shell.execute(request, &call).await.unwrap().stdout, "left\n");
    assert_eq!(run(&backend, "ps | grep -c '[s]leep 1234'").await.stdout, "1\n");
    backend.close().await.unwrap();
}

/// They held on this machine only.
#[tokio::test(flavor = "multi_thread")]
async fn ceilings_of_a_container_hold_for_every_command() {
    let engine = engine();
    let mut options = engine.options();
    options.command_limits = CommandLimits {
        memory_bytes: Some(256 << 20),
        processes: Some(10),
        file_bytes: Some(1 << 20),
        open_files: Some(99),
        cpu_time: Some(Duration::from_secs(50)),
    };
    let backend = DockerBackend::new(options, None).unwrap();
    let look = "ulimit -n; ulimit -f; ulimit -v; ulimit -t";
    let held = "99\n2048\n262144\n50\n";
    assert_eq!(run(&backend, look).await.stdout, held);
    let shell = backend.shell().unwrap();
    let process = shell.start(ExecuteRequest::new(look), &Call::default()).await.unwrap();
    assert_eq!(process.over().await.stdout, held);
    let outcome = run(&backend, "n=0; while [ $n -lt 30 ]; do sleep 100 & n=$((n+1)); done; wait").await;
    assert_eq!(outcome.ceiling, Some(Ceiling::Processes), "{outcome:?}");
    // What a command asks for can only be lower.
    let mut request = ExecuteRequest::new("ulimit -n; ulimit -f");
    request.limits = CommandLimits { open_files: Some(50), file_bytes: Some(1 << 30), ..CommandLimits::default() };
    assert_eq!(shell.execute(request, &Call::default()).await.unwrap().stdout, "50\n2048\n");
    backend.close().await.unwrap();
}

/// One process gets no more than the ceiling, and all of a command together neither; the container's own bound is far away.
#[tokio::test(flavor = "multi_thread")]
async fn a_ceiling_on_memory_bites_its_command_and_nobody_else() {
    let engine = engine();
    let backend = engine.backend();
    let shell = backend.shell().unwrap();
    let beside = shell.start(ExecuteRequest::new("read line; echo \"beside $line\""), &Call::default()).await.unwrap();
    // One that asks for too much is refused it. Of three that may have as much as they ask for, each holds that until it is read.
    let alone = "head -c 200000000 /dev/zero | tail -c 199999999 >/dev/null && echo through";
    let together = "for n in 1 2 3; do (head -c 60000000 /dev/zero | tail -c 59999999 | sleep 1000) & done; wait";
    for (command, ceiling) in [(alone, None), (together, Some(Ceiling::Memory))] {
        let mut request = ExecuteRequest::new(command);
        request.limits.memory_bytes = Some(100 << 20);
        request.timeout = Some(Duration::from_secs(60));
        let outcome = shell.execute(request, &Call::default()).await.unwrap();
        assert_eq!((outcome.ceiling, outcome.timed_out), (ceiling, false), "{outcome:?}");
        assert_eq!(outcome.stdout, "");
        assert_eq!(outcome.stderr.contains("out of memory"), ceiling.is_none(), "{outcome:?}");
    }
    // It was the ceiling.
    assert_eq!(run(&backend, alone).await.stdout, "through\n");
    beside.write(b"lives\n", &Call::default().deadline).await.unwrap();
    assert_eq!(beside.over().await.stdout, "beside lives\n");
    backend.close().await.unwrap();
}

/// Where a command runs is a path like any other (R-SH-9): with mounts it is one of them, and no link in them leads out.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_begins_within_the_mounts() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    for place in ["project/sub", "other"] {
        std::fs::create_dir_all(folder.path().join(place)).unwrap();
    }
    std::os::unix::fs::symlink("/etc", folder.path().join("project/link")).unwrap();
    let mounts = vec![Mount::new("project", "/work").read_write(), Mount::new("other", "/other")];
    let sandbox = Sandbox::new(mounts, folder.path()).unwrap();
    for guest in [engine.options().guest, GuestProgram::default()] {
        let options = DockerOptions { sandbox: Some(sandbox.clone()), guest, ..engine.options() };
        let backend = DockerBackend::new(options, None).unwrap();
        // Relative paths are the same files to commands and to file tools.
        assert_eq!(backend.files().working_directory().as_str(), "/work");
        for (place, answer) in [
            ("/work/sub", Ok("/work/sub\n")),
            ("/other", Ok("/other\n")),
            (
                "/etc",
                Err((
                    ErrorKind::PathNotInSandbox,
                    "'/etc' is outside the sandbox. Paths that can be read: /other, /work.",
                )),
            ),
            (
                "/work/link",
                Err((
                    ErrorKind::PathNotInSandbox,
                    "'/work/link' is outside the sandbox. Paths that can be read: /other, /work.",
                )),
            ),
            ("/work/missing", Err((ErrorKind::FileNotFound, "'/work/missing' does not exist."))),
        ] {
            let mut request = ExecuteRequest::new("pwd");
            request.working_directory = Some(VirtualPath::absolute(place).unwrap());
            let said = backend.shell().unwrap().execute(request, &Call::default()).await;
            let said = said.map(|outcome| outcome.stdout).map_err(|error| (error.kind(), error.message().to_owned()));
            assert_eq!(said, answer.map(str::to_owned).map_err(|(kind, text)| (kind, text.to_owned())), "{place}");
        }
        backend.close().await.unwrap();
    }
}
