//! Finding names by pattern ([`GlobQuery`]) or by what is remembered of them ([`FindQuery`]), lines ([`GrepQuery`]), and
//! the shape of a tree ([`OutlineQuery`]): one meaning on every backend.
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
mod outline;
mod pattern;
mod query;
mod start;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tree;
mod types;
mod walk;

pub(crate) use below::{SharedGlob, find_below, grep_below};
pub use find::find;
pub(crate) use find::in_order;
pub use glob::glob;
pub use grep::grep;
pub(crate) use grep::{LastPattern, Quick, pattern_fault};
pub(crate) use order::{compare_places, tree_order};
pub(crate) use outline::fit;
pub use outline::outline;
pub use tree::{EntryKind, Followed, Metadata, Obstacle, Opened, Tree};

pub use query::{
    CaseMode, Cursor, EntryFilter, FindOutcome, FindQuery, GlobOutcome, GlobQuery, GrepFile, GrepLine, GrepMatch,
    GrepOutcome, GrepQuery, LinkPolicy, Outline, OutlineEntry, OutlineQuery, SortOrder,
};
