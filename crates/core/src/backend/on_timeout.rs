//! Commands that turn into background processes when their time is over, on any shell that can start one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::process::Process;
use super::{Call, ExecuteOutcome, ExecuteRequest, OutputChunk, OutputSink, Shell};
use crate::error::{ErrorKind, Result};

/// A command that runs on.
pub struct Left {
    /// The command.
    pub process: Process,
    /// Output up to here is in the outcome that was returned with it.
    pub told: u64,
}

/// Runs a command as [`Shell::execute`] does, but when `request.timeout` is over the same process goes on: it is returned
/// beside the outcome so far. Its input is a pipe that stays open, so that it can be answered then. An abort, and the
/// call's own deadline, end it.
pub async fn execute_or_leave(
    shell: &dyn Shell,
    mut request: ExecuteRequest,
    call: &Call,
) -> Result<(ExecuteOutcome, Option<Left>)> {
    let deadline = request.timeout.map_or_else(|| call.deadline.clone(), |timeout| call.deadline.within(timeout));
    // Who was handed the output until the call ended is not handed what comes after it.
    let over = Arc::new(AtomicBool::new(false));
    request.on_output = request.on_output.map(|sink| until(sink, Arc::clone(&over)));
    let process = shell.start(request, call).await?;
    let stop = tokio::select! {
        biased;
        outcome = process.over() => return Ok((outcome, None)),
        stop = deadline.reached() => stop,
    };
    over.store(true, Ordering::Release);
    if stop.kind() == ErrorKind::Aborted || call.deadline.check().is_err() {
        process.end().await;
        let outcome = process.so_far();
        let aborted = stop.kind() == ErrorKind::Aborted;
        return Ok((ExecuteOutcome { aborted, timed_out: !aborted, ..outcome }, None));
    }
    let (outcome, told) = process.so_far_until();
    Ok((ExecuteOutcome { timed_out: true, ..outcome }, Some(Left { process, told })))
}

fn until(sink: OutputSink, over: Arc<AtomicBool>) -> OutputSink {
    Arc::new(move |chunk: OutputChunk| {
        if !over.load(Ordering::Acquire) {
            sink(chunk);
        }
    })
}
