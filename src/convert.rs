//! Outcomes, errors and cancellation, as JavaScript sees them.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use gloveport_core::backend::{OutputChunk, OutputSink, Stream};
use gloveport_core::cancel::CancelToken;
use gloveport_core::decode::decode_text;
use gloveport_core::error::{Error, Result};
use gloveport_core::wire::Content;
use napi::Status;
use napi::bindgen_prelude::{Buffer, Either, Function, Latin1String, Uint8Array};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::process::NativeProcess;

/// 1 piece of output waits for JavaScript: the next one comes when it was taken, so that the event loop turns between the two.
const OUTPUT_QUEUE: usize = 1;

/// A failure, as data.
#[napi(object)]
pub struct NativeError {
    /// The stable code.
    pub code: String,
    /// What a model or a person reads.
    pub message: String,
    /// The virtual path that it is about.
    pub path: Option<String>,
    /// Facts, as JSON.
    pub details: Option<String>,
}

impl From<Error> for NativeError {
    fn from(error: Error) -> Self {
        Self {
            code: error.kind().code().to_owned(),
            message: error.message().to_owned(),
            path: error.path().map(str::to_owned),
            details: error.details().map(ToString::to_string),
        }
    }
}

/// Long text on its way to JavaScript: what is ASCII, as most code is, is copied there; all other text is decoded.
pub(crate) type Text = Either<Latin1String, String>;

/// Text as it gets to JavaScript fastest.
pub(crate) fn text_of(text: String) -> Text {
    if text.is_ascii() { Either::A(Latin1String::from(text)) } else { Either::B(text) }
}

/// How a call ended: `error`, or what it answers.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct NativeOutcome {
    /// The answer, as JSON.
    pub value: Option<String>,
    /// Long text of the answer.
    #[napi(ts_type = "string")]
    pub text: Option<Text>,
    /// Bytes of the answer.
    pub bytes: Option<Buffer>,
    /// A command that goes on after the answer.
    pub process: Option<NativeProcess>,
    /// The failure.
    pub error: Option<NativeError>,
    /// How a call was judged, as JSON.
    pub verdict: Option<String>,
}

impl<T: Into<Self>> From<Result<T>> for NativeOutcome {
    fn from(result: Result<T>) -> Self {
        match result {
            Ok(answer) => answer.into(),
            Err(error) => Self { error: Some(error.into()), ..Self::default() },
        }
    }
}

impl From<()> for NativeOutcome {
    fn from((): ()) -> Self {
        Self::default()
    }
}

/// The caller's stop, shared with running calls.
#[napi]
#[derive(Default)]
pub struct NativeCancel {
    token: CancelToken,
}

#[napi]
impl NativeCancel {
    /// A token that nobody has cancelled.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels; later calls do nothing.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

/// The token of a call, or one that nobody cancels.
pub(crate) fn token_of(cancel: Option<&NativeCancel>) -> CancelToken {
    cancel.map(|cancel| cancel.token.clone()).unwrap_or_default()
}

/// What is written, as the core takes it.
pub(crate) fn content_of(content: Either<String, Uint8Array>) -> Content {
    match content {
        Either::A(text) => Content::Text(text),
        Either::B(bytes) => Content::Bytes(bytes.to_vec()),
    }
}

/// Parses options that the facade made; a mistake in them is the caller's and says where it is.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T> {
    decode_text("The options are", json)
}

/// Hands output to a JavaScript function that takes JSON `{ stream, text }`. The function does not keep Node alive.
pub(crate) fn output_sink(function: Option<Function<'_, String, ()>>) -> napi::Result<Option<OutputSink>> {
    let Some(function) = function else { return Ok(None) };
    let call: ThreadsafeFunction<String, (), String, Status, false, true, OUTPUT_QUEUE> = function
        .build_threadsafe_function()
        .weak::<true>()
        .callee_handled::<false>()
        .max_queue_size::<OUTPUT_QUEUE>()
        .build()?;
    let sink = move |chunk: OutputChunk| {
        let stream = match chunk.stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        let message = json!({ "stream": stream, "text": chunk.text }).to_string();
        // Core calls this on a thread that may wait. An environment that ends drops what was not taken, and with it `taken`.
        let (taken, is_taken) = sync_channel::<()>(1);
        let tell = move |_, _| {
            drop(taken);
            Ok(())
        };
        tokio::task::block_in_place(|| {
            if call.call_with_return_value(message, ThreadsafeFunctionCallMode::Blocking, tell) == Status::Ok {
                // Always an error: nothing is sent.
                let _ = is_taken.recv();
            }
        });
    };
    Ok(Some(Arc::new(sink)))
}
