//! Which files a command touches, where it runs, and which directories are more than a file's worth.

use super::CommandContext;
use super::allow::is_option;
use super::argument::{ANYTHING, Argument};

mod directories;
mod names;

pub(super) use names::may_match;
use names::{may_be_within, without_proc};

/// 16 directories that a command line may be in at one point; more are taken as unknown.
const DIRECTORIES: usize = 16;
/// 2,000 places: a command line has no room for more that matter.
const PLACES: usize = 2_000;

/// What a command does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
    Delete,
    /// The command is not known: it reads the file, or perhaps writes it.
    Perhaps,
}

/// A file that a command touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where it can be: absolute, normalised, with the markers of [`super::argument`]; several where the directory that
    /// the command runs in is not certain.
    pub(crate) paths: Vec<String>,
    pub(crate) what: Use,
}

/// Where a `cd` leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Moved {
    /// Nowhere, or to a directory that may be entered.
    Inside,
    /// Out of the fence.
    Outside(String),
    /// Nobody knows.
    Unknown,
}

/// The directories and files of a command line, as it is read from left to right.
pub(super) struct Places<'a> {
    context: &'a CommandContext,
    /// Every directory that a command can be in by now, up to [`DIRECTORIES`]; [`ANYTHING`] behind them when there are more.
    everywhere: Vec<String>,
    /// Where it is for sure, as long as `&&` follows a `cd`.
    here: Option<Vec<String>>,
    /// Directories that a command behind this one leads to, where commands do not run in the order of their text.
    maybe: Vec<String>,
    /// Names of functions, which lead wherever their bodies do.
    functions: Vec<String>,
    repeats: bool,
    places: Vec<Place>,
    reads: Vec<String>,
    writes: Vec<String>,
}

/// What a command's words are.
enum Operands {
    /// Not files, or nothing but names of them.
    Data,
    /// All are read.
    Read,
    /// All but the first are read; the first is a pattern or program, unless an option hands one over.
    ReadAfterProgram,
    Write,
    Delete,
    /// The last is written, the others are read.
    Copy,
    /// The last is written, the others are removed.
    Move,
    /// All but the first are written; the first is a mode.
    WriteAfterMode,
    /// `if=` is read, `of=` is written.
    Dd,
    Git,
    Unknown,
}

fn operands_of(name: &str) -> Operands {
    match name {
        "echo" | "printf" | "true" | "false" | ":" | "test" | "[" | "[[" | "export" | "read" | "exit" | "return"
        | "sleep" | "date" | "kill" | "set" | "unset" | "shift" | "whoami" | "uname" | "id" | "seq" | "expr"
        | "type" | "which" | "man" | "basename" | "dirname" | "wait" | "jobs" | "ulimit" | "umask" | "history"
        | "printenv" | "env" | "ls" | "dir" | "find" | "fd" | "du" | "df" | "tree" | "pwd" | "hostname" | "ps"
        | "top" | "let" | "local" | "declare" | "typeset" | "readonly" | "cd" | "pushd" | "popd" | "chdir"
        | "command" | "nohup" | "time" | "timeout" | "nice" | "xargs" | "alias" | "eval" | "trap" | "stat" | "file"
        | "realpath" | "readlink" => Operands::Data,
        "cat" | "tac" | "head" | "tail" | "less" | "more" | "nl" | "od" | "xxd" | "hexdump" | "strings" | "base64"
        | "base32" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" | "shasum" | "cksum" | "wc" | "sort" | "uniq"
        | "cut" | "diff" | "cmp" | "comm" | "paste" | "join" | "column" | "fold" | "fmt" | "rev" | "zcat" | "bzcat"
        | "xzcat" | "bat" | "source" | "." | "expand" | "split" | "iconv" => Operands::Read,
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "awk" | "gawk" | "mawk" | "nawk" | "sed"
        | "gsed" | "jq" | "yq" | "perl" => Operands::ReadAfterProgram,
        "tee" | "touch" | "mkdir" | "truncate" | "mkfifo" => Operands::Write,
        "rm" | "rmdir" | "unlink" | "shred" => Operands::Delete,
        "cp" | "install" | "ln" => Operands::Copy,
        "mv" => Operands::Move,
        "chmod" | "chown" | "chgrp" => Operands::WriteAfterMode,
        "dd" => Operands::Dd,
        "git" => Operands::Git,
        _ => Operands::Unknown,
    }
}

