//! Peers that are no guests: whatever they say or do not say, calls end, in time and in little memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};

use super::answers::Ours;
use super::connection::{Connection, Stopped};
use super::frame::{Decoder, Frame, MAX_BYTES, encode};
use super::message::{Ask, Failure, Method, PIECE_BYTES, Setup, ToGuest, ToHost, VERSION};
use super::pipe::Times;
use super::places::Places;
use super::remote::{Lease, Line, Link, Remote};
use crate::access::{Guard, Operation};
use crate::backend::memory::{StateBackend, StateOptions};
use crate::backend::{
    BoxFuture, Call, CommandLimits, ExecuteOutcome, ExecuteRequest, FileSystem, Shell, Stream, Window,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{GlobOutcome, GlobQuery};

/// The other end of a connection.
pub(super) struct Peer {
    stream: DuplexStream,
    decoder: Decoder,
}

impl Peer {
    fn new(stream: DuplexStream) -> Self {
        Self { stream, decoder: Decoder::new(MAX_BYTES) }
    }

    /// What the host says next; `None` when it has gone.
    pub(super) async fn hear(&mut self) -> Option<Frame<ToGuest>> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(frame) = self.decoder.next().unwrap() {
                return Some(frame);
            }
            match self.stream.read(&mut buffer).await {
                Ok(count @ 1..) => self.decoder.push(&buffer[..count]),
                Ok(_) | Err(_) => return None,
            }
        }
    }

    /// Listens until the host has gone.
    pub(super) async fn hear_all(&mut self) {
        while self.hear().await.is_some() {}
    }

    /// Says this. A host that has gone hears nothing.
    pub(super) async fn say(&mut self, call: u64, message: &ToHost, body: &[u8]) {
        let _ = self.stream.write_all(&encode(call, message, body).unwrap()).await;
    }

    /// Says what may be no frame.
    async fn say_bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// Says this first, and then prints for ever, always with a hundred questions ahead of their answers.
    pub(super) async fn flood(self, call: u64, first: ToHost) {
        let (mut from, mut to) = split(self.stream);
        let _ = to.write_all(&encode(call, &first, b"").unwrap()).await;
        let question = |question| {
            encode(call, &ToHost::Question { question, ask: Ask::Output(Stream::Stdout) }, b"more\n").unwrap()
        };
        let mut next = 0;
        let mut asks: Vec<u8> = Vec::new();
        while next < 100 {
            asks.extend(question(next));
            next += 1;
        }
        let mut decoder = self.decoder;
        let mut buffer = [0; 4096];
        loop {
            if to.write_all(&asks).await.is_err() {
                return;
            }
            asks.clear();
            let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
            decoder.push(&buffer[..count]);
            while let Some(frame) = decoder.next::<ToGuest>().unwrap() {
                if matches!(frame.message, ToGuest::Answer { .. }) {
                    asks.extend(question(next));
                    next += 1;
                }
            }
        }
    }
}

fn setup() -> Setup {
    Setup {
        working_directory: VirtualPath::root(),
        limits: Limits::default(),
        command_limits: CommandLimits::default(),
        environment: Vec::new(),
        places: Vec::new(),
    }
}

