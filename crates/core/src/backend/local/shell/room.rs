//! Waiting for room to write.
//!
//! What is read and written (a terminal, the socket of a supervisor) is watched for reading alone: watched for both, the runtime
//! would be woken each time that the other side takes a byte, which for a line editor is at every key. Room is waited for
//! only when there was none, through a second descriptor of the same.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// 10 ms before another attempt where no room can be waited for, because this process has no descriptor left.
const RETRY: Duration = Duration::from_millis(10);

/// Knows when there is room again. Made after an attempt that found none.
pub(super) struct Room(Option<AsyncFd<OwnedFd>>);

impl Room {
    /// Watches `writer`, which must not block.
    pub(super) fn of(writer: impl AsFd) -> Self {
        let second = writer.as_fd().try_clone_to_owned().ok();
        Self(second.and_then(|second| watched(second, Interest::WRITABLE)))
    }

    /// Ends when there may be room.
    pub(super) async fn there(&self) {
        match &self.0 {
            // Cleared before the attempt. An error means that the runtime shuts down.
            Some(watched) => {
                if let Ok(mut ready) = watched.writable().await {
                    ready.clear_ready();
                }
            }
            None => tokio::time::sleep(RETRY).await,
        }
    }
}

/// A descriptor in the runtime's poller; `None` where it cannot be watched, and then it is given up.
#[allow(unsafe_code, reason = "registering a descriptor is unsafe to call; the one use below says why it holds")]
pub(super) fn watched<D: AsFd + AsRawFd + 'static>(descriptor: D, interest: Interest) -> Option<AsyncFd<D>> {
    // SAFETY: whatever is `AsFd` holds an open descriptor while it lives, and nothing takes it out of the `AsyncFd` but
    // `into_inner`, which deregisters it; dropped, the `AsyncFd` deregisters it before it gives it up.
    unsafe { AsyncFd::register_with_interest(descriptor, interest) }.ok()
}
