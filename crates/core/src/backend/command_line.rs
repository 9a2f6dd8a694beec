//! What no shell can be given as a command.

use crate::error::{Error, Result};

/// Refuses an empty command, one with a NUL, and one of more than `most` bytes.
pub(super) fn check(command: &str, most: usize) -> Result<()> {
    if command.trim().is_empty() {
        return Err(Error::invalid("The command is empty; give a command line for the shell."));
    }
    if command.contains('\0') {
        return Err(Error::invalid("The command holds a NUL character; a command line is text without NUL."));
    }
    if command.len() > most {
        return Err(Error::invalid(format!(
            "The command has {} bytes; at most {most} are possible. Write a script to a file and run that.",
            command.len()
        )));
    }
    Ok(())
}
