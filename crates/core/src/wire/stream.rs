//! Files piece by piece, for the addon: what `readStream` and `writeStream` of TypeScript pull and push.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::arguments::{PathOnly, decode};
use super::{Content, Reply};
use crate::backend::stream::{FileReader, FileWriter, open_writer};
use crate::backend::{Backend, Call};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 64 KiB (TS-42): one piece.
const PIECE: usize = 64 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadStream {
    path: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    length: Option<u64>,
}

/// A file that is being read.
pub struct Reading {
    reader: Box<dyn FileReader>,
    position: u64,
    end: u64,
}

impl Reading {
    /// Opens what `arguments_json` (`{ path, offset?, length? }`) names.
    pub async fn open(backend: &dyn Backend, arguments_json: &str, call: &Call) -> Result<Self> {
        let ReadStream { path, offset, length } = decode("readStream", arguments_json)?;
        let path = VirtualPath::parse(&path, backend.files().working_directory())?;
        let reader = backend.files().open_reader(&path, call).await?;
        let position = offset.unwrap_or(0);
        let end = length.map_or(u64::MAX, |length| position.saturating_add(length));
        Ok(Self { reader, position, end })
    }

    /// The next piece; `None` at the end.
    pub async fn next(&mut self, call: &Call) -> Result<Option<Vec<u8>>> {
        let left = usize::try_from(self.end - self.position).unwrap_or(PIECE).min(PIECE);
        if left == 0 {
            return Ok(None);
        }
        let piece = self.reader.read(self.position, left, call).await?;
        self.position += piece.len() as u64;
        Ok(if piece.is_empty() { None } else { Some(piece) })
    }
}

/// A file that is being written. Dropped, it leaves everything as it was.
pub struct Writing {
    writer: Option<Box<dyn FileWriter>>,
    path: String,
}

impl Writing {
    /// Begins to write what `arguments_json` (`{ path }`) names.
    pub async fn open(backend: Arc<dyn Backend>, arguments_json: &str, call: &Call) -> Result<Self> {
        let PathOnly { path } = decode("writeStream", arguments_json)?;
        let path = VirtualPath::parse(&path, backend.files().working_directory())?;
        let shown = path.as_str().to_owned();
        Ok(Self { writer: Some(open_writer(backend, path, call).await?), path: shown })
    }

    /// Adds a piece. After an error nothing more can be added.
    pub async fn write(&mut self, content: Content, call: &Call) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Err(ended()) };
        let bytes = match content {
            Content::Text(text) => text.into_bytes(),
            Content::Bytes(bytes) => bytes,
        };
        let written = writer.write(bytes, call).await;
        if written.is_err() {
            self.abandon().await;
        }
        written
    }

    /// Leaves everything as it was.
    pub async fn abandon(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.abandon().await;
        }
    }

    /// Puts the file in its place; the answer is that of `write`.
    pub async fn finish(&mut self, call: &Call) -> Result<Reply> {
        let writer = self.writer.take().ok_or_else(ended)?;
        let updated = writer.finish(call).await?;
        let value = json!({ "path": self.path, "bytes": updated.size, "created": updated.created, "diff": "" });
        Ok(value.into())
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Closed, "This write has ended.")
}
