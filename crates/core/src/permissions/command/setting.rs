//! Which variables a command of the shell sets, by its words.

use super::argument::{ANY_CHARACTER, Argument, is_marked};
use super::chain::MOVERS;
use super::variables::Becomes;
use crate::script::{Part, RawCommand, Script, Word, assignment, names_in};

/// Operators of `[[` that compare numbers.
pub(super) const COMPARISONS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// 16 letters of options stand together at the most: no builtin has as many.
const LETTERS: usize = 16;

/// What a command does to the variables of the shell.
pub(super) enum Effect {
    Nothing,
    /// It leads the shell to another directory.
    Moves,
    /// It sets these.
    Sets(Vec<String>),
    /// Which it sets is not known.
    Anything,
    /// It runs a text that may set any of them.
    Hidden,
}

/// The command that the shell itself runs, without the words in front of it that only say how: its name, and its words.
pub(super) fn of_shell(arguments: &[Argument]) -> Option<(&Argument, &[Argument])> {
    let is_skipped = |word: &&Argument| {
        let text = word.marked();
        text.starts_with('-') || matches!(text, "builtin" | "command" | "exec" | "time" | "coproc" | "!")
    };
    let skipped = match arguments.first() {
        Some(first) if !first.marked().starts_with('-') => arguments.iter().take_while(is_skipped).count(),
        Some(_) | None => 0,
    };
    arguments[skipped..].split_first()
}

/// What a command of that name does.
pub(super) fn effect(name: &str, arguments: &[Argument]) -> Effect {
    match name {
        "eval" | "trap" | "source" | "." => Effect::Hidden,
        // Behind `time` assignments stand as in front of any command.
        _ if name.contains('=') => Effect::Anything,
        "declare" | "typeset" | "local" if has_letter(arguments, 'n') => Effect::Hidden,
        _ if MOVERS.contains(&name) => Effect::Moves,
        _ => match variables_set(name, arguments) {
            Some(names) if names.is_empty() => Effect::Nothing,
            Some(names) => Effect::Sets(names),
            None => Effect::Anything,
        },
    }
}

/// The variables that a builtin sets by its words, or `None` where nobody knows which.
pub(super) fn variables_set(name: &str, arguments: &[Argument]) -> Option<Vec<String>> {
    match name {
        _ if is_declaration(name) => declared(arguments).map(named).collect(),
        "read" => {
            let Options { mut names, operands } = options(arguments, "adinNptu", 'a')?;
            names.extend(operands.iter().map(named).collect::<Option<Vec<_>>>()?);
            if operands.is_empty() {
                names.push("REPLY".to_owned());
            }
            Some(names)
        }
        "mapfile" | "readarray" => {
            let operands = options(arguments, "dnOsuCc", '\0')?.operands;
            operands.first().map_or(Some(vec!["MAPFILE".to_owned()]), |word| named(word).map(|name| vec![name]))
        }
        "getopts" => {
            let operands = options(arguments, "", '\0')?.operands;
            let mut names = vec!["OPTARG".to_owned(), "OPTIND".to_owned()];
            names.extend(operands.iter().skip(1).take(1).map(named).collect::<Option<Vec<_>>>()?);
            Some(names)
        }
        "printf" => Some(options(arguments, "v", 'v')?.names),
        "wait" => Some(options(arguments, "p", 'p')?.names),
        "let" => {
            let mut names = Vec::new();
            for word in arguments {
                // A subscript looks like a pattern for names of files.
                let text = word.marked();
                if text.contains(|character: char| {
                    character != ANY_CHARACTER && is_marked(character.encode_utf8(&mut [0; 4]))
                }) {
                    return None;
                }
                let in_text = names_in(text);
                names.extend(in_text.read.into_iter().chain(in_text.set));
            }
            Some(names)
        }
        _ => Some(Vec::new()),
    }
}

/// The same, each with what it becomes; where nobody knows which, all that it may be by the names in its words.
pub(super) fn assigned<'a>(name: &str, arguments: &'a [Argument]) -> Vec<(String, Becomes<'a>)> {
    if !is_declaration(name) {
        return perhaps_set(name, arguments).into_iter().map(|name| (name, Becomes::Unknown)).collect();
    }
    let becomes = |word: &'a Argument| Some((named(word)?, Becomes::of_word(word.marked())));
    declared(arguments).filter_map(becomes).collect()
}

/// The variables that a builtin sets by its words, or where nobody knows which all names in them.
pub(super) fn perhaps_set(name: &str, arguments: &[Argument]) -> Vec<String> {
    if let Some(names) = variables_set(name, arguments) {
        return names;
    }
    let mut names = Vec::new();
    for word in arguments.iter().map(Argument::marked) {
        for text in word.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_')) {
            names.push(text.to_owned());
        }
        // Behind the letter of an option stands a name without a blank.
        if let Some(letters) = word.strip_prefix('-') {
            let letters = letters.bytes().take_while(u8::is_ascii_alphabetic).take(LETTERS).count();
            names.extend((1..=letters).filter_map(|index| word.get(index + 1..)).map(str::to_owned));
        }
    }
    names
}

