use proptest::prelude::*;

use super::*;

fn of_changes(old: &str, new: &str, changes: &[Change]) -> String {
    let first = changes.first().map_or(0, |change| change.old.start);
    super::of_changes(old.as_bytes(), new.as_bytes(), changes, lines::number_at(old.as_bytes(), first), "/f").text
}

#[test]
fn shows_changes_with_three_lines_around() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n";
    let table = [
        (old.to_owned(), ""),
        (old.replace("9\n", "nine\n"), "@@ -6,7 +6,7 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n"),
        (old.replacen("1\n", "0\n1\n", 1), "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n"),
        (old.replace("17\n", ""), "@@ -14,4 +14,3 @@\n 14\n 15\n 16\n-17\n"),
        (old.replace("17\n", "17"), "@@ -14,4 +14,4 @@\n 14\n 15\n 16\n-17\n+17\n\\ No newline at end of file\n"),
    ];
    for (new, hunks) in table {
        let expected = if hunks.is_empty() { String::new() } else { format!("--- /f\n+++ /f\n{hunks}") };
        assert_eq!(between(Some(old.as_bytes()), new.as_bytes(), "/f"), expected);
    }
}

#[test]
fn a_new_file_and_an_emptied_one() {
    assert_eq!(between(None, b"a\nb\n", "/f"), "--- /dev/null\n+++ /f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_eq!(between(Some(b"a\n"), b"", "/f"), "--- /f\n+++ /f\n@@ -1 +0,0 @@\n-a\n");
    assert_eq!(between(None, b"", "/f"), "");
}

#[test]
fn places_far_apart_have_their_own_hunks_with_the_right_numbers() {
    let old: String = (1..=30).map(|line| format!("{line}\n")).collect();
    let new = old.replace("\n2\n", "\n2\n2b\n").replace("\n25\n", "\n");
    // 2b stands at byte 4; `25` stood at byte 66, behind two more bytes and the `b` in the new text.
    let at = old.find("25\n").unwrap();
    let changes = [Change { old: 4..4, new: 4..7 }, Change { old: at..at + 3, new: at + 3..at + 3 }];
    assert_eq!(
        of_changes(&old, &new, &changes),
        "--- /f\n+++ /f\n@@ -1,5 +1,6 @@\n 1\n 2\n+2b\n 3\n 4\n 5\n@@ -22,7 +23,6 @@\n 22\n 23\n 24\n-25\n 26\n 27\n 28\n"
    );
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let line = "x".repeat(100);
    let old: String = (0..10_000).map(|number| format!("{number} {line}\n")).collect();
    let diff = between(Some(old.as_bytes()), b"", "/f");
    assert!(diff.len() <= MAX_BYTES + 100, "{}", diff.len());
    let last = diff.lines().last().unwrap();
    assert!(last.starts_with("\\ ") && last.ends_with("more lines; the diff is cut here."), "{last}");

    let new = old.replace(" x", " y");
    let changes: Vec<Change> =
        old.match_indices(" x").map(|(at, _)| Change { old: at + 1..at + 2, new: at + 1..at + 2 }).collect();
    assert!(of_changes(&old, &new, &changes).len() <= MAX_BYTES + 100);
}

#[test]
fn a_path_cannot_fake_a_line() {
    assert!(between(None, b"a\n", "/f\n+++ /etc/x").starts_with("--- /dev/null\n+++ /f\\n+++ /etc/x\n@@"));
}

/// Applies a diff, strictly: every kept and removed line must be there.
fn patch(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut result, mut at) = (String::new(), 0);
    let mut rows = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(row) = rows.next() {
        if let Some(range) = row.strip_prefix("@@ -") {
            let (old_range, rest) = range.split_once(" +").unwrap();
            let new_range = rest.split_once(" @@").unwrap().0;
            let parse = |range: &str| {
                let (start, count) = range.split_once(',').unwrap_or((range, "1"));
                let (start, count): (usize, usize) = (start.parse().unwrap(), count.parse().unwrap());
                if count == 0 { (start, 0) } else { (start - 1, count) }
            };
            let start = parse(old_range).0;
            result.extend(old[at..start].iter().copied());
            at = start;
            assert_eq!(result.split_inclusive('\n').count(), parse(new_range).0);
            continue;
        }
        let (sign, line) = row.split_at(1);
        let line = match rows.next_if(|next| next.starts_with('\\')) {
            Some(_) => line.strip_suffix('\n').unwrap(),
            None => line,
        };
        if sign != "+" {
            assert_eq!(old[at], line);
            at += 1;
        }
        if sign != "-" {
            result.push_str(line);
        }
    }
    result.extend(old[at..].iter().copied());
    result
}

proptest! {
    #[test]
    fn a_diff_turns_the_old_text_into_the_new(old in "([ab]{0,2}\n){0,30}[ab]?", new in "([ab]{0,2}\n){0,30}[ab]?") {
        let diff = between(Some(old.as_bytes()), new.as_bytes(), "/f");
        prop_assert_eq!(patch(&old, &diff), new);
    }

    #[test]
    fn so_does_a_diff_of_known_changes(
        old in "([abc]{0,2}\n){0,30}[ab]?",
        points in proptest::collection::vec((0_usize..30, 0_usize..5, "[X\n]{0,3}"), 0..6),
    ) {
        let (mut new, mut changes, mut kept) = (String::new(), Vec::new(), 0);
        for (skip, take, text) in &points {
            let (start, end) = (kept + skip, kept + skip + take);
            if end > old.len() {
                break;
            }
            new.push_str(&old[kept..start]);
            let at = new.len();
            new.push_str(text);
            changes.push(Change { old: start..end, new: at..new.len() });
            kept = end;
        }
        new.push_str(&old[kept..]);
        let diff = of_changes(&old, &new, &changes);
        prop_assert_eq!(patch(&old, &diff), new);
    }
}
