//! What the supervisor and its host say to each other.
//!
//! The host starts the supervisor with one end of a stream socket as its standard input. That socket is everything
//! between them: it carries [`Request`]s with their descriptors in and [`Report`]s out, and its end is the end of the
//! host: nobody else holds the other side, so when it closes the supervisor kills what it runs and ends itself
//! (R-SH-4). One supervisor runs one command at a time, and any number after one another.
//!
//! Both end processes, and [`is_interactive_shell`] says to both which of them would go on meanwhile.
//!
//! This library only turns values into bytes and back. It touches no process, no file and no clock, it never panics on
//! bytes it does not understand, and both sides are built from the same source, so there are no versions.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod interactive;
mod protocol;

/// The only word that the supervisor may be started with: it starts the shell of its next command while it has nothing to do.
pub const START_AHEAD: &str = "start-ahead";

pub use interactive::is_interactive_shell;
pub use protocol::{
    Ceiling, Decoded, Ended, Limits, MAX_DESCRIPTORS, MAX_REQUEST_BYTES, Order, Report, Request, Stage, Status,
};
