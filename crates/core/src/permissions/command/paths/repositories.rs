//! What `git` reads and writes by the words of its subcommands.

use super::super::argument::{ANYTHING, Argument};
use super::archives::few;
use super::operands::file_of_address;
use super::pathspecs::{Tree, is_all, is_commit, may_be_branch};
use super::plain::without_plain_words;
use super::searches::programmed;
use super::subcommands::Call;
use super::values::{cluster, is_long, values_of};
use super::{Places, Use};
use crate::access::Operation;

/// Global options that take the next word, unless their value is glued to them by a `=`.
const GLOBAL_VALUES: [&str; 7] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"];

/// What makes a directory a repository of its own, with `objects` and `refs`.
const HEAD: &str = "HEAD";

impl Places<'_> {
    pub(super) fn see_git(&mut self, arguments: &[Argument]) {
        let mut index = 0;
        let mut directories: Vec<Argument> = Vec::new();
        let mut trees: Vec<Argument> = Vec::new();
        let mut repositories: Vec<Argument> = Vec::new();
        while let Some(word) = arguments.get(index).filter(|word| word.marked().starts_with('-')) {
            index += 1;
            let text = word.marked();
            let (name, glued) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            if !GLOBAL_VALUES.contains(&name) {
                repositories.extend((name == "--bare").then(|| Argument::known(".")));
                continue;
            }
            let value = glued.map(Argument::known).or_else(|| arguments.get(index).cloned());
            index += usize::from(glued.is_none());
            match (name, value) {
                ("-C", Some(value)) => directories.push(value),
                ("--work-tree", Some(value)) => trees.push(value),
                ("--git-dir", Some(value)) => {
                    self.add(&value, Use::Perhaps);
                    repositories.push(value);
                }
                (_, _) => {}
            }
        }
        self.add_glued(&without_plain_words("git", arguments));
        let Some(subcommand) = arguments.get(index) else { return };
        let rest = &arguments[index + 1..];
        if matches!(subcommand.marked(), "init" | "clone") {
            repositories.iter().for_each(|place| self.add_within(place, &[&Argument::known(HEAD)]));
        }
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
        let call = Call::new(subcommand, rest);
        let words = &call.words[..];
        self.see_files_of_options(subcommand, rest);
        self.see_git_options(subcommand, rest, &call);
        match subcommand {
            "add" | "stage" => self.see_add(&call),
            "diff" => {
                // Outside of the repository is what makes it compare files that git does not know.
                let is_outside = |text: &str| text.starts_with(['/', '~']) || text.split('/').any(|name| name == "..");
                if call.has(&[], &["no-index"]) || words.iter().any(|word| is_outside(word.marked())) {
                    self.take_trees(words, Use::Whole, Tree::Here);
                }
                self.read_trees(words);
            }
            // `HEAD:.env` names a file inside a commit.
            "show" | "blame" | "annotate" | "hash-object" | "cat-file" | "apply" | "update-index" | "diff-files"
            | "diff-index" => self.read_trees(words),
            "stash" => self.see_stash(&call),
            "archive" => self.see_archive(words),
            "grep" => self.see_git_grep(rest),
            // A name without such a beginning is more often one of a branch.
            "log" | "whatchanged" => {
                let is_file = |word: &&&Argument| word.marked().starts_with(['.', '/', '~']);
                self.add_all(&words.iter().filter(is_file).copied().collect::<Vec<_>>(), Use::Read);
            }
            "rm" if !words.is_empty() => self.take_trees(words, Use::Delete, Tree::Top),
            // Names begin with the word, in whatever directory that leads to.
            "pack-objects" => {
                let packs = words.iter().map(|word| Argument::known(format!("{}-{ANYTHING}", word.marked())));
                packs.for_each(|pack| self.add(&pack, Use::Write));
            }
            // Without `-f` it removes where a setting says so, and nobody knows what `$X` takes back.
            "clean"
                if call.has(&['n'], &["dry-run"])
                    && !call.has(&[], &["no-dry-run"])
                    && !rest.iter().any(Argument::is_dynamic) => {}
            "clean" => self.take_trees(words, Use::Delete, Tree::Here),
            "sparse-checkout" if call.behind(&["list", "disable", "check-rules"]).is_none() => {
                // Directories that are left out are removed with the files in them that git ignores.
                self.take(Tree::Top, Use::Delete);
            }
            "mv" => self.see_moved(words),
            "checkout-index" => {
                let takes_all = call.has(&['a'], &["all"]);
                if takes_all {
                    self.write_over_all();
                }
                // They are put elsewhere.
                if call.has(&[], &["prefix", "temp"]) && (takes_all || !words.is_empty()) {
                    self.take_trees(words, Use::Whole, Tree::Here);
                }
                self.write_trees(words);
            }
            "restore" => self.write_trees(words),
            "checkout" => self.see_checkout(rest, &call),
            "switch" if call.may_have(&['f'], &["discard-changes", "force"]) => self.write_over_all(),
            "reset" if call.may_have(&[], &["hard", "keep", "merge"]) => self.write_over_all(),
            "read-tree" if call.has(&['u'], &[]) => self.write_over_all(),
            "merge-file" => {
                self.add_all(words, Use::Read);
                self.add_all(words.get(..1).unwrap_or_default(), Use::Write);
            }
            "init" | "clone" => {
                self.see_new_repository(subcommand, words);
                self.see_bare_repository(subcommand, rest, &call);
            }
            "worktree" => self.see_worktree(&call),
            "bundle" => {
                if let Some(files) = call.behind(&["create"]) {
                    self.take(Tree::Top, Use::Whole);
                    self.write_trees(files.get(..1).unwrap_or_default());
                }
            }
            "fast-export" => self.take(Tree::Top, Use::Whole),
            "submodule" => {
                if let Some(words) = call.behind(&["add"]) {
                    self.write_trees(words.get(1..2).unwrap_or_default());
                } else if let Some(words) = call.behind(&["deinit"]) {
                    self.take_trees(words, Use::Delete, Tree::Top);
                }
            }
            _ => {}
        }
        if let Some(start) = rest.iter().position(|word| word.marked() == "--") {
            let files: Vec<&Argument> = rest[start + 1..].iter().collect();
            if subcommand == "checkout" { self.write_trees(&files) } else { self.read_known(&files) }
        }
    }

    /// Files, also within commits.
    fn read_trees(&mut self, words: &[&Argument]) {
        let files: Vec<Argument> = words.iter().flat_map(|word| self.files_of(word)).collect();
        self.read_known(&files.iter().collect::<Vec<_>>());
    }

    /// All that git knows is written anew, as by `git checkout .`.
    fn write_over_all(&mut self) {
        self.add(&Argument::known("."), Use::Within(Operation::Write));
    }

    fn see_add(&mut self, call: &Call<'_>) {
        let takes_new = call.has(&['A'], &["all", "no-ignore-removal"]);
        if takes_new || call.has(&['u'], &["update"]) {
            self.add(&Argument::known("."), Use::Within(Operation::Read));
        }
        // With `-f` also what is ignored, which holds what nobody wants to be added.
        if call.has(&['f'], &["force"]) && (takes_new || !call.words.is_empty()) {
            self.take_trees(&call.words, Use::Whole, Tree::Top);
        }
        self.read_trees(&call.words);
    }

    /// With files that git does not know it takes them away, from the whole repository.
    fn see_stash(&mut self, call: &Call<'_>) {
        const OTHERS: [&str; 10] =
            ["apply", "branch", "clear", "create", "drop", "export", "list", "pop", "show", "store"];
        let takes_unknown = call.has(&['a', 'u'], &["all", "include-untracked"]);
        if takes_unknown && call.behind(&OTHERS).is_none() {
            let files = match call.behind(&["save"]) {
                Some(_message) => &[],
                None => call.behind(&["push"]).unwrap_or(&call.words),
            };
            self.take_trees(files, Use::Delete, Tree::Top);
            self.take_trees(files, Use::Whole, Tree::Top);
        }
        self.read_trees(&call.words);
        self.add_all(&call.words, Use::PerhapsWrite);
    }

    /// A commit or a directory in one, then files; without those, all that lies here.
    fn see_archive(&mut self, words: &[&Argument]) {
        let Some((tree, files)) = words.split_first() else { return };
        let directories = self.files_of(tree);
        if directories.first() == Some(*tree) {
            self.take_trees(files, Use::Whole, if files.is_empty() { Tree::Here } else { Tree::Top });
        } else {
            self.take_trees(&directories.iter().collect::<Vec<_>>(), Use::Whole, Tree::Top);
        }
    }

    fn see_moved(&mut self, words: &[&Argument]) {
        let Some((target, sources)) = words.split_last() else { return };
        self.add_all(sources, Use::Delete);
        self.add_all(sources, Use::Read);
        self.add_all(sources, Use::Whole);
        self.add(target, Use::Write);
        self.add_within(target, sources);
    }

    fn see_new_repository(&mut self, subcommand: &str, words: &[&Argument]) {
        let position = usize::from(subcommand == "clone");
        match words.get(position) {
            Some(directory) => self.write_trees(&[*directory]),
            None => self.write_over_all(),
        }
        // What another machine holds is not ours.
        if let Some(source) = words.first().filter(|_| subcommand == "clone") {
            let source = source.marked();
            if source.starts_with("file:") {
                let path = file_of_address(source).map_or_else(Argument::unknown, Argument::known);
                self.take(Tree::At(path), Use::Whole);
            } else if !source.split('/').next().is_some_and(|host| host.contains(':')) {
                self.take(Tree::At(Argument::known(source)), Use::Whole);
            }
        }
    }

    /// One without files beside it, whose settings lie in the directory itself.
    fn see_bare_repository(&mut self, subcommand: &str, rest: &[Argument], call: &Call<'_>) {
        let head = Argument::known(HEAD);
        if call.has(&[], &["bare", "mirror"]) {
            let place = match (subcommand, &call.words[..]) {
                ("init", [place, ..]) | ("clone", [_, place, ..]) => (*place).clone(),
                ("clone", [source]) => {
                    let source = source.marked().trim_end_matches('/').trim_end_matches(".git");
                    Argument::known(format!("{}.git", source.rsplit(['/', ':']).next().unwrap_or(source)))
                }
                (_, _) => Argument::known("."),
            };
            self.add_within(&place, &[&head]);
        }
        for place in values_of(rest, &["--separate-git-dir"]) {
            self.add_within(&place, &[&head]);
        }
    }

    /// Another directory gets all that git knows, or is removed with all that it does not.
    fn see_worktree(&mut self, call: &Call<'_>) {
        if let Some(words) = call.behind(&["add"]) {
            self.take(Tree::Top, Use::Whole);
            self.write_trees(words.get(..1).unwrap_or_default());
        } else if let Some(words) = call.behind(&["remove"]) {
            self.add_all(words, Use::Delete);
        } else if let Some(words) = call.behind(&["move"]) {
            self.see_moved(words);
        }
    }

    /// Files that options hand over, or that are written by their names.
    fn see_files_of_options(&mut self, subcommand: &str, rest: &[Argument]) {
        let reads: &[&str] = match subcommand {
            "config" => &["-f", "--file"],
            "commit" | "tag" | "notes" | "merge" | "commit-tree" | "fmt-merge-msg" => {
                &["-F", "--file", "-t", "--template"]
            }
            "archive" => &["--add-file"],
            "blame" | "annotate" => &["--contents"],
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
            let what = match subcommand {
                "rm" => Use::Delete,
                "checkout" | "restore" | "reset" | "stash" => Use::Write,
                _ => Use::Read,
            };
            self.add(&Argument::unknown(), what);
        }
        let reads_names: &[&str] = match subcommand {
            "update-index" | "checkout-index" => &["stdin"],
            "hash-object" => &["stdin-paths"],
            "cat-file" => &["batch", "batch-command"],
            _ => &[],
        };
        if rest.iter().any(|word| is_long(word.marked(), reads_names)) {
            self.add(&Argument::unknown(), Use::Read);
            if subcommand == "checkout-index" {
                self.add(&Argument::unknown(), Use::Write);
            }
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
            "checkout-index" | "read-tree" => &["--prefix"],
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
        // Brackets are of the pattern. What looks like a commit may be a file as well.
        let words: Vec<&Argument> =
            found.operands.into_iter().filter(|word| !matches!(word.exact(), Some("(" | ")"))).collect();
        let files: Vec<Argument> = words.iter().flat_map(|word| self.files_of(word)).collect();
        self.take_trees(&files.iter().collect::<Vec<_>>(), Use::Whole, Tree::Here);
        if words.iter().all(|word| is_commit(word)) {
            self.take(Tree::Here, Use::Whole);
        }
    }

    /// `git checkout` takes a commit, then files; with one word alone it may be either.
    fn see_checkout(&mut self, rest: &[Argument], call: &Call<'_>) {
        if call.has(&['f'], &["force"]) {
            self.write_over_all();
        }
        let names_branch = rest.iter().any(|word| {
            is_long(word.marked(), &["orphan"])
                || cluster(word.marked(), "").is_some_and(|(letters, _)| letters.contains(['b', 'B']))
        });
        if names_branch || rest.iter().any(|word| word.marked() == "--") {
            return;
        }
        if let Some((first, files)) = call.words.split_first() {
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
}
