//! [`GuardedBackend`]: a backend behind rules. Every method is judged as a toolset judges its tools, whoever calls it.
//!
//! ```text
//! a method → its accesses → plan (rules, where the path leads) → somebody's yes → the method of the backend behind
//! ```
//!
//! The backend behind is asked with a guard of its own, so that names that are denied are left out of listings and
//! searches, and links are judged as they resolve. Rules of a toolset on top count too; the strictest answer holds.

use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use super::guard::CallGuard;
use super::options::{PermissionsOption, ToolsetOptions};
use super::plan::{self, Judges, Plan};
use super::policy::Policy;
use super::programs::Programs;
use crate::access::{Access, Guard, Operation};
use crate::approval::{ApprovalDecision, ApprovalMemory, ApprovalRequest, Approver, Remember};
use crate::backend::{Backend, BoxFuture, Call, FileSystem, InUse, Shell, WritableFileSystem};
use crate::call_info::CallInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::text::shown::shown_to_person;

mod content;
mod files;
mod shell;
#[cfg(test)]
mod tests;

use content::{Mark, Shown};

/// 3: how often somebody is asked about a file that changes each time until they answer.
const MAX_ASKED: usize = 3;

/// What stands before a backend.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuardOptions {
    /// A preset's name or a ruleset.
    pub permissions: PermissionsOption,
    /// Beginnings of commands that may run; an empty list allows none.
    #[serde(default)]
    pub allowed_commands: Option<Vec<String>>,
}

/// A method that no rule blocks.
struct Judged {
    id: String,
    method: &'static str,
    accesses: Vec<Access>,
    plan: Plan,
}

/// A backend behind rules.
pub struct GuardedBackend {
    id: Box<str>,
    inner: Arc<dyn Backend>,
    policy: Arc<Policy>,
    approver: Option<Arc<dyn Approver>>,
    /// Held while somebody is asked: a person reads one thing at a time.
    turn: tokio::sync::Mutex<()>,
    /// What was allowed for as long as this backend lives.
    remembered: ApprovalMemory,
    programs: Programs,
    /// Tells contents apart; nobody else knows its keys, so that nobody makes two that are the same to it.
    marks: [RandomState; 2],
    calls: AtomicU64,
}

impl GuardedBackend {
    /// Puts the rules of `options` before `inner`. Without an approver what must be asked about fails with
    /// `ApprovalRequired`. `InvalidInput` for rules that are not right.
    pub fn new(inner: Arc<dyn Backend>, options: GuardOptions, approver: Option<Arc<dyn Approver>>) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let options = ToolsetOptions {
            permissions: Some(options.permissions),
            allowed_commands: options.allowed_commands,
            ..ToolsetOptions::default()
        };
        let policy = Arc::new(super::policy_of(&options, &*inner)?);
        let id = format!("guarded-{}", NEXT.fetch_add(1, Ordering::Relaxed)).into_boxed_str();
        Ok(Self {
            id,
            inner,
            policy,
            approver,
            turn: tokio::sync::Mutex::new(()),
            remembered: ApprovalMemory::default(),
            programs: Programs::default(),
            marks: Default::default(),
            calls: AtomicU64::new(1),
        })
    }

    /// The call with which the backend behind may do this, or why it may not.
    async fn admit(&self, method: &'static str, accesses: Vec<Access>, call: &Call) -> Result<Call> {
        let judged = self.judge(method, accesses, call).await?;
        self.admit_judged(judged, Shown::default(), call).await
    }

    /// What the rules say of it; `Err` is a block.
    async fn judge(&self, method: &'static str, accesses: Vec<Access>, call: &Call) -> Result<Judged> {
        let id = format!("{}-call-{}", self.id, self.calls.fetch_add(1, Ordering::Relaxed));
        let info = CallInfo { id: &id, key: &id, tool: method };
        let plan = self.plan(info, accesses.clone(), call).await?;
        Ok(Judged { id, method, accesses, plan })
    }

    /// The same call, after somebody's yes where one is needed.
    async fn admit_judged(&self, judged: Judged, shown: Shown, call: &Call) -> Result<Call> {
        let Judged { id, method, accesses, mut plan } = judged;
        let asked = !plan.asks.is_empty();
        if asked {
            self.approve(CallInfo { id: &id, key: &id, tool: method }, accesses, &mut plan, &shown, call).await?;
        }
        self.programs.rename(std::mem::take(&mut plan.renamed));
        let own = CallGuard::new(Arc::clone(&self.policy), plan.decided, asked);
        let guard = Arc::new(Both { own, outer: Arc::clone(&call.guard) });
        Ok(Call { deadline: call.deadline.clone(), guard })
    }

    /// As [`admit`](Self::admit), for one path.
    async fn admit_path(
        &self,
        method: &'static str,
        operation: Operation,
        path: &VirtualPath,
        call: &Call,
    ) -> Result<Call> {
        self.admit(method, vec![Access::Path { operation, path: path.clone() }], call).await
    }

    async fn plan(&self, info: CallInfo<'_>, accesses: Vec<Access>, call: &Call) -> Result<Plan> {
        let judges = Judges {
            policy: &self.policy,
            backend: &*self.inner,
            commands: None,
            is_strict: false,
            whereabouts: None,
            programs: &self.programs,
            info,
            call,
        };
        plan::plan(&judges, accesses, Vec::new()).await
    }

    /// Somebody's yes to what is there now. What changed until they answered they are asked about again, unless they were shown
    /// what becomes of it; what they allowed for as long as this backend lives they are not.
    async fn approve(
        &self,
        info: CallInfo<'_>,
        accesses: Vec<Access>,
        plan: &mut Plan,
        shown: &Shown,
        call: &Call,
    ) -> Result<()> {
        let Some(approver) = &self.approver else {
            let request = request(info, plan, shown);
            let message = format!("{} needs an approval ({}), and no approver is set.", info.tool, request.reason);
            let details = serde_json::to_value(&request).unwrap_or_default();
            return Err(Error::new(ErrorKind::ApprovalRequired, message).with_details(details));
        };
        if self.remembered.contains(&shown.key(info, plan)) {
            return Ok(());
        }
        let _turn = tokio::select! {
            turn = self.turn.lock() => turn,
            stop = call.deadline.reached() => return Err(stop),
        };
        // What was answered meanwhile may have changed the files, or allowed this very thing.
        shown.follow(plan, self.plan(info, accesses.clone(), call).await?)?;
        for _ in 0..MAX_ASKED {
            if plan.asks.is_empty() || self.remembered.contains(&shown.key(info, plan)) {
                return Ok(());
            }
            let request = request(info, plan, shown);
            let answer = tokio::select! {
                answer = approver.decide(info, &request) => answer,
                stop = call.deadline.reached() => return Err(stop),
            };
            let decision = approved(info.tool, answer)?;
            let now = self.plan(info, accesses.clone(), call).await?;
            let key = shown.key(info, plan);
            if now.bindings == plan.bindings && key == shown.key(info, &now) {
                let is_known = plan.is_literal() && shown.mark != Mark::Unknown;
                if decision.remember == Remember::Session && is_known {
                    self.remembered.remember(key);
                }
                return Ok(());
            }
            shown.follow(plan, now)?;
        }
        Err(Error::new(
            ErrorKind::StaleFile,
            "The file changed each time it was shown for approval; try again when it is at rest.",
        ))
    }
}

