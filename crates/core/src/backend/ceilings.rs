//! What a command may use, and for which of it one was ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Ceilings on what one command uses: memory, processor time and processes of all of its processes together, files of each.
/// A backend that cannot enforce one that was asked for refuses the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Bytes of address space of each process. Programs that reserve much and use little (Node.js, Java, Go) need gigabytes.
    /// And bytes of memory that all of them use together, shared pages once: a look every 50 ms finds more, and ends the
    /// command with [`ExecuteOutcome::ceiling`](super::ExecuteOutcome::ceiling) set.
    pub memory_bytes: Option<u64>,
    /// Processor time, in whole seconds (rounded up): of one process `SIGXCPU`, a second later `SIGKILL`. Of all together
    /// the command is ended after that second, with [`ExecuteOutcome::ceiling`](super::ExecuteOutcome::ceiling) set; a child that its parent chose not to
    /// wait for counts while it lives.
    pub cpu_time: Option<Duration>,
    /// Processes that live at once. A command that has more is ended, with [`ExecuteOutcome::ceiling`](super::ExecuteOutcome::ceiling) set.
    pub processes: Option<u64>,
    /// Bytes of the largest file that it may write: `SIGXFSZ`.
    pub file_bytes: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
}

impl CommandLimits {
    /// These, where they are no more than `most`.
    #[must_use]
    pub fn within(self, most: Self) -> Self {
        fn lower<T: Ord>(asked: Option<T>, most: Option<T>) -> Option<T> {
            match (asked, most) {
                (Some(asked), Some(most)) => Some(asked.min(most)),
                (asked, most) => asked.or(most),
            }
        }
        Self {
            memory_bytes: lower(self.memory_bytes, most.memory_bytes),
            cpu_time: lower(self.cpu_time, most.cpu_time),
            processes: lower(self.processes, most.processes),
            file_bytes: lower(self.file_bytes, most.file_bytes),
            open_files: lower(self.open_files, most.open_files),
        }
    }
}

/// A ceiling for which a command was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ceiling {
    /// [`CommandLimits::processes`].
    Processes,
    /// [`CommandLimits::memory_bytes`], of all processes together.
    Memory,
    /// [`CommandLimits::cpu_time`], of the first process or of all together.
    CpuTime,
}

/// The ceilings of a command, as they are spelled in JSON.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExecuteLimits {
    memory_bytes: Option<u64>,
    /// Milliseconds.
    cpu_ms: Option<u64>,
    processes: Option<u64>,
    file_bytes: Option<u64>,
    open_files: Option<u64>,
}

impl From<ExecuteLimits> for CommandLimits {
    fn from(limits: ExecuteLimits) -> Self {
        let ExecuteLimits { memory_bytes, cpu_ms, processes, file_bytes, open_files } = limits;
        Self { memory_bytes, cpu_time: cpu_ms.map(Duration::from_millis), processes, file_bytes, open_files }
    }
}
