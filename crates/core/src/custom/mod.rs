//! Tools of the application itself: what it says about one ([`CustomSpec`]), and how the pipeline calls it
//! ([`CustomTools`]).
//!
//! A custom tool goes the way of every other: its input is decoded, what it says that it touches is judged, somebody may
//! be asked, its run has a deadline and its text a bound. What it does is the application's own code, which this module
//! trusts no further than that it answers or not. A tool that does not say what it touches may touch anything, and is
//! judged like a command.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::access::{Access, Operation};
use crate::backend::BoxFuture;
use crate::call_info::CallInfo;
use crate::cancel::Deadline;
use crate::error::{Error, ErrorKind, Result, Shown};
use crate::path::VirtualPath;
use crate::tool::{DecodedCall, Part, ToolResult, View};

mod schema;
#[cfg(test)]
mod tests;

use schema::InputSchema;

/// 1,000 paths and commands: what one call may say that it touches.
const MAX_TOUCHES: usize = 1_000;

/// What an application says about a tool of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomSpec {
    /// The name: 1 to 64 letters, digits, `_` and `-`, and none of ours.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// JSON Schema of an object.
    pub input_schema: Value,
    /// Who holds an input to the schema.
    #[serde(default)]
    pub decoded_by: DecodedBy,
    /// Text for the system prompt.
    #[serde(default)]
    pub instruction: Option<Instruction>,
    /// Whether the tool changes nothing; then it needs to say nothing about what it touches.
    #[serde(default)]
    pub read_only: bool,
    /// Whether a call can destroy something; without an answer, what is not read-only can.
    #[serde(default)]
    pub destructive: Option<bool>,
    /// Whether every call asks, whatever the rules say.
    #[serde(default)]
    pub needs_approval: bool,
    /// Facts for whoever is asked.
    #[serde(default)]
    pub approval_metadata: Option<Value>,
    /// What every call touches.
    #[serde(default)]
    pub touches: Option<Vec<CustomTouch>>,
    /// Whether the application says more about each call: see [`CustomTools::plan`].
    #[serde(default)]
    pub plans: bool,
    /// Whether it says what it touches call by call, in [`CustomTools::plan`].
    #[serde(default)]
    pub plans_touches: bool,
    /// Milliseconds that one run may take; without them, what the toolset's limits say.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// Who holds an input to the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecodedBy {
    /// This crate, by the JSON Schema.
    #[default]
    Schema,
    /// The application's own validator, in [`CustomTools::plan`].
    Application,
}

/// Text for the system prompt. Of tools that share a group the first one speaks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// The group; the tool's name when absent.
    #[serde(default)]
    pub group: Option<String>,
    /// The text.
    pub text: String,
}

/// One path or command that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomTouch {
    /// What is done.
    pub operation: Operation,
    /// On which path, relative to the working directory or absolute.
    #[serde(default)]
    pub path: Option<String>,
    /// Which command runs, for `execute`.
    #[serde(default)]
    pub command: Option<String>,
}

/// What the application says about one call before it is decided.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomPlan {
    /// What is wrong with the input; nothing else counts then.
    #[serde(default)]
    pub issues: Option<Vec<String>>,
    /// The input as the application's own schema made it, as far as JSON can tell it.
    #[serde(default)]
    pub decoded: Option<Value>,
    /// What the call touches; without an answer, what the tool says of every call.
    #[serde(default)]
    pub touches: Option<Vec<CustomTouch>>,
    /// One line for a person: what will happen.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether this call asks, whatever the rules say.
    #[serde(default)]
    pub needs_approval: bool,
    /// Facts for whoever is asked about this call.
    #[serde(default)]
    pub approval_metadata: Option<Value>,
}

/// The application's code behind its tools.
pub trait CustomTools: Send + Sync {
    /// Decodes an input and says what the call will do. Asked only of tools that plan.
    fn plan<'a>(&'a self, call: CallInfo<'a>, input: &'a Value) -> BoxFuture<'a, Result<CustomPlan>>;

    /// Runs a call. Ends soon after the deadline, if it can; a run that does not is left alone.
    fn run<'a>(
        &'a self,
        call: CallInfo<'a>,
        input: &'a Value,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<ToolResult>>;
}

/// A custom tool that was checked.
pub struct CustomTool {
    /// What was said about it; the schema closed.
    pub spec: CustomSpec,
    schema: InputSchema,
    host: Arc<dyn CustomTools>,
}

