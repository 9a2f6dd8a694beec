//! The life of one container.
//!
//! ```text
//! Idle ── start ──▶ Running ── the container ended ──▶ Idle (it has a name: its files are kept) or Gone (they are not)
//!                      └── stop, idle timeout ──▶ the same
//! any ── close ──▶ Closed
//! ```
//!
//! What changes the state runs to its end, whoever stops waiting for it: a container that was made is always known here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::timeout;

use super::by_shell;
use super::calls::{Status, exec, inspect, of, remove, status, stop, unpause};
use super::client::{Engine, Input, Output, Payload};
use super::engine::{self, refused};
use super::image::BuildProgress;
use super::options::DockerOptions;
use super::owner::SESSION;
use super::usage::Usage;
use crate::backend::guest::{Connection, Lease, Line, Link, Setup};
use crate::backend::{BoxFuture, Call};
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 30 min to make and start a container: a pull or the build of an image is a part of it.
const START: Duration = Duration::from_mins(30);
/// 30 s to stop one.
const STOP: Duration = Duration::from_secs(30);

/// A container, whether there is one yet or not. Clones are the same container.
#[derive(Clone)]
pub(super) struct Container(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) options: DockerOptions,
    pub(super) work_dir: VirtualPath,
    pub(super) session: String,
    pub(super) progress: Option<BuildProgress>,
    state: tokio::sync::Mutex<State>,
    /// Calls that run now.
    busy: AtomicUsize,
    last_activity: Mutex<Instant>,
    home: Mutex<Option<String>>,
}

enum State {
    Idle,
    Running(Running),
    /// Its files are gone, or nobody wants it any more.
    Ended(&'static str, ErrorKind),
}

pub(super) struct Running {
    pub(super) engine: Engine,
    pub(super) id: String,
    /// Whether we made it, and so may end it.
    pub(super) ours: bool,
    /// Where the guest lies in it; without one it is served through its shell.
    pub(super) program: Option<String>,
    /// Our end of its first process's input: dropped, the container ends.
    pub(super) _hold: Option<Mutex<Hold>>,
    pub(super) line: Option<Line>,
}

/// Both directions: the engine closes the input when either end is closed.
pub(super) struct Hold {
    pub(super) _input: Input,
    pub(super) _output: Output,
}

impl Container {
    pub(super) fn new(
        options: DockerOptions,
        work_dir: VirtualPath,
        session: String,
        progress: Option<BuildProgress>,
    ) -> Self {
        Self(Arc::new(Inner {
            options,
            work_dir,
            session,
            progress,
            state: tokio::sync::Mutex::new(State::Idle),
            busy: AtomicUsize::new(0),
            last_activity: Mutex::new(Instant::now()),
            home: Mutex::new(None),
        }))
    }

    /// Says that somebody uses it.
    pub(super) fn touch(&self) {
        *self.0.last_activity.lock() = Instant::now();
    }

    /// Time since the last call ended; nothing while one runs.
    pub(super) fn idle_for(&self) -> Duration {
        if self.0.busy.load(Ordering::Acquire) > 0 { Duration::ZERO } else { self.0.last_activity.lock().elapsed() }
    }

    /// Starts it, if it does not run. `Closed` after [`Container::close`].
    pub(super) async fn start(&self) -> Result<()> {
        self.lend().await.map(drop)
    }

    /// Runs `work` to its end on a task of its own; the caller may leave.
    async fn settled<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let slow = || Error::new(ErrorKind::BackendUnavailable, "The container engine did not answer in time.");
        let task = tokio::spawn(async move { timeout(within, work).await.unwrap_or_else(|_| Err(slow())) });
        task.await.unwrap_or_else(|_| Err(Error::internal("Work on a container stopped unexpectedly.")))
    }

    async fn lend(&self) -> Result<Lease> {
        let this = self.clone();
        self.settled(START, async move { this.connected().await }).await
    }

    /// A connection that works, by whatever must be done for it.
    async fn connected(&self) -> Result<Lease> {
        let busy = Busy::new(self);
        let mut state = self.0.state.lock().await;
        if let State::Ended(why, kind) = &*state {
            return Err(Error::new(*kind, *why));
        }
        if let State::Running(running) = &mut *state {
            // A guest's end is seen at once; a shell has none, so that its container is looked at below.
            if let Some(line @ Line::Guest(connection)) = &running.line
                && !connection.has_ended()
            {
                return Ok(Lease::new(line.clone(), Some(Box::new(busy))));
            }
            match self.revive(running).await? {
                Some(line) => return Ok(Lease::new(line, Some(Box::new(busy)))),
                None => *state = self.after_the_end(),
            }
            if let State::Ended(why, kind) = &*state {
                return Err(Error::new(*kind, *why));
            }
        }
        let mut running = self.bring_up().await?;
        let line = match self.connect(&running).await {
            Ok(line) => line,
            Err(error) => {
                if running.ours && self.0.options.container.is_none() {
                    let _ = remove(&running.engine, &running.id).await;
                }
                return Err(error);
            }
        };
        running.line = Some(line.clone());
        *state = State::Running(running);
        self.watch_idleness();
        Ok(Lease::new(line, Some(Box::new(busy))))
    }

