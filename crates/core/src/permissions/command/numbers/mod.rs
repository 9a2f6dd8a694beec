//! What bash takes for a number: in `$((x))`, `a[x]`, `${s:x}` or `[[ x -gt 1 ]]` it evaluates the text of `x`, and runs
//! commands that stand in a subscript there. So what nobody knows must not get there unasked.
//!
//! A variable holds a number where every value that the command line gives it is one: digits, a sum, what only prints
//! numbers (`wc -l < f`), or another such variable.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::{Range, RangeInclusive};

use self::values::{Seen, Value, is_number, value_of, value_of_argument, value_of_part};
use super::argument::{Argument, is_marked};
use super::builtins::EVALUATORS;
use super::known::Variables;
use super::setting::{self, COMPARISONS};
use super::wrappers::SHELLS;
use crate::script::{Function, POSITIONAL, Part, RawCommand, Script, Word, assignment, names_in};

mod values;

/// Variables that bash itself keeps numbers in, whatever is assigned.
pub(super) const OWN: [&str; 10] =
    ["BASHPID", "EPOCHSECONDS", "EUID", "LINENO", "OPTIND", "PPID", "RANDOM", "SECONDS", "SRANDOM", "UID"];
/// Programs that print numbers with some words.
pub(super) const PRINTERS: [&str; 9] = ["date", "git", "grep", "id", "nproc", "seq", "stat", "tput", "wc"];
/// Of those the ones that evaluate what is assigned.
pub(super) const EVALUATING: [&str; 6] = ["BASHPID", "HISTCMD", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];
/// Those that it fills with text of others.
const TEXTS: [&str; 12] = [
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "BASH_REMATCH",
    "COMP_LINE",
    "COPROC",
    "HOSTNAME",
    "OLDPWD",
    "PWD",
    "REPLY",
    "_",
];
/// Those that name the machine, and the names in that text.
const MACHINE: [&str; 4] = ["BASH_VERSINFO", "HOSTTYPE", "MACHTYPE", "OSTYPE"];
const MACHINE_NAMES: [&str; 9] = ["aarch64", "apple", "arm64", "darwin", "gnu", "linux", "pc", "unknown", "x86_64"];

/// 20,000 variables, each time that another is given them: more is no command that anybody writes.
const MOST_STEPS: usize = 20_000;
/// The place of what runs nobody knows when.
const NOWHERE: usize = usize::MAX;

/// Everything that is taken for a number in a command line, and every value that its variables are given.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Each with the commands in which it is.
    taken: BTreeMap<String, BTreeSet<usize>>,
    /// Each with the command that gives it.
    values: HashMap<String, Vec<(Value, usize)>>,
    /// Whether something that has no name is taken for a number, such as the output of a command.
    unknown: bool,
    /// Whether variables are given values whose names nobody knows.
    unnamed: bool,
    /// The commands that first certainly give a variable a value.
    given: HashMap<String, usize>,
    /// Variables of loops and functions, and the commands in which what earlier lines left is gone.
    cleared: HashMap<String, Vec<RangeInclusive<usize>>>,
    is_begun: bool,
    /// The bodies of the line's functions, which later lines may run.
    bodies: Vec<Range<usize>>,
    /// The command that is looked at; [`NOWHERE`] in texts within the line.
    at: usize,
    /// Programs that were taken to print numbers: a text that is read later may define a function of that name.
    trusted: BTreeSet<String>,
    /// The words of each command, by its name: a text that is read later may define a function of that name, which is given them.
    calls: HashMap<String, Vec<Value>>,
}

