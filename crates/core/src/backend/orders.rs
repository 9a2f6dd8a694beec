//! What a process that runs is told.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A signal, by the names and numbers that all Unix systems share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessSignal {
    /// The terminal is gone; many daemons read their settings again.
    Hangup,
    /// As Ctrl-C.
    Interrupt,
    /// As Ctrl-\.
    Quit,
    /// The end, at once.
    Kill,
    /// For programs' own use.
    User1,
    /// For programs' own use.
    User2,
    /// The request to end.
    Terminate,
    /// Continue after a stop.
    Continue,
    /// Stop, as Ctrl-Z.
    Stop,
}

impl ProcessSignal {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Hangup, "SIGHUP"),
        (Self::Interrupt, "SIGINT"),
        (Self::Quit, "SIGQUIT"),
        (Self::Kill, "SIGKILL"),
        (Self::User1, "SIGUSR1"),
        (Self::User2, "SIGUSR2"),
        (Self::Terminate, "SIGTERM"),
        (Self::Continue, "SIGCONT"),
        (Self::Stop, "SIGTSTP"),
    ];

    /// The signal of that name, with or without `SIG`.
    pub fn named(name: &str) -> Result<Self> {
        let upper = name.to_ascii_uppercase();
        let short = upper.strip_prefix("SIG").unwrap_or(&upper);
        Self::ALL
            .iter()
            .find(|(_, known)| known.strip_prefix("SIG") == Some(short))
            .map(|(signal, _)| *signal)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|(_, name)| *name).collect();
                Error::invalid(format!("There is no such signal to send; there are {}.", names.join(", ")))
            })
    }
}

/// What a process is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Get this signal, with its group.
    Signal(ProcessSignal),
    /// Have a terminal of another size.
    Resize(TerminalSize),
    /// End: asked first, killed after a moment, with all its processes.
    End,
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// From 1.
    pub columns: u16,
    /// From 1.
    pub rows: u16,
}

impl TerminalSize {
    /// 500: more columns or rows than any screen has.
    const MOST: u16 = 500;

    /// `InvalidInput` for a size that no terminal has.
    pub fn new(columns: u16, rows: u16) -> Result<Self> {
        let sane = 1..=Self::MOST;
        if sane.contains(&columns) && sane.contains(&rows) {
            return Ok(Self { columns, rows });
        }
        Err(Error::invalid(format!("A terminal has 1 to {} columns and rows.", Self::MOST)))
    }
}
