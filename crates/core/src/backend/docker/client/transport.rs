//! A connection to an engine.
//!
//! Sockets and named pipes are opened here. Where more is needed (a login on another machine, TLS) a program that people
//! have set up for it anyway speaks for us, as the engine's own client does it: `ssh … docker system dial-stdio`, and for TLS
//! `docker … system dial-stdio`. No keys and no cryptography in this process.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::http::{Reader, Writer};
use super::{Failure, lost};
use crate::text::ansi;

/// Where an engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::backend::docker) enum Address {
    /// A socket of this machine.
    Unix(PathBuf),
    /// A named pipe of Windows.
    Pipe(String),
    /// `host:port`, in the clear.
    Tcp(String),
    /// A program whose input and output are the connection.
    Program(Vec<String>),
}

/// How to be sure of a machine that is reached by TLS, and how it can be sure of us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::backend::docker) struct Tls {
    /// A folder with `ca.pem`, `cert.pem` and `key.pem`, or some of them.
    pub(in crate::backend::docker) folder: PathBuf,
    /// Whether its certificate is checked.
    pub(in crate::backend::docker) verify: bool,
}

/// 2 s for the rest of it, once the program has closed its output: it ends then, or leaves another one in its place that says nothing.
const COMPLAINT: Duration = Duration::from_secs(2);

/// What a program that speaks for us says beside that, as far as it has come.
#[cfg_attr(not(unix), allow(dead_code, reason = "no program speaks for us there"))]
pub(super) struct Complaint(watch::Receiver<Vec<u8>>);

impl Complaint {
    /// The end of it, once the connection has come to nothing; empty where the program said nothing.
    pub(super) async fn text(mut self) -> String {
        // It is whole when nobody adds to it any more; what is there counts where that takes too long.
        let _ = timeout(COMPLAINT, async { while self.0.changed().await.is_ok() {} }).await;
        ansi::strip(String::from_utf8_lossy(&self.0.borrow()).trim())
    }
}

/// 30 s to connect, and 3 times 15 s without an answer: a machine that went away without a word is lost then, and so is what waits for it.
const SSH: &str = "ssh -T -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=3";

const FORMS: &str = "an address is unix://…, tcp://host:port, ssh://user@host or npipe://…";

impl Address {
    /// What `text` says. The reason where it says nothing, or what cannot be done here.
    pub(in crate::backend::docker) fn parse(text: &str, tls: Option<&Tls>) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").ok_or(FORMS)?;
        match scheme {
            "unix" if rest.starts_with('/') => Ok(Self::Unix(rest.into())),
            "npipe" => Ok(Self::Pipe(rest.replace('/', "\\"))),
            "tcp" | "http" | "https" => {
                let place = rest.trim_end_matches('/');
                if !is_place(place) {
                    return Err(FORMS.to_owned());
                }
                match (scheme, tls) {
                    ("https", None) => {
                        Err("TLS needs certificates: set DOCKER_CERT_PATH, or use a Docker context".to_owned())
                    }
                    (_, Some(tls)) => Ok(Self::Program(by_docker(place, tls))),
                    (_, None) => Ok(Self::Tcp(place.to_owned())),
                }
            }
            "ssh" => by_ssh(rest).map(Self::Program).ok_or_else(|| FORMS.to_owned()),
            _ => Err(FORMS.to_owned()),
        }
    }

    /// The program that speaks for us.
    pub(in crate::backend::docker) fn program(&self) -> Option<&str> {
        match self {
            Self::Program(words) => words.first().map(String::as_str),
            Self::Unix(_) | Self::Pipe(_) | Self::Tcp(_) => None,
        }
    }

    /// Whether it leads to another machine, as far as it says.
    pub(super) fn is_far(&self) -> bool {
        match self {
            Self::Unix(_) | Self::Pipe(_) => false,
            Self::Tcp(place) => {
                let host = place.rsplit_once(':').map_or(place.as_str(), |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']');
                host != "localhost" && !host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
            }
            Self::Program(_) => true,
        }
    }

    /// A connection, and what its program complains of where there is one.
    pub(super) async fn connect(&self) -> Result<(Reader, Writer, Option<Complaint>), Failure> {
        match self {
            #[cfg(unix)]
            Self::Unix(path) => {
                let (reader, writer) = tokio::net::UnixStream::connect(path).await.map_err(lost)?.into_split();
                Ok((Box::new(reader), Box::new(writer), None))
            }
            #[cfg(not(unix))]
            Self::Unix(_) => Err(Failure::Lost("this system has no such sockets")),
            #[cfg(windows)]
            Self::Pipe(name) => {
                let pipe = tokio::net::windows::named_pipe::ClientOptions::new().open(name).map_err(lost)?;
                let (reader, writer) = tokio::io::split(pipe);
                Ok((Box::new(reader), Box::new(writer), None))
            }
            #[cfg(not(windows))]
            Self::Pipe(_) => Err(Failure::Lost("this system has no named pipes")),
            Self::Tcp(place) => {
                let stream = tokio::net::TcpStream::connect(place.as_str()).await.map_err(lost)?;
                // Small questions and answers: waiting for more to send costs 40 ms each.
                let _ = stream.set_nodelay(true);
                let (reader, writer) = stream.into_split();
                Ok((Box::new(reader), Box::new(writer), None))
            }
            #[cfg(unix)]
            Self::Program(words) => program::connect(words.clone()).await,
            #[cfg(not(unix))]
            Self::Program(_) => Err(Failure::Lost("ssh and TLS are not spoken on this system")),
        }
    }
}

