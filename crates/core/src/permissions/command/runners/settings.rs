//! Settings that a command leaves behind, by which a later, harmless one starts a program.

use super::super::argument::{ANY_CHARACTER, ANY_NAME, ANYTHING, Argument};
use super::tables::VALUED;

/// Settings of `go env -w` that name no programs, nor their options.
const GO_SETTINGS: [&str; 9] = [
    "GO111MODULE=",
    "GOARCH=",
    "GONOPROXY=",
    "GONOSUMDB=",
    "GOOS=",
    "GOPRIVATE=",
    "GOPROXY=",
    "GOSUMDB=",
    "GOTELEMETRY=",
];

/// Settings of `npm` and its kin that name programs, or hold them.
const NPM_PROGRAMS: [&str; 13] = [
    "script-shell",
    "scriptShell",
    "shell",
    "editor",
    "node-options",
    "scripts",
    "git",
    "viewer",
    "bin",
    "init-module",
    "plugins",
    "yarn-path",
    "yarnPath",
];
const AWS_PROGRAMS: [&str; 3] = ["credential_process", "cli_pager", "plugins"];
/// Options of `aws` that take no word.
const AWS_FLAGS: [&str; 3] = ["--cli-auto-prompt", "--debug", "--version"];

/// What a setting may have a later command start.
pub(super) fn names_program(name: &str, rest: &[Argument]) -> Option<String> {
    let is_found = match name {
        "npm" | "pnpm" | "yarn" => sets_program(rest),
        "aws" => configures(rest),
        "composer" => {
            let words = operands(rest);
            let is_settings = |word: &&str| word.len() > 2 && "config".starts_with(*word);
            let edits = |word: &Argument| matches!(word.marked(), "-e" | "--editor");
            words.iter().take(2).position(is_settings).is_some_and(|at| {
                words.iter().any(|word| word.starts_with("scripts"))
                    || rest.iter().any(edits)
                    || words.get(at + 1).is_some_and(|word| may_be(first_part(word), &["scripts"]))
            })
        }
        _ => false,
    };
    is_found.then(|| format!("a setting of '{name}' may name a program"))
}

/// The words that are no options, without values of some that are known only when they run.
fn operands(rest: &[Argument]) -> Vec<&str> {
    let is_value = |index: usize| rest[index].is_dynamic() && index > 0 && VALUED.contains(&rest[index - 1].marked());
    let words = rest.iter().enumerate().filter(|(index, _)| !is_value(*index)).map(|(_, word)| word.marked());
    words.filter(|word| !word.starts_with('-')).collect()
}

/// The first part of a setting's name (`scripts[test]=x`).
fn first_part(setting: &str) -> &str {
    setting.trim_start_matches('[').split(['=', '.', '[', ']', ANY_CHARACTER]).next().unwrap_or_default()
}

/// Whether a part of a name that is known only when it runs may become one of these.
fn may_be(part: &str, known: &[&str]) -> bool {
    part.find([ANYTHING, ANY_NAME]).is_some_and(|end| known.iter().any(|known| known.starts_with(&part[..end])))
}

/// `npm config set script-shell …`, `npm pkg set scripts.test=…`: what a later, harmless command runs.
fn sets_program(rest: &[Argument]) -> bool {
    let words = operands(rest);
    // npm takes every beginning of a command; values of options stand among the words.
    let is_settings =
        |word: &&str| *word == "c" || (word.len() > 1 && ["config", "pkg"].iter().any(|full| full.starts_with(*word)));
    let has_options = rest.first().is_some_and(|word| word.marked().starts_with('-'));
    let settings = words.iter().take(1 + usize::from(has_options)).position(is_settings);
    // `npm pkg "$x" …`
    let is_unknown = settings.and_then(|at| words.get(at + 1)).is_some_and(|word| may_be(word, &["set"]));
    let names_program = |words: &[&str]| {
        let parts = words.iter().flat_map(|word| word.split(['=', '.', '[', ']', ANY_CHARACTER]));
        // `set name value`, or `set name=value …`
        let is_pair = words.first().is_some_and(|first| !first.contains('='));
        let mut names = words.iter().enumerate().filter(|(index, _)| !is_pair || *index != 1);
        words.is_empty()
            || parts.into_iter().any(|part| NPM_PROGRAMS.contains(&part))
            || names.any(|(_, word)| may_be(first_part(word), &NPM_PROGRAMS))
    };
    words.first() == Some(&"set-script")
        || is_unknown
        || words
            .iter()
            .position(|word| *word == "set")
            .is_some_and(|set| (set == 0 || words[..set].iter().any(is_settings)) && names_program(&words[set + 1..]))
}

/// `aws configure set credential_process …`
fn configures(rest: &[Argument]) -> bool {
    let words = || rest.iter().map(Argument::marked).filter(|word| !word.starts_with('-'));
    let is_program = |word: &str| word.split('.').any(|part| AWS_PROGRAMS.contains(&part));
    if words().any(|word| word == "configure") && words().any(|word| word == "set") && words().any(is_program) {
        return true;
    }
    let takes_next = |option: &Argument| {
        let text = option.marked();
        text.starts_with("--") && !text.contains('=') && !text.starts_with("--no-") && !AWS_FLAGS.contains(&text)
    };
    let is_own = |index: &usize| {
        !rest[*index].marked().starts_with('-') && index.checked_sub(1).is_none_or(|before| !takes_next(&rest[before]))
    };
    let own: Vec<&str> = (0..rest.len()).filter(is_own).take(3).map(|index| rest[index].marked()).collect();
    match own.as_slice() {
        ["configure", "set", name, ..] => {
            let last = name.rsplit('.').next().unwrap_or_default();
            may_be(first_part(name), &AWS_PROGRAMS) || may_be(last, &AWS_PROGRAMS)
        }
        ["configure", verb, ..] => may_be(verb, &["set"]),
        [first, ..] => may_be(first, &["configure"]),
        [] => false,
    }
}

/// Whether a word of `go env -w` sets nothing that names a program.
pub(super) fn is_setting_of_go(word: &str) -> bool {
    matches!(word, "env" | "-w") || GO_SETTINGS.iter().any(|known| word.starts_with(known))
}
