//! The contract through a guest: the same answers as if there were no pipe between.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use gloveport_core::backend::guest::{Connection, Lease, Line, Link, Setup, serve};
use gloveport_core::backend::local::{LocalBackend, LocalOptions};
use gloveport_core::backend::process::{Order, Process, ProcessSignal};
use gloveport_core::backend::{BoxFuture, Call, ExecuteRequest, OutputChunk, Spill, SpillFile};
use gloveport_core::cancel::{CancelToken, Deadline};
use gloveport_core::error::{ErrorKind, Result};
use gloveport_core::path::VirtualPath;
use tokio::sync::OnceCell;

use crate::commands::command_contract;
use crate::run::{Place, contract};
use crate::served::{Room, Served, setup, spill};

/// A guest in a thread of this process, connected by a socket.
struct InProcess {
    setup: Setup,
    connection: OnceCell<Arc<Connection>>,
}

impl Link for InProcess {
    fn lease<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Result<Lease>> {
        Box::pin(async {
            let connection = self.connection.get_or_try_init(|| async {
                let (theirs, ours) = UnixStream::pair().unwrap();
                std::thread::spawn(move || {
                    let runtime =
                        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
                    serve(theirs.try_clone().unwrap(), theirs, runtime.handle(), local);
                });
                ours.set_nonblocking(true).unwrap();
                let (reader, writer) = tokio::net::UnixStream::from_std(ours).unwrap().into_split();
                Connection::open(reader, writer, self.setup.clone()).await.map(Arc::new)
            });
            Ok(Lease::new(Line::Guest(Arc::clone(connection.await?)), None))
        })
    }
}

fn local(setup: Setup) -> Result<LocalBackend> {
    LocalBackend::new(LocalOptions {
        root: Some(setup.working_directory.as_str().into()),
        execute: true,
        limits: setup.limits,
        ..LocalOptions::default()
    })
}

