//! Collects the matching lines of one file as the searcher reports them.

use std::io;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::line;
use super::page::FileHits;
use crate::cancel::Deadline;
use crate::search::query::{GrepLine, GrepMatch};

/// What of a file's matches is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keep {
    /// Matches; 0 where only counts are wanted.
    pub(super) matches: usize,
    /// Bytes of text.
    pub(super) bytes: usize,
    /// Characters of one line.
    pub(super) line_chars: usize,
}

/// The matches of one file.
pub(super) struct FileSink<'a, M> {
    matcher: &'a M,
    deadline: &'a Deadline,
    path: &'a str,
    keep: Keep,
    /// Lines seen, of matches and of context.
    lines: u64,
    /// Matching lines so far.
    pub(super) count: u64,
    /// The first of them.
    matches: Vec<GrepMatch>,
    /// Bytes of their text.
    bytes: usize,
    /// Context for the next match.
    before: Vec<GrepLine>,
}

impl<'a, M: Matcher> FileSink<'a, M> {
    pub(super) fn new(matcher: &'a M, deadline: &'a Deadline, path: &'a str, keep: Keep) -> Self {
        Self { matcher, deadline, path, keep, lines: 0, count: 0, matches: Vec::new(), bytes: 0, before: Vec::new() }
    }

    /// Whether matches are kept, or counted only.
    pub(super) fn keeps(&self) -> bool {
        self.keep.matches > 0
    }

    /// What was collected.
    pub(super) fn into_hits(self, modified_ns: Option<i64>) -> FileHits {
        FileHits {
            path: self.path.to_owned(),
            modified_ns,
            count: self.count,
            matches: self.matches,
            bytes: self.bytes,
        }
    }

    /// Looks at the clock now and then.
    fn look(&mut self) -> io::Result<()> {
        /// Lines between two looks: some hundred microseconds of collecting.
        const LINES_A_LOOK: u64 = 256;
        self.lines += 1;
        if self.lines.is_multiple_of(LINES_A_LOOK) && self.deadline.check().is_err() {
            return Err(io::Error::other("the call must end"));
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.matches.len() < self.keep.matches && self.bytes < self.keep.bytes
    }

    fn text(&mut self, line: &[u8], is_match: bool) -> String {
        let matcher = self.matcher;
        let text = line::shown(line, self.keep.line_chars, |line| {
            if !is_match {
                return None;
            }
            matcher.find(line).ok().flatten().map(|hit| hit.start()..hit.end())
        });
        self.bytes += text.len() + self.path.len();
        text
    }
}

impl<M: Matcher> Sink for FileSink<'_, M> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        self.look()?;
        if self.has_room() {
            let line = self.text(found.bytes(), true);
            self.matches.push(GrepMatch {
                path: self.path.to_owned(),
                line_number: found.line_number().unwrap_or_default(),
                line,
                before: std::mem::take(&mut self.before),
                after: Vec::new(),
            });
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.look()?;
        let is_before = match context.kind() {
            SinkContextKind::Before => true,
            SinkContextKind::After => false,
            SinkContextKind::Other => return Ok(true),
        };
        let wanted = if is_before { self.has_room() } else { self.count == self.matches.len() as u64 };
        if wanted {
            let line = self.text(context.bytes(), false);
            let line = GrepLine { line_number: context.line_number().unwrap_or_default(), line };
            match self.matches.last_mut() {
                Some(found) if !is_before => found.after.push(line),
                _ => self.before.push(line),
            }
        }
        Ok(true)
    }
}
