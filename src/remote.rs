//! Backends that an application wrote: the core's questions, answered by one JavaScript function.
//!
//! A question is JSON (`{ id, method, arguments, isText, maxBytes }`, or `{ withdraw: id }`) and perhaps bytes; an answer is
//! data, also when it is a failure. The function does not keep Node alive.

use std::sync::Arc;

use gloveport_core::backend::posix::PosixPlace;
use gloveport_core::backend::remote::{
    Answer, Payload, Peer, Place, Question, Questions, RemoteBackend, RemoteOptions, refusal,
};
use gloveport_core::backend::{BoxFuture, Shell};
use gloveport_core::error::{Error, ErrorKind, Result};
use gloveport_core::path::VirtualPath;
use napi::Status;
use napi::bindgen_prelude::{Buffer, FnArgs, Function, Promise, Uint8Array};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde::Deserialize;
use serde_json::json;

use crate::backend::NativeBackendMade;
use crate::convert::{NativeError, parse};

/// What a JavaScript backend answers.
#[napi(object, object_to_js = false)]
pub struct NativeAnswer {
    /// Structured values, as JSON.
    pub value: Option<String>,
    /// Content that is text.
    pub text: Option<String>,
    /// Content that is bytes; nobody else holds them.
    pub bytes: Option<Uint8Array>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// What the facade says about a backend that an application wrote.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RemoteJson {
    /// The methods that it has.
    methods: Vec<String>,
    #[serde(default)]
    working_directory: Option<String>,
}

type Arguments = FnArgs<(String, Option<Buffer>)>;

struct Asked {
    call: ThreadsafeFunction<Arguments, Promise<NativeAnswer>, Arguments, Status, false, true, 0>,
}

/// Makes a backend of what `answer` answers.
pub(crate) fn make(
    options_json: &str,
    answer: Function<'_, Arguments, Promise<NativeAnswer>>,
) -> napi::Result<NativeBackendMade> {
    let call = answer.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
    let made = parse::<RemoteJson>(options_json).and_then(|RemoteJson { methods, working_directory }| {
        let working_directory =
            working_directory.as_deref().map_or_else(|| Ok(VirtualPath::root()), VirtualPath::absolute)?;
        let peer = Arc::new(Peer::new(Arc::new(Asked { call }), methods));
        let shell = peer.shell().map(|shell| Arc::new(shell) as Arc<dyn Shell>);
        let place: Arc<dyn Place> = match &shell {
            Some(shell) if !peer.reads() => Arc::new(PosixPlace::new(Arc::clone(shell))),
            Some(_) | None => peer,
        };
        Ok(RemoteBackend::new(place, shell, RemoteOptions { working_directory, ..RemoteOptions::default() }))
    });
    Ok(made.into())
}

impl Questions for Asked {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move {
            let unreachable = |_| Error::new(ErrorKind::BackendUnavailable, "The backend cannot be asked any more.");
            let Question { id, method, arguments, content, max_bytes } = question;
            let request = json!({
                "id": id, "method": method, "arguments": arguments, "maxBytes": max_bytes,
                "isText": matches!(content, Some(Payload::Text(_))),
            });
            let content = content.map(|content| match content {
                Payload::Text(text) => Buffer::from(text.into_bytes()),
                Payload::Bytes(bytes) => Buffer::from(bytes),
            });
            let answer = self.call.call_async_catch(FnArgs::from((request.to_string(), content)));
            answer.await.map_err(unreachable)?.await.map_err(unreachable)?.try_into()
        })
    }

    fn withdraw(&self, id: u64) {
        let request = json!({ "withdraw": id }).to_string();
        self.call.call(FnArgs::from((request, None)), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

impl TryFrom<NativeAnswer> for Answer {
    type Error = Error;

    fn try_from(answer: NativeAnswer) -> Result<Self> {
        if let Some(NativeError { code, message, path, details }) = answer.error {
            let details = details.and_then(|details| serde_json::from_str(&details).ok());
            return Err(refusal(&code, &message, path, details));
        }
        let value = answer.value.map(|value| serde_json::from_str(&value)).transpose();
        let value = value.map_err(|_| {
            Error::new(ErrorKind::BackendUnavailable, "The backend answered with text that no encoding can carry.")
        })?;
        let content = match (answer.text, answer.bytes) {
            (Some(text), _) => Some(Payload::Text(text)),
            (None, bytes) => bytes.map(|bytes| Payload::Bytes(bytes.to_vec())),
        };
        Ok(Self { value, content })
    }
}
