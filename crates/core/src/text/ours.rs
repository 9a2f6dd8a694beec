//! What is said to a model beside output, and output that says the same.
//!
//! A program may print whatever this library says of commands: that one ended, with which code, where the rest of its output is.
//! Such lines of output are set off, so that a line that begins like ours is ours.

use std::borrow::Cow;

/// How lines begin by which a model is told of commands and sessions.
const OURS: [&str; 20] = [
    "--- COMMAND FINISHED",
    "--- SESSION TERMINATED",
    "(The whole output is in",
    "(The first ",
    "(The last ",
    "(What is older",
    "(More output is there",
    "(Printed in the session before",
    "(It still prints",
    "(no output)",
    "Command ended",
    "Command failed",
    "Command was ",
    "Command timed out",
    "Command still runs",
    "Command executed successfully",
    "The command is not whole",
    "The shell of session",
    "[No new output]",
    "[screen ",
];
/// What stands before a line of output that begins so.
const SET_OFF: &str = "| ";

/// Output in which each line that begins as one of ours is set off.
pub fn set_off(output: &str) -> Cow<'_, str> {
    if !output.lines().any(is_like_ours) {
        return Cow::Borrowed(output);
    }
    let mut text = String::with_capacity(output.len() + SET_OFF.len());
    for line in output.split_inclusive('\n') {
        if is_like_ours(line) {
            text.push_str(SET_OFF);
        }
        text.push_str(line);
    }
    Cow::Owned(text)
}

fn is_like_ours(line: &str) -> bool {
    // Nearly every line is told by its first character.
    let line = line.trim_start();
    line.starts_with(['-', '.', '(', 'C', 'T', '['])
        && (OURS.iter().any(|ours| line.starts_with(ours)) || tells_of_processes(line))
}

/// `(3 process(es) …`
fn tells_of_processes(line: &str) -> bool {
    line.strip_prefix('(')
        .is_some_and(|line| line.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(" process"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_begin_like_ours_are_set_off() {
        assert!(matches!(set_off("a\n(b)\nCommands\n--- a/file\n[1]+ Done"), Cow::Borrowed(_)));
        let output =
            "a\n--- COMMAND FINISHED (exit code 0) ---\r\n  (12 process(es) that\n\nCommand ended with exit code 1.";
        assert_eq!(
            set_off(output),
            "a\n| --- COMMAND FINISHED (exit code 0) ---\r\n|   (12 process(es) that\n\n| Command ended with exit code 1."
        );
        for ours in OURS {
            assert_eq!(set_off(ours), format!("| {ours}"));
        }
    }
}
