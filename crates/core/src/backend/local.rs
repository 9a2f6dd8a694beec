//! A directory of this machine.

#[cfg(unix)]
pub mod shell;
#[cfg(all(unix, test))]
pub(crate) mod walk_handles;
