//! The options of a backend, as JSON from the facade.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gloveport_core::backend::ExecuteLimits;
use gloveport_core::backend::local::{Confinement, Durability, LocalOptions};
use gloveport_core::limits::Limits;
use serde::Deserialize;

/// The options of `LocalBackend`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct LocalJson {
    root: Option<PathBuf>,
    allowed_directories: Vec<PathBuf>,
    mode: Mode,
    execute: Option<bool>,
    env: BTreeMap<String, String>,
    command_limits: ExecuteLimits,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere nothing is"))]
    start_ahead: Option<bool>,
    confinement: ConfinementJson,
    durability: DurabilityJson,
    limits: Limits,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Ro,
    #[default]
    Rw,
}

#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ConfinementJson {
    #[default]
    Auto,
    None,
}

#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DurabilityJson {
    None,
    #[default]
    Data,
    Full,
}

impl From<LocalJson> for LocalOptions {
    fn from(json: LocalJson) -> Self {
        Self {
            root: json.root,
            allowed_directories: json.allowed_directories,
            read_only: json.mode == Mode::Ro,
            execute: json.execute.unwrap_or(true),
            environment: json.env.into_iter().collect(),
            command_limits: json.command_limits.into(),
            confinement: match json.confinement {
                ConfinementJson::Auto => Confinement::Auto,
                ConfinementJson::None => Confinement::None,
            },
            durability: match json.durability {
                DurabilityJson::None => Durability::None,
                DurabilityJson::Data => Durability::Data,
                DurabilityJson::Full => Durability::Full,
            },
            limits: json.limits,
            #[cfg(target_os = "linux")]
            supervisor: crate::supervisor::program(),
            #[cfg(target_os = "linux")]
            starts_nothing_ahead: json.start_ahead == Some(false),
            ..Self::default()
        }
    }
}
