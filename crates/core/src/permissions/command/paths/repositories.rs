//! What `git` reads and writes by the words of its subcommands.

use super::super::argument::{ANY_NAME, ANYTHING, Argument};
use super::archives::few;
use super::plain::without_plain_words;
use super::searches::programmed;
use super::values::{cluster, is_long, positional, values_of};
use super::{Places, Use};
use crate::access::Operation;

/// Global options that take the next word, unless their value is glued to them by a `=`.
const GLOBAL_VALUES: [&str; 7] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"];

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
        "checkout-index" => ("", &["prefix", "stage"]),
        "stash" => ("m", &["message", "pathspec-from-file"]),
        "merge-file" => ("L", &["diff-algorithm", "marker-size"]),
        _ => ("", &[]),
    }
}

impl Places<'_> {
    pub(super) fn see_git(&mut self, arguments: &[Argument]) {
        let mut index = 0;
        let mut directories: Vec<Argument> = Vec::new();
        let mut trees: Vec<Argument> = Vec::new();
        while let Some(word) = arguments.get(index).filter(|word| word.marked().starts_with('-')) {
            index += 1;
            let text = word.marked();
            let (name, glued) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            if !GLOBAL_VALUES.contains(&name) {
                continue;
            }
            let value = glued.map(Argument::known).or_else(|| arguments.get(index).cloned());
            index += usize::from(glued.is_none());
            match (name, value) {
                ("-C", Some(value)) => directories.push(value),
                ("--work-tree", Some(value)) => trees.push(value),
                ("--git-dir", Some(value)) => self.add(&value, Use::Perhaps),
                (_, _) => {}
            }
        }
        self.add_glued(&without_plain_words("git", arguments));
        let Some(subcommand) = arguments.get(index) else { return };
        let rest = &arguments[index + 1..];
        if directories.is_empty() && trees.is_empty() {
            self.see_subcommand(subcommand.marked(), rest);
            return;
        }
        let (directories, trees) = (few(directories), few(trees));
        // Each directory counts from the one before.
        let from = directories.iter().fold(String::from("."), |from, directory| match directory.marked() {
            absolute if absolute.starts_with(['/', ANYTHING]) => absolute.to_owned(),
            relative => format!("{from}/{relative}"),
        });
        self.from(&Argument::known(from), |places| {
            places.add_glued(&without_plain_words("git", rest));
            places.see_subcommand(subcommand.marked(), rest);
            for tree in &trees {
                // Whatever git does in a tree of files is done there.
                places.add(tree, Use::Whole);
                places.add(tree, Use::Filled);
                places.from(tree, |places| places.see_subcommand(subcommand.marked(), rest));
            }
        });
    }

    fn see_subcommand(&mut self, subcommand: &str, rest: &[Argument]) {
        let (letters, names) = valued(subcommand);
        let operands = positional(rest, letters, names);
        let words = &operands[..];
        self.see_files_of_options(subcommand, rest);
        match subcommand {
            // `HEAD:.env` names a file inside a commit.
            "show" | "diff" | "add" | "blame" | "annotate" | "archive" | "hash-object" | "cat-file" | "stash"
            | "apply" | "update-index" => {
                for word in words {
                    self.read_tree(&file_of(word));
                }
                if subcommand == "stash" {
                    self.add_all(words, Use::PerhapsWrite);
                }
                let takes_all = |word: &Argument| {
                    is_long(word.marked(), &["all", "update", "no-ignore-removal"])
                        || cluster(word.marked(), "").is_some_and(|(letters, _)| letters.contains(['A', 'u']))
                };
                if subcommand == "add" && rest.iter().any(takes_all) {
                    self.add(&Argument::known("."), Use::Within(Operation::Read));
                }
            }
            "grep" => self.see_git_grep(rest),
            "interpret-trailers" => self.add_all(words, Use::Read),
            // A name without such a beginning is more often one of a branch.
            "log" | "whatchanged" => {
                let is_file = |word: &&&Argument| word.marked().starts_with(['.', '/', '~']);
                self.add_all(&words.iter().filter(is_file).copied().collect::<Vec<_>>(), Use::Read);
            }
            "rm" => self.add_all(words, Use::Delete),
            // Names begin with the word, in whatever directory that leads to.
            "pack-objects" => {
                let packs = words.iter().map(|word| Argument::known(format!("{}-{ANYTHING}", word.marked())));
                packs.for_each(|pack| self.add(&pack, Use::Write));
            }
            "clean" => {
                self.add_all(words, Use::Delete);
                if words.is_empty() {
                    self.add(&Argument::known("."), Use::Within(Operation::Delete));
                }
            }
            "mv" => {
                if let Some((target, sources)) = words.split_last() {
                    self.add_all(sources, Use::Delete);
                    self.add_all(sources, Use::Read);
                    self.add_all(sources, Use::Whole);
                    self.add(target, Use::Write);
                    self.add_within(target, sources);
                }
            }
            "restore" | "checkout-index" => self.write_trees(words),
            "checkout" => self.see_checkout(rest, words),
            "merge-file" => {
                self.add_all(words, Use::Read);
                self.add_all(words.get(..1).unwrap_or_default(), Use::Write);
            }
            "init" | "clone" => {
                let position = usize::from(subcommand == "clone");
                match words.get(position) {
                    Some(directory) => self.write_trees(&[*directory]),
                    None => self.add(&Argument::known("."), Use::Within(Operation::Write)),
                }
            }
            "worktree" | "bundle" | "submodule"
                if words.first().is_some_and(|word| matches!(word.exact(), Some("add" | "create"))) =>
            {
                let position = 1 + usize::from(subcommand == "submodule");
                self.write_trees(words.get(position..=position).unwrap_or_default());
            }
            _ => {}
        }
        if let Some(start) = rest.iter().position(|word| word.marked() == "--") {
            for word in &rest[start + 1..] {
                if subcommand == "checkout" { self.write_trees(&[word]) } else { self.read_tree(word) }
            }
        }
    }

    /// Files that options hand over, or that are written by their names.
    fn see_files_of_options(&mut self, subcommand: &str, rest: &[Argument]) {
        let reads: &[&str] = match subcommand {
            "config" => &["-f", "--file"],
            "commit" | "tag" | "notes" | "merge" | "commit-tree" | "fmt-merge-msg" => {
                &["-F", "--file", "-t", "--template"]
            }
            "format-patch" => &["--signature-file"],
            "fast-export" | "fast-import" => &["--import-marks", "--import-marks-if-exists"],
            _ => &[],
        };
        for file in values_of(rest, reads) {
            self.add(&file, Use::Read);
        }
        for list in values_of(rest, &["--pathspec-from-file"]) {
            // The names in it are known only to the run.
            self.add(&list, Use::Read);
            let what = if matches!(subcommand, "checkout" | "restore" | "rm" | "reset" | "stash") {
                Use::Write
            } else {
                Use::Read
            };
            self.add(&Argument::unknown(), what);
        }
        let writes: &[&str] = match subcommand {
            "archive" => &["-o", "--output"],
            "fast-export" | "fast-import" => &["--export-marks", "--output"],
            "clone" | "init" => &["--separate-git-dir"],
            _ => &["--output"],
        };
        for file in values_of(rest, writes) {
            self.add(&file, Use::Write);
        }
        let filled: &[&str] = match subcommand {
            "format-patch" | "bugreport" | "diagnose" => &["-o", "--output-directory"],
            "checkout-index" => &["--prefix"],
            "clone" | "init" => &["--separate-git-dir"],
            _ => &[],
        };
        for directory in values_of(rest, filled) {
            self.add(&directory, Use::Filled);
        }
        if subcommand == "format-patch" {
            self.add(&Argument::known("."), Use::Within(Operation::Write));
        }
    }

    /// A pattern, then commits and files; without those, all that lies here.
    fn see_git_grep(&mut self, rest: &[Argument]) {
        let found = programmed("git grep", rest);
        for file in &found.handed {
            self.add(file, Use::Read);
        }
        for word in &found.operands {
            self.read_tree(&file_of(word));
        }
        let searches_files = rest.iter().any(|word| is_long(word.marked(), &["no-index", "untracked"]));
        if found.operands.is_empty() {
            let what = if searches_files { Use::Whole } else { Use::Within(Operation::Read) };
            self.add(&Argument::known("."), what);
        }
    }

    /// `git checkout` takes a commit, then files; with one word alone it may be either.
    fn see_checkout(&mut self, rest: &[Argument], words: &[&Argument]) {
        let names_branch = rest.iter().any(|word| {
            is_long(word.marked(), &["orphan"])
                || cluster(word.marked(), "").is_some_and(|(letters, _)| letters.contains(['b', 'B']))
        });
        if names_branch || rest.iter().any(|word| word.marked() == "--") {
            return;
        }
        if let Some((first, files)) = words.split_first() {
            if is_all(first) {
                self.add(first, Use::Within(Operation::Write));
            } else if !may_be_branch(first) {
                self.write_trees(&[*first]);
            } else if !first.is_dynamic() {
                self.add(first, Use::PerhapsWrite);
            }
            self.write_trees(files);
        }
    }

    /// A file that is read, or a directory with all that lies below it.
    fn read_tree(&mut self, word: &Argument) {
        let Some(word) = &path_of(word) else { return };
        self.add(word, Use::Read);
        self.add(word, if is_all(word) { Use::Within(Operation::Read) } else { Use::Whole });
    }

    /// The same of what is written.
    fn write_trees(&mut self, words: &[&Argument]) {
        for word in words.iter().filter_map(|word| path_of(word)) {
            let word = &word;
            self.add(word, Use::Write);
            self.add(word, if is_all(word) { Use::Within(Operation::Write) } else { Use::Filled });
        }
    }
}

