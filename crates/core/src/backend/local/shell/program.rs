//! The supervisor program, as something that can be started.
//!
//! Core neither contains nor builds it: whoever makes a backend hands it in, as the bytes that the addon carries or as
//! a path. Bytes are written once, to memory that nobody can change any more (a sealed `memfd`); where the system runs
//! no program from memory, to a file that has no name any more when it is first run.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};

/// The supervisor program. Clones share it; it is small enough to keep one for each process.
#[derive(Debug, Clone)]
pub struct SupervisorProgram {
    source: Arc<Source>,
    lost: Option<fn()>,
    starts_ahead: bool,
}

#[derive(Debug)]
enum Source {
    Path(PathBuf),
    Descriptor(OwnedFd),
}

impl SupervisorProgram {
    /// The program at an absolute path of the host.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        Self::of(Source::Path(path.into()))
    }

    fn of(source: Source) -> Self {
        Self { source: Arc::new(source), lost: None, starts_ahead: true }
    }

    /// The same, where no shell is to be started before there is a command for it.
    #[must_use]
    pub fn without_starting_ahead(self) -> Self {
        Self { starts_ahead: false, ..self }
    }

    /// Whether a supervisor at rest starts the shell of its next command.
    pub(super) fn starts_ahead(&self) -> bool {
        self.starts_ahead
    }

    /// The same, with what else is to be done when a command has killed or stopped its supervisor: it may have left processes that
    /// nobody finds any more.
    #[must_use]
    pub fn when_lost(self, lost: fn()) -> Self {
        Self { lost: Some(lost), ..self }
    }

    /// A supervisor was lost, and what could be found of its command has ended.
    pub(super) fn lose(&self) {
        if let Some(lost) = self.lost {
            lost();
        }
    }

    /// The program of these bytes. Fails with `Unsupported` where neither memory nor the temporary directory takes it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        in_memory(bytes)
            .or_else(|_| in_nameless_file(bytes))
            .map(|descriptor| Self::of(Source::Descriptor(descriptor)))
            .map_err(|_| {
                Error::new(
                    ErrorKind::Unsupported,
                    "Commands cannot run here: the system takes a program neither in memory nor as a temporary file.",
                )
            })
    }

    /// What to start. Valid in this process and in a child of it until the child's `exec`, as long as `self` lives.
    pub(super) fn path(&self) -> OsString {
        match &*self.source {
            Source::Path(path) => path.clone().into(),
            Source::Descriptor(descriptor) => format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into(),
        }
    }
}

fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // The flag says that it is to be run; kernels before 6.3 do not know it and need none.
    let memory = match memfd_create("gloveport-supervisor", flags | MemfdFlags::EXEC) {
        Err(Errno::INVAL) => memfd_create("gloveport-supervisor", flags)?,
        made => made?,
    };
    let mut file = File::from(memory);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(file.into())
}

/// A file that only this user may run, and that has lost its name when this returns.
fn in_nameless_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let path = std::env::temp_dir().join(format!("gloveport-supervisor-{:016x}", RandomState::new().hash_one(())));
    let mut writer = File::options().write(true).create_new(true).mode(0o700).open(&path)?;
    // For reading, and the writer is closed before the first start: a file that is open for writing cannot be run.
    let file = writer.write_all(bytes).and_then(|()| File::open(&path));
    std::fs::remove_file(&path)?;
    Ok(file?.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};
    use std::process::Command;

    use super::*;

    #[test]
    fn runs_from_memory_and_from_a_file_without_a_name() {
        let program = std::fs::read("/bin/true").unwrap();
        for descriptor in [in_memory(&program).unwrap(), in_nameless_file(&program).unwrap()] {
            let program = SupervisorProgram::of(Source::Descriptor(descriptor));
            assert!(Command::new(program.path()).status().unwrap().success());
        }
    }

    #[test]
    fn memory_that_is_run_cannot_be_changed() {
        let mut file = File::from(in_memory(b"program").unwrap());
        assert!(file.write_all(b"other").is_err());
        assert!(file.set_len(0).is_err());
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "program");
    }
}
