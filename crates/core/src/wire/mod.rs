//! A backend called by method name with JSON arguments: what the addon offers to TypeScript, and what a program on the
//! other side of a pipe can speak. It decodes, calls, and encodes; the names are those of the TypeScript `Backend`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::access::Operation;
use crate::backend::on_timeout::{Left, execute_or_leave};
use crate::backend::process::TerminalSize;
use crate::backend::{
    Backend, Call, ExecuteRequest, FileSystem, Missing, OutputSink, Shell, TerminalRequest, Window, WritableFileSystem,
};
use crate::change::{self, Bounds};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::exit_code::meaning;
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::OutlineQuery;
use crate::session::canvas::Canvas;

mod arguments;
pub mod hashline;
pub mod process;
mod stream;

use self::process::{Resize, Running};
pub use self::stream::{Reading, Writing};
use arguments::{
    EditArguments, Execute, ExecuteBackground, Find, FromTo, Glob, Grep, Ls, OnTimeout, OpenTerminal, PathOnly, Read,
    Remove, decode,
};

/// 120 columns and 40 rows: what is comfortable to read as text.
const DEFAULT_SIZE: TerminalSize = TerminalSize { columns: 120, rows: 40 };

/// One method call.
pub struct Request {
    /// The method's name.
    pub method: String,
    /// Its arguments, a JSON object.
    pub arguments_json: String,
    /// What is written.
    pub content: Option<Content>,
    /// Takes output of a command as it comes.
    pub on_output: Option<OutputSink>,
}

impl Request {
    /// Bytes of arguments and content.
    pub fn bytes(&self) -> usize {
        let content = match &self.content {
            None => 0,
            Some(Content::Text(text)) => text.len(),
            Some(Content::Bytes(bytes)) => bytes.len(),
        };
        self.arguments_json.len() + content
    }
}

/// What is written to a file, or given to a command to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text, written as UTF-8.
    Text(String),
    /// Bytes, written as they are.
    Bytes(Vec<u8>),
}

impl Content {
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The answer to one method call.
#[derive(Clone, Default)]
pub struct Reply {
    /// Structured values.
    pub value: Option<Value>,
    /// The content of `read`.
    pub text: Option<String>,
    /// The content of `readBytes`.
    pub bytes: Option<Vec<u8>>,
    /// What goes on after the answer.
    pub process: Option<Running>,
}

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        Self { value: Some(value), ..Self::default() }
    }
}

/// Facts that are fixed for a backend's life.
pub fn describe(backend: &dyn Backend) -> Value {
    json!({
        "id": backend.id(),
        "workingDirectory": backend.files().working_directory().as_str(),
        "readableRoots": backend.files().readable_roots(),
        "writableRoots": backend.files().writable_roots(),
        "writes": backend.writer().is_some(),
        "executes": backend.shell().is_some(),
        "hasTerminals": backend.shell().is_some_and(Shell::has_terminals),
    })
}

/// The names of the methods that change files.
const WRITING: [&str; 7] = ["write", "append", "edit", "mkdir", "remove", "move", "copy"];

/// Whether that call ends when it is first polled; see [`Backend::is_immediate`].
pub fn answers_at_once(backend: &dyn Backend, request: &Request) -> bool {
    backend.is_immediate() || (request.method == "read" && backend.reads_at_hand())
}

/// Whether that call starts a command when it is first polled and then gives the thread back; see [`Shell::starts_at_hand`].
pub fn starts_at_hand(backend: &dyn Backend, request: &Request) -> bool {
    matches!(request.method.as_str(), "execute" | "openTerminal") && backend.shell().is_some_and(Shell::starts_at_hand)
}

