//! What an author sets on a container.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::build::Builder;
use super::guest::GuestProgram;
use super::runtime::Runtime;
use crate::backend::{CommandLimits, ExecuteLimits};
use crate::limits::Limits;
use crate::sandbox::Sandbox;

/// The options of a [`DockerBackend`](super::DockerBackend). The defaults are a container of its own without network,
/// capabilities or privileges, with bounded memory, processors and processes, that is removed when it is stopped.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DockerOptions {
    /// The engine: `unix:///path`, `tcp://host:port`, `ssh://user@host` or `npipe://…`. Default: `DOCKER_HOST`, the current Docker context,
    /// then the sockets where Docker and Podman usually are.
    pub host: Option<String>,
    /// The image. Not together with `runtime`.
    pub image: Option<String>,
    /// An image described by its packages; built when it is not there.
    pub runtime: Option<Runtime>,
    /// Whether a missing image is pulled.
    pub pull: Pull,
    /// Who builds the image of `runtime`.
    pub builder: Builder,
    /// The network of a build: `none`, `bridge`, or a network of the engine. Default: the engine's usual one.
    pub build_network: Option<String>,
    /// A container by name or id: attached to when it exists, however it is; made under this name otherwise, if there
    /// is an image. Such a container is kept when it stops.
    pub container: Option<String>,
    /// Whose container it is, in the words of the author: a label of one that is made, `dev.gloveport.id`.
    pub session_id: Option<String>,
    /// Where commands run and what relative paths are relative to. Default: the runtime's, else `/workspace`, else (when
    /// mounts do not hold that) the first mount.
    pub work_dir: Option<String>,
    /// Directories of this machine, seen inside under the same paths as by the agent. File tools then see the mounts
    /// and nothing else.
    #[serde(skip)]
    pub sandbox: Option<Sandbox>,
    /// Variables for everything inside, on top of the image's and of those that keep programs from asking questions.
    pub env: BTreeMap<String, String>,
    /// `none`, `bridge`, or a network of the engine. `host` and other containers' networks are refused.
    pub network: String,
    /// Bytes of memory; swap is counted in unless `memory_swap` is given.
    pub memory: u64,
    /// Bytes of memory and swap together.
    pub memory_swap: Option<u64>,
    /// Processors' worth of time.
    pub cpus: f64,
    /// Weight against other containers.
    pub cpu_shares: Option<u32>,
    /// Processes and threads.
    pub pids: u32,
    /// Bytes that the container's own files may take. Refused where the engine's storage cannot hold them to it.
    pub disk: Option<u64>,
    /// Bytes of one file that a command writes.
    pub file_size: u64,
    /// Ceilings for every command, whoever starts it; what a command asks for can only be lower. A container that is served through its
    /// shell can be held to those of files alone: with another one it runs no commands.
    #[serde(deserialize_with = "ceilings")]
    pub command_limits: CommandLimits,
    /// Capabilities that are not dropped, such as `CHOWN`.
    pub capabilities: Vec<String>,
    /// File systems in memory: path → options. `exec` is added unless `exec` or `noexec` is spelled; root's unless `uid`
    /// says otherwise.
    pub tmpfs: BTreeMap<String, String>,
    /// Whether nothing but mounts, `tmpfs` and a `/tmp` in memory can be written.
    pub read_only_root: bool,
    /// The user inside, as `uid`, `uid:gid` or name. Default: the runtime's, else the image's; on mounts that can be written the user
    /// of this process, or where that is root whoever owns them all, so that both sides can use each other's files.
    pub user: Option<String>,
    /// Another runtime of the engine, such as `runsc`.
    pub oci_runtime: Option<String>,
    /// Milliseconds without a call after which the container is stopped. Default: never.
    #[serde(deserialize_with = "milliseconds")]
    pub idle_timeout: Option<Duration>,
    /// The bounds of the backend.
    pub limits: Limits,
    /// The program that serves inside.
    #[serde(skip)]
    pub guest: GuestProgram,
    /// Hears of what works less well than it could.
    #[serde(skip)]
    pub notices: Notices,
}

/// Whoever hears notices, from any thread.
type Hear = Arc<dyn Fn(&str) + Send + Sync>;

/// Hears what an author should know although no call fails for it. The default hears nothing.
#[derive(Clone, Default)]
pub struct Notices(Option<Hear>);

impl Notices {
    /// Calls `hear` with each notice, from any thread.
    pub fn to(hear: Hear) -> Self {
        Self(Some(hear))
    }

    pub(super) fn say(&self, notice: &str) {
        if let Some(hear) = &self.0 {
            hear(notice);
        }
    }
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "Notices(heard)" } else { "Notices(unheard)" })
    }
}

/// What is done about an image that the engine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pull {
    /// It is pulled.
    #[default]
    Missing,
    /// It is an error.
    Never,
}

/// 2 GiB: a build of a middling project.
const MEMORY: u64 = 2 << 30;
/// 2 processors.
const CPUS: f64 = 2.0;
/// 256 processes and threads (R-DK-1).
const PIDS: u32 = 256;
/// 16 GiB: larger than any file that a build makes, and smaller than most disks.
const FILE_SIZE: u64 = 16 << 30;

impl Default for DockerOptions {
    fn default() -> Self {
        Self {
            host: None,
            image: None,
            runtime: None,
            pull: Pull::default(),
            builder: Builder::default(),
            build_network: None,
            container: None,
            session_id: None,
            work_dir: None,
            sandbox: None,
            env: BTreeMap::new(),
            network: "none".to_owned(),
            memory: MEMORY,
            memory_swap: None,
            cpus: CPUS,
            cpu_shares: None,
            pids: PIDS,
            disk: None,
            file_size: FILE_SIZE,
            command_limits: CommandLimits::default(),
            capabilities: Vec::new(),
            tmpfs: BTreeMap::new(),
            read_only_root: false,
            user: None,
            oci_runtime: None,
            idle_timeout: None,
            limits: Limits::default(),
            guest: GuestProgram::default(),
            notices: Notices::default(),
        }
    }
}

fn milliseconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
}

fn ceilings<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<CommandLimits, D::Error> {
    ExecuteLimits::deserialize(deserializer).map(CommandLimits::from)
}
