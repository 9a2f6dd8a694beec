//! How a container comes to run: found by its name, or made; with the guest in it.

use std::time::Duration;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum};
use bollard::query_parameters::{AttachContainerOptions, CreateContainerOptions, UploadToContainerOptions};
use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::calls::{exec, inspect, start, unpause};
use super::container::{Container, Hold, Running};
use super::engine::{self, is_missing, refused};
use super::guest::{GUEST_DIRECTORY, GUEST_PROGRAM, RECEIVE, archive, program_only};
use super::image;
use super::owner::{self, SESSION};
use super::spec;
use crate::error::{Error, ErrorKind, Result, Shown};

/// 60 s for the guest to travel into a container through a command.
const SEND: Duration = Duration::from_secs(60);

impl Container {
    /// A container that runs: the one that was named, or a new one.
    pub(super) async fn bring_up(&self) -> Result<Running> {
        let options = &self.0.options;
        let docker = engine::connect(options.host.as_deref()).await?;
        owner::sweep(&docker).await;
        if let Some(name) = &options.container {
            check_container_name(name)?;
            match inspect(&docker, name).await? {
                Some(found) => return self.attach(docker, found).await,
                None if options.image.is_none() && options.runtime.is_none() => {
                    return Err(Error::new(
                        ErrorKind::BackendUnavailable,
                        format!("Container '{}' not found. Give an image as well to have it made.", Shown(name)),
                    ));
                }
                None => {}
            }
        }
        self.create(docker).await
    }

    /// A container that somebody made: us in another life, or the author.
    async fn attach(&self, docker: Docker, found: ContainerInspectResponse) -> Result<Running> {
        let id = found.id.clone().unwrap_or_default();
        let labels = found.config.as_ref().and_then(|config| config.labels.as_ref());
        let ours = labels.is_some_and(|labels| labels.contains_key(SESSION));
        if let Some(sandbox) = &self.0.options.sandbox {
            let mounts = found.host_config.as_ref().and_then(|host| host.mounts.as_deref()).unwrap_or_default();
            if !spec::are_mounts_of(mounts, sandbox)? {
                return Err(Error::invalid(
                    "The container exists with other mounts than these, and an existing one cannot be given any; leave `sandbox` \
                     out, or take another name.",
                ));
            }
        }
        let status = found.state.as_ref().and_then(|state| state.status);
        let hold = match status {
            Some(ContainerStateStatusEnum::RUNNING) => None,
            Some(ContainerStateStatusEnum::PAUSED) => {
                unpause(&docker, &id).await?;
                None
            }
            _ if ours => {
                // Nothing runs in it: the guest of this version replaces the one that was there.
                self.upload(&docker, &id).await?;
                Some(self.run(&docker, &id).await?)
            }
            _ => {
                start(&docker, &id).await?;
                None
            }
        };
        let program = if ours { GUEST_PROGRAM.to_owned() } else { self.send(&docker, &id).await? };
        Ok(Running { docker, id, ours, program, _hold: hold.map(Mutex::new), connection: None })
    }

    async fn create(&self, docker: Docker) -> Result<Running> {
        let options = &self.0.options;
        let progress = self.0.progress.as_ref();
        let Some(image) = image::image(&docker, options, progress).await? else {
            return Err(Error::invalid("A container needs an `image` or a `runtime`, or the name of one that exists."));
        };
        let remove = options.container.is_none();
        let user = self.user(&docker).await?;
        let labels = owner::labels(&self.0.session, remove);
        let body = spec::container(options, &image, &self.0.work_dir, user, labels, remove)?;
        let name = options.container.clone().unwrap_or_else(|| format!("gloveport-{}", self.0.session));
        let create = || CreateContainerOptions { name: Some(name.clone()), platform: String::new() };
        let mut made = docker.create_container(Some(create()), body.clone()).await;
        if made.as_ref().is_err_and(is_missing) {
            image::pull(&docker, &image, options, progress).await?;
            made = docker.create_container(Some(create()), body).await;
        }
        let id = made.map_err(|error| refused("make a container", &error))?.id;
        let unfinished = Unfinished { docker: docker.clone(), id: Some(id.clone()) };
        self.upload(&docker, &id).await?;
        let hold = self.run(&docker, &id).await?;
        unfinished.finish();
        let program = GUEST_PROGRAM.to_owned();
        Ok(Running { docker, id, ours: true, program, _hold: Some(Mutex::new(hold)), connection: None })
    }

