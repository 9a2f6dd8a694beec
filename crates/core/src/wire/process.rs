//! A running command called by method name with JSON arguments, as a backend is.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::arguments::decode;
use super::{Reply, Request, bytes_of};
use crate::backend::Call;
use crate::backend::process::{Order, Process, ProcessSignal, TerminalSize};
use crate::blocking::blocking;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::media::terminal;
use crate::session::Session;
use crate::session::paint::paint;
use crate::session::screen::SharedScreen;
use crate::session::terminal::Typist;

/// A running command, and the screen of its terminal if it has one.
#[derive(Clone)]
pub struct Running {
    /// The command.
    pub process: Process,
    /// What its terminal shows.
    pub screen: Option<SharedScreen>,
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

    fn screen(&self) -> Result<&SharedScreen> {
        self.screen.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "This command does not run on a terminal: it has no screen.")
        })
    }
}

/// 1 MiB is returned by one read.
const READ_BYTES: usize = 1 << 20;

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
    position: Option<u64>,
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

/// Calls one method: `read`, `write`, `closeInput`, `signal`, `resize`, `screen`, `screenPng`, `painting`, `wait` or `kill`.
pub async fn invoke(running: &Running, request: Request, call: &Call) -> Result<Reply> {
    let process = &running.process;
    let json = request.arguments_json.as_str();
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
            let piece = process.read(position, READ_BYTES);
            // Looked at after the output was taken, so that an end is told only with all of it.
            let is_over = process.ended().is_some() && process.position() == piece.next;
            let value = json!({ "next": piece.next, "dropped": piece.dropped, "ended": is_over });
            let text = String::from_utf8_lossy(&piece.bytes).into_owned();
            Ok(Reply { value: Some(value), text: Some(text), ..Reply::default() })
        }
        "write" => {
            let typed = bytes_of(request.content)?;
            let typed = match &running.typist {
                Some(typist) => typist.of_person(typed),
                None => typed,
            };
            process.write(&typed, &call.deadline).await?;
            Ok(Reply::default())
        }
        "closeInput" => {
            process.close_input().await?;
            Ok(Reply::default())
        }
        "signal" => {
            let signal = ProcessSignal::named(&decode::<Signal>("signal", json)?.signal)?;
            process.order(Order::Signal(signal)).await?;
            Ok(Reply::default())
        }
        "resize" => {
            let size = size(decode("resize", json)?)?;
            running.screen()?.lock().resize(size);
            process.order(Order::Resize(size)).await?;
            Ok(Reply::default())
        }
        "screenPng" => {
            let still = running.screen()?.lock().still();
            let drawing = blocking(move || terminal::draw(&still));
            let shot = tokio::select! {
                drawn = drawing => drawn.ok().flatten(),
                stop = call.deadline.reached() => return Err(stop),
            };
            let shot = shot.ok_or_else(|| Error::internal("The screen could not be drawn."))?;
            Ok(Reply { bytes: Some(shot.bytes), ..Reply::default() })
        }
        "painting" => {
            let Paint { position } = decode("painting", json)?;
            if let Some(position) = position {
                tokio::select! {
                    () = process.changed(position) => {}
                    stop = call.deadline.reached() => return Err(stop),
                }
            }
            // Taken before the look: what is drawn behind it is a change.
            let (position, ended) = (process.position(), process.ended().is_some());
            let still = running.screen()?.lock().still();
            Ok(json!({ "position": position, "ended": ended, "painting": paint(&still) }).into())
        }
        "screen" => Ok(json!(running.screen()?.lock().look()).into()),
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
