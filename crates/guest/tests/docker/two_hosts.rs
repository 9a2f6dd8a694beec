//! Two processes of this machine that use the same container: neither is mixed up with the other, hurt by its end, or left with its
//! remains (R-DK-4).

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::error::ErrorKind;

use crate::{Engine, engine, run, try_run, wait, write};

/// The other process: runs each line that it reads in the container, and says what came of it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of a test"]
async fn child_that_runs_what_it_is_told() {
    let engine = engine();
    let container = Some(std::env::var("GLOVEPORT_TEST_CHILD").unwrap());
    let backend = DockerBackend::new(DockerOptions { container, ..engine.options() }, None).unwrap();
    println!("\nready");
    loop {
        let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await.unwrap();
        let Some(Ok(line)) = line else { break };
        match try_run(&backend, &line).await {
            Ok(outcome) => println!("said {}", outcome.stdout.trim_end()),
            Err(error) => println!("said {}", error.kind().code()),
        }
    }
    backend.close().await.unwrap();
    println!("closed");
}

struct Other {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn new(container: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["two_hosts::child_that_runs_what_it_is_told", "--exact", "--ignored", "--nocapture"])
            .env("GLOVEPORT_TEST_CHILD", container)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut other = Self { child, lines };
        other.until("ready");
        other
    }

    /// The rest of the next line that begins like this.
    fn until(&mut self, begin: &str) -> String {
        self.lines.find_map(|line| Some(line.unwrap().strip_prefix(begin)?.trim().to_owned())).unwrap()
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{command}").unwrap();
    }

    fn run(&mut self, command: &str) -> String {
        self.tell(command);
        self.until("said")
    }

    /// As an application that ends.
    fn close(mut self) {
        drop(self.child.stdin.take());
        self.until("closed");
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What the engine tells of a container that runs, from its beginning.
struct Uploads<'a> {
    engine: &'a Engine,
    id: &'a str,
    events: Child,
    lines: Lines<BufReader<ChildStdout>>,
    count: usize,
    looks: usize,
}

impl<'a> Uploads<'a> {
    fn of(engine: &'a Engine, id: &'a str) -> Self {
        let created = engine.docker(&["inspect", "--format={{.Created}}", id]);
        let filter = format!("container={id}");
        let mut events = Command::new("docker")
            .args(["--host", &engine.host, "events", "--format={{.Action}}", "--since", &created, "--filter", &filter])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(events.stdout.take().unwrap()).lines();
        Self { engine, id, events, lines, count: 0, looks: 0 }
    }

    /// How often something was put into it until now: all that the engine tells until it tells of this look.
    fn so_far(&mut self) -> usize {
        self.looks += 1;
        let look = format!("look-{}", self.looks);
        self.engine.docker(&["exec", self.id, "echo", &look]);
        let end = format!("exec_create: echo {look}");
        let told = self.lines.by_ref().map(Result::unwrap).take_while(|line| line.trim_end() != end);
        self.count += told.filter(|line| line == "extract-to-dir").count();
        self.count
    }
}

impl Drop for Uploads<'_> {
    fn drop(&mut self) {
        let _ = self.events.kill();
        let _ = self.events.wait();
    }
}

