//! Words after expansion, as far as it can be known before anything runs.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::CommandContext;
use super::analyzer::WORDS;
use super::expansion::{self, Piece};
use super::loops::{self, Turn};
use super::script::{Part, RawCommand, Script, Word};
use super::setting::{self, Effect};

/// Stands for an unquoted `*` in an [`Argument`].
pub(crate) const ANY_NAME: char = '\u{1}';
/// Stands for an unquoted `?` or `[…]`.
pub(crate) const ANY_CHARACTER: char = '\u{2}';
/// Stands for what is known only when it runs: any text at all.
pub(crate) const ANYTHING: char = '\u{3}';
/// Stands by itself for the name of a pipe.
const PIPE: char = '\u{4}';

/// Whether part of a text stands for something else.
pub(crate) fn is_marked(text: &str) -> bool {
    text.bytes().any(is_marker)
}

/// Whether a byte is one of those that stand for something else.
pub(crate) fn is_marker(byte: u8) -> bool {
    const FIRST: u8 = ANY_NAME as u8;
    const LAST: u8 = PIPE as u8;
    (FIRST..=LAST).contains(&byte)
}

/// 3 times the words of a script are expanded, each time with what was found out before; then nothing of variables is known.
const PASSES: usize = 3;
/// Programs that print or compare what they read, and run nothing of it.
const PIPE_READERS: [&str; 15] = [
    "cat", "cmp", "column", "comm", "cut", "diff", "diff3", "grep", "head", "jq", "join", "paste", "sort", "tail", "wc",
];

/// 256 times a command is looked at once more, for another turn of its loop, of which all turns have at most 4,000 words.
const LOOKS: usize = 256;
const TURN_WORDS: usize = 4_000;

