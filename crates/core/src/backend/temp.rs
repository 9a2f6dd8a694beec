//! The names of temporary files: how a write hides its half-done work, and how what a crash left is known again.

#[cfg(any(unix, windows))]
use std::ffi::CStr;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Begins the name of every temporary file of ours.
const PREFIX: &str = ".gloveport-";
/// Ends it.
const SUFFIX: &str = ".tmp";
/// 16 hexadecimal digits: 64 random bits (R-FS-6).
const DIGITS: usize = 16;

/// A name that nobody else has, and that nobody can foresee: the hasher's keys come from the system's random source.
/// Should it be taken all the same, the file is created exclusively and the write fails.
pub(super) fn name() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{random:016x}{SUFFIX}")
}

/// Whether a directory entry is a temporary file of ours: such names are shown to nobody.
pub(super) fn is_temporary(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes())
        .and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()))
        .is_some_and(|digits| digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit))
}

/// [`is_temporary`] for what a directory read gives.
#[cfg(any(unix, windows))]
pub(super) fn is_temporary_entry(name: &CStr) -> bool {
    is_temporary(name.to_bytes())
}