/// A yes as it was given, or the error that says why there is none.
fn approved(method: &str, answer: Result<ApprovalDecision>) -> Result<ApprovalDecision> {
    let refused =
        |reason: &str| Error::new(ErrorKind::ApprovalDenied, format!("Approval of {method} was denied: {reason}."));
    match answer {
        Ok(decision) if decision.approved && decision.input.is_some() => {
            Err(refused("the input of a backend's method cannot be changed"))
        }
        Ok(decision) if decision.approved => Ok(decision),
        Ok(decision) => {
            let reason = decision.reason.filter(|reason| !reason.is_empty());
            Err(refused(reason.as_deref().unwrap_or("no reason given").trim_end_matches('.')))
        }
        // A failing approver is a no (R-FS-11).
        Err(_) => Err(refused("the approver failed")),
    }
}

/// What is done, as an approver sees it and as it is remembered.
fn input_of(plan: &Plan) -> Value {
    let targets = plan.touches.iter().map(|touch| touch.target.as_str());
    match plan.touches.as_slice() {
        [touch, ..] if touch.operation == Operation::Execute => json!({ "command": touch.target }),
        [touch] => json!({ "path": touch.target }),
        _ => json!({ "paths": targets.collect::<Vec<_>>() }),
    }
}

/// What an approver sees.
fn request(info: CallInfo<'_>, plan: &Plan, shown: &Shown) -> ApprovalRequest {
    let targets: Vec<&str> = plan.touches.iter().map(|touch| touch.target.as_str()).collect();
    let input = input_of(plan);
    ApprovalRequest {
        call_id: info.id.to_owned(),
        tool: info.tool.to_owned(),
        decoded_input: input.clone(),
        input,
        description: shown_to_person(&format!("{} {}", info.tool, targets.join(", "))),
        reason: plan.asks.join("; "),
        touches: plan.touches.clone(),
        diff: shown.diff.clone(),
        command: plan.command.clone(),
        metadata: None,
    }
}

/// The rules before the backend, and whatever its caller is held to.
struct Both {
    own: CallGuard,
    outer: Arc<dyn Guard>,
}

impl Guard for Both {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        self.own.check(operation, path)?;
        self.outer.check(operation, path)
    }

    fn is_open(&self) -> bool {
        self.own.is_open() && self.outer.is_open()
    }
}

impl Backend for GuardedBackend {
    fn id(&self) -> &str {
        &self.id
    }

    fn files(&self) -> &dyn FileSystem {
        self
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        let changes = [Operation::Write, Operation::Edit, Operation::Delete];
        let denied = changes.iter().all(|&operation| self.policy.denies_all(operation));
        if denied || self.inner.writer().is_none() { None } else { Some(self) }
    }

    fn shell(&self) -> Option<&dyn Shell> {
        if self.policy.denies_all(Operation::Execute) || self.inner.shell().is_none() { None } else { Some(self) }
    }

    fn no_shell_reason(&self) -> &str {
        match self.inner.shell() {
            Some(_) => "The rules of this backend deny all commands.",
            None => self.inner.no_shell_reason(),
        }
    }

    fn is_immediate(&self) -> bool {
        self.inner.is_immediate()
    }

    fn reads_at_hand(&self) -> bool {
        self.inner.reads_at_hand()
    }

    fn in_use(&self) -> Option<InUse> {
        self.inner.in_use()
    }

    /// Closes the backend behind, too: whoever holds this one need not hold that.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.close()
    }
}
