//! Files piece by piece, pulled and pushed by the facade.

use std::sync::Arc;

use gloveport_core::backend::Call;
use gloveport_core::error::Result;
use gloveport_core::wire::{Content, Reading, Writing};
use napi::bindgen_prelude::{Buffer, Either, Env, Object, Uint8Array};
use napi_derive::napi;
use tokio::sync::Mutex;

use crate::convert::{NativeCancel, NativeError, NativeOutcome, token_of};
use crate::start::start;

/// A file that is being read, or why it is not.
#[napi(object, object_from_js = false)]
pub struct NativeReaderMade {
    /// The file.
    pub reader: Option<NativeReader>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// A file that is being written, or why it is not.
#[napi(object, object_from_js = false)]
pub struct NativeWriterMade {
    /// The file.
    pub writer: Option<NativeWriter>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// A file that is being read.
#[napi]
pub struct NativeReader {
    inner: Arc<Mutex<Reading>>,
}

/// A file that is being written. When nobody holds it any more, everything is as it was.
#[napi]
pub struct NativeWriter {
    inner: Arc<Mutex<Option<Writing>>>,
}

#[napi]
impl NativeReader {
    /// The next piece in `bytes`; none at the end.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn next<'env>(&self, env: &'env Env, cancel: Option<&NativeCancel>) -> napi::Result<Object<'env>> {
        let (inner, call) = (Arc::clone(&self.inner), call_of(cancel));
        start(env, async move {
            match inner.lock().await.next(&call).await {
                Ok(bytes) => NativeOutcome { bytes: bytes.map(Buffer::from), ..NativeOutcome::default() },
                Err(error) => NativeOutcome { error: Some(error.into()), ..NativeOutcome::default() },
            }
        })
    }
}

#[napi]
impl NativeWriter {
    /// Adds a piece.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn write<'env>(
        &self,
        env: &'env Env,
        content: Either<String, Uint8Array>,
        cancel: Option<&NativeCancel>,
    ) -> napi::Result<Object<'env>> {
        let content = match content {
            Either::A(text) => Content::Text(text),
            Either::B(bytes) => Content::Bytes(bytes.to_vec()),
        };
        let (inner, call) = (Arc::clone(&self.inner), call_of(cancel));
        start(env, async move {
            let mut inner = inner.lock().await;
            match inner.as_mut() {
                Some(writing) => writing.write(content, &call).await.into(),
                None => NativeOutcome::default(),
            }
        })
    }

    /// Puts the file in its place.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn finish<'env>(&self, env: &'env Env, cancel: Option<&NativeCancel>) -> napi::Result<Object<'env>> {
        let (inner, call) = (Arc::clone(&self.inner), call_of(cancel));
        start(env, async move {
            let writing = inner.lock().await.take();
            match writing {
                Some(mut writing) => writing.finish(&call).await.into(),
                None => NativeOutcome::default(),
            }
        })
    }

    /// Leaves everything as it was.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutcome>")]
    pub fn abandon<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let inner = Arc::clone(&self.inner);
        start(env, async move {
            if let Some(mut writing) = inner.lock().await.take() {
                writing.abandon().await;
            }
            NativeOutcome::default()
        })
    }
}

pub(crate) fn call_of(cancel: Option<&NativeCancel>) -> Call {
    let mut call = Call::default();
    call.deadline.cancel = token_of(cancel);
    call
}

impl From<Result<Reading>> for NativeReaderMade {
    fn from(opened: Result<Reading>) -> Self {
        match opened {
            Ok(reading) => Self { reader: Some(NativeReader { inner: Arc::new(Mutex::new(reading)) }), error: None },
            Err(error) => Self { reader: None, error: Some(error.into()) },
        }
    }
}

impl From<Result<Writing>> for NativeWriterMade {
    fn from(opened: Result<Writing>) -> Self {
        match opened {
            Ok(writing) => {
                Self { writer: Some(NativeWriter { inner: Arc::new(Mutex::new(Some(writing))) }), error: None }
            }
            Err(error) => Self { writer: None, error: Some(error.into()) },
        }
    }
}
