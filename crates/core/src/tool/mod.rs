//! The tools that a model calls: one file each, one trait, one list.
//!
//! A tool is the struct that its input decodes into. From that struct come the JSON Schema ([`schemas`]), the accesses
//! that permissions judge ([`Tool::accesses`], pure), the preview that an approver sees, and the run. A tool works
//! through a [`View`]: it holds no concrete backend, no host path and no rule. The only list of tools is [`REGISTRY`].

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::decode;
use crate::error::{Error, Result};
use crate::path::VirtualPath;
use crate::session::Sessions;
use crate::session::terminal::Reader;

mod background;
mod batch;
mod command_facts;
mod command_output;
mod delete_file;
mod edit_file;
mod execute;
mod find_files;
mod glob;
mod going_on;
mod grep;
mod ignored;
mod ls;
mod mkdir;
mod move_file;
mod no_session;
mod read_file;
mod read_media;
mod result;
mod schemas;
mod shell_help;
mod shell_input;
mod shell_write;
mod taking;
mod terminal;
mod terminal_view;
#[cfg(test)]
mod tests;
mod torn;
mod view;
mod write_file;

pub use result::{Part, ToolResult};
pub use view::{Binding, ToolSettings, View};

/// What is fixed about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// The name, in rules, hooks and `needApproval`.
    pub name: &'static str,
    /// The groups that bring it in.
    pub groups: &'static [Group],
    /// What the model reads: what it does, when another tool is better, limits in numbers.
    pub description: &'static str,
    /// A line for the system prompt.
    pub instruction: &'static str,
    /// The operation that, denied as a whole, removes the tool.
    pub operation: Operation,
    /// What the backend must offer.
    pub needs: Need,
    /// Whether a call can destroy something.
    pub destructive: bool,
    /// An input that works, as JSON, for error messages.
    pub example: &'static str,
}

/// A named set of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The default: files and commands.
    Console,
    /// Files alone, with the tools that arrange them.
    Files,
    /// Commands that run beside the conversation.
    Background,
    /// Shells on terminals that last from call to call.
    Terminal,
}

impl Group {
    /// The group of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "console" => Some(Self::Console),
            "files" => Some(Self::Files),
            "background" => Some(Self::Background),
            "terminal" => Some(Self::Terminal),
            _ => None,
        }
    }
}

/// What a tool needs from a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Reading.
    Files,
    /// Writing.
    Writer,
    /// Commands.
    Shell,
    /// Commands on terminals.
    Terminals,
}

/// A tool: the decoded input of one call.
pub trait Tool: DeserializeOwned + Send + Sync + 'static {
    /// What is fixed.
    const SPEC: Spec;

    /// What the call will read, write or run, as asked. Pure: `working_directory` is what relative paths are relative to.
    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>>;

    /// What the call will run besides, by what was typed into its session before.
    fn session_accesses(&self, sessions: &Sessions, working_directory: &VirtualPath) -> Vec<Access> {
        let _ = (sessions, working_directory);
        Vec::new()
    }

    /// What reads what the call types, as it was when [`Tool::session_accesses`] told what that runs: a yes to the call is one to
    /// that.
    fn reader(&self) -> Option<Reader> {
        None
    }

    /// One line for a person: what will happen. Escaping is done by the caller.
    fn describe(&self) -> String;

    /// The unified diff that the call would make. An error ends the call before anybody is asked.
    fn preview<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<Option<String>>> {
        let _ = view;
        Box::pin(async { Ok(None) })
    }

    /// Does it.
    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>>;
}

/// A decoded call of some tool.
pub trait DecodedCall: Send + Sync {
    /// See [`Tool::accesses`].
    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>>;
    /// See [`Tool::session_accesses`].
    fn session_accesses(&self, sessions: &Sessions, working_directory: &VirtualPath) -> Vec<Access> {
        let _ = (sessions, working_directory);
        Vec::new()
    }
    /// See [`Tool::reader`].
    fn reader(&self) -> Option<Reader> {
        None
    }
    /// See [`Tool::describe`].
    fn describe(&self) -> String;
    /// See [`Tool::preview`].
    fn preview<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<Option<String>>>;
    /// See [`Tool::run`].
    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>>;

    /// The input as the application's own schema made it, as far as JSON can tell it.
    fn decoded(&self) -> Option<&Value> {
        None
    }

