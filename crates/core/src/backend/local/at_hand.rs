//! Reading what the kernel holds in memory, on a thread that must never wait for a disk (see [`crate::lent`]).
//!
//! Names are followed only as far as the kernel knows them (`RESOLVE_CACHED`), beneath one mount of the host and through no
//! link, and bytes are taken only from its cache (`RWF_NOWAIT`). What is not there, and everything out of the ordinary, is
//! left to the way that may wait: the answer here is then `None`, never an error of the file system. The walls are the
//! same.

use super::Inner;
use super::facts::size_of;
use super::read::judged;
use super::resolve::OpenFile;
use super::system::{Stat, cached_bytes};
use crate::access::Operation;
use crate::backend::Call;
use crate::error::Result;
use crate::path::VirtualPath;

/// 64 KiB: read, counted and numbered in some hundred microseconds.
const MAX_BYTES: u64 = 64 << 10;

/// A regular file with all of its bytes.
pub(super) struct AtHand {
    pub(super) facts: Stat,
    pub(super) path: VirtualPath,
    pub(super) bytes: Vec<u8>,
}

/// The file at `path`, judged as [`super::read::open`] judges it, where nobody has to wait for it.
pub(super) fn file(inner: &Inner, path: &VirtualPath, call: &Call) -> Result<Option<AtHand>> {
    if !inner.near {
        return Ok(None);
    }
    let Some(opened) = inner.resolver.open_file_at_hand(path)? else { return Ok(None) };
    if size_of(&opened.facts) > MAX_BYTES {
        return Ok(None);
    }
    let OpenFile { handle, facts, path: resolved } = judged(inner, opened, path, Operation::Read, call)?;
    let bytes = usize::try_from(size_of(&facts)).ok().and_then(|size| cached_bytes(&handle, size));
    Ok(bytes.map(|bytes| AtHand { facts, path: resolved, bytes }))
}
