//! What a walk holds on to, however large a tree is (R-FS-10), entries that cannot be used (D74), and what is done after an
//! abort.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::made::MadeTree;
use super::*;
use crate::access::{Guard, Operation};
use crate::cancel::{CancelToken, Deadline};
use crate::error::ErrorKind;
use crate::search::{self, FindOutcome, FindQuery, Obstacle, Outline, OutlineQuery};

fn root() -> VirtualPath {
    VirtualPath::root()
}

fn names(pattern: &str) -> GlobQuery {
    GlobQuery { path: root(), ..super::pattern(pattern) }
}

/// What the four searches say of all that a tree holds.
struct Answers {
    glob: GlobOutcome,
    grep: GrepOutcome,
    find: FindOutcome,
    outline: Outline,
}

impl Answers {
    fn of(tree: &MadeTree, search_threads: usize) -> Self {
        let (call, limits) = (Call::default(), Limits { search_threads, ..Limits::default() });
        let shape = OutlineQuery { path: root(), depth: 2, respect_ignore: true, counts: true };
        Self {
            glob: search::glob(tree, &names("**/*.txt"), &call, &limits).unwrap(),
            grep: search::grep(tree, &GrepQuery { path: root(), files_only: true, ..lines("x") }, &call, &limits)
                .unwrap(),
            find: search::find(tree, &FindQuery::new("txt", root()), &call, &limits).unwrap(),
            outline: search::outline(tree, &shape, &call, &limits).unwrap(),
        }
    }

    /// How many files each of them knows.
    fn totals(&self) -> [usize; 4] {
        [
            self.glob.total,
            self.grep.total_files as usize,
            self.find.total,
            self.outline.files.unwrap_or_default() as usize,
        ]
    }

    /// Whether each of them says that it is cut short, in both of the fields that speak of it.
    fn cut_short(&self) -> [(bool, bool); 4] {
        [
            (self.glob.incomplete, self.glob.truncated),
            (self.grep.incomplete, self.grep.truncated),
            (self.find.incomplete, self.find.truncated),
            (self.outline.incomplete, self.outline.truncated),
        ]
    }
}

