//! Allow lists: beginnings of commands that may run. Everything else may not, and whatever is not plainly one of them is
//! something else (R-CMD-3). An empty list allows nothing (D53).

use super::argument::Argument;
use crate::script::Script;

/// Options that make a harmless program run others or write files; listed entries must name them.
const DANGEROUS_OPTIONS: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("sed", &["-i", "--in-place", "-s", "-f", "--file"]),
    ("sort", &["-o", "--output", "--compress-program", "-T"]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    (
        "git",
        &[
            "-c",
            "--config-env",
            "--exec-path",
            "--git-dir",
            "--work-tree",
            "-C",
            "--namespace",
            "--super-prefix",
            "-p",
            "--paginate",
            "--ext-diff",
            "--textconv",
            "--output",
            "--output-directory",
            "--export-marks",
            "--attr-source",
            "--open-files-in-pager",
            "-O",
            "--upload-pack",
            "--receive-pack",
            "--exec",
        ],
    ),
    ("npm", &["--prefix", "-C", "--script-shell", "--node-options", "--shell", "--userconfig", "--globalconfig"]),
    ("pnpm", &["--dir", "-C", "--script-shell", "--shell-emulator"]),
    ("yarn", &["--cwd", "--use-yarnrc", "--script-shell"]),
    ("awk", AWK),
    ("gawk", AWK),
    ("mawk", AWK),
    ("nawk", AWK),
    (
        "tar",
        &[
            "-P",
            "--absolute-names",
            "-I",
            "--use-compress-program",
            "--to-command",
            "--checkpoint-action",
            "-F",
            "--info-script",
        ],
    ),
    ("cargo", &["--config", "--manifest-path", "-Z", "-C"]),
    (
        "curl",
        &[
            "-o",
            "-O",
            "-K",
            "-T",
            "-D",
            "-c",
            "--output",
            "--remote-name",
            "--config",
            "--upload-file",
            "--dump-header",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--output-dir",
            "--libcurl",
            "--etag-save",
            "--hsts",
            "--alt-svc",
            "--stderr",
            "--remote-name-all",
            "--remote-header-name",
            "-J",
        ],
    ),
    ("go", &["-C", "-exec", "-toolexec", "-vettool", "-overlay", "-modfile"]),
    ("pytest", &["-c", "-p", "--rootdir", "--confcutdir"]),
    (
        "wget",
        &[
            "-O",
            "-P",
            "-e",
            "-i",
            "-o",
            "-a",
            "--output-document",
            "--directory-prefix",
            "--execute",
            "--post-file",
            "--output-file",
        ],
    ),
    ("man", &["-P", "--pager", "-H", "--html"]),
    ("tree", &["-o"]),
    ("sdiff", &["-o", "--output", "--diff-program"]),
    ("ctags", &["-f", "-o", "-L", "--options", "--options-maybe", "--libexec-dir", "--data-dir", "--filter"]),
    (
        "pip",
        // Files and directories that are written, another interpreter, and an editor.
        &[
            "--log",
            "--log-file",
            "--python",
            "--report",
            "-t",
            "--target",
            "--prefix",
            "--root",
            "--src",
            "--source",
            "--source-directory",
            "-d",
            "--dest",
            "--destination-directory",
            "-w",
            "--wheel-dir",
            "--cache-dir",
            "--editor",
        ],
    ),
    (
        "make",
        &[
            "-f",
            "--file",
            "--makefile",
            "-C",
            "--directory",
            "-I",
            "--include-dir",
            "--eval",
            "SHELL",
            "MAKEFLAGS",
            ".SHELLFLAGS",
        ],
    ),
];

/// A program of awk in a file, and libraries.
const AWK: &[&str] = &["-f", "--file", "-E", "--exec", "-i", "--include", "-l", "--load"];

/// An allow list at work on one command line.
#[derive(Debug)]
pub(super) struct AllowList {
    entries: Vec<Entry>,
    refusal: Option<String>,
}

#[derive(Debug)]
struct Entry {
    words: Vec<String>,
}

impl AllowList {
    pub(super) fn new(entries: &[String]) -> Self {
        let entries = entries
            .iter()
            .map(|entry| Entry { words: entry.split_whitespace().map(str::to_owned).collect() })
            .filter(|entry| !entry.words.is_empty())
            .collect();
        Self { entries, refusal: None }
    }

    /// Refuses the command line; the first reason stays.
    pub(super) fn refuse(&mut self, reason: String) {
        self.refusal.get_or_insert(reason);
    }

    pub(super) fn see_constructs(&mut self, script: &Script) {
        let constructs = script.constructs;
        for (present, what) in [
            (constructs.control_flow, "it uses a subshell, loop, condition or function"),
            (constructs.substitution, "it uses the output of a command as part of another"),
            (constructs.background, "it starts something in the background"),
        ] {
            if present {
                self.refuse(what.to_owned());
            }
        }
        if script.commands.iter().any(|command| command.words.is_empty() && !command.assignments.is_empty()) {
            self.refuse("it sets a variable".to_owned());
        }
    }

