//! Package managers that really run in a build, each on a mirror of its own, which it is told of as people with a private mirror
//! do it: by set-up commands.

use std::collections::BTreeMap;
use std::path::Path;

use gloveport_core::backend::Backend;
use gloveport_core::backend::docker::{Builder, DockerBackend, DockerOptions, Runtime};
use gloveport_core::error::ErrorKind;
use serde_json::{Value, json};

use crate::http::{Page, Served, gateway, made_by};
use crate::{Engine, engine, run};

/// Builds the runtime and runs the command in it.
pub(crate) async fn said(engine: &Engine, runtime: &Value, builder: Builder, command: &str) -> String {
    let runtime: Runtime = serde_json::from_value(runtime.clone()).unwrap();
    let options = DockerOptions { image: None, runtime: Some(runtime), builder, ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    if let Err(error) = backend.start().await {
        panic!("{error}: {:#}", error.details().unwrap_or_default());
    }
    let outcome = run(&backend, command).await;
    backend.close().await.unwrap();
    format!("{}{}", outcome.stdout, outcome.stderr)
}

fn debian() -> String {
    std::env::var("GLOVEPORT_TEST_DEBIAN").unwrap()
}

pub(crate) fn forget(engine: &Engine, name: &str) {
    let reference = format!("reference=gloveport-runtime:{name}-*");
    for image in engine.docker(&["images", "--quiet", "--no-trunc", "--filter", &reference]).lines() {
        engine.docker(&["rmi", "--force", image]);
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A wheel of one module.
fn wheel(name: &str, version: &str, metadata: &str, source: &str) -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let (module, about) = (format!("{name}.py"), format!("{name}-{version}.dist-info"));
    write(&folder.path().join(&module), source);
    let file = |file: &str, text: &str| write(&folder.path().join(&about).join(file), text);
    file("METADATA", &format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}"));
    file("WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    file("RECORD", "");
    made_by("python3", &["-m", "zipfile", "-c", "wheel", &module, &about], folder.path());
    (format!("{name}-{version}-py3-none-any.whl"), std::fs::read(folder.path().join("wheel")).unwrap())
}

/// An index of Python packages (PEP 503).
fn python_mirror() -> Served {
    let hello = |version: &str| {
        let extra = "Provides-Extra: loud\nRequires-Dist: loudness (==2.*) ; extra == \"loud\"\n";
        wheel("greeting", version, extra, &format!("def hello(): return 'hello of {version}'\n"))
    };
    let loudness = |version: &str| wheel("loudness", version, "", "def loud(text): return text.upper()\n");
    let projects = [
        ("greeting", vec![hello("1.4"), hello("1.9"), hello("2.0")]),
        ("loudness", vec![loudness("2.1"), loudness("3.0")]),
        ("afterwards", vec![wheel("afterwards", "1.0", "", "")]),
    ];
    let mut pages = BTreeMap::new();
    for (project, wheels) in projects {
        let mut links = String::new();
        for (file, bytes) in wheels {
            links += &format!("<a href=\"/files/{file}\">{file}</a>\n");
            pages.insert(format!("/files/{file}"), Page::for_ever(bytes));
        }
        pages.insert(format!("/simple/{project}/"), Page::new("text/html", links));
    }
    Served::start(|_| pages)
}

/// `pip install greeting[loud]>=1.5,<2` of a shell would read a file `2` and write one `=1.5,` (D31a).
#[tokio::test(flavor = "multi_thread")]
async fn pip_installs_from_a_private_index_what_was_asked_for() {
    let (engine, mirror) = (engine(), python_mirror());
    let wanted = json!(["greeting[loud]>=1.5,<2", "never-there;python_version<\"3\""]);
    let set = "pip config --global set global";
    let set_up = json!([
        format!("{set}.index-url http://{}:{}/simple && {set}.trusted-host {}", gateway(), mirror.port, gateway()),
        // Debian's Python belongs to Debian's packages, unless somebody says otherwise.
        format!("{set}.break-system-packages true"),
    ]);
    let use_it = "python3 -c 'import greeting, loudness; print(loudness.loud(greeting.hello()))'; id -u; ls -a / . | grep = || true";
    for (builder, user) in [(Builder::Auto, None), (Builder::Classic, Some(1234))] {
        let name = format!("pip-{}-{}", user.unwrap_or(0), std::process::id());
        let mut runtime = json!({
            "name": name, "baseImage": debian(), "packages": wanted, "setupCommands": set_up, "runAsUid": user,
        });
        assert_eq!(said(&engine, &runtime, builder, use_it).await, format!("HELLO OF 1.9\n{}\n", user.unwrap_or(0)));
        let downloads = || {
            let mut files = mirror.asked();
            files.retain(|path| path.starts_with("/files/"));
            files
        };
        let first = ["/files/greeting-1.9-py3-none-any.whl", "/files/loudness-2.1-py3-none-any.whl"];
        assert_eq!(downloads(), first, "{builder:?}");
        if builder == Builder::Auto {
            runtime["packages"].as_array_mut().unwrap().push("afterwards".into());
            said(&engine, &runtime, builder, "true").await;
            assert_eq!(downloads(), ["/files/afterwards-1.0-py3-none-any.whl"], "what was there is kept");
        }
        forget(&engine, &name);
    }
}

/// A tarball of a package of one module, and what the registry says of it.
fn node_package(name: &str, version: &str, port: u16) -> (String, Vec<u8>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("package");
    let about = json!({ "name": name, "version": version, "main": "index.js" });
    write(&package.join("package.json"), &about.to_string());
    write(&package.join("index.js"), &format!("module.exports = '{name} {version}'\n"));
    let bytes = made_by("tar", &["--create", "--gzip", "package"], folder.path());
    std::fs::write(folder.path().join("tarball"), &bytes).unwrap();
    let digest = "openssl dgst -sha512 -binary tarball | openssl base64 -A";
    let digest = String::from_utf8(made_by("sh", &["-c", digest], folder.path())).unwrap();
    let path = format!("/{name}/-/{version}.tgz");
    let mut said = about;
    said["dist"] =
        json!({ "tarball": format!("http://{}:{port}{path}", gateway()), "integrity": format!("sha512-{digest}") });
    (path, bytes, said)
}

fn node_mirror() -> Served {
    Served::start(|port| {
        let mut pages = BTreeMap::new();
        for (name, versions) in [
            ("greeting", ["1.4.0", "1.9.0", "2.0.0"].as_slice()),
            ("@people/loud", &["2.1.3", "2.2.0"]),
            ("afterwards", &["1.0.0"]),
        ] {
            let mut about = json!({ "name": name, "dist-tags": { "latest": versions.last() }, "versions": {} });
            for version in versions {
                let (path, bytes, said) = node_package(name, version, port);
                about["versions"][version] = said;
                pages.insert(path, Page::for_ever(bytes));
            }
            let path = format!("/{}", name.replace('/', "%2f"));
            pages.insert(path, Page::new("application/json", about.to_string()));
        }
        pages
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_installs_from_a_private_registry_into_the_working_directory() {
    let (engine, mirror) = (engine(), node_mirror());
    let wanted = json!(["greeting@<2.0.0", "newer@npm:greeting@>=1.5.0", "@people/loud@~2.1.0"]);
    let use_it = "node -p \"['greeting', 'newer', '@people/loud'].map((name) => require(name)).join()\"; pwd; id -u; ls -a / . | grep = || true";
    for (builder, user) in [(Builder::Auto, None), (Builder::Classic, Some(1234))] {
        let name = format!("npm-{}-{}", user.unwrap_or(0), std::process::id());
        let mut runtime = json!({
            "name": name, "baseImage": debian(), "packageManager": "npm", "packages": wanted, "workDir": "/my app",
            "setupCommands": [format!("npm config set registry http://{}:{}/", gateway(), mirror.port)], "runAsUid": user,
        });
        let expected = format!("greeting 1.9.0,greeting 2.0.0,@people/loud 2.1.3\n/my app\n{}\n", user.unwrap_or(0));
        assert_eq!(said(&engine, &runtime, builder, use_it).await, expected);
        let downloads = || {
            let mut files = mirror.asked();
            files.retain(|path| path.ends_with(".tgz"));
            files.sort();
            files
        };
        let first = ["/@people/loud/-/2.1.3.tgz", "/greeting/-/1.9.0.tgz", "/greeting/-/2.0.0.tgz"];
        assert_eq!(downloads(), first, "{builder:?}");
        if builder == Builder::Auto {
            runtime["packages"].as_array_mut().unwrap().push("afterwards".into());
            said(&engine, &runtime, builder, "true").await;
            assert_eq!(downloads(), ["/afterwards/-/1.0.0.tgz"], "what was there is kept");
        }
        forget(&engine, &name);
    }
}

/// No name of a package becomes an option of its manager, a second argument or a line of the build (R-DK, BE-133).
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_none_is_refused_before_any_manager_runs() {
    let engine = engine();
    for manager in ["pip", "npm", "apt", "cargo"] {
        for package in ["--index-url=http://127.0.0.1", "-rx", "a b", "a\nRUN x", "./a", "", "$(x)", "é"] {
            let runtime: Runtime = serde_json::from_value(json!({
                "name": "hostile", "baseImage": debian(), "packageManager": manager, "packages": ["fine", package],
            }))
            .unwrap();
            let options = DockerOptions { image: None, runtime: Some(runtime), ..engine.options() };
            let begun = match DockerBackend::new(options, None) {
                Ok(backend) => backend.start().await,
                Err(error) => Err(error),
            };
            assert_eq!(begun.unwrap_err().kind(), ErrorKind::InvalidInput, "{manager}: {package}");
        }
    }
}
