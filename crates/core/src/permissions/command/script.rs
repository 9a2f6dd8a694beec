//! What a script consists of, as far as a judgement needs it: the values that [`super::parser`] fills.

use std::ops::Range;

/// A parsed script: its simple commands in the order of their text, whatever they are nested in.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Every simple command, also those inside substitutions, loops, functions and subshells.
    pub(super) commands: Vec<RawCommand>,
    /// Functions, with the range of commands in their bodies.
    pub(super) functions: Vec<Function>,
    /// Loops, in the order in which they begin.
    pub(super) loops: Vec<Loop>,
    /// Text that a shell will read as code or as a template of its own: to be parsed next.
    pub(super) nested: Vec<Nested>,
    /// What is poured from some commands into others.
    pub(super) pipes: Vec<Pipe>,
    /// The bodies of here-documents.
    pub(super) bodies: Vec<Body>,
    /// Variables that loops and `${x=y}` set.
    pub(super) loop_variables: Vec<String>,
    /// What loops and `${x=y}` set them to.
    pub(super) given: Vec<(String, Word)>,
    /// Variables that are given elements in parentheses, and whether by a word of `declare`, `typeset` or `local`.
    pub(super) arrays: Vec<(String, bool)>,
    /// Substitutions that print a text which stands in them (`$(cat <<'END' …)`): their command, and the text.
    pub(super) printed: Vec<(usize, String)>,
    /// What is taken for a number.
    pub(super) numbers: Taken,
    /// What the script does besides running simple commands.
    pub(super) constructs: Constructs,
    /// The word that a text becomes which is read as the inside of double quotes.
    pub(super) template: Option<Word>,
    /// Why the text was not understood to its end; `commands` then holds what came before.
    pub(super) error: Option<&'static str>,
}

/// A pipe, by the numbers of commands: what those in `from` print is read by those in `to`.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) from: Range<usize>,
    pub(super) to: Range<usize>,
    /// Whether they read something else besides.
    pub(super) adds: bool,
}

/// A function definition.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) first: usize,
    pub(super) end: usize,
    /// Whether anything in its body runs in the background, be it a group of commands.
    pub(super) forks: bool,
}

/// A loop.
#[derive(Debug)]
pub(super) struct Loop {
    /// Its first command, which is its condition where it has one.
    pub(super) first: usize,
    /// The first command of its body, and the one behind its last.
    pub(super) body: usize,
    pub(super) end: usize,
    /// Whether it runs for each of some words.
    pub(super) counted: bool,
    /// The variable that is each of them, in a `for`.
    pub(super) variable: Option<String>,
    /// Whether anything in its body runs in the background.
    pub(super) forks: bool,
}

/// What a script takes for numbers: in sums, subscripts and the like.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Variables whose text is evaluated, each with the number of the command in which, or before which, it is.
    pub(super) read: Vec<(String, usize)>,
    /// Variables that the head of a counting loop sets to a number before all else, with the same.
    pub(super) counted: Vec<(String, usize)>,
    /// Variables that a sum gives a value.
    pub(super) set: Vec<String>,
    /// Substitutions whose output is evaluated.
    pub(super) outputs: Vec<Part>,
    /// Whether anything else is.
    pub(super) unknown: bool,
}

/// Text inside a script that is read by itself.
#[derive(Debug)]
pub(super) struct Nested {
    pub(super) text: String,
    pub(super) kind: NestedKind,
}

/// How such text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NestedKind {
    /// As a script.
    Script,
    /// As the inside of double quotes: only its substitutions run.
    Template,
}

/// The text of a here-document.
#[derive(Debug)]
pub(super) struct Body {
    /// What its reader gets where nothing is expanded, else the text as it is written.
    pub(super) text: String,
    /// Whether nothing in it is expanded.
    pub(super) literal: bool,
}

