//! What is known of the variables of a script before anything runs.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::CommandContext;
use super::analyzer::WORDS;
use super::argument::{ANYTHING, Argument};
use super::expansion;
use super::loops::{Loops, Turn};
use super::setting::{self, Effect};
use crate::script::{Part, RawCommand, Script, Word};

mod expanded;

/// 3 times the words of a script are expanded, each time with what was found out before; then nothing of variables is known.
const PASSES: usize = 3;

/// Programs that print or compare what they read, and run nothing of it.
const PIPE_READERS: [&str; 15] = [
    "cat", "cmp", "column", "comm", "cut", "diff", "diff3", "grep", "head", "jq", "join", "paste", "sort", "tail", "wc",
];

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
    loops: Loops<'a>,
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
            loops: Loops::default(),
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
        let numbers = script.numbers.read.iter().map(|(name, _)| name).chain(&script.numbers.set);
        let assigned = script.commands.iter().flat_map(|command| command.assignments.iter().map(|(name, _)| name));
        for name in script.loop_variables.iter().chain(numbers).chain(assigned) {
            *variables.touched.entry(name).or_default() += 1;
        }
        variables.set.extend(setting::set_by_sums(script));
        let mut candidates = Vec::new();
        if is_own && !script.constructs.assigning_expansion {
            let certain = |command: &&RawCommand| command.certain && command.words.is_empty();
            for (index, command) in script.commands.iter().enumerate().filter(|(_, command)| certain(command)) {
                let once = |name: &String| variables.is_given_once(name);
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
        if is_own && !script.constructs.assigning_expansion && !variables.hidden && !variables.unsure {
            let is_fixed = |name: &str| variables.is_given_once(name) && !variables.set.contains(name);
            variables.loops = Loops::of(script, is_fixed, |word, index| variables.named(word, index));
        }
        variables
    }

    /// All that a word becomes, where that is known but for patterns: for a plain `sh` too.
    fn named(&self, word: &Word, index: usize) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        if self.expand(word, index, Turn::NONE, &mut arguments) {
            self.substitute(&expansion::pieces(word), word, (index, Turn::NONE), false, &mut arguments);
        }
        let is_known = |argument: &Argument| !argument.is_dynamic() && !argument.is_pipe();
        arguments.iter().all(is_known).then(|| arguments.iter().map(|argument| argument.marked().to_owned()).collect())
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
        let text = word.known()?;
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

    fn is_given_once(&self, name: &str) -> bool {
        self.touched.get(name) == Some(&1) && !is_set_by_shells(name)
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

    /// Whether the script runs texts, which may set any variable or define a function.
    pub(super) const fn runs_texts(&self) -> bool {
        self.hidden
    }
}

/// Whether it is `wait $!`: a number is no option that names a variable.
fn waits_for_numbers(command: &RawCommand) -> bool {
    let is_number = |word: &Word| word.parts.iter().all(|part| matches!(part, Part::Number { .. }));
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
