//! The network of a container: none unless one was asked for.

use std::collections::BTreeMap;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::backend::{Backend, Call, ExecuteRequest};
use gloveport_core::error::ErrorKind;
use serde_json::json;

use crate::http::{Page, Served, gateway};
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

/// The engine's usual network leads to its machine, and to whatever that leads to: nothing in these tests.
#[tokio::test(flavor = "multi_thread")]
async fn on_the_usual_network_a_container_reaches_the_machine_and_without_it_nothing() {
    let engine = engine();
    let page = BTreeMap::from([("/page".to_owned(), Page::new("text/plain", "of the machine\n"))]);
    let served = Served::start(|_| page);
    let options = DockerOptions { network: "bridge".to_owned(), ..engine.options() };
    let (off, on) = (engine.backend(), DockerBackend::new(options, None).unwrap());
    let question = r"printf 'GET /page HTTP/1.0\r\n\r\n'";
    let ask = format!("{INTERFACES}; {question} | nc -w 30 {} {} | tail -n 1", gateway(), served.port);
    assert_eq!(run(&off, &ask).await.stdout, "lo\n");
    assert_eq!(served.asked(), <[&str; 0]>::default());
    assert_eq!(run(&on, &ask).await.stdout, "eth0\nlo\nof the machine\n");
    assert_eq!(served.asked(), ["/page"]);
    for backend in [off, on] {
        backend.close().await.unwrap();
    }
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

/// What installs packages reaches no more than it was given; a network of the engine's own is unknown to BuildKit, which hands it on.
#[tokio::test(flavor = "multi_thread")]
async fn a_build_has_the_network_that_was_asked_for() {
    let engine = engine();
    let mine = format!("gloveport-builds-{}", std::process::id());
    engine.docker(&["network", "create", "--internal", &mine]);
    for (n, (network, interfaces)) in [
        (None, "eth0\nlo\n"),
        (Some("none"), "lo\n"),
        (Some("bridge"), "eth0\nlo\n"),
        (Some(mine.as_str()), "eth0\nlo\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("network-{n}-{}", std::process::id());
        let runtime = json!({ "name": name, "baseImage": engine.image, "setupCommands": [format!("{INTERFACES} >/seen; : {name}")] });
        let options = DockerOptions {
            image: None,
            runtime: Some(serde_json::from_value(runtime).unwrap()),
            build_network: network.map(str::to_owned),
            ..engine.options()
        };
        let backend = DockerBackend::new(options, None).unwrap();
        assert_eq!(run(&backend, "cat /seen").await.stdout, interfaces, "{network:?}");
        backend.close().await.unwrap();
        let images =
            engine.docker(&["images", "--quiet", "--filter", &format!("reference=gloveport-runtime:{name}-*")]);
        engine.docker(&["rmi", "--force", &images]);
    }
    engine.docker(&["network", "rm", &mine]);
}
