//! Who answers where a model cannot: [`Helper`].

use serde_json::Value;

use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::error::Result;

/// Asks a person for help with a terminal, where the application has somebody to ask.
pub trait Helper: Send + Sync {
    /// Asks a person for help with a terminal session; what they answer, or `None` where nobody can be asked. `request` is
    /// `{ sessionId, prompt, screen, exists }`.
    fn help<'a>(&'a self, call: CallInfo<'a>, request: &'a Value) -> BoxFuture<'a, Result<Option<String>>> {
        let _ = (call, request);
        Box::pin(async { Ok(None) })
    }
}
