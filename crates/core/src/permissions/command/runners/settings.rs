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

/// `npm config set script-shell …`, `npm pkg set scripts.test=…`: what a later, harmless command runs.
pub(super) fn sets_program(rest: &[Argument]) -> bool {
    let words: Vec<&str> = rest.iter().map(Argument::marked).filter(|word| !word.starts_with('-')).collect();
    let names_program = |words: &[&str]| {
        let words = words.iter().flat_map(|word| word.split(['=', '.'])).collect::<Vec<_>>();
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
