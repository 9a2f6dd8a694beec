//! The rules of `.gitignore` and `.ignore` files, held as a chain from the directory being walked up to the root.
//!
//! The files are read through the handle of their directory, never by name; the grammar is that of the `ignore` crate.
//! A `.ignore` file wins over every `.gitignore`; among files of one kind the nearest that has an opinion wins. A
//! directory that holds `.git` starts a repository of its own, to which the `.gitignore` files above do not apply.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::tree::Tree;

/// 64 KiB: no real ignore file comes near, and compiling more would take longer than a cancellation may.
const MAX_IGNORE_FILE_BYTES: u64 = 64 << 10;
/// 256 KiB for the ignore files of a directory and of all above it: a tree made of hostile ones would take 20 MiB for each
/// level; what lies deeper has no say.
const MAX_CHAIN_BYTES: u64 = 256 << 10;

/// The ignore files of one directory, and those above it.
#[derive(Debug)]
pub(crate) struct Rules {
    above: Option<Arc<Rules>>,
    /// Bytes of the directory's path, with the `/` that follows it.
    prefix: usize,
    /// Bytes of its files and of those above.
    bytes: u64,
    git: Option<Gitignore>,
    plain: Option<Gitignore>,
    /// Whether a repository begins here.
    is_repository: bool,
}

/// Which names with a meaning here a directory holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Present {
    gitignore: bool,
    ignore: bool,
    git: bool,
}

impl Present {
    /// Takes note of a name.
    pub(crate) fn note(&mut self, name: &[u8]) {
        match name {
            b".gitignore" => self.gitignore = true,
            b".ignore" => self.ignore = true,
            b".git" => self.git = true,
            _ => {}
        }
    }

    /// Looks for the names in a directory that is not listed.
    pub(crate) fn probe<T: Tree>(tree: &T, directory: &T::Directory) -> Self {
        let holds = |name: &str| tree.metadata(directory, name.as_bytes()).is_ok();
        Self { gitignore: holds(".gitignore"), ignore: holds(".ignore"), git: holds(".git") }
    }
}

impl Rules {
    /// The rules within `directory`, whose path has `prefix` bytes with its final `/`: those above, and its own. A file
    /// that cannot be read or a line that makes no sense has no say.
    pub(crate) fn within<T: Tree>(
        above: Option<&Arc<Self>>,
        tree: &T,
        directory: &T::Directory,
        prefix: usize,
        present: Present,
    ) -> Option<Arc<Self>> {
        if present == Present::default() {
            return above.cloned();
        }
        let mut bytes = above.map_or(0, |above| above.bytes);
        let mut read = |wanted: bool, name: &str| {
            if !wanted {
                return None;
            }
            let (size, matcher) = compile(tree, directory, name, MAX_CHAIN_BYTES.saturating_sub(bytes))?;
            bytes += size;
            Some(matcher)
        };
        let git = read(present.gitignore, ".gitignore");
        let plain = read(present.ignore, ".ignore");
        if git.is_none() && plain.is_none() && (above.is_none() || !present.git) {
            return above.cloned();
        }
        Some(Arc::new(Self { above: above.cloned(), prefix, bytes, git, plain, is_repository: present.git }))
    }

    /// Whether the entry at `path` (the whole path, as bytes) is ignored. Its parents are known not to be.
    pub(crate) fn ignores(&self, path: &[u8], is_directory: bool) -> bool {
        self.verdict(path, is_directory, |rules| rules.plain.as_ref(), false)
            .or_else(|| self.verdict(path, is_directory, |rules| rules.git.as_ref(), true))
            .unwrap_or(false)
    }

    fn verdict(
        &self,
        path: &[u8],
        is_directory: bool,
        file: impl Fn(&Self) -> Option<&Gitignore>,
        ends_at_repository: bool,
    ) -> Option<bool> {
        let mut level = Some(self);
        while let Some(rules) = level {
            if let Some(matcher) = file(rules)
                && let Some(below) = path.get(rules.prefix..)
            {
                match matcher.matched(as_path(below), is_directory) {
                    Match::Ignore(_) => return Some(true),
                    Match::Whitelist(_) => return Some(false),
                    Match::None => {}
                }
            }
            if ends_at_repository && rules.is_repository {
                return None;
            }
            level = rules.above.as_deref();
        }
        None
    }
}

/// The rules of a file of at most `most` bytes, with its size.
fn compile<T: Tree>(tree: &T, directory: &T::Directory, name: &str, most: u64) -> Option<(u64, Gitignore)> {
    let most = most.min(MAX_IGNORE_FILE_BYTES);
    let (file, metadata) = tree.open_file(directory, name.as_bytes()).ok()?;
    if metadata.size > most {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // A root of `.` keeps the matcher from cutting anything off the paths, which are relative already.
    let mut builder = GitignoreBuilder::new(".");
    for line in text.strip_prefix('\u{FEFF}').unwrap_or(&text).lines() {
        // A line that is no pattern is skipped, as git does.
        let _ = builder.add_line(None, line);
    }
    let matcher = builder.build().ok().filter(|matcher| !matcher.is_empty())?;
    Some((bytes.len() as u64, matcher))
}

#[cfg(unix)]
fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    use std::os::unix::ffi::OsStrExt as _;
    Cow::Borrowed(Path::new(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(text) => Cow::Owned(text.into()),
    }
}