fn guest() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let base = VirtualPath::absolute(root.to_str().unwrap()).unwrap();
    let link = InProcess { setup: setup(base.clone()), connection: OnceCell::new() };
    Place { backend: Box::new(Served::new(link, base.clone())), base, _directory: Some(directory) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_keeps_the_contract() {
    contract("guest", guest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_a_guest_keep_the_contract() {
    command_contract("guest", &guest()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_runs_commands_with_their_output_as_it_comes() {
    let place = guest();
    let chunks = Arc::new(std::sync::Mutex::new(String::new()));
    let sink = Arc::clone(&chunks);
    let mut request = ExecuteRequest::new("read line; echo \"got $line\"; echo oops >&2; exit 3");
    request.stdin = Some(b"text\n".to_vec());
    request.on_output = Some(Arc::new(move |chunk: OutputChunk| sink.lock().unwrap().push_str(&chunk.text)));
    let outcome = place.backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.exit_code),
        ("got text\n", "oops\n", Some(3))
    );
    let chunks = chunks.lock().unwrap();
    assert!(chunks.contains("got text\n") && chunks.contains("oops\n"), "{chunks}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_ends_what_takes_too_long_or_is_aborted() {
    let place = guest();
    let shell = place.backend.shell().unwrap();
    let mut request = ExecuteRequest::new("echo before; sleep 100");
    request.timeout = Some(Duration::from_secs(3));
    let outcome = shell.execute(request, &Call::default()).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.timed_out, outcome.aborted), ("before\n", true, false));

    let token = CancelToken::new();
    let mut call = Call::default();
    call.deadline.cancel = token.clone();
    let mut request = ExecuteRequest::new("echo before; sleep 100");
    request.on_output = Some(Arc::new(move |_| token.cancel()));
    let outcome = shell.execute(request, &call).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.timed_out, outcome.aborted), ("before\n", false, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_share_one_connection() {
    let place = guest();
    let writer = place.backend.writer().unwrap();
    let files = place.backend.files();
    let names: Vec<_> = (0..50).map(|n| place.base.join(&format!("{n}")).unwrap()).collect();
    let call = Call::default();
    let all = names.iter().enumerate().map(|(n, path)| {
        let call = &call;
        async move {
            writer.append(path, vec![u8::try_from(n).unwrap(); 100_000], call).await.unwrap();
            files.read_bytes(path, 1 << 20, call).await.unwrap().bytes
        }
    });
    let mut tasks = Vec::new();
    for one in all {
        tasks.push(Box::pin(one));
    }
    // All at once, in whatever order they end.
    let contents = join_all(tasks).await;
    for (n, content) in contents.iter().enumerate() {
        assert_eq!(*content, vec![u8::try_from(n).unwrap(); 100_000]);
    }
}

async fn join_all<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut done: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(output) = std::pin::Pin::new(future).poll(context)
            {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().map(Option::unwrap).collect()
}

/// Reads until `text` was printed or the process ended.
async fn printed(process: &Process, text: &str) -> String {
    let mut seen = Vec::new();
    let mut position = 0;
    loop {
        let piece = process.read(position, 1 << 20);
        position = piece.next;
        seen.extend(piece.bytes);
        let so_far = String::from_utf8_lossy(&seen).into_owned();
        if so_far.contains(text) || process.ended().is_some() {
            return so_far;
        }
        process.changed(position).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_a_guest_runs_beside_its_caller() {
    let place = guest();
    let shell = place.backend.shell().unwrap();
    let request = ExecuteRequest::new("while read -r line; do echo \"got $line\"; done; echo oops >&2; exit 3");
    let process = shell.start(request, &Call::default()).await.unwrap();
    assert!(process.pid().is_some());
    process.write(b"one\n", &Call::default().deadline).await.unwrap();
    assert_eq!(printed(&process, "one\n").await, "got one\n");
    // Other calls of the connection are not held up, also not by more input than anybody holds.
    let large: Vec<u8> = [&b"x".repeat(300_000)[..], b"\n"].concat();
    process.write(&large, &Call::default().deadline).await.unwrap();
    let other = shell.execute(ExecuteRequest::new("echo other"), &Call::default()).await.unwrap();
    assert_eq!(other.stdout, "other\n");
    process.close_input(&Deadline::default()).await.unwrap();
    let outcome = process.over().await;
    assert_eq!((outcome.exit_code, outcome.stderr.as_str()), (Some(3), "oops\n"));
    assert_eq!(process.position(), "got one\ngot \noops\n".len() as u64 + 300_000);
    let refused = process.write(b"x", &Call::default().deadline).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_a_guest_is_told_and_ended() {
    let place = guest();
    let shell = place.backend.shell().unwrap();
    let command = "trap 'echo told' USR1; echo ready; while :; do sleep 0.01; done";
    let process = shell.start(ExecuteRequest::new(command), &Call::default()).await.unwrap();
    printed(&process, "ready").await;
    // Input that nobody reads does not hold up an order behind it.
    process.give(&b"x".repeat(1 << 20), &Call::default().deadline).await.unwrap();
    process.order(Order::Signal(ProcessSignal::User1)).await.unwrap();
    let said = printed(&process, "told\n").await;
    assert!(said.contains("told\n"), "{said}");
    assert!(process.end().await);
    // Nobody holds it: it is ended as well.
    let command = format!("echo begun; sleep 1000; : {}", place.base);
    let process = shell.start(ExecuteRequest::new(command), &Call::default()).await.unwrap();
    printed(&process, "begun").await;
    assert!(lives(&place.base));
    let watch = process.end_watch();
    drop(process);
    assert!(watch.over().await.aborted);
    while lives(&place.base) {
        tokio::task::yield_now().await;
    }
}

/// What a program did not read was said to be given.
#[tokio::test(flavor = "multi_thread")]
async fn input_that_a_command_of_a_guest_does_not_read_is_refused_with_what_was_taken_of_it() {
    let place = guest();
    let shell = place.backend.shell().unwrap();
    let endless = Deadline::default();
    let start = async |command: &str| shell.start(ExecuteRequest::new(command), &Call::default()).await.unwrap();
    // Many times: what became of the input is said before the end, however close they are.
    for _ in 0..50 {
        let process = start("read -r line; exit 0").await;
        process.write(b"read\n", &endless).await.unwrap();
        assert_eq!(process.over().await.exit_code, Some(0));
    }
    let process = start("exec head -c 10").await;
    let refused = process.write(&b"x".repeat(1 << 20), &endless).await.unwrap_err();
    let given = refused.details().unwrap()["partial"]["givenBytes"].as_u64().unwrap();
    assert!(refused.kind() == ErrorKind::Closed && (10..1 << 20).contains(&given), "{refused}");
    let process = start("exec <&-; echo closed; exec sleep 1000").await;
    printed(&process, "closed").await;
    let refused = process.write(b"x", &endless).await.unwrap_err();
    assert_eq!((refused.kind(), refused.details()), (ErrorKind::Closed, None));
    assert!(process.end().await);
}

/// Memory is bounded on both sides, and the rest was lost.
#[tokio::test(flavor = "multi_thread")]
async fn the_whole_output_of_a_command_of_a_guest_goes_to_a_file_of_the_outside() {
    let place = guest();
    let shell = place.backend.shell().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to_file = |name: &str, bytes| spill(folder.path().join(name), bytes);
    // Characters of three bytes, which no piece and no bound may tear.
    let command = |name: &str, bytes| ExecuteRequest {
        spill: to_file(name, bytes),
        ..ExecuteRequest::new("i=0; while [ $i -lt 100 ]; do printf '%05000d€' $i; i=$((i+1)); done; printf end >&2")
    };
    let expected: String = (0..100).map(|number| format!("{number:05000}€")).collect();
    let outcome = shell.execute(command("whole", 1 << 30), &Call::default()).await.unwrap();
    assert_eq!((outcome.truncated, outcome.spill_path.as_deref(), outcome.spill_bytes), (true, Some("/all"), None));
    let all = std::fs::read_to_string(folder.path().join("whole")).unwrap();
    assert_eq!(all.replacen("end", "", 1), expected);
    let outcome = shell.execute(command("part", 300_002), &Call::default()).await.unwrap();
    let part = std::fs::read_to_string(folder.path().join("part")).unwrap();
    assert_eq!((outcome.spill_path.as_deref(), outcome.spill_bytes), (Some("/all"), Some(part.len() as u64)));
    assert!((300_000..=300_002).contains(&part.len()) && expected.starts_with(&part), "{}", part.len());
    let short = ExecuteRequest { spill: to_file("none", 1 << 30), ..ExecuteRequest::new("echo short") };
    let outcome = shell.execute(short, &Call::default()).await.unwrap();
    assert_eq!((outcome.truncated, outcome.spill_path), (false, None));
    assert!(!folder.path().join("none").exists());
}

/// A disk that takes nothing for as long as the test wants.
struct Stuck(std::sync::mpsc::Receiver<()>, Option<tokio::sync::oneshot::Sender<()>>);

impl std::io::Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(asked) = self.1.take() {
            asked.send(()).unwrap();
        }
        // An error: the test is over.
        let _ = self.0.recv();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A command whose question was on its way when its caller went waited for the answer, which nobody gave, and ran on.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_a_guest_ends_with_its_caller_also_where_it_waits_for_an_answer() {
    let place = guest();
    let (go_on, gone_on) = std::sync::mpsc::channel();
    let (asked, is_asked) = tokio::sync::oneshot::channel();
    let stuck = std::sync::Mutex::new(Some(Stuck(gone_on, Some(asked))));
    let spill: Spill = Arc::new(move || {
        let file = Box::new(stuck.lock().unwrap().take().unwrap());
        Some(SpillFile { file, path: "/all".to_owned(), room: Room::of(1 << 30) })
    });
    let command = format!("yes; : {}", place.base);
    let request = ExecuteRequest { spill: Some(spill), ..ExecuteRequest::new(command) };
    let call = Call::default();
    let shell = place.backend.shell().unwrap();
    tokio::select! {
        _ = shell.execute(request, &call) => panic!("it prints for ever"),
        asked = is_asked => asked.unwrap(),
    }
    while lives(&place.base) {
        tokio::task::yield_now().await;
    }
    drop(go_on);
}

/// Whether a process of this machine has `path` in its command line.
fn lives(path: &VirtualPath) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(path.as_str()))
}

/// A peer that is no guest: whatever it sends, calls end with an error.
#[tokio::test(flavor = "multi_thread")]
async fn nonsense_ends_the_connection_and_nothing_hangs() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for answer in
        [&b"\xff\xff\xff\xff"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"]
    {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let mut theirs = tokio::net::UnixStream::from_std(theirs).unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            let _ = theirs.read(&mut buffer).await;
            let _ = theirs.write_all(answer).await;
        });
        let (reader, writer) = tokio::net::UnixStream::from_std(ours).unwrap().into_split();
        let error = Connection::open(reader, writer, setup(VirtualPath::root())).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::BackendUnavailable, "{answer:?}");
    }
}