/// `host:port`, nothing that a program could take for an option or a shell for more than a word.
fn is_place(place: &str) -> bool {
    let Some((host, port)) = place.rsplit_once(':') else { return false };
    port.parse::<u16>().is_ok() && is_host(host.trim_start_matches('[').trim_end_matches(']'))
}

fn is_host(host: &str) -> bool {
    let first = host.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b':');
    first && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte))
}

fn by_docker(place: &str, tls: &Tls) -> Vec<String> {
    let mut words = vec!["docker".to_owned(), format!("--host=tcp://{place}")];
    words.push(if tls.verify { "--tlsverify" } else { "--tls" }.to_owned());
    let there = |file: &str| Some(tls.folder.join(file)).filter(|path| path.is_file());
    for (option, file) in [("--tlscacert", "ca.pem"), ("--tlscert", "cert.pem"), ("--tlskey", "key.pem")] {
        let word = match there(file) {
            Some(path) => format!("{option}={}", path.display()),
            // With nothing at all it would speak in the clear; a file that is not there is an error.
            None if tls.verify && file == "ca.pem" && there("cert.pem").is_none() => {
                format!("{option}={}", tls.folder.join(file).display())
            }
            // Said to be none: what is not said is taken from this user's own certificates, which are another engine's business.
            None => format!("{option}=\"\""),
        };
        words.push(word);
    }
    words.extend(["system".to_owned(), "dial-stdio".to_owned()]);
    words
}

/// `[user@]host[:port][/path/of/the/socket]`.
fn by_ssh(rest: &str) -> Option<Vec<String>> {
    let (place, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (user, place) = place.rsplit_once('@').map_or((None, place), |(user, place)| (Some(user), place));
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse::<u16>().ok()?)),
        None => (place, None),
    };
    // Nobody is there to be asked for a password.
    let mut words: Vec<String> = SSH.split(' ').map(str::to_owned).collect();
    if let Some(user) = user {
        if !is_host(user) {
            return None;
        }
        words.extend(["-l".to_owned(), user.to_owned()]);
    }
    if let Some(port) = port {
        words.extend(["-p".to_owned(), port.to_string()]);
    }
    if !is_host(host) {
        return None;
    }
    words.extend(["--".to_owned(), host.to_owned(), "docker".to_owned()]);
    let path = path.trim_end_matches('/');
    if !path.is_empty() {
        // A shell of the other machine reads this.
        if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)) {
            return None;
        }
        words.push(format!("--host=unix://{path}"));
    }
    words.extend(["system".to_owned(), "dial-stdio".to_owned()]);
    Some(words)
}

#[cfg(unix)]
mod program {
    use std::io::Result as IoResult;
    use std::os::fd::OwnedFd;
    use std::os::unix::process::CommandExt;
    use std::pin::Pin;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
    use tokio::net::unix::pipe;
    use tokio::sync::watch;

    use super::super::http::{Reader, Writer};
    use super::super::{Failure, lost};
    use super::Complaint;

    /// 2 KiB of what a program complained of last: `ssh` says why in a line or in twenty.
    const COMPLAINT_BYTES: usize = 2 << 10;

