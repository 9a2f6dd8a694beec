//! One reading of a command line: every simple command in it is looked into, judged and listed, and so is every text that it
//! hands to a shell.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use super::analysis::{CommandContext, SimpleCommand};
use super::argument::Argument;
use super::arrays::Arrays;
use super::chain::Chain;
use super::each::printed_by_find;
use super::known::Variables;
use super::loops::Turn;
use super::numbers::Numbers;
use super::paths::{self, Aliases, Places};
use super::poured::{Orders, Poured};
use super::running::{Runner, Running};
use super::unwrap::Layer;
use super::variables::Becomes;
use super::{allow, bombs, deny, doubt, later, modes, ordinary, terminals, variables, wrappers};
use crate::script::{
    NestedKind, Part, RawCommand, Redirect, RedirectKind, RedirectTarget, Script, TOO_DEEP, Word, parse,
};

mod commands;
mod verdict;

/// 1,000 simple commands: beyond that nobody reads an approval.
pub(super) const COMMANDS: usize = 1_000;
/// 200 texts inside texts (`sh -c`, back-quotes, here-documents), at most 8 deep.
const NESTED: usize = 200;
const NESTED_DEPTH: usize = 8;
/// 16 commands, each of which starts the next: nobody writes more, and each is listed with all behind it.
pub(super) const WRAPPED: usize = 16;

/// 50,000 words of all commands together, of which 64 KiB can hold 32,000 in one.
pub(super) const WORDS: usize = 50_000;

pub(super) struct Analyzer<'a> {
    context: &'a CommandContext,
    commands: Vec<SimpleCommand>,
    /// How many words they have.
    words: usize,
    pub(super) places: Places<'a>,
    unresolved: Vec<String>,
    parsed: bool,
    denied: Option<String>,
    /// Texts that are to be read.
    queue: VecDeque<Text>,
    texts: usize,
    /// Names of functions so far. 64 KiB define thousands, and every command is looked up among them.
    pub(super) functions: HashSet<String>,
    /// How many texts the shell itself runs, such as those of `eval`.
    pub(super) evaluated: usize,
    /// Whether commands may run in another order than that of the text.
    pub(super) reorders: bool,
    /// How the command runs that is looked into.
    running: Running,
    allow_list: Option<allow::AllowList>,
    numbers: Numbers,
    arrays: Arrays,
}

impl<'a> Analyzer<'a> {
    pub(super) fn new(context: &'a CommandContext, maybe: Vec<String>, aliases: Aliases) -> Self {
        Self {
            context,
            commands: Vec::new(),
            words: 0,
            places: Places::new(context, maybe, aliases),
            unresolved: Vec::new(),
            parsed: true,
            denied: None,
            queue: VecDeque::new(),
            texts: 0,
            functions: HashSet::new(),
            evaluated: 0,
            reorders: false,
            running: Running::LINE,
            allow_list: context.allowed_commands.as_deref().map(allow::AllowList::new),
            numbers: Numbers::default(),
            arrays: Arrays::default(),
        }
    }

    pub(super) fn read_all(&mut self, command: &str) {
        if self.context.continues && self.context.expands_history && modes::expands_history(command) {
            self.unresolve("a '!' or '^' in it may stand for earlier text of an interactive shell");
        }
        self.queue.push_back(Text {
            text: command.to_owned(),
            kind: NestedKind::Script,
            depth: 0,
            running: Running::LINE,
            is_own: !self.context.continues,
            reads: Orders::default(),
        });
        while let Some(Text { text, kind, depth, running, is_own, reads }) = self.queue.pop_front() {
            self.texts += 1;
            if self.texts > NESTED || depth > NESTED_DEPTH {
                self.exceed("it holds too many texts inside texts");
                return;
            }
            let script = parse(&text, kind);
            match script.error {
                Some(TOO_DEEP) => self.exceed(TOO_DEEP),
                Some(error) => self.fail(error),
                None => {}
            }
            self.read_script(script, depth, (running, reads), is_own);
            if self.commands.len() > COMMANDS {
                self.exceed("it holds too many commands");
                return;
            }
        }
    }

