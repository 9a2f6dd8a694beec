//! Text as bytes: encodings, lines, windows of lines, and how they are shown.
//!
//! Everything here is pure: input is bytes or a source that can be read at a position, output is text and facts. Nothing
//! opens a file, knows a path's meaning or asks for permission. Lines are split on `\n` only; a `\r` belongs to its line
//! and is never lost (D13, D92). `edit/` builds on this; `backend/` calls [`window::read`]; `tool/` renders with
//! [`numbered`].

pub mod ansi;
pub mod encoding;
pub mod hashline;
pub mod head_tail;
pub mod lines;
pub mod numbered;
pub mod ours;
pub mod progress;
pub mod shown;
pub mod stream;
pub mod window;
