//! Files of this machine, behind walls: `{ root, allowed_directories }` or a sandbox of mounts, one machinery for both.
//!
//! ```text
//! backend.rs  LocalBackend: the traits; a method is one blocking task, but for short reads
//! options.rs  what an author sets
//! resolve/    virtual path → open handle: the only place where that happens
//! read, list, update, tree, transfer      what is done with handles
//! lock.rs     one writer for each directory, in this process and beyond
//! inline.rs   short reads on the thread that asks
//! walk.rs     glob and grep; walk_handles.rs has their system calls
//! shell.rs    commands
//! ```
//!
//! Must never: make a host path from input, follow a name it has only checked, or tell a host path.
//! On systems that are not Unix there is no resolver yet: [`LocalBackend::new`] refuses, rather than to check words.

mod options;

#[cfg(unix)]
mod backend;
#[cfg(unix)]
mod errors;
#[cfg(unix)]
mod facts;
#[cfg(unix)]
mod inline;
#[cfg(unix)]
mod list;
#[cfg(unix)]
mod lock;
#[cfg(unix)]
mod open;
#[cfg(unix)]
mod read;
#[cfg(unix)]
mod resolve;
#[cfg(unix)]
pub mod shell;
#[cfg(unix)]
mod transfer;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
mod update;
#[cfg(unix)]
mod walk;
#[cfg(unix)]
mod walk_handles;

#[cfg(not(unix))]
mod refused;

#[cfg(test)]
#[cfg(unix)]
mod tests;

#[cfg(unix)]
use self::backend::Inner;
#[cfg(unix)]
pub use self::backend::LocalBackend;
pub use self::options::{Confinement, Durability, LocalOptions};
#[cfg(not(unix))]
pub use self::refused::LocalBackend;
