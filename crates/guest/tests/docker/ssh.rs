//! An engine behind a real `sshd` of this machine, with keys and settings of its own: nobody's `~/.ssh` is read or written.
//!
//! Which `ssh` is found is a matter of the environment, so each test is another process, which begins with a `PATH` of its own.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::backend::{Backend, Call, ExecuteOutcome, ExecuteRequest};
use gloveport_core::error::{ErrorKind, Result};

use crate::http::made_by;
use crate::{engine, read, run, try_run, wait, write};

/// Where the other process finds its keys and settings.
const FOLDER: &str = "GLOVEPORT_TEST_SSH_FOLDER";

/// Runs a test of this file in a process whose `ssh` is the real one, with the settings of a new folder.
fn with_ssh(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let real = String::from_utf8(made_by("sh", &["-c", "command -v ssh"], folder.path())).unwrap();
    let wrapper = folder.path().join("bin/ssh");
    std::fs::create_dir(wrapper.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\nexec {} -F {}/ssh_config \"$@\"\n", real.trim(), folder.path().display());
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", wrapper.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let Output { status, stdout, stderr } = Command::new(std::env::current_exe().unwrap())
        .args([&format!("ssh::{test}"), "--exact", "--ignored", "--nocapture"])
        .env("PATH", path)
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&stdout);
    assert!(status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&stderr));
}

/// A server that begins one `sshd` for each connection, as `inetd` does it: so its port is a free one, and each can be cut.
struct Sshd {
    folder: PathBuf,
    port: u16,
    sessions: Arc<Mutex<Vec<(Child, TcpStream)>>>,
}

impl Sshd {
    fn start() -> Self {
        let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
        for key in ["host", "other", "user"] {
            made_by("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", key], &folder);
        }
        let place = folder.display();
        let settings = format!(
            "HostKey {place}/host\nAuthorizedKeysFile {place}/user.pub\nPermitRootLogin prohibit-password\nPidFile none\n\
             UsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitUserRC no\n\
             SetEnv HOME={place} PATH={}\n",
            std::env::var("PATH").unwrap()
        );
        std::fs::write(folder.join("sshd_config"), settings).unwrap();
        // The one folder of the machine that a server of root insists on.
        std::fs::create_dir_all("/run/sshd").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let settings = format!(
            "IdentityFile {place}/user\nIdentitiesOnly yes\nIdentityAgent none\nUserKnownHostsFile {place}/known_hosts\n\
             GlobalKnownHostsFile none\nStrictHostKeyChecking yes\n"
        );
        std::fs::write(folder.join("ssh_config"), settings).unwrap();
        let sshd = Self { folder, port, sessions: Arc::default() };
        sshd.is_known_by("host");
        let (sessions, settings) = (Arc::clone(&sshd.sessions), sshd.folder.join("sshd_config"));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let session = serve(&settings, stream.try_clone().unwrap());
                sessions.lock().unwrap().push((session, stream));
            }
        });
        sshd
    }

    /// Whose key the clients know it by.
    fn is_known_by(&self, key: &str) {
        let key = std::fs::read_to_string(self.folder.join(key).with_extension("pub")).unwrap();
        std::fs::write(self.folder.join("known_hosts"), format!("[127.0.0.1]:{} {key}", self.port)).unwrap();
    }

    /// The engine as it is found through this server.
    fn host(&self) -> String {
        let user = String::from_utf8(made_by("id", &["-un"], Path::new("/"))).unwrap();
        let socket = engine().host.replace("unix://", "");
        format!("ssh://{}@127.0.0.1:{}{socket}", user.trim(), self.port)
    }

    /// Ends every connection, in the middle of whatever it carries.
    fn cut(&self) {
        for (mut session, stream) in std::mem::take(&mut *self.sessions.lock().unwrap()) {
            session.kill().unwrap();
            let _ = stream.shutdown(Shutdown::Both);
            session.wait().unwrap();
        }
    }

    /// How many connections were made, and how many of them live.
    fn connections(&self) -> (usize, usize) {
        let mut sessions = self.sessions.lock().unwrap();
        let ended = sessions.iter_mut().filter_map(|(session, _)| session.try_wait().unwrap()).count();
        (sessions.len(), sessions.len() - ended)
    }
}

