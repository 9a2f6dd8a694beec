//! One at a time, of whatever on this machine is about the same thing of an engine: in this process by a table, among processes of
//! the same user by a file (see [`between`](super::between)).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use super::between::Turn;
use super::client::Engine;

/// What is being done now; entries that nobody holds go with the next one that is made.
static LOCKS: LazyLock<Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>> = LazyLock::new(Mutex::default);

/// Held while one works on something.
pub(super) struct Alone {
    // Given back before the process's own: who comes next in this process finds it free.
    _turn: Option<Turn>,
    _here: OwnedMutexGuard<()>,
}

/// Waits until nobody else works on `what` of `engine`.
pub(super) async fn alone(engine: &Engine, what: &str) -> Alone {
    let key = format!("{} {what}", engine.name());
    let _here = here(&key).await;
    Alone { _turn: Turn::of(&key).await, _here }
}

async fn here(key: &str) -> OwnedMutexGuard<()> {
    let lock = {
        let mut locks = LOCKS.lock();
        locks.retain(|_, lock| lock.strong_count() > 0);
        let held = locks.get(key).and_then(Weak::upgrade);
        held.unwrap_or_else(|| {
            let lock = Arc::default();
            locks.insert(key.to_owned(), Arc::downgrade(&lock));
            lock
        })
    };
    lock.lock_owned().await
}

#[cfg(test)]
mod tests {
    use super::super::client::Address;
    use super::*;

    #[tokio::test]
    async fn the_same_thing_waits_and_another_does_not() {
        let [one, two] = ["unix:///a", "unix:///b"].map(|address| Engine::at(Address::parse(address, None).unwrap()));
        let first = alone(&one, "x").await;
        let _other = alone(&one, "y").await;
        let _elsewhere = alone(&two, "x").await;
        let mut second = Box::pin(alone(&one, "x"));
        assert!(futures_poll(&mut second).await.is_none());
        drop(first);
        drop(second.await);
    }

    /// What a future has already.
    async fn futures_poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
        tokio::select! {
            biased;
            value = future => Some(value),
            () = std::future::ready(()) => None,
        }
    }
}
