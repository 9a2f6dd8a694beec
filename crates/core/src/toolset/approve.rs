//! Step 6 of a call: who says yes, and to what exactly. And `assess`, which asks nobody.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;
use serde_json::Value;

use super::Toolset;
use super::call::{CallOptions, CallVerdict, Prepared};
use super::plan::Plan;
use crate::approval::{ApprovalDecision, ApprovalMode, ApprovalOrder, ApprovalRequest, Remember};
use crate::error::{Error, ErrorKind, Result};
use crate::session::terminal::Reader;
use crate::text::shown::shown_to_person;
use crate::tool::Binding;

/// 1,000: assessments of one toolset that wait for their call; the oldest is forgotten first.
const MAX_ASSESSED: usize = 1_000;

/// What `assess` says of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    /// The verdict.
    pub status: AssessmentStatus,
    /// Why it is blocked, or why somebody must be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The stable code of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// What will happen, as an approver sees it; absent when blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ApprovalRequest>,
}

/// The three answers of `assess`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssessmentStatus {
    /// Runs without a question.
    Allowed,
    /// Runs when somebody says yes.
    NeedsApproval,
    /// Does not run.
    Blocked,
}

/// How an approved call is bound to what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Bound {
    /// To tool, input, and the state of the files shown.
    Content,
    /// To tool and input: the process that showed the files is gone.
    Input,
}

/// A call that may run.
pub(super) struct Approved {
    /// What the run is held to.
    pub(super) bindings: Vec<Binding>,
    /// Another input that the approver gave.
    pub(super) input: Option<Value>,
    /// How it is bound, when a grant from elsewhere was used.
    pub(super) bound: Option<Bound>,
    /// Whose yes it is; absent where nobody had to give one after all.
    pub(super) by: Option<ApprovedBy>,
}

/// Whose yes let a call run that somebody must be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovedBy {
    /// The approver's, now.
    Approver,
    /// The approver's, for the whole session.
    Session,
    /// One that was given elsewhere and came with the call.
    Grant,
    /// The application's, for every call of the tool.
    PreApproved,
    /// The application's, for everything.
    ApproveAll,
}

/// What was shown for calls that have not come yet.
#[derive(Default)]
pub(super) struct Assessed {
    by_call: HashMap<String, Shown>,
    order: VecDeque<String>,
}

/// What was shown for a call.
struct Shown {
    key: String,
    bindings: Vec<Binding>,
    reader: Option<Reader>,
    is_stale: bool,
}

impl Assessed {
    /// The first assessment of a call is the one that somebody was shown: another of the same input changes nothing, and one of another
    /// input not what reads it.
    fn insert(&mut self, call_id: String, mut shown: Shown) {
        if let Some(known) = self.by_call.get(&call_id).filter(|known| !known.is_stale) {
            if known.key == shown.key {
                return;
            }
            shown.reader.clone_from(&known.reader);
        }
        self.put(call_id, shown);
    }

    /// What was shown for a call, and is no longer so: until somebody is shown it anew.
    fn keep_stale(&mut self, call_id: String, shown: Shown) {
        self.put(call_id, Shown { is_stale: true, ..shown });
    }

    fn put(&mut self, call_id: String, shown: Shown) {
        if self.by_call.insert(call_id.clone(), shown).is_none() {
            self.order.push_back(call_id);
        }
        while self.order.len() > MAX_ASSESSED {
            if let Some(oldest) = self.order.pop_front() {
                self.by_call.remove(&oldest);
            }
        }
    }

    fn take(&mut self, call_id: &str) -> Option<Shown> {
        let found = self.by_call.remove(call_id)?;
        self.order.retain(|known| known != call_id);
        Some(found)
    }
}

