//! What reaches the input of each command of a script, as far as the line says it: text for the clients of databases.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::{BitOr, BitOrAssign, Range};

use super::analyzer::COMMANDS;
use super::argument::{Argument, is_marked};
use super::databases;
use super::known::Variables;
use super::loops::Turn;
use crate::script::{Body, NestedKind, Part, RawCommand, RedirectKind, RedirectTarget, Script, parse};

/// 8 times all commands are gone through: a pipe leads to the right, and only functions and compounds lead back.
const PASSES: usize = 8;

/// 8 words may stand before the name of the program that prints, and 3 of them may look like one.
const STARTERS: usize = 9;
const CANDIDATES: usize = 3;

/// What is known of a text: a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Orders(u8);

impl Orders {
    const NONE: Self = Self(0);
    /// It has orders for any client.
    const SOME: Self = Self(1);
    /// It has back-quotes, in which some find a command.
    const QUOTED: Self = Self(2);
    /// It loads an extension.
    const LOADS: Self = Self(4);
    /// A part of it is known only when it runs.
    const UNKNOWN: Self = Self(8);
    /// It stands in the line.
    const WRITTEN: Self = Self(16);
    const ALL: Self = Self(31);

    /// Why the client of that name is not simply given it.
    pub(super) fn doubt(self, client: &str) -> Option<&'static str> {
        let runs = self.has(Self::SOME)
            || (self.has(Self::QUOTED) && client == "psql")
            || (self.has(Self::LOADS) && client == "duckdb");
        if runs { Some("may run commands") } else { self.has(Self::UNKNOWN).then_some("is known only when it runs") }
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }

    /// Those of a text of the line, with its markers.
    fn of(text: &str) -> Self {
        // Of all clients sqlite3 finds most in a text.
        Self::WRITTEN
            | Self::SOME.when(databases::may_run("sqlite3", text))
            | Self::QUOTED.when(text.contains('`'))
            | Self::LOADS.when(databases::loads(text))
            | Self::UNKNOWN.when(is_marked(text))
    }
}

impl BitOr for Orders {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Orders {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// What each command of a script reads.
pub(super) struct Poured(Vec<Orders>);

impl Poured {
    /// Goes through a script that itself reads what is `inherited`.
    pub(super) fn of(
        script: &Script,
        variables: &Variables<'_>,
        functions: &HashSet<String>,
        inherited: Orders,
    ) -> Self {
        let count = script.commands.len();
        if count > 2 * COMMANDS {
            // Most of them are refused for their number.
            return Self(vec![Orders::ALL; count]);
        }
        let commands = script.commands.iter().enumerate();
        let read: Vec<_> = commands.clone().map(|(index, command)| read(command, index, script, variables)).collect();
        let mut inherited = inherited;
        for ((_, command), read) in commands.clone().zip(&read) {
            // The shell goes on with the input that it is given so.
            if command.words.first().and_then(|word| word.plain()) == Some("exec") {
                inherited |= read.text;
            }
        }
        let bodies = script.functions.iter().map(|function| (function.first..function.end.min(count), false, None));
        let pipes = script.pipes.iter().map(|pipe| {
            let from = pipe.from.start.min(count)..pipe.from.end.min(count);
            (pipe.to.start.min(count)..pipe.to.end.min(count), pipe.adds, Some(from))
        });
        let mut flows: Vec<Flow> = bodies.clone().chain(pipes).collect();
        flows.sort_by_key(|(to, adds, _)| (to.start, *adds, Reverse(to.end)));
        let mut inputs = vec![inherited; count];
        let own = |read: &Read, input: Orders| read.text | input.when(read.adds);
        if flows.is_empty() {
            return Self(read.iter().map(|read| own(read, inherited)).collect());
        }
        let prints: Vec<_> =
            commands.map(|(index, command)| Prints::of(command, index, variables, functions)).collect();
        let mut printed = vec![Orders::NONE; count];
        let (mut called, mut returned) = (inherited, Orders::NONE);
        for _ in 0..PASSES {
            let before = (printed.clone(), called, returned);
            inputs.fill(inherited);
            let mut waiting = flows.iter().peekable();
            for index in 0..count {
                while let Some((to, adds, from)) = waiting.next_if(|(to, ..)| to.start <= index) {
                    let poured =
                        from.as_ref().map_or(called, |from| join(printed.get(from.clone()).unwrap_or_default()));
                    for input in inputs.get_mut(to.clone()).unwrap_or_default() {
                        *input = if *adds { *input | poured } else { poured };
                    }
                }
                let input = own(&read[index], inputs[index]);
                inputs[index] = input;
                let prints = &prints[index];
                printed[index] = prints.text
                    | input.when(prints.passes)
                    | Orders::UNKNOWN.when(prints.changes && input != Orders::NONE)
                    | returned.when(prints.calls);
                called |= input.when(prints.calls);
            }
            for (body, ..) in bodies.clone() {
                returned |= join(printed.get(body).unwrap_or_default());
            }
            if before == (printed.clone(), called, returned) {
                return Self(inputs);
            }
        }
        Self(vec![Orders::ALL; count])
    }

