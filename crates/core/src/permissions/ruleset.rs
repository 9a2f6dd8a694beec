//! Rulesets as an application writes them: plain data, exactly the JSON of the public `PermissionRuleset`.

use serde::{Deserialize, Serialize};

use crate::access::Operation;

/// What a rule says. Ordered by strictness, so that the strictest of several is their maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It runs.
    Allow,
    /// Somebody is asked first.
    Ask,
    /// It does not run, and nobody is asked.
    Deny,
}

impl Action {
    /// The name in rules and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One line of a section. The first rule of a section whose pattern matches decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which paths, or which commands; see [`super::Pattern`] for the language.
    pub pattern: String,
    /// What happens to them.
    pub action: Action,
    /// Why, for people; shown when the rule denies or asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Examples that the pattern must match; checked when the ruleset is built.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<String>,
    /// Examples that the pattern must not match; checked when the ruleset is built.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
}

impl Rule {
    /// A rule without description and examples.
    pub fn new(pattern: impl Into<String>, action: Action) -> Self {
        Self { pattern: pattern.into(), action, description: None, matching: Vec::new(), not_match: Vec::new() }
    }

    /// The same rule with a reason for people.
    #[must_use]
    pub fn because(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// The rules of one operation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationRules {
    /// What happens where no rule matches; the ruleset's own default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Action>,
    /// In order: the first match decides, also when a later rule is stricter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

/// What an agent may do. A section that is absent has no rules; a ruleset without `default` asks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ruleset {
    /// What happens where neither a rule nor the section's default decides; `ask` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Action>,
    /// Content of files leaves the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<OperationRules>,
    /// Files are created or replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<OperationRules>,
    /// Parts of files are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<OperationRules>,
    /// Names are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<OperationRules>,
    /// Commands run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execute: Option<OperationRules>,
    /// Names are searched by pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<OperationRules>,
    /// Content is searched by pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grep: Option<OperationRules>,
    /// Directories are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ls: Option<OperationRules>,
}

impl Ruleset {
    /// The section of an operation.
    pub fn section(&self, operation: Operation) -> Option<&OperationRules> {
        match operation {
            Operation::Read => self.read.as_ref(),
            Operation::Write => self.write.as_ref(),
            Operation::Edit => self.edit.as_ref(),
            Operation::Delete => self.delete.as_ref(),
            Operation::Execute => self.execute.as_ref(),
            Operation::Glob => self.glob.as_ref(),
            Operation::Grep => self.grep.as_ref(),
            Operation::Ls => self.ls.as_ref(),
        }
    }

    /// What happens to an operation where no rule matches: the section's default, else the ruleset's, else `ask`.
    pub fn default_of(&self, operation: Operation) -> Action {
        self.section(operation).and_then(|section| section.default).or(self.default).unwrap_or(Action::Ask)
    }
}
