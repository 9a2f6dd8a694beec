//! Words of `git` that stand for files: pathspecs, and files within commits. Patterns in them are git's own, for names in every
//! directory, so that one is judged as the directory in front of it.

use super::super::argument::{ANY_NAME, Argument};
use super::entered::is_anywhere;
use super::{Places, Use, is_within};
use crate::access::Operation;

/// What a word takes.
struct Pathspec {
    /// The file that has just this name.
    file: Argument,
    tree: Tree,
}

/// A directory with all that lies below it.
pub(super) enum Tree {
    /// The present one.
    Here,
    /// The top of the repository.
    Top,
    /// One that a word names.
    At(Argument),
}

impl Places<'_> {
    /// Files that are read, and directories with what git knows below them.
    pub(super) fn read_known(&mut self, words: &[&Argument]) {
        self.take_known(words, Use::Read, Use::Whole, Operation::Read);
    }

    /// The same of what is written.
    pub(super) fn write_trees(&mut self, words: &[&Argument]) {
        self.take_known(words, Use::Write, Use::Filled, Operation::Write);
    }

    fn take_known(&mut self, words: &[&Argument], of_file: Use, of_tree: Use, operation: Operation) {
        let named: Vec<Pathspec> = words.iter().filter_map(|word| pathspec(word)).collect();
        if named.is_empty() && !words.is_empty() {
            // All but what is left out.
            self.add_known(Tree::Top, of_tree, operation);
        }
        for Pathspec { file, tree } in named {
            self.add(&file, of_file);
            self.add_known(tree, of_tree, operation);
        }
    }

    /// The files that a word may stand for: `commit:file` counts from the top of the repository, unless it begins with a dot.
    pub(super) fn files_of(&self, word: &Argument) -> Vec<Argument> {
        let Some(file) = file_of(word) else { return vec![word.clone()] };
        let text = file.marked();
        if text.is_empty() {
            return vec![Argument::known(":/")];
        }
        if text.starts_with("./") || text.starts_with("../") {
            return vec![file];
        }
        let below = |top: &Argument| match top.marked() {
            "." => file.clone(),
            top => Argument::known(format!("{top}/{text}")),
        };
        self.tops().iter().map(below).collect()
    }

    /// Where a word stands for all that git knows here, what a rule says of a part of it is left to the names themselves: it would
    /// hold up every `git add .`.
    fn add_known(&mut self, tree: Tree, what: Use, operation: Operation) {
        match tree {
            Tree::Here | Tree::Top => self.add(&here(), Use::Within(operation)),
            Tree::At(directory) => self.add(&directory, what),
        }
    }

    /// Directories with all that lies below them, whether git knows it or not: judged as by commands that are no part of git. Where
    /// words name nothing, or only what is left out, `otherwise` is taken.
    pub(super) fn take_trees(&mut self, words: &[&Argument], what: Use, otherwise: Tree) {
        let named: Vec<Pathspec> = words.iter().filter_map(|word| pathspec(word)).collect();
        if named.is_empty() {
            self.take(otherwise, what);
        }
        for Pathspec { file, tree } in named {
            self.add(&file, if what == Use::Whole { Use::Read } else { what });
            self.take(tree, what);
        }
    }

    pub(super) fn take(&mut self, tree: Tree, what: Use) {
        match tree {
            Tree::Here => self.add(&here(), what),
            Tree::Top => self.tops().iter().for_each(|top| self.add(top, what)),
            Tree::At(directory) => self.add(&directory, what),
        }
    }

    /// Directories that may be the top of the repository: the present one, and the agent's own around it.
    fn tops(&self) -> Vec<Argument> {
        let directories = self.all(self.from.as_deref().unwrap_or("."));
        let is_around = |root: &&String| {
            let holds = |directory: &String| is_anywhere(directory) || is_within(directory, root);
            *root != "/" && directories.iter().any(holds)
        };
        let around = self.roots.iter().chain([&self.base]).filter(is_around);
        [here()].into_iter().chain(around.map(Argument::known)).collect()
    }
}

fn here() -> Argument {
    Argument::known(".")
}

/// What a word stands for; nothing where it takes something away. One with signs in front of it counts from the top of the
/// repository, which nobody knows here.
fn pathspec(word: &Argument) -> Option<Pathspec> {
    let text = word.marked();
    if is_all(word) {
        let tree = if text.starts_with(':') { Tree::Top } else { Tree::Here };
        return Some(Pathspec { file: here(), tree });
    }
    let file = match text.strip_prefix(':') {
        None => word.clone(),
        Some(signed) if signed.starts_with(['!', '^']) || signed.starts_with("(exclude)") => return None,
        Some(signed) if signed.starts_with(['/', '(']) => Argument::unknown(),
        Some(plain) => Argument::known(plain.trim_start_matches(':')),
    };
    let text = file.marked();
    let tree = match text.find(['*', '?', '[', '\\']) {
        None => Tree::At(file.clone()),
        Some(sign) => {
            let directory = Argument::known(&text[..text[..sign].rfind('/').map_or(0, |slash| slash + 1)]);
            if is_all(&directory) { Tree::Here } else { Tree::At(directory) }
        }
    };
    Some(Pathspec { file, tree })
}

/// Whether a word stands for all that git knows here.
pub(super) fn is_all(word: &Argument) -> bool {
    let text = word.marked();
    text.chars().all(|character| matches!(character, '.' | '/' | ':' | ANY_NAME))
        && !text.contains("..")
        && !text.starts_with('/')
}

/// The file that `commit:file` names; nothing behind the colon is all of the commit.
fn file_of(word: &Argument) -> Option<Argument> {
    match word.marked().rsplit_once(':')? {
        ("", "") => None,
        (before, file) if !before.is_empty() || !file.starts_with(['/', '!', '^', '(']) => Some(Argument::known(file)),
        _ => None,
    }
}

/// Whether a word can be a branch or a commit: none has a name that begins with a dot, or ends with a slash.
pub(super) fn may_be_branch(word: &Argument) -> bool {
    let text = word.marked();
    !text.split('/').any(|name| name.starts_with('.') && !name.starts_with(".."))
        && !text.ends_with('/')
        && !text.starts_with('/')
}

/// Whether a word is more likely a commit than a file, by its spelling: of other names nobody knows.
pub(super) fn is_commit(word: &Argument) -> bool {
    let text = word.marked();
    let is_hash = text.len() >= 4 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_relative = !text.starts_with('~') && text.contains(['~', '^']);
    let below = ["refs/", "heads/", "tags/", "remotes/", "origin/", "upstream/"];
    matches!(text, "@" | "main" | "master")
        || text.ends_with("HEAD")
        || text.contains("@{")
        || is_hash
        || is_relative
        || below.iter().any(|directory| text.starts_with(directory))
}
