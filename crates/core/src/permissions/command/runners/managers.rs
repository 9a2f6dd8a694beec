//! Managers of packages, which start a program or a script of a package by its bare name.

use super::super::argument::Argument;
use super::super::unwrap::Unwrapped;
use super::started;

/// Options of pnpm and yarn that take the next word.
const VALUED: [&str; 14] = [
    "--cache-folder",
    "--changed-files-ignore-pattern",
    "--cwd",
    "--dir",
    "--filter",
    "--filter-prod",
    "--loglevel",
    "--modules-folder",
    "--mutex",
    "--prefix",
    "--registry",
    "--reporter",
    "-C",
    "-F",
];
/// Commands of their own, or what they start by other names.
const OWN: &[&str] = &[
    "access",
    "add",
    "adduser",
    "approve-builds",
    "audit",
    "autoclean",
    "bin",
    "bugs",
    "c",
    "cache",
    "cat-file",
    "cat-index",
    "check",
    "ci",
    "config",
    "constraints",
    "create",
    "dedupe",
    "deploy",
    "deprecate",
    "dislink",
    "dist-tag",
    "dlx",
    "docs",
    "doctor",
    "env",
    "exec",
    "explain",
    "fetch",
    "find-hash",
    "generate-lock-entry",
    "get",
    "global",
    "help",
    "i",
    "ignored-builds",
    "import",
    "info",
    "init",
    "install",
    "install-test",
    "issues",
    "it",
    "la",
    "licenses",
    "link",
    "list",
    "ll",
    "ln",
    "login",
    "logout",
    "ls",
    "m",
    "multi",
    "npm",
    "outdated",
    "owner",
    "pack",
    "patch",
    "patch-commit",
    "patch-remove",
    "ping",
    "pkg",
    "plugin",
    "policies",
    "prefix",
    "profile",
    "prune",
    "publish",
    "rb",
    "rebuild",
    "recursive",
    "remove",
    "repo",
    "rm",
    "root",
    "run",
    "run-script",
    "s",
    "sbom",
    "se",
    "search",
    "self-update",
    "server",
    "set",
    "setup",
    "show",
    "stage",
    "star",
    "store",
    "t",
    "tag",
    "team",
    "test",
    "token",
    "tst",
    "un",
    "uninstall",
    "unlink",
    "unplug",
    "unpublish",
    "up",
    "update",
    "upgrade",
    "upgrade-interactive",
    "version",
    "versions",
    "view",
    "whoami",
    "why",
    "workspaces",
];

/// `pnpm vite`, `yarn tsc`, `yarn run tsc`, `yarn workspace x tsc`.
pub(super) fn implicit(name: &str, rest: &[Argument], found: &mut Unwrapped) {
    let mut words = behind_options(rest);
    if name == "yarn" && is(words, "workspace") {
        words = behind_options(words.get(2..).unwrap_or_default());
    }
    if name == "yarn" && (is(words, "run") || is(words, "run-script")) {
        words = behind_options(&words[1..]);
    }
    let Some((word, behind)) = words.split_first() else { return };
    // Programs of these names do nothing by themselves, and scripts of them are many.
    let is_script =
        || matches!(word.marked(), "open" | "watch") && behind.iter().all(|word| word.marked().starts_with('-'));
    if word.exact().is_some_and(|word| !OWN.contains(&word)) && !is_script() {
        started(name, words, found);
    }
}

fn is(words: &[Argument], text: &str) -> bool {
    words.first().is_some_and(|word| word.exact() == Some(text))
}

fn behind_options(mut words: &[Argument]) -> &[Argument] {
    while let Some((word, rest)) = words.split_first().filter(|(word, _)| word.marked().starts_with('-')) {
        let skipped = usize::from(VALUED.contains(&word.marked())).min(rest.len());
        words = &rest[skipped..];
    }
    words
}
