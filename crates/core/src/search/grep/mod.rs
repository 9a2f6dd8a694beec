//! Finding lines by pattern.
//!
//! The walk hands each file to a [`worker`]; most files are read whole and asked once whether they hold a match, so a
//! file without one costs an open, a read and a scan. [`page`] keeps only what the page asked for may need.

use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use self::engines::{Engines, Linear};
use self::look_around::LookAround;
use self::matcher::MAX_REGEX_BYTES;
use self::pace::Pace;
use self::page::{MAX_TEXT_BYTES, Page};
pub(crate) use self::quick::{LastPattern, Quick};
use self::sink::Keep;
use self::worker::{Job, Worker};
use super::filter::Filter;
use super::glob::threads;
use super::order::Ranked;
use super::query::{EntryFilter, GrepOutcome, GrepQuery, LinkPolicy};
use super::start::Start;
use super::tree::Tree;
use super::types;
use super::walk::Walk;
use crate::access::Operation;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::limits::Limits;

mod engines;
mod line;
mod look_around;
mod matcher;
mod pace;
mod page;
mod quick;
mod sink;
mod worker;

/// Answers `query` over `tree`. Blocks. A deadline makes the answer incomplete; an abort is an `Aborted` error. Fails
/// with `InvalidInput` for a pattern, glob or type that is not valid and, as the tree does, for a path that cannot be
/// opened. A file that is named is searched whatever the globs say, also when it looks binary.
pub fn grep<T: Tree>(tree: &T, query: &GrepQuery, call: &Call, limits: &Limits) -> Result<GrepOutcome> {
    if matcher::quick_weight(query).is_some()
        && let Some((ascii, pace)) = matcher::compile_ascii(query, MAX_REGEX_BYTES)
    {
        return grep_with(tree, query, (&Linear::ascii_first(query, &ascii), pace), call, limits);
    }
    let linear = matcher::compile(query);
    if linear.is_ok() || !query.look_around || query.literal {
        let (matcher, pace) = linear?;
        return grep_with(tree, query, (&Linear::new(query, matcher), pace), call, limits);
    }
    let matcher = LookAround::compile(query).map_err(|error| in_either(query, linear.err(), error))?;
    let mut outcome = grep_with(tree, query, (&matcher, look_around::PACE), call, limits)?;
    outcome.incomplete |= matcher.exceeded();
    outcome.truncated |= outcome.incomplete;
    Ok(outcome)
}

/// Why nobody can search for the pattern of `query`; `None` where one can. Takes as long as compiling it does.
pub(crate) fn pattern_fault(query: &GrepQuery) -> Option<Error> {
    let linear = matcher::compile(query).err()?;
    if !query.look_around || query.literal {
        return Some(linear);
    }
    LookAround::compile(query).err().map(|error| in_either(query, Some(linear), error))
}

/// What is wrong in either language is told in the words of the usual one.
fn in_either(query: &GrepQuery, linear: Option<Error>, look_around: Error) -> Error {
    linear.filter(|_| !matcher::needs_look_around(&query.pattern)).unwrap_or(look_around)
}

fn grep_with<T: Tree, E: Engines>(
    tree: &T,
    query: &GrepQuery,
    (engines, pace): (&E, Pace),
    call: &Call,
    limits: &Limits,
) -> Result<GrepOutcome> {
    let deadline = call.deadline.within(limits.search_timeout);
    let guard = call.guard.as_ref();
    let (start, names) = Start::open(tree, &query.path, query.respect_ignore, guard, Operation::Grep)?;
    let by_file = query.files_only || query.count_only;
    let limit = query.limit.min(limits.grep_matches);
    let wanted = query.offset.saturating_add(limit);
    let keep_files = if by_file { wanted } else { wanted.max(limits.grep_matches) };
    let keep_matches = if by_file { 0 } else { wanted };
    let job = Job {
        tree,
        guard,
        names: &names,
        query,
        engines,
        pace,
        deadline: &deadline,
        keep: Keep { matches: keep_matches, bytes: MAX_TEXT_BYTES, line_chars: limits.line_chars },
        max_file_bytes: limits.grep_file_bytes,
        bytes_left: AtomicU64::new(limits.grep_bytes),
        large: Mutex::new(()),
    };
    let worker = || Worker::new(&job, Page::new(query.sort, keep_files, keep_matches));
    let (workers, ignored, incomplete) = match start {
        Start::File(opened) => {
            guard.check(Operation::Read, &opened.resolved)?;
            let (file, metadata) = tree.open_named(&opened, &query.path)?;
            let mut worker = worker();
            let shown = names.shown(opened.resolved.as_str().as_bytes());
            let ended = worker.search(file, metadata.size, metadata.modified_ns, &shown, true).is_err();
            if deadline.cancel.is_cancelled() {
                deadline.check()?;
            }
            (vec![worker], 0, ended)
        }
        Start::Directory(root) => {
            let filter = Filter::of_globs(&query.globs, &types::globs(&query.types)?, &query.path, query.hidden)?;
            let walk = Walk {
                tree,
                filter: &filter,
                entries: EntryFilter::Files,
                links: query.links == LinkPolicy::Match,
                levels: u32::MAX,
                respect_ignore: query.respect_ignore,
                costly: true,
                threads: threads(limits, query.threads),
                deadline: &deadline,
            };
            let walked = walk.run(root, worker)?;
            (walked.visitors, walked.left_out, walked.incomplete)
        }
    };
    let mut page = Page::new(query.sort, keep_files, keep_matches);
    let (mut searched_files, mut too_large_files) = (0, 0);
    let mut incomplete = incomplete;
    for worker in workers {
        incomplete |= worker.exceeded;
        searched_files += worker.searched;
        too_large_files += worker.too_large;
        page.merge(worker.page);
    }
    let (total_files, total_matches) = (page.total_files, page.total_matches);
    let mut files = page.into_files();
    let (matches, returned, total) = if by_file {
        files.drain(..query.offset.min(files.len()));
        (Vec::new(), files.len(), total_files)
    } else {
        let matches = page::matches(&mut files, query.offset, limit);
        let returned = matches.len();
        (matches, returned, total_matches)
    };
    let ranks = files.iter().map(Ranked::rank).collect();
    let truncated = incomplete || (query.offset.saturating_add(returned) as u64) < total;
    Ok(GrepOutcome {
        matches,
        files: page::listed(files),
        ranks,
        total_matches,
        total_files,
        searched_files,
        too_large_files,
        ignored,
        truncated,
        incomplete,
    })
}
