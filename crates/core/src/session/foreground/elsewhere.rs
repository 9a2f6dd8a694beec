//! Where no kernel tells.

use super::Waits;

/// Whether a shell is alone.
#[derive(Debug)]
pub(in crate::session) struct Alone;

impl Alone {
    pub(in crate::session) fn of(_leader: u32) -> Option<Self> {
        None
    }

    pub(in crate::session) fn holds(&self) -> bool {
        false
    }
}

pub(in crate::session) fn waits_for_input(_leader: u32) -> Waits {
    Waits::No
}

pub(in crate::session) fn has_stopped_child(_leader: u32) -> Option<bool> {
    None
}

pub(in crate::session) fn reads_a_line(_leader: u32) -> Option<bool> {
    None
}

pub(in crate::session) fn edits_a_line(_leader: u32) -> bool {
    false
}

pub(in crate::session) fn may_prompt(_leader: u32) -> bool {
    false
}

pub(in crate::session) fn listens_for_input(_leader: u32) -> bool {
    false
}
