//! What is believed of an answer. A guest that was taken over may say anything of its own files; what it says stays within
//! what was asked for, and no number of it is one that others cannot count with.

use crate::backend::{ExecuteOutcome, FileInfo, FileSlice, Listing, Updated, Window};
use crate::error::{Error, ErrorKind, Result};
use crate::search::{FindOutcome, GlobOutcome, GrepOutcome, Outline};

/// 2^53 - 1: the largest number that every reader of JSON knows; sums of some of them overflow nothing.
const MOST: u64 = (1 << 53) - 1;
/// 8.64e15 milliseconds before and behind 1970: what a date of JavaScript holds.
const MOST_MILLISECONDS: i64 = 8_640_000_000_000_000;
/// 16 KiB of a path: more than any system takes, with its escapes.
const PATH_BYTES: usize = 16 << 10;
/// 32 bytes of the name of a signal.
const SIGNAL_BYTES: usize = 32;
/// 1 KiB: the marker of what was left out comes on top of the bytes that are kept.
const MARKER_BYTES: usize = 1 << 10;

/// A guest that answers what was not asked.
pub(super) fn nonsense() -> Error {
    Error::new(ErrorKind::BackendUnavailable, "The container answered with what was not asked for.")
}

/// An answer within bounds.
pub(super) trait Believe: Sized {
    /// The part of it that is believed; at most `most` of what it lists.
    fn believed(self, most: usize) -> Result<Self>;
}

fn number(number: u64) -> u64 {
    number.min(MOST)
}

fn count(count: usize) -> usize {
    count.min(usize::try_from(MOST).unwrap_or(usize::MAX / 4))
}

/// Whether it is a path of the container, and of no other place when it is put behind a prefix.
fn path(path: &str) -> Result<()> {
    let is_sane = path.starts_with('/') && path.len() <= PATH_BYTES && !path.split('/').any(|name| name == "..");
    if is_sane { Ok(()) } else { Err(nonsense()) }
}

fn info(info: &mut FileInfo) -> Result<()> {
    info.size = number(info.size);
    info.modified_at = info.modified_at.filter(|at| (-MOST_MILLISECONDS..=MOST_MILLISECONDS).contains(at));
    if info.name.len() > PATH_BYTES { Err(nonsense()) } else { path(&info.path) }
}

fn list<T>(entries: &mut [T], is_sane: impl Fn(&mut T) -> Result<()>, most: usize) -> Result<()> {
    if entries.len() > most { Err(nonsense()) } else { entries.iter_mut().try_for_each(is_sane) }
}

/// Where there are ranks, each belongs to a file.
fn ranks(ranks: &[Option<i64>], files: usize) -> Result<()> {
    if ranks.is_empty() || ranks.len() == files { Ok(()) } else { Err(nonsense()) }
}

impl Believe for FileInfo {
    fn believed(mut self, _: usize) -> Result<Self> {
        info(&mut self)?;
        Ok(self)
    }
}

impl Believe for Listing {
    fn believed(mut self, most: usize) -> Result<Self> {
        list(&mut self.entries, info, most)?;
        Ok(self)
    }
}

impl Believe for Outline {
    fn believed(mut self, most: usize) -> Result<Self> {
        let entry = |entry: &mut crate::search::OutlineEntry| {
            entry.files = entry.files.map(number);
            info(&mut entry.info)
        };
        list(&mut self.entries, entry, most)?;
        let (total, files, ignored) = (count(self.total), self.files.map(number), number(self.ignored));
        Ok(Self { total, files, ignored, ..self })
    }
}

impl Believe for GlobOutcome {
    fn believed(mut self, most: usize) -> Result<Self> {
        list(&mut self.files, info, most)?;
        ranks(&self.ranks, self.files.len())?;
        if let Some(next) = &self.next {
            path(&next.path)?;
        }
        let (total, before, ignored) = (count(self.total), count(self.before), number(self.ignored));
        Ok(Self { total, before, ignored, ..self })
    }
}

impl Believe for FindOutcome {
    fn believed(mut self, most: usize) -> Result<Self> {
        list(&mut self.files, info, most)?;
        Ok(Self { total: count(self.total), ignored: number(self.ignored), ..self })
    }
}

impl Believe for GrepOutcome {
    fn believed(mut self, most: usize) -> Result<Self> {
        let found = |found: &mut crate::search::GrepMatch| {
            found.line_number = number(found.line_number);
            for line in found.before.iter_mut().chain(&mut found.after) {
                line.line_number = number(line.line_number);
            }
            path(&found.path)
        };
        list(&mut self.matches, found, most)?;
        let file = |file: &mut crate::search::GrepFile| {
            file.count = number(file.count);
            path(&file.path)
        };
        list(&mut self.files, file, most)?;
        ranks(&self.ranks, self.files.len())?;
        Ok(Self {
            total_matches: number(self.total_matches),
            total_files: number(self.total_files),
            searched_files: number(self.searched_files),
            too_large_files: number(self.too_large_files),
            ignored: number(self.ignored),
            ..self
        })
    }
}

