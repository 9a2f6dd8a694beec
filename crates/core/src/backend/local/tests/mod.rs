//! The local backend as a whole, once with the kernel's resolver and once with the walk.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod at_hand;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod at_once;
mod escapes;
mod model;
mod mounts;
mod odd;
mod spelling;
mod writing;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::resolve::Strategy;
use super::{LocalBackend, LocalOptions};
use crate::access::Operation;
use crate::backend::{Backend, Call, FileKind, Missing, Transform, Updated, Window};
use crate::error::{ErrorKind, Result};
use crate::path::VirtualPath;
use crate::sandbox::{Mount, Sandbox};

const STRATEGIES: [Strategy; 2] = [Strategy::Kernel, Strategy::Walk];
const ALL: Window = Window { offset: 0, limit: 1000, max_bytes: 1 << 20 };

fn at(path: &str) -> VirtualPath {
    VirtualPath::absolute(path).unwrap()
}

fn sandbox(base: &Path, mounts: Vec<Mount>, strategy: Strategy) -> LocalBackend {
    let sandbox = Sandbox::new(mounts, base).unwrap();
    LocalBackend::with_strategy(LocalOptions { sandbox: Some(sandbox), ..LocalOptions::default() }, strategy).unwrap()
}

/// One writable mount at `/`.
fn whole(base: &Path, strategy: Strategy) -> LocalBackend {
    sandbox(base, vec![Mount::new("root", "/").read_write()], strategy)
}

async fn read(backend: &LocalBackend, path: &str) -> Result<String> {
    backend.files().read(&at(path), ALL, &Call::default()).await.map(|slice| slice.content)
}

async fn write(backend: &LocalBackend, path: &str, text: &str) -> Result<Updated> {
    let bytes = text.as_bytes().to_vec();
    let transform: Transform = Box::new(move |_| Ok(bytes));
    let path = at(path);
    let call = Call::default();
    backend.writer().unwrap().update(&path, Operation::Write, Missing::Create, transform, &call).await
}

async fn names(backend: &LocalBackend, path: &str, depth: u32) -> Result<Vec<String>> {
    let listing = backend.files().list(&at(path), depth, &Call::default()).await?;
    Ok(listing.entries.into_iter().map(|entry| entry.path).collect())
}

#[tokio::test]
async fn writes_are_read_back_and_keep_their_bits() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        let written = write(&backend, "/a/b/c.txt", "one\n").await.unwrap();
        assert_eq!((written.created, written.size, written.resolved.as_str()), (true, 4, "/a/b/c.txt"));
        let host = base.path().join("root/a/b/c.txt");
        fs::set_permissions(&host, fs::Permissions::from_mode(0o6751)).unwrap();
        let written = write(&backend, "/a/b/c.txt", "two\n").await.unwrap();
        assert!(!written.created);
        assert_eq!(fs::metadata(&host).unwrap().mode() & 0o7777, 0o751, "bits are kept, set-id is not");
        assert_eq!(read(&backend, "/a/b/c.txt").await.unwrap(), "two\n");
        assert_eq!(names(&backend, "/", 9).await.unwrap(), ["/a", "/a/b", "/a/b/c.txt"]);
        assert_eq!(fs::read_dir(base.path().join("root/a/b")).unwrap().count(), 1, "no temporary file stays");
    }
}

#[tokio::test]
async fn links_that_stay_inside_are_followed_and_kept_and_those_that_leave_are_refused() {
    for strategy in STRATEGIES {
        let base = tempfile::tempdir().unwrap();
        let backend = whole(base.path(), strategy);
        let root = base.path().join("root");
        fs::write(base.path().join("secret"), "S").unwrap();
        write(&backend, "/d/real.txt", "R").await.unwrap();
        symlink("d/real.txt", root.join("inner")).unwrap();
        symlink("d", root.join("dir")).unwrap();
        symlink("../root/d/real.txt", root.join("returns")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink(root.join("d/real.txt"), root.join("absolute")).unwrap();
        symlink("nothing", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();

        assert_eq!(read(&backend, "/inner").await.unwrap(), "R");
        assert_eq!(read(&backend, "/dir/real.txt").await.unwrap(), "R");
        assert_eq!(write(&backend, "/inner", "W").await.unwrap().resolved.as_str(), "/d/real.txt");
        assert!(fs::symlink_metadata(root.join("inner")).unwrap().is_symlink());
        assert_eq!(read(&backend, "/d/real.txt").await.unwrap(), "W");
        for path in ["/out", "/returns", "/absolute"] {
            assert_eq!(read(&backend, path).await.unwrap_err().kind(), ErrorKind::PathNotInSandbox, "{path}");
            assert_eq!(write(&backend, path, "x").await.unwrap_err().kind(), ErrorKind::PathNotInSandbox, "{path}");
            let info = backend.files().stat(&at(path), &Call::default()).await.unwrap().unwrap();
            assert_eq!(info.kind, FileKind::Symlink, "{path}");
        }
        assert_eq!(read(&backend, "/loop").await.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(read(&backend, "/dangling").await.unwrap_err().kind(), ErrorKind::FileNotFound);
        assert_eq!(names(&backend, "/", 1).await.unwrap(), ["/d", "/dir", "/dangling", "/inner"]);
        assert_eq!(write(&backend, "/dangling", "new").await.unwrap().resolved.as_str(), "/nothing");
        assert_eq!(fs::read_to_string(base.path().join("secret")).unwrap(), "S");
    }
}
