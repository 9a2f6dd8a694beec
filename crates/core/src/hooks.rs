//! Where an application puts its own code around a call: [`Hooks`].
//!
//! The pipeline runs them in a fixed order that is public contract: global pre → tool pre → run → tool post → global
//! post. A pre hook may replace the input (it is decoded and decided again) or refuse; a post hook sees results and
//! failures alike and may replace either. A hook's own failure ends the call with `HookFailed`, and the application's
//! own error reaches the application as itself. A [`CommandJudge`] stands in for the built-in policy for commands. This
//! module decides nothing; `toolset` calls it.

use serde_json::Value;

use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::error::{Error, Result};
use crate::permissions::{Action, CommandAnalysis};
use crate::session::{Helper, SessionEnded};
use crate::tool::ToolResult;

/// Which of the two hooks of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Runs for every tool.
    Global,
    /// Runs for one tool.
    Tool,
}

impl Scope {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Tool => "tool",
        }
    }
}

/// How a call ended, as a post hook sees it.
pub type Ended<'a> = std::result::Result<&'a ToolResult, &'a Error>;

/// The application's code around a call.
pub trait Hooks: Helper {
    /// Whether there is a pre hook of this scope for this tool. Asked before every call; an absent hook costs nothing.
    fn has_pre(&self, scope: Scope, tool: &str) -> bool;

    /// Whether there is a post hook of this scope for this tool.
    fn has_post(&self, scope: Scope, tool: &str) -> bool;

    /// Runs before the call is decided. `Some` replaces the input.
    fn pre<'a>(&'a self, scope: Scope, call: CallInfo<'a>, input: &'a Value) -> BoxFuture<'a, Result<Option<Value>>>;

    /// Runs after the call. `Some` replaces the result, or recovers from the failure.
    fn post<'a>(
        &'a self,
        scope: Scope,
        call: CallInfo<'a>,
        input: &'a Value,
        ended: Ended<'a>,
    ) -> BoxFuture<'a, Result<Option<ToolResult>>>;

    /// Is told that a command in the background or a terminal ended. Must not block.
    fn session_ended(&self, ended: &SessionEnded) {
        let _ = ended;
    }
}

/// The application's own policy for commands, instead of the built-in one.
pub trait CommandJudge: Send + Sync {
    /// What may happen with a command. An error is a no.
    fn judge<'a>(&'a self, call: CallInfo<'a>, analysis: &'a CommandAnalysis) -> BoxFuture<'a, Result<Action>>;
}

/// No hooks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Helper for NoHooks {}

impl Hooks for NoHooks {
    fn has_pre(&self, _scope: Scope, _tool: &str) -> bool {
        false
    }

    fn has_post(&self, _scope: Scope, _tool: &str) -> bool {
        false
    }

    fn pre<'a>(&'a self, _: Scope, _: CallInfo<'a>, _: &'a Value) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async { Ok(None) })
    }

    fn post<'a>(
        &'a self,
        _: Scope,
        _: CallInfo<'a>,
        _: &'a Value,
        _: Ended<'a>,
    ) -> BoxFuture<'a, Result<Option<ToolResult>>> {
        Box::pin(async { Ok(None) })
    }
}
