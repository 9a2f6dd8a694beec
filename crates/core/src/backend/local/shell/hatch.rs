//! The hatch of a command on a terminal ([`Tap::with_hatch`](crate::backend::tap::Tap::with_hatch)): a socket, of which no program can
//! open another end by its name, as it could that of a pipe.
//!
//! The command is started with it in place of its error output, and begins by making its descriptor 3 of it: so it travels as the
//! three descriptors do that every command has. The other side is held here too: what the command has not heard can be taken back.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

/// What a command with a hatch begins with.
pub(super) const BEGIN: &str = "exec 3<&2 2>&1\n";
/// 64 bytes of what is said at once: a word or two.
pub(super) const WORDS: usize = 64;

/// Our side of it, and the other.
pub(super) struct Hatch {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Hatch {
    pub(super) fn new() -> rustix::io::Result<Self> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { ours, theirs })
    }

    /// The side that a command gets.
    pub(super) fn theirs(&self) -> rustix::io::Result<OwnedFd> {
        rustix::io::fcntl_dupfd_cloexec(&self.theirs, 0)
    }

    /// Where the side that a command gets stands below `/proc`. Descriptors there are compared with it; it cannot be opened by that name.
    pub(super) fn name(&self) -> String {
        format!("{}/fd/{}", std::process::id(), self.theirs.as_raw_fd())
    }

    /// Says it; whether all of it could be said.
    pub(super) fn say(&self, bytes: &[u8]) -> bool {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            match send(&self.ours, bytes, flags) {
                Err(Errno::INTR) => {}
                said => return said == Ok(bytes.len()),
            }
        }
    }

    /// Hears what was said: how many bytes. Never waits.
    pub(super) fn hear(&self, words: &mut [u8; WORDS]) -> Option<usize> {
        take(&self.ours, words)
    }

    /// Takes back what was said and not heard; whether there was something.
    pub(super) fn take_back(&self) -> bool {
        let mut words = [0; WORDS];
        let was_there = take(&self.theirs, &mut words).is_some();
        while take(&self.theirs, &mut words).is_some() {}
        was_there
    }

    /// Whether something was said that nobody has heard.
    pub(super) fn has_words(&self) -> bool {
        ioctl_fionread(&self.ours).is_ok_and(|bytes| bytes > 0)
    }
}

fn take(socket: &OwnedFd, words: &mut [u8; WORDS]) -> Option<usize> {
    loop {
        return match recv(socket, &mut words[..], RecvFlags::DONTWAIT) {
            Ok((count, _)) => (count > 0).then_some(count),
            Err(Errno::INTR) => continue,
            Err(_) => None,
        };
    }
}

impl AsFd for Hatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ours.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard_once_and_what_nobody_has_heard_can_be_taken_back() {
        let hatch = Hatch::new().unwrap();
        let theirs = hatch.theirs().unwrap();
        let mut words = [0; WORDS];
        assert_eq!((hatch.hear(&mut words), hatch.has_words(), hatch.take_back()), (None, false, false));
        rustix::io::write(&theirs, b"0\n").unwrap();
        assert!(hatch.has_words());
        assert_eq!((hatch.hear(&mut words), &words[..2]), (Some(2), &b"0\n"[..]));
        assert!(hatch.say(&[b'x'; 200]));
        assert_eq!(rustix::io::read(&theirs, &mut [0; 9]), Ok(9));
        assert_eq!((hatch.take_back(), hatch.take_back()), (true, false));
    }
}
