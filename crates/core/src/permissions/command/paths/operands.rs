//! Which words of a command are files, and what it does with them.

use super::super::allow::is_option;
use super::super::argument::{ANYTHING, Argument};
use super::super::deny::has_option;
use super::plain::without_plain_words;
use super::values::values_of;
use super::{Places, Use};

/// 40 letters of one word may be options before a value (`-ssssssd@file`), or one option of a compiler (`-include`).
const GLUED_LETTERS: usize = 40;
/// 40 parts of one word may be names of files.
const GLUED_PIECES: usize = 40;
/// Clients of databases, whose statements read and write files.
const DATABASES: [&str; 7] = ["sqlite3", "sqlite", "duckdb", "mysql", "mariadb", "psql", "sqlcmd"];

/// What a command's words are.
enum Operands {
    /// Not files.
    Data,
    /// Files of which only the names are told, unless an option hands one over to be read.
    Names,
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
        | "sleep" | "kill" | "set" | "unset" | "shift" | "whoami" | "uname" | "id" | "seq" | "expr" | "type"
        | "which" | "basename" | "dirname" | "wait" | "jobs" | "ulimit" | "umask" | "printenv" | "pwd" | "let"
        | "local" | "declare" | "typeset" | "readonly" | "cd" | "pushd" | "popd" | "chdir" | "command" | "nohup"
        | "time" | "timeout" | "nice" | "alias" | "eval" | "trap" | "exec" | "builtin" | "setsid" | "ionice" => {
            Operands::Data
        }
        "ls" | "dir" | "find" | "fd" | "du" | "df" | "tree" | "stat" | "file" | "realpath" | "readlink"
        | "hostname" | "date" | "man" | "history" | "xargs" | "env" | "ps" | "top" => Operands::Names,
        "cat" | "tac" | "head" | "tail" | "less" | "more" | "nl" | "od" | "xxd" | "hexdump" | "strings" | "base64"
        | "base32" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" | "shasum" | "cksum" | "wc" | "sort" | "uniq"
        | "cut" | "diff" | "cmp" | "comm" | "paste" | "join" | "column" | "fold" | "fmt" | "rev" | "zcat" | "bzcat"
        | "xzcat" | "bat" | "source" | "." | "expand" | "split" | "iconv" => Operands::Read,
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "awk" | "gawk" | "mawk" | "nawk" | "sed"
        | "gsed" | "jq" | "yq" | "perl" => Operands::ReadAfterProgram,
        "tee" | "touch" | "mkdir" | "truncate" | "mkfifo" => Operands::Write,
        "rm" | "rmdir" | "unlink" | "shred" => Operands::Delete,
        "cp" | "install" | "ln" | "link" => Operands::Copy,
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
        self.see_outputs(name, arguments);
        self.see_archives(name, arguments, &operands);
        self.see_trees(name, arguments, &operands);
        self.see_derived(name, arguments, &operands);
        self.see_packed(name, arguments, &operands);
        self.see_handed(name, arguments, &operands);
        match operands_of(name) {
            Operands::Data => {}
            Operands::Names => self.see_names(name, arguments, &operands),
            Operands::Read => {
                self.add_all(&operands, Use::Read);
                self.add_glued(arguments);
            }
            Operands::ReadAfterProgram => {
                self.add_after_program(name, arguments);
                self.add_glued(arguments);
            }
            Operands::Write => self.add_all(&operands, Use::Write),
            Operands::Copy if name == "install" && has_option(arguments, "d", "directory") => {
                // Directories that are made.
                self.add_all(&operands, Use::Write);
            }
            Operands::Delete => self.add_all(&operands, Use::Delete),
            Operands::Copy | Operands::Move => {
                self.see_other_names(name, arguments, &operands);
                let source = if name == "mv" { Use::Delete } else { Use::Read };
                if options.iter().any(|word| is_option(word, "-t") || is_option(word, "--target-directory")) {
                    for directory in values_of(arguments, &["-t", "--target-directory"]) {
                        self.add(&directory, Use::Write);
                        self.add_within(&directory, &operands);
                        if name == "ln" && !operands.is_empty() {
                            self.add_linked(&directory, &operands);
                        }
                    }
                    self.add_all(&operands, Use::Write);
                    self.add_all(&operands, source);
                } else if let Some((target, sources)) = operands.split_last() {
                    self.add_all(sources, source);
                    if name == "mv" {
                        self.add_all(sources, Use::Read);
                    }
                    self.add(target, Use::Write);
                    self.add_within(target, sources);
                    if name == "ln" {
                        self.add_linked(target, sources);
                    }
                }
            }
            Operands::WriteAfterMode => {
                // `-w` is a mode, and what stands behind it a file.
                let has_mode = |word: &&str| is_option(word, "--reference") || (name == "chmod" && is_mode(word));
                let files = operands.get(usize::from(!options.iter().any(has_mode))..).unwrap_or_default();
                self.add_all(files, Use::Write);
                if has_option(arguments, "R", "recursive") {
                    self.add_all(files, Use::Filled);
                }
            }
            Operands::Dd => {
                let value = |key: &str| operands.iter().find_map(|word| word.marked().strip_prefix(key));
                if let (Some(source), Some(target)) = (value("if="), value("of=")) {
                    self.rename(name, &Argument::known(source), Some(&Argument::known(target)));
                }
                for word in &operands {
                    if let Some(file) = word.marked().strip_prefix("if=") {
                        self.add(&Argument::known(file), Use::Read);
                    } else if let Some(file) = word.marked().strip_prefix("of=") {
                        self.add(&Argument::known(file), Use::Write);
                    }
                }
            }
            Operands::Git => self.see_git(arguments),
            Operands::Unknown => {
                // `/usr/lib/git-core/git-clean` is what `git clean` runs.
                if let Some(subcommand) = name.rsplit('/').next().and_then(|name| name.strip_prefix("git-")) {
                    self.see_git(&[&[Argument::known(subcommand)], arguments].concat());
                }
                self.add_unknown(name, arguments);
            }
        }
    }

    /// What these commands give another name.
    fn see_other_names(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        let directory = values_of(arguments, &["-t", "--target-directory"]);
        let (sources, target) = match (directory.first(), operands) {
            (None, [sources @ .., target]) if !sources.is_empty() => (sources, Some(*target)),
            (directory, sources) => (sources, directory),
        };
        for source in sources {
            self.rename(name, source, target);
        }
    }

    /// What is read of the files whose names are told otherwise.
    fn see_names(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        let options: &[&str] = match name {
            "xargs" => &["-a", "--arg-file"],
            "date" | "hostname" => &["-f", "-F", "--file"],
            "file" => &["-f", "--files-from", "-m", "--magic-file"],
            "du" => &["--files0-from", "-X", "--exclude-from"],
            "find" => &["-files0-from"],
            _ => &[],
        };
        for file in values_of(arguments, options) {
            self.add(&file, Use::Read);
        }
        let is_read = match name {
            "man" if has_option(arguments, "l", "local-file") => |_: &Argument| true,
            "man" => |word: &Argument| word.marked().contains('/'),
            "tree" if arguments.iter().any(|word| is_option(word.marked(), "--fromfile")) => |_: &Argument| true,
            _ => |_: &Argument| false,
        };
        self.add_all(&operands.iter().copied().filter(|word| is_read(word)).collect::<Vec<_>>(), Use::Read);
        self.add_glued(arguments);
    }

    /// Directories that are taken with all that lies below them.
    fn see_trees(&mut self, name: &str, arguments: &[Argument], operands: &[&Argument]) {
        let searches = matches!(name, "rg" | "ag" | "ack")
            || (matches!(name, "grep" | "egrep" | "fgrep" | "zgrep")
                && (has_option(arguments, "rR", "recursive")
                    || has_option(arguments, "", "dereference-recursive")
                    || values_of(arguments, &["-d", "--directories"])
                        .iter()
                        .any(|value| value.exact().is_none_or(|value| "recurse".starts_with(value)))));
        if searches {
            let here = Argument::known(".");
            // The first is the pattern, unless an option hands that over.
            self.add_all(operands, Use::Whole);
            if operands.len() < 2 {
                self.add(&here, Use::Whole);
            }
            return;
        }
        let takes_trees = match name {
            "mv" | "ln" | "tar" | "gtar" | "bsdtar" | "zip" | "rsync" | "scp" | "7z" | "7za" | "7zz" | "ditto" => true,
            // Without `-r` what lies in them is compared, too.
            "diff" => {
                self.add_named_alike(operands);
                true
            }
            "gzip" | "gunzip" | "pigz" | "zstd" | "lz4" if has_option(arguments, "r", "recursive") => {
                self.add_all(operands, Use::Filled);
                true
            }
            "cp" => {
                has_option(arguments, "rRa", "recursive")
                    || arguments.iter().any(|word| is_option(word.marked(), "--archive"))
            }
            _ => false,
        };
        if takes_trees {
            self.add_all(operands, Use::Whole);
        }
    }

    /// A file that is compared with a directory is compared with what has its name there.
    fn add_named_alike(&mut self, operands: &[&Argument]) {
        let [one, other] = operands else { return };
        for (file, directory) in [(one, other), (other, one)] {
            let name = file.marked().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if !matches!(name, "" | "." | ".." | "-") {
                self.add_unlisted(&Argument::known(format!("{}/{name}", directory.marked())), Use::Read);
            }
        }
    }

    pub(super) fn add_all(&mut self, words: &[&Argument], what: Use) {
        for word in words {
            self.add(word, what);
        }
    }

    /// Files behind the letters of options (`-Xfile`, `-sd@file`, `--x=file`): nobody knows which letters take a value, so what
    /// stands behind each of the first ones may be a name, of which only what a rule says counts.
    pub(super) fn add_glued(&mut self, arguments: &[Argument]) {
        for word in arguments {
            let text = word.marked();
            match text.strip_prefix('-') {
                Some(long) if long.starts_with('-') => {
                    if let Some((_, value)) = long.split_once('=') {
                        self.add_pieces(value);
                    }
                }
                Some(letters) => {
                    // The first sign that is no letter belongs to the value.
                    let cluster = letters.bytes().take_while(u8::is_ascii_alphanumeric).count();
                    if cluster > GLUED_LETTERS {
                        self.add(&Argument::unknown(), Use::Perhaps);
                    }
                    for (start, letter) in letters.char_indices().take(cluster.clamp(1, GLUED_LETTERS)) {
                        self.add_pieces(&letters[start + letter.len_utf8()..]);
                    }
                }
                None if text.starts_with('@') => self.add_pieces(text),
                None => {}
            }
        }
    }

    /// A text that may be a name, and each part of it that may be one (`x=@file;type=a`). One with blanks is prose.
    pub(in super::super) fn add_pieces(&mut self, text: &str) {
        if text.contains([' ', '\n', '\t']) || text.contains("://") {
            return;
        }
        let pieces = text.split(['@', '<', '=', ';', ',', ':', '"', '\'', '(', ')']).take(GLUED_PIECES);
        for piece in pieces.chain([text]).filter(|piece| !piece.is_empty() && !piece.starts_with('-')) {
            self.add(&Argument::known(piece), Use::Glued);
        }
    }

    /// The words of a command that is not known: each may be a file, also behind `--option=` or `@` (BE-79).
    fn add_unknown(&mut self, name: &str, arguments: &[Argument]) {
        let arguments = &without_plain_words(name, arguments)[..];
        self.add_glued(arguments);
        self.add_fetched(name, arguments);
        if name == "curl" && may_read_any_file(arguments) {
            self.add(&Argument::unknown(), Use::Perhaps);
        }
        if matches!(name, "tar" | "gtar" | "bsdtar")
            && let Some(letters) = arguments.first().filter(|word| !word.marked().starts_with('-'))
        {
            // `tar czfx.tgz`: its first word is options without a dash.
            self.add_glued(&[Argument::known(format!("-{}", letters.marked()))]);
        }
        for word in arguments {
            let text = word.marked();
            if DATABASES.contains(&name) {
                // A statement names files in quotes, and commands of the client behind a blank.
                for piece in text.split([' ', '\n', '\t', '\'', '"', '(', ')', ',', ';']).take(GLUED_PIECES) {
                    self.add_pieces(piece);
                }
            }
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
            if !text.starts_with('-') && text.contains(['@', '<', ';', ',', '"', '\'']) {
                self.add_pieces(text);
            }
            for file in [value, text].into_iter().filter(|file| !file.starts_with('-')) {
                self.add(&Argument::known(file.trim_start_matches('@')), Use::Perhaps);
            }
        }
    }
}

