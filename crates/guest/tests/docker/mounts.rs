//! Directories of this machine in a container: the ones that were given, and no others.

use std::path::Path;

use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::backend::{Backend, Call, Window};
use gloveport_core::error::ErrorKind;
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};

use crate::{Engine, engine, read, run, try_run, write};

fn backend(engine: &Engine, container: Option<&str>, mounts: &[(&Path, &str)]) -> DockerBackend {
    let list = mounts.iter().map(|(host, point)| Mount::new(host, *point).read_write()).collect();
    let sandbox = Sandbox::new(list, mounts[0].0).unwrap();
    let container = container.map(str::to_owned);
    DockerBackend::new(DockerOptions { sandbox: Some(sandbox), container, ..engine.options() }, None).unwrap()
}

/// The engine follows a mount's name once more at each start: who had put another directory in its place, or a link, had commands work
/// on that, and file tools on the first one.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_was_replaced_before_a_container_starts_is_not_taken_for_the_one_that_was_given() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let [work, theirs, kept, still] = ["work", "theirs", "kept", "still"].map(|name| folder.path().join(name));
    for (place, content) in [(&work, "ours"), (&theirs, "theirs"), (&still, "still")] {
        std::fs::create_dir(place).unwrap();
        std::fs::write(place.join("file"), content).unwrap();
    }
    let mounts = [(&*still, "/still"), (&*work, "/work")];
    let name = format!("gloveport-replaced-{}", std::process::id());
    for container in [None, Some(&*name)] {
        let before = backend(&engine, container, &mounts);
        if container.is_some() {
            // It has run, and comes again with the other one.
            assert_eq!(run(&before, "cat /work/file /still/file").await.stdout, "oursstill");
            before.stop(false).await.unwrap();
        }
        std::fs::rename(&work, &kept).unwrap();
        for link in [false, true] {
            if link {
                std::os::unix::fs::symlink(&theirs, &work).unwrap();
            } else {
                std::fs::rename(&theirs, &work).unwrap();
            }
            let error = try_run(&before, "cat /work/file").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
            assert!(error.message().starts_with("The container's mounts are not the directories"), "{error}");
            assert_eq!(read(&before, "/work/file").await.unwrap(), b"ours");
            if link {
                std::fs::remove_file(&work).unwrap();
            } else {
                std::fs::rename(&work, &theirs).unwrap();
            }
        }
        // What comes back is the same one.
        std::fs::rename(&kept, &work).unwrap();
        assert_eq!(run(&before, "cat /work/file /still/file").await.stdout, "oursstill");
        before.stop(true).await.unwrap();
        before.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_keeps_of_all_containers_is_not_mounted() {
    let engine = engine();
    let kept = engine.docker(&["info", "--format", "{{.DockerRootDir}}"]);
    let volumes = Path::new(&kept).join("volumes");
    for place in [Path::new(&kept), &volumes] {
        let error = backend(&engine, None, &[(place, "/work")]).start().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains("what the engine keeps of all of them"), "{error}");
    }
}

/// What a command made keeps its owner and mode under a file tool, and the other way round; nobody inside sees half of a write.
#[tokio::test(flavor = "multi_thread")]
async fn owners_and_modes_stay_and_a_reader_inside_sees_whole_files() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let backend = backend(&engine, None, &[(folder.path(), "/work")]);
    run(&backend, "echo one >/work/f; chmod 640 /work/f; echo two >/work/g; chmod 751 /work/g").await;
    std::os::unix::fs::chown(folder.path().join("f"), Some(1234), Some(1235)).unwrap();
    for name in ["f", "g"] {
        write(&backend, &format!("/work/{name}"), b"other\n").await;
    }
    let outcome = run(&backend, "cd /work; stat -c '%n %a %u:%g' f g; cat g").await;
    assert_eq!(outcome.stdout, "f 640 1234:1235\ng 751 0:0\nother\n", "{outcome:?}");
    let [short, long] = [vec![b'a'; 1 << 20], vec![b'b'; 3 << 20]];
    write(&backend, "/work/h", &short).await;
    let reads = "cd /work; n=0; until [ -e stop ]; do wc -c <h; n=$((n+1)); [ $n = 3 ] && touch read; done >/tmp/seen; touch read; \
                 sort -u /tmp/seen";
    let (outcome, ()) = tokio::join!(run(&backend, reads), async {
        let mut turns = 0;
        // Until it has read some, among many writes.
        while turns < 20 || !folder.path().join("read").exists() {
            for content in [&long, &short] {
                write(&backend, "/work/h", content).await;
            }
            turns += 1;
        }
        write(&backend, "/work/stop", b"").await;
    });
    for size in outcome.stdout.lines() {
        assert!([short.len(), long.len()].contains(&size.trim().parse().unwrap()), "{outcome:?}");
    }
    assert!(!outcome.stdout.is_empty());
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_any_size_is_read_through_a_mount() {
    let engine = engine();
    let folder = tempfile::tempdir().unwrap();
    let backend = backend(&engine, None, &[(folder.path(), "/work")]);
    run(&backend, "yes 0123456789012345678 | head -c 90000000 >/work/large").await;
    let path = VirtualPath::absolute("/work/large").unwrap();
    let window = Window { offset: 4_000_000, limit: 2, max_bytes: 1 << 10 };
    let slice = backend.files().read(&path, window, &Call::default()).await.unwrap();
    assert_eq!(slice.content, "0123456789012345678\n".repeat(2));
    backend.close().await.unwrap();
}
