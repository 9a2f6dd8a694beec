//! [`Paced`]: a matcher that is handed text in pieces, with a look at the deadline between them.
//!
//! The engines cannot be stopped, and what a byte costs them is up to the pattern: where their automaton grows too large
//! they follow each state of it for every byte. So the piece is the smaller the more states there are, and a line that
//! would take too long as a whole is not tried; the answer then says that it is incomplete.

use std::cell::Cell;
use std::fmt;

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};

use crate::cancel::Deadline;
use crate::error::Result;

/// 4 Mi steps between two looks at the deadline: about 10 ms where the engine is at its slowest.
const STEPS_A_LOOK: usize = 4 << 20;
/// 128 Mi steps for one line, or for one text where matches span lines: a third of a second at the slowest.
const STEPS_A_LINE: usize = 128 << 20;

/// How much text a pattern may be handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// Bytes between two looks at the deadline; a line is never cut.
    pub(super) piece: usize,
    /// Bytes of the longest line.
    pub(super) longest: usize,
}

impl Pace {
    /// The pace of a pattern with about `states` states.
    pub(super) fn of_weight(states: usize) -> Self {
        let states = states.max(1);
        Self { piece: STEPS_A_LOOK / states, longest: STEPS_A_LINE / states }
    }
}

/// The call must end.
#[derive(Debug)]
pub(super) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call must end")
    }
}

/// A matcher at its pace, for one file.
pub(super) struct Paced<'a, M> {
    inner: &'a M,
    deadline: &'a Deadline,
    pace: Pace,
    /// Bytes until the next look at the deadline.
    left: Cell<usize>,
    exceeded: Cell<bool>,
}

impl<'a, M: Matcher> Paced<'a, M> {
    pub(super) fn new(inner: &'a M, deadline: &'a Deadline, pace: Pace) -> Self {
        Self { inner, deadline, pace, left: Cell::new(pace.piece), exceeded: Cell::new(false) }
    }

    /// Whether some line was too long to be tried.
    pub(super) fn exceeded(&self) -> bool {
        self.exceeded.get()
    }

    /// Looks at the deadline when so much text was handed out since the last look.
    fn spend(&self, bytes: usize) -> Result<(), Stopped> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => {
                self.left.set(self.pace.piece);
                self.deadline.check().map_err(|_| Stopped)?;
            }
        }
        Ok(())
    }

    /// Whether a text that is matched as a whole may be.
    fn admits(&self, bytes: usize) -> Result<bool, Stopped> {
        if bytes > self.pace.longest {
            self.exceeded.set(true);
            return Ok(false);
        }
        self.spend(bytes)?;
        Ok(true)
    }

    /// Where the piece that begins at `start` ends: behind a line end, or with the text.
    fn piece_end(&self, text: &[u8], start: usize) -> usize {
        let wanted = start.saturating_add(self.pace.piece);
        if wanted >= text.len() {
            return text.len();
        }
        let line_end = |from: usize| memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |at| from + at + 1);
        let end = line_end(wanted);
        if end - start <= self.pace.longest {
            return end;
        }
        // The line at its end is too long: all before it, or that line alone.
        memchr::memrchr(b'\n', &text[start..wanted]).map_or(end, |at| start + at + 1)
    }
}

