//! The guest for a processor that this machine has not, run by an emulator of single programs: what a release ships for it speaks the
//! protocol and keeps the contract of files.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gloveport_core::backend::guest::{Connection, Lease, Line, Link};
use gloveport_core::backend::{Backend, BoxFuture, Call, ExecuteRequest};
use gloveport_core::error::{ErrorKind, Result};
use gloveport_core::path::VirtualPath;

use crate::run::{Place, contract};
use crate::served::{Served, setup};

/// 2 min to begin: an emulator translates all that it runs.
const BEGIN: Duration = Duration::from_mins(2);

struct Emulated(Arc<Connection>);

impl Link for Emulated {
    fn lease<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Result<Lease>> {
        Box::pin(async { Ok(Lease::new(Line::Guest(Arc::clone(&self.0)), None)) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guest_of_another_processor_keeps_the_contract() {
    let named =
        |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: use `npm test -- docker`"));
    let (theirs, ours) = UnixStream::pair().unwrap();
    let mut guest = Command::new(named("GLOVEPORT_TEST_EMULATOR"))
        .args([&*named("GLOVEPORT_TEST_OTHER_GUEST"), "serve"])
        .stdin(Stdio::from(OwnedFd::from(theirs.try_clone().unwrap())))
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = VirtualPath::absolute(directory.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
    ours.set_nonblocking(true).unwrap();
    let (reader, writer) = tokio::net::UnixStream::from_std(ours).unwrap().into_split();
    let connection = Arc::new(Connection::open_within(reader, writer, setup(root.clone()), BEGIN).await.unwrap());
    let number = AtomicUsize::new(0);
    contract("emulated", || {
        let base = root.join(&format!("case-{}", number.fetch_add(1, Ordering::Relaxed))).unwrap();
        std::fs::create_dir(base.as_str()).unwrap();
        let link = Emulated(Arc::clone(&connection));
        Place { backend: Box::new(Served::new(link, base.clone())), base, _directory: None }
    })
    .await;
    // Commands are of this machine, and what starts them in the guest is not: where the kernel has no emulator of its own for that, it
    // says so, and nothing hangs.
    let backend = Served::new(Emulated(Arc::clone(&connection)), root);
    let ran = backend.shell().unwrap().execute(ExecuteRequest::new("echo out; exit 3"), &Call::default()).await;
    match ran {
        Ok(outcome) => assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("out\n", Some(3))),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
    }
    drop(backend);
    // It ends with whoever speaks to it.
    drop(connection);
    assert!(guest.wait().unwrap().success());
}
