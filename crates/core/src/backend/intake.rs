//! Input of a process that waits in no queue: whoever writes it hands it over, on their own thread.
//!
//! A line that is typed at a shell reaches it before another thread has woken. Only where nothing is on its way that was told or
//! given before: then input takes the queue of the driver, so that all of it comes in order.

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;

/// Takes at once as many bytes as there is room for, and never waits.
pub(super) type Taker = Box<dyn Fn(&[u8]) -> usize + Send>;

/// Takes output on the thread that calls it, until the question is answered by yes, or for the time.
pub(super) type Looker = Box<dyn Fn(Duration, &dyn Fn() -> bool) + Send + Sync>;

/// The way past the driver of a process, where there is one.
#[derive(Default)]
pub(super) struct Intake {
    state: Mutex<State>,
    looker: OnceLock<Looker>,
}

#[derive(Default)]
struct State {
    taker: Option<Taker>,
    /// Orders and pieces of input that the driver has not carried out.
    queued: usize,
}

#[cfg_attr(not(unix), allow(dead_code, reason = "no backend there starts programs itself"))]
impl Intake {
    /// Opens the way.
    pub(super) fn open(&self, taker: Taker) {
        self.state.lock().taker = Some(taker);
    }

    /// Lets whoever gave input look on.
    pub(super) fn open_to_looks(&self, looker: Looker) {
        // One driver opens it, once.
        let _ = self.looker.set(looker);
    }

    /// Has this thread take the output that comes, where it can.
    pub(super) fn look_on(&self, time: Duration, is_over: &dyn Fn() -> bool) {
        if let Some(looker) = self.looker.get() {
            looker(time, is_over);
        }
    }

    /// Whether `bytes` were taken. What there was no room for is handed to `queue`, which holds nothing then.
    pub(super) fn takes(&self, bytes: &[u8], queue: impl FnOnce(&[u8])) -> bool {
        let mut state = self.state.lock();
        // The end of input is the driver's.
        let (Some(taker), 0, false) = (&state.taker, state.queued, bytes.is_empty()) else { return false };
        let taken = taker(bytes);
        if taken < bytes.len() {
            queue(&bytes[taken..]);
            state.queued += 1;
        }
        true
    }

    /// Notes what `send` gives to the driver.
    pub(super) fn queue(&self, send: impl FnOnce()) {
        let mut state = self.state.lock();
        send();
        state.queued += 1;
    }

    /// Notes that the driver has carried out an order, or written a piece.
    pub(super) fn done(&self) {
        let mut state = self.state.lock();
        state.queued = state.queued.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn nothing_overtakes_what_was_given_or_told_before() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let intake = Intake::default();
        let queued = Mutex::new(Vec::new());
        let write = |bytes: &[u8]| intake.takes(bytes, |rest| queued.lock().extend_from_slice(rest));
        assert!(!write(b"nobody takes it"));
        intake.open(Box::new({
            let written = Arc::clone(&written);
            // There is room for three.
            move |bytes| {
                let taken = bytes.len().min(3);
                written.lock().extend_from_slice(&bytes[..taken]);
                taken
            }
        }));
        assert!(!write(b""));
        assert!(write(b"abc"));
        assert!(write(b"defgh"));
        assert_eq!((written.lock().as_slice(), queued.lock().as_slice()), (&b"abcdef"[..], &b"gh"[..]));
        assert!(!write(b"x"));
        intake.queue(|| {});
        intake.done();
        assert!(!write(b"x"));
        intake.done();
        assert!(write(b"x"));
        assert_eq!(written.lock().as_slice(), b"abcdefx");
    }
}