/// Calls one method. An unknown name is `InvalidInput`.
pub async fn invoke(backend: &dyn Backend, request: Request, call: &Call) -> Result<Reply> {
    call.deadline.check()?;
    let files = backend.files();
    let path = |text: &str| VirtualPath::parse(text, files.working_directory());
    let json = request.arguments_json.as_str();
    match request.method.as_str() {
        "ls" => {
            let arguments: Ls = decode("ls", json)?;
            ls(files, path(&arguments.path)?, arguments, call).await
        }
        "stat" => {
            let arguments: PathOnly = decode("stat", json)?;
            Ok(json!(files.stat(&path(&arguments.path)?, call).await?).into())
        }
        "read" => read(files, decode("read", json)?, call).await,
        "readBytes" => {
            let arguments: PathOnly = decode("readBytes", json)?;
            let content = files.read_bytes(&path(&arguments.path)?, Limits::default().file_bytes, call).await?;
            Ok(Reply { bytes: Some(content.bytes), ..Reply::default() })
        }
        "glob" => glob(files, decode("glob", json)?, call).await,
        "grep" => grep(files, decode("grep", json)?, call).await,
        "find" => find(files, decode("find", json)?, call).await,
        "openTerminal" => open_terminal(backend, decode("openTerminal", json)?, call).await,
        "execute" => execute(backend, decode("execute", json)?, request.content, request.on_output, call).await,
        method if WRITING.contains(&method) => {
            let writer = backend.writer().ok_or_else(|| {
                Error::new(ErrorKind::PathNotWritable, "Nothing can be written here: the files are read-only.")
            })?;
            write(files, writer, method, json, request.content, call).await
        }
        method => Err(Error::invalid(format!("A backend has no method '{}'.", Shown(method)))),
    }
}

async fn read(files: &dyn FileSystem, arguments: Read, call: &Call) -> Result<Reply> {
    let path = VirtualPath::parse(&arguments.path, files.working_directory())?;
    let limits = Limits::default();
    let window = Window {
        offset: arguments.offset.unwrap_or(0),
        limit: arguments.limit.unwrap_or(u64::MAX),
        max_bytes: limits.file_bytes,
    };
    let slice = files.read(&path, window, call).await?;
    let value = json!({
        "offset": slice.offset, "lines": slice.lines, "totalLines": slice.total_lines, "bytes": slice.bytes,
        "nextOffset": slice.next_offset, "truncated": slice.truncated,
    });
    Ok(Reply { value: Some(value), text: Some(slice.content), ..Reply::default() })
}

async fn ls(files: &dyn FileSystem, path: VirtualPath, arguments: Ls, call: &Call) -> Result<Reply> {
    let call = &bounded(call, arguments.timeout);
    let depth = arguments.depth.unwrap_or(1).max(1);
    let counts = arguments.counts.unwrap_or(false);
    // One level is what is there; a tree is for orienting oneself.
    let respect_ignore = arguments.ignore.unwrap_or(depth > 1 || counts);
    let (entries, truncated) = if respect_ignore || counts {
        let outline = files.outline(&OutlineQuery { path, depth, respect_ignore, counts }, call).await?;
        (json!(outline.entries), outline.truncated)
    } else {
        let listing = files.list(&path, depth, call).await?;
        (json!(listing.entries), listing.truncated)
    };
    Ok(json!({ "entries": entries, "truncated": truncated }).into())
}

/// The call, with its caller's own time limit in milliseconds.
fn bounded(call: &Call, timeout: Option<u64>) -> Call {
    let deadline = timeout.map_or_else(|| call.deadline.clone(), |ms| call.deadline.within(Duration::from_millis(ms)));
    Call { deadline, guard: call.guard.clone() }
}

async fn find(files: &dyn FileSystem, arguments: Find, call: &Call) -> Result<Reply> {
    let call = &bounded(call, arguments.timeout);
    let query = arguments.into_query(files)?;
    let outcome = files.find(&query, call).await?;
    let next = query.offset.saturating_add(outcome.files.len());
    let value = json!({
        "files": outcome.files, "total": outcome.total, "ignored": outcome.ignored, "truncated": outcome.truncated,
        "nextOffset": (next < outcome.total && !outcome.files.is_empty()).then_some(next),
    });
    Ok(value.into())
}

