//! The contract inside a real container.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gloveport_core::backend::docker::{DockerBackend, DockerOptions, GuestProgram};
use gloveport_core::backend::{Backend, BoxFuture, Call, FileSystem, Shell, WritableFileSystem};
use gloveport_core::error::Result;
use gloveport_core::path::VirtualPath;
use gloveport_core::sandbox::{Mount, Sandbox};
use gloveport_core::search::{GlobQuery, GrepQuery};

use crate::cases::{CASES, Case};
use crate::command_cases::command_contract;
use crate::run::{Place, contract, contract_of};
use crate::steps::Step;
use crate::{engine, run};

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

/// A directory of its own.
fn in_case(backend: &Arc<DockerBackend>) -> Place {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let base = format!("/workspace/case-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let base = VirtualPath::absolute(&base).unwrap();
    let made = async { backend.writer().unwrap().make_directory(&base, &Call::default()).await.unwrap() };
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(made));
    Place { backend: Box::new(Shared(Arc::clone(backend))), base, _directory: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_keeps_the_contract() {
    let options = engine().options();
    let backend = Arc::new(DockerBackend::new(options, None).unwrap());
    contract("docker", || in_case(&backend)).await;
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

fn workspace(options: DockerOptions) -> Place {
    let backend = Box::new(DockerBackend::new(options, None).unwrap());
    Place { backend, base: VirtualPath::absolute("/workspace").unwrap(), _directory: None }
}

/// By our program, on mounts, and through the container's shell: where a command runs, what it reads and when it ends.
#[tokio::test(flavor = "multi_thread")]
async fn commands_of_a_container_keep_the_contract() {
    let options = engine().options();
    let place = workspace(options.clone());
    command_contract("docker", &place).await;
    place.backend.close().await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let sandbox =
        Sandbox::new(vec![Mount::new(directory.path(), "/workspace").read_write()], directory.path()).unwrap();
    let place = workspace(DockerOptions { sandbox: Some(sandbox), ..options.clone() });
    command_contract("docker, mounted", &place).await;
    place.backend.close().await.unwrap();
    let place = workspace(DockerOptions { guest: GuestProgram::default(), ..options });
    command_contract("docker, by shell", &place).await;
    place.backend.close().await.unwrap();
}

/// What was changed last comes first, by the times of the container.
#[tokio::test(flavor = "multi_thread")]
async fn searches_in_a_container_begin_with_what_is_newest() {
    let options = engine().options();
    for guest in [options.guest.clone(), GuestProgram::default()] {
        let backend = DockerBackend::new(DockerOptions { guest, ..options.clone() }, None).unwrap();
        let place = VirtualPath::absolute("/workspace").unwrap();
        run(&backend, "for n in 1 3 2; do echo text >$n; touch -d @100$n $n; done").await;
        let call = Call::default();
        let found = backend.files().glob(&GlobQuery::new("*", place.clone()), &call).await.unwrap();
        let names: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["/workspace/3", "/workspace/2", "/workspace/1"]);
        let found = backend.files().grep(&GrepQuery::new("text", place), &call).await.unwrap();
        let names: Vec<_> = found.matches.iter().map(|line| line.path.as_str()).collect();
        assert_eq!(names, ["/workspace/3", "/workspace/2", "/workspace/1"]);
        backend.close().await.unwrap();
    }
}

/// The cases that look for names or lines, or all the others, through the container's shell.
async fn contract_by_shell(of_searches: bool) {
    let options = DockerOptions { guest: GuestProgram::default(), ..engine().options() };
    let backend = Arc::new(DockerBackend::new(options, None).unwrap());
    let searches = |step: &Step| matches!(step, Step::Glob(..) | Step::Grep(..));
    let is_wanted = |(_, steps): &&Case| steps.iter().any(|(step, _)| searches(step)) == of_searches;
    let cases: Vec<Case> = CASES.iter().filter(is_wanted).copied().collect();
    contract_of("docker, by shell", &cases, || in_case(&backend)).await;
    backend.close().await.unwrap();
}

/// What a search means is no matter of who searches.
#[tokio::test(flavor = "multi_thread")]
async fn searches_through_the_shell_of_a_container_keep_the_contract() {
    contract_by_shell(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_through_the_shell_of_a_container_keep_the_contract() {
    contract_by_shell(false).await;
}
