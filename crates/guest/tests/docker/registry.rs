//! Images that a real engine pulls, from a registry that only it reaches.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Mutex};

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{BuildProgress, Builder, DockerBackend, DockerOptions, Pull};
use gloveport_core::error::ErrorKind;
use serde_json::{Value, json};

use crate::http::{Page, Served, digest, made_by};
use crate::{Engine, engine, run, try_run};

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const PLAIN: &str = "application/octet-stream";

/// An image of a shell and of one file that says which one it is: the digests of its manifest, its description and its layer.
struct Image {
    manifest: String,
    id: String,
    layer: String,
}

/// Puts an image with this word in it among the pages of a registry.
fn image(word: &str, pages: &mut BTreeMap<String, Page>) -> Image {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    for name in ["bin", "tmp"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    std::fs::set_permissions(root.join("tmp"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let busybox = String::from_utf8(made_by("sh", &["-c", "command -v busybox"], folder.path())).unwrap();
    std::fs::copy(busybox.trim(), root.join("bin/busybox")).unwrap();
    for name in ["sh", "cat"] {
        symlink("busybox", root.join("bin").join(name)).unwrap();
    }
    // No two tests have a layer in common, which the engine would then not ask for.
    std::fs::write(root.join("word"), format!("{word}\n{}\n", std::process::id())).unwrap();
    let layer = made_by("tar", &["--create", "--owner=0", "--group=0", "--directory=root", "."], folder.path());
    std::fs::write(folder.path().join("layer"), &layer).unwrap();
    let packed = made_by("gzip", &["--stdout", "layer"], folder.path());
    let processor = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    let about = json!({
        "architecture": processor, "os": "linux", "config": { "Env": ["PATH=/bin"] },
        "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
    });
    let about = about.to_string().into_bytes();
    let part = |kind: &str, bytes: &[u8]| json!({ "mediaType": kind, "size": bytes.len(), "digest": digest(bytes) });
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": part("application/vnd.docker.container.image.v1+json", &about),
        "layers": [part("application/vnd.docker.image.rootfs.diff.tar.gzip", &packed)],
    });
    let manifest = manifest.to_string().into_bytes();
    let image = Image { manifest: digest(&manifest), id: digest(&about), layer: digest(&packed) };
    for (path, kind, bytes) in [
        (format!("blobs/{}", image.id), PLAIN, about),
        (format!("blobs/{}", image.layer), PLAIN, packed),
        (format!("manifests/{}", image.manifest), MANIFEST, manifest.clone()),
        (format!("manifests/{word}"), MANIFEST, manifest),
    ] {
        let head = format!("Docker-Content-Digest: {}\r\n", digest(&bytes));
        pages.insert(format!("/v2/people/tool/{path}"), Page { head, ..Page::new(kind, bytes) });
    }
    image
}

/// A registry with images of these words, by which they are tagged; and the repository that they are in.
fn registry<const N: usize>(words: [&str; N]) -> (Served, String, [Image; N]) {
    let mut pages = BTreeMap::from([("/v2/".to_owned(), Page::new("application/json", "{}"))]);
    let images = words.map(|word| image(word, &mut pages));
    let served = Served::start(|_| pages);
    let repository = format!("127.0.0.1:{}/people/tool", served.port);
    (served, repository, images)
}

fn options(engine: &Engine, image: &str, pull: Pull) -> DockerOptions {
    DockerOptions { image: Some(image.to_owned()), pull, ..engine.options() }
}

/// What its file says, and which image the container is of.
async fn used(engine: &Engine, backend: &DockerBackend) -> (String, String) {
    let said = run(backend, "cat /word").await.stdout;
    let id = backend.container_id().await.unwrap();
    let image = engine.docker(&["inspect", "--format", "{{.Image}}", &id]);
    backend.close().await.unwrap();
    (said.lines().next().unwrap().to_owned(), image)
}

fn remove(engine: &Engine, images: &[Image]) {
    for Image { id, .. } in images {
        engine.docker(&["rmi", "--force", id]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_is_pulled_by_its_tag_and_the_pull_is_heard() {
    let engine = engine();
    let (served, repository, images) = registry(["latest", "v1.2"]);
    // Without a tag it is the latest, and the number of a port is no tag.
    for (reference, word, image) in
        [(repository.clone(), "latest", &images[0]), (format!("{repository}:v1.2"), "v1.2", &images[1])]
    {
        let backend = DockerBackend::new(options(&engine, &reference, Pull::Never), None).unwrap();
        let error = backend.start().await.unwrap_err();
        assert!(error.message().contains(&format!("'{reference}' and `pull` is 'never'")), "{error}");
        assert_eq!(served.asked(), <[&str; 0]>::default());
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        let progress: BuildProgress = Arc::new(move |text: &str| heard.lock().unwrap().push_str(text));
        let backend = DockerBackend::new(options(&engine, &reference, Pull::Missing), Some(progress)).unwrap();
        assert_eq!(used(&engine, &backend).await, (word.to_owned(), image.id.clone()));
        let said = said.lock().unwrap().clone();
        for part in ["Pulling from people/tool\n", "Pull complete\n", &format!("Digest: {}\n", image.manifest)] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(served.asked().contains(&format!("/v2/people/tool/blobs/{}", image.layer)));
        // What is there is taken as it is.
        for pull in [Pull::Missing, Pull::Never] {
            let backend = DockerBackend::new(options(&engine, &reference, pull), None).unwrap();
            assert_eq!(used(&engine, &backend).await, (word.to_owned(), image.id.clone()));
        }
        assert_eq!(served.asked(), <[&str; 0]>::default());
    }
    remove(&engine, &images);
}

/// A tag may be given to another image; a digest cannot (R-DK-1).
#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_pulled_by_its_digest_whatever_its_tags_say() {
    let engine = engine();
    let (served, repository, images) = registry(["old", "new"]);
    for (tag, image, word) in [("", &images[0], "old"), (":old", &images[1], "new")] {
        let reference = format!("{repository}{tag}@{}", image.manifest);
        for pull in [Pull::Missing, Pull::Never] {
            let backend = DockerBackend::new(options(&engine, &reference, pull), None).unwrap();
            assert_eq!(used(&engine, &backend).await, (word.to_owned(), image.id.clone()), "{reference}");
        }
        assert!(!served.asked().iter().any(|path| path.ends_with("/old") || path.ends_with("/new")));
    }
    remove(&engine, &images);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_that_is_not_what_its_digest_says_is_an_error_and_no_image() {
    let engine = engine();
    let mut pages = BTreeMap::from([("/v2/".to_owned(), Page::new("application/json", "{}"))]);
    let [good, other, torn] = ["good", "other", "torn"].map(|word| image(word, &mut pages));
    let path = |rest: &str| format!("/v2/people/tool/{rest}");
    // One manifest in the place of another, a layer that was changed on its way, and a digest that nothing has.
    let swapped = pages.remove(&path("manifests/good")).unwrap();
    pages.insert(path(&format!("manifests/{}", other.manifest)), swapped);
    pages.get_mut(&path(&format!("blobs/{}", torn.layer))).unwrap().bytes[100] ^= 1;
    let served = Served::start(|_| pages);
    let nothing = digest(b"nothing has it");
    let nobody = format!("127.0.0.1:1/people/tool@{}", good.manifest);
    let at = |digest: &str| format!("127.0.0.1:{}/people/tool@{digest}", served.port);
    for (reference, why) in [
        (at(&nothing), "manifest unknown"),
        (at(&other.manifest), "verification failed"),
        (at(&torn.manifest), "verification failed"),
        (nobody, "connection refused"),
    ] {
        let backend = DockerBackend::new(options(&engine, &reference, Pull::Missing), None).unwrap();
        let error = try_run(&backend, "true").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
        assert!(error.message().contains(&format!("'{reference}' and it cannot be pulled")), "{error}");
        let message = error.details().unwrap()["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(why), "{reference}: {:?}", error.details());
        assert_eq!(backend.container_id().await, None);
        backend.close().await.unwrap();
        assert_eq!(engine.docker(&["images", "--quiet", &reference]), "");
    }
}

/// What a runtime builds on is pulled before the build, which then asks no registry (`pull: 'never'` would mean nothing otherwise).
#[tokio::test(flavor = "multi_thread")]
async fn the_base_of_a_runtime_is_pulled_by_its_digest_and_once() {
    let engine = engine();
    for builder in [Builder::Auto, Builder::Classic] {
        let (served, repository, images) = registry(["base"]);
        let name = format!("pulled-{}", std::process::id());
        let base = format!("{repository}@{}", images[0].manifest);
        for (word, pull) in [("one", Pull::Missing), ("two", Pull::Never)] {
            let runtime: Value =
                json!({ "name": name, "baseImage": base, "setupCommands": [format!("echo {word} >/made")] });
            let runtime = Some(serde_json::from_value(runtime).unwrap());
            let options = DockerOptions { image: None, runtime, builder, pull, ..engine.options() };
            let backend = DockerBackend::new(options, None).unwrap();
            let said = run(&backend, "cat /word /made").await.stdout;
            assert_eq!(said, format!("base\n{}\n{word}\n", std::process::id()));
            backend.close().await.unwrap();
            let asked = served.asked();
            let times = asked.iter().filter(|path| path.contains("/blobs/")).count();
            assert_eq!(times, if pull == Pull::Missing { 2 } else { 0 }, "{builder:?}: {asked:?}");
        }
        let reference = format!("reference=gloveport-runtime:{name}-*");
        for image in engine.docker(&["images", "--quiet", "--filter", &reference]).lines() {
            engine.docker(&["rmi", "--force", image]);
        }
        remove(&engine, &images);
    }
}
