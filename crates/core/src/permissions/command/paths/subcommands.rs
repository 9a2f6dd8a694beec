//! The words behind a subcommand of `git`: its options, and what is left as operands.

use super::super::argument::{ANYTHING, Argument};
use super::values::{cluster, is_long, parted};

/// Letters, and long names, of the options of a subcommand that take the next word.
fn valued(subcommand: &str) -> (&'static str, &'static [&'static str]) {
    match subcommand {
        "clone" => (
            "bocuj",
            &[
                "branch",
                "bundle-uri",
                "config",
                "depth",
                "filter",
                "jobs",
                "origin",
                "ref-format",
                "reference",
                "reference-if-able",
                "revision",
                "separate-git-dir",
                "server-option",
                "shallow-exclude",
                "shallow-since",
                "template",
                "upload-pack",
            ],
        ),
        "init" => ("b", &["initial-branch", "object-format", "ref-format", "separate-git-dir", "template"]),
        "worktree" => ("bB", &["reason"]),
        "submodule" => ("b", &["branch", "depth", "name", "reference"]),
        "checkout" => ("bB", &["conflict", "orphan", "pathspec-from-file"]),
        "restore" => ("s", &["conflict", "pathspec-from-file", "source"]),
        "clean" => ("e", &["exclude"]),
        "archive" => ("o", &["add-file", "add-virtual-file", "exec", "format", "mtime", "output", "prefix", "remote"]),
        "checkout-index" => ("", &["prefix", "stage"]),
        "read-tree" => ("", &["exclude-per-directory", "index-output", "prefix"]),
        "stash" => ("m", &["message", "pathspec-from-file"]),
        "merge-file" => ("L", &["diff-algorithm", "marker-size"]),
        _ => ("", &[]),
    }
}

/// What stands behind a subcommand.
pub(super) struct Call<'a> {
    /// Letters of its options that take a value.
    letters: &'static str,
    /// Without their values, where those are words of their own.
    options: Vec<&'a str>,
    pub(super) words: Vec<&'a Argument>,
}

impl<'a> Call<'a> {
    pub(super) fn new(subcommand: &str, rest: &'a [Argument]) -> Self {
        let (letters, names) = valued(subcommand);
        let (options, words) = parted(rest, letters, names);
        Self { letters, options, words }
    }

    /// Whether one of these options is there, by a letter or a long name without its dashes. One of which a part is known only when
    /// it runs may be any.
    pub(super) fn has(&self, letters: &[char], names: &[&str]) -> bool {
        let in_cluster = |word: &str| cluster(word, self.letters).is_some_and(|(cluster, _)| cluster.contains(letters));
        self.options.iter().any(|word| is_long(word, names) || in_cluster(word) || word.contains(ANYTHING))
    }

    /// The same, where a word that only the run knows may be such an option.
    pub(super) fn may_have(&self, letters: &[char], names: &[&str]) -> bool {
        self.has(letters, names) || self.words.iter().any(|word| word.is_dynamic())
    }

    /// The words behind the first, where that is one of these.
    pub(super) fn behind(&self, first: &[&str]) -> Option<&[&'a Argument]> {
        let (word, rest) = self.words.split_first()?;
        word.exact().is_some_and(|word| first.contains(&word)).then_some(rest)
    }
}
