//! Compilers, which load plug-ins and start linkers and parts of their own that their options name.

use super::super::argument::Argument;
use super::super::variables;

/// The compiler that a name with a version or a target is (`x86_64-linux-gnu-gcc-12`).
pub(super) fn plain(name: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 11] = [
        ("gcc", "gcc"),
        ("g++", "g++"),
        ("cc", "cc"),
        ("c++", "c++"),
        ("clang", "clang"),
        ("clang++", "clang++"),
        ("cpp", "gcc"),
        ("c89", "cc"),
        ("c99", "cc"),
        ("gfortran", "gcc"),
        ("gccgo", "gcc"),
    ];
    let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let name = name.rsplit_once('-').filter(|(_, version)| is_version(version)).map_or(name, |(name, _)| name);
    let name = name.rsplit('-').next().unwrap_or(name);
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, plain)| *plain)
}

/// What an option of a compiler of that plain name starts or loads.
pub(super) fn starts(name: &str, rest: &[Argument]) -> Option<String> {
    let is_any = |is_one: &dyn Fn(&str) -> bool| rest.iter().any(|word| is_one(word.marked()));
    let is_found = match name {
        "rustc" | "cargo" => is_any(&|word| word.contains("linker=")),
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => {
            is_any(&|word| variables::loads_into_compiler(word) || word.starts_with('@'))
        }
        _ => false,
    };
    is_found.then(|| format!("an option of '{name}' runs or loads another program"))
}
