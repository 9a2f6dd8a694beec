//! The tools of one toolset, as it shows them: the registry's and the application's own, behind one face.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::ToolSpec;
use super::options::{EditFormat, ToolsetOptions};
use super::policy::Policy;
use super::text::Profile;
use crate::access::Operation;
use crate::backend::{Backend, Shell};
use crate::call_info::CallInfo;
use crate::custom::{CustomTool, CustomTools, Instruction, custom_tools};
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::order;
use crate::tool::{self, DecodedCall, Entry, Group, Need};

/// A tool as this toolset shows it.
#[derive(Clone)]
pub(super) struct Exposed {
    kind: Kind,
    /// What the model calls it.
    pub(super) name: String,
    description: String,
    /// What it takes, where that is told in other words than the tool's own.
    input_schema: Option<Arc<Value>>,
}

/// Whose tool it is.
#[derive(Clone)]
enum Kind {
    Ours(&'static Entry),
    Custom(Arc<CustomTool>),
}

impl Exposed {
    /// The name in rules, hooks and options.
    pub(super) fn ours(&self) -> &str {
        self.kind.name()
    }

    /// Whether it is our tool that reads files, and does nothing else.
    pub(super) fn reads_files(&self) -> bool {
        matches!(&self.kind, Kind::Ours(entry) if entry.spec.operation == Operation::Read)
    }

    /// Whether it is our tool that types commands at a shell.
    pub(super) fn types_commands(&self) -> bool {
        matches!(&self.kind, Kind::Ours(entry) if entry.spec.name == "shell_exec")
    }

    /// What frameworks are told.
    pub(super) fn spec(&self) -> ToolSpec {
        let (read_only, destructive) = match &self.kind {
            Kind::Ours(entry) => (entry.spec.needs == Need::Files, entry.spec.destructive),
            Kind::Custom(tool) => (tool.spec.read_only, tool.is_destructive()),
        };
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: self.input_schema.as_deref().unwrap_or_else(|| self.kind.input_schema()).clone(),
            annotations: json!({ "readOnlyHint": read_only, "destructiveHint": destructive }),
        }
    }

    /// Decodes an input that is an object of sane depth.
    pub(super) async fn decode(&self, call: CallInfo<'_>, input: &Value) -> Result<Box<dyn DecodedCall>> {
        match &self.kind {
            Kind::Ours(entry) => entry.decode(input),
            Kind::Custom(tool) => tool.decode(call, input).await,
        }
    }

    /// What an approver is told of a decoded input.
    pub(super) fn told(&self, decoded: &dyn DecodedCall, input: &Value) -> Value {
        match &self.kind {
            Kind::Ours(entry) => entry.filled(input),
            Kind::Custom(_) => decoded.decoded().unwrap_or(input).clone(),
        }
    }

    /// The end of a message about a wrong input.
    pub(super) fn example(&self) -> String {
        match &self.kind {
            Kind::Ours(entry) => format!(" An input that works: {}", entry.spec.example),
            Kind::Custom(_) => String::new(),
        }
    }

    /// Time that one call may take to be decoded and judged, where the tool has its own limit.
    pub(super) fn time_limit(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Ours(_) => None,
            Kind::Custom(tool) => tool.time_limit(),
        }
    }
}

impl Kind {
    fn name(&self) -> &str {
        match self {
            Self::Ours(entry) => entry.spec.name,
            Self::Custom(tool) => &tool.spec.name,
        }
    }

    /// What models are told of it. An application's own tool is told whole: its author chose the words for this toolset.
    fn description(&self, profile: Profile) -> &str {
        match self {
            Self::Ours(entry) => profile.description(entry.spec.description),
            Self::Custom(tool) => &tool.spec.description,
        }
    }

    fn input_schema(&self) -> &Value {
        match self {
            Self::Ours(entry) => entry.input_schema(),
            Self::Custom(tool) => &tool.spec.input_schema,
        }
    }

    /// The operation that, denied as a whole, removes the tool.
    fn operation(&self) -> Option<Operation> {
        match self {
            Self::Ours(entry) => Some(entry.spec.operation),
            Self::Custom(tool) => tool.operation(),
        }
    }
}

/// Adds a line for each of our tools, and a block for each group of the application's; `told` are instructions that the
/// application gave since.
pub(super) fn instruct<'a>(
    text: &mut String,
    tools: impl Iterator<Item = &'a Exposed>,
    told: &BTreeMap<String, Option<Instruction>>,
) {
    let mut blocks = String::new();
    let mut groups: Vec<&str> = Vec::new();
    for exposed in tools {
        match &exposed.kind {
            Kind::Ours(entry) => {
                let ours = format!("`{}`", entry.spec.name);
                text.push_str("\n- ");
                text.push_str(&entry.spec.instruction.replace(&ours, &format!("`{}`", exposed.name)));
            }
            Kind::Custom(tool) => {
                let instruction = told.get(&tool.spec.name).unwrap_or(&tool.spec.instruction);
                let Some(instruction) = instruction else { continue };
                let group = instruction.group.as_deref().unwrap_or(&tool.spec.name);
                if groups.contains(&group) {
                    continue;
                }
                groups.push(group);
                let name = group.replace('&', "&amp;").replace('"', "&quot;");
                blocks
                    .push_str(&format!("\n<tool-instruction name=\"{name}\">{}</tool-instruction>", instruction.text));
            }
        }
    }
    text.push_str(&blocks);
}