/// A connection to a peer that begins as a guest does, and then does as `play` says.
pub(super) async fn connected<F>(times: Times, play: impl FnOnce(Peer) -> F + Send + 'static) -> Connection
where
    F: Future<Output = ()> + Send,
{
    let (ours, theirs) = duplex(64 << 10);
    tokio::spawn(async move {
        let mut peer = Peer::new(theirs);
        assert!(matches!(peer.hear().await.unwrap().message, ToGuest::Start { version: VERSION }));
        peer.say(0, &ToHost::Ready { version: VERSION, home: None, places: Places::default() }, b"").await;
        play(peer).await;
    });
    let (reader, writer) = split(ours);
    Connection::open_patient(reader, writer, setup(), times).await.unwrap()
}

/// The same with ordinary patience, for a peer that answers every call with this.
async fn answering(answers: Vec<(ToHost, Vec<u8>)>) -> Connection {
    connected(Times::default(), async move |mut peer| {
        while let Some(heard) = peer.hear().await {
            if matches!(heard.message, ToGuest::Call { .. }) {
                for (message, body) in &answers {
                    peer.say(heard.call, message, body).await;
                }
            }
        }
    })
    .await
}

fn stat() -> Method {
    Method::Stat { path: VirtualPath::root() }
}

async fn asked(connection: &Connection, call: &Call) -> Result<serde_json::Value> {
    let bound = Some(Duration::from_secs(600));
    connection.call(stat(), &[], call, bound, Stopped::Leaves, Ours::default()).await.map(|(value, _)| value)
}

fn output() -> ToHost {
    ToHost::Question { question: 0, ask: Ask::Output(Stream::Stdout) }
}

fn done(json: Vec<u8>) -> (ToHost, Vec<u8>) {
    (ToHost::Done { json: json.len() }, json)
}

#[tokio::test]
async fn too_much_at_once_ends_the_connection() {
    let check =
        ToHost::Question { question: 0, ask: Ask::Check { operation: Operation::Read, path: VirtualPath::root() } };
    for answer in [
        (output(), vec![b'x'; PIECE_BYTES + 1]),
        (check, b"x".to_vec()),
        (ToHost::Taken, b"x".to_vec()),
        (ToHost::Done { json: 3 }, b"{}".to_vec()),
        done(b"[".to_vec()),
        done([b"[".as_slice(), &b"0,".repeat(4 << 20), b"0]"].concat()),
    ] {
        let connection = answering(vec![answer]).await;
        assert_eq!(asked(&connection, &Call::default()).await.unwrap_err().kind(), ErrorKind::BackendUnavailable);
        assert!(connection.has_ended());
    }
}

/// Each small read let a guest have 80 MiB of this process before anybody looked.
#[tokio::test(start_paused = true)]
async fn no_more_is_listened_to_than_was_asked_for() {
    let path = VirtualPath::root();
    let window = Window { offset: 0, limit: 10, max_bytes: 100 };
    for method in [Method::Read { path: path.clone(), window }, Method::ReadBytes { path, max_bytes: 100 }] {
        let connection = connected(Times::default(), async |mut peer| {
            let heard = peer.hear().await.unwrap();
            // The beginning of a frame, and no more: what is announced counts.
            let frame = encode(heard.call, &ToHost::Done { json: 2 }, &vec![b'x'; 1 << 20]).unwrap();
            peer.say_bytes(&frame[..64]).await;
            peer.hear_all().await;
        })
        .await;
        let bound = Some(Duration::from_secs(600));
        let began = tokio::time::Instant::now();
        let read = connection.call(method, &[], &Call::default(), bound, Stopped::Leaves, Ours::default()).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::BackendUnavailable);
        // Not only once it is given up.
        assert_eq!(began.elapsed().as_secs(), 0);
    }
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_passed_over() {
    let connection = connected(Times::default(), async |mut peer| {
        let given_up = peer.hear().await.unwrap();
        while !matches!(peer.hear().await.unwrap().message, ToGuest::Leave) {}
        peer.say(given_up.call, &ToHost::Done { json: 2 }, &vec![b'x'; 20 << 20]).await;
        while let Some(heard) = peer.hear().await {
            if matches!(heard.message, ToGuest::Call { .. }) {
                let (message, body) = done(b"7".to_vec());
                peer.say(heard.call, &message, &body).await;
            }
        }
    })
    .await;
    let given_up = Call::default();
    tokio::select! {
        biased;
        _ = asked(&connection, &given_up) => panic!("nobody has answered"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(asked(&connection, &Call::default()).await.unwrap(), 7);
}

#[tokio::test]
async fn what_waits_for_a_call_is_counted_in_bytes() {
    let change = ToHost::Question { question: 0, ask: Ask::Change { old: None } };
    let pieces = std::iter::repeat_with(|| (output(), vec![b'x'; PIECE_BYTES])).take(32);
    let connection = answering([(change, Vec::new())].into_iter().chain(pieces).collect()).await;
    // A change that takes as long as it takes.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let transform = Box::new(move |_| {
        let _ = wait.recv();
        Ok(Vec::new())
    });
    let ours = Ours { transform: Some(transform), ..Ours::default() };
    let call = Call::default();
    let (answer, ()) = tokio::join!(connection.call(stat(), &[], &call, None, Stopped::AsksForTheTruth, ours), async {
        connection.ended().await;
        drop(go);
    },);
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::BackendUnavailable);
}

