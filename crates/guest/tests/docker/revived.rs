//! What commands do to our own programs inside, and to what those stand on: the next call finds its way all the same, and whoever
//! ends the container ends it.

use std::sync::Arc;
use std::time::Duration;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::backend::{Backend, Call, ExecuteRequest};
use gloveport_core::error::ErrorKind;
use tokio::time::timeout;

use crate::{engine, read, run, sleeps, try_run, wait, write};

/// An engine begins programs in the container's own directory, and refused every one once that was gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_working_directory_that_was_removed_keeps_nobody_out() {
    let engine = engine();
    let backend = engine.backend();
    assert_eq!(
        try_run(&backend, "cd /; rm -rf /workspace; kill -9 -1").await.unwrap_err().kind(),
        ErrorKind::BackendUnavailable
    );
    write(&backend, "/workspace/a", b"text").await;
    assert_eq!(run(&backend, "pwd; cat a").await.stdout, "/workspace\ntext");
    backend.close().await.unwrap();

    let options = DockerOptions { guest: GuestProgram::default(), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    run(&backend, "cd /; rm -rf /workspace; echo text >/kept").await;
    assert_eq!(read(&backend, "/kept").await.unwrap(), b"text\n");
    backend.close().await.unwrap();
}

/// A process that had dropped every trace of its call outlived it, once it had killed or stopped the supervisor: the guest found nothing
/// any more, and stayed (R-DK-3). The same of one that kills the guest, until another call came.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_a_call_that_has_killed_what_watches_it() {
    let engine = engine();
    let backend = DockerBackend::new(DockerOptions { pids: 60, ..engine.options() }, None).unwrap();
    run(&backend, "true").await;
    let id = backend.container_id().await.unwrap();
    let seconds = format!("8{}", std::process::id());
    // Until it has become that: before, its environment still bears the mark of the call.
    let hidden = format!(
        "env -i setsid sleep {seconds} </dev/null >/dev/null 2>&1 & until grep -q ^sleep /proc/$!/cmdline; do :; done;"
    );
    for command in [
        format!("{hidden} kill -9 $PPID; sleep 1000"),
        format!("{hidden} kill -STOP $PPID; exit 0"),
        // Spares who asks for it: nobody but this one is left.
        format!("env -i setsid sh -c 'kill -9 -1; exec sleep {seconds}' </dev/null >/dev/null 2>&1 & sleep 1000"),
    ] {
        let mut request = ExecuteRequest::new(&command);
        // One that is stopped says nothing, and is waited for as long as it may run.
        request.timeout = Some(Duration::from_secs(5));
        let _ = backend.shell().unwrap().execute(request, &Call::default()).await;
        // Without any other call.
        wait(|| !sleeps(&seconds)).await;
        assert_eq!(run(&backend, "echo alive").await.stdout, "alive\n", "{command}");
    }
    assert_eq!(backend.container_id().await, Some(id));
    backend.close().await.unwrap();
}

/// What makes more of itself faster than anybody could look for it, and has killed the guest first: no new one had room to begin.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_that_has_killed_the_guest_ends() {
    let engine = engine();
    let backend = DockerBackend::new(DockerOptions { pids: 60, ..engine.options() }, None).unwrap();
    let bomb =
        "env -i setsid sh -c 'kill -9 -1; bomb() { bomb | bomb & }; bomb' </dev/null >/dev/null 2>&1 & sleep 1000";
    let _ = try_run(&backend, bomb).await;
    assert_eq!(run(&backend, "ps | grep -c '[b]omb'").await.stdout, "0\n");
    backend.close().await.unwrap();
}

/// A command that had killed whoever started it stayed for as long as the container.
#[tokio::test(flavor = "multi_thread")]
async fn what_outlives_the_guest_that_it_killed_ends_before_the_next_one_begins() {
    let engine = engine();
    let backend = engine.backend();
    // All but itself, from an environment that holds no mark of ours.
    let command = "(env -i /bin/setsid /bin/sh -c 'kill -9 -1; exec /bin/sleep 4321' &); sleep 1000";
    assert_eq!(try_run(&backend, command).await.unwrap_err().kind(), ErrorKind::BackendUnavailable);
    let id = backend.container_id().await.unwrap();
    assert_eq!(run(&backend, "ps | grep -c '[s]leep 4321'").await.stdout, "0\n");
    assert_eq!(backend.container_id().await, Some(id));
    backend.close().await.unwrap();
}

/// All that was said of it was that the connection was lost.
#[tokio::test(flavor = "multi_thread")]
async fn why_a_program_in_the_place_of_the_guest_does_not_begin_is_in_the_details() {
    let engine = engine();
    for (program, said) in [("#!/bin/sh\\necho it broke >&2\\nexit 3\\n", "it broke"), ("no program", "exec")] {
        let backend = engine.backend();
        let forge = format!("cd /.gloveport; printf '{program}' >new; chmod 755 new; mv new guest; kill -9 -1");
        assert_eq!(try_run(&backend, &forge).await.unwrap_err().kind(), ErrorKind::BackendUnavailable);
        let error = try_run(&backend, "true").await.unwrap_err();
        let details = error.details().unwrap().to_string();
        assert!(details.contains(said), "{error:?} {details}");
        assert!(!error.message().contains(said), "{error}");
        backend.close().await.unwrap();
    }
}

/// Each call waited a minute for what stood in the guest's place, one after the other, and the end of the container for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_in_the_place_of_the_guest_does_not_keep_the_container() {
    let engine = engine();
    let backend = Arc::new(engine.backend());
    let forge = "cd /.gloveport; printf '#!/bin/sh\\nexec sleep 5432\\n' >new; chmod 755 new; mv new guest; kill -9 -1";
    assert_eq!(try_run(&backend, forge).await.unwrap_err().kind(), ErrorKind::BackendUnavailable);
    let id = backend.container_id().await.unwrap();
    let calls = [(); 3].map(|()| {
        let backend = Arc::clone(&backend);
        tokio::spawn(async move { try_run(&backend, "true").await })
    });
    while !engine.docker(&["top", &id]).contains("sleep 5432") {
        tokio::task::yield_now().await;
    }
    timeout(Duration::from_secs(45), backend.close()).await.unwrap().unwrap();
    assert!(!engine.exists(&id));
    for call in calls {
        assert!(call.await.unwrap().is_err());
    }
}
