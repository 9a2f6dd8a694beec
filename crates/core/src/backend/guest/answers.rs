//! What the outside answers when the guest asks in the middle of a call.

use std::collections::VecDeque;

use super::message::{Ask, Failure, Old};
use super::whole::Whole;
use crate::backend::{Call, FileContent, OutputChunk, OutputSink, Transform};
use crate::error::{Error, ErrorKind, Result};

/// 16 refusals of one call are remembered: the guest ends a call with one of the last.
const REFUSALS: usize = 16;

/// What a call brings along that the guest asks for.
#[derive(Default)]
pub(super) struct Ours {
    pub(super) transform: Option<Transform>,
    pub(super) on_output: Option<OutputSink>,
    pub(super) whole: Whole,
}

/// Answers the questions of one call.
pub(super) struct Answers {
    ours: Ours,
    /// Our own errors, that the guest hears of as well; ours are the originals.
    failure: Option<Error>,
    refusals: VecDeque<Error>,
}

impl Answers {
    pub(super) fn new(ours: Ours) -> Self {
        Self { ours, failure: None, refusals: VecDeque::new() }
    }

    /// Content, or why there is none.
    pub(super) async fn answer(&mut self, ask: Ask, body: Vec<u8>, call: &Call) -> Result<Vec<u8>, Failure> {
        match ask {
            Ask::Check { operation, path } => {
                call.guard.check(operation, &path).map(|()| Vec::new()).map_err(|error| {
                    let failure = Failure::from(&error);
                    if self.refusals.len() == REFUSALS {
                        self.refusals.pop_front();
                    }
                    self.refusals.push_back(error);
                    failure
                })
            }
            Ask::Change { old } => {
                let Some(transform) = self.ours.transform.take() else {
                    return Err((&Error::internal("Nothing is to be changed.")).into());
                };
                let old = old.map(|Old { resolved, version }| FileContent { bytes: body, resolved, version });
                // It may compute a long diff.
                match tokio::task::spawn_blocking(move || transform(old)).await {
                    Ok(Ok(bytes)) => Ok(bytes),
                    Ok(Err(error)) => {
                        let failure = Failure::from(&error);
                        self.failure = Some(error);
                        Err(failure)
                    }
                    Err(_) => Err((&Error::internal("The change stopped unexpectedly.")).into()),
                }
            }
            Ask::Output(stream) => {
                if let Some(sink) = &self.ours.on_output {
                    sink(OutputChunk { stream, text: String::from_utf8_lossy(&body).into_owned() });
                }
                Ok(Vec::new())
            }
            Ask::Whole => match self.ours.whole.take(body).await {
                true => Ok(Vec::new()),
                false => Err((&Error::new(ErrorKind::Io, "No more of the output is kept.")).into()),
            },
            Ask::Screen { .. } => Err((&Error::internal("This call has no terminal.")).into()),
        }
    }

    /// The error of a call that the guest ended with `failure`: our own, where it is one that the guest was told.
    pub(super) fn error(&mut self, failure: Failure) -> Error {
        if let Some(error) = self.failure.take() {
            return error;
        }
        let told = |is_it: &dyn Fn(&Error) -> bool| self.refusals.iter().rposition(is_it);
        let position = told(&|error| failure.is(error.kind()) && failure.path() == error.path())
            .or_else(|| told(&|error| failure.is(error.kind())));
        match position.and_then(|position| self.refusals.remove(position)) {
            Some(error) => error,
            None => failure.of_guest(),
        }
    }
}
