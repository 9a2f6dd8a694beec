//! [`Peer`]: a place (and perhaps a shell) made of questions that code of the application answers, in the terms of the
//! TypeScript `Backend`.
//!
//! Nothing of an answer is believed: types, sizes, counts and names are checked here, and what is wrong is
//! `BackendUnavailable` with the method named. A question that is given up is withdrawn, so that the application can stop
//! working on it; whether it does makes no difference here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::place::{Abilities, Entry, Place, cannot_error};
use crate::backend::{
    Background, BoxFuture, Call, CommandLimits, ExecuteOutcome, ExecuteRequest, FileKind, OutputChunk, Shell, Stream,
};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;

/// 30 s for one question about files (BE-64).
pub(super) const FILE_TIMEOUT: Duration = Duration::from_secs(30);
/// 5 s more than a command was given, for the application to end it and to tell what it printed.
const COMMAND_GRACE: Duration = Duration::from_secs(5);
/// 100,000 entries of one directory.
const MAX_ENTRIES: usize = 100_000;
/// 64 MiB of output of one command.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// 10,000 pages of one file.
const MAX_PAGES: usize = 10_000;

/// One question: a method of the TypeScript `Backend` and its arguments.
pub struct Question {
    /// Names the question, to withdraw it.
    pub id: u64,
    /// The method.
    pub method: &'static str,
    /// Its arguments, in order, as a JSON array.
    pub arguments: Value,
    /// What is written; the method's second argument.
    pub content: Option<Payload>,
    /// Bytes of content that the answer may have at most.
    pub max_bytes: u64,
}

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// Text that is UTF-8.
    Text(String),
    /// Bytes that are not.
    Bytes(Vec<u8>),
}

/// What the application answered.
#[derive(Debug, Default)]
pub struct Answer {
    /// Structured values.
    pub value: Option<Value>,
    /// Content of a file.
    pub content: Option<Payload>,
}

/// Whoever answers.
pub trait Questions: Send + Sync {
    /// Puts a question. The future may never end; it is dropped then.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer>>;
    /// Says that nobody waits for the answer any more.
    fn withdraw(&self, id: u64);
}

/// A place whose methods an application wrote.
pub struct Peer {
    questions: Arc<dyn Questions>,
    methods: Vec<String>,
}

/// The commands of a [`Peer`].
pub struct PeerShell(Arc<Peer>);

/// Withdraws a question unless it was answered.
struct Outstanding<'a> {
    questions: &'a dyn Questions,
    id: Option<u64>,
}

impl Drop for Outstanding<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.questions.withdraw(id);
        }
    }
}

impl Peer {
    /// A place whose application has the named methods.
    pub fn new(questions: Arc<dyn Questions>, methods: Vec<String>) -> Self {
        Self { questions, methods }
    }

    /// Whether files can be read at all.
    pub fn reads(&self) -> bool {
        self.has("readBytes") || self.has("read")
    }

    /// Its commands, if it runs any.
    pub fn shell(self: &Arc<Self>) -> Option<PeerShell> {
        self.has("execute").then(|| PeerShell(Arc::clone(self)))
    }

    fn has(&self, method: &str) -> bool {
        self.methods.iter().any(|known| known == method)
    }

