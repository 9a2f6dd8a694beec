//! [`DockerBackend`]: the traits over a container.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::container::Container;
use super::idle::Busy;
use super::image::BuildProgress;
use super::mounts::Mounts;
use super::options::DockerOptions;
use super::owner;
use super::runtime::work_dir;
use super::usage::Usage;
use crate::backend::guest::{Places, Remote};
use crate::backend::local::{Confinement, LocalBackend, LocalOptions};
use crate::backend::{Backend, BoxFuture, FileSystem, InUse, Shell, WritableFileSystem};
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::sandbox::Sandbox;

/// A container with files and a shell. It is started by the first call that needs it.
pub struct DockerBackend {
    id: String,
    container: Container,
    remote: Remote<Container>,
    /// The files, where mounts were given: they lie on this machine. And the commands beside them.
    mounts: Option<Mounts>,
}

/// What is known of a container without starting it.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    /// Whether it runs, or goes on at the next call: one that is paused is alive.
    pub alive: bool,
    /// Time since the last call ended; zero while one runs.
    pub idle: Duration,
}

impl DockerBackend {
    /// Checks the options; the engine is not asked for anything yet. `progress` hears what pulls and builds say.
    pub fn new(options: DockerOptions, progress: Option<BuildProgress>) -> Result<Self> {
        let session = format!("{:016x}{:016x}", RandomState::new().hash_one(1), RandomState::new().hash_one(2));
        if let Some(runtime) = &options.runtime {
            runtime.check()?;
        }
        if options.image.is_none() && options.runtime.is_none() && options.container.is_none() {
            return Err(Error::invalid("A container needs an `image` or a `runtime`, or the name of one that exists."));
        }
        owner::check_id(options.session_id.as_deref())?;
        let work_dir = choose_work_dir(&options)?;
        // What the engine would refuse, and what must never be asked of it, is refused here already.
        super::spec::container(
            &options,
            "check",
            &work_dir,
            None,
            serde_json::Map::new(),
            true,
            super::spec::First::Guest,
        )?;
        let mounts = options
            .sandbox
            .clone()
            .map(|sandbox| {
                LocalBackend::new(LocalOptions {
                    sandbox: Some(sandbox),
                    execute: false,
                    confinement: Confinement::Auto,
                    limits: options.limits.clone(),
                    ..LocalOptions::default()
                })
            })
            .transpose()?;
        let limits = options.limits.clone();
        let id = format!("docker-{}", &session[..8]);
        let places = mounts.as_ref().map(|local| Places::of(local.identities()));
        let container = Container::new(options, work_dir.clone(), session, progress).with_places(places);
        let remote = || Remote::new(container.clone(), work_dir.clone(), limits.clone());
        let mounts = mounts.map(|local| Mounts::new(local, remote()));
        Ok(Self { id, remote: remote(), container, mounts })
    }

    /// Starts the container now, and returns when it answers.
    pub async fn start(&self) -> Result<()> {
        self.container.start().await
    }

    /// Stops it. One without a name is gone with its files; one with a name is kept unless `purge`.
    pub async fn stop(&self, purge: bool) -> Result<()> {
        self.container.stop(purge).await
    }

    /// Stops it as [`DockerBackend::stop`] does if no call runs and none has run for so long, and says whether it did. A call
    /// that begins at this moment keeps it.
    pub async fn stop_if_idle(&self, most: Duration) -> Result<bool> {
        self.container.stop_if_idle(most).await
    }

    /// Whether it runs, and for how long nobody called. `BackendUnavailable` where its engine does not say.
    pub async fn health(&self) -> Result<Health> {
        Ok(Health { alive: self.container.is_alive().await?, idle: self.container.idle_for() })
    }

    /// Counts as a call.
    pub fn touch(&self) {
        self.container.touch();
    }

    /// For how long nobody called; zero while a call runs.
    pub fn idle(&self) -> Duration {
        self.container.idle_for()
    }

    /// What it uses at this moment; nothing where it does not run.
    pub async fn usage(&self) -> Result<Option<Usage>> {
        self.container.usage().await
    }

    /// The engine's number of the container, while it runs.
    pub async fn container_id(&self) -> Option<String> {
        self.container.id()
    }
}

/// Where commands run: as was said, else as the runtime says, else `/workspace` unless the mounts lie elsewhere.
fn choose_work_dir(options: &DockerOptions) -> Result<VirtualPath> {
    if let Some(said) = &options.work_dir {
        return work_dir(said);
    }
    if let Some(runtime) = &options.runtime {
        return work_dir(&runtime.work_dir);
    }
    let usual = VirtualPath::absolute("/workspace")?;
    let elsewhere = |sandbox: &Sandbox| {
        let first = sandbox.table().mounts().first()?.mount_point.clone();
        (!sandbox.table().can_read(&usual)).then_some(first)
    };
    Ok(options.sandbox.as_ref().and_then(elsewhere).unwrap_or(usual))
}

impl Backend for DockerBackend {
    fn id(&self) -> &str {
        &self.id
    }

    fn files(&self) -> &dyn FileSystem {
        match &self.mounts {
            Some(mounts) => mounts,
            None => &self.remote,
        }
    }

    fn writer(&self) -> Option<&dyn WritableFileSystem> {
        match &self.mounts {
            Some(mounts) if mounts.writes() => Some(mounts),
            Some(_) => None,
            None => Some(&self.remote),
        }
    }

    fn shell(&self) -> Option<&dyn Shell> {
        match &self.mounts {
            Some(mounts) => Some(mounts),
            None => Some(&self.remote),
        }
    }

    fn in_use(&self) -> Option<InUse> {
        Some(Box::new(Busy::new(&self.container)))
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            if let Some(mounts) = &self.mounts {
                mounts.close().await?;
            }
            self.container.close().await
        })
    }
}
