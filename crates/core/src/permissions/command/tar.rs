//! `tar`: options by which it starts another program.

use super::argument::Argument;

/// Long options that name a program; any beginning of one that is longer than three letters counts.
const LONG: [&str; 7] = [
    "--use-compress-program",
    "--to-command",
    "--checkpoint-action",
    "--info-script",
    "--new-volume-script",
    "--rsh-command",
    "--rmt-command",
];

/// Whether a call of `tar` may start another program.
pub(super) fn may_run(words: &[Argument]) -> bool {
    words.iter().enumerate().any(|(index, word)| word.exact().is_none_or(|text| is_starter(text, index == 0)))
}

/// `-I` and `-F` in whatever cluster, or a long option. The first word is a cluster also without a dash.
fn is_starter(text: &str, first: bool) -> bool {
    if text.starts_with("--") {
        let name = text.split('=').next().unwrap_or_default();
        // `--checkpoint` is an option of its own.
        return name.len() > 2 && name != "--checkpoint" && LONG.iter().any(|option| option.starts_with(name));
    }
    (first || text.starts_with('-')) && text.contains(['I', 'F'])
}