/// 256 Ki characters of values in all its words.
const SUBSTITUTED: usize = 256 << 10;

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

    /// The name of a pipe, which is no file.
    pub(super) fn pipe() -> Self {
        Self(PIPE.into())
    }

    /// Whether it is one.
    pub(super) fn is_pipe(&self) -> bool {
        self.0.starts_with(PIPE)
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

    /// Whether it is a cluster of short options with that letter.
    pub(super) fn has_letter(&self, letter: char) -> bool {
        self.0.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
    }

    /// The text as people read it.
    pub(crate) fn shown(&self) -> String {
        self.0
            .chars()
            .map(|character| match character {
                ANY_NAME => '*',
                ANY_CHARACTER => '?',
                ANYTHING | PIPE => '…',
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
    /// How often the script gives a variable a value by `x=…`, a loop or a sum.
    touched: HashMap<&'a str, u32>,
    /// Those that its commands may set otherwise.
    set: HashSet<String>,
    moves: bool,
    /// Whether the script runs text that may set any of them.
    hidden: bool,
    /// Whether its commands may set any but those of the shell: which they are is not known, or which they set.
    unsure: bool,
    /// How many characters of values were put into words.
    substituted: Cell<usize>,
    /// The arguments of each command, and whether braces in it were expanded, which a plain `sh` does not.
    expanded: Vec<(Vec<Argument>, bool)>,
    /// What substitutions print, by the number of their command.
    printed: &'a [(usize, String)],
    /// The commands that read pipes by the name that `<( … )` becomes, and do nothing with what they read but print or compare it.
    readers: Vec<bool>,
    /// What loops give their variables.
    turns: Vec<loops::Values<'a>>,
    /// How many commands were looked at once more.
    looks: Cell<usize>,
}

impl<'a> Variables<'a> {
    /// A variable is known where the script sets it once, to a literal, in a command that certainly runs. `functions` are those
    /// known so far; `is_own` says that no other text runs in the same shell, which may have made a variable read-only, defined
    /// a function or set a trap.
    pub(super) fn of(
        script: &'a Script,
        context: &'a CommandContext,
        functions: &HashSet<String>,
        is_own: bool,
    ) -> Self {
        let mut variables = Self {
            known: HashMap::new(),
            context,
            touched: HashMap::new(),
            set: HashSet::new(),
            moves: false,
            hidden: false,
            unsure: false,
            substituted: Cell::new(0),
            expanded: Vec::new(),
            printed: &[],
            readers: Vec::new(),
            turns: Vec::new(),
            looks: Cell::new(0),
        };
        let is_program = |name: &str| !functions.contains(name);
        if is_own && is_program("cat") {
            variables.printed = &script.printed;
        }
        let reads_pipes = |command: &RawCommand| {
            let name = command.words.first().and_then(Word::plain);
            name.is_some_and(|name| PIPE_READERS.contains(&name) && is_program(name))
        };
        variables.readers = script.commands.iter().map(reads_pipes).collect();
        let numbers = script.numbers.read.iter().chain(&script.numbers.set);
        let assigned = script.commands.iter().flat_map(|command| command.assignments.iter().map(|(name, _)| name));
        for name in script.loop_variables.iter().chain(numbers).chain(assigned) {
            *variables.touched.entry(name).or_default() += 1;
        }
        variables.set.extend(setting::set_by_sums(script));
        let mut candidates = Vec::new();
        if is_own && !script.constructs.assigning_expansion {
            let certain = |command: &&RawCommand| command.certain && command.words.is_empty();
            for (index, command) in script.commands.iter().enumerate().filter(|(_, command)| certain(command)) {
                let once = |name: &String| variables.touched.get(name.as_str()) == Some(&1) && !is_set_by_shells(name);
                candidates.extend(
                    command.assignments.iter().filter(|(name, _)| once(name)).map(|(name, value)| (index, name, value)),
                );
            }
        }
        // What commands set depends on what their words become, and that on what is set.
        for pass in 0..=PASSES {
            variables.unsure |= pass == PASSES;
            variables.know(&candidates);
            variables.expand_all(script);
            if variables.hidden || pass == PASSES || !variables.see_commands(script, functions) {
                break;
            }
        }
        let is_fixed = |name: &str| {
            let once = variables.touched.get(name) == Some(&1) && !is_set_by_shells(name);
            once && !variables.set.contains(name)
        };
        if is_own && !script.constructs.assigning_expansion && !variables.hidden && !variables.unsure {
            variables.turns = loops::values(script, is_fixed, |word, index| variables.exact(word, index));
        }
        variables
    }

    /// All that a word becomes, where that is known: for a plain `sh` too.
    fn exact(&self, word: &Word, index: usize) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        if self.expand(word, index, Turn::NONE, &mut arguments) {
            arguments.extend(self.substituted(&expansion::pieces(word), word, (index, Turn::NONE), false));
        }
        arguments.iter().map(|argument| argument.exact().map(str::to_owned)).collect()
    }

    /// Takes for known what is given once and set by no command.
    fn know(&mut self, candidates: &[(usize, &'a String, &'a Word)]) {
        self.known.clear();
        for (index, name, value) in candidates.iter().filter(|_| !self.hidden && !self.unsure) {
            if !self.set.contains(*name)
                && let Some(value) = self.text_of(value)
            {
                self.known.insert(name, (*index, value));
            }
        }
    }

    /// The text that a word gives to a variable, when it is known.
    fn text_of(&self, word: &Word) -> Option<String> {
        let text = word.literal()?;
        let has_tilde =
            word.parts.iter().any(|part| matches!(part, Part::Text { text, quoted: false } if text.contains('~')));
        if !has_tilde {
            return Some(text);
        }
        let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        let home = self.home().filter(|_| !word.quoted && !rest.contains('~'))?;
        Some(format!("{home}{rest}"))
    }

    /// Expands the words of all commands.
    fn expand_all(&mut self, script: &Script) {
        self.substituted.set(0);
        let mut expanded = Vec::with_capacity(script.commands.len());
        let mut count = 0;
        for (index, command) in script.commands.iter().enumerate() {
            let mut arguments = Vec::with_capacity(command.words.len());
            let mut has_braces = false;
            for word in &command.words {
                if count + arguments.len() > WORDS {
                    // More than is looked at.
                    break;
                }
                has_braces |= self.expand(word, index, Turn::NONE, &mut arguments);
            }
            count += arguments.len();
            expanded.push((arguments, has_braces));
        }
        self.expanded = expanded;
    }

    /// Notes what the commands do to variables. Whether that changes what is known.
    fn see_commands(&mut self, script: &Script, functions: &HashSet<String>) -> bool {
        let own: HashSet<&str> = script.functions.iter().map(|function| function.name.as_str()).collect();
        let mut changes = false;
        for ((arguments, _), command) in self.expanded.iter().zip(&script.commands) {
            let Some((first, arguments)) = setting::of_shell(arguments) else { continue };
            if waits_for_numbers(command) {
                continue;
            }
            let effect = match first.exact() {
                Some(name) if functions.contains(name) && !own.contains(name) => Effect::Anything,
                Some(name) => setting::effect(name, arguments),
                None => Effect::Anything,
            };
            match effect {
                Effect::Nothing => {}
                Effect::Moves => {
                    changes |= !self.moves;
                    self.moves = true;
                }
                Effect::Sets(names) => {
                    for name in names {
                        let matters = self.known.contains_key(name.as_str()) || matches!(name.as_str(), "HOME" | "PWD");
                        changes |= self.set.insert(name) && matters;
                    }
                }
                Effect::Anything => {
                    changes |= !self.unsure;
                    self.unsure = true;
                }
                Effect::Hidden => {
                    self.hidden = true;
                    return true;
                }
            }
        }
        changes
    }

    fn is_given(&self, name: &str) -> bool {
        self.hidden || self.touched.contains_key(name) || self.set.contains(name)
    }

    fn home(&self) -> Option<&str> {
        self.context.home.as_deref().filter(|_| !self.is_given("HOME"))
    }

    fn value(&self, name: &str, command: usize) -> Option<&str> {
        if let Some((set, value)) = self.known.get(name) {
            return (*set < command).then_some(value);
        }
        match name {
            "HOME" => self.home(),
            "PWD" if !self.is_given(name) && !self.moves => match self.context.directories.as_slice() {
                [] => Some(&self.context.working_directory),
                [directory] if !directory.contains(ANYTHING) => Some(directory),
                _ => None,
            },
            _ => None,
        }
    }

    /// The arguments that the words of a command become.
    pub(super) fn arguments(&self, index: usize) -> &[Argument] {
        self.expanded.get(index).map(|(arguments, _)| arguments.as_slice()).unwrap_or_default()
    }

    /// Whether braces in its words were expanded.
    pub(super) fn has_braces(&self, index: usize) -> bool {
        self.expanded.get(index).is_some_and(|(_, has_braces)| *has_braces)
    }

    /// What they are for a plain `sh`, when that is something else: it knows no braces.
    pub(super) fn plain_arguments(&self, command: &RawCommand, index: usize) -> Option<Vec<Argument>> {
        if !self.has_braces(index) {
            return None;
        }
        let words = command.words.iter();
        let place = (index, Turn::NONE);
        Some(words.filter_map(|word| self.substituted(&expansion::pieces(word), word, place, false)).collect())
    }

    /// The turns of the loops around a command in which it is looked at: each of them, where it says something else in each.
    pub(super) fn turns(&self, command: &RawCommand, index: usize) -> Vec<Turn<'_>> {
        let turns = loops::turns(&self.turns, command, index);
        let words = turns.len() * command.words.len();
        let looks = self.looks.get() + turns.len() - 1;
        if self.has_braces(index) || words > TURN_WORDS || looks > LOOKS {
            return vec![Turn::NONE];
        }
        self.looks.set(looks);
        turns
    }

    /// The arguments that the words of a command become in one turn.
    pub(super) fn arguments_in(&self, turn: Turn<'_>, command: &RawCommand, index: usize) -> Vec<Argument> {
        if turn == Turn::NONE {
            return self.arguments(index).to_vec();
        }
        let mut arguments = Vec::with_capacity(command.words.len());
        for word in &command.words {
            self.expand(word, index, turn, &mut arguments);
        }
        arguments
    }

    /// The one argument that a word becomes where words are not split, as after `>`.
    pub(super) fn single(&self, word: &Word, index: usize, turn: Turn<'_>) -> Argument {
        let mut arguments = Vec::new();
        let has_braces = self.expand(word, index, turn, &mut arguments);
        match <[Argument; 1]>::try_from(arguments) {
            Ok([argument]) if !has_braces => argument,
            Err(none) if none.is_empty() && !has_braces => Argument::known(""),
            Ok(_) | Err(_) => Argument::unknown(),
        }
    }

    /// The value that a word gives to a variable: nothing in it is split, quoted or not.
    pub(super) fn assigned(&self, word: &Word, command: usize) -> Argument {
        if let Some(text) = word.literal().filter(|text| !text.contains(char::is_control)) {
            return Argument::known(text);
        }
        let mut whole = word.clone();
        for part in &mut whole.parts {
            match part {
                Part::Text { quoted, .. } | Part::Variable { quoted, .. } | Part::Output { quoted, .. } => {
                    *quoted = true
                }
                Part::Number | Part::Pipe | Part::Dynamic => {}
            }
        }
        self.single(&whole, command, Turn::NONE)
    }

    /// Adds what a word becomes. Whether braces in it were expanded.
    fn expand(&self, word: &Word, index: usize, turn: Turn<'_>, out: &mut Vec<Argument>) -> bool {
        if word.parts == [Part::Pipe] && self.readers.get(index) == Some(&true) {
            out.push(Argument::pipe());
            return false;
        }
        // The common word: unquoted text without anything special.
        if let Some(text) = word.plain()
            && !text.contains(['*', '?', '[', '{', '~'])
        {
            out.push(Argument::known(text));
            return false;
        }
        let (alternatives, has_braces) = expansion::alternatives(expansion::pieces(word));
        let words = alternatives.iter();
        out.extend(words.filter_map(|pieces| self.substituted(pieces, word, (index, turn), has_braces)));
        has_braces
    }

    /// One word without braces, or none: an expansion that leaves nothing is no word.
    fn substituted(
        &self,
        pieces: &[Piece],
        word: &Word,
        place: (usize, Turn<'_>),
        has_braces: bool,
    ) -> Option<Argument> {
        let tildes = expansion::tildes(pieces);
        let mut characters: Vec<(char, bool)> = Vec::with_capacity(pieces.len());
        for (position, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Character(..) if tildes.binary_search(&position).is_ok() => {
                    let ends = pieces.get(position + 1).is_none_or(|next| next.is('/'));
                    // Only at the beginning all shells put it, and only where no quotes stand in front of the slash.
                    match self.home().filter(|_| ends && position == 0 && !word.quoted) {
                        Some(home) => characters.extend(home.chars().map(|character| (character, true))),
                        None => characters.push((ANYTHING, true)),
                    }
                }
                Piece::Character(character, quoted) => characters.push((*character, *quoted)),
                Piece::Variable(part, quoted) => match self.part_value(word, *part, place) {
                    Some(value) if *quoted || !value.contains([' ', '\t', '\n', '*', '?', '[']) => {
                        characters.extend(value.chars().map(|character| (expansion::known(character), true)));
                    }
                    Some(_) | None => characters.push((ANYTHING, true)),
                },
                Piece::Unknown => characters.push((ANYTHING, true)),
            }
        }
        match (characters.is_empty(), word.quoted) {
            (true, false) => None,
            // Which of the alternatives held the quotes is not sure.
            (true, true) if has_braces => Some(Argument::unknown()),
            (_, _) => Some(Argument(expansion::mark(&characters))),
        }
    }

    /// The value of the variable that is a part of a word. Beyond a limit none is known, or a short text becomes megabytes.
    fn part_value<'v>(&'v self, word: &Word, part: usize, (command, turn): (usize, Turn<'v>)) -> Option<&'v str> {
        let value = match word.parts.get(part)? {
            Part::Variable { name, .. } => turn.value(name).or_else(|| self.value(name, command))?,
            Part::Output { first, .. } => {
                // In the order of their commands.
                let at = self.printed.binary_search_by_key(first, |(command, _)| *command).ok()?;
                &self.printed.get(at)?.1
            }
            Part::Text { .. } | Part::Number | Part::Pipe | Part::Dynamic => return None,
        };
        self.substituted.set(self.substituted.get() + value.len());
        (self.substituted.get() <= SUBSTITUTED).then_some(value)
    }
}

/// Whether it is `wait $!`: a number is no option that names a variable.
fn waits_for_numbers(command: &RawCommand) -> bool {
    let is_number = |word: &Word| word.parts.iter().all(|part| matches!(part, Part::Number));
    command
        .words
        .split_first()
        .is_some_and(|(first, words)| first.plain() == Some("wait") && words.iter().all(is_number))
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
