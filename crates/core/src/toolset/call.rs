//! One tool call from its name to its answer. The order of the steps is the contract; see the parent module.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::Toolset;
use super::approve::{Approved, ApprovedBy, Bound, other_reader};
use super::exposed::Exposed;
use super::guard::CallGuard;
use super::plan::{self, Judges, Plan};
use crate::access::Unguarded;
use crate::approval::{ApprovalGrant, ApprovalMode};
use crate::backend::{Backend, Call, OutputSink};
use crate::call_info::CallInfo;
use crate::cancel::{CancelToken, Deadline};
use crate::error::{Error, ErrorKind, Result};
use crate::hooks::Scope;
use crate::permissions::Action;
use crate::session::Opening;
use crate::tool::{Binding, DecodedCall, ToolResult, View};

/// 3 s: what a run may take to tidy up (end a process tree, return partial output) after its deadline or abort.
const GRACE: Duration = Duration::from_secs(3);
/// 128: levels of nesting in an input; JSON of tools needs three.
const MAX_INPUT_DEPTH: usize = 128;

/// What the caller says about one call.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// Names the call; one is made when absent.
    pub call_id: Option<String>,
    /// Handed to hooks and approver, so that the host can tell concurrent runs apart; the call id when absent.
    pub key: Option<String>,
    /// The caller's stop.
    pub cancel: CancelToken,
    /// Somebody's yes or no that was given elsewhere.
    pub approval: Option<ApprovalGrant>,
    /// Takes output of a command as it comes.
    pub on_output: Option<OutputSink>,
    /// How a session that the call opens is opened.
    pub opening: Opening,
}

/// A call that was found and decoded.
pub(super) struct Prepared<'a> {
    pub(super) exposed: &'a Exposed,
    pub(super) decoded: Box<dyn DecodedCall>,
    /// The input as the call came, before hooks, where it brought a grant along.
    pub(super) came: Option<Value>,
    pub(super) call_id: String,
    pub(super) key: String,
    /// For looking, not for running: no rules apply to where a path leads.
    pub(super) call: Call,
}

/// How one call was judged, and how it ended.
#[derive(Debug)]
pub struct CallReport {
    /// The judgement; absent where the call ended before it.
    pub verdict: Option<CallVerdict>,
    /// What the caller gets.
    pub ended: Result<ToolResult>,
}

/// What the rules said of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallVerdict {
    /// Whether it ran as it was, was asked about, or did not run.
    pub action: Action,
    /// Why; empty where it ran as it was.
    pub reason: String,
    /// Whose yes let it run; absent where nobody's was needed, or nobody gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<ApprovedBy>,
}

impl CallVerdict {
    /// `None` where the call could not be judged.
    pub(super) fn of(plan: &Result<Plan>) -> Option<Self> {
        let (action, reason) = match plan {
            Ok(plan) if plan.asks.is_empty() => (Action::Allow, String::new()),
            Ok(plan) => (Action::Ask, plan.asks.join("; ")),
            Err(error) => match error.kind() {
                ErrorKind::InvalidInput | ErrorKind::Aborted | ErrorKind::Timeout => return None,
                _ => (Action::Deny, error.message().to_owned()),
            },
        };
        Some(Self { action, reason, approved_by: None })
    }
}

impl Toolset {
    /// Runs one call. What a model can act on is a result with `is_error`; an error is only what the model must not
    /// handle: `ApprovalRequired`, `HookFailed`, `Closed`, `Aborted`.
    pub async fn call(&self, name: &str, input: Value, options: CallOptions) -> Result<ToolResult> {
        self.call_reported(name, input, options).await.ended
    }

    /// As [`call`](Self::call), and says how the call was judged.
    pub async fn call_reported(&self, name: &str, input: Value, options: CallOptions) -> CallReport {
        let mut verdict = None;
        let ended = self.steps(name, input, &options, &mut verdict).await;
        CallReport { verdict, ended }
    }