    async fn ask(
        &self,
        method: &'static str,
        arguments: Value,
        content: Option<Payload>,
        max_bytes: u64,
        deadline: &Deadline,
    ) -> Result<Answer> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        deadline.check()?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut outstanding = Outstanding { questions: &*self.questions, id: Some(id) };
        let asked = self.questions.ask(Question { id, method, arguments, content, max_bytes });
        let answer = tokio::select! {
            biased;
            answer = asked => answer,
            error = deadline.reached() => return Err(error),
        };
        outstanding.id = None;
        answer
    }

    async fn ask_file(
        &self,
        method: &'static str,
        arguments: Value,
        content: Option<Payload>,
        deadline: &Deadline,
    ) -> Result<Answer> {
        self.ask(method, arguments, content, 0, &deadline.within(FILE_TIMEOUT)).await
    }

    /// The entry named like `path` in the listing of its parent.
    async fn listed(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Option<Entry>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        match self.entries(&parent, deadline).await {
            Ok(entries) => Ok(entries.into_iter().find(|entry| entry.name == name)),
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn entries(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Vec<Entry>> {
        let answer = self.ask_file("ls", json!([path.as_str()]), None, deadline).await?;
        let Some(Value::Array(items)) = answer.value else { return Err(wrong("ls", "it is no array")) };
        if items.len() > MAX_ENTRIES {
            return Err(wrong("ls", &format!("it has more than {MAX_ENTRIES} entries")));
        }
        let mut entries = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let place = format!("entry {index}");
            let name = match (item.get("path").and_then(Value::as_str), item.get("name").and_then(Value::as_str)) {
                (Some(given), _) => {
                    let given =
                        VirtualPath::parse(given, path).map_err(|_| wrong("ls", &format!("{place} has no path")))?;
                    // A file lists itself.
                    if given == *path {
                        continue;
                    }
                    match given.relative_to(path) {
                        Some(name) if !name.contains('/') => name.to_owned(),
                        Some(_) | None => return Err(wrong("ls", &format!("{place} does not lie in the directory"))),
                    }
                }
                (None, Some(name)) => name.to_owned(),
                (None, None) => return Err(wrong("ls", &format!("{place} has neither name nor path"))),
            };
            path.join(&name).map_err(|_| wrong("ls", &format!("{place} has a name that is none")))?;
            entries.push(entry(item, name, "ls", &place)?);
        }
        Ok(entries)
    }

    /// A whole text by `read`, page by page where it comes in pages.
    async fn pages(&self, path: &VirtualPath, max_bytes: u64, deadline: &Deadline) -> Result<Vec<u8>> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut offset = 0;
        for _ in 0..MAX_PAGES {
            let options = if offset == 0 { json!({}) } else { json!({ "offset": offset }) };
            let answer = self.ask("read", json!([path.as_str(), options]), None, max_bytes, deadline).await?;
            match answer.content {
                Some(Payload::Text(text)) => bytes.extend_from_slice(text.as_bytes()),
                Some(Payload::Bytes(more)) => bytes.extend_from_slice(&more),
                None => return Err(wrong("read", "it has no content")),
            }
            if bytes.len() as u64 > max_bytes {
                return Ok(bytes);
            }
            let value = answer.value.unwrap_or_default();
            let truncated = value.get("truncated").and_then(Value::as_bool).unwrap_or(false);
            match value.get("nextOffset").and_then(Value::as_u64) {
                None if truncated => return Err(wrong("read", "it is cut, and does not say where to read on")),
                None => return Ok(bytes),
                Some(next) if next > offset => offset = next,
                Some(_) => return Err(wrong("read", "its pages do not advance")),
            }
        }
        Err(wrong("read", "it has no end"))
    }
}

impl Place for Peer {
    fn abilities(&self) -> Abilities {
        Abilities {
            list: self.has("ls"),
            ranges: false,
            links: false,
            batches: false,
            write: self.has("write"),
            append: self.has("append"),
            make_directory: self.has("mkdir"),
            remove: self.has("remove"),
            rename: self.has("move"),
            copy: self.has("copy"),
        }
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Option<Entry>>> {
        Box::pin(async move {
            if self.has("stat") {
                let name = path.file_name().unwrap_or("/").to_owned();
                return match self.ask_file("stat", json!([path.as_str()]), None, deadline).await {
                    Ok(Answer { value: None | Some(Value::Null), .. }) => Ok(None),
                    Ok(Answer { value: Some(value), .. }) => Ok(Some(entry(&value, name, "stat", "it")?)),
                    Err(error) if is_nothing(&error) => Ok(None),
                    Err(error) => Err(error),
                };
            }
            if self.has("ls") {
                return self.listed(path, deadline).await;
            }
            match self.read(path, 0, u64::MAX, deadline).await {
                Ok(bytes) => {
                    let name = path.file_name().unwrap_or("/");
                    Ok(Some(Entry { size: bytes.len() as u64, ..Entry::new(name, FileKind::File) }))
                }
                Err(error) if error.kind() == ErrorKind::NotAFile => {
                    Ok(Some(Entry::new(path.file_name().unwrap_or("/"), FileKind::Directory)))
                }
                Err(error) if is_nothing(&error) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Vec<Entry>>> {
        if !self.has("ls") {
            return super::place::cannot("list directories", path);
        }
        Box::pin(self.entries(path, deadline))
    }

    fn read<'a>(
        &'a self,
        path: &'a VirtualPath,
        _from: u64,
        length: u64,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let deadline = deadline.within(FILE_TIMEOUT);
            let mut bytes = if self.has("readBytes") {
                let answer = self.ask("readBytes", json!([path.as_str()]), None, length, &deadline).await?;
                match answer.content {
                    Some(Payload::Bytes(bytes)) => bytes,
                    Some(Payload::Text(text)) => text.into_bytes(),
                    None => return Err(wrong("readBytes", "it has no bytes")),
                }
            } else if self.has("read") {
                self.pages(path, length, &deadline).await?
            } else {
                return Err(cannot_error("read files", path));
            };
            bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
            Ok(bytes)
        })
    }

    fn write<'a>(
        &'a self,
        path: &'a VirtualPath,
        content: Vec<u8>,
        _mode: Option<u32>,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.ask_file("write", json!([path.as_str()]), Some(payload(content)), deadline).await.map(drop)
        })
    }

    fn append<'a>(
        &'a self,
        path: &'a VirtualPath,
        content: Vec<u8>,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.ask_file("append", json!([path.as_str()]), Some(payload(content)), deadline).await.map(drop)
        })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<()>> {
        if !self.has("mkdir") {
            return super::place::cannot("make directories", path);
        }
        Box::pin(async move { self.ask_file("mkdir", json!([path.as_str()]), None, deadline).await.map(drop) })
    }

    fn remove<'a>(
        &'a self,
        path: &'a VirtualPath,
        recursive: bool,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        if !self.has("remove") {
            return super::place::cannot("remove", path);
        }
        Box::pin(async move {
            let arguments = json!([path.as_str(), { "recursive": recursive }]);
            self.ask_file("remove", arguments, None, deadline).await.map(drop)
        })
    }

    fn rename<'a>(
        &'a self,
        from: &'a VirtualPath,
        to: &'a VirtualPath,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(
            async move { self.ask_file("move", json!([from.as_str(), to.as_str()]), None, deadline).await.map(drop) },
        )
    }

    fn copy<'a>(
        &'a self,
        from: &'a VirtualPath,
        to: &'a VirtualPath,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(
            async move { self.ask_file("copy", json!([from.as_str(), to.as_str()]), None, deadline).await.map(drop) },
        )
    }
}

