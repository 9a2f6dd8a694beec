//! Which engine is taken where none is named: by the environment, by Docker contexts, by where engines usually listen.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use serde_json::{Value, json};

use crate::{engine, try_run};

/// What decides is the environment, which is a process's: works in a container, and says which, or why not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another process of tests"]
async fn child_that_finds_an_engine() {
    let backend = DockerBackend::new(DockerOptions { host: None, ..engine().options() }, None).unwrap();
    match try_run(&backend, "true").await {
        Ok(_) => println!("id {}", backend.container_id().await.unwrap()),
        Err(error) => println!("error {}", error.message()),
    }
    backend.close().await.unwrap();
}

/// What such a process says with these settings and no others: `here` for a container of the test's engine.
fn found(settings: &[(&str, &str)]) -> String {
    said_by(Command::new(std::env::current_exe().unwrap()), settings)
}

/// Makes links, of each pair the first at the second, in a `/run` that is empty and this process's own: an engine that the machine has is
/// not there, and is not asked for containers.
const WITH_LINKS: &str = r#"mount -t tmpfs none /run || exit 1
printf '%s\n' "$LINKS" | while read -r to at; do mkdir -p "${at%/*}" && ln -sfn "$to" "$at" || exit 1; done || exit 1
exec "$@""#;

/// The same with these links, and no other socket of the machine.
fn found_beside(links: &[(&str, &str)], settings: &[(&str, &str)]) -> String {
    let links: Vec<_> = links.iter().map(|(to, at)| format!("{to} {at}")).collect();
    let mut child = Command::new("unshare");
    child.args(["--mount", "--propagation=private", "sh", "-c", WITH_LINKS, "sh"]);
    child.arg(std::env::current_exe().unwrap()).env("LINKS", links.join("\n"));
    said_by(child, settings)
}

