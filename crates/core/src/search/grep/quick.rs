//! Patterns that are compiled and matched within microseconds, and the last of them: who pages through matches, or looks again
//! after an edit, asks the same question, and to compile it takes longer than to answer it.

use std::sync::Arc;

use grep_regex::RegexMatcher;
use parking_lot::Mutex;

use super::matcher;
use super::pace::Pace;
use super::{GrepOutcome, GrepQuery, Limits, Tree, grep_with};
use crate::backend::Call;
use crate::error::Result;
use crate::search::query::CaseMode;

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

    /// Answers the query that it was made of over a tree of ASCII alone.
    pub(crate) fn grep<T: Tree>(
        &self,
        tree: &T,
        query: &GrepQuery,
        call: &Call,
        limits: &Limits,
    ) -> Result<GrepOutcome> {
        grep_with(tree, query, (&self.matcher, self.pace), call, limits)
    }
}

/// The last pattern of one backend.
#[derive(Default)]
pub(crate) struct LastPattern(Mutex<Option<Arc<Quick>>>);

impl LastPattern {
    /// The pattern of `query`, where it is quick to compile and takes at most so many steps in so many bytes of ASCII; `None`
    /// also for one that is not valid.
    pub(crate) fn quick(&self, query: &GrepQuery, bytes: u64, most_steps: u64) -> Option<Arc<Quick>> {
        let last = self.0.lock().as_ref().filter(|last| last.is_of(query)).map(Arc::clone);
        let quick = match last {
            // Whether look-around may be used changes nothing for a pattern that has none.
            Some(last) => last,
            None => {
                let weight = matcher::quick_weight(query)?;
                if weight.saturating_mul(bytes) > most_steps {
                    return None;
                }
                let (matcher, pace) = matcher::compile_ascii(query)?;
                let GrepQuery { pattern, case, literal, word, multiline, .. } = query;
                let (pattern, case, literal) = (pattern.clone(), *case, *literal);
                let quick = Quick { pattern, case, literal, word: *word, multiline: *multiline, weight, pace, matcher };
                let quick = Arc::new(quick);
                *self.0.lock() = Some(Arc::clone(&quick));
                quick
            }
        };
        (quick.weight.saturating_mul(bytes) <= most_steps).then_some(quick)
    }
}
