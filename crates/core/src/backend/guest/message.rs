//! What the two sides say to each other.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Operation;
use crate::backend::process::{Order, Tap, TerminalSize};
use crate::backend::{
    Background, CommandLimits, ExecuteRequest, FileVersion, Missing, OutputSink, Stream, TerminalRequest, Window,
};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{FindQuery, GlobQuery, GrepQuery, OutlineQuery};

/// 4 KiB: no message of ours is longer; what a guest sends is cut there.
const MESSAGE_BYTES: usize = 4 << 10;

/// What a guest serves, told once at the start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The directory that relative paths are relative to; made when it is missing.
    pub working_directory: VirtualPath,
    /// The bounds of the backend inside.
    pub limits: Limits,
    /// Variables for commands, on top of the guest's own environment.
    pub environment: Vec<(String, String)>,
}

/// From the outside to the inside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToGuest {
    /// The first message.
    Start(Setup),
    /// Begins a call; the body is content to write.
    Call {
        method: Method,
        /// When the call must stop, from now.
        within: Option<Duration>,
        /// Whether the guard must be asked.
        guarded: bool,
    },
    /// The caller gave up.
    Cancel,
    /// Tells a command that runs beside its caller what to do.
    Order(Order),
    /// Gives such a command input, the body; the end of it where that is empty.
    Input,
    /// Answers a question; the body is a file's new content.
    Answer { question: u64, failure: Option<Failure> },
}

/// From the inside to the outside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToHost {
    /// Answers [`ToGuest::Start`].
    Ready {
        /// What `~` is in a command.
        home: Option<String>,
    },
    /// The guest cannot serve.
    Unusable(Failure),
    /// A command that runs beside its caller has begun.
    Began {
        /// Its number inside.
        pid: Option<u32>,
    },
    /// It was told the last order.
    Obeyed,
    /// It read the last input, or nobody will.
    Taken,
    /// Ends a call; the body is content that was read.
    Done(Value),
    /// Ends a call that failed.
    Failed(Failure),
    /// Asks in the middle of a call; the body is content.
    Question { question: u64, ask: Ask },
}

/// What the inside cannot know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// May this be done, says the guard?
    Check { operation: Operation, path: VirtualPath },
    /// What is the new content of this file? The body is the old one.
    Change { old: Option<Old> },
    /// Here is output; go on?
    Output(Stream),
    /// Here are bytes of a terminal; go on?
    Screen,
}

/// A file's state, without its content.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Old {
    pub(super) resolved: VirtualPath,
    pub(super) version: FileVersion,
}

/// The methods of the three traits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Method {
    Resolve { path: VirtualPath },
    Stat { path: VirtualPath },
    List { path: VirtualPath, depth: u32 },
    Read { path: VirtualPath, window: Window },
    ReadBytes { path: VirtualPath, max_bytes: u64 },
    Glob(GlobQuery),
    Grep(GrepQuery),
    Find(FindQuery),
    Outline(OutlineQuery),
    Update { path: VirtualPath, operation: Operation, missing: Missing },
    Append { path: VirtualPath },
    MakeDirectory { path: VirtualPath },
    Remove { path: VirtualPath, recursive: bool },
    Rename { from: VirtualPath, to: VirtualPath },
    Copy { from: VirtualPath, to: VirtualPath },
    Execute(Command),
    Start(Command),
    OpenTerminal(Terminal),
}

/// An [`ExecuteRequest`]; what it reads is the body.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Command {
    command: String,
    timeout: Option<Duration>,
    working_directory: Option<VirtualPath>,
    environment: Vec<(String, String)>,
    has_stdin: bool,
    /// Whether output is wanted as it comes.
    pub(super) streams: bool,
    limits: CommandLimits,
    background: Background,
}

impl Command {
    /// Takes a request apart: what travels, what it reads, and who takes its output.
    pub(super) fn of(request: ExecuteRequest) -> (Self, Vec<u8>, Option<OutputSink>) {
        let ExecuteRequest {
            command,
            timeout,
            working_directory,
            environment,
            stdin,
            on_output,
            limits,
            background,
            // A file of the host is none that the agent could read here: what memory does not hold is dropped, as is said.
            spill: _,
        } = request;
        let has_stdin = stdin.is_some();
        let streams = on_output.is_some();
        let command = Self { command, timeout, working_directory, environment, has_stdin, streams, limits, background };
        (command, stdin.unwrap_or_default(), on_output)
    }

    /// Puts it together again.
    pub(super) fn request(self, stdin: Vec<u8>, on_output: Option<OutputSink>) -> ExecuteRequest {
        ExecuteRequest {
            command: self.command,
            timeout: self.timeout,
            working_directory: self.working_directory,
            environment: self.environment,
            stdin: self.has_stdin.then_some(stdin),
            on_output,
            limits: self.limits,
            background: self.background,
            spill: None,
        }
    }
}

/// A [`TerminalRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Terminal {
    command: Option<String>,
    working_directory: Option<VirtualPath>,
    environment: Vec<(String, String)>,
    size: TerminalSize,
    limits: CommandLimits,
}

impl Terminal {
    /// Takes a request apart: what travels, and who takes its bytes.
    pub(super) fn of(request: TerminalRequest) -> (Self, Option<Tap>) {
        let TerminalRequest { command, working_directory, environment, size, limits, tap } = request;
        (Self { command, working_directory, environment, size, limits }, tap)
    }

    /// Puts it together again.
    pub(super) fn request(self, tap: Tap) -> TerminalRequest {
        let Self { command, working_directory, environment, size, limits } = self;
        TerminalRequest { command, working_directory, environment, size, limits, tap: Some(tap) }
    }
}

/// An error that travels.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    code: String,
    message: String,
    path: Option<String>,
    details: Option<Value>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            code: error.kind().code().to_owned(),
            message: error.message().to_owned(),
            path: error.path().map(str::to_owned),
            details: error.details().cloned(),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let Failure { code, mut message, path, details } = failure;
        if message.len() > MESSAGE_BYTES {
            message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
        }
        let mut error = Self::new(ErrorKind::from_code(&code).unwrap_or(ErrorKind::BackendUnavailable), message);
        if let Some(path) = path {
            error = error.with_path(path);
        }
        if let Some(details) = details {
            error = error.with_details(details);
        }
        error
    }
}
