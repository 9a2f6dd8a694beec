//! The outside: one connection to a guest, many calls at once.
//!
//! A call that is stopped says so to the guest and waits a moment for the truth where files may have changed; a guest that
//! then still says nothing is no guest any more, and the connection ends. However much a guest says, the time is looked at
//! first.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::answers::{Answers, Ours};
use super::message::{Failure, Method, Setup, ToGuest, ToHost, VERSION, is_decodable};
use super::pipe::{Shared, Times, Watch, lost};
use super::places::Places;
use crate::backend::{BoxFuture, Call};
use crate::cancel::{CancelToken, Deadline};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// A guest that serves.
pub struct Connection {
    shared: Arc<Shared>,
    home: Option<String>,
    places: Places,
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
        Self::open_patient(reader, writer, setup, Times::default()).await
    }

    /// The same, of a guest that has so long to begin.
    pub async fn open_within(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        setup: Setup,
        start: Duration,
    ) -> Result<Self> {
        Self::open_patient(reader, writer, setup, Times { start, ..Times::default() }).await
    }

    /// The same with other patience.
    pub(super) async fn open_patient(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        setup: Setup,
        times: Times,
    ) -> Result<Self> {
        let (shared, start) = Shared::open(reader, writer, times);
        // Dropped before a guest has answered, it ends its tasks as well.
        Self { shared, home: None, places: Places::default() }.greet(start, setup).await
    }

    async fn greet(mut self, start: oneshot::Receiver<ToHost>, setup: Setup) -> Result<Self> {
        let setup = serde_json::to_vec(&setup).map_err(|_| Error::internal("A setup could not be encoded."))?;
        self.shared.send(0, &ToGuest::Start { version: VERSION }, &setup).await?;
        match timeout(self.shared.times.start, start).await {
            Ok(Ok(ToHost::Ready { version: VERSION, home, places })) => {
                self.places = places;
                self.home =
                    home.and_then(|home| VirtualPath::absolute(&home).ok()).map(|home| home.as_str().to_owned());
                Ok(self)
            }
            Ok(Ok(ToHost::Unusable(failure))) => Err(failure.of_guest()),
            Ok(_) | Err(_) => Err(lost()),
        }
    }

    /// What lies under the paths of [`Setup::places`], as the guest says.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Whether nothing can be asked any more.
    pub fn has_ended(&self) -> bool {
        self.shared.ended.is_cancelled()
    }

    /// Is cancelled when the connection has ended. Holding it does not hold the connection.
    pub fn ending(&self) -> CancelToken {
        self.shared.ended.clone()
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
        Box::pin(async move {
            let (json, mut content) = self.call_now(method, body, call, bound, stopped, ours).await?;
            // A length that is none, and more than is decoded, is the last word of whoever says it.
            let json = content.len().checked_sub(json).map(|start| content.split_off(start));
            let value = json.filter(|json| is_decodable(json)).and_then(|json| serde_json::from_slice(&json).ok());
            match value {
                Some(value) => Ok((value, content)),
                None => {
                    self.shared.end();
                    Err(lost())
                }
            }
        })
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
    ) -> Result<(usize, Vec<u8>)> {
        call.deadline.check()?;
        let of =
            |bound: Option<Duration>| bound.map_or_else(|| call.deadline.clone(), |bound| call.deadline.within(bound));
        let (mut running, mut inbox) = self.shared.begin(method.most_bytes())?;
        let within = call.deadline.at.map(|at| at.saturating_duration_since(std::time::Instant::now()));
        // A command may be silent for as long as it runs, in a container that somebody has paused; files answer.
        let mut watch = (!matches!(method, Method::Execute(_))).then(|| Watch::of(&self.shared));
        let message = ToGuest::Call { method, within, guarded: !call.guard.is_open() };
        // What a command's own time does to it is for the guest to say, also where that is no time at all: until it has heard of it
        // nothing has begun.
        let taken = of(bound.map(|bound| bound.saturating_add(self.shared.times.grace)));
        tokio::select! {
            sent = self.shared.send(running.id, &message, body) => sent?,
            error = taken.reached() => return Err(error),
        }
        drop(message);

        let mut answers = Answers::new(ours);
        let deadline = of(bound);
        let mut stopping: Option<Stopping> = None;
        // An answer with content, which waits for its room.
        let mut held: Option<(ToGuest, Vec<u8>)> = None;
        loop {
            let stop = tokio::select! {
                biased;
                error = due(&deadline), if stopping.is_none() => Some(error),
                () = at(stopping.as_ref().map(|stopping| stopping.until)) => {
                    // It is no guest any more: whatever holds it would hold the next call as well.
                    self.shared.end();
                    return Err(stopping.map_or_else(lost, |stopping| stopping.error));
                }
                () = at(watch.as_ref().map(|watch| watch.next)) => {
                    if watch.as_mut().is_some_and(|watch| !watch.look(&self.shared, running.id)) {
                        self.shared.end();
                        return Err(lost());
                    }
                    None
                }
                room = self.shared.room(), if held.is_some() => {
                    let room = room?;
                    if let Some((answer, body)) = held.take() {
                        self.shared.send_in(room, running.id, &answer, &body)?;
                    }
                    None
                }
                incoming = inbox.recv(), if held.is_none() => match incoming {
                    Some((ToHost::Done { json }, body)) => {
                        running.over = true;
                        return Ok((json, body));
                    }
                    Some((ToHost::Failed(failure), _)) => {
                        running.over = true;
                        return Err(match stopping {
                            Some(Stopping { error, .. }) if failure.is(error.kind()) => error,
                            _ => answers.error(failure),
                        });
                    }
                    Some((ToHost::Question { question, ask }, body)) => {
                        match answers.answer(ask, body, call).await {
                            Ok(body) if body.is_empty() => {
                                self.shared.say(running.id, &ToGuest::Answer { question, failure: None });
                            }
                            Ok(body) => held = Some((ToGuest::Answer { question, failure: None }, body)),
                            Err(failure) => {
                                self.shared.say(running.id, &ToGuest::Answer { question, failure: Some(failure) });
                            }
                        }
                        None
                    }
                    // Not in the middle of a call.
                    Some((
                        ToHost::Ready { .. }
                        | ToHost::Unusable(_)
                        | ToHost::Began { .. }
                        | ToHost::Obeyed
                        | ToHost::Taken
                        | ToHost::Refused { .. }
                        | ToHost::Here,
                        _,
                    ))
                    | None => {
                        self.shared.end();
                        return Err(lost());
                    }
                },
            };
            let Some(error) = stop else { continue };
            // The guest knows the time itself; only an abort is news to it.
            if error.kind() == ErrorKind::Aborted {
                if stopped == Stopped::Leaves {
                    return Err(error);
                }
                self.shared.say(running.id, &ToGuest::Cancel);
            }
            if let Some((ToGuest::Answer { question, .. }, _)) = held.take() {
                let failure = Some(Failure::from(&error));
                self.shared.say(running.id, &ToGuest::Answer { question, failure });
            }
            stopping = Some(Stopping { until: Instant::now() + self.shared.times.grace, error });
        }
    }
}

struct Stopping {
    until: Instant,
    error: Error,
}

/// Ends when the deadline is reached, also where whoever waits is given no time to sleep.
pub(super) async fn due(deadline: &Deadline) -> Error {
    match deadline.check() {
        Err(error) => error,
        Ok(()) => deadline.reached().await,
    }
}

/// Ends at that instant, in the same way.
pub(super) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) if Instant::now() < instant => sleep_until(instant).await,
        Some(_) => {}
        None => std::future::pending().await,
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.end();
    }
}
