//! What models are told of a tool (BE-104): as much of our words as a [`Profile`] keeps, and [`ToolText`], an application's words
//! in their place. Words only: what a tool takes and does stays as it is.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result, Shown};

/// How much of our own words models are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// All of it: what a tool does, when another is better, limits in numbers.
    #[default]
    Coding,
    /// The first sentence, which says what a tool does: for agents to whom files are one matter among many, whose prompt has
    /// better uses for the room.
    Agent,
}

impl Profile {
    /// What is kept of a description of ours.
    pub(super) fn description(self, ours: &str) -> &str {
        match self {
            Self::Coding => ours,
            // A dot inside a name (`.gitignore`) has no space behind it.
            Self::Agent => ours.find(". ").map_or(ours, |dot| &ours[..=dot]),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::Profile;
    use crate::toolset::tests::World;
    use crate::toolset::{Toolset, ToolsetOptions};

    /// BE-104: `profile` trims our words, and nothing else.
    #[tokio::test]
    async fn a_profile_decides_how_much_of_our_words_is_told() {
        let world = World::new();
        let toolset = |options: serde_json::Value| world.toolset(options);
        let named = |toolset: &Toolset| -> Vec<(String, String)> {
            toolset.specs().into_iter().map(|spec| (spec.name, spec.description)).collect()
        };
        let plain = toolset(json!({}));
        assert_eq!(named(&toolset(json!({"profile": "coding"}))), named(&plain), "the default");
        let agent = toolset(json!({"profile": "agent"}));
        let expected = [
            ("ls", "Lists a directory: directories first, then files with their sizes in bytes, hidden ones too."),
            ("read_file", "Reads a text file and shows its lines with numbers."),
            ("write_file", "Creates a file, or replaces its whole content, exactly as given (UTF-8, up to 64 MiB)."),
            ("edit_file", "Replaces text in a file."),
            ("glob", "Finds files by name pattern, newest first."),
            (
                "grep",
                "Searches file content with a regular expression (Rust syntax; look-around and back-references work within a \
                 line), newest files first.",
            ),
            ("execute", "Runs a shell command (`sh -c`) and returns its output and exit code."),
        ];
        assert_eq!(named(&agent), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
        assert_eq!(agent.instructions(&[], &BTreeMap::new()), plain.instructions(&[], &BTreeMap::new()));
        for (short, long) in agent.specs().into_iter().zip(plain.specs()) {
            assert_eq!(
                (short.input_schema, short.annotations),
                (long.input_schema, long.annotations),
                "{}",
                short.name
            );
        }
        // Every tool says in its first sentence what it does.
        for entry in crate::tool::REGISTRY {
            let (whole, kept) = (entry.spec.description, Profile::Agent.description(entry.spec.description));
            assert!(whole.starts_with(kept) && kept.ends_with('.') && kept.len() > 20, "{}: {kept}", entry.spec.name);
        }
        // Words of the application are told as they are.
        let told = toolset(
            json!({"profile": "agent", "descriptions": {"ls": "Lists. Quickly.", "glob": {"returns": "paths"}}}),
        );
        assert_eq!(told.specs()[0].description, "Lists. Quickly.");
        assert_eq!(told.specs()[4].description, "Finds files by name pattern, newest first.\n\nReturns: paths");
        let error = serde_json::from_value::<ToolsetOptions>(json!({"profile": "short"})).unwrap_err();
        assert!(error.to_string().contains("expected `coding` or `agent`"), "{error}");
    }
}