impl Numbers {
    /// Notes what a script takes for numbers. `functions` are the functions known so far, those of the script included.
    pub(super) fn see_script(&mut self, script: &Script, functions: &HashSet<String>, variables: &Variables<'_>) {
        let trusted = RefCell::new(std::mem::take(&mut self.trusted));
        let seen = Seen { script, functions, trusted: &trusted };
        let is_line = !std::mem::replace(&mut self.is_begun, true);
        if is_line {
            self.clear(script);
        }
        for (name, at) in &script.numbers.read {
            self.taken.entry(name.clone()).or_default().insert(if is_line { *at } else { NOWHERE });
        }
        for name in &script.numbers.set {
            self.values.entry(name.clone()).or_default().push((Value::Of(Vec::new()), NOWHERE));
        }
        self.unknown |= script.numbers.unknown || script.numbers.outputs.iter().any(|part| !is_number(part, seen));
        for (name, word) in &script.given {
            self.give(name, word, seen, true);
        }
        let mut is_test = false;
        for (index, command) in script.commands.iter().enumerate() {
            self.at = if is_line { index } else { NOWHERE };
            for (name, word) in &command.assignments {
                self.give(name, word, seen, false);
            }
            self.see_command(command, (variables, index), seen);
            // `&&` and `||` part no commands between `[[` and `]]`.
            let holds = |bracket| command.words.iter().any(|word| word.plain() == Some(bracket));
            is_test |= holds("[[");
            if is_test || holds("]]") {
                self.see_test(command, seen);
            }
            is_test &= !holds("]]");
        }
        self.trusted = trusted.into_inner();
        self.unknown |= functions.iter().any(|function| self.trusted.contains(function));
        for function in functions {
            if let Some(values) = self.calls.remove(function) {
                let values = values.into_iter().map(|value| (value, NOWHERE));
                self.values.entry(POSITIONAL.to_owned()).or_default().extend(values);
            }
        }
    }

    /// Why the command line is not simply allowed, when it is not. `continues` says that variables may hold what earlier
    /// command lines gave them.
    pub(super) fn doubt(&self, continues: bool) -> Option<String> {
        if self.unknown {
            return Some("it takes what is known only when it runs for a number, which may run a command".to_owned());
        }
        if self.unnamed && self.taken.keys().any(|name| !OWN.contains(&name.as_str())) {
            return Some(
                "variables get values whose names are known only when it runs, and a number is read".to_owned(),
            );
        }
        // By way of the value of another one a variable is taken where that is given.
        let mut seen: HashSet<(&str, Option<usize>)> = HashSet::new();
        let mut open: Vec<(&str, &str, Option<usize>)> =
            self.taken.keys().map(|name| (name.as_str(), name.as_str(), None)).collect();
        while let Some((name, taken, place)) = open.pop() {
            if !seen.insert((name, place.filter(|_| continues))) {
                continue;
            }
            if seen.len() > MOST_STEPS {
                return Some("it gives more variables to sums than are looked at".to_owned());
            }
            let values = self.values.get(name).map(Vec::as_slice).unwrap_or_default();
            if MACHINE.contains(&name) {
                let known = MACHINE_NAMES.iter().filter(|part| self.values.contains_key(**part));
                open.extend(known.map(|part| (*part, taken, Some(NOWHERE))));
            }
            if TEXTS.contains(&name) || name.starts_with("READLINE_") {
                return Some(format!("it takes '${name}' for a number, which the shell fills with text"));
            }
            // Where it is given something, a variable of the shell may be one like any other by now (`unset`, `local`).
            let places = match place {
                Some(place) => vec![place],
                None => self.taken.get(name).into_iter().flatten().copied().collect(),
            };
            let is_given = self.is_cleared(name, &places) || (name == POSITIONAL && !values.is_empty());
            let is_left = continues && !is_given && !OWN.contains(&name);
            if values.iter().any(|(value, _)| matches!(value, Value::Unknown)) || is_left {
                let taken = if taken == POSITIONAL { "1" } else { taken };
                return Some(format!("it takes '${taken}' for a number, whose text may run a command in bash"));
            }
            for (value, at) in values {
                if let Value::Of(names) = value {
                    open.extend(names.iter().map(|name| (name.as_str(), taken, Some(*at))));
                }
            }
        }
        None
    }

