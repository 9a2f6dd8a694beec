//! Work on threads that may block.
//!
//! The runtime's own call is compiled anew for every closure; this one once, with the work and its result behind pointers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

/// Runs `work` on a thread that may block. It runs to its end also when nobody waits for it.
pub(crate) fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Blocking<T> {
    let result = Arc::new(Mutex::new(None));
    let theirs = Arc::clone(&result);
    let task = start(Box::new(move || {
        let done = work();
        *theirs.lock() = Some(done);
    }));
    Blocking { task, result }
}

fn start(work: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    spawn_blocking(work)
}

/// The result of [`blocking`] work, when it is there.
pub(crate) struct Blocking<T> {
    task: JoinHandle<()>,
    result: Arc<Mutex<Option<T>>>,
}

/// The work panicked, or its runtime ended before it began.
#[derive(Debug)]
pub(crate) struct Lost;

impl<T> Future for Blocking<T> {
    type Output = Result<T, Lost>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // A panic leaves no result.
        drop(ready!(Pin::new(&mut self.task).poll(context)));
        Poll::Ready(self.result.lock().take().ok_or(Lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn gives_the_result_and_survives_a_panic() {
        assert_eq!(blocking(|| 6 * 7).await.unwrap(), 42);
        assert!(blocking(|| -> u8 { panic!("inside") }).await.is_err());
    }
}
