//! How a container ends: stopped, idle, closed, or by itself.

use std::time::Duration;

use tokio::time::timeout;

use super::calls::{exec, inspect, remove, stop};
use super::container::{Container, Running, State};
use super::{engine, owner};
use crate::backend::guest::Line;
use crate::error::{ErrorKind, Result};

/// 10 s to take the guest out of a container that stays.
const TIDY: Duration = Duration::from_secs(10);
/// 120 s to stop one: an engine that removes fifty at once takes its time.
const STOP: Duration = Duration::from_mins(2);

impl Container {
    /// What is left when a container of ours ended by itself.
    pub(super) fn after_the_end(&self) -> State {
        match self.0.options.container {
            Some(_) => State::Idle,
            None => State::Ended(
                "The container has ended, and its files are gone with it; make a new backend.",
                ErrorKind::BackendUnavailable,
            ),
        }
    }

    /// Stops it: gone with its files, unless it has a name; then `purge` removes it too. Twice is once.
    pub(super) async fn stop(&self, purge: bool) -> Result<()> {
        let turn = Turn::of(self);
        let this = self.clone();
        self.settled(STOP, async move {
            let mut state = this.0.state.lock().await;
            drop(turn);
            if !matches!(&*state, State::Running(_)) {
                return if purge { this.purge_stopped().await } else { Ok(()) };
            }
            match this.put(&mut state, this.stopped()) {
                State::Running(running) => this.end(running, purge).await,
                State::Idle | State::Ended(..) => Ok(()),
            }
        })
        .await
    }

    /// Stops it if nobody has called for so long, and says whether it did. Looked at under the lock: a call that has
    /// begun by then keeps it.
    pub(super) async fn stop_if_idle(&self, most: Duration) -> Result<bool> {
        // Whoever holds the lock for long is a call.
        if !self.is_idle_for(most) {
            return Ok(false);
        }
        let this = self.clone();
        self.settled(STOP, async move {
            let mut state = this.0.state.lock().await;
            if !this.is_idle_for(most) {
                return Ok(false);
            }
            if matches!(&*state, State::Running(_))
                && let State::Running(running) = this.put(&mut state, this.stopped())
            {
                this.end(running, false).await?;
            }
            Ok(true)
        })
        .await
    }

    fn stopped(&self) -> State {
        match self.0.options.container {
            Some(_) => State::Idle,
            None => State::Ended(
                "The container was stopped, and its files are gone; make a new backend.",
                ErrorKind::Closed,
            ),
        }
    }

    async fn purge_stopped(&self) -> Result<()> {
        let Some(name) = &self.0.options.container else { return Ok(()) };
        let engine = engine::connect(self.0.options.host.as_deref()).await?;
        let Some(found) = inspect(&engine, name).await? else { return Ok(()) };
        if owner::is_ours(&engine, &found).await? {
            remove(&engine, name).await?;
        }
        Ok(())
    }

    async fn end(&self, running: Running, purge: bool) -> Result<()> {
        match &running.line {
            Some(Line::Guest(connection)) => connection.end(),
            Some(Line::Here(backend)) => backend.close().await?,
            None => {}
        }
        // One that somebody else made, or holds at this moment, is not ours to end; to purge it was said.
        if !running.ours || (!purge && running.hold.is_none()) {
            return Ok(());
        }
        if purge || self.0.options.container.is_none() {
            return remove(&running.engine, &running.id).await;
        }
        stop(&running.engine, &running.id).await
    }

    /// Takes a guest that did not begin out of somebody else's container. Best effort: it may have ended.
    pub(super) async fn tidy(&self, running: &Running) {
        let Some(program) = &running.program else { return };
        let command = ["rm", "-f", "--", program];
        let tidied = async {
            let user = self.0.options.user.as_deref();
            let Ok((mut output, _input)) = exec(&running.engine, &running.id, &command, user).await else { return };
            while let Ok(Some(_)) = output.piece().await {}
        };
        let _ = timeout(TIDY, tidied).await;
    }

    /// Ends what was started here, for good. A container with a name is stopped and kept.
    pub(super) async fn close(&self) -> Result<()> {
        self.0.interrupt.for_ever();
        let this = self.clone();
        self.settled(STOP, async move {
            let mut state = this.0.state.lock().await;
            let closed = State::Ended("This backend was closed; make a new one.", ErrorKind::Closed);
            match this.put(&mut state, closed) {
                State::Running(running) => this.end(running, false).await,
                State::Idle | State::Ended(..) => Ok(()),
            }
        })
        .await
    }
}

/// A stop that waits for its turn. Who comes meanwhile does not begin: its turn might be before.
struct Turn(Container);

impl Turn {
    fn of(container: &Container) -> Self {
        container.0.interrupt.begin();
        Self(container.clone())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.interrupt.over();
    }
}
