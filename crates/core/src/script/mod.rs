//! Text of a shell, read: what a script consists of, as far as those need it who judge it or hand it on, and the [parser](parse) that fills
//! these values. It runs nothing, and what a command means it does not know.

use std::ops::Range;

pub(crate) use self::names::{POSITIONAL, names_in, sets};
pub(crate) use self::parser::{TOO_DEEP, assignment, parse};

mod names;
mod parser;
mod sums;

/// A parsed script: its simple commands in the order of their text, whatever they are nested in.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Every simple command, also those inside substitutions, loops, functions and subshells.
    pub(crate) commands: Vec<RawCommand>,
    /// Functions, with the range of commands in their bodies.
    pub(crate) functions: Vec<Function>,
    /// Loops, in the order in which they begin.
    pub(crate) loops: Vec<Loop>,
    /// Text that a shell will read as code or as a template of its own: to be parsed next.
    pub(crate) nested: Vec<Nested>,
    /// What is poured from some commands into others.
    pub(crate) pipes: Vec<Pipe>,
    /// The bodies of here-documents.
    pub(crate) bodies: Vec<Body>,
    /// Variables that loops and `${x=y}` set.
    pub(crate) loop_variables: Vec<String>,
    /// What loops and `${x=y}` set them to.
    pub(crate) given: Vec<(String, Word)>,
    /// Variables that are given elements in parentheses, and whether by a word of `declare`, `typeset` or `local`.
    pub(crate) arrays: Vec<(String, bool)>,
    /// Substitutions that print a text which stands in them (`$(cat <<'END' …)`): their command, and the text.
    pub(crate) printed: Vec<(usize, String)>,
    /// What is taken for a number.
    pub(crate) numbers: Taken,
    /// What the script does besides running simple commands.
    pub(crate) constructs: Constructs,
    /// The word that a text becomes which is read as the inside of double quotes.
    pub(crate) template: Option<Word>,
    /// Whether it ends with `&&`, `||` or `|`, behind which a shell reads the next line.
    pub(crate) goes_on: bool,
    /// Why the text was not understood to its end; `commands` then holds what came before.
    pub(crate) error: Option<&'static str>,
}

/// A pipe, by the numbers of commands: what those in `from` print is read by those in `to`.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) from: Range<usize>,
    pub(crate) to: Range<usize>,
    /// Whether they read something else besides.
    pub(crate) adds: bool,
}

/// A function definition.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// Whether anything in its body runs in the background, be it a group of commands.
    pub(crate) forks: bool,
}

/// A loop.
#[derive(Debug)]
pub(crate) struct Loop {
    /// Its first command, which is its condition where it has one.
    pub(crate) first: usize,
    /// The first command of its body, and the one behind its last.
    pub(crate) body: usize,
    pub(crate) end: usize,
    /// Whether it runs for each of some words.
    pub(crate) counted: bool,
    /// The variable that is each of them, in a `for`.
    pub(crate) variable: Option<String>,
    /// Whether anything in its body runs in the background.
    pub(crate) forks: bool,
}

/// What a script takes for numbers: in sums, subscripts and the like.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Variables whose text is evaluated, each with the number of the command in which, or before which, it is.
    pub(crate) read: Vec<(String, usize)>,
    /// Variables that the head of a counting loop sets to a number before all else, with the same.
    pub(crate) counted: Vec<(String, usize)>,
    /// Variables that a sum gives a value.
    pub(crate) set: Vec<String>,
    /// Substitutions whose output is evaluated.
    pub(crate) outputs: Vec<Part>,
    /// Whether anything else is.
    pub(crate) unknown: bool,
}

/// Text inside a script that is read by itself.
#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) text: String,
    pub(crate) kind: NestedKind,
}

/// How such text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NestedKind {
    /// As a script.
    Script,
    /// As the inside of double quotes: only its substitutions run.
    Template,
}

/// The text of a here-document.
#[derive(Debug)]
pub(crate) struct Body {
    /// What its reader gets where nothing is expanded, else the text as it is written.
    pub(crate) text: String,
    /// Whether nothing in it is expanded.
    pub(crate) literal: bool,
}

/// What a script contains, for policies that allow only plain lists of commands.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Constructs {
    /// `if`, loops, `case`, functions, `{ }`, subshells.
    pub(crate) control_flow: bool,
    /// `$( )`, back-quotes, `<( )`.
    pub(crate) substitution: bool,
    /// `&`.
    pub(crate) background: bool,
    /// `$'…'`, `$"…"`: quotes that only some shells know.
    pub(crate) dollar_quotes: bool,
    /// Loops and functions: a command may run after what stands behind it.
    pub(crate) repeats: bool,
    /// `${x=y}`: an expansion that sets its variable.
    pub(crate) assigning_expansion: bool,
    /// `${!x}`, `${x@P}`: an expansion that can run code or name another variable.
    pub(crate) indirection: bool,
}

