//! Which compiled form of a pattern a text is matched with.
//!
//! A class such as `\w` takes milliseconds to compile for all of Unicode, longer than the search of a small project takes, and
//! most files are ASCII. Those are matched without Unicode, where a pattern means the same, and the other form is compiled for
//! the first text that needs it.

use std::sync::OnceLock;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

use super::look_around::LookAround;
use super::matcher;
use crate::search::query::GrepQuery;

/// The compiled forms of one pattern.
pub(super) trait Engines: Sync {
    type Matcher: Matcher;

    /// What text of ASCII alone is matched with; `None` when it cannot be.
    fn ascii(&self) -> Option<&Self::Matcher>;

    /// What any text is matched with; `None` when it cannot be.
    fn any(&self) -> Option<&Self::Matcher>;
}

/// The forms of a pattern without look-around.
pub(super) struct Linear<'a> {
    query: &'a GrepQuery,
    ascii: Option<&'a RegexMatcher>,
    any: OnceLock<Option<RegexMatcher>>,
}

impl<'a> Linear<'a> {
    /// One form for all texts.
    pub(super) fn new(query: &'a GrepQuery, matcher: RegexMatcher) -> Self {
        Self { query, ascii: None, any: OnceLock::from(Some(matcher)) }
    }

    /// A form for ASCII, and one for all else that is compiled when it is needed.
    pub(super) fn ascii_first(query: &'a GrepQuery, ascii: &'a RegexMatcher) -> Self {
        Self { query, ascii: Some(ascii), any: OnceLock::new() }
    }
}

impl Engines for Linear<'_> {
    type Matcher = RegexMatcher;

    fn ascii(&self) -> Option<&RegexMatcher> {
        self.ascii.or_else(|| self.any())
    }

    fn any(&self) -> Option<&RegexMatcher> {
        self.any.get_or_init(|| matcher::compile(self.query).ok().map(|(matcher, _)| matcher)).as_ref()
    }
}

impl Engines for LookAround {
    type Matcher = Self;

    fn ascii(&self) -> Option<&Self> {
        Some(self)
    }

    fn any(&self) -> Option<&Self> {
        Some(self)
    }
}
