//! Hooks in the pipeline: their order, what they may replace, and what their failures end.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::tests::{World, call, code};
use super::*;
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::hooks::{Ended, Scope};
use crate::tool::ToolResult;

/// Writes down what runs, and does what it is told.
#[derive(Default)]
struct Recording {
    log: Mutex<Vec<String>>,
    replace_input: Option<Value>,
    fail: Option<&'static str>,
    recover: bool,
}

impl Recording {
    fn note(&self, what: String) -> Result<()> {
        let fails = self.fail == Some(what.as_str());
        self.log.lock().push(what);
        if fails { Err(Error::new(ErrorKind::HookFailed, "hook failed")) } else { Ok(()) }
    }
}

impl crate::session::Helper for Recording {}

impl Hooks for Recording {
    fn has_pre(&self, _: Scope, _: &str) -> bool {
        true
    }

    fn has_post(&self, _: Scope, _: &str) -> bool {
        true
    }

    fn pre<'a>(&'a self, scope: Scope, _: CallInfo<'a>, _: &'a Value) -> BoxFuture<'a, Result<Option<Value>>> {
        Box::pin(async move {
            self.note(format!("{} pre", scope.name()))?;
            Ok(self.replace_input.clone())
        })
    }

    fn post<'a>(
        &'a self,
        scope: Scope,
        _: CallInfo<'a>,
        _: &'a Value,
        ended: Ended<'a>,
    ) -> BoxFuture<'a, Result<Option<ToolResult>>> {
        Box::pin(async move {
            let seen = match ended {
                Ok(_) => "result",
                Err(error) => error.kind().code(),
            };
            self.note(format!("{} post {seen}", scope.name()))?;
            Ok(self.recover.then(|| ToolResult::new("recovered", json!(null))))
        })
    }
}

#[tokio::test]
async fn hooks_run_in_the_order_of_the_contract() {
    let world = World::new();
    let good = json!({"path": "a.txt"});
    let missing = json!({"path": "nine.txt"});
    for (hooks, input, expected_code, expected_log) in [
        (Recording::default(), &good, "OK", vec!["global pre", "tool pre", "tool post result", "global post result"]),
        (
            Recording::default(),
            &missing,
            "FILE_NOT_FOUND",
            vec!["global pre", "tool pre", "tool post FILE_NOT_FOUND", "global post FILE_NOT_FOUND"],
        ),
        (
            Recording { recover: true, ..Recording::default() },
            &missing,
            "OK",
            vec!["global pre", "tool pre", "tool post FILE_NOT_FOUND", "global post result"],
        ),
        (
            Recording { replace_input: Some(good.clone()), ..Recording::default() },
            &missing,
            "OK",
            vec!["global pre", "tool pre", "tool post result", "global post result"],
        ),
        (
            Recording { replace_input: Some(json!({"pth": 1})), ..Recording::default() },
            &good,
            "INVALID_INPUT",
            vec!["global pre", "tool post INVALID_INPUT", "global post INVALID_INPUT"],
        ),
        // TS-6: a pre hook that throws ends the call; no post hook runs.
        (
            Recording { fail: Some("tool pre"), ..Recording::default() },
            &good,
            "rejected HOOK_FAILED",
            vec!["global pre", "tool pre"],
        ),
        // D70: the global post hook runs even when the tool's own fails.
        (
            Recording { fail: Some("tool post result"), ..Recording::default() },
            &good,
            "rejected HOOK_FAILED",
            vec!["global pre", "tool pre", "tool post result", "global post HOOK_FAILED"],
        ),
    ] {
        let hooks = Arc::new(hooks);
        let toolset = world.toolset_with(json!({}), Some(hooks.clone()), None);
        let ended = call(&toolset, "read_file", input.clone()).await;
        assert_eq!(
            (code(&ended).as_str(), &*hooks.log.lock()),
            (expected_code, &expected_log.iter().map(ToString::to_string).collect())
        );
    }
}
