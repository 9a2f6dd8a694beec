//! Which bytes of a stream are drawn on a terminal's other screen: that of full-screen programs, which goes with what was drawn on it
//! when they leave it. It is shown as a screen while it is there, and is no output behind that.

use std::collections::VecDeque;

/// 256 times that the other screen was there are remembered: output is read far sooner.
const SCREENS: usize = 256;

/// Where the other screen begins: what programs send behind an ESC.
pub(super) const ENTERED: [&[u8]; 3] = [b"[?1049h", b"[?1047h", b"[?47h"];
/// And where it ends.
pub(super) const LEFT: [&[u8]; 3] = [b"[?1049l", b"[?1047l", b"[?47l"];

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

    /// It is there no longer than to this position: a program left it, or a shell that has the terminal is at its prompt again.
    pub(super) fn leave(&mut self, to: u64) {
        let Some(from) = self.open.take() else { return };
        self.parts.push_back((from, to));
        if self.parts.len() > SCREENS {
            self.parts.pop_front();
        }
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
    }
}
