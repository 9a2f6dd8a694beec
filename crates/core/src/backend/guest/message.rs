//! What the two sides say to each other.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::frame::{MAX_BYTES, SPEECH_BYTES};
use super::places::Places;
use crate::access::Operation;
use crate::backend::process::{Order, TerminalSize};
use crate::backend::tap::Tap;
use crate::backend::{
    Background, CommandLimits, ExecuteRequest, FileVersion, Missing, OutputSink, Spill, Stream, TerminalRequest, Window,
};
use crate::error::{Error, ErrorKind, Shown};
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{FindQuery, GlobQuery, GrepQuery, OutlineQuery};

/// Which protocol this is; raised with every change of what is said, as a container may hold a guest of another release.
/// `Start`, `Unusable` and [`Failure`] stay as they are in all of them.
pub(super) const VERSION: u32 = 5;
/// 4 KiB: no message of ours, and no facts beside it, are longer; what a guest sends is cut there.
const MESSAGE_BYTES: usize = 4 << 10;
/// 1 MiB of output goes with one question at most.
pub(super) const PIECE_BYTES: usize = 1 << 20;
/// 16 MiB of JSON of one answer: a search for lines keeps 8 MiB of text, and escapes come on top.
const ANSWER_BYTES: usize = 16 << 20;
/// 1 Mi values of one answer, each of which takes some ten times its bytes once it is decoded: 10,000 matches with twenty
/// lines around each are a half.
const ANSWER_VALUES: usize = 1 << 20;

/// Whether such an answer is decoded at all.
pub(super) fn is_decodable(json: &[u8]) -> bool {
    if json.len() > ANSWER_BYTES {
        return false;
    }
    let (mut values, mut in_text, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values <= ANSWER_VALUES
}

/// What a guest serves, told once at the start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// The directory that relative paths are relative to; made when it is missing.
    pub working_directory: VirtualPath,
    /// The bounds of the backend inside.
    pub limits: Limits,
    /// Ceilings for every command.
    pub command_limits: CommandLimits,
    /// Variables for commands, on top of the guest's own environment.
    pub environment: Vec<(String, String)>,
    /// Directories of which the guest says which ones they are.
    pub places: Vec<VirtualPath>,
}

/// From the outside to the inside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToGuest {
    /// The first message; the body is the JSON of a [`Setup`], which is decoded only by who speaks that version.
    Start { version: u32 },
    /// Begins a call; the body is content to write.
    Call {
        method: Method,
        /// When the call must stop, from now.
        within: Option<Duration>,
        /// Whether the guard must be asked.
        guarded: bool,
    },
    /// The caller wants it to end, and waits for that.
    Cancel,
    /// The caller has gone: it shall end, and no question of it is answered any more.
    Leave,
    /// Tells a command that runs beside its caller what to do.
    Order(Order),
    /// Gives such a command input, the body; the end of it where that is empty.
    Input,
    /// Answers a question; the body is a file's new content.
    Answer { question: u64, failure: Option<Failure> },
    /// Is somebody there?
    Ping,
}