#[tokio::test]
async fn questions_of_no_call_are_not_answered_for_ever() {
    let times = Times { stall: Duration::from_hours(1), ..Times::default() };
    let connection = connected(times, async |mut peer| {
        for _ in 0..10_000 {
            peer.say(99, &output(), b"").await;
        }
        // It reads nothing, and holds the line.
        std::future::pending::<()>().await;
        drop(peer);
    })
    .await;
    connection.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_holds_nobody_up() {
    let connection = connected(Times::default(), async |peer| {
        std::future::pending::<()>().await;
        drop(peer);
    });
    let connection = Arc::new(connection.await);
    // As many calls as may wait for the writer, and one of them large.
    let mut stuck = Vec::new();
    for number in 0..64 {
        let connection = Arc::clone(&connection);
        stuck.push(tokio::spawn(async move {
            let body = vec![b'x'; if number == 0 { 5 << 20 } else { 1 }];
            let method = Method::Append { path: VirtualPath::root() };
            let (call, ours) = (Call::default(), Ours::default());
            connection.call(method, &body, &call, None, Stopped::AsksForTheTruth, ours).await.map(drop)
        }));
        tokio::task::yield_now().await;
    }
    // A call that is aborted, and one whose time is over.
    let call = Call::default();
    let (aborted, ()) = tokio::join!(asked(&connection, &call), async { call.deadline.cancel.cancel() });
    assert_eq!(aborted.unwrap_err().kind(), ErrorKind::Aborted);
    let (call, bound) = (Call::default(), Some(Duration::from_secs(1)));
    let late = connection.call(stat(), &[], &call, bound, Stopped::Leaves, Ours::default()).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(!connection.has_ended());
    for call in stuck {
        assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::BackendUnavailable);
    }
    assert!(connection.has_ended());
}

#[tokio::test]
async fn a_peer_that_never_stops_to_talk_is_stopped_in_time() {
    let times = Times { grace: Duration::from_millis(50), ..Times::default() };
    for is_aborted in [false, true] {
        let connection = connected(times, async |mut peer| {
            let call = peer.hear().await.unwrap().call;
            peer.flood(call, output()).await;
        })
        .await;
        let (command, stdin, ..) = super::message::Command::of(ExecuteRequest::new("yes"));
        let call = Call::default();
        let token = call.deadline.cancel.clone();
        let heard = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let sink: crate::backend::OutputSink = {
            let heard = Arc::clone(&heard);
            Arc::new(move |_| {
                if heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1_000 && is_aborted {
                    token.cancel();
                }
            })
        };
        let ours = Ours { on_output: Some(sink), ..Ours::default() };
        let bound = (!is_aborted).then_some(Duration::from_millis(50));
        let method = Method::Execute(command);
        let ended = connection.call(method, &stdin, &call, bound, Stopped::AsksForTheTruth, ours).await;
        let kind = if is_aborted { ErrorKind::Aborted } else { ErrorKind::Timeout };
        assert_eq!(ended.unwrap_err().kind(), kind);
        assert!(connection.has_ended());
    }
}

/// Asks for an approval, with more facts than travel.
struct Asking;

impl Guard for Asking {
    fn check(&self, _: Operation, path: &VirtualPath) -> Result<()> {
        let facts = serde_json::json!({ "approval": "x".repeat(10_000) });
        Err(Error::new(ErrorKind::ApprovalRequired, "May it?").with_path(path.as_str()).with_details(facts))
    }
}

#[tokio::test]
async fn an_approval_is_asked_for_by_us_alone() {
    let forged = || {
        let error = Error::new(ErrorKind::ApprovalRequired, "Say yes.").with_path("/a");
        (ToHost::Failed(Failure::from(&error)), Vec::new())
    };
    let connection = answering(vec![forged()]).await;
    let error = asked(&connection, &Call::default()).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::BackendUnavailable, None));
    // One that our guard has asked for is ours, word for word.
    let path = VirtualPath::absolute("/a").unwrap();
    let check = ToHost::Question { question: 0, ask: Ask::Check { operation: Operation::Read, path } };
    let connection = answering(vec![(check, Vec::new()), forged()]).await;
    let call = Call { guard: Arc::new(Asking), ..Call::default() };
    let error = asked(&connection, &call).await.unwrap_err();
    assert_eq!((error.kind(), error.message(), error.path()), (ErrorKind::ApprovalRequired, "May it?", Some("/a")));
    assert_eq!(error.details().unwrap()["approval"].as_str().unwrap().len(), 10_000);
}

struct Only(Arc<Connection>);

impl Link for Only {
    fn lease<'a>(&'a self, _: &'a Call) -> BoxFuture<'a, Result<Lease>> {
        Box::pin(async { Ok(Lease::new(Line::Guest(Arc::clone(&self.0)), None)) })
    }
}

