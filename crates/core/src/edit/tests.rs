use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn options<'a>(deadline: &'a Deadline) -> EditOptions<'a> {
    EditOptions { path: "/f", max_bytes: 1 << 20, deadline }
}

fn edit(bytes: impl AsRef<[u8]>, edits: &[Edit]) -> Result<Applied> {
    apply(bytes.as_ref(), edits, &options(&Deadline::default()))
}

fn replace(old: &str, new: &str) -> Edit {
    Edit::StrReplace(StrReplace { old_string: old.into(), new_string: new.into(), replace_all: false })
}

fn replace_all(old: &str, new: &str) -> Edit {
    Edit::StrReplace(StrReplace { old_string: old.into(), new_string: new.into(), replace_all: true })
}

fn reason(error: &Error) -> &str {
    error.details().and_then(|details| details["reason"].as_str()).unwrap_or_default()
}

#[test]
fn replaces_exactly_one_occurrence() {
    let applied = edit("a\nb\nc\n", &[replace("b", "B")]).unwrap();
    let expected = Applied {
        bytes: b"a\nB\nc\n".to_vec(),
        replacements: 1,
        summary: "replaced 1 occurrence(s)".into(),
        first_changed_line: 2,
        diff: "--- /f\n+++ /f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n".into(),
        changes: vec![Change { old: 2..3, new: 2..3 }],
        lines: vec![ChangedLines { old_first: 1, removed: 1, new_first: 1, new: 2..4 }],
        reopens: true,
    };
    assert_eq!(applied, expected);
}

/// R-ED-1.
#[test]
fn keeps_what_it_does_not_touch() {
    let table: [(&[u8], &str, &str, &[u8]); 8] = [
        // D3, D35, D78, D93: a CRLF file stays one, also where the model writes line feeds.
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        // Mixed line ends and a lone CR are left alone; the new text is literal.
        (b"a\r\nb\nc\rd", "b\n", "B\n", b"a\r\nB\nc\rd"),
        (b"\xEF\xBB\xBFa\n", "a", "b", b"\xEF\xBB\xBFb\n"),
        // Bytes that are not UTF-8 (BE-27: never rewritten lossily).
        (b"caf\xE9\nx\n", "x", "y", b"caf\xE9\ny\n"),
        // No final line end, and a decomposed letter.
        ("e\u{301}\nend".as_bytes(), "end", "END", "e\u{301}\nEND".as_bytes()),
        // Nothing in the new text is special.
        (b"x", "x", "$1 \\1 & $&", b"$1 \\1 & $&"),
    ];
    for (before, old, new, after) in table {
        assert_eq!(edit(before, &[replace(old, new)]).unwrap().bytes, after, "{old:?}");
    }
}

