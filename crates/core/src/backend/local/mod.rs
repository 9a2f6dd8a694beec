//! Files of this machine, behind walls: `{ root, allowed_directories }` or a sandbox of mounts, one machinery for both.
//!
//! ```text
//! backend.rs  LocalBackend: the traits; a method is one blocking task, but for short reads
//! options.rs  what an author sets
//! resolve/    virtual path → open handle: the only place where that happens
//! read, list, update, tree, transfer      what is done with handles
//! lock.rs     one writer for each directory, in this process and beyond; debris.rs: what a killed one left
//! inline.rs   short reads on the thread that asks; at_hand.rs: on one that must not even wait for a disk
//! walk.rs     glob and grep; walk_handles.rs opens for them; listings.rs: names that need not be asked for again
//! system/     the system calls of all these, on Unix and on Windows; windows_names.rs: names that are none there
//! shell.rs    commands; commands.rs gives them to the backend
//! ```
//!
//! Must never: make a host path from input, follow a name it has only checked, or tell a host path.
//! On systems that are neither Unix nor Windows [`LocalBackend::new`] refuses, rather than to check words.

mod options;

#[cfg(any(unix, windows))]
mod at_hand;
#[cfg(any(unix, windows))]
mod backend;
#[cfg(unix)]
mod commands;
#[cfg(any(unix, windows))]
mod debris;
#[cfg(any(unix, windows))]
mod errors;
#[cfg(any(unix, windows))]
mod facts;
#[cfg(any(unix, windows))]
mod inline;
#[cfg(any(unix, windows))]
mod list;
#[cfg(any(unix, windows))]
mod listings;
#[cfg(any(unix, windows))]
mod lock;
#[cfg(windows)]
mod no_commands;
#[cfg(any(unix, windows))]
mod open;
#[cfg(any(unix, windows))]
mod read;
#[cfg(any(unix, windows))]
mod resolve;
#[cfg(unix)]
pub mod shell;
#[cfg(target_os = "linux")]
mod standing;
#[cfg(any(unix, windows))]
mod stream;
#[cfg(any(unix, windows))]
mod system;
#[cfg(any(unix, windows))]
mod transfer;
#[cfg(any(unix, windows))]
mod tree;
#[cfg(any(unix, windows))]
mod update;
#[cfg(any(unix, windows))]
mod walk;
#[cfg(any(unix, windows))]
mod walk_handles;
#[cfg(any(unix, windows))]
mod windows_names;

#[cfg(not(any(unix, windows)))]
mod refused;

#[cfg(test)]
#[cfg(unix)]
mod tests;

#[cfg(any(unix, windows))]
use self::backend::Inner;
#[cfg(any(unix, windows))]
pub use self::backend::LocalBackend;
pub use self::options::{Confinement, Durability, LocalOptions};
#[cfg(not(any(unix, windows)))]
pub use self::refused::LocalBackend;