/// Checks what an application says about its tools. `is_taken` knows the names that are ours.
pub(crate) fn custom_tools(
    specs: &[CustomSpec],
    host: Option<&Arc<dyn CustomTools>>,
    is_taken: impl Fn(&str) -> bool,
) -> Result<HashMap<String, Arc<CustomTool>>> {
    let mut tools = HashMap::with_capacity(specs.len());
    for spec in specs {
        let name = &spec.name;
        let host = host.ok_or_else(|| Error::internal(format!("Nobody runs the tool '{}'.", Shown(name))))?;
        if is_taken(name) {
            return Err(Error::invalid(format!("The name '{}' is that of a tool of gloveport.", Shown(name))));
        }
        let tool = CustomTool::new(spec.clone(), Arc::clone(host))?;
        if tools.insert(name.clone(), Arc::new(tool)).is_some() {
            return Err(Error::invalid(format!("Duplicate tool name: '{}'.", Shown(name))));
        }
    }
    Ok(tools)
}

impl CustomTool {
    fn new(mut spec: CustomSpec, host: Arc<dyn CustomTools>) -> Result<Self> {
        let Value::Object(fields) = &mut spec.input_schema else {
            return Err(Error::invalid(format!("The schema of '{}' must be a JSON Schema object.", Shown(&spec.name))));
        };
        close(fields).map_err(|error| {
            Error::invalid(format!("The schema of '{}' is not right: {}", Shown(&spec.name), error.message()))
        })?;
        let schema = match spec.decoded_by {
            DecodedBy::Application => InputSchema::anything(),
            DecodedBy::Schema => InputSchema::compile(&spec.input_schema).map_err(|error| {
                Error::invalid(format!("The schema of '{}' is not right: {}", Shown(&spec.name), error.message()))
            })?,
        };
        if let Some(touches) = &spec.touches {
            check_touches(&spec.name, touches)?;
        }
        Ok(Self { spec, schema, host })
    }

    /// The operation that, denied as a whole, removes the tool; `None` for one that changes nothing it does not name.
    pub(crate) fn operation(&self) -> Option<Operation> {
        (!self.spec.read_only && self.spec.touches.is_none() && !self.spec.plans_touches).then_some(Operation::Execute)
    }

    /// Whether a call can destroy something.
    pub(crate) fn is_destructive(&self) -> bool {
        self.spec.destructive.unwrap_or(!self.spec.read_only)
    }

    /// Time that one run may take, where the tool has its own limit.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.spec.timeout_ms.map(Duration::from_millis)
    }

    /// Decodes an input; the application is asked where it wants to be.
    pub(crate) async fn decode(self: &Arc<Self>, call: CallInfo<'_>, input: &Value) -> Result<Box<dyn DecodedCall>> {
        let name = &self.spec.name;
        let input = self.schema.without_nulls(input);
        self.schema
            .check(&input)
            .map_err(|problem| Error::invalid(format!("The input of {name} is not right{problem}.")))?;
        let mut plan = CustomPlan::default();
        if self.spec.plans {
            plan = self.host.plan(call, &input).await?;
            if let Some(issues) = plan.issues {
                let issues: Vec<_> = issues.iter().take(10).map(|issue| brief(issue, 200)).collect();
                return Err(Error::invalid(format!("The input of {name} is not right: {}.", issues.join("; "))));
            }
        }
        if plan.touches.is_none() {
            plan.touches = self.spec.touches.clone();
        }
        if let Some(touches) = &plan.touches {
            check_touches(name, touches)?;
        }
        if plan.approval_metadata.is_none() {
            plan.approval_metadata = self.spec.approval_metadata.clone();
        }
        plan.needs_approval |= self.spec.needs_approval;
        let (id, key) = (call.id.to_owned(), call.key.to_owned());
        Ok(Box::new(CustomCall { tool: Arc::clone(self), id, key, input, plan }))
    }
}