    /// What a command reads.
    pub(super) fn read_by(&self, index: usize) -> Orders {
        self.0.get(index).copied().unwrap_or(Orders::ALL)
    }

    /// What any of them reads.
    pub(super) fn read_by_any(&self) -> Orders {
        join(&self.0)
    }
}

/// The commands that read something, whether besides something else, and those that print it; what functions read comes from their calls.
type Flow = (Range<usize>, bool, Option<Range<usize>>);

fn join(orders: &[Orders]) -> Orders {
    orders.iter().fold(Orders::NONE, |all, one| all | *one)
}

/// What redirections have a command read.
struct Read {
    text: Orders,
    /// Whether it may read something else besides.
    adds: bool,
}

fn read(command: &RawCommand, index: usize, script: &Script, variables: &Variables<'_>) -> Read {
    let mut read = Read { text: Orders::NONE, adds: true };
    for redirect in command.redirects.iter().filter(|redirect| redirect.kind.gives_input()) {
        let text = match &redirect.target {
            RedirectTarget::Body(body) => Orders::of(&document(&script.bodies[*body], index, variables)),
            RedirectTarget::Word(word) if redirect.kind == RedirectKind::HereString => {
                Orders::of(variables.single(word, index, Turn::NONE).marked())
            }
            // What such a name stands for is among the pipes of the script.
            RedirectTarget::Word(word) if word.parts == [Part::Pipe] => continue,
            RedirectTarget::Word(_) => Orders::NONE,
        };
        // Which of its descriptors that is, is not looked at.
        let adds = command.juggles_input;
        read = Read { text: text | read.text.when(adds), adds };
    }
    read
}

/// The text of a here-document, as far as it is known, with markers for the rest.
fn document(body: &Body, index: usize, variables: &Variables<'_>) -> String {
    if body.literal {
        return body.text.clone();
    }
    let Some(mut word) = parse(&body.text, NestedKind::Template).template else {
        return Argument::unknown().marked().to_owned();
    };
    for part in &mut word.parts {
        // Its commands have numbers of their own.
        if matches!(part, Part::Output { .. }) {
            *part = Part::Dynamic { is_one: true };
        }
    }
    variables.single(&word, index, Turn::NONE).marked().to_owned()
}

/// What a command prints.
#[derive(Default)]
struct Prints {
    text: Orders,
    /// Whether it prints what it reads.
    passes: bool,
    /// Whether it changes that.
    changes: bool,
    /// Whether it is a function, which prints what is in it.
    calls: bool,
}

/// Programs that print their words.
const PRINTERS: [&str; 4] = ["date", "echo", "printf", "yes"];
/// Programs that print lines of what they read.
const PICKERS: [&str; 14] =
    ["bat", "batcat", "cat", "egrep", "fgrep", "grep", "head", "less", "pv", "sort", "tac", "tail", "tee", "uniq"];
/// Programs that print what they read in another form.
const CHANGERS: [&str; 40] = [
    "awk", "base32", "base64", "basenc", "bzcat", "column", "cut", "dd", "envsubst", "expand", "fmt", "fold", "gawk",
    "gsed", "gunzip", "gzip", "iconv", "jq", "m4", "mawk", "nawk", "nl", "openssl", "paste", "pr", "rev", "rg", "sed",
    "sh", "bash", "dash", "zsh", "tr", "unexpand", "xargs", "xxd", "xz", "yq", "zcat", "zstd",
];

impl Prints {
    fn of(command: &RawCommand, index: usize, variables: &Variables<'_>, functions: &HashSet<String>) -> Self {
        let mut prints = Self::default();
        if command.words.is_empty() {
            // The redirections of a compound.
            prints.passes = true;
            return prints;
        }
        for turn in variables.turns(command, index) {
            prints.see(&variables.arguments_in(turn, command, index), functions);
        }
        prints
    }

