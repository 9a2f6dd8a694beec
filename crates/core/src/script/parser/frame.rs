//! What the parser has open while it reads: its stack.

use std::ops::Range;

use crate::script::{RawCommand, RedirectKind, Word};

/// A list of commands that is being read: the script, a subshell, a substitution.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) close: Close,
    /// Where in a command it is.
    pub(super) at: At,
    /// The word that is being read.
    pub(super) word: Option<Word>,
    /// The simple command that is being read.
    pub(super) command: RawCommand,
    /// The redirection that waits for its target, and whether it strips tabs.
    pub(super) redirect: Option<(RedirectKind, bool)>,
    /// Open compounds, the innermost last.
    pub(super) compounds: Vec<Compound>,
    /// Quotes and expansions that are open inside the word, the innermost last.
    pub(super) inner: Vec<Inner>,
    /// Here-documents whose text begins on the next line.
    pub(super) documents: Vec<PendingDocument>,
    /// How far the pattern of a `case` is read.
    pub(super) pattern: Pattern,
    /// The variable of the `for` that is being read.
    pub(super) variable: String,
    /// Whether that is a `select`.
    pub(super) chooses: bool,
    /// Where its text begins.
    pub(super) start: usize,
    /// The number of its first command in the script.
    pub(super) first: usize,
    /// The next command reads from a pipe.
    pub(super) piped: bool,
    /// The next command depends on the one before.
    pub(super) conditional: bool,
    /// The next command runs only if the simple command before it succeeded.
    pub(super) joined: bool,
    /// The present pipeline begins with `!`.
    pub(super) negated: bool,
    /// The number of the shell that runs it.
    pub(super) shell: usize,
    /// The parts of pipelines that are read: of the list, and of each open compound.
    pub(super) stages: Vec<Stage>,
    /// Commands behind the names of pipes among the words of the present command, and how they are joined to it.
    pub(super) named_pipes: Vec<(NamedPipe, Range<usize>)>,
}

/// A part of a pipeline that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    /// The number of its first command.
    pub(super) first: usize,
    /// The pipe that it reads, by its place among those of the script.
    pub(super) pipe: Option<usize>,
}

/// How commands in `<( … )` or `>( … )` are joined to the command with that word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedPipe {
    /// It reads them as a file, or as its input.
    Read,
    /// They read what it writes.
    Written,
}

impl Frame {
    pub(super) fn new(close: Close, start: usize, first: usize, shell: usize) -> Self {
        Self {
            close,
            at: At::Command,
            word: None,
            command: RawCommand::default(),
            redirect: None,
            compounds: Vec::new(),
            inner: Vec::new(),
            documents: Vec::new(),
            pattern: Pattern::Nothing,
            variable: String::new(),
            chooses: false,
            start,
            first,
            piped: false,
            conditional: false,
            joined: false,
            negated: false,
            shell,
            stages: vec![Stage { first, pipe: None }],
            named_pipes: Vec::new(),
        }
    }
}

/// What ends a frame, and what it is to the one around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// The end of the text.
    End,
    /// `)` of `( … )`.
    Subshell,
    /// `)` of `$( … )`: part of a word.
    Substitution,
    /// `)` of `<( … )` or `>( … )`: part of a word.
    Pipe,
    /// `)` of `name=( … )`: part of a word.
    Array,
}

/// Where in a command the parser is: what the next word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// At its beginning: a keyword, an assignment or the command's name.
    Command,
    /// After an assignment or a redirection: an assignment or the command's name.
    Prefix,
    /// After its name.
    Arguments,
    /// After `fi`, `done`, `esac`, `}` or `)`: no word but a keyword.
    AfterCompound,
    /// After `for`.
    ForName,
    /// After the name of a `for`: `in`, `do`, or the end of the line.
    ForIn,
    /// After its `in`.
    ForWords,
    /// After `case`.
    CaseWord,
    /// After its word: `in`.
    CaseIn,
    /// Where a pattern or `esac` is expected.
    CasePattern,
    /// After `function`.
    FunctionName,
    /// Among the elements of an array.
    Elements,
}

/// How far the pattern of a branch of a `case` is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Not begun: `esac` would be the end.
    Nothing,
    /// After `(` or `|`: a word comes next.
    Opened,
    /// After a word: `|` or `)`.
    Word,
}

/// A compound command that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compound {
    IfCondition,
    IfThen,
    Else,
    LoopCondition,
    LoopBody,
    For,
    Case,
    CaseBody,
    Brace,
    /// A function whose body comes next: its number.
    Function(usize),
}

impl Compound {
    pub(super) const fn is_loop(self) -> bool {
        match self {
            Self::LoopCondition | Self::LoopBody | Self::For => true,
            Self::IfCondition | Self::IfThen | Self::Else | Self::Case | Self::CaseBody | Self::Brace => false,
            Self::Function(_) => false,
        }
    }
}

/// Quotes and expansions inside a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    /// `" … "`
    DoubleQuotes,
    /// The body of a here-document: like double quotes, but a `"` is a character.
    Template,
    /// `${ … }`, inside double quotes or not.
    Parameter { quoted: bool, region: Region },
    /// `$(( … ))`, with so many parentheses open inside.
    Arithmetic { open: u32 },
}

/// What in `${ … }` is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    /// Text.
    Text,
    /// A number, up to the `]`.
    Subscript,
    /// Numbers, up to the end.
    Offset,
}

/// A here-document whose text has not come yet.
#[derive(Debug)]
pub(super) struct PendingDocument {
    pub(super) delimiter: String,
    /// `<<-`: tabs at the beginning of lines do not count.
    pub(super) strip: bool,
    /// Its place in the script's bodies.
    pub(super) body: usize,
}
