//! The engine's calls as a container needs them: what is so already, or gone, is no failure.

use serde_json::{Value, json};

use super::client::{Engine, Failure, Input, Output, Path, Payload};
use super::engine::refused;
use super::settling::settled;
use crate::error::{Error, Result};

/// 5 times more, in half a second, a container is looked at that the engine failed to look at. Podman does at whatever is gone
/// already of one that it just removes; a moment later there is none.
const LOOKS: usize = 5;

/// A container of this name or number.
pub(super) fn of(id: &str) -> Path {
    Path::new("/containers").name(id)
}

/// What the engine knows of a container; `None` where there is none.
pub(super) async fn inspect(engine: &Engine, id: &str) -> Result<Option<Value>> {
    let path = of(id).then("json");
    match settled(LOOKS, Failure::is_fault, || engine.ask("GET", &path, Payload::Nothing)).await {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.is_missing() => Ok(None),
        Err(failure) => Err(refused("look at a container", &failure)),
    }
}

/// How a container is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Running,
    Paused,
    /// Made and not begun, ended, or on its way to one of these.
    Still,
}

/// How a container is that was looked at.
pub(super) fn status_of(found: &Value) -> Status {
    match found.pointer("/State/Status").and_then(Value::as_str) {
        Some("running") => Status::Running,
        Some("paused") => Status::Paused,
        _ => Status::Still,
    }
}

pub(super) async fn status(engine: &Engine, id: &str) -> Result<Option<Status>> {
    Ok(inspect(engine, id).await?.as_ref().map(status_of))
}

/// Whether it began by this; it may run already.
pub(super) async fn start(engine: &Engine, id: &str) -> Result<bool> {
    match engine.ask("POST", &of(id).then("start"), Payload::Nothing).await {
        Err(failure) if !failure.is_conflict() => Err(refused("start a container", &failure)),
        started => Ok(started.is_ok()),
    }
}

pub(super) async fn unpause(engine: &Engine, id: &str) -> Result<()> {
    let resumed = engine.ask("POST", &of(id).then("unpause"), Payload::Nothing).await;
    resumed.map(drop).map_err(|failure| refused("resume a container", &failure))
}

/// Ends a container at once and keeps it.
pub(super) async fn stop(engine: &Engine, id: &str) -> Result<()> {
    gone(engine.ask("POST", &of(id).then("stop").with("t", "0"), Payload::Nothing).await)
}

/// Ends and removes a container with its nameless volumes.
pub(super) async fn remove(engine: &Engine, id: &str) -> Result<()> {
    gone(engine.ask("DELETE", &of(id).with("force", "true").with("v", "true"), Payload::Nothing).await)
}

/// A container that is gone, or is going, is as good as one that we removed.
fn gone(result: Result<Value, Failure>) -> Result<()> {
    match result {
        Err(failure) if !failure.is_missing() && !failure.is_conflict() => Err(refused("stop a container", &failure)),
        Ok(_) | Err(_) => Ok(()),
    }
}

pub(super) async fn exec(engine: &Engine, id: &str, command: &[&str], user: Option<&str>) -> Result<(Output, Input)> {
    let mut config = json!({
        "Cmd": command,
        "AttachStdin": true,
        "AttachStdout": true,
        "AttachStderr": true,
        "Tty": false,
        // The container's own directory may be gone by now, and then no program of ours would start any more.
        "WorkingDir": "/",
    });
    if let Some(user) = user {
        config["User"] = user.into();
    }
    exec_of(engine, id, &config).await.map(|(_, output, input)| (output, input))
}

/// Runs a program that is described as the engine wants it; its number, its output and its input.
pub(super) async fn exec_of(engine: &Engine, id: &str, config: &Value) -> Result<(String, Output, Input)> {
    let error = |failure| refused("run a program in a container", &failure);
    let made = engine.ask("POST", &of(id).then("exec"), Payload::Json(config)).await.map_err(error)?;
    let exec = text(&made, "Id").ok_or_else(|| Error::internal("The engine named no program."))?.to_owned();
    let begin = json!({ "Detach": false, "Tty": false });
    let attached = engine.attach(&Path::new("/exec").name(&exec).then("start"), Payload::Json(&begin)).await;
    attached.map(|(output, input)| (exec, output, input)).map_err(error)
}

/// A text of an answer.
pub(super) fn text<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    answer.get(name).and_then(Value::as_str)
}
