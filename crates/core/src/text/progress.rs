//! Lines that a program draws again and again, such as a bar of progress: of a thousand states a reader wants the last.
//!
//! A carriage return becomes a line end where controls are taken out ([`super::ansi`]), so that nothing hides behind it, and so does
//! here what moves the cursor to the first column (`ESC [ G`). Of a line with many states the first and the last are kept, and the
//! others counted, before that. A letter that is printed over itself or over its underline, as in pages of `man`, stands there once, and
//! what moves the cursor on parts words and lines.

use std::borrow::Cow;

use super::ansi::{strip, strip_parting};

/// 2 states of a line are shown, and the others counted.
const STATES: usize = 2;
/// How programs go back to the first column, besides a carriage return.
const TO_FIRST_COLUMN: [&str; 3] = ["\x1b[1G", "\x1b[0G", "\x1b[G"];
const BACKSPACE: char = '\x08';

/// Output of a program as text to be read: without terminal control, of lines that were drawn again and again the first and the last
/// state, overprinted letters once.
pub fn readable(output: &str) -> String {
    strip_parting(&last_states(&printed_once(output)))
}

/// Output as it came, with only the first and the last state of each line that was drawn more than twice.
pub fn last_states(output: &str) -> Cow<'_, str> {
    let output = with_returns(output);
    if !output.contains('\r') {
        return output;
    }
    let mut text = String::with_capacity(output.len());
    for line in output.split_inclusive('\n') {
        let body = line.trim_end_matches(['\r', '\n']);
        let mut states = body.split('\r').filter(|state| !strip(state).trim().is_empty());
        let count = if body.contains('\r') { states.clone().count() } else { 0 };
        match (states.next(), states.next_back()) {
            (Some(first), Some(last)) if count > STATES => {
                let left = count - STATES;
                text.push_str(&format!("{first}\n... [{left} more state(s) of this line left out] ...\n{last}"));
                text.push_str(&line[body.len()..]);
            }
            _ => text.push_str(line),
        }
    }
    Cow::Owned(text)
}

/// Output in which each move to the first column is a carriage return.
fn with_returns(output: &str) -> Cow<'_, str> {
    let mut output = Cow::Borrowed(output);
    for sequence in TO_FIRST_COLUMN {
        if output.contains(sequence) {
            output = Cow::Owned(output.replace(sequence, "\r"));
        }
    }
    output
}

/// Output in which a letter behind itself, or behind its underline, and a backspace stands once. Any other backspace stays.
pub fn printed_once(output: &str) -> Cow<'_, str> {
    if !output.contains(BACKSPACE) {
        return Cow::Borrowed(output);
    }
    let mut text = String::with_capacity(output.len());
    let mut characters = output.chars().peekable();
    while let Some(character) = characters.next() {
        let over = characters.peek().copied().filter(|over| character == BACKSPACE && !over.is_control());
        match (text.chars().next_back(), over) {
            (Some(under), Some(over)) if under == over => {
                characters.next();
            }
            (Some('_'), Some(over)) => {
                text.pop();
                text.push(over);
                characters.next();
            }
            _ => text.push(character),
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_states_the_first_and_the_last_are_kept() {
        for (output, expected) in [
            ("a\nb", "a\nb"),
            ("a\r\nb\r\r\n", "a\r\nb\r\r\n"),
            ("1%\r2%\r\n", "1%\r2%\r\n"),
            ("a\r\n1%\r2%\r\x1b[K\r3%\r\nb", "a\r\n1%\n... [1 more state(s) of this line left out] ...\n3%\r\nb"),
            // As npm and others draw: to the first column, and the line erased before or behind that.
            (
                "\x1b[1G\x1b[0K-\x1b[1G\x1b[0K/\x1b[1G\x1b[0K|\x1b[1G\x1b[0Kdone\n",
                "\x1b[0K-\n... [2 more state(s) of this line left out] ...\n\x1b[0Kdone\n",
            ),
            (
                "1%\x1b[2K\x1b[1G2%\x1b[2K\x1b[0G3%\x1b[G4%",
                "1%\x1b[2K\n... [2 more state(s) of this line left out] ...\n4%",
            ),
            ("1%\x1b[1G2%", "1%\r2%"),
            ("a\x1b[12Gb\x1b[11Gc", "a\x1b[12Gb\x1b[11Gc"),
            ("\r1\r2\r3\r4", "1\n... [2 more state(s) of this line left out] ...\n4"),
        ] {
            assert_eq!(last_states(output), expected, "{output:?}");
        }
    }

    /// `NameSize` was told of a table.
    #[test]
    fn what_moves_the_cursor_on_parts_words_and_lines() {
        for (output, expected) in [
            ("Name\x1b[20CSize", "Name Size"),
            ("Name\x1b[0m\x1b[24G\x1b[1mSize\x1b[0m", "Name Size"),
            ("Name \x1b[20CSize\x1b[5C\n", "Name Size\n"),
            ("one\x1b[2;1Htwo\x1b[1Bthree\x1b[Efour\x1b[5dfive", "one\ntwo\nthree\nfour\nfive"),
            ("\x1b[2J\x1b[H\x1b[5Ctext\n\x1b[1m\x1b[3Cmore", "text\nmore"),
            ("Name   \x1b[2;1HSize", "Name   \nSize"),
            ("one\x1b[2;1H  two", "one\n  two"),
            ("a\x1b[5C\x1b[Bb\x1b[B\x1b[5Cc", "a\nb\nc"),
            ("a\x1b[5C\r\x1b[5Cb\x1b[5C\r\nc", "a\nb\nc"),
            ("a\n\x1b[1A\x1b[2Kb\x1b[1Ac", "a\nb\nc"),
            // As a line editor goes to the end, and back.
            ("text\x1b[4D\x1b[K", "text"),
            ("a\x1b[?25l\x1b[38;5;1mb", "ab"),
        ] {
            assert_eq!(readable(output), expected, "{output:?}");
        }
    }

    /// A page of a manual was told with each letter of its headings twice.
    #[test]
    fn letters_that_are_printed_over_themselves_or_an_underline_are_told_once() {
        for (output, expected) in [
            ("N\x08NA\x08AM\x08ME\x08E\n", "NAME\n"),
            ("_\x08f_\x08i\x08il\x08le e\x08e\x08e\x08e", "file e"),
            ("\x1b[1mé\x08é\x1b[0m _\x08_", "é _"),
            // Typed and taken back, drawn over, and at the edges.
            ("ab\x08 \x08c", "ab c"),
            ("|\x08/\x08-", "|/-"),
            ("\x08a", "a"),
            ("_\x08", "_"),
            ("__\x08\x08ab", "__ab"),
            ("_\x08\nb", "_\nb"),
        ] {
            assert_eq!(readable(output), expected, "{output:?}");
        }
    }
}
