//! Lines that a program draws again and again, such as a bar of progress: of a thousand states a reader wants the last.
//!
//! A carriage return becomes a line end where controls are taken out ([`super::ansi`]), so that nothing hides behind it. Of a line
//! with many states the first and the last are kept, and the others counted, before that.

use std::borrow::Cow;

use super::ansi::strip;

/// 2 states of a line are shown, and the others counted.
const STATES: usize = 2;

/// Output as it came, with only the first and the last state of each line that was drawn more than twice.
pub fn last_states(output: &str) -> Cow<'_, str> {
    if !output.contains('\r') {
        return Cow::Borrowed(output);
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
            ("\r1\r2\r3\r4", "1\n... [2 more state(s) of this line left out] ...\n4"),
        ] {
            assert_eq!(last_states(output), expected, "{output:?}");
        }
    }
}
