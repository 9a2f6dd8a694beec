//! A client of the engine's interface: HTTP/1.1, one connection a request, over whatever bytes travel on.
//!
//! ```text
//! transport.rs  a connection: a socket, a named pipe, or a program that speaks for us (ssh, TLS)
//! http.rs       a request out, an answer in, decoded without believing a byte of it
//! demux.rs      the output of a program inside: one stream of two
//! ```
//!
//! A library for this costs two megabytes of an addon that has six; what is needed of HTTP are fifteen requests to one
//! server, whose answers are small, and two that turn into a plain stream. Whatever holds the other end is bounded here:
//! a head, a line, an answer and a piece have a most, and everything that is waited for has a time.

mod demux;
#[cfg(fuzzing)]
pub mod fuzzing;
mod http;
mod transport;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

pub(super) use self::demux::Output;
use self::http::Answer;
pub(super) use self::transport::{Address, Tls};

/// 60 s for an answer to begin where the engine has little to do.
const ANSWER: Duration = Duration::from_secs(60);
/// 10 min without a word of a build or a pull: a step that compiles may say nothing for minutes, a lost engine never will.
const SILENCE: Duration = Duration::from_mins(10);
/// 64 KiB a second at least of what is sent, through whatever leads to the engine.
const BYTES_PER_SECOND: u64 = 64 << 10;
/// 16 MiB of one answer: a list of thousands of containers.
const ANSWER_BYTES: usize = 16 << 20;
/// 4 MiB of one message of a build or a pull: BuildKit sends up to 1 MiB of what programs print in one, in letters and with what
/// belongs to it.
const MESSAGE_BYTES: usize = 4 << 20;
/// 4 KiB of why something was refused.
const REASON_BYTES: usize = 4 << 10;
/// The version of the interface that is spoken, unless the engine's is older: engines refuse what they are much newer than.
const VERSION: (u32, u32) = (1, 44);

/// An engine that answered. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    address: Arc<Address>,
    version: (u32, u32),
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The engine says no.
    Refused {
        /// The number of HTTP.
        status: u16,
        /// In its own words, which may name places of its machine.
        message: String,
    },
    /// What it was doing failed in the middle.
    Broken(String),
    /// It cannot be reached, or was lost.
    Lost(&'static str),
    /// The program that leads to it brought no answer, and complained of this, which may name anything.
    Unled(String),
    /// What answers is no engine.
    Nonsense,
}

impl Failure {
    /// Nothing has that name.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// It is so already, or is being done.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 304 | 409, .. })
    }

    /// It could not, which says nothing against what it was asked.
    pub(super) fn is_fault(&self) -> bool {
        matches!(self, Self::Refused { status: 500.., .. })
    }
}

/// What a request carries.
pub(super) enum Payload<'a> {
    Nothing,
    Json(&'a Value),
    /// A tape archive.
    Archive(&'a [u8]),
}

impl Payload<'_> {
    /// Bytes that must travel, as far as they are many.
    fn bytes(&self) -> usize {
        match self {
            Self::Archive(bytes) => bytes.len(),
            Self::Nothing | Self::Json(_) => 0,
        }
    }
}

/// The time that so many bytes may take on their way.
pub(super) fn travel(bytes: usize) -> Duration {
    Duration::from_secs(bytes as u64 / BYTES_PER_SECOND)
}

/// Where input for a program inside goes; its end is a shut-down.
pub(super) type Input = Box<dyn AsyncWrite + Send + Unpin>;

impl Engine {
    /// One that was not asked yet.
    pub(super) fn at(address: Address) -> Self {
        Self { address: Arc::new(address), version: VERSION }
    }

    /// Asks whether an engine is there, and which version it speaks.
    pub(super) async fn hello(address: Address) -> Result<Self, Failure> {
        let mut engine = Self::at(address);
        let mut answer = engine.send("GET", "/_ping", &Payload::Nothing, false).await?;
        if answer.status != 200 {
            return Err(Failure::Nonsense);
        }
        let theirs = answer.api_version.as_deref().and_then(version).ok_or(Failure::Nonsense)?;
        engine.version = theirs.min(VERSION);
        answer.whole(REASON_BYTES).await?;
        Ok(engine)
    }

    /// Whether it is on another machine, as far as its address says.
    pub(super) fn is_far(&self) -> bool {
        self.address.is_far()
    }

    /// Where it is, for the author.
    pub(super) fn address(&self) -> String {
        match &*self.address {
            Address::Unix(path) => format!("unix://{}", path.display()),
            Address::Pipe(path) => format!("npipe:{path}"),
            Address::Tcp(place) => format!("tcp://{place}"),
            Address::Program(words) => words.join(" "),
        }
    }

    /// Tells it from other engines.
    pub(super) fn name(&self) -> String {
        format!("{:?}", self.address)
    }

    /// A request whose answer is a value; `Null` where there is none.
    pub(super) async fn ask(&self, method: &str, path: &Path, payload: Payload<'_>) -> Result<Value, Failure> {
        let asked = async {
            let mut answer = self.request(method, path, &payload, false).await?;
            let bytes = answer.whole(ANSWER_BYTES).await?;
            if bytes.is_empty() {
                Ok(Value::Null)
            } else {
                serde_json::from_slice(&bytes).map_err(|_| Failure::Nonsense)
            }
        };
        timeout(ANSWER + travel(payload.bytes()), asked).await.unwrap_or(Err(Failure::Lost("no answer in time")))
    }

