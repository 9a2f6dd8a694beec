//! Directories that are more than a file's worth: `/`, home, the roots, the working directory, and what belongs to the
//! machine.

use super::super::argument::{ANYTHING, Argument};
use super::super::deny::is_everything;
use super::{Places, is_within, may_be_within};

impl Places<'_> {
    /// What a word stands for when it is the whole of something that must not be lost: `/`, a directory right below it,
    /// the home directory, a root, the working directory, or everything in one of them.
    pub(in super::super) fn whole(&self, word: &Argument) -> Option<String> {
        self.whole_at(word, &self.all(word.marked()))
    }

    /// The same where it is known where the word can lead.
    pub(in super::super) fn whole_at(&self, word: &Argument, paths: &[String]) -> Option<String> {
        if word.is_dynamic() { None } else { paths.iter().find_map(|path| self.whole_path(path)) }
    }

    fn whole_path(&self, path: &str) -> Option<String> {
        let mut path = path;
        // Everything in everything of a directory is nearly all of it.
        while let Some((parent, _)) = path.rsplit_once('/').filter(|(_, name)| is_everything(name)) {
            path = if parent.is_empty() { "/" } else { parent };
        }
        if path == "/" {
            return Some("the root of the file system".to_owned());
        }
        if let Some(home) = &self.home
            && may_be_within(home, path)
        {
            return Some("the home directory".to_owned());
        }
        if self.roots.iter().any(|root| may_be_within(root, path)) {
            return Some(format!("'{}', which holds everything that is yours", Argument::known(path).shown()));
        }
        if may_be_within(&self.base, path) {
            return Some("the working directory".to_owned());
        }
        let is_top = path.rfind('/') == Some(0);
        if is_top && (!self.roots.iter().any(|root| is_within(path, root)) || is_system_name(path)) {
            return Some(format!("the top directory '{}'", Argument::known(path).shown()));
        }
        None
    }

    /// Whether the word is `/` itself, or everything in it.
    pub(in super::super) fn is_root(&self, word: &Argument) -> bool {
        self.all(word.marked()).iter().any(|path| {
            path == "/" || path.rsplit_once('/').is_some_and(|(parent, name)| parent.is_empty() && is_everything(name))
        })
    }

    /// Whether the word lies within a root (or the working directory, where there are none).
    pub(in super::super) fn is_own(&self, word: &Argument) -> bool {
        self.all(word.marked()).iter().all(|path| {
            self.is_beneath_root(path) || (self.roots.is_empty() && self.base != "/" && is_within(path, &self.base))
        })
    }

    /// Whether one of these paths lies in one of the directories of the system, and in no root that lies there too. Of a word that may
    /// be any path (`$X`) nobody can say so: it is asked about.
    pub(in super::super) fn within_system(&self, paths: &[String], system: &[&str]) -> bool {
        paths.iter().any(|path| {
            let is_partly_known = path.contains(ANYTHING);
            system.iter().any(|directory| {
                (!is_partly_known || is_known_as_far_as(path, directory))
                    && may_be_within(path, directory)
                    && !self.roots.iter().any(|root| is_within(root, directory) && is_within(path, root))
                    && !is_within(&self.base, directory)
            })
        })
    }
}

/// Whether nothing that can be any text stands in the part of `path` that is compared with `directory`.
fn is_known_as_far_as(path: &str, directory: &str) -> bool {
    let depth = directory.split('/').count();
    !path.split('/').take(depth).any(|name| name.contains(ANYTHING))
}

/// Directories right below `/` that are the machine's, also where `/` is a root.
fn is_system_name(path: &str) -> bool {
    const NAMES: [&str; 21] = [
        "/Applications",
        "/Library",
        "/System",
        "/Users",
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/home",
        "/lib",
        "/lib32",
        "/lib64",
        "/opt",
        "/proc",
        "/root",
        "/run",
        "/sbin",
        "/srv",
        "/sys",
        "/usr",
        "/var",
    ];
    NAMES.contains(&path)
}