impl<M: Matcher> Matcher for Paced<'_, M> {
    type Captures = NoCaptures;
    type Error = Stopped;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, Stopped> {
        if !self.admits(haystack.len() - at)? {
            return Ok(None);
        }
        self.inner.find_at(haystack, at).map_err(|_| Stopped)
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, Stopped> {
        if !self.admits(haystack.len() - at)? {
            return Ok(None);
        }
        self.inner.shortest_match_at(haystack, at).map_err(|_| Stopped)
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, Stopped> {
        let mut start = 0;
        while start < haystack.len() {
            let end = self.piece_end(haystack, start);
            if self.admits(end - start)? {
                match self.inner.find_candidate_line(&haystack[start..end]).map_err(|_| Stopped)? {
                    Some(LineMatchKind::Confirmed(at)) => return Ok(Some(LineMatchKind::Confirmed(start + at))),
                    Some(LineMatchKind::Candidate(at)) => return Ok(Some(LineMatchKind::Candidate(start + at))),
                    None => {}
                }
            }
            start = end;
        }
        Ok(None)
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.inner.line_terminator()
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.inner.non_matching_bytes()
    }

    fn new_captures(&self) -> Result<NoCaptures, Stopped> {
        Ok(NoCaptures::new())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::cancel::CancelToken;

    /// Finds the byte `x`, remembers what it was handed, and cancels after so many pieces.
    struct Recorder {
        pieces: RefCell<Vec<String>>,
        cancel: CancelToken,
        cancel_after: usize,
    }

    impl Matcher for Recorder {
        type Captures = NoCaptures;
        type Error = Stopped;

        fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, Stopped> {
            self.pieces.borrow_mut().push(String::from_utf8_lossy(&haystack[at..]).into_owned());
            if self.pieces.borrow().len() == self.cancel_after {
                self.cancel.cancel();
            }
            Ok(memchr::memchr(b'x', &haystack[at..]).map(|found| Match::new(at + found, at + found + 1)))
        }

        fn new_captures(&self) -> Result<NoCaptures, Stopped> {
            Ok(NoCaptures::new())
        }
    }

    /// What a text becomes in pieces, what was found, and whether something was left out.
    fn paced(text: &str, piece: usize, longest: usize, cancel_after: usize) -> (Vec<String>, Option<usize>, bool) {
        let cancel = CancelToken::new();
        let inner = Recorder { pieces: RefCell::default(), cancel: cancel.clone(), cancel_after };
        let deadline = Deadline { cancel, at: None };
        let paced = Paced::new(&inner, &deadline, Pace { piece, longest });
        let found = match paced.find_candidate_line(text.as_bytes()) {
            Ok(found) => found.map(|found| match found {
                LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at) => at,
            }),
            Err(Stopped) => Some(usize::MAX),
        };
        let exceeded = paced.exceeded();
        (inner.pieces.into_inner(), found, exceeded)
    }

    #[test]
    fn text_is_handed_out_in_whole_lines() {
        let pieces = |pieces: &[&str]| pieces.iter().map(|piece| (*piece).to_owned()).collect::<Vec<_>>();
        assert_eq!(paced("ab\ncd\nef", 100, 100, 0), (pieces(&["ab\ncd\nef"]), None, false));
        assert_eq!(paced("ab\ncd\nef", 2, 100, 0), (pieces(&["ab\n", "cd\n", "ef"]), None, false));
        assert_eq!(paced("ab\ncd\nef", 0, 100, 0), (pieces(&["ab\n", "cd\n", "ef"]), None, false));
        // An end past the line, for the searcher to look up the line of.
        assert_eq!(paced("ab\nxd\nef", 2, 100, 0), (pieces(&["ab\n", "xd\n"]), Some(4), false));
        // A line too long is left out, and those around it are not.
        assert_eq!(paced("ab\nlooong x\nx", 4, 5, 0), (pieces(&["ab\n", "x"]), Some(13), true));
        assert_eq!(paced("looong", 4, 5, 0), (pieces(&[]), None, true));
    }

    #[test]
    fn an_abort_is_heard_before_the_next_piece() {
        let (pieces, found, _) = paced(&"line\n".repeat(1_000), 50, 100, 3);
        assert_eq!((pieces.len(), found), (3, Some(usize::MAX)));
    }

    #[test]
    fn pieces_are_the_smaller_the_more_a_byte_may_cost() {
        for states in [1, 30, 1_000, 100_000, usize::MAX] {
            let Pace { piece, longest } = Pace::of_weight(states);
            assert!(piece.saturating_mul(states) <= STEPS_A_LOOK && longest.saturating_mul(states) <= STEPS_A_LINE);
            assert!(piece <= longest);
        }
    }
}
