//! Running commands: one, or as many as the size of an answer needs.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{PosixPlace, answer, refused, script};
use crate::access::Unguarded;
use crate::backend::{Call, ExecuteRequest, Shell};
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 30 s for one command (BE-64).
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// 1 KiB: a shell that prints less than that at once cannot be used.
const MIN_READ_BYTES: usize = 1 << 10;

/// What the other side has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tools {
    /// `base64`, both ways.
    pub(super) base64: bool,
    pub(super) stat: Stat,
}

/// How facts about files are had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stat {
    /// `stat -c`, as GNU and busybox have it.
    Gnu,
    /// `stat -f`, as BSD and macOS have it.
    Bsd,
    /// `test` and `wc`.
    Shell,
}

impl PosixPlace {
    pub(super) async fn tools(&self, deadline: &Deadline) -> Result<Tools> {
        let found = self.tools.get_or_try_init(|| async {
            let printed = self.command(script::PROBE.to_owned(), deadline).await?;
            let has = |word: &str| printed.lines().any(|line| line.trim() == word);
            if !has("gloveport-ready") {
                let message = "The backend's `execute` does not run a POSIX shell, so no files can be reached by it.";
                return Err(Error::new(ErrorKind::BackendUnavailable, message));
            }
            let stat = match (has("gloveport-stat-gnu"), has("gloveport-stat-bsd")) {
                (true, _) => Stat::Gnu,
                (false, true) => Stat::Bsd,
                (false, false) => Stat::Shell,
            };
            Ok(Tools { base64: has("gloveport-base64"), stat })
        });
        found.await.copied()
    }

    /// Runs a script whose answer fits into one piece.
    pub(super) async fn run(&self, script: &str, path: &VirtualPath, deadline: &Deadline) -> Result<Vec<u8>> {
        self.attempted(script, path, deadline).await?.ok_or_else(cut)
    }

    /// Runs a script; `None` when its answer was cut on its way.
    pub(super) async fn attempted(
        &self,
        script: &str,
        path: &VirtualPath,
        deadline: &Deadline,
    ) -> Result<Option<Vec<u8>>> {
        match self.attempt(script, deadline).await? {
            Some((bytes, 0)) => Ok(Some(bytes)),
            Some((_, code)) => Err(refused(code, path)),
            None => Ok(None),
        }
    }

    /// Runs what `script` says for a number of bytes, fewer where an answer is cut. Returns what came, and how many bytes
    /// were asked for.
    pub(super) async fn fetch(
        &self,
        wanted: u64,
        deadline: &Deadline,
        script: impl Fn(u64) -> String,
        path: &VirtualPath,
    ) -> Result<(Vec<u8>, u64)> {
        loop {
            let piece = self.read_bytes.load(Ordering::Relaxed);
            let asked = wanted.min(piece as u64);
            match self.attempt(&script(asked), deadline).await? {
                Some((bytes, 0)) => {
                    if bytes.len() as u64 > asked {
                        return Err(nonsense(path));
                    }
                    if bytes.len() == piece && piece * 2 <= self.most_bytes.load(Ordering::Relaxed) {
                        let (from, to) = (piece, piece * 2);
                        let _ = self.read_bytes.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
                    }
                    return Ok((bytes, asked));
                }
                Some((_, code)) => return Err(refused(code, path)),
                None => self.shrink(piece, asked)?,
            }
        }
    }

    fn shrink(&self, piece: usize, asked: u64) -> Result<()> {
        let smaller = usize::try_from(asked).unwrap_or(piece).min(piece) / 2;
        if smaller < MIN_READ_BYTES {
            return Err(cut());
        }
        self.most_bytes.fetch_min(smaller, Ordering::Relaxed);
        self.read_bytes.fetch_min(smaller, Ordering::Relaxed);
        Ok(())
    }

    /// Runs a script whose answer may be of any size: what does not come through at once is put into a file of its own
    /// and read piece by piece, so that all of it is of one moment.
    pub(super) async fn long(&self, script: &str, path: &VirtualPath, deadline: &Deadline) -> Result<Vec<u8>> {
        let limit = self.read_bytes.load(Ordering::Relaxed);
        match self.attempt(&format!("({script}) | head -c {}", limit + 1), deadline).await? {
            Some((bytes, 0)) if bytes.len() <= limit && !bytes.is_empty() => return Ok(bytes),
            Some(_) | None => {}
        }
        let mark = mark();
        let file = VirtualPath::absolute(&format!("/tmp/.gloveport-{mark}.tmp"))?;
        let made = self.attempt(&script::into_file(script, file.as_str()), deadline).await;
        let read = match made {
            Ok(Some((_, 0))) => self.read_now(&file, 0, u64::MAX, deadline).await,
            Ok(Some(_)) => Err(refused(script::FAILED, path)),
            Ok(None) => Err(cut()),
            Err(error) => Err(error),
        };
        let _ = self.attempt(&script::forget(&file), deadline).await;
        let mut bytes = read?;
        match answer::take_code(&mut bytes) {
            Some(0) => Ok(bytes),
            Some(code) => Err(refused(code, path)),
            None => Err(nonsense(path)),
        }
    }

    /// One script, and its output and exit code; `None` when the answer was cut on its way.
    async fn attempt(&self, script: &str, deadline: &Deadline) -> Result<Option<(Vec<u8>, i32)>> {
        let tools = self.tools(deadline).await?;
        let mark = mark();
        let printed = self.command(script::framed(script, &mark, tools.base64), deadline).await?;
        Ok(answer::unframe(&printed, &mark, tools.base64))
    }

    async fn command(&self, command: String, deadline: &Deadline) -> Result<String> {
        deadline.check()?;
        execute(&*self.shell, command, deadline).await
    }
}

async fn execute(shell: &dyn Shell, command: String, deadline: &Deadline) -> Result<String> {
    let request = ExecuteRequest { timeout: Some(COMMAND_TIMEOUT), ..ExecuteRequest::new(command) };
    let call = Call { deadline: deadline.within(COMMAND_TIMEOUT), guard: Arc::new(Unguarded) };
    let outcome = shell.execute(request, &call).await?;
    deadline.check()?;
    if outcome.timed_out || outcome.aborted {
        let message = "The command that should have done this took longer than its time limit.";
        return Err(Error::new(ErrorKind::Timeout, message));
    }
    Ok(outcome.stdout)
}

/// Removes a file that nobody needs, as far as that is possible.
pub(super) async fn tidy(shell: &dyn Shell, file: &VirtualPath) {
    let _ = execute(shell, script::forget(file), &Deadline::default()).await;
}

fn mark() -> String {
    format!("{:016x}", RandomState::new().hash_one(()))
}

/// An answer that makes no sense.
pub(super) fn nonsense(path: &VirtualPath) -> Error {
    Error::new(
        ErrorKind::BackendUnavailable,
        format!("The shell of the backend answered something unusable about '{path}'."),
    )
    .with_path(path.as_str())
}

fn cut() -> Error {
    Error::new(
        ErrorKind::BackendUnavailable,
        "The backend's `execute` does not hand over what a command prints: its answer was cut.",
    )
}