/// The file that `commit:file` names, or the word itself.
fn file_of(word: &Argument) -> Argument {
    match word.marked().rsplit_once(':') {
        Some((before, file)) if !before.is_empty() || !file.starts_with(['/', '!', '^', '(']) => Argument::known(file),
        Some(_) | None => word.clone(),
    }
}

/// The path that a word stands for: one with signs in front of it counts from the top of the repository, which nobody knows
/// here, or takes something away.
fn path_of(word: &Argument) -> Option<Argument> {
    let Some(signed) = word.marked().strip_prefix(':') else { return Some(word.clone()) };
    if is_all(word) {
        return Some(Argument::known("."));
    }
    match signed.chars().next() {
        Some('!' | '^') => None,
        Some('(') if signed.starts_with("(exclude)") => None,
        Some('/' | '(') => Some(Argument::unknown()),
        Some(_) | None => Some(word.clone()),
    }
}

/// Whether a word can be a branch or a commit: none has a name that begins with a dot, or ends with a slash.
fn may_be_branch(word: &Argument) -> bool {
    let text = word.marked();
    !text.split('/').any(|name| name.starts_with('.') && !name.starts_with(".."))
        && !text.ends_with('/')
        && !text.starts_with('/')
}

/// Whether a word stands for all that git knows here: what a rule says of a part of it is left to the names themselves, as it would
/// hold up every `git add .`.
fn is_all(word: &Argument) -> bool {
    let text = word.marked();
    text.chars().all(|character| matches!(character, '.' | '/' | ':' | ANY_NAME))
        && !text.contains("..")
        && !text.starts_with('/')
}
