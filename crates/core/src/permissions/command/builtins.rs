//! Builtins of the shell whose words are more than data.

/// Builtins that evaluate their words as arithmetic or as names, subscripts and all.
pub(super) const EVALUATORS: [&str; 18] = [
    "let",
    "declare",
    "typeset",
    "local",
    "readonly",
    "export",
    "test",
    "[",
    "[[",
    "read",
    "unset",
    "wait",
    "getopts",
    "mapfile",
    "readarray",
    "printf",
    "env",
    "set",
];

/// Builtins that set the variables which their words name.
pub(super) const SETTERS: [&str; 13] = [
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "read",
    "unset",
    "getopts",
    "mapfile",
    "readarray",
    "printf",
    "let",
    "wait",
];
