//! Keys by name, as the bytes that a terminal sends for them.

use crate::error::{Error, Result, Shown};

const NAMED: [(&str, &str); 28] = [
    ("enter", "\r"),
    ("tab", "\t"),
    ("shift-tab", "\x1b[Z"),
    ("escape", "\x1b"),
    ("esc", "\x1b"),
    ("backspace", "\x7f"),
    ("space", " "),
    ("up", "\x1b[A"),
    ("down", "\x1b[B"),
    ("right", "\x1b[C"),
    ("left", "\x1b[D"),
    ("home", "\x1b[H"),
    ("end", "\x1b[F"),
    ("pageup", "\x1b[5~"),
    ("pagedown", "\x1b[6~"),
    ("insert", "\x1b[2~"),
    ("delete", "\x1b[3~"),
    ("f1", "\x1bOP"),
    ("f2", "\x1bOQ"),
    ("f3", "\x1bOR"),
    ("f4", "\x1bOS"),
    ("f5", "\x1b[15~"),
    ("f6", "\x1b[17~"),
    ("f7", "\x1b[18~"),
    ("f8", "\x1b[19~"),
    ("f9", "\x1b[20~"),
    ("f10", "\x1b[21~"),
    ("f12", "\x1b[24~"),
];

/// The bytes of one key: a name (`enter`, `up`, `f5`), `ctrl-` and a letter, `alt-` and a key, or one character.
pub fn bytes_of(key: &str) -> Result<Vec<u8>> {
    let mut characters = key.chars();
    if let (Some(character), None) = (characters.next(), characters.next())
        && !character.is_control()
    {
        return Ok(key.as_bytes().to_vec());
    }
    let name = key.to_ascii_lowercase().replace(['+', '_'], "-");
    if let Some((_, bytes)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Some(letter) = name.strip_prefix("ctrl-").or_else(|| name.strip_prefix("c-"))
        && let [letter] = letter.as_bytes()
        && (letter.is_ascii_lowercase() || b"@[\\]^ ".contains(letter))
    {
        return Ok(vec![if *letter == b' ' { 0 } else { letter.to_ascii_uppercase() & 0x1F }]);
    }
    if let Some(rest) = name.strip_prefix("alt-").filter(|rest| !rest.starts_with("alt-")) {
        let mut bytes = vec![0x1B];
        bytes.extend(bytes_of(rest)?);
        return Ok(bytes);
    }
    Err(Error::invalid(format!(
        "There is no key '{}'. Keys are single characters, {}, `ctrl-` with a letter and `alt-` with a key.",
        Shown(key),
        NAMED.map(|(name, _)| name).join(", ")
    )))
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
            ("alt-up", b"\x1b\x1b[A"),
            ("é", "é".as_bytes()),
            ("PageDown", b"\x1b[6~"),
        ] {
            assert_eq!(bytes_of(key).unwrap(), bytes, "{key}");
        }
        for key in ["", "ab", "ctrl-", "ctrl-1", "alt-alt-x", "\n", "ctrl-cc"] {
            assert!(bytes_of(key).is_err(), "{key:?}");
        }
    }
}