impl<'a> Places<'a> {
    /// `maybe` are directories that a command may be in besides those that the commands before it lead to.
    pub(super) fn new(context: &'a CommandContext, maybe: Vec<String>) -> Self {
        Self {
            context,
            everywhere: vec![normalised(&context.working_directory, "/")],
            here: None,
            maybe,
            functions: Vec::new(),
            repeats: false,
            places: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// Begins the next simple command; `joined` when it runs only if the one before succeeded.
    pub(super) fn begin(&mut self, joined: bool) {
        if !joined {
            self.here = None;
        }
    }

    /// Notes what a script holds before its commands come.
    pub(super) fn see_script(&mut self, functions: impl Iterator<Item = String>, repeats: bool) {
        self.functions.extend(functions);
        self.repeats |= repeats;
    }

    /// Every directory that was seen to be entered.
    pub(super) fn entered(&self) -> &[String] {
        &self.everywhere
    }

    /// The name of a program of the system, when that is what a path with a slash leads to.
    pub(super) fn program(&self, word: &str) -> Option<String> {
        self.all(word).into_iter().find_map(|path| {
            let (directory, name) = path.rsplit_once('/')?;
            let in_programs = matches!(directory.rsplit('/').next(), Some("bin" | "sbin"));
            let of_system = word.starts_with('/')
                || ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"].contains(&directory)
                || !self.is_own(&Argument::known(path.clone()));
            (in_programs && of_system).then(|| name.to_owned())
        })
    }

    /// Where the path can lead: from the present directory, or from each that it may be.
    fn all(&self, path: &str) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        let here = match &self.here {
            Some(here) => here.iter().chain(&[]),
            None => self.everywhere.iter().chain(&self.maybe),
        };
        for directory in here {
            let is_anywhere = is_anywhere(directory) && !path.starts_with('/');
            let path = if is_anywhere { directory.clone() } else { normalised(path, directory) };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Notes that a file is touched.
    pub(super) fn add(&mut self, word: &Argument, what: Use) {
        let path = word.marked();
        if path.is_empty() || path == "-" || self.places.len() >= PLACES {
            return;
        }
        let lists = match what {
            Use::Read => [Some(&mut self.reads), None],
            Use::Write | Use::Delete => [None, Some(&mut self.writes)],
            Use::Perhaps => [None, None],
        };
        let shown = word.shown();
        for list in lists.into_iter().flatten() {
            if !list.contains(&shown) {
                list.push(shown.clone());
            }
        }
        let place = Place { paths: self.all(path), what };
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    /// Notes what a command touches, and follows it where it goes.
    pub(super) fn see_command(&mut self, name: &str, arguments: &[Argument]) -> Moved {
        if matches!(name, "cd" | "pushd" | "chdir") {
            let moved = self.enter(arguments);
            if moved == Moved::Unknown {
                self.here = None;
            }
            return moved;
        }
        if matches!(name, "popd" | "eval" | "source" | "." | "trap") || self.functions.iter().any(|known| known == name)
        {
            // They lead back, or wherever their texts do.
            self.here = None;
        }
        let (options, operands) = divide(arguments);
        self.see_outputs(name, arguments, &operands);
        match operands_of(name) {
            Operands::Data => {}
            Operands::Read => self.add_all(&operands, Use::Read),
            Operands::ReadAfterProgram => self.add_after_program(name, arguments),
            Operands::Write => self.add_all(&operands, Use::Write),
            Operands::Delete => self.add_all(&operands, Use::Delete),
            Operands::Copy | Operands::Move => {
                let source = if name == "mv" { Use::Delete } else { Use::Read };
                if options.iter().any(|word| word.starts_with("-t") || word.starts_with("--target-directory")) {
                    self.add_all(&operands, Use::Write);
                    self.add_all(&operands, source);
                } else if let Some((target, sources)) = operands.split_last() {
                    self.add_all(sources, source);
                    if name == "mv" {
                        self.add_all(sources, Use::Read);
                    }
                    self.add(target, Use::Write);
                }
            }
            Operands::WriteAfterMode => self.add_all(&operands[1.min(operands.len())..], Use::Write),
            Operands::Dd => {
                for word in &operands {
                    if let Some(file) = word.marked().strip_prefix("if=") {
                        self.add(&Argument::known(file), Use::Read);
                    } else if let Some(file) = word.marked().strip_prefix("of=") {
                        self.add(&Argument::known(file), Use::Write);
                    }
                }
            }
            Operands::Git => {
                // Other subcommands take names of branches and texts, which look like files and are none.
                let reads =
                    ["show", "diff", "add", "blame", "grep", "archive", "hash-object", "cat-file", "stash", "apply"];
                if operands.first().and_then(|word| word.exact()).is_some_and(|word| reads.contains(&word)) {
                    for word in &operands[1..] {
                        // `HEAD:.env` names a file inside a commit.
                        let file = word.marked().rsplit_once(':').map_or(word.marked(), |(_, file)| file);
                        self.add(&Argument::known(file), Use::Read);
                    }
                }
            }
            Operands::Unknown => self.add_unknown(arguments),
        }
        Moved::Inside
    }

    /// Files that commands write which only read otherwise.
    fn see_outputs(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        let options: &[&str] = match name {
            "sort" => &["-o", "--output"],
            "find" => &["-fprint", "-fprint0", "-fprintf", "-fls"],
            "git" => &["--output"],
            "uniq" | "xxd" => {
                self.add_all(operands.get(1..2).unwrap_or_default(), Use::Write);
                return;
            }
            _ => return,
        };
        for (index, word) in arguments.iter().enumerate() {
            let text = word.marked();
            let Some(option) = options.iter().find(|option| is_option(text, option)) else { continue };
            let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
            let glued = match (text.split_once('='), letter) {
                (Some((_, value)), _) => value,
                (None, Some(letter)) => text.split_once(letter).map_or("", |(_, value)| value),
                (None, None) => "",
            };
            if !glued.is_empty() {
                self.add(&Argument::known(glued), Use::Write);
            } else if let Some(file) = arguments.get(index + 1) {
                self.add(file, Use::Write);
            }
        }
        if name == "find" && arguments.iter().any(|word| word.exact() == Some("-delete")) {
            let starts: Vec<&Argument> =
                arguments.iter().take_while(|word| !word.marked().starts_with(['-', '(', '!'])).collect();
            self.add_all(&starts, Use::Delete);
        }
    }

    fn add_all(&mut self, words: &[&Argument], what: Use) {
        for word in words {
            self.add(word, what);
        }
    }

    /// `grep pattern files` and its kin: the first operand is no file, unless an option hands the pattern over.
    fn add_after_program(&mut self, name: &str, arguments: &[Argument]) {
        let valued = match name {
            "awk" | "gawk" | "mawk" | "nawk" => "Fv",
            "rg" | "ag" | "ack" => "ABCmgtTjMEr",
            "sed" | "gsed" | "jq" | "yq" | "perl" => "l",
            _ => "ABCmdD",
        };
        let mut what = Use::Read;
        let mut handed = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.marked();
            let letter =
                text.strip_prefix('-').filter(|option| option.len() == 1).and_then(|option| option.chars().next());
            if text == "--" {
                continue;
            } else if !text.starts_with('-') || text == "-" {
                if handed {
                    self.add(word, what);
                }
                handed = true;
            } else if letter.is_some_and(|letter| valued.contains(letter)) {
                words.next();
            } else if letter == Some('e') || matches!(text, "--regexp" | "--expression") {
                words.next();
                handed = true;
            } else if letter == Some('f') || text == "--file" {
                if let Some(file) = words.next() {
                    self.add(file, Use::Read);
                }
                handed = true;
            } else if matches!(name, "sed" | "gsed" | "perl")
                && (text.starts_with("-i") || text.starts_with("--in-place"))
            {
                what = Use::Write;
            } else {
                handed |=
                    ["-e", "-f", "--regexp=", "--file=", "--expression="].iter().any(|option| text.starts_with(option));
            }
        }
    }

    /// The words of a command that is not known: each may be a file, also behind `--option=` or `@` (BE-79).
    fn add_unknown(&mut self, arguments: &[Argument]) {
        for word in arguments {
            let text = word.marked();
            if text.contains([' ', '\n', '\t']) || text.contains("://") {
                continue;
            }
            let value = match text.strip_prefix('-') {
                Some(_) if text.contains('=') => text.split_once('=').map_or("", |(_, value)| value),
                // `-I/usr/include`
                Some(option) if option.len() > 1 && !option.starts_with('-') => {
                    let value = &option[option.chars().next().map_or(0, char::len_utf8)..];
                    if value.starts_with(['/', '.', '~']) { value } else { "" }
                }
                Some(_) => "",
                None => text.rsplit_once('=').map_or(text, |(_, value)| value),
            };
            for file in [value, text].into_iter().filter(|file| !file.starts_with('-')) {
                self.add(&Argument::known(file.trim_start_matches('@')), Use::Perhaps);
            }
        }
    }

    fn enter(&mut self, arguments: &[Argument]) -> Moved {
        let (_, operands) = divide(arguments);
        let home = self.context.home.clone().map_or_else(Argument::unknown, Argument::known);
        let target = operands.first().map_or(&home, |word| *word);
        let Some(text) = target.exact().filter(|text| *text != "-" && !text.starts_with('+')) else {
            return Moved::Unknown;
        };
        let reached = self.all(text);
        for directory in &reached {
            if self.everywhere.contains(directory) {
                continue;
            }
            // Each further `cd` could double them.
            if self.everywhere.len() >= DIRECTORIES {
                self.everywhere.push(ANYTHING.into());
                break;
            }
            self.everywhere.push(directory.clone());
        }
        if self.everywhere.last().is_some_and(|directory| is_anywhere(directory)) {
            return Moved::Unknown;
        }
        if self.context.fence && !reached.iter().all(|directory| self.is_beneath_root(directory)) {
            return Moved::Outside(target.shown());
        }
        if self.repeats && text.split('/').any(|segment| segment == "..") {
            // Each turn of a loop leads one level further up.
            return Moved::Unknown;
        }
        self.here = Some(reached);
        Moved::Inside
    }

    fn is_beneath_root(&self, path: &str) -> bool {
        self.context.roots.iter().any(|root| is_within(path, &normalised(root, "/")))
    }

    pub(super) fn finish(self) -> (Vec<String>, Vec<String>, Vec<Place>) {
        (self.reads, self.writes, self.places)
    }
}

/// Options, and what is none.
fn divide(arguments: &[Argument]) -> (Vec<&str>, Vec<&Argument>) {
    let mut options = Vec::new();
    let mut operands = Vec::new();
    let mut only_operands = false;
    for word in arguments {
        let text = word.marked();
        if only_operands || !text.starts_with('-') || text == "-" {
            operands.push(word);
        } else if text == "--" {
            only_operands = true;
        } else {
            options.push(text);
        }
    }
    (options, operands)
}

/// Whether a directory stands for all of them.
fn is_anywhere(directory: &str) -> bool {
    directory.starts_with(ANYTHING)
}

/// Whether `path` is `directory` or lies below it; both normalised.
pub(super) fn is_within(path: &str, directory: &str) -> bool {
    directory == "/" || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `path` as seen from `base`: absolute, without `.`, `..` and doubled slashes. Where an unknown part could lead anywhere
/// the whole is unknown.
pub(super) fn normalised(path: &str, base: &str) -> String {
    let unknown = || ANYTHING.to_string();
    if path.starts_with(ANYTHING) {
        return unknown();
    }
    if let Some(position) = path.find(ANYTHING)
        && path[position..].split('/').any(|segment| segment == "..")
    {
        return unknown();
    }
    let mut out = String::with_capacity(base.len() + path.len() + 1);
    if !path.starts_with('/') {
        out.push_str(base.trim_end_matches('/'));
    }
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => out.truncate(out.rfind('/').unwrap_or_default()),
            name => {
                out.push('/');
                out.push_str(name);
            }
        }
    }
    // A slash at the end says "a directory", which no pattern of ours needs to know.
    let out = without_proc(out);
    if out.is_empty() { "/".to_owned() } else { out }
}
