//! What a container keeps in.

use gloveport_core::access::Operation;
use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::backend::{Backend, Call, Missing};
use gloveport_core::error::ErrorKind;
use gloveport_core::path::VirtualPath;

use crate::{engine, run, try_run, wait, write};

#[tokio::test(flavor = "multi_thread")]
async fn the_walls_are_up_by_default() {
    let engine = engine();
    let backend = engine.backend();
    let status = run(&backend, "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t ' ' '")
        .await
        .stdout;
    for line in ["CapEff: 0000000000000000", "CapBnd: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2"] {
        assert!(status.contains(line), "{status}");
    }
    // No network but the loop back, no engine inside.
    assert_eq!(run(&backend, "ls /sys/class/net; ls /var/run/docker.sock 2>/dev/null").await.stdout, "lo\n");
    // The first process holds the container, and nothing inside can end it, not even with every other process.
    let id = backend.container_id().await.unwrap();
    let _ = try_run(&backend, "kill -9 1; kill -9 -1").await;
    assert_eq!(run(&backend, "echo alive").await.stdout, "alive\n");
    assert_eq!(backend.container_id().await.as_deref(), Some(id.as_str()));
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_bite() {
    let engine = engine();
    let options = DockerOptions { memory: 64 << 20, pids: 40, ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    // More processes than the container may have: a bounded count of them, each ending soon.
    let outcome = run(&backend, "n=0; while [ $n -lt 80 ]; do sleep 3 & n=$((n+1)); done; wait; echo done").await;
    assert!(outcome.stderr.contains("fork"), "{outcome:?}");
    // More memory than it may have: the kernel ends the one that asks, and the container lives.
    let id = backend.container_id().await;
    let outcome = run(&backend, "head -c 200000000 /dev/zero | tail -c 199999999 >/dev/null; echo \"code $?\"").await;
    assert_eq!(outcome.stdout, "code 137\n", "{outcome:?}");
    assert_eq!(run(&backend, "echo alive").await.stdout, "alive\n");
    assert_eq!(backend.container_id().await, id);
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_have_a_size_and_a_disk_that_cannot_be_bounded_is_said_to_be_so() {
    let engine = engine();
    let backend = DockerBackend::new(DockerOptions { file_size: 1 << 20, ..engine.options() }, None).unwrap();
    let outcome = run(&backend, "head -c 3000000 /dev/zero >big; wc -c <big").await;
    assert_eq!(outcome.stdout.trim(), "1048576", "{outcome:?}");
    // Our own program takes no harm.
    let id = backend.container_id().await;
    let path = VirtualPath::absolute("/workspace/large").unwrap();
    let change = Box::new(|_: Option<_>| Ok(vec![b'x'; 3 << 20]));
    let writer = backend.writer().unwrap();
    let error = writer.update(&path, Operation::Write, Missing::Create, change, &Call::default()).await.unwrap_err();
    assert_ne!(error.kind(), ErrorKind::BackendUnavailable, "{error}");
    assert_eq!(run(&backend, "ls; ulimit -n; ulimit -c").await.stdout, "big\n4096\n0\n");
    assert_eq!(backend.container_id().await, id);
    backend.close().await.unwrap();

    let backend = DockerBackend::new(DockerOptions { disk: Some(64 << 20), ..engine.options() }, None).unwrap();
    match backend.start().await {
        Ok(()) => {
            let outcome = run(&backend, "head -c 100000000 /dev/zero >big; wc -c <big").await;
            assert!(outcome.stdout.trim().parse::<u64>().unwrap() <= 64 << 20, "{outcome:?}");
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
            assert!(error.message().ends_with("Leave `disk` out."), "{error}");
        }
    }
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn processors_are_bounded_and_the_capabilities_are_the_ones_that_were_asked_for() {
    let engine = engine();
    let options = DockerOptions { cpus: 0.2, capabilities: vec!["CHOWN".to_owned()], ..engine.options() };
    let backend = DockerBackend::new(options, None).unwrap();
    let outcome =
        run(&backend, "grep CapEff /proc/self/status; touch f; chown 1234 f; ls -ln f | tr -s ' ' | cut -d' ' -f3")
            .await;
    assert_eq!(outcome.stdout, "CapEff:\t0000000000000001\n1234\n", "{outcome:?}");
    // What the kernel holds it to, by either of its interfaces: on a machine that does much else nobody gets more anyway.
    let quota = "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null | cut -d' ' -f1";
    assert_eq!(run(&backend, quota).await.stdout, "20000\n");
    // Ticks of a hundredth of a second that a spinner had, and how long that took.
    let spin = "cut -d' ' -f1 /proc/uptime; sh -c 'while :; do :; done' & sleep 2; cut -d' ' -f14 /proc/$!/stat; kill -9 $!; \
                cut -d' ' -f1 /proc/uptime";
    let ended = std::sync::atomic::AtomicBool::new(false);
    let (outcome, most) = tokio::join!(
        async {
            let outcome = run(&backend, spin).await;
            ended.store(true, std::sync::atomic::Ordering::Release);
            outcome
        },
        async {
            let mut most = 0.0_f64;
            while !ended.load(std::sync::atomic::Ordering::Acquire) {
                most = most.max(backend.usage().await.unwrap().unwrap().cpu_percent.unwrap_or(0.0));
            }
            most
        }
    );
    let numbers: Vec<f64> = outcome.stdout.lines().map(|line| line.parse().unwrap()).collect();
    let [begun, ticks, over] = numbers[..] else { panic!("{outcome:?}") };
    assert!(ticks / 100.0 < (over - begun) * 0.2 * 1.5 + 0.2, "{outcome:?}");
    assert!(most > 1.0 && most < 70.0, "{most}");
    backend.close().await.unwrap();
}

/// The default user is root, and wrote where our program lies: without a bound, and in its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_cannot_be_written_cannot_be_by_root() {
    let engine = engine();
    let name = format!("gloveport-read-only-{}", std::process::id());
    for container in [None, Some(name.clone())] {
        let is_named = container.is_some();
        let options = DockerOptions { read_only_root: true, container, ..engine.options() };
        let backend = DockerBackend::new(options, None).unwrap();
        let tried = "id -u; for place in / /.gloveport /bin /etc /workspace; do touch $place/x && echo $place; done 2>/dev/null; \
                     rm /.gloveport/guest 2>/dev/null && echo removed; cut -d' ' -f3,4 /proc/self/mounts | grep ' rw' | cut -d' ' -f1 | sort -u";
        let outcome = run(&backend, tried).await;
        let (user, kinds) = outcome.stdout.split_once('\n').unwrap();
        assert_eq!(user, "0");
        // What is left to write is in memory, or no place for files.
        for kind in kinds.lines() {
            assert!(["tmpfs", "proc", "devpts", "mqueue", "sysfs", "cgroup", "cgroup2"].contains(&kind), "{kinds}");
        }
        let id = backend.container_id().await.unwrap();
        let volume = engine.docker(&["inspect", "--format", "{{range .Mounts}}{{.Name}}{{end}}", &id]);
        let volumes = || engine.docker(&["volume", "ls", "--quiet"]);
        assert!(volumes().contains(&volume) && !volume.is_empty(), "{volume}");
        // Nothing is left of how our program came there.
        wait(|| !engine.docker(&["ps", "--all", "--format", "{{.Names}}"]).contains("-guest")).await;
        if is_named {
            backend.stop(false).await.unwrap();
            assert_eq!(run(&backend, "echo resumed").await.stdout, "resumed\n");
            backend.stop(true).await.unwrap();
        }
        backend.close().await.unwrap();
        assert!(!engine.exists(&id) && !volumes().contains(&volume));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_cannot_be_written_and_another_user() {
    let engine = engine();
    let options = DockerOptions {
        read_only_root: true,
        user: Some("1234:1234".to_owned()),
        tmpfs: [("/workspace".to_owned(), "uid=1234,gid=1234".to_owned())].into(),
        ..engine.options()
    };
    let backend = DockerBackend::new(options, None).unwrap();
    assert_eq!(run(&backend, "id -u; id -g; touch /x 2>/dev/null || echo no").await.stdout, "1234\n1234\nno\n");
    write(&backend, "/workspace/a", b"text").await;
    assert_eq!(run(&backend, "cat a; touch /tmp/x && echo tmp").await.stdout, "texttmp\n");
    backend.close().await.unwrap();

    let backend =
        DockerBackend::new(DockerOptions { user: Some("1234:1234".to_owned()), ..engine.options() }, None).unwrap();
    write(&backend, "/workspace/mine", b"text").await;
    assert_eq!(run(&backend, "ls -ln mine | tr -s ' ' | cut -d' ' -f3,4").await.stdout, "1234 1234\n");
    backend.close().await.unwrap();
}

/// An engine makes the working directory as root, and a user of the image could write nothing where commands run.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_of_the_image_has_the_working_directory() {
    let engine = engine();
    let name = format!("gloveport-user-{}", std::process::id());
    let plain = engine.docker(&["create", "--network=none", &engine.image, "true"]);
    // Larger than the seven octal digits of an archive's head.
    engine.docker(&["commit", "--change", "USER 3000000:3000001", &plain, &name]);
    engine.docker(&["rm", &plain]);
    let backend = DockerBackend::new(DockerOptions { image: Some(name.clone()), ..engine.options() }, None).unwrap();
    write(&backend, "/workspace/mine", b"text").await;
    assert_eq!(
        run(&backend, "id -u; echo more >> mine; ls -ln mine | tr -s ' ' | cut -d' ' -f3,4").await.stdout,
        "3000000\n3000000 3000001\n"
    );
    backend.close().await.unwrap();
    engine.docker(&["rmi", &name]);
}

/// Its numbers are in the image's own tables, and were known to nobody before it ran.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_the_image_names_has_the_working_directory() {
    let engine = engine();
    let tables = "echo app:x:1234:1235::/:/bin/sh >/etc/passwd; echo team:x:1236: >/etc/group";
    let made = engine.docker(&["create", "--network=none", &engine.image, "sh", "-c", tables]);
    engine.docker(&["start", "--attach", &made]);
    for (user, owner) in [("app", "1234 1235"), ("app:team", "1234 1236"), ("1234:team", "1234 1236")] {
        let name = format!("gloveport-named-{}", std::process::id());
        engine.docker(&["commit", "--change", &format!("USER {user}"), &made, &name]);
        let options = DockerOptions { image: Some(name.clone()), ..engine.options() };
        let backend = DockerBackend::new(options, None).unwrap();
        write(&backend, "/workspace/mine", b"text").await;
        let look = "ls -ln mine | tr -s ' ' | cut -d' ' -f1,3,4";
        let outcome = run(&backend, &format!("chmod 640 mine; mkdir -p a/b; echo more >>mine; {look}")).await;
        assert_eq!(outcome.stdout, format!("-rw-r----- {owner}\n"), "{user}: {}", outcome.stderr);
        // Written once more, it is the same user's with the same mode.
        write(&backend, "/workspace/mine", b"other text").await;
        assert_eq!(run(&backend, look).await.stdout, format!("-rw-r----- {owner}\n"), "{user}");
        backend.close().await.unwrap();
        engine.docker(&["rmi", &name]);
    }
    engine.docker(&["rm", &made]);
}
