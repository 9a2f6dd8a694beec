//! What is packed, unpacked and fetched: from which directory names count, into which one files are put, and lists of names that
//! only the run knows.

use super::super::argument::{ANYTHING, Argument};
use super::super::deny::has_option;
use super::values::{cluster, is_long, values_of};
use super::{Places, Use};

/// 16 directories that one command names for others to count from.
const DIRECTORIES: usize = 16;
/// 4,096 bytes of their names.
const PATH_BYTES: usize = 4_096;
/// Letters of `tar` that take a value.
const TAR_VALUES: &str = "bCfgHIKLNTVX";

impl Places<'_> {
    /// Notes what such a command touches besides the words that name it.
    pub(super) fn see_archives(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        if reads_names(name, arguments) {
            self.add(&Argument::unknown(), Use::Read);
        }
        match name {
            "tar" | "gtar" | "bsdtar" => self.see_tar(arguments, operands),
            "unzip" => {
                let only_tells = |word: &Argument| {
                    cluster(word.marked(), "dxP")
                        .is_some_and(|(letters, _)| letters.contains(['l', 'v', 't', 'p', 'c', 'z', 'Z']))
                };
                if !arguments.iter().any(only_tells) {
                    self.fill(values_of(arguments, &["-d"]));
                }
            }
            "7z" | "7za" | "7zz" if operands.first().is_some_and(|word| matches!(word.exact(), Some("x" | "e"))) => {
                let directories = arguments.iter().filter_map(|word| word.marked().strip_prefix("-o"));
                self.fill(directories.map(Argument::known).collect());
            }
            "unrar" | "unar" | "ar" | "jar"
                if arguments.first().is_some_and(|word| word.marked().trim_start_matches('-').starts_with('x')) =>
            {
                self.fill(Vec::new());
            }
            "cpio" if has_option(arguments, "i", "extract") => {
                self.fill(values_of(arguments, &["-D", "--directory"]));
            }
            "curl" => {
                let directories = few(values_of(arguments, &["--output-dir"]));
                let outputs =
                    if directories.is_empty() { Vec::new() } else { values_of(arguments, &["-o", "--output"]) };
                for directory in directories {
                    self.from(&directory, |places| {
                        for file in &outputs {
                            places.add(file, Use::Write);
                        }
                        places.add_fetched(name, arguments);
                    });
                }
            }
            "wget" => {
                for directory in values_of(arguments, &["-P", "--directory-prefix"]) {
                    self.add(&directory, Use::Filled);
                }
            }
            _ => {}
        }
    }

    /// Looks at something from another directory.
    pub(super) fn from(&mut self, directory: &Argument, look: impl FnOnce(&mut Self)) {
        let from = match &self.from {
            Some(from) if !directory.marked().starts_with(['/', ANYTHING]) => format!("{from}/{}", directory.marked()),
            Some(_) | None => directory.marked().to_owned(),
        };
        let before = self.from.replace(from);
        look(self);
        self.from = before;
    }

    /// Notes that files are put into these directories, or into the present one where there are none.
    fn fill(&mut self, directories: Vec<Argument>) {
        let here = Argument::known(".");
        for directory in directories.iter().chain(Some(&here).filter(|_| directories.is_empty())) {
            self.add(directory, Use::Filled);
        }
    }

    fn see_tar(&mut self, arguments: &[Argument], operands: &[&Argument]) {
        // The first word is a cluster of letters also without a dash, and their values are the words behind it.
        let bundled = arguments.first().filter(|word| !word.marked().starts_with('-'));
        let is_letter = |letter: char| {
            let first = bundled.is_some_and(|word| word.marked().contains(letter));
            let of_word = |word: &Argument| {
                cluster(word.marked(), TAR_VALUES).is_some_and(|(letters, _)| letters.contains(letter))
            };
            first || arguments.iter().any(of_word)
        };
        let is_named = |names: &[&str]| arguments.iter().any(|word| is_long(word.marked(), names));
        let mut directories = values_of(arguments, &["-C", "--directory"]);
        if bundled.is_some_and(|word| word.marked().contains('C')) {
            directories.extend(operands.iter().skip(1).take(TAR_VALUES.len()).map(|word| (*word).clone()));
        }
        let mut directories = few(directories);
        for directory in &directories {
            self.from(directory, |places| {
                places.add_all(operands, Use::Perhaps);
                places.add_all(operands, Use::Whole);
            });
        }
        let extracts = is_letter('x') || is_named(&["extract", "get"]);
        if extracts && !is_letter('O') && !is_named(&["to-stdout"]) {
            directories.extend(values_of(arguments, &["--one-top-level"]));
            self.fill(directories);
        }
    }
}

/// These directories, or one that nobody knows where they are too many or too long to look at each.
pub(super) fn few(directories: Vec<Argument>) -> Vec<Argument> {
    let bytes: usize = directories.iter().map(|directory| directory.marked().len()).sum();
    if directories.len() > DIRECTORIES || bytes > PATH_BYTES { vec![Argument::unknown()] } else { directories }
}

/// Whether a command reads the names of its files from its input, or from another file.
fn reads_names(name: &str, arguments: &[Argument]) -> bool {
    let has = |letters: &str, names: &[&str]| {
        arguments.iter().any(|word| {
            let text = word.marked();
            let in_cluster =
                text.starts_with('-') && !text.starts_with("--") && text.contains(|letter| letters.contains(letter));
            in_cluster || is_long(text, names)
        })
    };
    match name {
        "tar" | "gtar" | "bsdtar" => {
            let first =
                arguments.first().is_some_and(|word| !word.marked().starts_with('-') && word.marked().contains('T'));
            let in_cluster = |word: &Argument| match cluster(word.marked(), TAR_VALUES) {
                Some((_, Some((letter, _)))) => letter == 'T',
                Some(_) | None => false,
            };
            let names_list = |word: &Argument| {
                let option = word.marked().split('=').next().unwrap_or_default();
                option != "--file" && is_long(option, &["files-from"])
            };
            first || arguments.iter().any(|word| in_cluster(word) || names_list(word))
        }
        "sort" | "wc" => has("", &["files0-from"]),
        "zip" => has("@", &["names-stdin"]),
        "cpio" => has("op", &["create", "pass-through"]),
        "rsync" => has("", &["files-from"]),
        "7z" | "7za" | "7zz" => {
            arguments.iter().any(|word| word.marked().starts_with(['@', '-']) && word.marked().contains('@'))
        }
        _ => false,
    }
}