async fn glob(files: &dyn FileSystem, arguments: Glob, call: &Call) -> Result<Reply> {
    let call = &bounded(call, arguments.timeout);
    let query = arguments.into_query(files)?;
    let outcome = files.glob(&query, call).await?;
    // Counted from the first result of all, as `offset` is without a cursor.
    let next = outcome.before.saturating_add(query.offset).saturating_add(outcome.files.len());
    let value = json!({
        "files": outcome.files, "total": outcome.total, "ignored": outcome.ignored, "truncated": outcome.truncated,
        "nextOffset": (next < outcome.total && !outcome.files.is_empty()).then_some(next),
        "nextCursor": outcome.next.map(|next| next.to_string()),
    });
    Ok(value.into())
}

async fn grep(files: &dyn FileSystem, arguments: Grep, call: &Call) -> Result<Reply> {
    let call = &bounded(call, arguments.timeout);
    let query = arguments.into_query(files)?;
    let outcome = files.grep(&query, call).await?;
    let (shown, total) = if query.files_only || query.count_only {
        (outcome.files.len(), outcome.total_files)
    } else {
        (outcome.matches.len(), outcome.total_matches)
    };
    let next = query.offset.saturating_add(shown) as u64;
    let value = json!({
        "matches": outcome.matches, "files": outcome.files, "totalMatches": outcome.total_matches,
        "totalFiles": outcome.total_files, "searchedFiles": outcome.searched_files,
        "ignored": outcome.ignored, "truncated": outcome.truncated, "nextOffset": (next < total && shown > 0).then_some(next),
    });
    Ok(value.into())
}

async fn open_terminal(backend: &dyn Backend, arguments: OpenTerminal, call: &Call) -> Result<Reply> {
    let shell =
        backend.shell().ok_or_else(|| Error::new(ErrorKind::Unsupported, backend.no_shell_reason().to_owned()))?;
    let size = process::size(Resize {
        columns: arguments.columns.unwrap_or(DEFAULT_SIZE.columns),
        rows: arguments.rows.unwrap_or(DEFAULT_SIZE.rows),
    })?;
    let screen = Canvas::new(size);
    let drawn = Arc::clone(&screen);
    let directory = |cwd: &str| VirtualPath::parse(cwd, backend.files().working_directory());
    let request = TerminalRequest {
        command: arguments.command,
        working_directory: arguments.cwd.as_deref().map(directory).transpose()?,
        environment: arguments.env.unwrap_or_default().into_iter().collect(),
        size,
        limits: arguments.limits.unwrap_or_default().into(),
        tap: Some(screen.tap(move |bytes, _| {
            drawn.show(bytes, false);
            false
        })),
    };
    let process = shell.open_terminal(request, call).await?;
    Ok(Reply { process: Some(Running { process, screen: Some(screen), typist: None }), ..Reply::default() })
}

