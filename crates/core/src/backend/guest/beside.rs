//! The outside of a command that runs beside its caller: in the background, or on a terminal.
//!
//! For the guest it is one call that is answered when the command has ended. Until then output comes as questions, so that
//! a command that prints faster than is read waits; orders and input go as messages of the same call, each acknowledged
//! before the next, so that neither side holds more than one of them. An order overtakes input that nobody reads, and no
//! input overtakes an order that was given before it.

use std::sync::Arc;

use super::connection::{Connection, Running, Shared, lost};
use super::message::{Ask, Method, ToGuest, ToHost};
use super::remote::Lease;
use crate::backend::process::{Driver, Process, Recorder};
use crate::backend::{Call, ExecuteOutcome};
use crate::error::Result;

/// 32 bytes of the name of a signal.
const SIGNAL_BYTES: usize = 32;

/// What the messages of such a call are waited for with.
type Inbox = tokio::sync::mpsc::Receiver<super::connection::Incoming>;

/// Starts what `method` says, with `body` as its first input. The process lives until it ends, until nobody holds it, or
/// until the connection ends; the lease is held as long.
pub(super) async fn start(
    lease: Lease,
    method: Method,
    body: &[u8],
    call: &Call,
    halves: (Process, Driver),
) -> Result<Process> {
    call.deadline.check()?;
    let (process, driver) = halves;
    let connection: &Connection = &lease;
    let shared = connection.shared();
    let (mut running, mut inbox) = shared.begin()?;
    // How long it may take ends with its start; how long it runs is its holder's business.
    let message = ToGuest::Call { method, within: None, guarded: false };
    shared.send(running.id, &message, body).await?;
    let began = tokio::select! {
        began = inbox.recv() => began,
        error = call.deadline.reached() => return Err(error),
    };
    match began {
        Some((ToHost::Began { pid }, _)) => driver.recorder.started(pid),
        Some((ToHost::Failed(failure), _)) => {
            running.over = true;
            return Err(failure.into());
        }
        Some(_) | None => {
            shared.end();
            return Err(lost());
        }
    }
    tokio::spawn(async move {
        drive(&shared, running, inbox, driver).await;
        drop(lease);
    });
    Ok(process)
}

async fn drive(shared: &Arc<Shared>, mut running: Running, mut inbox: Inbox, driver: Driver) {
    let Driver { mut recorder, mut orders, mut input } = driver;
    let (mut order_is_pending, mut input_is_pending, mut input_is_open) = (false, false, true);
    // Input that waits for an order that was given before it.
    let mut held: Option<Vec<u8>> = None;
    loop {
        if let Some(bytes) = held.take_if(|_| !order_is_pending) {
            let message = match orders.try_recv() {
                Ok(order) => {
                    order_is_pending = true;
                    held = Some(bytes);
                    (ToGuest::Order(order), Vec::new())
                }
                Err(_) => {
                    input_is_pending = true;
                    (ToGuest::Input, bytes)
                }
            };
            if shared.send(running.id, &message.0, &message.1).await.is_err() {
                return;
            }
            continue;
        }
        tokio::select! {
            biased;
            incoming = inbox.recv() => match incoming {
                Some((ToHost::Question { question, ask }, body)) => {
                    match ask {
                        Ask::Output(stream) => recorder.take(stream, &body),
                        Ask::Screen => recorder.take_raw(&body),
                        Ask::Check { .. } | Ask::Change { .. } => {
                            shared.end();
                            return;
                        }
                    }
                    let answer = ToGuest::Answer { question, failure: None };
                    if shared.send(running.id, &answer, &[]).await.is_err() {
                        return;
                    }
                }
                Some((ToHost::Obeyed, _)) => order_is_pending = false,
                Some((ToHost::Taken, _)) => input_is_pending = false,
                Some((ToHost::Done(value), _)) => {
                    running.over = true;
                    return finish(recorder, value, shared);
                }
                Some((ToHost::Failed(_), _)) => {
                    running.over = true;
                    return;
                }
                // Not in the middle of such a call. Dropping the recorder tells whoever waits that it is over.
                Some((ToHost::Ready { .. } | ToHost::Unusable(_) | ToHost::Began { .. }, _)) => {
                    shared.end();
                    return;
                }
                None => return,
            },
            order = orders.recv(), if !order_is_pending => {
                // Nobody holds the process any more: the call is given up, which ends the command.
                let Some(order) = order else { return };
                order_is_pending = true;
                if shared.send(running.id, &ToGuest::Order(order), &[]).await.is_err() {
                    return;
                }
            }
            bytes = input.recv(), if input_is_open && held.is_none() && !input_is_pending => {
                input_is_open = bytes.is_some();
                held = bytes;
            }
        }
    }
}

fn finish(recorder: Recorder, value: serde_json::Value, shared: &Shared) {
    match serde_json::from_value::<ExecuteOutcome>(value) {
        // The text is what came here; what the guest kept of it is bounded by other numbers.
        Ok(told) => recorder.finish(|ours| ExecuteOutcome {
            exit_code: told.exit_code,
            signal: told.signal.filter(|name| name.len() <= SIGNAL_BYTES),
            timed_out: told.timed_out,
            aborted: told.aborted,
            processes_left: told.processes_left,
            peak_memory_bytes: told.peak_memory_bytes,
            ceiling: told.ceiling,
            ..ours
        }),
        Err(_) => shared.end(),
    }
}
