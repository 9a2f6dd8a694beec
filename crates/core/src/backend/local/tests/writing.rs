//! What a write keeps, refuses and leaves behind; parallel writers.

use std::sync::Arc;

use super::*;
use crate::backend::WritableFileSystem;
#[cfg(not(feature = "portable"))]
use crate::search::GlobQuery;

fn host(base: &Path, path: &str) -> std::path::PathBuf {
    base.join("root").join(path)
}

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[tokio::test]
async fn a_hard_link_keeps_the_old_bytes_outside() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        fs::write(base.path().join("outside"), "old").unwrap();
        fs::hard_link(base.path().join("outside"), host(base.path(), "in")).unwrap();
        write(&backend, "/in", "new").await.unwrap();
        assert_eq!(fs::read_to_string(base.path().join("outside")).unwrap(), "old");
        assert_eq!(read(&backend, "/in").await.unwrap(), "new");
    }
}

#[tokio::test]
async fn a_write_protected_file_is_refused_although_a_rename_could_replace_it() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        write(&backend, "/f", "old").await.unwrap();
        fs::set_permissions(host(base.path(), "f"), fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(kind(write(&backend, "/f", "new").await), ErrorKind::PathNotWritable);
        assert_eq!(read(&backend, "/f").await.unwrap(), "old");
    }
}

#[tokio::test]
async fn a_file_that_is_half_written_is_gone_when_its_writer_has_given_up_or_failed() {
    let call = Call::default();
    for round in 0..50 {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), Strategy::Kernel);
        let path = at("/f");
        let mut writer = backend.writer().unwrap().open_writer(&path, &call).await.unwrap().unwrap();
        writer.write(b"half".to_vec(), &call).await.unwrap();
        if round % 2 == 0 {
            writer.abandon().await;
        } else {
            backend.close().await.unwrap();
            assert_eq!(kind(writer.write(b"rest".to_vec(), &call).await), ErrorKind::Closed);
        }
        assert_eq!(fs::read_dir(host(base.path(), "")).unwrap().count(), 0);
    }
}

/// An open writer held one of the threads that all of a process share.
#[test]
fn any_number_of_files_is_written_at_once_on_two_threads() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(2).build().unwrap();
    let base = tempfile::tempdir().unwrap();
    let backend = whole(base.path(), Strategy::Kernel);
    let call = Call::default();
    runtime.block_on(async {
        let mut writers = Vec::new();
        for number in 0..20 {
            let path = at(&format!("/{number}"));
            let mut writer = backend.writer().unwrap().open_writer(&path, &call).await.unwrap().unwrap();
            writer.write(b"one ".to_vec(), &call).await.unwrap();
            writers.push(writer);
        }
        for mut writer in writers {
            writer.write(b"two".to_vec(), &call).await.unwrap();
            assert_eq!(writer.finish(&call).await.unwrap().size, 7);
        }
    });
    let names = fs::read_dir(host(base.path(), "")).unwrap();
    assert!(names.map(|entry| fs::read(entry.unwrap().path()).unwrap()).eq((0..20).map(|_| b"one two")));
}

