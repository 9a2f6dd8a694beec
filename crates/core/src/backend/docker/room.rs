//! How much room an engine has, as far as it says: for whoever has several and places a container on one of them.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use super::engine;
use super::make::describe;
use super::options::DockerOptions;
use crate::error::{Error, ErrorKind, Result};

/// 5 s for an engine to say: one that takes longer is not the one to place anything on.
const LOOK: Duration = Duration::from_secs(5);

/// What runs on an engine, and what it could hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Room {
    /// Containers that run, whoever made them.
    pub running: u64,
    /// Containers of the options that were asked about which its memory and processors hold, where each takes all that it may.
    pub holds: f64,
}

/// The room of the engine of `options`, for containers of them. `BackendUnavailable` where it does not say.
pub async fn engine_room(options: &DockerOptions) -> Result<Room> {
    let silent =
        || Error::new(ErrorKind::BackendUnavailable, "The container engine does not say how much room it has.");
    let look = async {
        let engine = engine::connect(options.host.as_deref()).await?;
        describe(&engine, "/info").await
    };
    let info = timeout(LOOK, look).await.unwrap_or_else(|_| Err(silent()))?;
    Room::of(&info, options).ok_or_else(silent)
}

impl Room {
    #[allow(clippy::cast_precision_loss, reason = "room for a container more or less")]
    fn of(info: &Value, options: &DockerOptions) -> Option<Self> {
        let number = |name: &str| info.get(name).and_then(Value::as_u64);
        let (processors, memory) = (number("NCPU")? as f64, number("MemTotal")? as f64);
        let holds = (processors / options.cpus).min(memory / options.memory as f64);
        holds.is_finite().then_some(Self { running: number("ContainersRunning")?, holds })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn room_is_what_is_short_first() {
        let options = |cpus: f64, memory: u64| DockerOptions { cpus, memory, ..DockerOptions::default() };
        let info = json!({ "NCPU": 8, "MemTotal": 16_u64 << 30, "ContainersRunning": 3, "Containers": 9 });
        for (cpus, memory, holds) in [(2.0, 1 << 30, 4.0), (0.5, 4 << 30, 4.0), (0.5, 1 << 30, 16.0)] {
            let room = Room::of(&info, &options(cpus, memory));
            assert_eq!(room, Some(Room { running: 3, holds }), "{cpus} {memory}");
        }
        assert_eq!(Room::of(&info, &options(0.0, 0)), None);
        for silent in [json!({}), json!({ "NCPU": 8, "MemTotal": "much", "ContainersRunning": 3 })] {
            assert_eq!(Room::of(&silent, &options(1.0, 1)), None, "{silent}");
        }
    }
}
