//! The inside of a command that runs beside its caller. See [`super::beside`].

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, channel};

use super::message::ToHost;
use super::serve::Line;
use crate::backend::ExecuteOutcome;
use crate::backend::process::{Order, Process, given_bytes};
use crate::cancel::Deadline;
use crate::error::{Error, Result};

/// What a command is told.
pub(super) enum Told {
    Order(Order),
    Input(Vec<u8>),
}

/// Attends to a process until it has ended. What was printed has been handed on by then.
pub(super) async fn attend(line: &Arc<Line>, process: Process) -> Result<ExecuteOutcome> {
    let told = line.told().ok_or_else(|| Error::internal("A command is attended to once."))?;
    line.say(ToHost::Began { pid: process.pid() }).await;
    // One piece of input is under way at most: the next comes when this one was taken.
    let (give, inputs) = channel(1);
    // Held from when a piece came until the outside knows what became of it.
    let giving = Mutex::new(());
    let orders = async {
        let mut told = told;
        while let Some(told) = told.recv().await {
            match told {
                Told::Order(order) => {
                    // One that has ended takes no orders any more.
                    let _ = process.order(order).await;
                    line.say(ToHost::Obeyed).await;
                }
                // A second piece before the first was taken breaks the rules, and is dropped.
                Told::Input(bytes) => drop(give.try_send(bytes)),
            }
        }
    };
    // What became of its input is said before its end.
    let over = async {
        let outcome = process.over().await;
        drop(giving.lock().await);
        outcome
    };
    let outcome = tokio::select! {
        outcome = over => outcome,
        () = line.cancel.cancelled() => {
            process.end().await;
            process.over().await
        }
        outcome = async { tokio::join!(orders, feed(line, &process, inputs, &giving)); process.over().await } => outcome,
    };
    // The outside has all of it.
    Ok(ExecuteOutcome { output: String::new(), stdout: String::new(), stderr: String::new(), ..outcome })
}

async fn feed(line: &Line, process: &Process, mut inputs: Receiver<Vec<u8>>, giving: &Mutex<()>) {
    let endless = Deadline::default();
    while let Some(bytes) = inputs.recv().await {
        let _giving = giving.lock().await;
        let taken = match bytes.is_empty() {
            true => process.close_input(&endless).await,
            false => process.write(&bytes, &endless).await,
        };
        let said = match taken {
            Ok(()) => ToHost::Taken,
            Err(error) => ToHost::Refused { bytes: given_bytes(&error) },
        };
        line.say(said).await;
    }
}