fn serve(settings: &Path, stream: TcpStream) -> Child {
    let found =
        ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
    let Some(program) = found else { panic!("sshd is missing (Debian: openssh-server)") };
    Command::new(program)
        .args(["-i", "-f"])
        .arg(settings)
        .stdin(Stdio::from(OwnedFd::from(stream.try_clone().unwrap())))
        .stdout(Stdio::from(OwnedFd::from(stream)))
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn backend(sshd: &Sshd) -> DockerBackend {
    DockerBackend::new(DockerOptions { host: Some(sshd.host()), ..engine().options() }, None).unwrap()
}

#[test]
fn files_and_commands_travel_by_ssh() {
    with_ssh("child_that_works_by_ssh");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of a test"]
async fn child_that_works_by_ssh() {
    let sshd = Sshd::start();
    let backend = backend(&sshd);
    let content: Vec<u8> = (0..1_u32 << 20).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    write(&backend, "/workspace/a", &content).await;
    assert!(read(&backend, "/workspace/a").await.unwrap() == content);
    let outcome = run(&backend, "wc -c <a; echo complaint >&2; exit 7").await;
    assert_eq!(
        (outcome.stdout.trim(), outcome.stderr.as_str(), outcome.exit_code),
        ("1048576", "complaint\n", Some(7))
    );
    let id = backend.container_id().await.unwrap();
    assert!(engine().exists(&id));
    backend.close().await.unwrap();
    assert!(!engine().exists(&id));
    // No `ssh` is left behind.
    drop(backend);
    wait(|| sshd.connections().1 == 0).await;
    assert!(sshd.connections().0 > 0);
}

/// The engine ends a container whose holder is gone: one with a name is started again by the next call, and has its files.
#[test]
fn a_connection_by_ssh_that_is_cut_is_an_error_and_the_next_call_connects_again() {
    with_ssh("child_that_is_cut_off");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of a test"]
async fn child_that_is_cut_off() {
    let sshd = Sshd::start();
    let name = format!("gloveport-cut-{}", std::process::id());
    for container in [None, Some(name.clone())] {
        let options = DockerOptions { host: Some(sshd.host()), container: container.clone(), ..engine().options() };
        let backend = Arc::new(DockerBackend::new(options, None).unwrap());
        write(&backend, "/workspace/kept", b"kept\n").await;
        let seconds = format!("8{}{}", u8::from(container.is_some()), std::process::id());
        let request = ExecuteRequest::new(format!("echo begun; exec sleep {seconds}"));
        let running = Arc::clone(&backend);
        let running = tokio::spawn(async move { running.shell().unwrap().execute(request, &Call::default()).await });
        wait(|| crate::sleeps(&seconds)).await;
        sshd.cut();
        let lost = "The connection into the container was lost; the next call makes a new one.";
        assert_eq!(said(running.await.unwrap()), format!("BACKEND_UNAVAILABLE: {lost}"));
        wait(|| !crate::sleeps(&seconds)).await;
        let gone = "The container has ended, and its files are gone with it; make a new backend.";
        let next = said(try_run(&backend, "cat kept").await);
        if container.is_some() {
            assert_eq!(next, "kept\n");
        } else {
            assert_eq!(next, format!("BACKEND_UNAVAILABLE: {gone}"));
        }
        backend.close().await.unwrap();
    }
    engine().docker(&["rm", "--force", &name]);
}

/// What came of a command.
fn said(outcome: Result<ExecuteOutcome>) -> String {
    outcome.map_or_else(|error| format!("{}: {}", error.kind().code(), error.message()), |outcome| outcome.stdout)
}

/// Whoever answers in the place of the other machine is told nothing.
#[test]
fn a_machine_with_another_key_than_the_known_one_is_not_spoken_to() {
    with_ssh("child_that_meets_another_machine");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of a test"]
async fn child_that_meets_another_machine() {
    let sshd = Sshd::start();
    sshd.is_known_by("other");
    let backend = backend(&sshd);
    let error = try_run(&backend, "true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
    assert!(error.message().contains("`ssh` brought no connection; `docker version` must work there"), "{error}");
    let complaint = error.details().unwrap()["tried"][0]["said"].as_str().unwrap().to_owned();
    assert!(complaint.ends_with("Host key verification failed."), "{complaint}");
    // Once it is known it is like any other.
    sshd.is_known_by("host");
    assert_eq!(run(&backend, "echo known").await.stdout, "known\n");
    backend.close().await.unwrap();
}
