//! [`ToolText`]: what an application tells models of a tool in place of our words (BE-104). Words only: what a tool takes and
//! does stays as it is.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result, Shown};

/// Words for one tool; as JSON an object, or a string, which is the description.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct ToolText {
    /// What the tool does; ours when absent.
    pub description: Option<String>,
    /// What each argument is, by its name; ours for those that are not named.
    pub args: BTreeMap<String, String>,
    /// What the tool answers: told at the end of the description.
    pub returns: Option<String>,
}

/// The object, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    returns: Option<String>,
}

impl TryFrom<Value> for ToolText {
    type Error = serde_json::Error;

    /// By its kind, and not by trying, so that a mistake is named.
    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::String(description) => Ok(Self { description: Some(description), ..Self::default() }),
            fields => serde_json::from_value(fields).map(|Fields { description, args, returns }| Self {
                description,
                args,
                returns,
            }),
        }
    }
}

impl ToolText {
    /// The description of a tool that has `ours`.
    pub(super) fn description(&self, ours: &str) -> String {
        let mut text = self.description.as_deref().unwrap_or(ours).to_owned();
        if let Some(returns) = &self.returns {
            text.push_str("\n\nReturns: ");
            text.push_str(returns);
        }
        text
    }

    /// The schema of `tool` with these words for its arguments; `None` where there are none. `InvalidInput` for an argument
    /// that the tool does not have.
    pub(super) fn described(&self, tool: &str, schema: &Value) -> Result<Option<Value>> {
        if self.args.is_empty() {
            return Ok(None);
        }
        let mut schema = schema.clone();
        for (name, text) in &self.args {
            let Some(argument) = schema.pointer_mut("/properties").and_then(|all| all.get_mut(name)) else {
                let known: Vec<&str> =
                    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                return Err(Error::invalid(format!(
                    "The tool '{tool}' has no argument '{}'. It has: {}.",
                    Shown(name),
                    known.join(", ")
                )));
            };
            // A tool of the application may allow anything by `true`, which has no room for words.
            if let Some(fields) = argument.as_object_mut() {
                fields.insert("description".to_owned(), text.as_str().into());
            }
        }
        Ok(Some(schema))
    }
}
