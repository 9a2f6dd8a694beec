//! What a toolset showed of files, so that an edit of something that changed meanwhile is noticed (BE-107).
//!
//! Keyed by where a path leads, not by how it was spelled (D25). A file that was never read is not guarded.

use std::collections::{HashMap, VecDeque};

use gloveport_lines::Lines;
use parking_lot::Mutex;

use crate::backend::{FileSlice, FileVersion};
use crate::edit::expectation::ReadRecord;
use crate::path::VirtualPath;

/// 256 files of one toolset; the one that was read or written longest ago is forgotten first.
const MAX_FILES: usize = 256;

/// The memory of one toolset.
#[derive(Debug, Default)]
pub struct ReadMemory(Mutex<Files>);

#[derive(Debug, Default)]
struct Files {
    by_path: HashMap<VirtualPath, (FileVersion, ReadRecord)>,
    order: VecDeque<VirtualPath>,
}

impl ReadMemory {
    /// Remembers a window that was shown, whose content has these lines. Windows of one version add up; another version starts
    /// afresh.
    pub fn shown(&self, slice: &FileSlice, lines: &Lines<'_>) {
        let mut files = self.0.lock();
        let known = files.by_path.remove(&slice.resolved).filter(|(version, _)| *version == slice.version);
        let mut record = known.map(|(_, record)| record).unwrap_or_default();
        record.shown(slice.offset, lines, slice.truncated);
        files.put(slice.resolved.clone(), slice.version, record);
    }

    /// Remembers what a write of ours left.
    pub fn wrote(&self, resolved: VirtualPath, version: FileVersion, record: ReadRecord) {
        self.0.lock().put(resolved, version, record);
    }

    /// What was shown of a file, and in which version.
    pub fn recall(&self, resolved: &VirtualPath) -> Option<(FileVersion, ReadRecord)> {
        self.0.lock().by_path.get(resolved).cloned()
    }
}

impl Files {
    fn put(&mut self, path: VirtualPath, version: FileVersion, record: ReadRecord) {
        self.order.retain(|known| *known != path);
        self.order.push_back(path.clone());
        self.by_path.insert(path, (version, record));
        while self.order.len() > MAX_FILES {
            if let Some(oldest) = self.order.pop_front() {
                self.by_path.remove(&oldest);
            }
        }
    }
}
