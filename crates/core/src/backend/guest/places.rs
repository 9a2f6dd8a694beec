//! Whether two sides mean the same directories. A container is given its mounts by their names, which its engine follows once more,
//! later, and perhaps on another machine; what file tools work on was opened before.

use serde::{Deserialize, Serialize};

use crate::path::VirtualPath;

/// Directories as one side sees them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Places {
    /// Tells this start of this machine's kernel from any other: only of one kernel numbers say something.
    kernel: Option<String>,
    places: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    /// The device, and the number on it.
    Is(u64, u64),
    /// Whoever looks may not pass a directory on the way: what lies behind that is nothing to the commands of the same user either.
    Hidden,
    /// There is none, or it cannot be looked at.
    Unknown,
}

impl Places {
    /// Directories of this machine, of which these are the devices and numbers.
    pub fn of(numbers: Vec<Option<(u64, u64)>>) -> Self {
        let place =
            |number: Option<(u64, u64)>| number.map_or(Place::Unknown, |(device, number)| Place::Is(device, number));
        Self { kernel: kernel(), places: numbers.into_iter().map(place).collect() }
    }

    /// What lies under these paths here.
    pub(super) fn at(paths: &[VirtualPath]) -> Self {
        if paths.is_empty() {
            return Self::default();
        }
        Self { kernel: kernel(), places: paths.iter().map(|path| place(path.as_str())).collect() }
    }

    /// Whether these are the same as others see them; `None` where that cannot be said, as a side that has another kernel numbers in its
    /// own way.
    pub fn are(&self, others: &Self) -> Option<bool> {
        if self.kernel.is_none() || self.kernel != others.kernel {
            return None;
        }
        let mut both = self.places.iter().zip(&others.places);
        let same = both.all(|(ours, theirs)| *theirs == Place::Hidden || (ours == theirs && *ours != Place::Unknown));
        Some(same && self.places.len() == others.places.len())
    }
}

fn kernel() -> Option<String> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(kernel.trim().to_owned())
}

#[cfg(unix)]
fn place(path: &str) -> Place {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(path) {
        Ok(facts) => Place::Is(facts.dev(), facts.ino()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Place::Hidden,
        Err(_) => Place::Unknown,
    }
}

#[cfg(not(unix))]
fn place(_path: &str) -> Place {
    Place::Unknown
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
        for (place, same) in [(Place::Hidden, true), (Place::Unknown, false)] {
            assert_eq!(at(&one).are(&Places { places: vec![place], ..at(&one) }), Some(same), "{place:?}");
        }
        let unknown = Places::of(vec![None]);
        assert_eq!(unknown.are(&unknown), Some(false));
        assert_eq!(at(&one).are(&Places { places: Vec::new(), ..at(&one) }), Some(false));
        let elsewhere = Places { kernel: Some("another".to_owned()), ..at(&other) };
        assert_eq!(at(&one).are(&elsewhere), None);
        let nowhere = Places { kernel: None, ..at(&one) };
        assert_eq!(nowhere.are(&nowhere), None);
    }
}
