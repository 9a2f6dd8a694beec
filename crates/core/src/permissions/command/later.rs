//! What a line of a session leaves behind, by which a later one that says nothing of it means something else.

use super::argument::Argument;
use super::doubt::LOOKERS;
use super::numbers::{OWN, PRINTERS};
use super::setting::has_letter;

/// Why such a command is asked about in a session.
pub(super) fn doubt(name: &str, arguments: &[Argument]) -> Option<&'static str> {
    let is_one = |known: &[&str]| arguments.iter().any(|word| known.contains(&word.marked()));
    match name {
        "declare" | "typeset" | "export" | "integer" if name == "integer" || has_letter(arguments, 'i') => {
            Some("a variable of the session takes what later lines give it for a number, which may run a command")
        }
        "readonly" if arguments.iter().any(|word| !word.marked().starts_with('-')) => {
            Some("a variable of the session keeps its value whatever later lines give it")
        }
        "declare" | "typeset" if has_letter(arguments, 'r') => {
            Some("a variable of the session keeps its value whatever later lines give it")
        }
        "unset" if is_one(&OWN) => Some("a variable that held numbers of the shell holds any text from now on"),
        "trap" if sets_between(arguments) => Some("a trap may set variables between the commands of later lines"),
        _ => None,
    }
}

/// Whether a trap runs between commands, and sets something there for all that is known.
fn sets_between(arguments: &[Argument]) -> bool {
    let is_between = |word: &Argument| {
        let name = word.marked().to_ascii_uppercase();
        word.is_dynamic() || matches!(name.strip_prefix("SIG").unwrap_or(&name), "DEBUG" | "ERR" | "RETURN")
    };
    // `-` takes it away.
    let arguments = arguments.strip_prefix(&[Argument::known("--")]).unwrap_or(arguments);
    let text = arguments.first().filter(|text| !matches!(text.marked(), "" | "-" | "-l" | "-p"));
    let says = |text: &Argument| {
        text.exact().is_some_and(|text| {
            text.starts_with("echo ") && !text.contains(['=', '$', '`', ';', '&', '|', '<', '>', '(', '\n'])
        })
    };
    text.is_some_and(|text| !says(text)) && arguments.iter().skip(1).any(is_between)
}

/// Whether a function of that name takes the place of a program whose output, or whose reading, is trusted.
pub(super) fn is_trusted(function: &str) -> bool {
    PRINTERS.contains(&function) || LOOKERS.contains(&function) || matches!(function, "cat" | "find")
}
