//! Steps 4 and 5 of a call: which accesses it makes, and whether they are allowed, asked for, or blocked.
//!
//! Judging is pure ([`Policy`]); the only input from outside is where the backend says that a path leads. What comes
//! out is bound to the state of the files that were looked at, so that a later approval can be held to it.

use super::guard::denied;
use super::policy::Policy;
use crate::access::{Access, Operation};
use crate::approval::{Binding, Touch};
use crate::backend::{Backend, Call, FileSystem};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::permissions::{Action, CommandAnalysis};

/// A call that no rule blocks.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Why somebody must say yes; empty when nobody must.
    pub(super) asks: Vec<String>,
    /// What will be touched.
    pub(super) touches: Vec<Touch>,
    /// The paths that were judged, as asked and as resolved.
    pub(super) decided: Vec<VirtualPath>,
    /// The states of the files that were looked at.
    pub(super) bindings: Vec<Binding>,
    /// The parsed picture of a command.
    pub(super) command: Option<CommandAnalysis>,
}

/// Judges the accesses of a call. `Err` is a block, with its reason.
pub(super) async fn plan(
    policy: &Policy,
    backend: &dyn Backend,
    accesses: Vec<Access>,
    always_ask: bool,
    call: &Call,
) -> Result<Plan> {
    let mut plan = Plan::default();
    if always_ask {
        plan.asks.push("the application wants to be asked before every call of this tool".to_owned());
    }
    for access in accesses {
        match access {
            Access::Path { operation, path } => plan.judge_path(policy, backend, operation, path, call).await?,
            Access::Command { command, working_directory } => {
                plan.judge_command(policy, command, &working_directory)?;
            }
        }
    }
    Ok(plan)
}

impl Plan {
    async fn judge_path(
        &mut self,
        policy: &Policy,
        backend: &dyn Backend,
        operation: Operation,
        path: VirtualPath,
        call: &Call,
    ) -> Result<()> {
        let asked = policy.path(operation, &path);
        if asked.action == Action::Deny {
            return Err(denied(operation, &path, &asked.reason));
        }
        let files = backend.files();
        if operation.mutates() && backend.writer().is_none() {
            return Err(read_only(&path, files));
        }
        let nobody_asks = self.asks.is_empty() && asked.action == Action::Allow && !files.mounts_ask();
        if nobody_asks && policy.is_uniform(operation) {
            // Where it leads changes nothing: the backend refuses what lies outside when it opens it.
            self.touches.push(Touch { operation, target: path.as_str().to_owned(), resolved: None });
            return Ok(());
        }
        let resolution = files.resolve(&path, call).await?;
        if operation.mutates() && !resolution.writable {
            return Err(read_only(&path, files));
        }
        let elsewhere = (resolution.resolved != path).then(|| resolution.resolved.clone());
        let mut verdict = asked;
        if let Some(resolved) = &elsewhere {
            let there = policy.path(operation, resolved);
            if there.action == Action::Deny {
                return Err(denied(operation, &path, &there.reason));
            }
            if there.action > verdict.action {
                verdict = there;
            }
        }
        if verdict.action == Action::Ask {
            self.asks.push(format!("{} of '{path}': {}", operation.name(), verdict.reason));
        }
        let mount_asks = if operation.mutates() { resolution.write_approval } else { resolution.read_approval };
        if mount_asks {
            let kind = if operation.mutates() { "write" } else { "read" };
            self.asks.push(format!("the mount of '{path}' asks for approval before a {kind}"));
        }
        self.touches.push(Touch {
            operation,
            target: path.as_str().to_owned(),
            resolved: elsewhere.as_ref().map(|resolved| resolved.as_str().to_owned()),
        });
        self.bindings.push((path.clone(), resolution.version));
        self.decided.push(path);
        self.decided.extend(elsewhere);
        Ok(())
    }

    fn judge_command(&mut self, policy: &Policy, command: String, working_directory: &VirtualPath) -> Result<()> {
        let (verdict, analysis) = policy.command(&command, working_directory);
        match verdict.action {
            Action::Deny => {
                return Err(Error::new(
                    ErrorKind::CommandBlocked,
                    format!("The command is blocked: {}.", verdict.reason),
                ));
            }
            Action::Ask => self.asks.push(verdict.reason),
            Action::Allow => {}
        }
        self.command = Some(analysis);
        self.touches.push(Touch { operation: Operation::Execute, target: command, resolved: None });
        Ok(())
    }
}

fn read_only(path: &VirtualPath, files: &dyn FileSystem) -> Error {
    let writable = files.writable_roots();
    let advice = if writable.is_empty() {
        "nothing can be written here".to_owned()
    } else {
        format!("writable are: {}", writable.join(", "))
    };
    Error::new(ErrorKind::PathNotWritable, format!("'{path}' is read-only; {advice}.")).with_path(path.as_str())
}
