//! What a container uses.

use serde::Serialize;
use serde_json::Value;

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
    pub(super) fn of(stats: &Value) -> Self {
        let number = |place: &str| stats.pointer(place).and_then(Value::as_u64);
        let cpu_percent = (|| {
            let used = number("/cpu_stats/cpu_usage/total_usage")?
                .checked_sub(number("/precpu_stats/cpu_usage/total_usage")?)?;
            let passed = number("/cpu_stats/system_cpu_usage")?
                .checked_sub(number("/precpu_stats/system_cpu_usage")?)
                .filter(|passed| *passed > 0)?;
            let processors = number("/cpu_stats/online_cpus").unwrap_or(1).max(1);
            Some(used as f64 / passed as f64 * processors as f64 * 100.0)
        })();
        Self {
            memory_bytes: number("/memory_stats/usage"),
            memory_limit_bytes: number("/memory_stats/limit"),
            cpu_percent,
            processes: number("/pids_stats/current"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_as_recorded() {
        let recorded: Value = serde_json::from_str(include_str!("../../../tests/vectors/docker_runtime.json")).unwrap();
        let samples = recorded["stats"].as_array().unwrap();
        assert!(!samples.is_empty());
        for sample in samples {
            let raw = if sample["raw"].is_null() { json!({}) } else { sample["raw"].clone() };
            let usage = Usage::of(&raw);
            let expected = &sample["ok"];
            assert_eq!(json!(usage.memory_bytes), expected["memory_bytes"]);
            assert_eq!(json!(usage.memory_limit_bytes), expected["memory_limit_bytes"]);
            assert_eq!(json!(usage.cpu_percent), expected["cpu_percent"]);
            assert_eq!(json!(usage.processes), expected["pids"]);
        }
    }
}