    fn read_script(&mut self, script: Script, depth: usize, (running, reads): (Running, Orders), is_own: bool) {
        if let Some(list) = &mut self.allow_list {
            list.see_constructs(&script);
        }
        if script.constructs.indirection {
            self.unresolve("it expands a variable in a way that can run code ('${!…}', '${…@…}')");
        }
        if let Some(name) = bombs::fork_bomb(&script) {
            self.deny(&format!("the function '{name}' starts itself without end (a fork bomb)"));
        }
        self.reorders |= script.constructs.repeats || depth > 0;
        let defined = script.functions.iter().map(|function| function.name.to_ascii_lowercase());
        self.places.see_script(defined, script.constructs.repeats);
        for command in script.commands.iter().filter(|_| depth > 0) {
            let doubles = command.piped_out || command.piped_in || command.background;
            if doubles
                && command.words.first().and_then(Word::literal).is_some_and(|name| self.functions.contains(&name))
            {
                self.unresolve("a text that is run starts a function more than once");
            }
        }
        if self.context.continues && script.functions.iter().any(|function| later::is_trusted(&function.name)) {
            self.unresolve("a function takes the place of a program that later lines are trusted with");
        }
        for function in &script.functions {
            if wrappers::MEANINGS.contains(&function.name.as_str()) {
                self.unresolve(&format!("it gives '{}' another meaning", function.name));
            }
        }
        self.arrays.note(&script.arrays);
        self.functions.extend(script.functions.iter().map(|function| function.name.clone()));
        let is_code = |word: &Word| word.literal().is_some_and(|text| doubt::is_subscript_with_code(&text));
        if script.given.iter().any(|(_, word)| is_code(word)) {
            self.unresolve("the value of a loop's variable runs a command where it is taken for a number");
        }
        let variables = Variables::of(&script, self.context, &self.functions, is_own);
        self.numbers.see_script(&script, &self.functions, &variables);
        let in_sums = script.numbers.read.iter().map(|(name, _)| name).chain(&script.numbers.set);
        for name in script.loop_variables.iter().chain(in_sums) {
            self.see_assignment(name, Becomes::Unknown);
        }
        if let Some(name) = bombs::endless_forks(&script) {
            self.deny(&format!("a loop starts '{name}' in the background without end (a fork bomb)"));
        }
        let mut chain = Chain::new(&script);
        let poured = Poured::of(&script, &variables, &self.functions, reads);
        let recursive = self.recursive(&script);
        for (index, command) in script.commands.iter().enumerate() {
            if self.commands.len() > COMMANDS {
                return;
            }
            let has_words = !command.words.is_empty();
            self.places.begin(chain.begin(command));
            self.running = running.of(command);
            let is_in_function = || script.functions.iter().any(|one| (one.first..one.end).contains(&index));
            let is_for_later = self.context.continues && (running.by == Runner::Later || is_in_function());
            self.places.run_later(is_for_later);
            // Each call of itself begins where the one before was, whatever shell that had.
            self.running.repeats |= recursive.iter().any(|body| body.contains(&index));
            for (name, value) in &command.assignments {
                let value = variables.assigned(value, index);
                if doubt::is_subscript_with_code(value.marked()) {
                    self.unresolve(&format!("the value of '{name}' runs a command where it is taken for a number"));
                }
                if let Some(list) = &mut self.allow_list
                    && has_words
                {
                    list.refuse(format!("it sets the variable '{name}' for a command"));
                }
                if !self.is_for_read(name, command) {
                    self.see_assignment(name, Becomes::Text(value.marked()));
                }
                self.see_program(name, value.marked());
                if has_words {
                    self.see_value(name, value.marked());
                }
            }
            let turns = variables.turns(command, index);
            let names = || {
                let is_sure = (depth == 0 || is_own) && !self.functions.contains("find");
                is_sure.then(|| names_poured(&script, index, &variables, &self.places)).flatten()
            };
            let mut input = match command.piped_in {
                true => names().map_or(Input::Unknown, Input::Names),
                false => Input::Inherited,
            };
            for redirect in &command.redirects {
                match (&redirect.target, redirect.kind) {
                    (_, RedirectKind::Duplicate) => {}
                    (RedirectTarget::Body(body), _) => {
                        let body = &script.bodies[*body];
                        input = if body.literal { Input::Text(body.text.clone()) } else { Input::Unknown };
                    }
                    (RedirectTarget::Word(word), RedirectKind::HereString | RedirectKind::HereDocument) => {
                        let text = variables.single(word, index, Turn::NONE);
                        input = text.exact().map_or(Input::Unknown, |text| Input::Text(text.to_owned()));
                    }
                    (RedirectTarget::Word(word), kind) => {
                        if kind != RedirectKind::Write {
                            input = Input::Unknown;
                        }
                        let is_pipe = kind == RedirectKind::Read && word.parts == [Part::Pipe];
                        for turn in turns.iter().filter(|_| !is_pipe) {
                            self.see_redirect(&variables.single(word, index, *turn), kind);
                        }
                    }
                }
            }
            if command.juggles_input {
                input = Input::Unknown;
            }
            if self.context.continues && modes::replaces_input(command) {
                self.unresolve("the shell runs what it reads from its new input");
            }
            if let Some(rm) = rm_among(&command.words) {
                let mut own = command.words[rm + 1..].iter().take_while(|word| word.plain() != Some("--"));
                if own.any(|word| turns.iter().any(|turn| variables.may_be_options(word, index, *turn))) {
                    self.unresolve("what 'rm' is given may be options; put it in quotes, or behind `--`");
                }
            }
            if has_words {
                let before = self.places.here();
                let (has_turns, mut has_moved, mut led) = (turns.len() > 1, false, Some(Vec::new()));
                let given = Given { input: &input, orders: poured.read_by(index) };
                for turn in turns {
                    let arguments = variables.arguments_in(turn, command, index);
                    self.see_command(Layer { has_terminal_input: true, ..Layer::started(arguments) }, given, depth);
                    let here = self.places.here();
                    has_moved |= here != before;
                    led = led.zip(here).map(|(led, here)| [led, here].concat());
                    if has_turns && has_moved {
                        // The next turn begins where this one led, or where it did not.
                        self.places.lead(None);
                    }
                }
                if has_turns && has_moved {
                    self.places.lead(led);
                }
                if let Some(arguments) = variables.plain_arguments(command, index) {
                    self.see_plain(Layer { has_terminal_input: true, ..Layer::named(arguments) }, given, depth);
                }
                has_moved |= self.places.here() != before;
                if has_moved && !chain.is_led_by(command) {
                    self.places.lead(None);
                }
            }
        }
        if depth == 0 {
            self.places.end_script(chain.is_plain());
        }
        for nested in script.nested {
            self.queue.push_back(Text {
                text: nested.text,
                kind: nested.kind,
                depth: depth + 1,
                // Substitutions have a shell of their own.
                running: Running::APART,
                is_own: false,
                reads: poured.read_by_any() | reads,
            });
        }
    }

