//! What a line is behind keys, in pieces and over several calls.

use super::*;
use crate::session::keys::{CursorKeys, bytes_of};

#[test]
fn lines_end_where_a_reader_may_end_them_and_are_known_while_only_characters_were_typed() {
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, bool)]);
    let table: [Case<'_>; 36] = [
        (&["r", "m", " ", "x", "enter"], &[("rm x", true)]),
        (&["enter", "enter"], &[]),
        (&["r", "m", "ctrl-j", "é", "ctrl-m", "e", "enter"], &[("rm", true), ("é", false), ("e", true)]),
        (&["ctrl-c", "ctrl-z", "ctrl-\\", "b", "enter"], &[("b", true)]),
        (&["a", "ctrl-c", "b", "enter", "c", "enter"], &[("ab", false), ("c", true)]),
        (&["a", "ctrl-z", "b", "enter"], &[("ab", false)]),
        (&["a", "ctrl-\\", "b", "enter"], &[("ab", false)]),
        (&["a", "enter", "ctrl-c", "b", "enter"], &[("a", true), ("b", true)]),
        (&["ctrl-u", "backspace", "ctrl-w", "a", "enter"], &[("a", true)]),
        (&["a", "backspace", "enter", "b", "enter"], &[("a", false), ("b", true)]),
        (&["a", "ctrl-u", "b", "enter"], &[("ab", false)]),
        (&["up", "enter"], &[("", false)]),
        (&["s", "tab", "enter"], &[("s", false)]),
        (&["ctrl-r", "r", "m", "enter"], &[("rm", false)]),
        (&["alt-.", "enter"], &[("", false)]),
        (&["ctrl-d", "a", "ctrl-d", "ctrl-d"], &[("a", true), ("a", true)]),
        (&["ctrl-o", "a", "ctrl-o", "enter"], &[("a", false), ("", false)]),
        (&["a", "ctrl-e", "escape", "ctrl-e", "alt-ctrl-e"], &[("a", false), ("a", false)]),
        (&["a", "ctrl-x", "ctrl-e", "enter"], &[("a", true), ("a", false), ("a", false)]),
        (&["escape", ":", "w", "enter"], &[(":w", false)]),
        // Letters to who reads whole lines.
        (&["ctrl-l", "a", "enter", "b", "enter"], &[("a", false), ("b", true)]),
        (&["a", "ctrl-e", "ctrl-e", "enter"], &[("a", false)]),
        (&["ctrl-h", "a", "enter"], &[("a", false)]),
        // They end a line for some, and for others not.
        (&["a", "alt-enter", "b", "enter", "c", "enter"], &[("a", false), ("b", false), ("c", true)]),
        (&["a", "alt-ctrl-j", "b", "enter"], &[("a", false), ("b", false)]),
        (&["a", "alt-ctrl-m"], &[("a", false)]),
        (&["a", "alt-ctrl-o", "b", "enter"], &[("a", false), ("b", false)]),
        (&["a", "escape", "enter", "b", "enter"], &[("a", false), ("b", false)]),
        (&["a", "ctrl-v", "enter", "b", "enter"], &[("a", false), ("b", false)]),
        (&["a", "insert", "enter", "b", "enter"], &[("a", false), ("b", false)]),
        // They run what there is of it.
        (&["a", "alt-ctrl-d", "alt-#", "b"], &[("a", false), ("a", false)]),
        (&["a", "escape", "5", "#"], &[("a5", false)]),
        (&["a", "escape", "k", "v"], &[("ak", false)]),
        (&["a", "alt-a", "alt-b", "b"], &[("a", false)]),
        (&["a", "Å", "é"], &[("aÅ", false)]),
        (&["a", "alt-Å", "left", "#"], &[("a", false), ("a", false)]),
    ];
    for (keys, expected) in table {
        let mut line = Line::default();
        let ended = keys.iter().filter_map(|key| {
            line.begin_call();
            line.press(&bytes_of(key, CursorKeys::Normal).unwrap())
        });
        let ended: Vec<_> = ended.map(|line| (line.text, line.is_known)).collect();
        let expected: Vec<_> = expected.iter().map(|(text, is_known)| ((*text).to_owned(), *is_known)).collect();
        assert_eq!(ended, expected, "{keys:?}");
    }
}

