//! What bash takes for a number: in `$((x))`, `a[x]`, `${s:x}` or `[[ x -gt 1 ]]` it evaluates the text of `x`, and runs
//! commands that stand in a subscript there. So what nobody knows must not get there unasked.
//!
//! A variable holds a number where every value that the command line gives it is one: digits, a sum, what only prints
//! numbers (`wc -l < f`), or another such variable.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::script::{Part, RawCommand, Script, Word};
use super::wrappers::SHELLS;

/// Stands for `$1`, `$2`, … and `$@`.
pub(super) const POSITIONAL: &str = "@";
/// Variables that bash itself keeps numbers in, whatever is assigned.
const OWN: [&str; 10] =
    ["BASHPID", "EPOCHSECONDS", "EUID", "LINENO", "OPTIND", "PPID", "RANDOM", "SECONDS", "SRANDOM", "UID"];
/// Of those the ones that evaluate what is assigned.
const EVALUATING: [&str; 2] = ["OPTIND", "RANDOM"];
/// Operators of `[[` that compare numbers.
const COMPARISONS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// What a variable is given.
#[derive(Debug)]
enum Value {
    /// What these variables hold, and else digits.
    Of(Vec<String>),
    /// Nobody knows.
    Unknown,
}

/// Everything that is taken for a number in a command line, and every value that its variables are given.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    taken: BTreeSet<String>,
    values: HashMap<String, Vec<Value>>,
    /// Whether something that has no name is taken for a number, such as the output of a command.
    unknown: bool,
}

impl Numbers {
    /// Notes what a script takes for numbers. `functions` are the functions known so far, those of the script included.
    pub(super) fn see_script(&mut self, script: &Script, functions: &HashSet<String>) {
        self.taken.extend(script.numbers.read.iter().cloned());
        for name in &script.numbers.set {
            self.values.entry(name.clone()).or_default().push(Value::Of(Vec::new()));
        }
        self.unknown |= script.numbers.unknown || script.numbers.outputs.iter().any(|part| !is_number(part, script));
        for (name, word) in &script.given {
            self.give(name, word, script, true);
        }
        for command in &script.commands {
            for (name, word) in &command.assignments {
                self.give(name, word, script, false);
            }
            self.see_command(command, script, functions);
        }
    }

    /// Why the command line is not simply allowed, when it is not. `continues` says that variables may hold what earlier
    /// command lines gave them.
    pub(super) fn doubt(&self, continues: bool) -> Option<String> {
        if self.unknown {
            return Some("it takes what is known only when it runs for a number, which may run a command".to_owned());
        }
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<(&str, &str)> = self.taken.iter().map(|name| (name.as_str(), name.as_str())).collect();
        while let Some((name, taken)) = open.pop() {
            if OWN.contains(&name) || !seen.insert(name) {
                continue;
            }
            let values = self.values.get(name).map(Vec::as_slice).unwrap_or_default();
            if values.iter().any(|value| matches!(value, Value::Unknown)) || (values.is_empty() && continues) {
                let taken = if taken == POSITIONAL { "1" } else { taken };
                return Some(format!("it takes '${taken}' for a number, whose text may run a command in bash"));
            }
            open.extend(values.iter().flat_map(|value| match value {
                Value::Of(names) => names.iter().map(|name| (name.as_str(), taken)).collect(),
                Value::Unknown => Vec::new(),
            }));
        }
        None
    }

    fn give(&mut self, name: &str, word: &Word, script: &Script, expands_patterns: bool) {
        let value = value_of(word, script, expands_patterns);
        if EVALUATING.contains(&name) {
            self.take(&value);
        }
        self.values.entry(name.to_owned()).or_default().push(value);
    }

    fn give_unknown(&mut self, name: &str) {
        let name = name.split('[').next().unwrap_or_default();
        self.values.entry(name.to_owned()).or_default().push(Value::Unknown);
    }

    fn take(&mut self, value: &Value) {
        match value {
            Value::Of(names) => self.taken.extend(names.iter().cloned()),
            Value::Unknown => self.unknown = true,
        }
    }

    fn see_command(&mut self, command: &RawCommand, script: &Script, functions: &HashSet<String>) {
        let is_shell_word =
            |word: &&Word| matches!(word.plain(), Some("builtin" | "command" | "exec" | "time" | "nohup"));
        let skipped = command.words.iter().take_while(is_shell_word).count();
        let Some((first, words)) = command.words[skipped..].split_first() else { return };
        let Some(name) = first.literal() else { return };
        let literals = || words.iter().filter_map(Word::literal);
        match name.as_str() {
            "declare" | "typeset" | "local" | "readonly" | "export" | "integer" => self.declare(&name, words, script),
            "read" => {
                for word in literals().filter(|word| !word.starts_with('-')) {
                    self.give_unknown(&word);
                }
                self.give_unknown("REPLY");
            }
            "mapfile" | "readarray" => {
                literals().for_each(|word| self.give_unknown(&word));
                self.give_unknown("MAPFILE");
            }
            "getopts" => {
                literals().for_each(|word| self.give_unknown(&word));
                self.give_unknown("OPTARG");
            }
            "printf" if literals().next().is_some_and(|word| word.starts_with("-v")) => {
                literals().take(2).for_each(|word| self.give_unknown(word.strip_prefix("-v").unwrap_or(&word)));
            }
            "let" => {
                for word in words {
                    self.see_sum(word, script);
                }
            }
            "set" => self.give_positional(words, script),
            _ if functions.contains(&name) => self.give_positional(words, script),
            _ if SHELLS.contains(&name.rsplit('/').next().unwrap_or_default()) => {
                self.give_positional(words.get(2..).unwrap_or_default(), script);
            }
            _ => {}
        }
        let is_test = name == "[[" || command.words.last().and_then(Word::plain) == Some("]]");
        for three in command.words.windows(3).filter(|_| is_test) {
            if three[1].plain().is_some_and(|word| COMPARISONS.contains(&word)) {
                self.take(&value_of(&three[0], script, false));
                self.take(&value_of(&three[2], script, false));
            }
        }
    }