    /// The bodies of functions that may call themselves: those that call one at all, and each where a text is run, which may define
    /// others.
    fn recursive(&self, script: &Script) -> Vec<Range<usize>> {
        let is_named = |command: &RawCommand, is_one: &dyn Fn(&String) -> bool| {
            command.words.first().is_some_and(|word| word.literal().is_none_or(|name| is_one(&name)))
        };
        let runs_text =
            |name: &String| matches!(name.as_str(), "eval" | "trap" | "command" | "builtin" | "source" | ".");
        let all = script.commands.iter().any(|command| is_named(command, &runs_text));
        let calls = |command: &RawCommand| all || is_named(command, &|name| self.functions.contains(name));
        let bodies = script.functions.iter().map(|function| function.first..function.end.min(script.commands.len()));
        bodies.filter(|body| script.commands[body.clone()].iter().any(calls)).collect()
    }

    /// Whether an assignment says only how one `read` parts what it reads: no later command sees it.
    fn is_for_read(&self, name: &str, command: &RawCommand) -> bool {
        let reads = command.words.first().and_then(Word::plain) == Some("read");
        name == "IFS" && command.assignments.len() == 1 && reads && !self.functions.contains("read")
    }

    /// The value of a variable for a program, which may be a file where it looks like a path: a word alone is far more often none, and may be
    /// a secret itself. The directories of a `PATH` are where programs lie.
    fn see_value(&mut self, name: &str, value: &str) {
        self.places.see_suffix(name, value);
        if !name.ends_with("PATH") && (value.starts_with(['.', '~']) || value.contains('/')) {
            self.places.add_pieces(value);
        }
    }

    fn see_assignment(&mut self, name: &str, becomes: Becomes<'_>) {
        let directory = &self.context.working_directory;
        let is_of_project = matches!(becomes, Becomes::Text(text) if ordinary::is_of_project(name, text, directory));
        if variables::changes(name, becomes) && !is_of_project {
            self.unresolve(&format!("it sets '{name}', which changes what later commands do"));
        }
    }