    /// Notes what a line certainly gives, and from which command on; what its loops give within their bodies, and functions their own.
    fn clear(&mut self, script: &Script) {
        let mut clear =
            |name: &str, within: RangeInclusive<usize>| self.cleared.entry(name.to_owned()).or_default().push(within);
        self.bodies = script.functions.iter().map(|one| one.first..one.end).collect();
        for one in &script.loops {
            let Some(name) = &one.variable else { continue };
            // `for x in $x`, and sums among its words.
            let is_own = |part: &Part| {
                matches!(part, Part::Variable { name: read, .. } if read == name) || matches!(part, Part::Number { .. })
            };
            let words = script.given.iter().filter(|(given, _)| given == name);
            if !words.flat_map(|(_, word)| &word.parts).any(is_own) {
                clear(name, one.body..=one.end.saturating_sub(1));
            }
        }
        for (name, at) in &script.numbers.counted {
            if let Some(one) = script.loops.iter().find(|one| one.first == *at && one.variable.is_none()) {
                clear(name, *at..=one.end.saturating_sub(1));
            }
        }
        for (index, command) in script.commands.iter().enumerate() {
            if command.certain && command.shell == 0 && !command.in_function && command.redirects.is_empty() {
                for name in gives(command).unwrap_or_default() {
                    self.given.entry(name).or_insert(index);
                }
            }
        }
        let unsets = script.commands.iter().any(|command| command.words.first().and_then(Word::plain) == Some("unset"));
        for (number, function) in script.functions.iter().enumerate().filter(|_| !unsets) {
            let body = function.first..function.end.min(script.commands.len());
            let is_nested = |(at, other): (usize, &Function)| {
                let others = other.first..other.end;
                at != number && (others.contains(&body.start) || body.contains(&other.first))
            };
            if script.functions.iter().enumerate().any(is_nested) {
                continue;
            }
            // What it begins with.
            for index in body.clone() {
                let command = &script.commands[index];
                let is_local = command.words.first().and_then(Word::plain) == Some("local");
                let is_sure = command.is_own() && !command.joined && !command.optional && command.redirects.is_empty();
                let Some(given) = gives(command).filter(|_| is_local && is_sure) else { break };
                given.into_iter().for_each(|name| clear(&name, index + 1..=body.end.saturating_sub(1)));
            }
        }
    }

    /// Whether nothing that earlier lines left can be taken there.
    fn is_cleared(&self, name: &str, places: &[usize]) -> bool {
        let within = self.cleared.get(name).map(Vec::as_slice).unwrap_or_default();
        let is_one = |place: &usize| {
            let body = self.bodies.iter().filter(|body| body.contains(place)).map(|body| body.start).max();
            // A later line may run the body of a function, whatever stands in front of it here.
            let is_given = body.is_none() && self.given.get(name).is_some_and(|at| at < place);
            is_given
                || within.iter().any(|range| range.contains(place) && body.is_none_or(|body| *range.start() >= body))
        };
        !places.contains(&NOWHERE) && places.iter().all(is_one)
    }

    fn give(&mut self, name: &str, word: &Word, seen: Seen<'_>, expands_patterns: bool) {
        let value = value_of(word, seen, expands_patterns);
        if EVALUATING.contains(&name) {
            self.take(&value);
        }
        self.values.entry(name.to_owned()).or_default().push((value, self.at));
    }

    fn give_unknown(&mut self, name: &str) {
        let name = name.split('[').next().unwrap_or_default();
        self.unknown |= EVALUATING.contains(&name);
        self.values.entry(name.to_owned()).or_default().push((Value::Unknown, self.at));
    }

    fn take_name(&mut self, name: &str) {
        self.taken.entry(name.to_owned()).or_default().insert(self.at);
    }

    fn take(&mut self, value: &Value) {
        match value {
            Value::Of(names) => names.iter().for_each(|name| self.take_name(name)),
            Value::Unknown => self.unknown = true,
        }
    }

