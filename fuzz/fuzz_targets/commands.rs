//! The command parser: any line is judged, and what was not understood is never simply allowed.
#![no_main]

use gloveport_core::permissions::{Action, CommandContext, analyze};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    let analysis = analyze(line, &CommandContext::default());
    assert!(!analysis.verdict.reason.is_empty() || analysis.verdict.action == Action::Allow);
});