    /// Who runs things inside. On mounts that can be written it is this process's user: a root without capabilities
    /// writes nobody else's files, and what it made could not be used from outside.
    async fn user(&self, docker: &Docker) -> Result<Option<String>> {
        let options = &self.0.options;
        if options.user.is_some() {
            return Ok(options.user.clone());
        }
        #[cfg(unix)]
        if options.sandbox.as_ref().is_some_and(|sandbox| !sandbox.writable_roots().is_empty()) {
            let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
            let info = docker.info().await.map_err(|error| refused("describe itself", &error))?;
            // Without root outside, root inside is this user already.
            let rootless = info.security_options.unwrap_or_default().iter().any(|option| option.contains("rootless"));
            if !user.is_root() && !rootless {
                return Ok(Some(format!("{}:{}", user.as_raw(), group.as_raw())));
            }
        }
        let _ = docker;
        Ok(None)
    }

    /// Puts the guest into a container in which nothing runs.
    async fn upload(&self, docker: &Docker, id: &str) -> Result<()> {
        let program = self.program(docker).await?;
        let owned = self.owned_work_dir();
        let directories: Vec<_> = owned.iter().map(|(path, user, group)| (path.as_str(), *user, *group)).collect();
        let path = if self.0.options.read_only_root { GUEST_DIRECTORY } else { "/" };
        let bytes =
            if self.0.options.read_only_root { program_only(&program) } else { archive(&program, &directories) };
        let options = UploadToContainerOptions { path: path.to_owned(), ..UploadToContainerOptions::default() };
        docker
            .upload_to_container(id, Some(options), bollard::body_full(bytes.into()))
            .await
            .map_err(|error| refused("take the program that serves files", &error))
    }

    /// The working directory, for a user that could not make it; not where a mount will be.
    fn owned_work_dir(&self) -> Option<(String, u32, u32)> {
        let options = &self.0.options;
        let path = self.0.work_dir.as_str();
        if options.sandbox.is_some() || path.len() > 99 || self.0.work_dir.is_root() {
            return None;
        }
        let user = options.user.as_deref()?;
        let (user, group) = user.split_once(':').unwrap_or((user, user));
        Some((path.to_owned(), user.parse().ok()?, group.parse().ok()?))
    }

    async fn program(&self, docker: &Docker) -> Result<Vec<u8>> {
        let version = docker.version().await.map_err(|error| refused("describe itself", &error))?;
        self.0.options.guest.load(version.arch.as_deref().unwrap_or("")).await
    }

    /// Starts a container of ours and holds it: its first process ends with the connection that is made here.
    async fn run(&self, docker: &Docker, id: &str) -> Result<Hold> {
        let options =
            AttachContainerOptions { stream: true, stdin: true, stdout: true, ..AttachContainerOptions::default() };
        let attached = docker
            .attach_container(id, Some(options))
            .await
            .map_err(|error| refused("attach to a container", &error))?;
        start(docker, id).await?;
        Ok(Hold { _input: attached.input, _output: attached.output })
    }

    /// Sends the guest into a container that is not ours through a command, and says where it lies. The archive endpoint
    /// is not for a container in which something runs (R-DK-4).
    async fn send(&self, docker: &Docker, id: &str) -> Result<String> {
        let program = self.program(docker).await?;
        let command = ["sh", "-c", RECEIVE, "sh", &self.0.session];
        let (mut output, mut input) = exec(docker, id, &command, self.0.options.user.clone()).await?;
        let failed = || {
            Error::new(
                ErrorKind::Unsupported,
                "The container takes no program: it has no shell, or no directory in which a program may be run.",
            )
        };
        let mut said = Vec::new();
        let sent = async {
            // A command that ends early closes its input; what it said then says why.
            let _ = input.write_all(&program).await;
            let _ = input.shutdown().await;
            while let Some(Ok(chunk)) = output.next().await {
                if let LogOutput::StdOut { message } = chunk
                    && said.len() < 4096
                {
                    said.extend_from_slice(&message);
                }
            }
        };
        timeout(SEND, sent).await.map_err(|_| failed())?;
        let path = String::from_utf8(said).map_err(|_| failed())?.trim().to_owned();
        if path.starts_with('/') { Ok(path) } else { Err(failed()) }
    }
}

/// A container that was made and does not run yet. Dropped like this, by an error or because time was over, it goes.
struct Unfinished {
    docker: Docker,
    id: Option<String>,
}

impl Unfinished {
    fn finish(mut self) {
        self.id = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let docker = self.docker.clone();
            tokio::spawn(async move { drop(owner::remove(&docker, &id).await) });
        }
    }
}

/// What names a container in an address of the engine: no path, no query.
fn check_container_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if !first || name.len() > 128 || !name.chars().all(plain) {
        return Err(Error::invalid(format!(
            "'{}' is no name of a container: letters, digits, '_', '.' and '-' are.",
            Shown(name)
        )));
    }
    Ok(())
}
