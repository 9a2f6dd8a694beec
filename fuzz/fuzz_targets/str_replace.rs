//! Text replacements, one and several, on any bytes: what an edit does not name stays what it is (R-ED-1).
#![no_main]

use arbitrary::Arbitrary;
use gloveport_core::cancel::Deadline;
use gloveport_core::edit::expectation::ReadRecord;
use gloveport_core::edit::{Applied, Change, Edit, EditOptions, StrReplace, apply, apply_owned};
use gloveport_core::text::encoding::Document;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input {
    content: Vec<u8>,
    edits: Vec<One>,
}

#[derive(Debug, Arbitrary)]
struct One {
    /// Where the old text is taken from, so that it is often found; else it is `other`.
    taken: Option<(u8, u8)>,
    other: String,
    new: String,
    all: bool,
}

fuzz_target!(|input: Input| {
    let edits: Vec<Edit> = input.edits.iter().take(8).map(|one| edit(one, &input.content)).collect();
    let deadline = Deadline::default();
    let options = EditOptions { path: "/f", max_bytes: 1 << 20, deadline: &deadline };
    let applied = apply(&input.content, &edits, &options);
    let owned = apply_owned(input.content.clone(), &edits, &options);
    match (applied, owned) {
        (Ok(applied), Ok(owned)) => {
            // How fine a diff is depends on the time that it took.
            let undiffed = |applied: &Applied| Applied { diff: String::new(), ..applied.clone() };
            assert_eq!(undiffed(&applied), undiffed(&owned), "the two ways to apply an edit differ");
            check(&input.content, &edits, &applied);
        }
        (Err(one), Err(other)) => {
            assert_eq!(one.kind(), other.kind());
            assert_ne!(one.kind().code(), "INTERNAL");
        }
        (applied, owned) => panic!("one way works and the other does not: {applied:?} {owned:?}"),
    }
});

fn edit(one: &One, content: &[u8]) -> Edit {
    let old = one.taken.map(|(start, length)| {
        let start = usize::from(start).min(content.len());
        let end = (start + usize::from(length)).min(content.len());
        String::from_utf8_lossy(&content[start..end]).into_owned()
    });
    Edit::StrReplace(StrReplace {
        old_string: old.unwrap_or_else(|| one.other.clone()),
        new_string: one.new.clone(),
        replace_all: one.all,
    })
}

fn check(content: &[u8], edits: &[Edit], applied: &Applied) {
    let before = Document::open(content, "/f").expect("edited, so it is text");
    let after = Document::open(&applied.bytes, "/f");
    // An edit may turn text into what looks like something else; then there is nothing to compare as text.
    if let Ok(after) = after
        && applied.reopens
    {
        assert_eq!(replay(&before.text, &after.text, &applied.changes), after.text.as_ref());
    }
    let mut record = ReadRecord::of_whole(content, "/f");
    record.check(content, edits, applied, "/f").expect("what is as it was read is not stale");
    record.edited(applied, "/f");
    // All of it that could be found must have been replaced once, without replace_all.
    if let ([Edit::StrReplace(only)], false) = (edits, before.encoding.is_utf16()) {
        assert!(only.replace_all || applied.replacements == 1);
    }
}

/// The text after, made of the text before and the changes: nothing else may differ.
fn replay(before: &[u8], after: &[u8], changes: &[Change]) -> Vec<u8> {
    let (mut text, mut kept) = (Vec::new(), 0);
    for change in changes {
        text.extend_from_slice(&before[kept..change.old.start]);
        text.extend_from_slice(&after[change.new.clone()]);
        kept = change.old.end;
    }
    text.extend_from_slice(&before[kept..]);
    text
}