#[test]
fn utf16_files_keep_their_encoding() {
    let utf16 = |text: &str| {
        [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect::<Vec<u8>>()
    };
    let applied = edit(utf16("ä\r\n😀\r\n"), &[replace("ä\n", "ö\nü\n")]).unwrap();
    assert_eq!(applied.bytes, utf16("ö\r\nü\r\n😀\r\n"));
}

#[test]
fn refuses_what_makes_no_sense() {
    let table: [(&str, Edit, &str); 6] = [
        ("a", replace("a", "a"), "identical"), // D28
        ("a\r\n", replace("a\r\n", "a\n"), "identical"),
        ("a", replace("", "b"), "empty_old_string"),     // D96
        ("a", replace_all("", "b"), "empty_old_string"), // D81, D96
        ("a b a", replace("a", "x"), "ambiguous"),
        ("aaa", replace("aa", "x"), "ambiguous"),
    ];
    for (text, change, expected) in table {
        let error = edit(text, std::slice::from_ref(&change)).unwrap_err();
        assert_eq!((error.kind(), reason(&error)), (ErrorKind::EditFailed, expected), "{change:?}");
    }
}

#[test]
fn an_empty_file_takes_its_first_text_by_an_empty_old_string() {
    assert_eq!(edit("", &[replace("", "a\n")]).unwrap().bytes, b"a\n");
}

#[test]
fn replaces_all_from_left_to_right() {
    let applied = edit("aaa\naa\n", &[replace_all("aa", "b")]).unwrap();
    assert_eq!((applied.bytes.as_slice(), applied.replacements), (&b"ba\nb\n"[..], 2));
}

#[test]
fn several_occurrences_are_listed_with_their_lines() {
    let error = edit("x\ny\nx\nx x\n", &[replace("x", "z")]).unwrap_err();
    assert_eq!(
        error.message(),
        "old_string occurs 4 times in '/f' (lines 1, 3, 4, 4). Add surrounding lines until it is unique, or set \
         replace_all to change them all."
    );
    assert_eq!(error.details().unwrap()["lines"], json!([1, 3, 4, 4]));
}

#[test]
fn occurrences_that_overlap_are_ambiguous() {
    for (text, old, times) in [("aaa\n", "aa", 2), ("x aaaa\n", "aa", 3), ("abababa", "aba", 3)] {
        let error = edit(text, &[replace(old, "z")]).unwrap_err();
        assert_eq!(
            (reason(&error), error.details().unwrap()["occurrences"].as_u64()),
            ("ambiguous", Some(times)),
            "{text}"
        );
    }
}

#[test]
fn a_miss_shows_the_nearest_text_and_what_differs() {
    let table = [
        ("def f():\n\treturn 1\n", "def f():\n    return 1\n", "whitespace", [1, 2]),
        ("def f():\n    Return 1\n", "def f():\n    return 1\n", "case", [1, 2]),
        ("a = 1\r\nb = 2\r\nc = 3\n", "a = 1\nb = 2", "line_ends", [1, 2]),
        ("one = 1\ntwo = 2\nthree = 3\nfour = 4\n", "one = 1\ntwo = 2\nthree = 5\n", "text", [1, 3]),
        ("x\nlet total = compute(a, b);\n", "let total = compute(a, c);", "text", [2, 2]),
        ("first\nmiddle\nother\nsecond\nlast\n", "second\nfirst\n", "moved", [0, 0]),
    ];
    for (text, old, differs, lines) in table {
        let error = edit(text, &[replace(old, "")]).unwrap_err();
        let details = error.details().unwrap();
        assert_eq!((reason(&error), details["differs"].as_str()), ("not_found", Some(differs)), "{error}");
        if differs != "moved" {
            let expected: Vec<u64> = (lines[0]..=lines[1]).collect();
            assert_eq!(details["lines"], json!(expected), "{error}");
        }
    }
}

#[test]
fn a_miss_says_what_stands_there() {
    let error = edit("def f():\n\treturn 1\n", &[replace("    return 1", "return 2")]).unwrap_err();
    assert_eq!(
        error.message(),
        "old_string was not found in '/f': \"    return 1\". It stands at line 2 with other white space. First \
         difference, line 2: the file has \"\\treturn 1\", old_string has \"    return 1\". The file has:\n     \
         2\t\\treturn 1"
    );
    let error = edit("a\n", &[replace("something else entirely", "x")]).unwrap_err();
    assert_eq!(
        error.message(),
        "old_string was not found in '/f': \"something else entirely\". Nothing like it is there; read the file again."
    );
}

/// R-ED-4.
#[test]
fn the_quote_of_a_miss_is_bounded() {
    let error = edit("a\n", &[replace(&"long ".repeat(100_000), "x")]).unwrap_err();
    assert!(error.message().len() < 500, "{}", error.message().len());
}

/// R-ED-4.
#[test]
fn the_result_is_measured_before_it_is_made() {
    let deadline = Deadline::default();
    let options = EditOptions { path: "/f", max_bytes: 10, deadline: &deadline };
    let error = apply(b"aaaa", &[replace_all("a", &"b".repeat(1 << 20))], &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert_eq!(error.details().unwrap(), &json!({ "bytes": 4 << 20, "maxBytes": 10 }));
}

#[test]
fn a_binary_file_is_not_edited() {
    assert_eq!(edit(b"a\0b", &[replace("a", "b")]).unwrap_err().kind(), ErrorKind::BinaryFile);
}

#[test]
fn several_replacements_run_in_order_and_all_or_none() {
    let applied =
        edit("one two three\n", &[replace("one", "two_"), replace("two_ two", "x"), replace_all("e", "E")]).unwrap();
    assert_eq!((applied.bytes.as_slice(), applied.replacements), (&b"x thrEE\n"[..], 4));

    // D80: failures carry the number of their edit, and each is told.
    let error = edit("a\nb\n", &[replace("a", "A"), replace("missing", "x"), replace("b", "b")]).unwrap_err();
    assert_eq!(
        error.message(),
        "2 of 3 edits of '/f' failed, so none was made.\nEdit 2 of 3: old_string was not found in '/f': \"missing\". \
         Nothing like it is there; read the file again.\nEdit 3 of 3: old_string and new_string are the same: there is \
         nothing to change."
    );
    let edits: Vec<&Value> =
        error.details().unwrap()["failures"].as_array().unwrap().iter().map(|one| &one["edit"]).collect();
    assert_eq!(edits, [&json!(2), &json!(3)]);
}

#[test]
fn a_call_takes_edits_of_one_kind() {
    let line = Edit::Hashline(Hashline {
        start_line: 1,
        start_hash: "0c".into(),
        new_content: "b".into(),
        end_line: None,
        end_hash: None,
        insert_after: false,
    });
    assert_eq!(reason(&edit("a", &[replace("a", "b"), line.clone()]).unwrap_err()), "mixed_kinds");
    assert_eq!(reason(&edit("a", &[line, replace("a", "b")]).unwrap_err()), "mixed_kinds");
    assert_eq!(edit("a", &[]).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(edit("a", &vec![replace("a", "b"); MAX_EDITS + 1]).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn edits_are_read_from_json_by_their_fields() {
    let table = [
        (json!({ "oldString": "a", "newString": "b" }), Some(replace("a", "b"))),
        (json!({ "old_string": "a", "new_string": "b", "replace_all": true }), Some(replace_all("a", "b"))),
        (
            json!({ "startLine": 2, "startHash": "0c", "newContent": "x", "endLine": 3, "endHash": "92" }),
            Some(Edit::Hashline(Hashline {
                start_line: 2,
                start_hash: "0c".into(),
                new_content: "x".into(),
                end_line: Some(3),
                end_hash: Some("92".into()),
                insert_after: false,
            })),
        ),
        (json!({ "oldString": "a" }), None),
        (json!({ "oldString": "a", "newString": "b", "startLine": 1 }), None),
        (json!({ "oldString": "a", "newString": "b", "all": true }), None),
        (json!({ "startLine": 2, "newContent": "x" }), None),
        (json!({ "oldString": 1, "newString": "b" }), None),
    ];
    for (value, expected) in table {
        let read: Option<Edit> = serde_json::from_value(value.clone()).ok();
        assert_eq!(read, expected, "{value}");
        if let Some(edit) = read {
            assert_eq!(serde_json::from_value::<Edit>(serde_json::to_value(&edit).unwrap()).unwrap(), edit);
        }
    }
}

proptest! {
    #[test]
    fn any_edit_changes_exactly_the_matched_bytes(
        before in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(0xE9), Just(b'a'), Just(0xC3)], 0..30),
        old in "[xyz]{1,6}\n?",
        new in "[a-z\r]{0,6}",
        after in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(0xE9), Just(b'a'), Just(0xC3)], 0..30),
    ) {
        let text = [&before, old.as_bytes(), &after].concat();
        prop_assume!(!lines::all_crlf(&text));
        let expected = [&before, new.as_bytes(), &after].concat();
        match edit(&text, &[replace(&old, &new)]) {
            Ok(applied) => prop_assert_eq!(applied.bytes, expected),
            Err(error) => prop_assert!(reason(&error) == "identical" || error.kind() == ErrorKind::BinaryFile, "{}", error),
        }
    }

    #[test]
    fn a_replacement_can_be_undone(text in "[abc\r\n]{0,40}", at in 0_usize..40, length in 1_usize..6) {
        let end = (at + length).min(text.len());
        // Where every line end is CRLF a lone line feed means CRLF: that way back is another test's.
        prop_assume!(at < end && !lines::all_crlf(text.as_bytes()));
        let old = &text[at..end];
        if let Ok(applied) = edit(&text, &[replace(old, "UNIQUE")]) {
            prop_assume!(!lines::all_crlf(&applied.bytes));
            let back = edit(&applied.bytes, &[replace("UNIQUE", old)]).unwrap();
            prop_assert_eq!(back.bytes, text.as_bytes());
        }
    }

    #[test]
    fn an_edit_in_place_is_the_same_edit(
        text in "\u{FEFF}?([a-c]{0,3}\r?\n){0,12}[ab]{0,2}",
        old in "[a-c]{0,2}\n?[a-c]{0,2}",
        new in "[a-c]{0,2}\n?[xy]{0,3}",
        all in any::<bool>(),
    ) {
        let edits = [if all { replace_all(&old, &new) } else { replace(&old, &new) }];
        let deadline = Deadline::default();
        let expected = edit(&text, &edits);
        match (apply_owned(text.into_bytes(), &edits, &options(&deadline)), expected) {
            (Ok(found), Ok(expected)) => prop_assert_eq!(found, expected),
            (Err(found), Err(expected)) => prop_assert_eq!(found.message(), expected.message()),
            (found, expected) => prop_assert!(false, "{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn a_miss_never_panics_and_stays_short(text in "[ab \t\r\n]{0,60}", old in "[ab \t\r\n]{1,20}") {
        if let Err(error) = edit(&text, &[replace(&old, "NEW")]) {
            prop_assert!(error.message().len() < 4000);
        }
    }
}
