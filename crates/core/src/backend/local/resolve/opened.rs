//! What is known of an open handle: the name that it has now, and whether it may be used at all.

use std::path::Path;

use super::beneath::{Links, open_beneath};
use super::{HANDLE, Resolver, Root, names, same_file};
use crate::backend::local::errors::{Explain, is_directory, not_a_directory, not_a_file, not_text_name};
use crate::backend::local::facts::{identity, type_of};
use crate::backend::local::system::{AsFd, BorrowedFd, FileType, OwnedFd, Stat, fstat, host_path, is_system};
use crate::error::Result;
use crate::path::VirtualPath;
use crate::sandbox::MountId;

impl Resolver {
    /// The virtual path of an open handle as the kernel names it now; `None` when its name is being changed.
    pub(super) fn name_of(
        &self,
        mount: MountId,
        handle: BorrowedFd<'_>,
        asked: &VirtualPath,
    ) -> Result<Option<VirtualPath>> {
        let root = self.root(mount);
        let host = host_path(handle).explain(asked, &self.table)?;
        if names::may_be_deleted(&host) && !self.is_really_at(root, &host, handle) {
            return Ok(None);
        }
        let relative = match names::below(&host, &root.host) {
            Some(relative) => relative.to_owned(),
            // The mounted directory itself may have been renamed since it was opened.
            None => {
                let now = host_path(root.handle.as_fd()).explain(asked, &self.table)?;
                match names::below(&host, &now) {
                    Some(relative) => relative.to_owned(),
                    None => return Ok(None),
                }
            }
        };
        let text = relative.to_str().ok_or_else(|| not_text_name(asked))?;
        self.path_of(mount, text.split('/'), asked).map(Some)
    }

    fn is_really_at(&self, root: &Root, host: &Path, handle: BorrowedFd<'_>) -> bool {
        let Some(text) = names::below(host, &root.host).and_then(Path::to_str) else { return false };
        open_beneath(root.handle.as_fd(), text, HANDLE, Links::Refuse)
            .and_then(|again| Ok(same_file(&fstat(&again)?, &fstat(handle)?)))
            .unwrap_or(false)
    }

    /// The walk's last look: what was opened must still lie beneath the root by the kernel's own account, where the
    /// system can be asked. `None` when it moved.
    pub(super) fn confirmed(
        &self,
        mount: MountId,
        handle: BorrowedFd<'_>,
        walked: VirtualPath,
        asked: &VirtualPath,
    ) -> Result<Option<VirtualPath>> {
        let root = self.root(mount);
        let Ok(host) = host_path(handle) else { return Ok(Some(walked)) };
        let relative = walked.relative_to(&self.table.mount(mount).mount_point).unwrap_or("");
        if names::below(&host, &root.host)
            .is_some_and(|below| below.as_os_str().as_encoded_bytes() == relative.as_bytes())
        {
            return Ok(Some(walked));
        }
        self.name_of(mount, handle, asked)
    }

    pub(super) fn require_regular(
        &self,
        facts: &Stat,
        handle: BorrowedFd<'_>,
        root: &Root,
        asked: &VirtualPath,
    ) -> Result<()> {
        match type_of(facts) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(is_directory(asked)),
            _ => return Err(not_a_file(asked)),
        }
        // The root's own file system was judged when it was opened.
        if identity(facts).0 != root.device && is_system(handle).explain(asked, &self.table)? {
            return Err(not_a_file(asked));
        }
        Ok(())
    }

    pub(super) fn refuse_system(&self, handle: &OwnedFd, root: &Root, asked: &VirtualPath) -> Result<()> {
        let device = identity(&fstat(handle).explain(asked, &self.table)?).0;
        if device != root.device && is_system(handle.as_fd()).explain(asked, &self.table)? {
            return Err(not_a_directory(asked));
        }
        Ok(())
    }
}
