//! Where files live: the traits that every backend implements, and the values that they speak.
//!
//! [`Backend`] is what a toolset holds. Reading ([`FileSystem`]), writing ([`WritableFileSystem`]) and running commands
//! ([`Shell`]) are separate traits: a read-only backend is one without a writer, not one with a flag. A backend takes
//! [`VirtualPath`]s only and answers with virtual paths only; it knows no tools, no rules and no approvals, but asks
//! the call's [`Guard`] about every path as it really resolved, with the opened handle in its hand.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;
use crate::search::{FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepOutcome, GrepQuery, Outline, OutlineQuery};
use crate::text::encoding::Encoding;
use crate::text::numbered::View;

pub use self::ceilings::{Ceiling, CommandLimits, ExecuteLimits};
use self::process::{Process, TerminalSize};
pub(crate) use self::spill::Spilling;
pub use self::spill::{Spill, SpillFile, SpillRoom};
use self::tap::Tap;

pub use crate::call::Call;
pub use crate::file_info::{FileInfo, FileKind};
pub use crate::text::window::Window;

mod capture;
mod ceilings;
mod command_line;
pub mod composite;
mod derived;
#[cfg(feature = "docker")]
pub mod docker;
pub mod guest;
mod intake;
mod kept;
pub mod local;
pub mod memory;
pub mod on_timeout;
mod orders;
mod outlet;
pub mod process;

pub mod posix;
mod recorder;
pub mod remote;
pub(crate) mod spill;
pub mod stream;
pub mod tap;
mod temp;
mod turns;

/// A future that a trait object returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Held while a backend is used.
pub type InUse = Box<dyn Send + Sync>;

/// A place with files, and perhaps a shell.
pub trait Backend: Send + Sync {
    /// Names this backend in logs; unique within the process.
    fn id(&self) -> &str;
    /// The files, for reading.
    fn files(&self) -> &dyn FileSystem;
    /// The files, for writing; `None` where nothing can be written.
    fn writer(&self) -> Option<&dyn WritableFileSystem>;
    /// Runs commands; `None` where it cannot, or must not. The reason is [`Backend::no_shell_reason`].
    fn shell(&self) -> Option<&dyn Shell>;
    /// Why there is no shell, as a sentence for a model. Only asked when [`Backend::shell`] is `None`.
    fn no_shell_reason(&self) -> &str {
        "This backend does not run commands."
    }
    /// Whether operations end when they are first polled, within microseconds, unless they give the thread back: such a
    /// future may be polled on one that is [lent](crate::lent).
    fn is_immediate(&self) -> bool {
        false
    }
    /// The same of reads alone.
    fn reads_at_hand(&self) -> bool {
        self.is_immediate()
    }
    /// Says that a call is about to begin, where that keeps the backend from ending as idle: until what this returns is dropped.
    /// Whoever puts a call off to another thread asks first.
    fn in_use(&self) -> Option<InUse> {
        None
    }
    /// Ends what the backend started and refuses later calls with `Closed`. A second close does nothing.
    fn close(&self) -> BoxFuture<'_, Result<()>>;
}

/// Reading and searching.
pub trait FileSystem: Send + Sync {
    /// What a relative path is relative to.
    fn working_directory(&self) -> &VirtualPath;

    /// The roots that can be read, as paths, for messages and for the model's instructions.
    fn readable_roots(&self) -> Vec<String>;

    /// The roots that can be written, as paths, for messages.
    fn writable_roots(&self) -> Vec<String>;

    /// Whether `host`, a canonical directory of this machine, is one whose files are changed through this backend.
    fn changes_host(&self, host: &Path) -> bool {
        let _ = host;
        false
    }

    /// Whether any mount asks somebody before reads or writes, so that each call must resolve its paths first.
    fn mounts_ask(&self) -> bool;

    /// Where `path` leads and what its mount says about it. A missing file is no error (its nearest existing ancestor
    /// is resolved); a path in no mount, or one that leads out, is.
    fn resolve<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Resolution>>;

    /// Facts about one entry; `None` when nothing has that name. A link is followed when its target stays inside, and
    /// reported as `Symlink` when it does not.
    fn stat<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<Option<FileInfo>>>;