    /// Why the call asks, whatever the rules say.
    fn asks(&self) -> Option<&'static str> {
        None
    }

    /// Facts for whoever is asked.
    fn approval_metadata(&self) -> Option<&Value> {
        None
    }

    /// Time that the run may take, where it has a limit of its own.
    fn time_limit(&self) -> Option<Duration> {
        None
    }
}

impl<T: Tool> DecodedCall for T {
    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        Tool::accesses(self, working_directory)
    }

    fn session_accesses(&self, sessions: &Sessions, working_directory: &VirtualPath) -> Vec<Access> {
        Tool::session_accesses(self, sessions, working_directory)
    }

    fn reader(&self) -> Option<Reader> {
        Tool::reader(self)
    }

    fn describe(&self) -> String {
        Tool::describe(self)
    }

    fn preview<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<Option<String>>> {
        Tool::preview(self, view)
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Tool::run(self, view)
    }
}

/// A tool in the list.
pub struct Entry {
    /// What is fixed.
    pub spec: Spec,
    decode: fn(&Spec, &Value) -> Result<Box<dyn DecodedCall>>,
    /// Makes the schema from the struct.
    #[cfg(test)]
    derive_schema: fn() -> Value,
}

impl Entry {
    /// The schema of the input.
    pub fn input_schema(&self) -> &'static Value {
        schemas::of(self.spec.name)
    }

    /// An input as the tool takes it: with the defaults of what was left out.
    pub fn filled(&self, input: &Value) -> Value {
        let mut filled = given(input).into_owned();
        let defaults = self.input_schema()["properties"].as_object();
        if let (Value::Object(fields), Some(properties)) = (&mut filled, defaults) {
            for (name, property) in properties {
                if let Some(default) = property.get("default") {
                    fields.entry(name.as_str()).or_insert_with(|| default.clone());
                }
            }
        }
        filled
    }

    /// Decodes an input, or says where it is wrong, what was expected, and one example.
    pub fn decode(&self, input: &Value) -> Result<Box<dyn DecodedCall>> {
        (self.decode)(&self.spec, input)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)
    }
}

/// Makes an [`Entry`] of a tool's input type.
macro_rules! entry {
    ($tool:ty) => {
        Entry {
            spec: <$tool as Tool>::SPEC,
            decode: |spec, input| Ok(Box::new(decode::<$tool>(spec, input)?)),
            #[cfg(test)]
            derive_schema: schemas::derived::schema_of::<$tool>,
        }
    };
}

/// Every tool, in the order in which models see them.
pub static REGISTRY: &[Entry] = &[
    entry!(ls::Ls),
    entry!(read_file::ReadFile),
    entry!(write_file::WriteFile),
    entry!(edit_file::EditFile),
    entry!(edit_file::HashlineEdit),
    entry!(glob::Glob),
    entry!(grep::Grep),
    entry!(find_files::FindFiles),
    entry!(mkdir::Mkdir),
    entry!(delete_file::DeleteFile),
    entry!(move_file::MoveFile),
    entry!(move_file::CopyFile),
    entry!(execute::Execute),
    entry!(background::RunInBackground),
    entry!(background::ReadOutput),
    entry!(shell_input::ShellInput),
    entry!(background::KillShell),
    entry!(background::ListShells),
    entry!(terminal::ShellExec),
    entry!(terminal_view::ShellView),
    entry!(shell_write::ShellWrite),
    entry!(terminal::ShellKill),
    entry!(shell_help::ShellHelp),
    entry!(terminal_view::ShellScreen),
    entry!(terminal_view::ShellList),
    entry!(terminal_view::ShellResize),
];

/// The tool of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.spec.name == name)
}

/// An input without what it leaves out: models send null for that.
fn given(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::Object(fields) if fields.values().any(Value::is_null) => {
            let given = fields.iter().filter(|(_, value)| !value.is_null());
            Cow::Owned(given.map(|(name, value)| (name.clone(), value.clone())).collect::<Value>())
        }
        _ => Cow::Borrowed(input),
    }
}

fn decode<T: Tool>(spec: &Spec, input: &Value) -> Result<T> {
    decode::decode(&format!("The input of {} is", spec.name), given(input).into_owned())
        .map_err(|error| Error::invalid(format!("{} An input that works: {}", error.message(), spec.example)))
}
