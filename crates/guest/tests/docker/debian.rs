//! What needs more than busybox: an image with bash, the GNU tools, git and Python (`scripts/lib/debian-image.mjs`).

use std::time::Duration;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram, Runtime};
use gloveport_core::backend::{Backend, Call, ExecuteRequest};
use gloveport_core::sandbox::{Mount, Sandbox};

use crate::{Engine, engine, read, run, write};

fn options(engine: &Engine) -> DockerOptions {
    let image = std::env::var("GLOVEPORT_TEST_DEBIAN").unwrap();
    DockerOptions { image: Some(image), ..engine.options() }
}

/// Git asks who commits, and refuses folders of other users, where nobody can answer (BE-120).
#[tokio::test(flavor = "multi_thread")]
async fn git_and_python_work_in_debian_without_asking() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(4321), Some(4321)).unwrap();
    let sandbox = Sandbox::new(vec![Mount::new(folder.path(), "/work").read_write()], folder.path()).unwrap();
    // Root without capabilities writes nobody else's folder.
    let user = Some("4321:4321".to_owned());
    let options = DockerOptions { sandbox: Some(sandbox), user, ..options(&engine) };
    let backend = DockerBackend::new(options, None).unwrap();
    write(&backend, "/work/a.py", b"import sys\nprint('out'); print('err', file=sys.stderr); sys.exit(3)\n").await;
    let outcome =
        run(&backend, "git init -q && git add . && git commit -q -m first && git log --format='%an %s'").await;
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("Agent first\n", Some(0)), "{}", outcome.stderr);
    let outcome = run(&backend, "python3 a.py").await;
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.exit_code), ("out\n", "err\n", Some(3)));
    // What nothing flushes is there all the same when the time is over.
    let mut request = ExecuteRequest::new("python3 -c 'import time; print(\"first\"); time.sleep(1000)'");
    request.timeout = Some(Duration::from_secs(5));
    let outcome = backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.timed_out), ("first\n", true));
    backend.close().await.unwrap();
    assert!(folder.path().join(".git/HEAD").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_and_the_tools_of_gnu_work_in_debian() {
    let engine = engine();
    let backend = DockerBackend::new(options(&engine), None).unwrap();
    let script =
        "bash -c 'set -o pipefail; a=(1 2 3); diff <(seq 3) <(printf \"%s\\n\" \"${a[@]}\") && false | true; echo $?'";
    assert_eq!(run(&backend, script).await.stdout, "1\n");
    // A tree that a program of another session group hides in ends as well.
    let mut request =
        ExecuteRequest::new("python3 -c 'import os, time; os.fork() or (os.setsid(), time.sleep(1001))'; sleep 1002");
    request.timeout = Some(Duration::from_secs(3));
    assert!(backend.shell().unwrap().execute(request, &Call::default()).await.unwrap().timed_out);
    assert_eq!(run(&backend, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[s]leep.100'").await.stdout, "0\n");
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn debian_without_a_guest_is_used_through_its_shell() {
    let engine = engine();
    let options = DockerOptions { guest: GuestProgram::default(), ..options(&engine) };
    let backend = DockerBackend::new(options, None).unwrap();
    let content: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    write(&backend, "/workspace/it's.bin", &content).await;
    assert_eq!(read(&backend, "/workspace/it's.bin").await.unwrap(), content);
    assert_eq!(run(&backend, "stat -c '%s %a' \"it's.bin\"").await.stdout, "200000 644\n");
    backend.close().await.unwrap();
}

/// `pip install numpy>=1.26` of a shell writes a file `=1.26` (D31a): what a package is called reaches the program as it is.
#[tokio::test(flavor = "multi_thread")]
async fn the_packages_of_a_runtime_reach_their_program_as_they_are() {
    let engine = engine();
    let Some(base) = options(&engine).image else { panic!("there is an image") };
    let name = format!("packages-{}", std::process::id());
    // A `pip` that says what it was asked for: none is reached from here.
    let pip =
        r#"printf '#!/bin/sh\nprintf "%%s\\n" "$@" >/asked\n' >/usr/local/bin/pip && chmod 755 /usr/local/bin/pip"#;
    let runtime: Runtime = serde_json::from_value(serde_json::json!({
        "name": name,
        "baseImage": base,
        "packages": ["numpy>=1.26,<3", "pandas[excel]==2.*"],
        "setupCommands": [pip],
    }))
    .unwrap();
    let options = DockerOptions { image: None, runtime: Some(runtime), ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    let asked = run(&backend, "cat /asked; ls -a / /workspace | grep = || true").await.stdout;
    assert!(asked.contains("\nnumpy>=1.26,<3\npandas[excel]==2.*\n") && !asked.contains("\n="), "{asked}");
    backend.close().await.unwrap();
    let images = engine.docker(&["images", "--quiet", "--filter", &format!("reference=gloveport-runtime:{name}-*")]);
    engine.docker(&["rmi", "--force", &images]);
}

/// Where packages are kept is told to apt by its options, and what images of Debian delete after each run is elsewhere (BE-131).
#[tokio::test(flavor = "multi_thread")]
async fn apt_installs_from_what_was_kept() {
    let engine = engine();
    let Some(base) = options(&engine).image else { panic!("there is an image") };
    let name = format!("apt-{}", std::process::id());
    // A repository of two packages in the image; each says while it is installed which packages apt has kept.
    let set_up: Vec<String> = ["one", "two"]
        .iter()
        .map(|package| {
            [
                format!("mkdir -p /repo/{package}/DEBIAN && cd /repo"),
                format!("printf 'Package: {package}\\nVersion: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n' >{package}/DEBIAN/control"),
                format!("printf '#!/bin/sh\\nls /var/cache/gloveport/apt/archives >/seen-{package}\\n' >{package}/DEBIAN/postinst"),
                format!("chmod 755 {package}/DEBIAN/postinst && dpkg-deb --build {package} {package}.deb"),
                format!("cat {package}/DEBIAN/control >>Packages"),
                format!("printf 'Filename: ./{package}.deb\\nSize: %s\\nSHA256: %s\\n\\n' $(stat -c %s {package}.deb) $(sha256sum <{package}.deb | cut -d ' ' -f 1) >>Packages"),
            ]
            .join(" && ")
        })
        .chain([
            "rm -f /etc/apt/sources.list.d/* && echo 'deb [trusted=yes] copy:/repo ./' >/etc/apt/sources.list".to_owned(),
            // As the official images have it.
            r#"echo 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };' >/etc/apt/apt.conf.d/docker-clean"#
                .to_owned(),
        ])
        .collect();
    for (package, kept) in [("one", "one_1_all.deb"), ("two", "one_1_all.deb\ntwo_1_all.deb")] {
        let runtime: Runtime = serde_json::from_value(serde_json::json!({
            "name": name, "baseImage": base, "packageManager": "apt", "packages": [package],
            "setupCommands": set_up,
        }))
        .unwrap();
        let options = DockerOptions { image: None, runtime: Some(runtime), ..engine.options() };
        let backend = DockerBackend::new(options, None).unwrap();
        let seen = run(
            &backend,
            &format!("grep deb /seen-{package}; ls -A /var/lib/apt/lists; dpkg -s {package} | grep Status"),
        )
        .await;
        assert_eq!(seen.stdout, format!("{kept}\nStatus: install ok installed\n"), "{}", seen.stderr);
        backend.close().await.unwrap();
    }
    let images = engine.docker(&["images", "--quiet", "--filter", &format!("reference=gloveport-runtime:{name}-*")]);
    engine.docker(&["rmi", "--force", &images]);
}

/// One that never gives up making more of itself is ended with its time, whole, and the container lives (R-DK-1, R-DK-3).
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_with_its_time_in_debian() {
    let engine = engine();
    let backend = DockerBackend::new(DockerOptions { pids: 40, ..options(&engine) }, None).unwrap();
    write(&backend, "/workspace/bomb.py", b"import os\nwhile True:\n  try: os.fork()\n  except OSError: pass\n").await;
    let mut request = ExecuteRequest::new("echo lit; exec python3 bomb.py");
    request.timeout = Some(Duration::from_secs(3));
    let outcome = backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.timed_out), ("lit\n", true));
    assert_eq!(run(&backend, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[b]omb.py'").await.stdout, "0\n");
    backend.close().await.unwrap();
}
