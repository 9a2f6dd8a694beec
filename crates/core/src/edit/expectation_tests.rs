use proptest::prelude::*;

use super::*;
use crate::cancel::Deadline;
use crate::edit::{EditOptions, Hashline, StrReplace, apply, apply_owned};
use crate::text::hashline::LineTag;

fn replace(old: &str, new: &str) -> Edit {
    Edit::StrReplace(StrReplace { old_string: old.into(), new_string: new.into(), replace_all: true })
}

fn line(text: &str, number: usize, content: &str) -> Edit {
    let tag = LineTag::of(text.split('\n').nth(number - 1).unwrap().as_bytes());
    Edit::Hashline(Hashline {
        start_line: number as i64,
        start_hash: tag.as_str().into(),
        new_content: content.into(),
        end_line: None,
        end_hash: None,
        insert_after: false,
    })
}

fn behind(text: &str, number: usize, content: &str) -> Edit {
    match line(text, number, content) {
        Edit::Hashline(edit) => Edit::Hashline(Hashline { insert_after: true, ..edit }),
        Edit::StrReplace(_) => unreachable!(),
    }
}

fn applied(now: &str, edit: &Edit) -> Applied {
    let deadline = Deadline::default();
    let options = EditOptions { path: "/f", max_bytes: 1 << 20, deadline: &deadline };
    apply(now.as_bytes(), std::slice::from_ref(edit), &options).unwrap()
}

/// Whether an edit of `now` stands when `record` is of an earlier version.
fn stands(record: &ReadRecord, now: &str, edit: &Edit) -> bool {
    match record.check(now.as_bytes(), std::slice::from_ref(edit), &applied(now, edit), "/f") {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::StaleFile);
            false
        }
    }
}

fn whole(text: &str) -> ReadRecord {
    let mut record = ReadRecord::new();
    record.shown(0, &Lines::of(text), false);
    record
}

const READ: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

#[test]
fn a_replacement_stands_where_its_lines_are_as_they_were_read() {
    let table = [
        // Changed elsewhere: before, behind, in a neighbouring line.
        ("zero\none\ntwo\nthree\nfour\nfive\nsix\n", "three", true),
        ("one\ntwo\nthree\nfour\nfive\nSIX\nseven\n", "three", true),
        ("one\nTWO\nthree\nFOUR\nfive\nsix\n", "three", true),
        // Changed in the very line: before or behind the text that is replaced.
        ("one\ntwo\nthree!\nfour\nfive\nsix\n", "three", false),
        // New since: nobody who read the file has seen it.
        ("one\ntwo\nthree\nnew\nfour\nfive\nsix\n", "new", false),
        // Two lines that stood apart.
        ("one\nthree\nfour\n", "one\nthree", false),
        ("one\ntwo\nfour\nfive\n", "four\nfive", true),
    ];
    for (now, old, expected) in table {
        assert_eq!(stands(&whole(READ), now, &replace(old, "x")), expected, "{now:?} {old:?}");
    }
}

#[test]
fn lines_that_were_never_shown_are_not_guarded() {
    let mut record = ReadRecord::new();
    record.shown(0, &Lines::of("one\ntwo\nthree\n"), true);
    let table = [
        ("one\ntwo\nthree\nfour\nx1\nx2\nfive\n", "x2", true),
        ("one\nTWO\nthree\nfour\nfive\n", "TWO", false),
        ("one\ntwo\nthree\nfour\nfive\n", "three\nfour", true),
        ("one\ntwo\nTHREE\nfour\nfive\n", "THREE\nfour", false),
    ];
    for (now, old, expected) in table {
        assert_eq!(stands(&record, now, &replace(old, "x")), expected, "{now:?} {old:?}");
    }
    assert!(stands(&ReadRecord::new(), "a\n", &replace("a", "b")));
}

#[test]
fn a_line_that_was_shown_only_in_part_is_not_known() {
    let mut record = ReadRecord::new();
    record.shown(0, &Lines::of("begin"), true);
    assert!(stands(&record, "begin and end\n", &replace("and", "x")));
}

#[test]
fn a_tagged_line_must_stand_where_it_was_read() {
    let braces = "a {\n}\nb {\n}\nc {\n}\n";
    let table = [
        (READ, "one\ntwo\nthree\nfour\nfive\nSIX\n", 3, true),
        (READ, "ONE\ntwo\nthree\nfour\nfive\nsix\n", 3, true),
        (READ, "ONE\ntwo\nthree\nfour\nFIVE\nsix\n", 3, false),
        (READ, "one\ntwo\nTHREE\nfour\nfive\nsix\n", 3, false),
        // R-ED-2: two lines more above, and the tag of line 4 is right still, but for another brace.
        (braces, "x {\n}\na {\n}\nb {\n}\nc {\n}\n", 4, false),
        (braces, "a {\n}\nb {\n}\nc {\n}\nx {\n}\n", 4, true),
    ];
    for (read, now, number, expected) in table {
        assert_eq!(stands(&whole(read), now, &line(now, number, "x")), expected, "{now:?} {number}");
    }
}

#[test]
fn an_insertion_is_about_the_lines_on_both_sides() {
    assert!(stands(&whole(READ), "one\ntwo\nthree\nfour\nfive\nSIX\n", &behind(READ, 2, "x")));
    assert!(!stands(&whole(READ), "one\ntwo\nTHREE\nfour\nfive\nsix\n", &behind(READ, 2, "x")));
}

