//! Whose input comes first: a process is given things in the order of the calls, whichever thread carries them out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::{Mutex, OwnedMutexGuard};

type Held = OwnedMutexGuard<()>;

/// The line of those who give a process something.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<()>>);

/// A place in that line, left when it is dropped.
pub struct Turn(Place);

enum Place {
    First(Held),
    Waits(Pin<Box<dyn Future<Output = Held> + Send>>),
}

impl Turns {
    /// The next place.
    pub(super) fn take(&self) -> Turn {
        let mut waits: Pin<Box<dyn Future<Output = Held> + Send>> = Box::pin(Arc::clone(&self.0).lock_owned());
        // The first poll takes the place. Whoever waits in it polls again, and is woken.
        match waits.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(held) => Turn(Place::First(held)),
            Poll::Pending => Turn(Place::Waits(waits)),
        }
    }
}

impl Turn {
    /// Ends when all before it are done. Those behind it wait until what this gives is dropped.
    pub async fn there(self) -> impl Send {
        match self.0 {
            Place::First(held) => held,
            Place::Waits(waits) => waits.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn the_first_to_come_is_the_first_served_whoever_asks_first_and_whoever_leaves() {
        let turns = Turns::default();
        let [first, second, third, fourth] = std::array::from_fn(|_| turns.take());
        let context = &mut Context::from_waker(Waker::noop());
        let mut is_fourth = pin!(fourth.there());
        let mut is_second = Box::pin(second.there());
        assert!(is_fourth.as_mut().poll(context).is_pending() && is_second.as_mut().poll(context).is_pending());
        let Poll::Ready(held) = pin!(first.there()).poll(context) else { panic!("nobody is before the first") };
        assert!(is_second.as_mut().poll(context).is_pending());
        drop(held);
        assert!(is_fourth.as_mut().poll(context).is_pending());
        drop(third);
        // It is asked no more, and whoever is behind it comes next.
        drop(is_second);
        assert!(is_fourth.poll(context).is_ready());
    }
}
