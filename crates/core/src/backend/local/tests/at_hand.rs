//! Reads on a thread that is lent: what the kernel has at hand is read there, everything else leaves it first, and the walls
//! are the same.

use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::access::Guard;
use crate::backend::local::system::cached_bytes;
use crate::error::Error;
use crate::lent;

/// What the first poll of a read on a lent thread answers.
fn first_poll(backend: &LocalBackend, path: &str, call: &Call) -> Poll<Result<String>> {
    let path = at(path);
    let mut reading = pin!(backend.files().read(&path, ALL, call));
    lent::poll(reading.as_mut(), &mut Context::from_waker(Waker::noop())).map(|read| read.map(|slice| slice.content))
}

/// Whether the file system of these tests tells what it has at hand; some do not, and then every read leaves.
fn tells(host: &Path) -> bool {
    cached_bytes(&OwnedFd::from(fs::File::open(host).unwrap()), 1).is_some()
}

/// Some poll of many; one alone may meet a change elsewhere that makes the kernel unsure.
fn eventually(mut poll: impl FnMut() -> Poll<Result<String>>) -> Option<Result<String>> {
    (0..1_000).find_map(|_| match poll() {
        Poll::Ready(read) => Some(read),
        Poll::Pending => None,
    })
}

#[tokio::test]
async fn a_small_file_is_read_where_it_is_asked_for() {
    let base = tempfile::tempdir().unwrap();
    let backend = whole(base.path(), Strategy::Kernel);
    write(&backend, "/d/small", "one\ntwo\n").await.unwrap();
    write(&backend, "/empty", "").await.unwrap();
    let host = base.path().join("root/d/small");
    if !backend.reads_at_hand() || !tells(&host) {
        println!("the file system of this machine does not tell what it has at hand");
        return;
    }
    let call = Call::default();
    assert_eq!(eventually(|| first_poll(&backend, "/d/small", &call)).unwrap().unwrap(), "one\ntwo\n");
    assert_eq!(eventually(|| first_poll(&backend, "/empty", &call)).unwrap().unwrap(), "");
    backend.close().await.unwrap();
    let Poll::Ready(Err(error)) = first_poll(&backend, "/d/small", &call) else { panic!("a closed backend read") };
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn what_is_out_of_the_ordinary_leaves_a_lent_thread_and_gets_the_usual_answer() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        let root = base.path().join("root");
        fs::write(base.path().join("secret"), "S").unwrap();
        fs::write(root.join("large"), "x".repeat((64 << 10) + 1)).unwrap();
        fs::write(root.join("file"), "F").unwrap();
        fs::create_dir(root.join("d")).unwrap();
        symlink("file", root.join("inner")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("../..", root.join("d/up")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), fifo, 0o600.into(), 0).unwrap();
        let call = Call::default();
        for (path, expected) in [
            ("/inner", Ok("F")),
            ("/out", Err(ErrorKind::PathNotInSandbox)),
            ("/d/up/secret", Err(ErrorKind::PathNotInSandbox)),
            ("/missing", Err(ErrorKind::FileNotFound)),
            ("/file/below", Err(ErrorKind::NotADirectory)),
            ("/d", Err(ErrorKind::NotAFile)),
            ("/fifo", Err(ErrorKind::NotAFile)),
        ] {
            // A refusal may come at once; content only by the way that follows links.
            match first_poll(&backend, path, &call) {
                Poll::Ready(Ok(content)) => panic!("{path} was read on a lent thread: {content}"),
                Poll::Ready(Err(error)) => assert_eq!(Err(error.kind()), expected, "{path}"),
                Poll::Pending => {}
            }
            assert_eq!(read(&backend, path).await.map_err(|error| error.kind()), expected.map(str::to_owned), "{path}");
        }
        assert!(first_poll(&backend, "/large", &call).is_pending());
        assert_eq!(read(&backend, "/large").await.unwrap().len(), (64 << 10) + 1);
        if strategy == Strategy::Walk {
            assert!(first_poll(&backend, "/file", &call).is_pending(), "the walk may wait at each name");
        }
    }
}

/// Lets nothing be read.
struct Nothing;

impl Guard for Nothing {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        Err(Error::new(ErrorKind::PermissionDenied, format!("{} of {path}", operation.name())))
    }
}

#[tokio::test]
async fn walls_are_the_same_on_a_lent_thread() {
    let base = tempfile::tempdir().unwrap();
    let mount = Mount {
        suffixes: Some(vec![".txt".to_owned()]),
        max_file_bytes: Some(4),
        ..Mount::new("root", "/").read_write()
    };
    let backend = sandbox(base.path(), vec![mount], Strategy::Kernel);
    for (name, text) in [("a.txt", "four"), ("b.txt", "fives"), ("c.key", "x")] {
        fs::write(base.path().join("root").join(name), text).unwrap();
    }
    let denied = Call { guard: Arc::new(Nothing), ..Call::default() };
    for (path, call, kind) in [
        ("/a.txt", &denied, ErrorKind::PermissionDenied),
        ("/b.txt", &Call::default(), ErrorKind::FileTooLarge),
        ("/c.key", &Call::default(), ErrorKind::SuffixNotAllowed),
    ] {
        let answer = eventually(|| first_poll(&backend, path, call));
        assert!(
            answer.as_ref().is_none_or(|read| read.as_ref().is_err_and(|error| error.kind() == kind)),
            "{path}: {answer:?}"
        );
        let slowly = backend.files().read(&at(path), ALL, call).await;
        assert_eq!(slowly.unwrap_err().kind(), kind, "{path}");
    }
    if backend.reads_at_hand() && tells(&base.path().join("root/a.txt")) {
        assert!(eventually(|| first_poll(&backend, "/a.txt", &denied)).is_some(), "a refusal needs no other thread");
    }
}

#[tokio::test]
async fn where_a_path_leads_is_told_the_same_at_hand() {
    let base = tempfile::tempdir().unwrap();
    let backend = whole(base.path(), Strategy::Kernel);
    write(&backend, "/d/a", "1").await.unwrap();
    symlink("d/a", base.path().join("root/link")).unwrap();
    for path in ["/d/a", "/d", "/", "/link", "/missing"] {
        let (path, call) = (at(path), Call::default());
        let usual = backend.files().resolve(&path, &call).await.unwrap();
        let mut asking = pin!(backend.files().resolve(&path, &call));
        if let Poll::Ready(at_once) = lent::poll(asking.as_mut(), &mut Context::from_waker(Waker::noop())) {
            assert_eq!(at_once.unwrap(), usual, "{path}");
        }
    }
}
