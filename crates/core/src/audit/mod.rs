//! What happened, for those who must be able to tell later: records as lines of JSON in a file ([`AuditLog`]), and
//! secrets taken out of them ([`mask_json`]).
//!
//! Nothing here can slow a call down or fail it: a record goes into a bounded queue, and a thread writes it. What is lost
//! (a full queue, a full disk) is counted and said. This module decides nothing and knows no toolset; it asks how a command line
//! is understood, so that masking hides none of it.

mod command;
mod log;
mod mask;
mod repeated;
#[cfg(test)]
mod tests;

pub use log::{AuditLog, OnError};
pub use mask::{mask, mask_json};
