//! Commands that run beside their caller, called by method name.

use gloveport_core::backend::Call;
use gloveport_core::wire::Request;
use gloveport_core::wire::process::{self, Running};
use napi::bindgen_prelude::{Either, Env, Object, Uint8Array};
use napi_derive::napi;

use crate::convert::{NativeCancel, content_of, token_of};
use crate::start::{Begin, start_at};

/// A command that runs. It ends when nothing holds it any more.
#[napi]
pub struct NativeProcess {
    inner: Running,
}

#[napi]
impl NativeProcess {
    /// Its number in the system, where it has one.
    #[napi(getter, catch_unwind)]
    pub fn pid(&self) -> Option<u32> {
        self.inner.process.pid()
    }

    /// Calls one method: `arguments_json` is an object, `content` what it reads.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn invoke<'env>(
        &self,
        env: &'env Env,
        method: String,
        arguments_json: String,
        content: Option<Either<String, Uint8Array>>,
        cancel: Option<&NativeCancel>,
    ) -> napi::Result<Object<'env>> {
        let mut call = Call::default();
        call.deadline.cancel = token_of(cancel);
        let request = Request { method, arguments_json, content: content.map(content_of), on_output: None };
        let begin =
            if process::begins_at_hand(&request) { Begin::Launch.within(request.bytes()) } else { Begin::Apart };
        let answer = process::invoke(self.inner.clone(), request, call);
        start_at(env, begin, async move { answer.await.into() })
    }
}

impl From<Running> for NativeProcess {
    fn from(inner: Running) -> Self {
        Self { inner }
    }
}
