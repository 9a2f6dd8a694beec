//! The question and the answer of [`super::analyze`]: what a command is judged against, and the parsed picture of it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::super::Action;
use super::paths;

/// What a command is judged against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandContext {
    /// Where the command runs, absolute, as the command sees it.
    pub working_directory: String,
    /// The home directory, absolute; `~` and `$HOME` are unresolved without one.
    pub home: Option<String>,
    /// The directories that are the agent's, absolute: mounts, or the root and the allowed directories. None of them is
    /// deleted as a whole.
    pub roots: Vec<String>,
    /// Whether `cd` and `pushd` must stay within `roots`.
    pub fence: bool,
    /// Beginnings of commands that may run, such as `git status` or `npm run *`, where a `*` stands for any part of one
    /// word; nothing else may. An empty list allows nothing; absent, every command that is not denied may run.
    pub allowed_commands: Option<Vec<String>>,
    /// Whether the shell ran other command lines before, which may have given variables any value.
    pub continues: bool,
    /// Whether `!` and `^` may stand for text of those lines, as they do in an interactive shell that was not told otherwise.
    pub expands_history: bool,
    /// Where that shell may be by now, absolute; empty where it is in `working_directory`, and with [`ANYTHING`] in it where nobody
    /// knows.
    ///
    /// [`ANYTHING`]: super::argument::ANYTHING
    pub directories: Vec<String>,
    /// Programs to which earlier command lines gave another name: that name and what it stands for, both absolute; a name without
    /// a slash lies in a directory that nobody knows.
    pub programs: Arc<HashMap<String, String>>,
    /// Directories that are links, and where those lead, both absolute: a shell that enters one is in both.
    pub links: Vec<(String, String)>,
    /// Whether the built-in list of dangerous commands counts. On, unless an application has a policy of its own.
    pub deny_dangerous: bool,
}

impl Default for CommandContext {
    /// In `/`, without a home, a fence or an allow list, dangerous commands denied. A shell that goes on may expand its history.
    fn default() -> Self {
        Self {
            working_directory: "/".to_owned(),
            home: None,
            roots: Vec::new(),
            fence: false,
            allowed_commands: None,
            continues: false,
            expands_history: true,
            directories: Vec::new(),
            programs: Arc::default(),
            links: Vec::new(),
            deny_dangerous: true,
        }
    }
}

/// The parsed picture of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandAnalysis {
    /// Whether the whole text was understood. When not, `commands` holds what came before the part that was not.
    pub parsed: bool,
    /// Every simple command that can run, wrappers and what they wrap each by themselves.
    pub commands: Vec<SimpleCommand>,
    /// Files that are read, as far as they can be told: by redirection, and by commands that are known to.
    pub reads: Vec<String>,
    /// Files that are written or removed.
    pub writes: Vec<String>,
    /// What is known only when it runs, or was not understood: each a reason why the command is not simply allowed.
    pub unresolved: Vec<String>,
    /// The judgement of the built-in policy: `deny` for what is dangerous or not in the allow list, `ask` for what is
    /// unresolved. Rules come on top of it.
    pub verdict: CommandJudgement,
    /// Where the shell may be behind it.
    #[serde(skip)]
    pub(crate) entered: paths::Entered,
    /// Programs that have another name behind it, as [`CommandContext::programs`].
    #[serde(skip)]
    pub(crate) renamed: Vec<(String, String)>,
    /// The files that rules are asked about.
    #[serde(skip)]
    pub(crate) places: Vec<paths::Place>,
}

/// An action and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandJudgement {
    /// What happens.
    pub action: Action,
    /// Why, as one sentence for a person or a model.
    pub reason: String,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SimpleCommand {
    /// Its words, quotes removed, joined by a space; `…` stands for what is not known.
    pub text: String,
    /// Its words; `null` for one that is not known.
    pub argv: Vec<Option<String>>,
    /// Whether it only starts another command of this list, which is judged in its place (`nohup`, `time`).
    pub wrapper: bool,
    /// The words with their markers, for rules.
    #[serde(skip)]
    pub(crate) marked: String,
    /// The same with the plain name of the command, where that is spelled otherwise (`/bin/rm`), for rules that take away.
    #[serde(skip)]
    pub(crate) plain: Option<String>,
    /// Whether the command before it names it already (`npx rm`): only rules that take away count.
    #[serde(skip)]
    pub(crate) named: bool,
}
