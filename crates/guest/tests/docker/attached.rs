//! Options and a container that exists: what holds from its making on is refused where it would be dropped.

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::error::ErrorKind;

use crate::{engine, run, try_run};

/// They were given to a container at its making only, and so never to one that somebody else had made.
#[tokio::test(flavor = "multi_thread")]
async fn the_variables_of_the_options_are_there_in_a_container_of_others_too() {
    let engine = engine();
    let id =
        engine.docker(&["run", "--detach", "--network=none", "--rm", "--env=MINE=no", &engine.image, "sleep", "1000"]);
    for guest in [engine.options().guest, GuestProgram::default()] {
        let options = DockerOptions {
            image: None,
            container: Some(id.clone()),
            env: [("MINE".to_owned(), "a b".to_owned())].into(),
            guest,
            ..engine.options()
        };
        let backend = DockerBackend::new(options, None).unwrap();
        assert_eq!(run(&backend, "echo \"$MINE $GIT_TERMINAL_PROMPT $PAGER\"").await.stdout, "a b 0 cat\n");
        backend.close().await.unwrap();
    }
    let options = DockerOptions { image: None, container: Some(id.clone()), pids: 7, ..engine.options() };
    let error = try_run(&DockerBackend::new(options, None).unwrap(), "true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("`pids`"), "{error}");
    engine.kill(&id);
}

/// A container that was made with capabilities was opened by options that say none, without a word.
#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_weaker_than_the_options_say_is_not_opened() {
    let engine = engine();
    let name = format!("gloveport-weaker-{}", std::process::id());
    let usual = || DockerOptions { container: Some(name.clone()), ..engine.options() };
    let weaker = || DockerOptions { capabilities: vec!["CHOWN".to_owned()], pids: 300, ..usual() };
    let made = DockerBackend::new(weaker(), None).unwrap();
    assert_eq!(run(&made, "grep CapEff /proc/self/status").await.stdout, "CapEff:\t0000000000000001\n");
    let error = try_run(&DockerBackend::new(usual(), None).unwrap(), "true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("another `pids`, `capabilities`"), "{error}");
    let same = DockerBackend::new(weaker(), None).unwrap();
    assert_eq!(run(&same, "echo same").await.stdout, "same\n");
    made.stop(true).await.unwrap();
}

/// However somebody's container is, it is used, and left running with its files.
#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_others_is_attached_to_in_any_state() {
    let engine = engine();
    for state in ["created", "exited", "paused", "running"] {
        let made = ["--network=none", &engine.image, "sh", "-c", "echo kept >/kept; sleep 1000"];
        let id = if state == "created" {
            engine.docker(&[&["create"], &made[..]].concat())
        } else {
            engine.docker(&[&["run", "--detach"], &made[..]].concat())
        };
        match state {
            "exited" => drop(engine.docker(&["kill", &id])),
            "paused" => drop(engine.docker(&["pause", &id])),
            _ => {}
        }
        let status = || engine.docker(&["inspect", "--format", "{{.State.Status}}", &id]);
        if state == "exited" {
            engine.docker(&["wait", &id]);
        }
        assert_eq!(status(), state);
        let options = DockerOptions { image: None, container: Some(id.clone()), ..engine.options() };
        let backend = DockerBackend::new(options, None).unwrap();
        assert_eq!(run(&backend, "until [ -e /kept ]; do :; done; cat /kept").await.stdout, "kept\n", "{state}");
        backend.close().await.unwrap();
        assert_eq!(status(), "running", "{state}");
        engine.docker(&["rm", "--force", &id]);
    }
}
