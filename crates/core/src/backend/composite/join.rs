//! Waiting for several parts at once.

use std::future::poll_fn;
use std::task::Poll;

use crate::backend::BoxFuture;

/// The outcomes of all futures, in their order. They run together, in one task.
pub(super) async fn all<T>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut outcomes: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut pending = false;
        for (future, outcome) in futures.iter_mut().zip(&mut outcomes) {
            if outcome.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(ready) => *outcome = Some(ready),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}
