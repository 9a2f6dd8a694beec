//! Patterns that are compiled and matched within microseconds, and the last of them: who pages through matches, or looks again
//! after an edit, asks the same question, and to compile it takes longer than to answer it.

use std::sync::Arc;

use grep_regex::RegexMatcher;
use parking_lot::Mutex;

use super::engines::Linear;
use super::matcher;
use super::pace::Pace;
use super::{GrepOutcome, GrepQuery, Limits, Tree, grep_with};
use crate::call::Call;
use crate::error::{ErrorKind, Result};
use crate::search::query::CaseMode;

/// 128 Ki steps between two looks at the clock while a search is tried: a quarter of a millisecond at the slowest.
const TRIAL_STEPS: u64 = 128 << 10;

/// 256 KiB for the states that a pattern remembers which is kept itself.
const DFA_BYTES: usize = 256 << 10;

/// A compiled pattern for content of ASCII alone.
pub(crate) struct Quick {
    pattern: String,
    case: CaseMode,
    literal: bool,
    word: bool,
    multiline: bool,
    /// The steps that each byte takes at most, roughly.
    weight: u64,
    pace: Pace,
    matcher: RegexMatcher,
}

impl Quick {
    fn is_of(&self, query: &GrepQuery) -> bool {
        self.pattern == query.pattern
            && self.case == query.case
            && self.literal == query.literal
            && self.word == query.word
            && self.multiline == query.multiline
    }

    /// The steps that it takes at most in so many bytes of ASCII.
    pub(crate) fn most_steps(&self, bytes: u64) -> u64 {
        self.weight.saturating_mul(bytes)
    }

    /// Answers the query that it was made of over a tree of ASCII alone.
    pub(crate) fn grep<T: Tree>(
        &self,
        tree: &T,
        query: &GrepQuery,
        call: &Call,
        limits: &Limits,
    ) -> Result<GrepOutcome> {
        grep_with(tree, query, (&Linear::ascii_first(query, &self.matcher), self.pace), call, limits)
    }

    /// The same, as far as `limits.search_timeout` allows, with many looks at the clock: the automaton takes one step for most
    /// bytes, however many it might take. `None` when that is not enough; nobody may be told what was found by then.
    pub(crate) fn try_grep<T: Tree>(
        &self,
        tree: &T,
        query: &GrepQuery,
        call: &Call,
        limits: &Limits,
    ) -> Result<Option<GrepOutcome>> {
        let piece = usize::try_from(TRIAL_STEPS / self.weight.max(1)).unwrap_or(usize::MAX);
        let pace = Pace { piece, longest: piece };
        match grep_with(tree, query, (&Linear::ascii_first(query, &self.matcher), pace), call, limits) {
            Ok(outcome) => Ok((!outcome.incomplete).then_some(outcome)),
            Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The last pattern of one backend.
#[derive(Default)]
pub(crate) struct LastPattern(Mutex<Option<Arc<Quick>>>);

impl LastPattern {
    /// The pattern of `query`, where it is quick to compile; `None` also for one that is not valid.
    pub(crate) fn quick(&self, query: &GrepQuery) -> Option<Arc<Quick>> {
        // Whether look-around may be used changes nothing for a pattern that has none.
        if let Some(last) = self.0.lock().as_ref().filter(|last| last.is_of(query)) {
            return Some(Arc::clone(last));
        }
        let weight = matcher::quick_weight(query)?;
        let (matcher, pace) = matcher::compile_ascii(query, DFA_BYTES)?;
        let GrepQuery { pattern, case, literal, word, multiline, .. } = query;
        let (pattern, case, literal) = (pattern.clone(), *case, *literal);
        let quick = Quick { pattern, case, literal, word: *word, multiline: *multiline, weight, pace, matcher };
        let quick = Arc::new(quick);
        *self.0.lock() = Some(Arc::clone(&quick));
        Some(quick)
    }
}
