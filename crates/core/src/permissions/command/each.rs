//! Commands that run another one for each thing that they find or read.

use std::cell::LazyCell;

use super::argument::{ANYTHING, Argument};
use super::unwrap::{Layer, Unwrapped};

/// 16 places where one `find` looks: what it finds stands in the place of each `{}`.
const PLACES: usize = 16;
/// `sed` by the names that it has on systems, and `env` in front of it with 8 settings at the most.
const SED: [&str; 4] = ["sed", "gsed", "/bin/sed", "/usr/bin/sed"];
const ENV: [&str; 2] = ["env", "/usr/bin/env"];
const SETTINGS: usize = 8;

/// Words of `find` that print nothing, and those of them that take the next word.
const TESTS: [&str; 24] = [
    "!",
    "(",
    ")",
    ",",
    "-a",
    "-and",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-not",
    "-nouser",
    "-o",
    "-or",
    "-prune",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
];
const VALUED_TESTS: [&str; 29] = [
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-user",
];

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
                match word.exact() {
                    Some("{}")
                        if starts_sed(&arguments)
                            && let Some(names) = &*places =>
                    {
                        arguments.extend_from_slice(names)
                    }
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

/// Whether these words start `sed`, be it by `env` with a few settings.
pub(super) fn starts_sed(words: &[Argument]) -> bool {
    let is = |word: &Argument, names: &[&str]| word.exact().is_some_and(|name| names.contains(&name));
    let is_setting = |word: &&Argument| word.exact().is_some_and(|word| !word.starts_with('-') && word.contains('='));
    let words = match words.split_first() {
        Some((first, rest)) if is(first, &ENV) => &rest[rest.iter().take(SETTINGS).take_while(is_setting).count()..],
        Some(_) | None => words,
    };
    words.first().is_some_and(|first| is(first, &SED))
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

/// What a command with these words prints where it is a `find` that prints nothing but what it finds, each name with a NUL behind it.
pub(super) fn printed_by_find(words: &[Argument]) -> Option<Vec<Argument>> {
    let (_, rest) = words.split_first().filter(|(first, _)| first.exact() == Some("find"))?;
    let places = found_by(rest)?;
    let begins_tests = |word: &&Argument| {
        !matches!(word.exact(), Some("-H" | "-L" | "-P")) && word.marked().starts_with(['-', '(', '!'])
    };
    let mut words = rest.iter().skip_while(|word| !begins_tests(word));
    let mut ends_names = false;
    while let Some(word) = words.next() {
        match word.exact()? {
            "-print0" => ends_names = true,
            test if TESTS.contains(&test) => {}
            test if VALUED_TESTS.contains(&test) => drop(words.next()?.exact()?),
            _ => return None,
        }
    }
    ends_names.then_some(places)
}

/// Whether `xargs` with these options parts what it reads by NULs alone, and puts it behind the words of its command.
pub(super) fn takes_names(options: &[Argument]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts_by_nul = false;
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.exact() else { return false };
        let is_known = match text {
            "--" | "--no-run-if-empty" | "--verbose" => true,
            "--null" => {
                parts_by_nul = true;
                true
            }
            _ if text.starts_with("--") => {
                let number = text.strip_prefix("--max-args=").or_else(|| text.strip_prefix("--max-procs="));
                number.is_some_and(is_number)
            }
            _ => {
                let letters = text.trim_start_matches('-');
                let flags = letters.trim_start_matches(['0', 'r', 't']);
                parts_by_nul |= letters[..letters.len() - flags.len()].contains('0');
                match flags.strip_prefix(['n', 'P']) {
                    Some("") => words.next().and_then(Argument::exact).is_some_and(is_number),
                    Some(number) => is_number(number),
                    None => flags.is_empty(),
                }
            }
        };
        if !is_known {
            return false;
        }
    }
    parts_by_nul
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