    fn see(&mut self, arguments: &[Argument], functions: &HashSet<String>) {
        if arguments.first().and_then(Argument::exact).is_some_and(|name| functions.contains(name)) {
            self.calls = true;
        }
        // What else a program prints of its words is not known.
        let speaks = |word: &Argument| databases::speaks(word.marked());
        self.text |= Orders::SOME.when(arguments.iter().skip(1).any(speaks));
        let name = |word: &Argument| {
            let name = word.marked().rsplit('/').next().unwrap_or_default();
            let all = || PRINTERS.iter().chain(&PICKERS).chain(&CHANGERS);
            all().find(|known| **known == name).copied()
        };
        // `command echo`, `env -i printf`; what stands first is the program.
        let found = arguments.iter().take(STARTERS).enumerate().filter_map(|(at, word)| Some((at, name(word)?)));
        let count = if arguments.first().is_some_and(|word| name(word).is_some()) { 1 } else { CANDIDATES };
        for (at, name) in found.take(count) {
            self.see_program(name, &arguments[at + 1..]);
        }
    }

    /// What one of these programs prints that is given such words.
    fn see_program(&mut self, name: &str, words: &[Argument]) {
        let words: Vec<&str> = words.iter().map(Argument::marked).collect();
        match name {
            "echo" | "yes" => self.text |= printed(&words.join(" ")),
            "printf" => self.text |= printed(&words.join(" ")) | printed(&words.join("\n")),
            "date" => {
                for form in words.iter().filter_map(|word| word.strip_prefix('+')) {
                    let form = form.replace("%n", "\n").replace("%t", "\t");
                    let is_made = form.lines().any(|line| line.trim_start().starts_with(".%"));
                    self.text |= Orders::of(&form) | Orders::SOME.when(is_made);
                }
            }
            _ => {
                let cuts = |word: &&str| word.starts_with("--") || (word.starts_with('-') && word.contains(['c', 'o']));
                self.passes = true;
                self.changes |= CHANGERS.contains(&name) || words.iter().any(cuts);
            }
        }
    }
}

/// Those of a text that is printed, in which `\n` begins a line.
fn printed(text: &str) -> Orders {
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    // Signs by their numbers, and a form that puts an order together.
    let is_numbered = ["\\0", "\\1", "\\x", "\\u"].iter().any(|sign| text.contains(sign));
    let is_made = |line: &str| {
        let line = line.trim_start().trim_start_matches("-e ").trim_start_matches("-n ");
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        let is_form = word.starts_with('%') && word.chars().nth(2).is_some_and(char::is_alphabetic);
        is_form || (word.starts_with('.') && (word == "." || word.contains(['%', '\\']) || is_marked(word)))
    };
    Orders::of(&text) | Orders::SOME.when(is_numbered || text.lines().any(is_made))
}
