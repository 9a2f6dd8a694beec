//! The application's own code (hooks, approver, command policy, tools), reached through one JavaScript function.
//!
//! A request and its answer are JSON. The facade keeps the JavaScript objects (context, metadata, thrown errors) and
//! finds them by `callKey`; only values cross.

use std::collections::HashSet;
use std::pin::pin;

use gloveport_core::approval::{ApprovalDecision, ApprovalRequest, Approver, given};
use gloveport_core::backend::BoxFuture;
use gloveport_core::call_info::CallInfo;
use gloveport_core::cancel::Deadline;
use gloveport_core::custom::{CustomPlan, CustomTools};
use gloveport_core::error::{Error, ErrorKind, Result};
use gloveport_core::hooks::{CommandJudge, Ended, Hooks, Scope};
use gloveport_core::permissions::{Action, CommandAnalysis};
use gloveport_core::session::{Help, Helper, SessionEnded};
use gloveport_core::tool::ToolResult;
use napi::Status;
use napi::bindgen_prelude::{Function, Promise};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the application brought along.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct HostDescription {
    /// Whether somebody approves.
    pub(crate) approver: bool,
    /// Whether the application judges commands itself.
    pub(crate) commands: bool,
    global_pre: bool,
    global_post: bool,
    /// Names of tools with a pre hook.
    pre: HashSet<String>,
    /// Names of tools with a post hook.
    post: HashSet<String>,
}

/// Calls into JavaScript without keeping Node alive.
pub(crate) struct Host {
    description: HostDescription,
    call: ThreadsafeFunction<String, Promise<String>, String, Status, false, true, 0>,
}

