//! Patterns with look-around and back-references, over an engine that backtracks within a bound.
//!
//! Only patterns that the linear engine does not take come here. Lines are tried one by one; a line that is longer than
//! [`PACE`] allows, or needs more steps than the bound, counts as not matching, and the answer says that it is incomplete.

use std::sync::atomic::{AtomicBool, Ordering};

use fancy_regex::{BytesMode, Regex, RegexBuilder};
use grep_matcher::{Match, Matcher, NoCaptures};

use super::matcher::{MAX_REGEX_BYTES, fault};
use super::pace::{Pace, Stopped};
use crate::error::{Error, Result};
use crate::search::query::{CaseMode, GrepQuery};

/// 50,000 steps for one line: about a millisecond. A step may scan what is left of the line.
const MAX_STEPS: usize = 50_000;
/// 8 KiB: with [`MAX_STEPS`] a line costs at most some tenths of a second; the clock is looked at before each.
pub(super) const PACE: Pace = Pace { piece: 0, longest: 8 << 10 };
/// 65,536 instructions of a compiled pattern.
const MAX_PROGRAM: usize = 1 << 16;

/// A compiled pattern.
pub(super) struct LookAround {
    regex: Regex,
    exceeded: AtomicBool,
}

impl LookAround {
    /// The matcher of a query whose pattern is no plain text. `InvalidInput` for a pattern that is not valid, and for
    /// `multiline`, where one piece of text could be a whole file.
    pub(super) fn compile(query: &GrepQuery) -> Result<Self> {
        if query.multiline {
            return Err(Error::invalid("Look-around works line by line; search without 'multiline'."));
        }
        let pattern = if query.word { format!(r"(?<!\w)(?:{})(?!\w)", query.pattern) } else { query.pattern.clone() };
        let ignores_case = match query.case {
            CaseMode::Sensitive => false,
            CaseMode::Insensitive => true,
            CaseMode::Smart => !has_upper_case(&query.pattern),
        };
        let regex = RegexBuilder::new(&pattern)
            .bytes_mode(BytesMode::UnicodeBytes)
            .case_insensitive(ignores_case)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(MAX_REGEX_BYTES)
            .delegate_dfa_size_limit(MAX_REGEX_BYTES)
            .max_prog_size(MAX_PROGRAM)
            .build();
        match regex {
            Ok(regex) => Ok(Self { regex, exceeded: AtomicBool::new(false) }),
            Err(fancy_regex::Error::ParseError(position, error)) if !query.word => {
                Err(fault(&query.pattern, position, error))
            }
            Err(_) => Err(Error::invalid(
                "The pattern is not a valid regular expression with look-around, or it compiles to too much.",
            )),
        }
    }

    /// Whether some line needed more steps than there are.
    pub(super) fn exceeded(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }
}

/// Whether a pattern holds an upper-case letter that stands for itself.
fn has_upper_case(pattern: &str) -> bool {
    let mut escaped = false;
    pattern.chars().any(|character| {
        let literal = !escaped;
        escaped = literal && character == '\\';
        literal && character.is_uppercase()
    })
}

impl Matcher for LookAround {
    type Captures = NoCaptures;
    type Error = Stopped;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, Stopped> {
        // So that `$` also matches before the `\r\n` of a file from Windows.
        let line = haystack.strip_suffix(b"\n").unwrap_or(haystack);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if at > line.len() {
            return Ok(None);
        }
        match self.regex.find_from_pos(line, at) {
            Ok(found) => Ok(found.map(|found| Match::new(found.start(), found.end()))),
            Err(_) => {
                self.exceeded.store(true, Ordering::Relaxed);
                Ok(None)
            }
        }
    }

    fn new_captures(&self) -> Result<NoCaptures, Stopped> {
        Ok(NoCaptures::new())
    }
}