    async fn steps(
        &self,
        name: &str,
        mut input: Value,
        options: &CallOptions,
        verdict: &mut Option<CallVerdict>,
    ) -> Result<ToolResult> {
        let exposed = match self.find_open(name) {
            Ok(exposed) => exposed,
            Err(error) => return self.answer(None, Err(error)),
        };
        let tool = exposed.ours();
        let prepared = match caught(self.prepare(exposed, &input, options)).await {
            Ok(prepared) => prepared,
            Err(error) => return self.answer(Some(tool), Err(error)),
        };
        let (call_id, key) = (prepared.call_id.clone(), prepared.key.clone());
        let info = CallInfo { id: &call_id, key: &key, tool };
        let ended = match self.pre(info, &mut input, prepared, options).await {
            Ok(prepared) => caught(self.decide_and_run(prepared, &mut input, options, verdict)).await,
            // A pre hook that fails ends the call at once; no post hook runs (TS-6), unless that was asked for (D70).
            Err(error) if error.kind() == ErrorKind::HookFailed => {
                let scopes: &[Scope] = if self.shared.always_post { &[Scope::Global] } else { &[] };
                let ended = self.post(info, &input, Err(error), scopes, &options.cancel).await;
                return self.answer(Some(tool), ended);
            }
            Err(error) => Err(error),
        };
        let ended = self.post(info, &input, ended, &[Scope::Tool, Scope::Global], &options.cancel).await;
        self.answer(Some(tool), ended)
    }

