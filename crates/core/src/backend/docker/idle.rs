//! When a container is idle, and its end then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::container::{Container, State};

/// Calls that run now, and when the last one ended.
pub(super) struct Idleness {
    busy: AtomicUsize,
    last_activity: Mutex<Instant>,
}

impl Idleness {
    pub(super) fn new() -> Self {
        Self { busy: AtomicUsize::new(0), last_activity: Mutex::new(Instant::now()) }
    }
}

impl Container {
    /// Says that somebody uses it.
    pub(super) fn touch(&self) {
        *self.0.idleness.last_activity.lock() = Instant::now();
    }

    /// Time since the last call ended; nothing while one runs.
    pub(super) fn idle_for(&self) -> Duration {
        let Idleness { busy, last_activity } = &self.0.idleness;
        if busy.load(Ordering::Acquire) > 0 { Duration::ZERO } else { last_activity.lock().elapsed() }
    }

    /// Stops the container once nobody called for a while. The watch ends with the container, or with its owner.
    pub(super) fn watch_idleness(&self) {
        let Some(most) = self.0.options.idle_timeout else { return };
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                let Some(container) = inner.upgrade().map(Container) else { return };
                if !matches!(&*container.0.state.lock().await, State::Running(_)) {
                    return;
                }
                let mut left = most.saturating_sub(container.idle_for());
                if left.is_zero() {
                    match container.stop_if_idle(most).await {
                        // What the engine refuses now is tried again after the next start.
                        Ok(true) | Err(_) => return,
                        // A call began at the last moment.
                        Ok(false) => left = most,
                    }
                }
                // Not held while nothing happens: whoever drops the backend ends the container.
                drop(container);
                tokio::time::sleep(left).await;
            }
        });
    }
}

/// One call that runs: while there is one nothing is idle.
pub(super) struct Busy(Container);

impl Busy {
    pub(super) fn new(container: &Container) -> Self {
        container.0.idleness.busy.fetch_add(1, Ordering::AcqRel);
        container.touch();
        Self(container.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.idleness.busy.fetch_sub(1, Ordering::AcqRel);
    }
}
