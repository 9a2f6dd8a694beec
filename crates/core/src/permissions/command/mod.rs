//! Commands understood: what a shell command line runs, reads and writes, and whether that may be.
//!
//! A command is parsed, never matched as one string: every simple command in it counts, through lists, pipes, subshells,
//! loops, functions, substitutions, here-documents, quotes and wrappers such as `env` or `xargs`. What is known only when
//! it runs is *unresolved*, and an unresolved or unparsed command is never allowed without somebody's yes.
//!
//! ```text
//! text ─ parser (frame, script, ansi) ─ argument ─ unwrap ─ deny, allow, paths ─ CommandAnalysis
//! ```
//!
//! The deny list is a seat belt against accidents. It is no wall: a program can do what its name does not say. The walls
//! are the sandbox and the confinement of the backend.

use std::collections::VecDeque;

use serde::Serialize;

pub use self::approval::{ApprovalText, approval_text};
use self::argument::{Argument, Variables};
use self::paths::Places;
use self::script::{NestedKind, RedirectKind, RedirectTarget, Script, Word};
use self::unwrap::{Layer, Unwrapped};
use super::Action;
use crate::error::is_deceptive;

mod allow;
mod ansi;
mod approval;
pub(crate) mod argument;
mod deny;
mod doubt;
mod frame;
mod git;
mod parser;
pub(crate) mod paths;
mod runners;
mod script;
mod sed;
#[cfg(test)]
mod tests;
mod unwrap;
mod wrappers;

/// 64 KiB: judged in well under 50 ms (R-CMD-5); a longer command is a script and belongs into a file.
pub const COMMAND_BYTES: usize = 64 << 10;
/// 1,000 simple commands: beyond that nobody reads an approval.
const COMMANDS: usize = 1_000;
/// 200 texts inside texts (`sh -c`, back-quotes, here-documents), at most 8 deep.
const NESTED: usize = 200;
const NESTED_DEPTH: usize = 8;
/// 32 commands, each of which starts the next: nobody writes more, and each is listed with all behind it.
const WRAPPED: usize = 32;

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
    /// Whether the built-in list of dangerous commands counts. On, unless an application has a policy of its own.
    pub deny_dangerous: bool,
}

impl Default for CommandContext {
    /// In `/`, without a home, a fence or an allow list, dangerous commands denied.
    fn default() -> Self {
        Self {
            working_directory: "/".to_owned(),
            home: None,
            roots: Vec::new(),
            fence: false,
            allowed_commands: None,
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
    /// Whether anything is redirected to or from a file or a text, or a variable set.
    #[serde(skip)]
    pub(crate) redirected: bool,
    /// What the rules for files are asked about.
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
}

/// Parses and judges a command line. Total: whatever the text, there is an answer, and no text that was not understood
/// is allowed.
pub fn analyze(command: &str, context: &CommandContext) -> CommandAnalysis {
    let analyzer = analyze_from(command, context, Vec::new());
    if analyzer.reorders && analyzer.places.entered().len() > 1 {
        // A loop, a function or a text for later: what stands in front may run after what stands behind.
        let maybe = analyzer.places.entered().to_vec();
        return analyze_from(command, context, maybe).finish();
    }
    analyzer.finish()
}

/// One reading, in which every command may also run in the directories of `maybe`.
fn analyze_from<'a>(command: &str, context: &'a CommandContext, maybe: Vec<String>) -> Analyzer<'a> {
    let mut analyzer = Analyzer::new(context, maybe);
    if command.len() > COMMAND_BYTES {
        analyzer.exceed("it is longer than 64 KiB");
    } else if let Some(problem) = unreadable(command) {
        analyzer.fail(problem);
    } else {
        analyzer.read_all(command);
    }
    if deny::is_fork_bomb_text(command) {
        analyzer.deny("it starts itself without end (a fork bomb)");
    }
    analyzer
}

/// Why a text is not even looked at.
fn unreadable(command: &str) -> Option<&'static str> {
    let is_hidden = |character: char| is_deceptive(character) && !matches!(character, '\n' | '\t' | '\r');
    command.contains(is_hidden).then_some("it holds invisible or control characters")
}

struct Analyzer<'a> {
    context: &'a CommandContext,
    commands: Vec<SimpleCommand>,
    places: Places<'a>,
    unresolved: Vec<String>,
    parsed: bool,
    redirected: bool,
    denied: Option<String>,
    /// Texts that are to be read, with their depth.
    queue: VecDeque<(String, NestedKind, usize)>,
    texts: usize,
    /// Names of functions so far.
    functions: Vec<String>,
    /// Whether commands may run in another order than that of the text.
    reorders: bool,
    allow_list: Option<allow::AllowList>,
}