    /// Asks for bytes, at most so many.
    pub(super) async fn bytes(&self, path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
        let asked = async { self.request("GET", path, &Payload::Nothing, false).await?.whole(most).await };
        timeout(ANSWER, asked).await.unwrap_or(Err(Failure::Lost("no answer in time")))
    }

    /// A request whose answer comes in messages, each handed to `hear` as it comes. It may take as long as it takes, but not
    /// without a word.
    pub(super) async fn follow(
        &self,
        path: &Path,
        payload: Payload<'_>,
        hear: impl FnMut(&Value) + Send,
    ) -> Result<(), Failure> {
        self.follow_within(SILENCE, path, payload, hear).await
    }

    async fn follow_within(
        &self,
        silence: Duration,
        path: &Path,
        payload: Payload<'_>,
        mut hear: impl FnMut(&Value) + Send,
    ) -> Result<(), Failure> {
        let silent = |_| Failure::Lost("it said nothing for too long");
        let mut answer = timeout(silence, self.request("POST", path, &payload, false)).await.map_err(silent)??;
        let mut line = Vec::new();
        while let Some(piece) = timeout(silence, answer.piece()).await.map_err(silent)?? {
            for byte in piece {
                if byte != b'\n' {
                    if line.len() == MESSAGE_BYTES {
                        return Err(Failure::Nonsense);
                    }
                    line.push(byte);
                    continue;
                }
                message(&line, &mut hear)?;
                line.clear();
            }
        }
        message(&line, &mut hear)
    }

    /// A request that turns the connection into the input and output of a program inside.
    pub(super) async fn attach(&self, path: &Path, payload: Payload<'_>) -> Result<(Output, Input), Failure> {
        let asked = timeout(ANSWER, self.request("POST", path, &payload, true));
        let answer = asked.await.unwrap_or(Err(Failure::Lost("no answer in time")))?;
        let (reader, rest, writer) = answer.into_stream();
        Ok((Output::new(reader, rest), writer))
    }

    async fn request(
        &self,
        method: &str,
        path: &Path,
        payload: &Payload<'_>,
        upgrade: bool,
    ) -> Result<Answer, Failure> {
        let path = format!("/v{}.{}{}", self.version.0, self.version.1, path.0);
        let mut answer = self.send(method, &path, payload, upgrade).await?;
        match answer.status {
            101 if upgrade => Ok(answer),
            200..=299 => Ok(answer),
            status => {
                let said = answer.whole(REASON_BYTES).await.unwrap_or_default();
                let said: Value = serde_json::from_slice(&said).unwrap_or_default();
                let message = said.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
                Err(Failure::Refused { status, message })
            }
        }
    }

    async fn send(&self, method: &str, path: &str, payload: &Payload<'_>, upgrade: bool) -> Result<Answer, Failure> {
        let json;
        let (kind, bytes): (_, &[u8]) = match payload {
            Payload::Nothing => (None, &[]),
            Payload::Json(value) => {
                json = value.to_string();
                (Some("application/json"), json.as_bytes())
            }
            Payload::Archive(bytes) => (Some("application/x-tar"), bytes),
        };
        let (reader, mut writer, complaint) = self.address.connect().await?;
        let head = http::request(method, path, kind, bytes.len(), upgrade);
        let answered = async {
            writer.write_all(head.as_bytes()).await.map_err(lost)?;
            // An engine that refuses before it has read all may close its end: what it says counts, not that.
            let written = async {
                writer.write_all(bytes).await?;
                writer.flush().await
            };
            let _: Result<(), std::io::Error> = written.await;
            Answer::read(reader, writer, upgrade, method == "HEAD").await
        };
        match (answered.await, complaint) {
            (Err(Failure::Lost(_)), Some(complaint)) => Err(Failure::Unled(complaint.text().await)),
            (answered, _) => answered,
        }
    }
}

fn message(line: &[u8], hear: &mut impl FnMut(&Value)) -> Result<(), Failure> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(line).map_err(|_| Failure::Nonsense)?;
    let failed = value.pointer("/errorDetail/message").or_else(|| value.get("error")).and_then(Value::as_str);
    if let Some(failed) = failed {
        return Err(Failure::Broken(failed.to_owned()));
    }
    hear(&value);
    Ok(())
}

fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn lost(error: std::io::Error) -> Failure {
    Failure::Lost(match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such socket",
        std::io::ErrorKind::PermissionDenied => {
            "this user may not use the socket (membership of the group `docker` would help)"
        }
        std::io::ErrorKind::ConnectionRefused => "nobody listens there",
        std::io::ErrorKind::TimedOut => "no answer in time",
        _ => "the connection broke",
    })
}

/// A path of the interface with its query. What is not ours is escaped: a name can neither leave its place nor add to the
/// query.
pub(super) struct Path(String);

impl Path {
    /// As it is sent.
    #[cfg(test)]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// A path of our own words.
    pub(super) fn new(words: &str) -> Self {
        Self(words.to_owned())
    }

    /// `/{name}` behind it; `/` in a name stays where `images` have some.
    pub(super) fn name(mut self, name: &str) -> Self {
        self.0.push('/');
        escape(&mut self.0, name, "/");
        self
    }

    /// A word of our own behind it.
    pub(super) fn then(mut self, words: &str) -> Self {
        self.0.push('/');
        self.0.push_str(words);
        self
    }

    /// One more parameter.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0.push_str(name);
        self.0.push('=');
        escape(&mut self.0, value, "");
        self
    }
}

fn escape(text: &mut String, value: &str, plain: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || plain.as_bytes().contains(&byte) {
            text.push(byte as char);
        } else {
            // Writing into a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests;
