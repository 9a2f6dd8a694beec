//! What can be asked of a search, and what it answers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::file_info::FileInfo;
use crate::path::VirtualPath;

/// A search for names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobQuery {
    /// `*` within a segment, `**` across segments, `?`, `[…]`, `{a,b}`. Relative to `path`; one without `/` matches
    /// names in that directory only.
    pub pattern: String,
    /// Where to search; a file is tested itself.
    pub path: VirtualPath,
    /// What may match.
    pub entries: EntryFilter,
    /// Whether names that begin with `.` are visited. A pattern that names the dot visits them anyway.
    pub hidden: bool,
    /// Whether `.gitignore` and `.ignore` files are honoured, in a repository or not.
    pub respect_ignore: bool,
    /// What becomes of links to what is inside.
    pub links: LinkPolicy,
    /// Threads to use at most; 0 leaves it to `Limits::search_threads`.
    pub threads: usize,
    /// The order of the answer.
    pub sort: SortOrder,
    /// Where the page before ended, for paging: only what comes after it is returned, whatever was added or changed
    /// meanwhile. `None` begins at the first.
    pub after: Option<Cursor>,
    /// Results to skip from there on.
    pub offset: usize,
    /// Results to return, at most `Limits::glob_paths`.
    pub limit: usize,
}

impl GlobQuery {
    /// The defaults of every backend: files, hidden and ignored ones left out, newest first, up to 10,000.
    pub fn new(pattern: impl Into<String>, path: VirtualPath) -> Self {
        Self {
            pattern: pattern.into(),
            path,
            entries: EntryFilter::Files,
            hidden: false,
            respect_ignore: true,
            links: LinkPolicy::Match,
            threads: 0,
            sort: SortOrder::Modified,
            after: None,
            offset: 0,
            limit: 10_000,
        }
    }
}

/// Which kinds of entries match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryFilter {
    /// Regular files, and links to them that stay inside.
    #[serde(rename = "file")]
    Files,
    /// Directories.
    #[serde(rename = "directory")]
    Directories,
    /// Both.
    Any,
}

/// What becomes of links. None is ever entered, and one that leads out is never seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkPolicy {
    /// A link counts as what it leads to, under its own name.
    Match,
    /// They are left out: what they lead to is found where it is.
    Skip,
}

/// The order of results. Ties are broken by path, so that the order is total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// Newest first.
    Modified,
    /// By path.
    Path,
}

/// What a search for names found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GlobOutcome {
    /// The page asked for.
    pub files: Vec<FileInfo>,
    /// What each of them is ordered by: nanoseconds since 1970. Empty where a backend knows milliseconds only.
    pub ranks: Vec<Option<i64>>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Cursor>,
    /// All that matched, on this page and before and after it; a lower bound when the search itself was cut short.
    pub total: usize,
    /// How many of them do not come after the query's cursor.
    pub before: usize,
    /// What ignore files left out: files of matching names, and directories that were therefore not looked into.
    pub ignored: u64,
    /// Whether more matched than the page holds, or the search was cut short.
    pub truncated: bool,
    /// Whether time or a budget ended the walk, so that `total` is a lower bound.
    pub incomplete: bool,
}

/// A place in the order of a search for names: that of its last result so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Nanoseconds since 1970 of that result's last change; `None` where unknown.
    pub rank: Option<i64>,
    /// Its path, as bytes that need not be one where the cursor is that of another file system.
    pub path: String,
}

impl Cursor {
    /// The cursor of a result, of which `rank` may be unknown but to the millisecond.
    pub(crate) fn of(file: &FileInfo, rank: Option<Option<i64>>) -> Self {
        let milliseconds = || file.modified_at.and_then(|ms| ms.checked_mul(1_000_000));
        Self { rank: rank.unwrap_or_else(milliseconds), path: file.path.clone() }
    }
}

