//! What an application says of the session that a call opens, besides what stands in the call's input: a model says none of it.

use std::collections::BTreeMap;

use super::Session;
use crate::backend::process::TerminalSize;
use crate::error::{Error, Result};

/// 120 columns and 40 rows: what is comfortable to read as text.
const SIZE: TerminalSize = TerminalSize { columns: 120, rows: 40 };

/// What the shell of a session begins with: `less` runs no commands at its keys, which end no line, so that nobody judges them.
const DEFAULTS: [(&str, &str); 1] = [("LESSSECURE", "1")];

/// What is absent is as ever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// Variables on top of the backend's and of those that every session begins with.
    pub env: Option<BTreeMap<String, String>>,
    /// Columns of the terminal; 120.
    pub columns: Option<u16>,
    /// Rows of the terminal; 40.
    pub rows: Option<u16>,
}

impl Opening {
    /// The variables that its shell begins with, on top of the backend's.
    pub fn environment(&self) -> Vec<(String, String)> {
        let own = self.env.iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
        DEFAULTS.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().chain(own).collect()
    }

    /// The size of the terminal.
    pub fn size(&self) -> Result<TerminalSize> {
        TerminalSize::new(self.columns.unwrap_or(SIZE.columns), self.rows.unwrap_or(SIZE.rows))
    }

    /// `InvalidInput` where the session is open with other variables, or has another size now.
    pub fn check(&self, session: &Session) -> Result<()> {
        let Some(terminal) = &session.terminal else { return Ok(()) };
        let is_other = |asked: Option<u16>, has| asked.is_some_and(|asked| asked != has);
        let size = terminal.screen().size();
        let has_others = self.env.as_ref().is_some_and(|env| env != terminal.environment());
        if !has_others && !is_other(self.columns, size.columns) && !is_other(self.rows, size.rows) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "Session '{}' is open with {}: leave `env`, `columns` and `rows` out, or use another id.",
            session.id,
            if has_others {
                "other variables".to_owned()
            } else {
                format!("{} columns and {} rows", size.columns, size.rows)
            }
        )))
    }
}
