//! Waiting for the end of a process without reaping it: until it is reaped its number is nobody else's, and its group can
//! be ended safely. On Linux the wait is a handle on the process in the runtime's poller; there is no `SIGCHLD` handler,
//! which would meddle with Node's (R-SH-5).

use rustix::process::Pid;

use crate::error::Result;

/// Ends when the process has ended.
#[cfg(target_os = "linux")]
pub(super) struct ExitWatch(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl ExitWatch {
    /// Watches `child`, a child of this process that nobody has reaped. Fails on a kernel without process handles.
    pub(super) fn new(child: Pid) -> Result<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};
        use tokio::io::Interest;

        use super::room::watched;
        use crate::error::{Error, ErrorKind};

        pidfd_open(child, PidfdFlags::NONBLOCK)
            .ok()
            .and_then(|handle| watched(handle, Interest::READABLE))
            .map(Self)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Unsupported,
                    "Commands cannot run here: the kernel gives no handle on a process (Linux 5.3 or newer is needed).",
                )
            })
    }

    /// Ends when the process has ended; at once ever after.
    pub(super) async fn ended(&mut self) {
        // An error means that the runtime shuts down; then this future is dropped at its next await.
        drop(self.0.readable().await);
    }
}

/// Ends when the process has ended.
#[cfg(not(target_os = "linux"))]
pub(super) struct ExitWatch {
    waiting: tokio::task::JoinHandle<()>,
    ended: bool,
}

#[cfg(not(target_os = "linux"))]
impl ExitWatch {
    /// Watches `child`, a child of this process that nobody has reaped, by a thread that waits for it.
    pub(super) fn new(child: Pid) -> Result<Self> {
        use rustix::io::Errno;
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let waiting = tokio::task::spawn_blocking(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(child), options), Err(Errno::INTR)) {}
        });
        Ok(Self { waiting, ended: false })
    }

    /// Ends when the process has ended; at once ever after.
    pub(super) async fn ended(&mut self) {
        if !self.ended {
            // The only error is a runtime that shuts down; then this future is dropped at its next await.
            drop((&mut self.waiting).await);
            self.ended = true;
        }
    }
}
