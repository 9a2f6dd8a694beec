//! One step of a contract case, and its answer as a line of text, so that backends compare byte for byte.

use std::fmt::Write as _;
use std::sync::Arc;

use gloveport_core::access::{Guard, Operation};
use gloveport_core::backend::{Backend, Call, FileKind, Missing, Window, WritableFileSystem};
use gloveport_core::error::{Error, ErrorKind, Result};
use gloveport_core::path::VirtualPath;
use gloveport_core::search::{FindQuery, GlobQuery, GrepQuery, OutlineQuery, SortOrder};

/// What a case does. Paths are relative to where the backend under test begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// Replaces or creates a file.
    Write(&'static str, &'static [u8]),
    /// Replaces one text in a file that must exist.
    Edit(&'static str, &'static str, &'static str),
    /// Works out a change and fails.
    FailToEdit(&'static str),
    /// Adds at the end.
    Append(&'static str, &'static [u8]),
    /// A window: offset, lines, bytes.
    Read(&'static str, u64, u64, u64),
    /// All bytes, up to a limit.
    Bytes(&'static str, u64),
    /// What is there.
    Stat(&'static str),
    /// Where it leads.
    Resolve(&'static str),
    /// The entries below, this many levels deep.
    List(&'static str, u32),
    /// Makes a directory.
    Mkdir(&'static str),
    /// Removes a file or an empty directory.
    Remove(&'static str),
    /// Removes whatever is there.
    RemoveAll(&'static str),
    /// Moves.
    Rename(&'static str, &'static str),
    /// Copies.
    Copy(&'static str, &'static str),
    /// Names by pattern below a path.
    Glob(&'static str, &'static str, fn(&mut GlobQuery)),
    /// Lines by pattern below a path.
    Grep(&'static str, &'static str, fn(&mut GrepQuery)),
    /// Files by parts of their path below a path.
    Find(&'static str, &'static str, fn(&mut FindQuery)),
    /// A tree below a path, this many levels deep.
    Outline(&'static str, u32, fn(&mut OutlineQuery)),
    /// A step while the guard denies an operation on a path.
    Denied(Operation, &'static str, &'static Step),
}

/// Denies one operation on one path.
struct Denial(Operation, VirtualPath);

impl Guard for Denial {
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()> {
        if (operation, path) == (self.0, &self.1) {
            return Err(
                Error::new(ErrorKind::PermissionDenied, format!("'{path}' is denied.")).with_path(path.as_str())
            );
        }
        Ok(())
    }
}

/// All lines of a file.
pub(crate) const fn read(path: &'static str) -> Step {
    Step::Read(path, 0, 2_000, 1 << 18)
}

/// A search with nothing special.
pub(crate) const fn glob(pattern: &'static str) -> Step {
    Step::Glob(pattern, "", |_| {})
}

/// A search with nothing special.
pub(crate) const fn grep(pattern: &'static str) -> Step {
    Step::Grep(pattern, "", |_| {})
}

/// Does `step` on `backend` below `base`, and says what came of it.
pub(crate) async fn perform(step: &Step, backend: &dyn Backend, base: &VirtualPath) -> String {
    let (step, call) = match step {
        Step::Denied(operation, path, step) => {
            let Ok(path) = VirtualPath::parse(path, base) else { return "no such path".to_owned() };
            (*step, Call { guard: Arc::new(Denial(*operation, path)), ..Call::default() })
        }
        step => (step, Call::default()),
    };
    let answer = match answer(step, backend, base, &call).await {
        Ok(answer) => answer,
        Err(error) => format!("{} {}", error.kind().code(), error.path().unwrap_or("-")),
    };
    // Where the backend begins is its own affair.
    if base.is_root() { answer } else { answer.replace(base.as_str(), "") }
}

async fn answer(step: &Step, backend: &dyn Backend, base: &VirtualPath, call: &Call) -> Result<String> {
    let files = backend.files();
    let at = |path: &str| VirtualPath::parse(path, base);
    Ok(match *step {
        Step::Denied(..) => return Err(Error::internal("A denied step holds another one.")),
        Step::Write(path, content) => {
            let replace = move |_: Option<_>| Ok(content.to_vec());
            let path = at(path)?;
            let updated =
                writer(backend)?.update(&path, Operation::Write, Missing::Create, Box::new(replace), call).await?;
            format!("{} {}", if updated.created { "created" } else { "replaced" }, updated.size)
        }
        Step::Edit(path, old, new) => {
            let replace = move |content: Option<gloveport_core::backend::FileContent>| {
                let text = content.map(|content| String::from_utf8_lossy(&content.bytes).into_owned());
                Ok(text.unwrap_or_default().replacen(old, new, 1).into_bytes())
            };
            let path = at(path)?;
            let updated =
                writer(backend)?.update(&path, Operation::Edit, Missing::Refuse, Box::new(replace), call).await?;
            format!("edited {}", updated.size)
        }
        Step::FailToEdit(path) => {
            let fail = |_: Option<_>| Err(Error::new(ErrorKind::EditFailed, "Nothing to replace."));
            writer(backend)?.update(&at(path)?, Operation::Edit, Missing::Create, Box::new(fail), call).await?;
            "edited".to_owned()
        }
        Step::Append(path, content) => {
            let updated = writer(backend)?.append(&at(path)?, content.to_vec(), call).await?;
            format!("{} {}", if updated.created { "created" } else { "appended" }, updated.size)
        }
        Step::Read(path, offset, limit, max_bytes) => {
            let slice = files.read(&at(path)?, Window { offset, limit, max_bytes }, call).await?;
            let total = slice.total_lines.map_or("?".to_owned(), |total| total.to_string());
            let next = slice.next_offset.map_or(String::new(), |next| format!(", next {next}"));
            let cut = if slice.truncated { ", truncated" } else { "" };
            format!("{:?} {} of {total}, {} bytes{next}{cut}", slice.content, slice.lines, slice.bytes)
        }
        Step::Bytes(path, max_bytes) => {
            let content = files.read_bytes(&at(path)?, max_bytes, call).await?;
            format!("{}", content.bytes.escape_ascii())
        }
        Step::Stat(path) => match files.stat(&at(path)?, call).await? {
            None => "nothing".to_owned(),
            Some(info) => format!("{} {} {} {}", info.path, info.name, kind(info.kind), info.size),
        },
        Step::Resolve(path) => {
            let resolution = files.resolve(&at(path)?, call).await?;
            let size = resolution.version.map_or(String::new(), |version| format!(" {}", version.size));
            format!("{} {}{size}", resolution.resolved, resolution.kind.map_or("nothing", kind))
        }
        Step::List(path, depth) => {
            let listing = files.list(&at(path)?, depth, call).await?;
            let mut text = String::new();
            for info in listing.entries {
                let _ = match info.kind {
                    FileKind::File => write!(text, "{}:{} ", info.path, info.size),
                    FileKind::Directory | FileKind::Symlink | FileKind::Other => write!(text, "{}/ ", info.path),
                };
            }
            text.trim_end().to_owned()
        }
        Step::Mkdir(path) => {
            let made = writer(backend)?.make_directory(&at(path)?, call).await?;
            if made { "made" } else { "existed" }.to_owned()
        }
        Step::Remove(path) => format!("removed {}", writer(backend)?.remove(&at(path)?, false, call).await?),
        Step::RemoveAll(path) => format!("removed {}", writer(backend)?.remove(&at(path)?, true, call).await?),
        Step::Rename(from, to) => {
            writer(backend)?.rename(&at(from)?, &at(to)?, call).await?;
            "moved".to_owned()
        }
        Step::Copy(from, to) => format!("copied {}", writer(backend)?.copy(&at(from)?, &at(to)?, call).await?),
        Step::Glob(pattern, path, adjust) => {
            let mut query = GlobQuery::new(pattern, at(path)?);
            query.sort = SortOrder::Path;
            adjust(&mut query);
            let found = files.glob(&query, call).await?;
            let paths: Vec<_> = found.files.iter().map(|info| info.path.as_str()).collect();
            let more = more(found.ignored, found.truncated);
            format!("{} of {}{more}", paths.join(" "), found.total)
        }
        Step::Find(words, path, adjust) => {
            let mut query = FindQuery::new(words, at(path)?);
            adjust(&mut query);
            let found = files.find(&query, call).await?;
            let paths: Vec<_> = found.files.iter().map(|info| info.path.as_str()).collect();
            let more = more(found.ignored, found.truncated);
            format!("{} of {}{more}", paths.join(" "), found.total)
        }
        Step::Outline(path, depth, adjust) => {
            let mut query = OutlineQuery { path: at(path)?, depth, respect_ignore: true, counts: false };
            adjust(&mut query);
            let found = files.outline(&query, call).await?;
            let mut text = String::new();
            for entry in found.entries {
                let _ = match (entry.info.kind, entry.files) {
                    (FileKind::File, _) => write!(text, "{}:{} ", entry.info.path, entry.info.size),
                    (_, Some(files)) => write!(text, "{}/[{files}] ", entry.info.path),
                    (_, None) => write!(text, "{}/ ", entry.info.path),
                };
            }
            let files = found.files.map_or(String::new(), |files| format!(", {files} files"));
            format!("{text}of {}{files}", found.total)
        }
        Step::Grep(pattern, path, adjust) => {
            let mut query = GrepQuery::new(pattern, at(path)?);
            query.sort = SortOrder::Path;
            adjust(&mut query);
            let found = files.grep(&query, call).await?;
            let mut text = String::new();
            for line in &found.matches {
                for before in &line.before {
                    let _ = write!(text, "{}-{}-{} ", line.path, before.line_number, before.line);
                }
                let _ = write!(text, "{}:{}:{} ", line.path, line.line_number, line.line);
                for after in &line.after {
                    let _ = write!(text, "{}-{}-{} ", line.path, after.line_number, after.line);
                }
            }
            for file in &found.files {
                let _ = write!(text, "[{} {}] ", file.path, file.count);
            }
            let more = more(found.ignored, found.truncated);
            format!("{}{} in {}{more}", text, found.total_matches, found.total_files)
        }
    })
}

/// What is said behind the results of a search.
fn more(ignored: u64, truncated: bool) -> String {
    let ignored = if ignored > 0 { format!(", {ignored} ignored") } else { String::new() };
    ignored + if truncated { ", truncated" } else { "" }
}

fn writer(backend: &dyn Backend) -> Result<&dyn WritableFileSystem> {
    backend.writer().ok_or_else(|| Error::new(ErrorKind::PathNotWritable, "There is no writer."))
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        FileKind::Other => "other",
    }
}
