//! Compilers, which load plug-ins and start linkers and parts of their own that their options name.

use super::super::argument::{Argument, is_marked};
use super::super::unwrap::{Layer, Unwrapped};
use super::super::variables;
use super::started;

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
        "rustc" | "cargo" => {
            let is_option = |word: &str| {
                ["linker=", "dlltool=", "codegen-backend="].iter().any(|option| word.contains(option)) || links(word)
            };
            is_any(&is_option) || (name == "rustc" && is_any(&|word| word.starts_with('@')))
        }
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => has_option(rest),
        "zig" => has_option_of_zig(rest),
        "nvcc" => {
            // `-Xcompiler=-O2,-B.`
            let is_for_others =
                |word: &str| word.split([',', '=']).any(|option| loads(option) || loads_into_linker(option));
            has_option(rest) || is_any(&is_for_others) || binds_other(rest) || is_any(&is_options_file)
        }
        "javac" => {
            let options = ["-Xplugin", "-J-javaagent", "-J-agent"];
            is_any(&|word| word.starts_with('@') || options.iter().any(|option| word.starts_with(option)))
        }
        _ => false,
    };
    is_found.then(|| format!("an option of '{name}' runs or loads another program"))
}

/// Whether one of the words has a compiler, or its linker, load something or read options that are not seen.
fn has_option(rest: &[Argument]) -> bool {
    rest.iter().any(|word| {
        let word = word.marked();
        loads(word) || (word.starts_with("-Wl,") && word.split(',').skip(1).any(loads_into_linker))
    }) || rest.windows(2).any(|pair| pair[0].marked() == "-Xlinker" && loads_into_linker(pair[1].marked()))
}

/// Whether `zig` is handed such a word, or a program for its tests: its command stands first, and the others take neither.
fn has_option_of_zig(rest: &[Argument]) -> bool {
    const COMPILING: [&str; 11] =
        ["-cc1", "-cc1as", "build-exe", "build-lib", "build-obj", "c++", "cc", "clang", "run", "test", "translate-c"];
    let Some((command, words)) = rest.split_first().filter(|(first, _)| COMPILING.contains(&first.marked())) else {
        return false;
    };
    // Behind `--` stand the words of the program, but where that ends options for C.
    let is_c = |word: &Argument| matches!(word.marked(), "-cflags" | "-rcflags");
    let dashes = words.iter().position(|word| word.marked() == "--" && command.marked() == "run");
    let own = &words[..dashes.filter(|_| !words.iter().any(is_c)).unwrap_or(words.len())];
    has_option(own) || own.iter().any(|word| word.marked().starts_with("--test-cmd"))
}

fn loads(option: &str) -> bool {
    variables::loads_into_compiler(option) || option.starts_with('@')
}

fn loads_into_linker(option: &str) -> bool {
    // `-plugin-opt` says something to one that is there.
    option.starts_with('@')
        || option.trim_start_matches('-').split('=').next() == Some("plugin") && option.starts_with('-')
}

/// `-Clink-args=-B.`: whether what is handed to the linker of `rustc` has it load something, or is not known.
fn links(word: &str) -> bool {
    let value = ["link-args=", "link-arg="].iter().find_map(|option| word.split_once(option));
    value.is_some_and(|(_, value)| {
        let is_loaded = |option: &str| loads(option) || option.split(',').any(loads_into_linker);
        !value.starts_with('-') || is_marked(value) || value.split_ascii_whitespace().any(is_loaded)
    })
}

/// Whether `nvcc` is told of a compiler that is none by its name.
fn binds_other(rest: &[Argument]) -> bool {
    const OPTIONS: [&str; 3] = ["-ccbin", "--compiler-bindir", "-compiler-bindir"];
    rest.iter().enumerate().any(|(index, word)| {
        let (option, value) =
            word.marked().split_once('=').map_or((word.marked(), None), |(o, value)| (o, Some(value)));
        let value = value.or_else(|| rest.get(index + 1).map(Argument::marked));
        OPTIONS.contains(&option) && value.is_some_and(|value| plain(value).is_none())
    })
}

fn is_options_file(word: &str) -> bool {
    matches!(word.split('=').next(), Some("-optf" | "--options-file"))
}

/// `ccache gcc …`: a compiler, and what is set for it. Options of its own stand by themselves.
pub(super) fn wrapped(name: &str, rest: &[Argument], found: &mut Unwrapped) {
    let settings =
        rest.iter().take_while(|word| word.marked().contains('=') && !word.marked().starts_with('-')).count();
    if settings > 0 {
        found.unresolved.push(format!("a setting of '{name}' may name a program"));
    }
    if rest.get(settings).is_some_and(|word| !word.marked().starts_with('-')) {
        started(name, &rest[settings..], found);
    }
}

/// `torchrun script`, which Python runs, or `torchrun --no-python program`.
pub(super) fn torchrun(rest: &[Argument], found: &mut Unwrapped) {
    let mut python = vec![Argument::known("python")];
    let mut is_bare = false;
    let mut words = rest;
    while let Some((word, behind)) = words.split_first() {
        let text = word.marked();
        words = behind;
        match text {
            "-m" | "--module" => python.push(Argument::known("-m")),
            "-h" | "--help" => return,
            "--standalone" | "--run-path" | "--run_path" => {}
            _ if text.starts_with("--no-p") || text.starts_with("--no_p") => is_bare = true,
            _ if text.starts_with('-') => words = behind.get(usize::from(!text.contains('='))..).unwrap_or_default(),
            _ => {
                let command = std::iter::once(word).chain(behind).cloned();
                let arguments = if is_bare { command.collect() } else { python.into_iter().chain(command).collect() };
                found.inner.push(Layer::named(arguments));
                return;
            }
        }
    }
}
