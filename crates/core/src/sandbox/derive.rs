//! What a derived sandbox may do: never more than its parent (FS-17).

use super::table::{Located, MountId};
use crate::path::VirtualPath;

/// What `derive` asks for. The default is a sandbox that can do nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowances {
    /// Directories that may be read; `None` leaves it to the other fields.
    pub allow_read: Option<Vec<String>>,
    /// Directories that may be written. Without `allow_read` they may be read as well.
    pub allow_write: Option<Vec<String>>,
    /// Nothing may be written, whatever the rest says.
    pub readonly: bool,
    /// Without any list: all that the parent may do.
    pub inherit: bool,
}

/// Where a right holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// Wherever the mounts allow it.
    Mounts,
    /// At and below these directories only.
    Listed(Vec<Allowed>),
}

/// One directory of an allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allowed {
    /// The directory as the author named it.
    pub(super) label: VirtualPath,
    /// The directory with every link followed.
    pub(super) resolved: VirtualPath,
    /// The one mount in which it grants anything: a mount nested below is not part of it.
    pub(super) mount: MountId,
}

impl Scope {
    pub(super) fn covers(&self, located: &Located) -> bool {
        match self {
            Self::Mounts => true,
            Self::Listed(entries) => entries.iter().any(|entry| {
                entry.mount == located.mount
                    && (located.path.is_within(&entry.label) || located.path.is_within(&entry.resolved))
            }),
        }
    }
}
