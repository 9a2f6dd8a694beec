//! Host paths as the kernel tells them.

use std::path::Path;

/// What lies below `root` in `path`: both as the kernel named them.
pub(super) fn below<'a>(path: &'a Path, root: &Path) -> Option<&'a Path> {
    path.strip_prefix(root).ok()
}

/// The end of the name that Linux gives to a handle whose name is gone. A file can really be called like that, so that
/// a name with this end is never believed without a look.
pub(super) fn may_be_deleted(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")
}
