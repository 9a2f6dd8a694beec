//! What a line of a session leaves behind, by which a later one that says nothing of it means something else.

use super::argument::Argument;
use super::numbers::{OWN, PRINTERS};
use super::setting::has_letter;

/// Why such a command is asked about in a session.
pub(super) fn doubt(name: &str, arguments: &[Argument]) -> Option<&'static str> {
    let is_one = |known: &[&str]| arguments.iter().any(|word| known.contains(&word.marked()));
    match name {
        "declare" | "typeset" | "export" | "integer" if name == "integer" || has_letter(arguments, 'i') => {
            Some("a variable of the session takes what later lines give it for a number, which may run a command")
        }
        "readonly" => Some("a variable of the session keeps its value whatever later lines give it"),
        "declare" | "typeset" if has_letter(arguments, 'r') => {
            Some("a variable of the session keeps its value whatever later lines give it")
        }
        "unset" if is_one(&OWN) => Some("a variable that held numbers of the shell holds any text from now on"),
        "trap" if is_one(&["DEBUG", "RETURN", "ERR"]) => Some("a trap runs between the commands of later lines"),
        _ => None,
    }
}

/// Whether a function of that name takes the place of a program whose output, or whose reading, is trusted.
pub(super) fn is_trusted(function: &str) -> bool {
    const LOOKERS: [&str; 8] = ["blkid", "cat", "df", "echo", "file", "ls", "lsblk", "stat"];
    PRINTERS.contains(&function) || LOOKERS.contains(&function)
}
