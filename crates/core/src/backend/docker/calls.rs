//! The engine's calls as a container needs them: what is so already, or gone, is no failure.

use std::pin::Pin;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum, ExecConfig};
use bollard::query_parameters::{InspectContainerOptions, StartContainerOptions};
use futures_util::Stream;
use tokio::io::AsyncWrite;

use super::engine::{is_conflict, is_missing, refused};
use crate::error::{Error, Result};

pub(super) async fn inspect(docker: &Docker, id: &str) -> Result<Option<ContainerInspectResponse>> {
    match docker.inspect_container(id, None::<InspectContainerOptions>).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(refused("look at a container", &error)),
    }
}

pub(super) async fn status(docker: &Docker, id: &str) -> Result<Option<ContainerStateStatusEnum>> {
    Ok(inspect(docker, id).await?.and_then(|found| found.state).and_then(|state| state.status))
}

pub(super) async fn start(docker: &Docker, id: &str) -> Result<()> {
    match docker.start_container(id, None::<StartContainerOptions>).await {
        Err(error) if !is_conflict(&error) => Err(refused("start a container", &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(super) async fn unpause(docker: &Docker, id: &str) -> Result<()> {
    docker.unpause_container(id).await.map_err(|error| refused("resume a container", &error))
}

/// A container that is gone, or is going, is as good as one that we removed.
pub(super) fn gone(result: Result<(), bollard::errors::Error>) -> Result<()> {
    match result {
        Err(error) if !is_missing(&error) && !is_conflict(&error) => Err(refused("stop a container", &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(super) type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>;
pub(super) type Input = Pin<Box<dyn AsyncWrite + Send>>;

pub(super) async fn exec(docker: &Docker, id: &str, command: &[&str], user: Option<String>) -> Result<(Output, Input)> {
    let config = ExecConfig {
        cmd: Some(command.iter().map(|word| (*word).to_owned()).collect()),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        tty: Some(false),
        user,
        ..ExecConfig::default()
    };
    let error = |error| refused("run a program in a container", &error);
    let made = docker.create_exec(id, config).await.map_err(error)?;
    match docker.start_exec(&made.id, None::<StartExecOptions>).await.map_err(error)? {
        StartExecResults::Attached { output, input } => Ok((output, input)),
        StartExecResults::Detached => Err(Error::internal("A program in a container was not attached.")),
    }
}
