//! [`CancelToken`]: how a caller's "stop" reaches blocking loops and waiting futures alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::error::{Error, ErrorKind, Result};

/// A flag that is set once and wakes whoever waits for it. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    wake: Notify,
}

impl CancelToken {
    /// A token that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels; later calls do nothing.
    pub fn cancel(&self) {
        if !self.0.cancelled.swap(true, Ordering::AcqRel) {
            self.0.wake.notify_waiters();
        }
    }

    /// Whether somebody cancelled: one atomic load, for blocking loops.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Ends when somebody cancels.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.0.wake.notified();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }
}

/// When a piece of work must stop: a token, and perhaps an instant.
#[derive(Clone, Debug, Default)]
pub struct Deadline {
    /// The caller's token.
    pub cancel: CancelToken,
    /// The instant after which the work is a timeout.
    pub at: Option<Instant>,
}

/// 50 ms to say what came of a wait, before the time of all of it is over.
const TO_SAY_SO: Duration = Duration::from_millis(50);

impl Deadline {
    /// `time`, or all that is left where that is less, but for a moment to say what came of it.
    pub fn leaves(&self, time: Duration) -> Duration {
        let Some(at) = self.at else { return time };
        let left = at.saturating_duration_since(Instant::now());
        // Of little time half is left for the rest.
        time.min(left.saturating_sub(TO_SAY_SO).max(left / 2))
    }

    /// `Aborted` or `Timeout` once the work must stop. Cheap enough for every entry of a walk.
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(aborted());
        }
        match self.at {
            Some(at) if Instant::now() >= at => Err(timed_out()),
            _ => Ok(()),
        }
    }

    /// Ends, with the reason, when the work must stop; never ends where nothing bounds it.
    pub async fn reached(&self) -> Error {
        match self.at {
            Some(at) => {
                tokio::select! {
                    () = self.cancel.cancelled() => aborted(),
                    () = tokio::time::sleep_until(at.into()) => timed_out(),
                }
            }
            None => {
                self.cancel.cancelled().await;
                aborted()
            }
        }
    }

    /// Ends, with the reason, when somebody cancels, however late that is.
    pub async fn cancelled(&self) -> Error {
        self.cancel.cancelled().await;
        aborted()
    }

    /// The same token with the earlier of the present instant and `limit` from now.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        let at = Instant::now().checked_add(limit);
        Self { cancel: self.cancel.clone(), at: [self.at, at].into_iter().flatten().min() }
    }
}

fn aborted() -> Error {
    Error::new(ErrorKind::Aborted, "The call was aborted.")
}

fn timed_out() -> Error {
    Error::new(
        ErrorKind::Timeout,
        "The operation took longer than its time limit, and was stopped. A part of it may be done: look at what is there \
         before you try again, do less at once, or do it another way.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wakes_a_waiter_and_stays_cancelled() {
        let token = CancelToken::new();
        let waiter = tokio::spawn({
            let token = token.clone();
            async move { token.cancelled().await }
        });
        tokio::task::yield_now().await;
        token.cancel();
        waiter.await.unwrap();
        token.cancelled().await;
        assert!(token.is_cancelled());
    }

    #[tokio::test]
    async fn a_deadline_in_the_past_is_a_timeout_and_an_abort_wins() {
        let deadline = Deadline::default().within(Duration::ZERO);
        assert_eq!(deadline.check().unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(deadline.reached().await.kind(), ErrorKind::Timeout);
        deadline.cancel.cancel();
        assert_eq!(deadline.check().unwrap_err().kind(), ErrorKind::Aborted);
    }

    #[test]
    fn what_a_deadline_leaves_is_less_than_it_and_no_more_than_is_asked_for() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(Deadline::default().leaves(hour), hour);
        assert_eq!(Deadline::default().within(hour).leaves(Duration::from_secs(1)), Duration::from_secs(1));
        assert_eq!(Deadline::default().within(Duration::ZERO).leaves(hour), Duration::ZERO);
        let left = Deadline::default().within(hour).leaves(hour);
        assert!(left > hour / 2 && left <= hour - TO_SAY_SO, "{left:?}");
        let little = Deadline::default().within(TO_SAY_SO).leaves(hour);
        assert!(little <= TO_SAY_SO / 2, "{little:?}");
    }
}
