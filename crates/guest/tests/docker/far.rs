//! Engines that another program speaks to for us: by ssh, and by TLS.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::error::ErrorKind;

use crate::{engine, read, run, try_run, write};

/// Works in a container of an engine that is far, for the tests below: what decides how it is reached is the environment.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of tests"]
async fn child_that_goes_far() {
    let engine = engine();
    let host = std::env::var("GLOVEPORT_TEST_FAR").unwrap();
    let options = DockerOptions { host: Some(host), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    if std::env::var_os("GLOVEPORT_TEST_REFUSED").is_some() {
        let error = try_run(&backend, "true").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
        assert!(error.message().contains("Tried the `host` option: `docker` brought no connection"), "{error}");
        return;
    }
    write(&backend, "/workspace/a", &vec![b'x'; 1 << 20]).await;
    assert_eq!(run(&backend, "wc -c < a").await.stdout.trim(), (1 << 20).to_string());
    assert_eq!(read(&backend, "/workspace/a").await.unwrap().len(), 1 << 20);
    println!("id {}", backend.container_id().await.unwrap());
    backend.close().await.unwrap();
}

/// Another process with these settings; what it said, after it went well.
fn far(host: &str, settings: &[(&str, &str)]) -> String {
    let Output { status, stdout, stderr } = Command::new(std::env::current_exe().unwrap())
        .args(["far::child_that_goes_far", "--exact", "--ignored", "--nocapture"])
        .env("GLOVEPORT_TEST_FAR", host)
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{said}{}", String::from_utf8_lossy(&stderr));
    said
}

fn id(said: &str) -> &str {
    said.lines().find_map(|line| Some(line.split_once("id ")?.1)).unwrap()
}

/// The login itself is ssh's; what is told to it, and that a stream of any length comes through, is ours.
#[test]
fn an_engine_by_ssh_is_one_like_any_other() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let ssh = folder.path().join("ssh");
    // As the other machine would run what it is told.
    let script = "#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$GLOVEPORT_TEST_SSH\"\n\
                  exec docker --host \"$GLOVEPORT_TEST_DOCKER\" system dial-stdio\n";
    std::fs::write(&ssh, script).unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let told = folder.path().join("told");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let said = far("ssh://me@far:2222", &[("PATH", &path), ("GLOVEPORT_TEST_SSH", told.to_str().unwrap())]);
    assert!(!engine.exists(id(&said)));
    let told = std::fs::read_to_string(told).unwrap();
    let expected = "-T -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=3 -l me -p 2222 -- far docker system dial-stdio";
    assert!(told.lines().all(|line| line == expected), "{told}");
}

#[test]
fn an_engine_by_tls_is_one_like_any_other_and_needs_the_certificates() {
    let engine = engine();
    let host = std::env::var("GLOVEPORT_TEST_TLS").unwrap();
    let certificates = std::env::var("GLOVEPORT_TEST_CERTIFICATES").unwrap();
    let said = far(&host, &[("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", &certificates)]);
    assert!(!engine.exists(id(&said)));
    let none = tempfile::tempdir().unwrap();
    std::fs::copy(Path::new(&certificates).join("ca.pem"), none.path().join("ca.pem")).unwrap();
    let folder = none.path().to_str().unwrap();
    far(&host, &[("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", folder), ("GLOVEPORT_TEST_REFUSED", "1")]);
}