/// A program within a session had another line than the one that was judged.
#[test]
fn behind_an_interrupt_a_line_may_be_what_was_typed_before_it_or_behind_it_or_both() {
    type Case<'a> = (&'a [&'a [&'a str]], &'a [&'a [&'a str]]);
    let table: [Case<'_>; 11] = [
        (&[&["a", "ctrl-c"], &["b", "enter"]], &[&["ab", "b", "a", ""]]),
        (&[&["a"], &["b", "ctrl-z"], &["c", "enter"]], &[&["abc", "c", "ac", "ab", "", "a"]]),
        (
            &[&["a"], &["b", "ctrl-z", "c", "ctrl-z"], &["d", "enter"]],
            &[&["abcd", "cd", "acd", "abd", "d", "ad", "abc", "c", "ac", "ab", "", "a"]],
        ),
        (&[&["a"], &["enter", "ctrl-\\"], &["b", "enter"]], &[&["a"], &["b", "ab", "", "a"]]),
        (&[&["a", "enter", "ctrl-c"], &["b", "enter"]], &[&["a"], &["b", ""]]),
        (
            &[&["a", "ctrl-c", "b", "ctrl-z", "c"], &["d", "enter"]],
            &[&["abcd", "bcd", "acd", "cd", "abd", "bd", "ad", "d"]],
        ),
        (&[&["ctrl-c", "a", "b"], &["c", "enter"]], &[&["abc", "bc", "c"]]),
        (&[&["ctrl-c", "a", "enter"], &["b", "enter"]], &[&["a", ""], &["b"]]),
        (&[&["a", "alt-ctrl-c"], &["b", "enter"]], &[&["ab", "b", "a", ""]]),
        (&[&["a", "é", "b", "ctrl-c"], &["é", "enter"]], &[&["aébé", "é", "aéb", "", "ab"]]),
        (&[&["a", "ctrl-c"], &["ctrl-c"], &["enter"]], &[&["a", ""]]),
    ];
    for (calls, expected) in table {
        let mut line = Line::default();
        let mut ended = Vec::new();
        for keys in calls {
            line.begin_call();
            ended.extend(keys.iter().filter_map(|key| line.press(&bytes_of(key, CursorKeys::Normal).unwrap())));
        }
        assert!(!ended.last().unwrap().is_known, "{calls:?}");
        let ended: Vec<_> = ended.into_iter().map(|line| [vec![line.text], line.others].concat()).collect();
        assert_eq!(ended, expected, "{calls:?}");
    }
    // bash lost the first letter of a line behind a key that ended no line of it.
    let mut line = Line::default();
    line.begin_call();
    line.press(&[0x03]);
    line.begin_call();
    line.press(&[0x0C]);
    let others = ["b", "\u{FFFD}ab", "\u{FFFD}b"].map(str::to_owned).to_vec();
    let cut = EndedLine { text: "ab".to_owned(), others, is_known: false };
    let whole = EndedLine { text: "c".to_owned(), others: Vec::new(), is_known: true };
    assert_eq!(line.write("ab\nc\n"), [cut, whole]);
    let mut line = Line::default();
    line.begin_call();
    for _ in 0..100 {
        line.write("ab");
        line.press(&[0x03]);
    }
    assert_eq!(line.clone().press(b"\r").unwrap().others.len(), OTHERS);
    line.begin_call();
    line.write(&"a".repeat(OTHER_BYTES + 1));
    let ended = line.press(b"\r").unwrap();
    assert_eq!((ended.others.len(), ended.is_known), (0, false));
}