/// The path in `file://host/path`, which a word may hold behind an option or a `=`; a `%` in it may stand for any text.
pub(super) fn file_of_address(text: &str) -> Option<String> {
    let start = text.to_ascii_lowercase().find("file:/")? + "file:".len();
    let address = &text[start..];
    let path = match address.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => address,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Some(if path.contains('%') { ANYTHING.to_string() } else { path.to_owned() })
}

/// Whether an address of `curl` may turn out to be that of any file: `[…]` and `{…}` in it stand for others.
fn may_read_any_file(arguments: &[Argument]) -> bool {
    if arguments.iter().any(|word| is_option(word.marked(), "--proto-default")) {
        return true;
    }
    // Names of files to send are patterns, too.
    if values_of(arguments, &["-T", "--upload-file"]).iter().any(|file| file.marked().contains(['[', '{'])) {
        return true;
    }
    let is_plain = has_option(arguments, "g", "globoff");
    arguments.iter().any(|word| {
        let text = word.marked().to_ascii_lowercase();
        let Some(pattern) = text.find(['[', '{']).filter(|_| !is_plain && text.contains(":/")) else { return false };
        // Behind another scheme it is no file, and a text in quotes is what is sent.
        let (known, rest) = text.split_at(pattern);
        if known.contains("file:") {
            return true;
        }
        !known.contains(":/") && rest.contains(":/") && !rest.contains('"')
    })
}

/// Where `find` looks, behind the options that come first.
pub(super) fn starts_of_find(arguments: &[Argument]) -> Vec<&Argument> {
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.peek().map(|word| word.marked()) {
        let takes_value = word == "-D";
        if !(takes_value || matches!(word, "-H" | "-L" | "-P" | "--") || word.starts_with("-O")) {
            break;
        }
        words.next();
        if takes_value {
            words.next();
        }
    }
    words.take_while(|word| !word.marked().starts_with(['-', '(', '!'])).collect()
}

/// Whether an option of `chmod` is the mode.
fn is_mode(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|mode| {
        !mode.is_empty() && mode.bytes().all(|byte| b"rwxXstugoa,=+-01234567".contains(&byte)) && !mode.starts_with('-')
    })
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
