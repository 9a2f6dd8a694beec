//! The one error type of the core.
//!
//! An [`Error`] carries a stable [`ErrorKind`] (what a program branches on), a message (what a model or a person
//! reads), the *virtual* path it is about, and facts as JSON (`details`). It never holds a host path, an `errno`
//! string with a path in it, or Rust debug output: what reaches a model is safe to show it.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// `Result` with the core's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in the terms a caller can act on. The string of [`ErrorKind::code`] is public contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No tool has that name.
    UnknownTool,
    /// An argument has the wrong type, a wrong value, or is not known.
    InvalidInput,
    /// The path lies in no mount, or leads out of it.
    PathNotInSandbox,
    /// The path may be read but not written.
    PathNotWritable,
    /// The mount does not take names with this suffix.
    SuffixNotAllowed,
    /// The file is, or would become, larger than the mount or the limit allows.
    FileTooLarge,
    /// The text to replace was not found, was ambiguous, or the edit makes no sense.
    EditFailed,
    /// Nothing has that name.
    FileNotFound,
    /// It exists, but it is not a regular file.
    NotAFile,
    /// It exists, but it is not a directory.
    NotADirectory,
    /// The directory still holds entries and `recursive` was not asked for.
    DirectoryNotEmpty,
    /// The target exists already.
    AlreadyExists,
    /// The file does not hold text.
    BinaryFile,
    /// The file changed since it was read or shown for approval.
    StaleFile,
    /// This backend cannot do that.
    Unsupported,
    /// The backend cannot be reached, or answered nonsense.
    BackendUnavailable,
    /// A rule denies the operation.
    PermissionDenied,
    /// The command policy blocks the command.
    CommandBlocked,
    /// Somebody must say yes first, and nobody was there to ask.
    ApprovalRequired,
    /// Somebody was asked and said no.
    ApprovalDenied,
    /// The deadline passed.
    Timeout,
    /// The caller cancelled.
    Aborted,
    /// The toolset, backend or session was closed.
    Closed,
    /// The file system stayed busy (a rename storm on the host); trying again may work.
    Busy,
    /// A hook of the application failed; the application's own error travels beside this one.
    HookFailed,
    /// A tool of the application failed; its own error travels beside this one.
    ToolFailed,
    /// The operating system refused (disk full, permission of the host user, input/output error).
    Io,
    /// A defect of gloveport.
    Internal,
}

impl ErrorKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 28] = [
        Self::UnknownTool,
        Self::InvalidInput,
        Self::PathNotInSandbox,
        Self::PathNotWritable,
        Self::SuffixNotAllowed,
        Self::FileTooLarge,
        Self::EditFailed,
        Self::FileNotFound,
        Self::NotAFile,
        Self::NotADirectory,
        Self::DirectoryNotEmpty,
        Self::AlreadyExists,
        Self::BinaryFile,
        Self::StaleFile,
        Self::Unsupported,
        Self::BackendUnavailable,
        Self::PermissionDenied,
        Self::CommandBlocked,
        Self::ApprovalRequired,
        Self::ApprovalDenied,
        Self::Timeout,
        Self::Aborted,
        Self::Closed,
        Self::Busy,
        Self::HookFailed,
        Self::ToolFailed,
        Self::Io,
        Self::Internal,
    ];

    /// The kind of a code; `None` for a text that is none.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The stable code that the TypeScript face and `ToolResult.code` show.
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::InvalidInput => "INVALID_INPUT",
            Self::PathNotInSandbox => "PATH_NOT_IN_SANDBOX",
            Self::PathNotWritable => "PATH_NOT_WRITABLE",
            Self::SuffixNotAllowed => "SUFFIX_NOT_ALLOWED",
            Self::FileTooLarge => "FILE_TOO_LARGE",
            Self::EditFailed => "EDIT_FAILED",
            Self::FileNotFound => "FILE_NOT_FOUND",
            Self::NotAFile => "NOT_A_FILE",
            Self::NotADirectory => "NOT_A_DIRECTORY",
            Self::DirectoryNotEmpty => "DIRECTORY_NOT_EMPTY",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::BinaryFile => "BINARY_FILE",
            Self::StaleFile => "STALE_FILE",
            Self::Unsupported => "UNSUPPORTED",
            Self::BackendUnavailable => "BACKEND_UNAVAILABLE",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::CommandBlocked => "COMMAND_BLOCKED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::ApprovalDenied => "APPROVAL_DENIED",
            Self::Timeout => "TIMEOUT",
            Self::Aborted => "ABORTED",
            Self::Closed => "CLOSED",
            Self::Busy => "BUSY",
            Self::HookFailed => "HOOK_FAILED",
            Self::ToolFailed => "TOOL_FAILED",
            Self::Io => "IO",
            Self::Internal => "INTERNAL",
        }
    }

    /// Whether a model can mend its call by itself (another path, other text); see `maxRetries`.
    pub const fn is_fixable(self) -> bool {
        match self {
            Self::UnknownTool
            | Self::InvalidInput
            | Self::EditFailed
            | Self::FileNotFound
            | Self::NotAFile
            | Self::NotADirectory
            | Self::DirectoryNotEmpty
            | Self::AlreadyExists
            | Self::StaleFile
            | Self::ToolFailed => true,
            Self::PathNotInSandbox
            | Self::PathNotWritable
            | Self::SuffixNotAllowed
            | Self::FileTooLarge
            | Self::BinaryFile
            | Self::Unsupported
            | Self::BackendUnavailable
            | Self::PermissionDenied
            | Self::CommandBlocked
            | Self::ApprovalRequired
            | Self::ApprovalDenied
            | Self::Timeout
            | Self::Aborted
            | Self::Closed
            | Self::Busy
            | Self::HookFailed
            | Self::Io
            | Self::Internal => false,
        }
    }
}

