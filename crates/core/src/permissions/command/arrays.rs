//! Values in parentheses: `declare` expands the text `($(command))` that it is handed for an array, quoted or not.

use std::collections::{BTreeMap, BTreeSet};

use super::argument::{ANY_CHARACTER, ANYTHING, Argument};
use super::setting;

/// The arrays of a command line, and what is handed for them.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    names: BTreeSet<String>,
    /// Variables that `declare` gives a text which nobody knows.
    given: BTreeMap<String, usize>,
    /// Those that `local` does: what an array outside of the function is does not matter to it.
    given_local: BTreeMap<String, usize>,
    /// How often these builtins are given elements in parentheses for them, which they take as they are.
    listed: BTreeMap<String, usize>,
    /// Whether a text runs a command.
    runs: bool,
}

impl Arrays {
    /// Notes variables that a script gives elements in parentheses.
    pub(super) fn note(&mut self, arrays: &[(String, bool)]) {
        for (name, is_declared) in arrays {
            self.names.insert(name.clone());
            if *is_declared {
                *self.listed.entry(name.clone()).or_default() += 1;
            }
        }
    }

    /// Notes what a builtin of that name does with them.
    pub(super) fn see(&mut self, name: &str, arguments: &[Argument]) {
        let is_array = setting::has_letter(arguments, 'a') || setting::has_letter(arguments, 'A');
        match name {
            "declare" | "typeset" | "local" => self.declare(arguments, is_array, name == "local"),
            // These take such a text for an array only where they are told that it is one.
            "export" | "readonly" if is_array => self.declare(arguments, true, false),
            "mapfile" | "readarray" => self.names.extend(setting::perhaps_set(name, arguments)),
            "read" if is_array => self.names.extend(setting::perhaps_set(name, arguments)),
            "read" | "printf" | "unset" => {
                let is_element = |word: &&Argument| word.marked().contains(['[', ANY_CHARACTER]);
                let text = |word: &Argument| word.marked().trim_start_matches("-v").to_owned();
                let name = |text: String| text.split(['[', ANY_CHARACTER]).next().map(str::to_owned);
                self.names.extend(arguments.iter().filter(is_element).map(text).filter_map(name));
            }
            _ => {}
        }
    }

    fn declare(&mut self, arguments: &[Argument], is_array: bool, is_local: bool) {
        for word in arguments.iter().filter(|word| !word.marked().starts_with(['-', '+'])) {
            let (name, value) = word.marked().split_once('=').unwrap_or((word.marked(), ""));
            let name = name.strip_suffix('+').unwrap_or(name).split(['[', ANY_CHARACTER]).next().unwrap_or_default();
            let is_code = value.contains(['$', '`', ANYTHING]) || value.contains("<(") || value.contains(">(");
            self.runs |= value.starts_with('(') && is_code;
            if value.starts_with(ANYTHING) {
                let given = if is_local { &mut self.given_local } else { &mut self.given };
                *given.entry(name.to_owned()).or_default() += 1;
            }
            if is_array {
                self.names.insert(name.to_owned());
            }
        }
    }

    /// Why the command line is not simply allowed, when it is not. `continues` says that variables may be arrays since earlier
    /// command lines.
    pub(super) fn doubt(&self, continues: bool) -> Option<String> {
        if self.runs {
            return Some(
                "a text in parentheses that 'declare' is given runs a command where it is an array".to_owned(),
            );
        }
        let is_array = |name: &&String| self.names.contains(*name) || is_array_of_shell(name);
        let count = |given: &BTreeMap<String, usize>, name: &String| given.get(name).copied().unwrap_or_default();
        let is_handed =
            |name: &&String| count(&self.given, name) + count(&self.given_local, name) > count(&self.listed, name);
        let given = self.given.keys().find(|name| (continues || is_array(name)) && is_handed(name));
        let name = given.or_else(|| self.given_local.keys().find(|name| is_array(name) && is_handed(name)))?;
        Some(format!("what the array '{name}' is given may be a text that runs a command"))
    }
}

/// Whether bash keeps an array of that name.
fn is_array_of_shell(name: &str) -> bool {
    matches!(
        name,
        "DIRSTACK" | "FUNCNAME" | "GROUPS" | "PIPESTATUS" | "COMPREPLY" | "COMP_WORDS" | "COPROC" | "MAPFILE"
    ) || name.starts_with("BASH_")
}