/// From the inside to the outside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToHost {
    /// Answers [`ToGuest::Start`].
    Ready {
        version: u32,
        /// What `~` is in a command.
        home: Option<String>,
        /// What lies under the paths that were asked for.
        places: Places,
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
    /// The last input is in its pipe or its terminal.
    Taken,
    /// So many bytes of the last input are, and nobody reads any more.
    Refused { bytes: u64 },
    /// Ends a call; the body is content that was read, and behind it so many bytes of JSON: the answer. Nobody decodes it
    /// but who waits for it.
    Done { json: usize },
    /// Ends a call that failed.
    Failed(Failure),
    /// Asks in the middle of a call; the body is content.
    Question { question: u64, ask: Ask },
    /// Answers [`ToGuest::Ping`], whatever becomes of the call.
    Here,
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
    /// Here is more of the whole output, for a file; go on?
    Whole,
    /// Here are bytes of a terminal; go on? `leads` is the look of [`Tap`] behind them.
    Screen { leads: bool },
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

impl Method {
    /// Bytes that may wait to be looked at while such a call runs.
    pub(super) fn most_bytes(&self) -> usize {
        match self {
            Self::Update { .. } => MAX_BYTES,
            // Of what is read no more than was asked for, and what is said of it. A byte becomes three at most where it is no text.
            Self::Read { window: Window { max_bytes, .. }, .. } => with_content(max_bytes.saturating_mul(3)),
            Self::ReadBytes { max_bytes, .. } => with_content(*max_bytes),
            _ => ANSWER_BYTES + PIECE_BYTES,
        }
    }
}

fn with_content(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(MAX_BYTES).saturating_add(SPEECH_BYTES).min(MAX_BYTES)
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
    /// Whether all of it is wanted where memory does not hold it.
    pub(super) spills: bool,
    limits: CommandLimits,
    background: Background,
}

impl Command {
    /// Takes a request apart: what travels, what it reads, who takes its output, and where all of it goes.
    pub(super) fn of(request: ExecuteRequest) -> (Self, Vec<u8>, Option<OutputSink>, Option<Spill>) {
        let ExecuteRequest {
            command,
            timeout,
            working_directory,
            environment,
            stdin,
            on_output,
            limits,
            background,
            spill,
        } = request;
        let has_stdin = stdin.is_some();
        let (streams, spills) = (on_output.is_some(), spill.is_some());
        let command =
            Self { command, timeout, working_directory, environment, has_stdin, streams, spills, limits, background };
        (command, stdin.unwrap_or_default(), on_output, spill)
    }

    /// Puts it together again.
    pub(super) fn request(self, stdin: Vec<u8>, on_output: Option<OutputSink>, spill: Option<Spill>) -> ExecuteRequest {
        ExecuteRequest {
            command: self.command,
            timeout: self.timeout,
            working_directory: self.working_directory,
            environment: self.environment,
            stdin: self.has_stdin.then_some(stdin),
            on_output,
            limits: self.limits,
            background: self.background,
            spill,
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
    /// JSON.
    details: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            code: error.kind().code().to_owned(),
            message: cut(error.message()).to_owned(),
            path: error.path().map(str::to_owned),
            details: error.details().map(Value::to_string).filter(|details| details.len() <= MESSAGE_BYTES),
        }
    }
}

impl Failure {
    /// Whether it is of that kind.
    pub(super) fn is(&self, kind: ErrorKind) -> bool {
        self.code == kind.code()
    }

    /// The path that it is about.
    pub(super) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// An error of the outside, as the guest hears it.
    pub(super) fn of_host(self) -> Error {
        let kind = ErrorKind::from_code(&self.code).unwrap_or(ErrorKind::BackendUnavailable);
        let message = cut(&self.message).to_owned();
        self.about(Error::new(kind, message))
    }

    /// An error of a guest, as the outside believes it: one of files, commands and limits. All others are for us to say.
    pub(super) fn of_guest(self) -> Error {
        let Some(kind) = ErrorKind::from_code(&self.code).filter(|kind| is_for_a_guest(*kind)) else {
            return Error::new(
                ErrorKind::BackendUnavailable,
                "The container answered with an error that is not for it to say.",
            );
        };
        let message = Shown(cut(&self.message)).to_string();
        self.about(Error::new(kind, message))
    }

    fn about(self, mut error: Error) -> Error {
        // A path of the container, or none.
        if let Some(path) = self.path.and_then(|path| VirtualPath::absolute(&path).ok()) {
            error = error.with_path(path.as_str());
        }
        let details = self.details.filter(|details| details.len() <= MESSAGE_BYTES);
        if let Some(details) = details.and_then(|details| serde_json::from_str(&details).ok()) {
            error = error.with_details(details);
        }
        error
    }
}

fn cut(message: &str) -> &str {
    &message[..message.floor_char_boundary(MESSAGE_BYTES)]
}

/// What can go wrong with a container's own files and commands. A rule, an approval, an abort, a hook, an end of ours does
/// not: those end a whole run, or call for somebody.
const fn is_for_a_guest(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::InvalidInput
        | ErrorKind::PathNotInSandbox
        | ErrorKind::PathNotWritable
        | ErrorKind::SuffixNotAllowed
        | ErrorKind::FileTooLarge
        | ErrorKind::EditFailed
        | ErrorKind::FileNotFound
        | ErrorKind::NotAFile
        | ErrorKind::NotADirectory
        | ErrorKind::DirectoryNotEmpty
        | ErrorKind::AlreadyExists
        | ErrorKind::BinaryFile
        | ErrorKind::StaleFile
        | ErrorKind::Unsupported
        | ErrorKind::BackendUnavailable
        | ErrorKind::Timeout
        | ErrorKind::Busy
        | ErrorKind::Io
        | ErrorKind::Internal => true,
        ErrorKind::UnknownTool
        | ErrorKind::PermissionDenied
        | ErrorKind::CommandBlocked
        | ErrorKind::ApprovalRequired
        | ErrorKind::ApprovalDenied
        | ErrorKind::Aborted
        | ErrorKind::Closed
        | ErrorKind::HookFailed
        | ErrorKind::ToolFailed => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_says_nothing_that_is_for_us_to_say() {
        for kind in ErrorKind::ALL {
            let said = Failure::from(&Error::new(kind, "x").with_details(serde_json::json!({ "a": 1 })));
            let error = said.of_guest();
            if is_for_a_guest(kind) {
                assert_eq!((error.kind(), error.message()), (kind, "x"));
                assert!(error.details().is_some());
            } else {
                assert_eq!(error.kind(), ErrorKind::BackendUnavailable, "{}", kind.code());
                assert!(error.details().is_none() && error.message() != "x");
            }
        }
    }

    #[test]
    fn what_goes_with_an_error_of_a_guest_is_shown_and_bounded() {
        let failure = |message: &str, path: &str, details: String| Failure {
            code: "IO".to_owned(),
            message: message.to_owned(),
            path: Some(path.to_owned()),
            details: Some(details),
        };
        let error = failure("\u{1b}[2J\u{202e}x", "/a/../b", "[1]".to_owned()).of_guest();
        assert_eq!((error.message(), error.path()), ("\\u{1b}[2J\\u{202e}x", Some("/b")));
        assert_eq!(error.details(), Some(&serde_json::json!([1])));
        let error =
            failure(&"é".repeat(MESSAGE_BYTES), "relative", format!("[{}0]", "0,".repeat(MESSAGE_BYTES))).of_guest();
        assert_eq!((error.message().len(), error.path(), error.details()), (MESSAGE_BYTES, None, None));
    }

    #[test]
    fn an_answer_of_very_many_values_is_not_decoded() {
        assert!(is_decodable(br#"{"a":[1,2],"b":"\",,,,"}"#));
        // Text counts once, whatever is in it.
        assert!(is_decodable(format!("[\"{}\"]", ",[{:\\\"".repeat(ANSWER_VALUES)).as_bytes()));
        for value in ["0,", "[],", "{},", "\"\","] {
            assert!(!is_decodable(format!("[{}0]", value.repeat(ANSWER_VALUES)).as_bytes()), "{value}");
        }
        assert!(!is_decodable(format!("\"{}\"", "x".repeat(ANSWER_BYTES)).as_bytes()));
    }
}
