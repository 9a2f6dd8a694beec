//! What the application is told about the call that its code is asked for: [`CallInfo`].
//!
//! It stands below everything that asks the application: hooks, approvers, its own tools, and whoever helps with a terminal.

/// One run of one call.
#[derive(Debug, Clone, Copy)]
pub struct CallInfo<'a> {
    /// Names the call: the caller's id, or one that the toolset made.
    pub id: &'a str,
    /// Tells this run of the call from any other, also where a caller uses an id twice.
    pub key: &'a str,
    /// The tool, by our own name.
    pub tool: &'a str,
}
