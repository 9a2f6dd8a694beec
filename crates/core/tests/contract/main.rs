//! The contract that every backend keeps: the same steps get the same answers, byte for byte (invariant 10).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
#[cfg(unix)]
mod commands;
#[cfg(unix)]
mod guest;
mod remote;
mod run;
#[cfg(unix)]
mod served;
#[cfg(unix)]
mod shells;
mod steps;

use std::sync::Arc;

use gloveport_core::backend::Backend;
use gloveport_core::backend::composite::{CompositeBackend, Strip};
use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::backend::memory::{StateBackend, StateOptions};
use gloveport_core::limits::Limits;
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};
use tempfile::TempDir;

use self::run::{Place, contract};

fn memory() -> StateBackend {
    StateBackend::new(StateOptions::default(), Limits::default()).unwrap()
}

fn place(backend: impl Backend + 'static, base: &str) -> Place {
    Place { backend: Box::new(backend), base: VirtualPath::absolute(base).unwrap(), _directory: None }
}

fn composite(routes: &[&str], strip: Strip) -> CompositeBackend {
    let routes = routes.iter().map(|route| ((*route).to_owned(), Arc::new(memory()) as Arc<dyn Backend>)).collect();
    CompositeBackend::new(Arc::new(memory()), routes, &strip, Limits::default()).unwrap()
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    contract("memory", || place(memory(), "/")).await;
}

#[tokio::test]
async fn a_directory_in_memory_keeps_the_contract() {
    let options = r#"{ "files": { "/deep/er/": "", "/one.ts": "one", "/deep/one.txt": "one" } }"#;
    let backend = || StateBackend::new(serde_json::from_str(options).unwrap(), Limits::default()).unwrap();
    contract("memory, below", || place(backend(), "/deep/er")).await;
}

#[tokio::test]
async fn the_default_of_a_composite_keeps_the_contract() {
    contract("composite without routes", || place(composite(&[], Strip::All(false)), "/")).await;
    let backend = || {
        let default = r#"{ "files": { "/work/": "" } }"#;
        let default = StateBackend::new(serde_json::from_str(default).unwrap(), Limits::default()).unwrap();
        let routes = vec![("/other/".to_owned(), Arc::new(memory()) as Arc<dyn Backend>)];
        CompositeBackend::new(Arc::new(default), routes, &Strip::All(true), Limits::default()).unwrap()
    };
    contract("composite, default", || place(backend(), "/work")).await;
}

#[tokio::test]
async fn a_route_of_a_composite_keeps_the_contract() {
    contract("composite, route", || place(composite(&["/mem/", "/memory/"], Strip::All(false)), "/mem")).await;
    contract("composite, stripped", || place(composite(&["mem", "memory"], Strip::All(true)), "/mem")).await;
    contract("composite, nested", || place(composite(&["/r1/r2/r3", "/r1/r2", "/r1"], Strip::All(true)), "/r1/r2/r3"))
        .await;
    contract("composite of composites", || {
        let inner = Arc::new(composite(&["/x"], Strip::All(true)));
        let routes = vec![("/mem".to_owned(), inner as Arc<dyn Backend>)];
        let strip = Strip::Only(vec!["/mem/".to_owned()]);
        place(CompositeBackend::new(Arc::new(memory()), routes, &strip, Limits::default()).unwrap(), "/mem/x")
    })
    .await;
}

#[cfg(unix)]
fn local() -> (LocalBackend, VirtualPath, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let base = VirtualPath::absolute(root.to_str().unwrap()).unwrap();
    let backend = LocalBackend::new(LocalOptions { root: Some(root), ..LocalOptions::default() }).unwrap();
    (backend, base, directory)
}

#[cfg(unix)]
#[tokio::test]
async fn a_directory_on_disk_keeps_the_contract() {
    contract("local", || {
        let (backend, base, directory) = local();
        Place { backend: Box::new(backend), base, _directory: Some(directory) }
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn commands_on_disk_keep_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let base = VirtualPath::absolute(root.to_str().unwrap()).unwrap();
    let options = LocalOptions { root: Some(root), execute: true, ..LocalOptions::default() };
    let backend = Box::new(LocalBackend::new(options).unwrap());
    commands::command_contract("local", &Place { backend, base, _directory: Some(directory) }).await;
}

#[cfg(unix)]
#[tokio::test]
async fn mounts_keep_the_contract() {
    for mount_point in ["/", "/work", "/deep/er"] {
        contract("local, mounted", || {
            let directory = tempfile::tempdir().unwrap();
            let mount = Mount::new(directory.path(), mount_point).read_write();
            let sandbox = Some(Sandbox::new(vec![mount], directory.path()).unwrap());
            let backend = LocalBackend::new(LocalOptions { sandbox, ..LocalOptions::default() }).unwrap();
            Place { _directory: Some(directory), ..place(backend, mount_point) }
        })
        .await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_directory_on_disk_in_a_composite_keeps_the_contract() {
    let route = |prefix: &str, backend: Arc<dyn Backend>, strip: bool| {
        let routes = vec![(prefix.to_owned(), backend)];
        CompositeBackend::new(Arc::new(memory()), routes, &Strip::All(strip), Limits::default()).unwrap()
    };
    contract("composite, local", || {
        let (backend, base, directory) = local();
        let backend = route(base.as_str(), Arc::new(backend), false);
        Place { backend: Box::new(backend), base, _directory: Some(directory) }
    })
    .await;
    contract("composite, local stripped", || {
        let (backend, _, directory) = local();
        Place { _directory: Some(directory), ..place(route("/disk", Arc::new(backend), true), "/disk") }
    })
    .await;
}
