//! What an application says when it makes a toolset.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::{Profile, ToolText};
use crate::approval::{ApprovalMode, ApprovalOrder};
use crate::custom::CustomSpec;
use crate::limits::Limits;
use crate::permissions::Ruleset;
use crate::session::log::SessionLogs;

/// The options of a toolset. Everything has a default; see the field.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolsetOptions {
    /// Names the toolset in logs and in the ids of its calls: 1 to 64 letters, digits, `_` and `-`. Default: one that is
    /// unique within the process.
    pub id: Option<String>,
    /// Names of tools and groups; default `console`.
    pub tools: Option<Vec<String>>,
    /// Tools of the application, which `tools` names.
    pub custom_tools: Vec<CustomSpec>,
    /// How files are edited; default `str_replace`.
    pub edit_format: EditFormat,
    /// A preset's name or a ruleset; without one the two `require` flags count.
    pub permissions: Option<PermissionsOption>,
    /// Whether writes ask, without `permissions`; default no.
    pub require_write_approval: bool,
    /// Whether commands ask, without `permissions`; default yes.
    pub require_execute_approval: bool,
    /// Names of tools that always ask.
    pub need_approval: Vec<String>,
    /// Names of tools whose asks are answered with a yes beforehand; what is denied stays denied, and `strict` strict.
    pub pre_approved: Vec<String>,
    /// Beginnings of commands that may run, such as `git status` or `npm run *`; an empty list allows none. Default: no
    /// list, so that every command may run which nothing denies or asks about.
    pub allowed_commands: Option<Vec<String>>,
    /// How asks are answered; default `interactive`.
    pub approval_mode: ApprovalMode,
    /// Whether requests of calls that run at once reach the approver together; default one after the other.
    pub approval_order: ApprovalOrder,
    /// Whether the global post hook also runs where a pre hook failed; default no (TS-6).
    pub always_post: bool,
    /// Whether searches skip hidden names unless the model asks for them; default yes.
    pub ignore_hidden: bool,
    /// Bytes of the largest image handed to a model; 0 refuses images and documents. Default: `Limits::image_bytes`.
    pub image_bytes: Option<u64>,
    /// How much models are told of our tools; default all of it.
    pub profile: Profile,
    /// Words that replace ours, by our tool name.
    pub descriptions: BTreeMap<String, ToolText>,
    /// Names that models see instead of ours, by our tool name.
    pub names: BTreeMap<String, String>,
    /// Consecutive fixable failures of one tool before its text tells the model to stop trying; default 3.
    pub max_retries: u32,
    /// Where terminal sessions are logged; nowhere by default.
    pub session_logs: Option<SessionLogs>,
    /// Bounds that differ from the defaults.
    pub limits: Limits,
}

impl Default for ToolsetOptions {
    fn default() -> Self {
        Self {
            id: None,
            tools: None,
            custom_tools: Vec::new(),
            edit_format: EditFormat::StrReplace,
            permissions: None,
            require_write_approval: false,
            require_execute_approval: true,
            need_approval: Vec::new(),
            pre_approved: Vec::new(),
            allowed_commands: None,
            approval_mode: ApprovalMode::Interactive,
            approval_order: ApprovalOrder::OneByOne,
            always_post: false,
            ignore_hidden: true,
            image_bytes: None,
            profile: Profile::Coding,
            descriptions: BTreeMap::new(),
            names: BTreeMap::new(),
            max_retries: 3,
            session_logs: None,
            limits: Limits::default(),
        }
    }
}

/// How files are edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditFormat {
    /// `edit_file`: replace one string by another.
    #[default]
    StrReplace,
    /// `hashline_edit`: replace tagged lines.
    Hashline,
}

/// Where the rules come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub enum PermissionsOption {
    /// The name of a preset.
    Preset(String),
    /// A ruleset.
    Rules(Box<Ruleset>),
}

impl TryFrom<serde_json::Value> for PermissionsOption {
    type Error = serde_json::Error;

    /// By its kind, and not by trying, so that a mistake in a ruleset is named.
    fn try_from(value: serde_json::Value) -> Result<Self, Self::Error> {
        match value {
            serde_json::Value::String(name) => Ok(Self::Preset(name)),
            rules => serde_json::from_value(rules).map(|rules| Self::Rules(Box::new(rules))),
        }
    }
}
