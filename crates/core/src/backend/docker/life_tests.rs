//! The life of a container with an engine that is none: what it is asked, and what becomes of answers that never come.

#![cfg(unix)]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, empty, sink};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, mpsc};

use super::by_shell;
use super::calls::{Status, status};
use super::client::{Address, Engine};
use super::container::{Container, Running, State};
use super::guest::GuestProgram;
use super::idle::Busy;
use super::mounts::Mounts;
use super::options::DockerOptions;
use super::owner::sweep_once;
use crate::backend::guest::Remote;
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::backend::{Backend, Call, CommandLimits, ExecuteRequest, FileSystem};
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::sandbox::{Mount, Sandbox};
use crate::search::GrepQuery;

/// What is said to a question: an answer, or nothing but the end.
pub(super) enum Says {
    Answer(&'static str, &'static str),
    Ends,
    /// An answer once the test wants it.
    Late(&'static str, &'static str),
    /// Until who asked has gone.
    Nothing,
}

/// An engine that hears each question in turn; `Container`s of it, and what it was asked.
pub(super) struct Fake {
    _folder: tempfile::TempDir,
    host: String,
    asked: mpsc::UnboundedReceiver<String>,
    late: Arc<Notify>,
    /// The name of its containers.
    container: Option<String>,
}

impl Fake {
    pub(super) fn new(says: impl Fn(&str, usize) -> Says + Send + Sync + 'static) -> Self {
        Self::that_is(r#"{"Arch":"none"}"#, says)
    }

    /// One that says this of itself.
    pub(super) fn that_is(version: &'static str, says: impl Fn(&str, usize) -> Says + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.sock");
        let host = format!("unix://{}", path.display());
        let listener = UnixListener::bind(&path).unwrap();
        let (tell, asked) = mpsc::unbounded_channel();
        let says = Arc::new(says);
        let late = Arc::new(Notify::new());
        let wanted = Arc::clone(&late);
        let count = Arc::new(Mutex::new(std::collections::HashMap::<String, usize>::new()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tell, says, count, late) =
                    (tell.clone(), Arc::clone(&says), Arc::clone(&count), Arc::clone(&wanted));
                tokio::spawn(async move { answer(stream, &tell, version, &*says, &count, &late).await });
            }
        });
        Self { _folder: folder, host, asked, late, container: None }
    }

    fn container(&self) -> Container {
        let options = DockerOptions {
            host: Some(self.host.clone()),
            image: Some("x".to_owned()),
            container: self.container.clone(),
            ..DockerOptions::default()
        };
        Container::new(options, VirtualPath::absolute("/workspace").unwrap(), "ab".to_owned(), None)
    }

    pub(super) async fn engine(&self) -> Engine {
        Engine::hello(Address::parse(&self.host, None).unwrap()).await.unwrap()
    }

    /// Waits until it is asked this.
    async fn until(&mut self, question: &str) {
        while self.asked.recv().await.unwrap() != question {}
    }
}

async fn answer(
    mut stream: UnixStream,
    tell: &mpsc::UnboundedSender<String>,
    version: &'static str,
    says: &(dyn Fn(&str, usize) -> Says + Send + Sync),
    count: &Mutex<std::collections::HashMap<String, usize>>,
    late: &Notify,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    let line = head.lines().next().unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    let path = words[1].trim_start_matches("/v1.44").split('?').next().unwrap();
    let question = format!("{} {path}", words[0]);
    let times = {
        let mut count = count.lock();
        let times = count.entry(question.clone()).or_default();
        *times += 1;
        *times
    };
    let said = match question.as_str() {
        "GET /_ping" => Says::Answer("200 OK\r\nApi-Version: 1.44", "OK"),
        "GET /version" => Says::Answer("200 OK", version),
        question => says(question, times),
    };
    let _ = tell.send(question);
    if matches!(said, Says::Late(..)) {
        late.notified().await;
    }
    match said {
        Says::Answer(status, body) | Says::Late(status, body) => {
            let text = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(text.as_bytes()).await;
        }
        Says::Ends => {}
        Says::Nothing => drop(stream.read_u8().await),
    }
}

