//! Programs that run others under measure, or with a screen of their own: which of their options run nothing else.

use super::argument::Argument;
use super::unwrap::{Layer, Unwrapped};

/// Their names.
pub(super) const NAMES: [&str; 3] = ["hyperfine", "valgrind", "xvfb-run"];

/// Programs of `valgrind` itself. By a path it would start any.
const TOOLS: [&str; 8] = ["cachegrind", "callgrind", "dhat", "drd", "helgrind", "massif", "memcheck", "none"];
/// Options of `valgrind` whose values only say what it tells, and where.
const VALGRIND: [&str; 28] = [
    "branch-sim",
    "cache-sim",
    "cachegrind-out-file",
    "callgrind-out-file",
    "child-silent-after-fork",
    "collect-jumps",
    "dhat-out-file",
    "dump-instr",
    "error-exitcode",
    "error-limit",
    "errors-for-leak-kinds",
    "exit-on-first-error",
    "gen-suppressions",
    "history-level",
    "leak-check",
    "log-file",
    "massif-out-file",
    "num-callers",
    "read-var-info",
    "show-leak-kinds",
    "show-reachable",
    "suppressions",
    "trace-children",
    "track-fds",
    "track-origins",
    "undef-value-errors",
    "xml",
    "xml-file",
];

/// Options of `hyperfine` that take a value: those that say what it tells, and those with a command.
const HYPERFINE: [&str; 17] = [
    "--command-name",
    "--export-asciidoc",
    "--export-csv",
    "--export-json",
    "--export-markdown",
    "--export-orgmode",
    "--max-runs",
    "--min-runs",
    "--runs",
    "--sort",
    "--style",
    "--time-unit",
    "--warmup",
    "-M",
    "-m",
    "-r",
    "-w",
];
const COMMANDS: [&str; 6] = ["--cleanup", "--conclude", "--prepare", "--setup", "-c", "-p"];

/// Words for the screen of `xvfb-run`, besides numbers and sizes.
const SCREEN: [&str; 11] =
    ["-screen", "-ac", "-dpi", "-noreset", "-nolisten", "tcp", "+extension", "-extension", "GLX", "RANDR", "RENDER"];

/// `valgrind`: each of its options is one word.
pub(super) fn valgrind(rest: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    let is_plain = |word: &Argument| match word.exact().map(|text| text.split_once('=').unwrap_or((text, ""))) {
        Some(("-q" | "-v" | "-s" | "--quiet" | "--verbose", _)) => true,
        Some(("--tool", tool)) => TOOLS.contains(&tool),
        Some((option, _)) => option.strip_prefix("--").is_some_and(|name| VALGRIND.contains(&name)),
        None => false,
    };
    let (options, command) = rest.split_at(rest.iter().take_while(|word| word.marked().starts_with('-')).count());
    if !options.iter().all(is_plain) {
        found.unresolved.push("an option of 'valgrind' is not known".to_owned());
    }
    start(command, layer, found);
}

/// `xvfb-run`
pub(super) fn xvfb_run(rest: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_size = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'x');
    let is_screen = |text: &str| text.split(' ').all(|word| is_size(word) || SCREEN.contains(&word));
    let exact = |index: usize| rest.get(index).and_then(Argument::exact).unwrap_or_default();
    let mut index = 0;
    while rest.get(index).is_some_and(|word| word.marked().starts_with('-')) {
        let is_known = match exact(index) {
            "-a" | "--auto-servernum" => true,
            "-n" | "--server-num" => {
                index += 1;
                is_number(exact(index))
            }
            "-s" | "--server-args" => {
                index += 1;
                is_screen(exact(index))
            }
            text => match text.split_once('=') {
                Some(("--server-num", number)) => is_number(number),
                Some(("--server-args", words)) => is_screen(words),
                Some(_) | None => false,
            },
        };
        if !is_known {
            found.unresolved.push("an option of 'xvfb-run' is not known".to_owned());
            return;
        }
        index += 1;
    }
    start(&rest[index.min(rest.len())..], layer, found);
}

fn start(command: &[Argument], layer: &Layer, found: &mut Unwrapped) {
    found.transparent = true;
    if !command.is_empty() {
        found.inner.push(Layer::started(command.to_vec()).reading_as(layer));
    }
}

/// `hyperfine`: each operand is a text for a shell, and so are the values of some options.
pub(super) fn hyperfine(rest: &[Argument], found: &mut Unwrapped) {
    let Some((texts, is_direct)) = texts(rest) else {
        found.unresolved.push("'hyperfine' runs what is not known, or not read here".to_owned());
        return;
    };
    // Without a shell its signs are letters, and what it would part is one word.
    let is_plain = |text: &&str| text.chars().all(|sign| sign.is_ascii_alphanumeric() || " _./:,+@%-".contains(sign));
    if is_direct && !texts.iter().all(is_plain) {
        found.unresolved.push("a text of 'hyperfine' is read by no shell".to_owned());
    }
    found.scripts.extend(texts.into_iter().map(str::to_owned));
}

/// Its texts, and whether it runs them without a shell; `None` where an option or a word is not known.
fn texts(rest: &[Argument]) -> Option<(Vec<&str>, bool)> {
    let words: Vec<&str> = rest.iter().map(Argument::exact).collect::<Option<_>>()?;
    let (mut texts, mut is_direct) = (Vec::new(), false);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (option, glued) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((option, value)) => (option, Some(value)),
            None => (word, None),
        };
        match option {
            "--" => texts.extend(words.by_ref()),
            "-N" => is_direct = true,
            "-i" | "--ignore-failure" | "--show-output" | "--help" | "--version" | "-h" | "-V" => {}
            _ if HYPERFINE.contains(&option) => drop(glued.or_else(|| words.next())?),
            _ if COMMANDS.contains(&option) => texts.push(glued.or_else(|| words.next())?),
            _ if word.starts_with('-') => return None,
            _ => texts.push(word),
        }
    }
    Some((texts, is_direct))
}