    /// Step 1, in a toolset that is open.
    pub(super) fn find_open(&self, name: &str) -> Result<&Exposed> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        self.find(name)
    }

    /// Step 2.
    pub(super) async fn prepare<'a>(
        &'a self,
        exposed: &'a Exposed,
        input: &Value,
        options: &CallOptions,
    ) -> Result<Prepared<'a>> {
        let call_id = options.call_id.clone().unwrap_or_else(|| {
            format!("{}-call-{}", self.shared.id, self.shared.calls.fetch_add(1, Ordering::Relaxed))
        });
        let key = options.key.clone().unwrap_or_else(|| call_id.clone());
        let call = self.looking(exposed, options);
        call.deadline.check()?;
        let info = CallInfo { id: &call_id, key: &key, tool: exposed.ours() };
        let decoded = decode(exposed, info, input, &call.deadline).await?;
        let came = options.approval.as_ref().map(|_| input.clone());
        Ok(Prepared { exposed, decoded, came, call_id, key, call })
    }

    /// A call that looks and does not run: no rules apply to where a path leads.
    pub(super) fn looking(&self, exposed: &Exposed, options: &CallOptions) -> Call {
        let limit = exposed.time_limit().unwrap_or(self.shared.limits.call_timeout);
        let deadline = Deadline { cancel: options.cancel.clone(), at: None }.within(limit);
        Call { deadline, guard: Arc::new(Unguarded) }
    }

    /// Step 3: global, then the tool's; a replaced input is decoded again.
    async fn pre<'a>(
        &'a self,
        info: CallInfo<'_>,
        input: &mut Value,
        mut prepared: Prepared<'a>,
        options: &CallOptions,
    ) -> Result<Prepared<'a>> {
        for scope in [Scope::Global, Scope::Tool] {
            if !self.shared.hooks.has_pre(scope, info.tool) {
                continue;
            }
            let replaced = tokio::select! {
                biased;
                () = self.shared.closing.cancelled() => return Err(closed()),
                replaced = self.shared.hooks.pre(scope, info, input) => replaced?,
                stop = prepared.call.deadline.reached() => return Err(stop),
            };
            if let Some(replaced) = replaced {
                *input = replaced;
                prepared.decoded = decode(prepared.exposed, info, input, &prepared.call.deadline).await?;
            }
            if options.cancel.is_cancelled() {
                prepared.call.deadline.check()?;
            }
        }
        Ok(prepared)
    }

    /// Steps 4 and 5.
    pub(super) async fn plan(&self, prepared: &Prepared<'_>) -> Result<Plan> {
        let backend = &*self.shared.scratch.backend();
        let directory = backend.files().working_directory();
        let mut accesses = prepared.decoded.accesses(directory)?;
        accesses.extend(prepared.decoded.session_accesses(&self.shared.sessions, directory));
        let mut asks = Vec::new();
        if self.shared.need_approval.iter().any(|name| name == prepared.exposed.ours()) {
            asks.push("the application wants to be asked before every call of this tool".to_owned());
        }
        asks.extend(prepared.decoded.asks().map(str::to_owned));
        let judges = Judges {
            policy: &self.shared.policy,
            backend,
            commands: self.shared.commands.as_deref(),
            is_strict: self.shared.mode == ApprovalMode::Strict,
            whereabouts: Some(&self.shared.whereabouts),
            programs: &self.shared.programs,
            info: prepared.info(),
            call: &prepared.call,
        };
        let mut plan = plan::plan(&judges, accesses, asks).await?;
        plan.reader = prepared.decoded.reader();
        Ok(plan)
    }

    /// Steps 4 to 8.
    async fn decide_and_run(
        &self,
        mut prepared: Prepared<'_>,
        input: &mut Value,
        options: &CallOptions,
        verdict: &mut Option<CallVerdict>,
    ) -> Result<ToolResult> {
        let plan = self.plan(&prepared).await;
        *verdict = CallVerdict::of(&plan);
        let mut plan = plan?;
        let mut bindings: Vec<Binding> = Vec::new();
        let mut bound = None;
        if !plan.asks.is_empty() {
            let approval: Approved = self.approve(&mut prepared, input, &mut plan, options, verdict).await?;
            bindings = approval.bindings;
            bound = approval.bound;
            if let Some(verdict) = verdict {
                verdict.approved_by = approval.by;
            }
            if let Some(replaced) = approval.input {
                // Decided afresh: what the rules deny stays denied; what they ask for, the same person just gave.
                *input = replaced;
                prepared.call = self.looking(prepared.exposed, options);
                prepared.decoded = decode(prepared.exposed, prepared.info(), input, &prepared.call.deadline).await?;
                let shown = plan.reader.take();
                let replanned = self.plan(&prepared).await;
                let replanned = replanned.and_then(|plan| {
                    if plan.is_for(shown.as_ref()) { Ok(plan) } else { Err(other_reader(ErrorKind::Busy)) }
                });
                if replanned.is_err() {
                    *verdict = CallVerdict::of(&replanned);
                }
                plan = replanned?;
                if let Some(verdict) = verdict.as_mut().filter(|_| !plan.asks.is_empty()) {
                    verdict.reason = plan.asks.join("; ");
                }
                bindings = plan.bindings.clone();
            }
        }
        let approved = !plan.asks.is_empty();
        let guard = CallGuard::new(Arc::clone(&self.shared.policy), plan.decided, approved);
        // The time that a person took to answer does not count against the run.
        let limit = prepared.decoded.time_limit().unwrap_or(self.shared.limits.call_timeout);
        let deadline = Deadline { cancel: options.cancel.clone(), at: None }.within(limit);
        let call = Call { deadline, guard: Arc::new(guard) };
        let turn = self.shared.whereabouts.enter(&plan.sessions)?;
        self.shared.programs.rename(std::mem::take(&mut plan.renamed));
        let backend = self.shared.scratch.backend();
        let view = View {
            opening: Some(&options.opening),
            ..self.view(&*backend, &call, prepared.info(), &bindings, options.on_output.clone())
        };
        let mut result = self.run(&*prepared.decoded, &view).await?.bounded(self.shared.limits.text_bytes);
        let tool = prepared.exposed.ours();
        self.shared.whereabouts.arrive(tool, &plan.sessions, turn, self.shared.backend.shell(), &result).await;
        if let Some(analysis) = plan.command.as_ref().filter(|_| plan.sessions.is_empty()) {
            self.shared.whereabouts.begin(&analysis.entered.all, &result);
        }
        if let Some(bound) = bound {
            note_binding(&mut result, bound, &bindings);
        }
        Ok(result)
    }

    /// Step 7: the run against deadline, abort and close. A run that is stopped gets a moment to return what it has.
    async fn run(&self, decoded: &dyn DecodedCall, view: &View<'_>) -> Result<ToolResult> {
        let mut run = decoded.run(view);
        let stop = tokio::select! {
            biased;
            ended = &mut run => return ended.and_then(|result| unless_aborted(result, &view.call.deadline)),
            stop = view.call.deadline.reached() => stop,
            () = self.shared.closing.cancelled() => {
                view.call.deadline.cancel.cancel();
                closed()
            }
        };
        match tokio::time::timeout(GRACE, run).await {
            Ok(Ok(result)) => match stop.kind() {
                ErrorKind::Aborted => Err(stop.with_details(json!({ "partial": result }))),
                ErrorKind::Closed => Err(stop),
                _ => Ok(result),
            },
            Ok(Err(_)) | Err(_) => Err(stop),
        }
    }

    /// Step 9: the tool's, then global; each sees the result or the failure and may replace either. All of them run,
    /// whatever the ones before did; a hook's own failure is the end of the call, but not of the other hook.
    async fn post(
        &self,
        info: CallInfo<'_>,
        input: &Value,
        ended: Result<ToolResult>,
        scopes: &[Scope],
        cancel: &CancelToken,
    ) -> Result<ToolResult> {
        let mut ended = ended;
        for &scope in scopes {
            if !self.shared.hooks.has_post(scope, info.tool) {
                continue;
            }
            let hook = self.shared.hooks.post(scope, info, input, ended.as_ref());
            let answer = tokio::select! {
                biased;
                answer = hook => answer,
                stop = self.given_up(cancel) => Err(stop),
                () = tokio::time::sleep(self.shared.limits.call_timeout) => {
                    Err(Error::new(ErrorKind::Timeout, format!("The post hook of {} took too long.", info.tool)))
                }
            };
            match answer {
                Ok(None) => {}
                Ok(Some(replaced)) => ended = Ok(replaced),
                Err(failure) => ended = Err(failure),
            }
        }
        ended
    }

    /// Ends a moment after the caller or the whole toolset stopped: who still works then is waited for no longer.
    async fn given_up(&self, cancel: &CancelToken) -> Error {
        let caller = Deadline { cancel: cancel.clone(), at: None };
        let stop = tokio::select! {
            stop = caller.cancelled() => stop,
            () = self.shared.closing.cancelled() => closed(),
        };
        tokio::time::sleep(GRACE).await;
        stop
    }

    /// What the caller gets: an error only where the model must not handle it.
    fn answer(&self, tool: Option<&str>, ended: Result<ToolResult>) -> Result<ToolResult> {
        let result = match ended {
            Ok(result) => result,
            Err(error) => match error.kind() {
                ErrorKind::ApprovalRequired | ErrorKind::HookFailed | ErrorKind::Closed | ErrorKind::Aborted => {
                    return Err(error);
                }
                kind => {
                    let mut result = ToolResult::from_error(&error);
                    if let Some(tool) = tool {
                        self.count_failure(tool, kind, &mut result);
                    }
                    return Ok(result);
                }
            },
        };
        if let (Some(tool), false) = (tool, result.is_error) {
            self.shared.failures.lock().remove(tool);
        }
        Ok(result)
    }

    /// After `max_retries` fixable failures of one tool in a row, tells the model to stop trying (BE-106).
    fn count_failure(&self, tool: &str, kind: ErrorKind, result: &mut ToolResult) {
        if !kind.is_fixable() {
            return;
        }
        let mut failures = self.shared.failures.lock();
        let count = failures.entry(tool.to_owned()).or_insert(0);
        *count = count.saturating_add(1);
        if *count > self.shared.max_retries {
            result.text.push_str(&format!(
                "\n\n{tool} failed {count} times in a row. Stop repeating it: look again at what is there, or try another way."
            ));
        }
    }

    /// What a tool works with in this call.
    pub(super) fn view<'a>(
        &'a self,
        backend: &'a dyn Backend,
        call: &'a Call,
        info: CallInfo<'a>,
        bindings: &'a [Binding],
        on_output: Option<OutputSink>,
    ) -> View<'a> {
        View {
            backend,
            call,
            info,
            help: &*self.shared.hooks,
            limits: &self.shared.limits,
            settings: &self.shared.settings,
            memory: &self.shared.memory,
            media: &self.shared.media,
            bindings,
            on_output,
            opening: None,
            reads_background: self.exposed.iter().any(|tool| tool.ours() == "read_output"),
            sessions: &self.shared.sessions,
            scratch: &self.shared.scratch,
        }
    }
}

