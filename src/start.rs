//! Starts the work of one call and settles its promise.
//!
//! The work begins on a thread that may block, not on one of the runtime's own: to wake one of those wakes the next one as
//! well, in case there is more to do, just when Node's thread should be woken. Work that ends at once, such as the read of a
//! small file, is over then; all other goes on in the runtime. Where not even that much is to be waited for (files in
//! memory, and small ones that the system holds there), it begins on Node's own thread, which it leaves before anything long:
//! see [`gloveport_core::lent`]. A command is handed to its supervisor there too, or typed at its shell, so that it runs before
//! another thread has woken; the runtime goes on with it when there is something to go on with ([`Parked`]). What a shell does in
//! less than the third of a millisecond is waited for there. All such work together gets no more than [`LENT_TIME`] of a turn of
//! the event loop.

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use gloveport_core::error::{Error, Result};
use gloveport_core::lent;
use napi::bindgen_prelude::{
    Env, JsValue as _, Object, PromiseRaw, ToNapiValue, spawn, spawn_blocking, within_runtime_if_available,
};
use tokio::runtime::Handle;

use crate::convert::NativeOutcome;
use crate::environment;

type Work = Pin<Box<dyn Future<Output = NativeOutcome> + Send>>;
/// Settles the promise of a call.
type Settle = Box<dyn FnOnce(NativeOutcome) + Send>;

/// 128 KiB of arguments and content: to decode more takes its time.
const MAX_LENT_BYTES: usize = 128 << 10;

/// 2 ms of one turn of the event loop: some 50 small reads. Without it a thousand reads at once, or a loop that awaits one after
/// the other, would hold back everything else.
const LENT_TIME: Duration = Duration::from_millis(2);

thread_local! {
    /// What was lent of this turn; of Node's thread, or a worker's.
    static LENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Where work begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// On a thread that may block.
    Apart,
    /// On Node's thread, where it ends, or asks for one that may block.
    Here,
    /// On Node's thread, where it starts what the runtime then waits for.
    Launch,
}

impl Begin {
    /// Here, when the work `is_immediate` and is given only so many bytes.
    pub(crate) fn of(is_immediate: bool, bytes: usize) -> Self {
        if is_immediate { Self::Here.within(bytes) } else { Self::Apart }
    }

    /// The same place when the work is given only so many bytes.
    pub(crate) fn within(self, bytes: usize) -> Self {
        if bytes <= MAX_LENT_BYTES { self } else { Self::Apart }
    }
}

/// Starts `work`; the promise resolves with its outcome, also after a panic, and never rejects.
pub(crate) fn start<'env>(
    env: &'env Env,
    work: impl Future<Output = NativeOutcome> + Send + 'static,
) -> napi::Result<Object<'env>> {
    begin_work(env, Begin::Apart, Box::pin(work))
}

/// As [`start`], at the place that is named.
pub(crate) fn start_at<'env>(
    env: &'env Env,
    begin: Begin,
    work: impl Future<Output = NativeOutcome> + Send + 'static,
) -> napi::Result<Object<'env>> {
    begin_work(env, begin, Box::pin(work))
}

/// Starts what opens something that `Made` carries to JavaScript, or its failure; a panic is a failure, too.
pub(crate) fn start_opening<'env, Opened: 'static, Made: ToNapiValue + From<Result<Opened>> + Send + 'static>(
    env: &'env Env,
    opening: impl Future<Output = Result<Opened>> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, Made>> {
    let mut opening = Box::pin(opening);
    let opened = poll_fn(move |context| {
        let polled = catch_unwind(AssertUnwindSafe(|| opening.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(failed_inside())))
    });
    env.spawn_future(async move { Ok(Made::from(opened.await)) })
}

