//! The outside of a command that runs beside its caller: in the background, or on a terminal.
//!
//! For the guest it is one call that is answered when the command has ended. Until then output comes as questions, so that
//! a command that prints faster than is read waits; orders and input go as messages of the same call, each acknowledged
//! before the next, so that neither side holds more than one of them. An order overtakes input that nobody reads, and no
//! input overtakes an order that was given before it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::believe;
use super::connection::{at, due};
use super::message::{Ask, Method, ToGuest, ToHost, is_decodable};
use super::pipe::{Inbox, Running, Shared, lost};
use super::remote::Lease;
use crate::backend::Call;
use crate::backend::process::{Driver, Order, Process, Recorder};
use crate::error::Result;

/// Starts what `method` says, with `body` as its first input, within `bound`. The process lives until it ends, until nobody
/// holds it, or until the connection ends; the lease is held as long.
pub(super) async fn start(
    lease: Lease,
    method: Method,
    body: &[u8],
    call: &Call,
    bound: Duration,
    halves: (Process, Driver),
) -> Result<Process> {
    call.deadline.check()?;
    let deadline = call.deadline.within(bound);
    let (process, mut driver) = halves;
    let shared = lease.guest()?.shared();
    let (mut running, mut inbox) = shared.begin(method.most_bytes())?;
    // How long it may take ends with its start; how long it runs is its holder's business.
    let message = ToGuest::Call { method, within: None, guarded: false };
    tokio::select! {
        sent = shared.send(running.id, &message, body) => sent?,
        error = deadline.reached() => return Err(error),
    }
    loop {
        let incoming = tokio::select! {
            biased;
            error = due(&deadline) => return Err(error),
            incoming = inbox.recv() => incoming,
        };
        match incoming {
            Some((ToHost::Began { pid }, _)) => {
                driver.recorder.started(pid);
                break;
            }
            // It may print before the guest has said that it runs.
            Some((ToHost::Question { question, ask }, body)) => {
                hear(&shared, running.id, question, &ask, &body, &mut driver.recorder)?;
            }
            Some((ToHost::Failed(failure), _)) => {
                running.over = true;
                return Err(failure.of_guest());
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
    // Input goes by the queue alone.
    let Driver { mut recorder, mut orders, mut input, intake } = driver;
    let mut input_is_open = true;
    // The bytes of the input that the guest has not taken.
    let mut pending: Option<usize> = None;
    // Input that waits for an order that was given before it, and for room.
    let mut held: Option<Vec<u8>> = None;
    // The next order, which waits until the guest obeys the last one.
    let mut next: Option<Order> = None;
    // When that must have been, and when the command must have ended that was told to.
    let (mut obeyed_by, mut ended_by): (Option<Instant>, Option<Instant>) = (None, None);
    loop {
        if held.is_some() && next.is_none() {
            next = orders.try_recv().ok();
        }
        if let Some(order) = next.take_if(|_| obeyed_by.is_none()) {
            let by = Instant::now() + shared.times.order;
            obeyed_by = Some(by);
            if order == Order::End {
                ended_by.get_or_insert(by);
            }
            shared.say(running.id, &ToGuest::Order(order));
        }
        let input_may_go = held.is_some() && next.is_none() && obeyed_by.is_none();
        tokio::select! {
            biased;
            // Whatever holds the guest would hold the next order as well.
            () = at([obeyed_by, ended_by].into_iter().flatten().min()) => {
                shared.end();
                return;
            }
            order = orders.recv(), if next.is_none() => {
                // Nobody holds the process any more: the call is given up, which ends the command.
                let Some(order) = order else { return };
                next = Some(order);
            }
            room = shared.room(), if input_may_go => {
                let (Ok(room), Some(bytes)) = (room, held.take()) else { return };
                pending = Some(bytes.len());
                if shared.send_in(room, running.id, &ToGuest::Input, &bytes).is_err() {
                    return;
                }
            }
            bytes = input.recv(), if input_is_open && held.is_none() && pending.is_none() => {
                input_is_open = bytes.is_some();
                held = bytes;
            }
            incoming = heard(&mut inbox, recorder.room()) => match incoming {
                Some((ToHost::Question { question, ask }, body)) => {
                    if hear(shared, running.id, question, &ask, &body, &mut recorder).is_err() {
                        return;
                    }
                }
                Some((ToHost::Obeyed, _)) => obeyed_by = None,
                Some((ToHost::Taken, _)) => intake.wrote(pending.take().unwrap_or(0)),
                Some((ToHost::Refused { bytes }, _)) => {
                    // It is no more than what it was given, whatever the guest says.
                    let most = pending.take().unwrap_or(0);
                    intake.wrote(usize::try_from(bytes).unwrap_or(most).min(most));
                    intake.refuse();
                    input.close();
                    input_is_open = false;
                }
                Some((ToHost::Done { json }, body)) => {
                    running.over = true;
                    return finish(recorder, json, &body, shared).await;
                }
                Some((ToHost::Failed(_), _)) => {
                    running.over = true;
                    return;
                }
                // Not in the middle of such a call. Dropping the recorder tells whoever waits that it is over.
                Some((ToHost::Ready { .. } | ToHost::Unusable(_) | ToHost::Began { .. } | ToHost::Here, _)) => {
                    shared.end();
                    return;
                }
                None => return,
            },
        }
    }
}

/// What the guest says next, once there is room for what it may say.
async fn heard(inbox: &mut Inbox, room: impl Future<Output = ()>) -> Option<(ToHost, Vec<u8>)> {
    room.await;
    inbox.recv().await
}

/// Takes what was printed, and lets the command print more.
fn hear(shared: &Shared, call: u64, question: u64, ask: &Ask, body: &[u8], recorder: &mut Recorder) -> Result<()> {
    match ask {
        Ask::Output(stream) => recorder.take(*stream, body),
        Ask::Screen { leads } => recorder.take_raw(body, &|| *leads),
        // Its file is written here, of what comes as output.
        Ask::Check { .. } | Ask::Change { .. } | Ask::Whole => {
            shared.end();
            return Err(lost());
        }
    }
    shared.say(call, &ToGuest::Answer { question, failure: None });
    Ok(())
}

async fn finish(recorder: Recorder, json: usize, body: &[u8], shared: &Shared) {
    let told = (json == body.len() && is_decodable(body)).then(|| serde_json::from_slice(body).ok()).flatten();
    match told.and_then(|told: serde_json::Value| serde_json::from_value(told).ok()) {
        // The text is what came here; what the guest kept of it is bounded by other numbers.
        Some(told) => recorder.finish(|ours| believe::ending(told, ours)).await,
        None => shared.end(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::hostile::{Peer, connected};
    use super::super::message::Command;
    use super::super::pipe::Times;
    use super::super::remote::Line;
    use super::*;
    use crate::backend::capture::Capture;
    use crate::backend::process::{ProcessOptions, ProcessSignal, process};
    use crate::backend::{ExecuteOutcome, ExecuteRequest, Stream};
    use crate::error::ErrorKind;

    /// Starts a command at a peer that does as `play` says when it hears of it.
    async fn started<F>(times: Times, play: impl FnOnce(Peer, u64) -> F + Send + 'static) -> Result<Process>
    where
        F: Future<Output = ()> + Send,
    {
        let connection = connected(times, async move |mut peer| {
            let call = peer.hear().await.unwrap().call;
            play(peer, call).await;
        });
        let (command, ..) = Command::of(ExecuteRequest::new("x"));
        let halves = process(Some(Capture::new(100, None, None)), ProcessOptions::default());
        let lease = Lease::new(Line::Guest(Arc::new(connection.await)), None);
        start(lease, Method::Start(command), &[], &Call::default(), Duration::from_secs(600), halves).await
    }

    /// The same where it just says all of this.
    async fn told(script: Vec<(ToHost, Vec<u8>)>) -> Result<Process> {
        started(Times::default(), async move |mut peer, call| {
            for (message, body) in script {
                peer.say(call, &message, &body).await;
            }
            peer.hear_all().await;
        })
        .await
    }

    fn output(question: u64) -> ToHost {
        ToHost::Question { question, ask: Ask::Output(Stream::Stdout) }
    }

    fn began() -> (ToHost, Vec<u8>) {
        (ToHost::Began { pid: Some(7) }, Vec::new())
    }

    fn done(answer: &serde_json::Value) -> (ToHost, Vec<u8>) {
        let json = answer.to_string().into_bytes();
        (ToHost::Done { json: json.len() }, json)
    }

    #[tokio::test]
    async fn what_is_printed_before_the_beginning_is_told_is_output_too() {
        let ended = ExecuteOutcome { exit_code: Some(3), ..ExecuteOutcome::default() };
        let script =
            vec![(output(0), b"one ".to_vec()), began(), (output(1), b"two".to_vec()), done(&serde_json::json!(ended))];
        let process = told(script).await.unwrap();
        let outcome = process.over().await;
        assert_eq!((outcome.stdout.as_str(), outcome.exit_code, process.pid()), ("one two", Some(3), Some(7)));
    }

    #[tokio::test]
    async fn a_guest_that_is_none_ends_the_process() {
        // It asks for what such a call has not, before and behind its beginning; and it ends a call with nonsense.
        let change = || (ToHost::Question { question: 0, ask: Ask::Change { old: None } }, Vec::new());
        assert!(told(vec![change()]).await.is_err());
        assert!(told(vec![(ToHost::Obeyed, Vec::new())]).await.is_err());
        let ready =
            (ToHost::Ready { version: 1, home: None, places: super::super::places::Places::default() }, Vec::new());
        let whole = (ToHost::Question { question: 0, ask: Ask::Whole }, b"x".to_vec());
        let unended = (ToHost::Done { json: 9 }, b"{}".to_vec());
        for nonsense in [change(), whole, done(&serde_json::json!("x")), unended, ready] {
            let process = told(vec![began(), nonsense]).await.unwrap();
            assert!(process.over().await.aborted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_that_says_nothing_begins_nothing() {
        let error = started(Times::default(), async |mut peer, _| peer.hear_all().await).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_that_obeys_no_order_is_none_after_a_while() {
        for orders in [&[][..], &[Order::Signal(ProcessSignal::User1)]] {
            // One that acknowledges the end and does not end, and one that does nothing.
            for obeys in [true, false] {
                let process = started(Times::default(), async move |mut peer, call| {
                    peer.say(call, &ToHost::Began { pid: None }, b"").await;
                    while let Some(heard) = peer.hear().await {
                        if obeys && matches!(heard.message, ToGuest::Order(_)) {
                            peer.say(call, &ToHost::Obeyed, b"").await;
                        }
                    }
                });
                let process = process.await.unwrap();
                for order in orders {
                    process.order(*order).await.unwrap();
                }
                assert!(process.end().await);
                assert!(process.over().await.aborted);
            }
        }
    }

    #[tokio::test]
    async fn a_guest_that_never_stops_to_print_is_told_and_ended() {
        let times = Times { order: Duration::from_millis(50), ..Times::default() };
        let flood = async |peer: Peer, call| {
            peer.flood(call, ToHost::Began { pid: None }).await;
        };
        let process = started(times, flood).await.unwrap();
        assert!(process.end().await);
        assert!(process.over().await.aborted);
        // Nobody holds it: that is seen as well.
        let process = started(times, flood).await.unwrap();
        let watch = process.end_watch();
        drop(process);
        assert!(watch.over().await.aborted);
    }
}
