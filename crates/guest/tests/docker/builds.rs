//! Who builds images, what is kept between two builds, and what becomes of a build that nobody waits for.

use std::sync::Arc;
use std::time::Duration;

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{BuildProgress, Builder, DockerBackend, DockerOptions, Runtime};
use gloveport_core::error::ErrorKind;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::{Engine, engine, run, sleeper, sleeps, wait};

/// 2 min without a word is no build any more.
const HANGS: Duration = Duration::from_mins(2);

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

/// The build goes on only once this test has heard of it, and wakes it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_build_says_is_heard_while_it_runs() {
    let engine = engine();
    for (n, builder) in [Builder::Auto, Builder::Classic].into_iter().enumerate() {
        let seconds = format!("7{n}{}", std::process::id());
        let name = format!("heard-{seconds}");
        let waits = format!("echo begun-$((40 + 2)); sleep {seconds} || echo woken-$((40 + 3))");
        let runtime = json!({ "name": name, "baseImage": engine.image, "setupCommands": [waits] });
        let (tell, mut heard) = progress();
        let backend = Arc::new(DockerBackend::new(options(&engine, &runtime, builder), Some(tell)).unwrap());
        let starting = Arc::clone(&backend);
        let started = tokio::spawn(async move { starting.start().await });
        let mut said = String::new();
        while !said.contains("begun-42") {
            said.push_str(&timeout(HANGS, heard.recv()).await.expect("a build is heard").unwrap());
        }
        wait(|| sleeps(&seconds)).await;
        assert!(!started.is_finished() && !said.contains("woken-43"), "{said}");
        let woken = std::process::Command::new("kill").arg(sleeper(&seconds).unwrap()).status().unwrap();
        assert!(woken.success());
        started.await.unwrap().unwrap();
        while !said.contains("woken-43") {
            said.push_str(&timeout(HANGS, heard.recv()).await.expect("a build is heard to its end").unwrap());
        }
        backend.close().await.unwrap();
        forget(&engine, &name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_is_not_to_be_kept_is_built_each_time() {
    let engine = engine();
    for builder in [Builder::Auto, Builder::Classic] {
        let name = format!("anew-{}", std::process::id());
        for (kept, builds) in [(true, [true, false]), (false, [true, true])] {
            forget(&engine, &name);
            let runtime = json!({
                "name": name, "baseImage": engine.image, "cacheImage": kept,
                // A builder knows a step again that it has made before, whatever the image is called.
                "setupCommands": [format!("echo made-$((40 + 2)) by {builder:?} for {name}, {kept}")],
            });
            for is_built in builds {
                let (tell, mut heard) = progress();
                let backend = DockerBackend::new(options(&engine, &runtime, builder), Some(tell)).unwrap();
                backend.start().await.unwrap();
                backend.close().await.unwrap();
                drop(backend);
                let mut said = String::new();
                while let Some(text) = heard.recv().await {
                    said.push_str(&text);
                }
                assert_eq!(said.contains("made-42"), is_built, "{builder:?}, kept: {kept}\n{said}");
            }
        }
        forget(&engine, &name);
    }
}

/// What a runtime was before is removed, but not under somebody who still uses it.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_a_container_uses_is_not_removed_with_those_before() {
    let engine = engine();
    let name = format!("used-{}", std::process::id());
    let runtime = |n| json!({ "name": name, "baseImage": engine.image, "setupCommands": [format!("echo {n} >/number; : {name}")] });
    let images = || {
        let reference = format!("reference=*gloveport-runtime:{name}-*");
        // Podman names one twice.
        let listed = engine.docker(&["images", "--quiet", "--filter", &reference]);
        listed.lines().collect::<std::collections::HashSet<_>>().len()
    };
    let first = DockerBackend::new(options(&engine, &runtime(1), Builder::Auto), None).unwrap();
    assert_eq!((run(&first, "cat /number").await.stdout.as_str(), images()), ("1\n", 1));
    let second = DockerBackend::new(options(&engine, &runtime(2), Builder::Auto), None).unwrap();
    assert_eq!((run(&second, "cat /number").await.stdout.as_str(), images()), ("2\n", 2));
    assert_eq!(run(&first, "cat /number").await.stdout, "1\n");
    for backend in [first, second] {
        backend.close().await.unwrap();
    }
    let third = DockerBackend::new(options(&engine, &runtime(3), Builder::Auto), None).unwrap();
    assert_eq!((run(&third, "cat /number").await.stdout.as_str(), images()), ("3\n", 1));
    third.close().await.unwrap();
    forget(&engine, &name);
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
