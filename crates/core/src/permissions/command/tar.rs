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
    let is_named = |index: usize| words.get(index).and_then(Argument::exact).is_some_and(is_compressor);
    words.iter().enumerate().any(|(index, word)| {
        word.exact().is_none_or(|text| is_starter(text, index == 0) && !(text == "-I" && is_named(index + 1)))
            && !word.exact().is_some_and(is_known_compression)
    })
}

/// Programs that tar starts of itself, too.
fn is_compressor(name: &str) -> bool {
    ["bzip2", "gzip", "lz4", "lzma", "lzop", "pbzip2", "pigz", "pixz", "pxz", "xz", "zstd", "zstdmt"].contains(&name)
}

fn is_known_compression(word: &str) -> bool {
    word.strip_prefix("--use-compress-program=").is_some_and(is_compressor)
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
