//! A directory of this machine.

#[cfg(unix)]
pub mod shell;