/// What a script contains, for policies that allow only plain lists of commands.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Constructs {
    /// `if`, loops, `case`, functions, `{ }`, subshells.
    pub(super) control_flow: bool,
    /// `$( )`, back-quotes, `<( )`.
    pub(super) substitution: bool,
    /// `&`.
    pub(super) background: bool,
    /// Loops and functions: a command may run after what stands behind it.
    pub(super) repeats: bool,
    /// `${x=y}`: an expansion that sets its variable.
    pub(super) assigning_expansion: bool,
    /// `${!x}`, `${x@P}`: an expansion that can run code or name another variable.
    pub(super) indirection: bool,
}

/// A simple command as written; one without words carries the assignments or redirections of a line or a compound.
#[derive(Debug, Default)]
pub(super) struct RawCommand {
    pub(super) assignments: Vec<(String, Word)>,
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// Its output goes into a pipe.
    pub(super) piped_out: bool,
    /// Its errors go into that, too: `|&`.
    pub(super) pours_errors: bool,
    /// Its input comes out of a pipe.
    pub(super) piped_in: bool,
    /// It ends with `&`.
    pub(super) background: bool,
    /// A descriptor becomes another one's copy, or a text goes to a descriptor that is not its input.
    pub(super) juggles_input: bool,
    /// Its output goes to a file by `&>`, which for a plain `sh` ends the command.
    pub(super) joins_output: bool,
    /// It stands after `&&`, and right before that a simple command.
    pub(super) joined: bool,
    /// It certainly runs, once, in the script's own shell: not inside a compound, and neither after `&&` nor in a pipe.
    pub(super) certain: bool,
    /// It stands after `||`, or after `&&` and right before that a compound: others behind it run also where it does not.
    pub(super) optional: bool,
    /// Its pipeline begins with `!`.
    pub(super) negated: bool,
    /// The shell that runs it: 0 is the script's own, and each subshell and substitution is another one.
    pub(super) shell: usize,
    /// It stands in a function that this shell defines.
    pub(super) in_function: bool,
    /// It stands in such a function, or in a loop of this shell: it may run any number of times.
    pub(super) repeated: bool,
}

impl RawCommand {
    /// Whether the shell runs it itself, and not a shell of its own in a pipe or in the background.
    pub(super) const fn is_own(&self) -> bool {
        !self.piped_in && !self.piped_out && !self.background
    }
}

/// A redirection.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) kind: RedirectKind,
    pub(super) target: RedirectTarget,
}

impl RedirectKind {
    /// Whether something is read through it.
    pub(super) const fn gives_input(self) -> bool {
        match self {
            Self::Read | Self::ReadWrite | Self::HereDocument | Self::HereString => true,
            Self::Write | Self::Duplicate => false,
        }
    }
}

/// What a redirection does with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectKind {
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
pub(super) enum RedirectTarget {
    /// To a file, or from a text.
    Word(Word),
    /// From a here-document: its number in [`Script::bodies`].
    Body(usize),
}

/// A word, before expansion.
#[derive(Debug, Default, Clone)]
pub(super) struct Word {
    pub(super) parts: Vec<Part>,
    /// Whether any of it is quoted; `""` is a word without parts.
    pub(super) quoted: bool,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
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
    pub(super) fn push(&mut self, character: char, quoted: bool) {
        self.quoted |= quoted;
        match self.parts.last_mut() {
            Some(Part::Text { text, quoted: same }) if *same == quoted => text.push(character),
            _ => self.parts.push(Part::Text { text: character.into(), quoted }),
        }
    }

    /// Begins quotes, also such as hold nothing: what stands before them and behind is not one text (`x""=y` sets nothing).
    pub(super) fn begin_quotes(&mut self) {
        self.quoted = true;
        if let Some(Part::Text { quoted: false, .. }) = self.parts.last() {
            self.parts.push(Part::Text { text: String::new(), quoted: true });
        }
    }

    /// The text of a word that is nothing but unquoted text: what keywords, names and numbers are.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text { text, quoted: false }] if !self.quoted => Some(text),
            _ => None,
        }
    }

    /// The text of a word without expansions, quotes removed; patterns in it are not looked at.
    pub(super) fn literal(&self) -> Option<String> {
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
    pub(super) fn known(&self) -> Option<String> {
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