/// Whether a builtin gives values by words of the form `name=text`, or takes them away.
fn is_declaration(name: &str) -> bool {
    matches!(name, "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "integer")
}

/// Its words that are no options.
fn declared(arguments: &[Argument]) -> impl Iterator<Item = &Argument> {
    arguments.iter().filter(|word| !word.marked().starts_with(['-', '+']))
}

/// The name that a word of a builtin gives a value to.
fn named(word: &Argument) -> Option<String> {
    let text = word.marked();
    let name = text.split(['=', '+', '[']).next().unwrap_or_default();
    (!is_marked(name)).then(|| name.to_owned())
}

/// Whether a cluster of options has that letter.
pub(super) fn has_letter(arguments: &[Argument], letter: char) -> bool {
    arguments.iter().any(|word| word.may_have_letter(letter))
}

/// The words of a builtin, taken apart.
struct Options<'a> {
    /// The variables that an option names.
    names: Vec<String>,
    /// What stands behind the options.
    operands: &'a [Argument],
}

/// Takes the options off, of which those in `takes` take a value: the rest of their word, or the next. The value of `names` is a
/// variable. `None` where nobody knows what is an option.
fn options<'a>(arguments: &'a [Argument], takes: &str, names: char) -> Option<Options<'a>> {
    let mut found = Options { names: Vec::new(), operands: arguments };
    while let Some((word, behind)) = found.operands.split_first() {
        let text = word.marked();
        if text == "--" {
            found.operands = behind;
            break;
        }
        if !text.starts_with('-') || text.len() == 1 {
            if text.chars().next().is_some_and(|first| is_marked(first.encode_utf8(&mut [0; 4]))) {
                return None;
            }
            break;
        }
        found.operands = behind;
        let Some(position) = text[1..].find(|letter| takes.contains(letter)).map(|position| position + 1) else {
            if is_marked(text) {
                return None;
            }
            continue;
        };
        if is_marked(&text[..position]) {
            return None;
        }
        let value = match &text[position + 1..] {
            "" => {
                let (value, behind) = behind.split_first().unzip();
                found.operands = behind.unwrap_or_default();
                value.cloned()
            }
            glued => Some(Argument::known(glued)),
        };
        let Some(value) = value else { break };
        if text[position..].starts_with(names) {
            found.names.push(named(&value)?);
        } else if value.is_dynamic() {
            // Without quotes it may be several words.
            return None;
        }
    }
    Some(found)
}

/// The variables that a script may set by text that it takes for a number: `y='x=1'; echo $((y))`.
pub(super) fn set_by_sums(script: &Script) -> Vec<String> {
    let numbers = &script.numbers;
    let takes = !numbers.read.is_empty() || numbers.unknown || !numbers.outputs.is_empty();
    if !takes && !script.commands.iter().any(takes_numbers) {
        return Vec::new();
    }
    let assigned = script.commands.iter().flat_map(|command| command.assignments.iter().map(|(_, word)| word));
    let words = script.commands.iter().filter(|command| takes_numbers(command)).flat_map(|command| &command.words);
    let words = assigned.chain(words).chain(script.given.iter().map(|(_, word)| word));
    let mut names = Vec::new();
    for part in words.flat_map(|word| &word.parts) {
        if let Part::Text { text, .. } = part {
            let in_text = names_in(text);
            names.extend(in_text.read.into_iter().chain(in_text.set));
        }
    }
    names
}

/// Whether a command evaluates words, or makes a variable evaluate what it is given.
fn takes_numbers(command: &RawCommand) -> bool {
    let is_comparison = |word: &Word| word.plain().is_some_and(|word| COMPARISONS.contains(&word));
    let names = || command.words.iter().take(3).map(Word::literal);
    let is = |known: &[&str]| names().flatten().any(|name| known.contains(&name.as_str()));
    let makes_integer = || {
        command.words.iter().any(|word| word.literal().is_none_or(|text| text.starts_with('-') && text.contains('i')))
    };
    let is_evaluator = names().next().is_some_and(|name| name.is_none())
        || is(&["let", "integer"])
        || (is(&["declare", "typeset", "local"]) && makes_integer());
    let is_own = |(name, _): &(String, Word)| super::numbers::EVALUATING.contains(&name.as_str());
    command.words.iter().any(is_comparison)
        || is_evaluator
        || command.assignments.iter().any(is_own)
        || command.words.iter().any(|word| assignment(word).is_some_and(|one| is_own(&one)))
}
