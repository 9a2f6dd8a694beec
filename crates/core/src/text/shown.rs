//! Text of a model as a person is shown it.

use crate::error::is_deceptive;

/// 8,000 characters: four screens. What is longer nobody reads, and the text says so.
const CHARACTERS: usize = 8_000;
/// 200 characters: what was shortened and put into another text is not shortened again.
const AROUND: usize = 200;
/// 16 blanks in a row, or 3 empty lines: more are counted instead of shown, so that nothing is pushed out of sight.
const BLANKS: usize = 16;
const EMPTY_LINES: usize = 3;

/// Text that a person judges, whole and line by line as it was written: control, invisible and direction-changing characters
/// escaped, long runs of blanks and empty lines counted, so that no character of it can hide, move or colour another (R-AP-3).
/// Where it is too long to be read the middle is left out, and the text says there how much.
pub fn shown_to_person(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.trim_end_matches('\n').split('\n') {
        if line.trim_matches([' ', '\t']).is_empty() {
            empty += 1;
            continue;
        }
        end_empty(&mut shown, &mut empty);
        push_line(&mut shown, line);
        shown.push('\n');
    }
    end_empty(&mut shown, &mut empty);
    shown.truncate(shown.trim_end_matches('\n').len());

    let count = shown.chars().count();
    if count <= CHARACTERS + AROUND {
        return shown;
    }
    let half = CHARACTERS / 2;
    let border = |index: usize| shown.char_indices().nth(index).map_or(shown.len(), |(position, _)| position);
    format!(
        "{}\n[... {} characters are not shown here ...]\n{}",
        &shown[..border(half)],
        count - 2 * half,
        &shown[border(count - half)..]
    )
}

/// The same in one line: what stands in a list looks like no other entry of it.
pub fn shown_in_line(text: &str) -> String {
    shown_to_person(text).replace('\n', "\\n")
}

/// Names in one line, of files or the like.
pub fn listed_in_line(names: &[&str]) -> String {
    names.iter().map(|name| shown_in_line(name)).collect::<Vec<_>>().join(", ")
}

fn end_empty(text: &mut String, empty: &mut usize) {
    if *empty > EMPTY_LINES {
        text.push_str(&format!("[{empty} empty lines]\n"));
    } else {
        text.extend(std::iter::repeat_n('\n', *empty));
    }
    *empty = 0;
}

fn push_line(text: &mut String, line: &str) {
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let blanks = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if blanks > BLANKS {
            text.push_str(&format!("[{blanks} blanks]"));
            rest = &rest[blanks..];
            continue;
        }
        // A blank that is not a space can look like one, or like nothing.
        if is_deceptive(character) || (character.is_whitespace() && character != ' ') {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
        rest = &rest[character.len_utf8()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_nothing() {
        for (text, expected) in [
            ("ls -la", "ls -la"),
            ("a\nb\n\nc\n", "a\nb\n\nc"),
            ("a\u{1b}[2Jb\r\0", r"a\u{1b}[2Jb\r\u{0}"),
            ("a\u{202E}b\u{200B}\u{A0}\tc", r"a\u{202e}b\u{200b}\u{a0}\tc"),
            ("rm\u{1b}[2J\u{202e}x\ny\t", "rm\\u{1b}[2J\\u{202e}x\ny\\t"),
            ("é 😀 'x'", "é 😀 'x'"),
            ("", ""),
        ] {
            assert_eq!(shown_to_person(text), expected);
            assert_eq!(shown_to_person(expected), expected);
        }
        let padded = format!("ls{}; rm x{}rm y", " ".repeat(500), "\n".repeat(100));
        assert_eq!(shown_to_person(&padded), "ls[500 blanks]; rm x\n[99 empty lines]\nrm y");
    }

    #[test]
    fn says_how_much_is_left_out() {
        let shown = shown_to_person(&format!("first{}last", "é".repeat(10_000)));
        assert!(shown.starts_with("firsté") && shown.ends_with("élast"));
        assert!(shown.contains("\n[... 2009 characters are not shown here ...]\n"));
        assert_eq!(shown_to_person(&format!("Run: {shown}")), format!("Run: {shown}"));
    }
}
