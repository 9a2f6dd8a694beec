//! A running command called by method name with JSON arguments, as a backend is.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::arguments::decode;
use super::{Reply, Request, bytes_of};
use crate::backend::Call;
use crate::backend::process::{Given, Order, Process, ProcessSignal, TerminalSize};
use crate::blocking::blocking;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::lent;
use crate::media::terminal;
use crate::session::Session;
use crate::session::canvas::Canvas;
use crate::session::paint::paint;
use crate::session::typist::Typist;

/// A running command, and the screen of its terminal if it has one.
#[derive(Clone)]
pub struct Running {
    /// The command.
    pub process: Process,
    /// What its terminal shows.
    pub screen: Option<Arc<Canvas>>,
    /// Whoever writes into a session of a toolset is a person who was handed it.
    pub typist: Option<Typist>,
}

impl Running {
    /// One without a terminal.
    pub fn piped(process: Process) -> Self {
        Self { process, screen: None, typist: None }
    }

    /// The terminal of a session; `None` where it has none or has ended.
    pub fn of(session: &Session) -> Option<Self> {
        let terminal = session.terminal.as_ref()?;
        let runs = session.process.ended().is_none();
        runs.then(|| Self {
            process: session.process.clone(),
            screen: Some(Arc::clone(terminal.screen())),
            typist: Some(terminal.typist().clone()),
        })
    }

    fn screen(&self) -> Result<&Arc<Canvas>> {
        self.screen.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "This command does not run on a terminal: it has no screen.")
        })
    }

    /// Its screen with what was printed until now.
    async fn drawn(&self, call: &Call) -> Result<&Arc<Canvas>> {
        let screen = self.screen()?;
        tokio::select! {
            biased;
            () = screen.caught_up() => Ok(screen),
            stop = call.deadline.reached() => Err(stop),
        }
    }
}