/// As text for whoever pages; [`Cursor::from_str`] reads it.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "{rank} {}", self.path),
            None => write!(f, "- {}", self.path),
        }
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid("The cursor is none that an earlier page returned; search from the start.");
        let (rank, path) = text.split_once(' ').ok_or_else(wrong)?;
        let rank = if rank == "-" { None } else { Some(rank.parse().map_err(|_| wrong())?) };
        Ok(Self { rank, path: path.to_owned() })
    }
}

/// A search for a file of which only parts of the path are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindQuery {
    /// Words, each of which must fit the path below `path`: its letters in order, case of no account, one in five
    /// missing at most.
    pub query: String,
    /// The directory to search.
    pub path: VirtualPath,
    /// What stands before each path below `path` when it is held against the words: `a/b/` where a larger search of
    /// several file systems comes down to this directory as its `a/b`. Empty for a search of its own.
    pub above: String,
    /// Whether names that begin with `.` are visited.
    pub hidden: bool,
    /// Whether `.gitignore` and `.ignore` files are honoured.
    pub respect_ignore: bool,
    /// Results to skip, for paging.
    pub offset: usize,
    /// Results to return, at most `Limits::glob_paths`.
    pub limit: usize,
}

impl FindQuery {
    /// The defaults of every backend: hidden and ignored files left out, the best 20.
    pub fn new(query: impl Into<String>, path: VirtualPath) -> Self {
        Self {
            query: query.into(),
            path,
            above: String::new(),
            hidden: false,
            respect_ignore: true,
            offset: 0,
            limit: 20,
        }
    }
}

/// What a search by parts of a path found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FindOutcome {
    /// The page asked for, best fit first.
    pub files: Vec<FileInfo>,
    /// All that fit; a lower bound when the search itself was cut short.
    pub total: usize,
    /// What ignore files left out: files that fit or not, and directories that were therefore not looked into.
    pub ignored: u64,
    /// Whether more fit than the page holds, or the search was cut short.
    pub truncated: bool,
    /// Whether time or a budget ended the walk, so that `total` is a lower bound.
    pub incomplete: bool,
}

/// A look at a tree, for orienting oneself in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineQuery {
    /// The directory; a file shows itself.
    pub path: VirtualPath,
    /// Levels to show: 1 for the directory's own entries, 0 for none, where only counts are wanted.
    pub depth: u32,
    /// Whether `.gitignore` and `.ignore` files are honoured, and `.git` left out with them. Other hidden names are
    /// shown.
    pub respect_ignore: bool,
    /// Whether the files below each directory are counted, at any depth.
    pub counts: bool,
}

/// What is in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outline {
    /// Directories first, then by name, each directory followed by its entries. Where there are more than
    /// `Limits::list_entries`, the deepest are left out first.
    pub entries: Vec<OutlineEntry>,
    /// All entries on the levels asked for; a lower bound when the walk was cut short.
    pub total: usize,
    /// Regular files below the directory at any depth, where counts were asked for.
    pub files: Option<u64>,
    /// Entries that ignore files left out, what lies below them not counted.
    pub ignored: u64,
    /// Whether there is more than is returned, or the walk was cut short.
    pub truncated: bool,
    /// Whether time or a budget ended the walk, so that counts are lower bounds.
    pub incomplete: bool,
}

/// One entry of an [`Outline`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineEntry {
    /// The entry.
    #[serde(flatten)]
    pub info: FileInfo,
    /// Of a directory, where counts were asked for: the regular files below it, at any depth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
}

