//! The outside: one connection to a guest, many calls at once.
//!
//! One task reads, one writes. A call that is stopped says so to the guest and waits a moment for the truth where files
//! may have changed; a guest that then still says nothing is no guest any more, and the connection ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::frame::{Decoder, Frame, encode};
use super::message::{Ask, Failure, Method, Old, Setup, ToGuest, ToHost};
use crate::backend::{BoxFuture, Call, FileContent, OutputChunk, OutputSink, Transform};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};

/// 60 s for a guest to begin: it is started once for a container, perhaps beside fifty others.
const START: Duration = Duration::from_secs(60);
/// 5 s after a call was stopped for the guest to say what became of it.
const GRACE: Duration = Duration::from_secs(5);
/// 64 frames wait for the writer.
const QUEUE: usize = 64;
/// 256 messages of one call wait to be looked at. A guest asks at most one question from each of its threads, and waits.
const INBOX: usize = 256;
/// 64 KiB: what a pipe holds.
const READ_BYTES: usize = 64 << 10;

/// A guest that serves.
pub struct Connection {
    shared: Arc<Shared>,
    home: Option<String>,
}

pub(super) struct Shared {
    outgoing: mpsc::Sender<Vec<u8>>,
    /// `None` once the connection has ended.
    calls: Mutex<Option<HashMap<u64, mpsc::Sender<Incoming>>>>,
    next: AtomicU64,
    ended: CancelToken,
}

pub(super) type Incoming = (ToHost, Vec<u8>);

/// What a call brings along that the guest asks for.
#[derive(Default)]
pub(super) struct Ours {
    pub(super) transform: Option<Transform>,
    pub(super) on_output: Option<OutputSink>,
}

/// How a call behaves when it must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Its answer is not waited for.
    Leaves,
    /// The answer tells what happened, and is waited for.
    AsksForTheTruth,
}

impl Connection {
    /// Starts to speak with a guest. `BackendUnavailable` when it does not answer in time, or answers nonsense; what the
    /// guest says when it cannot serve.
    pub async fn open(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        setup: Setup,
    ) -> Result<Self> {
        let (outgoing, frames) = mpsc::channel(QUEUE);
        let (started, start) = oneshot::channel();
        let shared = Arc::new(Shared {
            outgoing,
            calls: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(1),
            ended: CancelToken::new(),
        });
        tokio::spawn(write(frames, writer, shared.ended.clone()));
        tokio::spawn(Arc::clone(&shared).read(reader, started));
        shared.send(0, &ToGuest::Start(setup), &[]).await?;
        match timeout(START, start).await {
            Ok(Ok(ToHost::Ready { home })) => Ok(Self { shared, home }),
            Ok(Ok(ToHost::Unusable(failure))) => {
                shared.end();
                Err(failure.into())
            }
            Ok(_) | Err(_) => {
                shared.end();
                Err(lost())
            }
        }
    }

    /// Whether nothing can be asked any more.
    pub fn has_ended(&self) -> bool {
        self.shared.ended.is_cancelled()
    }

    /// Ends when the connection has.
    pub async fn ended(&self) {
        self.shared.ended.cancelled().await;
    }

