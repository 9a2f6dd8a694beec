//! Words after expansion, as far as it can be known before anything runs.

use std::collections::HashMap;

use super::CommandContext;
use super::builtins::SETTERS;
use super::script::{Part, RawCommand, Script, Word};

/// Stands for an unquoted `*` in an [`Argument`].
pub(crate) const ANY_NAME: char = '\u{1}';
/// Stands for an unquoted `?` or `[…]`.
pub(crate) const ANY_CHARACTER: char = '\u{2}';
/// Stands for what is known only when it runs: any text at all.
pub(crate) const ANYTHING: char = '\u{3}';

/// Whether part of a text stands for something else.
pub(crate) fn is_marked(text: &str) -> bool {
    text.bytes().any(is_marker)
}

/// Whether a byte is one of those that stand for something else.
pub(crate) fn is_marker(byte: u8) -> bool {
    const FIRST: u8 = ANY_NAME as u8;
    const LAST: u8 = ANYTHING as u8;
    (FIRST..=LAST).contains(&byte)
}

/// 64 arguments from one word by `{a,b}`; more are taken as unknown.
const ALTERNATIVES: usize = 64;
/// 64 Ki characters of all of them together, or a short text becomes megabytes of names.
const ALTERNATIVE_CHARACTERS: usize = 64 << 10;

/// One argument of a command. Scripts with control characters are refused before, so the markers are ours alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument(String);

impl Argument {
    /// An argument that is known.
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// An argument of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self(ANYTHING.into())
    }

    /// The text, when all of it is known.
    pub(crate) fn exact(&self) -> Option<&str> {
        (!is_marked(&self.0)).then_some(self.0.as_str())
    }

    /// Whether part of it is known only when it runs; a file-name pattern alone is not such a part.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.0.contains(ANYTHING)
    }

    /// The text with its markers.
    pub(crate) fn marked(&self) -> &str {
        &self.0
    }

    /// The text as people read it.
    pub(crate) fn shown(&self) -> String {
        self.0
            .chars()
            .map(|character| match character {
                ANY_NAME => '*',
                ANY_CHARACTER => '?',
                ANYTHING => '…',
                other => other,
            })
            .collect()
    }
}

/// What is known of variables at each command of a script.
pub(super) struct Variables<'a> {
    /// The value, and the number of the command that sets it.
    known: HashMap<&'a str, (usize, String)>,
    context: &'a CommandContext,
    touched: HashMap<String, u32>,
    moves: bool,
    /// Whether the script runs text that may set any of them.
    hidden: bool,
}

impl<'a> Variables<'a> {
    /// A variable is known where the script sets it once, to a literal, in a command that certainly runs.
    pub(super) fn of(script: &'a Script, context: &'a CommandContext) -> Self {
        let mut variables =
            Self { known: HashMap::new(), context, touched: HashMap::new(), moves: false, hidden: false };
        let numbers = script.numbers.read.iter().chain(&script.numbers.set);
        for name in script.loop_variables.iter().chain(numbers) {
            variables.touch(name);
        }
        for command in &script.commands {
            for (name, _) in &command.assignments {
                variables.touch(name);
            }
            let Some(first) = command.words.first().and_then(Word::literal) else { continue };
            if matches!(first.as_str(), "eval" | "trap" | "source" | ".") || is_nameref(command) {
                return Self { known: HashMap::new(), context, touched: variables.touched, moves: true, hidden: true };
            }
            variables.moves |= matches!(first.as_str(), "cd" | "pushd" | "popd" | "chdir");
            if SETTERS.contains(&first.as_str()) || matches!(first.as_str(), "builtin" | "command" | "time" | "coproc")
            {
                for word in &command.words[1..] {
                    let text = word.literal().unwrap_or_default();
                    variables.touch(text.split(['=', '+', '[']).next().unwrap_or_default());
                }
            }
        }
        if script.constructs.assigning_expansion {
            return variables;
        }
        for (index, command) in script.commands.iter().enumerate() {
            if !command.certain || !command.words.is_empty() {
                continue;
            }
            for (name, value) in &command.assignments {
                if let (Some(&1), Some(value)) = (variables.touched.get(name), value.literal())
                    && !is_set_by_shells(name)
                {
                    variables.known.insert(name, (index, value));
                }
            }
        }
        variables
    }