    /// Stops the container once nobody called for a while. The watch ends with the container, or with its owner.
    fn watch_idleness(&self) {
        let Some(most) = self.0.options.idle_timeout else { return };
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                let Some(container) = inner.upgrade().map(Container) else { return };
                if !matches!(&*container.0.state.lock().await, State::Running(_)) {
                    return;
                }
                let left = most.saturating_sub(container.idle_for());
                if left.is_zero() {
                    // What the engine refuses now is tried again after the next call.
                    let _ = container.stop(false).await;
                    return;
                }
                // Not held while nothing happens: whoever drops the backend ends the container.
                drop(container);
                tokio::time::sleep(left).await;
            }
        });
    }

    /// What is left when a container of ours ended by itself.
    fn after_the_end(&self) -> State {
        match self.0.options.container {
            Some(_) => State::Idle,
            None => State::Ended(
                "The container has ended, and its files are gone with it; make a new backend.",
                ErrorKind::BackendUnavailable,
            ),
        }
    }

    /// A new connection into a container whose old one was lost (a command may have killed the guest), or nothing when the
    /// container itself has ended.
    async fn revive(&self, running: &mut Running) -> Result<Option<Line>> {
        match status(&running.engine, &running.id).await? {
            Some(Status::Running) => {}
            Some(Status::Paused) => unpause(&running.engine, &running.id).await?,
            _ => return Ok(None),
        }
        let line = match running.line.take() {
            Some(line @ Line::Here(_)) => line,
            Some(Line::Guest(_)) | None => self.connect(running).await?,
        };
        running.line = Some(line.clone());
        Ok(Some(line))
    }

    /// Starts the guest and speaks with it; without one, takes the container's shell.
    async fn connect(&self, running: &Running) -> Result<Line> {
        let user = self.0.options.user.as_deref();
        let (work_dir, limits) = (self.0.work_dir.clone(), self.0.options.limits.clone());
        let Some(program) = &running.program else {
            return by_shell::backend(&running.engine, &running.id, user, work_dir, limits).await.map(Line::Here);
        };
        let setup = Setup { working_directory: work_dir, limits, environment: Vec::new() };
        let (output, input) = exec(&running.engine, &running.id, &[program, "serve"], user).await?;
        let connection = Connection::open(output, input, setup).await?;
        *self.0.home.lock() = connection.home();
        Ok(Line::Guest(Arc::new(connection)))
    }

    /// Stops it: gone with its files, unless it has a name; then `purge` removes it too. Twice is once.
    pub(super) async fn stop(&self, purge: bool) -> Result<()> {
        let this = self.clone();
        self.settled(STOP, async move {
            let mut state = this.0.state.lock().await;
            if !matches!(&*state, State::Running(_)) {
                return if purge { this.purge_stopped().await } else { Ok(()) };
            }
            match std::mem::replace(&mut *state, this.stopped()) {
                State::Running(running) => this.end(running, purge).await,
                State::Idle | State::Ended(..) => Ok(()),
            }
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
        if is_ours(&found) {
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
        if !running.ours {
            return Ok(());
        }
        if purge || self.0.options.container.is_none() {
            return remove(&running.engine, &running.id).await;
        }
        stop(&running.engine, &running.id).await
    }

    /// Ends what was started here, for good. A container with a name is stopped and kept.
    pub(super) async fn close(&self) -> Result<()> {
        let this = self.clone();
        self.settled(STOP, async move {
            let mut state = this.0.state.lock().await;
            let closed = State::Ended("This backend was closed; make a new one.", ErrorKind::Closed);
            match std::mem::replace(&mut *state, closed) {
                State::Running(running) => this.end(running, false).await,
                State::Idle | State::Ended(..) => Ok(()),
            }
        })
        .await
    }

    /// Whether it runs and answers, without starting it.
    pub(super) async fn is_alive(&self) -> bool {
        let state = self.0.state.lock().await;
        let State::Running(running) = &*state else { return false };
        let (engine, id) = (running.engine.clone(), running.id.clone());
        drop(state);
        matches!(status(&engine, &id).await, Ok(Some(Status::Running)))
    }

    /// What it uses; nothing where none runs.
    pub(super) async fn usage(&self) -> Result<Option<Usage>> {
        let state = self.0.state.lock().await;
        let State::Running(running) = &*state else { return Ok(None) };
        let (engine, id) = (running.engine.clone(), running.id.clone());
        drop(state);
        // Not one-shot: the engine compares with a second ago, for the share of the processor.
        let path = of(&id).then("stats").with("stream", "false");
        match engine.ask("GET", &path, Payload::Nothing).await {
            Ok(stats) => Ok(Some(Usage::of(&stats))),
            Err(failure) if failure.is_missing() || failure.is_conflict() => Ok(None),
            Err(failure) => Err(refused("say what a container uses", &failure)),
        }
    }

    /// The engine's number of the container, while there is one.
    pub(super) async fn id(&self) -> Option<String> {
        match &*self.0.state.lock().await {
            State::Running(running) => Some(running.id.clone()),
            State::Idle | State::Ended(..) => None,
        }
    }
}

/// Whether a container that was looked at was made by us.
pub(super) fn is_ours(found: &Value) -> bool {
    found.pointer("/Config/Labels").and_then(|labels| labels.get(SESSION)).is_some()
}

impl Link for Container {
    fn lease<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Lease>> {
        Box::pin(async move {
            call.deadline.check()?;
            tokio::select! {
                lease = self.lend() => lease,
                error = call.deadline.reached() => Err(error),
            }
        })
    }

    fn home(&self) -> Option<String> {
        self.0.home.lock().clone()
    }
}

/// One call that runs: while there is one nothing is idle.
struct Busy(Container);

impl Busy {
    fn new(container: &Container) -> Self {
        container.0.busy.fetch_add(1, Ordering::AcqRel);
        container.touch();
        Self(container.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}