/// A process that ends drops its runtime with all that runs on it.
#[test]
fn a_file_that_is_half_written_is_gone_when_its_runtime_ends() {
    for threads in [0, 2] {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), Strategy::Kernel);
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = match threads {
            0 => tokio::runtime::Builder::new_current_thread().build().unwrap(),
            threads => builder.worker_threads(threads).build().unwrap(),
        };
        let path = at("/f");
        let (begun, beginning) = tokio::sync::oneshot::channel();
        let waiting = async move {
            let call = Call::default();
            let mut writer = backend.writer().unwrap().open_writer(&path, &call).await.unwrap().unwrap();
            writer.write(b"half".to_vec(), &call).await.unwrap();
            begun.send(()).unwrap();
            std::future::pending::<()>().await;
            drop(writer);
        };
        runtime.spawn(waiting);
        runtime.block_on(beginning).unwrap();
        assert_eq!(fs::read_dir(host(base.path(), "")).unwrap().count(), 1);
        drop(runtime);
        assert_eq!(fs::read_dir(host(base.path(), "")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn an_error_of_the_transform_leaves_the_file_and_no_temporary() {
    let base = tempfile::tempdir().unwrap();
    let backend = whole(base.path(), Strategy::Kernel);
    write(&backend, "/d/f", "old").await.unwrap();
    let writer: &dyn WritableFileSystem = backend.writer().unwrap();
    let call = Call::default();
    let refuse: Transform = Box::new(|old| {
        assert_eq!(old.unwrap().bytes, b"old");
        Err(crate::error::Error::new(ErrorKind::EditFailed, "no"))
    });
    let path = at("/d/f");
    assert_eq!(
        kind(writer.update(&path, Operation::Edit, Missing::Refuse, refuse, &call).await),
        ErrorKind::EditFailed
    );
    let sneaky = host(base.path(), "d/f");
    let changed: Transform = Box::new(move |_| {
        fs::write(sneaky, "theirs").unwrap();
        Ok(b"ours".to_vec())
    });
    // Compare before rename: somebody who takes no lock wins, and is not overwritten.
    assert_eq!(
        kind(writer.update(&path, Operation::Edit, Missing::Refuse, changed, &call).await),
        ErrorKind::StaleFile
    );
    assert_eq!(read(&backend, "/d/f").await.unwrap(), "theirs");
    let appears = host(base.path(), "d/new");
    let late: Transform = Box::new(move |old| {
        assert!(old.is_none());
        fs::write(appears, "theirs").unwrap();
        Ok(b"ours".to_vec())
    });
    let new = at("/d/new");
    assert_eq!(kind(writer.update(&new, Operation::Write, Missing::Create, late, &call).await), ErrorKind::StaleFile);
    assert_eq!(fs::read_dir(host(base.path(), "d")).unwrap().count(), 2, "no temporary file stays");
}

/// Without a lock against other processes nobody knows that a temporary file is nobody's.
#[cfg(not(feature = "portable"))]
#[tokio::test]
async fn what_a_crash_left_is_hidden_and_then_removed() {
    let base = tempfile::tempdir().unwrap();
    let backend = whole(base.path(), Strategy::Kernel);
    write(&backend, "/d/f", "x").await.unwrap();
    let debris = [".gloveport-0123456789abcdef.tmp", "d/.gloveport-0123456789abcdef.tmp"];
    for path in debris {
        fs::write(host(base.path(), path), "half").unwrap();
    }
    fs::write(host(base.path(), ".gloveport-mine.tmp"), "not ours").unwrap();
    let again = whole(base.path(), Strategy::Kernel);
    assert!(!host(base.path(), debris[0]).exists(), "opening cleans the mounted directory");
    write(&again, "/d/g", "x").await.unwrap();
    assert!(!host(base.path(), debris[1]).exists(), "the first write cleans its directory");
    assert!(host(base.path(), ".gloveport-mine.tmp").exists());
}

#[cfg(not(feature = "portable"))]
#[tokio::test]
async fn what_a_crash_left_goes_when_somebody_lists_or_searches_its_directory() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let readable = sandbox(base.path(), vec![Mount::new("root", "/")], strategy);
        let backend = whole(base.path(), strategy);
        write(&backend, "/d/e/f", "x").await.unwrap();
        let debris = host(base.path(), "d/e/.gloveport-0123456789abcdef.tmp");
        let query = GlobQuery { hidden: true, ..GlobQuery::new("**/*", at("/")) };
        let glob = async |backend: &LocalBackend| backend.files().glob(&query, &Call::default()).await.unwrap();
        for search in [false, true] {
            fs::write(&debris, "half").unwrap();
            // Where nothing may be written, nothing is removed, and still nothing shown.
            assert_eq!(names(&readable, "/d/e", 1).await.unwrap(), ["/d/e/f"]);
            assert_eq!(glob(&readable).await.files.len(), 1);
            assert!(debris.exists());
            // A writer at work holds the lock of its directory, and what it writes is not debris.
            let directory = fs::File::open(host(base.path(), "d/e")).unwrap();
            rustix::fs::flock(&directory, rustix::fs::FlockOperation::LockExclusive).unwrap();
            assert_eq!(names(&backend, "/", 9).await.unwrap(), ["/d", "/d/e", "/d/e/f"]);
            assert_eq!(glob(&backend).await.files.len(), 1);
            assert!(debris.exists());
            drop(directory);
            if search {
                assert_eq!(glob(&backend).await.files.len(), 1);
            } else {
                assert_eq!(names(&backend, "/", 9).await.unwrap(), ["/d", "/d/e", "/d/e/f"]);
            }
            assert!(!debris.exists(), "search: {search}");
        }
        // The lock is free again.
        write(&backend, "/d/e/f", "y").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_parallel_updates_of_one_file_are_all_applied() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = Arc::new(whole(base.path(), strategy));
        let other = Arc::new(whole(base.path(), strategy));
        let tasks: Vec<_> = (0..50)
            .map(|number| {
                let backend = Arc::clone(if number % 2 == 0 { &backend } else { &other });
                tokio::spawn(async move {
                    let transform: Transform = Box::new(move |old| {
                        let mut text = old.map_or_else(Vec::new, |old| old.bytes);
                        text.extend_from_slice(format!("{number}\n").as_bytes());
                        Ok(text)
                    });
                    let (path, call) = (at("/new/log"), Call::default());
                    let writer = backend.writer().unwrap();
                    writer.update(&path, Operation::Edit, Missing::Create, transform, &call).await
                })
            })
            .collect();
        let mut created = 0;
        for task in tasks {
            created += u32::from(task.await.unwrap().unwrap().created);
        }
        let mut lines: Vec<u32> =
            read(&backend, "/new/log").await.unwrap().lines().map(|line| line.parse().unwrap()).collect();
        lines.sort_unstable();
        assert_eq!(lines, (0..50).collect::<Vec<_>>());
        assert_eq!(created, 1);
    }
}

