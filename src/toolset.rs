//! Toolsets: made from options over a backend, called by tool name.

use std::collections::BTreeMap;
use std::sync::Arc;

use gloveport_core::approval::{ApprovalGrant, Approver};
use gloveport_core::custom::CustomTools;
use gloveport_core::error::{Error, Result};
use gloveport_core::hooks::{CommandJudge, Hooks};
use gloveport_core::session::Opening;
use gloveport_core::tool::ToolResult;
use gloveport_core::toolset::{Application, Assessment, CallOptions, CallReport, Toolset};
use gloveport_core::wire::Content;
use gloveport_core::wire::process::Running;
use napi::bindgen_prelude::{Either, Env, Function, Object, Promise, Uint8Array};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::Value;

use crate::backend::NativeBackend;
use crate::convert::{NativeCancel, NativeError, NativeOutcome, content_of, output_sink, parse, text_of, token_of};
use crate::host::{Host, HostDescription};
use crate::process::NativeProcess;
use crate::start::{Begin, start, start_at};

/// A toolset, or why there is none.
#[napi(object, object_from_js = false)]
pub struct NativeToolsetMade {
    /// The toolset.
    pub toolset: Option<NativeToolset>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// Named tools over a backend.
#[napi]
pub struct NativeToolset {
    inner: Toolset,
}

/// What the facade says about one call.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CallJson {
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    call_key: Option<String>,
    #[serde(default)]
    approval: Option<ApprovalGrant>,
    /// Whether the verdict is wanted.
    #[serde(default)]
    report: bool,
    /// Variables of a session that the call opens.
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    /// Its size.
    #[serde(default)]
    columns: Option<u16>,
    #[serde(default)]
    rows: Option<u16>,
}

#[napi]
impl NativeToolset {
    /// Makes a toolset. `options_json` is `ToolsetOptions`; `host_json` says which hooks there are and whether somebody
    /// approves; `host` answers for them.
    #[napi(catch_unwind)]
    pub fn create(
        backend: &NativeBackend,
        options_json: String,
        host_json: String,
        #[napi(ts_arg_type = "(requestJson: string) => Promise<string>")] host: Function<'_, String, Promise<String>>,
    ) -> napi::Result<NativeToolsetMade> {
        let description = match parse::<HostDescription>(&host_json) {
            Ok(description) => description,
            Err(error) => return Ok(NativeToolsetMade { toolset: None, error: Some(error.into()) }),
        };
        let (has_approver, judges) = (description.approver, description.commands);
        let host = Arc::new(Host::new(description, host)?);
        let application = Application {
            approver: has_approver.then(|| Arc::clone(&host) as Arc<dyn Approver>),
            commands: judges.then(|| Arc::clone(&host) as Arc<dyn CommandJudge>),
            tools: Some(Arc::clone(&host) as Arc<dyn CustomTools>),
            hooks: Some(host as Arc<dyn Hooks>),
        };
        let made =
            parse(&options_json).and_then(|options| Toolset::new(Arc::clone(&backend.inner), options, application));
        Ok(made.into())
    }

