//! The whole output of a command of which memory holds a part, on its way to a file of the outside.
//!
//! The file is the outside's, where the agent reads it as it reads the output of a command of this machine: it stays when the
//! container goes, takes no room inside, and nothing that runs inside can put a link in its place or change what it holds. Only
//! what memory does not hold travels.

use std::io::{BufWriter, Error, Result, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use super::message::{Ask, PIECE_BYTES};
use super::serve::Line;
use crate::backend::spill::{Spill, SpillFile, SpillRoom, Spilling};
use crate::blocking::blocking;

/// 256 KiB go with one question, and are held inside until then: a hundred megabytes are four hundred questions.
const GATHERED_BYTES: usize = 256 << 10;
const _: () = assert!(GATHERED_BYTES <= PIECE_BYTES, "it goes with one question");

/// The outside: a file that is made with the first that comes for it. Clones are the same file.
#[derive(Clone, Default)]
pub(super) struct Whole(Arc<Mutex<Spilling>>);

impl Whole {
    /// The file of `spill`.
    pub(super) fn of(spill: Option<Spill>) -> Self {
        Self(Arc::new(Mutex::new(Spilling::of(spill))))
    }

    /// Writes what comes next; whether more is wanted.
    pub(super) async fn take(&self, bytes: Vec<u8>) -> bool {
        let file = Arc::clone(&self.0);
        blocking(move || file.lock().write(&bytes)).await.unwrap_or(false)
    }

    /// The path of the file, and how many bytes it holds where that is not all.
    pub(super) fn told(&self) -> (Option<String>, Option<u64>) {
        self.0.lock().told()
    }
}

/// The inside: a file whose bytes go to the outside, which bounds them.
pub(super) fn spill(line: Arc<Line>) -> Spill {
    Arc::new(move || {
        let file = BufWriter::with_capacity(GATHERED_BYTES, Outside(Arc::clone(&line)));
        // Its path is for the outside to say.
        Some(SpillFile { file: Box::new(file), path: String::new(), room: Arc::new(AnyRoom) })
    })
}

struct Outside(Arc<Line>);

impl Write for Outside {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let piece = &bytes[..bytes.len().min(GATHERED_BYTES)];
        self.0.ask(Ask::Whole, piece).map(|_| piece.len()).map_err(|_| Error::other("the outside takes no more"))
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The outside knows the bound.
struct AnyRoom;

impl SpillRoom for AnyRoom {
    fn take(&self, wanted: usize) -> usize {
        wanted
    }

    fn is_gone(&self) -> bool {
        false
    }
}