/// 1 MiB is returned by one read.
const READ_BYTES: usize = 1 << 20;
/// 64 KiB of output are copied within some ten microseconds.
const SHORT_BYTES: u64 = 64 << 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Read {
    position: u64,
    /// Milliseconds to wait for new output or the end; absent: until there is some.
    #[serde(default)]
    wait: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Paint {
    /// What was drawn up to here was seen: waits for more, or for the end. Absent: does not wait.
    #[serde(default)]
    since: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Signal {
    signal: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Resize {
    pub(super) columns: u16,
    pub(super) rows: u16,
}

/// Whether that call does what it does within microseconds when it is first polled, and then waits or gives the thread back: it may
/// begin on a thread that is [lent](crate::lent).
pub fn begins_at_hand(request: &Request) -> bool {
    matches!(request.method.as_str(), "read" | "write" | "closeInput" | "signal" | "wait" | "kill")
}

/// Calls one method: `read`, `write`, `closeInput`, `signal`, `resize`, `screen`, `screenPng`, `painting`, `wait` or `kill`.
/// Input is given in the order in which this was called, whichever call is polled first.
pub fn invoke(running: Running, request: Request, call: Call) -> impl Future<Output = Result<Reply>> + Send + 'static {
    let gives_input = matches!(request.method.as_str(), "write" | "closeInput");
    let turn = gives_input.then(|| running.process.turn());
    async move {
        let turn = match turn {
            None => None,
            Some(turn) => tokio::select! {
                biased;
                turn = turn.there() => Some(turn),
                stop = call.deadline.reached() => return Err(stop),
            },
        };
        if request.method == "write" {
            let given = write(&running, request, &call).await?;
            // Those behind it give theirs, whether or not it is read.
            drop(turn);
            // Whoever types at a terminal waits for nobody who reads: the key that ends the program may come next.
            if running.process.is_piped() {
                running.process.taken(given, &call.deadline).await?;
            }
            return Ok(Reply::default());
        }
        answer(&running, request, &call).await
    }
}

async fn write(running: &Running, request: Request, call: &Call) -> Result<Given> {
    lent::give_back(|| running.process.is_taking()).await;
    let typed = bytes_of(request.content)?;
    let typed = match &running.typist {
        Some(typist) => typist.of_person(typed),
        None => typed,
    };
    running.process.give(&typed, &call.deadline).await
}

async fn answer(running: &Running, request: Request, call: &Call) -> Result<Reply> {
    let process = &running.process;
    let json = request.arguments_json.as_str();
    // Output that is just being drawn may take a while.
    lent::give_back(|| process.is_taking()).await;
    match request.method.as_str() {
        "read" => {
            let Read { position, wait } = decode("read", json)?;
            let patience = async {
                match wait {
                    Some(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = process.changed(position) => {}
                () = patience => {}
                stop = call.deadline.reached() => return Err(stop),
            }
            lent::give_back(|| process.position().saturating_sub(position) > SHORT_BYTES).await;
            let piece = process.read(position, READ_BYTES);
            // Looked at after the output was taken, so that an end is told only with all of it.
            let is_over = process.ended().is_some() && process.position() == piece.next;
            let value = json!({ "next": piece.next, "dropped": piece.dropped, "ended": is_over });
            let text = String::from_utf8_lossy(&piece.bytes).into_owned();
            Ok(Reply { value: Some(value), text: Some(text), ..Reply::default() })
        }
        "closeInput" => {
            process.close_input(&call.deadline).await?;
            Ok(Reply::default())
        }
        "signal" => {
            let signal = ProcessSignal::named(&decode::<Signal>("signal", json)?.signal)?;
            process.order(Order::Signal(signal)).await?;
            Ok(Reply::default())
        }
        "resize" => {
            let size = size(decode("resize", json)?)?;
            let screen = running.screen()?;
            // What it showed last stays as it was.
            if process.ended().is_none() {
                screen.resize(size);
            }
            process.order(Order::Resize(size)).await?;
            Ok(Reply::default())
        }
        "screenPng" => {
            let still = running.drawn(call).await?.lock().still();
            let drawing = blocking(move || terminal::draw(&still));
            let shot = tokio::select! {
                drawn = drawing => drawn.ok().flatten(),
                stop = call.deadline.reached() => return Err(stop),
            };
            let shot = shot.ok_or_else(|| Error::internal("The screen could not be drawn."))?;
            Ok(Reply { bytes: Some(shot.bytes), ..Reply::default() })
        }
        "painting" => {
            let Paint { since } = decode("painting", json)?;
            if let Some(since) = since {
                tokio::select! {
                    () = process.changed(since) => {}
                    stop = call.deadline.reached() => return Err(stop),
                }
            }
            // Taken before the look: what is drawn behind it is a change.
            let (position, ended) = (process.position(), process.ended().is_some());
            let still = running.drawn(call).await?.lock().still();
            Ok(json!({ "position": position, "ended": ended, "painting": paint(&still) }).into())
        }
        "screen" => Ok(json!(running.drawn(call).await?.lock().look()).into()),
        "wait" => {
            tokio::select! {
                outcome = process.over() => Ok(json!(outcome).into()),
                stop = call.deadline.reached() => Err(stop),
            }
        }
        "kill" => {
            let killed = process.end().await;
            Ok(json!({ "killed": killed }).into())
        }
        method => Err(Error::invalid(format!("A running command has no method '{}'.", Shown(method)))),
    }
}

pub(super) fn size(Resize { columns, rows }: Resize) -> Result<TerminalSize> {
    TerminalSize::new(columns, rows)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::backend::process::tests_support::{idle, idle_with_pipes, print, tapped};
    use crate::backend::tap::Tap;
    use crate::wire::Content;

    fn request(method: &str, arguments: &str, content: Option<&str>) -> Request {
        let content = content.map(|text| Content::Text(text.to_owned()));
        Request { method: method.to_owned(), arguments_json: arguments.to_owned(), content, on_output: None }
    }

    /// The outcome of a call that begins on a thread which is lent, where it ends there.
    fn at_hand(process: &Process, request: Request) -> Poll<Result<Reply>> {
        assert!(begins_at_hand(&request));
        let mut call = Box::pin(invoke(Running::piped(process.clone()), request, Call::default()));
        lent::poll_for(Duration::from_secs(3_600), call.as_mut(), &mut Context::from_waker(Waker::noop()))
    }

    /// Calls that nobody waited for between them were carried out by several threads, and `abc` was read as `bac`.
    #[tokio::test]
    async fn input_is_given_in_the_order_of_the_calls_whichever_is_polled_first() {
        let (process, mut driver) = idle();
        let running = Running::piped(process);
        let given = ["a", "b", "c", "d"].map(|text| request("write", "{}", Some(text)));
        let mut calls: Vec<_> = given
            .into_iter()
            .chain([request("closeInput", "{}", None)])
            .map(|request| Box::pin(invoke(running.clone(), request, Call::default())))
            .collect();
        let context = &mut Context::from_waker(Waker::noop());
        for call in calls.iter_mut().skip(1).rev() {
            assert!(call.as_mut().poll(context).is_pending());
        }
        // Who gives up lets those behind it pass.
        drop(calls.remove(2));
        for call in calls {
            assert!(call.await.is_ok());
        }
        let mut read = Vec::new();
        while let Ok(piece) = driver.input.try_recv() {
            read.push(String::from_utf8(piece).unwrap());
        }
        assert_eq!(read, ["a", "b", "d", ""]);
    }

    /// The end of the input waited for a reader that reads to the end.
    #[tokio::test]
    async fn what_is_not_read_holds_up_its_own_call_alone() {
        let (process, driver) = idle_with_pipes();
        let running = Running::piped(process);
        let context = &mut Context::from_waker(Waker::noop());
        let given = ["a", "b"].map(|text| request("write", "{}", Some(text)));
        let mut writes = given.map(|request| Box::pin(invoke(running.clone(), request, Call::default())));
        assert!(writes.iter_mut().all(|write| write.as_mut().poll(context).is_pending()));
        assert!(invoke(running, request("closeInput", "{}", None), Call::default()).await.is_ok());
        assert!(writes.iter_mut().all(|write| write.as_mut().poll(context).is_pending()));
        drop(driver);
        for write in writes {
            assert_eq!(write.await.err().map(|error| error.kind()), Some(ErrorKind::Closed));
        }
    }

    #[tokio::test]
    async fn a_call_that_has_what_it_wants_ends_on_the_thread_that_asks_and_a_long_one_elsewhere() {
        let (process, mut driver) = idle();
        let read = || at_hand(&process, request("read", r#"{"position":0}"#, None));
        assert!(read().is_pending());
        print(&driver, b"text");
        assert!(matches!(read(), Poll::Ready(Ok(Reply { text: Some(text), .. })) if text == "text"));
        assert!(at_hand(&process, request("write", "{}", Some("in"))).is_ready());
        assert_eq!(driver.input.try_recv().unwrap(), b"in");
        print(&driver, &[b'x'; 64 << 10]);
        assert!(read().is_pending(), "more than is copied in a moment");
    }

    /// A thread that is lent waits for nobody who draws.
    #[tokio::test]
    async fn while_output_is_being_taken_the_thread_is_given_back() {
        let (tap_asks, asked) = mpsc::channel::<()>();
        let (answer, answered) = mpsc::channel();
        let (process, driver) = tapped(Tap::new(move |_, _| {
            tap_asks.send(()).unwrap();
            answered.recv_timeout(Duration::from_secs(60)).unwrap()
        }));
        let drawing = std::thread::spawn(move || {
            print(&driver, b"drawn");
            driver
        });
        asked.recv().unwrap();
        for call in [request("read", r#"{"position":0}"#, None), request("write", "{}", Some("x"))] {
            assert!(at_hand(&process, call).is_pending());
        }
        answer.send(true).unwrap();
        drop(drawing.join().unwrap());
    }
}
