//! The outside's end of the pipe: one task reads, one writes.
//!
//! Whoever is at the other end may send anything, as fast as it likes, or stop to read. So the reader never waits for the
//! writer, what waits for one call is counted in bytes, and a peer that takes nothing for a while is none any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::frame::{Decoder, Frame, MAX_BYTES, SPEECH_BYTES, encode};
use super::message::{Ask, Failure, PIECE_BYTES, ToGuest, ToHost};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};

/// 64 frames with content, or with a call, wait for the writer; more wait in turn.
const QUEUE: usize = 64;
/// 1,024 short frames may wait besides: what nobody waits to say, such as the answers to questions. A peer that asks more
/// than it hears is none.
const SHORT: usize = 1024;
/// 256 messages of one call wait to be looked at. A guest asks at most one question from each of its threads, and waits.
const INBOX: usize = 256;
/// 64 KiB: what a pipe holds.
const BUFFER_BYTES: usize = 64 << 10;

/// 3 times a guest is asked whether it is there. Counted, and not only timed: a process that was stopped itself has heard nothing
/// meanwhile.
pub(super) const PINGS: u32 = 3;

/// How long the outside is patient.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// For a guest to begin.
    pub(super) start: Duration,
    /// For a guest to say what became of a call that was stopped.
    pub(super) grace: Duration,
    /// For a guest to take a pipe full of bytes.
    pub(super) stall: Duration,
    /// For a guest to say anything at all while a call of files waits for it, before it is asked whether it is there; and
    /// then as long again, [`PINGS`] times.
    pub(super) life: Duration,
    /// For a guest to obey an order, and to end a command that it was told to end.
    pub(super) order: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            // It is started once for a container, perhaps beside fifty others.
            start: Duration::from_secs(60),
            grace: Duration::from_secs(5),
            // A machine that does much else may stand still for some seconds.
            stall: Duration::from_secs(30),
            life: Duration::from_secs(10),
            // A command is asked first, and killed after a moment.
            order: Duration::from_secs(10),
        }
    }
}

/// One connection, for all of its calls.
pub(super) struct Shared {
    outgoing: mpsc::Sender<Outgoing>,
    room: Arc<Semaphore>,
    /// `None` once the connection has ended.
    calls: Mutex<Option<HashMap<u64, Outlet>>>,
    next: AtomicU64,
    pub(super) ended: CancelToken,
    pub(super) times: Times,
    /// Raised with everything that is heard, and with all content that is taken.
    signs: Arc<AtomicU64>,
}

struct Outgoing {
    bytes: Vec<u8>,
    /// Given back when it is written.
    room: Option<OwnedSemaphorePermit>,
}

/// Room for one frame.
pub(super) struct Room(OwnedSemaphorePermit);

type Incoming = (ToHost, Vec<u8>);

/// Where the reader puts what comes for a call.
#[derive(Clone)]
struct Outlet {
    messages: mpsc::Sender<Incoming>,
    held: Arc<AtomicUsize>,
    /// Bytes of content that may wait.
    most: usize,
}

/// What came for a call.
pub(super) struct Inbox {
    messages: mpsc::Receiver<Incoming>,
    held: Arc<AtomicUsize>,
}

impl Inbox {
    /// The next message and its content; `None` once the connection has ended.
    pub(super) async fn recv(&mut self) -> Option<Incoming> {
        let incoming = self.messages.recv().await;
        if let Some((_, body)) = &incoming {
            self.held.fetch_sub(body.len(), Ordering::AcqRel);
        }
        incoming
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
        if !self.over {
            self.shared.say(self.id, &ToGuest::Leave);
        }
    }
}

