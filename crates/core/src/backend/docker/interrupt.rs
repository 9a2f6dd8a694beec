//! How whoever stops a container ends what is under way to a connection into it.

use parking_lot::Mutex;

use crate::cancel::CancelToken;

/// A token for everything that is under way, and for whatever comes while a stop waits for its turn.
#[derive(Default)]
pub(super) struct Interrupt(Mutex<Now>);

#[derive(Default)]
struct Now {
    token: CancelToken,
    /// No later token is given out.
    forever: bool,
}

impl Interrupt {
    /// The token of whoever begins now.
    pub(super) fn token(&self) -> CancelToken {
        self.0.lock().token.clone()
    }

    /// Ends what is under way, until [`Interrupt::over`].
    pub(super) fn begin(&self) {
        self.0.lock().token.cancel();
    }

    /// Ends what is under way, and whatever is begun later.
    pub(super) fn for_ever(&self) {
        let mut now = self.0.lock();
        now.forever = true;
        now.token.cancel();
    }

    /// Lets what comes later begin.
    pub(super) fn over(&self) {
        let mut now = self.0.lock();
        if !now.forever {
            now.token = CancelToken::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_what_is_under_way_and_what_comes_until_it_is_over() {
        let interrupt = Interrupt::default();
        let [before, during] = [interrupt.token(), {
            interrupt.begin();
            interrupt.token()
        }];
        interrupt.over();
        assert!(before.is_cancelled() && during.is_cancelled() && !interrupt.token().is_cancelled());
        interrupt.for_ever();
        interrupt.over();
        assert!(interrupt.token().is_cancelled());
    }
}
