//! Listing a directory, level by level, without recursion and without following a link downwards.

use std::collections::BTreeSet;
use std::ffi::CStr;

use super::errors::Explain;
use super::facts::{info_of, named_info, shown_name, virtual_directory};
use super::resolve::{Directory, Reach, Right, Target};
use super::system::{AtFlags, Dir, FileType, Stat, statat};
use super::{Inner, debris};
use crate::access::Operation;
use crate::backend::temp;
use crate::backend::{Call, FileInfo, FileKind, Listing};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 1,000,000 names of one directory are sorted, about 100 MB; what lies beyond is cut and said to be.
const MAX_NAMES: usize = 1_000_000;
/// 256 levels: each holds an open directory while its entries are listed.
const MAX_DEPTH: usize = 256;

/// One directory whose entries are being listed.
struct Level {
    /// `None` for a directory that exists only because mounts lie below it.
    directory: Option<Directory>,
    /// As the agent asked for it.
    shown: VirtualPath,
    /// Whether every name in it belongs to its mount and may be read, so that none is judged by itself.
    plain: bool,
    /// In reverse order: the next one is at the end.
    entries: Vec<Entry>,
}

#[derive(Default)]
struct Entry {
    name: Vec<u8>,
    info: Option<Box<FileInfo>>,
    is_directory: bool,
    /// Whether its own entries can be listed as well: not behind a link.
    descends: bool,
}

/// The entries below `path`, `depth` levels deep.
pub(super) fn list(inner: &Inner, path: &VirtualPath, depth: u32, call: &Call) -> Result<Listing> {
    let table = inner.resolver.table();
    let mut listing = Listing::default();
    if !table.is_virtual_directory(path) {
        let found = inner.resolver.inspect(path)?;
        call.guard.check(Operation::Ls, &found.path)?;
        if found.target == Target::Outside {
            return Err(table.outside(path));
        }
        let info = info_of(path, &found.facts);
        if info.kind != FileKind::Directory {
            listing.entries.push(info);
            return Ok(listing);
        }
    } else {
        call.guard.check(Operation::Ls, path)?;
    }
    let open = call.guard.is_open();
    let depth = usize::try_from(depth).unwrap_or(MAX_DEPTH).min(MAX_DEPTH);
    if depth == 0 {
        return Ok(listing);
    }
    let top = if table.is_virtual_directory(path) { None } else { Some(inner.resolver.open_directory(path)?) };
    let mut levels = vec![open_level(inner, path, top, call, &mut listing.truncated)?];
    loop {
        let levels_open = levels.len();
        let Some(level) = levels.last_mut() else { break };
        call.deadline.check()?;
        let Some(entry) = level.entries.pop() else {
            levels.pop();
            continue;
        };
        if listing.entries.len() >= inner.limits.list_entries {
            listing.truncated = true;
            break;
        }
        let below = if entry.descends && levels_open < depth { level.open_below(&entry, inner) } else { None };
        let Some(info) = level.describe(entry, inner, call, open) else { continue };
        listing.entries.push(info);
        // A directory that cannot be opened is shown, without its entries (D74).
        if let Some((shown, directory)) = below
            && let Ok(level) = open_level(inner, &shown, directory, call, &mut listing.truncated)
        {
            levels.push(level);
        }
    }
    Ok(listing)
}