    /// The entries below a directory, `depth` levels deep (1 = its own): directories first, then by name, each
    /// directory followed by its entries. A file lists itself. Hidden entries are shown; an entry that cannot be read,
    /// leads out, or that the guard denies is left out.
    fn list<'a>(&'a self, path: &'a VirtualPath, depth: u32, call: &'a Call) -> BoxFuture<'a, Result<Listing>>;

    /// A window of lines. See [`Window`].
    fn read<'a>(&'a self, path: &'a VirtualPath, window: Window, call: &'a Call) -> BoxFuture<'a, Result<FileSlice>>;

    /// A whole file of at most `max_bytes`, exactly.
    fn read_bytes<'a>(
        &'a self,
        path: &'a VirtualPath,
        max_bytes: u64,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<FileContent>>;

    /// A file to be read piece by piece. A backend that cannot do that reads it whole, up to `Limits::file_bytes`.
    fn open_reader<'a>(
        &'a self,
        path: &'a VirtualPath,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Box<dyn stream::FileReader>>> {
        Box::pin(async move {
            let content = self.read_bytes(path, crate::limits::Limits::default().file_bytes, call).await?;
            Ok(Box::new(stream::WholeReader(content.bytes)) as Box<dyn stream::FileReader>)
        })
    }

    /// Names by pattern.
    fn glob<'a>(&'a self, query: &'a GlobQuery, call: &'a Call) -> BoxFuture<'a, Result<GlobOutcome>>;

    /// Lines by pattern.
    fn grep<'a>(&'a self, query: &'a GrepQuery, call: &'a Call) -> BoxFuture<'a, Result<GrepOutcome>>;

    /// Files by what is remembered of their path, best fit first. A backend that only globs ranks its newest files.
    fn find<'a>(&'a self, query: &'a FindQuery, call: &'a Call) -> BoxFuture<'a, Result<FindOutcome>> {
        Box::pin(derived::find(self, query, call))
    }

    /// The shape of a tree. A backend that only globs shows what that finds.
    fn outline<'a>(&'a self, query: &'a OutlineQuery, call: &'a Call) -> BoxFuture<'a, Result<Outline>> {
        Box::pin(derived::outline(self, query, call))
    }
}

/// Computes a file's new content from its old one, whose buffer it may use again; `None` when the file does not exist.
/// Runs while the file is locked, so it must not block. An error leaves the file as it was.
pub type Transform = Box<dyn FnOnce(Option<FileContent>) -> Result<Vec<u8>> + Send>;

/// Writing. Every change of content is atomic: a reader sees the old or the new bytes.
pub trait WritableFileSystem: Send + Sync {
    /// Reads, transforms and replaces a file under its lock. With `Missing::Create` parents are made; permission bits
    /// are kept; a link that stays inside is written through. `operation` is what the guard is asked about.
    fn update<'a>(
        &'a self,
        path: &'a VirtualPath,
        operation: crate::access::Operation,
        missing: Missing,
        transform: Transform,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Updated>>;

    /// Adds bytes at the end of a file, creating it with its parents when it is missing. Returns the new size.
    fn append<'a>(&'a self, path: &'a VirtualPath, content: Vec<u8>, call: &'a Call) -> BoxFuture<'a, Result<Updated>>;

    /// A file to be written piece by piece, which nobody sees before it is finished; `None` where the backend takes whole
    /// files only. See [`stream::open_writer`].
    fn open_writer<'a>(
        &'a self,
        path: &'a VirtualPath,
        call: &'a Call,
    ) -> BoxFuture<'a, Result<Option<Box<dyn stream::FileWriter>>>> {
        let _ = (path, call);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Makes a directory and its parents. `false` when it existed.
    fn make_directory<'a>(&'a self, path: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<bool>>;

    /// Removes a file, a link itself, or a directory (with its content only when `recursive`). Returns the count of
    /// entries removed.
    fn remove<'a>(&'a self, path: &'a VirtualPath, recursive: bool, call: &'a Call) -> BoxFuture<'a, Result<u64>>;

    /// Moves a file, link or directory to a name that does not exist yet.
    fn rename<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<()>>;

    /// Copies one regular file, with its permission bits, to a name that does not exist yet. Returns the bytes copied.
    fn copy<'a>(&'a self, from: &'a VirtualPath, to: &'a VirtualPath, call: &'a Call) -> BoxFuture<'a, Result<u64>>;
}

/// What [`WritableFileSystem::update`] does when the file is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// Creates it, and its parents.
    Create,
    /// Fails with `FileNotFound`.
    Refuse,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// The path with every link followed. Equal to the path asked where no link lies on the way.
    pub resolved: VirtualPath,
    /// What is there; `None` when nothing is.
    pub kind: Option<FileKind>,
    /// Which content is there, for binding an approval to it; `None` when it is not a regular file.
    pub version: Option<FileVersion>,
    /// Whether the mount takes writes.
    pub writable: bool,
    /// Whether the mount asks somebody before a read; for a directory also whether a mount below it does.
    pub read_approval: bool,
    /// Whether the mount asks somebody before a write.
    pub write_approval: bool,
}

