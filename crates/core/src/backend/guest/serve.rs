//! The inside: serves a backend until the input ends, and then ends what it started.
//!
//! The thread that calls [`serve`] reads; a second one writes; calls run on the runtime. A question blocks the thread of
//! the call that asks it, never the one that reads.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::attend::{Told, attend};
use super::frame::{Decoder, Frame, MAX_BYTES, encode};
use super::message::{Ask, Failure, Method, Old, PIECE_BYTES, Setup, ToGuest, ToHost, VERSION, is_decodable};
use super::places::Places;
use super::whole::spill;
use crate::access::{Guard, Operation, Unguarded};
use crate::backend::tap::Tap;
use crate::backend::{Backend, Call, FileContent, OutputChunk, OutputSink, Shell, Transform, WritableFileSystem};
use crate::cancel::{CancelToken, Deadline};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 64 frames wait for the writer: enough for every thread to have one on its way.
const QUEUE: usize = 64;
/// 4: one order and one piece of input of a command are under way at most.
const TOLD: usize = 4;
/// 64 KiB: what a pipe holds.
const READ_BYTES: usize = 64 << 10;

/// Serves what `make` makes of the first message, on `runtime`, which must have several threads. Returns when the input
/// ends, or is none of ours; the backend is closed by then, so that nothing that it started is left.
pub fn serve<B: Backend + 'static>(
    mut input: impl Read,
    output: impl Write + Send + 'static,
    runtime: &Handle,
    make: impl FnOnce(Setup) -> Result<B>,
) {
    let (outgoing, frames) = channel(QUEUE);
    let writer = std::thread::spawn(move || write(frames, output));
    let calls = Arc::new(Calls::default());
    let mut make = Some(make);
    let mut backend: Option<Arc<dyn Backend>> = None;
    let mut decoder = Decoder::new(MAX_BYTES);
    let mut buffer = vec![0; READ_BYTES];
    'input: loop {
        match input.read(&mut buffer) {
            Ok(count) if count > 0 => decoder.push(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(_) | Err(_) => break,
        }
        loop {
            let Frame { call, message, body } = match decoder.next::<ToGuest>() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(_) => break 'input,
            };
            match (message, &backend) {
                (ToGuest::Start { version }, None) => {
                    let Some(make) = make.take() else { break 'input };
                    let setup = setup(version, &body);
                    let places = setup.as_ref().map_or_else(|_| Places::default(), |setup| Places::at(&setup.places));
                    let reply = match setup.and_then(make) {
                        Ok(made) => {
                            let home = made.shell().and_then(|shell| shell.home());
                            backend = Some(Arc::new(made));
                            ToHost::Ready { version: VERSION, home, places }
                        }
                        Err(error) => ToHost::Unusable(Failure::from(&error)),
                    };
                    let Some(bytes) = encode(0, &reply, &[]) else { break 'input };
                    if outgoing.blocking_send(bytes).is_err() {
                        break 'input;
                    }
                }
                (ToGuest::Call { method, within, guarded }, Some(backend)) => {
                    let Some(line) = calls.begin(call, outgoing.clone()) else { break 'input };
                    let deadline = Deadline {
                        cancel: line.cancel.clone(),
                        at: within.and_then(|within| Instant::now().checked_add(within)),
                    };
                    let guard: Arc<dyn Guard> =
                        if guarded { Arc::new(Questioning(Arc::clone(&line))) } else { Arc::new(Unguarded) };
                    let backend = Arc::clone(backend);
                    let calls = Arc::clone(&calls);
                    runtime.spawn(async move {
                        let context = Call { deadline, guard };
                        let answered = perform(&*backend, method, body, &context, &line).await;
                        calls.end(call);
                        if let Some(bytes) = reply(call, answered) {
                            // Nobody listens any more: then nobody misses it.
                            let _ = line.outgoing.send(bytes).await;
                        }
                    });
                }
                // Where there is no room something is on its way, which says the same.
                (ToGuest::Ping, _) => drop(encode(call, &ToHost::Here, &[]).map(|bytes| outgoing.try_send(bytes))),
                (ToGuest::Cancel, _) => calls.cancel(call),
                (ToGuest::Leave, _) => calls.leave(call),
                (ToGuest::Order(order), _) => {
                    if !calls.tell(call, Told::Order(order)) {
                        break 'input;
                    }
                }
                (ToGuest::Input, _) => {
                    if !calls.tell(call, Told::Input(body)) {
                        break 'input;
                    }
                }
                (ToGuest::Answer { question, failure }, _) => calls.answer(call, question, failure, body),
                (ToGuest::Start { .. }, Some(_)) | (ToGuest::Call { .. }, None) => break 'input,
            }
        }
    }
    calls.end_all();
    if let Some(backend) = backend {
        let _ = runtime.block_on(backend.close());
    }
    drop(outgoing);
    let _ = writer.join();
}

/// What is served, for a host that speaks as this guest does.
fn setup(version: u32, body: &[u8]) -> Result<Setup> {
    let other = || {
        let message = "The program in the container is of another release than this process; make the container anew.";
        Error::new(ErrorKind::BackendUnavailable, message)
    };
    if version != VERSION {
        return Err(other());
    }
    serde_json::from_slice(body).map_err(|_| other())
}

/// The frame that ends a call.
fn reply(call: u64, answered: Result<Answer>) -> Option<Vec<u8>> {
    let too_large = || Error::new(ErrorKind::FileTooLarge, "The answer is too large to be sent.");
    let ended = answered.and_then(|Answer { json, mut body }| {
        if !is_decodable(&json) {
            return Err(too_large());
        }
        body.extend(&json);
        encode(call, &ToHost::Done { json: json.len() }, &body).ok_or_else(too_large)
    });
    match ended {
        Ok(bytes) => Some(bytes),
        Err(error) => encode(call, &ToHost::Failed(Failure::from(&error)), &[]),
    }
}

fn write(mut frames: Receiver<Vec<u8>>, mut output: impl Write) {
    while let Some(frame) = frames.blocking_recv() {
        if output.write_all(&frame).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// The calls that run.
#[derive(Default)]
struct Calls(Mutex<HashMap<u64, Weak<Line>>>);

/// Takes one answer: a refusal, or content.
type Waiter = SyncSender<(Option<Failure>, Vec<u8>)>;

/// One running call's line to the outside.
pub(super) struct Line {
    call: u64,
    pub(super) cancel: CancelToken,
    outgoing: Sender<Vec<u8>>,
    next: AtomicU64,
    /// Dropped when nobody answers any more, which wakes whoever waits.
    waiting: Mutex<Option<HashMap<u64, Waiter>>>,
    /// What a command that runs beside its caller is told.
    tell: Sender<Told>,
    told: Mutex<Option<Receiver<Told>>>,
}

impl Calls {
    /// Nothing where another call of that number runs: no host of ours does that, and nobody would end the other one.
    fn begin(&self, call: u64, outgoing: Sender<Vec<u8>>) -> Option<Arc<Line>> {
        let (tell, told) = channel(TOLD);
        let line = Arc::new(Line {
            tell,
            told: Mutex::new(Some(told)),
            call,
            cancel: CancelToken::new(),
            outgoing,
            next: AtomicU64::new(0),
            waiting: Mutex::new(Some(HashMap::new())),
        });
        let mut running = self.0.lock();
        if running.contains_key(&call) {
            return None;
        }
        running.insert(call, Arc::downgrade(&line));
        drop(running);
        Some(line)
    }

    fn find(&self, call: u64) -> Option<Arc<Line>> {
        self.0.lock().get(&call).and_then(Weak::upgrade)
    }

    fn end(&self, call: u64) {
        self.0.lock().remove(&call);
    }

    fn cancel(&self, call: u64) {
        if let Some(line) = self.find(call) {
            line.cancel.cancel();
        }
    }

    /// Whoever of the call waits for an answer goes on without: nobody gives one.
    fn leave(&self, call: u64) {
        if let Some(line) = self.find(call) {
            line.leave();
        }
    }

    /// False when more comes than was acknowledged: no host of ours does that. A call that has ended is told nothing.
    fn tell(&self, call: u64, told: Told) -> bool {
        self.find(call).is_none_or(|line| !matches!(line.tell.try_send(told), Err(TrySendError::Full(_))))
    }

    fn answer(&self, call: u64, question: u64, failure: Option<Failure>, body: Vec<u8>) {
        let waiter = self.find(call).and_then(|line| line.waiting.lock().as_mut()?.remove(&question));
        if let Some(waiter) = waiter {
            // There is room for one answer, and this is the only one.
            let _ = waiter.try_send((failure, body));
        }
    }

    fn end_all(&self) {
        let lines: Vec<_> = self.0.lock().drain().filter_map(|(_, line)| line.upgrade()).collect();
        for line in lines {
            line.leave();
        }
    }
}

impl Line {
    /// Ends its call, and whatever waits for an answer.
    fn leave(&self) {
        self.cancel.cancel();
        self.waiting.lock().take();
    }

    /// What its command is told, for the one that attends to it.
    pub(super) fn told(&self) -> Option<Receiver<Told>> {
        self.told.lock().take()
    }

    /// Says something that no answer is waited for.
    pub(super) async fn say(&self, message: ToHost) {
        if let Some(bytes) = encode(self.call, &message, &[]) {
            // Nobody listens any more: then nobody misses it.
            let _ = self.outgoing.send(bytes).await;
        }
    }

    /// Asks and waits. An error when the outside says no, or is gone.
    pub(super) fn ask(&self, ask: Ask, body: &[u8]) -> Result<Vec<u8>> {
        let gone = || Error::new(ErrorKind::Closed, "The connection to the host has ended.");
        let question = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = sync_channel(1);
        self.waiting.lock().as_mut().ok_or_else(gone)?.insert(question, sender);
        let bytes = encode(self.call, &ToHost::Question { question, ask }, body)
            .ok_or_else(|| Error::new(ErrorKind::FileTooLarge, "The file is too large to be changed."))?;
        // On a thread of the runtime the other tasks move away first; on any other this does nothing.
        tokio::task::block_in_place(|| {
            self.outgoing.blocking_send(bytes).map_err(|_| gone())?;
            match receiver.recv() {
                Ok((None, body)) => Ok(body),
                Ok((Some(failure), _)) => Err(failure.of_host()),
                Err(_) => Err(gone()),
            }
        })
    }
}

/// The caller's guard, from afar.
struct Questioning(Arc<Line>);

impl Guard for Questioning {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        self.0.ask(Ask::Check { operation, path: path.clone() }, &[]).map(drop)
    }
}

struct Answer {
    json: Vec<u8>,
    body: Vec<u8>,
}

impl Answer {
    fn of(value: impl Serialize) -> Result<Self> {
        Self::with(value, Vec::new())
    }

    fn with(value: impl Serialize, body: Vec<u8>) -> Result<Self> {
        let json = serde_json::to_vec(&value).map_err(|_| Error::internal("An answer could not be encoded."))?;
        Ok(Self { json, body })
    }
}

async fn perform(
    backend: &dyn Backend,
    method: Method,
    body: Vec<u8>,
    call: &Call,
    line: &Arc<Line>,
) -> Result<Answer> {
    let files = backend.files();
    match method {
        Method::Resolve { path } => Answer::of(files.resolve(&path, call).await?),
        Method::Stat { path } => Answer::of(files.stat(&path, call).await?),
        Method::List { path, depth } => Answer::of(files.list(&path, depth, call).await?),
        Method::Read { path, window } => {
            let mut slice = files.read(&path, window, call).await?;
            let content = std::mem::take(&mut slice.content).into_bytes();
            Answer::with(slice, content)
        }
        Method::ReadBytes { path, max_bytes } => {
            let mut content = files.read_bytes(&path, max_bytes, call).await?;
            let bytes = std::mem::take(&mut content.bytes);
            Answer::with(content, bytes)
        }
        Method::Glob(query) => Answer::of(files.glob(&query, call).await?),
        Method::Grep(query) => Answer::of(files.grep(&query, call).await?),
        Method::Find(query) => Answer::of(files.find(&query, call).await?),
        Method::Outline(query) => Answer::of(files.outline(&query, call).await?),
        Method::Update { path, operation, missing } => {
            let transform = change(Arc::clone(line));
            Answer::of(writer(backend)?.update(&path, operation, missing, transform, call).await?)
        }
        Method::Append { path } => Answer::of(writer(backend)?.append(&path, body, call).await?),
        Method::MakeDirectory { path } => Answer::of(writer(backend)?.make_directory(&path, call).await?),
        Method::Remove { path, recursive } => Answer::of(writer(backend)?.remove(&path, recursive, call).await?),
        Method::Rename { from, to } => Answer::of(writer(backend)?.rename(&from, &to, call).await?),
        Method::Copy { from, to } => Answer::of(writer(backend)?.copy(&from, &to, call).await?),
        Method::Execute(command) => {
            let sink = command.streams.then(|| output(Arc::clone(line)));
            let whole = command.spills.then(|| spill(Arc::clone(line)));
            Answer::of(shell(backend)?.execute(command.request(body, sink, whole), call).await?)
        }
        Method::Start(command) => {
            let request = command.request(body, Some(output(Arc::clone(line))), None);
            let process = shell(backend)?.start(request, call).await?;
            Answer::of(attend(line, process).await?)
        }
        Method::OpenTerminal(terminal) => {
            let screen = Arc::clone(line);
            let tap = Tap::new(move |bytes, leads| {
                // An outside that is gone has ended the command already.
                let _ = screen.ask(Ask::Screen { leads: leads() }, bytes);
                // What is worth to be told of is found outside.
                false
            });
            let process = shell(backend)?.open_terminal(terminal.request(tap), call).await?;
            Answer::of(attend(line, process).await?)
        }
    }
}

fn shell(backend: &dyn Backend) -> Result<&dyn Shell> {
    backend.shell().ok_or_else(|| Error::new(ErrorKind::Unsupported, backend.no_shell_reason().to_owned()))
}

fn writer(backend: &dyn Backend) -> Result<&dyn WritableFileSystem> {
    backend.writer().ok_or_else(|| Error::new(ErrorKind::PathNotWritable, "Nothing can be written here."))
}

fn change(line: Arc<Line>) -> Transform {
    Box::new(move |old: Option<FileContent>| {
        let (old, bytes) = match old {
            Some(FileContent { bytes, resolved, version }) => (Some(Old { resolved, version }), bytes),
            None => (None, Vec::new()),
        };
        line.ask(Ask::Change { old }, &bytes)
    })
}

fn output(line: Arc<Line>) -> OutputSink {
    Arc::new(move |chunk: OutputChunk| {
        let mut rest = chunk.text.as_str();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
            // An outside that is gone has ended the command already.
            let _ = line.ask(Ask::Output(chunk.stream), piece.as_bytes());
            rest = behind;
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, sink};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::backend::CommandLimits;
    use crate::backend::memory::{StateBackend, StateOptions};
    use crate::limits::Limits;

    /// The second call of a number took the place of the first, which then waited for its answer for ever.
    #[test]
    fn ends_with_its_input_also_where_two_calls_have_one_number() {
        let frame = |call, message: serde_json::Value, body: &[u8]| encode(call, &message, body).unwrap();
        let setup = Setup {
            working_directory: VirtualPath::root(),
            limits: Limits::default(),
            command_limits: CommandLimits::default(),
            environment: Vec::new(),
            places: Vec::new(),
        };
        let stat = json!({ "Call": { "method": { "Stat": { "path": "/" } }, "within": null, "guarded": true } });
        let input = [
            frame(0, json!({ "Start": { "version": VERSION } }), &serde_json::to_vec(&setup).unwrap()),
            frame(1, stat.clone(), &[]),
            frame(1, stat, &[]),
        ];
        let (ended, end) = channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            serve(Cursor::new(input.concat()), sink(), runtime.handle(), |setup| {
                StateBackend::new(StateOptions::default(), setup.limits)
            });
            ended.send(()).unwrap();
        });
        end.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}