#[test]
fn a_refusal_shows_the_lines_as_they_are_now() {
    let now = "one\ntwo\nthree!\nfour\n";
    let edit = replace("three", "x");
    let error = whole(READ).check(now.as_bytes(), std::slice::from_ref(&edit), &applied(now, &edit), "/f").unwrap_err();
    assert_eq!(
        error.message(),
        "'/f' changed since it was read, also where this edit touches it. Read it again and decide anew. Now line 3:\n     \
         3\tthree!"
    );
    assert_eq!(error.details().unwrap(), &json!({ "reason": "stale", "lines": [3] }));
}

#[test]
fn windows_that_touch_become_one() {
    let mut record = ReadRecord::new();
    record.shown(3, &Lines::of("four\nfive\nsix\n"), false);
    record.shown(0, &Lines::of("one\ntwo\nthree\n"), true);
    record.shown(1, &Lines::of("two\nthree\nfour\n"), true);
    let expected = whole(READ);
    assert_eq!(record.segments.len(), 1);
    assert_eq!((record.segments[0].first, record.segments[0].hashes.len()), (0, expected.segments[0].hashes.len()));
    assert!(stands(&record, "zero\none\ntwo\nthree\nfour\n", &replace("two\nthree", "x")));
}

#[test]
fn memory_is_bounded() {
    let mut record = ReadRecord::new();
    for offset in 0..50 {
        record.shown(offset * 1000, &Lines::of(&"x\n".repeat(1000)), true);
    }
    assert_eq!(record.segments.iter().map(|segment| segment.hashes.len()).sum::<usize>(), MAX_LINES);
    let large = ReadRecord::of_whole("x\n".repeat(MAX_LINES * 2).as_bytes(), "/f");
    assert!(!large.whole && large.segments[0].hashes.len() == MAX_LINES);
}

#[test]
fn nothing_is_known_of_a_text_that_an_edit_made_another() {
    let utf16 =
        |units: &[u16]| [0xFEFF].iter().chain(units).flat_map(|unit: &u16| unit.to_be_bytes()).collect::<Vec<_>>();
    let (a, end) = (u16::from(b'a'), u16::from(b'\n'));
    let table: [(&str, Vec<u8>, Vec<u8>, bool); 6] = [
        // Bytes that are not UTF-8 came first, and look like the mark of UTF-16; of even and of odd length.
        ("x", b"x\xFF\xFE\xFF\xFFa\nb\n".to_vec(), b"\xFF\xFE\xFF\xFFa\nb\n".to_vec(), false),
        ("x", b"x\xFE\xFFab\n".to_vec(), b"\xFE\xFFab\n".to_vec(), false),
        ("x\n", b"x\n\xFF\xFEabcdef\n".to_vec(), b"\xFF\xFEabcdef\n".to_vec(), false),
        // The halves of a surrogate pair came together.
        ("a", utf16(&[0xD83D, a, 0xDE00, end]), utf16(&[0xD83D, 0xDE00, end]), false),
        // What only looks alike is the same text.
        ("x", b"x\xEF\xBB\xBFa\n".to_vec(), b"\xEF\xBB\xBFa\n".to_vec(), true),
        ("a", utf16(&[0xDE00, a, 0xD83D, end]), utf16(&[0xDE00, 0xD83D, end]), true),
    ];
    let deadline = Deadline::default();
    let options = EditOptions { path: "/f", max_bytes: 1 << 20, deadline: &deadline };
    for (old, before, after, known) in table {
        for edits in [&[replace(old, "")][..], &[replace(old, "yy"), replace("yy", "")]] {
            let applied = apply(&before, edits, &options).unwrap();
            assert_eq!((applied.bytes.as_slice(), applied.reopens), (after.as_slice(), known), "{before:?}");
            let mut record = ReadRecord::of_whole(&before, "/f");
            record.edited(&applied, "/f");
            let lines = if known { lines::ranges(&after).count().min(1) } else { 0 };
            assert_eq!(record.segments.len(), lines, "{before:?}");
        }
        let once = StrReplace { old_string: old.into(), new_string: String::new(), replace_all: false };
        let owned = apply_owned(before.clone(), &[Edit::StrReplace(once)], &options).unwrap();
        assert_eq!((owned.bytes, owned.reopens), (after, known), "{before:?}");
    }
}

proptest! {
    #[test]
    fn after_an_edit_of_ours_the_record_is_that_of_the_new_text(
        text in "([ab]{0,2}\n){0,12}[ab]{0,2}",
        old in "[ab\n]{1,4}",
        new in "[xy\n]{0,4}",
    ) {
        let edit = replace(&old, &new);
        let deadline = Deadline::default();
        let options = EditOptions { path: "/f", max_bytes: 1 << 20, deadline: &deadline };
        if let Ok(applied) = apply(text.as_bytes(), &[edit], &options) {
            let mut record = ReadRecord::of_whole(text.as_bytes(), "/f");
            record.edited(&applied, "/f");
            let expected = lines::ranges(&applied.bytes).map(|line| record.hash(&applied.bytes[line])).collect::<Vec<_>>();
            let found: Vec<u64> = record.segments.iter().flat_map(|segment| segment.hashes.clone()).collect();
            prop_assert_eq!(found, expected);
            prop_assert!(record.segments.len() <= 1 && record.segments.first().is_none_or(|segment| segment.first == 0));
        }
    }

    #[test]
    fn a_change_elsewhere_never_refuses(
        before in "([a-c]{1,3}\n){0,6}",
        after in "([a-c]{1,3}\n){0,6}",
        other in "([d-f]{1,3}\n){0,6}",
        first in any::<bool>(),
    ) {
        let read = format!("{before}target line\n{after}");
        let now = if first { format!("{other}target line\n{after}") } else { format!("{before}target line\n{other}") };
        prop_assert!(stands(&whole(&read), &now, &replace("target", "x")));
    }
}
