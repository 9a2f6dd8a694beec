//! One running shell: how it starts, how its end is noticed, and how it never stays behind.

use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::exit_watch::ExitWatch;
use super::running::{Ended, Launch};
use super::tree::{MARK_VARIABLE, Tree};
use crate::error::{Error, ErrorKind, Result};

/// Starts `/bin/sh -c` with the command of `launch`, as the leader of its own process group, with nothing to read unless
/// input follows. Blocks for the time of a `vfork` and `exec`; there is no `pre_exec`, which would copy the host's page
/// tables instead.
pub(super) fn start(launch: &Launch) -> Result<(OwnedChild, OurEnds)> {
    check_directory(&launch.directory)?;
    let mark = random_mark();
    let (ours, theirs) = pipes(launch.with_stdin)?;
    let child = Command::new("/bin/sh")
        // A command that begins with a dash is no option of the shell.
        .args(["-c", "--"])
        .arg(&launch.command)
        .env_clear()
        .envs(launch.environment.iter())
        .env(MARK_VARIABLE, &mark)
        .current_dir(path_of(&launch.directory)?)
        .stdin(theirs.stdin.map_or_else(Stdio::null, Stdio::from))
        .stdout(theirs.stdout)
        .stderr(theirs.stderr)
        .process_group(0)
        .spawn()
        .map_err(|error| refused(Errno::from_io_error(&error)))?;
    Ok((OwnedChild::new(child, &mark), ours))
}

/// A shell starts happily in a removed directory, and then nothing works there (D84).
pub(super) fn check_directory(directory: &OwnedFd) -> Result<()> {
    if fstat(directory).is_ok_and(|stat| stat.st_nlink == 0) {
        return Err(Error::new(ErrorKind::FileNotFound, "The working directory of the command no longer exists."));
    }
    Ok(())
}

/// A path that names the opened directory itself, whatever its name became in the meantime.
#[cfg(target_os = "linux")]
fn path_of(directory: &OwnedFd) -> Result<PathBuf> {
    use std::os::fd::AsRawFd;
    Ok(PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())))
}

/// A path that names the opened directory now. Best effort: where no path names a descriptor, a rename between this
/// call and the start leads elsewhere.
#[cfg(not(target_os = "linux"))]
fn path_of(directory: &OwnedFd) -> Result<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(directory)
        .map_err(|_| Error::new(ErrorKind::FileNotFound, "The working directory of the command no longer exists."))?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// Our ends of a command's pipes.
pub(super) struct OurEnds {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The command's ends of its pipes.
pub(super) struct ItsEnds {
    /// `None` where it reads nothing.
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The pipes of a command.
pub(super) fn pipes(with_stdin: bool) -> Result<(OurEnds, ItsEnds)> {
    let (stdout, its_stdout) = pipe()?;
    let (stderr, its_stderr) = pipe()?;
    let (its_stdin, stdin) =
        if with_stdin { pipe().map(|(read, write)| (Some(read), Some(write)))? } else { (None, None) };
    Ok((OurEnds { stdin, stdout, stderr }, ItsEnds { stdin: its_stdin, stdout: its_stdout, stderr: its_stderr }))
}

fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = std::io::pipe().map_err(|_| {
        Error::new(ErrorKind::Io, "The command was not started: this process has no file descriptor left for a pipe.")
    })?;
    Ok((reader.into(), writer.into()))
}

/// 64 bits that no other command of this process has, and that nobody outside can guess.
pub(super) fn random_mark() -> String {
    format!("{:016x}", RandomState::new().hash_one(()))
}

/// What the operating system refused, in words; a path of the host never appears.
pub(super) fn refused(error: Option<Errno>) -> Error {
    match error {
        Some(Errno::TOOBIG) => Error::invalid("The command and its environment are larger than the system takes."),
        Some(Errno::AGAIN | Errno::NOMEM) => Error::new(
            ErrorKind::Busy,
            "The command was not started: the system takes no further process at the moment.",
        ),
        Some(Errno::MFILE | Errno::NFILE) => {
            Error::new(ErrorKind::Io, "The command was not started: this process has no file descriptor left.")
        }
        Some(Errno::NOENT) => Error::new(ErrorKind::Unsupported, "Commands cannot run here: there is no /bin/sh."),
        Some(Errno::ACCESS) => {
            Error::new(ErrorKind::Io, "The command was not started: its working directory may not be entered.")
        }
        Some(_) | None => Error::new(ErrorKind::Io, "The command was not started: the system refused it."),
    }
}

/// A child and its tree, ended and reaped by whoever drops them.
struct Ending(Option<(Child, Tree)>);

impl Ending {
    fn end(&mut self) -> Ended {
        let Some((mut child, mut tree)) = self.0.take() else { return Ended::UNKNOWN };
        let others = tree.end();
        // By number, and only of our own child (R-SH-5). It fails where the host process reaps everything itself.
        let status = child.try_wait().unwrap_or_default();
        if status.is_none() {
            // The kernel holds the shell (a dead network file system): it is reaped when it gets free, not waited for.
            std::thread::spawn(move || child.wait());
        }
        Ended { status, others, ..Ended::UNKNOWN }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.end();
    }
}

/// A child that is ended and reaped whatever happens: also when the call's future is dropped half-way.
pub(super) struct OwnedChild(Ending);

impl OwnedChild {
    fn new(child: Child, mark: &str) -> Self {
        let tree = Tree::new(Pid::from_child(&child), mark);
        Self(Ending(Some((child, tree))))
    }

    /// Asks every process of the command to end. Blocks while it looks for them.
    pub(super) fn terminate(&mut self) {
        if let Some((_, tree)) = &mut self.0.0 {
            tree.terminate();
        }
    }

    /// Sends a signal to the group.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some((_, tree)) = &self.0.0 {
            tree.signal_group(signal);
        }
    }

    /// The number of the shell.
    pub(super) fn pid(&self) -> Option<u32> {
        self.0.0.as_ref().map(|(child, _)| child.id())
    }

    /// Watches for the end of the shell, without reaping it.
    pub(super) fn watch(&self) -> Result<ExitWatch> {
        match &self.0.0 {
            Some((child, _)) => ExitWatch::new(Pid::from_child(child)),
            None => Err(Error::internal("A command that was ended is watched.")),
        }
    }

    /// Ends every process that is left, then reaps the shell. Blocks for at most about a second.
    pub(super) fn end(mut self) -> Ended {
        self.0.end()
    }
}

impl Drop for OwnedChild {
    /// Not on this thread, which may have others to serve. A runtime that ends drops the work it is given, and the child with it:
    /// that must not come here again.
    fn drop(&mut self) {
        let mut ending = Ending(self.0.0.take());
        if ending.0.is_some()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            drop(runtime.spawn_blocking(move || ending.end()));
        }
    }
}

/// Our ends of the pipes, for waiting without a thread.
pub(super) fn receiver(pipe: OwnedFd) -> Result<Receiver> {
    set_nonblocking(&pipe)?;
    Receiver::from_owned_fd(pipe).map_err(|_| Error::internal("A pipe of a command cannot be waited on."))
}

/// The end of the pipe that the command reads from.
pub(super) fn sender(pipe: OwnedFd) -> Result<Sender> {
    set_nonblocking(&pipe)?;
    Sender::from_owned_fd(pipe).map_err(|_| Error::internal("A pipe of a command cannot be waited on."))
}

fn set_nonblocking(pipe: impl AsFd) -> Result<()> {
    rustix::io::ioctl_fionbio(pipe, true).map_err(|_| Error::internal("A pipe of a command cannot be waited on."))
}
