//! Files in memory: made from options or a document, written as one.

use std::sync::Arc;

use gloveport_core::backend::memory::{StateBackend, StateLimits, StateOptions};
use gloveport_core::error::Result;
use gloveport_core::limits::Limits;
use napi_derive::napi;

use crate::backend::NativeBackend;
use crate::convert::{NativeError, NativeOutcome, parse, text_of};

/// Files in memory, or why there are none.
#[napi(object, object_from_js = false)]
pub struct NativeStateMade {
    /// The files.
    pub state: Option<NativeState>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// What a backend in memory can do beyond the methods of every backend.
#[napi]
pub struct NativeState {
    inner: Arc<StateBackend>,
}

#[napi]
impl NativeState {
    /// The files of `options_json`, `{ files?, limits? }`.
    #[napi(catch_unwind)]
    pub fn create(options_json: String) -> NativeStateMade {
        parse::<StateOptions>(&options_json).and_then(|options| StateBackend::new(options, Limits::default())).into()
    }

    /// The files of a document that `to_json` wrote. `limits_json` is `StateLimits`.
    #[napi(catch_unwind)]
    pub fn from_json(document: String, limits_json: String) -> NativeStateMade {
        parse::<StateLimits>(&limits_json)
            .and_then(|limits| StateBackend::from_json(&document, limits, Limits::default()))
            .into()
    }

    /// All files as one JSON document, in `text`.
    #[napi(catch_unwind)]
    pub fn to_json(&self) -> NativeOutcome {
        match self.inner.to_json() {
            Ok(document) => NativeOutcome { text: Some(text_of(document)), ..NativeOutcome::default() },
            Err(error) => NativeOutcome { error: Some(error.into()), ..NativeOutcome::default() },
        }
    }

    /// A copy of its own, which shares what neither changes.
    #[napi(catch_unwind)]
    pub fn snapshot(&self) -> Self {
        Self { inner: Arc::new(StateBackend::clone(&self.inner)) }
    }

    /// The same files as a backend.
    #[napi(catch_unwind)]
    pub fn backend(&self) -> NativeBackend {
        NativeBackend { inner: Arc::clone(&self.inner) as _ }
    }
}

impl From<Result<StateBackend>> for NativeStateMade {
    fn from(made: Result<StateBackend>) -> Self {
        match made {
            Ok(inner) => Self { state: Some(NativeState { inner: Arc::new(inner) }), error: None },
            Err(error) => Self { state: None, error: Some(error.into()) },
        }
    }
}
