//! Settings that a command leaves behind, by which a later, harmless one starts a program.

use super::super::argument::Argument;

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

/// What a setting may have a later command start.
pub(super) fn names_program(name: &str, rest: &[Argument]) -> Option<String> {
    let words = || rest.iter().map(Argument::marked).filter(|word| !word.starts_with('-'));
    let is_found = match name {
        "npm" | "pnpm" | "yarn" => sets_program(rest) || words().next() == Some("set-script"),
        "aws" => {
            let is_program =
                |word: &str| word.split('.').any(|part| matches!(part, "credential_process" | "cli_pager" | "plugins"));
            words().any(|word| word == "configure") && words().any(|word| word == "set") && words().any(is_program)
        }
        "composer" => {
            let is_settings = |word: &str| word.len() > 2 && "config".starts_with(word);
            let edits = |word: &Argument| matches!(word.marked(), "-e" | "--editor");
            words().take(2).any(is_settings)
                && (words().any(|word| word.starts_with("scripts")) || rest.iter().any(edits))
        }
        _ => false,
    };
    is_found.then(|| format!("a setting of '{name}' may name a program"))
}

/// `npm config set script-shell …`, `npm pkg set scripts.test=…`: what a later, harmless command runs.
fn sets_program(rest: &[Argument]) -> bool {
    let words: Vec<&str> = rest.iter().map(Argument::marked).filter(|word| !word.starts_with('-')).collect();
    let names_program = |words: &[&str]| {
        let words = words.iter().flat_map(|word| word.split(['=', '.', '[', ']'])).collect::<Vec<_>>();
        let known = [
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
        words.is_empty() || words.iter().any(|word| known.contains(word))
    };
    // npm takes every beginning of a command; values of options stand among the words.
    let is_settings =
        |word: &&str| *word == "c" || (word.len() > 1 && ["config", "pkg"].iter().any(|full| full.starts_with(*word)));
    words
        .iter()
        .position(|word| *word == "set")
        .is_some_and(|set| (set == 0 || words[..set].iter().any(is_settings)) && names_program(&words[set + 1..]))
}

/// Whether a word of `go env -w` sets nothing that names a program.
pub(super) fn is_setting_of_go(word: &str) -> bool {
    matches!(word, "env" | "-w") || GO_SETTINGS.iter().any(|known| word.starts_with(known))
}