async fn execute(
    backend: &dyn Backend,
    arguments: Execute,
    stdin: Option<Content>,
    on_output: Option<OutputSink>,
    call: &Call,
) -> Result<Reply> {
    let shell =
        backend.shell().ok_or_else(|| Error::new(ErrorKind::Unsupported, backend.no_shell_reason().to_owned()))?;
    if matches!(arguments.background, Some(ExecuteBackground::Keep))
        && arguments.on_timeout == Some(OnTimeout::Background)
    {
        return Err(Error::invalid(
            "`background: 'keep'` lets what a command leaves behind live on, and `onTimeout: 'background'` the command itself when its \
             time is over: give one of them.",
        ));
    }
    let directory = |cwd: &str| VirtualPath::parse(cwd, backend.files().working_directory());
    let request = ExecuteRequest {
        command: arguments.command,
        timeout: arguments.timeout.map(Duration::from_millis).or(Some(Limits::default().command_timeout)),
        working_directory: arguments.cwd.as_deref().map(directory).transpose()?,
        environment: arguments.env.unwrap_or_default().into_iter().collect(),
        stdin: stdin.map(Content::into_bytes),
        on_output,
        limits: arguments.limits.unwrap_or_default().into(),
        background: arguments.background.unwrap_or_default().into(),
        spill: None,
    };
    let command = request.command.clone();
    let (mut outcome, left) = match arguments.on_timeout.unwrap_or_default() {
        OnTimeout::End => (shell.execute(request, call).await?, None),
        OnTimeout::Background => execute_or_leave(shell, request, call).await?,
    };
    outcome.exit_meaning = outcome.exit_code.and_then(|code| meaning(&command, code));
    if outcome.aborted {
        return Err(Error::new(ErrorKind::Aborted, "The command was aborted; its processes were ended.")
            .with_details(json!({ "partial": outcome })));
    }
    let mut value = json!(outcome);
    let process = left.map(|Left { process, told }| {
        value["told"] = json!(told);
        Running::piped(process)
    });
    Ok(Reply { process, ..value.into() })
}

async fn write(
    files: &dyn FileSystem,
    writer: &dyn WritableFileSystem,
    method: &str,
    json: &str,
    content: Option<Content>,
    call: &Call,
) -> Result<Reply> {
    let path = |text: &str| VirtualPath::parse(text, files.working_directory());
    match method {
        "write" => {
            let path = path(&decode::<PathOnly>(method, json)?.path)?;
            let (transform, receipt) = change::replace(&path, bytes_of(content)?).await;
            let updated = writer.update(&path, Operation::Write, Missing::Create, transform, call).await?;
            let value = json!({
                "path": path.as_str(), "bytes": updated.size, "created": updated.created, "diff": receipt.diff().await?,
            });
            Ok(value.into())
        }
        "append" => {
            let path = path(&decode::<PathOnly>(method, json)?.path)?;
            let updated = writer.append(&path, bytes_of(content)?, call).await?;
            Ok(json!({ "path": path.as_str(), "bytes": updated.size, "created": updated.created, "diff": "" }).into())
        }
        "edit" => {
            let arguments: EditArguments = decode(method, json)?;
            let bounds = Bounds { max_bytes: Limits::default().file_bytes, deadline: call.deadline.clone() };
            let path = path(&arguments.path)?;
            let (transform, receipt) = change::apply(&path, arguments.edits, bounds, None).await;
            writer.update(&path, Operation::Edit, Missing::Refuse, transform, call).await?;
            let edited = receipt.take()?;
            let value = json!({
                "path": path.as_str(), "replacements": edited.replacements, "diff": edited.diff,
                "summary": edited.summary, "rebased": edited.rebased,
            });
            Ok(value.into())
        }
        "mkdir" => {
            let path = path(&decode::<PathOnly>(method, json)?.path)?;
            writer.make_directory(&path, call).await?;
            Ok(Reply::default())
        }
        "remove" => {
            let arguments: Remove = decode(method, json)?;
            writer.remove(&path(&arguments.path)?, arguments.recursive.unwrap_or(false), call).await?;
            Ok(Reply::default())
        }
        "move" => {
            let arguments: FromTo = decode(method, json)?;
            writer.rename(&path(&arguments.from)?, &path(&arguments.to)?, call).await?;
            Ok(Reply::default())
        }
        // "copy": `invoke` lets no other name through.
        _ => {
            let arguments: FromTo = decode(method, json)?;
            writer.copy(&path(&arguments.from)?, &path(&arguments.to)?, call).await?;
            Ok(Reply::default())
        }
    }
}

fn bytes_of(content: Option<Content>) -> Result<Vec<u8>> {
    content.map(Content::into_bytes).ok_or_else(|| Error::invalid("`content` is missing: give a string or bytes."))
}
