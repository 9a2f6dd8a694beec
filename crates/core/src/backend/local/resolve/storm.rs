//! A storm of renames for tests, which cannot be had to order: the kernel gives up this thread's next look-ups.

use std::cell::Cell;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// How many look-ups are given up from now on.
pub(crate) fn lasts_for(look_ups: usize) {
    LEFT.set(look_ups);
}

pub(super) fn makes_the_kernel_give_up() -> bool {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    left > 0
}
