//! [`PosixPlace`]: files through nothing but a shell, by the tools that every POSIX system has (BE-60 … BE-64).
//!
//! Made for containers and machines that offer one function, "run this command". A script is written so that busybox and
//! the GNU tools run it alike; whatever comes from a caller is quoted ([`script::quote`]) and begins with `/`, so it can
//! neither end a word nor be taken for an option. Bytes cross as base64 (or, without that tool, as octal and hexadecimal
//! digits) between two marks that nobody can foresee, in pieces that fit any limit on command lines and on output: a piece
//! that comes back without its end mark was cut, and is asked for again in smaller ones. Nothing here judges: see
//! [`RemoteBackend`](super::remote::RemoteBackend).
//!
//! ```text
//! script   quoting, and the text of every command
//! answer   what a command printed: marks, digits, records
//! run      one command, or as many as the size of an answer needs
//! ```

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::OnceCell;

use super::remote::{Abilities, Entry, Opened, Place};
use super::{BoxFuture, FileKind, Shell, temp};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

mod answer;
mod run;
mod script;

#[cfg(feature = "docker")]
pub(super) use self::script::quote;

use self::run::Tools;

/// 48 KiB of content in one command: 64 KiB of base64, well below the 128 KiB that one argument may have.
const WRITE_BYTES: usize = 48 << 10;
/// 16 KiB where every byte takes four characters.
const OCTAL_BYTES: usize = 16 << 10;
/// 32 KiB: a file that is no larger comes with what is said of it.
const OPEN_BYTES: usize = 32 << 10;
/// 64 KiB of content in the first answer; answers then grow to 1 MiB while nothing cuts them.
const READ_BYTES: usize = 64 << 10;
/// 1 MiB: the largest piece that is asked for at once.
const MAX_READ_BYTES: usize = 1 << 20;

/// Files by commands of a shell.
pub struct PosixPlace {
    shell: Arc<dyn Shell>,
    /// What the other side has; found out with the first command.
    tools: OnceCell<Tools>,
    /// Bytes of content that an answer may hold; adapts to what comes through.
    read_bytes: AtomicUsize,
    /// What came back cut once is not tried again.
    most_bytes: AtomicUsize,
}

impl PosixPlace {
    /// Files of wherever `shell` runs its commands.
    pub fn new(shell: Arc<dyn Shell>) -> Self {
        Self {
            shell,
            tools: OnceCell::new(),
            read_bytes: AtomicUsize::new(READ_BYTES),
            most_bytes: AtomicUsize::new(MAX_READ_BYTES),
        }
    }

    async fn write_now(
        &self,
        path: &VirtualPath,
        content: &[u8],
        mode: Option<u32>,
        deadline: &Deadline,
    ) -> Result<()> {
        let parent = path.parent().unwrap_or_else(VirtualPath::root);
        let temporary = parent.join(&temp::name())?;
        let unfinished = Unfinished { place: self, path: Some(temporary.clone()) };
        let tools = self.tools(deadline).await?;
        let pieces = pieces(content, if tools.base64 { WRITE_BYTES } else { OCTAL_BYTES });
        let last = pieces.len() - 1;
        for (index, piece) in pieces.into_iter().enumerate() {
            let mut script = String::new();
            if index == 0 {
                script.push_str(&script::make_parent(&parent));
            }
            script.push_str(&script::put(&temporary, piece, index > 0, tools.base64));
            if index == last {
                script.push_str(&script::finish(&temporary, path, content.len(), mode));
            }
            self.run(&script, path, deadline).await?;
        }
        unfinished.done();
        Ok(())
    }