impl Toolset {
    /// Whether a call would run, and what an approver would see. Runs no hook and asks nobody. What it looked at is
    /// remembered under `call_id`, so that a grant for that call is bound to it.
    pub async fn assess(&self, name: &str, input: &Value, options: CallOptions) -> Result<Assessment> {
        let prepared = match self.look(name, input, &options).await {
            Ok(prepared) => prepared,
            Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Aborted) => return Err(error),
            Err(error) => return Ok(blocked(&error)),
        };
        let plan = match self.plan(&prepared).await {
            Ok(plan) => plan,
            Err(error) if error.kind() == ErrorKind::Aborted => return Err(error),
            Err(error) => return Ok(blocked(&error)),
        };
        let request = match self.request(&prepared, input, &plan).await {
            Ok(request) => request,
            Err(error) if error.kind() == ErrorKind::Aborted => return Err(error),
            Err(error) => return Ok(blocked(&error)),
        };
        if plan.asks.is_empty() {
            return Ok(Assessment {
                status: AssessmentStatus::Allowed,
                reason: None,
                code: None,
                request: Some(request),
            });
        }
        match self.shared.mode {
            ApprovalMode::Strict => Ok(blocked(&strict(&plan))),
            ApprovalMode::ApproveAll => {
                Ok(Assessment { status: AssessmentStatus::Allowed, reason: None, code: None, request: Some(request) })
            }
            ApprovalMode::Interactive => {
                let key = plan.key(prepared.exposed.ours(), input);
                let status = if self.is_pre_approved(prepared.exposed.ours()) || self.is_remembered(&plan, &key) {
                    AssessmentStatus::Allowed
                } else {
                    AssessmentStatus::NeedsApproval
                };
                let shown = Shown { key, bindings: plan.bindings, reader: plan.reader, is_stale: false };
                self.shared.assessed.lock().insert(prepared.call_id.clone(), shown);
                Ok(Assessment { status, reason: Some(plan.asks.join("; ")), code: None, request: Some(request) })
            }
        }
    }

    /// Whether somebody said yes to that for the session. What is typed into a program is asked about each time.
    fn is_remembered(&self, plan: &Plan, key: &str) -> bool {
        !plan.is_for_program() && self.shared.remembered.contains(key)
    }

    /// Whether the application said yes to whatever this tool asks.
    fn is_pre_approved(&self, tool: &str) -> bool {
        self.shared.pre_approved.iter().any(|name| name == tool)
    }

    /// Whether an input is right for a tool, as a call decodes it: nothing is judged and nothing is looked at.
    pub async fn validate(&self, name: &str, input: &Value, options: CallOptions) -> Result<()> {
        let prepared = self.look(name, input, &options).await?;
        match prepared.decoded.accesses(self.shared.backend.files().working_directory()) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Steps 1 and 2.
    async fn look(&self, name: &str, input: &Value, options: &CallOptions) -> Result<Prepared<'_>> {
        let exposed = self.find_open(name)?;
        self.prepare(exposed, input, options).await
    }

    /// Somebody's yes, or the error that says why there is none. Where a request had to wait for its turn, the plan is made
    /// again, so that what is shown is what is there, and the verdict with it.
    pub(super) async fn approve(
        &self,
        prepared: &mut Prepared<'_>,
        input: &Value,
        plan: &mut Plan,
        options: &CallOptions,
        verdict: &mut Option<CallVerdict>,
    ) -> Result<Approved> {
        let here =
            |plan: &Plan, by| Approved { bindings: plan.bindings.clone(), input: None, bound: None, by: Some(by) };
        let tool = prepared.exposed.ours();
        match self.shared.mode {
            ApprovalMode::Strict => return Err(strict(plan)),
            ApprovalMode::ApproveAll => return Ok(here(plan, ApprovedBy::ApproveAll)),
            ApprovalMode::Interactive if self.is_pre_approved(tool) => return Ok(here(plan, ApprovedBy::PreApproved)),
            ApprovalMode::Interactive => {}
        }
        let mut key = plan.key(tool, input);
        if let Some(grant) = &options.approval {
            if !grant.approved {
                return Err(refused(tool, grant.reason.as_deref()));
            }
            let shown = self.shared.assessed.lock().take(&prepared.call_id);
            // `assess` runs no hook: what it showed is the input as the call came. What the application's own hooks make of that
            // was said yes to with it, as long as the call touches the same for the same reasons.
            let is_shown =
                |shown: &str| shown == key || prepared.came.as_ref().is_some_and(|came| shown == plan.key(tool, came));
            return match shown {
                Some(shown) if is_shown(&shown.key) && !plan.is_for(shown.reader.as_ref()) => {
                    // No second call with the same yes is one to another program.
                    self.shared.assessed.lock().keep_stale(prepared.call_id.clone(), shown);
                    Err(other_reader(ErrorKind::StaleFile))
                }
                Some(Shown { key, bindings, .. }) if is_shown(&key) => {
                    Ok(Approved { bindings, input: None, bound: Some(Bound::Content), by: Some(ApprovedBy::Grant) })
                }
                Some(_) => Err(Error::new(
                    ErrorKind::StaleFile,
                    "The approval was given to another input than the one this call has now, or its path leads elsewhere since; \
                     ask for it again.",
                )),
                None => Ok(Approved { bound: Some(Bound::Input), ..here(plan, ApprovedBy::Grant) }),
            };
        }
        if self.is_remembered(plan, &key) {
            return Ok(here(plan, ApprovedBy::Session));
        }
        let mut turn = None;
        if self.shared.approver.is_some() && self.shared.order == ApprovalOrder::OneByOne {
            turn = self.shared.turn.try_lock().ok();
            if turn.is_none() {
                turn = Some(tokio::select! {
                    turn = self.shared.turn.lock() => turn,
                    stop = prepared.call.deadline.cancelled() => return Err(stop),
                    () = self.shared.closing.cancelled() => return Err(super::call::closed()),
                });
                // What was answered meanwhile may have changed the files, or remembered this very call.
                prepared.call = self.looking(prepared.exposed, options);
                let replanned = self.plan(prepared).await;
                *verdict = CallVerdict::of(&replanned);
                *plan = replanned?;
                key = plan.key(tool, input);
                if plan.asks.is_empty() {
                    return Ok(Approved { by: None, ..here(plan, ApprovedBy::Session) });
                }
                if self.is_remembered(plan, &key) {
                    return Ok(here(plan, ApprovedBy::Session));
                }
            }
        }
        let request = self.request(prepared, input, plan).await?;
        let Some(approver) = &self.shared.approver else {
            // Whoever gets the request may say yes later: to what it shows.
            let (bindings, reader) = (plan.bindings.clone(), plan.reader.clone());
            let shown = Shown { key, bindings, reader, is_stale: false };
            self.shared.assessed.lock().insert(prepared.call_id.clone(), shown);
            let details = serde_json::to_value(&request).unwrap_or_default();
            return Err(Error::new(
                ErrorKind::ApprovalRequired,
                format!("{tool} needs an approval ({}), and no approver is set.", request.reason),
            )
            .with_details(details));
        };
        let answer = tokio::select! {
            answer = approver.decide(prepared.info(), &request) => answer,
            stop = prepared.call.deadline.cancelled() => return Err(stop),
            () = self.shared.closing.cancelled() => return Err(super::call::closed()),
        };
        let decision = match answer {
            Ok(decision) => decision,
            // A failing approver is a no (R-FS-11); its own error reaches the application through the host.
            Err(_) => {
                ApprovalDecision { reason: Some("the approver failed".to_owned()), ..ApprovalDecision::default() }
            }
        };
        if !decision.approved {
            return Err(refused(tool, decision.reason.as_deref()));
        }
        if decision.remember == Remember::Session && decision.input.is_none() && plan.is_literal() {
            self.shared.remembered.remember(key);
        }
        drop(turn);
        Ok(Approved { input: decision.input, ..here(plan, ApprovedBy::Approver) })
    }

    /// What an approver sees. An error of the preview is the call's own error: nobody is asked about an edit that
    /// cannot be made.
    async fn request(&self, prepared: &Prepared<'_>, input: &Value, plan: &Plan) -> Result<ApprovalRequest> {
        let backend = self.shared.scratch.backend();
        let view = self.view(&*backend, &prepared.call, prepared.info(), &[], None);
        // In front of the command, which could say anything itself.
        let place = plan.place().map_or_else(String::new, |place| format!("(The session's shell is {place}.) "));
        Ok(ApprovalRequest {
            call_id: prepared.call_id.clone(),
            tool: prepared.exposed.ours().to_owned(),
            input: input.clone(),
            decoded_input: prepared.exposed.told(&*prepared.decoded, input),
            description: place + &shown_to_person(&prepared.decoded.describe()),
            reason: plan.asks.join("; "),
            touches: plan.touches.clone(),
            diff: prepared.decoded.preview(&view).await?,
            command: plan.command.clone(),
            metadata: prepared.decoded.approval_metadata().cloned(),
        })
    }
}

fn blocked(error: &Error) -> Assessment {
    Assessment {
        status: AssessmentStatus::Blocked,
        reason: Some(error.message().to_owned()),
        code: Some(error.kind().code()),
        request: None,
    }
}

/// A yes that was given to something else in a session than what reads there now.
pub(super) fn other_reader(kind: ErrorKind) -> Error {
    Error::new(
        kind,
        "The approval was given to what read in the session then, and that is another program now. Look with `shell_view` what reads there, \
         and ask for it again where it still fits.",
    )
}

fn strict(plan: &Plan) -> Error {
    Error::new(
        ErrorKind::ApprovalDenied,
        format!(
            "Not approved: {}, and this toolset is strict: nobody is asked. Do it another way.",
            plan.asks.join("; ")
        ),
    )
}

fn refused(tool: &str, reason: Option<&str>) -> Error {
    let reason = reason.filter(|reason| !reason.is_empty()).unwrap_or("no reason given");
    Error::new(ErrorKind::ApprovalDenied, format!("Approval of {tool} was denied: {}.", reason.trim_end_matches('.')))
}