/// Reads the names of one directory; `None` where only mounts lie below.
fn open_level(
    inner: &Inner,
    path: &VirtualPath,
    directory: Option<Directory>,
    call: &Call,
    truncated: &mut bool,
) -> Result<Level> {
    let table = inner.resolver.table();
    let here = directory.as_ref().map_or(path, |directory| &directory.path);
    let plain = directory.is_some() && table.reads_all_below(here);
    let nested: BTreeSet<String> = inner.resolver.virtual_children(here).collect();
    let mut entries: Vec<Entry> = nested
        .iter()
        .map(|name| Entry { name: name.clone().into_bytes(), info: None, is_directory: true, descends: true })
        .collect();
    if let Some(directory) = &directory {
        let mut debris = false;
        let reader = Dir::read_from(&directory.handle).explain(path, table)?;
        for (count, item) in reader.enumerate() {
            if count % 1024 == 0 {
                call.deadline.check()?;
            }
            let Ok(item) = item else {
                return Err(Error::new(ErrorKind::Io, format!("The directory '{path}' cannot be read to its end."))
                    .with_path(path.as_str()));
            };
            if entries.len() >= MAX_NAMES {
                *truncated = true;
                break;
            }
            let (name, kind) = (item.file_name(), item.file_type());
            debris |= temp::is_temporary_entry(name);
            let entry = match kind {
                FileType::Symlink | FileType::Unknown => visible(inner, directory, &nested, path, name, kind),
                _ if plain => plain_entry(name, kind),
                _ => visible(inner, directory, &nested, path, name, kind),
            };
            entries.extend(entry);
        }
        if debris && table.can_write(here) {
            debris::clean(&directory.handle);
        }
    }
    Ok(Level { directory, shown: path.clone(), plain, entries: last_first(entries) })
}

/// Directories before files, each by name; all of it reversed, because entries are taken from the end.
fn last_first(mut entries: Vec<Entry>) -> Vec<Entry> {
    // Names of one directory tend to begin alike. The eight bytes that follow tell most of them apart, as one number.
    let first = entries.first().map_or(&[][..], |entry| &entry.name);
    let alike =
        |name: &[u8], most: usize| name.iter().zip(&first[..most]).take_while(|(one, other)| one == other).count();
    let shared = entries.iter().fold(first.len(), |most, entry| alike(&entry.name, most));
    let key = |(index, entry): (usize, &Entry)| {
        let mut start = [0; 8];
        start.iter_mut().zip(&entry.name[shared..]).for_each(|(to, from)| *to = *from);
        (!entry.is_directory, u64::from_be_bytes(start), index)
    };
    let mut order: Vec<(bool, u64, usize)> = entries.iter().enumerate().map(key).collect();
    order.sort_unstable_by(|one, other| {
        let by_start = (other.0, other.1).cmp(&(one.0, one.1));
        by_start.then_with(|| entries[other.2].name.cmp(&entries[one.2].name))
    });
    order.into_iter().map(|(_, _, index)| std::mem::take(&mut entries[index])).collect()
}

/// The entry where no name is judged by itself and nothing is followed.
fn plain_entry(name: &CStr, kind: FileType) -> Option<Entry> {
    let bytes = name.to_bytes();
    if bytes == b"." || bytes == b".." || temp::is_temporary_entry(name) {
        return None;
    }
    let is_directory = kind == FileType::Directory;
    let descends = is_directory && std::str::from_utf8(bytes).is_ok();
    Some(Entry { name: bytes.to_vec(), info: None, is_directory, descends })
}

/// The entry, unless it is hidden: by a nested mount, by the rights of a derived sandbox, or because it leads out.
fn visible(
    inner: &Inner,
    directory: &Directory,
    nested: &BTreeSet<String>,
    shown: &VirtualPath,
    name: &CStr,
    kind: FileType,
) -> Option<Entry> {
    let bytes = name.to_bytes();
    if bytes == b"." || bytes == b".." || temp::is_temporary_entry(name) {
        return None;
    }
    let mut is_directory = kind == FileType::Directory;
    let mut info = None;
    if let Ok(text) = std::str::from_utf8(bytes) {
        let child = directory.path.join(text).ok()?;
        let table = inner.resolver.table();
        if nested.contains(text) || inner.resolver.is_shadowed(directory, &child) || !table.can_read(&child) {
            return None;
        }
        if kind == FileType::Symlink || kind == FileType::Unknown {
            let child = shown.join(text).ok()?;
            let Ok(Reach::Found(found)) = inner.resolver.reach(&child, Right::Read) else { return None };
            if found.target == Target::Outside {
                return None;
            }
            let facts = info_of(&child, &found.facts);
            is_directory = facts.kind == FileKind::Directory;
            info = Some(Box::new(facts));
        }
    } else if kind == FileType::Symlink {
        return None;
    }
    let descends = is_directory && kind == FileType::Directory && std::str::from_utf8(bytes).is_ok();
    Some(Entry { name: bytes.to_vec(), info, is_directory, descends })
}

