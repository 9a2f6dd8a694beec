//! What one command line may cost to compare with the rules (R-CMD-5).

use std::sync::atomic::{AtomicUsize, Ordering};

/// What may still be spent on comparing one command line with the rules. What does not fit is judged by the strictest of them.
pub(crate) struct Steps<'a> {
    /// For targets that are partly known: looks at a state of a pattern.
    walks: AtomicUsize,
    /// For targets that are known: bytes.
    known: AtomicUsize,
    /// Says that whoever wants to know has stopped waiting.
    is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl<'a> Steps<'a> {
    /// 700,000 looks at a state of a pattern, some 10 ms: ordinary commands need thousands, and braces of patterns
    /// (`{a,b}*a*a*a`) could take hours.
    const WALKS: usize = 700_000;
    /// 2,000,000 bytes, some 15 ms: 8,000 paths, four times as many as a command line has places.
    const KNOWN: usize = 2_000_000;
    /// What a target costs besides its bytes, in bytes.
    const A_TARGET: usize = 200;
    /// 65,536 steps, a fraction of a millisecond, between two questions whether somebody still waits.
    const BETWEEN_LOOKS: usize = 1 << 16;

    pub(super) fn of_a_command() -> Self {
        Self { walks: AtomicUsize::new(Self::WALKS), known: AtomicUsize::new(Self::KNOWN), is_over: None }
    }

    /// So many looks and bytes.
    #[cfg(test)]
    pub(super) fn of(walks: usize, known: usize) -> Self {
        Self { walks: AtomicUsize::new(walks), known: AtomicUsize::new(known), is_over: None }
    }

    /// The same, until `is_over` says so: nothing is compared from then on.
    pub(crate) fn until(is_over: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { is_over: Some(is_over), ..Self::of_a_command() }
    }

    /// Whether there was something partly known that could not be compared.
    pub(super) fn have_no_walks(&self) -> bool {
        self.walks.load(Ordering::Relaxed) == 0
    }

    /// Whether there was something known that could not be compared.
    pub(super) fn have_no_targets(&self) -> bool {
        self.known.load(Ordering::Relaxed) == 0
    }

    /// Takes some looks at states; `None` where there are not as many, and then none are left.
    pub(super) fn walk(&self, states: usize) -> Option<()> {
        self.take(&self.walks, states)
    }

    /// Takes what it costs to compare a target that is known; `None` where that is not left.
    pub(super) fn target(&self, target: &str) -> Option<()> {
        self.take(&self.known, Self::A_TARGET + target.len())
    }

    fn take(&self, from: &AtomicUsize, count: usize) -> Option<()> {
        let before = from.load(Ordering::Relaxed);
        let mut left = before.checked_sub(count).filter(|left| *left > 0);
        let looks = |steps: usize| steps / Self::BETWEEN_LOOKS;
        if left.is_some_and(|left| looks(left) != looks(before)) && self.is_over.is_some_and(|is_over| is_over()) {
            left = None;
        }
        from.store(left.unwrap_or_default(), Ordering::Relaxed);
        left.map(drop)
    }
}
