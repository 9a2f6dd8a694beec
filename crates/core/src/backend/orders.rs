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
    /// From 4.
    pub columns: u16,
    /// From 2.
    pub rows: u16,
}

impl TerminalSize {
    /// 500: more columns or rows than any screen has.
    const MOST: u16 = 500;
    /// 4 columns and 2 rows: a prompt and a character that is two columns wide have room, and line editors wrap.
    const LEAST: Self = Self { columns: 4, rows: 2 };

    /// `InvalidInput` for a size that no terminal has.
    pub fn new(columns: u16, rows: u16) -> Result<Self> {
        if (Self::LEAST.columns..=Self::MOST).contains(&columns) && (Self::LEAST.rows..=Self::MOST).contains(&rows) {
            return Ok(Self { columns, rows });
        }
        let (least, most) = (Self::LEAST, Self::MOST);
        Err(Error::invalid(format!(
            "A terminal has {} to {most} columns and {} to {most} rows: give it 80 and 24, for instance.",
            least.columns, least.rows
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_terminal_is_large_enough_for_a_line_editor_and_no_larger_than_screens_are() {
        for (columns, rows, is_one) in [
            (4, 2, true),
            (500, 500, true),
            (120, 40, true),
            (3, 2, false),
            (4, 1, false),
            (0, 0, false),
            (501, 40, false),
            (120, 501, false),
        ] {
            match TerminalSize::new(columns, rows) {
                Ok(size) => assert_eq!((size, is_one), (TerminalSize { columns, rows }, true)),
                Err(error) => {
                    assert_eq!((error.kind(), is_one), (ErrorKind::InvalidInput, false), "{columns} x {rows}");
                    assert!(error.message().contains("4 to 500 columns and 2 to 500 rows"), "{}", error.message());
                }
            }
        }
    }
}
