//! Files that a command writes besides those that its words name: by an option, or by the name of what is put there.

use super::operands::starts_of_find;
use super::values::{positional, values_of};
use super::{Places, Use};
use crate::permissions::command::argument::Argument;
use crate::permissions::command::deny::has_option;

impl Places<'_> {
    /// Files that commands write which only read otherwise.
    pub(super) fn see_outputs(&mut self, name: &str, arguments: &[Argument]) {
        let options: &[&str] = match name {
            "sort" | "iconv" | "base64" | "base32" | "time" | "strace" | "ltrace" => &["-o", "--output"],
            "less" | "more" => &["-o", "-O", "--log-file", "--LOG-FILE"],
            "tree" => &["-o"],
            "valgrind" => &["--log-file", "--xml-file", "--callgrind-out-file", "--massif-out-file"],
            "hyperfine" => {
                &["--export-json", "--export-markdown", "--export-csv", "--export-asciidoc", "--export-orgmode"]
            }
            "find" => &["-fprint", "-fprint0", "-fprintf", "-fls"],
            "uniq" | "xxd" | "split" => {
                self.add_second(name, arguments);
                return;
            }
            _ => return,
        };
        for file in values_of(arguments, options) {
            self.add(&file, Use::Write);
        }
        if name == "find" && arguments.iter().any(|word| word.exact() == Some("-delete")) {
            let starts = starts_of_find(arguments);
            self.add_all(&starts, Use::Delete);
            if starts.is_empty() {
                self.add(&Argument::known("."), Use::Delete);
            }
        }
    }

    /// The second operand of these is written; options that take a value stand between.
    fn add_second(&mut self, name: &str, arguments: &[Argument]) {
        let operands = match name {
            "uniq" => positional(arguments, "fsw", &["skip-fields", "skip-chars", "check-chars"]),
            "split" => {
                let names = [
                    "suffix-length",
                    "bytes",
                    "line-bytes",
                    "number",
                    "lines",
                    "separator",
                    "additional-suffix",
                    "filter",
                ];
                positional(arguments, "abCnlt", &names)
            }
            // Its long options have one dash, and whatever begins so is one.
            _ => positional(arguments, "bcglosnR", &["cols", "groupsize", "len", "seek", "offset", "name", "bits"]),
        };
        self.add_all(operands.get(1..2).unwrap_or_default(), Use::Write);
        if name == "split" && operands.len() < 2 {
            self.add_unlisted(&Argument::known("xaa"), Use::Write);
        }
    }

    /// Where things are put may be a directory, and then each lies in it by its own name.
    pub(super) fn add_within(&mut self, target: &Argument, sources: &[&Argument]) {
        for source in sources {
            let name = source.marked().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if matches!(name, "." | "..") {
                // What lies in it is put there.
                self.add_unlisted(target, Use::Filled);
            } else if !name.is_empty() {
                self.add_unlisted(&Argument::known(format!("{}/{name}", target.marked())), Use::Write);
            }
        }
    }

    /// A link leads on from where it lies. One word alone makes a link of its own name here.
    pub(super) fn add_linked(&mut self, target: &Argument, sources: &[&Argument]) {
        if sources.is_empty() {
            self.add(target, Use::Read);
            self.add(target, Use::Whole);
        }
        for source in sources.iter().filter(|source| !source.marked().starts_with('/')) {
            for place in ["", "/.."] {
                // Seen from the name of the link, which leads nowhere yet.
                let there = format!("{}{place}/{}", target.marked(), source.marked());
                let there = Argument::known(super::dotted::without_steps_up(&there));
                self.add_unlisted(&there, Use::Read);
                self.add_unlisted(&there, Use::Whole);
            }
        }
    }

    /// What is fetched lies here afterwards, by the name that its address says.
    pub(super) fn add_fetched(&mut self, name: &str, arguments: &[Argument]) {
        // `-O` in a cluster of letters that take no value.
        let in_cluster = |word: &Argument| {
            let letters = word.marked().strip_prefix('-').and_then(|letters| letters.split_once('O'));
            letters.is_some_and(|(front, _)| front.bytes().all(|letter| b"sSLfkgivJRjqN#0123456".contains(&letter)))
        };
        let keeps_name = match name {
            "curl" => arguments.iter().any(in_cluster) || has_option(arguments, "", "remote-name-all"),
            "wget" => !has_option(arguments, "O", "output-document"),
            _ => false,
        };
        for word in arguments.iter().filter(|_| keeps_name) {
            let path = word.marked().split_once("://").map_or(word.marked(), |(_, path)| path);
            let path = path.split(['?', '#']).next().unwrap_or_default();
            if let Some((_, file)) = path.rsplit_once('/') {
                self.add_unlisted(&Argument::known(file), Use::Write);
            }
        }
    }
}
