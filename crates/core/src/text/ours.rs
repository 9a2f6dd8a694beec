//! What is said to a model beside output, and output that says the same.
//!
//! A program may print whatever this library says of commands: that one ended, with which code, where the rest of its output is.
//! Such lines of output are set off, so that a line that begins like ours is ours.

use std::borrow::Cow;

use crate::error::is_deceptive;

/// How lines begin by which a model is told of commands and sessions. What is said of parts that are left out (`... [`) stands in
/// output itself when it comes here, and is not told from it.
const OURS: [&str; 44] = [
    "--- COMMAND FINISHED",
    "--- COMMAND STOPPED",
    "--- SESSION TERMINATED",
    "(The whole output is in",
    "(The first ",
    "(The last ",
    "(What is older",
    "(More output is there",
    "(Printed in the session before",
    "(The command before this one",
    "(It still prints",
    "(What ran did not read",
    "(Another program reads the terminal",
    "(The shell of session",
    "(In the new one",
    "(The command ended the program that watches",
    "(no output)",
    "(no new output)",
    "Command ended",
    "Command failed",
    "Command was ",
    "Command timed out",
    "Command still runs",
    "Command executed successfully",
    "The command is not whole",
    "The command waits for input",
    "The command ended",
    "The call was aborted",
    "The person ",
    "The person's answer",
    "The session is open",
    "The shell waits for ",
    "The shell of session",
    "Session '",
    "Look at its output with `shell_view`",
    "Process in session '",
    "Input sent to session '",
    "Started background shell",
    "Background shell bg_",
    "Killed background shell",
    "[No new output]",
    "[Nothing changed]",
    "[bg_",
    "[screen ",
];
/// 64 characters of a line are compared, more than any of these has.
const COMPARED: usize = 64;
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
    let line = line.trim_start_matches(|character: char| character.is_whitespace() || is_deceptive(character));
    if !line.starts_with(['-', '(', '[', 'B', 'C', 'I', 'K', 'L', 'P', 'S', 'T']) {
        return false;
    }
    let drawn: String = line.chars().filter(|character| !is_deceptive(*character)).take(COMPARED).collect();
    OURS.iter().any(|ours| drawn.starts_with(ours)) || tells_of_processes(&drawn) || tells_of_a_signal(&drawn)
}

/// `(3 process(es) …`
fn tells_of_processes(line: &str) -> bool {
    line.strip_prefix('(')
        .is_some_and(|line| line.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(" process"))
}

/// `Sent SIGTERM to background shell …`
fn tells_of_a_signal(line: &str) -> bool {
    line.strip_prefix("Sent ")
        .and_then(|line| line.split_once(' '))
        .is_some_and(|(_, rest)| rest.starts_with("to background shell"))
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

    /// The list lacked some of the lines that results have, and a character that is not drawn hid the beginning of each.
    #[test]
    fn each_line_that_a_result_has_beside_output_is_set_off() {
        for ours in [
            "(The command ended the program that watches over its processes. Those that could be found were ended; others may",
            "(no new output)",
            "The call was aborted: the command was ended with Ctrl-C, and session 's' is open. Output so far:",
            "The person worked in session 's' and gave it back. Output meanwhile:",
            "The person answered; session 's' went on:",
            "The person's answer was run in the new session 's':",
            "The person gave no answer.",
            "The session is open. Wait with `wait`, look at its screen with",
            "The shell waits for a command, and none runs. Give it one with `shell_exec`.",
            "(What ran did not read what was typed while it ran, and the shell runs nothing that is typed ahead. Run it with `shell_exec`,",
            "(Another program reads the terminal of session 's' and took a part of the line that was typed: nothing of it ran, and",
            "(The shell of session 's' had ended; this is a new one, without its directory and variables. Printed there and not shown:)",
            "(In the new one:)",
            "Session 's' started.",
            "Session 's' has 80 columns and 24 rows.",
            "Look at its output with `shell_view`, write to it with `shell_write_to_process`, end it with `shell_kill_process`.",
            "Process in session 's' has been terminated.",
            "Input sent to session 's' successfully (no output).",
            "[bg_1] exited (code 0)",
            "Started background shell bg_1 (pid 7). Read its output with `read_output` (shell_id 'bg_1'), end it",
            "Background shell bg_1 was already finished or unknown. It ended: exited(0).",
            "Killed background shell bg_1.",
            "Sent SIGTERM to background shell bg_1.",
            "[Nothing changed]",
        ] {
            assert_eq!(set_off(ours), format!("| {ours}"));
        }
        let hidden = [
            "\u{200B}Command ended",
            "\u{FEFF} \u{202E}\t(no output)",
            "Com\u{2060}mand\u{200B} ended",
            "\u{200B}(3\u{AD} process(es)",
        ];
        for hidden in hidden {
            assert_eq!(set_off(hidden), format!("| {hidden}"));
        }
        let others = "\u{FEFF}a\n[b] c\nThe personal\nSessions\nSent SIGTERM\nSession: 's'\nBackground";
        assert!(matches!(set_off(others), Cow::Borrowed(_)));
    }
}
