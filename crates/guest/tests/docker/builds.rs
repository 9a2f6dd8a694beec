//! Who builds images, what is kept between two builds, and what becomes of a build that nobody waits for.

use std::sync::Arc;

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{BuildProgress, Builder, DockerBackend, DockerOptions, Runtime};
use gloveport_core::error::ErrorKind;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{Engine, engine, run, sleeps, wait};

/// What a builder says is heard here.
fn progress() -> (BuildProgress, mpsc::UnboundedReceiver<String>) {
    let (tell, heard) = mpsc::unbounded_channel();
    (Arc::new(move |text: &str| drop(tell.send(text.to_owned()))), heard)
}

fn options(engine: &Engine, runtime: &Value, builder: Builder) -> DockerOptions {
    let runtime: Runtime = serde_json::from_value(runtime.clone()).unwrap();
    DockerOptions { image: None, runtime: Some(runtime), builder, ..engine.options() }
}

/// Removes the images of a test, and what was kept for them: the next run begins anew.
fn forget(engine: &Engine, name: &str) {
    let reference = format!("reference=*gloveport-runtime:{name}-*");
    for image in engine.docker(&["images", "--quiet", "--no-trunc", "--filter", &reference]).lines() {
        engine.docker(&["rmi", "--force", image]);
    }
}

/// A package manager that says which downloads it finds, and downloads one: none is reached from here.
fn manager(program: &str, kept: &str) -> String {
    let script = format!(
        "#!/bin/sh\nfor last in \"$@\"; do :; done\nmkdir -p {kept}\nls {kept} >>/seen\ntouch \"{kept}/$last\"\necho installed $last\n"
    );
    let script = script.replace('\n', "\\n").replace('%', "%%");
    format!("printf '{script}' >/bin/{program} && chmod 755 /bin/{program}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_manager_downloads_is_kept_for_the_next_build_of_its_runtime() {
    let engine = engine();
    for (manager_name, program, kept, finds) in [
        ("pip", "pip", "/var/cache/gloveport/pip", "one\n"),
        ("npm", "npm", "/var/cache/gloveport/npm", "one\n"),
        // Asked for its lists and for a package.
        ("apt", "apt-get", "/var/cache/gloveport/apt/archives", "one\nupdate\none\nupdate\n"),
        ("cargo", "cargo", "/root/.cargo/registry", "one\n"),
    ] {
        let runtime = |name: &str, package: &str| {
            json!({
                "name": format!("{name}-{manager_name}-{}", std::process::id()),
                "baseImage": engine.image,
                "packageManager": manager_name,
                "packages": [package],
                "setupCommands": [manager(program, kept)],
            })
        };
        let seen = async |runtime: &Value, builder: Builder| {
            let backend = DockerBackend::new(options(&engine, runtime, builder), None).unwrap();
            let seen = run(&backend, &format!("cat /seen; ls -A {kept} 2>/dev/null || true")).await.stdout;
            backend.close().await.unwrap();
            seen
        };
        let first = seen(&runtime("kept", "one"), Builder::Auto).await;
        // Its own `update` is a download too; what is kept is no part of the image.
        assert_eq!(first, if manager_name == "apt" { "update\n" } else { "" }, "{manager_name}");
        assert_eq!(seen(&runtime("kept", "two"), Builder::Auto).await, finds, "{manager_name}");
        assert_eq!(seen(&runtime("other", "two"), Builder::Auto).await, first, "another runtime, {manager_name}");
        for name in ["kept", "other"] {
            forget(&engine, &format!("{name}-{manager_name}-{}", std::process::id()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_found_again_whoever_built_it() {
    let engine = engine();
    let name = format!("whoever-{}", std::process::id());
    let runtime = json!({
        "name": name, "baseImage": engine.image, "packages": ["one"],
        "setupCommands": [manager("pip", "/nowhere"), "echo made-$((40 + 2))"],
    });
    for (n, builder) in [Builder::Classic, Builder::Auto].into_iter().enumerate() {
        let (tell, mut heard) = progress();
        let backend = DockerBackend::new(options(&engine, &runtime, builder), Some(tell)).unwrap();
        backend.start().await.unwrap();
        backend.close().await.unwrap();
        drop(backend);
        let mut said = String::new();
        while let Some(text) = heard.recv().await {
            said.push_str(&text);
        }
        assert_eq!(said.contains("made-42") && said.contains("installed one"), n == 0, "{said}");
    }
    forget(&engine, &name);
}

/// Each builder tells of a failure in its own way.
#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_prints_much_and_fails_says_the_end_of_it() {
    let engine = engine();
    for builder in [Builder::Auto, Builder::Classic] {
        let name = format!("loud-{}", std::process::id());
        let loud = "yes 0123456789012345678901234567890123456789 | head -c 600000; echo the end of it; exit 9";
        let runtime = json!({ "name": name, "baseImage": engine.image, "setupCommands": [loud] });
        let error = DockerBackend::new(options(&engine, &runtime, builder), None).unwrap().start().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
        let output = error.details().unwrap()["output"].as_str().unwrap().to_owned();
        assert!(output.contains("the end of it") && output.len() <= 4 << 10, "{builder:?}: {output}");
    }
}

/// A set-up command, or the script of a package, had all of the engine's machine.
#[tokio::test(flavor = "multi_thread")]
async fn a_build_has_the_memory_of_the_container() {
    let engine = engine();
    for (memory, is_enough) in [(64 << 20, false), (1 << 30, true)] {
        let name = format!("hog-{}-{is_enough}", std::process::id());
        let hog = "head -c 200000000 /dev/zero | tail -c 199999999 >/dev/null";
        let runtime = json!({ "name": name, "baseImage": engine.image, "setupCommands": [hog] });
        let options = DockerOptions { memory, ..options(&engine, &runtime, Builder::Classic) };
        let backend = DockerBackend::new(options, None).unwrap();
        let started = backend.start().await;
        backend.close().await.unwrap();
        assert_eq!(started.is_ok(), is_enough, "{started:?}");
        if let Err(error) = started {
            assert!(error.details().unwrap()["message"].as_str().unwrap().contains("137"), "{error:?}");
        }
        forget(&engine, &name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_nobody_waits_for_ends() {
    let engine = engine();
    for (n, builder) in [Builder::Auto, Builder::Classic].into_iter().enumerate() {
        let seconds = format!("9{n}{}", std::process::id());
        let name = format!("left-{seconds}");
        // The first echo may come late: the sleep is looked for among the processes of this machine.
        let runtime =
            json!({ "name": name, "baseImage": engine.image, "setupCommands": [format!("exec sleep {seconds}")] });
        let backend = Arc::new(DockerBackend::new(options(&engine, &runtime, builder), None).unwrap());
        let starting = Arc::clone(&backend);
        let started = tokio::spawn(async move { starting.start().await });
        wait(|| sleeps(&seconds)).await;
        backend.close().await.unwrap();
        assert_eq!(started.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        wait(|| !sleeps(&seconds)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_is_missing_is_an_error_that_names_it_and_no_registry_is_asked() {
    let engine = engine();
    for builder in [Builder::Auto, Builder::Classic] {
        let runtime = json!({ "name": "baseless", "baseImage": "no-such-image:at-all" });
        let error = DockerBackend::new(options(&engine, &runtime, builder), None).unwrap().start().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
        assert!(error.message().contains("'no-such-image:at-all' and `pull` is 'never'"), "{error}");
    }
}