    fn touch(&mut self, name: &str) {
        *self.touched.entry(name.to_owned()).or_default() += 1;
    }

    fn value(&self, name: &str, command: usize) -> Option<&str> {
        if let Some((set, value)) = self.known.get(name) {
            return (*set < command).then_some(value);
        }
        match name {
            "HOME" if !self.hidden && !self.touched.contains_key(name) => self.context.home.as_deref(),
            "PWD" if !self.hidden && !self.touched.contains_key(name) && !self.moves => {
                match self.context.directories.as_slice() {
                    [] => Some(&self.context.working_directory),
                    [directory] if !directory.contains(ANYTHING) => Some(directory),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The arguments that the words of a command become.
    pub(super) fn arguments(&self, command: &RawCommand, index: usize) -> Vec<Argument> {
        let mut arguments = Vec::with_capacity(command.words.len());
        for word in &command.words {
            self.expand(word, index, &mut arguments);
        }
        arguments
    }

    /// The one argument that a word becomes where words are not split, as after `>`.
    pub(super) fn single(&self, word: &Word, index: usize) -> Argument {
        let mut arguments = Vec::new();
        self.expand(word, index, &mut arguments);
        match <[Argument; 1]>::try_from(arguments) {
            Ok([argument]) => argument,
            Err(_) => Argument::unknown(),
        }
    }

    /// The value that a word gives to a variable: nothing in it is split, quoted or not.
    pub(super) fn assigned(&self, word: &Word, command: usize) -> Argument {
        let mut whole = word.clone();
        for part in &mut whole.parts {
            match part {
                Part::Text { quoted, .. } | Part::Variable { quoted, .. } => *quoted = true,
                Part::Number | Part::Output { .. } | Part::Dynamic => {}
            }
        }
        self.single(&whole, command)
    }

    fn expand(&self, word: &Word, index: usize, out: &mut Vec<Argument>) {
        // The common word: unquoted text without anything special.
        if let Some(text) = word.plain()
            && !text.contains(['*', '?', '[', '{', '~'])
        {
            out.push(Argument::known(text));
            return;
        }
        let mut characters: Vec<(char, bool)> = Vec::new();
        for part in &word.parts {
            match part {
                Part::Text { text, quoted } => characters.extend(text.chars().map(|character| {
                    // Only `$'…'` can still bring one in.
                    if character.is_control() && !matches!(character, '\n' | '\t') {
                        (ANYTHING, true)
                    } else {
                        (character, *quoted)
                    }
                })),
                Part::Variable { name, quoted } => match self.value(name, index) {
                    Some(value) if *quoted || !value.contains([' ', '\t', '\n', '*', '?', '[']) => {
                        characters.extend(value.chars().map(|character| (character, true)));
                    }
                    Some(_) | None => characters.push((ANYTHING, true)),
                },
                Part::Number | Part::Output { .. } | Part::Dynamic => characters.push((ANYTHING, true)),
            }
        }
        self.expand_tilde(&mut characters);
        for alternative in alternatives(characters) {
            out.push(Argument(mark(&alternative)));
        }
    }

    fn expand_tilde(&self, characters: &mut Vec<(char, bool)>) {
        if characters.first() != Some(&('~', false)) {
            return;
        }
        let home: Vec<(char, bool)> = match (characters.get(1), &self.context.home) {
            (None | Some(('/', _)), Some(home)) if !self.hidden && !self.touched.contains_key("HOME") => {
                home.chars().map(|character| (character, true)).collect()
            }
            (_, _) => vec![(ANYTHING, true)],
        };
        characters.splice(0..1, home);
    }
}

/// Whether shells set the variable themselves, whatever it was given.
fn is_set_by_shells(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "_",
        "COLUMNS",
        "COPROC",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "HOSTNAME",
        "HOSTTYPE",
        "LINENO",
        "LINES",
        "MACHTYPE",
        "MAPFILE",
        "OLDPWD",
        "OPTARG",
        "OPTERR",
        "OPTIND",
        "OSTYPE",
        "PIPESTATUS",
        "PPID",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHLVL",
        "SRANDOM",
        "UID",
    ];
    NAMES.contains(&name) || ["BASH", "COMP_", "COMPREPLY", "READLINE_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a command gives a variable a second name, which sets it unseen.
fn is_nameref(command: &RawCommand) -> bool {
    let is_option = |word: &Word| word.literal().is_some_and(|text| text.starts_with('-') && text.contains('n'));
    command
        .words
        .first()
        .and_then(Word::literal)
        .is_some_and(|name| matches!(name.as_str(), "declare" | "typeset" | "local"))
        && command.words[1..].iter().any(is_option)
}

/// Marks unquoted patterns.
fn mark(characters: &[(char, bool)]) -> String {
    let mut text = String::with_capacity(characters.len());
    let mut index = 0;
    let last_close = characters.iter().rposition(|(character, _)| *character == ']').unwrap_or_default();
    while let Some(&(character, quoted)) = characters.get(index) {
        index += 1;
        match character {
            '*' if !quoted => text.push(ANY_NAME),
            '?' if !quoted => text.push(ANY_CHARACTER),
            '[' if !quoted && index < last_close => {
                let close = characters[index..].iter().skip(1).position(|(character, _)| *character == ']');
                match close {
                    Some(close) => {
                        text.push(ANY_CHARACTER);
                        index += close + 2;
                    }
                    None => text.push('['),
                }
            }
            _ => text.push(character),
        }
    }
    text
}

/// What `{a,b}` expands to. Braces within braces, ranges, and more than can be listed become unknown text.
fn alternatives(characters: Vec<(char, bool)>) -> Vec<Vec<(char, bool)>> {
    let mut done = Vec::new();
    let mut open = vec![characters];
    let mut ranges = 0;
    while let Some(word) = open.pop() {
        let Some(Braces { start, end, last }) = braces(&word) else {
            done.push(word);
            continue;
        };
        let replace = |end: usize, choice: &[(char, bool)]| [&word[..start], choice, &word[end + 1..]].concat();
        let inner = &word[start + 1..end];
        let is_simple = !inner.contains(&('{', false));
        let choices: Vec<&[(char, bool)]> = inner.split(|character| *character == (',', false)).collect();
        let count = done.len() + open.len() + choices.len();
        let fits = count <= ALTERNATIVES && count * word.len() <= ALTERNATIVE_CHARACTERS;
        if is_simple && choices.len() > 1 && fits {
            open.extend(choices.into_iter().rev().map(|choice| replace(end, choice)));
        } else if is_simple && choices.len() == 1 && is_range(inner) && ranges < ALTERNATIVES {
            ranges += 1;
            open.push(replace(end, &[(ANYTHING, true)]));
        } else {
            // Whatever is done with them, nothing in front of the first and behind the last changes.
            open.push(replace(last, &[(ANYTHING, true)]));
        }
    }
    done
}

/// Where unquoted braces stand that something is done with.
struct Braces {
    start: usize,
    /// The first that can end the one at `start`.
    end: usize,
    /// The last of all.
    last: usize,
}

/// Shells differ in what they do with braces that are not balanced or hold no comma, so only words without any comma or
/// range between the first and the last brace are sure to be left as they are.
fn braces(word: &[(char, bool)]) -> Option<Braces> {
    let start = word.iter().position(|character| *character == ('{', false))?;
    let last = word.iter().rposition(|character| *character == ('}', false)).filter(|last| *last > start)?;
    let within = &word[start + 1..last];
    if !within.contains(&(',', false)) && !is_range(within) {
        return None;
    }
    let end = start + word[start..].iter().position(|character| *character == ('}', false))?;
    Some(Braces { start, end, last })
}

fn is_range(inner: &[(char, bool)]) -> bool {
    inner.windows(2).any(|pair| pair == [('.', false), ('.', false)])
}
