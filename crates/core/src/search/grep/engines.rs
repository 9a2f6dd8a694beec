//! Which compiled form of a pattern a text is matched with.
//!
//! A class such as `\\w` takes milliseconds to compile for all of Unicode, longer than the search of a small project takes, and
//! most files are ASCII. Those are matched without Unicode, where a pattern means the same, and the other form is compiled for
//! the first text that needs it.

use std::sync::OnceLock;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;

use super::matcher;
use crate::search::query::GrepQuery;

/// The compiled forms of one pattern.
pub(super) trait Engines: Sync {
    type Matcher: Matcher;

    /// What text of ASCII alone is matched with; `None` when it cannot be.
    fn ascii(&self) -> Option<&Self::Matcher>;

    /// What any text is matched with; `None` when it cannot be.
    fn any(&self) -> Option<&Self::Matcher>;

    /// What no match spans.
    fn line_terminator(&self) -> Option<LineTerminator>;
}

/// One form for all texts.
pub(super) struct One<'a, M>(pub(super) &'a M);

impl<M: Matcher + Sync> Engines for One<'_, M> {
    type Matcher = M;

    fn ascii(&self) -> Option<&M> {
        Some(self.0)
    }

    fn any(&self) -> Option<&M> {
        Some(self.0)
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.0.line_terminator()
    }
}

/// A form for ASCII, and one for all else that is compiled when it is needed.
pub(super) struct AsciiFirst<'a> {
    query: &'a GrepQuery,
    ascii: RegexMatcher,
    any: OnceLock<Option<RegexMatcher>>,
}

impl<'a> AsciiFirst<'a> {
    pub(super) fn new(query: &'a GrepQuery, ascii: RegexMatcher) -> Self {
        Self { query, ascii, any: OnceLock::new() }
    }
}

impl Engines for AsciiFirst<'_> {
    type Matcher = RegexMatcher;

    fn ascii(&self) -> Option<&RegexMatcher> {
        Some(&self.ascii)
    }

    fn any(&self) -> Option<&RegexMatcher> {
        self.any.get_or_init(|| matcher::compile(self.query).ok().map(|(matcher, _)| matcher)).as_ref()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.ascii.line_terminator()
    }
}
