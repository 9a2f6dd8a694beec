//! Words that are surely no files: names of scripts, packages and variables, expressions, and what is sent.

use super::super::argument::{Argument, is_marked};
use super::values::cluster;

/// Letters of `curl` that take no value.
const CURL_FLAGS: &str = "sSLfkgivIjNG0123#";
/// Options of `docker run` that take no value.
const DOCKER_FLAGS: [&str; 12] =
    ["-d", "-dit", "-i", "-it", "-itd", "-t", "-ti", "--detach", "--init", "--interactive", "--rm", "--tty"];
/// Options of `npm` and its kin that take no value.
const NPM_FLAGS: [&str; 15] = [
    "-D",
    "-E",
    "-O",
    "-P",
    "-S",
    "-f",
    "-g",
    "--dev",
    "--exact",
    "--force",
    "--global",
    "--legacy-peer-deps",
    "--save",
    "--save-dev",
    "--save-exact",
];
/// Options of `git` (without their dashes) whose values are texts.
const GIT_TEXTS: [&str; 12] = [
    "after",
    "author",
    "before",
    "committer",
    "date",
    "format",
    "grep",
    "grep-reflog",
    "message",
    "pretty",
    "since",
    "until",
];

/// The words that may name files.
pub(super) fn without_plain_words(name: &str, arguments: &[Argument]) -> Vec<Argument> {
    let options_end = arguments.iter().position(|word| word.marked() == "--").unwrap_or(arguments.len());
    let is_plain = |index: usize| {
        let word = arguments[index].marked();
        let before = index.checked_sub(1).map(|before| arguments[before].marked());
        // An address of a file is one wherever it stands, and a pattern may become several words.
        !word.to_ascii_lowercase().contains("file:")
            && !is_marked(word)
            && is_plain(name, (arguments, options_end), index, word, before)
    };
    let words = arguments.iter().enumerate().filter(|(index, _)| !is_plain(*index));
    words.map(|(_, word)| word.clone()).collect()
}

fn is_plain(
    name: &str,
    (arguments, options_end): (&[Argument], usize),
    index: usize,
    word: &str,
    before: Option<&str>,
) -> bool {
    let first = arguments.first().map_or("", Argument::marked);
    // What begins with a dash may be an option again, where the one in front of it was a value.
    let is_value = !word.starts_with('-');
    let is_behind_options = || options_end + 1 < index;
    // The option in front of it may itself be the value of another.
    let is_free = |is_flag: &dyn Fn(&str) -> bool| {
        let before = index.checked_sub(2).map(|before| arguments[before].marked());
        !is_behind_options() && before.is_none_or(|word| !word.starts_with('-') || is_flag(word))
    };
    match name {
        "git" => is_text_of_git(word),
        "pytest" | "py.test" => is_value && !is_behind_options() && matches!(before, Some("-k" | "-m")),
        "go" if first == "test" => {
            let option = |word: &str| matches!(word.trim_start_matches('-'), "run" | "bench" | "skip" | "fuzz");
            let is_option = |word: &str| word.starts_with('-') && option(word);
            let is_glued = word.split_once('=').is_some_and(|(name, _)| is_option(name));
            // The option itself may be the value of one in front of it.
            let stands_free = index < 2 || !takes_next(arguments[index - 2].marked());
            (is_glued && !before.is_some_and(takes_next)) || (is_value && before.is_some_and(is_option) && stands_free)
        }
        "npm" | "pnpm" | "yarn" | "bun" if is_value => match first {
            // `bun run` takes a file as well.
            "run" | "run-script" => index == 1 && name != "bun",
            "i" | "install" | "add" | "remove" | "uninstall" | "rm" | "un" | "update" => {
                let takes_word = |before: &str| before.starts_with('-') && !NPM_FLAGS.contains(&before);
                index > 0 && !before.is_some_and(takes_word) && is_package(word)
            }
            _ => false,
        },
        "docker" | "podman" => {
            let sets = |option: &str| matches!(option, "-e" | "--env");
            let is_setting = |text: &str| text.split('=').next().is_some_and(is_variable);
            let glued = word.strip_prefix("--env=");
            glued.is_some_and(is_setting)
                || (is_value
                    && before.is_some_and(sets)
                    && is_setting(word)
                    && is_free(&|flag| first == "run" && DOCKER_FLAGS.contains(&flag)))
        }
        "curl" => {
            let is_flag = |word: &str| {
                word.strip_prefix('-').is_some_and(|flags| flags.chars().all(|flag| CURL_FLAGS.contains(flag)))
            };
            is_value && before.is_some_and(|option| is_sent(option, word)) && is_free(&is_flag)
        }
        _ => false,
    }
}

/// Whether an option of `go test` may take the word behind it.
fn takes_next(word: &str) -> bool {
    const FLAGS: [&str; 8] = ["v", "race", "short", "cover", "json", "failfast", "benchmem", "x"];
    word.starts_with('-') && !word.contains('=') && !FLAGS.contains(&word.trim_start_matches('-'))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `--grep=password`, and `--author=…`.
fn is_text_of_git(word: &str) -> bool {
    let option = word.strip_prefix("--").and_then(|option| option.split_once('='));
    option.is_some_and(|(name, _)| GIT_TEXTS.contains(&name))
}

/// Whether a word is the name of a package in a registry, and no directory or archive.
fn is_package(word: &str) -> bool {
    let name = match word.strip_prefix('@').and_then(|scoped| scoped.split_once('/')) {
        Some((scope, name)) if !scope.starts_with('.') => name,
        Some(_) => return false,
        None => word,
    };
    let (name, version) = name.split_once('@').unwrap_or((name, ""));
    let is_version = |character: char| character.is_ascii_alphanumeric() || "-_.^~<>=*+".contains(character);
    !name.is_empty()
        && version.chars().all(is_version)
        && !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && ![".tgz", ".tar", ".tar.gz"].iter().any(|end| word.to_ascii_lowercase().ends_with(end))
}

/// Whether a word behind this option of `curl` is sent as it is: a file is named only behind an `@`.
fn is_sent(option: &str, word: &str) -> bool {
    let is_letter = |letter: char| {
        cluster(option, "dH").is_some_and(|(flags, last)| {
            last == Some((letter, "")) && flags.chars().all(|flag| CURL_FLAGS.contains(flag))
        })
    };
    if option == "--data-raw" {
        return true;
    }
    let takes_text = matches!(option, "--data" | "--data-binary" | "--data-ascii" | "--json" | "--header");
    (takes_text || is_letter('d') || is_letter('H')) && !word.starts_with('@')
}
