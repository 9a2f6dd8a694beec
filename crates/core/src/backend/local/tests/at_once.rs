//! Edits that are made where they are asked for: only when nobody is waited for and little is to be done.

use super::*;
use crate::backend::FileContent;
use crate::backend::local::Durability;
use crate::backend::local::lock::lock;
use crate::backend::local::update::{Attempt, Pace, update};

fn quick(base: &Path, strategy: Strategy) -> LocalBackend {
    let sandbox = Sandbox::new(vec![Mount::new("root", "/").read_write()], base).unwrap();
    let options = LocalOptions { sandbox: Some(sandbox), durability: Durability::None, ..LocalOptions::default() };
    LocalBackend::with_strategy(options, strategy).unwrap()
}

/// Adds an exclamation mark.
fn louder() -> Transform {
    Box::new(|old: Option<FileContent>| {
        let mut bytes = old.unwrap().bytes;
        bytes.push(b'!');
        Ok(bytes)
    })
}

/// Whether the file was changed; where it was not, that the transform is still there to do it.
fn is_made(backend: &LocalBackend, path: &str) -> bool {
    let attempt =
        update(backend.inner(), &at(path), Operation::Edit, Missing::Refuse, louder(), &Call::default(), Pace::AtOnce);
    match attempt.unwrap() {
        Attempt::Made(_) => true,
        Attempt::Later(transform) => {
            let content = FileContent { bytes: b"still there".to_vec(), ..content() };
            assert_eq!(transform(Some(content)).unwrap(), b"still there!");
            false
        }
    }
}

fn content() -> FileContent {
    let version = crate::backend::FileVersion { device: 0, inode: 0, size: 0, modified_ns: 0, changed_ns: 0 };
    FileContent { bytes: Vec::new(), resolved: at("/f"), version }
}

#[tokio::test]
async fn an_edit_is_made_at_once_only_when_it_is_short_and_waits_for_nobody() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        fs::create_dir_all(root.join("d")).unwrap();
        fs::write(root.join("d/f"), "text").unwrap();
        let backend = quick(base.path(), strategy);
        let text = || fs::read_to_string(root.join("d/f")).unwrap();
        assert!(!is_made(&backend, "/d/f"), "what killed writers left is looked for first");
        write(&backend, "/d/other", "x").await.unwrap();
        assert!(is_made(&backend, "/d/f"));
        assert_eq!(text(), "text!");

        let directory = backend.inner().resolver.open_directory(&at("/d")).unwrap();
        let held = lock(&directory, &at("/d"), backend.inner().resolver.table(), &Call::default()).unwrap();
        assert!(!is_made(&backend, "/d/f"), "another writer of this process");
        drop(held);
        assert!(is_made(&backend, "/d/f"));
        let elsewhere = fs::File::open(root.join("d")).unwrap();
        rustix::fs::flock(&elsewhere, rustix::fs::FlockOperation::LockExclusive).unwrap();
        assert!(!is_made(&backend, "/d/f"), "another process");
        drop(elsewhere);
        assert_eq!(text(), "text!!");

        symlink("f", root.join("d/link")).unwrap();
        assert!(is_made(&backend, "/d/link"));
        assert!(fs::symlink_metadata(root.join("d/link")).unwrap().is_symlink());
        assert_eq!(text(), "text!!!");
        fs::write(root.join("d/long"), vec![b'x'; (64 << 10) + 1]).unwrap();
        assert!(!is_made(&backend, "/d/long"));
        fs::write(root.join("d/long"), vec![b'x'; 64 << 10]).unwrap();
        assert!(is_made(&backend, "/d/long"));
        assert_eq!(fs::read_dir(root.join("d")).unwrap().count(), 4, "no temporary file stays");
    }
}

/// Held at every step, whichever way each edit goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_edits_of_one_file_are_all_applied_also_where_some_are_made_at_once() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = std::sync::Arc::new(quick(base.path(), strategy));
        write(&backend, "/d/f", "").await.unwrap();
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let backend = std::sync::Arc::clone(&backend);
                tokio::spawn(async move {
                    let (path, call) = (at("/d/f"), Call::default());
                    let writer = backend.writer().unwrap();
                    writer.update(&path, Operation::Edit, Missing::Refuse, louder(), &call).await.unwrap()
                })
            })
            .collect();
        for task in tasks {
            assert!(!task.await.unwrap().created);
        }
        assert_eq!(read(&backend, "/d/f").await.unwrap(), "!".repeat(50));
    }
}
