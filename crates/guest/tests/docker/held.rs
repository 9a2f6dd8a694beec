//! Who holds a container: its first process's input is nobody else's, and only whoever holds it ends it.

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions};

use crate::{engine, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_cannot_hold_the_container_in_our_place() {
    let engine = engine();
    let backend = engine.backend();
    // An end of that pipe for writing would keep the first process from ever seeing our end.
    for way in [">", "<"] {
        let command = format!("(exec 3{way}/proc/1/fd/0) 2>/dev/null && echo open || echo no");
        assert_eq!(run(&backend, &command).await.stdout, "no\n", "{way}");
    }
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_was_only_attached_does_not_end_what_another_one_holds() {
    let engine = engine();
    let name = format!("gloveport-held-{}", std::process::id());
    let options = || DockerOptions { container: Some(name.clone()), ..engine.options() };
    let first = DockerBackend::new(options(), None).unwrap();
    first.start().await.unwrap();
    let second = DockerBackend::new(options(), None).unwrap();
    assert_eq!(run(&second, "echo two").await.stdout, "two\n");
    second.close().await.unwrap();
    assert_eq!(run(&first, "echo one").await.stdout, "one\n");
    assert_eq!(engine.docker(&["inspect", "--format", "{{.State.Status}}", &name]), "running");
    first.stop(true).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_resume_the_same_one_at_once_put_the_guest_into_it_once() {
    let engine = engine();
    let name = format!("gloveport-twice-{}", std::process::id());
    let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let begun = clock();
    let options = || DockerOptions { container: Some(name.clone()), ..engine.options() };
    let made = DockerBackend::new(options(), None).unwrap();
    made.start().await.unwrap();
    made.stop(false).await.unwrap();
    let [one, two] = [(); 2].map(|()| DockerBackend::new(options(), None).unwrap());
    let (first, second) = tokio::join!(run(&one, "echo one"), run(&two, "echo two"));
    assert_eq!((first.stdout.as_str(), second.stdout.as_str()), ("one\n", "two\n"));
    // At its making, and at the one time that it was still: the engine tells of each.
    let (begun, now) = (begun.to_string(), (clock() + 1).to_string());
    let uploads = ["--filter=event=extract-to-dir", "--format={{.Action}}", "--filter", &format!("container={name}")];
    let uploads = engine.docker(&[&["events", "--since", &begun, "--until", &now], &uploads[..]].concat());
    assert_eq!(uploads.lines().count(), 2, "{uploads}");
    one.stop(true).await.unwrap();
}
