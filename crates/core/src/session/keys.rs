//! Keys by name, as the bytes that a terminal sends for them: those of `xterm-256color`, which is what `TERM` says.

use crate::error::{Error, Result, Shown};

/// Keys that send the same whatever is held with them.
const PLAIN: [(&str, &str); 7] = [
    ("enter", "\r"),
    ("tab", "\t"),
    ("shift-tab", "\x1b[Z"),
    ("escape", "\x1b"),
    ("esc", "\x1b"),
    ("backspace", "\x7f"),
    ("space", " "),
];

/// Keys of the cursor, by the last letter of what they send. Programs can ask for another form of them.
const CURSOR: [(&str, char); 6] =
    [("up", 'A'), ("down", 'B'), ("right", 'C'), ("left", 'D'), ("home", 'H'), ("end", 'F')];

/// The first four function keys, by the last letter of what they send.
const FUNCTION: [(&str, char); 4] = [("f1", 'P'), ("f2", 'Q'), ("f3", 'R'), ("f4", 'S')];

/// Keys by the number in what they send.
const NUMBERED: [(&str, u8); 12] = [
    ("insert", 2),
    ("delete", 3),
    ("pageup", 5),
    ("pagedown", 6),
    ("f5", 15),
    ("f6", 17),
    ("f7", 18),
    ("f8", 19),
    ("f9", 20),
    ("f10", 21),
    ("f11", 23),
    ("f12", 24),
];

/// What can be held with them, and what it adds to the number by which a terminal tells it.
const HELD: [(&str, u8); 3] = [("shift-", 1), ("alt-", 2), ("ctrl-", 4)];

/// The form in which a program wants the keys of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorKeys {
    /// `ESC [ A`.
    Normal,
    /// `ESC O A`: a full-screen program asked for it (DECCKM).
    Application,
}

/// Text that is typed holds no control characters but tabs and line ends: a paste is literal up to its end, which is one, and a carriage
/// return would run what stands before it by itself.
pub fn check_typed(text: &str) -> Result<()> {
    let what = match text.chars().find(|character| character.is_control() && !"\t\n".contains(*character)) {
        None => return Ok(()),
        Some('\r') => "a carriage return: end lines with a line feed (\\n) alone",
        Some(_) => "control characters: only text, tabs and line ends can be typed, and keys are pressed by name",
    };
    Err(Error::invalid(format!("`command` holds {what}.")))
}

/// The bytes of one key: a name (`enter`, `up`, `f5`, `ctrl-left`), `ctrl-` and a letter, `alt-` and a key, or one character.
pub fn bytes_of(key: &str, form: CursorKeys) -> Result<Vec<u8>> {
    let mut characters = key.chars();
    if let (Some(character), None) = (characters.next(), characters.next())
        && !character.is_control()
    {
        return Ok(key.as_bytes().to_vec());
    }
    let name = key.to_ascii_lowercase().replace(['+', '_'], "-");
    if let Some((_, bytes)) = PLAIN.iter().find(|(known, _)| *known == name) {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Some(bytes) = special(&name, form) {
        return Ok(bytes.into_bytes());
    }
    if let Some(letter) = name.strip_prefix("ctrl-").or_else(|| name.strip_prefix("c-"))
        && let [letter] = letter.as_bytes()
        && (letter.is_ascii_lowercase() || b"@[\\]^ ".contains(letter))
    {
        return Ok(vec![if *letter == b' ' { 0 } else { letter.to_ascii_uppercase() & 0x1F }]);
    }
    if let Some(rest) = name.strip_prefix("alt-").filter(|rest| !rest.starts_with("alt-")) {
        let mut bytes = vec![0x1B];
        bytes.extend(bytes_of(rest, form)?);
        return Ok(bytes);
    }
    let plain = PLAIN.iter().map(|(name, _)| *name);
    let special = CURSOR.iter().chain(&FUNCTION).map(|(name, _)| *name).chain(NUMBERED.iter().map(|(name, _)| *name));
    Err(Error::invalid(format!(
        "There is no key '{}'. Keys are single characters, {}, `ctrl-` with a letter, and `ctrl-`, `alt-` and `shift-` with a \
         key that has a name.",
        Shown(key),
        plain.chain(special).collect::<Vec<_>>().join(", ")
    )))
}

/// Keys that send an escape sequence, in which stands what is held with them.
fn special(name: &str, form: CursorKeys) -> Option<String> {
    let (mut name, mut held) = (name, 0);
    while let Some((rest, number)) =
        HELD.iter().find_map(|(prefix, number)| Some((name.strip_prefix(prefix)?, *number)))
    {
        if held & number != 0 {
            return None;
        }
        (name, held) = (rest, held | number);
    }
    let by_name = |table: &[(&str, char)]| table.iter().find(|(known, _)| *known == name).map(|(_, last)| *last);
    let parameter = 1 + held;
    if let Some((_, number)) = NUMBERED.iter().find(|(known, _)| *known == name) {
        return Some(if held == 0 { format!("\x1b[{number}~") } else { format!("\x1b[{number};{parameter}~") });
    }
    let (last, is_function) = match by_name(&CURSOR) {
        Some(last) => (last, false),
        None => (by_name(&FUNCTION)?, true),
    };
    Some(match held {
        0 if is_function || form == CursorKeys::Application => format!("\x1bO{last}"),
        0 => format!("\x1b[{last}"),
        _ => format!("\x1b[1;{parameter}{last}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_bytes_and_what_is_no_key_is_refused() {
        for (key, bytes) in [
            ("Enter", &b"\r"[..]),
            ("ctrl-c", b"\x03"),
            ("Ctrl+D", b"\x04"),
            ("ctrl-[", b"\x1b"),
            ("alt-b", b"\x1bb"),
            ("alt-enter", b"\x1b\r"),
            ("up", b"\x1b[A"),
            ("alt-up", b"\x1b[1;3A"),
            ("ctrl-left", b"\x1b[1;5D"),
            ("ctrl-shift-End", b"\x1b[1;6F"),
            ("shift-f2", b"\x1b[1;2Q"),
            ("f1", b"\x1bOP"),
            ("f11", b"\x1b[23~"),
            ("ctrl-delete", b"\x1b[3;5~"),
            ("é", "é".as_bytes()),
            ("PageDown", b"\x1b[6~"),
        ] {
            assert_eq!(bytes_of(key, CursorKeys::Normal).unwrap(), bytes, "{key}");
        }
        for key in ["", "ab", "ctrl-", "ctrl-1", "alt-alt-x", "\n", "ctrl-cc", "ctrl-ctrl-up", "shift-a"] {
            assert!(bytes_of(key, CursorKeys::Normal).is_err(), "{key:?}");
        }
    }

    #[test]
    fn keys_of_the_cursor_have_the_form_that_the_program_asked_for() {
        for (key, bytes) in [("up", "\x1bOA"), ("end", "\x1bOF"), ("ctrl-up", "\x1b[1;5A"), ("delete", "\x1b[3~")] {
            assert_eq!(bytes_of(key, CursorKeys::Application).unwrap(), bytes.as_bytes(), "{key}");
        }
    }
}
