//! Programs that do what a file of rules says: make and its kin, and cmake.

use super::argument::{ANYTHING, Argument};
use super::shells::is_input;
use super::unwrap::{Layer, Unwrapped};
use super::variables::{self, Becomes};

/// Programs that do what a file of rules says, and can be told to read it from their input.
pub(super) const MAKERS: [&str; 8] = ["make", "gmake", "bmake", "ninja", "just", "rake", "task", "ant"];

/// `make` and its kin: rules from the input, and variables whose value is a command.
pub(super) fn make(name: &str, rest: &[Argument], found: &mut Unwrapped) {
    // `-sf-`, `-f/dev/stdin`, `--fil=-`
    let is_glued = |word: &Argument| {
        let text = word.marked();
        let start = text.find('/').or_else(|| text.strip_suffix('-').map(str::len));
        let value = text.split_once('=').map(|(_, value)| value).or_else(|| start.and_then(|start| text.get(start..)));
        text.len() > 2 && text.starts_with('-') && value.is_some_and(|value| is_input(&Argument::known(value)))
    };
    if matches!(name, "make" | "gmake") && rest.iter().any(hands_rules) {
        found.unresolved.push(format!("'{name}' runs rules among its own words"));
    }
    if rest.iter().any(|word| is_input(word) || is_glued(word)) {
        found.unresolved.push(format!("'{name}' runs what it reads from its input"));
    }
    let is_unknown = |word: &Argument| word.is_dynamic() || word.is_pipe();
    // What is known of an option may say that the rest is a number or a directory.
    let is_hidden = |word: &Argument| {
        let known = word.marked().split(ANYTHING).next().unwrap_or_default();
        word.is_dynamic() && known.starts_with('-') && !takes_value(known)
    };
    if rest.windows(2).any(|pair| names_rules(pair[0].marked()) && is_unknown(&pair[1])) || rest.iter().any(is_hidden) {
        found.unresolved.push(format!("the rules of '{name}' are known only when it runs"));
    }
    let runs = |(variable, value): (&str, &str)| {
        let is_plain = !value.contains([' ', '/', '\t']);
        let name = variable.trim_end_matches([' ', ':', '+', '?', '!']);
        let is_rights = |word: &str| matches!(word, "sudo" | "doas" | "pkexec" | "su");
        value.contains(['$', '`', ';', '|', '&', '\n'])
            // What stands behind `!=` is run at once.
            || variable.ends_with('!')
            || variables::changes(name, Becomes::Text(value))
            || matches!(name, ".SHELLFLAGS" | "MAKE" | "MAKE_COMMAND")
            || variables::starts_denied(name, value)
            || value.split(|sign: char| !sign.is_alphanumeric()).any(is_rights)
            || (variables::is_program(name) && !is_plain)
    };
    if rest.iter().filter_map(|word| word.marked().split_once('=')).any(runs) {
        found.unresolved.push(format!("a variable of '{name}' may hold a command"));
    }
}

/// Whether an option takes a file of rules, or rules themselves, as the next word.
fn names_rules(text: &str) -> bool {
    const LONG: [&str; 7] = ["--eval", "--file", "--justfile", "--makefile", "--rakefile", "--taskfile", "-buildfile"];
    let is_cluster = || text.starts_with('-') && !text.starts_with("--") && text.ends_with(['E', 'f', 't']);
    (text.len() > 2 && LONG.iter().any(|option| option.starts_with(text))) || (is_cluster() && !takes_value(text))
}

/// Whether what stands behind these letters, or this, is a number, a directory or a file that is no rules.
fn takes_value(text: &str) -> bool {
    if let Some(long) = text.strip_suffix('=').filter(|_| text.starts_with("--")) {
        return !names_rules(long);
    }
    if text.starts_with("--") {
        return false;
    }
    // The first letter that takes a value takes the rest.
    let value = text.find(['C', 'E', 'I', 'W', 'f', 'j', 'l', 'o', 'O', 't']);
    value.is_some_and(|at| !text[at..].starts_with(['E', 'f', 't']))
}

/// Whether a cluster of options of make holds `-E`, whose value is read like a file of rules.
fn hands_rules(word: &Argument) -> bool {
    let letters = word.marked().strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
    letters.chars().take_while(|letter| !"CfIoW".contains(*letter)).any(|letter| letter == 'E')
}

/// `cmake -E` runs commands of its own and others, `cmake -P` a script.
pub(super) fn cmake(rest: &[Argument], found: &mut Unwrapped) {
    let is = |index: usize, text: &str| rest.get(index).and_then(Argument::exact) == Some(text);
    let is_unknown = |word: &Argument| word.is_dynamic() || word.is_pipe() || is_input(word);
    if rest.windows(2).any(|pair| pair[0].marked() == "-P" && is_unknown(&pair[1])) {
        found.unresolved.push("the script of 'cmake' is known only when it runs".to_owned());
    }
    if is(0, "-E") && (is(1, "env") || is(1, "time") || is(1, "chdir")) {
        let skipped = if is(1, "chdir") { 3 } else { 2 };
        let is_own = |word: &&Argument| word.marked().starts_with('-') || word.marked().contains('=');
        let settings = rest.iter().skip(skipped).take_while(is_own).map(Argument::marked);
        found.assigned.extend(settings.filter(|word| !word.starts_with('-')).map(str::to_owned));
        let command: Vec<Argument> = rest.iter().skip(skipped).skip_while(is_own).cloned().collect();
        if !command.is_empty() {
            found.inner.push(Layer::named(command));
        }
    }
}
