//! The contract inside a real container.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gloveport_core::backend::docker::{DockerBackend, DockerOptions};
use gloveport_core::backend::{Backend, BoxFuture, Call, FileSystem, Shell, WritableFileSystem};
use gloveport_core::error::Result;
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};

use crate::engine;
use crate::run::{Place, contract};

/// One container for all cases: each begins in a directory of its own.
struct Shared(Arc<DockerBackend>);

impl Backend for Shared {
    fn id(&self) -> &str {
        self.0.id()
    }
    fn files(&self) -> &dyn FileSystem {
        self.0.files()
    }
    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        self.0.writer()
    }
    fn shell(&self) -> Option<&dyn Shell> {
        self.0.shell()
    }
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.close()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_keeps_the_contract() {
    let options = engine().options();
    let backend = Arc::new(DockerBackend::new(options, None).unwrap());
    let number = AtomicUsize::new(0);
    contract("docker", || {
        let base = format!("/workspace/case-{}", number.fetch_add(1, Ordering::Relaxed));
        let base = VirtualPath::absolute(&base).unwrap();
        let made = async { backend.writer().unwrap().make_directory(&base, &Call::default()).await.unwrap() };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(made));
        Place { backend: Box::new(Shared(Arc::clone(&backend))), base, _directory: None }
    })
    .await;
    backend.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mounts_of_a_container_keep_the_contract() {
    let options = engine().options();
    contract("docker, mounted", || {
        let directory = tempfile::tempdir().unwrap();
        let mount = Mount::new(directory.path(), "/work").read_write();
        let sandbox = Some(Sandbox::new(vec![mount], directory.path()).unwrap());
        let options = DockerOptions { sandbox, ..options.clone() };
        Place {
            backend: Box::new(DockerBackend::new(options, None).unwrap()),
            base: VirtualPath::absolute("/work").unwrap(),
            _directory: Some(directory),
        }
    })
    .await;
}
