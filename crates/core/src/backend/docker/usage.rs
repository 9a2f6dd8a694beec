//! What a container uses.

use bollard::models::ContainerStatsResponse;
use serde::Serialize;

/// Figures of this moment; absent where the engine does not know.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Bytes of memory in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Bytes that it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Processor time of the last second: 100 is one processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

impl Usage {
    /// What the engine's figures say.
    #[allow(clippy::cast_precision_loss, reason = "a share needs no last digit")]
    pub(super) fn of(stats: &ContainerStatsResponse) -> Self {
        let memory = stats.memory_stats.as_ref();
        let now = stats.cpu_stats.as_ref();
        let before = stats.precpu_stats.as_ref();
        let total = |cpu: Option<&bollard::models::ContainerCpuStats>| cpu?.cpu_usage.as_ref()?.total_usage;
        let system = |cpu: Option<&bollard::models::ContainerCpuStats>| cpu?.system_cpu_usage;
        let cpu_percent = (|| {
            let used = total(now)?.checked_sub(total(before)?)?;
            let passed = system(now)?.checked_sub(system(before)?).filter(|passed| *passed > 0)?;
            let processors = now?.online_cpus.unwrap_or(1).max(1);
            Some(used as f64 / passed as f64 * f64::from(processors) * 100.0)
        })();
        Self {
            memory_bytes: memory.and_then(|memory| memory.usage),
            memory_limit_bytes: memory.and_then(|memory| memory.limit),
            cpu_percent,
            processes: stats.pids_stats.as_ref().and_then(|pids| pids.current),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn answers_as_recorded() {
        let recorded: Value = serde_json::from_str(include_str!("../../../tests/vectors/docker_runtime.json")).unwrap();
        let samples = recorded["stats"].as_array().unwrap();
        assert!(!samples.is_empty());
        for sample in samples {
            let raw = if sample["raw"].is_null() { json!({}) } else { sample["raw"].clone() };
            let usage = Usage::of(&serde_json::from_value(raw).unwrap());
            let expected = &sample["ok"];
            assert_eq!(json!(usage.memory_bytes), expected["memory_bytes"]);
            assert_eq!(json!(usage.memory_limit_bytes), expected["memory_limit_bytes"]);
            assert_eq!(json!(usage.cpu_percent), expected["cpu_percent"]);
            assert_eq!(json!(usage.processes), expected["pids"]);
        }
    }
}
