//! Commands whose first operand is a pattern or a program, unless an option hands that over.

use super::super::argument::Argument;
use super::values::{cluster, is_long};
use super::{Places, Use};

/// The options of such a command that take a value: letters, and long names without their dashes.
struct Options {
    /// Any value.
    values: (&'static str, &'static [&'static str]),
    /// The program itself.
    programs: (&'static str, &'static [&'static str]),
    /// A file that holds it.
    files: (&'static str, &'static [&'static str]),
    /// Letters that take the rest of their word, and no word behind it.
    glued: &'static str,
}

/// Letters and names of options whose value is a number: some builds of the programs take it only from the same word, and then
/// what stands behind is the pattern.
const NUMBERS: (&str, [&str; 9]) = (
    "ABCml",
    [
        "after-context",
        "before-context",
        "context",
        "indent",
        "line-length",
        "max-columns",
        "max-count",
        "max-depth",
        "threads",
    ],
);
/// Options without a value by whose names others begin that have one.
const WHOLE_NAMES: [&str; 1] = ["--binary"];

/// The programs of a command that read files, and the files that are left.
pub(super) struct Programmed<'a> {
    /// Files that options hand over.
    pub(super) handed: Vec<Argument>,
    /// The first operand, where no option hands the program over.
    pub(super) program: Option<&'a Argument>,
    pub(super) operands: Vec<&'a Argument>,
}

const GREP: Options = Options {
    values: (
        "ABCmdD",
        &[
            "after-context",
            "before-context",
            "binary-files",
            "context",
            "devices",
            "directories",
            "exclude",
            "exclude-dir",
            "exclude-from",
            "group-separator",
            "include",
            "label",
            "max-count",
        ],
    ),
    programs: ("e", &["regexp"]),
    files: ("f", &["file"]),
    glued: "",
};
const GIT_GREP: Options = Options {
    values: ("ABCm", &["after-context", "before-context", "context", "max-count", "max-depth", "threads"]),
    programs: ("e", &[]),
    files: ("f", &[]),
    glued: "O",
};
const RIPGREP: Options = Options {
    values: (
        "ABCmgtTjMErd",
        &[
            "after-context",
            "before-context",
            "color",
            "colors",
            "context",
            "context-separator",
            "dfa-size-limit",
            "encoding",
            "engine",
            "field-context-separator",
            "field-match-separator",
            "glob",
            "hyperlink-format",
            "iglob",
            "ignore-file",
            "max-columns",
            "max-count",
            "max-depth",
            "max-filesize",
            "path-separator",
            "pre",
            "pre-glob",
            "regex-size-limit",
            "replace",
            "sort",
            "sortr",
            "threads",
            "type",
            "type-add",
            "type-clear",
            "type-not",
        ],
    ),
    programs: ("e", &["regexp"]),
    files: ("f", &["file"]),
    glued: "",
};
const ACK: Options = Options { values: ("ABCm", &[]), programs: ("", &["match"]), files: ("", &[]), glued: "" };
const AWK: Options = Options {
    values: ("Fvl", &["assign", "field-separator", "load"]),
    programs: ("e", &["source"]),
    files: ("fEi", &["exec", "file", "include"]),
    glued: "dopLDW",
};
const SED: Options =
    Options { values: ("l", &["line-length"]), programs: ("e", &["expression"]), files: ("f", &["file"]), glued: "i" };
const JQ: Options =
    Options { values: ("L", &["indent", "library-path"]), programs: ("", &[]), files: ("", &[]), glued: "" };
const YQ: Options = Options {
    values: ("", &["indent"]),
    programs: ("", &["expression"]),
    files: ("", &["from-file", "split-exp-file"]),
    glued: "opIsw",
};
const PERL: Options = Options { values: ("I", &[]), programs: ("eE", &[]), files: ("", &[]), glued: "MmFxCdDiV" };

impl Options {
    fn of(name: &str) -> &'static Self {
        match name {
            "awk" | "gawk" | "mawk" | "nawk" => &AWK,
            "rg" => &RIPGREP,
            "ag" | "ack" => &ACK,
            "sed" | "gsed" => &SED,
            "jq" => &JQ,
            "yq" => &YQ,
            "perl" => &PERL,
            "git grep" => &GIT_GREP,
            _ => &GREP,
        }
    }
}

/// What such a command's words are; `git grep` has a name of its own.
pub(super) fn programmed<'a>(name: &str, arguments: &'a [Argument]) -> Programmed<'a> {
    let options = Options::of(name);
    let valued = [options.values.0, options.programs.0, options.files.0, options.glued].concat();
    let mut found = Programmed { handed: Vec::new(), program: None, operands: Vec::new() };
    let mut is_handed = false;
    let mut words = arguments.iter().peekable();
    let mut only_operands = false;
    while let Some(word) = words.next() {
        let text = word.marked();
        if only_operands || !text.starts_with('-') || text == "-" {
            found.operands.push(word);
        } else if text == "--" {
            only_operands = true;
        } else if text.starts_with("--") {
            let value = text.split_once('=').map(|(_, value)| Argument::known(value));
            let count = if name == "jq" { jq_values(text) } else { None };
            if let Some((count, reads)) = count {
                let values: Vec<Argument> = words.by_ref().take(count).cloned().collect();
                found.handed.extend(values.into_iter().skip(1).filter(|_| reads));
            } else if is_long(text, options.files.1) {
                found.handed.extend(value.or_else(|| words.next().cloned()));
                is_handed = true;
            } else if is_long(text, options.programs.1) {
                if value.is_none() {
                    words.next();
                }
                is_handed = true;
            } else if value.is_none() && is_long(text, options.values.1) && !WHOLE_NAMES.contains(&text) {
                let needs_number = is_long(text, &NUMBERS.1);
                words.next_if(|next| !needs_number || is_number(next));
            }
        } else if let Some((letters, Some((letter, rest)))) = cluster(text, &valued) {
            let is_file = options.files.0.contains(letter);
            let mut value = Some(Argument::known(rest)).filter(|_| !rest.is_empty());
            if value.is_none() && !options.glued.contains(letter) {
                let needs_number = NUMBERS.0.contains(letter) && !is_file;
                value = words.next_if(|next| !needs_number || is_number(next)).cloned();
            }
            is_handed |= is_file || options.programs.0.contains(letter) || takes_program_first(name, letters);
            found.handed.extend(value.filter(|_| is_file));
        } else {
            is_handed |= text.strip_prefix('-').is_some_and(|letters| takes_program_first(name, letters));
        }
        is_handed |= name == "jq" && is_long(text, &["from-file"]);
    }
    if !is_handed && !found.operands.is_empty() {
        found.program = Some(found.operands.remove(0));
    }
    found
}

fn is_number(word: &Argument) -> bool {
    word.marked().starts_with(|character: char| character.is_ascii_digit())
}

/// How many words behind such an option of `jq` are its own, and whether the second is a file.
fn jq_values(text: &str) -> Option<(usize, bool)> {
    match text {
        "--arg" | "--argjson" => Some((2, false)),
        "--slurpfile" | "--rawfile" | "--argfile" => Some((2, true)),
        _ => None,
    }
}

/// Whether one of these letters makes the first operand the file that holds the program.
fn takes_program_first(name: &str, letters: &str) -> bool {
    name == "jq" && letters.contains('f')
}

impl Places<'_> {
    /// `grep pattern files` and its kin.
    pub(super) fn add_after_program(&mut self, name: &str, arguments: &[Argument]) {
        let found = programmed(name, arguments);
        let edits =
            arguments.iter().take_while(|word| word.marked() != "--").any(|word| edits_in_place(name, word.marked()));
        let what = if edits { Use::Write } else { Use::Read };
        for file in &found.handed {
            self.add(file, Use::Read);
        }
        if let Some(program) = found.program.filter(|_| name == "perl") {
            // A script; where it is none, its errors show what it holds.
            self.add(program, Use::Glued);
        }
        self.add_all(&found.operands, what);
    }
}

/// Whether this option makes a program change the files that it reads.
fn edits_in_place(name: &str, text: &str) -> bool {
    // Letters that take the rest of their word.
    let valued = match name {
        "sed" | "gsed" => "efl",
        // A `0` may stand alone, or in front of digits.
        "perl" => "eEIMmFxCdD",
        "yq" => "pIoN",
        _ => return false,
    };
    let edits = |letters: &str| letters.contains('i') || (name != "perl" && letters.contains('I'));
    is_long(text, &["in-place", "inplace"]) || cluster(text, valued).is_some_and(|(letters, _)| edits(letters))
}