/// What the facade is asked.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    call_key: &'a str,
    tool: &'a str,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum What<'a> {
    Pre { scope: &'a str, input: &'a Value },
    Post { scope: &'a str, input: &'a Value, result: Option<&'a ToolResult>, error: Option<Failure<'a>> },
    Approve { request: &'a ApprovalRequest },
    Judge { analysis: &'a CommandAnalysis },
    Help { request: &'a Value },
    Plan { input: &'a Value },
    Run { input: &'a Value },
    Stop { code: &'a str, message: &'a str },
}

#[derive(Serialize)]
struct Failure<'a> {
    code: &'a str,
    message: &'a str,
    path: Option<&'a str>,
    details: Option<&'a Value>,
}

/// What the facade answers. An empty object changes nothing.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    /// `null` is an input too, if a wrong one.
    #[serde(deserialize_with = "given")]
    input: Option<Value>,
    result: Option<ToolResult>,
    decision: Option<ApprovalDecision>,
    action: Option<Action>,
    plan: Option<CustomPlan>,
    /// What a model may read of the failure of a tool.
    message: Option<String>,
    help: Option<String>,
    took_over: bool,
    /// Whether the application's code threw; the facade keeps what.
    failed: bool,
}

impl Host {
    pub(crate) fn new(
        description: HostDescription,
        function: Function<'_, String, Promise<String>>,
    ) -> napi::Result<Self> {
        let call = function.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        Ok(Self { description, call })
    }

    async fn ask(&self, call: CallInfo<'_>, what: What<'_>) -> Result<Answer> {
        let failed = |message: Option<String>| match message {
            Some(message) => Error::new(ErrorKind::ToolFailed, message),
            None => Error::new(ErrorKind::HookFailed, "Code of the application (a hook or the approver) failed."),
        };
        let promise = self.call.call_async_catch(encode(call, what)?).await.map_err(|_| failed(None))?;
        let answer = promise.await.map_err(|_| failed(None))?;
        let answer: Answer = serde_json::from_str(&answer).map_err(|error| {
            Error::new(ErrorKind::HookFailed, format!("Code of the application answered something unusable: {error}."))
        })?;
        if answer.failed { Err(failed(answer.message)) } else { Ok(answer) }
    }

    /// Asks, and at the deadline tells the one who is asked to stop.
    async fn ask_until(&self, call: CallInfo<'_>, what: What<'_>, deadline: &Deadline) -> Result<Answer> {
        let mut asked = pin!(self.ask(call, what));
        tokio::select! {
            biased;
            answer = &mut asked => answer,
            stop = deadline.reached() => {
                let what = What::Stop { code: stop.kind().code(), message: stop.message() };
                self.call.call(encode(call, what)?, ThreadsafeFunctionCallMode::NonBlocking);
                asked.await
            }
        }
    }
}

fn encode(call: CallInfo<'_>, what: What<'_>) -> Result<String> {
    serde_json::to_string(&Request { call_key: call.key, tool: call.tool, what })
        .map_err(|_| Error::internal("A request to the application could not be written."))
}

impl Hooks for Host {
    fn has_pre(&self, scope: Scope, tool: &str) -> bool {
        match scope {
            Scope::Global => self.description.global_pre,
            Scope::Tool => self.description.pre.contains(tool),
        }
    }

    fn has_post(&self, scope: Scope, tool: &str) -> bool {
        match scope {
            Scope::Global => self.description.global_post,
            Scope::Tool => self.description.post.contains(tool),
        }
    }

    fn pre<'a>(&'a self, scope: Scope, call: CallInfo<'a>, input: &'a Value) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move { Ok(self.ask(call, What::Pre { scope: scope.name(), input }).await?.input) })
    }

    fn post<'a>(
        &'a self,
        scope: Scope,
        call: CallInfo<'a>,
        input: &'a Value,
        ended: Ended<'a>,
    ) -> BoxFuture<'a, Result<Option<ToolResult>>> {
        Box::pin(async move {
            let error = ended.err().map(|error| Failure {
                code: error.kind().code(),
                message: error.message(),
                path: error.path(),
                details: error.details(),
            });
            let what = What::Post { scope: scope.name(), input, result: ended.ok(), error };
            Ok(self.ask(call, what).await?.result)
        })
    }

    fn session_ended(&self, ended: &SessionEnded) {
        let event = json!({ "type": "session-ended", "ended": ended });
        // Nobody waits for the listener; a host that is gone listens no more.
        self.call.call(event.to_string(), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

impl Helper for Host {
    fn help<'a>(
        &'a self,
        call: CallInfo<'a>,
        request: &'a Value,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<Option<Help>>> {
        Box::pin(async move {
            let answer = self.ask_until(call, What::Help { request }, deadline).await?;
            Ok(if answer.took_over { Some(Help::TookOver) } else { answer.help.map(Help::Answer) })
        })
    }
}

impl Approver for Host {
    fn decide<'a>(
        &'a self,
        call: CallInfo<'a>,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<ApprovalDecision>> {
        Box::pin(async move {
            let answer = self.ask(call, What::Approve { request }).await?;
            answer.decision.ok_or_else(|| missing("The approver gave no decision: answer { approved }."))
        })
    }
}

impl CommandJudge for Host {
    fn judge<'a>(&'a self, call: CallInfo<'a>, analysis: &'a CommandAnalysis) -> BoxFuture<'a, Result<Action>> {
        Box::pin(async move {
            let answer = self.ask(call, What::Judge { analysis }).await?;
            answer.action.ok_or_else(|| missing("`allowCommand` gave no action."))
        })
    }
}

impl CustomTools for Host {
    fn plan<'a>(&'a self, call: CallInfo<'a>, input: &'a Value) -> BoxFuture<'a, Result<CustomPlan>> {
        Box::pin(async move {
            let answer = self.ask(call, What::Plan { input }).await?;
            answer.plan.ok_or_else(|| missing("The tool gave no plan."))
        })
    }

    fn run<'a>(
        &'a self,
        call: CallInfo<'a>,
        input: &'a Value,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let answer = self.ask_until(call, What::Run { input }, deadline).await?;
            answer.result.ok_or_else(|| missing("The tool gave no result."))
        })
    }
}

fn missing(what: &'static str) -> Error {
    Error::new(ErrorKind::HookFailed, what)
}
