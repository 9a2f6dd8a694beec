//! The arguments of each method. Unknown fields are refused, so that a misspelt option never passes silently.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::backend::{Background, ExecuteLimits, FileSystem};
use crate::decode::decode_text;
use crate::edit::Edit;
use crate::error::Result;
use crate::limits::Limits;
use crate::path::VirtualPath;
use crate::search::{CaseMode, EntryFilter, FindQuery, GlobQuery, GrepQuery, LinkPolicy, SortOrder};

/// Decodes arguments, or says which one is wrong.
pub(super) fn decode<T: DeserializeOwned>(method: &str, json: &str) -> Result<T> {
    decode_text(&format!("The arguments of {method} are"), json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathOnly {
    pub(super) path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ls {
    pub(super) path: String,
    #[serde(default)]
    pub(super) depth: Option<u32>,
    #[serde(default)]
    pub(super) counts: Option<bool>,
    #[serde(default)]
    pub(super) ignore: Option<bool>,
    /// Milliseconds.
    #[serde(default)]
    pub(super) timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    pub(super) path: String,
    #[serde(default)]
    pub(super) offset: Option<u64>,
    #[serde(default)]
    pub(super) limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditArguments {
    pub(super) path: String,
    pub(super) edits: Vec<Edit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remove {
    pub(super) path: String,
    #[serde(default)]
    pub(super) recursive: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FromTo {
    pub(super) from: String,
    pub(super) to: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Find {
    pub(super) query: String,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) hidden: Option<bool>,
    #[serde(default)]
    pub(super) ignore: Option<bool>,
    #[serde(default)]
    pub(super) offset: Option<usize>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
    /// Milliseconds.
    #[serde(default)]
    pub(super) timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Glob {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) hidden: Option<bool>,
    #[serde(default)]
    pub(super) ignore: Option<bool>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<EntryFilter>,
    #[serde(default)]
    pub(super) sort: Option<SortOrder>,
    #[serde(default)]
    pub(super) cursor: Option<String>,
    #[serde(default)]
    pub(super) offset: Option<usize>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
    #[serde(default)]
    pub(super) links: Option<LinkPolicy>,
    #[serde(default)]
    pub(super) threads: Option<usize>,
    /// Milliseconds.
    #[serde(default)]
    pub(super) timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Grep {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) literal: Option<bool>,
    #[serde(default, rename = "case")]
    pub(super) case_mode: Option<CaseMode>,
    #[serde(default)]
    pub(super) word: Option<bool>,
    #[serde(default)]
    pub(super) multiline: Option<bool>,
    #[serde(default)]
    pub(super) look_around: Option<bool>,
    #[serde(default)]
    pub(super) globs: Option<Vec<String>>,
    #[serde(default)]
    pub(super) types: Option<Vec<String>>,
    #[serde(default)]
    pub(super) hidden: Option<bool>,
    #[serde(default)]
    pub(super) ignore: Option<bool>,
    #[serde(default)]
    pub(super) before: Option<u32>,
    #[serde(default)]
    pub(super) after: Option<u32>,
    #[serde(default)]
    pub(super) max_per_file: Option<u64>,
    #[serde(default)]
    pub(super) mode: Option<GrepMode>,
    #[serde(default)]
    pub(super) sort: Option<SortOrder>,
    #[serde(default)]
    pub(super) offset: Option<usize>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
    #[serde(default)]
    pub(super) links: Option<LinkPolicy>,
    #[serde(default)]
    pub(super) threads: Option<usize>,
    /// Milliseconds.
    #[serde(default)]
    pub(super) timeout: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GrepMode {
    Content,
    FilesWithMatches,
    Count,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Execute {
    pub(super) command: String,
    /// Milliseconds.
    #[serde(default)]
    pub(super) timeout: Option<u64>,
    #[serde(default)]
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) limits: Option<ExecuteLimits>,
    #[serde(default)]
    pub(super) background: Option<ExecuteBackground>,
    #[serde(default)]
    pub(super) on_timeout: Option<OnTimeout>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OpenTerminal {
    #[serde(default)]
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) env: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) columns: Option<u16>,
    #[serde(default)]
    pub(super) rows: Option<u16>,
    #[serde(default)]
    pub(super) limits: Option<ExecuteLimits>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OnTimeout {
    #[default]
    End,
    Background,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExecuteBackground {
    #[default]
    End,
    Keep,
}

impl From<ExecuteBackground> for Background {
    fn from(background: ExecuteBackground) -> Self {
        match background {
            ExecuteBackground::End => Self::End,
            ExecuteBackground::Keep => Self::Keep,
        }
    }
}

impl Find {
    /// The query, with the defaults of the documentation.
    pub(super) fn into_query(self, files: &dyn FileSystem) -> Result<FindQuery> {
        let path = VirtualPath::parse(self.path.as_deref().unwrap_or("."), files.working_directory())?;
        let defaults = FindQuery::new(self.query, path);
        Ok(FindQuery {
            hidden: self.hidden.unwrap_or(defaults.hidden),
            respect_ignore: self.ignore.unwrap_or(defaults.respect_ignore),
            offset: self.offset.unwrap_or(defaults.offset),
            limit: self.limit.unwrap_or(defaults.limit),
            ..defaults
        })
    }
}

impl Glob {
    /// The query; what is left out is as the core has it.
    pub(super) fn into_query(self, files: &dyn FileSystem) -> Result<GlobQuery> {
        let most = Limits::default().glob_paths;
        let path = VirtualPath::parse(self.path.as_deref().unwrap_or("."), files.working_directory())?;
        let defaults = GlobQuery::new(self.pattern, path);
        Ok(GlobQuery {
            entries: self.kind.unwrap_or(defaults.entries),
            hidden: self.hidden.unwrap_or(defaults.hidden),
            respect_ignore: self.ignore.unwrap_or(defaults.respect_ignore),
            links: self.links.unwrap_or(defaults.links),
            threads: self.threads.unwrap_or(defaults.threads),
            sort: self.sort.unwrap_or(defaults.sort),
            after: self.cursor.as_deref().map(str::parse).transpose()?,
            offset: self.offset.unwrap_or(defaults.offset),
            limit: self.limit.unwrap_or(most).min(most),
            ..defaults
        })
    }
}

impl Grep {
    /// The query; what is left out is as the core has it.
    pub(super) fn into_query(self, files: &dyn FileSystem) -> Result<GrepQuery> {
        let most = Limits::default().grep_matches;
        let mode = self.mode.unwrap_or(GrepMode::Content);
        let path = VirtualPath::parse(self.path.as_deref().unwrap_or("."), files.working_directory())?;
        let defaults = GrepQuery::new(self.pattern, path);
        Ok(GrepQuery {
            literal: self.literal.unwrap_or(defaults.literal),
            case: self.case_mode.unwrap_or(defaults.case),
            word: self.word.unwrap_or(defaults.word),
            multiline: self.multiline.unwrap_or(defaults.multiline),
            look_around: self.look_around.unwrap_or(defaults.look_around),
            globs: self.globs.unwrap_or_default(),
            types: self.types.unwrap_or_default(),
            hidden: self.hidden.unwrap_or(defaults.hidden),
            respect_ignore: self.ignore.unwrap_or(defaults.respect_ignore),
            links: self.links.unwrap_or(defaults.links),
            threads: self.threads.unwrap_or(defaults.threads),
            before: self.before.unwrap_or(defaults.before),
            after: self.after.unwrap_or(defaults.after),
            max_per_file: self.max_per_file,
            files_only: mode == GrepMode::FilesWithMatches,
            count_only: mode == GrepMode::Count,
            offset: self.offset.unwrap_or(defaults.offset),
            limit: self.limit.unwrap_or(most).min(most),
            sort: self.sort.unwrap_or(defaults.sort),
            ..defaults
        })
    }
}