impl Shell for PeerShell {
    fn execute<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>> {
        Box::pin(async move {
            // What cannot be enforced here, and may not be there, is refused.
            if request.limits != CommandLimits::default() || request.background != Background::End {
                let message = "This backend cannot promise limits for a command, nor what becomes of its processes.";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let mut options = json!({});
            if let Some(timeout) = request.timeout {
                options["timeout"] = json!(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
            }
            if let Some(directory) = &request.working_directory {
                options["cwd"] = json!(directory.as_str());
            }
            if !request.environment.is_empty() {
                let variables: serde_json::Map<_, _> =
                    request.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
                options["env"] = Value::Object(variables);
            }
            let deadline = match request.timeout {
                Some(timeout) => call.deadline.within(timeout.saturating_add(COMMAND_GRACE)),
                None => call.deadline.clone(),
            };
            let stdin = request.stdin.map(payload);
            let started = Instant::now();
            let answer = self.0.ask("execute", json!([request.command, options]), stdin, 0, &deadline).await;
            let mut outcome = match answer {
                Ok(answer) => outcome(&answer.value.unwrap_or_default())?,
                Err(error) if matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Aborted) => ExecuteOutcome {
                    timed_out: error.kind() == ErrorKind::Timeout,
                    aborted: error.kind() == ErrorKind::Aborted,
                    ..ExecuteOutcome::default()
                },
                Err(error) => return Err(error),
            };
            outcome.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            if let Some(sink) = &request.on_output {
                for (stream, text) in [(Stream::Stdout, &outcome.stdout), (Stream::Stderr, &outcome.stderr)] {
                    if !text.is_empty() {
                        sink(OutputChunk { stream, text: text.clone() });
                    }
                }
            }
            Ok(outcome)
        })
    }
}

fn payload(content: Vec<u8>) -> Payload {
    String::from_utf8(content).map_or_else(|error| Payload::Bytes(error.into_bytes()), Payload::Text)
}

/// Whether an error says that nothing is there.
fn is_nothing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::FileNotFound | ErrorKind::NotADirectory)
}

fn wrong(method: &str, why: &str) -> Error {
    Error::new(ErrorKind::BackendUnavailable, format!("The backend gave a wrong answer to `{method}`: {why}."))
}

