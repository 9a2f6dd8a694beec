//! Every bound of the core, named, with its unit and the reason for its default.

use std::time::Duration;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

/// The bounds of one backend or toolset. Sizes are bytes, counts are counts; as JSON, durations are milliseconds. All
/// are enforced; none is a hint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Limits {
    /// Lines that one read returns when the caller names no limit. 2,000: what agents' prompts are written for.
    pub read_lines: u64,
    /// Bytes of text that one read returns. 256 KiB: about 64 k tokens, more than a model should be handed at once.
    pub read_bytes: u64,
    /// Characters of one line before it is cut with a marker. 2,000: longer lines are generated code or data.
    pub line_chars: usize,
    /// Bytes of the largest file that `read_bytes`, `write` and an edit take. 64 MiB: held in memory as a whole.
    pub file_bytes: u64,
    /// Bytes up to which a read counts all lines of the file. 16 MiB: a few milliseconds of counting.
    pub count_lines_bytes: u64,
    /// Bytes of captured output of a command that are kept, half of them head and half tail. 100,000: as BE-31.
    pub output_bytes: usize,
    /// Time a command may take when the caller names none. 120 s: as BE-31.
    #[serde(deserialize_with = "milliseconds", serialize_with = "as_milliseconds")]
    pub command_timeout: Duration,
    /// Time one search may take. 30 s: as BE-30.
    #[serde(deserialize_with = "milliseconds", serialize_with = "as_milliseconds")]
    pub search_timeout: Duration,
    /// Time one whole tool call may take, approval not counted. 600 s: as TS-13.
    #[serde(deserialize_with = "milliseconds", serialize_with = "as_milliseconds")]
    pub call_timeout: Duration,
    /// Entries that one listing returns. 10,000.
    pub list_entries: usize,
    /// Paths that one glob returns. 10,000.
    pub glob_paths: usize,
    /// Matches that one grep returns. 10,000.
    pub grep_matches: usize,
    /// Bytes of the largest file that grep looks into. 64 MiB.
    pub grep_file_bytes: u64,
    /// Bytes that one grep reads in all. 16 GiB: some seconds at memory speed.
    pub grep_bytes: u64,
    /// Bytes of text for a model from one tool call. 256 KiB: the same reason as `read_bytes`.
    pub text_bytes: usize,
    /// Bytes of the JSON input of one call. 72 MiB: `file_bytes` and its escapes.
    pub input_bytes: usize,
    /// Bytes of an image that is handed to a model. 10 MiB: what the model interfaces take.
    pub image_bytes: u64,
    /// Bytes of a PDF document that is handed to a model. 20 MiB: encoded it fits into the requests that models take.
    pub document_bytes: u64,
    /// Bytes of all images and documents that one call hands to a model. 24 MiB: the same reason.
    pub part_bytes: u64,
    /// Threads that one search uses; 0 is the machine's count, at most 8.
    pub search_threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_lines: 2_000,
            read_bytes: 256 << 10,
            line_chars: 2_000,
            file_bytes: 64 << 20,
            count_lines_bytes: 16 << 20,
            output_bytes: 100_000,
            command_timeout: Duration::from_secs(120),
            search_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(600),
            list_entries: 10_000,
            glob_paths: 10_000,
            grep_matches: 10_000,
            grep_file_bytes: 64 << 20,
            grep_bytes: 16 << 30,
            text_bytes: 256 << 10,
            input_bytes: 72 << 20,
            image_bytes: 10 << 20,
            document_bytes: 20 << 20,
            part_bytes: 24 << 20,
            search_threads: 0,
        }
    }
}

fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

fn as_milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).serialize(serializer)
}
