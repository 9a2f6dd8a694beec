//! Commands that run another one for each thing that they find or read.

use std::cell::LazyCell;

use super::argument::{ANYTHING, Argument};
use super::unwrap::{Layer, Unwrapped};

/// 16 places where one `find` looks: what it finds stands in the place of each `{}`.
const PLACES: usize = 16;

/// `find -exec` and its kin.
pub(super) fn find(rest: &[Argument], found: &mut Unwrapped) {
    let places = LazyCell::new(|| found_by(rest));
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
                let is_of_sed = arguments.first().is_some_and(|first| first.exact() == Some("sed"));
                match word.exact() {
                    Some("{}") if is_of_sed && let Some(names) = &*places => arguments.extend_from_slice(names),
                    _ if word.marked().contains("{}") => arguments.push(Argument::unknown()),
                    _ => arguments.push(word.clone()),
                }
            }
            if !arguments.is_empty() {
                found.inner.push(Layer::started(arguments));
            }
        }
    }
}

/// What a `find` with these words finds: below each place where it looks, or that place itself. No such name is an option, and none is
/// split. `None` where the places are not known, or many.
fn found_by(words: &[Argument]) -> Option<Vec<Argument>> {
    let is_option = |word: &&Argument| matches!(word.exact(), Some("-H" | "-L" | "-P"));
    let begins_tests = |word: &Argument| word.marked().starts_with(['-', '(', ')', '!', ',']);
    let words = &words[words.iter().take_while(is_option).count()..];
    // With other options in front the places stand behind them, for some kinds of `find`.
    let is_odd = |word: &Argument| {
        word.marked().strip_prefix('-').is_some_and(|rest| rest.chars().all(|letter| "-EXdsxf".contains(letter)))
    };
    if words.first().is_some_and(is_odd)
        || words.iter().any(|word| matches!(word.exact(), Some("-f")) || word.marked().starts_with("-files0-from"))
    {
        return None;
    }
    let below = |place: &str| match place.rsplit('/').next() {
        Some("." | "..") => Argument::one(format!("{place}/{ANYTHING}")),
        _ => Argument::one(format!("{place}{ANYTHING}")),
    };
    let places = words.iter().take_while(|word| !begins_tests(word));
    let found: Vec<_> = places.map(|place| place.exact().map(below)).collect::<Option<_>>()?;
    match found.len() {
        0 => Some(vec![below(".")]),
        1..=PLACES => Some(found),
        _ => None,
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
