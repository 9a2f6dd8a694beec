//! When a container is idle, and its end then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::container::{Container, Inner, State};

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

    /// Whether nobody has called for so long, and no call runs.
    pub(super) fn is_idle_for(&self, most: Duration) -> bool {
        let Idleness { busy, last_activity } = &self.0.idleness;
        busy.load(Ordering::Acquire) == 0 && last_activity.lock().elapsed() >= most
    }

    /// How many calls run.
    #[cfg(test)]
    pub(super) fn calls(&self) -> usize {
        self.0.idleness.busy.load(Ordering::Acquire)
    }

    /// Stops the container that has begun as the life of that number once nobody called for a while.
    pub(super) fn watch_idleness(&self, life: u64) {
        let Some(most) = self.0.options.idle_timeout else { return };
        tokio::spawn(watch(Arc::downgrade(&self.0), life, most));
    }
}

/// Ends with the life that it was begun for (a later one has a watch of its own), or with its owner.
async fn watch(inner: Weak<Inner>, life: u64, most: Duration) {
    loop {
        let Some(container) = inner.upgrade().map(Container) else { return };
        if !matches!(&*container.0.state.lock().await, State::Running(running) if running.life == life) {
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

#[cfg(test)]
mod tests {
    use super::super::client::{Address, Engine};
    use super::super::container::Running;
    use super::super::options::DockerOptions;
    use super::*;
    use crate::path::VirtualPath;

    /// Each stop and start of a container with a name left one more watch behind.
    #[tokio::test(start_paused = true)]
    async fn a_watch_ends_with_the_life_that_it_was_begun_for() {
        let options = DockerOptions { host: Some("unix:///none".to_owned()), ..DockerOptions::default() };
        let container = Container::new(options, VirtualPath::root(), "ab".to_owned(), None);
        let engine = Engine::at(Address::parse("unix:///none", None).unwrap());
        let running = Running::new(engine, "feed".to_owned(), true, None, None);
        let life = running.life;
        *container.0.state.lock().await = State::Running(running);
        let busy = Busy::new(&container);
        let inner = Arc::downgrade(&container.0);
        let most = Duration::from_secs(60);
        watch(inner.clone(), life + 1, most).await;
        let goes_on = tokio::time::timeout(Duration::from_hours(1), watch(inner.clone(), life, most)).await;
        assert!(goes_on.is_err());
        drop((busy, container));
        watch(inner, life, most).await;
    }
}
