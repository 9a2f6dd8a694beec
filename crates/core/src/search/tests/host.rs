//! A host directory behind the walls of a local backend, seen at `/w`.

use crate::backend::Backend as _;
use crate::backend::Call;
use crate::backend::local::{LocalBackend, LocalOptions};
use crate::error::Result;
use crate::limits::Limits;
use crate::sandbox::{Mount, Sandbox};
use crate::search::{GlobOutcome, GlobQuery, GrepOutcome, GrepQuery};

/// Removed when dropped.
pub(super) struct HostTree {
    pub(super) root: tempfile::TempDir,
}

impl HostTree {
    /// Files by path; a name that ends with `/` is a directory, content that begins with `->` a link.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { root: tempfile::tempdir().unwrap() };
        for (path, content) in files {
            tree.add(path, content);
        }
        tree
    }

    pub(super) fn add(&self, path: &str, content: &str) {
        let full = self.root.path().join(path);
        if path.ends_with('/') {
            std::fs::create_dir_all(full).unwrap();
            return;
        }
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        match content.strip_prefix("->") {
            Some(target) => std::os::unix::fs::symlink(target, full).unwrap(),
            None => std::fs::write(full, content).unwrap(),
        }
    }

    /// Sets how many seconds after 1970 a file was changed.
    pub(super) fn touch(&self, path: &str, seconds: u64) {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::open(self.root.path().join(path)).unwrap().set_modified(time).unwrap();
    }

    /// A backend that has this directory at `/w`, and others at the mount points named.
    pub(super) fn backend(&self, others: &[(&str, &str)], limits: Limits) -> LocalBackend {
        let mounts = [(".", "/w")].iter().chain(others).map(|(host, point)| Mount::new(*host, *point)).collect();
        let sandbox = Sandbox::new(mounts, self.root.path()).unwrap();
        LocalBackend::new(LocalOptions { sandbox: Some(sandbox), limits, ..LocalOptions::default() }).unwrap()
    }
}

pub(super) fn glob(backend: &LocalBackend, query: &GlobQuery, call: &Call) -> Result<GlobOutcome> {
    block_on(backend.files().glob(query, call))
}

pub(super) fn grep(backend: &LocalBackend, query: &GrepQuery, call: &Call) -> Result<GrepOutcome> {
    block_on(backend.files().grep(query, call))
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}