impl Shared {
    /// A connection whose tasks run.
    pub(super) fn open(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        times: Times,
    ) -> (Arc<Self>, oneshot::Receiver<ToHost>) {
        let (outgoing, frames) = mpsc::channel(QUEUE + SHORT);
        let (started, start) = oneshot::channel();
        let shared = Arc::new(Self {
            outgoing,
            room: Arc::new(Semaphore::new(QUEUE)),
            calls: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(1),
            ended: CancelToken::new(),
            times,
            signs: Arc::default(),
        });
        tokio::spawn(write(frames, writer, shared.ended.clone(), times.stall, Arc::clone(&shared.signs)));
        tokio::spawn(Arc::clone(&shared).read(reader, started));
        (shared, start)
    }

    /// Begins a call, of whose content `most` bytes may wait to be looked at.
    pub(super) fn begin(self: &Arc<Self>, most: usize) -> Result<(Running, Inbox)> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (messages, inbox) = mpsc::channel(INBOX);
        let held = Arc::new(AtomicUsize::new(0));
        let outlet = Outlet { messages, held: Arc::clone(&held), most };
        self.calls.lock().as_mut().ok_or_else(lost)?.insert(id, outlet);
        Ok((Running { id, shared: Arc::clone(self), over: false }, Inbox { messages: inbox, held }))
    }

    /// Waits until there is room for a frame.
    pub(super) async fn room(&self) -> Result<Room> {
        tokio::select! {
            room = Arc::clone(&self.room).acquire_owned() => room.map(Room).map_err(|_| lost()),
            () = self.ended.cancelled() => Err(lost()),
        }
    }

    /// Says something large where there is room for it.
    pub(super) fn send_in(&self, room: Room, call: u64, message: &ToGuest, body: &[u8]) -> Result<()> {
        let bytes = encode(call, message, body)
            .ok_or_else(|| Error::new(ErrorKind::FileTooLarge, "This is too much for one call."))?;
        // Whoever has room finds room: the queue is longer by what is said without.
        self.outgoing.try_send(Outgoing { bytes, room: Some(room.0) }).map_err(|_| {
            self.end();
            lost()
        })
    }

    /// Waits for room and says it. Whoever calls bounds the time.
    pub(super) async fn send(&self, call: u64, message: &ToGuest, body: &[u8]) -> Result<()> {
        let room = self.room().await?;
        self.send_in(room, call, message, body)
    }

    /// Says something short without waiting. A peer that has not taken the last thousand of such is none any more.
    pub(super) fn say(&self, call: u64, message: &ToGuest) {
        if let Some(bytes) = encode(call, message, &[])
            && let Err(mpsc::error::TrySendError::Full(_)) = self.outgoing.try_send(Outgoing { bytes, room: None })
        {
            self.end();
        }
    }

    /// Carries what comes to the calls that it is for, until the guest ends or breaks the rules.
    async fn read(self: Arc<Self>, mut reader: impl AsyncRead + Unpin, started: oneshot::Sender<ToHost>) {
        let mut started = Some(started);
        let mut decoder = Decoder::new(SPEECH_BYTES);
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = tokio::select! {
                count = reader.read(&mut buffer) => count.unwrap_or(0),
                () = self.ended.cancelled() => 0,
            };
            if count == 0 {
                break;
            }
            self.signs.fetch_add(1, Ordering::Relaxed);
            decoder.push(&buffer[..count]);
            if !self.deliver(&mut decoder, &mut started) {
                break;
            }
        }
        self.end();
    }

    /// Hands on what is whole. Whether the peer keeps to the rules.
    fn deliver(&self, decoder: &mut Decoder, started: &mut Option<oneshot::Sender<ToHost>>) -> bool {
        loop {
            let Frame { call, message, body } = match decoder.next_for::<ToHost>(&|call| self.room_of(call)) {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                Err(_) => return false,
            };
            if body.len() > most_bytes(&message) {
                return false;
            }
            if matches!(message, ToHost::Here) {
                continue;
            }
            if call == 0 {
                match started.take() {
                    // Whoever started it may have gone.
                    Some(started) => drop(started.send(message)),
                    None => return false,
                }
                continue;
            }
            let outlet = self.calls.lock().as_ref().and_then(|calls| calls.get(&call).cloned());
            match (outlet, message) {
                (Some(outlet), message) => {
                    let held = outlet.held.fetch_add(body.len(), Ordering::AcqRel).saturating_add(body.len());
                    let sent = outlet.messages.try_send((message, body));
                    if held > outlet.most || matches!(sent, Err(mpsc::error::TrySendError::Full(_))) {
                        return false;
                    }
                }
                (None, ToHost::Question { question, .. }) => {
                    let error = Error::new(ErrorKind::Aborted, "The call was given up.");
                    self.say(call, &ToGuest::Answer { question, failure: Some(Failure::from(&error)) });
                }
                // The end of a call that nobody waits for.
                (None, _) => {}
            }
        }
    }

    /// How much content may come for a call; nothing where nobody waits for it any more.
    fn room_of(&self, call: u64) -> Option<usize> {
        match call {
            0 => Some(0),
            call => self.calls.lock().as_ref()?.get(&call).map(|outlet| outlet.most),
        }
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
        // Dropping their senders wakes the calls.
        self.calls.lock().take();
    }
}

