//! Starts the work of one call and settles its promise.
//!
//! The work begins on a thread that may block, not on one of the runtime's own: to wake one of those wakes the next one as
//! well, in case there is more to do, just when Node's thread should be woken. Work that ends at once, such as the read of a
//! small file, is over then; all other goes on in the runtime.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use gloveport_core::error::Error;
use napi::bindgen_prelude::{Env, Object, spawn, spawn_blocking};

use crate::convert::NativeOutcome;

type Work = Pin<Box<dyn Future<Output = NativeOutcome> + Send>>;

/// Starts `work`; the promise resolves with its outcome, also after a panic, and never rejects.
pub(crate) fn start<'env>(
    env: &'env Env,
    work: impl Future<Output = NativeOutcome> + Send + 'static,
) -> napi::Result<Object<'env>> {
    let (deferred, promise) = env.create_deferred()?;
    let mut work: Work = Box::pin(work);
    let settle = move |outcome: NativeOutcome| deferred.resolve(move |_| Ok(outcome));
    // Its own handle is of no use: the work settles the promise itself.
    drop(spawn_blocking(move || {
        match poll(&mut work, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => settle(outcome),
            // Polled again at once, with the waker that counts.
            Poll::Pending => drop(spawn(async move { settle(poll_fn(|context| poll(&mut work, context)).await) })),
        }
    }));
    Ok(promise)
}

/// Polls; a panic is an outcome.
fn poll(work: &mut Work, context: &mut Context<'_>) -> Poll<NativeOutcome> {
    catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))).unwrap_or_else(|_| {
        let error = Error::internal("The call failed inside; this is a defect of gloveport.");
        Poll::Ready(NativeOutcome { error: Some(error.into()), ..NativeOutcome::default() })
    })
}