/// How many guests run in a container, and what of them lies in it.
fn remains(engine: &Engine, id: &str) -> (usize, String) {
    let running = engine.docker(&["top", id, "-eo", "pid,args"]);
    let running = running.lines().filter(|line| line.contains("gloveport-guest") && line.contains(" serve")).count();
    let look = "ls -A / /tmp /var/tmp /run /dev/shm 2>/dev/null | grep glove; true";
    (running, engine.docker(&["exec", id, "sh", "-c", look]))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_in_a_container_of_others_work_side_by_side_whoever_ends() {
    let engine = engine();
    let id = engine.docker(&["run", "--detach", "--network=none", "--rm", &engine.image, "sleep", "1000"]);
    let options = || DockerOptions { image: None, container: Some(id.clone()), ..engine.options() };
    let ours = DockerBackend::new(options(), None).unwrap();
    let (mut closed, mut killed) = (Other::new(&id), Other::new(&id));
    // All three begin at once.
    closed.tell("echo closed $$ > /closed; cat /closed");
    killed.tell("echo killed $$ > /killed; cat /killed");
    write(&ours, "/ours", b"ours").await;
    assert!(closed.until("said").starts_with("closed "));
    assert!(killed.until("said").starts_with("killed "));
    assert_eq!(run(&ours, "cat /ours; cut -d' ' -f1 /closed /killed").await.stdout, "oursclosed\nkilled\n");
    let (running, files) = remains(&engine, &id);
    assert_eq!((running, files.as_str()), (3, ""));
    // What runs in the background of one has nothing to do with the others.
    let slow = tokio::spawn(async move {
        let outcome = run(&ours, "echo begun > /begun; while [ ! -e /end ]; do sleep 0.1; done; echo ended").await;
        (ours, outcome.stdout)
    });
    closed.run("while [ ! -e /begun ]; do sleep 0.1; done");
    killed.tell("touch /in; sleep 1000");
    closed.run("while [ ! -e /in ]; do sleep 0.1; done");
    killed.kill();
    // The container's own process sleeps as well.
    assert_eq!(closed.run("while [ $(ps | grep -c '[s]leep 1000$') -gt 1 ]; do :; done; echo alone"), "alone");
    closed.run("touch /end");
    closed.close();
    let (ours, said) = slow.await.unwrap();
    assert_eq!((said.as_str(), run(&ours, "cat /ours").await.stdout.as_str()), ("ended\n", "ours"));
    // Nobody waits for the end of a guest that has nothing left to do.
    wait(|| remains(&engine, &id) == (1, String::new())).await;
    // A guest that a command ends begins again, though its file is gone.
    assert!(
        try_run(&ours, "kill -9 $(ps | grep '[g]loveport-guest' | while read -r pid rest; do echo $pid; done)")
            .await
            .is_err()
    );
    assert_eq!(run(&ours, "cat /ours").await.stdout, "ours");
    ours.close().await.unwrap();
    wait(|| remains(&engine, &id) == (0, String::new())).await;
    engine.kill(&id);
}

/// Each host knew only what it did itself: two that found the same container still both put the guest into it, the second while commands
/// of the first ran.
#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_that_resume_the_same_container_at_once_put_the_guest_into_it_once() {
    let engine = engine();
    let name = format!("gloveport-hosts-{}", std::process::id());
    let made = DockerBackend::new(DockerOptions { container: Some(name.clone()), ..engine.options() }, None).unwrap();
    made.start().await.unwrap();
    let id = made.container_id().await.unwrap();
    let mut uploads = Uploads::of(&engine, &id);
    assert_eq!(uploads.so_far(), 1);
    made.stop(false).await.unwrap();
    for round in 1..=3 {
        let mut hosts = [Other::new(&name), Other::new(&name)];
        for (number, host) in hosts.iter_mut().enumerate() {
            host.tell(&format!("echo {number}"));
        }
        for (number, host) in hosts.iter_mut().enumerate() {
            assert_eq!(host.until("said"), number.to_string());
        }
        assert_eq!(uploads.so_far(), 1 + round);
        // Whichever held it.
        for host in hosts {
            host.kill();
        }
        engine.docker(&["wait", &id]);
    }
    made.stop(true).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_with_a_name_goes_on_for_the_second_host_when_the_first_is_killed() {
    let engine = engine();
    let name = format!("gloveport-second-{}", std::process::id());
    let mut first = Other::new(&name);
    assert_eq!(first.run("echo kept > /workspace/kept; echo done"), "done");
    let second = DockerBackend::new(DockerOptions { container: Some(name.clone()), ..engine.options() }, None).unwrap();
    assert_eq!(run(&second, "cat kept").await.stdout, "kept\n");
    let id = second.container_id().await.unwrap();
    first.kill();
    // Its end takes what runs in it along, and the next call brings it up again, with its files.
    engine.docker(&["wait", &id]);
    let mut after = try_run(&second, "cat kept").await;
    while let Err(error) = &after {
        assert_eq!(error.kind(), ErrorKind::BackendUnavailable, "{error}");
        after = try_run(&second, "cat kept").await;
    }
    assert_eq!(after.unwrap().stdout, "kept\n");
    assert_eq!(second.container_id().await.as_deref(), Some(id.as_str()));
    // Now the second one holds it: a third that comes and is killed changes nothing.
    let mut third = Other::new(&name);
    assert_eq!(third.run("cat kept"), "kept");
    third.kill();
    assert_eq!(run(&second, "cat kept").await.stdout, "kept\n");
    // One that finds it still and starts it holds it too: it ends with that one.
    second.stop(false).await.unwrap();
    let mut last = Other::new(&name);
    assert_eq!(last.run("cat kept"), "kept");
    last.kill();
    wait(|| engine.docker(&["inspect", "--format={{.State.Running}}", &id]) == "false").await;
    second.stop(true).await.unwrap();
    assert!(!engine.exists(&id));
}