/// A directory's entries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listing {
    /// In the order of [`FileSystem::list`].
    pub entries: Vec<FileInfo>,
    /// Whether a limit cut the listing.
    pub truncated: bool,
}

/// Identifies one state of one file: enough to notice that it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileVersion {
    /// The device; 0 where the backend has none.
    pub device: u64,
    /// The inode; a backend without inodes gives a number that is unique for each of its files.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970 of the last change of content.
    pub modified_ns: i128,
    /// Nanoseconds since 1970 of the last change of the inode; 0 where unknown.
    pub changed_ns: i128,
}

/// A window of a text file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSlice {
    /// The lines as they are, each with its own line end; decoded from the file's encoding.
    pub content: String,
    /// Lines skipped.
    pub offset: u64,
    /// Lines in `content`.
    pub lines: u64,
    /// Lines of the whole file; `None` beyond `Limits::count_lines_bytes` unless the end was reached.
    pub total_lines: Option<u64>,
    /// Bytes of the whole file.
    pub bytes: u64,
    /// Where to read on; `None` at the end.
    pub next_offset: Option<u64>,
    /// Whether `content` ends before the file does: more lines follow, or the last line was cut. A line was cut exactly
    /// when `truncated` and `content` does not end with `\n`.
    pub truncated: bool,
    /// The encoding of the file; a byte order mark is not part of `content`.
    pub encoding: Encoding,
    /// The path with every link followed.
    pub resolved: VirtualPath,
    /// The state that was read.
    pub version: FileVersion,
}

impl FileSlice {
    /// These lines, for showing.
    pub fn view(&self) -> View<'_> {
        View {
            content: &self.content,
            offset: self.offset,
            total_lines: self.total_lines,
            next_offset: self.next_offset,
            truncated: self.truncated,
        }
    }
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileContent {
    /// The bytes, exactly.
    pub bytes: Vec<u8>,
    /// The path with every link followed.
    pub resolved: VirtualPath,
    /// The state that was read.
    pub version: FileVersion,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Updated {
    /// Whether the file is new.
    pub created: bool,
    /// Bytes of the whole file now.
    pub size: u64,
    /// The path with every link followed.
    pub resolved: VirtualPath,
    /// The state that was written.
    pub version: FileVersion,
}

/// Runs commands.
pub trait Shell: Send + Sync {
    /// Runs one command to its end, its timeout, or the call's deadline. A command that fails is no error: see
    /// [`ExecuteOutcome`]. When the call is aborted or the time is over the whole process tree is ended and the output
    /// so far returned, with `aborted` or `timed_out` set.
    fn execute<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<ExecuteOutcome>>;

    /// Starts one command that runs beside its caller, with a pipe on its input that stays open. `timeout`, `on_timeout`
    /// and `background` of the request mean nothing here. It lives until it ends, until nobody holds it, or until the
    /// backend is closed.
    fn start<'a>(&'a self, request: ExecuteRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        let _ = (request, call);
        Box::pin(async {
            Err(Error::new(ErrorKind::Unsupported, "This backend runs no commands in the background; use `execute`."))
        })
    }

    /// Starts one command on a terminal of its own. It lives as one of [`Shell::start`] does.
    fn open_terminal<'a>(&'a self, request: TerminalRequest, call: &'a Call) -> BoxFuture<'a, Result<Process>> {
        let _ = (request, call);
        Box::pin(async { Err(Error::new(ErrorKind::Unsupported, "This backend has no terminals; use `execute`.")) })
    }

    /// Whether [`Shell::open_terminal`] works.
    fn has_terminals(&self) -> bool {
        false
    }

    /// Whether [`Shell::execute`] and [`Shell::open_terminal`] start their command within microseconds when they are first polled,
    /// or else give the thread back, and always give it back while the command runs: they may begin on a thread that is
    /// [lent](crate::lent).
    fn starts_at_hand(&self) -> bool {
        false
    }

    /// What `~` and `$HOME` are in a command; `None` where unknown, which leaves them unresolved.
    fn home(&self) -> Option<String> {
        None
    }

    /// Whether the shell that leads the terminal of `process` is in that directory at this moment, asked of the kernel, to which no
    /// program can lie; `None` where nobody can say so. What its name led to is looked at from `since` on.
    fn stands_in<'a>(
        &'a self,
        process: &'a Process,
        directory: &'a VirtualPath,
        since: SystemTime,
    ) -> BoxFuture<'a, Option<Standing>> {
        let _ = (process, directory, since);
        Box::pin(async { None })
    }

    /// Whether programs are looked up by name in directories where the agent may write, as far as that is known here.
    /// There no list of names says what runs (R-CMD-3).
    fn searches_writable(&self) -> bool {
        false
    }
}