/// How much content goes with such a message.
fn most_bytes(message: &ToHost) -> usize {
    match message {
        ToHost::Done { .. } | ToHost::Question { ask: Ask::Change { .. }, .. } => MAX_BYTES,
        ToHost::Question { ask: Ask::Output(_) | Ask::Whole | Ask::Screen { .. }, .. } => PIECE_BYTES,
        _ => 0,
    }
}

async fn write(
    mut frames: mpsc::Receiver<Outgoing>,
    mut writer: impl AsyncWrite + Unpin,
    ended: CancelToken,
    stall: Duration,
    signs: Arc<AtomicU64>,
) {
    loop {
        let frame = tokio::select! {
            frame = frames.recv() => frame,
            () = ended.cancelled() => None,
        };
        let Some(frame) = frame else { break };
        let written = async {
            for piece in frame.bytes.chunks(BUFFER_BYTES) {
                // Flushed as well: what is between holds a pipe full at most.
                let put = async {
                    writer.write_all(piece).await?;
                    writer.flush().await
                };
                if !matches!(timeout(stall, put).await, Ok(Ok(()))) {
                    return false;
                }
                // Content finds room as long as somebody takes it; a question alone goes into a pipe that nobody reads.
                if frame.room.is_some() {
                    signs.fetch_add(1, Ordering::Relaxed);
                }
            }
            true
        };
        let is_written = tokio::select! {
            written = written => written,
            () = ended.cancelled() => break,
        };
        if !is_written {
            break;
        }
    }
    ended.cancel();
    // The guest ends when its input does.
    let _ = timeout(stall, writer.shutdown()).await;
}

/// Whether anything is heard while a call waits.
pub(super) struct Watch {
    pub(super) next: Instant,
    signs: u64,
    asked: u32,
}

impl Watch {
    pub(super) fn of(shared: &Shared) -> Self {
        Self { next: Instant::now() + shared.times.life, signs: shared.signs.load(Ordering::Relaxed), asked: 0 }
    }

    /// Asks a guest of which nothing was heard since the last look whether it is there; false once it was asked in vain.
    pub(super) fn look(&mut self, shared: &Shared, call: u64) -> bool {
        let signs = shared.signs.load(Ordering::Relaxed);
        if signs != self.signs {
            (self.signs, self.asked) = (signs, 0);
        }
        if self.asked == PINGS {
            return false;
        }
        self.asked += 1;
        shared.say(call, &ToGuest::Ping);
        self.next = Instant::now() + shared.times.life;
        true
    }
}

pub(super) fn lost() -> Error {
    Error::new(
        ErrorKind::BackendUnavailable,
        "The connection into the container was lost; the next call makes a new one.",
    )
}
