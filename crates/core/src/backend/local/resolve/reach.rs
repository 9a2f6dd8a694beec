//! Where a path leads, without opening what is there.

use super::beneath::{Links, open_at_hand, open_beneath};
use super::steps::{End, Last};
use super::{HANDLE, Inspected, Reach, Resolver, Right, Strategy, Target};
use crate::backend::local::errors::{Explain, explain};
use crate::backend::local::facts::type_of;
use crate::backend::local::system::{AsFd, Errno, FileType, fstat};
use crate::error::Result;
use crate::path::VirtualPath;
use crate::sandbox::Located;

impl Resolver {
    /// Facts about what `asked` leads to, judged for reading.
    pub(crate) fn inspect(&self, asked: &VirtualPath) -> Result<Inspected> {
        match self.reach(asked, Right::Read)? {
            Reach::Found(inspected) => Ok(inspected),
            Reach::Missing(_) => Err(explain(Errno::NOENT, asked, &self.table)),
        }
    }

    /// Where `asked` leads, judged for `right`; part of it need not exist.
    pub(crate) fn reach(&self, asked: &VirtualPath, right: Right) -> Result<Reach> {
        let located = self.locate(asked, right)?;
        let root = self.root(located.mount);
        if self.strategy_in(root) == Strategy::Kernel {
            let relative = self.relative(&located);
            match open_beneath(root.handle.as_fd(), relative, HANDLE, Links::Refuse) {
                Ok(handle) => {
                    let facts = fstat(&handle).explain(asked, &self.table)?;
                    return Ok(Reach::Found(Inspected { facts, path: located.path, target: Target::Inside }));
                }
                Err(Errno::LOOP | Errno::NOENT) => {}
                Err(Errno::NOTDIR) => return Ok(Reach::Missing(located.path)),
                Err(errno) => return Err(explain(errno, asked, &self.table)),
            }
        }
        let walked = match self.walk_raw(&located, Last::Follow) {
            Ok(walked) => walked,
            Err(Errno::XDEV) => return self.link_itself(&located, asked, Errno::XDEV, right),
            Err(Errno::NOTDIR) => return Ok(Reach::Missing(located.path)),
            Err(errno) => return Err(self.walk_error(errno, asked)),
        };
        let path = match &walked.end {
            End::Directory => self.path_of(located.mount, walked.names(), asked)?,
            End::Entry { name, .. } => self.path_of(located.mount, walked.names().chain([name.as_str()]), asked)?,
            End::Missing { names } => {
                self.path_of(located.mount, walked.names().chain(names.iter().map(String::as_str)), asked)?
            }
        };
        if path != located.path && self.judge(&located, asked, &path, right).is_err() {
            return self.link_itself(&located, asked, Errno::XDEV, right);
        }
        match &walked.end {
            End::Directory => {
                let facts = fstat(walked.directory(root.handle.as_fd())).explain(asked, &self.table)?;
                Ok(Reach::Found(Inspected { facts, path, target: Target::Inside }))
            }
            End::Entry { facts, .. } => Ok(Reach::Found(Inspected { facts: **facts, path, target: Target::Inside })),
            End::Missing { .. } if path == located.path => Ok(Reach::Missing(path)),
            End::Missing { .. } => match self.link_itself(&located, asked, Errno::NOENT, right) {
                Ok(found) => Ok(found),
                Err(_) => Ok(Reach::Missing(path)),
            },
        }
    }

    /// As [`Resolver::reach`] for what is there, where that takes nothing that might be waited for; `None` elsewhere, also where
    /// it fails.
    pub(crate) fn reach_at_hand(&self, asked: &VirtualPath, right: Right) -> Result<Option<Inspected>> {
        let located = self.locate(asked, right)?;
        let root = self.root(located.mount);
        if self.strategy_in(root) != Strategy::Kernel {
            return Ok(None);
        }
        let Some(handle) = open_at_hand(root.handle.as_fd(), self.relative(&located), HANDLE) else { return Ok(None) };
        let facts = fstat(&handle).explain(asked, &self.table)?;
        Ok(Some(Inspected { facts, path: located.path, target: Target::Inside }))
    }

    /// The link at the end of `asked`, when it is one and lies inside; the error for `errno` else.
    fn link_itself(&self, located: &Located, asked: &VirtualPath, errno: Errno, right: Right) -> Result<Reach> {
        let refused = || explain(errno, asked, &self.table);
        let walked = self.walk_raw(located, Last::Keep).map_err(|_| refused())?;
        let End::Entry { name, facts } = &walked.end else { return Err(refused()) };
        if type_of(facts) != FileType::Symlink {
            return Err(refused());
        }
        let path = self.path_of(located.mount, walked.names().chain([name.as_str()]), asked)?;
        self.judge(located, asked, &path, right)?;
        let target = if errno == Errno::NOENT { Target::Missing } else { Target::Outside };
        Ok(Reach::Found(Inspected { facts: **facts, path, target }))
    }
}
