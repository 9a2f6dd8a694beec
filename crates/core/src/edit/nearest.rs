//! Explains a miss: where the text that was looked for nearly stands, and what differs.
//!
//! Every step is one pass over the file's lines, so a miss in a large file stays a matter of milliseconds.

use std::collections::HashMap;

use crate::error::Shown;
use crate::text::lines;

/// Lines of `old_string` that are looked at. 200.
const OLD_LINES: usize = 200;

/// Bytes and lines of the file that are searched. 8 MiB and 1,000,000, some 50 ms.
const SEARCHED_BYTES: usize = 8 << 20;
const SEARCHED_LINES: usize = 1_000_000;

/// Bytes of a line that are compared; longer lines are data or generated code. 1,000.
const COMPARED_BYTES: usize = 1000;

/// Lines and characters of a line that a message shows. 8 and 160.
const SHOWN_LINES: usize = 8;
const SHOWN_CHARS: usize = 160;

/// Of a hundred pairs of neighbouring letters, how many two lines must share to be alike. 60.
const ALIKE_PERCENT: usize = 60;

/// A place that is nearly right.
#[derive(Debug)]
pub(super) struct Nearest {
    /// 1-based.
    pub(super) first_line: u64,
    /// 1-based, inclusive.
    pub(super) last_line: u64,
    /// What differs, for programs: `line_ends`, `whitespace`, `case`, `moved` or `text`.
    pub(super) differs: &'static str,
    /// What differs and what stands there, for a model.
    pub(super) message: String,
}

/// The place in `text` that is most like `old`, which is not empty and not in it; `None` when nothing is.
pub(super) fn explain(text: &[u8], old: &str) -> Option<Nearest> {
    let text = &text[..text.len().min(SEARCHED_BYTES)];
    let old_lines = wanted_lines(old);
    let file: Vec<&[u8]> = lines::ranges(text).take(SEARCHED_LINES).map(|line| &text[line]).collect();
    let place = aligned(&file, &old_lines).or_else(|| alike(&file, &old_lines))?;
    Some(describe(&file, &old_lines, place))
}

/// The lines of `old` without blank ones around them: those match anywhere.
fn wanted_lines(old: &str) -> Vec<&[u8]> {
    let mut all: Vec<&[u8]> = old.split('\n').take(OLD_LINES).map(str::as_bytes).collect();
    while all.len() > 1 && all.last().is_some_and(|line| line.trim_ascii().is_empty()) {
        all.pop();
    }
    let blank = all.iter().take_while(|line| line.trim_ascii().is_empty()).count();
    all.drain(..blank.min(all.len() - 1));
    all
}

/// A candidate: the index of the file's line that stands for the first wanted one.
struct Place {
    start: usize,
    /// Whether the wanted lines are all there, but not side by side.
    moved: bool,
}