/// A simple command as written; one without words carries the assignments or redirections of a line or a compound.
#[derive(Debug, Default)]
pub(crate) struct RawCommand {
    pub(crate) assignments: Vec<(String, Word)>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
    /// Its output goes into a pipe.
    pub(crate) piped_out: bool,
    /// Its errors go into that, too: `|&`.
    pub(crate) pours_errors: bool,
    /// Its input comes out of a pipe.
    pub(crate) piped_in: bool,
    /// It ends with `&`.
    pub(crate) background: bool,
    /// A descriptor becomes another one's copy, or a text goes to a descriptor that is not its input.
    pub(crate) juggles_input: bool,
    /// Its output goes to a file by `&>`, which for a plain `sh` ends the command.
    pub(crate) joins_output: bool,
    /// It stands after `&&`, and right before that a simple command.
    pub(crate) joined: bool,
    /// It certainly runs, once, in the script's own shell: not inside a compound, and neither after `&&` nor in a pipe.
    pub(crate) certain: bool,
    /// It stands after `||`, or after `&&` and right before that a compound: others behind it run also where it does not.
    pub(crate) optional: bool,
    /// Its pipeline begins with `!`.
    pub(crate) negated: bool,
    /// The shell that runs it: 0 is the script's own, and each subshell and substitution is another one.
    pub(crate) shell: usize,
    /// It stands in a function that this shell defines.
    pub(crate) in_function: bool,
    /// It stands in such a function, or in a loop of this shell: it may run any number of times.
    pub(crate) repeated: bool,
}

impl RawCommand {
    /// Whether the shell runs it itself, and not a shell of its own in a pipe or in the background.
    pub(crate) const fn is_own(&self) -> bool {
        !self.piped_in && !self.piped_out && !self.background
    }
}

/// A redirection.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    pub(crate) target: RedirectTarget,
}

impl RedirectKind {
    /// Whether something is read through it.
    pub(crate) const fn gives_input(self) -> bool {
        match self {
            Self::Read | Self::ReadWrite | Self::HereDocument | Self::HereString => true,
            Self::Write | Self::Duplicate => false,
        }
    }
}

/// What a redirection does with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, and `>&` before a name.
    Write,
    /// `<>`
    ReadWrite,
    /// `<<` and `<<-`
    HereDocument,
    /// `<<<`
    HereString,
    /// `<&1`, `>&2`, `>&-`: no file.
    Duplicate,
}

/// Where a redirection leads.
#[derive(Debug)]
pub(crate) enum RedirectTarget {
    /// To a file, or from a text.
    Word(Word),
    /// From a here-document: its number in [`Script::bodies`].
    Body(usize),
}

/// A word, before expansion.
#[derive(Debug, Default, Clone)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// Whether any of it is quoted; `""` is a word without parts.
    pub(crate) quoted: bool,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text as it is; unquoted text may hold patterns.
    Text { text: String, quoted: bool },
    /// `$name` or `${name}`; the positional ones share a name that no variable can have.
    Variable { name: String, quoted: bool },
    /// A number; a sum of plain ones is known, and any other only when it runs.
    Number { value: Option<i64> },
    /// The output of a substitution: of the commands from `first` to before `end`.
    Output { first: usize, end: usize, quoted: bool },
    /// The name of a pipe from or to such commands: `<( … )`.
    Pipe,
    /// What is made of a variable's value (`${x%y}`, `${a[0]}`), where nothing comes in that parts words or begins an option.
    Altered { name: String, is_one: bool },
    /// Anything else that is known only when it runs. `is_one` says that quotes, or what it is, hold it together in one word.
    Dynamic { is_one: bool },
}

impl Word {
    /// Adds a character.
    pub(crate) fn push(&mut self, character: char, quoted: bool) {
        self.quoted |= quoted;
        match self.parts.last_mut() {
            Some(Part::Text { text, quoted: same }) if *same == quoted => text.push(character),
            _ => self.parts.push(Part::Text { text: character.into(), quoted }),
        }
    }

    /// Begins quotes, also such as hold nothing: what stands before them and behind is not one text (`x""=y` sets nothing).
    pub(crate) fn begin_quotes(&mut self) {
        self.quoted = true;
        if let Some(Part::Text { quoted: false, .. }) = self.parts.last() {
            self.parts.push(Part::Text { text: String::new(), quoted: true });
        }
    }

    /// The text of a word that is nothing but unquoted text: what keywords, names and numbers are.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text { text, quoted: false }] if !self.quoted => Some(text),
            _ => None,
        }
    }

    /// The text of a word without expansions, quotes removed; patterns in it are not looked at.
    pub(crate) fn literal(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text { text, .. } => Some(text.as_str()),
                Part::Variable { .. }
                | Part::Number { .. }
                | Part::Output { .. }
                | Part::Pipe
                | Part::Altered { .. }
                | Part::Dynamic { .. } => None,
            })
            .collect()
    }

    /// The same with numbers that are known.
    pub(crate) fn known(&self) -> Option<String> {
        let mut known = String::new();
        for part in &self.parts {
            match part {
                Part::Text { text, .. } => known.push_str(text),
                Part::Number { value } => known.push_str(&(*value)?.to_string()),
                Part::Variable { .. }
                | Part::Output { .. }
                | Part::Pipe
                | Part::Altered { .. }
                | Part::Dynamic { .. } => return None,
            }
        }
        Some(known)
    }
}
