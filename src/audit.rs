//! The audit log, secrets taken out of events, and texts for whoever is asked.

use std::path::Path;
use std::sync::Arc;

use gloveport_core::audit::{AuditLog, mask_json as mask};
use gloveport_core::error::Error;
use gloveport_core::text::shown::shown_to_person as shown;
use napi::Status;
use napi::bindgen_prelude::{Env, Function, Object};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::backend::NativeBackend;
use crate::convert::NativeError;
use crate::start::start;

/// A log, or why there is none.
#[napi(object, object_from_js = false)]
pub struct NativeAuditLogMade {
    /// The log.
    pub log: Option<NativeAuditLog>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// A file of records.
#[napi]
pub struct NativeAuditLog {
    inner: Arc<AuditLog>,
}

#[napi]
impl NativeAuditLog {
    /// Opens a file for appending, beyond the reach of the backend. `on_error` is told, as JSON `{ code, message }`, what could
    /// not be written.
    #[napi(catch_unwind)]
    pub fn open(
        path: String,
        backend: &NativeBackend,
        on_error: Function<'_, String, ()>,
    ) -> napi::Result<NativeAuditLogMade> {
        let call: ThreadsafeFunction<String, (), String, Status, false, true, 0> =
            on_error.build_threadsafe_function().weak::<true>().callee_handled::<false>().build()?;
        let tell = move |error: Error| {
            let message = json!({ "code": error.kind().code(), "message": error.message() }).to_string();
            call.call(message, ThreadsafeFunctionCallMode::NonBlocking);
        };
        Ok(match AuditLog::open(Path::new(&path), backend.inner.files(), Box::new(tell)) {
            Ok(inner) => NativeAuditLogMade { log: Some(Self { inner: Arc::new(inner) }), error: None },
            Err(error) => NativeAuditLogMade { log: None, error: Some(error.into()) },
        })
    }

    /// Hands over one record, as JSON; never waits.
    #[napi(catch_unwind)]
    pub fn append(&self, record: String) {
        self.inner.append(record);
    }

    /// Ends when all records are in the file.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn flush<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let log = Arc::clone(&self.inner);
        start(env, async move {
            log.flush().await;
            ().into()
        })
    }
}

/// Texts that a model chose as a person is shown them.
#[napi(catch_unwind)]
pub fn shown_to_person(texts: Vec<String>) -> Vec<String> {
    texts.iter().map(|text| shown(text)).collect()
}

/// A record, as JSON, without its secrets.
#[napi(catch_unwind)]
pub fn mask_json(record: String) -> String {
    let mut value: Value = serde_json::from_str(&record).unwrap_or_default();
    mask(&mut value);
    value.to_string()
}