/// An error of the core. Cheap to move; cloning is not needed.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    path: Option<String>,
    details: Option<Value>,
}

impl Error {
    /// An error of `kind` with a message that says what failed and what would work.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), path: None, details: None }))
    }

    /// Bad input: `message` says where, what was expected and what was found.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Nothing has the name `path`.
    pub fn not_found(path: impl fmt::Display) -> Self {
        let path = path.to_string();
        Self::new(ErrorKind::FileNotFound, format!("'{}' does not exist.", Shown(&path))).with_path(path)
    }

    /// A defect of gloveport, said plainly and without inner workings.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The virtual path this error is about.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.0.path = Some(path.into());
        self
    }

    /// Facts for programs, as a JSON object.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    /// What a program branches on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What a model or a person reads.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The virtual path this error is about, if it is about one.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Facts for programs.
    pub fn details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind().code(), self.message())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}

/// Shows untrusted text inside a message: control and bidirectional-override characters escaped, so that a file
/// name can neither draw on a terminal nor fake a line of the message.
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for character in self.0.chars() {
            if is_deceptive(character) {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

/// Characters that cannot be seen, or that reorder the line around them: control and format characters, separators of lines
/// and paragraphs, variation selectors, tags, fillers, the blank of braille. Marks that are drawn around numbers are seen.
///
/// The ranges are those of Unicode 16; a test holds them to the tables that the regular expressions bring along.
pub fn is_deceptive(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || matches!(
            character,
            '\u{AD}'
                | '\u{34F}'
                | '\u{61C}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{17B4}'
                | '\u{17B5}'
                | '\u{180B}'..='\u{180F}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FEFF}'
                | '\u{FFA0}'
                | '\u{FFF0}'..='\u{FFFB}'
                | '\u{13430}'..='\u{1343F}'
                | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{Class, HirKind};

    use super::*;

    /// U+00AD (the soft hyphen) and some 400 others were shown to approvers as they are.
    #[test]
    fn deceptive_are_the_characters_that_unicode_says_are_not_drawn() {
        let hidden =
            r"[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\x{2800}]--[\p{Prepended_Concatenation_Mark}]]";
        let parsed = regex_syntax::parse(hidden).unwrap();
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else { panic!("a class") };
        let listed =
            |character: char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&character));
        let wrong: Vec<char> = (0..=0x10_FFFF)
            .filter_map(char::from_u32)
            .filter(|character| is_deceptive(*character) != listed(*character))
            .collect();
        assert_eq!(wrong, Vec::<char>::new());
    }
}