fn entry(value: &Value, name: String, method: &str, place: &str) -> Result<Entry> {
    let kind = match value.get("type").and_then(Value::as_str) {
        Some("file") => FileKind::File,
        Some("directory") => FileKind::Directory,
        Some("symlink") => FileKind::Symlink,
        Some("other") => FileKind::Other,
        Some(_) | None => return Err(wrong(method, &format!("{place} has no type (file, directory, symlink, other)"))),
    };
    let size = match (kind, value.get("size").and_then(whole_number)) {
        (_, Some(size)) => size,
        (FileKind::File, None) => return Err(wrong(method, &format!("{place} has no size in bytes"))),
        (FileKind::Directory | FileKind::Symlink | FileKind::Other, None) => 0,
    };
    let modified_ns = match value.get("modifiedAt") {
        None | Some(Value::Null) => None,
        Some(time) => {
            let milliseconds = time.as_f64().filter(|time| time.abs() < 8.64e15);
            let milliseconds =
                milliseconds.ok_or_else(|| wrong(method, &format!("{place} has a time that is none")))?;
            #[expect(clippy::cast_possible_truncation, reason = "the bound above holds it")]
            let milliseconds = milliseconds as i64;
            Some(milliseconds.saturating_mul(1_000_000))
        }
    };
    Ok(Entry { size, modified_ns, ..Entry::new(name, kind) })
}

fn whole_number(value: &Value) -> Option<u64> {
    /// 2^53: what a JavaScript number holds exactly.
    const MAX: u64 = 1 << 53;
    let number = value.as_u64().or_else(|| {
        let number =
            value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0 && *number <= MAX as f64)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked in the line above")]
        Some(number as u64)
    });
    number.filter(|number| *number <= MAX)
}

/// `{ stdout?, stderr?, output?, exitCode, signal?, timedOut?, truncated? }`; streams that were not told apart are all
/// standard output.
fn outcome(value: &Value) -> Result<ExecuteOutcome> {
    let text = |field: &str| match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_OUTPUT_BYTES => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(wrong("execute", &format!("`{field}` is larger than {MAX_OUTPUT_BYTES} bytes"))),
        Some(_) => Err(wrong("execute", &format!("`{field}` is no string"))),
    };
    let flag = |field: &str| value.get(field).and_then(Value::as_bool).unwrap_or(false);
    if !value.is_object() {
        return Err(wrong("execute", "it is no object"));
    }
    let exit_code = match value.get("exitCode") {
        None | Some(Value::Null) => None,
        Some(code) => {
            let code = code.as_i64().and_then(|code| i32::try_from(code).ok());
            Some(code.ok_or_else(|| wrong("execute", "`exitCode` is no whole number"))?)
        }
    };
    let (stdout, stderr, output) = (text("stdout")?, text("stderr")?, text("output")?);
    let output = output.unwrap_or_else(|| [stdout.as_deref(), stderr.as_deref()].into_iter().flatten().collect());
    let stdout = stdout.unwrap_or_else(|| if stderr.is_some() { String::new() } else { output.clone() });
    let signal = text("signal")?.map(|signal| Shown(&signal).to_string());
    Ok(ExecuteOutcome {
        output,
        stdout,
        stderr: stderr.unwrap_or_default(),
        signal,
        exit_code,
        timed_out: flag("timedOut"),
        truncated: flag("truncated"),
        ..ExecuteOutcome::default()
    })
}

/// What an application may refuse with; anything else is its own trouble.
const REFUSALS: [ErrorKind; 17] = [
    ErrorKind::InvalidInput,
    ErrorKind::PathNotInSandbox,
    ErrorKind::PathNotWritable,
    ErrorKind::SuffixNotAllowed,
    ErrorKind::FileTooLarge,
    ErrorKind::FileNotFound,
    ErrorKind::NotAFile,
    ErrorKind::NotADirectory,
    ErrorKind::DirectoryNotEmpty,
    ErrorKind::AlreadyExists,
    ErrorKind::BinaryFile,
    ErrorKind::Unsupported,
    ErrorKind::PermissionDenied,
    ErrorKind::Timeout,
    ErrorKind::Closed,
    ErrorKind::Busy,
    ErrorKind::Io,
];
/// 1,000 characters of a message that an application wrote.
const MAX_MESSAGE_CHARS: usize = 1000;

/// The error that an application answered with. `details` go along as they are.
pub fn refusal(code: &str, message: &str, path: Option<String>, details: Option<Value>) -> Error {
    let kind = REFUSALS.into_iter().find(|kind| kind.code() == code).unwrap_or(ErrorKind::BackendUnavailable);
    let message: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
    let mut error = Error::new(kind, message);
    if let Some(path) = path {
        error = error.with_path(path);
    }
    match details {
        Some(details) => error.with_details(details),
        None => error,
    }
}