/// Where a shell is, as against a directory by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In it.
    In,
    /// Elsewhere; the name may have led to where it is.
    Elsewhere,
    /// Elsewhere, and the name led to nothing else.
    Never,
}

/// One command.
#[derive(Clone)]
pub struct ExecuteRequest {
    /// The command line, for `sh -c`.
    pub command: String,
    /// After this the command is ended; `Duration::ZERO` ends it at once, `None` leaves it to the call's deadline.
    pub timeout: Option<Duration>,
    /// Where it runs; the working directory when absent.
    pub working_directory: Option<VirtualPath>,
    /// Variables set on top of the backend's environment.
    pub environment: Vec<(String, String)>,
    /// What the command reads; nothing when absent.
    pub stdin: Option<Vec<u8>>,
    /// Is handed output as it comes. Called from another thread, never concurrently.
    pub on_output: Option<OutputSink>,
    /// Ceilings on what it uses; the backend's own hold where one is absent.
    pub limits: CommandLimits,
    /// What becomes of processes that it leaves behind.
    pub background: Background,
    /// Takes the whole output where memory does not hold it.
    pub spill: Option<Spill>,
}

/// One command on a terminal.
pub struct TerminalRequest {
    /// The command line, for `sh -c`; `None` is the shell itself, waiting for commands.
    pub command: Option<String>,
    /// Where it runs; the working directory when absent.
    pub working_directory: Option<VirtualPath>,
    /// Variables set on top of the backend's environment.
    pub environment: Vec<(String, String)>,
    /// The size at the start.
    pub size: TerminalSize,
    /// Ceilings on what it uses.
    pub limits: CommandLimits,
    /// Is handed the bytes of the terminal before anybody is told of them.
    pub tap: Option<Tap>,
}

impl ExecuteRequest {
    /// A command in the working directory, with nothing to read, no time limit and no ceilings of its own.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            timeout: None,
            working_directory: None,
            environment: Vec::new(),
            stdin: None,
            on_output: None,
            limits: CommandLimits::default(),
            background: Background::End,
            spill: None,
        }
    }
}

/// What becomes of the processes that a command leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Background {
    /// They are ended before the result is returned.
    #[default]
    End,
    /// They live until the backend is closed; what they still print is dropped. Refused where their end with this
    /// process cannot be promised.
    Keep,
}

/// Takes output as it comes.
pub type OutputSink = Arc<dyn Fn(OutputChunk) + Send + Sync>;

/// A piece of output, cut on character borders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// Which stream.
    pub stream: Stream,
    /// The text; bytes that are not UTF-8 became U+FFFD.
    pub text: String,
}

/// An output stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteOutcome {
    /// Both streams in the order in which they arrived, bounded: head and tail are kept, with an honest marker between.
    pub output: String,
    /// Standard output alone, bounded in the same way.
    pub stdout: String,
    /// Standard error alone, bounded in the same way.
    pub stderr: String,
    /// The exit code; `None` when a signal ended the shell.
    pub exit_code: Option<i32>,
    /// The signal's name, such as `SIGKILL`, when one ended the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Whether the caller's abort ended it.
    pub aborted: bool,
    /// Whether output was dropped.
    pub truncated: bool,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Processes that the command left behind and that were ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes_left: Option<u32>,
    /// The processes that the command left behind and that are kept ([`Background::Keep`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes_kept: Vec<u32>,
    /// Bytes of memory at the peak, where the backend knows: of the largest process, or of all together where a look (after
    /// 50 ms, then every second; every 50 ms with a ceiling on memory) showed more. Of a command that left processes to be
    /// kept: until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// The ceiling for which the command was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// Whether the command ended the program that ends its processes: those that could not be found then may live on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub supervisor_lost: bool,
    /// Where the whole output can be read, when `output` lacks some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_path: Option<String>,
    /// Where the file at `spill_path` holds only the beginning of the output: so many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u64>,
    /// What the exit code means, where that is well known, such as that `grep` found nothing.
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub exit_meaning: Option<&'static str>,
}
