//! `awk`: programs that run commands or open files, and what it loads besides its program.

use super::argument::Argument;
use super::shells::is_input;

/// Whether a call of `awk` can run commands, write files, or do what nobody sees here. A program in a file is a script like
/// any other, whose name is what there is to judge.
pub(super) fn may_run(rest: &[Argument]) -> bool {
    let runs = |text: &str| ["system", "|", "getline", ">", "@"].iter().any(|sign| text.contains(sign));
    rest.iter().any(|word| word.exact().is_none_or(runs)) || loads(rest)
}

/// Whether awk takes a library or its program from its input.
fn loads(rest: &[Argument]) -> bool {
    let is_library = |text: &str| {
        let long = text.strip_prefix("--").map(|long| long.split_once('=').map_or(long, |(name, _)| name));
        let has = |option: &str| long.is_some_and(|long| long.len() > 1 && option.starts_with(long));
        text.starts_with("-l") || text.starts_with("-i") || has("load") || has("include")
    };
    rest.iter().take_while(|word| word.marked() != "--").any(|word| is_library(word.marked()))
        || rest.iter().enumerate().any(|(index, word)| {
            let text = word.marked();
            if matches!(text, "-f" | "--file" | "-E" | "--exec") {
                return rest.get(index + 1).is_some_and(is_input);
            }
            let file = ["--file=", "-f", "--exec=", "-E"].iter().find_map(|option| text.strip_prefix(option));
            file.is_some_and(|file| is_input(&Argument::known(file)))
        })
}