    fn see_command(&mut self, command: &RawCommand, (variables, index): (&Variables<'_>, usize), seen: Seen<'_>) {
        let arguments = variables.arguments(index);
        let Some((first, behind)) = setting::of_shell(arguments) else { return };
        let Some(name) = first.exact() else { return };
        self.see_subscripts(name, command, seen);
        let is_one_to_one = arguments.len() == command.words.len() && !variables.has_braces(index);
        let words = is_one_to_one.then(|| &command.words[command.words.len() - behind.len()..]);
        let is_function = seen.functions.contains(name);
        let is_shell = SHELLS.contains(&name.rsplit('/').next().unwrap_or_default());
        if !is_function {
            self.calls.entry(name.to_owned()).or_default().extend(behind.iter().map(value_of_argument));
        }
        match (name, words) {
            ("declare" | "typeset" | "local" | "readonly" | "export" | "integer", Some(words)) => {
                self.declare(name, words, behind, seen);
            }
            ("let", Some(words)) => {
                for word in words {
                    self.see_sum(word, seen);
                }
            }
            ("set", Some(words)) => self.give_positional(words, seen),
            (_, Some(words)) if is_function => self.give_positional(words, seen),
            (_, Some(words)) if is_shell => {
                self.give_positional(words.get(given_to_shell(behind)..).unwrap_or_default(), seen);
            }
            ("let", None) => self.unknown |= !behind.is_empty(),
            (_, None) if name == "set" || is_function || is_shell => self.give_unknown(POSITIONAL),
            ("unset", _) => {}
            // One word in quotes is no option and a text.
            ("printf", Some([only])) if is_one_word(only) => {}
            (_, _) => match setting::variables_set(name, behind) {
                Some(names) => {
                    let is_integer = setting::has_letter(behind, 'i');
                    // The place among the words is a number.
                    for name in names.into_iter().filter(|set| !(name == "getopts" && set == "OPTIND")) {
                        self.give_unknown(&name);
                        if is_integer {
                            self.take_name(&name);
                        }
                    }
                }
                None => self.unnamed = true,
            },
        }
    }

    /// Elements that builtins are told by their names: `unset 'a[x]'`.
    fn see_subscripts(&mut self, builtin: &str, command: &RawCommand, seen: Seen<'_>) {
        let words = match builtin {
            // They are told no elements, or numbers, which are seen elsewhere.
            "env" | "let" | "set" => return,
            "[" | "[[" | "printf" | "test" => {
                let names = |word: &Word| matches!(word.literal().as_deref(), Some("-v" | "-R"));
                let behind = command.words.iter().position(names).map_or(command.words.len(), |at| at + 1);
                &command.words[behind..]
            }
            _ if EVALUATORS.contains(&builtin) => &command.words[..],
            _ => return,
        };
        for word in words {
            let Some(Part::Text { text, quoted }) = word.parts.first() else { continue };
            let Some((name, subscript)) = text.split_once('[') else { continue };
            if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
                continue;
            }
            let mut parts = word.parts.clone();
            parts[0] = Part::Text { text: subscript.to_owned(), quoted: *quoted };
            self.take(&value_of(&Word { parts, quoted: word.quoted }, seen, false));
        }
    }

    /// The commands between `[[` and `]]`.
    fn see_test(&mut self, command: &RawCommand, seen: Seen<'_>) {
        for three in command.words.windows(3) {
            if three[1].plain().is_some_and(|word| COMPARISONS.contains(&word)) {
                self.take(&value_of(&three[0], seen, false));
                self.take(&value_of(&three[2], seen, false));
            }
        }
    }

    /// A shell that another program starts with these words: those behind the text of `-c` are `$1` and so on in it.
    pub(super) fn see_shell(&mut self, arguments: &[Argument]) {
        for word in &arguments[given_to_shell(arguments)..] {
            self.values.entry(POSITIONAL.to_owned()).or_default().push((value_of_argument(word), NOWHERE));
        }
    }

    fn give_positional(&mut self, words: &[Word], seen: Seen<'_>) {
        for word in words.iter().filter(|word| !word.plain().is_some_and(|word| word.starts_with('-'))) {
            self.give(POSITIONAL, word, seen, true);
        }
    }

