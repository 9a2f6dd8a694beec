//! What begins in one environment of Node (its main thread, or a worker) and ends with it.
//!
//! A worker that is terminated runs no more JavaScript: nobody is left in it to end what its calls run, and the process lives on.

use std::cell::RefCell;

use gloveport_core::cancel::CancelToken;
use napi::bindgen_prelude::Env;
use napi::sys::napi_env;

thread_local! {
    /// The environments of this thread: one, but in programs that embed Node.
    static ENVIRONMENTS: RefCell<Vec<(napi_env, CancelToken)>> = const { RefCell::new(Vec::new()) };
}

/// Is cancelled when the environment ends.
pub(crate) fn end_of(env: &Env) -> CancelToken {
    ENVIRONMENTS.with_borrow_mut(|environments| {
        if let Some((_, end)) = environments.iter().find(|(known, _)| *known == env.raw()) {
            return end.clone();
        }
        let end = CancelToken::new();
        // Where Node refuses it, which it does of no environment that runs, the calls end with the process.
        let _ = env.add_env_cleanup_hook((env.raw(), end.clone()), |(ended, end)| {
            end.cancel();
            // The thread may be at its own end already.
            let _ = ENVIRONMENTS.try_with(|environments| environments.borrow_mut().retain(|(env, _)| *env != ended));
        });
        environments.push((env.raw(), end.clone()));
        end
    })
}
