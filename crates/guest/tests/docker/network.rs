//! The network of a container: none unless one was asked for.

use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::backend::{Backend, Call, ExecuteRequest};
use gloveport_core::error::ErrorKind;

use crate::{engine, run, try_run};

const INTERFACES: &str = "tail -n +3 /proc/net/dev | tr -d ' ' | cut -d: -f1 | sort";

#[tokio::test(flavor = "multi_thread")]
async fn a_container_has_the_network_that_was_asked_for_and_no_other() {
    let engine = engine();
    let network = format!("gloveport-network-{}", std::process::id());
    // Nothing leaves it: it leads from one container to another.
    engine.docker(&["network", "create", "--internal", &network]);
    let on = || {
        let options = DockerOptions { network: network.clone(), ..engine.options() };
        DockerBackend::new(options, None).unwrap()
    };
    let (off, one, two) = (engine.backend(), on(), on());
    assert_eq!(run(&off, INTERFACES).await.stdout, "lo\n");
    assert_eq!(run(&one, INTERFACES).await.stdout, "eth0\nlo\n");
    let id = one.container_id().await.unwrap();
    let address =
        engine.docker(&["inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", &id]);
    let listener = ExecuteRequest::new("while :; do echo across | nc -l -p 7777; done");
    let listener = one.shell().unwrap().start(listener, &Call::default()).await.unwrap();
    // It listens a moment after it has begun.
    let ask = format!("until nc -w 5 {address} 7777; do :; done");
    assert_eq!(run(&two, &ask).await.stdout, "across\n");
    // Nobody else comes there.
    let outcome = run(&off, &format!("nc -w 5 {address} 7777")).await;
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("", Some(1)), "{outcome:?}");
    listener.end().await;
    for backend in [off, one, two] {
        backend.close().await.unwrap();
    }
    engine.docker(&["network", "rm", &network]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_is_missing_is_an_error_that_names_it() {
    let engine = engine();
    let options = DockerOptions { network: "no-such-network".to_owned(), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    let error = try_run(&backend, "true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
    assert!(error.details().unwrap().to_string().contains("no-such-network"), "{error:?}");
    assert_eq!(backend.container_id().await, None);
    backend.close().await.unwrap();
}
