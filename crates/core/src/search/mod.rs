//! Finding names by pattern ([`GlobQuery`]) or by what is remembered of them ([`FindQuery`]), and lines
//! ([`GrepQuery`]): one meaning on every backend.
//!
//! The engine is pure: it matches, orders, pages and bounds. What it walks is given by the backend, which opens each
//! directory from the handle of its parent; nothing here opens a path by name.

mod below;
mod filter;
mod find;
mod glob;
mod grep;
mod ignore_rules;
mod order;
mod pattern;
mod query;
mod start;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tree;
mod types;
mod walk;

pub(crate) use below::{SharedGlob, grep_below};
pub use find::find;
pub use glob::glob;
pub use grep::grep;
pub use tree::{EntryKind, Followed, Metadata, Obstacle, Opened, Tree};

pub use query::{
    CaseMode, EntryFilter, FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepFile, GrepLine, GrepMatch, GrepOutcome,
    GrepQuery, SortOrder,
};