    /// Names the toolset in logs.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> String {
        self.inner.id().to_owned()
    }

    /// The tools, as JSON.
    #[napi(catch_unwind)]
    pub fn specs(&self) -> napi::Result<String> {
        Ok(serde_json::to_string(&self.inner.specs())?)
    }

    /// Text for the system prompt, less what the tools named in `without` say; `told_json` holds what tools of the
    /// application say now.
    #[napi(catch_unwind)]
    pub fn instructions(&self, without: Vec<String>, told_json: String) -> NativeOutcome {
        match parse(&told_json) {
            Ok(told) => NativeOutcome {
                text: Some(text_of(self.inner.instructions(&without, &told))),
                ..NativeOutcome::default()
            },
            Err(error) => NativeOutcome { error: Some(NativeError::from(error)), ..NativeOutcome::default() },
        }
    }

    /// The same toolset with only the named tools.
    #[napi(catch_unwind)]
    pub fn subset(&self, names: Vec<String>) -> NativeToolsetMade {
        self.inner.subset(&names).into()
    }

    /// What was approved for the session, as JSON.
    #[napi(catch_unwind)]
    pub fn remembered_approvals(&self) -> napi::Result<String> {
        Ok(serde_json::to_string(&self.inner.remembered())?)
    }

    /// Forgets what was approved for the session.
    #[napi(catch_unwind)]
    pub fn forget_approvals(&self) {
        self.inner.forget_approvals();
    }

    /// Runs one call. `value` is the result as JSON without its text; `text` is what the model reads; `verdict` says how
    /// the call was judged, as JSON, where `report` is set.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        name: String,
        input_json: String,
        call_json: String,
        cancel: Option<&NativeCancel>,
        #[napi(ts_arg_type = "((json: string) => void) | undefined | null")] on_output: Option<
            Function<'_, String, ()>,
        >,
    ) -> napi::Result<Object<'env>> {
        let (mut options, report) = options_of(&call_json, cancel);
        if let Ok(options) = &mut options {
            options.on_output = output_sink(on_output)?;
        }
        let toolset = self.inner.clone();
        let begin = if toolset.starts_at_hand(&name, input_json.len()) {
            Begin::Launch
        } else {
            Begin::of(toolset.answers_at_once(&name), input_json.len())
        };
        let used = toolset.in_use();
        start_at(env, begin, async move {
            let _used = used;
            let (input, options) = match (input(&input_json), options) {
                (Ok(input), Ok(options)) => (input, options),
                (Err(error), _) | (_, Err(error)) => return Result::<ToolResult>::Err(error).into(),
            };
            let CallReport { verdict, ended } = toolset.call_reported(&name, input, options).await;
            let verdict = verdict.filter(|_| report).and_then(|verdict| serde_json::to_string(&verdict).ok());
            NativeOutcome { verdict, ..ended.into() }
        })
    }

    /// Whether an input is right for a tool: `error` says what is wrong with it.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn validate<'env>(
        &self,
        env: &'env Env,
        name: String,
        input_json: String,
        call_json: String,
    ) -> napi::Result<Object<'env>> {
        let (options, _) = options_of(&call_json, None);
        let toolset = self.inner.clone();
        start(env, async move { async { toolset.validate(&name, &input(&input_json)?, options?).await }.await.into() })
    }

    /// Whether a call would run, as JSON in `value`.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn assess<'env>(
        &self,
        env: &'env Env,
        name: String,
        input_json: String,
        call_json: String,
        cancel: Option<&NativeCancel>,
    ) -> napi::Result<Object<'env>> {
        let (options, _) = options_of(&call_json, cancel);
        let toolset = self.inner.clone();
        start(env, async move { async { toolset.assess(&name, &input(&input_json)?, options?).await }.await.into() })
    }

    /// Keeps a file in the toolset's private folder; `text` is its path.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn keep<'env>(
        &self,
        env: &'env Env,
        name: String,
        content: Either<String, Uint8Array>,
    ) -> napi::Result<Object<'env>> {
        let toolset = self.inner.clone();
        let content = match content_of(content) {
            Content::Text(text) => text.into_bytes(),
            Content::Bytes(bytes) => bytes,
        };
        start(env, async move {
            let kept = toolset.keep(name, content).await;
            kept.map(|path| NativeOutcome { text: Some(text_of(path)), ..NativeOutcome::default() }).into()
        })
    }

    /// The terminal of a session that runs.
    #[napi(catch_unwind)]
    pub fn terminal(&self, id: String) -> Option<NativeProcess> {
        let session = self.inner.sessions().find(&id)?;
        Running::of(&session).map(NativeProcess::from)
    }

    /// Ends what the toolset started, never the backend; done when nothing of it is left.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.inner.close();
        let toolset = self.inner.clone();
        start(env, async move {
            toolset.over().await;
            NativeOutcome::default()
        })
    }
}

/// The options of a call, and whether its verdict is wanted.
fn options_of(call_json: &str, cancel: Option<&NativeCancel>) -> (Result<CallOptions>, bool) {
    let call = match parse::<CallJson>(call_json) {
        Ok(call) => call,
        Err(error) => return (Err(error), false),
    };
    let options = CallOptions {
        call_id: call.call_id,
        key: call.call_key,
        cancel: token_of(cancel),
        approval: call.approval,
        on_output: None,
        opening: Opening { env: call.env, columns: call.columns, rows: call.rows },
    };
    (Ok(options), call.report)
}

fn input(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| Error::invalid(format!("The input is not JSON: {error}.")))
}

impl From<Result<Toolset>> for NativeToolsetMade {
    fn from(made: Result<Toolset>) -> Self {
        match made {
            Ok(inner) => Self { toolset: Some(NativeToolset { inner }), error: None },
            Err(error) => Self { toolset: None, error: Some(error.into()) },
        }
    }
}

impl From<ToolResult> for NativeOutcome {
    fn from(mut result: ToolResult) -> Self {
        let text = std::mem::take(&mut result.text);
        Self { value: serde_json::to_string(&result).ok(), text: Some(text_of(text)), ..Self::default() }
    }
}

impl From<Assessment> for NativeOutcome {
    fn from(assessment: Assessment) -> Self {
        Self { value: serde_json::to_string(&assessment).ok(), ..Self::default() }
    }
}
