//! The life of containers: begun, kept, resumed, ended, swept.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::backend::{Backend, Call, ExecuteRequest};
use gloveport_core::error::ErrorKind;

use crate::{engine, read, run, try_run, wait, write};

#[tokio::test(flavor = "multi_thread")]
async fn starts_by_itself_and_leaves_nothing() {
    let engine = engine();
    let backend = engine.backend();
    assert_eq!(backend.container_id().await, None);
    assert!(!backend.health().await.unwrap().alive);
    let outcome = run(&backend, "pwd; echo oops >&2; exit 3").await;
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.exit_code),
        ("/workspace\n", "oops\n", Some(3))
    );
    let id = backend.container_id().await.unwrap();
    assert!(engine.exists(&id) && backend.health().await.unwrap().alive);
    let usage = backend.usage().await.unwrap().unwrap();
    assert!(usage.memory_bytes.unwrap() > 0 && usage.memory_limit_bytes == Some(2 << 30), "{usage:?}");
    assert!(usage.processes.unwrap() >= 2, "{usage:?}");
    backend.close().await.unwrap();
    backend.close().await.unwrap();
    assert!(!engine.exists(&id));
    assert_eq!(try_run(&backend, "true").await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_with_a_name_is_kept_and_resumed() {
    let engine = engine();
    let name = format!("gloveport-test-{}", std::process::id());
    let options = || DockerOptions { container: Some(name.clone()), ..engine.options() };
    let first = DockerBackend::new(options(), None).unwrap();
    write(&first, "/workspace/kept", b"kept").await;
    let id = first.container_id().await.unwrap();
    // A second backend on the running one, and on the paused one.
    let second = DockerBackend::new(options(), None).unwrap();
    assert_eq!(read(&second, "/workspace/kept").await.unwrap(), b"kept");
    engine.docker(&["pause", &name]);
    let third =
        DockerBackend::new(DockerOptions { image: None, container: Some(id.clone()), ..engine.options() }, None)
            .unwrap();
    assert_eq!(run(&third, "cat kept").await.stdout, "kept");
    first.close().await.unwrap();
    // Stopped, it is started again, with its files.
    assert_eq!(engine.docker(&["inspect", "--format", "{{.State.Status}}", &name]), "exited");
    let again = DockerBackend::new(options(), None).unwrap();
    assert_eq!(read(&again, "/workspace/kept").await.unwrap(), b"kept");
    again.stop(false).await.unwrap();
    assert_eq!(run(&again, "cat kept").await.stdout, "kept");
    again.stop(true).await.unwrap();
    assert!(!engine.exists(&id));
    again.stop(true).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_somebody_else_made_is_used_and_left() {
    let engine = engine();
    let id = engine.docker(&["run", "--detach", "--network=none", "--rm", &engine.image, "sleep", "1000"]);
    let options = DockerOptions { image: None, container: Some(id.clone()), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    write(&backend, "/workspace/a", b"text").await;
    assert_eq!(run(&backend, "cat a").await.stdout, "text");
    // The program that runs in it has no file any more: nobody who dies could leave it.
    assert_eq!(engine.docker(&["exec", &id, "ls", "-A", "/tmp"]), "");
    backend.close().await.unwrap();
    assert!(engine.exists(&id));
    // And as it was: nothing of ours stays in it.
    assert_eq!(engine.docker(&["exec", &id, "ls", "-A", "/tmp"]), "");
    engine.kill(&id);
    let options = DockerOptions { image: None, container: Some("no-such-container".to_owned()), ..engine.options() };
    let error = try_run(&DockerBackend::new(options, None).unwrap(), "true").await.unwrap_err();
    assert_eq!(error.message(), "Container 'no-such-container' not found. Give an image as well to have it made.");
}

/// Neither a backend that is only forgotten nor a host that dies leaves a program of ours in somebody else's container.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_elses_container_keeps_a_guest() {
    let engine = engine();
    let id = engine.docker(&["run", "--detach", "--network=none", "--rm", &engine.image, "sleep", "1000"]);
    let guests =
        || engine.docker(&["top", &id, "-eo", "pid,args"]).lines().filter(|line| line.contains("gloveport")).count();
    let backend =
        DockerBackend::new(DockerOptions { image: None, container: Some(id.clone()), ..engine.options() }, None)
            .unwrap();
    assert_eq!(run(&backend, "echo used").await.stdout, "used\n");
    assert!(guests() > 0);
    drop(backend);
    wait(|| guests() == 0).await;
    let (mut child, used) = holder(&id);
    assert_eq!(used, id);
    assert!(guests() > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    wait(|| guests() == 0).await;
    engine.kill(&id);
}

/// `docker commit` copies labels: an image of an agent's container must not make somebody's container ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_an_image_that_was_made_of_one_of_ours_is_not_ours() {
    let engine = engine();
    let backend = engine.backend();
    backend.start().await.unwrap();
    let name = format!("gloveport-copy-{}", std::process::id());
    engine.docker(&["commit", &backend.container_id().await.unwrap(), &name]);
    backend.close().await.unwrap();
    let copy =
        engine.docker(&["run", "--detach", "--network=none", "--entrypoint=sleep", "--name", &name, &name, "1000"]);
    let options = DockerOptions { image: None, container: Some(name.clone()), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    assert_eq!(run(&backend, "echo used").await.stdout, "used\n");
    backend.stop(true).await.unwrap();
    backend.stop(true).await.unwrap();
    assert_eq!(engine.docker(&["inspect", "--format", "{{.State.Status}}", &copy]), "running");
    engine.docker(&["rm", "--force", &copy]);
    engine.docker(&["rmi", &name]);
}

/// The process that makes a container and is killed, for the test below.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of a test"]
async fn child_that_holds_a_container() {
    let engine = engine();
    let name = std::env::var("GLOVEPORT_TEST_CHILD").unwrap();
    let container = Some(name).filter(|name| !name.is_empty());
    let mut options = DockerOptions { container, ..engine.options() };
    if std::env::var_os("GLOVEPORT_TEST_NO_GUEST").is_some() {
        options.guest = GuestProgram::default();
    }
    let backend = DockerBackend::new(options, None).unwrap();
    write(&backend, "/workspace/kept", b"kept").await;
    let command = std::env::var("GLOVEPORT_TEST_COMMAND").unwrap_or("sleep 1000 >/dev/null 2>&1 & true".to_owned());
    run(&backend, &command).await;
    println!("id {}", backend.container_id().await.unwrap());
    // Until it is killed.
    std::future::pending::<()>().await;
}

/// Starts this test program as another process that holds a container.
fn holder(name: &str) -> (Child, String) {
    holder_with(name, &[])
}

fn holder_with(name: &str, settings: &[(&str, &str)]) -> (Child, String) {
    use std::io::BufRead;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["life::child_that_holds_a_container", "--exact", "--ignored", "--nocapture"])
        .env("GLOVEPORT_TEST_CHILD", name)
        .envs(settings.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let id =
        lines.map_while(std::result::Result::ok).find_map(|line| Some(line.split_once("id ")?.1.to_owned())).unwrap();
    (child, id)
}

/// The same, killed.
fn killed_holder(name: &str) -> String {
    let (mut child, id) = holder(name);
    child.kill().unwrap();
    child.wait().unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_does_not_outlive_a_host_that_is_killed() {
    let engine = engine();
    let id = killed_holder("");
    engine.wait_until_gone(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_with_a_name_is_resumed_after_its_host_was_killed() {
    let engine = engine();
    let name = format!("gloveport-killed-{}", std::process::id());
    let id = killed_holder(&name);
    engine.docker(&["wait", &id]);
    let backend = DockerBackend::new(DockerOptions { container: Some(name), ..engine.options() }, None).unwrap();
    assert_eq!(read(&backend, "/workspace/kept").await.unwrap(), b"kept");
    assert_eq!(backend.container_id().await.as_deref(), Some(id.as_str()));
    backend.stop(true).await.unwrap();
    assert!(!engine.exists(&id));
}

/// Without a guest the first process is a shell, whose input a command can hold open past the host that held it: then whoever of this
/// machine comes next ends the container.
#[tokio::test(flavor = "multi_thread")]
async fn a_container_without_a_guest_that_a_command_keeps_is_swept() {
    let engine = engine();
    let hold = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -q '^sh -c while read' && first=$p; done; \
                (exec 3>$first/fd/0; exec env -i sleep 1000) >/dev/null 2>&1 </dev/null & \
                until grep -q ^sleep /proc/$!/cmdline || ! kill -0 $!; do :; done";
    let (mut child, id) = holder_with("", &[("GLOVEPORT_TEST_NO_GUEST", "1"), ("GLOVEPORT_TEST_COMMAND", hold)]);
    assert!(engine.docker(&["top", &id]).contains("sleep 1000"));
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut other, _) = holder("");
    engine.wait_until_gone(&id);
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_takes_what_the_dead_left_and_nothing_else() {
    let engine = engine();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let place = format!("{} {}", boot.trim(), namespace.display());
    // As they are made: the name says the session, too.
    let count = std::cell::Cell::new(0);
    let made = |owner: &str, remove: &str| {
        count.set(count.get() + 1);
        let session = format!("{}x{}", std::process::id(), count.get());
        let name = format!("--name=gloveport-{session}");
        let session = format!("dev.gloveport.session={session}");
        let owner = format!("dev.gloveport.owner={owner}");
        let remove = format!("dev.gloveport.remove={remove}");
        let labels = ["--label", &session, "--label", &owner, "--label", &remove, "--network=none", &name];
        engine.docker(&[&["create"], &labels[..], &[&engine.image, "true"]].concat())
    };
    let dead = made(&format!("{place} 4194304 1"), "true");
    let named = made(&format!("{place} 4194304 1"), "false");
    let elsewhere = made("another-machine pid:[1] 4194304 1", "true");
    let foreign = engine.docker(&["create", "--network=none", &engine.image, "true"]);
    // A process sweeps once, and nobody waits for that: another one, of whose first start this is sure.
    let (mut other, id) = holder("");
    engine.wait_until_gone(&dead);
    for kept in [&named, &elsewhere, &foreign] {
        assert!(engine.exists(kept));
        engine.docker(&["rm", kept]);
    }
    other.kill().unwrap();
    other.wait().unwrap();
    engine.wait_until_gone(&id);
}

/// Sends once, from wherever it is called first.
fn once(sender: tokio::sync::oneshot::Sender<()>) -> impl Fn() + Send + Sync {
    let sender = std::sync::Mutex::new(Some(sender));
    move || {
        if let Some(sender) = sender.lock().unwrap().take() {
            let _ = sender.send(());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_container_is_stopped_and_a_busy_one_is_not() {
    let engine = engine();
    let options = DockerOptions { idle_timeout: Some(Duration::from_secs(1)), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let begun = once(begun);
    let mut request = ExecuteRequest::new("echo begun; sleep 2; echo done");
    request.on_output = Some(Arc::new(move |_| begun()));
    let call = Call::default();
    let looked = async {
        has_begun.await.unwrap();
        backend.container_id().await.unwrap()
    };
    // Longer than the idle timeout, and still no idleness.
    let (outcome, id) = tokio::join!(backend.shell().unwrap().execute(request, &call), looked);
    assert_eq!(outcome.unwrap().stdout, "begun\ndone\n");
    engine.wait_until_gone(&id);
    assert_eq!(try_run(&backend, "true").await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_ends_is_an_error_and_not_a_new_empty_one() {
    let engine = engine();
    let backend = engine.backend();
    backend.start().await.unwrap();
    let id = backend.container_id().await.unwrap();
    engine.kill(&id);
    let error = try_run(&backend, "true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
    assert!(error.message().contains("its files are gone"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_containers_at_once_are_not_mixed_up_and_none_is_left() {
    let engine = engine();
    let mut tasks = Vec::new();
    for n in 0..50 {
        let backend = engine.backend();
        tasks.push(tokio::spawn(async move {
            write(&backend, "/workspace/number", n.to_string().as_bytes()).await;
            let outcome = run(&backend, "cat number; ls | wc -l").await;
            assert_eq!(outcome.stdout, format!("{n}1\n"));
            let id = backend.container_id().await.unwrap();
            backend.close().await.unwrap();
            id
        }));
    }
    let mut ids = std::collections::HashSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap());
    }
    assert_eq!(ids.len(), 50);
    let left = engine.docker(&["ps", "--all", "--quiet", "--no-trunc"]);
    assert!(!left.lines().any(|id| ids.contains(id)), "{left}");
}
