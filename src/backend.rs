//! Backends: made from options, called by method name.

use std::sync::Arc;

use gloveport_core::approval::Approver;
use gloveport_core::backend::composite::{CompositeBackend, Strip};
use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::backend::{Backend, Call};
use gloveport_core::error::Result;
use gloveport_core::limits::Limits;
use gloveport_core::toolset::GuardedBackend;
use gloveport_core::wire::{self, Reply, Request};
use napi::bindgen_prelude::{
    Buffer, ClassInstance, Either, Env, FnArgs, Function, Object, Promise, PromiseRaw, Uint8Array,
};
use napi_derive::napi;

use crate::convert::{NativeCancel, NativeError, NativeOutcome, content_of, output_sink, parse, text_of, token_of};
use crate::host::{Host, HostDescription};
use crate::options::LocalJson;
use crate::process::NativeProcess;
use crate::remote::{self, NativeAnswer};
use crate::sandbox::NativeSandbox;
use crate::start::{Begin, start, start_at, start_opening};
use crate::stream::{NativeReaderMade, NativeWriterMade, call_of};

/// A backend, or why there is none.
#[napi(object, object_from_js = false)]
pub struct NativeBackendMade {
    /// The backend.
    pub backend: Option<NativeBackend>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// A place with files, and perhaps a shell.
#[napi]
pub struct NativeBackend {
    pub(crate) inner: Arc<dyn Backend>,
}

#[napi]
impl NativeBackend {
    /// Files of this machine: those that `options_json` (`LocalBackendOptions`) names, or the mounts of a sandbox.
    #[napi(catch_unwind)]
    pub fn local(options_json: String, sandbox: Option<&NativeSandbox>) -> NativeBackendMade {
        let options = parse::<LocalJson>(&options_json)
            .map(|json| LocalOptions { sandbox: sandbox.map(|sandbox| sandbox.inner.clone()), ..json.into() });
        options.and_then(LocalBackend::new).into()
    }

    /// Several backends as one tree: `rest` has what no route has; `prefixes[i]` is the path of `backends[i]`; `strip_json` is `true`, `false` or a list
    /// of prefixes.
    #[napi(catch_unwind)]
    pub fn composite(
        rest: &NativeBackend,
        prefixes: Vec<String>,
        backends: Vec<ClassInstance<NativeBackend>>,
        strip_json: String,
    ) -> NativeBackendMade {
        let routes = prefixes.into_iter().zip(backends.iter().map(|backend| Arc::clone(&backend.inner))).collect();
        let made = parse::<Strip>(&strip_json)
            .and_then(|strip| CompositeBackend::new(Arc::clone(&rest.inner), routes, &strip, Limits::default()));
        made.into()
    }

    /// A backend behind rules: `options_json` is `GuardOptions`; `host` is asked where somebody must be, if `approves`.
    #[napi(catch_unwind)]
    pub fn guarded(
        backend: &NativeBackend,
        options_json: String,
        approves: bool,
        #[napi(ts_arg_type = "(requestJson: string) => Promise<string>")] host: Function<'_, String, Promise<String>>,
    ) -> napi::Result<NativeBackendMade> {
        let host = Arc::new(Host::new(HostDescription::default(), host)?);
        let approver = approves.then_some(host as Arc<dyn Approver>);
        let inner = Arc::clone(&backend.inner);
        Ok(parse(&options_json).and_then(|options| GuardedBackend::new(inner, options, approver)).into())
    }

    /// A backend that an application wrote. `options_json` is `{ methods, workingDirectory? }`; `answer` calls the methods.
    #[napi(catch_unwind)]
    pub fn remote(
        options_json: String,
        #[napi(ts_arg_type = "(requestJson: string, content?: Buffer | null) => Promise<NativeAnswer>")]
        answer: Function<'_, FnArgs<(String, Option<Buffer>)>, Promise<NativeAnswer>>,
    ) -> napi::Result<NativeBackendMade> {
        remote::make(&options_json, answer)
    }

    /// Names the backend in logs.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> String {
        self.inner.id().to_owned()
    }

    /// Facts that are fixed for the backend's life, as JSON.
    #[napi(catch_unwind)]
    pub fn describe(&self) -> String {
        wire::describe(&*self.inner).to_string()
    }

    /// Calls one method: `arguments_json` is an object, `content` what is written.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn invoke<'env>(
        &self,
        env: &'env Env,
        method: String,
        arguments_json: String,
        content: Option<Either<String, Uint8Array>>,
        cancel: Option<&NativeCancel>,
        #[napi(ts_arg_type = "((json: string) => void) | undefined | null")] on_output: Option<
            Function<'_, String, ()>,
        >,
    ) -> napi::Result<Object<'env>> {
        let mut call = Call::default();
        call.deadline.cancel = token_of(cancel);
        let content = content.map(content_of);
        let request = Request { method, arguments_json, content, on_output: output_sink(on_output)? };
        let backend = Arc::clone(&self.inner);
        let begin = if wire::starts_at_hand(&*backend, &request) {
            Begin::Launch.within(request.bytes())
        } else {
            Begin::of(wire::answers_at_once(&*backend, &request), request.bytes())
        };
        // From now on, not from when a thread has time for it: an idle container is ended under nobody.
        let used = backend.in_use();
        start_at(env, begin, async move {
            let _used = used;
            wire::invoke(&*backend, request, &call).await.into()
        })
    }

    /// Opens a file to be read piece by piece. `arguments_json` is `{ path, offset?, length? }`.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeReaderMade>")]
    pub fn open_reader<'env>(
        &self,
        env: &'env Env,
        arguments_json: String,
        cancel: Option<&NativeCancel>,
    ) -> napi::Result<PromiseRaw<'env, NativeReaderMade>> {
        let (backend, call) = (Arc::clone(&self.inner), call_of(cancel));
        let used = backend.in_use();
        start_opening(env, async move {
            let _used = used;
            wire::Reading::open(&*backend, &arguments_json, &call).await
        })
    }

    /// Opens a file to be written piece by piece. `arguments_json` is `{ path }`.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeWriterMade>")]
    pub fn open_writer<'env>(
        &self,
        env: &'env Env,
        arguments_json: String,
        cancel: Option<&NativeCancel>,
    ) -> napi::Result<PromiseRaw<'env, NativeWriterMade>> {
        let (backend, call) = (Arc::clone(&self.inner), call_of(cancel));
        let used = backend.in_use();
        start_opening(env, async move {
            let _used = used;
            wire::Writing::open(backend, &arguments_json, &call).await
        })
    }

    /// Ends what the backend started.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let backend = Arc::clone(&self.inner);
        start(env, async move { backend.close().await.into() })
    }
}

impl<B: Backend + 'static> From<Result<B>> for NativeBackendMade {
    fn from(made: Result<B>) -> Self {
        match made {
            Ok(backend) => Self { backend: Some(NativeBackend { inner: Arc::new(backend) }), error: None },
            Err(error) => Self { backend: None, error: Some(error.into()) },
        }
    }
}

impl From<Reply> for NativeOutcome {
    fn from(reply: Reply) -> Self {
        Self {
            value: reply.value.map(|value| value.to_string()),
            text: reply.text.map(text_of),
            bytes: reply.bytes.map(Buffer::from),
            process: reply.process.map(NativeProcess::from),
            ..Self::default()
        }
    }
}