impl Believe for Updated {
    fn believed(self, _: usize) -> Result<Self> {
        Ok(Self { size: number(self.size), ..self })
    }
}

impl Believe for u64 {
    fn believed(self, _: usize) -> Result<Self> {
        Ok(number(self))
    }
}

/// Lines of a file, of which `window` was asked for.
pub(super) fn slice(slice: FileSlice, content: String, window: &Window) -> Result<FileSlice> {
    // No line is shorter than its end, and the last may have none. A byte may become three: U+FFFD.
    let (bytes, most) = (content.len() as u64, window.max_bytes.saturating_mul(3));
    if slice.offset > window.offset || slice.lines > bytes + 1 || slice.lines > window.limit || bytes > most {
        return Err(nonsense());
    }
    Ok(FileSlice {
        content,
        bytes: number(slice.bytes),
        total_lines: slice.total_lines.map(number),
        next_offset: slice.next_offset.map(number),
        ..slice
    })
}

/// How a command ended, without what it printed and what else is for us to say.
pub(super) fn ending(told: ExecuteOutcome, ours: ExecuteOutcome) -> ExecuteOutcome {
    ExecuteOutcome {
        exit_code: told.exit_code,
        signal: told
            .signal
            .filter(|name| name.len() <= SIGNAL_BYTES && name.bytes().all(|byte| byte.is_ascii_graphic())),
        timed_out: told.timed_out,
        aborted: told.aborted,
        processes_left: told.processes_left,
        processes_kept: told.processes_kept,
        peak_memory_bytes: told.peak_memory_bytes.map(number),
        ceiling: told.ceiling,
        supervisor_lost: told.supervisor_lost,
        ..ours
    }
}

/// How a command ended, and `most` bytes of each stream that it printed. A file with more of it is none that we made.
pub(super) fn outcome(mut told: ExecuteOutcome, most: usize) -> ExecuteOutcome {
    let most = most.saturating_add(MARKER_BYTES);
    let mut truncated = told.truncated;
    let mut text = |text: &mut String| {
        let mut text = std::mem::take(text);
        if text.len() > most {
            text.truncate(text.floor_char_boundary(most));
            truncated = true;
        }
        text
    };
    let (output, stdout, stderr) = (text(&mut told.output), text(&mut told.stdout), text(&mut told.stderr));
    let duration_ms = number(told.duration_ms);
    ending(told, ExecuteOutcome { output, stdout, stderr, truncated, duration_ms, ..ExecuteOutcome::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> FileInfo {
        let kind = crate::backend::FileKind::File;
        FileInfo { name: "a".to_owned(), path: path.to_owned(), kind, size: u64::MAX, modified_at: Some(i64::MIN) }
    }

    #[test]
    fn paths_are_of_the_container_and_lists_no_longer_than_asked() {
        let listing =
            |paths: &[&str]| Listing { entries: paths.iter().map(|path| file(path)).collect(), truncated: false };
        let believed = listing(&["/a", "/a/..b"]).believed(2).unwrap();
        assert_eq!((believed.entries[0].size, believed.entries[0].modified_at), (MOST, None));
        let long = format!("/{}", "a".repeat(PATH_BYTES));
        for paths in [&["a"][..], &["/a/../b"], &["/.."], &[""], &[&long], &["/a", "/b", "/c"]] {
            assert_eq!(listing(paths).believed(2).unwrap_err().kind(), ErrorKind::BackendUnavailable);
        }
    }

    #[test]
    fn numbers_are_ones_to_count_with() {
        let glob = GlobOutcome {
            files: vec![file("/a")],
            total: usize::MAX,
            before: usize::MAX,
            ignored: u64::MAX,
            ..GlobOutcome::default()
        };
        let GlobOutcome { total, before, ignored, .. } = glob.clone().believed(1).unwrap();
        assert_eq!((before + total, ignored), (2 * usize::try_from(MOST).unwrap(), MOST));
        // Fewer ranks than files.
        let ranked = GlobOutcome { ranks: vec![None, None], ..glob };
        assert!(ranked.believed(1).is_err());
        assert_eq!(u64::MAX.believed(1).unwrap(), MOST);
    }

    #[test]
    fn an_outcome_is_bounded_and_names_no_file_of_ours() {
        let told = ExecuteOutcome {
            output: "é".repeat(2_000),
            stdout: "x".repeat(1_000),
            signal: Some("\u{1b}[2J".to_owned()),
            exit_code: Some(3),
            spill_path: Some("/home/u/.ssh/id_rsa".to_owned()),
            duration_ms: u64::MAX,
            ..ExecuteOutcome::default()
        };
        let outcome = outcome(told, 100);
        assert_eq!((outcome.output.len(), outcome.stdout.len(), outcome.truncated), (1_124, 1_000, true));
        assert_eq!((outcome.exit_code, outcome.signal, outcome.spill_path), (Some(3), None, None));
        assert_eq!(outcome.duration_ms, MOST);
    }
}
