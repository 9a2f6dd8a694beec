//! One lock for each path that is being changed, so that two changes of one file through the same backend follow one
//! another. The place itself promises nothing of the kind.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::path::VirtualPath;

/// 64 paths before those that nobody holds are forgotten.
const TIDY_AT: usize = 64;

/// The locks of one backend.
#[derive(Default)]
pub(super) struct PathLocks(Mutex<HashMap<VirtualPath, Weak<tokio::sync::Mutex<()>>>>);

impl PathLocks {
    /// Waits until nobody else changes `path`. Dropping the wait gives up the place in the queue.
    pub(super) async fn lock(&self, path: &VirtualPath) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock();
            if locks.len() >= TIDY_AT {
                locks.retain(|_, lock| lock.strong_count() > 0);
            }
            match locks.get(path).and_then(Weak::upgrade) {
                Some(lock) => lock,
                None => {
                    let lock = Arc::new(tokio::sync::Mutex::new(()));
                    locks.insert(path.clone(), Arc::downgrade(&lock));
                    lock
                }
            }
        };
        lock.lock_owned().await
    }
}