    /// Starts a program and speaks through it. It is ended when neither direction is held any more.
    pub(super) async fn connect(words: Vec<String>) -> Result<(Reader, Writer, Option<Complaint>), Failure> {
        let started = tokio::task::spawn_blocking(move || start(&words)).await;
        let mut child = started.map_err(|_| Failure::Nonsense)?.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::Lost("that program is not installed"),
            _ => lost(error),
        })?;
        let ends = child.stdout.take().zip(child.stdin.take()).zip(child.stderr.take());
        let running = Arc::new(Running(Some(child)));
        let ((output, input), errors) = ends.ok_or(Failure::Nonsense)?;
        let complaint = heard(pipe::Receiver::from_owned_fd(OwnedFd::from(errors)).map_err(lost)?);
        let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(output)).map_err(lost)?;
        let writer = pipe::Sender::from_owned_fd(OwnedFd::from(input)).map_err(lost)?;
        let reader = From { reader, _running: Arc::clone(&running) };
        Ok((Box::new(reader), Box::new(To { writer: Some(writer), _running: running }), Some(complaint)))
    }

    /// Keeps the end of what comes, until nothing can come any more: a program whose words nobody takes would wait, or die of it.
    fn heard(mut from: pipe::Receiver) -> Complaint {
        let (keep, kept) = watch::channel(Vec::new());
        tokio::spawn(async move {
            let mut piece = [0; COMPLAINT_BYTES];
            while let Ok(read @ 1..) = from.read(&mut piece).await {
                keep.send_modify(|said| {
                    said.extend_from_slice(&piece[..read]);
                    said.drain(..said.len().saturating_sub(COMPLAINT_BYTES));
                });
            }
        });
        Complaint(kept)
    }

    fn start(words: &[String]) -> IoResult<Child> {
        let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What it complains of is not for the application's terminal.
            .stderr(Stdio::piped())
            // A Ctrl-C there is not for it.
            .process_group(0)
            .spawn()
    }

    struct Running(Option<Child>);

    impl Drop for Running {
        fn drop(&mut self) {
            let Some(mut child) = self.0.take() else { return };
            let mut end = move || {
                let _ = child.kill();
                let _ = child.wait();
            };
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                drop(runtime.spawn_blocking(end));
            } else {
                end();
            }
        }
    }

    struct From {
        reader: pipe::Receiver,
        _running: Arc<Running>,
    }

    impl AsyncRead for From {
        fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<IoResult<()>> {
            Pin::new(&mut self.reader).poll_read(context, out)
        }
    }

    /// The program's input; shut down it is closed, which a pipe alone does not know.
    struct To {
        writer: Option<pipe::Sender>,
        _running: Arc<Running>,
    }

    impl AsyncWrite for To {
        fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<IoResult<usize>> {
            match &mut self.writer {
                Some(writer) => Pin::new(writer).poll_write(context, bytes),
                None => Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into())),
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<IoResult<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<IoResult<()>> {
            self.writer = None;
            Poll::Ready(Ok(()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(address: &str) -> String {
        match Address::parse(address, None) {
            Ok(Address::Program(words)) => words.join(" "),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn addresses_are_understood_or_refused() {
        assert_eq!(Address::parse("unix:///run/x.sock", None), Ok(Address::Unix("/run/x.sock".into())));
        assert_eq!(Address::parse("tcp://10.0.0.1:2375/", None), Ok(Address::Tcp("10.0.0.1:2375".to_owned())));
        assert_eq!(Address::parse("tcp://[::1]:2375", None), Ok(Address::Tcp("[::1]:2375".to_owned())));
        assert_eq!(
            Address::parse("npipe:////./pipe/docker_engine", None),
            Ok(Address::Pipe("\\\\.\\pipe\\docker_engine".to_owned()))
        );
        let ssh = "ssh -T -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=3";
        assert_eq!(words("ssh://machine"), format!("{ssh} -- machine docker system dial-stdio"));
        assert_eq!(
            words("ssh://me@machine:22/run/user/1/docker.sock"),
            format!("{ssh} -l me -p 22 -- machine docker --host=unix:///run/user/1/docker.sock system dial-stdio")
        );
        for bad in [
            "machine",
            "unix://relative",
            "tcp://machine",
            "tcp://-x:1",
            "https://machine:2376",
            "ssh://-oProxyCommand=x",
            "ssh://-x@machine",
            "ssh://machine/a b",
            "ssh://machine/$(x)",
            "ssh://machine:x",
            "ssh://",
            "ftp://machine:1",
        ] {
            assert!(Address::parse(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_engine_is_far_unless_it_is_of_this_machine() {
        for (address, far) in [
            ("unix:///run/x.sock", false),
            ("tcp://127.0.0.1:2375", false),
            ("tcp://localhost:2375", false),
            ("tcp://[::1]:2375", false),
            ("tcp://10.0.0.1:2375", true),
            ("tcp://machine:2375", true),
            ("ssh://machine", true),
        ] {
            assert_eq!(Address::parse(address, None).unwrap().is_far(), far, "{address}");
        }
    }

    #[test]
    fn tls_is_spoken_by_the_engines_client() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), "").unwrap();
        let mut tls = Tls { folder: folder.path().to_owned(), verify: true };
        let ca = folder.path().join("ca.pem");
        let expected = |verify: &str, ca: &str| {
            let words = ["docker", "--host=tcp://machine:2376", verify, &format!("--tlscacert={ca}")];
            // None of its own: then none at all.
            let none = ["--tlscert=\"\"", "--tlskey=\"\""];
            Ok(Address::Program(
                [&words[..], &none, &["system", "dial-stdio"]].concat().iter().map(|&w| w.to_owned()).collect(),
            ))
        };
        let ca = ca.display().to_string();
        assert_eq!(Address::parse("tcp://machine:2376", Some(&tls)), expected("--tlsverify", &ca));
        tls.verify = false;
        assert_eq!(Address::parse("https://machine:2376", Some(&tls)), expected("--tls", &ca));
        // With nothing to be sure by, a file that is not there is an error, and nobody's authority is ours.
        std::fs::remove_file(&ca).unwrap();
        assert_eq!(Address::parse("https://machine:2376", Some(&tls)), expected("--tls", "\"\""));
        tls.verify = true;
        assert_eq!(Address::parse("https://machine:2376", Some(&tls)), expected("--tlsverify", &ca));
    }
}