/// `echo a `, Ctrl-L and `#; rm x` were judged as a comment behind a blank; a shell without a line editor ran `rm x`.
#[test]
fn keys_are_letters_to_who_reads_whole_lines() {
    type Case<'a> = (&'a [&'a str], &'a [&'a str]);
    let table: [Case<'_>; 10] = [
        (&["a", " ", "ctrl-l", "#", "b", "enter"], &["a #b", "a \u{FFFD}#b"]),
        (&["a", "ctrl-e", "#", "enter"], &["a#", "a\u{FFFD}#"]),
        (&["a", "tab", "b", "enter"], &["ab", "a\tb"]),
        (&["a", "alt-;", "b", "enter"], &["ab", "a\u{FFFD};b"]),
        (&["a", "alt-`", "b", "alt-`", "enter"], &["ab", "a\u{FFFD}`b\u{FFFD}`"]),
        (&["#", "b", "escape", "#"], &["#b", "#b\u{FFFD}", "b"]),
        (&["a", "ctrl-u", "ctrl-w", "backspace", "b", "enter"], &["ab"]),
        (&["up", "ctrl-left", "enter"], &[""]),
        (&["a", "ctrl-o", "b", "ctrl-l", "c", "enter"], &["bc", "abc", "b\u{FFFD}c", "a\u{FFFD}b\u{FFFD}c"]),
        (&["#", "ctrl-l", "ctrl-c", "a", "enter"], &["#a", "a", "#", "", "#\u{FFFD}a", "#\u{FFFD}"]),
    ];
    for (keys, expected) in table {
        let mut line = Line::default();
        let last = keys.iter().filter_map(|key| line.press(&bytes_of(key, CursorKeys::Normal).unwrap())).last();
        let ended = last.unwrap();
        assert!(!ended.is_known, "{keys:?}");
        assert_eq!([vec![ended.text], ended.others].concat(), expected, "{keys:?}");
    }
    // A long text is told once, whatever its letters may run.
    let mut line = Line::default();
    assert_eq!(line.write(&"Å#v".repeat(1_000)).len(), 1);
    assert_eq!(line.write("\n").len(), 1);
}

#[test]
fn text_goes_on_with_what_was_typed_before() {
    let known = |text: &str| EndedLine { text: text.to_owned(), others: Vec::new(), is_known: true };
    let mut line = Line::default();
    assert_eq!(line.write("r"), []);
    assert_eq!(line.write("m x\nsecond\rthi"), [known("rm x"), known("second")]);
    assert_eq!(line.write("rd\n\n"), [known("third")]);
    assert!(line.is_empty());
    assert_eq!(line.write(&"x".repeat(LINE_BYTES + 1)), []);
    let ended = line.write("\n");
    assert_eq!((ended[0].text.len(), ended[0].is_known), (LINE_BYTES, false));
}

/// What a line may be besides was dropped where it was too much, and the line was judged as if that were all.
#[test]
fn where_it_may_be_more_than_is_remembered_nobody_knows_what_it_is() {
    // Ctrl-D ends a line in the modes of vi, and begins another one here: `rm x` hides behind the last `#`.
    let mut line = Line::default();
    for _ in 0..=OTHERS {
        line.press(b"#");
        line.press(&[0x04]);
    }
    assert_eq!(line.write("rm x\r").last().map(|line| line.is_known), Some(false));
    let mut line = Line::default();
    line.write("#");
    line.press(&[0x04]);
    line.write(&" ".repeat(OTHER_BYTES + 1));
    assert_eq!(line.write("rm x\r").last().map(|line| line.is_known), Some(false));
    // Nor where a letter may have been lost behind an interrupt.
    let mut line = Line::default();
    line.begin_call();
    line.press(&[0x03]);
    line.begin_call();
    line.write("#rm x");
    line.write(&" ".repeat(OTHER_BYTES));
    assert_eq!(line.write("\r").last().map(|line| line.is_known), Some(false));
}

/// `cat \\` and then `private/key` were two harmless lines to whoever judged them, and one to the shell that read them.
#[test]
fn a_line_behind_one_that_ends_with_a_backslash_is_judged_as_its_end_too() {
    let others = |before: &str, typed: &str| {
        let mut line = Line::default();
        line.write(before);
        line.begin_call();
        line.write(typed).into_iter().map(|ended| (ended.text, ended.others)).collect::<Vec<_>>()
    };
    let told = |text: &str, others: &[&str]| {
        (text.to_owned(), others.iter().map(|&other| other.to_owned()).collect::<Vec<_>>())
    };
    for (before, typed, expected) in [
        ("cat \\\r", "private/key\r", vec![told("private/key", &["cat private/key"])]),
        ("touch P\\\r", "W\\\rNED\r", vec![told("W\\", &["touch PW\\"]), told("NED", &["WNED", "touch PWNED"])]),
        // A backslash itself, and none.
        ("echo \\\\\r", "private/key\r", vec![told("private/key", &[])]),
        ("echo \\\\\\\r", "x\r", vec![told("x", &["echo \\\\x"])]),
        // Nothing ends it as well.
        ("cat .env\\\r", "\r", vec![told("", &["cat .env"])]),
        ("cat\r", "private/key\r", vec![told("private/key", &[])]),
    ] {
        assert_eq!(others(before, typed), expected, "{before:?} {typed:?}");
    }
}