#[tokio::test]
async fn directories_are_made_removed_and_moved_as_a_whole() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        let call = Call::default();
        let writer = backend.writer().unwrap();
        assert!(writer.make_directory(&at("/a/b/c"), &call).await.unwrap());
        assert!(!writer.make_directory(&at("/a/b"), &call).await.unwrap());
        write(&backend, "/a/b/f", "x").await.unwrap();
        assert_eq!(kind(writer.make_directory(&at("/a/b/f"), &call).await), ErrorKind::AlreadyExists);
        assert_eq!(kind(writer.make_directory(&at("/a/b/f/g"), &call).await), ErrorKind::NotADirectory);
        assert_eq!(kind(writer.remove(&at("/a"), false, &call).await), ErrorKind::DirectoryNotEmpty);
        assert_eq!(kind(writer.rename(&at("/a"), &at("/a/b/inside"), &call).await), ErrorKind::InvalidInput);
        assert_eq!(kind(writer.rename(&at("/a"), &at("/a"), &call).await), ErrorKind::InvalidInput);
        writer.rename(&at("/a"), &at("/z/y"), &call).await.unwrap();
        assert_eq!(names(&backend, "/", 9).await.unwrap(), ["/z", "/z/y", "/z/y/b", "/z/y/b/c", "/z/y/b/f"]);
        assert_eq!(writer.copy(&at("/z/y/b/f"), &at("/z/copy"), &call).await.unwrap(), 1);
        assert_eq!(kind(writer.copy(&at("/z/copy"), &at("/z/copy"), &call).await), ErrorKind::AlreadyExists);
        assert_eq!(kind(writer.copy(&at("/z"), &at("/z2"), &call).await), ErrorKind::NotAFile);
        assert_eq!(kind(writer.rename(&at("/z/copy"), &at("/z/y/b/f"), &call).await), ErrorKind::AlreadyExists);
        assert_eq!(writer.remove(&at("/z"), true, &call).await.unwrap(), 6);
        assert_eq!(kind(writer.remove(&at("/z"), true, &call).await), ErrorKind::FileNotFound);
        assert_eq!(kind(writer.remove(&at("/"), true, &call).await), ErrorKind::PathNotWritable);
        assert_eq!(names(&backend, "/", 9).await.unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn appends_grow_a_file_and_a_limit_stops_them() {
    let base = tempfile::tempdir().unwrap();
    let mut mount = Mount::new("root", "/").read_write();
    mount.max_file_bytes = Some(6);
    let backend = sandbox(base.path(), vec![mount], Strategy::Kernel);
    let (path, call) = (at("/f"), Call::default());
    let writer = backend.writer().unwrap();
    assert!(writer.append(&path, b"abc".to_vec(), &call).await.unwrap().created);
    assert_eq!(writer.append(&path, b"def".to_vec(), &call).await.unwrap().size, 6);
    assert_eq!(kind(writer.append(&path, b"g".to_vec(), &call).await), ErrorKind::FileTooLarge);
    assert_eq!(read(&backend, "/f").await.unwrap(), "abcdef");
    fs::write(host(base.path(), "f"), "1234567").unwrap();
    assert_eq!(kind(read(&backend, "/f").await), ErrorKind::FileTooLarge);
    assert_eq!(kind(backend.files().read_bytes(&path, 100, &call).await), ErrorKind::FileTooLarge);
}

#[tokio::test]
async fn a_closed_backend_and_an_aborted_call_do_nothing() {
    let base = tempfile::tempdir().unwrap();
    let backend = whole(base.path(), Strategy::Kernel);
    let call = Call::default();
    call.deadline.cancel.cancel();
    let path = at("/f");
    let writer = backend.writer().unwrap();
    assert_eq!(kind(writer.append(&path, b"x".to_vec(), &call).await), ErrorKind::Aborted);
    backend.close().await.unwrap();
    backend.close().await.unwrap();
    assert_eq!(kind(write(&backend, "/f", "x").await), ErrorKind::Closed);
    assert!(!host(base.path(), "f").exists());
}