/// The place where most wanted lines stand in the right order, letter case and white space aside.
fn aligned(file: &[&[u8]], old: &[&[u8]]) -> Option<Place> {
    let mut wanted: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for (index, line) in old.iter().enumerate() {
        let key = folded(line);
        if !key.is_empty() {
            wanted.entry(key).or_default().push(index);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    let mut seen = vec![false; old.len()];
    let mut first_seen = None;
    let lengths: Vec<usize> = wanted.keys().map(Vec::len).collect();
    let (shortest, longest) = (lengths.iter().min().copied()?, lengths.iter().max().copied()?);
    let mut key = Vec::new();
    for (number, line) in file.iter().enumerate() {
        // White space may be more, never less, than what is left after folding.
        if line.len() < shortest || line.len() > longest + COMPARED_BYTES {
            continue;
        }
        fold_into(line, &mut key);
        for index in wanted.get(&key).into_iter().flatten() {
            seen[*index] = true;
            first_seen = first_seen.or(Some(number));
            if let Some(start) = number.checked_sub(*index) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let distinct = old.iter().filter(|line| !line.trim_ascii().is_empty()).count();
    let (start, count) = votes.into_iter().max_by_key(|(start, count)| (*count, std::cmp::Reverse(*start)))?;
    let all_seen = old.iter().zip(&seen).all(|(line, seen)| *seen || line.trim_ascii().is_empty());
    // A lone brace that happens to stand somewhere is no candidate.
    let convincing = count * 2 >= distinct || count >= 3;
    if all_seen && count < distinct {
        return Some(Place { start: if convincing { start } else { first_seen? }, moved: true });
    }
    convincing.then_some(Place { start, moved: false })
}

/// The line that shares most pairs of letters with the longest wanted line.
fn alike(file: &[&[u8]], old: &[&[u8]]) -> Option<Place> {
    let (offset, anchor) = old.iter().enumerate().max_by_key(|(_, line)| line.trim_ascii().len())?;
    let mut anchor_key = Vec::new();
    fold_into(anchor, &mut anchor_key);
    if anchor_key.len() < 4 {
        return None;
    }
    let mut wanted = vec![false; 1 << 12];
    for pair in anchor_key.windows(2) {
        wanted[slot(pair)] = true;
    }
    let pairs = anchor_key.len() - 1;
    let mut best: Option<(usize, usize)> = None;
    let mut key = Vec::new();
    for (number, line) in file.iter().enumerate() {
        let trimmed = line.trim_ascii();
        // A line of half or of double the length cannot share enough.
        if trimmed.len() * 2 < anchor_key.len() || trimmed.len() > (anchor_key.len() * 2).min(COMPARED_BYTES) {
            continue;
        }
        fold_into(trimmed, &mut key);
        let shared = key.windows(2).filter(|pair| wanted[slot(pair)]).count();
        let percent = shared * 100 / pairs.max(key.len().saturating_sub(1)).max(1);
        if percent >= ALIKE_PERCENT && best.is_none_or(|(most, _)| percent > most) {
            best = Some((percent, number));
        }
    }
    best.map(|(_, number)| Place { start: number.saturating_sub(offset), moved: false })
}

fn slot(pair: &[u8]) -> usize {
    (usize::from(pair[0]) * 31 + usize::from(pair[1])) & 0xFFF
}

fn folded(line: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    fold_into(line, &mut key);
    key
}

/// The line without white space and letter case.
fn fold_into(line: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.extend(line.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase));
}

fn describe(file: &[&[u8]], old: &[&[u8]], place: Place) -> Nearest {
    let end = (place.start + old.len()).min(file.len());
    let there = &file[place.start..end];
    let (first_line, last_line) = (place.start as u64 + 1, end as u64);
    let span =
        if first_line == last_line { format!("line {first_line}") } else { format!("lines {first_line}-{last_line}") };
    let first_difference = (0..old.len()).find(|index| there.get(*index) != Some(&old[*index]));
    let difference = first_difference.map(|index| (index, there.get(index).copied(), old[index]));
    let differs = if place.moved { "moved" } else { kind(there, old) };
    let said = match differs {
        "moved" => format!(
            "All its lines are in the file, but not one behind the other; the first stands near line {first_line}."
        ),
        "line_ends" => format!(
            "It stands at {span} with other line ends: the file has \\r\\n there where old_string does not, or the other way round."
        ),
        "whitespace" => format!("It stands at {span} with other white space."),
        "case" => format!("It stands at {span} in other letter case."),
        _ => format!("The most similar text is at {span}."),
    };
    let mut message = said;
    if let Some((index, found, wanted)) = difference {
        let line = first_line + index as u64;
        match found {
            Some(found) if differs != "moved" => message.push_str(&format!(
                " First difference, line {line}: the file has \"{}\", old_string has \"{}\".",
                shown(found),
                shown(wanted)
            )),
            Some(_) | None => {}
        }
    }
    message.push_str(" The file has:");
    for (index, line) in there.iter().take(SHOWN_LINES).enumerate() {
        message.push_str(&format!("\n{:>6}\t{}", first_line + index as u64, shown(line)));
    }
    if there.len() > SHOWN_LINES {
        message.push_str(&format!("\n… and {} more lines.", there.len() - SHOWN_LINES));
    }
    Nearest { first_line, last_line, differs, message }
}

/// In what the place differs, as a whole.
fn kind(there: &[&[u8]], old: &[&[u8]]) -> &'static str {
    let all = |same: &dyn Fn(&[u8], &[u8]) -> bool| {
        there.len() == old.len() && there.iter().zip(old).all(|(there, old)| same(there, old))
    };
    let without_cr = |line: &[u8]| line.strip_suffix(b"\r").map_or_else(|| line.to_vec(), <[u8]>::to_vec);
    let without_space =
        |line: &[u8]| line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>();
    if all(&|there, old| without_cr(there) == without_cr(old)) {
        "line_ends"
    } else if all(&|there, old| without_space(there) == without_space(old)) {
        "whitespace"
    } else if all(&|there, old| there.eq_ignore_ascii_case(old)) {
        "case"
    } else {
        "text"
    }
}

/// A line, cut and with its control characters visible.
fn shown(line: &[u8]) -> String {
    let cut = &line[..line.len().min(SHOWN_CHARS * 4)];
    let text = String::from_utf8_lossy(cut);
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    let more = if short.len() < text.len() || cut.len() < line.len() { "…" } else { "" };
    format!("{}{more}", Shown(&short))
}
