//! The life of one container.
//!
//! ```text
//! Idle ── start ──▶ Running ── the container ended ──▶ Idle (it has a name: its files are kept) or Gone (they are not)
//!                      └── stop, idle timeout ──▶ the same
//! any ── close ──▶ Closed
//! ```
//!
//! What changes the state runs to its end, whoever stops waiting for it: a container that was made is always known here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::by_shell;
use super::calls::{Status, exec, status, stop, unpause};
use super::client::{Engine, Input, Output};
use super::idle::{Busy, Idleness};
use super::image::BuildProgress;
use super::interrupt::Interrupt;
use super::options::DockerOptions;
use super::spec;
use crate::backend::guest::{Connection, Lease, Line, Link, Places, Setup};
use crate::backend::{BoxFuture, Call};
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::path::VirtualPath;

/// 30 min to make and start a container: a pull or the build of an image is a part of it.
const START: Duration = Duration::from_mins(30);
/// 60 s for the first guest of a container, perhaps beside fifty others.
const BEGIN: Duration = Duration::from_secs(60);
/// 10 s for the first process to end all others.
const END_ALL: Duration = Duration::from_secs(10);
/// 20 s for a later one: it has only to start. What a command has put in its place may say nothing for ever.
const BEGIN_AGAIN: Duration = Duration::from_secs(20);

/// A container, whether there is one yet or not. Clones are the same container.
#[derive(Clone)]
pub(super) struct Container(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) options: DockerOptions,
    pub(super) work_dir: VirtualPath,
    pub(super) session: String,
    pub(super) progress: Option<BuildProgress>,
    /// The directories of this machine that file tools work on.
    places: Option<Places>,
    /// Held while a container comes or goes, which may take long.
    pub(super) state: tokio::sync::Mutex<State>,
    /// The container that runs, for whoever only looks and does not wait.
    pub(super) seen: Mutex<Option<(Engine, String)>>,
    /// Ends what is under way to a connection, and whatever waits for it; what comes later has another one.
    pub(super) interrupt: Interrupt,
    pub(super) idleness: Idleness,
    home: Mutex<Option<String>>,
}

pub(super) enum State {
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
    /// Our end of its first process's input: dropped, the container ends. Without one somebody else holds it.
    pub(super) hold: Option<Mutex<Hold>>,
    pub(super) line: Option<Line>,
    /// Tells this run of the container from earlier and later ones.
    pub(super) life: u64,
    /// When the last attempt at a new connection came to nothing, and why.
    pub(super) failed: Option<Box<(Instant, Error)>>,
}

impl Running {
    /// Ends everything in a container of ours but its first process, which does it: a guest that was killed could end
    /// nothing of what it had started, and the next one knows nothing of that. Where another process holds the container, or it is
    /// not ours, there is nobody to ask.
    async fn end_all(&mut self) -> Result<()> {
        let (Some(_), Some(hold)) = (&self.program, &mut self.hold) else { return Ok(()) };
        let Hold { input, output } = hold.get_mut();
        let ended = async {
            input.write_all(b"\n").await.ok()?;
            input.flush().await.ok()?;
            output.piece().await.ok()?
        };
        match timeout(END_ALL, ended).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) => Err(Error::new(
                ErrorKind::BackendUnavailable,
                "What ran in the container could not be ended, and nothing new is started beside it; stop the container.",
            )),
        }
    }

    /// A container that runs by now, with no way into it yet.
    pub(super) fn new(engine: Engine, id: String, ours: bool, program: Option<String>, hold: Option<Hold>) -> Self {
        static LIVES: AtomicU64 = AtomicU64::new(0);
        let life = LIVES.fetch_add(1, Ordering::Relaxed);
        Self { engine, id, ours, program, hold: hold.map(Mutex::new), line: None, life, failed: None }
    }
}