/// The tools that the options choose, less those that are denied or that the backend cannot run.
pub(super) fn exposed(
    backend: &dyn Backend,
    policy: &Policy,
    options: &ToolsetOptions,
    host: Option<&Arc<dyn CustomTools>>,
) -> Result<Vec<Exposed>> {
    let is_taken = |name: &str| tool::find(name).is_some() || Group::named(name).is_some();
    let custom = custom_tools(&options.custom_tools, host, is_taken)?;
    let asking = options.need_approval.iter().chain(&options.pre_approved);
    for name in options.descriptions.keys().chain(options.names.keys()).chain(asking) {
        known(name, &custom)?;
    }
    if let Some(name) = options.pre_approved.iter().find(|name| options.need_approval.contains(name)) {
        return Err(Error::invalid(format!("'{name}' cannot both always ask and be approved beforehand.")));
    }
    let default = [String::from("console")];
    let wanted: &[String] = options.tools.as_deref().unwrap_or(&default);
    let mut exposed: Vec<Exposed> = Vec::new();
    for kind in chosen(backend, wanted, options.edit_format, &custom)? {
        let ours = kind.name();
        let denied = kind.operation().is_some_and(|operation| policy.denies_all(operation));
        if denied || exposed.iter().any(|other| other.ours() == ours) {
            continue;
        }
        let name = options.names.get(ours).cloned().unwrap_or_else(|| ours.to_owned());
        if !is_name(&name) {
            return Err(Error::invalid(format!(
                "'{}' cannot name a tool: use 1 to 64 letters, digits, '_' and '-'.",
                Shown(&name)
            )));
        }
        if exposed.iter().any(|other| other.name == name) {
            return Err(Error::invalid(format!("Two tools would be called '{name}'.")));
        }
        let told = kind.description(options.profile);
        let (description, input_schema) = match options.descriptions.get(ours) {
            None => (told.to_owned(), None),
            Some(text) => (text.description(told), text.described(ours, kind.input_schema())?.map(Arc::new)),
        };
        exposed.push(Exposed { kind, name, description, input_schema });
    }
    Ok(exposed)
}

/// What names and groups stand for, in their order.
fn chosen(
    backend: &dyn Backend,
    wanted: &[String],
    edit_format: EditFormat,
    custom: &HashMap<String, Arc<CustomTool>>,
) -> Result<Vec<Kind>> {
    let other_edit = match edit_format {
        EditFormat::StrReplace => "hashline_edit",
        EditFormat::Hashline => "edit_file",
    };
    let mut chosen: Vec<Kind> = Vec::new();
    for name in wanted {
        if let Some(group) = Group::named(name) {
            let members = tool::REGISTRY.iter().filter(|entry| {
                entry.spec.groups.contains(&group) && entry.spec.name != other_edit && missing(backend, entry).is_none()
            });
            chosen.extend(members.map(Kind::Ours));
            continue;
        }
        let kind = known(name, custom)?;
        if let Kind::Ours(entry) = &kind
            && let Some(reason) = missing(backend, entry)
        {
            return Err(Error::new(ErrorKind::Unsupported, format!("The tool '{name}' cannot run here: {reason}")));
        }
        chosen.push(kind);
    }
    Ok(chosen)
}

pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// The tool of that name, or an error that lists all names.
fn known(name: &str, custom: &HashMap<String, Arc<CustomTool>>) -> Result<Kind> {
    if let Some(tool) = custom.get(name) {
        return Ok(Kind::Custom(Arc::clone(tool)));
    }
    tool::find(name).map(Kind::Ours).ok_or_else(|| {
        let mut names: Vec<_> = tool::REGISTRY.iter().map(|entry| entry.spec.name).collect();
        let mut own: Vec<_> = custom.keys().map(String::as_str).collect();
        order::sort_by(&mut own, Ord::cmp);
        names.extend(own);
        Error::invalid(format!("There is no tool '{}'. Known are: {}.", Shown(name), names.join(", ")))
    })
}

/// Why the backend cannot run a tool, if it cannot.
fn missing(backend: &dyn Backend, entry: &Entry) -> Option<String> {
    match entry.spec.needs {
        Need::Files => None,
        Need::Writer if backend.writer().is_some() => None,
        Need::Writer => Some("the files are read-only.".to_owned()),
        Need::Shell if backend.shell().is_some() => None,
        Need::Terminals if backend.shell().is_some_and(Shell::has_terminals) => None,
        Need::Terminals if backend.shell().is_some() => Some("this backend has no terminals.".to_owned()),
        Need::Shell | Need::Terminals => Some(backend.no_shell_reason().to_owned()),
    }
}
