//! What a call touches: [`Operation`]s on paths and commands, and the [`Guard`] that a backend asks again once it holds
//! the opened file.
//!
//! This module decides nothing. Tools *state* their accesses, permissions *judge* them, backends *re-check* them.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Result};
use crate::path::VirtualPath;

/// The kinds of access that rules speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Content of a file leaves the sandbox.
    Read,
    /// A file is created or replaced; a directory is made.
    Write,
    /// Part of a file is replaced.
    Edit,
    /// A name is removed.
    Delete,
    /// A command runs.
    Execute,
    /// Names are searched by pattern.
    Glob,
    /// Content is searched by pattern.
    Grep,
    /// A directory is listed.
    Ls,
}

impl Operation {
    /// All operations, in the order of the documentation.
    pub const ALL: [Self; 8] =
        [Self::Read, Self::Write, Self::Edit, Self::Delete, Self::Execute, Self::Glob, Self::Grep, Self::Ls];

    /// The name in rules and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Execute => "execute",
            Self::Glob => "glob",
            Self::Grep => "grep",
            Self::Ls => "ls",
        }
    }

    /// Whether the operation changes files.
    pub const fn mutates(self) -> bool {
        match self {
            Self::Write | Self::Edit | Self::Delete => true,
            Self::Read | Self::Execute | Self::Glob | Self::Grep | Self::Ls => false,
        }
    }
}

/// One thing a call will do, as its tool states it before anything runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// An operation on a path.
    Path {
        /// What is done.
        operation: Operation,
        /// On which path, as asked.
        path: VirtualPath,
    },
    /// A command line that a shell will run.
    Command {
        /// The whole command text.
        command: String,
        /// Where it runs.
        working_directory: VirtualPath,
        /// The session whose shell reads it, which may have run other commands before.
        session: Option<String>,
        /// Whether that shell reads it at its prompt, where `!` is a letter.
        at_prompt: bool,
    },
    /// What an application's tool does without saying what it touches: judged like a command that no rule names.
    Anything,
    /// A command that runs already is ended or signalled.
    Session {
        /// Its id.
        id: String,
    },
    /// A line ends in a session, and what it is only its reader knows: keys may have recalled, completed or changed it.
    UnknownLine {
        /// The id of the session.
        id: String,
    },
}

/// The judgement a backend asks for on a path *as it resolved*, after it opened a handle and before it uses it. For
/// listings and searches it is asked for every entry.
pub trait Guard: Send + Sync {
    /// An error when `operation` on the file that `path` names is not allowed in this call.
    fn check(&self, operation: Operation, path: &VirtualPath) -> Result<()>;

    /// Whether every path passes, so that a search may skip asking. Only an optimisation.
    fn is_open(&self) -> bool {
        false
    }
}

/// Judges that what lies at `from` gets the name `to`: it is taken away there and comes here, and it can be read no more freely
/// by its new name than by its old one. A rule for reading would end with the name otherwise.
pub fn check_move(guard: &dyn Guard, from: &VirtualPath, to: &VirtualPath) -> Result<()> {
    guard.check(Operation::Delete, from)?;
    guard.check(Operation::Write, to)?;
    let strictness = |judged: &Result<()>| match judged {
        Ok(()) => 0,
        Err(error) if error.kind() == ErrorKind::ApprovalDenied => 1,
        Err(_) => 2,
    };
    let before = guard.check(Operation::Read, from);
    if strictness(&guard.check(Operation::Read, to)) < strictness(&before) { before } else { Ok(()) }
}

/// The guard of a program that uses a backend directly: the mounts alone decide.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unguarded;

impl Guard for Unguarded {
    fn check(&self, _operation: Operation, _path: &VirtualPath) -> Result<()> {
        Ok(())
    }

    fn is_open(&self) -> bool {
        true
    }
}