/// A run may notice an abort, tidy up and return what it has before anybody else looks: that is an abort all the same.
pub(super) fn unless_aborted(result: ToolResult, deadline: &Deadline) -> Result<ToolResult> {
    if result.code.as_deref() != Some(ErrorKind::Aborted.code()) {
        return Ok(result);
    }
    match deadline.check() {
        Err(stop) if stop.kind() == ErrorKind::Aborted => Err(stop.with_details(json!({ "partial": result }))),
        Ok(()) | Err(_) => Ok(result),
    }
}

/// A panic inside becomes an error: it is a defect of ours, never the end of the host process.
async fn caught<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    poll_fn(move |context| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))).unwrap_or_else(|_| {
            Poll::Ready(Err(Error::internal("The call failed inside; this is a defect of gloveport.")))
        })
    })
    .await
}

impl Prepared<'_> {
    /// What hooks and approver are told about the call.
    pub(super) fn info(&self) -> CallInfo<'_> {
        CallInfo { id: &self.call_id, key: &self.key, tool: self.exposed.ours() }
    }
}

/// Decodes an input, after checking that it is an object of sane depth.
async fn decode(
    exposed: &Exposed,
    info: CallInfo<'_>,
    input: &Value,
    deadline: &Deadline,
) -> Result<Box<dyn DecodedCall>> {
    check_depth(exposed, input)?;
    tokio::select! {
        biased;
        decoded = exposed.decode(info, input) => decoded,
        stop = deadline.reached() => Err(stop),
    }
}

fn check_depth(exposed: &Exposed, input: &Value) -> Result<()> {
    if !input.is_object() {
        return Err(Error::invalid(format!(
            "The input of {} must be a JSON object.{}",
            exposed.name,
            exposed.example()
        )));
    }
    let mut pending = vec![(input, 1_usize)];
    while let Some((value, depth)) = pending.pop() {
        if depth > MAX_INPUT_DEPTH {
            return Err(Error::invalid(format!("The input is nested more than {MAX_INPUT_DEPTH} levels deep.")));
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => pending.extend(fields.values().map(|field| (field, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// Says in the result how far an approval from elsewhere was bound. A call that touches no file has nothing else that it
/// could be bound to.
fn note_binding(result: &mut ToolResult, bound: Bound, bindings: &[Binding]) {
    let data = result.data.get_or_insert_with(|| json!({}));
    if let Value::Object(fields) = data {
        fields.insert("approvalBoundTo".to_owned(), json!(bound));
    }
    if bound == Bound::Input && !bindings.is_empty() {
        result.text.push_str(
            "\n\n(The approval was given before this process started: it was held to the input, not to the content of the files.)",
        );
    }
}

pub(super) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "The toolset is closed; make a new one.")
}