impl<'a> Analyzer<'a> {
    fn new(context: &'a CommandContext, maybe: Vec<String>) -> Self {
        Self {
            context,
            commands: Vec::new(),
            places: Places::new(context, maybe),
            unresolved: Vec::new(),
            parsed: true,
            redirected: false,
            denied: None,
            queue: VecDeque::new(),
            texts: 0,
            functions: Vec::new(),
            reorders: false,
            allow_list: context.allowed_commands.as_deref().map(allow::AllowList::new),
        }
    }

    fn read_all(&mut self, command: &str) {
        self.queue.push_back((command.to_owned(), NestedKind::Script, 0));
        while let Some((text, kind, depth)) = self.queue.pop_front() {
            self.texts += 1;
            if self.texts > NESTED || depth > NESTED_DEPTH {
                self.exceed("it holds too many texts inside texts");
                return;
            }
            let script = parser::parse(&text, kind);
            match script.error {
                Some(parser::TOO_DEEP) => self.exceed(parser::TOO_DEEP),
                Some(error) => self.fail(error),
                None => {}
            }
            self.read_script(script, depth);
            if self.commands.len() > COMMANDS {
                self.exceed("it holds too many commands");
                return;
            }
        }
    }

    fn read_script(&mut self, script: Script, depth: usize) {
        if let Some(list) = &mut self.allow_list {
            list.see_constructs(&script);
        }
        if script.constructs.indirection {
            self.unresolve("it expands a variable in a way that can run code ('${!…}', '${…@…}')");
        }
        if let Some(name) = deny::fork_bomb(&script) {
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
        self.functions.extend(script.functions.iter().map(|function| function.name.clone()));
        for name in &script.loop_variables {
            self.see_assignment(name);
        }
        let variables = Variables::of(&script, self.context);
        for (index, command) in script.commands.iter().enumerate() {
            if self.commands.len() > COMMANDS {
                return;
            }
            let has_words = !command.words.is_empty();
            self.places.begin(command.joined && !command.piped_in);
            for (name, value) in &command.assignments {
                if doubt::is_subscript_with_code(variables.assigned(value, index).marked()) {
                    self.unresolve(&format!("the value of '{name}' runs a command where it is taken for a number"));
                }
                if let Some(list) = &mut self.allow_list
                    && has_words
                {
                    list.refuse(format!("it sets the variable '{name}' for a command"));
                }
                self.see_assignment(name);
            }
            self.redirected |= !(command.redirects.is_empty() && command.assignments.is_empty());
            let mut input = Input::Inherited;
            if command.piped_in {
                input = Input::Unknown;
            }
            for redirect in &command.redirects {
                match (&redirect.target, redirect.kind) {
                    (_, RedirectKind::Duplicate) => {}
                    (RedirectTarget::Body(body), _) => {
                        let body = &script.bodies[*body];
                        let is_known = body.literal || !body.text.contains(['$', '`', '\\']);
                        input = if is_known { Input::Text(body.text.clone()) } else { Input::Unknown };
                    }
                    (RedirectTarget::Word(word), RedirectKind::HereString | RedirectKind::HereDocument) => {
                        let text = variables.single(word, index);
                        input = text.exact().map_or(Input::Unknown, |text| Input::Text(text.to_owned()));
                    }
                    (RedirectTarget::Word(word), kind) => {
                        let target = variables.single(word, index);
                        if kind != RedirectKind::Write {
                            input = Input::Unknown;
                        }
                        self.see_redirect(&target, kind);
                    }
                }
            }
            if command.juggles_input {
                input = Input::Unknown;
            }
            if has_words {
                self.see_command(variables.arguments(command, index), &input, depth);
            }
        }
        for nested in script.nested {
            self.queue.push_back((nested.text, nested.kind, depth + 1));
        }
    }

    fn see_assignment(&mut self, name: &str) {
        if wrappers::is_poison(name) {
            self.unresolve(&format!("it sets '{name}', which changes what later commands do"));
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
        }
        if writes {
            self.places.add(target, paths::Use::Write);
            if let Some(reason) = deny::device_write(target) {
                self.deny(&reason);
            }
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

    /// A simple command and whatever it wraps.
    fn see_command(&mut self, arguments: Vec<Argument>, input: &Input, depth: usize) {
        let mut layers = vec![Layer { arguments, has_terminal_input: true, restated: false, silent: false }];
        let mut seen = 0;
        while let Some(layer) = layers.pop() {
            seen += 1;
            if seen > WRAPPED {
                self.exceed("too many commands start each other");
            }
            if seen > WRAPPED || self.commands.len() > COMMANDS {
                return;
            }
            let name = unwrap::command_name(&layer.arguments, &self.places);
            let Unwrapped { transparent, inner, scripts, unresolved, assigned } =
                unwrap::unwrap(&layer, name.as_deref(), input);
            for reason in unresolved {
                self.unresolve(&reason);
            }
            for name in assigned {
                self.see_assignment(&name);
            }
            for script in scripts {
                self.queue.push_back((script, NestedKind::Script, depth + 1));
            }
            let wraps = !inner.is_empty();
            layers.extend(inner);
            self.record(&layer, name.as_deref(), wraps && transparent);
        }
    }

    fn record(&mut self, layer: &Layer, name: Option<&str>, wrapper: bool) {
        let arguments = &layer.arguments[..];
        if !layer.silent {
            self.list(arguments, wrapper);
        }
        if let Some(list) = &mut self.allow_list
            && !layer.restated
        {
            list.see_command(arguments);
        }
        let Some(name) = name else { return };
        if let Some(reason) = deny::judge(name, &arguments[1..], &self.places) {
            self.deny(&reason);
        }
        if let Some(reason) = doubt::doubt(name, &arguments[1..], &self.places) {
            self.unresolve(&reason);
        }
        for variable in doubt::variables_set(name, &arguments[1..]) {
            self.see_assignment(&variable);
        }
        match self.places.see_command(name, &arguments[1..]) {
            paths::Moved::Inside => {}
            paths::Moved::Outside(target) => {
                self.deny(&format!("'{name}' leads to '{target}', outside the directories that are yours; copy what you need into them instead"));
            }
            paths::Moved::Unknown => {
                self.unresolve(&format!("'{name}' leads to a directory that is known only when it runs"));
            }
        }
    }

    fn list(&mut self, arguments: &[Argument], wrapper: bool) {
        let join = |parts: Vec<String>| parts.join(" ");
        self.commands.push(SimpleCommand {
            text: join(arguments.iter().map(Argument::shown).collect()),
            argv: arguments.iter().map(|argument| argument.exact().map(str::to_owned)).collect(),
            wrapper,
            marked: join(arguments.iter().map(|argument| argument.marked().to_owned()).collect()),
        });
    }

    /// What lies beyond a limit was not looked at, so it counts as what is denied (R-CMD-5).
    fn exceed(&mut self, problem: &str) {
        self.fail(problem);
        self.deny(&format!("{problem}, more than is looked at; write them to a script, and run that"));
    }

    fn fail(&mut self, problem: &str) {
        self.parsed = false;
        self.unresolve(&format!("the command was not understood: {problem}"));
    }

    fn unresolve(&mut self, reason: &str) {
        if !self.unresolved.iter().any(|known| known == reason) {
            self.unresolved.push(reason.to_owned());
        }
    }

    fn deny(&mut self, reason: &str) {
        if self.denied.is_none() && self.context.deny_dangerous {
            self.denied = Some(reason.to_owned());
        }
    }

    fn finish(self) -> CommandAnalysis {
        let refused = self.allow_list.and_then(|list| list.refusal(self.parsed, !self.commands.is_empty()));
        let verdict = match (self.denied, refused, self.unresolved.first()) {
            (Some(reason), _, _) => {
                CommandJudgement { action: Action::Deny, reason: format!("The command is blocked: {reason}.") }
            }
            (None, Some(reason), _) => CommandJudgement {
                action: Action::Deny,
                reason: format!("The command is not in the list of allowed commands: {reason}."),
            },
            (None, None, Some(reason)) => CommandJudgement {
                action: Action::Ask,
                reason: format!("The command needs somebody's approval: {reason}."),
            },
            (None, None, None) => CommandJudgement {
                action: Action::Allow,
                reason: "The command was understood, and nothing in it is known to be dangerous.".to_owned(),
            },
        };
        let (reads, writes, places) = self.places.finish();
        CommandAnalysis {
            parsed: self.parsed,
            commands: self.commands,
            reads,
            writes,
            unresolved: self.unresolved,
            verdict,
            redirected: self.redirected,
            places,
        }
    }
}

/// What a command reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    /// Nothing of its own.
    Inherited,
    /// A here-document or here-string whose text is known.
    Text(String),
    /// A pipe, a file, or a text with expansions.
    Unknown,
}