/// A search for lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepQuery {
    /// A regular expression of the `regex` crate (linear time), or plain text when `literal`.
    pub pattern: String,
    /// Where to search: a directory, or a file, which is always searched.
    pub path: VirtualPath,
    /// Whether `pattern` is plain text.
    pub literal: bool,
    /// How letters compare.
    pub case: CaseMode,
    /// Whether a match must be a whole word.
    pub word: bool,
    /// Whether a match may span lines (`\n` in the pattern).
    pub multiline: bool,
    /// Whether the pattern may look around (`(?=…)`, `(?<!…)`) and refer back (`\\1`), line by line. Such a pattern is
    /// tried within a bound of steps; a line that needs more makes the answer incomplete.
    pub look_around: bool,
    /// Only files that match one of these globs; one without `/` matches the name at any depth, `!` excludes. Empty:
    /// all files.
    pub globs: Vec<String>,
    /// Only files of one of these types (`ts`, `rust`, `md`, as `rg --type-list` names them). Empty: all files.
    pub types: Vec<String>,
    /// Whether hidden files are searched.
    pub hidden: bool,
    /// Whether `.gitignore` and `.ignore` files are honoured.
    pub respect_ignore: bool,
    /// What becomes of links to what is inside.
    pub links: LinkPolicy,
    /// Threads to use at most; 0 leaves it to `Limits::search_threads`.
    pub threads: usize,
    /// Lines of context before a match.
    pub before: u32,
    /// Lines of context after a match.
    pub after: u32,
    /// Matching lines of one file to return, and to count, before it is left; `None` for all.
    pub max_per_file: Option<u64>,
    /// Whether only the files are wanted: a file is left after its first match.
    pub files_only: bool,
    /// Whether only the counts are wanted: no lines are returned.
    pub count_only: bool,
    /// Results to skip: matches, or files with `files_only` or `count_only`.
    pub offset: usize,
    /// Results to return: matches, or files with `files_only` or `count_only`; at most `Limits::grep_matches`.
    pub limit: usize,
    /// The order of files.
    pub sort: SortOrder,
}

impl GrepQuery {
    /// The defaults of every backend: a case-sensitive regular expression over all files but hidden and ignored ones,
    /// newest first, without context, up to 10,000 matches.
    pub fn new(pattern: impl Into<String>, path: VirtualPath) -> Self {
        Self {
            pattern: pattern.into(),
            path,
            literal: false,
            case: CaseMode::Sensitive,
            word: false,
            multiline: false,
            look_around: false,
            globs: Vec::new(),
            types: Vec::new(),
            hidden: false,
            respect_ignore: true,
            links: LinkPolicy::Skip,
            threads: 0,
            before: 0,
            after: 0,
            max_per_file: None,
            files_only: false,
            count_only: false,
            offset: 0,
            limit: 10_000,
            sort: SortOrder::Modified,
        }
    }
}

/// How letters compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseMode {
    /// `a` is not `A`.
    Sensitive,
    /// `a` is `A`.
    Insensitive,
    /// Insensitive unless the pattern holds an upper-case letter.
    Smart,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrepMatch {
    /// The file.
    pub path: String,
    /// From 1.
    pub line_number: u64,
    /// The line without its line end, or the lines that a `multiline` match touches; a long one is cut around the match.
    pub line: String,
    /// Lines before it, in order; a line that stands between two matches is shown once, and a match never as context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<GrepLine>,
    /// Lines after it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<GrepLine>,
}

/// A line of context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrepLine {
    /// From 1.
    pub line_number: u64,
    /// The line without its line end.
    pub line: String,
}

/// A file that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrepFile {
    /// The file.
    pub path: String,
    /// Matching lines; 1 with `files_only`.
    pub count: u64,
}

/// What a search for lines found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GrepOutcome {
    /// The page of matches; empty with `files_only` and `count_only`.
    pub matches: Vec<GrepMatch>,
    /// The files that matched, in the order of the query; the page of them with `files_only` and `count_only`.
    pub files: Vec<GrepFile>,
    /// What each of `files` is ordered by when the newest come first: nanoseconds since 1970.
    pub ranks: Vec<Option<i64>>,
    /// Matching lines in all.
    pub total_matches: u64,
    /// Matching files in all.
    pub total_files: u64,
    /// Files that were searched.
    pub searched_files: u64,
    /// Files that were left out because they, or a line of theirs, are larger than a search takes.
    pub too_large_files: u64,
    /// What ignore files left out: files, and directories that were therefore not looked into.
    pub ignored: u64,
    /// Whether more was found than is returned, or the search was cut short.
    pub truncated: bool,
    /// Whether time or a budget ended the search, so that totals are lower bounds.
    pub incomplete: bool,
}