    /// `declare -i x=…` and its kin: the words, and what each of them becomes.
    fn declare(&mut self, builtin: &str, words: &[Word], arguments: &[Argument], seen: Seen<'_>) {
        let is_integer = builtin == "integer" || setting::has_letter(arguments, 'i');
        for (word, argument) in words.iter().zip(arguments) {
            let name = if let Some((name, value)) = assignment(word) {
                self.give(&name, &value, seen, false);
                name
            } else if argument.marked().starts_with(['-', '+']) {
                continue;
            } else if let Some(name) = word.literal().filter(|name| !name.contains('=')) {
                if builtin == "local" {
                    self.values.entry(name.clone()).or_default().push((Value::Of(Vec::new()), self.at));
                }
                name
            } else {
                match setting::variables_set(builtin, std::slice::from_ref(argument)).as_deref() {
                    Some([name]) => {
                        self.give_unknown(name);
                        name.clone()
                    }
                    Some(_) | None => {
                        self.unnamed = true;
                        continue;
                    }
                }
            };
            if is_integer {
                self.take_name(&name);
            }
        }
    }

    /// A word of `let`.
    fn see_sum(&mut self, word: &Word, seen: Seen<'_>) {
        for part in &word.parts {
            match part {
                Part::Text { text, .. } => {
                    let names = names_in(text);
                    names.read.iter().for_each(|name| self.take_name(name));
                    for name in names.set {
                        self.values.entry(name).or_default().push((Value::Of(Vec::new()), self.at));
                    }
                }
                other => self.take(&value_of_part(other, seen)),
            }
        }
    }
}

/// The variables that a command of assignments alone gives a value that is not made of their own, or a builtin that does no more than that;
/// `None` where it does anything else.
fn gives(command: &RawCommand) -> Option<Vec<String>> {
    let given = match command.words.split_first() {
        None => command.assignments.clone(),
        Some((first, words)) => {
            matches!(first.plain(), Some("declare" | "export" | "local" | "typeset")).then_some(())?;
            let is_flag = |word: &&Word| matches!(word.plain(), Some("-x" | "-g" | "--"));
            let given = words.iter().filter(|word| !is_flag(word)).map(assignment);
            given.collect::<Option<Vec<_>>>()?
        }
    };
    let is_own = |name: &str, word: &Word| {
        word.parts.iter().any(|part| matches!(part, Part::Variable { name: read, .. } if read == name))
    };
    Some(given.into_iter().filter(|(name, word)| !is_own(name, word)).map(|(name, _)| name).collect())
}

/// Where those of the words of a shell begin that are `$0`, `$1` and so on in what it runs: behind its text, and where it has none at
/// once. A `_` that only stands in the place of `$0` is left out.
fn given_to_shell(words: &[Argument]) -> usize {
    let is_option = |word: &Argument| word.marked().starts_with(['-', '+']);
    let (mut index, mut has_text) = (0, false);
    while let Some(word) = words.get(index).filter(|word| is_option(word)) {
        index += 1;
        if word.marked() == "--" {
            break;
        }
        has_text |= word.may_have_letter('c');
        // `-o name`
        let is_short = !word.marked().starts_with("--");
        index += usize::from(is_short && word.marked().ends_with(['o', 'O']));
    }
    if !has_text {
        return index.min(words.len());
    }
    let takes_own = |text: &str| is_marked(text) || ["$0", "${0", "${@:", "${*:"].iter().any(|own| text.contains(own));
    let is_filler = words.get(index + 1).is_some_and(|word| word.exact() == Some("_"))
        && words.get(index).is_some_and(|word| !takes_own(word.marked()));
    (index + 1 + usize::from(is_filler)).min(words.len())
}

/// Whether a word is one whatever its variables hold.
fn is_one_word(word: &Word) -> bool {
    word.parts.iter().all(|part| match part {
        Part::Text { .. } | Part::Number { .. } | Part::Variable { quoted: true, .. } => true,
        Part::Variable { quoted: false, .. }
        | Part::Output { .. }
        | Part::Pipe
        | Part::Altered { .. }
        | Part::Dynamic { .. } => false,
    })
}
