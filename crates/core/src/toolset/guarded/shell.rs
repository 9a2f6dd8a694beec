//! The shell of a guarded backend: every command line is understood and judged before it starts.

use std::time::SystemTime;

use super::GuardedBackend;
use crate::access::Access;
use crate::backend::process::Process;
use crate::backend::{BoxFuture, Call, ExecuteOutcome, ExecuteRequest, Shell, Standing, TerminalRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

impl GuardedBackend {
    /// The shell behind, and the call as it sees it.
    async fn admit_command(
        &self,
        method: &'static str,
        command: &str,
        directory: Option<&VirtualPath>,
        call: &Call,
    ) -> Result<(&dyn Shell, Call)> {
        let working_directory = directory.unwrap_or_else(|| self.inner.files().working_directory()).clone();
        let access =
            Access::Command { command: command.to_owned(), working_directory, session: None, at_prompt: false };
        let call = self.admit(method, vec![access], call).await?;
        match self.inner.shell() {
            Some(shell) => Ok((shell, call)),
            None => Err(Error::new(ErrorKind::Unsupported, self.inner.no_shell_reason().to_owned())),
        }
    }
}

impl Shell for GuardedBackend {
    fn execute<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            let directory = request.working_directory.as_ref();
            let (shell, call) = self.admit_command("execute", &request.command, directory, call).await?;
            shell.execute(request, &call).await
        })
    }

    fn start<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            let directory = request.working_directory.as_ref();
            let (shell, call) = self.admit_command("start", &request.command, directory, call).await?;
            shell.start(request, &call).await
        })
    }

    /// A shell without a command runs whatever is typed at it, so that somebody is asked before it opens.
    fn open_terminal<'a>(&'a self, request: TerminalRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        Box::pin(async move {
            let command = request.command.as_deref().unwrap_or("sh");
            let directory = request.working_directory.as_ref();
            let (shell, call) = self.admit_command("openTerminal", command, directory, call).await?;
            shell.open_terminal(request, &call).await
        })
    }

    fn has_terminals(&self) -> bool {
        self.inner.shell().is_some_and(Shell::has_terminals)
    }

    fn home(&self) -> Option<String> {
        self.inner.shell().and_then(Shell::home)
    }

    fn stands_in<'a>(
        &'a self,
        process: &'a Process,
        directory: &'a VirtualPath,
        since: SystemTime,
    ) -> BoxFuture<'a, Option<Standing>> {
        match self.inner.shell() {
            Some(shell) => shell.stands_in(process, directory, since),
            None => Box::pin(async { None }),
        }
    }

    fn searches_writable(&self) -> bool {
        self.inner.shell().is_some_and(Shell::searches_writable)
    }
}