    async fn append_now(&self, path: &VirtualPath, content: &[u8], deadline: &Deadline) -> Result<()> {
        let tools = self.tools(deadline).await?;
        let parent = path.parent().unwrap_or_else(VirtualPath::root);
        let mut pieces = pieces(content, if tools.base64 { WRITE_BYTES } else { OCTAL_BYTES });
        if let [piece] = pieces[..] {
            let script = script::make_parent(&parent) + &script::put(path, piece, true, tools.base64);
            return self.run(&script, path, deadline).await.map(drop);
        }
        // Gathered beside the file, so that it grows at once.
        let temporary = parent.join(&temp::name())?;
        let unfinished = Unfinished { place: self, path: Some(temporary.clone()) };
        let mut script = script::make_parent(&parent);
        let last = pieces.pop().unwrap_or_default();
        for (index, piece) in pieces.into_iter().enumerate() {
            script.push_str(&script::put(&temporary, piece, index > 0, tools.base64));
            self.run(&script, path, deadline).await?;
            script.clear();
        }
        script.push_str(&script::put(&temporary, last, true, tools.base64));
        script.push_str(&script::add_to(&temporary, path, content.len()));
        self.run(&script, path, deadline).await?;
        unfinished.done();
        Ok(())
    }

    async fn read_now(&self, path: &VirtualPath, from: u64, length: u64, deadline: &Deadline) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        while (content.len() as u64) < length {
            let left = length - content.len() as u64;
            let at = from + content.len() as u64;
            let (piece, asked) = self.fetch(left, deadline, |bytes| script::read(path, at, bytes), path).await?;
            let ended = (piece.len() as u64) < asked;
            content.extend_from_slice(&piece);
            if ended {
                break;
            }
        }
        Ok(content)
    }

    async fn stat_now(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Option<Entry>> {
        let tools = self.tools(deadline).await?;
        entry(&self.run(&script::stat(path, tools.stat), path, deadline).await?, path)
    }

    async fn open_now(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Opened> {
        let tools = self.tools(deadline).await?;
        let most = OPEN_BYTES.min(self.read_bytes.load(std::sync::atomic::Ordering::Relaxed) / 2);
        let Some(printed) = self.attempted(&script::open(path, tools.stat, most), path, deadline).await? else {
            // It was cut on its way: the entry alone is short.
            return Ok(self.stat_now(path, deadline).await?.map(|entry| (entry, None)));
        };
        let (facts, bytes) = match memchr::memchr(0, &printed) {
            Some(end) => (&printed[..end], Some(printed[end + 1..].to_vec())),
            None => (printed.as_slice(), None),
        };
        let bytes = bytes.filter(|bytes| bytes.len() <= most);
        Ok(entry(facts, path)?.map(|entry| (entry, bytes)))
    }
}

/// What a script says of one path.
fn entry(printed: &[u8], path: &VirtualPath) -> Result<Option<Entry>> {
    if printed.is_empty() {
        return Ok(None);
    }
    let wrong = || run::nonsense(path);
    let (facts, place) = answer::split_line(printed).ok_or_else(wrong)?;
    let place = place.strip_suffix(b"\n").unwrap_or(place);
    let mut entry = answer::facts(facts, path.file_name().unwrap_or("/")).ok_or_else(wrong)?;
    let place = std::str::from_utf8(place).ok().and_then(|place| VirtualPath::absolute(place).ok());
    entry.resolved = place.filter(|place| place != path);
    Ok(Some(entry))
}

impl PosixPlace {
    async fn list_now(&self, path: &VirtualPath, deadline: &Deadline) -> Result<Vec<Entry>> {
        let tools = self.tools(deadline).await?;
        let printed = self.long(&script::list(path, tools.stat), path, deadline).await?;
        let mut entries = answer::listing(&printed).ok_or_else(|| run::nonsense(path))?;
        entries.retain(|entry| !temp::is_temporary(entry.name.as_bytes()));
        Ok(entries)
    }

    async fn read_several_now(
        &self,
        files: &[(VirtualPath, u64)],
        deadline: &Deadline,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let mut contents = Vec::with_capacity(files.len());
        let mut rest = files;
        while !rest.is_empty() {
            let room = self.read_bytes.load(std::sync::atomic::Ordering::Relaxed) as u64;
            let (mut bytes, mut names, mut count) = (0, 0, 0);
            for (path, size) in rest {
                bytes += size + 24;
                names += path.as_str().len() + 8;
                if count > 0 && (bytes > room || names > WRITE_BYTES) {
                    break;
                }
                count += 1;
            }
            let (batch, after) = rest.split_at(count);
            rest = after;
            let root = VirtualPath::root();
            let printed = self.run(&script::read_several(batch), &root, deadline).await;
            match printed.ok().and_then(|printed| answer::several(&printed, batch.len())) {
                Some(batch) => contents.extend(batch),
                // One of them changed meanwhile, or the answer was cut: one by one.
                None => {
                    for (path, size) in batch {
                        deadline.check()?;
                        contents.push(self.read_now(path, 0, *size, deadline).await.ok());
                    }
                }
            }
        }
        Ok(contents)
    }
}

/// Pieces of at most `size` bytes; at least one.
fn pieces(content: &[u8], size: usize) -> Vec<&[u8]> {
    if content.is_empty() { vec![content] } else { content.chunks(size).collect() }
}

/// Removes a temporary file when its write does not come to its end.
struct Unfinished<'a> {
    place: &'a PosixPlace,
    path: Option<VirtualPath>,
}

