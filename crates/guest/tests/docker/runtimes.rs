//! Images that are described, built and missing.

use std::sync::Arc;

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions, Runtime};
use gloveport_core::error::ErrorKind;

use crate::{engine, run, try_run};

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_is_an_error_that_names_it() {
    let engine = engine();
    let options = DockerOptions { image: Some("no-such-image:at-all".to_owned()), ..engine.options() };
    let error = try_run(&DockerBackend::new(options, None).unwrap(), "true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
    assert!(error.message().contains("'no-such-image:at-all'"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_is_built_once_and_holds_its_values() {
    let engine = engine();
    let json = format!(
        r#"{{ "name": "test-{}", "baseImage": "{}", "workDir": "/a b", "envVars": {{ "A": "it's \"$HOME\" \\ `x`" }},
             "setupCommands": ["echo set-up > /made && echo progress"] }}"#,
        std::process::id(),
        engine.image
    );
    let runtime: Runtime = serde_json::from_str(&json).unwrap();
    let options = DockerOptions { image: None, runtime: Some(runtime.clone()), ..engine.options() };
    let said = Arc::new(std::sync::Mutex::new(String::new()));
    let heard = Arc::clone(&said);
    let progress = Arc::new(move |text: &str| heard.lock().unwrap().push_str(text));
    let backend = DockerBackend::new(options.clone(), Some(progress.clone())).unwrap();
    let outcome = run(&backend, "cat /made; pwd; printf '%s' \"$A\"").await;
    assert_eq!(outcome.stdout, "set-up\n/a b\nit's \"$HOME\" \\ `x`");
    backend.close().await.unwrap();
    assert!(said.lock().unwrap().contains("progress"));
    said.lock().unwrap().clear();
    let backend = DockerBackend::new(options.clone(), Some(progress)).unwrap();
    backend.start().await.unwrap();
    assert_eq!(*said.lock().unwrap(), "");
    backend.close().await.unwrap();
    // Another content replaces the image that nothing uses any more.
    let mut changed = runtime;
    changed.env_vars.clear();
    let backend = DockerBackend::new(DockerOptions { runtime: Some(changed), ..options }, None).unwrap();
    backend.start().await.unwrap();
    backend.close().await.unwrap();
    let reference = format!("reference=gloveport-runtime:test-{}-*", std::process::id());
    let images = engine.docker(&["images", "--quiet", "--filter", &reference]);
    assert_eq!(images.lines().count(), 1, "{images}");
    engine.docker(&["rmi", "--force", &images]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_up_that_fails_says_what_it_said() {
    let engine = engine();
    let json =
        format!(r#"{{ "name": "broken", "baseImage": "{}", "setupCommands": ["echo why; exit 9"] }}"#, engine.image);
    let options =
        DockerOptions { image: None, runtime: Some(serde_json::from_str(&json).unwrap()), ..engine.options() };
    let error = DockerBackend::new(options, None).unwrap().start().await.unwrap_err();
    assert!(error.message().contains("'broken' cannot be built"), "{error}");
    assert!(error.details().unwrap()["output"].as_str().unwrap().contains("why"), "{:?}", error.details());
}
