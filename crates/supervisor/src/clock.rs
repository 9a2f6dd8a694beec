//! Time that only goes forward.

use core::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(Duration);

impl Instant {
    /// This one.
    pub(crate) fn now() -> Self {
        // The clock of the time since the start of the machine is never negative.
        Self(Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default())
    }

    /// `time` later.
    pub(crate) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// How long until then; none when it is over.
    pub(crate) fn remaining(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }

    /// How long ago it was.
    pub(crate) fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}
