//! Edits of tagged lines on any bytes: lines that no edit names stay what they are.
#![no_main]

use arbitrary::Arbitrary;
use gloveport_core::cancel::Deadline;
use gloveport_core::edit::expectation::ReadRecord;
use gloveport_core::edit::{Edit, EditOptions, Hashline, apply};
use gloveport_core::text::encoding::Document;
use gloveport_core::text::hashline::LineTag;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    content: Vec<u8>,
    edits: Vec<One>,
}

#[derive(Debug, Arbitrary)]
struct One {
    start: i16,
    length: Option<u8>,
    new: String,
    after: bool,
    /// Instead of the right tags.
    wrong: Option<(String, String)>,
}

fuzz_target!(|input: Input| {
    let Ok(before) = Document::open(&input.content, "/f") else { return };
    let lines: Vec<&[u8]> = before.text[before.first_line_start()..].split_inclusive(|byte| *byte == b'\n').collect();
    let edits: Vec<Edit> = input.edits.iter().take(8).map(|one| edit(one, &lines)).collect();
    let deadline = Deadline::default();
    let options = EditOptions { path: "/f", max_bytes: 1 << 20, deadline: &deadline };
    match apply(&input.content, &edits, &options) {
        Ok(applied) => {
            let mut record = ReadRecord::of_whole(&input.content, "/f");
            record.check(&input.content, &edits, &applied, "/f").expect("what is as it was read is not stale");
            record.edited(&applied, "/f");
            // An edit may turn text into what looks like something else; then there is nothing to compare as text.
            if let [Edit::Hashline(only)] = edits.as_slice()
                && applied.reopens
            {
                keeps_the_others(&applied.bytes, &before, &lines, only);
            }
        }
        Err(error) => assert_ne!(error.kind().code(), "INTERNAL"),
    }
});

fn edit(one: &One, lines: &[&[u8]]) -> Edit {
    let tag = |line: i64| {
        let line = usize::try_from(line - 1).ok().and_then(|line| lines.get(line)).copied().unwrap_or_default();
        LineTag::of(line.strip_suffix(b"\n").unwrap_or(line)).to_string()
    };
    let start = i64::from(one.start);
    let end = one.length.map(|length| start + i64::from(length));
    let (start_hash, end_hash) = match &one.wrong {
        Some((start, end)) => (start.clone(), Some(end.clone())),
        None => (tag(start), end.map(tag)),
    };
    Edit::Hashline(Hashline {
        start_line: start,
        start_hash,
        new_content: one.new.clone(),
        end_line: end,
        end_hash: end.and(end_hash),
        insert_after: one.after,
    })
}

/// Lines in front of the edit are the same, and so are those behind it, seen from the end.
fn keeps_the_others(bytes: &[u8], before: &Document<'_>, lines: &[&[u8]], edit: &Hashline) {
    let Ok(after) = Document::open(bytes, "/f") else { return };
    if after.encoding.bom() != before.encoding.bom() {
        return;
    }
    let start = usize::try_from(edit.start_line).unwrap_or(0);
    let end =
        if edit.insert_after { start } else { usize::try_from(edit.end_line.unwrap_or(edit.start_line)).unwrap_or(0) };
    let kept = if edit.insert_after { start } else { start.saturating_sub(1) };
    // The last line in front may get or lose its line end, when it becomes or was the last of the file.
    let front = lines[..kept.min(lines.len())].concat();
    let front = front.strip_suffix(b"\n").unwrap_or(&front);
    let front = front.strip_suffix(b"\r").unwrap_or(front);
    let text = &after.text[after.first_line_start()..];
    assert!(text.starts_with(front), "the lines in front changed");
    let behind = lines[end.min(lines.len())..].concat();
    assert!(text.ends_with(&behind), "the lines behind changed");
}