/// D74: one escaping link in a directory made `ls` and `grep` of the whole tree fail.
#[test]
fn what_cannot_be_read_is_left_out_of_every_search_and_ends_none() {
    let tree = || {
        MadeTree::new(|path, visit| {
            let names: &[&str] = match path {
                "" => &["a.txt", "d-closed", "d-fine", "d-unlisted", "gone.txt"],
                _ => &["b.txt"],
            };
            let _ = names.iter().try_for_each(|name| visit(name));
        })
    };
    assert_eq!(Answers::of(&tree(), 1).totals(), [5; 4]);
    let unusable = &["d-closed", "d-unlisted", "gone.txt"];
    for threads in [1, 4] {
        let tree = tree().without(unusable, Obstacle::Unusable);
        let Answers { glob, grep, find, outline } = Answers::of(&tree, threads);
        let expected = ["/a.txt", "/d-fine/b.txt"];
        assert_eq!(glob.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(grep.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(grep.searched_files, 2);
        assert_eq!(find.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), expected);
        // A directory that nobody may list is there all the same.
        let expected = ["/d-closed", "/d-fine", "/d-fine/b.txt", "/d-unlisted", "/a.txt"];
        assert_eq!(outline.entries.iter().map(|entry| entry.info.path.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(Answers { glob, grep, find, outline }.cut_short(), [(false, false); 4]);
    }
    // Where descriptors ran out somebody might have read it: the answer owns up to what is missing.
    for unusable in [&["d-closed"], &["d-unlisted"]] {
        let answers = Answers::of(&tree().without(unusable, Obstacle::Exhausted), 1);
        assert_eq!(answers.totals(), [4; 4]);
        assert_eq!(answers.cut_short(), [(true, true); 4]);
    }
    let of_file = Answers::of(&tree().without(&["gone.txt"], Obstacle::Exhausted), 1);
    assert_eq!((of_file.grep.incomplete, of_file.grep.truncated), (true, true));
}

/// R-FS-10: a walk keeps a bounded number of directories open, wherever it goes on later.
#[test]
fn directories_that_are_open_are_few_in_a_tree_that_is_wide_and_deep() {
    const WIDE: usize = 1_000;
    const DEEP: usize = 300;
    let tree = || {
        MadeTree::new(|path, visit| {
            let _ = visit("f.txt");
            if path.is_empty() {
                let _ = (0..WIDE).try_for_each(|index| visit(&format!("d{index}")));
            }
            // The chain is the last that is listed and the first that is entered: on each level two others wait.
            let level = path.split('/').filter(|name| *name == "dc").count();
            if path.split('/').all(|name| name.is_empty() || name == "dc") && level < DEEP {
                let _ = ["da", "db", "dc"].iter().try_for_each(|name| visit(name));
            }
        })
    };
    for threads in [1, 4] {
        let tree = tree();
        let answers = Answers::of(&tree, threads);
        assert_eq!(answers.totals(), [1 + WIDE + 3 * DEEP; 4]);
        // 255 in which others wait, and in each thread the one that it lists or two on its way down from the root.
        let most = tree.most_open();
        assert!(most <= 255 + 2 * threads, "{most} directories open, {threads} threads");
        assert!(threads > 1 || most > 255, "only {most} open directories: nothing was bounded");
    }
}

/// Somebody may fill a directory with more names than memory holds.
#[test]
fn a_directory_without_end_is_listed_up_to_the_bytes_that_names_may_have() {
    const MOST: usize = 64 << 20;
    const NAME: usize = 1 << 20;
    let listed = Arc::new(AtomicUsize::new(0));
    let tree = MadeTree::new({
        let listed = Arc::clone(&listed);
        let long = "n".repeat(NAME);
        move |_, visit| {
            let mut bytes = NAME;
            let mut flow = visit("a.txt");
            while flow.is_continue() && bytes < 2 * MOST {
                flow = visit(&long);
                bytes += NAME;
            }
            listed.fetch_max(bytes, Ordering::Relaxed);
        }
    });
    let answers = Answers::of(&tree, 1);
    assert!(listed.load(Ordering::Relaxed) <= MOST + NAME, "{listed:?} bytes of names");
    assert_eq!(answers.totals(), [1; 4]);
    assert_eq!(answers.cut_short(), [(true, true); 4]);
}

#[test]
fn more_directories_than_are_counted_apart_make_counts_lower_bounds() {
    const DIRECTORIES: usize = 100_001;
    let tree = MadeTree::new(|path, visit| {
        let _ = match path {
            "" => (0..DIRECTORIES).try_for_each(|index| visit(&format!("d{index}"))),
            _ => visit("f"),
        };
    });
    let query = OutlineQuery { path: root(), depth: 1, respect_ignore: true, counts: true };
    let limits = Limits { list_entries: DIRECTORIES, search_threads: 1, ..Limits::default() };
    let outline = search::outline(&tree, &query, &Call::default(), &limits).unwrap();
    assert!(outline.incomplete && outline.truncated);
    assert_eq!((outline.total, outline.files), (DIRECTORIES, Some(DIRECTORIES as u64)));
    // One was not counted, and nothing but that was wrong.
    let counted = outline.entries.iter().filter(|entry| entry.files == Some(1)).count();
    assert_eq!((outline.entries.len(), counted), (DIRECTORIES, DIRECTORIES - 1));
}

/// Cancels at the first file, and counts the files that were looked at from then on.
struct Cancels(CancelToken, AtomicUsize);

impl Guard for Cancels {
    fn check(&self, _: Operation, path: &VirtualPath) -> Result<()> {
        if path.as_str().ends_with(".txt") {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.cancel();
        }
        Ok(())
    }
}

/// How a search of 200 files ends that is cancelled when it looks at the first one, and how many it looked at.
fn cancelled_in_the_middle<A>(search: impl Fn(&MadeTree, &Call, &Limits) -> Result<A>) -> (Option<ErrorKind>, usize) {
    let tree = MadeTree::new(|path, visit| {
        let _ = match path {
            "" => (0..10).try_for_each(|index| visit(&format!("d{index}"))),
            _ => (0..20).try_for_each(|index| visit(&format!("{index}.txt"))),
        };
    });
    let cancel = CancelToken::new();
    let guard = Arc::new(Cancels(cancel.clone(), AtomicUsize::new(0)));
    let call = Call { deadline: Deadline { cancel, at: None }, guard: guard.clone() };
    let ended = search(&tree, &call, &Limits { search_threads: 1, ..Limits::default() });
    (ended.err().map(|error| error.kind()), guard.1.load(Ordering::Relaxed))
}

#[test]
fn a_cancelled_search_looks_at_no_other_file() {
    let one = (Some(ErrorKind::Aborted), 1);
    assert_eq!(cancelled_in_the_middle(|tree, call, limits| search::glob(tree, &names("**"), call, limits)), one);
    let query = FindQuery::new("txt", root());
    assert_eq!(cancelled_in_the_middle(|tree, call, limits| search::find(tree, &query, call, limits)), one);
    for (depth, counts) in [(2, false), (2, true), (1, true)] {
        let query = OutlineQuery { path: root(), depth, respect_ignore: true, counts };
        assert_eq!(cancelled_in_the_middle(|tree, call, limits| search::outline(tree, &query, call, limits)), one);
    }
}
