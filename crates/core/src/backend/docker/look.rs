//! What is seen of a container from outside. Nothing here waits for a container that is just being made or ended.

use serde_json::json;

use super::calls::{Status, of, status};
use super::client::{Engine, Payload};
use super::container::Container;
use super::engine::refused;
use super::usage::Usage;
use crate::error::Result;

impl Container {
    /// Whether it runs, or would go on at the next call as one that is paused does; nothing is started. An error where its
    /// engine does not say: that is no end of it.
    pub(super) async fn is_alive(&self) -> Result<bool> {
        let Some((engine, id)) = self.seen() else { return Ok(false) };
        let found = status(&engine, &id).await;
        let found = found.map_err(|error| {
            let mut details = error.details().cloned().unwrap_or_else(|| json!({}));
            details["engine"] = engine.address().into();
            error.with_details(details)
        })?;
        let lives = match found {
            Some(Status::Running | Status::Paused) => true,
            Some(Status::Still) | None => false,
        };
        // Not one that was stopped while its engine was asked.
        Ok(lives && self.id().is_some_and(|now| now == id))
    }

    /// What it uses; nothing where none runs.
    pub(super) async fn usage(&self) -> Result<Option<Usage>> {
        let Some((engine, id)) = self.seen() else { return Ok(None) };
        // Not one-shot: the engine compares with a second ago, for the share of the processor.
        let path = of(&id).then("stats").with("stream", "false");
        match engine.ask("GET", &path, Payload::Nothing).await {
            Ok(stats) => Ok(Some(Usage::of(&stats))),
            Err(failure) if failure.is_missing() || failure.is_conflict() => Ok(None),
            Err(failure) => Err(refused("say what a container uses", &failure)),
        }
    }

    /// The engine's number of the container, while there is one.
    pub(super) fn id(&self) -> Option<String> {
        self.seen().map(|(_, id)| id)
    }

    fn seen(&self) -> Option<(Engine, String)> {
        self.0.seen.lock().clone()
    }
}
