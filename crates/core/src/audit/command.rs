//! Which secrets of a command line may be masked: those without which it still shows every command that it runs.
//!
//! A name beside a value is a guess about text, and a command line is made by a model: `PASSWORD=; rm -rf x`, `cookie:` and a
//! closing quote make a "value" of whatever shall not be seen. So the line is parsed with its secrets and without them, and
//! where that shows other commands the secret is shown, since a record that hides a deletion is worth less than one that
//! shows a password to its owner.

use std::collections::BTreeSet;
use std::ops::Range;

use super::mask::without;
use crate::permissions::{CommandContext, analyze};

/// 256 KiB are parsed at most to find the secrets of a command that can be masked, about 80 ms of the worst text; beyond that
/// they are shown.
const MAX_PARSED_BYTES: usize = 256 << 10;
/// 16 MiB are searched at most for the words that were found elsewhere, a few milliseconds; beyond that they are shown.
const MAX_SEARCHED_BYTES: usize = 16 << 20;
/// A word in the place of a secret that no shell takes for anything else.
const PLACEHOLDER: &str = "MASKED";

/// What a command line shows of what it does: each command by its name and the number of its words, how many files it touches,
/// and how much of it is not known.
#[derive(PartialEq, Eq)]
struct Picture {
    parsed: bool,
    commands: Vec<(Option<String>, usize)>,
    touched: [usize; 3],
}

impl Picture {
    fn of(command: &str) -> Self {
        let context = CommandContext { deny_dangerous: false, ..CommandContext::default() };
        let analysis = analyze(command, &context);
        let commands = analysis.commands.into_iter();
        Self {
            parsed: analysis.parsed,
            commands: commands.map(|command| (command.argv.first().cloned().flatten(), command.argv.len())).collect(),
            touched: [analysis.reads.len(), analysis.writes.len(), analysis.unresolved.len()],
        }
    }
}

/// Those of `spans` without which the command still shows all that it runs.
pub(super) fn visible(command: &str, spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let whole = Picture::of(command);
    let [_, _, unknown] = whole.touched;
    let spans: Vec<_> = spans.into_iter().filter(|span| unknown == 0 || !may_run(&command[span.clone()])).collect();
    let shows = |spans: &[Range<usize>]| Picture::of(&without(command, spans, PLACEHOLDER)) == whole;
    if shows(&spans) {
        return spans;
    }
    let mut kept: Vec<Range<usize>> = Vec::new();
    for span in spans.into_iter().take(MAX_PARSED_BYTES / command.len().max(1)) {
        kept.push(span);
        if !shows(&kept) {
            kept.pop();
        }
    }
    kept
}

/// The same of text that is typed: whatever reads it may take each line by itself, so each must show what it runs, too.
pub(super) fn visible_lines(text: &str, spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut kept = visible(text, spans);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let (inside, outside): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|span| span.start >= start && span.start < end);
        kept = outside;
        // A secret of several lines would hide whole ones.
        let of_line =
            inside.into_iter().filter(|span| span.end <= end).map(|span| span.start - start..span.end - start);
        kept.extend(visible(line, of_line.collect()).into_iter().map(|span| span.start + start..span.end + start));
        start = end;
    }
    kept.sort_by_key(|span| span.start);
    kept
}

/// Whether a value could be a command, for a line of which not all is known: `eval "$PASSWORD"` runs it. Words of small letters
/// and paths are names of programs, and what holds a blank is a command with its words.
fn may_run(value: &str) -> bool {
    let is_plain = |character: char| character.is_lowercase() || matches!(character, '-' | '_' | '.');
    value.contains(|character: char| character.is_whitespace() || character == '/') || value.chars().all(is_plain)
}

/// Takes out of `found`, what is masked wherever it stands, the words without which a command that was masked already would
/// not show what it runs.
pub(super) fn keep_visible(masked: &str, found: &mut BTreeSet<String>, instead: &str) {
    let mut parsed_bytes = 0;
    let before = masked.replace(instead, PLACEHOLDER);
    if found.len().saturating_mul(before.len()) > MAX_SEARCHED_BYTES {
        found.clear();
        return;
    }
    let whole = Picture::of(&before);
    found.retain(|word| {
        if !before.contains(word.as_str()) {
            return true;
        }
        parsed_bytes += before.len();
        parsed_bytes <= MAX_PARSED_BYTES && Picture::of(&before.replace(word.as_str(), PLACEHOLDER)) == whole
    });
}
