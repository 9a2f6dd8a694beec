//! Containers of a real engine. `npm test -- docker` starts one, builds the guest and names both by the environment; without
//! that (and the feature `engine-tests`) none of these tests exists.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod attached;
mod beside;
mod builds;
mod by_shell;
#[path = "../../../core/tests/contract/cases.rs"]
mod cases;
#[path = "../../../core/tests/contract/commands.rs"]
mod command_cases;
mod commands;
mod contract;
mod crates;
mod debian;
mod emulated;
mod far;
mod found;
mod held;
mod http;
mod idle;
mod life;
mod mounts;
mod network;
mod packages;
mod registry;
mod revived;
#[path = "../../../core/tests/contract/run.rs"]
mod run;
mod runtimes;
mod scarce;
#[path = "../../../core/tests/contract/served.rs"]
mod served;
mod ssh;
#[path = "../../../core/tests/contract/steps.rs"]
mod steps;
mod two_hosts;
mod walls;
mod whole_output;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use gloveport_core::access::Operation;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram, Pull};
use gloveport_core::backend::{Backend, Call, ExecuteOutcome, ExecuteRequest, Missing};
use gloveport_core::error::Result;
use gloveport_core::path::VirtualPath;

/// The engine under test.
#[derive(Clone)]
struct Engine {
    host: String,
    image: String,
    guest: PathBuf,
}

fn engine() -> Engine {
    let named =
        |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: use `npm test -- docker`"));
    Engine {
        host: named("GLOVEPORT_TEST_DOCKER"),
        image: named("GLOVEPORT_TEST_IMAGE"),
        guest: named("GLOVEPORT_TEST_GUEST").into(),
    }
}

impl Engine {
    fn options(&self) -> DockerOptions {
        DockerOptions {
            host: Some(self.host.clone()),
            image: Some(self.image.clone()),
            pull: Pull::Never,
            guest: GuestProgram::from_paths([(std::env::consts::ARCH.to_owned(), self.guest.clone())]),
            ..DockerOptions::default()
        }
    }

    fn backend(&self) -> DockerBackend {
        DockerBackend::new(self.options(), None).unwrap()
    }

    /// The command line client, for looking from outside.
    fn docker(&self, arguments: &[&str]) -> String {
        let output = Command::new("docker").arg("--host").arg(&self.host).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn exists(&self, container: &str) -> bool {
        let filter = format!("id={container}");
        !self.docker(&["ps", "--all", "--quiet", "--no-trunc", "--filter", &filter]).is_empty()
    }

    /// Kills a container that goes with its process, and waits until it is gone. What the client says counts for nothing: Podman
    /// answers when it has seen the end, and once in some sixty times finds no container to look at any more.
    fn kill(&self, container: &str) {
        let _ = Command::new("docker").args(["--host", &self.host, "kill", container]).output().unwrap();
        self.wait_until_gone(container);
    }

    /// Waits until a container is gone, for as long as the engine may take to notice.
    fn wait_until_gone(&self, container: &str) {
        // `wait` ends with the container; an error says that it is gone already.
        let _ = Command::new("docker").args(["--host", &self.host, "wait", container]).output();
        let deadline = Instant::now() + Duration::from_mins(2);
        while self.exists(container) {
            assert!(Instant::now() < deadline, "the container is still there");
            std::thread::yield_now();
        }
    }
}

async fn run(backend: &DockerBackend, command: &str) -> ExecuteOutcome {
    try_run(backend, command).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.details()))
}

async fn try_run(backend: &DockerBackend, command: &str) -> Result<ExecuteOutcome> {
    let mut request = ExecuteRequest::new(command);
    request.timeout = Some(Duration::from_secs(60));
    backend.shell().unwrap().execute(request, &Call::default()).await
}

async fn write(backend: &DockerBackend, path: &str, content: &[u8]) {
    let content = content.to_vec();
    let path = VirtualPath::absolute(path).unwrap();
    let transform = Box::new(move |_: Option<_>| Ok(content));
    let writer = backend.writer().unwrap();
    writer.update(&path, Operation::Write, Missing::Create, transform, &Call::default()).await.unwrap();
}

async fn read(backend: &DockerBackend, path: &str) -> Result<Vec<u8>> {
    let path = VirtualPath::absolute(path).unwrap();
    backend.files().read_bytes(&path, 64 << 20, &Call::default()).await.map(|content| content.bytes)
}

/// Whether a process of this machine sleeps for so long, whoever it belongs to.
fn sleeps(seconds: &str) -> bool {
    sleeper(seconds).is_some()
}

/// The number of that process.
fn sleeper(seconds: &str) -> Option<String> {
    let wanted = format!("sleep\0{seconds}\0");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let found = processes
        .into_iter()
        .find(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes()));
    found.map(|entry| entry.file_name().into_string().unwrap())
}

async fn wait(mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed().as_secs() < 60, "it never comes");
        tokio::task::yield_now().await;
    }
}
