//! Threads that are lent for a moment: an event loop polls a call itself, so that work of microseconds crosses no thread.
//!
//! Whoever owns such a thread polls by [`poll`]. What runs in it asks [`give_back`] before anything that takes longer or
//! waits, and is polled on by a thread made for it. Everywhere else that question costs nothing.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// 500 µs: what one call may take of a lent thread, all its steps together. A step itself is bounded by its asker.
const LENT_TIME: Duration = Duration::from_micros(500);

thread_local! {
    /// Until when this thread is lent.
    static LENT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Ends the loan, also after a panic.
struct Loan;

impl Drop for Loan {
    fn drop(&mut self) {
        LENT.set(None);
    }
}

/// Whether this thread is lent now.
pub(crate) fn is_lent() -> bool {
    LENT.get().is_some()
}

/// Whether this thread is lent, and for longer than it may be.
pub(crate) fn is_overdue() -> bool {
    LENT.get().is_some_and(|until| Instant::now() >= until)
}

/// Polls `work` once on a thread that must be free again soon. Nobody is woken for it: what is pending is to be polled again
/// elsewhere.
pub fn poll<F: Future + ?Sized>(work: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
    poll_for(LENT_TIME, work, context)
}

/// As [`poll`], for another time.
pub(crate) fn poll_for<F: Future + ?Sized>(
    time: Duration,
    work: Pin<&mut F>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    LENT.set(Some(Instant::now() + time));
    let _loan = Loan;
    work.poll(context)
}

/// Leaves a thread that is lent when what comes next `is_long`, or its time is over; to be awaited before it.
pub(crate) async fn give_back(is_long: impl FnOnce() -> bool) {
    let Some(until) = LENT.get() else { return };
    if !is_long() && Instant::now() < until {
        return;
    }
    let mut asked = false;
    poll_fn(|context| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    /// Longer than any test.
    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn only_a_lent_thread_is_given_back() {
        let context = &mut Context::from_waker(Waker::noop());
        assert!(pin!(give_back(|| true)).poll(context).is_ready());
        assert!(poll_for(LONG, pin!(give_back(|| false)), context).is_ready());
        let mut long = pin!(give_back(|| true));
        assert!(poll_for(LONG, long.as_mut(), context).is_pending());
        assert!(poll_for(LONG, long, context).is_ready());
    }

    #[test]
    fn many_short_steps_are_a_long_one() {
        let context = &mut Context::from_waker(Waker::noop());
        let steps = pin!(async {
            // Ends when the time is over and the thread is asked back, and never before.
            loop {
                give_back(|| false).await;
            }
        });
        assert!(poll(steps, context).is_pending());
    }
}