impl Unfinished<'_> {
    fn done(mut self) {
        self.path = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let Some(path) = self.path.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let shell = Arc::clone(&self.place.shell);
        // Not under the deadline of the call, which may be over.
        runtime.spawn(async move { run::tidy(&*shell, &path).await });
    }
}

impl Place for PosixPlace {
    fn abilities(&self) -> Abilities {
        Abilities {
            list: true,
            ranges: true,
            links: true,
            batches: true,
            write: true,
            append: true,
            make_directory: true,
            remove: true,
            rename: true,
            copy: true,
        }
    }

    fn stat<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Option<Entry>>> {
        Box::pin(self.stat_now(path, deadline))
    }

    fn open<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Opened>> {
        Box::pin(self.open_now(path, deadline))
    }

    fn list<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<Vec<Entry>>> {
        Box::pin(self.list_now(path, deadline))
    }

    fn read<'a>(
        &'a self,
        path: &'a VirtualPath,
        from: u64,
        length: u64,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(self.read_now(path, from, length, deadline))
    }

    fn read_several<'a>(
        &'a self,
        files: &'a [(VirtualPath, u64)],
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>>> {
        Box::pin(self.read_several_now(files, deadline))
    }

    fn write<'a>(
        &'a self,
        path: &'a VirtualPath,
        content: Vec<u8>,
        mode: Option<u32>,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.write_now(path, &content, mode, deadline).await })
    }

    fn append<'a>(
        &'a self,
        path: &'a VirtualPath,
        content: Vec<u8>,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.append_now(path, &content, deadline).await })
    }

    fn make_directory<'a>(&'a self, path: &'a VirtualPath, deadline: &'a Deadline) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.run(&script::make_parent(path), path, deadline).await.map(drop) })
    }

    fn remove<'a>(
        &'a self,
        path: &'a VirtualPath,
        recursive: bool,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.run(&script::remove(path, recursive), path, deadline).await.map(drop) })
    }

    fn rename<'a>(
        &'a self,
        from: &'a VirtualPath,
        to: &'a VirtualPath,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.run(&script::rename(from, to), to, deadline).await.map(drop) })
    }

    fn copy<'a>(
        &'a self,
        from: &'a VirtualPath,
        to: &'a VirtualPath,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let parent = to.parent().unwrap_or_else(VirtualPath::root);
            let temporary = parent.join(&temp::name())?;
            let unfinished = Unfinished { place: self, path: Some(temporary.clone()) };
            self.run(&script::copy(from, &temporary, to), to, deadline).await?;
            unfinished.done();
            Ok(())
        })
    }
}

/// The refusal of a command, by its exit code: the scripts use those from [`script::FAILED`] on.
fn refused(code: i32, path: &VirtualPath) -> Error {
    let (kind, message) = match code {
        script::GONE => return Error::not_found(path),
        script::TAKEN => (ErrorKind::AlreadyExists, format!("'{path}' exists already; choose a name that is free.")),
        script::NOT_A_FILE => return super::memory::errors::not_a_file(path),
        _ => (ErrorKind::Io, format!("The system that runs the commands refused to do this with '{path}'.")),
    };
    Error::new(kind, message).with_path(path.as_str())
}

/// Kinds by the type bits of a mode.
fn kind_of(mode: u32) -> FileKind {
    match mode & 0o170_000 {
        0o100_000 => FileKind::File,
        0o040_000 => FileKind::Directory,
        0o120_000 => FileKind::Symlink,
        _ => FileKind::Other,
    }
}
