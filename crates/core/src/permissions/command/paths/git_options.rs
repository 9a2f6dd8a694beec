//! Files that options and words of less known subcommands of `git` hand over: settings, messages, packs and patches.

use super::super::argument::Argument;
use super::subcommands::Call;
use super::values::{is_long, parted, positional, values_of};
use super::{Places, Use};

/// Options of `git config` that take the next word.
const CONFIG_NAMES: [&str; 7] = ["blob", "comment", "default", "file", "type", "url", "value"];
/// Those by which it only tells what a file says.
const CONFIG_READS: [&str; 8] =
    ["--get", "--get-all", "--get-color", "--get-colorbool", "--get-regexp", "--get-urlmatch", "--list", "-l"];
/// Those by which it changes a file that one word, or none, is enough for.
const CONFIG_WRITES: [&str; 6] = ["unset", "unset-all", "remove-section", "rename-section", "edit", "add"];

impl Places<'_> {
    pub(super) fn see_git_options(&mut self, subcommand: &str, rest: &[Argument], call: &Call<'_>) {
        match subcommand {
            "config" => self.see_settings(rest),
            "log" | "show" | "whatchanged" | "format-patch" => self.see_ranges(rest),
            "blame" | "annotate" => {
                for file in values_of(rest, &["--ignore-revs-file", "-S"]) {
                    self.add(&file, Use::Read);
                }
            }
            "mailinfo" => {
                // The message and the patch.
                let words = positional(rest, "", &["encoding", "quoted-cr"]);
                self.add_all(words.get(..2).unwrap_or(&words), Use::Write);
            }
            "mailsplit" => {
                let outputs = rest.iter().filter_map(|word| word.marked().strip_prefix("-o"));
                outputs.filter(|output| !output.is_empty()).for_each(|output| {
                    self.add(&Argument::known(output), Use::Filled);
                });
                for directory in values_of(rest, &["-o"]) {
                    self.add(&directory, Use::Filled);
                }
                self.add_all(&call.words, Use::Read);
                self.add_all(&call.words, Use::Whole);
            }
            "interpret-trailers" => {
                let words = positional(rest, "", &["if-exists", "if-missing", "trailer", "where"]);
                let edits = rest.iter().any(|word| is_long(word.marked(), &["in-place"]));
                self.add_all(&words, Use::Read);
                self.add_all(if edits { &words } else { &[] }, Use::Write);
            }
            "am" => {
                // Mails in a file, or in a directory.
                let words = positional(rest, "Cp", &["directory", "exclude", "include", "patch-format", "whitespace"]);
                self.add_all(&words, Use::Read);
                self.add_all(&words, Use::Whole);
            }
            "bundle" => {
                if let Some(files) = call.behind(&["verify", "list-heads", "unbundle"]) {
                    self.add_all(files.get(..1).unwrap_or_default(), Use::Read);
                }
            }
            "bisect" => self.add_all(call.behind(&["replay"]).unwrap_or_default(), Use::Read),
            "index-pack" => {
                for index in values_of(rest, &["-o"]) {
                    self.add(&index, Use::Write);
                }
                self.add_all(&call.words, Use::Read);
            }
            _ => {}
        }
    }

    /// Settings in a file of their own: changed, unless a word says that they are only told, or one names what is told.
    fn see_settings(&mut self, rest: &[Argument]) {
        let (options, words) = parted(rest, "ft", &CONFIG_NAMES);
        let first = words.first().map_or("", |word| word.marked());
        let changes = options.iter().any(|option| is_long(option, &CONFIG_WRITES) || *option == "-e");
        let only_tells = options.iter().any(|option| CONFIG_READS.contains(option))
            || (!changes && matches!(first, "get" | "list"))
            || (words.len() < 2 && !changes && !words.iter().any(|word| word.is_dynamic()));
        if !only_tells {
            for file in values_of(rest, &["-f", "--file"]) {
                self.add(&file, Use::Write);
            }
        }
    }

    /// `-L 1,5:file` and `-L :function:file`.
    fn see_ranges(&mut self, rest: &[Argument]) {
        for (index, word) in rest.iter().enumerate() {
            let Some(glued) = word.marked().strip_prefix("-L") else { continue };
            let range = if glued.is_empty() { rest.get(index + 1).map_or("", Argument::marked) } else { glued };
            let file = range.rsplit_once(':').map_or(range, |(_, file)| file);
            self.add(&Argument::known(file), Use::Read);
        }
    }
}