/// The same for every kind of work: compiled once. What is not done when the environment ends is dropped, and ends what it runs.
fn begin_work<'env>(env: &'env Env, begin: Begin, work: Work) -> napi::Result<Object<'env>> {
    let end = environment::end_of(env);
    let mut work: Work = Box::pin(async move {
        tokio::select! {
            biased;
            outcome = work => outcome,
            () = end.cancelled() => NativeOutcome::default(),
        }
    });
    let is_lent = begin != Begin::Apart && LENT.get() < LENT_TIME;
    let parked = (is_lent && begin == Begin::Launch).then(Parked::here).flatten();
    let waker = parked.as_ref().map_or_else(|| Waker::noop().clone(), |parked| Waker::from(Arc::clone(parked)));
    if is_lent && let Poll::Ready(outcome) = poll_here(&mut work, &waker) {
        let promise = PromiseRaw::resolve(env, outcome)?;
        return Ok(Object::from_raw(env.raw(), promise.raw()));
    }
    let (deferred, promise) = env.create_deferred()?;
    let settle: Settle = Box::new(move |outcome: NativeOutcome| {
        deferred.resolve(move |_| {
            // The event loop calls this, so it turns.
            LENT.set(Duration::ZERO);
            Ok(outcome)
        });
    });
    // The handles of tasks are of no use: the work settles the promise itself.
    if let Some(parked) = parked {
        parked.park(work, settle);
        return Ok(promise);
    }
    drop(spawn_blocking(move || match settled(|| work.as_mut().poll(&mut Context::from_waker(Waker::noop()))) {
        Poll::Ready(outcome) => settle(outcome),
        // What it was polled with until now wakes nobody.
        Poll::Pending => drop(spawn(go_on(work, settle))),
    }));
    Ok(promise)
}

/// Work that was polled on Node's thread and belongs to no task yet: whoever wakes it has the runtime go on with it. Until then
/// no thread of the runtime wakes for it, while the command that it waits for begins.
struct Parked {
    runtime: Handle,
    state: Mutex<ParkedState>,
}

enum ParkedState {
    /// It is being polled.
    Polled,
    /// It was woken meanwhile, or the runtime has it.
    Woken,
    Waits(Work, Settle),
}

impl Parked {
    /// `None` where no runtime is left to go on with it.
    fn here() -> Option<Arc<Self>> {
        let runtime = within_runtime_if_available(Handle::try_current).ok()?;
        Some(Arc::new(Self { runtime, state: Mutex::new(ParkedState::Polled) }))
    }

    fn park(&self, work: Work, settle: Settle) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            ParkedState::Polled => *state = ParkedState::Waits(work, settle),
            ParkedState::Woken | ParkedState::Waits(..) => drop(self.runtime.spawn(go_on(work, settle))),
        }
    }
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let before =
            std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), ParkedState::Woken);
        if let ParkedState::Waits(work, settle) = before {
            // A runtime that has ended drops it, as it drops its tasks.
            drop(self.runtime.spawn(go_on(work, settle)));
        }
    }
}

/// The rest of work whose beginning was polled elsewhere.
async fn go_on(mut work: Work, settle: Settle) {
    settle(poll_fn(|context| settled(|| work.as_mut().poll(context))).await);
}

/// Polls on Node's thread. What is not ready is polled again elsewhere.
fn poll_here(work: &mut Work, waker: &Waker) -> Poll<NativeOutcome> {
    let started = Instant::now();
    let context = &mut Context::from_waker(waker);
    let polled = within_runtime_if_available(|| settled(|| lent::poll(work.as_mut(), context)));
    LENT.set(LENT.get() + started.elapsed());
    polled
}

/// A poll; a panic in it is an outcome.
fn settled(poll: impl FnOnce() -> Poll<NativeOutcome>) -> Poll<NativeOutcome> {
    catch_unwind(AssertUnwindSafe(poll)).unwrap_or_else(|_| {
        Poll::Ready(NativeOutcome { error: Some(failed_inside().into()), ..NativeOutcome::default() })
    })
}

fn failed_inside() -> Error {
    Error::internal("The call failed inside; this is a defect of gloveport.")
}
