//! What an author sets on a local backend.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
use super::shell::SupervisorProgram;
use crate::backend::CommandLimits;
use crate::limits::Limits;
use crate::sandbox::Sandbox;

/// The options of a [`LocalBackend`](super::LocalBackend). The default is the process's current directory, writable,
/// without commands.
#[derive(Debug, Clone, Default)]
pub struct LocalOptions {
    /// The directory that relative paths are relative to. `None`: the first of `allowed_directories`, else the current
    /// directory. Not together with `sandbox`.
    pub root: Option<PathBuf>,
    /// Further directories, seen under their own host paths. One that lies inside another is dropped.
    pub allowed_directories: Vec<PathBuf>,
    /// Mounts instead of directories: the agent sees their paths and nothing else.
    pub sandbox: Option<Sandbox>,
    /// Nothing can be written, whatever the mounts say.
    pub read_only: bool,
    /// Whether commands may run.
    pub execute: bool,
    /// Variables set for commands, on top of the few that are always passed on.
    pub environment: Vec<(String, String)>,
    /// Ceilings for every command, whoever starts it. What a command asks for can only be lower. Refused with the command
    /// where there is no `supervisor`.
    pub command_limits: CommandLimits,
    /// What holds a command inside the same walls.
    pub confinement: Confinement,
    /// The bounds of this backend.
    pub limits: Limits,
    /// What a write waits for.
    pub durability: Durability,
    /// The program that starts, limits and ends commands. Without it a command's processes are ended as far as they can
    /// be found, its resources are not limited, and it may outlive a host process that is killed.
    #[cfg(target_os = "linux")]
    pub supervisor: Option<SupervisorProgram>,
    /// Whether each shell is started when there is a command for it, and none ahead.
    #[cfg(target_os = "linux")]
    pub starts_nothing_ahead: bool,
}

/// What holds a command that runs beside the file tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confinement {
    /// The strongest there is; on a backend with mounts commands are refused rather than run without walls.
    #[default]
    Auto,
    /// Nothing: a command can do whatever the host user can.
    None,
}

/// What a write waits for before it says that it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing: after a power loss the file may be the old one, or empty on some file systems.
    None,
    /// The bytes are on the disk before the new file takes its name.
    #[default]
    Data,
    /// The name is on the disk as well.
    Full,
}
