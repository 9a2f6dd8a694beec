//! The place of a name: the open directory in which it is made, replaced, moved or removed.

use super::steps::{End, Last};
use super::{DIRECTORY, Directory, Place, Resolver, Right};
use crate::backend::local::errors::{Explain, busy, explain, is_directory};
use crate::backend::local::system::{AsFd, Errno, Mode, openat};
use crate::error::Result;
use crate::path::VirtualPath;
use crate::sandbox::Located;

impl Resolver {
    /// The place of the last name of `asked`, which is not followed. The parent must exist.
    pub(crate) fn place(&self, asked: &VirtualPath) -> Result<Place> {
        let located = self.locate(asked, Right::Write)?;
        let (parent, name) = self.split(&located, asked)?;
        let directory = self.open_located(&parent, asked, None)?;
        self.placed(directory, name, &located, asked)
    }

    /// Where a link in the place of `asked` leads: the place that a write goes to. The parent must exist.
    pub(crate) fn place_of_target(&self, asked: &VirtualPath) -> Result<Place> {
        let located = self.locate(asked, Right::Write)?;
        let walked = self.walk(&located, asked, Last::Follow)?;
        let name = match &walked.end {
            End::Directory => return Err(is_directory(asked)),
            End::Entry { name, .. } => name.clone(),
            End::Missing { names } => match names.as_slice() {
                [name] => name.clone(),
                _ => return Err(explain(Errno::NOENT, asked, &self.table)),
            },
        };
        let path = self.path_of(located.mount, walked.names(), asked)?;
        let root = self.root(located.mount);
        let handle =
            openat(walked.directory(root.handle.as_fd()), ".", DIRECTORY, Mode::empty()).explain(asked, &self.table)?;
        let path = self.confirmed(located.mount, handle.as_fd(), path, asked)?.ok_or_else(|| busy(asked))?;
        self.placed(Directory { handle, mount: located.mount, path }, name, &located, asked)
    }

    fn placed(&self, directory: Directory, name: String, located: &Located, asked: &VirtualPath) -> Result<Place> {
        let path = directory.path.join(&name)?;
        self.judge(located, asked, &path, Right::Write)?;
        Ok(Place { directory, name, path })
    }

    /// The parent and the last name of a located path; a mount point has none.
    fn split(&self, located: &Located, asked: &VirtualPath) -> Result<(Located, String)> {
        match (located.path.parent(), located.path.file_name()) {
            (Some(parent), Some(name)) if !self.table.is_mount_point(&located.path) => {
                Ok((Located { mount: located.mount, path: parent }, name.to_owned()))
            }
            _ => Err(is_directory(asked)),
        }
    }
}
