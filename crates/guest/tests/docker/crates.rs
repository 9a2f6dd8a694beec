//! Cargo that really runs in a build, on a registry of its own: this machine's compiler, in an image with what it needs to run.

use std::collections::BTreeMap;

use gloveport_core::backend::docker::Builder;
use serde_json::json;

use crate::http::{Page, Served, digest, gateway, made_by};
use crate::packages::{forget, said, write};
use crate::{Engine, engine};

/// Programs for it need no library and no linker of the machine.
#[cfg(target_arch = "x86_64")]
const TARGET: &str = "x86_64-unknown-linux-musl";
#[cfg(target_arch = "aarch64")]
const TARGET: &str = "aarch64-unknown-linux-musl";

/// An image of this machine's Rust, with its settings where the official one has them.
fn rust(engine: &Engine) -> String {
    let stage = tempfile::tempdir().unwrap();
    let image = format!("gloveport-test:rust-{}", std::process::id());
    let linker = format!("CARGO_TARGET_{}_LINKER", TARGET.to_uppercase().replace('-', "_"));
    let made = |script: &str| made_by("sh", &["-ec", script], stage.path());
    made(
        "mkdir -p bin etc tmp && chmod 1777 tmp
         cp $(command -v busybox) bin/busybox
         for name in $(bin/busybox --list); do ln -s busybox bin/$name || [ $name = busybox ]; done
         echo root:x:0:0:root:/root:/bin/sh >etc/passwd
         root=$(rustc --print sysroot)
         ldd $root/bin/cargo $root/bin/rustc $root/lib/librustc_driver*.so | grep -o '/lib[^ ]*' | grep -v rust | sort -u |
             xargs cp -L --parents -t .",
    );
    // What checks programs while they run is linked to nothing here.
    made(&format!(
        "host=$(rustc -vV | sed -n 's/^host: //p')
         root=$(rustc --print sysroot)
         cd $root
         tar --create --owner=0 --group=0 --exclude='*san.a' --transform='s,^\\(bin\\|lib\\)/,usr/local/\\1/,S' \
             --directory={stage} . --directory=$root bin/cargo bin/rustc $(ls -d lib/lib*.so*) lib/rustlib/$host/bin lib/rustlib/{TARGET}/lib |
         docker --host {host} import --change 'ENV CARGO_HOME=/usr/local/cargo' \
             --change 'ENV PATH=/usr/local/cargo/bin:/usr/local/bin:/bin' --change 'ENV CARGO_BUILD_TARGET={TARGET}' \
             --change 'ENV {linker}=rust-lld' - {image}",
        stage = stage.path().display(),
        host = engine.host,
    ));
    image
}