    /// Ends the connection, and with it all that the guest started.
    pub fn end(&self) {
        self.shared.end();
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// What `~` is in a command.
    pub fn home(&self) -> Option<String> {
        self.home.clone()
    }

    /// One call: its answer, for [`Connection::decode`], and content. `bound` is when the guest must have answered, where
    /// that is not the call's own deadline. Boxed, and made once for all kinds of answers, as each copy of it is large.
    pub(super) fn call<'a>(
        &'a self,
        method: Method,
        body: &'a [u8],
        call: &'a Call,
        bound: Option<Duration>,
        stopped: Stopped,
        ours: Ours,
    ) -> BoxFuture<'a, Result<(Value, Vec<u8>)>> {
        Box::pin(self.call_now(method, body, call, bound, stopped, ours))
    }

    /// What an answer says; one that says something else is the last.
    pub(super) fn decode<T: DeserializeOwned>(&self, answer: Value) -> Result<T> {
        serde_json::from_value(answer).map_err(|_| {
            self.shared.end();
            lost()
        })
    }

    async fn call_now(
        &self,
        method: Method,
        body: &[u8],
        call: &Call,
        bound: Option<Duration>,
        stopped: Stopped,
        ours: Ours,
    ) -> Result<(Value, Vec<u8>)> {
        call.deadline.check()?;
        let (mut running, mut inbox) = self.shared.begin()?;
        let within = call.deadline.at.map(|at| at.saturating_duration_since(std::time::Instant::now()));
        let message = ToGuest::Call { method, within, guarded: !call.guard.is_open() };
        tokio::select! {
            sent = self.shared.send(running.id, &message, body) => sent?,
            error = call.deadline.reached() => return Err(error),
        }
        drop(message);

        let mut answers = Answers { ours, failure: None };
        let deadline = bound.map_or_else(|| call.deadline.clone(), |bound| call.deadline.within(bound));
        let mut stopping: Option<Stopping> = None;
        loop {
            tokio::select! {
                biased;
                incoming = inbox.recv() => match incoming {
                    Some((ToHost::Done(value), body)) => {
                        running.over = true;
                        return Ok((value, body));
                    }
                    Some((ToHost::Failed(failure), _)) => {
                        running.over = true;
                        return Err(answers.failure.take().unwrap_or_else(|| failure.into()));
                    }
                    Some((ToHost::Question { question, ask }, body)) => {
                        let (failure, body) = answers.answer(ask, body, call).await;
                        self.shared.send(running.id, &ToGuest::Answer { question, failure }, &body).await?;
                    }
                    // Not in the middle of a call.
                    Some((
                        ToHost::Ready { .. }
                        | ToHost::Unusable(_)
                        | ToHost::Began { .. }
                        | ToHost::Obeyed
                        | ToHost::Taken,
                        _,
                    ))
                    | None => {
                        self.shared.end();
                        return Err(lost());
                    }
                },
                error = deadline.reached(), if stopping.is_none() => {
                    // The guest knows the time itself; only an abort is news to it.
                    if error.kind() == ErrorKind::Aborted {
                        self.shared.send(running.id, &ToGuest::Cancel, &[]).await?;
                    }
                    if stopped == Stopped::Leaves && error.kind() == ErrorKind::Aborted {
                        return Err(error);
                    }
                    stopping = Some(Stopping { until: Instant::now() + GRACE, error });
                }
                () = patience(stopping.as_ref()) => {
                    // It is no guest any more: whatever holds it would hold the next call as well.
                    self.shared.end();
                    return Err(stopping.map_or_else(lost, |stopping| stopping.error));
                }
            }
        }
    }
}

struct Stopping {
    until: Instant,
    error: Error,
}

async fn patience(stopping: Option<&Stopping>) {
    match stopping {
        Some(stopping) => sleep_until(stopping.until).await,
        None => std::future::pending().await,
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.end();
    }
}

/// A call that the guest has not ended. Dropped, it tells the guest to stop.
pub(super) struct Running {
    pub(super) id: u64,
    shared: Arc<Shared>,
    /// Whether the guest has ended it.
    pub(super) over: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(calls) = self.shared.calls.lock().as_mut() {
            calls.remove(&self.id);
        }
        if !self.over
            && let Some(bytes) = encode(self.id, &ToGuest::Cancel, &[])
        {
            // A full queue: the guest is told by the refusal of its next question.
            let _ = self.shared.outgoing.try_send(bytes);
        }
    }
}