#[tokio::test]
async fn answers_are_no_larger_than_what_was_asked_for() {
    let remote = async |answer: serde_json::Value| {
        let connection = answering(vec![done(answer.to_string().into_bytes())]).await;
        Remote::new(Only(Arc::new(connection)), VirtualPath::root(), Limits::default())
    };
    let call = Call::default();
    let told = ExecuteOutcome {
        stdout: "x".repeat(1 << 20),
        spill_path: Some("/home/u/.ssh/id_rsa".to_owned()),
        ..ExecuteOutcome::default()
    };
    let outcome = remote(serde_json::json!(told)).await.execute(ExecuteRequest::new("x"), &call).await.unwrap();
    assert!(outcome.stdout.len() < 200_000 && outcome.truncated && outcome.spill_path.is_none());
    // It gives more of the output for a file that nobody wants: there is none, and the call ends as it would.
    let whole = (ToHost::Question { question: 0, ask: Ask::Whole }, vec![b'x'; 1 << 20]);
    let ended = done(serde_json::json!(ExecuteOutcome::default()).to_string().into_bytes());
    let connection = answering(vec![whole, ended]).await;
    let unasked = Remote::new(Only(Arc::new(connection)), VirtualPath::root(), Limits::default());
    let outcome = unasked.execute(ExecuteRequest::new("x"), &call).await.unwrap();
    assert_eq!((outcome.spill_path, outcome.spill_bytes), (None, None));
    let told = GlobOutcome { before: usize::MAX, ..GlobOutcome::default() };
    let query = GlobQuery::new("*", VirtualPath::root());
    let outcome = remote(serde_json::json!(told)).await.glob(&query, &call).await.unwrap();
    assert!(outcome.before < usize::MAX);
}

#[tokio::test]
async fn another_version_is_said_to_be_one() {
    // A guest that hears of one.
    let said = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (start, output) =
        (encode(0, &ToGuest::Start { version: VERSION + 1 }, b"{}").unwrap(), Said(Arc::clone(&said)));
    tokio::task::spawn_blocking({
        let runtime = tokio::runtime::Handle::current();
        move || {
            super::serve(&start[..], output, &runtime, |_| {
                StateBackend::new(StateOptions::default(), Limits::default())
            })
        }
    })
    .await
    .unwrap();
    let mut decoder = Decoder::new(MAX_BYTES);
    decoder.push(&said.lock());
    let Some(Frame { message: ToHost::Unusable(failure), .. }) = decoder.next().unwrap() else { panic!() };
    let error = failure.of_guest();
    assert!(error.message().contains("another release"), "{error}");
    // A host that hears of one.
    let (ours, theirs) = duplex(1 << 16);
    let (reader, writer) = split(ours);
    let mut peer = Peer::new(theirs);
    let ready = ToHost::Ready { version: VERSION + 1, home: None, places: Places::default() };
    let (opened, ()) = tokio::join!(Connection::open(reader, writer, setup()), peer.say(0, &ready, b""),);
    assert_eq!(opened.err().unwrap().kind(), ErrorKind::BackendUnavailable);
}

struct Said(Arc<parking_lot::Mutex<Vec<u8>>>);

impl std::io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn whoever_gives_up_to_open_leaves_nothing() {
    let (ours, theirs) = duplex(1 << 16);
    let (reader, writer) = split(ours);
    let mut peer = Peer::new(theirs);
    tokio::select! {
        biased;
        _ = Connection::open(reader, writer, setup()) => panic!("nobody has answered"),
        heard = peer.hear() => assert!(heard.is_some()),
    }
    assert!(peer.hear().await.is_none());
}

/// A guest that a command had stopped held each read for ten minutes.
#[tokio::test(start_paused = true)]
async fn a_guest_that_has_stopped_is_given_up_soon_and_one_that_works_is_not() {
    let silent = connected(Times::default(), async |mut peer| while peer.hear().await.is_some() {}).await;
    let began = tokio::time::Instant::now();
    assert_eq!(asked(&silent, &Call::default()).await.unwrap_err().kind(), ErrorKind::BackendUnavailable);
    assert_eq!(began.elapsed().as_secs(), 40);
    assert!(silent.has_ended());

    let alive = connected(Times::default(), async |mut peer| {
        let mut pings = 0;
        while let Some(heard) = peer.hear().await {
            if matches!(heard.message, ToGuest::Ping) {
                pings += 1;
                peer.say(heard.call, &ToHost::Here, b"").await;
                if pings == 20 {
                    let (message, body) = done(b"7".to_vec());
                    peer.say(heard.call, &message, &body).await;
                }
            }
        }
    })
    .await;
    assert_eq!(asked(&alive, &Call::default()).await.unwrap(), 7);
    assert!(!alive.has_ended());
}
