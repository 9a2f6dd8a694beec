//! The line that is typed into a session, as far as it can be known.
//!
//! Nobody can tell what reads it: another shell may. A line is judged when it ends, and it may have been typed in pieces, with
//! keys, and over several calls. Most keys that are no characters recall, complete or change a line, or move about in it;
//! what it is then only its reader knows.

/// 64 KiB of one line are remembered; of a longer one it is not known what it is.
const LINE_BYTES: usize = 64 << 10;

/// A line that was not ended yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its characters, in the order in which they were typed.
    text: String,
    /// Whether it is nothing but these.
    is_known: bool,
}

/// A line at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedLine {
    /// Its characters.
    pub text: String,
    /// Whether it is nothing but these.
    pub is_known: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self { text: String::new(), is_known: true }
    }
}

impl Line {
    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.is_known
    }

    /// Whether characters were typed.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Takes text, whose line ends are returns. The lines that end in it.
    pub fn write(&mut self, text: &str) -> Vec<EndedLine> {
        let mut buffer = [0; 4];
        text.chars().filter_map(|character| self.press(character.encode_utf8(&mut buffer).as_bytes())).collect()
    }

    /// Takes the bytes of one key. The line, where the key may end it, or may run some of it.
    pub fn press(&mut self, key: &[u8]) -> Option<EndedLine> {
        match key {
            b"\r" | b"\n" => self.end(),
            // Ctrl-O ends it too, and recalls the next one of the history.
            [0x0F] => {
                let ended = self.end();
                self.is_known = false;
                ended
            }
            // Ctrl-D is the end of input: a shell runs what it has, and a line editor deletes.
            [0x04] => self.so_far(),
            // Ctrl-X and another key open a line in an editor, to be run, or type again what was typed before.
            [0x18] => {
                let line = self.so_far();
                self.is_known = false;
                line
            }
            // Ctrl-E goes to the end of a line; behind an escape it expands the commands in it.
            [0x05] if self.is_known => None,
            [0x05] => self.so_far(),
            // Ctrl-C, Ctrl-L, Ctrl-Z and Ctrl-\: whatever they do, they add nothing to a line.
            [0x03 | 0x0C | 0x1A | 0x1C] => None,
            // Backspace, Ctrl-U and Ctrl-W find nothing to delete.
            [0x08 | 0x15 | 0x17 | 0x7F] if self.is_empty() => None,
            [0x1B, rest @ ..] => {
                self.is_known = false;
                if rest.contains(&0x05) { self.so_far() } else { None }
            }
            [0..=0x1F | 0x7F, ..] => {
                self.is_known = false;
                None
            }
            character => {
                if self.text.len() + character.len() > LINE_BYTES {
                    self.is_known = false;
                } else {
                    self.text.push_str(&String::from_utf8_lossy(character));
                }
                None
            }
        }
    }

    fn end(&mut self) -> Option<EndedLine> {
        let line = self.so_far();
        *self = Self::default();
        line
    }

    fn so_far(&self) -> Option<EndedLine> {
        (!self.is_empty()).then(|| EndedLine { text: self.text.clone(), is_known: self.is_known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::keys::{CursorKeys, bytes_of};

    #[test]
    fn lines_end_where_a_reader_may_end_them_and_are_known_while_only_characters_were_typed() {
        type Case<'a> = (&'a [&'a str], &'a [(&'a str, bool)]);
        let table: [Case<'_>; 16] = [
            (&["r", "m", " ", "x", "enter"], &[("rm x", true)]),
            (&["enter", "enter"], &[]),
            (&["r", "m", "ctrl-j", "é", "ctrl-m"], &[("rm", true), ("é", true)]),
            (&["a", "ctrl-c", "ctrl-l", "ctrl-z", "b", "enter"], &[("ab", true)]),
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
        ];
        for (keys, expected) in table {
            let mut line = Line::default();
            let ended: Vec<_> =
                keys.iter().filter_map(|key| line.press(&bytes_of(key, CursorKeys::Normal).unwrap())).collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(text, is_known)| EndedLine { text: (*text).to_owned(), is_known: *is_known })
                .collect();
            assert_eq!(ended, expected, "{keys:?}");
        }
    }

    #[test]
    fn text_goes_on_with_what_was_typed_before() {
        let known = |text: &str| EndedLine { text: text.to_owned(), is_known: true };
        let mut line = Line::default();
        assert_eq!(line.write("r"), []);
        assert_eq!(line.write("m x\nsecond\rthi"), [known("rm x"), known("second")]);
        assert_eq!(line.write("rd\n\n"), [known("third")]);
        assert!(line.is_empty());
        assert_eq!(line.write(&"x".repeat(LINE_BYTES + 1)), []);
        let ended = line.write("\n");
        assert_eq!((ended[0].text.len(), ended[0].is_known), (LINE_BYTES, false));
    }
}
