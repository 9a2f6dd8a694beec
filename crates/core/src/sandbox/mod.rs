//! Mounts: which host directory the agent sees under which path, and what it may do there.
//!
//! [`MountTable`] is pure: it answers from words alone, never from a disk, and it is what every backend and the
//! pipeline ask. [`Sandbox`] is the table as an author builds it: its constructor makes the mounted directories and
//! refuses hosts that overlap, `derive` narrows it for a sub-agent, `resolve` shows where a path lies on the host. A
//! host path that it shows is for display and set-up only. Nothing here opens a file for an agent: that is the work
//! of `backend::local`, which asks the table about a path as asked *and* as it resolved.

mod construct;
mod derive;
mod errors;
mod mount;
mod table;

#[cfg(test)]
mod tests;

pub use construct::{PathConfig, Sandbox};
pub use derive::Allowances;
pub use errors::{file_too_large, not_in_sandbox, not_writable, nowhere_to_begin, suffix_not_allowed};
pub use mount::{Mount, MountMode};
pub use table::{Located, MountEntry, MountId, MountTable};
