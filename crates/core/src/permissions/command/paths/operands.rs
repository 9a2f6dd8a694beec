//! Which words of a command are files, and what it does with them.

use super::super::allow::is_option;
use super::super::argument::{ANYTHING, Argument};
use super::{Places, Use};

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

impl Places<'_> {
    /// Notes the files that a command's words name.
    pub(super) fn see_operands(&mut self, name: &str, arguments: &[Argument]) {
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
                if let [first, second, file, ..] = operands.as_slice()
                    && (first.exact(), second.exact()) == (Some("bundle"), Some("create"))
                {
                    self.add(file, Use::Write);
                }
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
    }

    /// Files that commands write which only read otherwise.
    fn see_outputs(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        let options: &[&str] = match name {
            "sort" => &["-o", "--output"],
            "find" => &["-fprint", "-fprint0", "-fprintf", "-fls"],
            "git" if operands.first().is_some_and(|word| matches!(word.exact(), Some("archive" | "format-patch"))) => {
                &["-o", "--output", "--output-directory"]
            }
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
            // An address of a file is a file.
            if let Some(file) = file_of_address(text) {
                self.add(&Argument::known(file), Use::Perhaps);
                continue;
            }
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
}

/// The path in `file://host/path`, which a word may hold behind an option or a `=`; a `%` in it may stand for any text.
fn file_of_address(text: &str) -> Option<String> {
    let start = text.to_ascii_lowercase().find("file:/")? + "file:".len();
    let address = &text[start..];
    let path = match address.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => address,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Some(if path.contains('%') { ANYTHING.to_string() } else { path.to_owned() })
}

/// Options, and what is none.
pub(super) fn divide(arguments: &[Argument]) -> (Vec<&str>, Vec<&Argument>) {
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
