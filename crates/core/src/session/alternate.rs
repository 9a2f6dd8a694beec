//! Which bytes of a stream are drawn on a terminal's other screen: that of full-screen programs, which goes with what was drawn on it
//! when they leave it. It is shown as a screen while it is there, and is no output behind that.

use std::collections::VecDeque;

/// 256 times that the other screen was there are remembered: output is read far sooner.
const SCREENS: usize = 256;

/// What begins modes that are set (`h`) or reset (`l`), behind an ESC.
pub(super) const MODES: &[u8] = b"[?";

/// Whether such modes bring the other screen (`true`) or take it away, as the screen that is drawn has it.
pub(super) fn of_modes(sequence: &[u8]) -> Option<bool> {
    let (end, modes) = sequence.strip_prefix(MODES)?.split_last()?;
    let is_screen = modes.split(|byte| *byte == b';').any(|mode| matches!(mode, b"47" | b"1049"));
    match end {
        b'h' if is_screen => Some(true),
        b'l' if is_screen => Some(false),
        _ => None,
    }
}

/// The parts of a stream that are drawn there.
#[derive(Debug, Default)]
pub(super) struct Alternate {
    parts: VecDeque<(u64, u64)>,
    /// Where the one begins that is there.
    open: Option<u64>,
}

impl Alternate {
    pub(super) fn is_there(&self) -> bool {
        self.open.is_some()
    }

    /// It is there from this position.
    pub(super) fn enter(&mut self, from: u64) {
        self.open = self.open.or(Some(from));
    }

    /// A program left it.
    pub(super) fn leave(&mut self, to: u64) {
        let Some(from) = self.open.take() else { return };
        self.parts.push_back((from, to));
        if self.parts.len() > SCREENS {
            self.parts.pop_front();
        }
    }

    /// No program left it, and nobody knows where what drew there ended: what was printed since is output.
    pub(super) fn give_up(&mut self) {
        self.open = None;
    }

    /// Those that end behind `from`, in order.
    pub(super) fn parts(&self, from: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.parts.partition_point(|(_, to)| *to <= from);
        self.parts.range(first..).copied().chain(self.open.map(|open| (open, u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_the_other_screen_are_remembered_within_bounds() {
        let mut screens = Alternate::default();
        screens.leave(5);
        assert_eq!(screens.parts(0).count(), 0);
        for at in 0..SCREENS as u64 + 9 {
            screens.enter(at * 10);
            screens.enter(at * 10 + 1);
            assert!(screens.is_there());
            screens.leave(at * 10 + 5);
            screens.leave(at * 10 + 6);
        }
        assert_eq!(screens.parts(0).count(), SCREENS);
        let last = (SCREENS as u64 + 8) * 10;
        assert_eq!(screens.parts(last - 6).collect::<Vec<_>>(), [(last - 10, last - 5), (last, last + 5)]);
        screens.enter(last + 7);
        assert_eq!(screens.parts(last + 5).collect::<Vec<_>>(), [(last + 7, u64::MAX)]);
        screens.give_up();
        screens.leave(last + 9);
        assert_eq!(screens.parts(last + 5).count(), 0);
    }

    #[test]
    fn modes_that_bring_the_other_screen_are_told_from_others() {
        for (sequence, expected) in [
            ("[?1049h", Some(true)),
            ("[?47h", Some(true)),
            ("[?25;1049l", Some(false)),
            ("[?1049;25h", Some(true)),
            ("[?2004h", None),
            ("[?10491h", None),
            ("[?1049$", None),
            ("[?", None),
            ("[1049h", None),
        ] {
            assert_eq!(of_modes(sequence.as_bytes()), expected, "{sequence}");
        }
    }
}
