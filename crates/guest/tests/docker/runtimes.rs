//! Images that are described, built and missing.

use std::sync::Arc;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram, Runtime};
use gloveport_core::backend::{Backend, Call, ExecuteRequest};
use gloveport_core::error::ErrorKind;
use gloveport_core::sandbox::{Mount, Sandbox};
use serde_json::json;

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

/// Built or taken as it is, its user is the one that was said, with a home and with the mounts of that user.
#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_runs_as_the_user_that_it_names() {
    let engine = engine();
    let name = format!("user-{}", std::process::id());
    let built = json!({ "name": name, "baseImage": engine.image, "packageManager": "npm", "runAsUid": 1234 });
    let ready = json!({ "name": name, "image": engine.image, "runAsUid": 1234, "envVars": { "HOME": "/tmp" } });
    for runtime in [built, ready] {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(1234), Some(1234)).unwrap();
        let mounts = vec![Mount::new(folder.path(), "/work").read_write()];
        let runtime: Runtime = serde_json::from_value(runtime).unwrap();
        let options = DockerOptions {
            image: None,
            runtime: Some(runtime),
            sandbox: Some(Sandbox::new(mounts, folder.path()).unwrap()),
            ..engine.options()
        };
        let backend = DockerBackend::new(options, None).unwrap();
        let outcome = run(&backend, "id -u; id -g; touch $HOME/x && echo home; touch /work/x && ls -ln /work | tail -n 1 | tr -s ' ' | cut -d' ' -f3,4").await;
        assert_eq!(outcome.stdout, "1234\n1234\nhome\n1234 1234\n", "{}", outcome.stderr);
        backend.close().await.unwrap();
    }
    let images = engine.docker(&["images", "--quiet", "--filter", &format!("reference=gloveport-runtime:{name}-*")]);
    engine.docker(&["rmi", "--force", &images]);
}

/// A root host's container was root on every mount, and could leave programs there that make root of whoever starts them.
#[tokio::test(flavor = "multi_thread")]
async fn on_mounts_of_one_user_a_container_of_root_is_that_user() {
    let engine = engine();
    for (owners, user) in [([1234, 1234], "1234"), ([1234, 4321], "0"), ([0, 1234], "0")] {
        let folders = owners.map(|owner| {
            let folder = tempfile::tempdir().unwrap();
            std::os::unix::fs::chown(folder.path(), Some(owner), Some(owner)).unwrap();
            folder
        });
        let mounts = vec![
            Mount::new(folders[0].path(), "/work").read_write(),
            Mount::new(folders[1].path(), "/more").read_write(),
        ];
        let sandbox = Sandbox::new(mounts, folders[0].path()).unwrap();
        let backend = DockerBackend::new(DockerOptions { sandbox: Some(sandbox), ..engine.options() }, None).unwrap();
        assert_eq!(run(&backend, "id -u").await.stdout.trim(), user, "{owners:?}");
        backend.close().await.unwrap();
    }
}

/// By its content an image is one and the same, whatever becomes of its name (R-DK-1).
#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_taken_by_its_digest() {
    let engine = engine();
    let digest = engine.docker(&["images", "--quiet", "--no-trunc", &engine.image]);
    assert!(digest.starts_with("sha256:"), "{digest}");
    let options = DockerOptions { image: Some(digest.clone()), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    assert_eq!(run(&backend, "echo by digest").await.stdout, "by digest\n");
    let id = backend.container_id().await.unwrap();
    assert_eq!(engine.docker(&["inspect", "--format", "{{.Image}}", &id]), digest);
    backend.close().await.unwrap();
    // Another content is another image, however alike the names are.
    let other = digest.replace(|c: char| c.is_ascii_digit(), "0");
    let options = DockerOptions { image: Some(other.clone()), ..engine.options() };
    let error = try_run(&DockerBackend::new(options, None).unwrap(), "true").await.unwrap_err();
    assert!(error.message().contains(&other), "{error}");
}

/// The image's variables, over them the container's (what keeps programs from asking, the runtime's, the options'), over all the command's.
#[tokio::test(flavor = "multi_thread")]
async fn variables_of_the_image_the_container_and_the_command_lie_one_over_the_other() {
    let engine = engine();
    let name = format!("over-{}", std::process::id());
    let names = ["A", "B", "C", "D", "PAGER"];
    let made: Runtime = serde_json::from_value(
        json!({ "name": name, "baseImage": engine.image, "envVars": { "A": "image", "B": "image",
            "C": "image", "D": "image", "PAGER": "image" } }),
    )
    .unwrap();
    let builder =
        DockerBackend::new(DockerOptions { image: None, runtime: Some(made), ..engine.options() }, None).unwrap();
    builder.start().await.unwrap();
    builder.close().await.unwrap();
    let reference = format!("reference=*gloveport-runtime:{name}-*");
    let listed = engine.docker(&["images", "--format", "{{.Repository}}:{{.Tag}}", "--filter", &reference]);
    let image = listed.lines().next().unwrap();
    let runtime: Runtime = serde_json::from_value(json!({
        "name": name, "image": image, "envVars": { "B": "runtime", "C": "runtime", "D": "runtime" },
    }))
    .unwrap();
    for guest in [engine.options().guest, GuestProgram::default()] {
        let env = ["C", "D"].map(|name| (name.to_owned(), "option".to_owned())).into();
        let options = DockerOptions { image: None, runtime: Some(runtime.clone()), env, guest, ..engine.options() };
        let backend = DockerBackend::new(options, None).unwrap();
        let mut request = ExecuteRequest::new(names.map(|name| format!("echo ${name}")).join("; "));
        request.environment = vec![("D".to_owned(), "command".to_owned())];
        let outcome = backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
        assert_eq!(outcome.stdout, "image\nruntime\noption\ncommand\ncat\n");
        assert_eq!(run(&backend, "echo $D").await.stdout, "option\n");
        backend.close().await.unwrap();
    }
    engine.docker(&["rmi", "--force", image]);
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
