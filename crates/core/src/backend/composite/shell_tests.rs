//! Commands and terminals of a composite: those of its default, which sees none of the routes.

use serde_json::json;

use super::tests::{at, composite, error_of, memory};
use super::*;
use crate::backend::memory::StateBackend;
use crate::backend::{CommandLimits, TerminalSize};

#[cfg(unix)]
#[tokio::test]
async fn commands_go_to_the_default() {
    use crate::backend::local::{LocalBackend, LocalOptions};
    let directory = tempfile::tempdir().unwrap();
    let root = Some(directory.path().to_owned());
    let local = LocalBackend::new(LocalOptions { root, execute: true, ..LocalOptions::default() }).unwrap();
    let Some(shell) = local.shell() else { panic!("{}", local.no_shell_reason()) };
    let request = || ExecuteRequest::new("echo from the shell");
    let direct = shell.execute(request(), &Call::default()).await.unwrap();
    let backend = composite(Arc::new(local), &[("/notes", memory(json!({})))], Strip::All(true));
    // D16: a composite could not run commands even where its default can.
    let routed = backend.shell().unwrap().execute(request(), &Call::default()).await.unwrap();
    assert_eq!((routed.output, routed.exit_code), (direct.output, direct.exit_code));
    let elsewhere = ExecuteRequest { working_directory: Some(at("/notes/a")), ..request() };
    let refused = backend.shell().unwrap().execute(elsewhere, &Call::default()).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PathNotInSandbox);
    backend.close().await.unwrap();
    assert_eq!(
        backend.shell().unwrap().execute(request(), &Call::default()).await.unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert!(composite(memory(json!({})), &[], Strip::default()).shell().is_none());
}

/// A backend whose shell writes down how it was asked, and starts nothing.
struct Asked(Arc<StateBackend>, parking_lot::Mutex<Vec<String>>);

impl Asked {
    fn note<T>(&self, way: &str, directory: Option<VirtualPath>) -> Result<T> {
        self.1.lock().push(format!("{way} {}", directory.map_or_else(String::new, |directory| directory.to_string())));
        Err(Error::new(ErrorKind::Busy, "The default was asked."))
    }
}

impl Backend for Asked {
    fn id(&self) -> &str {
        "asked"
    }

    fn files(&self) -> &dyn FileSystem {
        self.0.files()
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        self.0.writer()
    }

    fn shell(&self) -> Option<&dyn Shell> {
        Some(self)
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.close()
    }
}

impl Shell for Asked {
    fn execute<'a>(&'a self, request: ExecuteRequest, _: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move { self.note("execute", request.working_directory) })
    }

    fn start<'a>(&'a self, request: ExecuteRequest, _: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move { self.note("start", request.working_directory) })
    }

    fn open_terminal<'a>(&'a self, request: TerminalRequest, _: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move { self.note("terminal", request.working_directory) })
    }

    fn has_terminals(&self) -> bool {
        true
    }

    fn home(&self) -> Option<String> {
        Some("/home/agent".to_owned())
    }
}

#[tokio::test]
async fn background_commands_and_terminals_go_to_the_default() {
    let asked = Arc::new(Asked(memory(json!({})), parking_lot::Mutex::default()));
    let routes: [(&str, Arc<dyn Backend>); 1] = [("/notes", memory(json!({})))];
    let backend = composite(asked.clone(), &routes, Strip::All(true));
    let shell = backend.shell().unwrap();
    assert_eq!((shell.has_terminals(), shell.home().as_deref()), (true, Some("/home/agent")));
    let call = Call::default();
    let command =
        |at: Option<&VirtualPath>| ExecuteRequest { working_directory: at.cloned(), ..ExecuteRequest::new("true") };
    let terminal = |at: Option<&VirtualPath>| TerminalRequest {
        command: None,
        working_directory: at.cloned(),
        environment: Vec::new(),
        size: TerminalSize::new(80, 24).unwrap(),
        limits: CommandLimits::default(),
        tap: None,
    };
    for (directory, expected) in [
        (None, ErrorKind::Busy),
        (Some(at("/src")), ErrorKind::Busy),
        (Some(at("/notes/a")), ErrorKind::PathNotInSandbox),
    ] {
        let directory = directory.as_ref();
        let started = shell.start(command(directory), &call).await;
        assert_eq!(error_of(started).0, expected, "{directory:?}");
        let opened = shell.open_terminal(terminal(directory), &call).await;
        assert_eq!(error_of(opened).0, expected, "{directory:?}");
    }
    assert_eq!(*asked.1.lock(), ["start ", "terminal ", "start /src", "terminal /src"]);
    // A route with terminals gives none to a default without them.
    let backend = composite(memory(json!({})), &[("/asked", asked)], Strip::All(true));
    assert!(backend.shell().is_none());
    assert_eq!(error_of(CompositeBackend::start(&backend, command(None), &call).await).0, ErrorKind::Unsupported);
}