/// Both directions: the engine closes the input when either end is closed.
pub(super) struct Hold {
    pub(super) input: Input,
    pub(super) output: Output,
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
            places: None,
            state: tokio::sync::Mutex::new(State::Idle),
            seen: Mutex::new(None),
            interrupt: Interrupt::default(),
            idleness: Idleness::new(),
            home: Mutex::new(None),
        }))
    }

    /// The same with these mounts. Nobody else may have it yet.
    pub(super) fn with_places(mut self, places: Option<Places>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.places = places;
        }
        self
    }

    /// Starts it, if it does not run. `Closed` after [`Container::close`].
    pub(super) async fn start(&self) -> Result<()> {
        self.lend().await.map(drop)
    }

    /// Runs `work` to its end on a task of its own; the caller may leave.
    pub(super) async fn settled<T: Send + 'static>(
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
        let (stays, left) = oneshot::channel();
        let lent = self.settled(START, async move { this.connected(left).await }).await;
        drop::<oneshot::Sender<()>>(stays);
        lent
    }

    /// A connection that works, by whatever must be done for it. `left` ends when nobody wants it any more.
    async fn connected(&self, left: oneshot::Receiver<()>) -> Result<Lease> {
        let (interrupt, asked) = (self.0.interrupt.token(), Instant::now());
        let busy = Busy::new(self);
        tokio::select! {
            biased;
            line = self.line(asked, left) => Ok(Lease::new(line?, Some(Box::new(busy)))),
            // Whoever stops or closes it waits neither for a pull nor for a guest that says nothing: what was begun goes with
            // the future.
            () = interrupt.cancelled() => {
                Err(Error::new(ErrorKind::Closed, "The container was stopped before it had started."))
            }
        }
    }

    /// `asked` is when the call began to wait for its turn: it shares an attempt that failed meanwhile, as ten calls that
    /// each wait for a guest that says nothing would wait for ten times as long.
    async fn line(&self, asked: Instant, left: oneshot::Receiver<()>) -> Result<Line> {
        let mut state = tokio::select! {
            biased;
            state = self.0.state.lock() => state,
            // Nothing was begun for who has gone.
            _ = left => return Err(Error::new(ErrorKind::Aborted, "The call was given up.")),
        };
        if let State::Ended(why, kind) = &*state {
            return Err(Error::new(*kind, *why));
        }
        if let State::Running(running) = &mut *state {
            // A guest's end is seen at once; a shell has none, so that its container is looked at below.
            if let Some(line @ Line::Guest(connection)) = &running.line
                && !connection.has_ended()
            {
                return Ok(line.clone());
            }
            if let Some((_, error)) = running.failed.as_deref().filter(|(at, _)| asked < *at) {
                return Err(same(error));
            }
            match self.revive(running).await {
                Ok(Some(line)) => return Ok(line),
                Ok(None) => drop(self.put(&mut state, self.after_the_end())),
                Err(error) => {
                    running.failed = Some(Box::new((Instant::now(), same(&error))));
                    return Err(error);
                }
            }
            if let State::Ended(why, kind) = &*state {
                return Err(Error::new(*kind, *why));
            }
        }
        let running = self.brought_up().await?;
        let line = running.line.clone().ok_or_else(|| Error::internal("A container came up without a line."))?;
        let life = running.life;
        self.put(&mut state, State::Running(running));
        self.watch_idleness(life);
        Ok(line)
    }

    /// A container that runs, and the way into it. Where that fails, one that nobody needs goes.
    async fn brought_up(&self) -> Result<Running> {
        let (mut running, mut unfinished) = self.bring_up().await?;
        let mut line = self.connect(&running, BEGIN).await;
        if line.is_err() && running.ours && running.hold.is_none() {
            // It may have been about to end, as the host that held it has died: then it is resumed.
            if status(&running.engine, &running.id).await? != Some(Status::Running) {
                (running, unfinished) = self.bring_up().await?;
                line = self.connect(&running, BEGIN).await;
            }
        }
        if line.is_err() && !running.ours {
            // It may not have begun, and then its file is still there.
            self.tidy(&running).await;
        }
        if line.is_err() && self.0.options.container.is_some() && running.hold.take().is_some() {
            // It would end by itself, and the next call would find it about to.
            let _ = stop(&running.engine, &running.id).await;
        }
        running.line = Some(line?);
        unfinished.finish();
        Ok(running)
    }

    /// Changes the state, and what is seen of it.
    pub(super) fn put(&self, state: &mut State, new: State) -> State {
        *self.0.seen.lock() = match &new {
            State::Running(running) => Some((running.engine.clone(), running.id.clone())),
            State::Idle | State::Ended(..) => None,
        };
        std::mem::replace(state, new)
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
            Some(Line::Guest(_)) | None => {
                running.end_all().await?;
                if !running.ours && running.program.is_some() {
                    // The last one has taken its file along.
                    running.program = Some(self.send(&running.engine, &running.id).await?);
                }
                self.connect(running, BEGIN_AGAIN).await?
            }
        };
        running.line = Some(line.clone());
        Ok(Some(line))
    }

    /// Starts the guest, which has so long to answer; without one, takes the container's shell.
    async fn connect(&self, running: &Running, most: Duration) -> Result<Line> {
        let user = self.0.options.user.as_deref();
        let (work_dir, limits) = (self.0.work_dir.clone(), self.0.options.limits.clone());
        let Some(program) = &running.program else {
            let environment = spec::environment(&self.0.options)?;
            let ceilings = self.0.options.command_limits;
            let (engine, id) = (running.engine.clone(), running.id.clone());
            let place = by_shell::Place { engine, id, user, environment, ceilings };
            return by_shell::backend(place, work_dir, limits).await.map(Line::Here);
        };
        // A container that exists may have been made without them.
        let environment = spec::variables(&self.0.options)?.into_iter().collect();
        let mounts = self.0.options.sandbox.as_ref().map_or(&[][..], |sandbox| sandbox.table().mounts());
        let places = mounts.iter().map(|entry| entry.mount_point.clone()).collect();
        let command_limits = self.0.options.command_limits;
        let setup = Setup { working_directory: work_dir, limits, command_limits, environment, places };
        // One that was sent is there for this run alone; of ours another process may hold the container.
        let how: &[&str] = match (running.ours, &running.hold) {
            (false, _) => &["sent"],
            (true, Some(_)) => &["held"],
            (true, None) => &[],
        };
        let command = [&[program.as_str(), "serve"], how].concat();
        let (output, input) = exec(&running.engine, &running.id, &command, user).await?;
        let said = output.said();
        let opened = Connection::open_within(output, input, setup, most).await;
        // What our program, or whatever is in its place, complains of, or the engine that could not begin it.
        let connection = opened.map_err(|error| match said.text() {
            Some(said) if error.details().is_none() => error.with_details(json!({ "said": said })),
            _ => error,
        })?;
        self.check_mounts(connection.places())?;
        *self.0.home.lock() = connection.home();
        let connection = Arc::new(connection);
        if running.hold.is_some() {
            tokio::spawn(tidy_up(Arc::downgrade(&self.0), connection.ending(), Arc::downgrade(&connection)));
        }
        Ok(Line::Guest(connection))
    }
}