/// The file of a crate of one source file.
fn packed(name: &str, version: &str, dependencies: &str, files: &[(&str, String)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let root = format!("{name}-{version}");
    let manifest = format!("[package]\nname = '{name}'\nversion = '{version}'\nedition = '2021'\n{dependencies}");
    for (file, text) in [("Cargo.toml", manifest)].iter().chain(files) {
        write(&folder.path().join(&root).join(file), text);
    }
    made_by("tar", &["--create", "--gzip", &root], folder.path())
}

fn library(version: &str) -> Vec<u8> {
    let source = format!("pub fn loud(text: &str) -> String {{ text.to_uppercase() + \" by {version}\" }}\n");
    packed("loudness", version, "", &[("src/lib.rs", source)])
}

/// A program whose lock names a library that is not the newest.
fn program(version: &str, library: &str) -> Vec<u8> {
    let source = format!("fn main() {{ println!(\"{{}}\", loudness::loud(\"hello of {version}\")) }}\n");
    let lock = format!(
        "version = 3\n[[package]]\nname = \"greeting\"\nversion = \"{version}\"\ndependencies = [\"loudness\"]\n\
         [[package]]\nname = \"loudness\"\nversion = \"2.1.0\"\nchecksum = \"{library}\"\n\
         source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"
    );
    packed("greeting", version, "[dependencies]\nloudness = '2'\n", &[("src/main.rs", source), ("Cargo.lock", lock)])
}

/// A registry of crates, by its sparse index: a program, and the library that it is built of.
fn mirror() -> Served {
    let sum = |bytes: &[u8]| digest(bytes).replace("sha256:", "");
    let libraries = ["2.1.0", "2.2.0"].map(|version| ("loudness", version, library(version), json!([])));
    let older = sum(&libraries[0].2);
    let needs = json!([{
        "name": "loudness", "req": "^2", "features": [], "optional": false, "default_features": true, "target": null,
        "kind": "normal",
    }]);
    let programs =
        ["1.4.0", "1.9.0", "2.0.0"].map(|version| ("greeting", version, program(version, &older), needs.clone()));
    Served::start(|port| {
        let place = format!("http://{}:{port}/crates/{{crate}}-{{version}}.crate", gateway());
        let about = Page::new("application/json", json!({ "dl": place }).to_string());
        let mut pages = BTreeMap::from([("/index/config.json".to_owned(), about)]);
        for (name, version, bytes, needs) in libraries.into_iter().chain(programs) {
            let line = json!({
                "name": name, "vers": version, "deps": needs, "cksum": sum(&bytes), "features": {}, "yanked": false,
            });
            let index = pages.entry(format!("/index/{}/{}/{name}", &name[..2], &name[2..4]));
            let index = index.or_insert_with(|| Page::new("text/plain", ""));
            index.bytes.extend(format!("{line}\n").bytes());
            pages.insert(format!("/crates/{name}-{version}.crate"), Page::for_ever(bytes));
        }
        pages
    })
}

/// A version is no redirection for Cargo either, and the lock of a program holds for what it is built of.
#[tokio::test(flavor = "multi_thread")]
async fn cargo_installs_from_a_private_registry_what_was_asked_for() {
    let (engine, mirror) = (engine(), mirror());
    let image = rust(&engine);
    let settings = format!(
        "[source.crates-io]\\nreplace-with = \"mirror\"\\n[source.mirror]\\nregistry = \"sparse+http://{}:{}/index/\"\\n",
        gateway(),
        mirror.port
    );
    let set_up = format!("mkdir -p $CARGO_HOME && printf '{settings}' >$CARGO_HOME/config.toml");
    let use_it = "greeting; id -u; ls -a / . | grep = || true";
    let name = |user: Option<u32>| format!("cargo-{}-{}", user.unwrap_or(0), std::process::id());
    for (builder, user, wanted, version, library) in [
        (Builder::Auto, None, "greeting@>=1.2,<2", "1.9.0", Some("loudness-2.1.0.crate")),
        // What the first build of this runtime downloaded is there.
        (Builder::Auto, None, "greeting@=1.4.0", "1.4.0", None),
        (Builder::Classic, Some(1234), "greeting@^1", "1.9.0", Some("loudness-2.1.0.crate")),
    ] {
        let runtime = json!({
            "name": name(user), "baseImage": image, "packageManager": "cargo", "packages": [wanted],
            "setupCommands": [set_up], "runAsUid": user,
        });
        let expected = format!("HELLO OF {version} by 2.1.0\n{}\n", user.unwrap_or(0));
        assert_eq!(said(&engine, &runtime, builder, use_it).await, expected, "{builder:?}: {wanted}");
        let asked = mirror.asked();
        let mut downloads: Vec<&str> = asked.iter().filter_map(|path| path.strip_prefix("/crates/")).collect();
        downloads.sort_unstable();
        let program = format!("greeting-{version}.crate");
        assert_eq!(downloads, [&program].into_iter().map(String::as_str).chain(library).collect::<Vec<_>>());
    }
    for user in [None, Some(1234)] {
        forget(&engine, &name(user));
    }
    engine.docker(&["rmi", "--force", &image]);
}
