//! Text of a model as a person is shown it.

use crate::error::is_deceptive;

/// Text that a person judges: control and bidirectional characters escaped, newlines kept as line breaks, so that a
/// command can neither draw on the terminal nor hide a part of itself (R-AP-3).
pub fn shown_to_person(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' || !is_deceptive(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_default());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_could_deceive_a_person() {
        assert_eq!(shown_to_person("rm\u{1b}[2J\u{202e}x\ny\t"), "rm\\u{1b}[2J\\u{202e}x\ny\\t");
    }
}