impl Container {
    /// Refuses a container in which commands would see other directories than file tools work on: somebody has put another one in
    /// the place of a mount since it was opened, or the engine's machine is not this one (R-DK-2).
    fn check_mounts(&self, theirs: &Places) -> Result<()> {
        let Some(ours) = &self.0.places else { return Ok(()) };
        match ours.are(theirs) {
            Some(true) => Ok(()),
            Some(false) => Err(Error::new(
                ErrorKind::BackendUnavailable,
                "The container's mounts are not the directories that were given: one was replaced meanwhile, or the engine sees others \
                 under these names. Make a new backend; one that has a name must be made anew as well.",
            )),
            // Elsewhere engines always have one of their own.
            None if !cfg!(target_os = "linux") => Ok(()),
            None => {
                self.0.options.notices.say(
                    "The container has a kernel of its own: that its mounts are the directories that were given cannot be checked.",
                );
                Ok(())
            }
        }
    }
}

/// Ends what a connection that was lost leaves, also where no call comes any more: nothing outlives its call.
async fn tidy_up(inner: Weak<Inner>, ended: CancelToken, connection: Weak<Connection>) {
    ended.cancelled().await;
    let Some(inner) = inner.upgrade() else { return };
    let interrupt = inner.interrupt.token();
    let tidied = async {
        let mut state = inner.state.lock().await;
        if let State::Running(running) = &mut *state
            && let Some(Line::Guest(line)) = &running.line
            && std::ptr::eq(Arc::as_ptr(line), connection.as_ptr())
        {
            // The next call does it again, and hears why it cannot be done.
            let _ = running.end_all().await;
        }
    };
    tokio::select! {
        () = tidied => {}
        // The container ends as a whole.
        () = interrupt.cancelled() => {}
    }
}

/// The same error for one more call.
fn same(error: &Error) -> Error {
    let again = Error::new(error.kind(), error.message().to_owned());
    match error.details() {
        Some(details) => again.with_details(details.clone()),
        None => again,
    }
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