    fn see_program(&mut self, name: &str, value: &str) {
        self.places.see_suffix(name, value);
        if variables::starts_denied(name, value) {
            self.unresolve(&format!("'{name}' names a program that later commands start"));
        }
    }

    fn see_redirect(&mut self, target: &Argument, kind: RedirectKind) {
        let (reads, writes) = match kind {
            RedirectKind::Read => (true, false),
            RedirectKind::Write => (false, true),
            RedirectKind::ReadWrite => (true, true),
            RedirectKind::HereDocument | RedirectKind::HereString | RedirectKind::Duplicate => (false, false),
        };
        if reads {
            self.places.add(target, paths::Use::Read);
            if let Some(terminal) = terminals::read(target, &self.places) {
                self.unresolve(&format!(
                    "a redirection reads the terminal '{terminal}', where something may be typed for another program"
                ));
            }
        }
        if writes {
            self.places.add(target, paths::Use::Write);
            if let Some(reason) = deny::device_write(target, &self.places) {
                self.deny(&reason);
            }
        }
        let is_network = |path: &String| path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/");
        if self.places.all(target.marked()).iter().any(is_network) {
            self.unresolve("a redirection opens a connection to the network");
        }
        if target.is_dynamic() {
            self.unresolve("a redirection leads to a file that is known only when it runs");
        }
        if let Some(list) = &mut self.allow_list
            && target.exact() != Some("/dev/null")
        {
            list.refuse("it redirects to or from a file".to_owned());
        }
    }
}

/// A text that is to be read.
struct Text {
    text: String,
    kind: NestedKind,
    depth: usize,
    running: Running,
    /// Whether no other text runs in the shell that runs it.
    is_own: bool,
    /// What is poured into the shell that runs it.
    reads: Orders,
}

/// What a command is given to read.
#[derive(Clone, Copy)]
struct Given<'a> {
    input: &'a Input,
    /// What of that is for the client of a database.
    orders: Orders,
}

/// Where `rm` stands among the words of a command: first, or behind one that only says how it runs.
fn rm_among(words: &[Word]) -> Option<usize> {
    const HOW: [&str; 13] = [
        "busybox", "command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout",
        "toybox", "xargs",
    ];
    let is_rm = |word: &Word| word.literal().is_some_and(|name| name.rsplit('/').next() == Some("rm"));
    let position = words.iter().take(9).position(is_rm)?;
    (position == 0 || words.first().and_then(Word::plain).is_some_and(|first| HOW.contains(&first))).then_some(position)
}

/// The names that a command reads from a `find` right in front of it, and from nothing else.
fn names_poured(
    script: &Script,
    index: usize,
    variables: &Variables<'_>,
    places: &Places<'_>,
) -> Option<Vec<Argument>> {
    let from = index.checked_sub(1)?;
    let finder = script.commands.get(from).filter(|one| one.words.first().and_then(Word::plain) == Some("find"))?;
    let is_dropped = |redirect: &Redirect| match &redirect.target {
        RedirectTarget::Word(word) => redirect.kind == RedirectKind::Write && word.plain() == Some("/dev/null"),
        RedirectTarget::Body(_) => false,
    };
    let mut pipes = script.pipes.iter().filter(|pipe| pipe.to.contains(&index));
    let is_poured =
        pipes.next().is_some_and(|pipe| pipe.from == (from..index) && pipe.to == (index..index + 1) && !pipe.adds);
    let is_alone = is_poured
        && pipes.next().is_none()
        && finder.piped_out
        && !finder.pours_errors
        && finder.assignments.is_empty()
        && finder.redirects.iter().all(is_dropped)
        && !variables.runs_texts()
        && !variables.has_braces(from);
    let words = variables.arguments(from);
    // What changes everything of the machine or of home is asked about, as behind `-exec`.
    let is_of_others = || doubt::searched_whole(words.get(1..)?, places).filter(|(is_own, _)| !is_own);
    if is_alone && is_of_others().is_none() { printed_by_find(words) } else { None }
}

/// What a command reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// Nothing of its own.
    Inherited,
    /// A here-document or here-string whose text is known.
    Text(String),
    /// Names, each with a NUL behind it.
    Names(Vec<Argument>),
    /// A pipe, a file, or a text with expansions.
    Unknown,
}