const CREATE: &str = "POST /containers/create";
const PULL: &str = "POST /images/create";

#[tokio::test]
async fn who_closes_or_stops_does_not_wait_for_a_pull() {
    for close in [true, false] {
        let mut fake = Fake::new(|question, _| match question {
            CREATE => Says::Answer("404 Not Found", "{}"),
            PULL => Says::Nothing,
            _ => Says::Ends,
        });
        let container = fake.container();
        let starting = tokio::spawn({
            let container = container.clone();
            async move { container.start().await }
        });
        fake.until(PULL).await;
        // Whoever only looks does not wait either.
        assert!(!container.is_alive().await.unwrap() && container.id().is_none());
        assert_eq!(container.usage().await.unwrap(), None);
        if close {
            container.close().await.unwrap()
        } else {
            container.stop(false).await.unwrap()
        }
        assert_eq!(starting.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        if close {
            assert_eq!(container.start().await.unwrap_err().kind(), ErrorKind::Closed);
        }
    }
}

/// One that hears and never answers: each call is an error in its time, and none waits for ever.
#[tokio::test(start_paused = true)]
async fn an_engine_that_stops_to_answer_holds_nobody_for_ever() {
    let fake = Fake::new(|_, _| Says::Nothing);
    let engine = Engine::at(Address::parse(&fake.host, None).unwrap());
    for what in ["alive", "usage", "call", "stop", "close"] {
        let container = fake.container();
        let running = Running::new(engine.clone(), "feed".to_owned(), true, Some("/x".to_owned()), None);
        drop(container.put(&mut *container.0.state.lock().await, State::Running(running)));
        let asked = async {
            match what {
                "alive" => container.is_alive().await.map(drop),
                "usage" => container.usage().await.map(drop),
                "call" => container.start().await,
                "stop" => container.stop(true).await,
                _ => container.close().await,
            }
        };
        let answered = tokio::time::timeout(Duration::from_mins(10), asked).await;
        let error = answered.unwrap_or_else(|_| panic!("{what} never ends"));
        // One that somebody else holds is not asked to end.
        assert_eq!(error.is_err(), what != "close", "{what}");
    }
}

#[tokio::test]
async fn a_container_whose_making_was_not_heard_of_is_removed_and_blocks_nothing() {
    let mut fake = Fake::new(|question, times| match (question, times) {
        (CREATE, 1) => Says::Ends,
        (CREATE, 2) => Says::Answer("409 Conflict", "{}"),
        (CREATE, _) => Says::Answer("500 Oh", "{}"),
        _ => Says::Answer("204 No Content", ""),
    });
    let container = fake.container();
    assert_eq!(container.start().await.unwrap_err().kind(), ErrorKind::BackendUnavailable);
    fake.until("DELETE /containers/gloveport-ab").await;
    // Made after all, behind that: it goes, and another one is asked for.
    assert_eq!(container.start().await.unwrap_err().details().unwrap()["status"], 500);
    fake.until(CREATE).await;
    fake.until("DELETE /containers/gloveport-ab").await;
    fake.until(CREATE).await;
}

#[tokio::test]
async fn a_container_that_is_made_when_nobody_waits_any_more_is_removed() {
    let mut fake = Fake::new(|question, _| match question {
        CREATE => Says::Late("201 Created", r#"{"Id":"feed"}"#),
        _ => Says::Answer("204 No Content", ""),
    });
    let container = fake.container();
    let starting = tokio::spawn({
        let container = container.clone();
        async move { container.start().await }
    });
    fake.until(CREATE).await;
    container.close().await.unwrap();
    assert_eq!(starting.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    fake.late.notify_one();
    fake.until("DELETE /containers/feed").await;
}

/// A container of an engine that takes a guest, as far as it does.
fn with_guest(fake: &Fake, folder: &tempfile::TempDir) -> Container {
    let program = folder.path().join("guest");
    std::fs::write(&program, b"\x7fELF").unwrap();
    let options = DockerOptions {
        host: Some(fake.host.clone()),
        image: Some("x".to_owned()),
        guest: GuestProgram::from_paths([("none".to_owned(), program)]),
        ..DockerOptions::default()
    };
    Container::new(options, VirtualPath::absolute("/workspace").unwrap(), "ab".to_owned(), None)
}

/// 21: an upload that failed was taken for one that succeeded.
#[tokio::test]
async fn a_container_that_does_not_take_the_guest_is_an_error_and_does_not_stay() {
    let mut fake = Fake::new(|question, _| match question {
        CREATE => Says::Answer("201 Created", r#"{"Id":"feed"}"#),
        "GET /containers/feed/json" => Says::Answer("200 OK", "{}"),
        "PUT /containers/feed/archive" => Says::Answer("500 Oh", r#"{"message":"no space left"}"#),
        _ => Says::Answer("204 No Content", ""),
    });
    let folder = tempfile::tempdir().unwrap();
    let container = with_guest(&fake, &folder);
    let error = container.start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
    assert_eq!(error.details().unwrap()["message"], "no space left");
    assert_eq!(container.id(), None);
    fake.until("PUT /containers/feed/archive").await;
    fake.until("DELETE /containers/feed").await;
}

/// Podman's words; 2 of 20 containers that were stopped and started anew at once could not be used, on a machine with much to do.
#[tokio::test]
async fn an_engine_that_still_cleans_up_behind_a_container_is_asked_again() {
    const CLEANS_UP: &str =
        r#"{"message":"can only attach to created or running containers: container state improper"}"#;
    for (settles_at, said) in [(3, "no"), (usize::MAX, "container state improper")] {
        let mut fake = Fake::new(move |question, times| match question {
            CREATE => Says::Answer("201 Created", r#"{"Id":"feed"}"#),
            "GET /containers/feed/json" => Says::Answer("200 OK", "{}"),
            "POST /containers/feed/attach" if times < settles_at => Says::Answer("500 Oh", CLEANS_UP),
            "POST /containers/feed/attach" => Says::Answer("500 Oh", r#"{"message":"no"}"#),
            _ => Says::Answer("204 No Content", ""),
        });
        let folder = tempfile::tempdir().unwrap();
        let error = with_guest(&fake, &folder).start().await.unwrap_err();
        assert_eq!(error.to_string(), "The container engine refused to attach to a container.");
        let message = error.details().unwrap()["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with(said), "{message}");
        // 51 in 5 s, of one that never settles.
        for _ in 0..settles_at.min(51) {
            fake.until("POST /containers/feed/attach").await;
        }
        // Nothing else but its end follows the last.
        assert_eq!(fake.asked.recv().await.unwrap(), "DELETE /containers/feed");
    }
}

/// Podman fails at looking at a container that it just removes: a call that came behind a cut connection was refused by it.
#[tokio::test]
async fn a_container_that_an_engine_fails_to_look_at_is_looked_at_again() {
    const FAULT: (&str, &str) = ("500 Oh", r#"{"message":"container has already been removed"}"#);
    const MISSING: (&str, &str) = ("404 Not Found", "{}");
    const RUNNING: (&str, &str) = ("200 OK", r#"{"State":{"Status":"running"}}"#);
    let refused = |status: u16, message: &str| Err(serde_json::json!({ "status": status, "message": message }));
    for (faults, (code, body), told, looks) in [
        (0, RUNNING, Ok(Some(Status::Running)), 1),
        (1, RUNNING, Ok(Some(Status::Running)), 2),
        (5, RUNNING, Ok(Some(Status::Running)), 6),
        (6, RUNNING, refused(500, "container has already been removed"), 6),
        (1, MISSING, Ok(None), 2),
        // These it means.
        (0, MISSING, Ok(None), 1),
        (0, ("400 Bad Request", r#"{"message":"no"}"#), refused(400, "no"), 1),
        (0, ("409 Conflict", r#"{"message":"busy"}"#), refused(409, "busy"), 1),
    ] {
        let mut fake = Fake::new(move |question, times| match question {
            LOOK if times <= faults => Says::Answer(FAULT.0, FAULT.1),
            _ => Says::Answer(code, body),
        });
        let found = status(&fake.engine().await, "feed").await;
        let found = found.map_err(|error| {
            assert_eq!(error.to_string(), "The container engine refused to look at a container.");
            error.details().cloned().unwrap()
        });
        assert_eq!(found, told, "{faults} {code}");
        let asked: Vec<_> = std::iter::from_fn(|| fake.asked.try_recv().ok()).filter(|asked| asked == LOOK).collect();
        assert_eq!(asked.len(), looks, "{faults} {code}");
    }
}

fn running(engine: &Engine, held: bool) -> State {
    use super::client::Output;
    use super::container::Hold;
    let hold = Hold { input: Box::new(sink()), output: Output::new(Box::new(empty()), Vec::new()) };
    State::Running(Running::new(engine.clone(), "feed".to_owned(), true, None, held.then_some(hold)))
}

#[tokio::test]
async fn a_call_that_has_begun_is_not_idleness() {
    let mut fake = Fake::new(|_, _| Says::Answer("204 No Content", ""));
    let container = fake.container();
    let engine = fake.engine().await;
    container.put(&mut *container.0.state.lock().await, running(&engine, true));
    let busy = Busy::new(&container);
    assert!(!container.stop_if_idle(Duration::from_nanos(1)).await.unwrap());
    assert_eq!(container.id().as_deref(), Some("feed"));
    drop(busy);
    assert!(container.stop_if_idle(Duration::ZERO).await.unwrap());
    assert_eq!(container.id(), None);
    fake.until("DELETE /containers/feed").await;
}

#[tokio::test]
async fn only_who_holds_a_container_ends_it() {
    let mut fake = Fake::new(|_, _| Says::Answer("204 No Content", ""));
    let engine = fake.engine().await;
    for (held, purge) in [(false, false), (true, false), (false, true)] {
        let container = fake.container();
        container.put(&mut *container.0.state.lock().await, running(&engine, held));
        container.stop(purge).await.unwrap();
        let mut asked = Vec::new();
        while let Ok(question) = fake.asked.try_recv() {
            asked.push(question);
        }
        let ended = asked.iter().any(|question| question.starts_with("DELETE"));
        assert_eq!(ended, held || purge, "{asked:?}");
    }
}

const EXEC: &str = "POST /containers/feed/exec";

const LOOK: &str = "GET /containers/feed/json";

/// A container that runs, and `exec` as the answer to whoever begins something in it, the first time and later.
fn that_runs(exec: fn(usize) -> Says) -> Fake {
    Fake::new(move |question, times| match question {
        LOOK => Says::Answer("200 OK", r#"{"State":{"Status":"running"}}"#),
        EXEC => exec(times),
        _ => Says::Answer("204 No Content", ""),
    })
}

fn starts(container: &Container) -> tokio::task::JoinHandle<crate::error::Result<()>> {
    let container = container.clone();
    tokio::spawn(async move { container.start().await })
}

async fn until_calls(container: &Container, count: usize) {
    while container.calls() != count {
        tokio::task::yield_now().await;
    }
}

/// Each call waited its turn for a new connection, a minute each, and whoever stopped the container waited for all of them.
#[tokio::test]
async fn who_closes_or_stops_does_not_wait_for_a_connection_that_nobody_answers() {
    for close in [true, false] {
        let mut fake = that_runs(|_| Says::Nothing);
        let container = fake.container();
        container.put(&mut *container.0.state.lock().await, running(&fake.engine().await, true));
        let calls = [(); 3].map(|()| starts(&container));
        fake.until(EXEC).await;
        until_calls(&container, 3).await;
        let ended = async { if close { container.close().await } else { container.stop(false).await } };
        tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap().unwrap();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        }
        fake.until("DELETE /containers/feed").await;
    }
}

#[tokio::test]
async fn calls_that_wait_for_the_same_connection_share_its_failure_and_who_leaves_waits_no_more() {
    let mut fake = that_runs(|times| match times {
        1 => Says::Late("500 Oh", r#"{"message":"none"}"#),
        _ => Says::Answer("500 Oh", r#"{"message":"again"}"#),
    });
    let container = fake.container();
    container.put(&mut *container.0.state.lock().await, running(&fake.engine().await, true));
    let first = starts(&container);
    fake.until(EXEC).await;
    let [second, third, leaves] = [(); 3].map(|()| starts(&container));
    until_calls(&container, 4).await;
    leaves.abort();
    until_calls(&container, 3).await;
    fake.late.notify_one();
    for call in [first, second, third] {
        assert_eq!(call.await.unwrap().unwrap_err().details().unwrap()["message"], "none");
    }
    while let Ok(question) = fake.asked.try_recv() {
        assert_ne!(question, LOOK);
    }
    // A later one tries again.
    assert_eq!(container.start().await.unwrap_err().details().unwrap()["message"], "again");
    fake.until(LOOK).await;
}

/// An engine that was slow or away for a moment, and a container that was paused, were taken for its end.
#[tokio::test]
async fn only_what_has_ended_is_not_alive() {
    let status = |status: &'static str, body: &'static str| Some((status, body));
    for (said, alive) in [
        (status("200 OK", r#"{"State":{"Status":"running"}}"#), Some(true)),
        (status("200 OK", r#"{"State":{"Status":"paused"}}"#), Some(true)),
        (status("200 OK", r#"{"State":{"Status":"exited"}}"#), Some(false)),
        (status("404 Not Found", "{}"), Some(false)),
        (status("500 Oh", "{}"), None),
        (None, None),
    ] {
        let fake = Fake::new(move |_, _| match said {
            Some((status, body)) => Says::Answer(status, body),
            None => Says::Ends,
        });
        let container = fake.container();
        container.put(&mut *container.0.state.lock().await, running(&fake.engine().await, true));
        let answer = container.is_alive().await;
        match alive {
            Some(alive) => assert_eq!(answer.unwrap(), alive, "{said:?}"),
            None => {
                let error = answer.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
                assert_eq!(error.details().unwrap()["engine"], fake.host, "{said:?}");
            }
        }
    }
}

/// One that was stopped while its engine was asked is not handed out as one that lives.
#[tokio::test]
async fn what_is_stopped_while_it_is_looked_at_is_not_alive() {
    let mut fake = Fake::new(|question, _| match question {
        LOOK => Says::Late("200 OK", r#"{"State":{"Status":"running"}}"#),
        _ => Says::Answer("204 No Content", ""),
    });
    let container = fake.container();
    container.put(&mut *container.0.state.lock().await, running(&fake.engine().await, true));
    let looking = tokio::spawn({
        let container = container.clone();
        async move { container.is_alive().await }
    });
    fake.until(LOOK).await;
    container.stop(false).await.unwrap();
    fake.late.notify_one();
    assert!(!looking.await.unwrap().unwrap());
}

/// A search over a mount may take longer than an idle container is left alone, and so may a file that is read in pieces.
#[tokio::test]
async fn who_uses_a_mount_uses_the_container() {
    let mut fake = Fake::new(|_, _| Says::Answer("204 No Content", ""));
    let container = fake.container();
    let engine = fake.engine().await;
    container.put(&mut *container.0.state.lock().await, running(&engine, true));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "text").unwrap();
    let sandbox = Sandbox::new(vec![Mount::new(folder.path(), "/work")], folder.path()).unwrap();
    let options = LocalOptions { sandbox: Some(sandbox), execute: false, ..LocalOptions::default() };
    let commands = Remote::new(container.clone(), VirtualPath::absolute("/work").unwrap(), Limits::default());
    let mounts = Mounts::new(LocalBackend::new(options).unwrap(), commands);
    assert!(!mounts.writes());
    let a_while = Duration::from_nanos(1);
    let (call, path) = (Call::default(), VirtualPath::absolute("/work/a.txt").unwrap());

    let query = GrepQuery::new("text", VirtualPath::absolute("/work").unwrap());
    let search = mounts.grep(&query, &call);
    assert!(!container.stop_if_idle(a_while).await.unwrap());
    assert_eq!(search.await.unwrap().matches.len(), 1);
    let mut file = mounts.open_reader(&path, &call).await.unwrap();
    assert!(!container.stop_if_idle(a_while).await.unwrap());
    assert_eq!(file.read(0, 9, &call).await.unwrap(), b"text");
    drop(file);
    assert!(container.stop_if_idle(Duration::ZERO).await.unwrap());
    fake.until("DELETE /containers/feed").await;
}

#[tokio::test]
async fn an_engine_is_swept_once_and_nobody_waits_for_it() {
    let lists = "GET /containers/json";
    let mute = Fake::new(move |question, _| match question {
        question if question == lists => Says::Nothing,
        _ => Says::Answer("500 Oh", "{}"),
    });
    for _ in 0..2 {
        assert_eq!(mute.container().start().await.unwrap_err().details().unwrap()["status"], 500);
    }
    assert!(!sweep_once(&mute.engine().await));
    // One that failed is begun again.
    let broken = Fake::new(|_, _| Says::Ends);
    let engine = broken.engine().await;
    assert!(sweep_once(&engine));
    while !sweep_once(&engine) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_label_that_came_with_an_image_makes_no_container_ours() {
    let found = r#"{ "Id": "feed0123456789", "Name": "/x", "Image": "sha256:1", "State": { "Status": "exited" },
                     "Config": { "Labels": { "dev.gloveport.session": "ab" } } }"#;
    for (image, ours) in [
        ("{}", true),
        (r#"{ "Config": { "Labels": { "dev.gloveport.session": "cd" } } }"#, true),
        (r#"{ "Config": { "Labels": { "dev.gloveport.session": "ab" } } }"#, false),
        // An image that is gone says nothing.
        ("", false),
    ] {
        let mut fake = Fake::new(move |question, _| match question {
            "GET /containers/x/json" => Says::Answer("200 OK", found),
            "GET /images/sha256%3A1/json" if image.is_empty() => Says::Answer("404 Not Found", "{}"),
            "GET /images/sha256%3A1/json" => Says::Answer("200 OK", image),
            _ => Says::Answer("204 No Content", ""),
        });
        fake.container = Some("x".to_owned());
        fake.container().stop(true).await.unwrap();
        let mut removed = false;
        while let Ok(question) = fake.asked.try_recv() {
            removed |= question == "DELETE /containers/x";
        }
        assert_eq!(removed, ours, "{image}");
    }
}

/// An engine that runs the first command of a container, which makes the working directory, and says `second` to another.
fn one_command(second: fn() -> Says) -> Fake {
    Fake::new(move |question, times| match (question, times) {
        ("POST /containers/feed/exec", 1) => Says::Answer("201 Created", r#"{"Id":"1"}"#),
        ("POST /exec/1/start", _) => Says::Answer("101 UPGRADED", ""),
        ("GET /exec/1/json", _) => Says::Answer("200 OK", r#"{"ExitCode":0}"#),
        ("POST /containers/feed/exec", 2) => second(),
        // One byte of five of what a program says, and then nothing more.
        ("POST /exec/2/start", _) => Says::Answer("101 UPGRADED", "\u{1}\0\0\0\0\0\0\u{5}a"),
        _ => Says::Ends,
    })
}

async fn by_shell(fake: &Fake) -> Arc<dyn Backend> {
    let engine = fake.engine().await;
    let work_dir = VirtualPath::absolute("/workspace").unwrap();
    let (id, ceilings) = ("feed".to_owned(), CommandLimits::default());
    let place = by_shell::Place { engine, id, user: None, environment: Vec::new(), ceilings };
    by_shell::backend(place, work_dir, Limits::default()).await.unwrap()
}

#[tokio::test]
async fn by_shell_an_engine_that_does_not_answer_is_waited_for_no_longer_than_was_said() {
    let fake = one_command(|| Says::Nothing);
    let backend = by_shell(&fake).await;
    let mut request = ExecuteRequest::new("true");
    request.timeout = Some(Duration::from_millis(50));
    let outcome = backend.shell().unwrap().execute(request, &Call::default()).await.unwrap();
    assert_eq!((outcome.timed_out, outcome.exit_code), (true, None));
}

#[tokio::test]
async fn by_shell_an_engine_that_is_lost_is_no_end_of_a_command() {
    let fake = one_command(|| Says::Answer("201 Created", r#"{"Id":"2"}"#));
    let backend = by_shell(&fake).await;
    let error = backend.shell().unwrap().execute(ExecuteRequest::new("true"), &Call::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BackendUnavailable);
    assert!(error.message().contains("lost while a command ran"), "{error}");
}
