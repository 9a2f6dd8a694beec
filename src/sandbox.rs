//! Mount tables: made from options, asked without touching files.

use std::path::PathBuf;

use gloveport_core::access::Operation;
use gloveport_core::error::Result;
use gloveport_core::sandbox::{Allowances, Mount, MountMode, PathConfig, Sandbox};
use napi_derive::napi;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::convert::{NativeError, NativeOutcome, parse, text_of};

/// A sandbox, or why there is none.
#[napi(object, object_from_js = false)]
pub struct NativeSandboxMade {
    /// The sandbox.
    pub sandbox: Option<NativeSandbox>,
    /// The failure.
    pub error: Option<NativeError>,
}

/// The mounts that are an agent's whole world.
#[napi]
pub struct NativeSandbox {
    pub(crate) inner: Sandbox,
}

/// One mount, as the facade writes it.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MountJson {
    host_path: PathBuf,
    mount_point: String,
    #[serde(default)]
    mode: ModeJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suffixes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_file_bytes: Option<u64>,
    #[serde(default = "yes")]
    write_approval: bool,
    #[serde(default)]
    read_approval: bool,
}

fn yes() -> bool {
    true
}

#[derive(Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum ModeJson {
    #[default]
    Ro,
    Rw,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SandboxJson {
    mounts: Vec<MountJson>,
    #[serde(default)]
    base_path: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct DeriveJson {
    allow_read: Option<OneOrMany>,
    allow_write: Option<OneOrMany>,
    readonly: bool,
    inherit: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Vec<String> {
    fn from(value: OneOrMany) -> Self {
        match value {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

#[napi]
impl NativeSandbox {
    /// Checks the mounts and makes their directories. `config_json` is `{ mounts, basePath? }`.
    #[napi(catch_unwind)]
    pub fn create(config_json: String) -> NativeSandboxMade {
        let made = parse::<SandboxJson>(&config_json).and_then(|config| {
            let base = config.base_path.unwrap_or_else(|| PathBuf::from("."));
            Sandbox::new(config.mounts.into_iter().map(Mount::from).collect(), &base)
        });
        made.into()
    }

    /// The host path of a path, in `text`. For display and set-up only.
    #[napi(catch_unwind)]
    pub fn resolve(&self, path: String) -> NativeOutcome {
        let host = self.inner.resolve(&path).map(|host| host.to_string_lossy().into_owned());
        match host {
            Ok(host) => NativeOutcome { text: Some(text_of(host)), ..NativeOutcome::default() },
            Err(error) => NativeOutcome { error: Some(error.into()), ..NativeOutcome::default() },
        }
    }

    /// Whether the mount table lets a path be read.
    #[napi(catch_unwind)]
    pub fn can_read(&self, path: String) -> bool {
        self.inner.can_read(&path)
    }

    /// Whether the mount table lets a path be written.
    #[napi(catch_unwind)]
    pub fn can_write(&self, path: String) -> bool {
        self.inner.can_write(&path)
    }

    /// Whether somebody is asked before a read.
    #[napi(catch_unwind)]
    pub fn needs_read_approval(&self, path: String) -> bool {
        self.inner.needs_read_approval(&path)
    }

    /// Whether somebody is asked before a write.
    #[napi(catch_unwind)]
    pub fn needs_write_approval(&self, path: String) -> bool {
        self.inner.needs_write_approval(&path)
    }

    /// A sandbox that can do at most what this one can. `options_json` is `{ allowRead?, allowWrite?, readonly?, inherit? }`.
    #[napi(catch_unwind)]
    pub fn derive(&self, options_json: String) -> NativeSandboxMade {
        let derived = parse::<DeriveJson>(&options_json).and_then(|options| {
            self.inner.derive(&Allowances {
                allow_read: options.allow_read.map(Into::into),
                allow_write: options.allow_write.map(Into::into),
                readonly: options.readonly,
                inherit: options.inherit,
            })
        });
        derived.into()
    }

    /// The mount of a path, as JSON `{ mountPoint, hostPath, mount }` in `value`.
    #[napi(catch_unwind)]
    pub fn path_config(&self, path: String, for_write: bool) -> NativeOutcome {
        let operation = if for_write { Operation::Write } else { Operation::Read };
        self.inner.path_config(&path, operation).into()
    }

    /// Fails when the mount of a path does not take its suffix.
    #[napi(catch_unwind)]
    pub fn check_suffix(&self, path: String) -> NativeOutcome {
        self.inner.check_suffix(&path).into()
    }

    /// Fails when the file at a path is larger than its mount takes.
    #[napi(catch_unwind)]
    pub fn check_size(&self, path: String) -> NativeOutcome {
        self.inner.check_size(&path).into()
    }

    /// Paths that can be read.
    #[napi(getter, catch_unwind)]
    pub fn readable_roots(&self) -> Vec<String> {
        self.inner.readable_roots()
    }

    /// Paths that can be written.
    #[napi(getter, catch_unwind)]
    pub fn writable_roots(&self) -> Vec<String> {
        self.inner.writable_roots()
    }
}

impl From<Result<Sandbox>> for NativeSandboxMade {
    fn from(made: Result<Sandbox>) -> Self {
        match made {
            Ok(inner) => Self { sandbox: Some(NativeSandbox { inner }), error: None },
            Err(error) => Self { sandbox: None, error: Some(error.into()) },
        }
    }
}

impl From<PathConfig> for NativeOutcome {
    fn from(config: PathConfig) -> Self {
        let value = json!({
            "mountPoint": config.mount_point.as_str(),
            "hostPath": config.host_path.to_string_lossy(),
            "mount": MountJson::from(config.mount),
        });
        Self { value: Some(value.to_string()), ..Self::default() }
    }
}

impl From<MountJson> for Mount {
    fn from(json: MountJson) -> Self {
        Self {
            host_path: json.host_path,
            mount_point: json.mount_point,
            mode: match json.mode {
                ModeJson::Ro => MountMode::ReadOnly,
                ModeJson::Rw => MountMode::ReadWrite,
            },
            suffixes: json.suffixes,
            max_file_bytes: json.max_file_bytes,
            write_approval: json.write_approval,
            read_approval: json.read_approval,
        }
    }
}

impl From<Mount> for MountJson {
    fn from(mount: Mount) -> Self {
        Self {
            host_path: mount.host_path,
            mount_point: mount.mount_point,
            mode: match mount.mode {
                MountMode::ReadOnly => ModeJson::Ro,
                MountMode::ReadWrite => ModeJson::Rw,
            },
            suffixes: mount.suffixes,
            max_file_bytes: mount.max_file_bytes,
            write_approval: mount.write_approval,
            read_approval: mount.read_approval,
        }
    }
}
