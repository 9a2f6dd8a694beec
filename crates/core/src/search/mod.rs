//! Finding names ([`GlobQuery`]) and lines ([`GrepQuery`]): one meaning on every backend.
//!
//! The engine is pure: it matches, orders, pages and bounds. What it walks is given by the backend, which opens each
//! directory from the handle of its parent; nothing here opens a path by name.

mod query;

pub use query::{
    CaseMode, EntryFilter, GlobOutcome, GlobQuery, GrepFile, GrepLine, GrepMatch, GrepOutcome, GrepQuery, SortOrder,
};
