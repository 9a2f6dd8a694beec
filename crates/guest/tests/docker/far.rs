//! Engines that another program speaks to for us.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions};

use crate::{engine, read, run, write};

/// Works in a container of an engine that is reached by ssh, for the test below.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_logs_in() {
    let engine = engine();
    if std::env::var_os("GLOVEPORT_TEST_SSH").is_none() {
        return;
    }
    let options = DockerOptions { host: Some("ssh://me@far:2222".to_owned()), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    write(&backend, "/workspace/a", &vec![b'x'; 1 << 20]).await;
    assert_eq!(run(&backend, "wc -c < a").await.stdout.trim(), (1 << 20).to_string());
    assert_eq!(read(&backend, "/workspace/a").await.unwrap().len(), 1 << 20);
    println!("id {}", backend.container_id().await.unwrap());
    backend.close().await.unwrap();
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
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["far::child_that_logs_in", "--exact", "--nocapture"])
        .envs([("PATH", path.as_str()), ("GLOVEPORT_TEST_SSH", told.to_str().unwrap())])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let id = said.lines().find_map(|line| Some(line.split_once("id ")?.1)).unwrap();
    assert!(!engine.exists(id));
    let told = std::fs::read_to_string(told).unwrap();
    let expected = "-T -o BatchMode=yes -o ConnectTimeout=30 -l me -p 2222 -- far docker system dial-stdio";
    assert!(told.lines().all(|line| line == expected), "{told}");
}
