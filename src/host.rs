//! The application's own code: hooks and approver, reached through one JavaScript function.
//!
//! A request and its answer are JSON. The facade keeps the JavaScript objects (context, metadata, thrown errors) and
//! finds them by `callKey`; only values cross.

use std::collections::HashSet;

use gloveport_core::approval::{ApprovalDecision, ApprovalRequest, Approver};
use gloveport_core::backend::BoxFuture;
use gloveport_core::error::{Error, ErrorKind, Result};
use gloveport_core::hooks::{CallInfo, Ended, Hooks, Scope};
use gloveport_core::tool::ToolResult;
use napi::Status;
use napi::bindgen_prelude::{Function, Promise};
use napi::threadsafe_function::ThreadsafeFunction;
use serde::Deserialize;
use serde_json::{Value, json};

/// What the application brought along.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct HostDescription {
    /// Whether somebody approves.
    pub(crate) approver: bool,
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

/// What the facade answers. An empty object changes nothing.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    input: Option<Value>,
    result: Option<ToolResult>,
    decision: Option<ApprovalDecision>,
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

    async fn ask(&self, request: Value) -> Result<Answer> {
        let failed = || Error::new(ErrorKind::HookFailed, "Code of the application (a hook or the approver) failed.");
        let promise = self.call.call_async_catch(request.to_string()).await.map_err(|_| failed())?;
        let answer = promise.await.map_err(|_| failed())?;
        let answer: Answer = serde_json::from_str(&answer).map_err(|error| {
            Error::new(ErrorKind::HookFailed, format!("A hook or the approver answered something unusable: {error}."))
        })?;
        if answer.failed { Err(failed()) } else { Ok(answer) }
    }
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
        Box::pin(async move {
            let request = json!({
                "type": "pre", "scope": scope.name(), "callKey": call.key, "tool": call.tool, "input": input,
            });
            Ok(self.ask(request).await?.input)
        })
    }

    fn post<'a>(
        &'a self,
        scope: Scope,
        call: CallInfo<'a>,
        input: &'a Value,
        ended: Ended<'a>,
    ) -> BoxFuture<'a, Result<Option<ToolResult>>> {
        Box::pin(async move {
            let mut request = json!({
                "type": "post", "scope": scope.name(), "callKey": call.key, "tool": call.tool, "input": input,
            });
            match ended {
                Ok(result) => request["result"] = json!(result),
                Err(error) => {
                    request["error"] = json!({
                        "code": error.kind().code(), "message": error.message(),
                        "path": error.path(), "details": error.details(),
                    });
                }
            }
            Ok(self.ask(request).await?.result)
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
            let request = json!({ "type": "approve", "callKey": call.key, "tool": call.tool, "request": request });
            let answer = self.ask(request).await?;
            answer
                .decision
                .ok_or_else(|| Error::new(ErrorKind::HookFailed, "The approver gave no decision: answer { approved }."))
        })
    }
}
