//! What a model sees that is not text: images, PDF documents, the cells of notebooks.
//!
//! Everything here is a pure function from a file's bytes to what a model is handed, judged by content and bounded before
//! memory is taken: [`image`] checks an image and scales a large one, [`pdf`] looks at a document, [`notebook`] makes text
//! of cells, [`terminal`] draws the screen of a terminal. Nothing here opens a file. Bytes are hostile: whatever is wrong with them is a typed error, and [`Gate`] keeps
//! the work off the threads that answer.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::blocking::blocking;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result, Shown};

mod decode;
mod encode;
pub mod image;
pub mod notebook;
mod orientation;
pub mod pdf;
mod shrink;
pub mod terminal;
#[cfg(test)]
mod tests;

/// A kind of file that is handed to a model as it is, or nearly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// An image of a format that models take.
    Image(image::Format),
    /// A PDF document.
    Pdf,
}

impl Media {
    /// Judges by the first bytes of a file, never by its name.
    pub fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(b"%PDF-") { Some(Self::Pdf) } else { image::Format::of(head).map(Self::Image) }
    }
}

/// Runs media work on threads that may block, one piece of a toolset at a time: a large image takes hundreds of megabytes
/// while it is decoded, and a model may ask for many at once.
#[derive(Debug)]
pub struct Gate(Arc<Semaphore>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Gate {
    /// Runs `work` once nothing else runs. A panic inside, which only a defect of a decoder can be, is an error like that
    /// of any other file that cannot be shown.
    pub async fn run<T: Send + 'static>(
        &self,
        path: &str,
        deadline: &Deadline,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = Arc::clone(&self.0).acquire_owned();
        let turn = tokio::select! {
            turn = turn => turn.map_err(|_| Error::internal("The gate of a toolset was closed."))?,
            stop = deadline.reached() => return Err(stop),
        };
        let task = blocking(move || {
            let _turn = turn;
            work()
        });
        tokio::select! {
            done = task => done.unwrap_or_else(|_| Err(damaged(path, "file"))),
            stop = deadline.reached() => Err(stop),
        }
    }
}

/// The error for content that is not what its first bytes promise.
fn damaged(path: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::BinaryFile,
        format!("The {what} '{}' is damaged or of a kind that cannot be shown.", Shown(path)),
    )
    .with_path(path)
    .with_details(serde_json::json!({ "reason": "damaged" }))
}

/// The error for a part that is larger than a model may be handed (BE-105, D26).
pub fn too_large(path: &str, what: &str, bytes: u64, max_bytes: u64) -> Error {
    let message = format!("{what} '{}' too large ({}, max {}).", Shown(path), size(bytes), size(max_bytes));
    Error::new(ErrorKind::FileTooLarge, message)
        .with_path(path)
        .with_details(serde_json::json!({ "bytes": bytes, "maxBytes": max_bytes }))
}

/// Bytes in the unit in which they are a number a person can read.
pub fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        0..KIB => format!("{bytes} bytes"),
        KIB..MIB => format!("{:.1}KB", bytes as f64 / KIB as f64),
        MIB.. => format!("{:.1}MB", bytes as f64 / MIB as f64),
    }
}