    pub(super) fn see_command(&mut self, arguments: &[Argument]) {
        if let Some(reason) = self.reason_against(arguments) {
            self.refuse(reason);
        }
    }

    fn reason_against(&self, arguments: &[Argument]) -> Option<String> {
        let Some(name) = arguments.first().and_then(Argument::exact) else {
            return Some("the name of a command is known only when it runs".to_owned());
        };
        if arguments.iter().any(Argument::is_dynamic) {
            return Some(format!("an argument of '{name}' is known only when it runs"));
        }
        let matching: Vec<&Entry> = self.entries.iter().filter(|entry| entry.matches(arguments)).collect();
        if matching.is_empty() {
            return Some(format!("'{}' is not listed", super::super::pattern::shown(name)));
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let base = if is_pip(base) { "pip" } else { base };
        let (_, options) = DANGEROUS_OPTIONS.iter().find(|(known, _)| *known == base)?;
        let dangerous = arguments[1..].iter().find(|word| {
            let text = word.marked();
            // A variable of make may hold the command that a rule runs.
            let is_variable = base == "make" && text.contains('=');
            // `-w '%output{file}'`
            let names_output = base == "curl" && text.contains("%output{");
            let writes = match base {
                "git" => names_file_of_git(&arguments[1..], text),
                "pip" => names_file_of_pip(&arguments[1..], text),
                _ => false,
            };
            let is_known =
                |option: &&str| if base == "pip" { is_option_of_pip(text, option) } else { is_option(text, option) };
            (is_variable || names_output || writes || options.iter().any(is_known))
                && !matching.iter().any(|entry| entry.words.iter().any(|known| known == text))
        })?;
        Some(format!("the option '{}' of '{name}' can run or write something else", dangerous.shown()))
    }

    /// Why the command line may not run, when it may not.
    pub(super) fn refusal(self, parsed: bool, has_commands: bool) -> Option<String> {
        if !parsed {
            return Some("it was not understood".to_owned());
        }
        if !has_commands {
            return Some("it holds no command".to_owned());
        }
        self.refusal
    }
}

/// Whether a word of `git` is followed by a file that its subcommand writes, where the same word of another says something else.
fn names_file_of_git(arguments: &[Argument], text: &str) -> bool {
    let mut words = arguments.iter().map(Argument::marked).filter(|word| !word.starts_with('-'));
    match words.next() {
        Some("archive" | "format-patch" | "bugreport" | "diagnose" | "mailsplit" | "index-pack") => {
            is_option(text, "-o")
        }
        // Each of its words is a file.
        Some("mailinfo") => text == "mailinfo",
        Some("bundle") => text == "create" && words.next() == Some("create"),
        _ => false,
    }
}

/// `pip`, `pip3` or `pip3.12`.
fn is_pip(name: &str) -> bool {
    name.strip_prefix("pip").is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// The same of `pip`.
fn names_file_of_pip(arguments: &[Argument], text: &str) -> bool {
    let mut words = arguments.iter().map(Argument::marked).filter(|word| !word.starts_with('-'));
    words.next() == Some("lock") && (is_option(text, "-o") || is_option(text, "--output"))
}

/// As [`is_option`]: behind a letter that takes a value stands that (`-rrequirements.txt`), and `--pre` is whole.
fn is_option_of_pip(word: &str, option: &str) -> bool {
    let (Some(letter), Some(letters)) = (option.strip_prefix('-'), word.strip_prefix('-')) else { return false };
    if letter.starts_with('-') || letters.starts_with('-') {
        return word != "--pre" && is_option(word, option);
    }
    letters.find(['C', 'c', 'd', 'e', 'f', 'i', 'r', 't', 'w']).is_some_and(|at| letters[at..].starts_with(letter))
}

/// Whether a word is `option`: itself, with `=value`, or with a value glued to a single letter.
/// Long options may be cut short (`--outp`), and single letters stand together (`-uo`).
pub(super) fn is_option(word: &str, option: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if name == option {
        return true;
    }
    if option.starts_with("--") {
        return name.len() > 2 && option.starts_with(name);
    }
    match (option.strip_prefix('-'), word.strip_prefix('-')) {
        (Some(letter), Some(letters)) if letter.len() == 1 => !letters.starts_with('-') && letters.contains(letter),
        // `+command` of pagers.
        (None, _) if option == "+" => word.starts_with('+'),
        (_, _) => false,
    }
}

/// Whether a word is `expected`, in which a `*` stands for any text.
fn matches_word(expected: &str, word: &str) -> bool {
    let mut pieces = expected.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = word.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(position) = rest.find(piece) else { return false };
        rest = &rest[position + piece.len()..];
    }
    true
}

impl Entry {
    fn matches(&self, arguments: &[Argument]) -> bool {
        self.words.len() <= arguments.len()
            && self.words.iter().zip(arguments).all(|(expected, word)| match word.exact() {
                Some(word) => matches_word(expected, word),
                None => false,
            })
    }
}
