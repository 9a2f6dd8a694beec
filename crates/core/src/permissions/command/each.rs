//! Commands that run another one for each thing that they find or read.

use super::argument::Argument;
use super::unwrap::{Layer, Unwrapped};

/// `find -exec` and its kin.
pub(super) fn find(rest: &[Argument], found: &mut Unwrapped) {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if word.is_dynamic() {
            // Quoted or not, an unknown word may be a predicate that runs something.
            found.unresolved.push("an argument of 'find' is known only when it runs".to_owned());
        }
        if matches!(word.exact(), Some("-execdir" | "-okdir")) {
            found.unresolved.push("'find -execdir' runs commands in directories that are known only then".to_owned());
        }
        if matches!(word.exact(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            let mut arguments: Vec<Argument> = Vec::new();
            let mut after_name = false;
            for word in words.by_ref() {
                // A `+` ends the command behind `{}` only.
                if word.exact() == Some(";") || (after_name && word.exact() == Some("+")) {
                    break;
                }
                after_name = word.exact() == Some("{}");
                arguments.push(if word.marked().contains("{}") { Argument::unknown() } else { word.clone() });
            }
            if !arguments.is_empty() {
                found.inner.push(Layer { arguments, has_terminal_input: false, restated: false, silent: false });
            }
        }
    }
}

/// The texts that `xargs` replaces by what it reads.
pub(super) fn xargs_marks(options: &[Argument]) -> Vec<String> {
    let mut marks = Vec::new();
    for (index, word) in options.iter().enumerate() {
        let text = word.marked();
        if let Some(long) = text.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, mark)) if "replace".starts_with(name) => marks.push(mark.to_owned()),
                None if !long.is_empty() && "replace".starts_with(long) => marks.push("{}".to_owned()),
                Some(_) | None => {}
            }
        } else if let Some(position) = text.find(['I', 'J', 'i']).filter(|_| text.starts_with('-')) {
            let glued = &text[position + 1..];
            match options.get(index + 1).map(Argument::marked) {
                _ if !glued.is_empty() => marks.push(glued.to_owned()),
                Some(next) if !text[position..].starts_with('i') => marks.push(next.to_owned()),
                Some(_) | None => marks.push("{}".to_owned()),
            }
        }
    }
    marks.retain(|mark| !mark.is_empty());
    marks
}