impl Shared {
    pub(super) fn begin(self: &Arc<Self>) -> Result<(Running, mpsc::Receiver<Incoming>)> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, inbox) = mpsc::channel(INBOX);
        self.calls.lock().as_mut().ok_or_else(lost)?.insert(id, sender);
        Ok((Running { id, shared: Arc::clone(self), over: false }, inbox))
    }

    pub(super) async fn send(&self, call: u64, message: &ToGuest, body: &[u8]) -> Result<()> {
        let bytes = encode(call, message, body)
            .ok_or_else(|| Error::new(ErrorKind::FileTooLarge, "This is too much for one call."))?;
        tokio::select! {
            sent = self.outgoing.send(bytes) => sent.map_err(|_| lost()),
            () = self.ended.cancelled() => Err(lost()),
        }
    }

    /// Carries what comes to the calls that it is for, until the guest ends or breaks the rules.
    async fn read(self: Arc<Self>, mut reader: impl AsyncRead + Unpin, started: oneshot::Sender<ToHost>) {
        let mut started = Some(started);
        let mut decoder = Decoder::default();
        let mut buffer = vec![0; READ_BYTES];
        'connection: loop {
            let count = tokio::select! {
                count = reader.read(&mut buffer) => count.unwrap_or(0),
                () = self.ended.cancelled() => 0,
            };
            if count == 0 {
                break;
            }
            decoder.push(&buffer[..count]);
            loop {
                let Frame { call, message, body } = match decoder.next::<ToHost>() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    Err(_) => break 'connection,
                };
                if call == 0 {
                    match started.take() {
                        // Whoever started it may have gone.
                        Some(started) => drop(started.send(message)),
                        None => break 'connection,
                    }
                    continue;
                }
                let inbox = self.calls.lock().as_ref().and_then(|calls| calls.get(&call).cloned());
                match (inbox, message) {
                    (Some(inbox), message) => {
                        if let Err(mpsc::error::TrySendError::Full(_)) = inbox.try_send((message, body)) {
                            break 'connection;
                        }
                    }
                    (None, ToHost::Question { question, .. }) => {
                        let error = Error::new(ErrorKind::Aborted, "The call was given up.");
                        let answer = ToGuest::Answer { question, failure: Some(Failure::from(&error)) };
                        if self.send(call, &answer, &[]).await.is_err() {
                            break 'connection;
                        }
                    }
                    // The end of a call that nobody waits for.
                    (None, _) => {}
                }
            }
        }
        self.end();
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
        // Dropping their senders wakes the calls.
        self.calls.lock().take();
    }
}

async fn write(mut frames: mpsc::Receiver<Vec<u8>>, mut writer: impl AsyncWrite + Unpin, ended: CancelToken) {
    loop {
        let frame = tokio::select! {
            frame = frames.recv() => frame,
            () = ended.cancelled() => None,
        };
        let Some(frame) = frame else { break };
        let written = tokio::select! {
            written = async { writer.write_all(&frame).await?; writer.flush().await } => written,
            () = ended.cancelled() => break,
        };
        if written.is_err() {
            break;
        }
    }
    ended.cancel();
    // The guest ends when its input does.
    let _ = writer.shutdown().await;
}

/// Answers the questions of one call.
struct Answers {
    ours: Ours,
    /// Our own error, that the guest hears of as well; ours is the original.
    failure: Option<Error>,
}

impl Answers {
    async fn answer(&mut self, ask: Ask, body: Vec<u8>, call: &Call) -> (Option<Failure>, Vec<u8>) {
        let refused = |error: &Error| (Some(Failure::from(error)), Vec::new());
        match ask {
            Ask::Check { operation, path } => match call.guard.check(operation, &path) {
                Ok(()) => (None, Vec::new()),
                Err(error) => refused(&error),
            },
            Ask::Change { old } => {
                let Some(transform) = self.ours.transform.take() else {
                    return refused(&Error::internal("Nothing is to be changed."));
                };
                let old = old.map(|Old { resolved, version }| FileContent { bytes: body, resolved, version });
                // It may compute a long diff.
                match tokio::task::spawn_blocking(move || transform(old)).await {
                    Ok(Ok(bytes)) => (None, bytes),
                    Ok(Err(error)) => {
                        let answer = refused(&error);
                        self.failure = Some(error);
                        answer
                    }
                    Err(_) => refused(&Error::internal("The change stopped unexpectedly.")),
                }
            }
            Ask::Output(stream) => {
                if let Some(sink) = &self.ours.on_output {
                    sink(OutputChunk { stream, text: String::from_utf8_lossy(&body).into_owned() });
                }
                (None, Vec::new())
            }
            Ask::Screen => refused(&Error::internal("This call has no terminal.")),
        }
    }
}

pub(super) fn lost() -> Error {
    Error::new(
        ErrorKind::BackendUnavailable,
        "The connection into the container was lost; the next call makes a new one.",
    )
}
