//! [`Ranking`]: the one order of all searches by parts of a path, whoever walks.

use super::score::{Candidate, Word};
use crate::error::{Error, Result};

/// 8 words: more narrow nothing down.
const MAX_WORDS: usize = 8;
/// 128 characters: names that somebody remembers, not a text; one path is held against so many in a few milliseconds.
const MAX_QUERY_CHARS: usize = 128;

/// What paths are ranked by.
#[derive(Debug, Clone)]
pub(crate) struct Ranking {
    words: Vec<Word>,
    candidate: Candidate,
}

impl Ranking {
    /// Reads a query. `InvalidInput` for one without words, with too many, or too long.
    pub(crate) fn new(query: &str) -> Result<Self> {
        let words: Vec<&str> = query.split_whitespace().collect();
        if words.is_empty() || words.len() > MAX_WORDS || query.chars().count() > MAX_QUERY_CHARS {
            return Err(Error::invalid(format!(
                "The query is one to {MAX_WORDS} words, {MAX_QUERY_CHARS} characters in all: parts of the path that you \
                 remember."
            )));
        }
        Ok(Self { words: words.into_iter().map(Word::new).collect(), candidate: Candidate::default() })
    }

    /// The place of a path, relative to where is searched, among others: the greatest comes first, and of equals the
    /// one that is less as text. `None` when a word does not fit.
    pub(crate) fn rank(&mut self, path: &str) -> Option<i64> {
        /// More than any path has bytes, so that length only breaks ties.
        const SCORE: i64 = 1 << 13;
        self.candidate.set(path);
        let words = i32::try_from(self.words.len()).unwrap_or(i32::MAX);
        let mut score = 0;
        for word in &self.words {
            score += i64::from(self.candidate.score(word, words)?);
        }
        Some(score * SCORE - path.len() as i64)
    }

    /// What ranking has cost so far, in steps of about a nanosecond.
    pub(crate) fn cost(&self) -> u64 {
        self.candidate.cells
    }
}