    fn give_positional(&mut self, words: &[Word], script: &Script) {
        for word in words.iter().filter(|word| !word.plain().is_some_and(|word| word.starts_with('-'))) {
            self.give(POSITIONAL, word, script, true);
        }
    }

    /// `declare -i x=…` and its kin.
    fn declare(&mut self, builtin: &str, words: &[Word], script: &Script) {
        let is_integer = builtin == "integer"
            || words.iter().filter_map(Word::literal).any(|word| {
                word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('i'))
            });
        for word in words {
            let name = if let Some((name, value)) = super::parser::assignment(word) {
                self.give(&name, &value, script, false);
                name
            } else if let Some(name) = word.literal().filter(|name| !name.starts_with('-')) {
                if builtin == "local" {
                    self.values.entry(name.clone()).or_default().push(Value::Of(Vec::new()));
                }
                name
            } else {
                continue;
            };
            if is_integer {
                self.taken.insert(name);
            }
        }
    }

    /// A word of `let`.
    fn see_sum(&mut self, word: &Word, script: &Script) {
        for part in &word.parts {
            match part {
                Part::Text { text, .. } => {
                    let names = names_in(text);
                    self.taken.extend(names.read);
                    for name in names.set {
                        self.values.entry(name).or_default().push(Value::Of(Vec::new()));
                    }
                }
                other => self.take(&value_of_part(other, script)),
            }
        }
    }
}

/// What a word is as a number. `expands_patterns` says that it may become names of files.
fn value_of(word: &Word, script: &Script, expands_patterns: bool) -> Value {
    let mut names = Vec::new();
    for part in &word.parts {
        let is_pattern =
            expands_patterns && matches!(part, Part::Text { text, quoted: false } if text.contains(['*', '?']));
        match value_of_part(part, script) {
            Value::Of(of_part) if !is_pattern => names.extend(of_part),
            Value::Of(_) | Value::Unknown => return Value::Unknown,
        }
    }
    Value::Of(names)
}

fn value_of_part(part: &Part, script: &Script) -> Value {
    match part {
        Part::Text { text, .. } if text.contains('[') => Value::Unknown,
        Part::Text { text, .. } => {
            let names = names_in(text);
            Value::Of(names.read.into_iter().chain(names.set).collect())
        }
        Part::Variable { name, .. } => Value::Of(vec![name.clone()]),
        Part::Number => Value::Of(Vec::new()),
        Part::Output { .. } if is_number(part, script) => Value::Of(Vec::new()),
        Part::Output { .. } | Part::Dynamic => Value::Unknown,
    }
}

/// The variables of a sum.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Those whose value it takes.
    pub(super) read: Vec<String>,
    /// Those that it gives one, whatever they held.
    pub(super) set: Vec<String>,
}

/// The variables in the text of a sum.
pub(super) fn names_in(text: &str) -> Names {
    let mut names = Names::default();
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character == '_' || character.is_ascii_alphanumeric()) {
        let word = &rest[start..];
        let length = word.find(|character: char| character != '_' && !character.is_ascii_alphanumeric());
        let (word, after) = word.split_at(length.unwrap_or(word.len()));
        if !word.starts_with(|first: char| first.is_ascii_digit()) {
            if sets(after) { names.set.push(word.to_owned()) } else { names.read.push(word.to_owned()) }
        } else if rest[..start].ends_with('$') {
            names.read.push(POSITIONAL.to_owned());
        }
        rest = after;
    }
    names
}

/// Whether what follows a name gives it a value.
pub(super) fn sets(after: &str) -> bool {
    after.trim_start_matches([' ', '\t']).strip_prefix('=').is_some_and(|rest| !rest.starts_with('='))
}

/// Whether the commands of a substitution print a number and nothing else, whatever they read.
fn is_number(part: &Part, script: &Script) -> bool {
    let Part::Output { first, end } = *part else { return false };
    let Some((last, before)) = script.commands.get(first..end).and_then(<[RawCommand]>::split_last) else {
        return false;
    };
    // Anything but one pipeline prints more than its end does.
    if !before.iter().all(|command| command.piped_out) || last.piped_out {
        return false;
    }
    let Some(words) = last.words.iter().map(|word| word.plain()).collect::<Option<Vec<_>>>() else { return false };
    if script.functions.iter().any(|function| words.first() == Some(&function.name.as_str())) {
        return false;
    }
    let is_option = |word: &&str| word.starts_with('-');
    match words.as_slice() {
        ["wc", options @ ..] => !options.is_empty() && options.iter().all(is_option),
        ["nproc", options @ ..] => options.iter().all(is_option),
        ["seq", words @ ..] => words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')),
        ["date", format] => format.strip_prefix('+').is_some_and(|format| {
            format.split('%').all(|piece| ["", "s", "N", "Y", "m", "d", "H", "M", "S", "j"].contains(&piece))
        }),
        ["grep", "-c", rest @ ..] => {
            rest.len() <= 2 && !rest.iter().any(|word| word.contains(['*', '?', '[']) || is_option(word))
        }
        ["id", "-u" | "-g"] | ["tput", "cols" | "lines"] | ["stat", "-c", "%s" | "%Y", _] => true,
        ["git", "rev-list", "--count", ..] => true,
        _ => false,
    }
}
