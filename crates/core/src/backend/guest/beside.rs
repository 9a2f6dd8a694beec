//! The outside of a command that runs beside its caller: in the background, or on a terminal.
//!
//! For the guest it is one call that is answered when the command has ended. Until then output comes as questions, so that
//! a command that prints faster than is read waits; orders and input go as messages of the same call, each acknowledged
//! before the next, so that neither side holds more than one of them. An order overtakes input that nobody reads, and no
//! input overtakes an order that was given before it.

use std::sync::Arc;

use super::connection::{Running, Shared, lost};
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
    let (process, mut driver) = halves;
    let shared = lease.guest()?.shared();
    let (mut running, mut inbox) = shared.begin()?;
    // How long it may take ends with its start; how long it runs is its holder's business.
    let message = ToGuest::Call { method, within: None, guarded: false };
    shared.send(running.id, &message, body).await?;
    loop {
        let incoming = tokio::select! {
            incoming = inbox.recv() => incoming,
            error = call.deadline.reached() => return Err(error),
        };
        match incoming {
            Some((ToHost::Began { pid }, _)) => {
                driver.recorder.started(pid);
                break;
            }
            // It may print before the guest has said that it runs.
            Some((ToHost::Question { question, ask }, body)) => {
                hear(&shared, running.id, question, &ask, &body, &mut driver.recorder).await?;
            }
            Some((ToHost::Failed(failure), _)) => {
                running.over = true;
                return Err(failure.into());
            }
            Some(_) | None => {
                shared.end();
                return Err(lost());
            }
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
                    if hear(shared, running.id, question, &ask, &body, &mut recorder).await.is_err() {
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

/// Takes what was printed, and lets the command print more.
async fn hear(
    shared: &Shared,
    call: u64,
    question: u64,
    ask: &Ask,
    body: &[u8],
    recorder: &mut Recorder,
) -> Result<()> {
    match ask {
        Ask::Output(stream) => recorder.take(*stream, body),
        Ask::Screen => recorder.take_raw(body),
        Ask::Check { .. } | Ask::Change { .. } => {
            shared.end();
            return Err(lost());
        }
    }
    shared.send(call, &ToGuest::Answer { question, failure: None }, &[]).await
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};

    use super::super::connection::Connection;
    use super::super::frame::{Decoder, Frame, encode};
    use super::super::message::{Command, Setup};
    use super::super::remote::Line;
    use super::*;
    use crate::backend::capture::Capture;
    use crate::backend::process::{ProcessOptions, process};
    use crate::backend::{ExecuteRequest, Stream};
    use crate::limits::Limits;
    use crate::path::VirtualPath;

    /// Speaks as a guest does: begins, and answers the first call with these.
    async fn started(script: Vec<(ToHost, &'static [u8])>) -> Result<Process> {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(async move {
            let (mut from, mut to) = split(theirs);
            let mut decoder = Decoder::default();
            let mut script = Some(script);
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer).await {
                decoder.push(&buffer[..count]);
                while let Ok(Some(Frame { call, message, .. })) = decoder.next::<ToGuest>() {
                    let answers = match message {
                        ToGuest::Start(_) => vec![(ToHost::Ready { home: None }, &b""[..])],
                        ToGuest::Call { .. } => script.take().unwrap_or_default(),
                        _ => Vec::new(),
                    };
                    for (answer, body) in answers {
                        to.write_all(&encode(call, &answer, body).unwrap()).await.unwrap();
                    }
                }
            }
        });
        let (reader, writer) = split(ours);
        let setup =
            Setup { working_directory: VirtualPath::root(), limits: Limits::default(), environment: Vec::new() };
        let connection = Connection::open(reader, writer, setup).await?;
        let (command, _, _) = Command::of(ExecuteRequest::new("x"));
        let halves = process(Some(Capture::new(100, None, None)), ProcessOptions::default());
        let lease = Lease::new(Line::Guest(Arc::new(connection)), None);
        start(lease, Method::Start(command), &[], &Call::default(), halves).await
    }

    fn output(question: u64) -> ToHost {
        ToHost::Question { question, ask: Ask::Output(Stream::Stdout) }
    }

    #[tokio::test]
    async fn what_is_printed_before_the_beginning_is_told_is_output_too() {
        let done = serde_json::json!(ExecuteOutcome { exit_code: Some(3), ..ExecuteOutcome::default() });
        let script = vec![
            (output(0), &b"one "[..]),
            (ToHost::Began { pid: Some(7) }, b""),
            (output(1), b"two"),
            (ToHost::Done(done), b""),
        ];
        let process = started(script).await.unwrap();
        let outcome = process.over().await;
        assert_eq!((outcome.stdout.as_str(), outcome.exit_code, process.pid()), ("one two", Some(3), Some(7)));
    }

    #[tokio::test]
    async fn a_guest_that_is_none_ends_the_process() {
        // It asks for what such a call has not, before and behind its beginning; and it ends a call with nonsense.
        let change = || ToHost::Question { question: 0, ask: Ask::Change { old: None } };
        assert!(started(vec![(change(), b"")]).await.is_err());
        assert!(started(vec![(ToHost::Obeyed, b"")]).await.is_err());
        for nonsense in [change(), ToHost::Done(serde_json::json!("x")), ToHost::Ready { home: None }] {
            let process = started(vec![(ToHost::Began { pid: None }, b""), (nonsense, b"")]).await.unwrap();
            assert!(process.over().await.aborted);
        }
    }
}
