//! The file that takes the whole output of a command which memory does not hold: who makes it, what bounds it, and how far it is.

use std::io::Write;
use std::sync::Arc;

use crate::text::encoding::whole_characters;

/// Makes the file that takes the whole output of a command which memory does not hold. Called once at most.
pub type Spill = Arc<dyn Fn() -> Option<SpillFile> + Send + Sync>;

/// Where the whole output goes.
pub struct SpillFile {
    /// Open for writing, and empty.
    pub file: Box<dyn Write + Send>,
    /// Its path, as the agent sees it.
    pub path: String,
    /// How much it may take.
    pub room: Arc<dyn SpillRoom>,
}

/// What bounds a file of output: a command that prints without end fills no disk.
pub trait SpillRoom: Send + Sync {
    /// So many of the next `wanted` bytes may be written.
    fn take(&self, wanted: usize) -> usize;
    /// Whether the file had to go, for others.
    fn is_gone(&self) -> bool;
}

/// How far the file is.
#[derive(Default)]
pub(crate) enum Spilling {
    /// There is none, and none will be.
    #[default]
    No,
    /// It is made when it is needed.
    Ready(Spill),
    /// It was made.
    Open {
        /// The file.
        spill: SpillFile,
        /// Bytes of it.
        written: u64,
        /// Whether it holds all that there was to write.
        is_whole: bool,
    },
}

impl Spilling {
    /// The file of `spill`, which is not made yet.
    pub(crate) fn of(spill: Option<Spill>) -> Self {
        spill.map_or(Self::No, Self::Ready)
    }

    /// Writes what comes next, into a file that is made with the first of it. Whole characters where the bytes are text. One that
    /// takes no more (its bound, a full disk) is left as it is; false from then on.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        if let Self::Ready(make) = self {
            *self = make().map_or(Self::No, |spill| Self::Open { spill, written: 0, is_whole: true });
        }
        let Self::Open { spill, written, is_whole } = self else { return false };
        if *is_whole {
            let given = spill.room.take(bytes.len()).min(bytes.len());
            let room = if given < bytes.len() { whole_characters(&bytes[..given]) } else { given };
            let is_written = spill.file.write_all(&bytes[..room]).is_ok();
            if is_written {
                *written += room as u64;
            }
            *is_whole = is_written && room == bytes.len();
        }
        *is_whole
    }

    /// The path of the file, and how many bytes it holds where that is not all; nothing where there is none, or none any more.
    pub(crate) fn told(&self) -> (Option<String>, Option<u64>) {
        match self {
            Self::Open { spill, written, is_whole } if !spill.room.is_gone() => {
                (Some(spill.path.clone()), (!is_whole).then_some(*written))
            }
            Self::Open { .. } | Self::No | Self::Ready(_) => (None, None),
        }
    }
}

/// Files of output for tests.
#[cfg(test)]
pub(crate) mod tests_support {
    use std::fs::File;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::{Spill, SpillFile, SpillRoom};

    /// Room for so many bytes, of a file that can be told to have gone.
    pub(crate) struct Bound(AtomicUsize, AtomicBool);

    impl Bound {
        pub(crate) fn new(bytes: usize) -> Arc<Self> {
            Arc::new(Self(AtomicUsize::new(bytes), AtomicBool::new(false)))
        }

        pub(crate) fn lose_file(&self) {
            self.1.store(true, Relaxed);
        }

        /// Makes the file, which is told to be `/all`.
        pub(crate) fn spill(self: &Arc<Self>, path: PathBuf) -> Spill {
            let room = Arc::clone(self);
            Arc::new(move || {
                let file = Box::new(File::create(&path).unwrap());
                Some(SpillFile { file, path: "/all".into(), room: Arc::clone(&room) as _ })
            })
        }
    }

    impl SpillRoom for Bound {
        fn take(&self, wanted: usize) -> usize {
            let given = wanted.min(self.0.load(Relaxed));
            self.0.fetch_sub(given, Relaxed);
            given
        }

        fn is_gone(&self) -> bool {
            self.1.load(Relaxed)
        }
    }
}
