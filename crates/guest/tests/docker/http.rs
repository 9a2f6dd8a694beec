//! What the tests serve to the engine and to its containers by HTTP: a mirror of packages, a registry of images.
//!
//! The engine's network is apart from the machine's and leads nowhere, so that is where this listens: for the engine itself on
//! loopback, for what it builds and runs on its usual network at the machine's end of it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

/// In the words of a registry of images; nobody else reads them.
const NOTHING: &str = r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#;

/// What is answered to one path.
pub(crate) struct Page {
    pub(crate) kind: &'static str,
    /// Further lines of the head, each with its end.
    pub(crate) head: String,
    pub(crate) bytes: Vec<u8>,
}

impl Page {
    pub(crate) fn new(kind: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { kind, head: String::new(), bytes: bytes.into() }
    }

    /// What never changes under its name, as files of a release.
    pub(crate) fn for_ever(bytes: impl Into<Vec<u8>>) -> Self {
        // Without a date nothing is kept, and there is no clock of days here: a hundred years since the first of them.
        let head = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nCache-Control: max-age=3153600000, immutable\r\n".to_owned();
        Self { head, ..Self::new("application/octet-stream", bytes) }
    }
}

/// A server, until the test ends.
pub(crate) struct Served {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Served {
    /// Serves these pages, by their paths; they may name the port.
    pub(crate) fn start(pages: impl FnOnce(u16) -> BTreeMap<String, Page>) -> Self {
        let listener = where_the_engine_is(|| TcpListener::bind("0.0.0.0:0").unwrap());
        let port = listener.local_addr().unwrap().port();
        let (pages, asked) = (Arc::new(pages(port)), Arc::default());
        let served = Self { port, asked: Arc::clone(&asked) };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (pages, asked) = (Arc::clone(&pages), Arc::clone(&asked));
                // Whoever asks may go away before the end.
                thread::spawn(move || stream.and_then(|stream| answer(stream, &pages, &asked)));
            }
        });
        served
    }

    /// The paths that somebody asked for since this was called last.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// Where containers find it.
pub(crate) fn gateway() -> String {
    std::env::var("GLOVEPORT_TEST_GATEWAY").unwrap()
}

/// Runs it in the network of the engine: a thread of its own, which keeps none of that.
pub(crate) fn where_the_engine_is<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let network = std::fs::File::open(std::env::var("GLOVEPORT_TEST_NETWORK").unwrap()).unwrap();
    let entered = || {
        let kind = Some(rustix::thread::LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&network), kind).unwrap();
        run()
    };
    thread::scope(|scope| scope.spawn(entered).join().unwrap())
}

/// One question and its answer.
fn answer(mut stream: TcpStream, pages: &BTreeMap<String, Page>, asked: &Mutex<Vec<String>>) -> Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    asked.lock().unwrap().push(path.to_owned());
    let (status, page) = match pages.get(path) {
        Some(page) => ("200 OK", page),
        None => ("404 Not Found", &Page::new("application/json", NOTHING)),
    };
    let Page { kind, head, bytes } = page;
    let length = bytes.len();
    let rest = format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n{head}Connection: close\r\n\r\n");
    stream.write_all(format!("HTTP/1.1 {status}\r\n{rest}").as_bytes())?;
    if method != "HEAD" {
        stream.write_all(bytes)?;
    }
    Ok(())
}

/// What a program of this machine makes of its input.
pub(crate) fn made_by(program: &str, arguments: &[&str], folder: &std::path::Path) -> Vec<u8> {
    let Output { status, stdout, stderr } = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&stderr));
    stdout
}

/// As registries name contents.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("content"), bytes).unwrap();
    let said = String::from_utf8(made_by("sha256sum", &["content"], folder.path())).unwrap();
    format!("sha256:{}", said.split(' ').next().unwrap())
}