/// Holds a schema to an object, and closes it unless it says what else may stand in it.
fn close(fields: &mut Map<String, Value>) -> Result<()> {
    match fields.get("type") {
        None => drop(fields.insert("type".to_owned(), json!("object"))),
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => return Err(Error::invalid("its `type` must be \"object\", because tools take named arguments.")),
    }
    if !fields.get("properties").is_some_and(Value::is_object) {
        if fields.contains_key("properties") {
            return Err(Error::invalid("its `properties` must be an object."));
        }
        fields.insert("properties".to_owned(), json!({}));
    }
    fields.shift_remove("$schema");
    if !fields.contains_key("additionalProperties") {
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    Ok(())
}

fn check_touches(tool: &str, touches: &[CustomTouch]) -> Result<()> {
    if touches.len() > MAX_TOUCHES {
        return Err(Error::invalid(format!("'{tool}' says that it touches more than {MAX_TOUCHES} things.")));
    }
    for touch in touches {
        let right = match touch.operation {
            Operation::Execute => touch.command.is_some() && touch.path.is_none(),
            Operation::Read
            | Operation::Write
            | Operation::Edit
            | Operation::Delete
            | Operation::Glob
            | Operation::Grep
            | Operation::Ls => touch.path.is_some() && touch.command.is_none(),
        };
        if !right {
            return Err(Error::invalid(format!(
                "What '{tool}' touches is not right: 'execute' needs a `command`, every other operation a `path`."
            )));
        }
    }
    Ok(())
}

/// A decoded call of a custom tool.
struct CustomCall {
    tool: Arc<CustomTool>,
    id: String,
    key: String,
    input: Value,
    plan: CustomPlan,
}

impl DecodedCall for CustomCall {
    fn accesses(&self, working_directory: &VirtualPath) -> Result<Vec<Access>> {
        let Some(touches) = &self.plan.touches else {
            return Ok(if self.tool.spec.read_only { Vec::new() } else { vec![Access::Anything] });
        };
        let access = |touch: &CustomTouch| match (&touch.path, &touch.command) {
            (None, Some(command)) => Ok(Access::Command {
                command: command.clone(),
                working_directory: working_directory.clone(),
                session: None,
                at_prompt: false,
            }),
            (path, _) => Ok(Access::Path {
                operation: touch.operation,
                path: VirtualPath::parse(path.as_deref().unwrap_or_default(), working_directory)?,
            }),
        };
        touches.iter().map(access).collect()
    }

    fn describe(&self) -> String {
        if let Some(description) = &self.plan.description {
            return description.clone();
        }
        let Value::Object(fields) = self.plan.decoded.as_ref().unwrap_or(&self.input) else {
            return self.tool.spec.name.clone();
        };
        let arguments: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        brief(&format!("{}({})", self.tool.spec.name, arguments.join(", ")), 500)
    }

    fn preview<'a>(&'a self, _: &'a View<'a>) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async { Ok(None) })
    }

    fn decoded(&self) -> Option<&Value> {
        Some(self.plan.decoded.as_ref().unwrap_or(&self.input))
    }

    fn asks(&self) -> Option<&'static str> {
        self.plan.needs_approval.then_some("the tool wants every such call to be approved")
    }

    fn approval_metadata(&self) -> Option<&Value> {
        self.plan.approval_metadata.as_ref()
    }

    fn time_limit(&self) -> Option<Duration> {
        self.tool.time_limit()
    }

    fn run<'a>(&'a self, view: &'a View<'a>) -> BoxFuture<'a, Result<ToolResult>> {
        Box::pin(async move {
            let call = CallInfo { id: &self.id, key: &self.key, tool: &self.tool.spec.name };
            for (path, _) in view.bindings {
                view.check_unchanged(path).await?;
            }
            // A run that noticed the stop may answer with whatever error; the stop is the reason all the same.
            let ended = self.tool.host.run(call, &self.input, &view.call.deadline).await;
            let result = ended.map_err(|error| view.call.deadline.check().err().unwrap_or(error))?;
            let parts =
                result.parts.iter().map(|(Part::Image { data, .. } | Part::File { data, .. })| data.len() as u64);
            // Base64 carries three bytes in four characters.
            if parts.sum::<u64>() / 4 * 3 > view.limits.part_bytes {
                return Err(Error::new(
                    ErrorKind::ToolFailed,
                    format!(
                        "{} answered parts that are larger than the {} bytes that a model can be handed.",
                        call.tool, view.limits.part_bytes
                    ),
                ));
            }
            Ok(result)
        })
    }
}

/// The beginning of a text, control characters escaped.
fn brief(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", Shown(&text[..end])),
        None => Shown(text).to_string(),
    }
}
