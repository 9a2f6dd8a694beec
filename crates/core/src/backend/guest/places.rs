//! Whether two sides mean the same directories. A container is given its mounts by their names, which its engine follows once more,
//! later, and perhaps on another machine; what file tools work on was opened before.

use serde::{Deserialize, Serialize};

use crate::path::VirtualPath;

/// Directories as one side sees them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Places {
    /// Tells this start of this machine's kernel from any other: only of one kernel numbers say something.
    kernel: Option<String>,
    /// The device and the number on it of each; nothing where there is none.
    numbers: Vec<Option<(u64, u64)>>,
}

impl Places {
    /// Directories of this machine, of which these are the numbers.
    pub fn of(numbers: Vec<Option<(u64, u64)>>) -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Self { kernel: kernel.map(|kernel| kernel.trim().to_owned()), numbers }
    }

    /// What lies under these paths here.
    pub(super) fn at(paths: &[VirtualPath]) -> Self {
        if paths.is_empty() {
            return Self::default();
        }
        Self::of(paths.iter().map(|path| number(path.as_str())).collect())
    }

    /// Whether both are the same; `None` where that cannot be said, as a side that has another kernel numbers in its own way.
    pub fn are(&self, others: &Self) -> Option<bool> {
        let same_kernel = self.kernel.is_some() && self.kernel == others.kernel;
        same_kernel.then(|| self.numbers == others.numbers)
    }
}

#[cfg(unix)]
fn number(path: &str) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.dev(), facts.ino()))
}

#[cfg(not(unix))]
fn number(_path: &str) -> Option<(u64, u64)> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn directories_are_told_apart_on_one_kernel_only() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let at =
            |folder: &tempfile::TempDir| Places::at(&[VirtualPath::absolute(folder.path().to_str().unwrap()).unwrap()]);
        assert_eq!(at(&one).are(&at(&one)), Some(true));
        assert_eq!(at(&one).are(&at(&other)), Some(false));
        assert_eq!(at(&one).are(&Places::of(vec![None])), Some(false));
        let elsewhere = Places { kernel: Some("another".to_owned()), ..at(&other) };
        assert_eq!(at(&one).are(&elsewhere), None);
        let unknown = Places { kernel: None, ..at(&one) };
        assert_eq!(unknown.are(&unknown), None);
    }
}
