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