fn said_by(mut child: Command, settings: &[(&str, &str)]) -> String {
    let nowhere = tempfile::tempdir().unwrap();
    child.args(["found::child_that_finds_an_engine", "--exact", "--ignored", "--nocapture"]);
    for name in
        ["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "XDG_RUNTIME_DIR"]
    {
        child.env_remove(name);
    }
    child.env("HOME", nowhere.path()).env("DOCKER_CONFIG", nowhere.path()).envs(settings.iter().copied());
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    match said.lines().find_map(|line| Some(line.split_once("id ")?.1)) {
        Some(id) => {
            // Of this engine, which has removed it by now.
            assert!(!engine().exists(id));
            "here".to_owned()
        }
        None => said.lines().find_map(|line| Some(line.split_once("error ")?.1)).unwrap().to_owned(),
    }
}

/// Docker's settings with contexts, each with its host, what else its endpoint says, and files of its TLS.
fn contexts(list: &[(&str, &str, Value, &[&Path])], current: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.json"), json!({ "currentContext": current }).to_string()).unwrap();
    for (name, host, more, files) in list {
        let mut endpoint = json!({ "Host": host });
        endpoint.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let meta = folder.path().join("contexts/meta").join(format!("hash-of-{name}"));
        std::fs::create_dir_all(&meta).unwrap();
        let text = json!({ "Name": name, "Metadata": {}, "Endpoints": { "docker": endpoint } });
        std::fs::write(meta.join("meta.json"), text.to_string()).unwrap();
        let tls = folder.path().join("contexts/tls").join(format!("hash-of-{name}")).join("docker");
        for file in *files {
            std::fs::create_dir_all(&tls).unwrap();
            std::fs::copy(file, tls.join(file.file_name().unwrap())).unwrap();
        }
    }
    folder
}

#[test]
fn what_is_named_by_the_environment_is_taken_and_nothing_else() {
    let host = engine().host;
    let none = json!({});
    let folder =
        contexts(&[("work", &host, none.clone(), &[]), ("away", "unix:///no/such.sock", none.clone(), &[])], "work");
    let at = ("DOCKER_CONFIG", folder.path().to_str().unwrap());
    assert_eq!(found(&[("DOCKER_HOST", &host)]), "here");
    assert_eq!(found(&[at]), "here");
    let refused = |settings: &[(&str, &str)], tried: &str| {
        let said = found(settings);
        assert!(said.starts_with(&format!("No container engine can be reached. Tried {tried}. Start")), "{said}");
    };
    // A context that is named beats the current one, an address both; who is silent is nobody's reason to take another one.
    refused(&[at, ("DOCKER_CONTEXT", "away")], "the Docker context 'away': there is no such socket");
    refused(&[at, ("DOCKER_HOST", "unix:///no/other.sock")], "DOCKER_HOST: there is no such socket");
    refused(
        &[at, ("DOCKER_CONTEXT", "gone")],
        "the Docker context 'gone': there is none of that name, or it cannot be read",
    );
    let folder = contexts(&[("work", &host, none.clone(), &[]), ("away", "unix:///no/such.sock", none, &[])], "away");
    let at = ("DOCKER_CONFIG", folder.path().to_str().unwrap());
    refused(&[at], "the Docker context 'away': there is no such socket");
    assert_eq!(found(&[at, ("DOCKER_CONTEXT", "work")]), "here");
    assert_eq!(found(&[at, ("DOCKER_CONTEXT", "away"), ("DOCKER_HOST", &host)]), "here");
}

/// On a machine with an engine of its own this was skipped without a word.
#[test]
fn the_first_of_the_usual_sockets_that_answers_is_taken() {
    let alive = engine().host.strip_prefix("unix://").unwrap().to_owned();
    let [home, runtime] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let settings = [("HOME", home.path().to_str().unwrap()), ("XDG_RUNTIME_DIR", runtime.path().to_str().unwrap())];
    // Is there, and nobody listens any more.
    let dead = home.path().join("dead.sock").to_str().unwrap().to_owned();
    drop(UnixListener::bind(&dead).unwrap());
    let places = [
        "/var/run/docker.sock".to_owned(),
        format!("{}/.docker/run/docker.sock", home.path().display()),
        format!("{}/docker.sock", runtime.path().display()),
        format!("{}/podman/podman.sock", runtime.path().display()),
        "/run/podman/podman.sock".to_owned(),
    ];
    for n in 0..places.len() {
        let before = places[..n].iter().map(|place| (dead.as_str(), place.as_str()));
        let links: Vec<_> = before.chain([(alive.as_str(), places[n].as_str())]).collect();
        assert_eq!(found_beside(&links, &settings), "here", "{}", places[n]);
    }
    let all: Vec<_> = places.iter().map(|place| (dead.as_str(), place.as_str())).collect();
    let said = found_beside(&all, &settings);
    assert_eq!(said.matches("nobody listens there").count(), places.len(), "{said}");
    // `default` is no context, but these.
    let settings = [&settings[..], &[("DOCKER_CONTEXT", "default")]].concat();
    assert_eq!(found_beside(&[(&alive, &places[0])], &settings), "here");
}

/// Its own certificates, and nobody else's: neither another engine's authority, nor what this user shows to another engine.
#[test]
fn a_context_with_tls_has_its_own_certificates_and_checks_the_engines() {
    let host = std::env::var("GLOVEPORT_TEST_TLS").unwrap();
    let folder = std::env::var("GLOVEPORT_TEST_CERTIFICATES").unwrap();
    let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|file| Path::new(&folder).join(file));
    // Another authority, which has signed nothing here.
    let other = tempfile::tempdir().unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other"])
        .args(["-keyout", "key.pem", "-out", "ca.pem"])
        .current_dir(other.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let other_ca = other.path().join("ca.pem");
    let (checks, skips) = (json!({}), json!({ "SkipTLSVerify": true }));
    let settings = contexts(
        &[
            ("good", &host, checks.clone(), &[&ca, &cert, &key]),
            ("other", &host, checks.clone(), &[&other_ca, &cert, &key]),
            ("unchecked", &host, skips, &[&other_ca, &cert, &key]),
            ("nobody", &host, checks, &[&ca]),
        ],
        "good",
    );
    let at = ("DOCKER_CONFIG", settings.path().to_str().unwrap());
    assert_eq!(found(&[at]), "here");
    assert_eq!(found(&[at, ("DOCKER_CONTEXT", "unchecked")]), "here");
    for refused in ["other", "nobody"] {
        // This user's usual certificates are the right ones for this very engine, and are not for this context.
        let said = found(&[at, ("DOCKER_CONTEXT", refused), ("DOCKER_CERT_PATH", &folder)]);
        assert!(said.contains(&format!("the Docker context '{refused}': `docker` brought no connection")), "{said}");
    }
    // The same of what the environment says.
    let mine = tempfile::tempdir().unwrap();
    for file in [&other_ca, &cert, &key] {
        std::fs::copy(file, mine.path().join(file.file_name().unwrap())).unwrap();
    }
    let named = [("DOCKER_HOST", host.as_str()), ("DOCKER_CERT_PATH", mine.path().to_str().unwrap())];
    assert_eq!(found(&[&named[..], &[("DOCKER_TLS", "1")]].concat()), "here");
    let said = found(&[&named[..], &[("DOCKER_TLS_VERIFY", "1")]].concat());
    assert!(said.contains("DOCKER_HOST: `docker` brought no connection"), "{said}");
}