impl Level {
    /// The directory that `entry` names, as it is shown, opened from this one; `None` when it cannot be opened.
    fn open_below(&self, entry: &Entry, inner: &Inner) -> Option<(VirtualPath, Option<Directory>)> {
        let name = std::str::from_utf8(&entry.name).ok()?;
        let shown = self.shown.join(name).ok()?;
        let real = self.directory.as_ref().map_or(&self.shown, |directory| &directory.path).join(name).ok()?;
        if inner.resolver.table().is_virtual_directory(&real) {
            return Some((shown, None));
        }
        let opened = match &self.directory {
            Some(directory) if !inner.resolver.is_shadowed(directory, &real) => {
                inner.resolver.open_child_directory(directory, name)
            }
            Some(_) | None => inner.resolver.open_directory(&real),
        };
        Some((shown, Some(opened.ok()?)))
    }

    /// What is told of an entry; `None` when it is gone or the guard denies it. A guard that is `open` is not asked.
    fn describe(&self, entry: Entry, inner: &Inner, call: &Call, open: bool) -> Option<FileInfo> {
        let (name, raw) = match String::from_utf8(entry.name) {
            Ok(name) => (name, None),
            Err(error) => (shown_name(error.as_bytes()), Some(error.into_bytes())),
        };
        let shown = self.shown.join(&name).ok()?;
        let elsewhere = match &self.directory {
            Some(directory) if directory.path != self.shown => Some(directory.path.join(&name).ok()?),
            Some(_) | None => None,
        };
        let real = elsewhere.as_ref().unwrap_or(&shown);
        if !open {
            call.guard.check(Operation::Ls, real).ok()?;
        }
        if let Some(info) = entry.info {
            return Some(*info);
        }
        let bytes = raw.as_deref().unwrap_or(name.as_bytes());
        let facts = self.directory.as_ref().and_then(|directory| self.facts(directory, bytes, inner, real));
        match facts {
            Some(facts) => Some(named_info(name, shown.into(), &facts)),
            None if entry.is_directory && inner.resolver.table().find(real).is_some() => inner
                .resolver
                .inspect(real)
                .map(|found| info_of(&shown, &found.facts))
                .ok()
                .or_else(|| inner.resolver.table().is_virtual_directory(real).then(|| virtual_directory(&shown))),
            None if inner.resolver.table().is_virtual_directory(real) => Some(virtual_directory(&shown)),
            None => None,
        }
    }

    fn facts(&self, directory: &Directory, name: &[u8], inner: &Inner, real: &VirtualPath) -> Option<Stat> {
        let table = inner.resolver.table();
        if !self.plain && (inner.resolver.is_shadowed(directory, real) || table.holds_mount(real)) {
            return None;
        }
        statat(&directory.handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Any bytes, or two of them alone: such names agree for long and then differ.
    fn names() -> impl Strategy<Value = BTreeSet<(Vec<u8>, bool)>> {
        let any_bytes = prop::collection::vec(1..=255_u8, 1..12).boxed();
        let alike = prop::collection::vec(97..=98_u8, 1..14).boxed();
        let set = |name| prop::collection::btree_set((name, any::<bool>()), 0..40);
        prop_oneof![set(any_bytes), set(alike)]
    }

    proptest! {
        #[test]
        fn directories_come_first_and_each_kind_by_name(
            prefix in "[ab]{0,9}",
            names in names(),
        ) {
            let named = |(name, is_directory): &(Vec<u8>, bool)| {
                ([prefix.as_bytes(), name.as_slice()].concat(), *is_directory)
            };
            let mut expected: Vec<(Vec<u8>, bool)> = names.iter().map(named).collect();
            let entry = |(name, is_directory): (Vec<u8>, bool)| Entry { name, info: None, is_directory, descends: false };
            let found = last_first(expected.iter().cloned().map(entry).collect());
            expected.sort_by(|one, other| (!other.1, &other.0).cmp(&(!one.1, &one.0)));
            let found: Vec<_> = found.into_iter().map(|entry| (entry.name, entry.is_directory)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
